# SPDX-License-Identifier: BSD-2-Clause
"""Runs `trace` and `judge` as a user does, and reads what they made."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/default"
CONSUMER = BUILT / "bin/trace-consumer"


def command(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """A command of the suite; its output."""
    argv = [sys.executable, str(ROOT / "runners/__main__.py"), *map(str, arguments)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, **options)


@dataclass(eq=False)
class Traced:
    """A program that ran under `trace`."""

    status: int
    output: str
    errors: str
    trace: Path
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Of its only process."""
        (record,) = self.records
        calls: list[dict[str, Any]] = record["calls"]
        return calls

    @cached_property
    def judged(self) -> subprocess.CompletedProcess[str]:
        """What `judge` says of it."""
        return command("judge", self.trace)


def records_of(trace: Path) -> list[dict[str, Any]]:
    """The records of a trace, one a process."""
    return [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]


def trace(folder: Path, *program: str | Path, options: tuple[str, ...] = ()) -> Traced:
    """Run a program under `trace`, whose file is new in `folder`."""
    out = folder / f"{len(list(folder.iterdir()))}.jsonl"
    done = command("trace", "--out", out, *options, "--", *program)
    made = Traced(done.returncode, done.stdout, done.stderr, out)
    if out.is_file():
        made.records = records_of(out)
    return made


def recorder_environment(folder: Path) -> dict[str, str]:
    """What a program is started with that records into `folder` by itself."""
    preload = str(BUILT / "lib/libdattrace.so")
    return {**os.environ, "LD_PRELOAD": preload, "UDAPL_CTS_TRACE": str(folder)}


def gathered(parts: Path, out: Path, status: int) -> Traced:
    """The trace of records that a program has left in a folder."""
    done = command("trace", "--parts", parts, "--out", out)
    return Traced(status, done.stdout, done.stderr, out, records_of(out))
