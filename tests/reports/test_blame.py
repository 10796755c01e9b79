# SPDX-License-Identifier: BSD-2-Clause
"""Who gets the blame: teardown counts apart from the clause, whose headline is its own check."""

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from reports.render import FORMATS, render
from results.model.load import load
from tests.reports.html_page import Page, with_class, words
from tests.reports.synthetic_run import Record, SyntheticRun, call, check, setup_calls

REFUSED = {"call": "dat_ep_free", "what": "refused", "saw": "DAT_INVALID_STATE"}
DIED = {"call": "dat_ep_free", "what": "crash", "saw": "SIGABRT"}
NO_END = {"call": "dat_ia_close", "what": "timeout"}

TIMED_OUT: Record = {
    "calls": [
        *setup_calls(),
        call(6, "dat_srq_resize", ("srq_handle", "srq#1")),
        call(7, "dat_evd_wait", ("evd_handle", "evd#2"), ret="DAT_TIMEOUT_EXPIRED"),
        call(8, "dat_ep_free", ("ep_handle", "ep#1"), unfinished=True, teardown=True),
    ],
    "checks": [
        check(
            "DAT_CONNECTION_EVENT_ESTABLISHED on connect_evd",
            ok=False,
            expected=["DAT_CONNECTION_EVENT_ESTABLISHED"],
            seen="no event within 3000 ms",
            calls=7,
        )
    ],
    "reason": "DAT_CONNECTION_EVENT_ESTABLISHED: saw no event within 3000 ms",
    "crash": {"signal": "SIGABRT", "backtrace": ["libc.so.6(abort+0xd3)"], "teardown": True},
    "teardown": [DIED],
}


def refused_free() -> list[Record]:
    """A legal story, and a free that is refused."""
    refused = call(6, "dat_ep_free", ("ep_handle", "ep#1"), ret="DAT_INVALID_STATE", teardown=True)
    return [*setup_calls(), refused, call(7, "dat_ia_close", teardown=True)]


def blamed_run() -> SyntheticRun:
    """Twelve clauses that are kept, one that is not, and two calls that break after them."""
    run = SyntheticRun(modes=(1,))
    for number in range(12):
        run.case(f"kept_{number:02}", calls=refused_free(), teardown=[REFUSED])
    run.case("connects", "FAIL", **TIMED_OUT)
    for number, ms in enumerate((5000, 7000)):
        slow = {**NO_END, "saw": f"no end after {ms} ms"}
        run.case(f"slow_{number}", "NOTE", notes=["slow"], teardown=[slow])
    run.end()
    return run


def reports_of(run: SyntheticRun, folder: Path) -> dict[str, str]:
    """All reports of a run."""
    written = run.write(folder)
    return {fmt: render(written, fmt).read_text(encoding="utf-8") for fmt in FORMATS}


DEVIATES: Record = {
    "verdict": "deviates",
    "judged": 2,
    "why": "case call 5, dat_srq_resize: tells 7 [srq_resize/size]",
    "clause": "srq_resize/size",
    "who": "case",
    "n": 5,
}


def run_with_a_deviation(*, found: bool) -> SyntheticRun:
    """Three cases that are kept, whose call breaks the clause of another case; it may be found."""
    run = SyntheticRun(modes=(1,))
    for number in range(3):
        run.case(f"kept_{number}", calls=setup_calls(), oracle=DEVIATES, breaks="srq_resize/size")
    run.case("size", "FAIL" if found else "PASS")
    run.end()
    return run


def test_what_the_model_finds_in_kept_cases_is_a_finding_of_its_own(tmp_path: Path) -> None:
    told = reports_of(run_with_a_deviation(found=False), tmp_path)
    report = json.loads(told["json"])
    assert report["counts"] == {"PASS": 4}
    assert report["conclusion"] == "not conformant"
    assert [(row["call"], row["saw"], len(row["cases"])) for row in report["teardown"]] == [
        ("dat_srq_resize", "srq_resize/size", 3)
    ]
    said = "**MODEL** `dat_srq_resize deviates from srq_resize/size: tells 7`, in 3 cases"
    assert said in told["md"]


