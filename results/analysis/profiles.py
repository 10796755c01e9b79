# SPDX-License-Identifier: BSD-2-Clause
"""Profiles: what a provider promises, Core and each optional feature, and what came of each."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from results.analysis.features import how
from results.model.attempt import KEPT, NOT_KEPT, Verdict
from results.model.clause import Clause
from results.model.run import Run

CORE = "core"
REGISTRY = "registry"
SRQ = "srq_supported"

CRITERIA = {
    "success": "each of its clauses was checked and kept, but for those that did not apply",
    "partial": (
        "none of its clauses failed, but at least one was not checked: not selected,"
        " NOT-RUN, BLOCKED, ERROR or RESOURCE"
    ),
    "not known": "none of its clauses was checked, so nothing is known of it",
    "fail": (
        "at least one of its clauses ended in FAIL, CRASH, TIMEOUT or CONTRADICTED; of a declared"
        " feature, the answer that it is not supported is one"
    ),
    "not declared": (
        "the provider's attributes declare the feature absent, which is no fault: its clauses are"
        " UNSUPPORTED; that it works all the same is a note. If they tell nothing of it, a trial or"
        " --assume says so"
    ),
}
MEMBERS = (
    "Core has every must clause that needs no optional feature. A feature has every must clause"
    " that needs it; one that needs SRQs and a further feature is the further one's. What the"
    " registry (libdat) has to keep, and no provider, is in Registry, and in no other."
)


def of(level: str, check: str, needs: Iterable[str], blame: str = "provider") -> tuple[str, ...]:
    """The profiles of a clause with these members; none where it is no `must` with a case."""
    if level != "must" or check == "none":
        return ()
    if blame == REGISTRY:
        return (REGISTRY,)
    needed = tuple(needs)
    further = tuple(need for need in needed if need != SRQ)
    return further or needed or (CORE,)


def title(name: str) -> str:
    """A profile's name for people: "Core", "Registry", or the feature."""
    return name.capitalize() if name in (CORE, REGISTRY) else name


@dataclass(frozen=True)
class Profile:
    """One profile in one run. `total` counts its clauses in the whole suite, `standings` those
    that this run has a verdict for; `result` is one of CRITERIA, `because` why.
    """

    name: str
    total: int
    standings: Counter[Verdict]
    result: str
    because: str

    @property
    def title(self) -> str:
        """Its name for people: "Core", "Registry", or the feature."""
        return title(self.name)

    @property
    def kept(self) -> int:
        """How many clauses were kept."""
        return sum(self.standings[verdict] for verdict in KEPT)

    @property
    def broken(self) -> int:
        """How many clauses were not kept."""
        return sum(self.standings[verdict] for verdict in NOT_KEPT)

    @property
    def inapplicable(self) -> int:
        """How many clauses did not apply."""
        return self.standings[Verdict.UNSUPPORTED]

    @property
    def unchecked(self) -> int:
        """How many clauses nothing is known of."""
        return self.total - self.kept - self.broken - self.inapplicable


def profiles(run: Run) -> list[Profile]:
    """The profiles of the suite that `run` was made with, Core first."""
    members: dict[str, list[Clause]] = {name: [] for name in run.suite.profiles}
    for clause in run.clauses:
        for name in of(clause.level, clause.check, clause.needs, clause.blame):
            members.setdefault(name, []).append(clause)
    return [
        _profile(run, name, members[name])
        for name in sorted(
            members, key=lambda name: (name != CORE, name != REGISTRY, name != SRQ, name)
        )
    ]


def _profile(run: Run, name: str, clauses: Sequence[Clause]) -> Profile:
    total = max(run.suite.profiles.get(name, 0), len(clauses))
    verdicts = Counter(clause.verdict for clause in clauses if clause.verdict)
    counted = Profile(name, total, verdicts, "", "")
    result, because = _result(run, counted, clauses)
    if (said := how(run, name)) and said not in because:
        because += f"; {said}"
    return Profile(name, total, verdicts, result, because)


def _result(run: Run, profile: Profile, clauses: Sequence[Clause]) -> tuple[str, str]:
    if profile.broken:
        return "fail", f"{profile.broken} of {profile.total} clauses failed"
    if profile.name not in (CORE, REGISTRY) and _denied(run, profile.name):
        return "not declared", _denial(run, clauses) + _remark(run, profile.name)
    if not profile.kept:
        return "not known", f"none of {profile.total} clauses was checked"
    if profile.unchecked:
        return "partial", f"{profile.unchecked} of {profile.total} clauses not checked"
    because = f"{profile.kept} of {profile.total} clauses checked and kept"
    if profile.inapplicable:
        because += f", {profile.inapplicable} did not apply"
    return "success", because


def _denied(run: Run, feature: str) -> bool:
    """Whether each IA that was opened declares `feature` absent."""
    said = [fabric.needs[feature] for fabric in run.fabrics if feature in fabric.needs]
    return bool(said) and all(word == "false" for word in said)


def _remark(run: Run, feature: str) -> str:
    """That a feature works though it is not declared, by the case that shows it at work."""
    for tried in run.undeclared:
        if tried.feature == feature and tried.verdict in KEPT:
            return f"; note: it works all the same, as {tried.case} shows"
    return ""


def _denial(run: Run, clauses: Iterable[Clause]) -> str:
    """The attribute that says so, as the cases met it."""
    for clause in clauses:
        for case in clause.cases:
            if case.decisive and case.decisive.verdict is Verdict.UNSUPPORTED:
                return case.decisive.reason
    return "its attribute declares it absent"
