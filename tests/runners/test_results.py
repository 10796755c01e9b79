# SPDX-License-Identifier: BSD-2-Clause
"""The results store, where the command line cannot easily get to."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import jsonschema
import pytest

from results.errors import InputError, RunnerError
from results.runlog import records
from results.runlog.chain import START, broken
from results.runlog.records import EventLog, ResultsFull
from runners import runs
from tests.reports.synthetic_run import read_lines
from tests.runners.fake_checkout import REPOSITORY, SCHEMA


def test_records_are_on_the_disk_when_append_returns(tmp_path: Path) -> None:
    with EventLog.create(tmp_path / "run") as log:
        for number in range(3):
            log.append({"type": "incident", "text": f"{number} \n \u2028 ü"})
            lines = read_lines(tmp_path / "run")
            assert len(lines) == number + 1
            assert json.loads(lines[number])["text"] == f"{number} \n \u2028 ü"


def test_nothing_follows_the_end_of_a_run(tmp_path: Path) -> None:
    with EventLog.create(tmp_path / "run") as log:
        log.append({"type": "end", "status": "interrupted"})
        log.append({"type": "incident", "text": "of a thread that learns late"})
    assert [json.loads(line)["type"] for line in read_lines(tmp_path / "run")] == ["end"]


def test_text_that_is_no_unicode_is_kept(tmp_path: Path) -> None:
    with EventLog.create(tmp_path) as log:
        log.append({"output": b"\xff".decode(errors="surrogateescape")})
    assert b"udcff" in read_lines(tmp_path)[0]


def test_a_record_that_does_not_fit_leaves_no_trace(tmp_path: Path) -> None:
    program = (
        "import resource\n"
        "from pathlib import Path\n"
        "from results.runlog.records import EventLog, ResultsFull\n"
        f"log = EventLog.create(Path({str(tmp_path)!r}))\n"
        "log.append({'a': 1})\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150, 1000))\n"
        "try:\n"
        "    log.append({'b': ''.join(map(chr, range(32, 400)))})\n"
        "except ResultsFull as error:\n"
        "    print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "log.append({'c': 2})\n"
    )
    env = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"no space for results in {tmp_path}")
    lines = read_lines(tmp_path)
    first, second = (json.loads(line) for line in lines)
    assert (first["a"], second["c"]) == (1, 2)
    assert broken(second, START.to(lines[0])) == ""


def test_a_full_device() -> None:
    log = EventLog(Path("/dev"), os.open("/dev/full", os.O_WRONLY))
    with pytest.raises((ResultsFull, RunnerError), match="No space left"):
        log.append({})


def test_only_one_process_creates_a_run(tmp_path: Path) -> None:
    with EventLog.create(tmp_path / "run"):
        with pytest.raises(InputError, match="a run is going on in"):
            EventLog.create(tmp_path / "run")
    with pytest.raises(InputError, match="there is a run already in"):
        EventLog.create(tmp_path / "run")


def test_runs_that_begin_at_once_have_ids_of_their_own(tmp_path: Path) -> None:
    with ExitStack() as begun_runs, ThreadPoolExecutor(8) as threads:
        begun = [
            threads.submit(begun_runs.enter_context, runs.new_run(tmp_path, 7)) for _ in range(40)
        ]
        assert len({one.result() for one in begun}) == 40


def test_a_run_that_wrote_nothing_leaves_no_folder(tmp_path: Path) -> None:
    results = tmp_path / "results"
    with runs.new_run(results, 7) as name:
        assert (results / name).is_dir()
    assert not results.exists()
    with runs.new_run(results, 7) as name, EventLog.create(results / name):
        pass
    assert [folder.name for folder in results.iterdir()] == [name]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["PASS", "NOTE"], 0),
        (["PASS", "UNSUPPORTED"], 0),
        (["PASS", "RESOURCE"], 2),
        (["PASS", "ERROR"], 2),
        (["PASS", "NOT-RUN"], 2),
        (["FAIL", "NOT-RUN"], 1),
        (["CRASH", "ERROR"], 1),
        (["TIMEOUT"], 1),
        (["FAIL", "RESOURCE"], 1),
        (["UNSUPPORTED"], 2),
        ([], 2),
    ],
)
def test_exit_code(words: list[str], code: int) -> None:
    assert records.exit_code(words) == code


def test_the_examples_of_the_contract_are_valid() -> None:
    text = (REPOSITORY / "docs/results.md").read_text()
    examples = text.split("```json\n")[1].split("```")[0].splitlines()
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for example in examples:
        validator.validate(json.loads(example))
    assert {json.loads(example)["type"] for example in examples} == {
        "run",
        "hosts",
        "verdict",
        "incident",
        "end",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "OK"},
        {"attempt": 3},
        {"extra": 1},
        {"ms": "1"},
        {"case": "Not A Case"},
        {"checks": [{"kind": "check"}]},
        {"started": "yesterday"},
    ],
)
def test_the_schema_refuses(change: dict[str, object]) -> None:
    text = (REPOSITORY / "docs/results.md").read_text()
    example = next(line for line in text.splitlines() if line.startswith('{"type": "verdict"'))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(example) | change)