def test_what_a_case_of_the_clause_found_is_not_found_twice(tmp_path: Path) -> None:
    report = json.loads(reports_of(run_with_a_deviation(found=True), tmp_path)["json"])
    assert report["counts"] == {"PASS": 3, "FAIL": 1}
    assert not report["teardown"]


def test_each_cause_counts_once(tmp_path: Path) -> None:
    report = json.loads(reports_of(blamed_run(), tmp_path)["json"])
    assert report["counts"] == {"PASS": 12, "NOTE": 2, "FAIL": 1}
    assert [(row["call"], row["saw"], len(row["cases"])) for row in report["teardown"]] == [
        ("dat_ep_free", "SIGABRT", 1),
        ("dat_ep_free", "DAT_INVALID_STATE", 12),
        ("dat_ia_close", "no end", 2),
    ]


def test_the_page_tells_it_apart_from_the_clauses(tmp_path: Path) -> None:
    run = blamed_run()
    reports_of(run, tmp_path)
    page = Page(tmp_path / run.folder / "report.html")
    assert page.title() == "15 clauses checked, 1 failed, teardown failed in 3 ways"
    said = "Not conformant 1 clause ended in FAIL; teardown failed (dat_ep_free, dat_ia_close)."
    assert said in page.text_of("top")
    refused = page.by_id("teardown:dat_ep_free:refused:DAT_INVALID_STATE:case")
    assert words(refused).startswith(
        "2 TEARDOWN dat_ep_free Happened dat_ep_free refused with DAT_INVALID_STATE in teardown"
    )
    assert "12 cases: srq_resize/kept_00, srq_resize/kept_01," in words(refused)
    (flag,) = with_class(refused, "here")
    assert words(flag).startswith("6 dat_ep_free(")
    assert words(flag).split(" 14 µs")[0].endswith("◀ in teardown")
    assert page.cells("srq_resize/kept_00") == ["PASS"]


def test_the_headline_is_the_check_that_failed(tmp_path: Path) -> None:
    run = blamed_run()
    told = reports_of(run, tmp_path)
    page = Page(tmp_path / run.folder / "report.html")
    finding = page.by_id("finding:srq_resize/connects")
    (seen,) = with_class(finding, "seen")
    assert words(seen) == "no event within 3000 ms"
    act, died = with_class(finding, "here")
    assert words(act).startswith("6 dat_srq_resize(")
    assert words(act).split(" 14 µs")[0].endswith("◀ here")
    assert words(died).endswith("◀ in teardown")
    assert "In teardown SIGABRT inside dat_ep_free A finding of its own" in words(finding)
    assert "Backtrace in teardown, SIGABRT" in words(finding)
    (line,) = [row for row in told["md"].splitlines() if "seen: `no event" in row]
    assert "SIGABRT" not in line
    assert "within 3000 ms" in line
    (line,) = [row for row in told["md"].splitlines() if "done: `dat_srq_resize(" in row]
    assert line.endswith(" = DAT_SUCCESS, call 6`")
    assert "- **TEARDOWN** `SIGABRT inside dat_ep_free`, in srq\\_resize/connects" in told["md"]
    assert (
        "- **TEARDOWN** `dat_ep_free refused with DAT_INVALID_STATE`, in 12 cases, first in"
        in told["md"]
    )


def test_junit_has_a_suite_for_it(tmp_path: Path) -> None:
    xml = JUnitXml.fromstring(reports_of(blamed_run(), tmp_path)["junit"].encode())
    by_mode, teardown = xml
    assert (by_mode.failures, by_mode.errors) == (1, 0)
    assert teardown.name == "libvendor.so, teardown"
    cases = {case.name: case for case in teardown}
    refused = cases["teardown: dat_ep_free refused with DAT_INVALID_STATE"]
    assert refused.classname == "dat_ep_free"
    (result,) = refused.result
    assert result.message.endswith("in 12 cases, first in srq_resize/kept_00")
    assert "[in teardown] dat_ep_free(ep_handle=ep#1) = DAT_INVALID_STATE   <-- here" in result.text
    (connects,) = [case for case in by_mode if case.name == "srq_resize/connects[1-host]"]
    assert "no event within 3000 ms" in connects.result[0].message
    assert "in teardown: SIGABRT inside dat_ep_free" in connects.result[0].text
    (kept,) = [case for case in by_mode if case.name == "srq_resize/kept_00[1-host]"]
    assert not kept.result
    assert "in teardown: dat_ep_free refused" in kept.system_out


