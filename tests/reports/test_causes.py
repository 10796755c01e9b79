# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: what makes two of them one, what sets them apart, and how they are shown."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.evidence_text import finding_text
from reports.render import render
from results.causes.advice import advice
from results.causes.grouping import causes, unknown_causes
from results.model.load import load
from tests.reports.html_page import Page
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


def failing(name: str, line: int, seen: str = "DAT_SUCCESS", **more: Any) -> Record:
    """What a case leaves whose call `name` was checked at `line`, and answered `seen`."""
    told = check(f"{name}(...)", ok=False, expected=["DAT_INVALID_STATE"], seen=seen, line=line)
    return {"calls": [call(1, name)], "checks": [told | more]}


def refused(name: str, line: int, expected: str) -> Record:
    """What a case leaves whose call `name` returned DAT_INTERNAL_ERROR."""
    left = failing(name, line, "DAT_INTERNAL_ERROR", expected=[expected], text="race[1].ret")
    return left | {"calls": [call(1, name, ret="DAT_INTERNAL_ERROR")]}


def blocked(name: str, ret: str = "DAT_INTERNAL_ERROR") -> Record:
    """What a case leaves that was blocked because `name` returned `ret`."""
    site = {"file": "cases/srq/srq_resize.c", "line": 3, "text": name}
    step = {"call": name, "ret": ret, "site": site}
    return {"reason": f"{name} returned {ret}", "blocked": step, "checks": []}


def crashed(*frames: str, pending: str = "dat_srq_query") -> Record:
    """What a case leaves that crashed in these frames."""
    return {"calls": [], "pending": pending, "crash": {"signal": "SIGSEGV", "backtrace": frames}}


def by_condition(name: str) -> Record:
    """What a case leaves whose check of a condition failed after call `name`."""
    condition = "woken.evd == evd"
    seen = "the CNO names another EVD"
    told = check(condition, ok=False, expected=[condition], seen=seen)
    return {"calls": [call(1, name)], "checks": [told]}


