# SPDX-License-Identifier: BSD-2-Clause
"""Frees of other objects, and frees that do nothing: which answers are one cause."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from results.causes.grouping import causes
from results.model.load import load
from tests.reports.causes.cause_records import failing, granted_a_bad_handle, lets_wait, of_cno
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


def ends_another(
    asked: str = "dat_cno_query",
    close: str = "DAT_INVALID_STATE",
    ended: str = "dat_cno_free",
    freed: int = 1,
) -> Record:
    """What a case leaves that freed one CNO, and for which another one is no object then."""
    none = "DAT_INVALID_HANDLE"
    told = check(f"{asked}(...)", ok=False, seen=none, line=20)
    calls = [
        of_cno(1, ended, freed),
        of_cno(2, asked, 2, none),
        call(3, "dat_ia_close", ret=close, teardown=True),
    ]
    return {"calls": calls, "checks": [told | {"calls": 2}]}


def used_by_nobody() -> Record:
    told = check("dat_cno_free(cno)", ok=False, seen="DAT_INVALID_STATE", line=40)
    calls = [
        of_cno(1, "dat_cno_query", 2),
        of_cno(2, "dat_cno_free", 1, "DAT_INVALID_STATE"),
    ]
    return {"calls": calls, "checks": [told | {"calls": 2}]}


def frees(tmp_path: Path, *cases: Record) -> list[str]:
    """How many clauses each cause has if these cases of dat_cno_free fail."""
    run = SyntheticRun(modes=(1,))
    for number, left in enumerate(cases):
        run.case(f"cno_free/{number}", "FAIL", {"page": "dat_cno_free"}, **left)
    return [cause.extent for cause in causes(load(run.write(tmp_path)))]


def test_a_free_of_another_object_is_one_cause(tmp_path: Path) -> None:
    cases = ends_another(), granted_a_bad_handle(), used_by_nobody()
    assert frees(tmp_path, *cases) == ["3 clauses"]


def test_an_answer_for_the_only_object_is_of_no_other(tmp_path: Path) -> None:
    alone = granted_a_bad_handle()
    alone["calls"] = [call(1, "dat_ia_query"), *alone["calls"][1:]]
    assert frees(tmp_path, ends_another(), used_by_nobody(), alone) == ["2 clauses", "1 clause"]


@pytest.mark.parametrize(
    "shown",
    [
        # The call itself refuses the other object, which may exist nevertheless.
        ends_another(asked="dat_cno_free"),
        # What was freed is gone as well.
        ends_another(close="DAT_SUCCESS"),
        # The object was freed before.
        ends_another(freed=2),
        # Another call was granted.
        ends_another(ended="dat_cno_wait"),
    ],
)
def test_answers_of_a_free_stay_apart(tmp_path: Path, shown: Record) -> None:
    cases = shown, granted_a_bad_handle(), used_by_nobody()
    assert frees(tmp_path, *cases) == ["1 clause", "1 clause", "1 clause"]


def outlives(kind: str = "cno") -> Record:
    """What a case leaves that used an object of this kind behind its free."""
    told = check("query", ok=False, expected=["DAT_INVALID_HANDLE"], seen="DAT_SUCCESS", line=50)
    calls = [
        of_cno(1, "dat_cno_free", 1),
        call(2, f"dat_{kind}_query", (f"{kind}_handle", f"{kind}#1 (freed)")),
    ]
    return {"calls": calls, "checks": [told | {"calls": 2}]}


def refuses_null() -> Record:
    null = call(1, "dat_cno_free", ("cno_handle", "DAT_HANDLE_NULL"), ret="DAT_INVALID_HANDLE")
    return failing("dat_cno_query", 70) | {"calls": [of_cno(2, "dat_cno_query", 1), null]}


def test_a_free_that_does_nothing_is_one_cause(tmp_path: Path) -> None:
    """A case that did not call it stays apart. The registry refuses the null handle."""
    cases = outlives(), lets_wait(), refuses_null()
    assert frees(tmp_path, *cases) == ["2 clauses", "1 clause"]


def test_who_takes_a_handle_that_is_gone_answers_for_itself(tmp_path: Path) -> None:
    cases = granted_a_bad_handle(), outlives(), used_by_nobody()
    assert frees(tmp_path, *cases) == ["1 clause", "1 clause", "1 clause"]


def test_what_is_refused_behind_a_free_that_does_nothing_is_of_it_alone(tmp_path: Path) -> None:
    told = check("dat_ia_close(ia)", ok=False, seen="DAT_INVALID_STATE", calls=2)
    close = call(2, "dat_ia_close", ret="DAT_INVALID_STATE")
    run = SyntheticRun(modes=(1,))
    run.case("outlives", "FAIL", {"page": "dat_cno_free"}, **outlives())
    calls = [of_cno(1, "dat_cno_free", 1), close]
    run.case("parent", "FAIL", {"page": "dat_cno_free"}, calls=calls, checks=[told])
    run.case("close", "FAIL", calls=[close], checks=[told | {"line": 9}])
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == [
        "2 clauses",
        "1 clause",
    ]


def makes(checked: str, seen: str, handle: str) -> Record:
    """What a case leaves that made an SRQ, and failed in the call `checked`."""
    made = call(1, "dat_srq_create", out=[["srq_handle", handle]])
    told = check(f"{checked}(...)", ok=False, expected=["DAT_ABORT"], seen=seen, line=len(checked))
    return {"calls": [made, call(2, checked, ret=seen)], "checks": [told | {"calls": 2}]}


@pytest.mark.parametrize(
    ("handle", "causes_"), [("DAT_HANDLE_NULL", ["2 clauses"]), ("srq#1", ["1 clause"] * 2)]
)
def test_a_grant_without_an_object_is_one_cause(
    tmp_path: Path, handle: str, causes_: Sequence[str]
) -> None:
    """However the consumer notices it."""
    asked = makes("dat_srq_query", "DAT_INVALID_HANDLE", handle)
    assert frees(tmp_path, asked, makes("dat_srq_free", "DAT_INVALID_PARAMETER", handle)) == causes_


@pytest.mark.parametrize("cases", [(outlives("evd"),), (outlives(), used_by_nobody())])
def test_a_free_that_does_something_has_several(tmp_path: Path, cases: Sequence[Record]) -> None:
    """A handle of another kind was granted, or the free is refused somewhere."""
    assert "2 clauses" not in frees(tmp_path, *cases, lets_wait())


def spoilt(refusal: str, asked: str, how: str, granted: str = "") -> Record:
    """What a case leaves that was refused dat_srq_resize, and then `asked` for the same SRQ."""
    calls = [call(1, "dat_srq_resize", ("srq_handle", "srq#1"), ret=refusal)]
    if granted:
        calls.append(call(2, granted, ("srq_handle", "srq#1")))
    none = "DAT_INVALID_HANDLE"
    calls.append(call(3, asked, ("srq_handle", "srq#1"), ret=none))
    told = check(how, ok=False, expected=["DAT_ABORT"], seen=how, line=len(how), calls=3)
    return {"calls": calls, "checks": [told]}


@pytest.mark.parametrize(
    ("granted", "causes_"), [("", ["2 clauses"]), ("dat_srq_query", ["1 clause"] * 2)]
)
def test_what_a_refused_call_has_ended_is_one_cause(
    tmp_path: Path, granted: str, causes_: Sequence[str]
) -> None:
    """However the object is looked at afterwards, unless it was there after the refusal."""
    looked = spoilt("DAT_INVALID_STATE", "dat_srq_set_lw", "the SRQ is gone", granted)
    freed = spoilt("DAT_INVALID_PARAMETER", "dat_srq_free", "it is refused", granted)
    assert frees(tmp_path, looked, freed) == causes_


@pytest.mark.parametrize(
    ("granted", "name"),
    [
        ("", "dat_srq_resize, seen in dat_srq_set_lw"),
        ("dat_srq_query", "dat_srq_resize, seen in dat_srq_set_lw"),
        ("dat_srq_post_recv", "dat_srq_set_lw"),
    ],
)
def test_what_fails_behind_a_refusal_is_named_by_the_refused_call(
    tmp_path: Path, granted: str, name: str
) -> None:
    left = spoilt("DAT_INVALID_PARAMETER", "dat_srq_set_lw", "dat_srq_set_lw(...)", granted)
    refusal = "DAT_INVALID_STATE"
    left["calls"][-1]["ret"] = refusal
    left["checks"][0] |= {"expected": ["DAT_SUCCESS"], "seen": refusal}
    run = SyntheticRun(modes=(1,))
    for page in ("dat_srq_resize", "dat_srq_set_lw"):
        run.case(f"on_{page}", "FAIL", {"page": page}, **left)
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.name.startswith(f"{name}: expected DAT_SUCCESS")
