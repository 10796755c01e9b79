# SPDX-License-Identifier: BSD-2-Clause
"""Calls that deviate from the executable specification, as causes."""

from pathlib import Path

import pytest

from results.causes.grouping import causes
from results.model.load import load
from tests.reports.causes.cause_records import (
    blocked,
    crashed,
    deviating,
    failing,
    groups,
    refused,
)
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


@pytest.mark.parametrize(
    ("clause", "name", "wanted"),
    [
        ("srq_resize/grow", "dat_srq_resize", [["0", "1", "2"]]),
        ("srq_resize/shrink", "dat_srq_resize", [["0", "2"], ["1"]]),
        ("srq_resize/grow", "dat_srq_free", [["0", "2"], ["1"]]),
    ],
)
def test_what_deviates_from_one_clause_is_one_cause(
    tmp_path: Path, clause: str, name: str, wanted: list[list[str]]
) -> None:
    """Three values at three sites, and the first two calls break a rule."""
    one = failing("dat_srq_resize", 7, "3") | {"oracle": deviating("srq_resize/grow")}
    other = failing(name, 9, "5") | {"oracle": deviating(clause)}
    third = failing("dat_srq_resize", 11, "8") | {"oracle": deviating("srq_resize/grow")}
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other), ("FAIL", third)) == wanted


@pytest.mark.parametrize(
    ("name", "extents"),
    [
        ("dat_evd_wait", ["1 clause, and blocks 1 more"]),
        ("dat_evd_dequeue", ["1 clause", "1 clause"]),
    ],
)
def test_a_call_that_blocks_by_a_deviation_is_of_its_cause(
    tmp_path: Path, name: str, extents: list[str]
) -> None:
    """An event is judged in one case, and needed in the other."""
    why = "case call 2, dat_evd_wait: the length is 5, not 4 [evd_wait/event]"
    said = deviating("evd_wait/event") | {"why": why, "n": 2}
    run = SyntheticRun(modes=(1,))
    calls = [call(1, "dat_srq_resize"), call(2, "dat_evd_wait")]
    told = check("length == 4", ok=False, expected=["4"], seen="5", calls=2)
    run.case("event", "FAIL", calls=calls, checks=[told], oracle=said)
    run.case("behind", "BLOCKED", **blocked(name, "the length is 5, not 4") | {"oracle": said})
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


def test_each_call_that_takes_an_event_tells_the_same_of_it(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for name in ("evd_wait", "evd_dequeue"):
        clause = f"{name}/event/established"
        why = f"case call 1, dat_{name}: private_data_size is 196, not 4 [{clause}]"
        said = deviating(clause) | {"why": why}
        calls = [call(1, f"dat_{name}")]
        run.case(name, "FAIL", reason=why, calls=calls, checks=[], oracle=said)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == ["2 clauses"]


def test_what_cases_survive_is_no_cause_of_others(tmp_path: Path) -> None:
    """A kept case has the same deviation."""
    said = deviating("srq_resize/grow")
    one = failing("dat_srq_resize", 7, "3") | {"oracle": said}
    other = failing("dat_srq_resize", 9, "5") | {"oracle": said}
    kept = {"calls": one["calls"], "oracle": said, "breaks": "srq_resize/grow"}
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other), ("PASS", kept)) == [["0"], ["1"]]


def not_changed(parameter: str, line: int) -> Record:
    """What a case leaves that modified one parameter alone, and queried what it was before."""
    mask = ("ep_param_mask", f"DAT_EP_FIELD_EP_ATTR_{parameter.upper()}")
    seen = f"{parameter} was not changed"
    told = check("shown(t)", ok=False, expected=["shown(t)"], seen=seen, line=line, calls=2)
    calls = [call(1, "dat_ep_modify", mask), call(2, "dat_ep_query")]
    return {"calls": calls, "checks": [told], "oracle": told_wrongly(parameter)}


def told_wrongly(parameter: str) -> Record:
    """What the executable specification says of a query that tells another value."""
    why = f"case call 2, dat_ep_query: {parameter} is 1, not at least 2 [srq_query/field]"
    return deviating("srq_query/field") | {"why": why, "n": 2}


def granted(parameter: str, expected: str) -> Record:
    """What a case leaves of which a value of one parameter was granted that must be refused."""
    left = not_changed(parameter, 5)
    told = check("modify(t)", ok=False, expected=[expected], seen="DAT_SUCCESS", line=5)
    return left | {"calls": left["calls"][:1], "checks": [told], "oracle": {}}


def test_what_cases_survive_is_the_cause_where_the_check_saw_it(tmp_path: Path) -> None:
    """One case is kept with the same wrong value of a field, and the others fail by it."""
    run = SyntheticRun(modes=(1,))
    run.case("one", "FAIL", **not_changed("max_recv_iov", 7))
    run.case("other", "FAIL", **not_changed("max_recv_iov", 9))
    kept = {"calls": not_changed("", 7)["calls"], "breaks": "srq_query/field"}
    run.case("kept", "PASS", **kept, oracle=told_wrongly("max_recv_iov"))
    loaded = load(run.write(tmp_path))
    assert [cause.extent for cause in causes(loaded)] == ["2 clauses"]
    # What the kept case met is that cause too.
    assert loaded.breakages == []


