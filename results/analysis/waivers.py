# SPDX-License-Identifier: BSD-2-Clause
"""Waivers: findings that a person answers for. A waiver never replaces a verdict."""

from collections.abc import Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from results.model.attempt import KEPT, NOT_KEPT, Verdict
from results.model.clause import Clause, Waiver
from results.model.run import Run

_WAS_KEPT = "its clause was kept"


@dataclass(frozen=True)
class Judged:
    """A waiver after a run: the clauses that it waives, or why it is `unused`; neither where the
    run says nothing of its clauses.
    """

    waiver: Waiver
    clauses: Sequence[Clause]
    unused: str

    @property
    def mended(self) -> bool:
        """Whether there is nothing to waive any more."""
        return self.unused == _WAS_KEPT


def judge(run: Run) -> list[Judged]:
    """Each waiver of `run`, in the order of its file."""
    taken: set[str] = set()
    judged = []
    for waiver in run.waivers:
        found = [clause for clause in run.clauses if covers(waiver, clause.id)]
        broken = [clause for clause in found if clause.verdict in NOT_KEPT]
        free = [clause for clause in broken if clause.id not in taken]
        unused = _another_subject(run, waiver)
        if not unused and not free:
            unused = "another waiver has its clause" if broken else _nothing_to_waive(found)
        clauses = [] if unused else free
        taken.update(clause.id for clause in clauses)
        judged.append(Judged(waiver, clauses, unused))
    return judged


def waived(run: Run) -> dict[str, Waiver]:
    """The waivers that are used, by the id of the clause."""
    return {clause.id: judged.waiver for judged in judge(run) for clause in judged.clauses}


def sentence(run: Run) -> str:
    """How many findings are waived, and what follows; empty where no waiver was given."""
    if not run.waivers:
        return ""
    found = len(run.with_verdict(*NOT_KEPT))
    count = len(waived(run))
    findings = "1 finding" if found == 1 else f"{found} findings"
    said = [f"{findings}, {count or 'none'} waived: a waiver changes no verdict."]
    if run.waived_ok:
        mended = [judged.waiver.clause for judged in judge(run) if judged.mended]
        if accepted(run):
            said.append("All are waived, and by --waived-ok the exit code does not count them.")
        elif found or run.breakages:
            said.append("Not all are waived, so --waived-ok changes nothing.")
        if mended:
            said.append(f"Not needed any more, for their clauses were kept: {', '.join(mended)}.")
    return " ".join(said)


def accepted(run: Run) -> bool:
    """Whether there are findings, and who ran it takes them all, since each is waived.

    What broke in teardown is of no clause, and no waiver covers it.
    """
    found = run.with_verdict(*NOT_KEPT)
    return bool(run.waived_ok and found and not run.breakages and len(waived(run)) == len(found))


def covers(waiver: Waiver, clause: str) -> bool:
    """Whether a waiver names this clause, or the family that it is of."""
    return clause == waiver.clause or clause.startswith(waiver.clause + "/")


def _another_subject(run: Run, waiver: Waiver) -> str:
    """Why the waiver is for another provider than the one that was opened."""
    attributes = next((fabric.attributes for fabric in run.fabrics if fabric.opened), None)
    if attributes is None:
        return ""
    name = attributes.get("provider_name", "")
    version = run.provider_version
    if name != waiver.provider:
        return f"it is for the provider {waiver.provider!r}, and this one calls itself {name!r}"
    try:
        fits = Version(version) in SpecifierSet(waiver.versions)
    except (InvalidSpecifier, InvalidVersion):
        fits = False
    if fits:
        return ""
    return f"it is for the versions {waiver.versions}, and this is {version or 'of no version'}"


def _nothing_to_waive(clauses: Sequence[Clause]) -> str:
    """Why no clause is waived; empty where nothing is known of one that could be."""
    verdicts = {clause.verdict for clause in clauses if clause.check != "none"}
    if not verdicts - KEPT - {Verdict.UNSUPPORTED}:
        if verdicts & KEPT:
            return _WAS_KEPT
        return "its clause did not apply" if verdicts else ""
    return ""
