# SPDX-License-Identifier: BSD-2-Clause
"""What a guest sees of this machine's files: the system's programs and libraries, and what is
named.

Of /etc it has what the loader and rdma-core read, copied; not a user's home, nor anybody's secrets
(docs/decisions/0134-what-a-guest-sees.md).
"""

import os
import pwd
import shutil
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from runners.fabric import cache
from runners.fabric.base import FabricError
from runners.fabric.files import Files

SYSTEM = Path("/usr")
# Part of /usr on merged systems; folders of their own on others.
TOP = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ETC = Path("/etc")
# Of /etc; whatever of it others than root may read.
READ = (
    "alternatives",
    "dapl",
    "dat.conf",
    "debian_version",
    "inputrc",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libibverbs.d",
    "libnl-3",
    "localtime",
    "os-release",
    "profile",
    "protocols",
    "rdma",
    "services",
)
OWN = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
}
LIMIT = 8 << 20


@dataclass(frozen=True)
class Share:
    """A folder of this machine, and where a guest sees it."""

    source: Path
    target: Path


WHOLE = (Share(Path("/"), Path("/")),)


def shares(named: Iterable[Path], most: int) -> tuple[Share, ...]:
    """What a guest is given to see: the system's, and the folders that are `named`.

    Raises FabricError where these are more than `most`, or one is a home or the root.
    """
    system = [SYSTEM, *(path for name in TOP if (path := Path("/", name)).is_dir())]
    system = [path for path in system if not path.is_symlink()]
    seen: list[Path] = list(system)
    for path in sorted({*named, *_loader_folders()}, key=lambda path: len(path.parts)):
        if not _is_below(path, (*seen, *(Path("/", name) for name in TOP))):
            seen.append(_checked(path))
    if len(seen) + 1 > most:
        raise FabricError(
            f"a guest can be given {most} folders to see, and {len(seen) + 1} are needed: "
            f"{', '.join(map(str, seen))}; put what the provider needs in fewer folders"
        )
    return (Share(_etc(), ETC), *(Share(path, path) for path in seen))


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


def _checked(path: Path) -> Path:
    homes = {"/", "/root", "/home", "/etc", *(entry.pw_dir for entry in pwd.getpwall())}
    if any(_is_same(path, Path(home)) for home in homes):
        raise FabricError(
            f"a guest would see all of {path}: put the provider, and what it needs, in a folder "
            "of its own"
        )
    return path


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _loader_folders() -> set[Path]:
    """Where the dynamic loader finds libraries that are not the system's."""
    lines = Files().loader_cache().splitlines()
    found = {Path(line.partition(" => ")[2]).parent for line in lines if " => " in line}
    return {path for path in found if path.is_dir()}


def _etc() -> Path:
    """The folder that a guest sees as /etc."""
    files = sorted(_readable())
    key = cache.digest(*OWN, *OWN.values(), *(_state(path) for path in files))

    def make(directory: Path) -> None:
        for path in files:
            target = directory / path.relative_to(ETC)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target, follow_symlinks=False)
        for name, text in OWN.items():
            (directory / name).write_text(text)

    return cache.entry("etc", key, make)


def _readable() -> Iterable[Path]:
    for name in READ:
        path = ETC / name
        if path.is_dir() and not path.is_symlink():
            yield from (each for each in path.rglob("*") if _may_be_read(each))
        elif _may_be_read(path):
            yield path


def _may_be_read(path: Path) -> bool:
    """Of a file or a link that anybody may read, and that is no larger than such files are."""
    try:
        status = path.lstat()
    except OSError:
        return False
    if stat.S_ISLNK(status.st_mode):
        return True
    plain = stat.S_ISREG(status.st_mode) and status.st_size <= LIMIT
    return plain and bool(status.st_mode & stat.S_IROTH)


def _state(path: Path) -> str:
    status = path.lstat()
    link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else ""
    return f"{path} {status.st_size} {status.st_mtime_ns} {link}"
