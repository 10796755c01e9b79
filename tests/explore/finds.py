# SPDX-License-Identifier: BSD-2-Clause
"""Demand that walks find a fault: `python -m tests.explore.finds [--whole] FAULT OBJECT... FOLDER`.

The exploration must deviate, and the walk that it writes must deviate when it is taken again. With
--whole, the C case of the walk must fail on the fault and pass on the reference provider, and a run
whose case is kept must not be conformant by its walks.
"""

import re
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
    whole = "--whole" in arguments
    fault, *objects, folder = (word for word in arguments if word != "--whole")
    command = [sys.executable, "-m", "runners", "explore"]
    drawn = [*objects, "--walks", str(WALKS), "--seed", "1", "--out", folder]
    drawn += ["--emit-c"] if whole else []
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
    if not whole:
        return 0
    return emitted(Path(folder), fault) or certified(Path(folder))


def emitted(folder: Path, fault: str) -> int:
    """Demand that the first finding's C case is compiled, and tells the fault from no fault."""
    checkout = here()
    binary = compiled(folder / "1.c", folder / "case")
    case = re.search(r"^CASE\((\w+), (\w+)\)", (folder / "1.c").read_text(), re.MULTILINE)
    assert case
    dat_conf = folder / "emitted.conf"
    broken = datconf.lines("bad0", checkout.faulty_provider, f"ref0 fault={fault}")
    dat_conf.write_text(datconf.lines("ref0", checkout.reference_provider, "rxe0") + broken)
    run = f"DAT_OVERRIDE={dat_conf} {binary} --run {case[1]}/{case[2]} --ia"
    script = f"{run} bad0; echo bad $?; {run} ref0; echo good $?"
    shell = [sys.executable, "-m", "runners", "fabric", "shell", "--", "sh", "-c", script]
    done = subprocess.run(shell, check=False, capture_output=True, text=True)
    said = done.stdout.splitlines()
    if "bad 1" not in said or "good 0" not in said:
        print(f"the C case does not tell them apart: {done.stdout}{done.stderr}")
        return 1
    return 0


def compiled(source: Path, binary: Path) -> Path:
    """Compile a case as the puppet's own file is compiled, and link it alike."""
    built = here().built
    told = subprocess.run(
        ["ninja", "-C", str(built), "-t", "commands", "udapl-puppet"],
        check=True,
        capture_output=True,
        text=True,
    )
    compiling = next(c for c in told.stdout.splitlines() if c.endswith("puppet/puppet.c"))
    # The puppet finds libdat beside itself.
    linking = next(c for c in told.stdout.splitlines() if " -o bin/udapl-puppet " in c)
    object_ = "puppet/CMakeFiles/udapl-puppet.dir/puppet.c.o"
    for command in (compiling, linking):
        made = command.replace(str(here().root / "puppet/puppet.c"), str(source))
        made = made.replace(object_, f"{binary}.o")
        made = made.replace("-o bin/udapl-puppet", f"-Wl,-rpath,{built}/lib -o {binary}")
        subprocess.run(made, shell=True, check=True, cwd=built)
    return binary


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
