# SPDX-License-Identifier: BSD-2-Clause
"""`certify` where many cases wait in vain: they are put off, and wait side by side."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.campaign.session.patience import Waits
from tests.runners.fake_checkout import Cts, wait_for, wait_until


def ended(word: str, ms: float, **more: object) -> dict[str, object]:
    """As much of a verdict's record as says how long it took."""
    return {"verdict": word, "ms": ms, **more}


def test_what_waits_is_put_off_and_has_one_verdict(cts: Cts) -> None:
    names = [f"waits_for_nothing_{number}" for number in range(16)]
    cts.has(*names, "passes")
    done = cts("certify", "-n", "2")
    assert (done.returncode, done.stderr) == (1, ""), done
    first = [r for r in cts.events() if r["type"] == "verdict" and r["attempt"] == 1]
    assert sorted(r["case"] for r in first) == sorted(f"demo_page/{n}" for n in (*names, "passes"))
    assert {r["verdict"] for r in first if "waits" in r["case"]} == {"FAIL"}
    put_off = {r["case"] for r in first if r.get("put_off")}
    assert len(put_off) >= 6
    assert "demo_page/passes" not in put_off
    assert f"{len(put_off)} cases that waited, begun anew side by side" in done.stdout
    assert cts("certify", "--lf", "-n", "2").returncode == 1
    assert len([r for r in cts.events() if r.get("attempt") == 1]) == 16


def kill(process: subprocess.Popen[str]) -> None:
    """Nothing can be said any more."""
    process.kill()


def interrupt(process: subprocess.Popen[str]) -> None:
    """As a terminal does on ^C."""
    os.killpg(process.pid, signal.SIGINT)


def interrupt_impatiently(process: subprocess.Popen[str]) -> None:
    """^C, until it has an effect."""
    while process.poll() is None:
        interrupt(process)
        time.sleep(0.1)


def commands() -> str:
    """What all processes were begun with."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return "\n".join(found)


ENDS = [kill, interrupt, interrupt_impatiently]


def end_at_hang(cts: Cts, end: Callable[[subprocess.Popen[str]], None]) -> str:
    """Begin a run, and end it when a case hangs; what it said, when nothing is left of it."""
    process = cts.start("certify", "-n", "2", "--seed", "1")
    try:
        wait_for(cts.hanging)
        end(process)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert "Traceback" not in out + err
    if end is interrupt:
        assert (process.returncode, err) == (2, "udapl-cts: SIGINT ended the run\n")
        assert cts.events()[-1]["status"] == "interrupted"
    wait_until(lambda: str(cts.root) not in commands(), "somebody is left")
    return out


@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_ends_in_what_was_put_off_is_finished(
    cts: Cts, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    cts.has(
        *(f"waits_for_nothing_{number}" for number in range(8)),
        *(f"waits_and_hangs_{number}" for number in range(12)),
        deadline_ms=60_000,
    )
    out = end_at_hang(cts, end)
    assert end is not interrupt or "NOT-RUN" in out
    before = cts.events()
    cts.hanging.with_name("told").touch()
    done = cts("certify", "--resume", "latest")
    assert (done.returncode, done.stderr) == (1, ""), done
    after = cts.events()
    assert after[: len(before)] == before
    assert after[-1]["status"] == "complete"
    verdicts = [record for record in after if record["type"] == "verdict"]
    tries = Counter((record["case"], record["attempt"]) for record in verdicts)
    assert set(tries.values()) == {1}
    assert {case for case, _ in tries} == {entry["case"] for entry in before[0]["plan"]}
    assert {record["verdict"] for record in verdicts} == {"FAIL"}
    wait_until(lambda: str(cts.root) not in commands(), "somebody is left of the second part")


@pytest.mark.parametrize("end", ENDS)
def test_a_run_that_ends_in_second_attempts_is_finished(
    cts: Cts, end: Callable[[subprocess.Popen[str]], None]
) -> None:
    """Those that are made side by side: what was seen before stands, and no more is made than the
    sample.
    """
    names = [f"times_out_and_hangs_{number}" for number in range(7)]
    cts.has(*names, "times_out_late", deadline_ms=60_000)
    end_at_hang(cts, end)
    before = cts.events()
    firsts = [record for record in before if record.get("attempt") == 1]
    assert len(firsts) == len(names) + 1
    cts.hanging.with_name("told").touch()
    done = cts("certify", "--resume", "latest")
    assert (done.returncode, done.stderr) == (1, ""), done
    after = cts.events()
    assert after[: len(before)] == before
    assert after[-1]["status"] == "complete"
    tries = Counter((r["case"], r["attempt"]) for r in after if r["type"] == "verdict")
    assert set(tries.values()) == {1}
    assert sum(attempt == 2 for _, attempt in tries) == 5
    wait_until(lambda: str(cts.root) not in commands(), "somebody is left of the second part")


def test_five_on_the_same_hosts_are_waited_for_at_first(cts: Cts) -> None:
    cts.has(*(f"waits_for_nothing_{number}" for number in range(5)), "passes_1", "passes_2")
    assert cts("certify", "-n", "2").returncode == 1
    assert not any("put_off" in record for record in cts.events())


@pytest.mark.parametrize("word", ["FAIL", "ERROR", "TIMEOUT", "PASS"])
def test_it_takes_five_that_waited_in_vain(word: str) -> None:
    waits = Waits()
    teardown: dict[str, object] = {"teardown": [{}]} if word == "PASS" else {}
    for _ in range(4):
        waits.take(ended(word, 1000, **teardown))
    waits.take(ended(word, 999, **teardown))
    assert waits.put_off is None
    waits.take(ended(word, 1000, **teardown))
    assert waits.put_off == 1.0


def test_what_was_kept_did_not_wait_in_vain() -> None:
    """Nor is it known that others do, where all takes long."""
    waits = Waits()
    for word in ("PASS", "NOTE", "UNSUPPORTED"):
        for _ in range(10):
            waits.take(ended(word, 2000))
    for _ in range(10):
        waits.take(ended("FAIL", 7000))
    assert waits.put_off is None
    for _ in range(5):
        waits.take(ended("FAIL", 9000))
    assert waits.put_off == 8.0
