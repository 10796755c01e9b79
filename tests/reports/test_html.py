# SPDX-License-Identifier: BSD-2-Clause
"""report.html, read as its reader reads it, without scripts."""

import base64
import hashlib
import re
import time
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from reports.evidence_text import finding_text
from reports.render import FORMATS, render
from results.model.load import load
from tests.reports.html_page import Page, with_class, words
from tests.reports.synthetic_run import (
    BELOW_TEXT,
    Record,
    SyntheticRun,
    call,
    check,
    green_run,
    read_lines,
    red_run,
    setup_calls,
    write_lines,
)


def page_of(run: SyntheticRun, results: Path) -> Page:
    """The report of `run`."""
    return Page(render(run.write(results), "html"))


def part(finding: str, name: str, page: Page) -> str:
    """What a finding says under the heading `name`."""
    for element in with_class(page.by_id(f"finding:{finding}"), "part"):
        if words(element[0]) == name:
            return words(element[1])
    raise AssertionError(f"{finding} has no part {name}")


@pytest.fixture(name="red")
def red_page(tmp_path: Path) -> Page:
    return page_of(red_run(), tmp_path)


def test_red_conclusion_and_criterion(red: Page) -> None:
    assert red.title() == "8 clauses checked, 3 failed, 1 not decided"
    top = red.text_of("top")
    assert "Not conformant 3 clauses ended in FAIL, TIMEOUT or CRASH." in top
    met = with_class(red.by_id("about"), "met")
    assert [words(item) for item in met] == [
        "Not conformant a first attempt ended in FAIL, CRASH, TIMEOUT or CONTRADICTED, or"
        " in BLOCKED, because a call of the provider failed that another clause promises, or"
        " what a case had made could not be freed (teardown), or a random walk"
        " found a call wrong (explore); a second attempt never takes that back."
    ]


def test_families_with_the_same_rows_are_drawn_as_a_table(tmp_path: Path) -> None:
    run = SyntheticRun()
    for family, expected in [
        ("pz", ["DAT_SUCCESS"]),
        ("evd", ["DAT_INVALID_STATE"]),
        ("qos", ["DAT_SUCCESS", "DAT_INVALID_PARAMETER"]),
    ]:
        for state in ("reserved", "connected", "disconnected", "unconnected"):
            broken = (family, state) == ("pz", "reserved")
            run.case(
                f"{family}/{state}",
                "FAIL" if broken else "PASS",
                checks=[check("ret", expected=expected, seen=expected[0], ok=not broken)],
            )
    run.case("alone/reserved")
    run.end()
    text = page_of(run, tmp_path).text_of("clauses")
    assert "3 by 4" in text
    assert "pz FAIL + + +" in text
    assert "evd" + 4 * " \N{MINUS SIGN}" in text
    assert "qos ± ± ± ±" in text
    assert "alone ·" not in text


def test_families_of_several_pages_are_drawn_as_the_picture_that_they_name(tmp_path: Path) -> None:
    run = SyntheticRun()
    for page, expected in [
        ("dat_evd_wait", ["DAT_SUCCESS"]),
        ("dat_evd_dequeue", ["DAT_INVALID_STATE"]),
    ]:
        for state in ("enabled", "disabled"):
            broken = (page, state) == ("dat_evd_wait", "disabled")
            run.case(
                f"in_state/{state}",
                "FAIL" if broken else "PASS",
                clause={"page": page, "picture": "An EVD, by its state"},
                calls=[call(1, "dat_evd_create"), call(2, page)],
                checks=[
                    # Of another call: what is arranged says nothing of the page's own.
                    check("evd", expected=["DAT_SUCCESS"], calls=1),
                    check("ret", expected=expected, seen=expected[0], ok=not broken, calls=2),
                ],
            )
    run.case("in_state/enabled")
    run.end()
    report = page_of(run, tmp_path)
    [drawn] = with_class(report.by_id("clauses"), "squares")
    assert words(drawn).startswith("An EVD, by its state, 2 by 2: ")
    rows = "enabled disabled evd_wait/in_state + FAIL evd_dequeue/in_state \N{MINUS SIGN}"
    assert rows in words(drawn)
    assert [report.by_id(link.get("href", "")[1:]).get("class") for link in drawn.iter("a")] == [
        "clause"
    ] * 4