def test_what_a_wrongly_granted_call_has_changed_is_of_its_cause(tmp_path: Path) -> None:
    """A kept case survives it, one fails by the grant, one by what it left, and one is blocked."""
    why = "case call 1, dat_srq_resize: succeeds; it must return DAT_INVALID_STATE [srq_resize/0]"
    granted_call = {"oracle": deviating("srq_resize/0") | {"why": why}}
    size = check("size", ok=False, expected=["8"], seen="3", line=9, calls=3)
    resized = call(1, "dat_srq_resize")
    later: Record = {"calls": [resized, call(2, "dat_srq_resize"), call(3, "dat_srq_query")]}
    run = SyntheticRun(modes=(1,))
    run.case("0", "FAIL", **failing("dat_srq_resize", 7) | granted_call)
    run.case("size", "FAIL", **later | {"checks": [size]} | granted_call)
    short = blocked("dat_srq_post_recv", "DAT_INSUFFICIENT_RESOURCES")
    run.case("full", "BLOCKED", **short | {"calls": [resized]} | granted_call)
    run.case("kept", "PASS", calls=[resized], breaks="srq_resize/0", **granted_call)
    loaded = load(run.write(tmp_path / "one"))
    assert [cause.extent for cause in causes(loaded)] == ["2 clauses, and blocks 1 more"]
    # Where the same is refused without it, that is another defect.
    run.case("full_anyway", "BLOCKED", **short)
    loaded = load(run.write(tmp_path / "two"))
    assert [cause.extent for cause in causes(loaded)] == ["2 clauses", "2 clauses"]
    # A size that is wrong in front of the grant is another defect, too.
    run = SyntheticRun(modes=(1,))
    run.case("0", "FAIL", **failing("dat_srq_resize", 7) | granted_call)
    before: Record = {"calls": [call(1, "dat_srq_query"), call(2, "dat_srq_resize")]}
    early = check("size", ok=False, expected=["8"], seen="3", line=9)
    said = {"oracle": deviating("srq_resize/0") | {"why": why.replace("1", "2"), "n": 2}}
    run.case("size", "FAIL", **before | {"checks": [early]} | said)
    run.case("kept", "PASS", calls=[resized], breaks="srq_resize/0", **granted_call)
    loaded = load(run.write(tmp_path / "early"))
    assert [cause.extent for cause in causes(loaded)] == ["1 clause", "1 clause"]


def test_a_deviation_without_which_others_end_so_joins_nothing(tmp_path: Path) -> None:
    """A crash, with the deviation and without it, and another check that fails behind it."""
    run = SyntheticRun(modes=(1,))
    deviates = {"oracle": deviating("ep_modify/all_at_once")}
    crash = crashed("libv.so(v_modify)", pending="dat_ep_modify")
    crash["calls"] = [call(1, "dat_ep_modify")]
    run.case("crashes", "CRASH", **crash, **deviates)
    run.case("lost", "FAIL", **refused("dat_ep_modify", 5, "DAT_SUCCESS"), **deviates)
    loaded = load(run.write(tmp_path / "always"))
    assert [cause.extent for cause in causes(loaded)] == ["2 clauses"]
    run.case("crashes_anyway", "CRASH", **crash)
    loaded = load(run.write(tmp_path / "not_always"))
    assert [(cause.extent, str(cause.verdict)) for cause in causes(loaded)] == [
        ("2 clauses", "CRASH"),
        ("1 clause", "FAIL"),
    ]


def test_a_wrong_answer_that_a_kept_case_met_is_the_cause_of_the_failed_ones(
    tmp_path: Path,
) -> None:
    why = "case call 1, dat_srq_resize: returns DAT_ABORT; it must return DAT_INVALID_STATE"
    said = deviating("srq_resize/state") | {"why": f"{why} [srq_resize/state]"}
    run = SyntheticRun(modes=(1,))
    left = failing("dat_srq_resize", 7, "DAT_ABORT")
    calls = [call(1, "dat_srq_resize", ret="DAT_ABORT")]
    run.case("one", "FAIL", **left | {"calls": calls, "oracle": said})
    run.case("kept", "PASS", calls=calls, oracle=said, breaks="srq_resize/state")
    assert load(run.write(tmp_path)).breakages == []


@pytest.mark.parametrize(
    ("seen", "findings"), [("tells a span of 0, below its count of 1", 0), ("count is 1, not 2", 1)]
)
def test_an_answer_that_is_wrong_as_a_whole_is_a_finding_once(
    tmp_path: Path, seen: str, findings: int
) -> None:
    """A check saw another value of the same answer wrong."""
    why = f"case call 1, dat_srq_query: {seen} [srq_query/field]"
    said = deviating("srq_query/field") | {"why": why}
    run = SyntheticRun(modes=(1,))
    left = failing("dat_srq_query", 7, "6", text="receives", expected=["5"])
    run.case("one", "FAIL", **left | {"oracle": said})
    run.case("kept", "PASS", calls=left["calls"], oracle=said, breaks="srq_query/field")
    assert len(load(run.write(tmp_path)).breakages) == findings


