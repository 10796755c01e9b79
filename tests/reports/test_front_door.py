# SPDX-License-Identifier: BSD-2-Clause
"""render: what it makes, and what it refuses in which words."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from reports.render import FORMATS, render
from results.errors import ReportError
from results.runlog.chain import START, linked
from results.runlog.frames import EVENTS, Writer
from tests.reports.html_page import Page
from tests.reports.synthetic_run import (
    SyntheticRun,
    green_run,
    read_lines,
    red_run,
    write_lines,
)

SCHEMA = Path(__file__).parents[2] / "docs" / "results.schema.json"
NAMES = {
    "html": "report.html",
    "customer": "customer.html",
    "junit": "junit.xml",
    "json": "report.json",
    "md": "report.md",
}


@pytest.fixture(autouse=True, params=[1 << 60, 0], ids=["one_process", "two_processors"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large runs are read by all processors."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("results.model.load._LARGE", request.param)
    if not request.param:
        # Synthetic runs are of the oldest format, which one process reads.
        monkeypatch.setattr("results.runlog.events._RENAMED", 2)


@pytest.mark.parametrize("make", [green_run, red_run])
def test_synthetic_runs_are_what_the_schema_says(make: type[SyntheticRun]) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    last = START
    for record in make().lines():
        line = linked(json.dumps(record).encode(), last)
        validator.validate(json.loads(line))
        last = last.to(line)


@pytest.mark.parametrize("fmt", FORMATS)
def test_each_format_is_made_in_the_run_folder(tmp_path: Path, fmt: str) -> None:
    folder = red_run().write(tmp_path)
    before = (folder / "events.jsonl.zst").read_bytes()

    path = render(folder, fmt)

    assert path == folder / NAMES[fmt]
    assert path.stat().st_size > 0
    assert sorted(p.name for p in folder.iterdir()) == sorted(["events.jsonl.zst", NAMES[fmt]])
    assert (folder / "events.jsonl.zst").read_bytes() == before


@pytest.mark.parametrize("fmt", FORMATS)
def test_a_report_can_be_made_again(tmp_path: Path, fmt: str) -> None:
    folder = red_run().write(tmp_path)
    first = render(folder, fmt).read_bytes()
    assert render(folder, fmt).read_bytes() == first


def test_the_package_stands_alone() -> None:
    code = "import sys, reports; sys.exit(any(name.startswith('runners') for name in sys.modules))"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"no such report format: pdf.*html.*json"):
        render(green_run().write(tmp_path), "pdf")


@pytest.mark.parametrize("name", ["never-ran", "a-file/below"])
def test_no_such_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "a-file").write_text("")
    with pytest.raises(ReportError, match=rf"no such run: .*{name}"):
        render(tmp_path / name, "html")


def test_newer_format_names_both_versions(tmp_path: Path) -> None:
    run = green_run()
    run.head["format"] = 7
    run.records.insert(0, {"type": "something-new"})
    with pytest.raises(ReportError, match=r"format 7.*up to 6"):
        render(run.write(tmp_path), "html")


def damage(folder: Path, line: int, text: bytes) -> None:
    """Replaces line number `line` of the run's events by `text`; an object follows the chain."""
    lines = read_lines(folder)
    last = START
    for each in lines[: line - 1]:
        last = last.to(each)
    is_object = text.startswith(b"{") and text.endswith(b"}\n")
    lines[line - 1] = linked(text[:-1], last) if is_object else text
    write_lines(folder, lines)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{not json\n", "not JSON"),
        (b"\n", "not JSON"),
        (b"[1, 2]\n", "no JSON object"),
        (b"[" * 100_000 + b"\n", "not JSON"),
        (b'{"type": "verdict", "ms": NaN}\n', "NaN"),
        (b'{"type": "rumour"}\n', "no record type 'rumour'"),
        (b'{"type": "run", "format": 2, "run": "x"}\n', "only there"),
        (b'{"type": "verdict", "hosts": 1, "verdict": "PASS"}\n', "'case' is missing"),
        (b'{"type": "verdict", "case": 7, "hosts": 1, "verdict": "PASS"}\n', "'case' is not a str"),
        (b'{"type": "verdict", "case": "a/b", "hosts": 1, "verdict": "GOOD"}\n', "verdict 'GOOD'"),
        (
            b'{"type": "verdict", "case": "a/b", "hosts": 1, "verdict": "PASS", "calls": [3]}\n',
            "'calls' holds something",
        ),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, text: bytes, why: str) -> None:
    folder = green_run().write(tmp_path)
    damage(folder, 4, text)
    with pytest.raises(ReportError, match=rf"line 4: .*{why}"):
        render(folder, "json")


def test_the_first_line_must_be_the_run(tmp_path: Path) -> None:
    folder = green_run().write(tmp_path)
    damage(folder, 1, b"")
    with pytest.raises(ReportError, match=r"line 1: .*record 1 is not there"):
        render(folder, "json")


BEGUN = Writer().lines([b'{"type": "run", "format": 2}\n'])


@pytest.mark.parametrize("text", [b"", BEGUN[:2], BEGUN[:5], BEGUN[:-5]])
def test_a_run_that_ended_before_its_first_record(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "events.jsonl.zst").write_bytes(text)
    with pytest.raises(ReportError, match="ended before its first"):
        render(tmp_path, "html")


@pytest.mark.parametrize("tail", [b"", b"\0" * 4096])
def test_a_last_line_that_was_cut_off_is_left_out(tmp_path: Path, tail: bytes) -> None:
    run = SyntheticRun(modes=(1,))
    run.case("grow")
    run.case("shrink")
    folder = run.write(tmp_path)
    *kept, _ = lines = read_lines(folder)
    size = len(Writer().lines(kept))
    (folder / EVENTS).write_bytes(Writer().lines(lines)[: size + 30] + tail)

    page = Page(render(folder, "html"))

    assert page.cells("srq_resize/grow") == ["PASS"]
    assert page.cells("srq_resize/shrink") == ["NOT-RUN"]
    assert "its last record was cut off" in page.text_of("top")


def test_a_run_that_nobody_ended_is_whole_to_its_last_record(tmp_path: Path) -> None:
    folder = green_run().write(tmp_path)
    path = folder / EVENTS
    path.write_bytes(Writer().lines(read_lines(folder)))
    assert json.loads(render(folder, "json").read_text())["complete"] is True


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    folder = green_run().write(tmp_path)
    (folder / "report.html").mkdir()
    with pytest.raises(ReportError, match=r"cannot write .*report\.html: Is a directory"):
        render(folder, "html")
    assert sorted(p.name for p in folder.iterdir()) == ["events.jsonl.zst", "report.html"]


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    folder = green_run().write(tmp_path)
    code = (
        "import pathlib, resource, sys\n"
        "from reports.render import render\n"
        "from results.errors import ReportError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try: render(pathlib.Path(sys.argv[1]), 'md')\n"
        "except ReportError as error: print(error)\n"
    )
    command = [sys.executable, "-B", "-c", code, str(folder)]
    root = Path(__file__).parents[2]
    said = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    assert said.startswith(f"cannot write {folder}/report.md: File too large")
    assert [p.name for p in folder.iterdir()] == ["events.jsonl.zst"]


def test_a_failed_report_leaves_the_last_one(tmp_path: Path) -> None:
    folder = green_run().write(tmp_path)
    path = render(folder, "md")
    before = path.read_text()
    damage(folder, 4, b"{\n")
    with pytest.raises(ReportError):
        render(folder, "md")
    assert path.read_text() == before
