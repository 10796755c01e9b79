# SPDX-License-Identifier: BSD-2-Clause
"""How causes are ordered, named and shown."""

import json
from pathlib import Path

import pytest

from reports.evidence_text import finding_text
from reports.render import render
from results.causes.advice import advice
from results.causes.grouping import causes, unknown_causes
from results.model.load import load
from tests.reports.causes.cause_records import blocked, by_condition, crashed, failing, groups
from tests.reports.html_page import Page
from tests.reports.synthetic_run import Record, SyntheticRun, call, check


def test_a_finding_by_a_condition_says_it_in_a_sentence(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("wakes", "FAIL", **by_condition("dat_cno_wait"))
    (case,) = load(run.write(tmp_path)).findings
    assert case.decisive
    lines = finding_text(case, case.decisive)
    assert lines[-1] == "seen: the CNO names another EVD"
    assert "woken" not in " ".join((*lines, case.decisive.summary))


def test_joined_groups_keep_all_their_keys(tmp_path: Path) -> None:
    def left(line: int, expected: str) -> tuple[str, Record]:
        return "FAIL", failing("dat_srq_query", line, expected=[f"DAT_{expected}"])

    apart = left(7, "ABORT"), left(8, "INVALID_STATE")
    joining = left(7, "INVALID_STATE")
    # Each of the last two shares a key with one of the first two only.
    later = left(9, "ABORT"), left(8, "QUEUE_EMPTY")
    assert groups(tmp_path, *apart, joining, *later) == [["0", "1", "2", "3", "4"]]


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


def test_five_to_mend_first(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for number in range(7):
        for row in range(number + 1):
            name = f"dat_srq_{'abcdefg'[number]}"
            run.case(f"c{number}/{row}", "FAIL", **failing(name, number))
    loaded = load(run.write(tmp_path))
    said = "7 defects. Mend these five first: they fail 25 of 28 clauses."
    assert advice(loaded, causes(loaded)) == said


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
        ("1 clause", "dat_srq_resize, seen in dat_evd_wait: no return"),
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


def test_a_cause_is_shown_by_the_page_that_it_fails_most(tmp_path: Path) -> None:
    wrong = "DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP"
    run = SyntheticRun(modes=(1,))
    run.case("uses", "FAIL", {"page": "dat_ep_create"}, **failing("dat_ep_create", 7, wrong))
    for line, name in enumerate(("first", "second")):
        left = failing("dat_ep_get_status", line, wrong)
        run.case(name, "FAIL", {"page": "dat_ep_get_status"}, **left)
    (found,) = causes(load(run.write(tmp_path)))
    assert found.example.clause.name == "first"
    assert found.calls == ("dat_ep_get_status", "dat_ep_create")
