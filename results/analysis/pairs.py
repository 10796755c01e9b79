# SPDX-License-Identifier: BSD-2-Clause
"""A suite that ran on each pair of hosts: what each met, and the cases in which pairs differ."""

from collections import Counter
from dataclasses import dataclass, field

from results.model.attempt import NOT_KEPT, UNKNOWN, Verdict, worst
from results.model.clause import Case
from results.model.run import Run

Place = tuple[str, ...]


@dataclass
class Cell:
    """The first verdicts of all cases on a pair of hosts, or on a host alone."""

    counts: Counter[Verdict] = field(default_factory=Counter)

    @property
    def verdict(self) -> Verdict:
        """The worst of them."""
        return worst(self.counts) or Verdict.NOT_RUN

    @property
    def others(self) -> int:
        """How many were not kept, or not known."""
        return sum(self.counts[verdict] for verdict in NOT_KEPT | UNKNOWN)

    @property
    def text(self) -> str:
        """All of them in words."""
        return ", ".join(f"{self.counts[v]} {v}" for v in Verdict if self.counts[v])


@dataclass(frozen=True)
class Difference:
    """A case that met different verdicts on different hosts, the commonest one first."""

    case: Case
    hosts: int
    places: list[tuple[Verdict, list[Place]]]


@dataclass(frozen=True)
class Pairs:
    """The matrix of pairs: a host alone stands where it would be paired with itself."""

    names: list[str]
    cells: dict[Place, Cell]
    differences: list[Difference]

    def cell(self, one: str, other: str) -> Cell | None:
        """What two hosts met together, in the order in which they were paired."""
        return self.cells.get((one,) if one == other else (one, other))


def pairs(run: Run) -> Pairs:
    """The matrix of `run`, empty where it did not run on each pair."""
    planned = {fabric.hosts: fabric.testbeds for fabric in run.fabrics if fabric.testbeds}
    names = dict.fromkeys(name for places in planned.values() for one in places for name in one)
    cells: dict[Place, Cell] = {}
    differences = []
    for case in run.cases if planned else ():
        for hosts in sorted(case.modes & planned.keys()):
            firsts = {
                attempt.place: attempt.verdict
                for attempt in case.attempts
                if attempt.hosts == hosts and attempt.number == 1
            }
            met: dict[Verdict, list[Place]] = {}
            for place in planned[hosts]:
                verdict = firsts.get(place, Verdict.NOT_RUN)
                cells.setdefault(place, Cell()).counts[verdict] += 1
                met.setdefault(verdict, []).append(place)
            if len(met.keys() - {Verdict.NOT_RUN}) > 1:
                ordered = sorted(met.items(), key=lambda item: -len(item[1]))
                differences.append(Difference(case, hosts, ordered))
    return Pairs(list(names), cells, differences)