def test_a_finding_by_a_condition_says_it_in_a_sentence(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("wakes", "FAIL", **by_condition("dat_cno_wait"))
    (case,) = load(run.write(tmp_path)).findings
    assert case.decisive
    lines = finding_text(case, case.decisive)
    assert lines[-1] == "seen: the CNO names another EVD"
    assert "woken" not in " ".join((*lines, case.decisive.summary))


def missing(name: str, line: int, event: str) -> Record:
    seen = f"no event within {line} ms"
    event = f"DAT_CONNECTION_EVENT_{event}"
    return failing(name, line, seen, text="event", expected=[event])


def told_state(line: int, text: str) -> Record:
    return failing(
        "dat_ep_get_status",
        line,
        "DAT_EP_STATE_DISCONNECTED",
        text=text,
        expected=["DAT_EP_STATE_UNCONNECTED"],
    )


def by_bytes(line: int, seen: str) -> Record:
    return failing("dat_srq_query", line, seen, text="buf holds", expected=["buf holds"])


def by_waiter(line: int, returned: str) -> Record:
    expected = ["a thread that waits"]
    return failing("dat_cno_wait", line, f"it returned {returned}", text="t", expected=expected)


def groups(
    tmp_path: Path, *cases: tuple[str, Record], page: str = "dat_srq_resize"
) -> list[list[str]]:
    """The names of cases with these verdicts, by cause."""
    run = SyntheticRun(modes=(1,))
    for number, (verdict, left) in enumerate(cases):
        run.case(str(number), verdict, {"page": page}, **left)
    found = causes(load(run.write(tmp_path)))
    return [[case.clause.name for case in cause.cases] for cause in found]


def test_joined_groups_keep_all_their_keys(tmp_path: Path) -> None:
    def left(line: int, expected: str) -> tuple[str, Record]:
        return "FAIL", failing("dat_srq_query", line, expected=[f"DAT_{expected}"])

    apart = left(7, "ABORT"), left(8, "INVALID_STATE")
    joining = left(7, "INVALID_STATE")
    # Each of the last two shares a key with one of the first two only.
    later = left(9, "ABORT"), left(8, "QUEUE_EMPTY")
    assert groups(tmp_path, *apart, joining, *later) == [["0", "1", "2", "3", "4"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The same site after the same call, whatever was compared there.
        (
            failing("dat_srq_query", 7, text="seen == wanted", expected=["3"], seen="2"),
            failing("dat_srq_query", 7, text="seen == wanted", expected=["8"], seen="5"),
        ),
        # The same wrong value of a field, at two sites.
        (
            failing("dat_srq_query", 7, text="seen.flags == wanted", expected=["1"], seen="32"),
            failing("dat_srq_query", 9, text="got->flags == 1", expected=["1"], seen="32"),
        ),
        # The same refusal of a call, whatever was expected and wherever it was checked.
        (refused("dat_srq_resize", 7, "DAT_SUCCESS"), refused("dat_srq_resize", 9, "DAT_ABORT")),
        # The same wrong answer of a call, at two sites.
        (failing("dat_srq_resize", 7), failing("dat_srq_resize", 9)),
        # An event of a connection that did not come, however it was looked for.
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_reject", 9, "BROKEN")),
        # A field that is too small, in two conditions.
        (
            failing("dat_srq_query", 7, "7 queried", text="a.size >= 8", expected=["a.size >= 8"]),
            failing("dat_srq_query", 9, "has 7", text="b->size > n", expected=["b->size > n"]),
        ),
        # A waiter that was refused, at two sites and after two times.
        (by_waiter(7, "DAT_ABORT after 295 us"), by_waiter(9, "DAT_ABORT after 1 us")),
        # Bytes that are not those that were sent, however they are told.
        (
            by_bytes(7, "byte 0 of 9 is 0x0b, not 0xf4"),
            by_bytes(9, "message 3 is not whole"),
        ),
        # One state told for another, whatever the check calls it.
        (
            told_state(7, "state == wanted"),
            told_state(9, "plain_ep_state(state) == row->state"),
        ),
        # The same wrong code with its subtype, of two calls.
        (
            failing("dat_srq_resize", 7, "DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ"),
            failing("dat_srq_free", 9, "DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ"),
        ),
    ],
)
def test_one_cause(tmp_path: Path, one: Record, other: Record) -> None:
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0", "1"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (failing("dat_srq_resize", 7), failing("dat_srq_free", 7)),
        (failing("dat_srq_resize", 7), failing("dat_srq_resize", 9, "DAT_INVALID_PARAMETER")),
        (failing("dat_srq_resize", 7, "DAT_LENGTH_ERROR"), failing("dat_srq_free", 9)),
        # Events of a connection that two calls had to bring, or two events.
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_accept", 9, "BROKEN")),
        (missing("dat_cr_reject", 7, "BROKEN"), missing("dat_cr_reject", 9, "TIMED_OUT")),
        # Conditions of two variables, which are of no field.
        (
            failing("dat_srq_query", 7, "none", text="called > 0", expected=["called > 0"]),
            failing("dat_srq_query", 9, "two", text="called == 1", expected=["called == 1"]),
        ),
        # At one place a waiter was refused, and another one came back at once.
        (by_waiter(7, "DAT_ABORT after 2 us"), by_waiter(7, "DAT_SUCCESS after 2 us")),
        # Waiters that were refused otherwise, or that came back at once.
        (by_waiter(7, "DAT_ABORT after 2 us"), by_waiter(9, "DAT_INVALID_HANDLE after 2 us")),
        (by_waiter(7, "DAT_SUCCESS after 2 us"), by_waiter(9, "DAT_SUCCESS after 2 us")),
        (by_waiter(7, "DAT_TIMEOUT_EXPIRED after"), by_waiter(9, "DAT_TIMEOUT_EXPIRED after")),
        # Bytes that arrived wrongly, and bytes beside them.
        (
            by_bytes(7, "byte 0 of 9 is 0x0b, not 0xf4"),
            by_bytes(9, "byte 0 of the vector, behind the 9, was written"),
        ),
        # Two fields of one answer.
        (
            failing("dat_srq_query", 7, text="got.size == 3", expected=["3"], seen="0"),
            failing("dat_srq_query", 9, text="got.mark == 3", expected=["3"], seen="0"),
        ),
    ],
)
def test_two_causes(tmp_path: Path, one: Record, other: Record) -> None:
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0"], ["1"]]


