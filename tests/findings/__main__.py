# SPDX-License-Identifier: BSD-2-Clause
"""Certify a provider that is not ours, and compare what is found with its adjudicated table.

    python -m tests.findings check NAME RUN     # certify into the folder RUN, compare it
    python -m tests.findings compare NAME RUN   # compare a run that there is
    python -m tests.findings write NAME RUN     # write its cases anew, and print its causes

docs/findings/NAME.md says of each cause, by its number, why it is upheld or not. NAME.tsv has the
cases: verdict and cause. Red verdicts count as the same, for a damaged process may end in any way.
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from results.causes.cause import Cause
from results.causes.grouping import causes
from results.model.attempt import Verdict
from results.model.load import load
from results.model.run import Run

FINDINGS = Path(__file__).parents[2] / "docs" / "findings"
LIBRARY = "libdaplofa.so.2"
FOUND = 1
SHOWN = 40
BLOCKED = str(Verdict.BLOCKED)
# In the column of causes: a case that has ended otherwise too.
UNSTABLE = "unstable"

# By case: its verdict and its cause.
Table = dict[str, tuple[str, str]]


def read(name: str) -> Table:
    """The cases of a table."""
    lines = (FINDINGS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return {case: (verdict, cause) for case, verdict, cause in (row.split("\t") for row in lines)}


def found(all_causes: Iterable[Cause]) -> Table:
    """The cases of causes, numbered in their order from 1."""
    return {
        case.id: (str(case.worst), str(number))
        for number, cause in enumerate(all_causes, 1)
        for case in (*cause.cases, *cause.blocked)
    }


def differences(known: Table, now: Table) -> list[str]:
    """What is new, gone, or judged otherwise, a line each; not of cases that are unstable."""
    lines = []
    for case in sorted({*known, *now}):
        before, after = known.get(case), now.get(case)
        if before and before[1] == UNSTABLE:
            continue
        if before is None and after is not None:
            lines.append(f"new: {case}, {after[0]}")
        elif after is None and before is not None:
            lines.append(f"gone: {case}, {before[0]} (cause {before[1]})")
        elif before and after and (before[0] == BLOCKED) != (after[0] == BLOCKED):
            lines.append(f"changed: {case}, {before[0]} (cause {before[1]}), now {after[0]}")
    return lines


def _certify(name: str, folder: Path) -> None:
    command = [sys.executable, "-m", "runners", "certify", "-q", "--api", "2.0", "--hosts", "1"]
    command += ["--dat-conf", str(FINDINGS / f"{name}.dat.conf"), "--ia", "ofa-v2-rxe"]
    ended = subprocess.run([*command, "-n", "2", "--out", str(folder)], check=False).returncode
    if ended != FOUND:
        sys.exit(f"findings: certify ended with {ended}; is {LIBRARY} installed (libdapl2)?")


def _compare(name: str, run: Run) -> int:
    lines = differences(read(name), found(causes(run)))
    print(*lines[:SHOWN], sep="\n")
    print(f"findings: {len(lines)} cases are other than docs/findings/{name}.tsv has them")
    return 1 if lines else 0


def _write(name: str, run: Run) -> None:
    by_cause = causes(run)
    unstable = {case.id for case in run.unstable}
    rows = ["case\tverdict\tcause"]
    for case, (verdict, number) in sorted(found(by_cause).items()):
        rows.append(f"{case}\t{verdict}\t{UNSTABLE if case in unstable else number}")
    (FINDINGS / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for place, cause in enumerate(by_cause, 1):
        print(place, cause.extent, cause.name, cause.example.id, sep="\t")


def main(what: str, name: str, folder: Path) -> int:
    """Do one of the three; 1 if a case is other than the table has it."""
    if what == "check":
        _certify(name, folder)
    run = load(folder)
    if what == "write":
        _write(name, run)
        return 0
    return _compare(name, run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