def test_a_finding_has_the_words_of_the_ruling_it_leans_on(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.head["rulings"] = [
        {"id": "SRQ-7", "title": "the mark itself", "reading": "Equality succeeds."},
        {"id": "SRQ-9", "title": "another matter", "reading": "Not cited here."},
    ]
    run.case("grow", "FAIL", clause={"rulings": ["SRQ-7"]}, reason="refused")
    run.end()
    findings = page_of(run, tmp_path).text_of("findings")
    assert "SRQ-7, the mark itself. Equality succeeds." in findings
    assert "Not cited here." not in findings


def test_a_clause_tells_how_often_the_model_judged_it(tmp_path: Path) -> None:
    """Itself, its family, or nothing where the run has no such count."""
    run = SyntheticRun(modes=(1,))
    said = {
        "verdict": "agrees",
        "judged": 1,
        "asked": {"srq_resize/rows/low": 1, "srq_resize/rows": 1200},
    }
    low = run.case("rows/low", "PASS", oracle=said)
    high = run.case("rows/high", "PASS", oracle=said | {"asked": {"srq_resize/rows": 34}})
    other = run.case("other", "PASS")
    run.end()
    page = page_of(run, tmp_path)
    judged = "The executable specification judged"
    assert f"{judged} it once, and its family 1,234 times." in words(page.evidence(low))
    assert f"{judged} its family 1,234 times." in words(page.evidence(high))
    assert judged not in words(page.evidence(other))
    assert "executable specification" not in words(page_of(green_run(), tmp_path / "old").root)


def test_green_conclusion(tmp_path: Path) -> None:
    page = page_of(green_run(), tmp_path)
    assert page.title() == "3 clauses checked, none failed"
    assert "Conformant each clause that was checked was kept, of 1 of the 3 pages." in page.text_of(
        "top"
    )
    assert not page.has("findings")
    assert not page.has("undecided")
    assert not with_class(page.root, "banner")


def test_the_head_has_what_the_provider_calls_itself(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    said = {"provider_name": "vendor", "provider_version_major": 2, "provider_version_minor": 1}
    run.fabric(1, attributes=said | {"dapl_version_major": 1, "dapl_version_minor": 2})
    run.case("grow")
    run.end()
    assert "Provider vendor 2.1, of DAPL 1.2" in page_of(run, tmp_path).text_of("top")
    assert "Provider" not in page_of(green_run(), tmp_path / "silent").text_of("top")


def test_nothing_planned_concludes_nothing(tmp_path: Path) -> None:
    page = page_of(SyntheticRun(), tmp_path)
    assert page.title() == "No clause checked"
    assert "Could not tell no case was planned." in page.text_of("top")


def test_a_provider_does_not_conform_by_declaring_all_absent(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.case("grow", "UNSUPPORTED", reason="max_srqs is 0")
    run.end()
    page = page_of(run, tmp_path)
    assert page.title() == "No clause checked"
    assert "Could not tell no clause applied" in page.text_of("top")


def test_nothing_reached_is_not_a_clean_sheet(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.plan(run.clause("grow"))
    run.end()
    page = page_of(run, tmp_path)
    assert page.title() == "No clause checked, 1 not decided"
    assert "The run came to its end without reaching every case" in page.text_of("top")


def test_broken_alone_is_could_not_tell(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.case("grow")
    run.case("shrink", "ERROR", reason="the peer left")
    run.end()
    page = page_of(run, tmp_path)
    assert page.title() == "1 clause checked, none failed, 1 not decided"
    assert "Could not tell nothing failed, but 1 clause could" in page.text_of("top")


def test_a_selection_says_what_it_leaves_unsaid(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.case("grow")
    left_out = run.clause("shrink")
    run.clause("quality", check="none", reason="This is quality.")
    run.end()
    page = page_of(run, tmp_path)
    said = "1 clause of the same pages was not selected: nothing is said of them."
    assert said in page.text_of("top")
    assert said in render(tmp_path / run.folder, "md").read_text()
    assert page.cells(left_out) == ["·", "·"]


def test_a_failure_says_what_was_required_expected_and_seen(red: Page) -> None:
    below = "srq_resize/below_outstanding"
    requirement = part(below, "Requirement", red)
    assert BELOW_TEXT in requirement
    for word in ("dat_srq_resize", "DESCRIPTION", "level must", "needs srq_supported", "SRQ-2"):
        assert word in requirement
    expected = with_class(red.by_id(f"finding:{below}"), "set")
    assert [words(item) for item in expected[0]] == [
        "DAT_INVALID_STATE",
        "DAT_INSUFFICIENT_RESOURCES",
    ]
    did = part(below, "Done", red)
    assert did == "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=1), call 6"
    assert part(below, "Seen", red).startswith(
        "DAT_SUCCESS at expect dat_srq_resize(srq, 1), cases/srq/"
    )


def test_a_row_is_shown_with_its_requirement(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    texts = {"family": "A size in use is refused.", "text": "<b>Eight</b> receives."}
    failed = check("dat_srq_resize(srq, 8)", ok=False, expected=["DAT_INVALID_STATE"])
    case = run.case("in_use/eight", "FAIL", checks=[failed], clause=texts)
    page = page_of(run, tmp_path)
    both = "A size in use is refused. in this case: <b>Eight</b> receives."
    assert part(case, "Requirement", page).startswith(both)
    # A row says what must happen, which may be the opposite of what was done.
    assert part(case, "Done", page).startswith("dat_srq_resize(")
    row = words(page.by_id(f"clause:{case}"))
    assert both in row
    (found,) = load(tmp_path / run.folder).cases
    lines = finding_text(found, found.attempts[0])
    assert lines[:2] == ["requirement: A size in use is refused.", f"in this case: {texts['text']}"]
    assert lines[2].startswith("done: dat_srq_resize(")


def test_a_failure_shows_its_calls_with_the_culprit_marked(red: Page) -> None:
    finding = red.by_id("finding:srq_resize/below_outstanding")
    lines = [words(line) for line in with_class(finding, "trace")[0]]
    assert lines[0] == "1 dat_pz_create(ia_handle=ia#1) → DAT_SUCCESS, pz_handle=pz#1 14 µs"
    assert lines[-2].startswith("6 dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=1)")
    assert lines[-1].startswith("✗ expect dat_srq_resize(srq, 1) → saw DAT_SUCCESS")
    assert [words(line)[0] for line in with_class(finding, "here")] == ["6"]
    assert "vendor: dropping 1 WQE" in words(finding)


def test_a_failure_shows_each_attempt(red: Page) -> None:
    attempts = part("srq_resize/below_outstanding", "Attempts", red)
    assert re.findall(r"(\d hosts?), (first attempt|again, alone) (\w+)", attempts) == [
        ("1 host", "first attempt", "FAIL"),
        ("1 host", "again, alone", "FAIL"),
        ("2 hosts", "first attempt", "FAIL"),
        ("2 hosts", "again, alone", "PASS"),
    ]
    assert red.cells("srq_resize/below_outstanding") == ["FAIL", "FAIL"]


def test_a_failure_has_its_replay_commands(red: Page) -> None:
    command = "./udapl-cts replay 20260102-030405-7 srq_resize/below_outstanding"
    finding = red.by_id("finding:srq_resize/below_outstanding")
    assert [words(code[0]) for code in with_class(finding, "command")] == [
        command,
        f"{command} --gdb",
    ]


def test_a_crash_names_signal_call_and_backtrace(red: Page) -> None:
    null = "srq_resize/null_handle"
    assert part(null, "Expected", red) == "dat_srq_resize returns, whatever it returns"
    assert part(null, "Seen", red) == "SIGSEGV inside dat_srq_resize ended by SIGSEGV"
    calls = part(null, "Calls", red)
    assert "did not return ◀ here" in calls
    assert "libvendor.so(vendor_srq_resize+0x1c)" in calls


def test_a_crash_says_where_in_the_sources(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    frames = ["libc.so.6(abort+0xd3)", "libvendor.so(+0x1c)", "udapl-cases(+0x9)", "x(+0x1)"]
    places = ["", "resize, src/srq.c:12", "resized, cases/srq/srq_resize.c:31"]
    crash = {"signal": "SIGABRT", "backtrace": frames, "where": places}
    case = run.case("grow", "CRASH", reason="ended by SIGABRT", crash=crash)
    page = page_of(run, tmp_path)
    happened = part(case, "Seen", page)
    assert "in resize, src/srq.c:12 (libvendor.so)" in happened
    assert "from resized, cases/srq/srq_resize.c:31" in happened
    calls = part(case, "Calls", page)
    assert "libvendor.so(+0x1c) resize, src/srq.c:12" in calls
    assert calls.endswith("x(+0x1)")


def test_a_crash_without_a_backtrace(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    case = run.case("grow", "CRASH", reason="ended by SIGKILL", pending="dat_srq_resize")
    page = page_of(run, tmp_path)
    assert part(case, "Seen", page) == "ended by SIGKILL (inside dat_srq_resize)"
    assert "No backtrace was recorded." in part(case, "Calls", page)
    assert [words(line)[:16] for line in with_class(page.root, "here")] == ["1 dat_srq_resize"]


def deadlocked() -> SyntheticRun:
    """A run with a case that two threads of a provider hung in, and a crowd of others."""
    run = SyntheticRun(modes=(1,))
    lock = "libc.so.6(pthread_mutex_lock+0x112)"
    own = {
        "thread": 1,
        "name": "udapl-cases",
        "call": "dat_srq_resize",
        "backtrace": [lock, "libvendor.so(+0x1c)", "udapl-cases(+0x9)"],
        "where": ["", "flush_events, src/evd.c:12", "grow, cases/srq/srq_resize.c:31"],
    }
    progress = {
        "name": "vendor-evd",
        "backtrace": [lock, "libvendor.so(+0x90)"],
        "where": ["", "flush_queues, src/srq.c:40"],
    }
    idle = {"name": "vendor-pool", "backtrace": ["libc.so.6(pause+0x1)"], "where": [""]}
    deaf = {"backtrace": [], "why": "it did not answer: the kernel has it as D (disk sleep)"}
    run.case(
        "grow",
        "TIMEOUT",
        reason="no end of dat_srq_resize after 1000 ms",
        pending="dat_srq_resize",
        stacks=[progress, idle, idle, own, deaf],
    )
    return run


def test_a_hang_says_where_each_thread_is(tmp_path: Path) -> None:
    page = page_of(deadlocked(), tmp_path)
    happened = part("srq_resize/grow", "Seen", page)
    assert "in flush_events, src/evd.c:12 (libvendor.so)" in happened
    assert "from grow, cases/srq/srq_resize.c:31" in happened
    calls = part("srq_resize/grow", "Calls", page)
    told = [
        "Stack of thread 1, in dat_srq_resize libc.so.6(pthread_mutex_lock+0x112) libvendor.so(",
        "Stack of a thread without calls (vendor-evd) libc.so.6(pthread_mutex_lock+0x112)",
        "flush_queues, src/srq.c:40",
        "Stack of 2 threads libc.so.6(pause+0x1)",
        "Stack of a thread it did not answer: the kernel has it as D (disk sleep)",
    ]
    places = [calls.find(text) for text in told]
    assert -1 not in places
    assert places == sorted(places)


def test_a_hang_in_markdown(tmp_path: Path) -> None:
    markdown = render(deadlocked().write(tmp_path), "md").read_text()
    assert "no return in libvendor.so(flush_events)" in markdown
    assert "in `flush_events, src/evd.c:12 (libvendor.so)`, from `grow, cases/srq/" in markdown
    assert "other threads in `flush_queues, src/srq.c:40 (libvendor.so)`" in markdown


def test_a_hang_in_junit(tmp_path: Path) -> None:
    junit = render(deadlocked().write(tmp_path), "junit").read_text()
    assert "stack of thread 1, in dat_srq_resize:" in junit
    assert "flush_queues, src/srq.c:40" in junit


def test_a_hang_in_teardown_says_where_too(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    frames = ["libc.so.6(futex+0x1)", "libvendor.so(vendor_drain+0x1c)"]
    stack = {"thread": 1, "call": "dat_srq_free", "backtrace": frames, "teardown": True}
    broken = {"call": "dat_srq_free", "what": "timeout", "saw": "no end after 1000 ms"}
    stuck = call(3, "dat_srq_free", teardown=True, unfinished=True)
    run.case(
        "grow", "PASS", calls=[call(1, "dat_srq_create"), stuck], teardown=[broken], stacks=[stack]
    )
    folder = run.write(tmp_path)
    told = "tack of thread 1, in dat_srq_free, in teardown"
    page = Page(render(folder, "html")).text_of("teardown")
    assert page.partition(told)[2].startswith(
        " libc.so.6(futex+0x1) libvendor.so(vendor_drain+0x1c)"
    )
    assert f"s{told}:" in render(folder, "junit").read_text()


def test_a_timeout_marks_the_call_it_hung_in(red: Page) -> None:
    hung = "srq_resize/under_traffic"
    assert red.cells(hung) == ["PASS", "TIMEOUT"]
    assert part(hung, "Seen", red) == "no end after 10000 ms (inside dat_evd_wait)"
    here = with_class(red.by_id(f"finding:{hung}"), "here")
    assert [words(line) for line in here] == [
        "3 dat_evd_wait(evd_handle=evd#2, timeout=INF) → did not return ◀ here"
    ]


def test_broken_is_apart_from_the_findings(red: Page) -> None:
    assert "events_over_evds" not in red.text_of("findings")
    assert "peer left: 1" in red.text_of("undecided")


def test_kept_clauses_have_their_evidence(red: Page) -> None:
    evidence = words(red.evidence("srq_resize/grow"))
    assert "✓ expect dat_srq_resize(srq, 8)" in evidence
    assert "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=8) → DAT_SUCCESS" in evidence
    assert "2 hosts, first attempt" in evidence


def test_the_matrix_says_why_without_scripts(red: Page) -> None:
    row = red.text_of("clause:srq_resize/below_low_watermark")
    assert "srq_watermarks_supported is declared absent" in row
    assert "kept 8 entries" in red.text_of("clause:srq_resize/shrink")
    assert red.cells("srq_resize/quality") == ["no case", "no case"]
    assert "This is quality." in red.text_of("clause:srq_resize/quality")
    assert "srq_watermarks_supported" in red.text_of("inapplicable")
    assert "events.jsonl.zst has them" in words(next(red.root.iter("noscript")))


def test_parity(red: Page) -> None:
    parity = red.text_of("parity")
    assert "10 cases have a verdict in 1 host and in 2 hosts; 1 differs" in parity
    assert "srq_resize/under_traffic PASS TIMEOUT" in parity


def test_parity_when_all_agree_and_with_one_mode(tmp_path: Path) -> None:
    assert "each has the same in both" in page_of(green_run(), tmp_path / "a").text_of("parity")
    run = SyntheticRun(modes=(1,))
    run.case("grow")
    run.end()
    assert "nothing to compare" in page_of(run, tmp_path / "b").text_of("parity")


def test_subject_hosts_and_suite(red: Page) -> None:
    about = red.text_of("about")
    for fact in (
        "/opt/vendor/lib/libvendor.so",
        "3f" * 32,
        "Build id 9f2c61d0",
        'ref0 u1.2 nonthreadsafe default libvendor.so v.1 "rxe0" ""',
        "udapl-cts certify dat_srq_resize --seed 7",
        "commit 0123abcd4567, with local changes",
        "10.77.0.2 6.1.0-40-amd64",
        "max_srqs 4096",
        "srq_watermarks_supported no",
        "Finished 2026-01-02T03:05:09Z",
    ):
        assert fact in about


def test_an_ia_that_does_not_open(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.fabric(1, open=False, reason="dat_ia_open returned DAT_PROVIDER_NOT_FOUND")
    run.end()
    assert "The IA did not open on host1: dat_ia_open returned" in page_of(run, tmp_path).text_of(
        "about"
    )


def test_the_page_needs_no_network(red: Page) -> None:
    assert all(address.startswith("#") for address in red.addresses())
    assert not re.search(r"url\(|@import|https?://", red.markup)


def test_each_link_leads_somewhere(red: Page) -> None:
    ids = [element.attrib["id"] for element in red.root.iter() if "id" in element.attrib]
    assert len(ids) == len(set(ids))
    assert {address[1:].replace("%3A", ":") for address in red.addresses()} <= set(ids)


def test_only_the_pages_own_script_may_run(red: Page) -> None:
    scripts = [s for s in red.root.iter("script") if s.get("type") != "text/plain"]
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256((scripts[0].text or "").encode()).digest()).decode()
    policy = next(m for m in red.root.iter("meta") if m.get("http-equiv")).attrib["content"]
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_an_interrupted_run(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.case("grow")
    late = run.clause("late")
    run.plan(late)
    run.incident("interrupted", "stopped by ^C")
    run.end("interrupted")
    page = page_of(run, tmp_path)
    banner = words(with_class(page.root, "banner")[0])
    assert banner.startswith("Interrupted run. The run was interrupted. 2 of 4 planned verdicts")
    assert "stopped by ^C" in page.text_of("top")
    assert page.cells(late) == ["NOT-RUN", "NOT-RUN"]
    assert page.title() == "1 clause checked, none failed, 1 not decided"
    assert late in page.text_of("undecided")


def test_a_killed_run(tmp_path: Path) -> None:
    run = red_run()
    run.records = run.records[:8]
    page = page_of(run, tmp_path)
    assert words(with_class(page.root, "banner")[0]).startswith("Partial run. The run stopped with")
    assert page.cells("srq_resize/shrink") == ["NOT-RUN", "NOT-RUN"]


def test_a_mode_that_was_not_reached_is_not_parity(tmp_path: Path) -> None:
    run = SyntheticRun()
    case = run.clause("grow")
    run.plan(case)
    run.verdict(case, "PASS", 1)
    page = page_of(run, tmp_path)
    assert page.cells(case) == ["PASS", "NOT-RUN"]
    assert "nothing to compare" in page.text_of("parity")


def test_the_worst_mode_and_row_of_a_family_decide(tmp_path: Path) -> None:
    run = SyntheticRun()
    family = run.clause("bad_handle")
    for row, verdicts in {"null": ("PASS", "PASS"), "destroyed": ("NOTE", "CRASH")}.items():
        run.plan(f"{family}/{row}")
        for hosts, verdict in enumerate(verdicts, 1):
            run.verdict(f"{family}/{row}", verdict, hosts)
    run.end()
    page = page_of(run, tmp_path)
    assert page.by_id(f"clause:{family}").get("data-v") == "CRASH"
    assert page.cells(family) == ["NOTE", "CRASH"]
    assert "2 cases" in page.text_of(f"clause:{family}")
    assert page.has(f"finding:{family}/destroyed")
    assert not page.has(f"finding:{family}/null")


def test_a_second_attempt_never_takes_a_failure_back(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    case = run.case("grow", "FAIL")
    run.verdict(case, "PASS", attempt=2)
    run.end()
    page = page_of(run, tmp_path)
    assert page.cells(case) == ["FAIL"]
    assert "kept this time" in part(case, "Attempts", page)


def test_a_second_attempt_never_makes_it_worse(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    case = run.case("grow", "FAIL")
    run.verdict(case, "CRASH", attempt=2)
    run.end()
    page = page_of(run, tmp_path)
    assert page.cells(case) == ["FAIL"]
    assert "again, alone CRASH" in part(case, "Attempts", page)


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ("0x7ffff7b17000", "the same calls, the same returns"),
        ("8192", "dat_lmr_create(): expected DAT_SUCCESS, saw DAT_INVALID_STATE"),
    ],
)
def test_attempts_are_the_same_wherever_memory_lay(tmp_path: Path, second: str, said: str) -> None:
    run = SyntheticRun(modes=(1,))
    broke = check("dat_lmr_create()", ok=False, seen="DAT_INVALID_STATE")
    first = call(1, "dat_lmr_create", ("region", "{for_va=0x7ffff7a00000}"))
    again = call(1, "dat_lmr_create", ("region", f"{{for_va={second}}}"))
    case = run.case("grow", "FAIL", calls=[first], checks=[broke])
    run.verdict(case, "FAIL", attempt=2, calls=[again], checks=[broke])
    assert said in part(case, "Attempts", page_of(run, tmp_path))


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("dat_srq_resize(srq, 1)", "6 dat_srq_resize("),
        ("dat_evd_dequeue(evd, &event)", "7 dat_evd_dequeue("),
        ("quiet evd", "6 dat_srq_resize("),
    ],
)
def test_the_marked_call_is_the_one_the_check_names_or_the_page_s(
    tmp_path: Path, text: str, culprit: str
) -> None:
    run = SyntheticRun(modes=(1,))
    calls = [
        *setup_calls(),
        call(6, "dat_srq_resize", ("srq_handle", "srq#1")),
        call(7, "dat_evd_dequeue", ("evd_handle", "evd#1")),
        call(8, "dat_ep_post_send", ("ep_handle", "ep#1"), who="peer"),
        call(9, "dat_srq_free", ("srq_handle", "srq#1")),
    ]
    case = run.case("grow", "FAIL", calls=calls, checks=[check(text, ok=False, calls=8)])
    here = with_class(page_of(run, tmp_path).by_id(f"finding:{case}"), "here")
    assert [words(line)[: len(culprit)] for line in here] == [culprit]


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror="alert(2)">'
    "</pre></template>{{ 7 * 7 }}\x00\x01\x1b[31mred\x1b[0m\ud800-\udcff\u202e\ufffe'\"&amp;"
)


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    run = SyntheticRun(run="20260102-030405-7", modes=(1,))
    run.head["run"] = "x; rm -rf ~"
    run.head["subject"]["library"] = HOSTILE
    run.head["command"] = [HOSTILE]
    run.fabric(1, attributes={HOSTILE: HOSTILE}, output=HOSTILE)
    more: Record = {
        "reason": HOSTILE,
        "output": HOSTILE,
        "notes": [HOSTILE],
        "leaks": [HOSTILE],
        "host": HOSTILE,
        "calls": [call(1, HOSTILE, (HOSTILE, HOSTILE), ret=HOSTILE, sub=HOSTILE)],
        "checks": [check(HOSTILE, ok=False, seen=HOSTILE, expected=[HOSTILE], file=HOSTILE)],
        "crash": {"signal": HOSTILE, "backtrace": [HOSTILE]},
        "pending": HOSTILE,
    }
    run.case("grow", "CRASH", clause={"text": HOSTILE, "rulings": [HOSTILE]}, **more)
    run.case("shrink", "FAIL", **more)
    stack = {"name": HOSTILE, "call": HOSTILE, "backtrace": [HOSTILE], "where": [HOSTILE]}
    more["stacks"] = [stack, {"backtrace": [], "why": HOSTILE}]
    kept = more | {"checks": [check(HOSTILE, seen=HOSTILE, file=HOSTILE)], "crash": None}
    run.case("same_size", "NOTE", **kept)
    run.case("absent", "UNSUPPORTED", **kept)
    run.incident("host-lost", HOSTILE, HOSTILE)
    page = page_of(run, tmp_path)

    for tree in (page.root, *(page.evidence(f"srq_resize/{n}") for n in ("grow", "same_size"))):
        assert not list(tree.iter("img"))
        assert not [e for e in tree.iter() if any(name.startswith("on") for name in e.attrib)]
        assert "<script>alert(1)</script>" in words(tree)
        assert "{{ 7 * 7 }}" in words(tree)
    assert len([s for s in page.root.iter("script") if s.get("type") != "text/plain"]) == 1
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\ufffe]", page.markup)
    assert "\\x00\\x01\\x1b[31mred\\x1b[0m\\ud800-\\xff\\u202e\\ufffe" in page.text_of("about")
    assert "./udapl-cts replay 'x; rm -rf ~' srq_resize/grow" in page.text_of("findings")


def test_output_that_is_no_utf8(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("grow", "FAIL", output="BYTES")
    folder = run.write(tmp_path)
    *before, last = read_lines(folder)
    write_lines(folder, [*before, last.replace(b"BYTES", b"\xff\xfe caf\xc3\xa9 \x80")])
    page = Page(render(folder, "html"))
    assert "\\xff\\xfe café \\x80" in page.text_of("findings")


def test_output_of_16_kib_is_whole(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    output = "".join(f"line {n:05}\n" for n in range(1500))[: 16 * 1024]
    run.case("grow", "FAIL", output=output)
    run.case("shrink", "PASS", output=output)
    page = page_of(run, tmp_path)
    assert words(page.by_id("finding:srq_resize/grow")).count("line 0") == 1489
    assert "line 01364" in words(page.evidence("srq_resize/shrink"))


def traces(finding: Element) -> dict[str, list[str]]:
    """The parts of a finding's calls by their summaries, the one in sight under ""."""
    folds = with_class(finding, "fold")
    titles = {id(with_class(fold, "trace")[0]): words(fold[0]) for fold in folds}
    return {
        titles.get(id(lines), ""): [words(line) for line in lines]
        for lines in with_class(finding, "trace")
    }


def test_a_long_trace_shows_what_surrounds_the_decision(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    calls = [call(n, "dat_evd_dequeue", ("evd_handle", "evd#1")) for n in range(1, 5001)]
    calls.append(call(5001, "dat_srq_resize", ("srq_handle", "srq#1"), ret="DAT_INTERNAL_ERROR"))
    calls += [call(n, "dat_ep_free", ("ep_handle", "ep#1")) for n in range(5002, 5022)]
    calls += [call(n, "dat_ep_post_send", who="peer") for n in range(1, 31)]
    checks = [check("dequeued", calls=n) for n in range(1, 3)]
    broke = check("dat_srq_resize(srq, 8)", ok=False, seen="DAT_INTERNAL_ERROR", calls=5001)
    case = run.case("grow", "FAIL", calls=calls, checks=[*checks, broke])
    page = page_of(run, tmp_path)
    parts = traces(page.by_id(f"finding:{case}"))
    assert list(map(len, parts.values())) == [201, 20, 20, 30]
    assert parts["201 lines earlier"][50] == (
        "… 4784 lines are left out here, events.jsonl.zst has them"
    )
    assert parts["201 lines earlier"][1].startswith("✓ expect dequeued")
    assert parts[""][-2].startswith("5001 dat_srq_resize(srq_handle=srq#1) → DAT_INTERNAL_ERROR")
    assert parts[""][-1].startswith("✗ expect dat_srq_resize(srq, 8)")
    assert parts["20 lines later"][0].startswith("5002 dat_ep_free(")
    assert parts["30 lines of the peer, which has numbers of its own"][0].startswith(
        "1 dat_ep_post"
    )


def test_the_teardown_stands_apart(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    story = [call(1, "dat_srq_create"), call(2, "dat_srq_resize")]
    ends = [call(3, "dat_srq_free", teardown=True), call(4, "dat_ia_close", teardown=True)]
    guard = check("memory around buf", ok=False, role="guard", seen="byte 4096", calls=4)
    run.case("grow", "FAIL", calls=story + ends, checks=[guard])
    page = page_of(run, tmp_path)

    parts = traces(page.by_id("finding:srq_resize/grow"))
    assert [line[:16] for line in parts[""]] == [
        "1 dat_srq_create",
        "2 dat_srq_resize",
        "✗ guard memory a",
    ]
    assert not with_class(page.by_id("finding:srq_resize/grow"), "flag")
    assert [line[:14] for line in parts["2 lines of the teardown"]] == [
        "3 dat_srq_free",
        "4 dat_ia_close",
    ]


def test_calls_that_the_agent_did_not_keep_are_missed(tmp_path: Path) -> None:
    """Of the others, those that took a millisecond have their time."""
    run = SyntheticRun(modes=(1,))
    calls = [call(1, "dat_pz_create", us=999), call(9, "dat_srq_resize", us=1000)]
    checks = [check("pz", calls=1), check("late", calls=5), check("dat_srq_resize(srq)", calls=9)]
    case = run.case("grow", "PASS", calls=calls, checks=checks)
    lines = [words(line) for line in with_class(page_of(run, tmp_path).evidence(case), "trace")[0]]
    assert [line.split(" cases/")[0] for line in lines] == [
        "1 dat_pz_create() → DAT_SUCCESS",
        "✓ expect pz",
        "… 7 calls were not kept",
        "✓ expect late",
        "9 dat_srq_resize() → DAT_SUCCESS 1.0 ms",
        "✓ expect dat_srq_resize(srq)",
    ]


def test_a_clause_that_the_run_did_not_record(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.plan("ep_create/lost")
    run.verdict("ep_create/lost", "PASS")
    run.end()
    page = page_of(run, tmp_path)
    assert page.cells("ep_create/lost") == ["PASS"]
    assert "recorded no clause for this case" in page.text_of("clause:ep_create/lost")


def large_run(cases: int) -> SyntheticRun:
    """A run of `cases` cases over 50 pages in two modes, one in 100 broken."""
    run = SyntheticRun()
    calls = [call(n, "dat_srq_post_recv", ("srq_handle", "srq#1")) for n in range(1, 13)]
    checks = [check("dat_srq_resize(srq, 8)", calls=12)]
    for n in range(cases):
        verdict = "FAIL" if n % 100 == 7 else "UNSUPPORTED" if n % 10 == 3 else "PASS"
        run.case(
            f"clause_{n}",
            verdict,
            clause={"page": f"dat_page_{n % 50}", "text": f"Number {n} holds, whatever happens."},
            calls=calls,
            checks=checks,
        )
    run.end()
    return run


def test_five_thousand_cases_stay_light(tmp_path: Path) -> None:
    folder = large_run(5000).write(tmp_path)
    for fmt in FORMATS:
        begun = time.monotonic()
        render(folder, fmt)
        assert time.monotonic() - begun < 60, fmt
    path = folder / "report.html"
    assert path.stat().st_size < 8 << 20
    page = Page(path)
    assert page.title() == "4500 clauses checked, 50 failed"
    assert sum(1 for _ in page.root.iter()) < 150_000
    assert page.cells("page_42/clause_4992") == ["PASS", "PASS"]
    assert "dat_srq_post_recv" in words(page.evidence("page_42/clause_4992"))
