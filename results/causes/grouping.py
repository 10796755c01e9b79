# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: one defect of a provider may fail a hundred clauses, and block more."""

from collections.abc import Collection, Iterable, Mapping

from results.causes.cause import Cause, cause_of
from results.causes.findings import keys_of
from results.causes.joining import joined
from results.causes.keys import Key, drop_doubtful
from results.causes.pages import Pages
from results.model.attempt import NOT_KEPT, UNKNOWN, Verdict
from results.model.clause import Case
from results.model.run import Run

_ORDER = list(Verdict)


def causes(run: Run) -> list[Cause]:
    """The findings of `run` by cause, the one that fails or blocks most clauses first."""
    return grouped(run.cases, NOT_KEPT | {Verdict.BLOCKED})


def unknown_causes(run: Run) -> list[Cause]:
    """The same of the cases that came to no verdict, by no fault of the provider."""
    return grouped(run.cases, UNKNOWN - {Verdict.NOT_RUN, Verdict.BLOCKED})


def grouped(cases: Iterable[Case], verdicts: Collection[Verdict]) -> list[Cause]:
    """The `cases` that ended in one of these `verdicts`, by cause, as causes() has them."""
    cases = list(cases)
    found = _keys_by_place(cases, verdicts)
    drop_doubtful(found)
    groups = joined(found, _behind(cases, found))
    by_cause = [cause_of([cases[place] for place in places]) for places in groups]
    return sorted(by_cause, key=lambda cause: (-cause.reach, -_ORDER.index(cause.verdict)))


def _keys_by_place(cases: list[Case], verdicts: Collection[Verdict]) -> dict[int, set[Key]]:
    """What each finding is known by, by its place among the cases."""
    # Where a call deviates and cases are kept nevertheless, others fail for another reason.
    harmless = {
        trouble.clause for case in cases for each in case.attempts for trouble in each.beside
    }
    broken = {case.id for case in cases if case.worst in NOT_KEPT}
    pages = Pages.of(cases)
    found: dict[int, set[Key]] = {}
    for place, case in enumerate(cases):
        if case.worst in verdicts and case.decisive is not None:
            # What the registry got wrong, no provider did; a call that blocks is the provider's.
            blame = "provider" if case.worst is Verdict.BLOCKED else case.clause.blame
            own = keys_of(case.decisive, harmless, broken)
            found[place] = {(blame, *key) for key in pages.keys_of(case.decisive, own)}
    return found


def _behind(cases: list[Case], found: Mapping[int, set[Key]]) -> dict[int, int]:
    """The places of blocked findings that name a clause which failed, and of the finding of it."""
    blocked = {place for place in found if cases[place].worst is Verdict.BLOCKED}
    failed = {cases[place].id: place for place in found.keys() - blocked}
    named = ((place, key[2]) for place in blocked for key in found[place] if key[1] == "clause")
    return {place: failed[clause] for place, clause in named if clause in failed}
