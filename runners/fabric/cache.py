# SPDX-License-Identifier: BSD-2-Clause
"""The cache of what takes long to make. An entry is a directory, and it is whole or absent."""

import errno
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runners.fabric.base import FabricError

# Of each kind, the most recently used ones.
KEPT_PER_KIND = 4

REPOSITORY = Path(__file__).resolve().parents[2]


def cache_root() -> Path:
    """The cache's directory: UDAPL_CTS_CACHE, or .cache in the repository."""
    return Path(os.environ.get("UDAPL_CTS_CACHE", REPOSITORY / ".cache"))


def digest(*parts: bytes | str) -> str:
    """A short name for what an entry is made from."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()[:16]


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Hold the lock called `name` against every other process that uses this cache."""
    root = cache_root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / f"{name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise explain(error, f"use the cache {root}") from error


def entry(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The directory `kind/key`; where there is none yet, `make` fills it first."""
    path = cache_root() / kind / key
    if not path.is_dir():
        with locked(kind):
            if not path.is_dir():
                _publish(path, make)
                _forget_oldest(path.parent)
    with suppress(OSError):
        os.utime(path)
    return path


def require_space(directory: Path, size: int) -> None:
    """Raise FabricError unless `size` bytes fit on the disk of `directory`."""
    free = shutil.disk_usage(directory).free
    if free < size:
        raise FabricError(
            f"{cache_root()} has {free >> 20} MiB of free space and {size >> 20} are needed; "
            "free some, or point UDAPL_CTS_CACHE to a larger disk"
        )


def discard(kind: str, key: str) -> None:
    """Remove an entry that turned out to be no good; others that use its files keep them."""
    with locked(kind):
        shutil.rmtree(cache_root() / kind / key, ignore_errors=True)


def explain(error: OSError, what: str) -> FabricError:
    """The FabricError that tells a person about `error`, which happened in an attempt to `what`."""
    advice = {
        errno.ENOSPC: "free some space, or point UDAPL_CTS_CACHE to a larger disk",
        errno.EACCES: "make it writable, or point UDAPL_CTS_CACHE elsewhere",
        errno.EROFS: "point UDAPL_CTS_CACHE to a writable directory",
    }
    hint = advice.get(error.errno or 0)
    return FabricError(f"cannot {what}: {error.strerror or error}" + (f"; {hint}" if hint else ""))


def _forget_oldest(kind: Path) -> None:
    entries = [path for path in kind.iterdir() if not path.name.startswith(".")]
    for path in sorted(entries, key=lambda path: path.stat().st_mtime)[:-KEPT_PER_KIND]:
        shutil.rmtree(path, ignore_errors=True)


def _publish(path: Path, make: Callable[[Path], None]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(".new-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=".new-", dir=path.parent))
    try:
        make(work)
        work.rename(path)
    finally:
        shutil.rmtree(work, ignore_errors=True)
