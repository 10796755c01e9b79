# SPDX-License-Identifier: BSD-2-Clause
"""Evidence on the disk: it comes back as it was, whatever the disk says, and nothing is left."""

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from reports.render import FORMATS, NAMES, render
from results.model.attempt import Attempt
from results.model.evidence import Evidence
from results.model.load import attempt_of, light, load
from results.model.run import Run
from tests.reports.synthetic_run import read_lines, red_run
from tests.reports.test_html import deadlocked


def attempts_of(run: Run) -> list[Attempt]:
    """All of them."""
    return [attempt for case in run.cases for attempt in case.ordered]


def test_evidence_comes_back_as_it_was(tmp_path: Path) -> None:
    for made in (red_run(), deadlocked()):
        folder = made.write(tmp_path)
        records = [json.loads(line) for line in read_lines(folder)]
        due = [attempt_of(each) for each in records if each["type"] == "verdict"]
        found = attempts_of(load(folder))
        for one in due:
            (same,) = [
                a for a in found if (a.case, a.hosts, a.number) == (one.case, one.hosts, one.number)
            ]
            assert same.evidence() == one.evidence()
            assert (same.culprit, same.troubled, same.hung) == (one.culprit, one.troubled, one.hung)
        assert any(one.stacks for one in due) or any(one.crash for one in due)


def test_two_processors_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    for each in (red_run(), deadlocked()):
        folder = each.write(tmp_path)
        own = attempts_of(load(folder))
        with monkeypatch.context() as large:
            large.setattr("results.model.load._LARGE", 0)
            large.setattr("results.model.load.read", None)
            # Synthetic runs are of the oldest format, which one process reads.
            large.setattr("results.runlog.events._RENAMED", 2)
            others = attempts_of(load(folder))
        assert [replace(a, evidence=Evidence) for a in own] == [
            replace(a, evidence=Evidence) for a in others
        ]
        assert [a.evidence() for a in own] == [a.evidence() for a in others]


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    folder = red_run().write(tmp_path)
    before = set(folder.iterdir())
    run = load(folder)
    assert attempts_of(run)[0].calls
    assert set(folder.iterdir()) == before


def test_who_only_counts_keeps_no_evidence(tmp_path: Path) -> None:
    folder = red_run().write(tmp_path)
    run = light(folder)
    assert run.conclusion == load(folder).conclusion
    assert not any(attempt.calls or attempt.output for attempt in attempts_of(run))


def test_a_full_disk_and_one_that_takes_nothing_change_no_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(folder: Path) -> list[bytes]:
        run = load(folder)
        for fmt in FORMATS:
            render(folder, fmt, run)
        return [(folder / name).read_bytes() for name in NAMES]

    folder = red_run().write(tmp_path)
    due = made(folder)

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def nowhere(**_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as now:
        now.setattr(os, "pwrite", full)
        assert made(folder) == due
    with monkeypatch.context() as now:
        now.setattr("tempfile.TemporaryFile", nowhere)
        assert made(folder) == due
