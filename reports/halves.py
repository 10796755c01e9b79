# SPDX-License-Identifier: BSD-2-Clause
"""Work that two processors share: every second part of it is done by a copy of this process."""

import ctypes
import os
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress

# For fewer parts a copy does not pay.
_LEAST = 8
# So many seconds after this process is done with its half, the copy is not waited for any longer.
_PATIENCE = 60.0
_PR_SET_PDEATHSIG = 1
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM})


def in_halves(work: Callable[[int], str], count: int) -> list[str]:
    """What `work` makes of each number below `count`: ASCII without newlines."""
    if count < _LEAST or len(os.sched_getaffinity(0)) < 2:
        return list(map(work, range(count)))
    with _copy(work, range(1, count, 2)) as end:
        made = {number: work(number) for number in range(0, count, 2)}
        made.update(zip(range(1, count, 2), end(), strict=False))
    # What the copy could not do is done here, or fails here.
    return [made[number] if number in made else work(number) for number in range(count)]


@contextmanager
def _copy(work: Callable[[int], str], numbers: Iterable[int]) -> Iterator[Callable[[], list[str]]]:
    """A copy that does the work of `numbers`; gives what waits for its end and has what it made,
    which is nothing where it failed. It does not outlive this context, nor this process.
    """
    # A pipe would be full before anybody reads it.
    file = os.memfd_create("halves", os.MFD_CLOEXEC)
    child = 0

    def end() -> list[str]:
        nonlocal child
        if not child or not _ends(child):
            return []
        _, status = os.waitpid(child, 0)
        child = 0
        with os.fdopen(os.dup(file), "rb") as made:
            made.seek(0)
            return made.read().decode("ascii").splitlines() if status == 0 else []

    try:
        with suppress(OSError):
            child = _forked(work, numbers, file)
        yield end
    finally:
        os.close(file)
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


def _forked(work: Callable[[int], str], numbers: Iterable[int], file: int) -> int:
    """The copy's process id. This process takes an interrupt, and ends the copy."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    parent = os.getpid()
    try:
        child = os.fork()
        if child == 0:
            _work(work, numbers, file, parent)
        return child
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(work: Callable[[int], str], numbers: Iterable[int], file: int, parent: int) -> None:
    """What the copy does: it ends here, whatever happens."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            with os.fdopen(file, "wb") as out:
                out.writelines(f"{work(number)}\n".encode("ascii") for number in numbers)
            status = 0
    finally:
        os._exit(status)
