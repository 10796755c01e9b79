# SPDX-License-Identifier: BSD-2-Clause
"""The profiles of a run: which clauses they have, and which of the results each comes to."""

import json
from pathlib import Path

import pytest

from reports.render import render
from tests.reports.html_page import Page
from tests.reports.synthetic_run import SyntheticRun

NEEDS = {"srq_supported": True, "srq_watermarks_supported": True}


def run_with(**verdicts: str) -> SyntheticRun:
    """A run of one clause of Core, one of SRQs and one of watermarks, with these verdicts."""
    run = SyntheticRun(modes=(1,))
    run.fabric(1, needs=NEEDS)
    for name, needs in [
        ("core", []),
        ("srq", ["srq_supported"]),
        ("mark", ["srq_supported", "srq_watermarks_supported"]),
    ]:
        run.case(name, verdicts.get(name, "PASS"), {"needs": needs})
    run.case("allowed", "FAIL", {"level": "may", "needs": []})
    run.clause("quality", check="none", needs=[], reason="This is quality.")
    run.end()
    return run


def results_of(run: SyntheticRun, results: Path) -> dict[str, str]:
    """The result of each profile, as report.json has it."""
    report = json.loads(render(run.write(results), "json").read_text())
    return {name: profile["result"] for name, profile in report["profiles"].items()}


def test_a_profile_is_kept_or_broken_by_its_own_clauses(tmp_path: Path) -> None:
    assert results_of(run_with(mark="CRASH"), tmp_path) == {
        "core": "success",
        "srq_supported": "success",
        "srq_watermarks_supported": "fail",
    }


@pytest.mark.parametrize("verdict", ["ERROR", "RESOURCE"])
def test_what_was_not_decided_is_not_known(tmp_path: Path, verdict: str) -> None:
    assert results_of(run_with(core=verdict), tmp_path)["core"] == "not known"


def test_a_selection_is_partial_by_the_clauses_of_the_whole_suite(tmp_path: Path) -> None:
    run = run_with()
    run.head["suite"]["profiles"] = {"core": 7, "srq_supported": 1, "ep_recv_info_supported": 3}
    assert results_of(run, tmp_path) == {
        "core": "partial",
        "srq_supported": "success",
        "srq_watermarks_supported": "success",
        "ep_recv_info_supported": "not known",
    }


def test_an_undeclared_feature_is_named_by_its_attribute(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.fabric(1, needs=NEEDS | {"srq_watermarks_supported": False})
    said = "srq_watermarks_supported = 0"
    run.case("mark", "UNSUPPORTED", {"needs": ["srq_watermarks_supported"]}, reason=said)
    run.case("core", clause={"needs": []})
    run.end()
    folder = run.write(tmp_path)
    text = Page(render(folder, "html")).text_of("profiles")
    assert "srq_watermarks_supported not declared 1 · · · 1 srq_watermarks_supported = 0" in text
    assert "Core success 1 1 · · · 1 of 1 clauses checked and kept" in text


def test_a_declared_feature_that_is_not_delivered_is_a_failure(tmp_path: Path) -> None:
    run = run_with(mark="FAIL")
    folder = run.write(tmp_path)
    page = Page(render(folder, "html"))
    assert "srq_watermarks_supported fail 1 · 1" in page.text_of("profiles")
    assert "Fail at least one of its clauses ended in FAIL" in page.text_of("profiles")
    markdown = render(folder, "md").read_text()
    assert "| Core | success | 1 of 1 clauses checked and kept |" in markdown
    assert "- Fail: at least one of its clauses ended in FAIL" in markdown
    junit = render(folder, "junit").read_text()
    assert '<property name="profile.srq_watermarks_supported" value="fail"' in junit
