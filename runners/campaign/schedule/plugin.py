# SPDX-License-Identifier: BSD-2-Clause
"""The pytest plugin that runs cases: each planned case is an item.

pytest is given an assignment's file to collect from. What a case left behind is given as records to
who writes them down (campaign.py): in its report's user_properties, where it was this that ran it.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pytest

from results.model.load import beside
from results.runlog import records
from runners.campaign.plan.assignment import FILE_NAME, Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.schedule.lanes import Told
from runners.campaign.session.attempt import Attempt
from runners.campaign.session.testbed import Testbeds

RECORDS = "records"
VERDICT = "verdict"
TESTBEDS = pytest.StashKey[Testbeds]()
# The mode that follows another.
FOLLOWING = pytest.StashKey[dict[int, int]]()


class Many(Protocol):
    """What runs a plan on many testbeds."""

    def run(self, plan: Sequence[Planned]) -> Generator[Told, None, None]:
        """Run `plan`; yields each case when its verdict is written down."""


MANY = pytest.StashKey[Many]()


class NotKept(Exception):
    """The verdict of a case that is a failure for pytest: not kept, or not known."""


@cache
def _marker(label: str) -> pytest.MarkDecorator:
    """A marker that all items share: there may be many thousands of them."""
    made: pytest.MarkDecorator = getattr(pytest.mark, label)
    return made


class AssignmentFile(pytest.File):
    """The plan as a collection of items, in the plan's order."""

    def collect(self) -> Iterator["CaseItem"]:
        assignment = Assignment.load(self.path)
        for label in dict.fromkeys(label for one in assignment.plan for label in one.labels):
            self.config.addinivalue_line("markers", label)
        for planned in assignment.plan:
            yield CaseItem.from_parent(
                self, name=planned.name, nodeid=planned.name, planned=planned
            )


class CaseItem(pytest.Item):
    """One case in one mode. Its page, object, level and check are its markers."""

    def __init__(self, *, planned: Planned, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.planned = planned
        self.told: records.Record | None = None
        for label in planned.labels:
            self.add_marker(_marker(label))

    def runtest(self) -> None:
        """Run the case; raises NotKept, or skips where there is nothing to judge."""
        ended = self.told
        if ended is None:
            told: list[records.Record] = []
            testbeds = self.config.stash[TESTBEDS]
            try:
                word = testbeds.run(Attempt(self.planned), told.append)
            finally:
                self.user_properties.append((RECORDS, told))
            if word is None:
                pytest.skip(testbeds.given_up(self.planned.hosts))
            ended = next(record for record in told if record["type"] == "verdict")
        verdict, reason = ended["verdict"], ended["reason"]
        self.user_properties.append((VERDICT, verdict))
        if verdict in records.NOT_KEPT | records.NOT_KNOWN:
            raise NotKept(f"{verdict}: {reason}")
        if broken := beside(ended):
            raise NotKept(broken)
        if verdict not in records.KEPT:
            pytest.skip(f"{verdict}: {reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The verdict alone; a traceback only for what should not happen."""
        if isinstance(excinfo.value, NotKept):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the case stands."""
        return Path(self.planned.file), self.planned.line - 1, self.name

    @cached_property
    def location(self) -> tuple[str, int | None, str]:
        """The same, without a look at the paths of this machine, which takes long."""
        return self.planned.file, self.planned.line - 1, self.name


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> AssignmentFile | None:
    """Takes an assignment's file, and no other."""
    if file_path.name != FILE_NAME:
        return None
    # A node's name is a keyword of all its items: -k must not match the file's.
    return AssignmentFile.from_parent(parent, path=file_path, name="")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """A plan for many testbeds: each item is judged when its case has ended on one of them."""
    many = session.config.stash.get(MANY, None)
    if many is None or session.config.option.collectonly:
        return None
    items = {item.planned: item for item in session.items if isinstance(item, CaseItem)}
    with closing(many.run(list(items))) as ended:
        for told in ended:
            item = items[told.planned]
            item.told = told.verdict
            report(item)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Runs a case. Opens the next mode's hosts meanwhile, and releases this one's at its end."""
    assert isinstance(item, CaseItem)
    report(item)
    testbeds = item.config.stash[TESTBEDS]
    here = item.planned.hosts
    if isinstance(nextitem, CaseItem) and nextitem.planned.hosts != here:
        testbeds.keep_only({nextitem.planned.hosts})
    elif later := item.session.stash[FOLLOWING].get(here):
        testbeds.prepare(later)
    return True


def report(item: CaseItem) -> None:
    """pytest's protocol for an item: nothing is set up for it, nor torn down, and its one report
    has its records once. They are not kept: those of a whole run are 200 MB as text, and more so.
    """
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    stops = (pytest.exit.Exception, KeyboardInterrupt)
    call = pytest.CallInfo.from_call(item.runtest, when="call", reraise=stops)
    made = hook.pytest_runtest_makereport(item=item, call=call)
    hook.pytest_runtest_logreport(report=made)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    item.told = None
    item.user_properties.clear()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Notes which mode follows which in the plan of this process."""
    modes = list(dict.fromkeys(i.planned.hosts for i in session.items if isinstance(i, CaseItem)))
    session.stash[FOLLOWING] = dict(pairwise(modes))
