# SPDX-License-Identifier: BSD-2-Clause
"""A plan on hosts of its own for each of several workers, which share the cases."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from threading import Event, Lock
from types import TracebackType
from typing import Self

from results.runlog.records import Record
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.schedule.lanes import Part, Told, side_by_side
from runners.campaign.schedule.parallel_waits import beside
from runners.campaign.schedule.progress import counted
from runners.campaign.session.testbed import Emit, Progress, Testbed


class Workers:
    """`count` testbeds for each mode of an assignment. A context, which closes them.

    `ahead` is called once, when there is little left to be done.
    """

    def __init__(
        self,
        assignment: Assignment,
        count: int,
        emit: Emit,
        say: Progress,
        ahead: Callable[[], None],
    ) -> None:
        self._assignment = assignment
        self._emit = emit
        self._say = say
        self._stop = Event()
        self._count = count
        self._ahead = ahead
        self._one = Lock()
        self._put_off: set[Planned] = set()
        modes = Counter(planned.hosts for planned in assignment.plan)
        self._beds = {
            hosts: [
                Testbed(assignment, hosts, f"worker{number}-", puts_off=True)
                for number in range(min(count, cases))
            ]
            for hosts, cases in modes.items()
        }

    def prepare(self) -> None:
        """Begin to open the hosts of the first mode."""
        for bed in next(iter(self._beds.values())):
            bed.prepare()

    def run(self, plan: Sequence[Planned]) -> Generator[Told, None, None]:
        """Run `plan`, mode after mode, then what was put off; yields each case when its verdict is
        written down.
        """
        cases: defaultdict[int, deque[Planned]] = defaultdict(deque)
        for planned in plan:
            cases[planned.hosts].append(planned)
        # A case may be given back when the other workers are done with its mode.
        while parts := self._parts(cases):
            yield from side_by_side(
                parts, self._emit, self._stop, put_off=self._put_off.add, ahead=self._nears_end
            )
        waited = [one for one in plan if one in self._put_off]
        if waited:
            self._say(f"{counted(len(waited), 'case')} that waited, begun anew side by side")
            with closing(beside(self._assignment, waited, 1, self._count, self._tell)) as ended:
                yield from ended

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

    def _parts(self, cases: "Mapping[int, deque[Planned]]") -> list[list[Part]]:
        """What is left to be done, for each worker that has hosts for some of it."""
        left = {hosts: own for hosts, own in cases.items() if own}
        beds = {hosts: [bed for bed in self._beds[hosts] if not bed.given_up] for hosts in left}
        return [
            [Part(beds[hosts][number], own) for hosts, own in left.items() if beds[hosts][number:]]
            for number in range(max(map(len, beds.values()), default=0))
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
