# SPDX-License-Identifier: BSD-2-Clause
"""The slurm fabric in guests that are the nodes of a real Slurm, its runner in a job of sbatch."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.slurm_lab import ROOT, SlurmLab

DEADLINE = 800
EVENTS = shlex.join(["env", f"PYTHONPATH={ROOT}", sys.executable, "-P", "-m", "runners", "events"])
PAIR = "srq_resize/no_message_lost/growing"
CERTIFY = [sys.executable, "-P", "-m", "runners", "certify", "--fabric", "slurm"]
KILL_RUNNER = """
for process in /proc/[0-9]*; do
        case $(tr '\\0' ' ' <"$process/cmdline") in
        /*python*' -m runners certify '*) kill -9 "${process#/proc/}" && echo killed ;;
        esac
done 2>/dev/null
"""
AGENTS = (
    "cat /proc/[0-9]*/comm | grep udapl-cases; ls /tmp/udapl-cts-dat.conf-* 2>/dev/null; exit 0"
)


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    """Two nodes."""
    with SlurmLab(2) as lab:
        yield lab


def job(out: str, *options: str) -> str:
    """The command of a job that certifies into `out` on the first node."""
    line = shlex.join([*CERTIFY, "--out", out, *options])
    return f"export PYTHONPATH={shlex.quote(str(ROOT))}; exec {line}"


def test_a_certification_by_sbatch(lab: SlurmLab) -> None:
    status, said = lab.submit(job("/run/out", PAIR, "--hosts", "2"), DEADLINE)
    assert status == 0, said
    status, said = lab.run(f"{EVENTS} /run/out", DEADLINE)
    events = [json.loads(line) for line in said.splitlines()]
    facts = next(record["facts"] for record in events if record["type"] == "hosts")
    assert [fact["name"] for fact in facts] == ["host1", "host2"]
    verdict = next(record for record in events if record["type"] == "verdict")
    assert (verdict["verdict"], verdict["host"], verdict["peer"]) == ("PASS", "host1", "host2")
    assert lab.run(f"srun -N 2 sh -c {shlex.quote(AGENTS)}", DEADLINE) == (0, "")


def test_a_killed_runner_leaves_no_process(lab: SlurmLab) -> None:
    options = ["--wait", "-N", "2", "-o", "/run/killed.out"]
    begin = shlex.join(["sbatch", *options, "--wrap", job("/run/killed", "srq_set_lw")])
    steps = (
        f"cd {shlex.quote(str(ROOT))}",
        "touch /run/killed.out && mkfifo /run/told",
        f"{begin} &",
        "tail -n +1 -F /run/killed.out >/run/told 2>/dev/null & tail=$!",
        "grep -q -m 1 ' verdicts, ' /run/told && kill $tail",
        KILL_RUNNER,
        "wait",
    )
    status, said = lab.run("\n".join(steps), DEADLINE)
    assert (status, "killed" in said.splitlines()) == (0, True), said
    left = "cat /proc/[0-9]*/comm | grep udapl-cases; exit 0"
    assert lab.run(f"srun -N 2 sh -c {shlex.quote(left)}", DEADLINE) == (0, "")


def test_outside_of_an_allocation(tmp_path: Path) -> None:
    done = subprocess.run(
        [*CERTIFY, "--out", str(tmp_path / "out")],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64, done
    assert "sbatch" in done.stderr
