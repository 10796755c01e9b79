# SPDX-License-Identifier: BSD-2-Clause
"""Runs that are killed, interrupted, stopped, robbed of hosts and of their folders: what was on the
disk stays there, and `--resume` adds what is missing, each verdict once.
"""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from results.errors import ReportError
from results.model.load import load
from results.runlog import frames
from results.runlog.records import EVENTS
from tests.hostile.clock import Clock, set_clock
from tests.hostile.figures import Figures
from tests.runners.fake_checkout import Cts, make_checkout

WRONG, LOST, DOUBLED = "verdicts wrong", "results lost", "doubled"
LEFT, UNTOLD = "processes left", "ends without a sentence"
HARMS = (WRONG, LOST, DOUBLED, LEFT, UNTOLD)
CASES = 150
SIDE_BY_SIDE = 3
WAYS = ((), (), ("-n", "2"), ("--spread", "2"))
TIMEOUT = 300.0
HOSTS_MAX = 2
# A runner of so many cases takes some 110 MiB, and half of it before its first case.
STARVED = (70 << 20, 140 << 20)

# What is done to a run; its process, its folder and the checkout.
Disturb = Callable[["subprocess.Popen[str]", Path, Cts], None]


def disturb(folder: Path, provider: Path, count: int, rng: random.Random) -> Figures:
    """Disturb `count` runs on stand-in hosts, one way or another, and have each continue."""
    figures = Figures("runs disturbed", HARMS)
    plan = [(number, DISTURBANCES[number % len(DISTURBANCES)]) for number in range(count)]
    seeds = [rng.randrange(1 << 30) for _ in plan]

    def one(number: int, name: str, seed: int) -> None:
        place = folder / f"run{number}"
        place.mkdir(parents=True)
        try:
            _Run(place, provider, name, random.Random(seed), figures).conduct()
        finally:
            shutil.rmtree(place, ignore_errors=True)

    with ThreadPoolExecutor(SIDE_BY_SIDE) as lanes:
        started = [
            lanes.submit(one, number, name, seed)
            for (number, name), seed in zip(plan, seeds, strict=True)
        ]
        for each in started:
            each.result()
    return figures


