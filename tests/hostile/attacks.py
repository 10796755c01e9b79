# SPDX-License-Identifier: BSD-2-Clause
"""Hostile providers and agents: each costs its own verdict, and nothing of anybody else's.

Stand-in agents lie about verdicts, break the protocol, die and take their host along, without any
guest. The hostile faults (faults/hostile.toml) do their worst inside of guests.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from results.analysis import mutation
from results.errors import ReportError
from results.runlog.records import KEPT
from tests.hostile.figures import Figures
from tests.runners.fake_checkout import REPOSITORY, Cts

WRONG, LOST, TOUCHED = "verdicts wrong", "results of others lost", "files touched"
# Their verdict does not stand on their evidence.
LIARS = ("lies", "leaps", "shows_nothing", "declines_and_fails", "fails_and_dies", "crashes")
# They cost their host. Three in a row are one too many for a fabric, so a run has two.
KILLERS = (
    *("kills_host", "kills_agent", "babbles", "invents", "misspells", "floods"),
    *("judges_another", "is_refused"),
)
OTHERS = tuple(f"passes_{number}" for number in range(8))
# A host that was killed is gone: of four, two are left.
WAYS = ((), ("-n", "2"), ("--spread", "4"))
# What only this machine itself has to change.
FILES = (
    *("build/default/bin", "build/default/lib", "cases", "faults", "docs", "/etc/shadow"),
    *("/etc/passwd", "/etc/ld.so.conf", "/proc/sys/kernel/core_pattern"),
)


def figures() -> Figures:
    """The figures before anything is tried."""
    return Figures("attacks tried", (WRONG, LOST, TOUCHED))


def stand_ins(cts: Cts, ways: Iterable[tuple[str, ...]], told: Figures) -> None:
    """Runs on stand-in hosts, each of whose cases is an attack, or one of the others."""
    cts.env["FAKE_GRACE"] = "5"
    for way in ways:
        for killer in KILLERS:
            names = [*(f"{name}_{number}" for name in LIARS for number in range(2))]
            names += [f"{killer}_{number}" for number in range(2)]
            cts.has(*names, *OTHERS)
            before = _prints([cts.root / "build", cts.root / "cases"])
            done = cts("certify", "--hosts", "1", *way)
            told.count(len(names))
            words = {case: word for case, _, attempt, word in cts.verdicts() if attempt == 1}
            for name in names:
                if words.get(name) in KEPT:
                    told.harm(WRONG, f"{name} is {words[name]}, {' '.join(way)}")
            if done.returncode != 1:
                told.harm(WRONG, f"exit {done.returncode} with {killer}, {' '.join(way)}")
            for name in OTHERS:
                if words.get(name) != "PASS":
                    told.harm(LOST, f"{name} is {words.get(name)}, with {killer}, {' '.join(way)}")
            _compare(before, _prints([cts.root / "build", cts.root / "cases"]), told)


def in_guests(folder: Path, told: Figures) -> None:
    """The hostile faults, each of which meets a case, and the next one on the same host."""
    places = [Path(name) if name.startswith("/") else REPOSITORY / name for name in FILES]
    before = _prints(places)
    program = REPOSITORY / "runners/__main__.py"
    command = [sys.executable, "-I", str(program), "faults", "-k", "hostile", "--out", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    try:
        found = mutation.load(folder)
    except ReportError as error:
        told.harm(WRONG, f"the faults did not run: {error}; {done.stderr[-300:]}")
        return
    told.count(len(found.hostile))
    for fault in found.hostile:
        if fault.run is None or fault.run.verdict not in fault.allowed or not fault.met:
            told.harm(WRONG, f"{fault.fault}: {fault.run.ended if fault.run else 'no verdict'}")
        elif not fault.contained:
            told.harm(
                LOST, f"{fault.fault}: {fault.after.ended if fault.after else 'none'} after it"
            )
    if found.status != "complete":
        told.harm(WRONG, f"the run ended early: {done.stderr[-200:]}")
    _compare(before, _prints(places), told)


def _prints(places: Iterable[Path]) -> dict[str, str]:
    """The digest of each file there; what a run writes itself is none of these."""
    found: dict[str, str] = {}
    for place in places:
        paths = sorted(place.rglob("*")) if place.is_dir() else [place]
        for path in paths:
            ours = path.name == "hanging" or path.name.startswith("once-")
            if path.is_file() and not ours and "__pycache__" not in path.parts:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _compare(before: Mapping[str, str], after: Mapping[str, str], told: Figures) -> None:
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path):
            told.harm(TOUCHED, path)
