# SPDX-License-Identifier: BSD-2-Clause
"""Work that copies of this process do, on all processors; its results keep their order."""

import ctypes
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# So many items a copy is given at a time.
_BATCH = 16
# So many batches for each processor are under way.
_AHEAD = 2
# So many seconds a batch may take: another thread may have had a lock when the copies were made,
# and in a copy nothing gives that back.
_PATIENCE = 60.0
_PR_SET_PDEATHSIG = 1
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM})


def in_order(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """What `work`, a function of a module, makes of each item, in the order of the items.

    Items and results go from process to process. What a copy could not do is done here.
    """
    count = len(os.sched_getaffinity(0))
    if count < 2:
        yield from map(work, items)
        return
    left = iter(items)
    under_way: deque[tuple[Sequence[Item], Future[list[Result]] | None]] = deque()
    pool = ProcessPoolExecutor(count, get_context("fork"), _begin, (os.getpid(),))
    try:
        while batch := list(islice(left, _BATCH)):
            under_way.append((batch, _submitted(pool, work, batch)))
            if len(under_way) > _AHEAD * count:
                yield from _ended(work, *under_way.popleft())
        while under_way:
            yield from _ended(work, *under_way.popleft())
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int) -> None:
    """A copy leaves an interrupt to this process, and ends with it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _submitted(
    pool: ProcessPoolExecutor, work: Callable[[Item], Result], batch: Sequence[Item]
) -> Future[list[Result]] | None:
    """A batch that is under way; None where the copies are lost."""
    # The first one makes the copies: they keep what is blocked now.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return pool.submit(_all, work, batch)
    except (BrokenProcessPool, OSError):
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _all(work: Callable[[Item], Result], batch: Sequence[Item]) -> list[Result]:
    return list(map(work, batch))


def _ended(
    work: Callable[[Item], Result], batch: Sequence[Item], future: Future[list[Result]] | None
) -> list[Result]:
    try:
        return future.result(_PATIENCE) if future else _all(work, batch)
    except TimeoutError:
        for copy in multiprocessing.active_children():
            copy.kill()
        return _all(work, batch)
    except BrokenProcessPool:
        return _all(work, batch)
