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
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_BATCH = 16
# So many batches for each processor are under way.
_AHEAD = 2
# So many seconds a batch may take: another thread may have had a lock when the copies were made,
# and in a copy nothing gives that back.
_PATIENCE = 60.0
_PR_SET_PDEATHSIG = 1
_ENDING = frozenset({signal.SIGINT, signal.SIGTERM})
# What a copy does with each item: set in the copy only.
_work: Callable[[Any], Any]


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], batch: int = _BATCH
) -> Iterator[Result]:
    """What `work` makes of each item, in the order of the items. So many items are given to a copy
    at a time; for fewer in all, copies do not pay.

    Items and results go from process to process. What a copy could not do is done here.
    """
    count = len(os.sched_getaffinity(0))
    left = iter(items)
    some = list(islice(left, batch))
    if count < 2 or len(some) < batch:
        yield from map(work, chain(some, left))
        return
    under_way: deque[tuple[Sequence[Item], Future[list[Result]] | None]] = deque()
    pool = ProcessPoolExecutor(count, get_context("fork"), _begin, (os.getpid(), work))
    try:
        while some:
            under_way.append((some, _submitted(pool, some)))
            if len(under_way) > _AHEAD * count:
                yield from _ended(work, *under_way.popleft())
            some = list(islice(left, batch))
        while under_way:
            yield from _ended(work, *under_way.popleft())
    except BaseException:
        _kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(parent: int, work: Callable[[Any], Any]) -> None:
    """A copy leaves an interrupt to this process, and ends with it."""
    global _work
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _work = work


def _submitted(pool: ProcessPoolExecutor, batch: Sequence[Any]) -> Future[list[Any]] | None:
    """A batch that is under way; None where the copies are lost."""
    # The first one makes the copies: they keep what is blocked now.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return pool.submit(_all, batch)
    except (BrokenProcessPool, OSError):
        return None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _all(batch: Sequence[Any]) -> list[Any]:
    return list(map(_work, batch))


def _ended(
    work: Callable[[Item], Result], batch: Sequence[Item], future: Future[list[Result]] | None
) -> list[Result]:
    try:
        return future.result(_PATIENCE) if future else list(map(work, batch))
    except TimeoutError:
        _kill()
        return list(map(work, batch))
    except BrokenProcessPool:
        return list(map(work, batch))


def _kill() -> None:
    """What a copy is at may have no end."""
    for copy in multiprocessing.active_children():
        copy.kill()
