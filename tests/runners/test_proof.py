# SPDX-License-Identifier: BSD-2-Clause
"""What `certify` records of pages and faults, and `report --pages`."""

import subprocess
from pathlib import Path

import pytest

from tests.runners.fake_checkout import Cts

FAULT = """\
[[fault]]
id = "demo_page/{id}"
clause = "demo_page/passes"
text = "Does what it must not."
on = "dat_srq_resize"
do = "answer"
returns = "DAT_SUCCESS"
"""


@pytest.fixture
def proven(cts: Cts) -> Cts:
    """A committed checkout with a fault, and a faults run that killed it."""
    (cts.root / "faults").mkdir()
    (cts.root / "faults/demo.toml").write_text(FAULT.format(id="fails"))
    for library in ("libdaplfault.so", "libdatfault.so"):
        (cts.root / "build/default/lib" / library).write_bytes(cts.provider.read_bytes())
    (cts.root / ".gitignore").write_text("*\n!faults\n!faults/*\n")
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a suite"],
    ):
        subprocess.run(["git", *command], cwd=cts.root, check=True)
    assert cts("faults").returncode == 0
    return cts


def test_a_run_records_faults_and_what_became_of_them(proven: Cts) -> None:
    assert proven("certify").returncode == 0
    head = proven.events()[0]
    assert [fault["text"] for fault in head["faults"]] == ["Does what it must not."]
    (proof,) = head["proofs"]
    assert proof["outcomes"] == {"killed": [["demo_page/fails", "demo_page/passes"]]}
    assert (proven.runs / "latest" / proof["page"]).is_file()
    assert head["clauses"][0]["case"] == "cases/demo/demo_page.c:1"
    assert head["pages"][0]["sections"] == [{"name": "DESCRIPTION", "count": 1}]


def test_a_faults_run_of_another_commit_proves_nothing(proven: Cts) -> None:
    (proven.root / "faults/more.toml").write_text("# another suite\n")
    for command in (
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "more"],
    ):
        subprocess.run(["git", *command], cwd=proven.root, check=True)
    assert proven("certify").returncode == 0
    assert proven.events()[0]["proofs"] == []


def test_words_of_the_pages_are_shown_to_who_has_them(cts: Cts, tmp_path: Path) -> None:
    cts("certify")
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "dat_demo_page.txt").write_text("DESCRIPTION\n     It does what it is asked to.\n")
    done = cts("report", "--pages", pages)
    assert done.returncode == 0, done
    assert Path(done.stdout.strip()).name == "report-with-pages.html"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--pages", "nowhere"], "nowhere/dat_demo_page.txt: no such page"),
        (["--pages", "nowhere", "--format", "md"], "--pages goes with --format html, not md"),
    ],
)
def test_pages_that_cannot_be_shown(cts: Cts, options: list[str], said: str) -> None:
    cts("certify")
    done = cts("report", *options)
    assert done.returncode == 64
    assert done.stderr == f"udapl-cts: {said}\n"
