# SPDX-License-Identifier: BSD-2-Clause
"""Features of which dat_ia_query tells nothing: tried, or assumed; in the record and on screen."""

import pytest

from results.runlog.invariants import broken
from tests.runners.fake_checkout import Cts


def _terminal(output: str) -> list[str]:
    """What the terminal says of such features."""
    return [
        line.removeprefix("features: ")
        for line in output.splitlines()
        if line.startswith("features: ")
    ]


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        ("there", "Found out by trying, and judged as declared: srq_supported."),
        (
            "absent",
            "Found out by trying, and judged as not declared: srq_supported (dat_srq_create"
            " returned DAT_NOT_IMPLEMENTED).",
        ),
        (
            "unknown",
            "Not known, so that what needs it is BLOCKED: srq_supported (its trial ended in CRASH:"
            " ended by SIGSEGV).",
        ),
    ],
)
def test_what_a_trial_found_is_recorded_and_told(cts: Cts, trial: str, said: str) -> None:
    cts.has("passes")
    cts.env["FAKE_UNWRITTEN"] = trial
    done = cts("certify", "--hosts", "1")
    assert _terminal(done.stdout) == [
        "dat_ia_query leaves unwritten whether 1 feature is there.",
        said,
    ]
    assert "features of which dat_ia_query tells nothing: 1" in done.stdout
    (hosts,) = [record for record in cts.events() if record["type"] == "hosts"]
    assert hosts["ia"]["found"]["srq_supported"]["by"] == "trial"
    for name in ("report.md", "report.html", "customer.html", "junit.xml"):
        assert said in (cts.runs / "latest" / name).read_text().replace("\\", ""), name


@pytest.mark.parametrize("value", ["0", "1"])
def test_an_assumption_is_recorded_told_and_holds(cts: Cts, value: str) -> None:
    cts.has("passes")
    cts.env["FAKE_UNWRITTEN"] = "unknown"
    done = cts("certify", "--hosts", "1", "--assume", f"srq_supported={value}")
    assert f"Assumed by --assume, and judged so: srq_supported = {value}." in _terminal(done.stdout)
    head, *_ = cts.events()
    assert head["assumed"] == {"srq_supported": value == "1"}
    told = list(broken(cts.runs / "latest"))
    # The case that passes all the same is no honest one.
    assert all("declared absent" in text for text in told) if value == "0" else told == []


def test_a_query_without_an_answer_is_told(cts: Cts) -> None:
    cts.has("passes")
    cts.env["FAKE_UNASKED"] = "ended by SIGSEGV in dat_ia_query"
    done = cts("certify", "--hosts", "1")
    said, *_ = _terminal(done.stdout)
    assert said == (
        "dat_ia_query gave no answer, and cases that do without it do not call it: "
        "ended by SIGSEGV in dat_ia_query."
    )
    assert list(broken(cts.runs / "latest")) == []
    (hosts,) = [record for record in cts.events() if record["type"] == "hosts"]
    assert hosts["ia"]["unasked"] == cts.env["FAKE_UNASKED"]
    for name in ("report.md", "report.html", "customer.html", "junit.xml"):
        assert said in (cts.runs / "latest" / name).read_text().replace("\\", ""), name


def test_an_assumption_of_what_is_declared_is_without_effect(cts: Cts) -> None:
    cts.has("passes")
    done = cts("certify", "--hosts", "1", "--assume=srq_supported=0")
    assert done.returncode == 0
    assert _terminal(done.stdout) == [
        "Without effect, because dat_ia_query tells of it: --assume of srq_supported."
    ]
    assert list(broken(cts.runs / "latest")) == []


def test_a_replay_assumes_what_its_run_did(cts: Cts) -> None:
    cts.has("assumes")
    cts.env["FAKE_UNWRITTEN"] = "unknown"
    assert cts("certify", "--hosts", "1", "--assume", "srq_supported=1").returncode == 0
    assert cts("replay", "demo_page/assumes").returncode == 0
    assert cts("certify", "--hosts", "1").returncode == 1
    assert cts("replay", "demo_page/assumes").returncode == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["srq_suported=1"],
            "--assume: no attribute declares a feature 'srq_suported'; nearest: srq_supported",
        ),
        (["end_to_end_completion_supported=1"], "--assume: no attribute declares a feature"),
        (["srq_supported"], "--assume srq_supported: say srq_supported=1 if it is there, or"),
        (["srq_supported=yes"], "--assume srq_supported=yes: say srq_supported=1 if it is"),
        (
            ["srq_supported=1", "srq_supported=0"],
            "--assume: srq_supported cannot be there and be absent",
        ),
    ],
)
def test_what_is_no_assumption_is_refused(cts: Cts, words: list[str], said: str) -> None:
    cts.has("passes")
    done = cts("certify", *(word for each in words for word in ("--assume", each)))
    assert done.returncode == 64
    assert done.stderr.startswith(f"udapl-cts: {said}")
    assert done.stderr.count("\n") == 1
    assert not cts.runs.exists()