def deviating(clause: str) -> Record:
    """What the executable specification says where the first call deviates from `clause`."""
    return {
        "verdict": "deviates",
        "judged": 1,
        "unjudged": 0,
        "why": f"call 1 is wrong [{clause}]",
        "clause": clause,
        "who": "case",
        "n": 1,
    }


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


SEEN_VALUE = {
    "calls": [call(1, "dat_srq_resize")],
    "checks": [check("after.max_recv_dtos == 8", ok=False, expected=["8"], seen="3")],
}
SEEN_EVENT = {
    "calls": [call(1, "dat_evd_wait")],
    "checks": [
        check("event on evd", ok=False, expected=["DAT_SOFTWARE_EVENT"], seen="DAT_ASYNC_ERROR_X")
    ],
}


@pytest.mark.parametrize(
    ("verdict", "left", "sentence"),
    [
        (
            "FAIL",
            failing("dat_srq_resize", 7),
            "dat_srq_resize returned DAT_SUCCESS, and had to return DAT_INVALID_STATE.",
        ),
        ("FAIL", SEEN_VALUE, "dat_srq_resize: max_recv_dtos was 3, and had to be 8."),
        (
            "FAIL",
            SEEN_EVENT,
            "dat_srq_resize, seen in dat_evd_wait, led to DAT_ASYNC_ERROR_X, and had to lead to"
            " DAT_SOFTWARE_EVENT.",
        ),
        ("FAIL", by_condition("dat_srq_resize"), "dat_srq_resize: the CNO names another EVD."),
        (
            "CRASH",
            crashed("libv.so(v_query)"),
            "dat_srq_query crashed: SIGSEGV in libv.so(v_query).",
        ),
        (
            "BLOCKED",
            blocked("dat_rmr_create"),
            "dat_rmr_create returned DAT_INTERNAL_ERROR, and had to succeed.",
        ),
    ],
)
def test_a_cause_is_a_sentence_about_the_product(
    tmp_path: Path, verdict: str, left: Record, sentence: str
) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("0", verdict, **left)
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.sentence == sentence


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


def test_a_third_may_show_that_two_are_one(tmp_path: Path) -> None:
    links = failing("dat_srq_resize", 7) | {"calls": [call(1, "dat_srq_resize")]}
    one = failing("dat_srq_resize", 7, expected=["DAT_INVALID_HANDLE"])
    other = failing("dat_srq_resize", 9)
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other), ("FAIL", links)) == [["0", "1", "2"]]


