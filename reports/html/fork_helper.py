# SPDX-License-Identifier: BSD-2-Clause
"""Work that two processors share: every second part of it is done by a copy of this process."""

import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from results.tempfile_buffer import Spill

# For fewer parts a copy does not pay.
_LEAST = 8
# So many seconds after this process is done with its half, the copy is not waited for any longer.
_PATIENCE = 60.0
_PR_SET_PDEATHSIG = 1
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM})


def in_halves(work: Callable[[int], str], count: int, folder: Path | None = None) -> Iterator[str]:
    """What `work` makes of each number below `count`: ASCII without newlines. Until it is asked
    for, it is on the disk of `folder`.
    """
    if count < _LEAST or len(os.sched_getaffinity(0)) < 2:
        return map(work, range(count))
    own, copied = Spill(folder), Spill(folder)
    with _copy(work, range(1, count, 2), copied) as ended:
        for number in range(0, count, 2):
            own.write(f"{work(number)}\n".encode("ascii"))
        whole = ended()
    if not whole:
        os.ftruncate(copied.file, 0)
    return _in_turn(work, count, own, copied)


def _in_turn(work: Callable[[int], str], count: int, own: Spill, copied: Spill) -> Iterator[str]:
    with open(os.dup(own.file), "rb") as ours, open(os.dup(copied.file), "rb") as theirs:
        ours.seek(0)
        theirs.seek(0)
        for number in range(count):
            line = (theirs if number % 2 else ours).readline().decode("ascii")
            # What the copy could not do is done here, or fails here.
            yield line.removesuffix("\n") if line else work(number)


@contextmanager
def _copy(
    work: Callable[[int], str], numbers: Iterable[int], made: Spill
) -> Iterator[Callable[[], bool]]:
    """A copy that does the work of `numbers`; gives what waits for its end and tells whether it did
    it all. It does not outlive this context, nor this process.
    """
    child = 0

    def ended() -> bool:
        nonlocal child
        if not child or not _ends(child):
            return False
        _, status = os.waitpid(child, 0)
        child = 0
        return status == 0

    try:
        with suppress(OSError):
            child = _forked(work, numbers, made)
        yield ended
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _ends(child: int) -> bool:
    """Whether a copy ends in time: another thread may have had a lock when it was made, and that is
    taken for ever there.
    """
    process = os.pidfd_open(child)
    try:
        return bool(select.select([process], [], [], _PATIENCE)[0])
    finally:
        os.close(process)


def _forked(work: Callable[[int], str], numbers: Iterable[int], made: Spill) -> int:
    """The copy's process id. This process takes an interrupt, and ends the copy."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    parent = os.getpid()
    try:
        child = os.fork()
        if child == 0:
            _work(work, numbers, made, parent)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(work: Callable[[int], str], numbers: Iterable[int], made: Spill, parent: int) -> None:
    """What the copy does: it ends here, whatever happens."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            for number in numbers:
                made.write(f"{work(number)}\n".encode("ascii"))
            status = 0
    finally:
        os._exit(status)
