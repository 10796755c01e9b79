# SPDX-License-Identifier: BSD-2-Clause
"""Cases that wait, beside one another: each on hosts of its own, more of them than there is work
for (docs/decisions/0156-what-waits-waits-side-by-side.md).
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from itertools import groupby
from threading import Event

import pytest

from runners.campaign.assignment import Assignment
from runners.campaign.plan import Planned
from runners.campaign.plugin import CaseItem, register_labels, report
from runners.campaign.progress import counted
from runners.campaign.spread import Told, side_by_side
from runners.campaign.testbed import PUT_OFF, Emit, Testbed
from runners.results.records import Record

# So many cases that wait are less load than one that does not.
FOR_EACH_WORKER = 4


def beside(
    assignment: Assignment, cases: Iterable[Planned], attempt: int, workers: int, emit: Emit
) -> Generator[Told, None, None]:
    """Run cases that are known to wait, those of one mode at a time; yields each as it ends."""
    for hosts, group in groupby(cases, key=lambda planned: planned.hosts):
        left = deque(group)
        room = max(workers, min(FOR_EACH_WORKER * workers, assignment.room(hosts)))
        count = min(room, len(left))
        label = "again" if attempt > 1 else "beside"
        beds = [Testbed(assignment, hosts, f"{label}{number}-") for number in range(count)]
        lanes = side_by_side(beds, [left] * count, emit, Event(), attempt)
        with closing(lanes) as ended:
            yield from ended


class PutOff:
    """The pytest plugin, of the process that writes, that runs what its workers have put off."""

    def __init__(
        self, assignment: Assignment, workers: int, write: Emit, say: Callable[[str], None]
    ) -> None:
        self._assignment = assignment
        self._workers = workers
        self._write = write
        self._say = say
        self._names: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A case ended, or was put off."""
        if PUT_OFF in dict(report.user_properties):
            self._names.add(report.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Iterator[None]:
        """When the workers have ended, what they put off."""
        outcome = yield
        cases = [planned for planned in self._assignment.plan if planned.name in self._names]
        register_labels(session.config, cases)
        if cases:
            self._say(f"{counted(len(cases), 'case')} that waited, begun anew side by side")
        lanes = beside(self._assignment, cases, 1, self._workers, self._tell)
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
        return outcome

    def _tell(self, record: Record) -> None:
        if record["type"] == "verdict":
            record["put_off"] = True
        self._write(record)
