# SPDX-License-Identifier: BSD-2-Clause
"""What a run records of the proof that its cases can fail: the faults, and what became of them."""

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

from faults.rows import Fault, RowError
from results.analysis import mutation
from results.errors import ReportError, RunnerError
from results.runlog.records import Record
from runners.catalogue.faults import Rows, load_rows, prefixes
from runners.checkout import UNKNOWN


def rows(folder: Path, clauses: Collection[str]) -> Record:
    """The members `faults` and `no_faults` of a run's record: the rows under `folder` (faults/)
    about `clauses`. Raises RunnerError where a row makes no sense.
    """
    try:
        known = load_rows(folder) if folder.is_dir() else Rows((), ())
    except RowError as error:
        raise RunnerError(str(error)) from error
    named = {prefix for id_ in clauses for prefix in prefixes(id_)}
    return {
        "faults": [
            {"id": fault.id, "clause": clause, "text": fault.text}
            for fault in known.faults
            if fault.clause in named and not fault.found_by
            for clause in _violated(fault, clauses)
        ],
        "no_faults": [
            {"clause": row.clause, "reason": row.reason}
            for row in known.no_faults
            if row.clause in named
        ],
    }


def _violated(fault: Fault, clauses: Collection[str]) -> list[str]:
    """The family or clause that a fault violates; those of `clauses` if it is not each row."""
    if not fault.but:
        return [fault.clause]
    return [clause for clause in sorted(clauses) if fault.violates(clause)]


def outcomes(results: Path, commit: str, folder: Path) -> list[Record]:
    """The faults runs in `results` that were made with the suite at `commit`, the newest first, as
    the member `proofs` of the record of a run in `folder`; those that cannot be read are none.
    """
    found: list[Record] = []
    if commit == UNKNOWN:
        return found
    for path in sorted(results.glob(f"faults-*/{mutation.FILE}"), reverse=True):
        try:
            if _head(path).get("suite", {}).get("commit") == commit:
                found.append(_proof(path.parent, folder))
        except (OSError, ValueError, KeyError, ReportError):
            continue
    return found


def _head(path: Path) -> dict[str, Any]:
    with path.open(encoding="utf-8") as file:
        head: dict[str, Any] = json.loads(file.readline())
    return head


def _proof(made: Path, folder: Path) -> Record:
    run = mutation.load(made)
    by_outcome: dict[str, list[list[str]]] = {}
    for mutant in run.mutants:
        if mutant.outcome is not mutation.Outcome.NOT_RUN:
            by_outcome.setdefault(str(mutant.outcome), []).append([mutant.fault, mutant.case])
    page = made / mutation.PAGE
    return {
        "run": made.name,
        "page": os.path.relpath(page, folder) if page.is_file() else "",
        "dirty": bool(run.head["suite"]["dirty"]),
        "outcomes": by_outcome,
        **({"drawn": run.drawn} if run.drawn else {}),
    }