class _Run:
    """One run, what is done to it, and what became of it."""

    def __init__(
        self, place: Path, provider: Path, name: str, rng: random.Random, figures: Figures
    ) -> None:
        self._cts = make_checkout(place / "checkout", provider)
        self._cts.has(*(f"passes_{number}" for number in range(CASES)))
        self._temporary = place / "tmp"
        self._temporary.mkdir()
        self._cts.env["TMPDIR"] = str(self._temporary)
        if name in CLOCKS:
            # What the stand-in agents tell of their libdat is what the runner gave them.
            self._cts.env |= {**Clock(self._cts.root).env, "FAKE_LIBDAT": ""}
        self._name = name
        self._rng = rng
        self._figures = figures
        self._folder = self._cts.root / "out"
        self._way: Sequence[str] = rng.choice(WAYS)

    def conduct(self) -> None:
        """Begin, disturb, look, continue, and look again."""
        self._figures.count()
        process = self._start()
        self._wait(process, self._rng.randrange(CASES))
        before = self._verdicts()
        if self._name in ACTS:
            ACTS[self._name](process, self._folder, self._cts)
        out, err = process.communicate(timeout=TIMEOUT)
        code = process.returncode
        if code == 1 or (code == 0 and "are gone" in err):
            self._harm(WRONG, f"exit {code}: {err[-200:]}")
        told = "udapl-cts: " in err or "ERROR" in out or self._name == "interrupts twice"
        if "Traceback" in out + err or (code == 2 and not told):
            self._harm(UNTOLD, f"exit {code}: {err[-300:]}")
        if not (self._folder / EVENTS).exists():
            # One that ran out of space or memory before its first record leaves no folder, and
            # says so; one that a signal ended before it has nothing to say.
            ended = not before and code in ENDS.get(self._name, ())
            gone = self._name in ("removes", "moves", "fills", "starves") and code in (0, 2)
            if not (ended or gone):
                self._harm(LOST, f"exit {code}, and there is no record: {err[-200:]}")
        elif (self._folder / EVENTS).stat().st_size:
            self._look(before)
            self._resume()
        self._nobody_left()

    def _start(self) -> "subprocess.Popen[str]":
        words = ("certify", "--hosts", "1", "--out", str(self._folder), *self._way)
        if self._name not in SCARCE:
            return self._cts.start(*words)
        argv, env = self._cts.command(*words)
        what, least, most = SCARCE[self._name]
        most = self._rng.randrange(least, most)
        return subprocess.Popen(
            argv,
            env=env,
            cwd=self._cts.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
            preexec_fn=lambda: resource.setrlimit(what, (most, most)),
        )

    def _wait(self, process: "subprocess.Popen[str]", verdicts: int) -> None:
        """Until the run has so many verdicts, or has ended."""
        deadline = time.monotonic() + TIMEOUT
        while process.poll() is None and time.monotonic() < deadline:
            if self._written() >= verdicts:
                return
            time.sleep(0.02)

    def _written(self) -> int:
        """How many verdicts are on the disk."""
        with suppress(OSError, frames.FrameError), (self._folder / EVENTS).open("rb") as file:
            lines = (line.raw for line in frames.lines(file) if line is not None)
            return sum(b'"type":"verdict"' in line for line in lines)
        return 0

    def _verdicts(self) -> list[dict[str, Any]]:
        """The first verdicts that stand on whole lines, whatever else does."""
        try:
            run = load(self._folder)
        except (ReportError, OSError):
            return []
        return [
            {"case": case.id, "word": str(attempt.verdict)}
            for case in run.cases
            for attempt in case.attempts
            if attempt.number == 1
        ]

    def _look(self, before: Sequence[dict[str, Any]]) -> None:
        try:
            load(self._folder)
        except ReportError as error:
            # Nothing was recorded yet, where the run ended in its first record.
            if "whole record" not in str(error) and "first record" not in str(error):
                self._harm(LOST, str(error))
        now = self._verdicts()
        if missing := [one for one in before if one not in now]:
            self._harm(LOST, f"{len(missing)} that stood there, such as {missing[0]}")

    def _resume(self) -> None:
        before = self._verdicts()
        for folder in self._temporary.glob("udapl-cts-run-*"):
            os.utime(folder, (0, 0))
        done = self._cts("certify", "--resume", str(self._folder))
        whole = "nothing is missing" in done.stderr or "no record" in done.stderr
        if done.returncode != 0 and not (done.returncode == 64 and whole):
            broken = any(one["word"] == "ERROR" for one in self._verdicts())
            if done.returncode != 2 or not broken:
                self._harm(LOST, f"--resume ends with {done.returncode}: {done.stderr[-300:]}")
        if done.returncode == 64 and not before:
            return
        after = self._verdicts()
        if any(one not in after for one in before):
            self._harm(LOST, "--resume lost a verdict")
        counts = Counter(one["case"] for one in after)
        if len(counts) != CASES:
            self._harm(LOST, f"{len(counts)} of {CASES} cases after --resume")
        if double := [case for case, count in counts.items() if count > 1]:
            self._harm(DOUBLED, str(double[:3]))
        broken_ones = [one for one in after if one["word"] != "PASS"]
        allowed = {"kills an agent": 2, "kills the agents": 2 * HOSTS_MAX}.get(self._name, 0)
        if len(broken_ones) > allowed or any(one["word"] != "ERROR" for one in broken_ones):
            self._harm(WRONG, str(broken_ones[:3]))
        # Where nothing is missing nothing is run, and it is the next run that collects.
        if done.returncode != 64 and list(self._temporary.glob("udapl-cts-run-*")):
            self._harm(LEFT, "a temporary folder")

    def _nobody_left(self) -> None:
        mark = f"FAKE_ROOT={self._cts.root}".encode()
        deadline = time.monotonic() + 10
        while found := [pid for pid in _processes() if mark in _environment(pid).split(b"\0")]:
            if time.monotonic() > deadline:
                self._harm(LEFT, f"{found}")
                for pid in found:
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
                return
            time.sleep(0.05)

    def _harm(self, kind: str, text: str) -> None:
        self._figures.harm(kind, f"{self._name} {' '.join(self._way)}: {text}")