def test_what_a_defect_fails_and_blocks(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("resize", "FAIL", **refused("dat_srq_resize", 7, "DAT_SUCCESS"))
    for number in range(3):
        run.case(f"after/{number}", "BLOCKED", **blocked("dat_srq_resize"))
    run.case("alone", "BLOCKED", **blocked("dat_pz_create"))
    run.case("kept")
    folder = run.write(tmp_path)
    loaded = load(folder)
    found = causes(loaded)
    assert [(cause.verdict, cause.extent, cause.reach) for cause in found] == [
        ("FAIL", "1 clause, and blocks 3 more", 4),
        ("BLOCKED", "1 clause", 1),
    ]
    assert found[1].name == "dat_pz_create: returned DAT_INTERNAL_ERROR"
    assert advice(loaded, found) == "2 defects: they fail or block 5 of 6 clauses."
    assert unknown_causes(loaded) == []
    assert loaded.conclusion.sentence == "2 clauses checked, 1 failed, 4 blocked"
    page = Page(render(folder, "html"))
    assert "3 clauses not judged because of it" in page.text_of("findings")
    assert "not judged, because dat_srq_resize returned" in page.text_of(
        "clause:srq_resize/after/0"
    )


def test_what_a_call_leaves_unwritten_is_one_cause_with_what_it_blocks(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number, name in enumerate(("srq_supported", "ep_creator")):
        told = check(
            "is_same()",
            ok=False,
            expected=["is_same()"],
            seen=f"{name} is not written",
            line=number + 1,
        )
        left: Record = {"calls": [call(1, "dat_ia_query")], "checks": [told]}
        run.case(name, "FAIL", **left)
    run.case(
        "waits", "BLOCKED", **blocked("dat_ia_query", "DAT_SUCCESS, with a value left unwritten")
    )
    run.case("other", "BLOCKED", **blocked("dat_ia_query"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(2, 1), (0, 1)]


def of_event(name: str, line: int, expected: str, seen: str) -> Record:
    """What a case leaves that waited for one event behind call `name`, and saw another."""
    told = check(f"{expected} on evd", ok=False, expected=[expected], seen=seen, line=line)
    return {"calls": [call(1, name), call(2, "dat_evd_wait")], "checks": [told]}


def test_a_wrong_number_of_an_event_is_one_cause_wherever_it_is_seen(tmp_path: Path) -> None:
    wrong = "DAT_DTO_COMPLETION_EVENT", "DAT_IB_EXTENSION_RANGE_BASE"
    run = SyntheticRun(modes=(1,))
    run.case("flushed", "FAIL", **of_event("dat_ep_disconnect", 3, *wrong))
    run.case("failed", "FAIL", **of_event("dat_ep_post_recv", 8, *wrong))
    step = blocked("dat_ep_post_recv", wrong[1]) | of_event("dat_cno_wait", 9, *wrong)
    run.case("step", "BLOCKED", **step)
    run.case("step_crash", "BLOCKED", **blocked("dat_ep_post_recv", "SIGSEGV"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(2, 1), (0, 1)]


def of_cno(n: int, name: str, cno: int, ret: str = "DAT_SUCCESS", **more: Any) -> Record:
    return call(n, name, ("cno_handle", f"cno#{cno}"), ret=ret, **more)


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


def granted_a_bad_handle() -> Record:
    told = check("dat_cno_free(bad)", ok=False, expected=["DAT_INVALID_HANDLE"], line=30)
    calls = [of_cno(1, "dat_cno_query", 1), of_cno(2, "dat_cno_free", 7)]
    return {"calls": calls, "checks": [told | {"seen": "DAT_SUCCESS", "calls": 2}]}


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


def lets_wait() -> Record:
    told = check("waiter returns", ok=False, expected=["the return"], seen="it waits", line=60)
    return {"calls": [of_cno(1, "dat_cno_free", 1)], "checks": [told]}


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


@pytest.mark.parametrize("cases", [(outlives("evd"),), (outlives(), used_by_nobody())])
def test_a_free_that_does_something_has_several(tmp_path: Path, cases: Sequence[Record]) -> None:
    """A handle of another kind was granted, or the free is refused somewhere."""
    assert "2 clauses" not in frees(tmp_path, *cases, lets_wait())


def waits(ret: str = "DAT_SUCCESS") -> Record:
    """What a case of dat_cno_free leaves whose CNO was freed, or not, with this answer."""
    return {"calls": [of_cno(1, "dat_cno_free", 1, ret)]}


@pytest.mark.parametrize(
    ("control", "kept", "extents"),
    [
        (True, waits(), ["2 clauses"]),
        # It was refused once.
        (True, waits("DAT_INVALID_HANDLE"), ["1 clause", "1 clause"]),
        # What failed does not look for the effect of the call.
        (False, waits(), ["1 clause", "1 clause"]),
    ],
)
def test_a_call_that_grants_all_and_does_nothing(
    tmp_path: Path, *, control: bool, kept: Record, extents: Sequence[str]
) -> None:
    page = {"page": "dat_cno_free"}
    run = SyntheticRun(modes=(1,))
    run.case("takes", "FAIL", page, **granted_a_bad_handle())
    run.case("ends", "FAIL", page | {"control": True} if control else page, **lets_wait())
    run.case("kept", "PASS", page, **kept)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


@pytest.mark.parametrize(
    ("back", "extents"),
    [("5000", ["2 clauses"]), ("DAT_TIMEOUT_INFINITE", ["1 clause", "1 clause"])],
)
def test_waits_without_a_timeout_that_have_no_end(
    tmp_path: Path, back: str, extents: list[str]
) -> None:
    """They are one cause if none comes back, and two if another one does."""
    run = SyntheticRun(modes=(1,))
    for line in (3, 9):
        told = check("it returns", ok=False, expected=["a return"], seen=f"none {line}", line=line)
        wait = call(1, "dat_evd_wait", ("timeout", "DAT_TIMEOUT_INFINITE"), unfinished=True)
        left: Record = {
            "calls": [wait, call(2, f"dat_act_{line}")],
            "checks": [told | {"calls": 2}],
        }
        run.case(f"wakes/{line}", "FAIL", {"page": "dat_evd_wait"}, **left)
    kept = [call(1, "dat_evd_wait", ("timeout", back))]
    run.case("kept", "PASS", {"page": "dat_evd_wait"}, calls=kept)
    assert [cause.extent for cause in causes(load(run.write(tmp_path)))] == extents


def test_steps_that_say_the_same_of_one_call_are_one_cause(tmp_path: Path) -> None:
    step = blocked("dat_cno_wait", "DAT_SUCCESS") | by_condition("dat_cno_wait")
    step["blocked"]["ret"] = "dat_cno_wait returned DAT_SUCCESS, and no handle"
    run = SyntheticRun(modes=(1,))
    run.case("named", "BLOCKED", **step)
    run.case("empty", "BLOCKED", **step | {"checks": []})
    run.case("other", "BLOCKED", **blocked("dat_cno_wait"))
    found = causes(load(run.write(tmp_path)))
    assert [len(cause.blocked) for cause in found] == [2, 1]


def test_a_connection_that_is_not_made_is_a_cause_of_one_call(tmp_path: Path) -> None:
    lost = "DAT_CONNECTION_EVENT_ESTABLISHED", "DAT_CONNECTION_EVENT_TIMED_OUT"
    one, other = of_event("dat_srq_resize", 3, *lost), of_event("dat_srq_query", 3, *lost)
    other["checks"][0]["text"] = "connection behind dat_srq_query"
    assert groups(tmp_path, ("FAIL", one), ("FAIL", other)) == [["0"], ["1"]]


def test_a_loop_over_kinds_shows_one_cause_for_each_answer(tmp_path: Path) -> None:
    def left(ret: str) -> Record:
        told = failing("dat_srq_query", 7, ret, expected=["DAT_SUCCESS"], text="kind->make(...)")
        return told | {"calls": [call(1, "dat_srq_query", ret=ret)]}

    kinds = left("DAT_NOT_IMPLEMENTED"), left("DAT_INSUFFICIENT_RESOURCES")
    assert groups(tmp_path, *(("FAIL", kind) for kind in kinds)) == [["0"], ["1"]]


def test_a_wrong_value_is_one_cause_with_the_steps_that_need_it(tmp_path: Path) -> None:
    text = "told->port == param.port"
    run = SyntheticRun(modes=(1,))
    told = check("told->port == 17", ok=False, expected=["17"], seen="0", line=4)
    run.case("tells", "FAIL", calls=[call(1, "dat_srq_query")], checks=[told])
    condition = check(text, ok=False, expected=[text], seen="port 0, not 17", line=9)
    step = blocked("dat_srq_query", "port 0, not 17") | {"checks": [condition]}
    run.case("needs", "BLOCKED", **step)
    run.case("other", "BLOCKED", **blocked("dat_srq_query", "no handle was stored"))
    found = causes(load(run.write(tmp_path)))
    assert [(len(cause.cases), len(cause.blocked)) for cause in found] == [(1, 1), (0, 1)]


def test_what_a_control_found_is_of_the_cause_of_its_clause(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    made = run.case("made", "FAIL", **refused("dat_srq_resize", 7, "DAT_SUCCESS"))
    # What the case saw itself is of another call.
    seen = refused("dat_srq_query", 9, "DAT_SUCCESS")
    why = f"dat_srq_resize does not work ({made}: FAIL, it returned DAT_INTERNAL_ERROR)"
    step = blocked("dat_srq_resize", why) | seen
    step["blocked"]["clause"] = made
    run.case("behind", "BLOCKED", **step)
    run.case("query", "FAIL", **refused("dat_srq_query", 9, "DAT_SUCCESS"))
    found = causes(load(run.write(tmp_path)))
    assert [(cause.extent, cause.name.split(":")[0]) for cause in found] == [
        ("1 clause, and blocks 1 more", "dat_srq_resize"),
        ("1 clause", "dat_srq_resize, seen in dat_srq_query"),
    ]


def test_five_to_mend_first(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number in range(7):
        for row in range(number + 1):
            name = f"dat_srq_{'abcdefg'[number]}"
            run.case(f"c{number}/{row}", "FAIL", **failing(name, number))
    loaded = load(run.write(tmp_path))
    said = "7 defects. Mend these five first: they fail 25 of 28 clauses."
    assert advice(loaded, causes(loaded)) == said


def test_crashes_by_their_function(tmp_path: Path) -> None:
    found = groups(
        tmp_path,
        ("CRASH", crashed("libv.so(v_query+0x1c)", "libv.so(v_do+0x4)", "cases(+0x8)")),
        ("CRASH", crashed("libv.so(v_query+0x30)", "libv.so(v_other+0x4)", "cases(+0x9)")),
        ("CRASH", crashed("libc.so.6(abort+0x1)", "libv.so(v_free+0x1)", "libv.so(v_do+0x4)")),
        ("CRASH", crashed("libc.so.6(abort+0x1)", "libv.so(v_close+0x1)", "libv.so(v_do+0x4)")),
        ("CRASH", crashed(pending="dat_srq_query")),
        ("CRASH", crashed(pending="dat_srq_free")),
    )
    assert found == [["0", "1"], ["2"], ["3"], ["4"], ["5"]]


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        (["libv.so(v_poll+0x4)"], "SIGSEGV in libv.so(v_poll), in a thread of the provider"),
        (
            ["libv.so(v_poll+0x4)", "udapl-cases(+0x8)"],
            "dat_ep_connect: SIGSEGV in libv.so(v_poll)",
        ),
    ],
)
def test_a_crash_of_a_thread_of_the_providers_own_is_of_no_call(
    tmp_path: Path, frames: list[str], name: str
) -> None:
    crash = crashed(*frames, pending="")
    crash["calls"] = [call(1, "dat_ep_connect")]
    run = SyntheticRun()
    run.case("one", "CRASH", **crash)
    assert [cause.name for cause in causes(load(run.write(tmp_path)))] == [name]


def test_crashes_by_the_names_that_debug_information_has(tmp_path: Path) -> None:
    """A frame of a static function is an offset, another one at each place in it."""
    one, other, third = crashed("libv.so(+0x41c2)"), crashed("libv.so(+0x41f0)"), crashed("libv.so")
    one["crash"]["where"] = ["flush, src/srq.c:12"]
    other["crash"]["where"] = ["flush, src/srq.c:19"]
    third["crash"]["where"] = ["post, src/srq.c:90"]
    assert groups(tmp_path, *(("CRASH", left) for left in (one, other, third))) == [
        ["0", "1"],
        ["2"],
    ]


def hung(*frames: str, call: str = "dat_evd_wait", where: Sequence[str] = ()) -> Record:
    """What a case leaves that hung in `call`, and a thread of the provider elsewhere."""
    mine = {"thread": 1, "call": call, "backtrace": frames, "where": where}
    other = {"name": "progress", "backtrace": ["libc.so.6(poll+0x1)", "libv.so(v_poll+0x8)"]}
    return {"calls": [], "pending": call, "reason": "no end", "stacks": [other, mine]}


def test_hangs_by_the_providers_function(tmp_path: Path) -> None:
    lock = "libc.so.6(pthread_mutex_lock+0x112)"
    verbs = "libibverbs.so.1(ibv_destroy_qp+0x2)"
    found = groups(
        tmp_path,
        ("TIMEOUT", hung(lock, "libv.so(v_flush+0x1c)", "libv.so(v_wait+0x4)")),
        ("TIMEOUT", hung(verbs, "libv.so(v_flush+0x30)", call="dat_ep_free")),
        ("TIMEOUT", hung(lock, "libv.so(+0x9)", where=["", "v_flush, src/evd.c:7"])),
        ("TIMEOUT", hung(lock, "libv.so(v_wait+0x30)")),
        # The case itself waits, for something that no thread of it does.
        ("TIMEOUT", hung(lock, "udapl-cases(+0x30)")),
        ("TIMEOUT", {"calls": [], "pending": "dat_evd_wait", "reason": "no end"}),
    )
    assert found == [["0", "1", "2"], ["4", "5"], ["3"]]


def test_two_deadlocks_in_one_function(tmp_path: Path) -> None:
    lock = "libc.so.6(pthread_mutex_lock+0x112)"

    def deadlock(partner: str) -> Record:
        left = hung(lock, "libv.so(v_lock+0x3)", "libv.so(v_flush+0x1c)")
        other = {"name": "v", "backtrace": [lock, f"libv.so({partner}+0x8)"]}
        return left | {"stacks": [*left["stacks"], other]}

    left = [("TIMEOUT", deadlock(partner)) for partner in ("v_cm", "v_cq", "v_cm")]
    assert groups(tmp_path, *left) == [["0", "2"], ["1"]]


def test_a_hang_names_its_function(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("hangs", "TIMEOUT", **hung("libc.so.6(futex+0x1)", "libv.so(v_flush+0x1c)"))
    (cause,) = causes(load(run.write(tmp_path)))
    assert cause.name == "dat_evd_wait: no return in libv.so(v_flush)"


def test_the_widest_first_and_each_named(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number in range(5):
        run.case(f"few/{number}", "FAIL", **failing("dat_srq_free", 3))
    for number in range(30):
        run.case(f"many/{number}", "FAIL", **failing("dat_srq_resize", 7))
    run.case("hangs", "TIMEOUT", calls=[], pending="dat_evd_wait", reason="no end")
    run.case("crashes", "CRASH", **crashed("libv.so(v_query+0x1c)"))
    run.case("mute", "FAIL", calls=[], checks=[])
    run.case("breaks", "ERROR", reason="the peer left", calls=[], checks=[])
    folder = run.write(tmp_path)
    loaded = load(folder)
    named = [(cause.extent, cause.name) for cause in causes(loaded)]
    assert named == [
        ("30 clauses", "dat_srq_resize: expected DAT_INVALID_STATE, saw DAT_SUCCESS"),
        (
            "5 clauses",
            "dat_srq_resize, seen in dat_srq_free: expected DAT_INVALID_STATE, saw DAT_SUCCESS",
        ),
        ("1 clause", "dat_srq_query: SIGSEGV in libv.so(v_query)"),
        ("1 clause", "dat_evd_wait: no return"),
        ("1 clause", "the clause did not hold"),
    ]
    assert [cause.name for cause in unknown_causes(loaded)] == ["the peer left"]

    markdown = render(folder, "md").read_text()
    page = Page(render(folder, "html"))
    for extent, name in named:
        assert f"in {extent}: `{name}`" in markdown
        assert f"{extent} {name}" in page.text_of("findings")
    assert "5 causes, the one that fails or blocks most clauses first" in page.text_of("findings")
    assert page.has("finding:srq_resize/many/0")
    assert not page.has("finding:srq_resize/many/1")
    told = json.loads(render(folder, "json").read_text())["causes"]
    assert {
        "blame": "provider",
        "blocked": [],
        "clauses": ["srq_resize/crashes"],
        "verdict": "CRASH",
    } in told
    assert [len(cause["clauses"]) for cause in told if cause["verdict"] == "FAIL"] == [5, 30, 1]
