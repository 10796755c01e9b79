# SPDX-License-Identifier: BSD-2-Clause
"""What a CI server gets: little output, and the findings as its annotations."""

import json
from pathlib import Path

from results.runlog.records import NOT_CONFORMANT
from tests.runners.fake_checkout import Cts

MANY = [f"passes_{number}" for number in range(40)]


def test_without_a_terminal_a_run_prints_findings_and_ten_lines_of_progress(cts: Cts) -> None:
    cts.has(*MANY, "fails")

    done = cts("certify", "--hosts", "1")

    verdicts = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert len([line for line in verdicts if "demo_page/fails" in line]) == 2
    assert not [line for line in verdicts if "passes" in line]
    assert 10 <= done.stdout.count(" of 41 verdicts, ") <= 11


def test_q_prints_findings_and_the_conclusion(cts: Cts) -> None:
    cts.has(*MANY, "fails")

    done = cts("certify", "--hosts", "1", "-q")

    assert done.returncode == NOT_CONFORMANT
    assert " of 41 verdicts" not in done.stdout
    assert done.stdout.startswith("FAIL in 1 clause: ")
    assert not [line for line in done.stdout.splitlines() if line.endswith(" ")]
    assert "not conformant: " in done.stdout


def test_github_gets_one_command_for_each_cause(cts: Cts) -> None:
    cts.has("passes", "fails")

    done = cts("certify", "--hosts", "1", "-q", "--annotate", "github")

    found = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert len(found) == 1
    assert found[0].startswith("::error title=demo_page/fails::FAIL in 1 clause: ")
    assert "%0Arequirement: " in found[0]


def test_gitlab_gets_a_code_quality_report(cts: Cts, tmp_path: Path) -> None:
    cts.has("passes", "fails")

    cts("certify", "--hosts", "1", "--annotate", "gitlab", "--out", tmp_path / "run")

    report = json.loads((tmp_path / "run/gl-code-quality-report.json").read_text())
    assert [each["check_name"] for each in report] == ["demo_page/fails"]
    assert set(report[0]) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert report[0]["location"]["lines"]["begin"] == 1
