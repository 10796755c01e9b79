# SPDX-License-Identifier: BSD-2-Clause
"""report.md: short, true, and safe to paste into a pull request."""

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from reports.render import render
from tests.reports.html_page import parse, words
from tests.reports.synthetic_run import SyntheticRun, green_run, red_run
from tests.reports.test_html import HOSTILE


def rendered(run: SyntheticRun, results: Path) -> str:
    """The report.md of `run`, as a forge would show it, in words."""
    text = render(run.write(results), "md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
    tree = parse(html)
    assert not list(tree.iter("script"))
    assert not list(tree.iter("img"))
    assert not list(tree.iter("a"))
    return words(tree)


def test_a_provider_that_blocks_is_not_conformant(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.fabric(1)
    run.case("grow")
    step = {"call": "dat_rmr_create", "clause": "rmr_create/created", "ret": "DAT_INTERNAL_ERROR"}
    site = {"file": "cases/srq/srq_resize.c", "line": 31, "text": "dat_rmr_create(pz, &rmr)"}
    reason = "dat_rmr_create returned DAT_INTERNAL_ERROR"
    run.case("shrink", "BLOCKED", reason=reason, blocked={**step, "site": site})
    run.end()
    text = rendered(run, tmp_path)
    assert "1 clause checked, none failed, 1 blocked: not conformant" in text
    assert "1 defect: it blocks 1 of 2 clauses." in text
    assert "1 clause not judged, because dat_rmr_create failed (1)" in text


def test_red(tmp_path: Path) -> None:
    text = rendered(red_run(), tmp_path)
    for said in (
        "8 clauses checked, 3 failed, 1 not decided: not conformant",
        "FAIL in 1 clause: dat_srq_resize: expected DAT_INVALID_STATE or DAT_INS",
        "first srq_resize/below_outstanding (1 host: FAIL, 2 hosts: FAIL) requirement: A request",
        "done: dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=1), call 6",
        "expected: DAT_INVALID_STATE or DAT_INSUFFICIENT_RESOURCES seen: DAT_SUCCESS",
        "replay: ./udapl-cts replay 20260102-030405-7 srq_resize/null_handle",
        "Not decided: 1 clause, first srq_resize/events_over_evds: dat_srq_resize: peer is",
        "10 cases compared, 1 differs",
        "srq_resize/under_traffic (1 host: PASS, 2 hosts: TIMEOUT)",
        "Not conformant: a first attempt ended in FAIL, CRASH, TIMEOUT or CONTRADICTED",
    ):
        assert said in text


def test_green(tmp_path: Path) -> None:
    text = rendered(green_run(), tmp_path)
    assert "3 clauses checked, none failed: conformant" in text
    assert "4 cases compared, all agree" in text
    assert "Partial run" not in text


def test_partial(tmp_path: Path) -> None:
    run = green_run()
    run.records = run.records[:4]
    run.incident("host-lost", "the guest's kernel panicked", "host2")
    text = rendered(run, tmp_path)
    assert "Partial run: The run stopped without a last word" in text
    assert "host-lost the guest's kernel panicked" in text


def test_many_findings_stay_short(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    for n in range(300):
        run.case(f"clause_{n}", "FAIL", reason=f"{n:03} " + "x" * 5000)
    run.end()
    path = render(run.write(tmp_path), "md")
    assert path.stat().st_size < 100_000
    text = path.read_text()
    assert all(f"- **FAIL** in 1 clause: `dat_srq_resize: {n:03} x" in text for n in range(300))


@pytest.mark.parametrize("text", [HOSTILE, "`` ` @all | [a](http://x) #1", "\n\n# heading\n\n---"])
def test_hostile_words_stay_words(tmp_path: Path, text: str) -> None:
    run = SyntheticRun(modes=(1,))
    run.head["subject"]["library"] = text
    for verdict in ("FAIL", "ERROR", "NOTE"):
        run.case(verdict.lower(), verdict, clause={"text": text}, reason=text, notes=[text])
    run.incident("host-lost", text)
    rendered(run, tmp_path)


def test_how_much_the_model_judged(tmp_path: Path) -> None:
    """The sum of what the model judged; nothing of a run that does not tell it."""
    said = {"verdict": "agrees", "judged": 1, "asked": {"srq_resize/low": 3, "srq_resize": 1000}}
    run = SyntheticRun(modes=(1,))
    run.case("low", "PASS", oracle=said)
    run.case("high", "PASS", oracle=said)
    run.end()
    text = rendered(run, tmp_path)
    assert "judged calls by 2 clauses and families, 2,006 times" in text
    run = SyntheticRun(modes=(1,))
    run.case("low", "PASS")
    run.end()
    assert "judged calls" not in rendered(run, tmp_path / "old")


def test_found_by_the_model_alone(tmp_path: Path) -> None:
    """A clause that the model convicts names the call, though no check failed."""
    said = {"verdict": "deviates", "judged": 1, "why": "y", "who": "case", "n": 1, "clause": "z"}
    run = SyntheticRun(modes=(1,))
    run.case("low", "FAIL", reason="found by the model: y", oracle=said)
    run.end()
    text = rendered(run, tmp_path)
    assert "found by the model: y" in text
    assert "dat_srq_resize(srq_handle=srq#1, srq_max_recv_dto=8)" in text
