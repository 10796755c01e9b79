# SPDX-License-Identifier: BSD-2-Clause
"""Features of which dat_ia_query tells nothing: every report says how each became known."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports.render import FORMATS, render
from tests.reports.synthetic_run import SyntheticRun

FOUND: dict[str, dict[str, Any]] = {
    "srq_supported": {"by": "trial", "how": "dat_srq_create worked", "present": True},
    "ep_recv_info_supported": {
        "by": "trial",
        "how": "dat_ep_recv_query returned DAT_MODEL_NOT_SUPPORTED",
        "present": False,
    },
    "thread_safe_supported": {"by": "trial", "how": "no call answers whether it is there"},
    "mem_type_lmr_supported": {"by": "assumption", "how": "--assume says so", "present": True},
}
NEEDS = {feature: said["present"] for feature, said in FOUND.items() if "present" in said}
SAID = (
    "dat_ia_query leaves unwritten whether 4 features are there.",
    "Found out by trying, and judged as declared: srq_supported.",
    "Found out by trying, and judged as not declared: ep_recv_info_supported (dat_ep_recv_query"
    " returned DAT_MODEL_NOT_SUPPORTED).",
    "Not known, so that what needs it is BLOCKED: thread_safe_supported (no call answers whether it"
    " is there).",
    "Assumed by --assume, and judged so: mem_type_lmr_supported = 1.",
    "Without effect, because dat_ia_query tells of it: --assume of suppress_flag_supported.",
)


def tried() -> SyntheticRun:
    """A run on an IA that leaves attributes unwritten."""
    run = SyntheticRun(modes=(1,))
    run.head["assumed"] = {"mem_type_lmr_supported": True, "suppress_flag_supported": False}
    run.fabric(1, needs=NEEDS, found=FOUND)
    run.case("there")
    said = "ep_recv_info_supported = 0: found out by trying"
    run.case("absent", "UNSUPPORTED", {"needs": ["ep_recv_info_supported"]}, reason=said)
    blocked = {"call": "dat_ia_query", "clause": "", "ret": "", "site": {}}
    run.case(
        "unknown",
        "BLOCKED",
        {"needs": ["thread_safe_supported"]},
        reason="dat_ia_query left is_thread_safe unwritten",
        blocked=blocked,
    )
    run.end()
    return run


@pytest.mark.parametrize("fmt", sorted({"md", "html", "customer", "junit"} & set(FORMATS)))
def test_a_report_says_how_each_became_known(tmp_path: Path, fmt: str) -> None:
    text = render(tried().write(tmp_path), fmt).read_text(encoding="utf-8").replace("\\", "")
    for said in SAID:
        assert said in text


def test_the_canonical_report_says_by_what(tmp_path: Path) -> None:
    report = json.loads(render(tried().write(tmp_path), "json").read_text())
    assert report["features"] == [
        {"by": "trial", "declared": "false", "name": "ep_recv_info_supported"},
        {"by": "assumption", "declared": "true", "name": "mem_type_lmr_supported"},
        {"by": "trial", "declared": "true", "name": "srq_supported"},
        {"by": "trial", "declared": "unknown", "name": "thread_safe_supported"},
    ]
    assert "features of which dat_ia_query tells nothing: 4" in report["in_part"]


def test_a_profile_says_how_its_feature_became_known(tmp_path: Path) -> None:
    text = render(tried().write(tmp_path), "md").read_text().replace("\\", "")
    for row in (
        "| srq_supported | success | 1 of 1 clauses checked and kept; found out by trying |",
        "| ep_recv_info_supported | not declared | ep_recv_info_supported = 0: found out by trying"
        " |",
        "| thread_safe_supported | not known | none of 1 clauses was checked; trying it did not"
        " tell whether it is there |",
    ):
        assert row in text


def test_a_run_whose_attributes_are_all_written_says_nothing(tmp_path: Path) -> None:
    run = SyntheticRun(modes=(1,))
    run.fabric(1)
    run.case("kept")
    run.end()
    text = render(run.write(tmp_path), "md").read_text()
    assert "tells nothing" not in text
