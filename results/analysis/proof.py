# SPDX-License-Identifier: BSD-2-Clause
"""How each clause's case was shown to be able to fail: its faults, and what became of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from results.model.clause import Clause, Fault
from results.model.run import Run


@dataclass(frozen=True)
class Proven:
    """A fault of a clause. `outcome` is empty where no faults run of this suite tells."""

    fault: Fault
    outcome: str

    @property
    def killed(self) -> bool:
        """Whether the clause's own case caught it."""
        return self.outcome == "killed"


def faults_of(run: Run) -> dict[str, list[Proven]]:
    """The faults of each clause, by its id; a family's fault is that of each of its rows."""
    by_clause: dict[str, list[Fault]] = {}
    for fault in run.faults:
        by_clause.setdefault(fault.clause, []).append(fault)
    return {
        clause.id: [
            Proven(fault, _outcome(run, fault, clause))
            for prefix in _prefixes(clause.id)
            for fault in by_clause.get(prefix, ())
        ]
        for clause in run.clauses
    }


def reasons(run: Run) -> dict[str, str]:
    """Why a clause has no fault, by its id, where the suite says so."""
    found = {
        clause.id: next((run.no_faults[p] for p in _prefixes(clause.id) if p in run.no_faults), "")
        for clause in run.clauses
    }
    return {id_: reason for id_, reason in found.items() if reason}


def _outcome(run: Run, fault: Fault, clause: Clause) -> str:
    said = (proof.outcomes.get((fault.id, clause.id), "") for proof in run.proofs)
    return next((outcome for outcome in said if outcome), "")


def _prefixes(clause: str) -> Iterable[str]:
    """`page/family/row`, and the family that it is of."""
    parts = clause.split("/")
    return ("/".join(parts[:count]) for count in range(2, len(parts) + 1))
