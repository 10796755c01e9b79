# SPDX-License-Identifier: BSD-2-Clause
"""What a call that deviates makes of a case whose checks held."""

import pytest

from results.model.load import beside
from results.runlog.records import Record
from runners.campaign.session.model import found_by_model

WHY = "case call 2, dat_srq_resize: succeeds; it must return DAT_INVALID_STATE [srq_resize/low]"
DEVIATES = {
    "verdict": "deviates",
    "judged": 2,
    "why": WHY,
    "clause": "srq_resize/low",
    "who": "case",
    "n": 2,
}


def ended(case: str, word: str, said: Record) -> Record:
    """A verdict of a case that made two calls, and whose peer made two others."""
    calls = [
        {"n": n, "who": who, "call": name, "ret": "DAT_SUCCESS"}
        for who, names in {
            "peer": ("dat_pz_create", "dat_pz_free"),
            "case": ("dat_srq_create", "dat_srq_resize"),
        }.items()
        for n, name in enumerate(names, 1)
    ]
    return {"case": case, "verdict": word, "reason": "", "calls": calls, "oracle": said}


@pytest.mark.parametrize("case", ["srq_resize/low", "srq_resize/low/null"])
@pytest.mark.parametrize("verdict", ["PASS", "NOTE"])
def test_its_own_clause_fails(case: str, verdict: str) -> None:
    """The clause that the rule cites is the case's own, or that of its family."""
    record = found_by_model(ended(case, verdict, DEVIATES))
    assert record["verdict"] == "FAIL"
    assert record["reason"] == f"found by the model: {WHY}"
    assert "blocked" not in record


@pytest.mark.parametrize("case", ["srq_resize/lower", "srq_query/low", "srq_resize"])
@pytest.mark.parametrize("verdict", ["PASS", "NOTE"])
def test_another_clause_is_named(case: str, verdict: str) -> None:
    """The verdict stays; the clause of the rule is a finding of its own."""
    before = ended(case, verdict, DEVIATES)
    assert found_by_model(before) == before | {"breaks": "srq_resize/low"}


def test_a_registry_that_is_not_under_test_is_excused() -> None:
    before = ended("srq_query/low", "PASS", DEVIATES)
    found = found_by_model(before, ["srq_resize/low"])
    assert found == before | {"breaks": "srq_resize/low", "excused": True}
    assert beside(before | {"breaks": "srq_resize/low"})
    assert not beside(found)


@pytest.mark.parametrize("verdict", ["FAIL", "CRASH", "TIMEOUT", "BLOCKED", "ERROR", "UNSUPPORTED"])
def test_what_the_checks_say_stays(verdict: str) -> None:
    """Only what was kept is changed."""
    record = ended("srq_resize/low", verdict, DEVIATES)
    assert found_by_model(record) is record


@pytest.mark.parametrize("said", ["agrees", "unjudged"])
def test_nothing_deviates(said: str) -> None:
    """What agrees, or could not be judged, changes nothing."""
    record = ended("srq_resize/low", "PASS", {"verdict": said, "judged": 2})
    assert found_by_model(record) is record
