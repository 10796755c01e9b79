# SPDX-License-Identifier: BSD-2-Clause
"""A plan for several workers, which share the cases. Each has hosts of its own, or all have the
same hosts: then they are lanes, and a case that needs something of a host for itself runs when no
other one does (docs/decisions/0257-lanes.md).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from threading import Event, Lock
from types import TracebackType
from typing import Self

from results.runlog.records import Record
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.schedule.lane_count import Lanes, within_limits
from runners.campaign.schedule.lanes import Part, Told, side_by_side
from runners.campaign.schedule.parallel_waits import beside
from runners.campaign.schedule.progress import counted
from runners.campaign.session.testbed import Emit, Progress, Testbed


class Workers:
    """Testbeds for each mode of an assignment, as many as `lanes` says. A context.

    `ahead` is called once, when there is little left to be done. If lanes are `limited`, the IA is
    asked before the first case how many it has objects for.
    """

    def __init__(
        self,
        assignment: Assignment,
        lanes: Lanes,
        emit: Emit,
        say: Progress,
        ahead: Callable[[], None],
        limited: bool = False,
    ) -> None:
        self._assignment = assignment
        self._emit = emit
        self._say = say
        self._stop = Event()
        self._lanes = lanes
        self._limited = limited
        self._shared = assignment.shares_hosts
        self._ahead = ahead
        self._one = Lock()
        self._put_off: set[Planned] = set()
        modes = Counter(planned.hosts for planned in assignment.plan)
        self._beds = {
            hosts: [
                Testbed(assignment, hosts, f"worker{number}-", puts_off=True)
                for number in range(min(lanes.count, cases))
            ]
            for hosts, cases in modes.items()
        }

    @property
    def count(self) -> int:
        """How many cases run at a time."""
        return self._lanes.count

    def prepare(self) -> None:
        """Begin to open the hosts of the first mode."""
        for bed in next(iter(self._beds.values()))[: 1 if self._limited else None]:
            bed.prepare()

    def run(self, plan: Sequence[Planned]) -> Generator[Told, None, None]:
        """Run `plan`, mode after mode, then what was put off, and what is to be alone; yields each
        case when its verdict is written down.
        """
        if self._shared:
            self._settle_lanes()
        others = [one for one in plan if not self._is_alone(one)]
        yield from self._share(others, self.count)
        yield from self._begin_anew(others, self.count)
        alone = [one for one in plan if self._is_alone(one)]
        yield from self._share(alone, 1)
        yield from self._begin_anew(alone, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for beds in self._beds.values():
            for bed in beds:
                bed.close()

    def _settle_lanes(self) -> None:
        """Say how many lanes there are: no more than the IA has objects for."""
        first = next(iter(self._beds.values()))[0]
        if self._limited:
            self._lanes = within_limits(self._lanes, first.attributes(self._emit))
        for beds in self._beds.values():
            del beds[self.count :]
        self._say(str(self._lanes))

    def _is_alone(self, planned: Planned) -> bool:
        return self._shared and planned.alone != ""

    def _share(self, plan: Iterable[Planned], count: int) -> Generator[Told, None, None]:
        """Run `plan` on so many testbeds of each mode."""
        cases: defaultdict[int, deque[Planned]] = defaultdict(deque)
        for planned in plan:
            cases[planned.hosts].append(planned)
        # A case may be given back when the other workers are done with its mode.
        while parts := self._parts(cases, count):
            yield from side_by_side(
                parts, self._emit, self._stop, put_off=self._put_off.add, ahead=self._nears_end
            )

    def _begin_anew(self, plan: Iterable[Planned], count: int) -> Generator[Told, None, None]:
        """Run what was put off of `plan`, so many at a time at least."""
        waited = [one for one in plan if one in self._put_off]
        if not waited:
            return
        self._say(f"{counted(len(waited), 'case')} that waited, begun anew side by side")
        with closing(beside(self._assignment, waited, 1, count, self._tell)) as ended:
            yield from ended

    def _parts(self, cases: "Mapping[int, deque[Planned]]", count: int) -> list[list[Part]]:
        """What is left to be done, for each of so many workers that has hosts for some of it."""
        left = {hosts: own for hosts, own in cases.items() if own}
        beds = {hosts: [bed for bed in self._beds[hosts] if not bed.given_up] for hosts in left}
        return [
            [Part(beds[hosts][number], own) for hosts, own in left.items() if beds[hosts][number:]]
            for number in range(min(count, max(map(len, beds.values()), default=0)))
        ]

    def _nears_end(self) -> None:
        with self._one:
            ahead, self._ahead = self._ahead, _nothing
            ahead()

    def _tell(self, record: Record) -> None:
        if record["type"] == "verdict":
            record["put_off"] = True
        self._emit(record)


def _nothing() -> None:
    """What is to be done when the rest is reported once more."""
