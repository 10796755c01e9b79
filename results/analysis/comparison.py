# SPDX-License-Identifier: BSD-2-Clause
"""Two runs held against each other: what changed from the one before to the one after."""

import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from results.causes.cause import Cause
from results.causes.grouping import grouped
from results.errors import ReportError
from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN, Verdict
from results.model.breakage import Breakage
from results.model.clause import Clause
from results.model.run import Run

# What tells of a day and a host, and not of the provider.
_OF_A_DAY = frozenset({"ia_address_ptr"})
_HOST_FACTS = (
    "distribution",
    "kernel",
    "architecture",
    "processor",
    "rdma_core",
    "qemu",
    "firmware",
    "boards",
    "links",
    "drivers",
)


class Kind(enum.StrEnum):
    """What became of a clause, the worst first."""

    BROKEN = "kept before, failed now"
    FOUND = "failed now, not known before"
    OTHERWISE_BROKEN = "failed before and now, in another way"
    UNKNOWN = "kept before, not known now"
    GONE = "kept before, not applicable now"
    MENDED = "failed before, kept now"
    KEPT_NOW = "kept now, not known before"
    OTHER = "changed otherwise"


@dataclass(frozen=True)
class Change:
    """A clause whose verdict is another now in one of the modes that both runs had it in."""

    clause: Clause
    modes: Mapping[int, tuple[Verdict, Verdict]]

    @property
    def kind(self) -> Kind:
        """What became of it, in the mode where that is worst."""
        kinds = [_kind(*verdicts) for verdicts in self.modes.values()]
        return min(kinds, key=list(Kind).index)

    @property
    def summary(self) -> str:
        """What the run after saw, where it is not kept; else what the verdict's reason is."""
        return self.clause.remarks[0] if self.clause.remarks else ""


