# SPDX-License-Identifier: BSD-2-Clause
"""Testbeds side by side: a thread for each, which takes case after case from what they share."""

import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from queue import SimpleQueue
from threading import Event, Thread

from results.runlog.records import Record
from runners.campaign.plan.plan import Planned
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import PUT_OFF, Emit, Testbed

# How long a case that was told to end may take, when the run ends early.
STOP_TIMEOUT = 5.0
# What is needed next is opened while so many cases are left of this part.
AHEAD = 64


@dataclass(frozen=True)
class Told:
    """A case that ended: its verdict's record."""

    planned: Planned
    verdict: Record


@dataclass(frozen=True)
class Part:
    """Cases for a testbed, which may share them with others."""

    testbed: Testbed
    cases: "deque[Planned]"


class Lane(Thread):
    """One part after the other, each until it has no case left. A case that is put off is given to
    `put_off`; that the last part nears its end is reported to `ahead`, perhaps more than once.

    A verdict is written down while the next case runs, and before that has one.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        emit: Emit,
        out: "SimpleQueue[Told | BaseException | None]",
        over: Event,
        attempt: int,
        put_off: Callable[[Planned], None],
        ahead: Callable[[], None],
    ) -> None:
        super().__init__(daemon=True)
        self._parts = parts
        self._emit = emit
        self._out = out
        self._over = over
        self._attempt = attempt
        self._put_off = put_off
        self._ahead = ahead
        self._written: Future[None] | None = None

    def run(self) -> None:
        try:
            with ThreadPoolExecutor(1) as writer:
                for part, later in zip_longest(self._parts, self._parts[1:]):
                    self._work_off(part, later, writer)
                self._wait_written()
        except BaseException as error:
            self._out.put(error)
        finally:
            for part in self._parts:
                part.testbed.close()
            self._out.put(None)

    def abort(self) -> None:
        """End the case that runs now, if one does. From any thread."""
        for part in self._parts:
            part.testbed.abort()

    def _work_off(self, part: Part, later: Part | None, writer: ThreadPoolExecutor) -> None:
        while part.cases and not self._over.is_set() and part.testbed.ready(self._tell):
            if len(part.cases) <= AHEAD:
                (later.testbed.prepare if later else self._ahead)()
            self._next(part, writer)
        part.testbed.close()

    def _next(self, part: Part, writer: ThreadPoolExecutor) -> None:
        try:
            planned = part.cases.popleft()
        except IndexError:
            return

        def tell(record: Record) -> None:
            self._wait_written()
            if record["type"] == "verdict":
                self._written = writer.submit(self._write, planned, record)
            else:
                self._tell(record)

        word = part.testbed.run(Attempt(planned, self._attempt), tell)
        if word is None:
            part.cases.appendleft(planned)
        elif word == PUT_OFF:
            self._put_off(planned)

    def _wait_written(self) -> None:
        if self._written is not None:
            self._written.result()

    def _write(self, planned: Planned, verdict: Record) -> None:
        try:
            self._tell(verdict)
            if not self._over.is_set():
                self._out.put(Told(planned, verdict))
        except BaseException as error:
            self._out.put(error)

    def _tell(self, record: Record) -> None:
        # What ends because the run ends is no verdict.
        if not self._over.is_set():
            self._emit(record)


def side_by_side(
    parts: Sequence[Sequence[Part]],
    emit: Emit,
    over: Event,
    attempt: int = 1,
    put_off: Callable[[Planned], None] = lambda planned: None,
    ahead: Callable[[], None] = lambda: None,
) -> Generator[Told, None, None]:
    """Run each of `parts` in a lane; yields each case when its verdict is written down. `over` is
    set where this is left before its end.
    """
    out: SimpleQueue[Told | BaseException | None] = SimpleQueue()
    lanes = [Lane(own, emit, out, over, attempt, put_off, ahead) for own in parts]
    left = len(lanes)
    try:
        for lane in lanes:
            lane.start()
        while left:
            told = out.get()
            if isinstance(told, Told):
                yield told
            elif told is None:
                left -= 1
            else:
                raise told
    finally:
        if left:
            _halt(lanes, over)


def of_hosts(emit: Emit) -> Emit:
    """`emit`, where that a lane ends is no incident of the run."""

    def tell(record: Record) -> None:
        if record.get("what") != "fabric":
            emit(record)

    return tell


def _halt(lanes: Sequence[Lane], over: Event) -> None:
    """The run ends early: running cases are ended, and are not recorded."""
    over.set()
    for lane in lanes:
        lane.abort()
    deadline = time.monotonic() + STOP_TIMEOUT
    for lane in lanes:
        if lane.is_alive():
            lane.join(max(0.0, deadline - time.monotonic()))
