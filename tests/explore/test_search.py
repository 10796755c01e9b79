# SPDX-License-Identifier: BSD-2-Clause
"""The search: what it finds, how it shrinks, and what it does with a walk that is unsteady."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest

from results.errors import RunnerError
from results.runlog.walks import Wrong, wrong
from runners.campaign.explore.search import AGAIN, Search
from runners.campaign.explore.walk import Walker

Judge = Callable[[Sequence[str]], int]


class FakeWalker:
    """Takes no walk: `deviates` says at which step a program does, or 0."""

    hosts = 1

    def __init__(self, deviates: Judge) -> None:
        self._deviates = deviates
        self.programs: list[list[str]] = []

    def walk(self, program: Sequence[str]) -> dict[str, Any]:
        """A record as that of a walk."""
        self.programs.append(list(program))
        at = self._deviates(program)
        calls = [{"n": n, "call": f"dat_{line.split()[0]}"} for n, line in enumerate(program, 1)]
        told: dict[str, Any] = {"verdict": "agrees", "judged": len(calls)}
        if at:
            clause = {"clause": "srq_resize/grow", "who": "case", "n": at}
            told |= {"verdict": "deviates", "why": "refused", **clause}
        return {"verdict": "PASS", "reason": "", "oracle": told, "calls": calls}


def search(deviates: Judge, walks: int = 30, seed: int = 1) -> tuple[Search, FakeWalker]:
    walker = FakeWalker(deviates)
    taker = cast(Walker, walker)
    return Search(taker, ("srq",), 10, seed, 60.0, walks, lambda: None), walker


def position(program: Sequence[str], name: str) -> int:
    """Where the first step of this name is, counted from 1; 0 where none is."""
    return next((n for n, line in enumerate(program, 1) if line.startswith(name)), 0)


def test_what_does_not_deviate_is_walked_through() -> None:
    one, walker = search(lambda program: 0)
    assert list(one.findings()) == []
    assert len(walker.programs) == 30


def test_a_finding_is_shrunk_to_the_step() -> None:
    one, _ = search(lambda program: position(program, "srq_resize"))
    (finding,) = one.findings()
    assert len(finding.program) == 1
    assert finding.program[0].startswith("srq_resize")
    assert finding.wrong.key == ("deviates", "dat_srq_resize", "srq_resize/grow")
    assert (finding.shown, finding.again) == (AGAIN, AGAIN)


def test_steps_that_it_needs_are_kept() -> None:
    def deviates(program: Sequence[str]) -> int:
        asked = position(program, "srq_query")
        made = position(program, "srq_create")
        return asked if 0 < made < asked else 0

    one, _ = search(deviates)
    finding = next(iter(one.findings()))
    names = [line.split()[0] for line in finding.program]
    assert names == ["srq_create", "srq_query"]


def test_what_shows_now_and_then_says_how_often() -> None:
    shown = 0

    def deviates(program: Sequence[str]) -> int:
        nonlocal shown
        shown += 1
        return 1 if shown == 5 else 0

    one, _ = search(deviates)
    (finding,) = one.findings()
    assert finding.shown == 0
    assert len(finding.program) > 1


def test_a_seed_takes_the_same_walks() -> None:
    walked = []
    for seed in (3, 3, 4):
        one, walker = search(lambda program: 0, seed=seed)
        list(one.findings())
        walked.append(walker.programs)
    assert walked[0] == walked[1] != walked[2]


@pytest.mark.parametrize("verdict", ["FAIL", "CRASH", "TIMEOUT"])
def test_a_process_that_ends_is_a_finding(verdict: str) -> None:
    record = FakeWalker(lambda program: 0).walk(["srq_free"])
    record |= {"verdict": verdict, "reason": "SIGSEGV", "pending": "dat_srq_free"}
    assert wrong(record) == Wrong(verdict, "dat_srq_free", "", 1, "SIGSEGV")


def test_a_check_of_the_puppet_names_its_clause() -> None:
    """It is cited only where the walk failed by it."""
    why = "private data is not what it was [evd_wait/private_data_lasts]"
    record = {"oracle": {"verdict": "agrees"}, "calls": [], "verdict": "FAIL", "reason": why}
    assert wrong(record) == Wrong("FAIL", "", "evd_wait/private_data_lasts", 0, why)
    assert wrong(record | {"verdict": "TIMEOUT"}) == Wrong("TIMEOUT", "", "", 0, why)


def test_a_walk_that_says_nothing_ends_the_search() -> None:
    record = FakeWalker(lambda program: 0).walk(["srq_free"])
    with pytest.raises(RunnerError, match="ended as ERROR"):
        wrong(record | {"verdict": "ERROR", "reason": "no such step"})


@pytest.mark.parametrize("what", ["crash", "timeout"])
def test_a_teardown_without_an_end_is_a_finding(what: str) -> None:
    record = FakeWalker(lambda program: 0).walk(["srq_free"])
    refused = {"call": "dat_ia_close", "what": "refused", "saw": "DAT_INVALID_STATE"}
    assert wrong(record | {"teardown": [refused]}) is None
    found = wrong(record | {"teardown": [refused, refused | {"what": what, "saw": "SIGSEGV"}]})
    assert found is not None
    assert found.key == ("teardown", "dat_ia_close", "")


def test_an_unusable_walk_is_told_though_the_next_is_usable() -> None:
    one, walker = search(lambda program: 0)
    whole = walker.walk
    records = iter([{"verdict": "ERROR", "reason": "the host is full"}])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walker, "walk", lambda program: whole(program) | next(records, {}))
        with pytest.raises(RunnerError, match="the host is full"):
            list(one.findings())


def test_a_finding_stays_though_a_later_walk_is_unusable() -> None:
    one, walker = search(lambda program: position(program, "srq_resize"))
    whole = walker.walk
    found: list[bool] = []

    def walk(program: Sequence[str]) -> dict[str, Any]:
        record = whole(program)
        found.append(record["oracle"]["verdict"] == "deviates")
        full = {"verdict": "ERROR", "reason": "the host is full", "oracle": {"verdict": "agrees"}}
        return record | full if sum(found) > 1 else record

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walker, "walk", walk)
        findings = one.findings()
        first = next(findings)
    assert first.wrong.call == "dat_srq_resize"
    assert (first.shown, first.again) == (0, 0)
