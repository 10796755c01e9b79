# SPDX-License-Identifier: BSD-2-Clause
"""Faults that no case finds: random walks of a fixed seed have to find them."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from faults.rows import Fault
from results.errors import RunnerError
from results.runlog.records import Record
from results.runlog.walks import WRONG, Wrong, wrong
from runners.campaign.explore.search import Search
from runners.campaign.explore.steps import OBJECTS
from runners.campaign.explore.walk import Walker
from runners.campaign.plan.assignment import Assignment

# The walks are the same each time: so many at most, of so many steps behind the first ones.
SEED, WALKS, STEPS = 1, 400, 60

# What a walk is for: to find a fault; to show that it is the fault that was found.
SOUGHT, CONTROL = "sought", "control"


def seek(
    assignment: Assignment,
    faults: Sequence[Fault],
    whole: str,
    folder: Path,
    needs: Mapping[str, Sequence[str]],
    append: Callable[[Record], None],
) -> None:
    """Seek each fault by walks, up to the first that deviates; `whole` is the IA without a fault,
    on which that walk must not deviate. Its steps are written into `folder`. `needs` are the
    features that a fault's clause needs, by the clause.
    """
    walker = Walker(assignment, whole)
    try:
        for fault in faults:
            for record in _records(walker, fault, whole, folder, needs[fault.clause]):
                append(record)
    finally:
        walker.close()


def _records(
    walker: Walker, fault: Fault, whole: str, folder: Path, needs: Sequence[str]
) -> Iterator[Record]:
    started = time.monotonic()

    def record(purpose: str, verdict: str, reason: str) -> Record:
        return {
            "type": "verdict",
            "purpose": purpose,
            "fault": fault.id,
            "case": fault.clause,
            "attempt": 1,
            "verdict": verdict,
            "reason": reason,
            "ms": round(1000 * (time.monotonic() - started), 1),
        }

    walker.ia = f"fault:{fault.id}"
    before, purpose = walker.walks, SOUGHT
    search = Search(
        walker, OBJECTS, STEPS, SEED, math.inf, WALKS, progress=lambda: None, shrinks=False
    )
    try:
        finding = next(search.findings(), None)
        lacks = [need for need in needs if walker.declared.get(need) is False]
        if finding is None and lacks:
            yield record(SOUGHT, "UNSUPPORTED", lacks[0])
            return
        if finding is None:
            yield record(SOUGHT, "PASS", f"none of {WALKS} walks of seed {SEED} deviates")
            return
        why = f"walk {walker.walks - before} of seed {SEED}: {_told(finding.wrong)}"
        yield record(SOUGHT, _verdict(finding.wrong), why)
        path = folder / f"{fault.id.replace('/', '.')}.steps"
        path.write_text("\n".join((f"# {why}", *finding.program)) + "\n", encoding="utf-8")
        walker.ia, purpose = whole, CONTROL
        found = wrong(walker.walk(finding.program))
        if found is None:
            yield record(CONTROL, "PASS", "without the fault, that walk does not deviate")
        else:
            yield record(CONTROL, _verdict(found), f"without the fault: {_told(found)}")
    except RunnerError as error:
        yield record(purpose, "NOT-RUN", str(error))


def _verdict(found: Wrong) -> str:
    return found.what if found.what in WRONG else "FAIL"


def _told(found: Wrong) -> str:
    return f"{found.what}: {found.why}"
