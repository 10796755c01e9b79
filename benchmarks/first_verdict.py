# SPDX-License-Identifier: BSD-2-Clause
"""How long `./udapl-cts certify` takes, when all is built and cached, to its first verdict.

Run it as `.venv/bin/python -m benchmarks.first_verdict` on a machine that does nothing else.
"""

import signal
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.fabric_boot import describe_machine
from runners.checkout import here

REPEATS = 5
LIMITS = {1: 3.0, 2: 4.0}


def first_verdict(hosts: int, seed: int) -> float:
    """Seconds from the command to the first line that tells a verdict."""
    root = here().root
    with tempfile.TemporaryDirectory() as folder:
        argv = ["./udapl-cts", "certify", "--hosts", str(hosts), "--seed", str(seed)]
        start = time.perf_counter()
        with subprocess.Popen(
            [*argv, "--out", str(Path(folder) / "run")],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdout is not None
            told = next((line for line in process.stdout if line.startswith("[")), None)
            elapsed = time.perf_counter() - start
            process.send_signal(signal.SIGINT)
            process.stdout.read()
    if told is None:
        raise SystemExit(f"{' '.join(argv)} told no verdict")
    return elapsed


def main() -> None:
    """Print the median for each number of hosts."""
    print(describe_machine())
    first_verdict(1, 0)
    for hosts, limit in LIMITS.items():
        times = sorted(first_verdict(hosts, seed) for seed in range(REPEATS))
        print(
            f"{hosts} host{'s' if hosts > 1 else ' '}: first verdict after {median(times):.2f} s "
            f"({times[0]:.2f} to {times[-1]:.2f}; wanted: within {limit:.0f} s)"
        )


if __name__ == "__main__":
    main()
