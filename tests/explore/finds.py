# SPDX-License-Identifier: BSD-2-Clause
"""Demand that walks find a fault: `python -m tests.explore.finds FAULT OBJECT... FOLDER`.

The exploration must deviate, and the walk that it writes must deviate when it is taken again.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

WALKS = 80


def main(arguments: Sequence[str]) -> int:
    """Explore the fault, take the first finding's walk again; 0 where both deviate."""
    fault, *objects, folder = arguments
    command = [sys.executable, "-m", "runners", "explore"]
    drawn = [*objects, "--walks", str(WALKS), "--seed", "1", "--out", folder]
    found = subprocess.run([*command, *drawn, "--fault", fault], check=False)
    if found.returncode != 1:
        print(f"{WALKS} walks do not find {fault}: exit code {found.returncode}")
        return 1
    steps = Path(folder) / "1.steps"
    walk = ["--walk", str(steps), "--fault", fault, "--out", f"{folder}-again"]
    again = subprocess.run([*command, *walk], check=False)
    if again.returncode != 1:
        print(f"{steps} does not deviate again: exit code {again.returncode}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
