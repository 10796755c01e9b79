# SPDX-License-Identifier: BSD-2-Clause
"""`faults --draw`: what a change touches, and a share of the rest that is the same each time."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from runners import selftest
from runners.checkout import Checkout
from runners.selftest import DRAWN_MUTANTS, Step
from tests.reports.html_page import Page, words
from tests.runners.fake_checkout import Cts

FAULT = """\
[[fault]]
id = "{page}/fails_{number}"
clause = "{page}/passes"
text = "Does what it must not."
on = "dat_srq_resize"
do = "answer"
returns = "DAT_SUCCESS"
"""
HOSTILE = """\
[[fault]]
id = "hostile/fails"
text = "Does what it must not."
on = "any call"
do = "run"
function = "crash"
case = "demo_page/passes"
verdicts = ["FAIL"]
"""
PAGES = ("demo_page", "demo_page_2", "demo_page_3")
EACH = 20


class Repository:
    """A checkout with three pages of twenty faults each, and its history."""

    def __init__(self, cts: Cts) -> None:
        self.cts = cts
        cts.has("passes", pages=3)
        (cts.root / "faults/demo").mkdir(parents=True)
        for page in PAGES:
            rows = (FAULT.format(page=page, number=number) for number in range(EACH))
            (cts.root / f"faults/demo/{page}.toml").write_text("".join(rows))
        (cts.root / "faults/hostile.toml").write_text(HOSTILE)
        for name in ("libdaplfault.so", "libdatfault.so"):
            shutil.copy(cts.provider, cts.provider.with_name(name))
        (cts.root / ".gitignore").write_text("/*\n!/cases\n!/faults\n!/notes\n")
        self.git("init", "-q")
        self.commit()

    def git(self, *words: str) -> str:
        """What git says."""
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        done = subprocess.run(
            ["git", *who, *words], cwd=self.cts.root, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def change(self, path: str) -> None:
        """Change a file."""
        with (self.cts.root / path).open("a") as file:
            file.write("# changed\n")

    def commit(self) -> None:
        """Commit all changes."""
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")

    def draw(self, count: int = 12) -> dict[str, int]:
        """How many faults of each page are drawn."""
        done = self.cts("faults", "--list", "--draw", str(count))
        assert done.returncode == 0, done
        pages = [line.split("/")[0] for line in done.stdout.splitlines()]
        return {page: pages.count(page) for page in (*PAGES, "hostile")}


@pytest.fixture
def repository(cts: Cts) -> Repository:
    return Repository(cts)


def test_nothing_is_known_of_a_first_commit(repository: Repository) -> None:
    drawn = repository.draw()
    assert drawn.pop("hostile") == 1
    assert sum(drawn.values()) == 12
    assert repository.draw() == {**drawn, "hostile": 1}


@pytest.mark.parametrize("path", ["cases/demo/demo_page_2.toml", "faults/demo/demo_page_2.toml"])
def test_a_page_that_changed_is_met_whole(repository: Repository, path: str) -> None:
    repository.commit()
    repository.change(path)
    assert repository.draw(30)["demo_page_2"] == EACH
    repository.commit()
    drawn = repository.draw(30)
    assert (drawn["demo_page_2"], drawn["hostile"]) == (EACH, 1)
    assert drawn["demo_page"] + drawn["demo_page_3"] == 10


def test_of_very_many_pages_a_share_is_met(repository: Repository) -> None:
    """What the change names is among it."""
    for page in PAGES[:2]:
        repository.change(f"cases/demo/{page}.toml")
    rows = repository.cts.root / "faults/demo/demo_page_2.toml"
    rows.write_text(rows.read_text() + FAULT.format(page="demo_page_2", number="anew"))
    repository.commit()
    drawn = repository.cts("faults", "--list", "--draw", "10")
    assert "demo_page_2/fails_anew" in drawn.stdout
    pages = [line.split("/")[0] for line in drawn.stdout.splitlines()]
    assert [pages.count(page) for page in PAGES] == [9, 21, 1]
    said = repository.cts("faults", "--draw", "10").stdout
    assert "are 30 of 41 of the 2 pages that changed since" in said


def test_one_in_twenty_of_the_others_is_met_at_least(repository: Repository) -> None:
    repository.change("cases/demo/demo_page.toml")
    repository.commit()
    drawn = repository.draw(7)
    assert drawn["demo_page"] == EACH
    assert drawn["demo_page_2"] + drawn["demo_page_3"] == 2


def test_a_file_in_the_folder_of_a_page_is_of_that_page(repository: Repository) -> None:
    folder = repository.cts.root / "cases/demo/demo_page_2"
    folder.mkdir()
    (folder / "return_values.c").touch()
    repository.commit()
    drawn = repository.draw(30)
    assert drawn["demo_page_2"] == EACH
    assert drawn["demo_page"] + drawn["demo_page_3"] == 10


def test_a_shared_file_of_an_object_is_of_all_its_pages(repository: Repository) -> None:
    shared = repository.cts.root / "cases/demo/shared"
    shared.mkdir()
    (shared / "queue.h").touch()
    repository.commit()
    assert repository.draw(20) == {**dict.fromkeys(PAGES, EACH), "hostile": 1}


def test_a_file_that_all_share_is_of_no_page(repository: Repository) -> None:
    repository.change("faults/hostile.toml")
    repository.commit()
    drawn = repository.draw()
    assert sum(drawn.values()) == 13


def test_since_what_was_landed(repository: Repository) -> None:
    landed = repository.git("rev-parse", "HEAD")
    for page in PAGES[:2]:
        repository.change(f"cases/demo/{page}.toml")
        repository.commit()
    assert repository.draw(14)["demo_page"] < EACH
    repository.cts.env["UDAPL_CTS_BASE"] = landed
    drawn = repository.draw(14)
    assert (drawn["demo_page"], drawn["demo_page_2"]) == (EACH, EACH)


def test_another_commit_draws_others(repository: Repository) -> None:
    seen = set()
    for _ in range(4):
        repository.commit()
        seen.add(repository.cts("faults", "--list", "--draw", "12").stdout)
    assert len(seen) > 1


def test_a_share_is_called_one_wherever_it_is_told(repository: Repository) -> None:
    done = repository.cts("faults", "--draw", "12")
    assert done.returncode == 0, done
    seed = int(repository.git("rev-parse", "--short=12", "HEAD"), 16)
    said = f"drawn by seed {seed}: 13 of 61 faults"
    assert said in done.stdout
    (folder,) = repository.cts.runs.glob("faults-*")
    head = json.loads((folder / "faults.jsonl").read_text().splitlines()[0])
    assert (head["drawn"]["seed"], head["drawn"]["faults"], head["drawn"]["of"]) == (seed, 13, 61)
    assert "A drawn share, not all" in (folder / "faults.html").read_text()

    assert repository.cts("certify").returncode == 0
    (proof,) = repository.cts.events()[0]["proofs"]
    assert said in proof["drawn"]
    assert len(proof["outcomes"]["killed"]) == 12
    page = Page(repository.cts.runs / "latest/report.html")
    assert f"a drawn share, not all: {said}" in page.markup
    assert any("not drawn" in words(page.evidence(clause)) for clause in page.clauses())


def test_what_cannot_be_drawn(cts: Cts) -> None:
    for count in ("0", "-1", "some"):
        assert cts("faults", "--draw", count).returncode == 64


@pytest.mark.parametrize("everything", [False, True])
def test_selftest_draws_unless_it_is_to_run_all(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    everything: bool,
) -> None:
    said: dict[str, Any] = {"tells": "drawn by"}
    step = Step("faults", "some", ["echo drawn by chance:", "echo drawn by {drawn}"], **said)
    monkeypatch.setattr(selftest, "STEPS", [step])
    code = selftest.selftest(Checkout(tmp_path), "", None, listing=False, everything=everything)
    assert code == 0
    out = capsys.readouterr().out
    assert "        drawn by chance:\n" in out
    assert (f"drawn by --draw {DRAWN_MUTANTS}{os.linesep}" in out) is not everything