def _kill(process: "subprocess.Popen[str]", _folder: Path, _cts: Cts) -> None:
    process.kill()


def _interrupt(process: "subprocess.Popen[str]", _folder: Path, _cts: Cts) -> None:
    process.send_signal(signal.SIGINT)


def _interrupt_all(process: "subprocess.Popen[str]", _folder: Path, _cts: Cts) -> None:
    """As a terminal does, and again at once, as a person does."""
    for _ in range(2):
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGINT)


def _terminate(process: "subprocess.Popen[str]", _folder: Path, _cts: Cts) -> None:
    process.terminate()


def _stop(process: "subprocess.Popen[str]", _folder: Path, _cts: Cts) -> None:
    """The runner stands still for a while, as on a laptop whose lid was closed."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(1.0)
    process.send_signal(signal.SIGCONT)


def _agents(cts: Cts) -> list[int]:
    mark = f"FAKE_ROOT={cts.root}".encode()
    return [
        pid
        for pid in _processes()
        if mark in (environment := _environment(pid).split(b"\0"))
        and any(one.startswith(b"FAKE_HOST=") for one in environment)
    ]


def _kill_agent(_process: "subprocess.Popen[str]", _folder: Path, cts: Cts) -> None:
    for pid in _agents(cts)[:1]:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _stop_agent(_process: "subprocess.Popen[str]", _folder: Path, cts: Cts) -> None:
    found = _agents(cts)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for pid in found:
            with suppress(OSError):
                os.kill(pid, number)
        time.sleep(0.5)


def _kill_agents(_process: "subprocess.Popen[str]", _folder: Path, cts: Cts) -> None:
    """Each worker loses its host in the same moment."""
    for pid in _agents(cts):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _set_clock(offset_s: float, rate: float = 1.0) -> Disturb:
    def act(_process: "subprocess.Popen[str]", _folder: Path, cts: Cts) -> None:
        set_clock(cts.root, offset_s, rate)

    return act


def _remove(_process: "subprocess.Popen[str]", folder: Path, _cts: Cts) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _move(_process: "subprocess.Popen[str]", folder: Path, _cts: Cts) -> None:
    with suppress(OSError):
        folder.rename(folder.with_name("elsewhere"))


CLOCKS: dict[str, Disturb] = {
    "clock a year ahead": _set_clock(365 * 86400.0),
    "clock an hour back": _set_clock(-3600.0),
    "clock ten times as slow": _set_clock(0.0, 0.1),
    "clock ten times as fast": _set_clock(0.0, 10.0),
}
ACTS: dict[str, Disturb] = {
    "kills": _kill,
    "interrupts": _interrupt,
    "interrupts twice": _interrupt_all,
    "terminates": _terminate,
    "stops": _stop,
    "kills an agent": _kill_agent,
    "kills the agents": _kill_agents,
    "stops the agents": _stop_agent,
    **CLOCKS,
    "removes": _remove,
    "moves": _move,
}
# What a run ends with that a signal ended before it had begun.
ENDS = {
    # A library in Rust that gets no memory ends the process.
    "starves": (-signal.SIGABRT,),
    "kills": (-signal.SIGKILL,),
    "interrupts": (-signal.SIGINT, 130),
    "interrupts twice": (-signal.SIGINT, 130),
    "terminates": (-signal.SIGTERM, 130),
}
# What a run has little of, from its beginning, and how little, in bytes.
SCARCE = {
    "fills": (resource.RLIMIT_FSIZE, 10, 60_000),
    "starves": (resource.RLIMIT_AS, *STARVED),
}
DISTURBANCES = (*ACTS, *SCARCE)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