def test_what_a_kept_case_met_is_a_finding_where_no_check_saw_it(tmp_path: Path) -> None:
    """The failed case sees something else, though the same call deviates in it."""
    run = SyntheticRun(modes=(1,))
    run.case("one", "FAIL", **not_changed("qos", 7) | {"oracle": told_wrongly("max_recv_iov")})
    kept = {"calls": not_changed("", 7)["calls"], "breaks": "srq_query/field"}
    run.case("kept", "PASS", **kept, oracle=told_wrongly("max_recv_iov"))
    loaded = load(run.write(tmp_path))
    assert [broken.trouble.subject for broken in loaded.breakages] == ["max_recv_iov"]


@pytest.mark.parametrize(
    ("parameter", "expected", "wanted"),
    [
        ("max_recv_iov", "DAT_INVALID_PARAMETER", [["0", "1"]]),
        # Granted in a state in which it must not be: the parameter is not ignored by that.
        ("max_recv_iov", "DAT_INVALID_STATE", [["0"], ["1"]]),
        ("max_recv_dtos", "DAT_INVALID_PARAMETER", [["0"], ["1"]]),
    ],
)
def test_a_parameter_that_is_ignored_takes_invalid_values(
    tmp_path: Path, parameter: str, expected: str, wanted: list[list[str]]
) -> None:
    ignored, other = not_changed("max_recv_iov", 7), granted(parameter, expected)
    cases = ("FAIL", ignored), ("FAIL", other)
    assert groups(tmp_path, *cases, page="dat_ep_modify") == wanted


def test_two_things_that_are_wrong_of_events_are_two_causes(tmp_path: Path) -> None:
    """One clause is about all of them."""

    def left(name: str, line: int, what: str) -> Record:
        why = f"case call 2, dat_evd_wait: {what} [evd_wait/event]"
        said = deviating("evd_wait/event") | {"why": why, "n": 2}
        told = check("event", ok=False, expected=["4"], seen="5", line=line, calls=2)
        calls = [call(1, name), call(2, "dat_evd_wait")]
        return {"calls": calls, "checks": [told], "oracle": said}

    run = SyntheticRun(modes=(1,))
    run.case("one", "FAIL", **left("dat_ep_post_send", 1, "of ep#1: the length is 5, not 4"))
    run.case("two", "FAIL", **left("dat_ep_post_recv", 2, "of ep#2: too long"))
    run.case("three", "FAIL", **left("dat_ep_create", 3, "of ep#7: the length is 2, not 3"))
    found = sorted(cause.extent for cause in causes(load(run.write(tmp_path))))
    assert found == ["1 clause", "2 clauses"]


@pytest.mark.parametrize(
    ("ret", "extents", "beside"),
    [
        ("DAT_PRIVILEGES_VIOLATION", ["2 clauses"], 0),
        # It was granted, and two cases see what it has changed.
        ("DAT_SUCCESS", ["1 clause", "1 clause"], 1),
    ],
)
def test_what_a_refusal_has_changed_is_one_cause(
    tmp_path: Path, ret: str, extents: list[str], beside: int
) -> None:
    """A query tells it, and one case looks at another thing; a third one is kept."""
    page = {"page": "dat_srq_post_recv"}
    why = "case call 2, dat_srq_query: outstanding_dto_count is 5, not 4 [srq_query/field]"
    said = deviating("srq_query/field") | {"why": why, "n": 2}
    srq = ("srq_handle", "srq#1")
    calls = [call(1, "dat_srq_post_recv", srq, ret=ret), call(2, "dat_srq_query", srq)]
    run = SyntheticRun(modes=(1,))
    counted = check("dto_count == 4", ok=False, expected=["4"], seen="5", calls=2, line=10)
    run.case("srq_post_recv/n", "FAIL", page, calls=calls, checks=[counted], oracle=said)
    full = [*calls, call(3, "dat_srq_post_recv", srq, ret="DAT_INSUFFICIENT_RESOURCES")]
    text, seen = "dat_srq_post_recv(srq)", "DAT_INSUFFICIENT_RESOURCES"
    refusal = check(text, ok=False, expected=["DAT_SUCCESS"], seen=seen, calls=3, line=20)
    run.case("srq_post_recv/room", "FAIL", page, calls=full, checks=[refusal], oracle=said)
    run.case("srq_post_recv/kept", "PASS", page, calls=calls, oracle=said, breaks="srq_query/field")
    loaded = load(run.write(tmp_path))
    assert [cause.extent for cause in causes(loaded)] == extents
    assert len(loaded.breakages) == beside
