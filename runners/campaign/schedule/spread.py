# SPDX-License-Identifier: BSD-2-Clause
"""A plan on many testbeds side by side: shared among them, or run whole on each pair of hosts."""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import chain, groupby
from threading import Event
from types import TracebackType
from typing import Self

from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.schedule.lanes import Part, Told, of_hosts, side_by_side
from runners.campaign.schedule.pool import Pool
from runners.campaign.schedule.tally import Tally
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import Emit, Progress, Testbed, incident
from runners.fabric.base import FabricError


class Spread:
    """Runs plans on the hosts of one fabric. A context; the hosts are opened by the first run()."""

    def __init__(
        self, assignment: Assignment, emit: Emit, progress: Progress, tally: Tally
    ) -> None:
        assert assignment.spread is not None
        self._tally = tally
        self._assignment = assignment
        self._emit = emit
        self._progress = progress
        self._every_pair = assignment.every_pair
        self._hosts = assignment.spread
        self._pool: Pool | None = None
        self._stop = Event()

    def run(self, plan: Sequence[Planned]) -> Generator[Told, None, None]:
        """Run `plan`, mode after mode; yields each case when its verdict is written down."""
        for hosts, planned in groupby(plan, key=lambda one: one.hosts):
            pool = self._open(hosts)
            if pool is None:
                return
            if self._every_pair:
                yield from self._on_each(pool, hosts, list(planned))
            else:
                yield from self._shared(pool, hosts, deque(planned))

    def again(self, planned: Planned, hosts: Sequence[str]) -> None:
        """Run a case once more, alone; on these hosts where every pair is tried."""
        pool = self._pool or self._open(planned.hosts)
        if pool is not None:
            testbed = self._testbed(pool, planned.hosts, hosts if self._every_pair else ())
            try:
                testbed.run(Attempt(planned, 2), self._emit)
            finally:
                testbed.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.__exit__()

    def _open(self, hosts: int) -> Pool | None:
        """The pool, opened and told of; None where there can be none."""
        if self._pool is None:
            try:
                pool = Pool(self._assignment, self._hosts, self._emit, self._progress)
                self._pool = pool.__enter__()
            except FabricError as error:
                self._emit(incident("fabric", "", str(error)))
                return None
        if not self._pool.names:
            self._emit(incident("fabric", "", "no host is left"))
            return None
        record = self._pool.record(hosts)
        if self._every_pair:
            places = chain.from_iterable(rounds(self._pool.hosts, hosts))
            record["testbeds"] = [list(names) for names in places]
        self._emit(record)
        return self._pool

    def _shared(self, pool: Pool, hosts: int, cases: "deque[Planned]") -> Iterator[Told]:
        given_up = ""
        # A case may be given back when the other lanes have ended.
        while cases and not given_up:
            count = max(1, min(len(pool.names) // hosts, len(cases)))
            beds = [self._testbed(pool, hosts, ()) for _ in range(count)]
            parts = [[Part(bed, cases)] for bed in beds]
            yield from side_by_side(parts, of_hosts(self._emit), self._stop)
            given_up = next((bed.given_up for bed in beds if bed.given_up), "")
        if cases and not self._stop.is_set():
            self._emit(incident("fabric", "", f"{len(cases)} cases are left: {given_up}"))

    def _on_each(self, pool: Pool, hosts: int, plan: Sequence[Planned]) -> Iterator[Told]:
        for places in rounds(pool.names, hosts):
            parts = []
            for names in places:
                # An earlier part of the run may have been here.
                left = [one for one in plan if not self._tally.has(one, names)]
                if left and set(names) <= set(pool.names):
                    parts.append([Part(self._testbed(pool, hosts, names), deque(left))])
            yield from side_by_side(parts, of_hosts(self._emit), self._stop)

    def _testbed(self, pool: Pool, hosts: int, names: Sequence[str]) -> Testbed:
        return Testbed(self._assignment, hosts, "", opened=partial(pool.lease, hosts, names))


def rounds(names: Sequence[str], hosts: int) -> Iterator[list[tuple[str, ...]]]:
    """Every pair of `names` once, in rounds in which no host has two; alone where `hosts` is 1."""
    if hosts == 1:
        yield [(name,) for name in names]
        return
    order = {name: position for position, name in enumerate(names)}
    # The circle method: one seat is fixed, the others move on by one from round to round.
    circle = [*names, *([""] if len(names) % 2 else [])]
    for _ in range(len(circle) - 1):
        pairs = zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True)
        yield [tuple(sorted(pair, key=order.__getitem__)) for pair in pairs if "" not in pair]
        circle[1:] = [circle[-1], *circle[1:-1]]
