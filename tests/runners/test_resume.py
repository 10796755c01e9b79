# SPDX-License-Identifier: BSD-2-Clause
"""`certify --resume`: what is missing in a run is run, and the report is of the whole."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from results.runlog.frames import EVENTS, Writer
from tests.reports.synthetic_run import read_lines
from tests.runners.fake_checkout import PROVIDER, Cts, compile_library, wait_for

PASSES = tuple(f"passes_{number}" for number in range(8))


def killed(cts: Cts, *options: str, cases: Sequence[str] = PASSES) -> None:
    """A run that was killed in a case that hangs, but not a second time."""
    cts.has("hangs_once", *cases, deadline_ms=60_000)
    process = cts.start("certify", *options)
    try:
        wait_for(cts.hanging)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    "options",
    [
        ("--hosts", "1"),
        ("--hosts", "1", "-k", "hangs or passes_3 or passes_4", "--seed", "2"),
        ("--hosts", "1", "-n", "2"),
        ("--hosts", "1", "--patience", "2"),
        ("--hosts", "2", "--spread", "4"),
        ("--every-pair", "3"),
    ],
)
def test_a_killed_run_is_finished(cts: Cts, options: Sequence[str]) -> None:
    killed(cts, *options)
    before = cts.events()
    done = cts("certify", "--resume", "latest")
    assert done.returncode == 0, done
    after = cts.events()
    assert after[: len(before)] == before
    resumed, *_, end = after[len(before) :]
    assert resumed["what"] == "resumed"
    assert (end["status"], end["exit"]) == ("complete", 0)
    verdicts = [r for r in after if r["type"] == "verdict"]
    keys = Counter((r["case"], r["hosts"], r["host"], r.get("peer", "")) for r in verdicts)
    assert set(keys.values()) == {1}
    planned = {(entry["case"], entry["hosts"]) for entry in before[0]["plan"]}
    assert {(r["case"], r["hosts"]) for r in verdicts} == planned
    assert "kept, in part" in done.stdout
    report = json.loads((cts.runs / "latest/report.json").read_text())
    assert report["complete"] is True


def test_a_killed_run_is_reported_and_says_how_to_go_on(cts: Cts) -> None:
    killed(cts, "--hosts", "1")
    recorded = sum(case != "hangs_once" for case, *_ in cts.verdicts())
    said = cts("report", "latest", "--format", "json")
    assert said.returncode == 0, said
    missing = len(PASSES) + 1 - recorded
    assert "The run stopped without a last word (killed, or still going on)" in said.stderr
    assert f"{missing} of {len(PASSES) + 1} planned verdicts are missing" in said.stderr
    assert "./udapl-cts certify --resume latest runs what is missing" in said.stderr
    assert said.stderr.count("\n") == 1
    told = json.loads((cts.runs / "latest/report.json").read_text())
    words = Counter(m["verdict"] for c in told["clauses"] for e in c["cases"] for m in e["modes"])
    assert words == Counter({"PASS": recorded, "NOT-RUN": missing}) - Counter()
    assert cts("certify", "--resume", "latest").returncode == 0
    whole = cts("report", "latest")
    assert (whole.returncode, whole.stderr) == (0, "")


def test_a_failure_of_the_first_part_counts(cts: Cts) -> None:
    killed(cts, "--hosts", "1", "--seed", "1", cases=("fails", "notes"))
    done = cts("certify", "--resume", cts.events()[0]["run"])
    assert done.returncode == 1, done
    assert cts.verdicts()[-1] == ("fails", 1, 2, "FAIL")
    assert Counter(attempt for *_, attempt, _ in cts.verdicts()) == {1: 3, 2: 1}


def test_a_line_that_was_cut_off_is_run_again(cts: Cts) -> None:
    cts.has(*PASSES)
    cts("certify")
    folder = cts.runs / "latest"
    *kept, last, _end = read_lines(folder)
    whole = len(Writer().lines(kept))
    (folder / EVENTS).write_bytes(Writer().lines([*kept, last])[: whole + 40])
    done = cts("certify", "--resume", "latest")
    assert done.returncode == 0, done
    assert sorted(case for case, *_ in cts.verdicts()) == sorted(PASSES)


def test_a_folder_that_was_left_is_collected_where_no_case_is_missing(
    cts: Cts, tmp_path: Path
) -> None:
    cts.has(*PASSES)
    cts("certify")
    folder = cts.runs / "latest"
    *kept, _end = read_lines(folder)
    (folder / EVENTS).write_bytes(Writer().lines(kept))
    left = tmp_path / "temporary/udapl-cts-run-left"
    left.mkdir(parents=True)
    os.utime(left, (0, 0))
    cts.env["TMPDIR"] = str(left.parent)
    done = cts("certify", "--resume", "latest")
    assert done.returncode == 0, done
    assert "0 of 8 are missing" in done.stdout
    assert not left.exists()


def refused(cts: Cts, *words: str, options: Sequence[str] = ()) -> None:
    """The latest run cannot be resumed, for a reason with these words, and is left as it was."""
    path = cts.runs / "latest/events.jsonl.zst"
    before = path.read_bytes()
    done = cts("certify", "--resume", "latest", *options)
    assert done.returncode == 64, done
    assert done.stderr.startswith("udapl-cts: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr
    assert path.read_bytes() == before


def test_a_run_that_lacks_nothing(cts: Cts) -> None:
    cts("certify")
    refused(cts, "nothing is missing in run")


def test_a_provider_that_changed(cts: Cts) -> None:
    killed(cts, "--hosts", "1")
    compile_library(cts.provider, PROVIDER.replace("0", "1"))
    refused(cts, "the provider changed since run", "sha256", "certify anew")


def test_a_suite_that_changed(cts: Cts) -> None:
    killed(cts, "--hosts", "1")
    agent = cts.hanging.with_name("udapl-cases")
    original = agent.read_text()
    agent.write_text(original + "\n")
    refused(cts, "the suite changed since run", "binary")
    agent.write_text(original)
    page = cts.root / "cases/demo/demo_page.toml"
    text = page.read_text()
    page.write_text(text.replace("when it is asked to", "whenever it is asked to"))
    refused(cts, "the suite's clauses changed since run")
    page.write_text(text)
    cts.has("hangs_once")
    refused(cts, "the suite changed since run", "a case of it is gone")


def test_a_run_that_goes_on(cts: Cts) -> None:
    cts.has("hangs_until_told", deadline_ms=60_000)
    process = cts.start("certify", "--hosts", "1")
    try:
        wait_for(cts.hanging)
        refused(cts, "a run is going on in")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--seed", "3"), "--seed"),
        (("--fabric", "vm", "-q", "--spread"), "--fabric, --spread"),
        (("passes_1", "-n", "1"), "cases by name"),
    ],
)
def test_options_that_the_run_has_already(cts: Cts, options: Sequence[str], named: str) -> None:
    cts("certify")
    refused(cts, f"--resume does not take {named}: the run continues with", options=options)


def test_options_that_change_no_verdict(cts: Cts) -> None:
    killed(cts, "--hosts", "1")
    done = cts("certify", "-q", "--resume", "latest", "-n", "2")
    assert done.returncode == 0, done
    assert "are missing" not in done.stdout
    assert "kept, in part" in done.stdout


def test_a_run_that_is_not_there(cts: Cts) -> None:
    cts("certify")
    done = cts("certify", "--resume", "nonesuch")
    assert done.returncode == 64, done
    assert "no such run: nonesuch" in done.stderr
