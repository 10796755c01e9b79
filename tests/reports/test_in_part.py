# SPDX-License-Identifier: BSD-2-Clause
"""What every report says of a run that kept what it checked: of how much, and why not of all."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml, TestSuite

from reports.render import FORMATS, render
from tests.reports.html_page import Page
from tests.reports.synthetic_run import SyntheticRun, green_run


def quick(run: SyntheticRun) -> None:
    run.of_a_suite(3)
    run.head["command"] = ["udapl-cts", "certify", "--quick"]


def forget(run: SyntheticRun) -> None:
    run.head["suite"].update(cases=0, plan=[])


REASONS: dict[str, Callable[[SyntheticRun], None]] = {
    "a selection, 4 of 7 cases": lambda run: run.of_a_suite(3),
    "the quick selection, 4 of 7 cases": quick,
    "4 of 5 cases on 1 host; 4 of 6 cases on 2 hosts": lambda run: run.of_a_suite(0, {1: 1, 2: 2}),
    "none of 2 cases on 3 hosts": lambda run: run.of_a_suite(0, {3: 2}),
    "a suite with local changes": lambda run: run.head["suite"].update(dirty=True),
    "a suite of no known commit": lambda run: run.head["suite"].update(commit="unknown"),
    "3 times the usual patience": lambda run: run.head.update(patience=3),
    "the variant roomy of the provider": lambda run: run.head["subject"].update(variant="roomy"),
    "a run that does not say how much the whole suite is": forget,
}


def texts(run: SyntheticRun, folder: Path) -> dict[str, str]:
    """All reports of a run."""
    written = run.write(folder)
    return {fmt: render(written, fmt).read_text(encoding="utf-8") for fmt in FORMATS}


def named(suite: TestSuite) -> dict[str, str]:
    """The properties of a suite."""
    return {each.name: each.value for each in suite.properties()}  # type: ignore[no-untyped-call]


def test_a_whole_run_is_conformant_for_the_pages_that_it_names(tmp_path: Path) -> None:
    told = texts(green_run(), tmp_path)
    said = "each clause that was checked was kept, of 1 of the 3 pages"
    page = Page(tmp_path / green_run().folder / "report.html")
    assert f"Conformant {said}." in page.text_of("top")
    assert "Clauses of 1 of the 3 pages: dat_srq_resize." in page.text_of("top")
    assert "3 clauses checked, none failed: conformant" in told["md"]
    assert "Clauses of 1 of the 3 pages: `dat_srq_resize`." in told["md"]
    report = json.loads(told["json"])
    assert report["conclusion"] == "conformant"
    assert report["pages"] == {"covered": ["dat_srq_resize"], "of": 3}
    assert report["in_part"] == []
    for suite in JUnitXml.fromstring(told["junit"].encode()):
        properties = named(suite)
        assert properties["conclusion"] == "conformant"
        assert properties["pages"] == "1 of the 3 pages"


@pytest.mark.parametrize("reason", REASONS)
def test_what_is_less_is_kept_in_part(tmp_path: Path, reason: str) -> None:
    run = green_run()
    run.of_a_suite()
    REASONS[reason](run)
    told = texts(run, tmp_path)
    page = Page(tmp_path / run.folder / "report.html")
    said = f"each clause that was checked was kept; this was {reason}"
    assert f"Kept, in part {said}." in page.text_of("top")
    assert "none failed: kept, in part" in told["md"]
    assert "this was" in told["md"]
    report = json.loads(told["json"])
    assert (report["conclusion"], "; ".join(report["in_part"])) == ("kept, in part", reason)
    for suite in JUnitXml.fromstring(told["junit"].encode()):
        properties = named(suite)
        assert properties["conclusion"] == "kept, in part"
        assert properties["in_part"] == reason


def test_what_is_broken_is_broken_in_a_part_too(tmp_path: Path) -> None:
    run = green_run()
    run.case("shrinks", "FAIL")
    run.of_a_suite(3)
    assert json.loads(texts(run, tmp_path)["json"])["conclusion"] == "not conformant"


def test_what_lacked_the_means_was_not_kept(tmp_path: Path) -> None:
    run = green_run()
    run.case("greedy", "RESOURCE", reason="no memory")
    run.of_a_suite()
    told = texts(run, tmp_path)
    assert json.loads(told["json"])["conclusion"] == "could not tell"
    assert "1 not decided" in told["md"]


def test_an_interrupted_run_tells_nothing_of_the_whole(tmp_path: Path) -> None:
    run = green_run()
    run.records.pop()
    run.end("interrupted")
    told = texts(run, tmp_path)
    assert json.loads(told["json"])["conclusion"] == "could not tell"
    assert "The run was interrupted." in told["md"]


def test_what_was_not_asked_for_limits_is_said_at_the_top(tmp_path: Path) -> None:
    run = SyntheticRun()
    run.case("kept")
    for number in range(3):
        run.case(f"eps_{number}", "UNSUPPORTED", reason="max_eps = 1, where the case needs 2")
    run.case("segments", "UNSUPPORTED", reason="max_iov_segments_per_dto: fewer than it has")
    run.case("feature", "UNSUPPORTED", reason="srq_supported = 0")
    run.end()
    said = (
        "4 clauses not asked, because the IA declares max_eps = 1 (3), max_iov_segments_per_dto (1)"
    )
    told = texts(run, tmp_path)
    page = Page(tmp_path / run.folder / "report.html")
    assert said in page.text_of("top")
    assert said in told["md"].replace("\\", "")
    properties = [named(suite) for suite in JUnitXml.fromstring(told["junit"].encode())]
    assert all(said in each["conclusion.because"] for each in properties)


def test_pages_are_not_listed_if_it_is_all_of_them(tmp_path: Path) -> None:
    run = green_run()
    run.head["suite"].update(pages=["dat_srq_resize", "dat_srq_query"])
    run.head["clauses"][0].update(page="dat_srq_query")
    told = texts(run, tmp_path)["md"]
    assert "Clauses of all 2 pages." in told
    assert "`dat_srq_query`" not in told