def test_what_broke_in_the_peer_is_told_as_the_peer_s(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    died = {"call": "dat_ia_close", "what": "crash", "saw": "SIGSEGV", "who": "peer"}
    calls = [*setup_calls(), call(1, "dat_ia_close", who="peer", unfinished=True, teardown=True)]
    crash = {"signal": "SIGSEGV", "backtrace": ["libvendor.so"], "teardown": True, "who": "peer"}
    run.case("grow", calls=calls, crash=crash, teardown=[died])
    run.end()
    told = reports_of(run, tmp_path)
    finding = Page(tmp_path / run.folder / "report.html").by_id(
        "teardown:dat_ia_close:crash:SIGSEGV:peer"
    )
    assert "SIGSEGV inside dat_ia_close of the peer in teardown" in words(finding)
    assert "Backtrace of the peer in teardown, SIGSEGV" in words(finding)
    (flag,) = with_class(finding, "here")
    assert words(flag).startswith("1 dat_ia_close(")
    assert "[peer] [in teardown] dat_ia_close() = did not return   <-- here" in told[
        "junit"
    ].replace("&lt;", "<")


@pytest.mark.parametrize(("frame", "left"), [("tear", 0), ("copy", 1)])
def test_a_crash_that_a_case_shows_is_no_finding_of_teardown(
    tmp_path: Path, frame: str, left: int
) -> None:
    run = SyntheticRun(modes=(1,))
    crash = {"signal": "SIGABRT", "backtrace": ["libv.so(tear)"], "teardown": True}
    run.case("kept", crash=crash, teardown=[DIED])
    crash = {"signal": "SIGABRT", "backtrace": [f"libv.so({frame})"]}
    run.case("freed", "CRASH", pending="dat_ep_free", crash=crash)
    assert len(load(run.write(tmp_path)).breakages) == left


def varying_run() -> SyntheticRun:
    """A case that is kept again, one that does not apply then, and one that is the same again."""
    run = SyntheticRun(modes=(1, 2))
    for name, again in {"a": "PASS", "b": "UNSUPPORTED", "c": "FAIL"}.items():
        case = run.case(name, "FAIL", reason="no")
        run.verdict(case, again, 1, attempt=2)
        run.verdict(case, "FAIL", 2, attempt=2)
    case = run.case("d", teardown=[REFUSED])
    run.verdict(case, "PASS", 1, attempt=2)
    run.verdict(case, "PASS", 2, attempt=2, teardown=[REFUSED])
    run.end()
    return run


def test_what_ended_otherwise_again_is_unstable_in_each_report(tmp_path: Path) -> None:
    run = varying_run()
    told = reports_of(run, tmp_path)
    report = json.loads(told["json"])
    modes = {clause["id"]: clause["cases"][0]["modes"] for clause in report["clauses"]}
    unstable = {
        (id_, mode["hosts"]) for id_, both in modes.items() for mode in both if mode["unstable"]
    }
    assert unstable == {(f"srq_resize/{name}", 1) for name in "abd"}
    text = Page(tmp_path / run.folder / "report.html").text_of("unstable")
    assert "srq_resize/b 1 host FAIL no UNSUPPORTED" in text
    assert "srq_resize/c" not in text
    assert "srq_resize/d 1 host PASS in teardown: dat_ep_free refused with DAT_INVAL" in text
    assert "`srq_resize/b` (1 host: FAIL, then UNSUPPORTED)" in told["md"]
    assert "`srq_resize/d` (1 host: PASS, teardown failed, then PASS)" in told["md"]
    for suite in JUnitXml.fromstring(told["junit"].encode()):
        properties = {one.name: one.value for one in suite.properties()}  # type: ignore[no-untyped-call]
        assert properties["unstable"] == "srq_resize/a srq_resize/b srq_resize/d"
    assert "not conformant" in report["conclusion"]


def test_attempts_are_compared_where_they_were_made(tmp_path: Path) -> None:
    """Of a case on each pair of hosts, a second attempt is one of the pair's."""
    run = SyntheticRun(modes=(1,))
    run.fabric(1)
    run.records[0]["testbeds"] = [["host1"], ["host2"]]
    case = run.case("a", "FAIL", host="host1", reason="it did not")
    run.verdict(case, "PASS", host="host2")
    run.verdict(case, "FAIL", host="host1", attempt=2)
    run.end()
    report = json.loads(reports_of(run, tmp_path)["json"])
    (mode,) = report["clauses"][0]["cases"][0]["modes"]
    assert mode["unstable"] is False


def test_what_was_tried_once_says_so(tmp_path: Path) -> None:
    """Of a kind that has its sample, and of one to which the run did not come."""
    run = SyntheticRun(modes=(1,))
    run.fabric(1)
    for name in "abcdefg":
        case = run.case(name, "TIMEOUT", pending="dat_ep_free")
        if name in "abcde":
            run.verdict(case, "TIMEOUT", attempt=2, pending="dat_ep_free")
    run.case("z", "TIMEOUT", pending="dat_srq_free")
    run.end()
    told = reports_of(run, tmp_path)
    said = "8 verdicts that were not kept, or not freed, 5 were tried a second time, alone. 2 were"
    page = Page(tmp_path / run.folder / "report.html")
    for text in (told["md"], page.text_of("again")):
        assert said in text
        assert "1 were tried once, since the run did not come to them." in text
    assert told["junit"].count("tried once: it was not run again") == 3


def kept_free(*frees: str) -> Record:
    """What a case leaves behind a dat_evd_free that does nothing: these frees are refused."""
    calls = [*setup_calls(), call(6, "dat_evd_free", ("evd_handle", "evd#2"))]
    calls += [
        call(n, name, ret="DAT_INVALID_STATE", teardown=True) for n, name in enumerate(frees, 7)
    ]
    return {"calls": calls, "teardown": [REFUSED | {"call": name} for name in frees]}


def test_what_a_refused_free_holds_is_no_finding_of_its_own(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("both", **kept_free("dat_cno_free", "dat_ia_close"))
    run.case("both_again", **kept_free("dat_cno_free", "dat_ia_close"))
    loaded = load(run.write(tmp_path / "one"))
    assert [(each.trouble.call, len(each.cases)) for each in loaded.breakages] == [
        ("dat_cno_free", 2)
    ]
    run.case("alone", **kept_free("dat_ia_close"))
    loaded = load(run.write(tmp_path / "other"))
    assert [(each.trouble.call, len(each.cases)) for each in loaded.breakages] == [
        ("dat_cno_free", 2),
        ("dat_ia_close", 1),
    ]


def test_what_teardown_is_refused_as_a_case_was_is_no_finding_of_its_own(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("left", **kept_free("dat_cno_free"))
    run.case("other_code", **kept_free("dat_lmr_free"))
    for number, (name, ret) in enumerate(
        [("dat_cno_free", "DAT_INVALID_STATE"), ("dat_lmr_free", "DAT_ABORT")]
    ):
        told = check(f"{name}(...)", ok=False, seen=ret, line=number + 1)
        run.case(name, "FAIL", calls=[call(1, name, ret=ret)], checks=[told])
    loaded = load(run.write(tmp_path))
    assert [each.trouble.call for each in loaded.breakages] == ["dat_lmr_free"]


def test_what_a_call_that_does_not_work_left_is_its_finding(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("left", **kept_free("dat_cno_free", "dat_ia_close"))
    made = run.case("control", "FAIL", reason="the CNO is in use")
    why = f"dat_evd_free does not work ({made}: FAIL, the CNO is in use)"
    site = {"file": "cases/evd/evd_free.c", "line": 3, "text": "dat_evd_free"}
    step = {"call": "dat_evd_free", "ret": why, "clause": made, "site": site}
    run.case("behind", "BLOCKED", reason=why, blocked=step, checks=[])
    run.case("elsewhere", calls=refused_free(), teardown=[REFUSED])
    loaded = load(run.write(tmp_path))
    assert [(each.trouble.call, len(each.cases)) for each in loaded.breakages] == [
        ("dat_ep_free", 1)
    ]
