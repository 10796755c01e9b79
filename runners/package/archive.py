# SPDX-License-Identifier: BSD-2-Clause
"""Packages as files: a tar that has one form only, and a reader that takes no other.

The reader makes no file but those that it knows by name, looks at no link, owner or time, and reads
no more than a member may have: a package may come from anybody.
"""

import contextlib
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from reports.render import NAMES
from results.runlog import frames
from results.runlog.frames import EVENTS

MANIFEST = "manifest.json"
SIGNATURE = "manifest.json.sig"
STATEMENT = "statement.json"
FAULTS = "faults.jsonl"
DAT_CONF = "dat.conf"

_KIB, _MIB = 1 << 10, 1 << 20
# Every member that there may be, in its order, and how large it may be.
MEMBERS: Mapping[str, int] = {
    MANIFEST: 16 * _MIB,
    SIGNATURE: 64 * _KIB,
    STATEMENT: 64 * _KIB,
    EVENTS: 2048 * _MIB,
    **dict.fromkeys(sorted(NAMES), 512 * _MIB),
    DAT_CONF: _MIB,
    FAULTS: 512 * _MIB,
}
_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 1 * _MIB
# Honest records shrink to a twentieth; who asks for more room than this wants to do harm.
_ROOM, _SHRINK = 64 * _MIB, 100


class ArchiveError(Exception):
    """The file is no package; the message says why."""


def write(path: Path, members: Mapping[str, Path]) -> None:
    """Make the package `path` of these files, by their names in it. Raises OSError."""
    with path.open("wb") as out:
        for name in MEMBERS:
            if name not in members:
                continue
            size = members[name].stat().st_size
            out.write(_header(name, size))
            with members[name].open("rb") as file:
                while chunk := file.read(_CHUNK):
                    out.write(chunk)
            out.write(bytes(-size % _BLOCK))
        out.write(bytes(2 * _BLOCK))
        out.write(bytes(-out.tell() % tarfile.RECORDSIZE))


def read(path: Path, folder: Path) -> dict[str, Path]:
    """Unpack the package `path` into `folder`; its members by name. Raises ArchiveError."""
    try:
        with path.open("rb") as file:
            return dict(_members(file, path.stat().st_size, folder))
    except OSError as error:
        raise ArchiveError(f"cannot read {path}: {error.strerror}") from error


def weigh(path: Path) -> None:
    """Raise ArchiveError for records that are made to fill this machine's memory."""
    most, size = _ROOM + _SHRINK * path.stat().st_size, 0
    with path.open("rb") as file, contextlib.suppress(frames.FrameError):
        for line in frames.lines(file):
            size += len(line.raw) if line else 0
            if size > most:
                raise ArchiveError("they unpack to more than records can, and are not read")


def _members(file: BinaryIO, total: int, folder: Path) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    due = list(MEMBERS)
    while (block := file.read(_BLOCK)).strip(b"\0"):
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise ArchiveError(f"it is no tar at byte {file.tell() - _BLOCK} ({error})") from None
        name, size = info.name, info.size
        if name not in MEMBERS:
            raise ArchiveError(f"it has a member that no package has: {name!r}")
        if name not in due:
            raise ArchiveError(f"its member {name} is there twice, or out of its order")
        if size > MEMBERS[name]:
            raise ArchiveError(f"its member {name} is too large: {size} bytes")
        if block != _header(name, max(size, 0)):
            raise ArchiveError(f"its member {name} is no plain file as `package` writes it")
        if size > total - file.tell():
            raise ArchiveError(f"its member {name} is cut off")
        due = due[due.index(name) + 1 :]
        _copy(file, size, folder / name)
        if file.read(-size % _BLOCK).strip(b"\0"):
            raise ArchiveError(f"something is hidden behind its member {name}")
        found.append((name, folder / name))
    rest = total - file.tell() + len(block)
    if rest < 2 * _BLOCK or total % tarfile.RECORDSIZE or rest >= tarfile.RECORDSIZE + 2 * _BLOCK:
        raise ArchiveError("its end is not where a package ends")
    if file.read(rest).strip(b"\0"):
        raise ArchiveError("something is hidden behind its end")
    if not found or found[0][0] != MANIFEST:
        raise ArchiveError(f"it has no {MANIFEST}")
    return found


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")


def _copy(file: BinaryIO, size: int, path: Path) -> None:
    with path.open("xb") as out:
        while size:
            chunk = file.read(min(size, _CHUNK))
            if not chunk:
                raise ArchiveError(f"its member {path.name} is cut off")
            out.write(chunk)
            size -= len(chunk)
