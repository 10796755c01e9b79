# SPDX-License-Identifier: BSD-2-Clause
"""siw, iWARP in software, for the guest's kernel.

Debian's kernels come without it, but Debian has the kernel's source and headers: from them the
module is built, once for each kernel. Nothing of them is installed, and only the modules are kept.
"""

import re
import shutil
import subprocess
from pathlib import Path

from runners.fabric import apt, cache
from runners.fabric.apt import AptError
from runners.fabric.base import FabricError, Progress

# siw asks it for checksums.
CHECKSUMS = "libcrc32c"
MODULES = (CHECKSUMS, "siw")

SOURCES = ("drivers/infiniband/sw/siw", f"lib/{CHECKSUMS}.c")
SPACE = 512 << 20


def modules(kernel: Path, progress: Progress) -> Path:
    """A directory with `NAME.ko` for each of MODULES, for this kernel of the cache: the kernel's
    own, where it has them.
    """
    if all((kernel / "modules" / f"{name}.ko").exists() for name in MODULES):
        return kernel / "modules"
    release = kernel.name.removeprefix("linux-image-")

    def make(directory: Path) -> None:
        cache.require_space(directory, SPACE)
        work = directory / "work"
        work.mkdir()
        progress(f"fetching headers and source of Linux {release} to build siw (once)")
        series = _fetch(release, work)
        progress("building siw")
        _build(release, series, work)
        for name in MODULES:
            _run(["strip", "--strip-debug", str(work / "module" / f"{name}.ko")], work)
            (work / "module" / f"{name}.ko").rename(directory / f"{name}.ko")
        shutil.rmtree(work)

    def made() -> Path:
        return cache.entry("siw", release, make)

    return apt.with_fresh_lists(made, progress)


def _fetch(release: str, work: Path) -> str:
    """Fetch and unpack what the build needs into `work`; which series of kernels it is."""
    series = ".".join(release.split(".")[:2])
    headers = f"linux-headers-{release}"
    try:
        about = apt.run(["apt-cache", "show", headers])
        common = re.search(r"\b(linux-headers-\S+-common)\b", about)
        version = re.search(r"^Version: (\S+)$", about, re.MULTILINE)
        if not common or not version:
            raise FabricError(f"apt does not know {headers}")
        names = (headers, common[1], f"linux-source-{series}")
        pinned = [f"{name}={version[1]}" for name in names]
        # The headers ask for this version or a newer one, and Debian keeps the newest only.
        archives = apt.download([*pinned, f"linux-kbuild-{series}"], work)
    except FabricError as error:
        raise AptError(
            f"cannot fetch {headers} and what else builds siw: {error}; where Debian has a newer "
            f"kernel by now, remove {cache.cache_root() / 'kernel'}"
        ) from None
    for archive in archives:
        _run(["dpkg-deb", "--extract", str(archive), str(work)], work)
        archive.unlink()
    return series


def _build(release: str, series: str, work: Path) -> None:
    usr = work / "usr"
    headers = usr / "src" / f"linux-headers-{release}"
    source = f"linux-source-{series}"
    members = [f"{source}/{each}" for each in SOURCES]
    _run(["tar", "-xf", str(usr / "src" / f"{source}.tar.xz"), *members], work)
    (work / source / "drivers/infiniband/sw/siw").rename(work / "module")
    (work / source / "lib" / f"{CHECKSUMS}.c").rename(work / "module" / f"{CHECKSUMS}.c")
    # The packages expect to lie in /usr, whose name is in this one file.
    makefile = headers / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/", f"{usr}/"))
    with (work / "module" / "Makefile").open("a") as lines:
        lines.write(f"\nobj-m += {CHECKSUMS}.o\n")
    module = f"M={work / 'module'}"
    # Types for BPF are of no use in a guest, and need pahole, which Debian 13 does not bring along.
    options = ["CONFIG_RDMA_SIW=m", "CONFIG_DEBUG_INFO_BTF_MODULES="]
    _run(["make", "-C", str(headers), module, *options, "modules"], work)


def _run(command: list[str], directory: Path) -> None:
    try:
        subprocess.run(command, cwd=directory, capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise FabricError(f"cannot build siw: {command[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        words = "\n".join(error.stderr.strip().splitlines()[-5:])
        raise FabricError(f"cannot build siw: {command[0]} failed: {words}") from None
