# SPDX-License-Identifier: BSD-2-Clause
"""`certify` calls a provider conformant after a whole run of a committed suite, and only then."""

import json
from collections.abc import Sequence

import pytest

from tests.runners.fake_checkout import Cts

CASES = ("passes_1", "passes_2", "talks_to_peer", "disturbs_network")


@pytest.fixture
def committed(cts: Cts) -> Cts:
    """A committed checkout with cases of one page, of two that there are."""
    cts.has(*CASES)
    cts.has_variant("roomy")
    cts.is_committed()
    return cts


def concluded(cts: Cts, *options: str) -> tuple[str, list[str]]:
    """The conclusion of a run that ended with 0, which the terminal says too, and its reasons."""
    done = cts("certify", *options)
    assert done.returncode == 0, done
    report = json.loads((cts.runs / "latest/report.json").read_text())
    last = next(line for line in done.stdout.splitlines() if line.startswith(report["conclusion"]))
    assert all(reason in last for reason in report["in_part"])
    assert "clauses of 1 of the 2 pages" in done.stdout
    return report["conclusion"], report["in_part"]


@pytest.mark.parametrize("options", [(), ("--spread", "2"), ("--every-pair", "2"), ("demo",)])
def test_a_whole_run_is_conformant(committed: Cts, options: Sequence[str]) -> None:
    assert concluded(committed, *options) == ("conformant", [])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("demo_page/passes_1",), "a selection, 1 of 4 cases"),
        (("-k", "passes"), "a selection, 2 of 4 cases"),
        (("-m", "hosts1"), "a selection, 3 of 4 cases"),
        (("--hosts", "2"), "none of 3 cases on 1 host"),
        (("--every-pair", "2", "-k", "talks"), "a selection, 1 of 4 cases"),
        (("--patience", "2"), "2 times the usual patience"),
        (("--variant", "roomy"), "the variant roomy of the provider"),
    ],
)
def test_less_is_kept_in_part(committed: Cts, options: Sequence[str], reason: str) -> None:
    assert concluded(committed, *options) == ("kept, in part", [reason])


def test_one_host_alone_is_one_mode(committed: Cts) -> None:
    committed.has("passes", "talks_to_peer")
    committed.is_committed()
    assert concluded(committed, "--hosts", "1") == (
        "kept, in part",
        ["none of 1 cases on 2 hosts"],
    )


@pytest.mark.parametrize("name", ["demo/demo_page.toml", "demo/new.toml~"])
def test_a_changed_suite_is_not_the_suite(committed: Cts, name: str) -> None:
    """A file that git does not know is a change too: cases are built by being there."""
    with (committed.root / "cases" / name).open("a") as file:
        file.write("# mine\n")
    assert concluded(committed) == ("kept, in part", ["a suite with local changes"])


def test_a_suite_of_no_repository(cts: Cts) -> None:
    assert concluded(cts) == ("kept, in part", ["a suite of no known commit"])
