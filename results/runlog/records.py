# SPDX-License-Identifier: BSD-2-Clause
"""The writer of a run's events.jsonl.zst, as docs/results.md defines it."""

import errno
import fcntl
import json
import os
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Self

from results.errors import InputError, ReportError, RunnerError
from results.runlog import frames
from results.runlog.chain import START, Link, linked
from results.runlog.events import read
from results.runlog.frames import EVENTS as EVENTS

FORMAT = 6

KEPT = frozenset({"PASS", "NOTE"})
CONTRADICTED = "CONTRADICTED"
NOT_KEPT = frozenset({"FAIL", "CRASH", "TIMEOUT", CONTRADICTED})
NOT_KNOWN = frozenset({"BLOCKED", "ERROR", "RESOURCE", "NOT-RUN"})

CONFORMANT = 0
NOT_CONFORMANT = 1
COULD_NOT_TELL = 2

Record = dict[str, Any]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_NEW = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class ResultsLost(RunnerError):
    """Nothing more can be written to the run's folder."""


class ResultsFull(ResultsLost):
    """There is no room for more; what was written is whole."""


def now() -> str:
    """The time as records have it: RFC 3339, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(record: Record) -> str:
    """The text of a record, as it is written: one line, in which what is no UTF-8 is escaped."""
    return _ENCODER.encode(record).encode("utf-8", errors="backslashreplace").decode()


@dataclass(eq=False)
class _Line:
    """A record that a thread waits for; `error` is why it is not on the disk."""

    record: bytes
    last: bool = False
    done: bool = False
    error: RunnerError | None = None


class EventLog:
    """The records of a run in progress, locked against every other process.

    append() returns when the record is on the disk; calls from several threads share a sync. Each
    line carries the digest of the one before it, of which `last` is the one there is. With a
    `packer` the lines are packed. What is appended after the record that ends the run is not kept:
    a thread may learn late that the run is over. The log is the caller's to close.
    """

    def __init__(
        self,
        folder: Path,
        descriptor: int,
        last: Link = START,
        name: str = EVENTS,
        packer: frames.Writer | None = None,
    ) -> None:
        self.folder = folder
        self._path = folder / name
        self._packer = packer
        self._grown = False
        self._ended = False
        self._last = last
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._waiting: deque[_Line] = deque()
        self._disk = Lock()

    @classmethod
    def create(cls, folder: Path, name: str = EVENTS) -> Self:
        """Start a run in `folder`, absent or empty as yet. Raises InputError, ResultsFull."""
        path = folder / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            occupant = next((entry.name for entry in folder.iterdir()), None)
            if occupant is not None:
                raise InputError(_occupied(folder, occupant))
            descriptor = os.open(path, _NEW, 0o644)
        except FileExistsError as error:
            occupant = EVENTS if folder.is_dir() else ""
            raise InputError(_occupied(folder, occupant)) from error
        except OSError as error:
            raise explain(error, folder) from error
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        packer = frames.Writer() if name == EVENTS else None
        return cls(folder, descriptor, name=name, packer=packer)

    @classmethod
    def reopen(cls, folder: Path) -> Self:
        """Continue a run that has ended, or was ended. Raises InputError, RunnerError.

        A line that was cut off at the end is cut off whole.
        """
        try:
            descriptor = os.open(folder / EVENTS, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise explain(error, folder) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            size, open_, last = _whole_lines(folder / EVENTS)
            os.ftruncate(descriptor, size)
        except BlockingIOError as error:
            os.close(descriptor)
            raise InputError(f"a run is going on in {folder}: wait for its end") from error
        except ReportError as error:
            os.close(descriptor)
            raise InputError(str(error)) from error
        return cls(folder, descriptor, last, packer=frames.Writer(open_))

    def append(self, record: Record) -> None:
        """Write one record and wait for the disk. Raises ResultsLost, having undone a part line."""
        line = _Line(text_of(record).encode(), last=record.get("type") == "end")
        self._waiting.append(line)
        with self._disk:
            # An earlier writer of the disk may have written this line with its own.
            if not line.done and not self._ended:
                self._commit([self._waiting.popleft() for _ in range(len(self._waiting))])
        if line.error is not None:
            raise line.error

    def close(self) -> None:
        """Give up the lock; the log may be closed twice. A file that cannot be ended is whole too:
        what ends it is for other programs.
        """
        with self._disk:
            if self._descriptor >= 0:
                with suppress(OSError):
                    self._write(self._packer.end() if self._packer and self._grown else b"")
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _commit(self, lines: Sequence[_Line]) -> None:
        """Write lines and sync once. Where not all of them fit, none is kept."""
        last, written, ended = self._last, [], False
        for line in lines:
            if ended:
                break
            written.append(linked(line.record, last))
            last = last.to(written[-1])
            ended = line.last
        data = self._packer.lines(written) if self._packer else b"".join(written)
        error: RunnerError | None = None
        try:
            self._write(data)
            os.fsync(self._descriptor)
            self._size += len(data)
            self._last, self._grown, self._ended = last, True, ended
            error = self._elsewhere()
        except OSError as refused:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            if self._packer:
                self._packer.abandon()
            error = explain(refused, self.folder)
        for line in lines:
            line.done, line.error = True, error

    def _elsewhere(self) -> ResultsLost | None:
        """Why what is written is not where it should be: who removed the file is not told of it."""
        try:
            there = self._path.stat()
        except OSError as refused:
            return ResultsLost(
                f"the results are gone: {self._path} was removed or moved while the run went on "
                f"({refused.strerror}): certify anew"
            )
        ours = os.fstat(self._descriptor)
        if (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino):
            return ResultsLost(f"the results are gone: {self._path} is another file now")
        return None

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]


def in_progress(folder: Path) -> bool:
    """Whether a process is writing this run now."""
    try:
        with (folder / EVENTS).open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def broken_clause(record: Mapping[str, Any]) -> str:
    """The other clause that a call of a kept case breaks, by a verdict's record; empty if none, or
    if it convicts nothing that is under test.
    """
    return "" if record.get("excused") else str(record.get("breaks", ""))


def exit_code(words: Collection[str], beside: bool = False) -> int:
    """What the first verdicts of a plan say as a whole: 0, 1 or 2, as docs/results.md has it.

    `beside` is whether anything failed beside a clause: in teardown, or a call of a kept case.
    """
    found = set(words)
    # A case is BLOCKED because the provider failed a call that another clause promises.
    if found & NOT_KEPT or "BLOCKED" in found or beside:
        return NOT_CONFORMANT
    # A run that checked nothing says nothing: a provider cannot conform by declaring all absent.
    if found & NOT_KNOWN or not found & KEPT:
        return COULD_NOT_TELL
    return CONFORMANT


def explain(error: OSError, folder: Path) -> RunnerError:
    """The error that tells a person why nothing can be written to `folder`."""
    if error.errno in _FULL:
        return ResultsFull(
            f"no space for results in {folder} ({error.strerror}): what was done is kept; "
            "free some space, or choose another --out"
        )
    # No name that this program makes is so long: it has one of the command line in it.
    if error.errno == errno.ENAMETOOLONG:
        return InputError(f"{folder}: {error.strerror}")
    return ResultsLost(f"cannot write results to {folder}: {error.strerror}")


def _whole_lines(path: Path) -> tuple[int, bool, Link]:
    """How many bytes of a file are whole lines, whether they end inside of a frame, and the link of
    the last one. Raises ReportError.
    """
    size, open_, last = 0, False, START
    for record in read(path):
        if record is not None and record.place is not None:
            size, open_, last = record.place.end, record.place.open, record.link
    with path.open("rb") as file:
        file.seek(size)
        if open_ and file.read(len(frames.END) + 1) == frames.END:
            return size + len(frames.END), False, last
    return size, open_, last


def _occupied(folder: Path, occupant: str) -> str:
    if occupant == "":
        return f"{folder} is a file: --out takes a folder that is absent or empty"
    if (folder / EVENTS).is_file():
        state = "a run is going on" if in_progress(folder) else "there is a run already"
        return f"{state} in {folder}: choose another --out"
    return (
        f"{folder} is not empty (it has {occupant}): --out takes a folder that is absent or empty"
    )