@dataclass(frozen=True)
class Difference:
    """A fact that both runs tell, and tell otherwise; empty where one does not tell it."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Slower:
    """A case that took longer, in milliseconds."""

    case: str
    hosts: int
    before: float
    after: float


@dataclass(frozen=True)
class Comparison:
    """The run `after` against the run `before`."""

    before: Run
    after: Run

    @cached_property
    def changes(self) -> list[Change]:
        """The clauses that both runs had a case of, and that have another verdict now."""
        found = []
        for clause, was in self._common:
            modes = {
                hosts: (one, other)
                for hosts in sorted({h for case in clause.cases for h in case.modes})
                if (one := was.mode(hosts)) and (other := clause.mode(hosts)) and one is not other
            }
            if modes:
                found.append(Change(clause, modes))
        return sorted(found, key=lambda change: list(Kind).index(change.kind))

    def of(self, *kinds: Kind) -> list[Change]:
        """The changes of these kinds."""
        return [change for change in self.changes if change.kind in kinds]

    @cached_property
    def new_findings(self) -> list[Cause]:
        """What was not kept by the run after, and not known to be broken before, by cause."""
        found = {change.clause.id for change in self.of(Kind.BROKEN, Kind.FOUND)}
        found |= {clause.id for clause in self.only_after if clause.verdict in NOT_KEPT}
        return grouped((case for case in self.after.cases if case.clause.id in found), NOT_KEPT)

    @cached_property
    def new_breakages(self) -> list[Breakage]:
        """What broke in teardown after, and not before."""
        known = {broken.trouble.key for broken in self.before.breakages}
        return [broken for broken in self.after.breakages if broken.trouble.key not in known]

    @cached_property
    def mended_breakages(self) -> list[Breakage]:
        """What broke in teardown before, and not after, where a case that met it was run again."""
        known = {broken.trouble.key for broken in self.after.breakages}
        run = {case.id for case in self.after.cases if case.attempts}
        return [
            broken
            for broken in self.before.breakages
            if broken.trouble.key not in known and any(case.id in run for case in broken.cases)
        ]

    @cached_property
    def only_before(self) -> list[Clause]:
        """The clauses that only the run before had a case of."""
        had = {clause.id for clause in self.after.planned}
        return [clause for clause in self.before.planned if clause.id not in had]

    @cached_property
    def only_after(self) -> list[Clause]:
        """The clauses that only the run after had a case of."""
        had = {clause.id for clause in self.before.planned}
        return [clause for clause in self.after.planned if clause.id not in had]

    @cached_property
    def subjects(self) -> list[Difference]:
        """What the two were about, and where they ran, as far as that differs."""
        return list(_differing(_facts(self.before), _facts(self.after)))

    @cached_property
    def attributes(self) -> list[Difference]:
        """The attributes and features that the IA and the provider tell otherwise now."""
        return list(_differing(_attributes(self.before), _attributes(self.after)))

    @cached_property
    def slower(self) -> list[Slower]:
        """The cases that were kept both times and took twice as long now, and 100 ms more."""
        took = {
            (case.id, hosts): attempt.ms
            for case in self.before.cases
            for hosts in case.modes
            if (attempt := case.first(hosts)) and attempt.verdict in KEPT
        }
        found = [
            Slower(case.id, hosts, took[case.id, hosts], attempt.ms)
            for case in self.after.cases
            for hosts in sorted(case.modes)
            if (case.id, hosts) in took
            and (attempt := case.first(hosts))
            and attempt.verdict in KEPT
            and attempt.ms > max(2 * took[case.id, hosts], took[case.id, hosts] + 100)
        ]
        return sorted(found, key=lambda each: each.before - each.after)

    @cached_property
    def compared(self) -> int:
        """How many clauses both runs had a case of."""
        return len(self._common)

    @cached_property
    def regressed(self) -> bool:
        """Whether something that was kept is broken now, in a clause or in teardown."""
        run = {case.id for case in self.before.cases if case.attempts}
        freed = any(case.id in run for broken in self.new_breakages for case in broken.cases)
        return freed or any(
            _kind(*verdicts) is Kind.BROKEN
            for change in self.changes
            for verdicts in change.modes.values()
        )

    @cached_property
    def uncertain(self) -> bool:
        """Whether something that was kept is not known now."""
        return any(
            _kind(*verdicts) is Kind.UNKNOWN
            for change in self.changes
            for verdicts in change.modes.values()
        )

    @property
    def word(self) -> str:
        """The result in a word or two, one for each exit code."""
        if self.regressed:
            return "regressed"
        return "could not tell" if self.uncertain else "no regression"

    @cached_property
    def sentence(self) -> str:
        """The result in a sentence."""
        counts = [(kind, len(self.of(kind))) for kind in Kind]
        said = [f"{count} {kind}" for kind, count in counts if count]
        walks = sum(broken.walk is not None for broken in self.new_breakages)
        if walks:
            said.insert(0, f"random walks found {walks} new defects")
        if ways := len(self.new_breakages) - walks:
            said.insert(0, f"teardown failed in {ways} new ways")
        of = "1 clause" if self.compared == 1 else f"{self.compared} clauses"
        return f"of {of} in both runs, " + ("; ".join(said) if said else "none changed")

    @cached_property
    def _common(self) -> list[tuple[Clause, Clause]]:
        """The clauses of both, as the run after has them, and as the run before had them."""
        had = {clause.id: clause for clause in self.before.planned}
        return [(clause, had[clause.id]) for clause in self.after.planned if clause.id in had]


def compare(before: Run, after: Run) -> Comparison:
    """Hold two runs against each other. Raises ReportError where they have no clause in common."""
    found = Comparison(before, after)
    if not found.compared:
        raise ReportError(
            f"the runs {before.id} and {after.id} have no clause in common: "
            "there is nothing to compare"
        )
    return found


def seconds(run: Run) -> float | None:
    """How long a run took from its start to its last record; None where nothing tells, or where
    the clock was set back meanwhile.
    """
    try:
        begun = datetime.fromisoformat(run.started)
        ended = datetime.fromisoformat(run.end.finished if run.end else "")
    except ValueError:
        return None
    return (ended - begun).total_seconds() if ended >= begun else None


def _kind(was: Verdict, now: Verdict) -> Kind:
    if was is now:
        return Kind.OTHER
    if now in NOT_KEPT:
        if was in NOT_KEPT:
            return Kind.OTHERWISE_BROKEN
        return Kind.BROKEN if was in KEPT else Kind.FOUND
    if was in KEPT and now not in KEPT:
        return Kind.UNKNOWN if now in UNKNOWN else Kind.GONE
    if now in KEPT and was not in KEPT:
        return Kind.MENDED if was in NOT_KEPT else Kind.KEPT_NOW
    return Kind.OTHER


def _facts(run: Run) -> dict[str, str]:
    """What a run was about, and where it ran."""
    hosts = [host for fabric in run.fabrics for host in fabric.facts]
    told = {
        key: ", ".join(dict.fromkeys(host[key] for host in hosts if host.get(key)))
        for key in _HOST_FACTS
    }
    return {
        "library": run.subject.name,
        "SHA-256": run.subject.sha256,
        "build id": run.subject.build_id,
        "DAT API": run.subject.api,
        "variant": run.subject.variant,
        "registry": run.subject.registry,
        "registry's SHA-256": run.subject.libdat_sha256,
        "suite": f"{run.suite.commit}{', with local changes' if run.suite.dirty else ''}",
        "fabric": run.fabric,
        "modes": ", ".join(map(str, run.modes)),
        "patience": str(run.patience),
        "assumed": ", ".join(f"{name} = {int(said)}" for name, said in sorted(run.assumed.items())),
        **told,
    }


def _attributes(run: Run) -> dict[str, str]:
    """The attributes and features of a run's IA; none where it was not opened."""
    fabric = next((fabric for fabric in run.fabrics if fabric.opened), None)
    if fabric is None:
        return {}
    told = {key: value for key, value in fabric.attributes.items() if key not in _OF_A_DAY}
    return told | fabric.needs


def _differing(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[Difference]:
    names: Iterable[str] = dict.fromkeys([*before, *after])
    for name in names:
        one, other = before.get(name, ""), after.get(name, "")
        if one != other:
            yield Difference(name, one, other)
