# SPDX-License-Identifier: BSD-2-Clause
"""Cases that wait, beside one another: each on hosts of its own, more of them than there is work
for (docs/decisions/0156-what-waits-waits-side-by-side.md).
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from threading import Event

import pytest

from runners.campaign.assignment import Assignment
from runners.campaign.plan import Planned
from runners.campaign.plugin import VERDICT, CaseItem, register_labels, report
from runners.campaign.progress import counted
from runners.campaign.spread import Told, side_by_side
from runners.campaign.testbed import GIVEN_UP, PUT_OFF, Emit, Testbed
from runners.results.records import Record

# So many cases that wait are less load than one that does not.
FOR_EACH_WORKER = 4


def beside(
    assignment: Assignment,
    cases: Iterable[Planned],
    attempt: int,
    workers: int,
    emit: Emit,
    for_each: int = FOR_EACH_WORKER,
) -> Generator[Told, None, None]:
    """Run cases that are known to wait, those of one mode at a time, `for_each` worker so many side
    by side; yields each as it ends.
    """
    for hosts, group in groupby(cases, key=lambda planned: planned.hosts):
        left = deque(group)
        room = max(workers, min(for_each * workers, assignment.room(hosts)))
        count = min(room, len(left))
        label = "again" if attempt > 1 else "beside"
        beds = [Testbed(assignment, hosts, f"{label}{number}-") for number in range(count)]
        lanes = side_by_side(beds, [left] * count, emit, Event(), attempt)
        with closing(lanes) as ended:
            yield from ended


class PutOff:
    """The pytest plugin, of the process that writes, that runs what its workers have put off, and
    what one of them took and had no hosts for, where others had some.
    """

    def __init__(
        self, assignment: Assignment, workers: int, write: Emit, say: Callable[[str], None]
    ) -> None:
        self._assignment = assignment
        self._workers = workers
        self._write = write
        self._say = say
        self._put_off: set[str] = set()
        self._given_up: set[str] = set()
        self._ended: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A case ended, was put off, or was given up."""
        told = dict(report.user_properties)
        for word, names in (
            (PUT_OFF, self._put_off),
            (GIVEN_UP, self._given_up),
            (VERDICT, self._ended),
        ):
            if word in told:
                names.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """When the workers have ended, what they put off, or had no hosts for."""
        outcome = yield
        plan, workers = self._assignment.plan, self._workers
        modes = {planned.hosts for planned in plan if planned.name in self._ended}
        left = [one for one in plan if one.name in self._given_up and one.hosts in modes]
        if left and workers > 1:
            self._say(f"{counted(len(left), 'case')} of a worker that lost its hosts, on others")
            self._run(session, left, beside(self._assignment, left, 1, workers, self._write, 1))
        waited = [planned for planned in plan if planned.name in self._put_off]
        if waited:
            self._say(f"{counted(len(waited), 'case')} that waited, begun anew side by side")
            self._run(session, waited, beside(self._assignment, waited, 1, workers, self._tell))
        return outcome

    def _run(
        self,
        session: pytest.Session,
        cases: Sequence[Planned],
        lanes: Generator[Told, None, None],
    ) -> None:
        register_labels(session.config, cases)
        with closing(lanes) as ended:
            for told in ended:
                planned = told.planned
                item = CaseItem.from_parent(
                    session, name=planned.name, nodeid=planned.name, planned=planned
                )
                item.told = told.verdict
                report(item)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)

    def _tell(self, record: Record) -> None:
        if record["type"] == "verdict":
            record["put_off"] = True
        self._write(record)
