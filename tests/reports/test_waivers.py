# SPDX-License-Identifier: BSD-2-Clause
"""Waivers in the reports: beside the verdict, never instead, and what makes one unused."""

import json
from pathlib import Path

import pytest

from reports.render import render
from results.analysis.waivers import judge
from results.model.load import load
from tests.reports.html_page import Page
from tests.reports.synthetic_run import SyntheticRun

ATTRIBUTES = {"provider_name": "vendor", "provider_version_major": 2, "provider_version_minor": 1}


def waiver(clause: str, **more: str) -> dict[str, str]:
    """A waiver of `clause` for the provider of these tests."""
    return {
        "clause": clause,
        "provider": "vendor",
        "versions": ">=2.0, <2.2",
        "reason": "mended in 2.2",
        "url": "https://vendor.example/bugs/7",
        "approver": "A. Lab",
        "expires": "2027-01-31",
    } | more


def run_with(*waivers: dict[str, str]) -> SyntheticRun:
    """A run with a clause that is broken, one that is kept and a broken family."""
    run = SyntheticRun(modes=(1,))
    run.head["waivers"] = list(waivers)
    run.fabric(1, attributes=ATTRIBUTES)
    run.case("broken", "FAIL", reason="refused")
    run.case("kept")
    run.case("absent", "UNSUPPORTED")
    run.case("family/one", "FAIL", reason="not refused")
    run.case("family/two")
    run.plan(run.clause("never"))
    run.end()
    return run


def test_a_waiver_stands_beside_the_verdict(tmp_path: Path) -> None:
    folder = run_with(waiver("srq_resize/broken")).write(tmp_path)
    page = Page(render(folder, "html"))
    assert page.cells("srq_resize/broken") == ["FAIL"]
    assert "Not conformant" in page.text_of("top")
    assert "2 findings, 1 waived: a waiver changes no verdict." in page.text_of("top")
    words = "Waived until 2027-01-31 by A. Lab for vendor >=2.0, <2.2: mended in 2.2 https://vendor"
    assert words in page.text_of("finding:srq_resize/broken")
    assert words in page.text_of("clause:srq_resize/broken")
    assert "Waived" not in page.text_of("finding:srq_resize/family/one")
    report = json.loads(render(folder, "json").read_text())
    assert report["conclusion"] == "not conformant"
    waived = [clause["id"] for clause in report["clauses"] if "waiver" in clause]
    assert waived == ["srq_resize/broken"]
    assert "waived until 2027-01-31: `mended in 2.2" in render(folder, "md").read_text()
    junit = render(folder, "junit").read_text()
    assert 'failures="2"' in junit
    assert "waived until 2027-01-31 by A. Lab, and still a finding" in junit


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (waiver("srq_resize/broken"), ""),
        (waiver("srq_resize/family"), ""),
        (waiver("srq_resize/never"), ""),
        (waiver("ep_modify/elsewhere"), ""),
        (waiver("srq_resize/kept"), "its clause was kept"),
        (waiver("srq_resize/absent"), "its clause did not apply"),
        (waiver("srq_resize/broken", provider="other"), "it is for the provider 'other', and"),
        (waiver("srq_resize/broken", versions="<2.1"), "it is for the versions <2.1, and this is"),
    ],
)
def test_what_makes_a_waiver_unused(tmp_path: Path, row: dict[str, str], why: str) -> None:
    (judged,) = judge(load(run_with(row).write(tmp_path)))
    assert judged.unused.startswith(why)
    assert bool(judged.unused) == bool(why)


def test_two_waivers_of_one_clause_are_one_too_many(tmp_path: Path) -> None:
    row = waiver("srq_resize/broken")
    first, second = judge(load(run_with(row, row).write(tmp_path)))
    assert [clause.id for clause in first.clauses] == ["srq_resize/broken"]
    assert second.unused == "another waiver has its clause"


def test_hosts_that_differ_are_told_at_the_top(tmp_path: Path) -> None:
    run = run_with()
    run.fabric(2, attributes=ATTRIBUTES)
    record = run.records[-1]
    record["facts"][1] |= {"kernel": "6.6.0", "provider": "ab" * 32}
    other = record["ia"] | {"attributes": ATTRIBUTES | {"provider_version_minor": 2}}
    record["other_ias"] = [other | {"build_id": "ffff"}]
    folder = run.write(tmp_path)
    top = Page(render(folder, "html")).text_of("top")
    assert "The hosts differ in kernel: 6.1.0-40-amd64 on host1; 6.6.0 on host2." in top
    assert "The IAs of the hosts differ in provider_version_minor: 1 on host1; 2 on host2." in top
    assert "host2 has another provider than the subject: its build id is ffff." in top
    assert f"host2 has another provider than the subject: its SHA-256 is {'ab' * 32}." in top
    assert "**To be known of these hosts:**" in render(folder, "md").read_text()
