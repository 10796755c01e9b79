# SPDX-License-Identifier: BSD-2-Clause
"""Demand that walks find a fault: `python -m tests.explore.finds FAULT OBJECT... FOLDER`.

The exploration must deviate, and the walk that it writes must deviate when it is taken again.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from results.model.load import load
from runners.checkout import here
from runners.fabric import datconf

WALKS = 80
# Each walk meets it.
IN_A_RUN = "psp_create_any/consumer_not_had"
IN_A_RUN_BREAKS = "psp_create_any/usable"


def main(arguments: Sequence[str]) -> int:
    """Explore the fault, take the first finding's walk again, certify; 0 where each deviates."""
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
    return certified(Path(folder))


def certified(folder: Path) -> int:
    """Demand that a run whose one case is kept is not conformant by what its walks find."""
    checkout = here()
    dat_conf = Path(f"{folder}.conf")
    own = datconf.lines("ref0", checkout.reference_provider, "rxe0")
    broken = datconf.lines("bad0", checkout.faulty_provider, f"ref0 fault={IN_A_RUN}")
    dat_conf.write_text(own + broken)
    subject = ["--dat-conf", str(dat_conf), "--ia", "bad0"]
    some = ["pz_create/created", "--hosts", "1", "--seed", "1", "--explore", "1"]
    out = f"{folder}-run"
    command = [sys.executable, "-m", "runners", "certify", *some, *subject, "--out", out]
    code = subprocess.run(command, check=False).returncode
    run = load(Path(out))
    kept = [case.worst for case in run.cases] == ["PASS"]
    clauses = [walk.trouble.clause for walk in run.walks]
    if code != 1 or not kept or clauses != [IN_A_RUN_BREAKS]:
        print(f"exit code {code}, the case was {'kept' if kept else 'not kept'}, found {clauses}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
