# SPDX-License-Identifier: BSD-2-Clause
"""pytest's options: -k, -m, -x, --lf, alone and with workers."""

import shutil

import pytest

from tests.runners.fake_checkout import Cts

WORKERS = pytest.mark.parametrize("workers", ["1", "2"])


def ran(cts: Cts) -> set[tuple[str, int]]:
    """The cases that have a verdict in the latest run, and their modes."""
    return {(case, hosts) for case, hosts, _, _ in cts.verdicts()}


@WORKERS
@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["-k", "passes"], {("passes_1", 1), ("passes_2", 1)}),
        (["-k", "passes and not 2"], {("passes_1", 1)}),
        (["-k", "demo_page/notes"], {("notes", 1)}),
        (["-m", "may"], {("notes", 1)}),
        (["-m", "must and local"], {("passes_1", 1), ("passes_2", 1)}),
        (["-m", "pair"], {("talks_to_peer", 1), ("talks_to_peer", 2)}),
        (["-m", "hosts2"], {("talks_to_peer", 2)}),
        (["-m", "dat_demo_page and demo_page and demo", "-k", "notes"], {("notes", 1)}),
    ],
)
def test_expressions(
    cts: Cts, options: list[str], chosen: set[tuple[str, int]], workers: str
) -> None:
    cts.has("passes_1", "passes_2", "notes", "talks_to_peer", may=["notes"])
    done = cts("certify", *options, "-n", workers)
    assert done.returncode == 0, done
    assert ran(cts) == chosen
    assert {(entry["case"].split("/")[1], entry["hosts"]) for entry in cts.events()[0]["plan"]} == (
        chosen
    )


def test_a_case_that_disturbs_the_network_runs_on_two_hosts_only(cts: Cts) -> None:
    cts.has("passes", "disturbs_network")
    done = cts("certify")
    assert done.returncode == 0, done
    assert ran(cts) == {("passes", 1), ("disturbs_network", 2)}


@pytest.mark.parametrize("name", ["json", "udapl", "cts", "tmp"])
def test_where_the_plan_lies_is_no_keyword(cts: Cts, name: str) -> None:
    assert cts("certify", "-k", name).returncode == 64


def test_stop_at_the_first_failure(cts: Cts) -> None:
    cts.has(*(f"fails_{number}" for number in range(5)))
    done = cts("certify", "-x", "--hosts", "1")
    assert done.returncode == 1
    assert [attempt for _, _, attempt, _ in cts.verdicts()] == [1, 2]
    assert "NOT-RUN: 4 with 1 host" in done.stdout
    assert cts.events()[-1]["status"] == "complete"


@WORKERS
def test_last_failed(cts: Cts, workers: str) -> None:
    cts.has("passes", "fails", "fails_on_two", "breaks")
    assert cts("certify", "-n", workers).returncode == 1
    assert len(ran(cts)) == 5
    assert cts("certify", "--lf", "-n", workers).returncode == 1
    assert ran(cts) == {("fails", 1), ("fails_on_two", 2), ("breaks", 1)}
    cts.has("passes", "passes_2")
    assert cts("certify", "--lf").returncode == 0
    assert ran(cts) == {("passes", 1), ("passes_2", 1)}


def test_last_failed_is_of_the_provider(cts: Cts) -> None:
    other = cts.root / "libother.so"
    shutil.copy(cts.provider, other)
    cts.has("passes", "fails", "fails_on_two")
    assert cts("certify", "-k", "fails and not two").returncode == 1
    assert cts("certify", "--provider", other, "-k", "two").returncode == 1
    assert cts("certify", "--lf").returncode == 1
    assert ran(cts) == {("fails", 1)}
    other.write_bytes(other.read_bytes() + b"mended")
    assert cts("certify", "--provider", cts.root / "." / "libother.so", "--lf").returncode == 1
    assert ran(cts) == {("fails_on_two", 2)}


def test_settings_of_another_project_do_not_matter(cts: Cts) -> None:
    (cts.root / "pytest.ini").write_text("[pytest]\naddopts = --nosuch\n")
    cts.env["PYTEST_ADDOPTS"] = "--nosuch"
    assert cts("certify").returncode == 0
