# SPDX-License-Identifier: BSD-2-Clause
"""Runs that are stopped, or killed: what was done is kept, and is a report."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runners.fake_checkout import REPOSITORY, Cts, wait_for, wait_until

CASES = ("passes_1", "passes_2", "hangs_until_told")


@pytest.fixture
def running(cts: Cts) -> Iterator[subprocess.Popen[str]]:
    """A run that passed two cases and hangs in the third, until it is ended."""
    cts.has(*CASES, deadline_ms=60_000)
    process = cts.start("certify", "--hosts", "1", "--seed", last_seed())
    wait_for(cts.hanging)
    yield process
    process.kill()
    process.communicate()


def last_seed() -> str:
    """A seed that puts the hanging case last."""
    return "2"


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and outputs."""
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in out + err, err
    return process.returncode, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_in_good_order(
    cts: Cts, running: subprocess.Popen[str], number: signal.Signals
) -> None:
    running.send_signal(number)
    code, out, err = ended(running)
    assert code == 2
    assert "2 PASS, 1 NOT-RUN" in out
    assert err == f"udapl-cts: {number.name} ended the run\n"
    assert "report.html" in out
    *_, incident, end = cts.events()
    assert (incident["what"], end["status"], end["exit"]) == ("interrupted", "interrupted", 2)
    assert [word for _, _, _, word in cts.verdicts()] == ["PASS", "PASS"]
    assert (cts.runs / "latest/junit.xml").is_file()


def test_a_terminal_interrupts_the_whole_group(cts: Cts) -> None:
    cts.has("hangs_until_told", *(f"passes_{number}" for number in range(4)), deadline_ms=60_000)
    process = cts.start("certify", "--hosts", "1", "-n", "2")
    try:
        wait_for(cts.hanging)
        wait_until(lambda: len(cts.openings) == 2, "the other worker has not begun")
        killpg(process, signal.SIGINT)
        code, out, err = ended(process)
    finally:
        process.kill()
    assert code == 2
    assert err == "udapl-cts: SIGINT ended the run\n"
    assert "NOT-RUN" in out
    assert cts.events()[-1]["status"] == "interrupted"


def test_a_second_interrupt_ends_at_once(cts: Cts) -> None:
    cts.has("passes_1", deadline_ms=60_000)
    cts.env["FAKE_FABRIC_HANGS_ON_EXIT"] = "1"
    process = cts.start("certify", "--hosts", "1")
    try:
        wait_for(cts.root / "exiting")
        process.send_signal(signal.SIGINT)
        wait_for(cts.root / "exiting-still")
        process.send_signal(signal.SIGINT)
        code, _, _ = ended(process)
    finally:
        process.kill()
    assert code == 2
    assert cts.verdicts() == [("passes_1", 1, 1, "PASS")]
    assert cts.events()[-1]["status"] == "complete"


def test_a_killed_run_is_a_report(cts: Cts, running: subprocess.Popen[str]) -> None:
    running.kill()
    running.communicate()
    assert [record["type"] for record in cts.events()] == ["run", "hosts", "verdict", "verdict"]
    done = cts("report", "--format", "md")
    assert done.returncode == 0, done
    assert "Partial run" in (cts.runs / "latest/report.md").read_text()
    for fmt in ("html", "junit", "json"):
        assert cts("report", "--format", fmt).returncode == 0


def test_a_line_cut_off_is_a_report(cts: Cts) -> None:
    cts.has("passes_1", "passes_2")
    cts("certify")
    path = cts.runs / "latest/events.jsonl.zst"
    path.write_bytes(path.read_bytes()[:-200])
    done = cts("report")
    assert done.returncode == 0, done


def test_interrupted_before_anything_ran(cts: Cts) -> None:
    cts.env["FAKE_FABRIC_HANGS_ON_ENTRY"] = "1"
    process = cts.start("certify", "--hosts", "1")
    try:
        wait_for(cts.root / "entering")
        wait_for(cts.runs / "latest")
        process.send_signal(signal.SIGINT)
        code, out, _ = ended(process)
    finally:
        process.kill()
    assert code == 2
    assert "1 NOT-RUN" in out


@pytest.mark.parametrize(
    ("broken", "there"),
    [("json", "none of them"), ("md", "report.json, junit.xml"), ("html", "report.md")],
)
def test_an_interrupt_while_reports_are_written(cts: Cts, broken: str, there: str) -> None:
    cts.has("fails")
    # The reporter of one format is interrupted, in the middle of the file.
    itself = (
        "import os, signal\n"
        "chmod = os.chmod\n"
        "def interrupted(path, mode, **named):\n"
        f"    if '.{broken}.' in str(path):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    chmod(path, mode, **named)\n"
        "os.chmod = interrupted\n"
        "import runpy\n"
        "runpy.run_module('tests.runners.fake_cts', run_name='__main__', alter_sys=True)\n"
    )
    argv, env = cts.command("certify", "--hosts", "1")
    words = argv[argv.index("certify") :]
    done = subprocess.run(
        [sys.executable, "-c", itself, *words],
        env=env,
        cwd=cts.root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done
    assert done.stderr.startswith("udapl-cts: interrupted while the reports were written: ")
    assert there in done.stderr
    assert "./udapl-cts report" in done.stderr
    assert not list((cts.runs / "latest/").glob(".*"))
    assert cts.events()[-1]["exit"] == 1


def test_a_killed_run_leaves_its_folder_to_the_next(
    cts: Cts, running: subprocess.Popen[str], tmp_path: Path
) -> None:
    def folders() -> list[Path]:
        return list(tmp_path.glob("udapl-cts-run-*"))

    running.kill()
    running.communicate()
    cts.env["TMPDIR"] = str(tmp_path)
    cts.hanging.unlink()
    first, second = (cts.start("certify", "--hosts", "1", "--seed", "2") for _ in range(2))
    try:
        wait_until(lambda: len(folders()) == 2, "no two folders")
        first.kill()
        first.communicate()
        for folder in folders():
            os.utime(folder, (0, 0))
        assert cts("certify", "--hosts", "1", "-k", "passes_1").returncode == 0
        assert len(folders()) == 1
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()


@pytest.mark.parametrize("options", [(), ("--spread", "2"), ("-n", "2")])
@pytest.mark.parametrize("moved", [False, True])
def test_results_that_vanish_end_the_run(cts: Cts, options: tuple[str, ...], moved: bool) -> None:
    cts.has("hangs_until_told", *(f"passes_{n}" for n in range(40)), deadline_ms=2_000)
    cts.env["FAKE_GRACE"] = "2"
    out = cts.root / "out"
    process = cts.start("certify", "--hosts", "1", "--seed", "1", "--out", str(out), *options)
    wait_for(cts.hanging)
    if moved:
        out.rename(cts.root / "elsewhere")
    else:
        shutil.rmtree(out)
    code, _, err = ended(process)
    assert code == 2
    assert "the results are gone: " in err
    assert f"{out}/events.jsonl.zst" in err


def killpg(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """What a terminal does on ^C."""
    os.killpg(process.pid, number)


def test_an_interrupt_while_the_program_loads_ends_it_without_a_traceback(tmp_path: Path) -> None:
    itself = "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
    (tmp_path / "argparse.py").write_text(itself)

    process = subprocess.run(
        [sys.executable, "-P", "-m", "runners", "list"],
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (process.returncode, process.stdout, process.stderr) == (-signal.SIGINT, "", "")
