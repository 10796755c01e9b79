# SPDX-License-Identifier: BSD-2-Clause
"""The model of a faults run, read from its faults.jsonl: which faults the cases caught."""

import itertools
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from results.errors import ReportError
from results.runlog.chain import START, broken

FORMAT = 3
# Format 2 calls the verdict ERROR BROKEN.
_READ = (2, FORMAT)
_FORMER = {"BROKEN": "ERROR"}
FILE = "faults.jsonl"
PAGE = "faults.html"

RED = frozenset({"FAIL", "CRASH", "TIMEOUT"})
KEPT = frozenset({"PASS", "NOTE"})
INAPPLICABLE = frozenset({"UNSUPPORTED", "RESOURCE"})

PROVEN, BROKEN_PROMISE, COULD_NOT_TELL = 0, 1, 2


class Outcome(StrEnum):
    """What became of a mutant."""

    KILLED = "killed"
    ELSEWHERE = "killed only by another case"
    SURVIVED = "survived"
    UNDECIDED = "undecided"
    INAPPLICABLE = "not applicable"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Run:
    """One case with one fault, or with none."""

    case: str
    verdict: str
    reason: str
    ms: float
    # The calls in which its teardown broke.
    teardown: tuple[str, ...] = ()

    @property
    def ended(self) -> str:
        """The verdict, and in which calls teardown broke, if it did."""
        broken = f", teardown failed in {', '.join(self.teardown)}" if self.teardown else ""
        return f"{self.verdict}{broken}"


@dataclass(frozen=True)
class Mutant:
    """A fault and a case of the clause that it violates."""

    fault: str
    text: str
    case: str
    page: str
    level: str
    run: Run | None
    outcome: Outcome
    killers: tuple[Run, ...]

    @property
    def counts(self) -> bool:
        """Whether it has a say in the score."""
        return self.outcome not in (Outcome.INAPPLICABLE, Outcome.UNDECIDED, Outcome.NOT_RUN)


@dataclass(frozen=True)
class Hostile:
    """A fault that is aimed at the harness: what it cost, and how the host was afterwards."""

    fault: str
    text: str
    case: str
    run: Run | None
    after: Run | None
    allowed: tuple[str, ...]
    teardown: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether it was run at all."""
        return self.run is not None and self.run.verdict != "NOT-RUN"

    @property
    def contained(self) -> bool:
        """Whether it cost its verdict, and nothing more."""
        return (
            self.run is not None
            and self.run.verdict in self.allowed
            and set(self.run.teardown or ("none",)) <= set(self.teardown)
            and self.after is not None
            and self.after.verdict in KEPT
            and not self.after.teardown
        )


@dataclass(frozen=True)
class Sought:
    """A fault that no case finds: what random walks made of it, and of its first walk without it.
    `killers` are cases that find it nevertheless.
    """

    fault: str
    text: str
    clause: str
    level: str
    run: Run | None
    control: Run | None
    killers: tuple[Run, ...]

    @property
    def outcome(self) -> Outcome:
        """What became of it; undecided if its walk deviates without it, too."""
        if self.run is None or self.run.verdict == "NOT-RUN":
            return Outcome.NOT_RUN
        if self.killers:
            return Outcome.ELSEWHERE
        if self.run.verdict not in RED:
            lacks = self.run.verdict in INAPPLICABLE
            return Outcome.INAPPLICABLE if lacks else Outcome.SURVIVED
        if self.control is None or self.control.verdict == "NOT-RUN":
            return Outcome.NOT_RUN
        return Outcome.UNDECIDED if self.control.verdict in RED else Outcome.KILLED

    @property
    def told(self) -> str:
        """The outcome in words."""
        return {
            Outcome.KILLED: "found by walks, a case is yet to be written",
            Outcome.ELSEWHERE: f"a case finds it, so found_by is wrong: {self._names}",
            Outcome.SURVIVED: "no walk finds it",
            Outcome.UNDECIDED: "its walk deviates without the fault, too",
            Outcome.INAPPLICABLE: "not applicable",
        }.get(self.outcome, "not run")

    @property
    def _names(self) -> str:
        return ", ".join(killer.case for killer in self.killers)


@dataclass(frozen=True)
class Unsteady:
    """A case that ended otherwise, with the same fault or none, when it was tried again."""

    fault: str
    first: Run
    second: Run


@dataclass(frozen=True)
class Score:
    """Mutants of one page and level: those killed by their own case, of all that count."""

    page: str
    level: str
    killed: int
    of: int

    @property
    def percent(self) -> float:
        """The mutation score."""
        return 100 * self.killed / self.of if self.of else 100.0


@dataclass(frozen=True)
class Cell:
    """Neighbouring squares of a grid: one run, or `span` places where none was."""

    span: int
    kind: str
    title: str


@dataclass(frozen=True)
class Grid:
    """A page's faults, and the cases that were run with any of them."""

    page: str
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True)
class Mutation:
    """A whole faults.jsonl."""

    head: Mapping[str, Any]
    status: str
    whole: Mapping[str, Run]
    mutants: tuple[Mutant, ...]
    hostile: tuple[Hostile, ...]
    sought: tuple[Sought, ...]
    grids: tuple[Grid, ...]
    unsteady: tuple[Unsteady, ...]
    incidents: tuple[str, ...]

    @property
    def not_green(self) -> list[Run]:
        """What the unbroken wrapper was not green in."""
        return [
            run
            for run in self.whole.values()
            if run.verdict not in KEPT | INAPPLICABLE or run.teardown
        ]

    def of(self, *outcomes: Outcome) -> list[Mutant]:
        """The mutants with these outcomes."""
        return [mutant for mutant in self.mutants if mutant.outcome in outcomes]

    @property
    def scores(self) -> list[Score]:
        """The mutation score by page and level."""
        groups: dict[tuple[str, str], list[Mutant]] = {}
        for mutant in self.mutants:
            if mutant.counts:
                groups.setdefault((mutant.page, mutant.level), []).append(mutant)
        return [
            Score(page, level, sum(m.outcome is Outcome.KILLED for m in group), len(group))
            for (page, level), group in sorted(groups.items())
        ]

    @property
    def coverage(self) -> str:
        """How many of all pages have mutants here: "10 of the 73 pages"."""
        pages = self.head.get("pages", ())
        found = {mutant.page for mutant in self.mutants}
        count = len(found & set(pages)) if pages else len(found)
        total = len(pages)
        return f"{count} of the {total} pages" if total else f"{count} pages"

    @property
    def drawn(self) -> str:
        """How the faults were drawn out of all, in words; empty where they were not."""
        return str(self.head.get("drawn", {}).get("text", ""))

    @property
    def loose(self) -> list[Hostile]:
        """Hostile faults that cost more than they may."""
        return [hostile for hostile in self.hostile if hostile.met and not hostile.contained]

    @property
    def exit_code(self) -> int:
        """0: every `must` fault is killed by its own case, or by walks if no case is to find it,
        and the wrapper is green; 1: not; 2: it could not be told.
        """
        alive = [m for m in self.of(Outcome.ELSEWHERE, Outcome.SURVIVED) if m.level == "must"]
        fits = (Outcome.KILLED, Outcome.INAPPLICABLE, Outcome.NOT_RUN)
        astray = [s for s in self.sought if s.level == "must" and s.outcome not in fits]
        not_run = self.of(Outcome.NOT_RUN) or not all(hostile.met for hostile in self.hostile)
        not_run = not_run or any(each.outcome is Outcome.NOT_RUN for each in self.sought)
        if self.status != "complete" or not_run:
            return COULD_NOT_TELL
        return BROKEN_PROMISE if alive or astray or self.not_green or self.loose else PROVEN


def load(folder: Path) -> Mutation:
    """Reads the faults.jsonl of `folder`; a last line that was cut off is left out. ReportError
    where there is none, or one of a newer format.
    """
    path = folder / FILE
    try:
        return _load(path)
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ReportError(f"{path} is damaged ({type(error).__name__}: {error})") from None


def _load(path: Path) -> Mutation:
    *lines, _ = path.read_bytes().split(b"\n")
    records: list[dict[str, Any]] = []
    last = START
    for line in lines:
        number = last.number + 1
        try:
            record = json.loads(line)
        except ValueError:
            raise ReportError(f"{path}:{number} is damaged: it is not JSON") from None
        if number == 1:
            _check_head(path, record)
        if why := broken(record, last):
            raise ReportError(f"{path}:{number} is damaged: {why}")
        records.append(record)
        last = last.to(line)
    if not records:
        raise ReportError(f"{path} is no record of faults: it has no whole line")
    return _mutation(records[0], records[1:])


def _check_head(path: Path, head: Mapping[str, Any]) -> None:
    if head.get("type") != "mutation":
        raise ReportError(f"{path} is no record of faults: its first line does not say so")
    if head["format"] not in _READ:
        raise ReportError(
            f"{path} is of format {head['format']}, and this udapl-cts reads format {FORMAT}"
        )


def _mutation(head: Mapping[str, Any], records: Iterable[Mapping[str, Any]]) -> Mutation:
    runs: dict[str, dict[tuple[str, str], Run]] = {}
    unsteady = []
    incidents = []
    status = "interrupted"
    for record in records:
        if record["type"] == "verdict":
            broken = tuple(one["call"] for one in record.get("teardown", ()))
            word = _FORMER.get(record["verdict"], record["verdict"])
            run = Run(record["case"], word, record["reason"], record["ms"], broken)
            of_purpose = runs.setdefault(record["purpose"], {})
            first = of_purpose.get((record["fault"], record["case"]))
            if first is not None and first.verdict != run.verdict:
                unsteady.append(Unsteady(record["fault"], first, run))
            of_purpose[record["fault"], record["case"]] = run
        elif record["type"] == "incident":
            incidents.append(
                f"{record['host']}: {record['text']}" if record["host"] else record["text"]
            )
        elif record["type"] == "end":
            status = record["status"]
    whole = {case: run for (_, case), run in runs.get("whole", {}).items()}
    matrix = {**runs.get("page", {}), **runs.get("own", {})}
    by_fault: dict[str, dict[str, Run]] = {}
    for (fault_id, case), run in matrix.items():
        by_fault.setdefault(fault_id, {})[case] = run
    clauses = {clause["id"]: clause for clause in head["clauses"]}
    return Mutation(
        head=head,
        status=status,
        whole=whole,
        mutants=tuple(
            _mutant(fault, clauses[case], whole, by_fault.get(fault["id"], {}))
            for fault in head["faults"]
            for case in fault["own"]
        ),
        hostile=tuple(_hostile(fault, runs) for fault in head["faults"] if fault["case"]),
        sought=tuple(
            _sought(fault, head["clauses"], runs, whole, by_fault.get(fault["id"], {}))
            for fault in head["faults"]
            if fault.get("found_by")
        ),
        grids=tuple(_grids(head["faults"], clauses, by_fault)),
        unsteady=tuple(unsteady),
        incidents=tuple(incidents),
    )


def _grids(
    faults: Iterable[Mapping[str, Any]],
    clauses: Mapping[str, Mapping[str, Any]],
    by_fault: Mapping[str, Mapping[str, Run]],
) -> Iterator[Grid]:
    pages: dict[str, list[Mapping[str, Any]]] = {}
    for fault in faults:
        if fault["own"]:
            pages.setdefault(clauses[fault["own"][0]]["page"], []).append(fault)
    for page, rows in sorted(pages.items()):
        runs = [by_fault.get(fault["id"], {}) for fault in rows]
        cases = sorted({case for ran in runs for case in ran})
        yield Grid(
            page,
            tuple(
                (fault["id"], tuple(_cells(cases, ran, fault["own"])))
                for fault, ran in zip(rows, runs, strict=True)
            ),
        )


def _cells(cases: Iterable[str], ran: Mapping[str, Run], own: Collection[str]) -> Iterator[Cell]:
    for here, group in itertools.groupby(cases, key=ran.__contains__):
        if not here:
            yield Cell(len(list(group)), "", "")
            continue
        for case in group:
            if ran[case].verdict in RED:
                kind = "own" if case in own else "red"
            else:
                kind = "alive" if case in own else "green"
            yield Cell(1, kind, f"{case}: {ran[case].verdict}")


def _mutant(
    fault: Mapping[str, Any],
    clause: Mapping[str, Any],
    whole: Mapping[str, Run],
    ran: Mapping[str, Run],
) -> Mutant:
    case = clause["id"]
    run = ran.get(case)
    killers = tuple(
        other
        for name, other in ran.items()
        if name != case and other.verdict in RED and _green(whole, name)
    )
    return Mutant(
        fault=fault["id"],
        text=fault["text"],
        case=case,
        page=clause["page"],
        level=clause["level"],
        run=run,
        outcome=_outcome(run, _green(whole, case), bool(killers)),
        killers=killers,
    )


def _green(whole: Mapping[str, Run], case: str) -> bool:
    return case not in whole or whole[case].verdict in KEPT | INAPPLICABLE


def _outcome(run: Run | None, green: bool, elsewhere: bool) -> Outcome:
    if run is None or run.verdict == "NOT-RUN":
        return Outcome.NOT_RUN
    if not green:
        return Outcome.UNDECIDED
    if run.verdict in INAPPLICABLE:
        return Outcome.INAPPLICABLE
    if run.verdict in RED:
        return Outcome.KILLED
    return Outcome.ELSEWHERE if elsewhere else Outcome.SURVIVED


def _sought(
    fault: Mapping[str, Any],
    clauses: Iterable[Mapping[str, Any]],
    runs: Mapping[str, Mapping[tuple[str, str], Run]],
    whole: Mapping[str, Run],
    ran: Mapping[str, Run],
) -> Sought:
    clause = fault["clause"]
    key = fault["id"], clause
    of_clause = (c for c in clauses if f"{c['id']}/".startswith(f"{clause}/"))
    return Sought(
        fault=fault["id"],
        text=fault["text"],
        clause=clause,
        level=next((c["level"] for c in of_clause), "must"),
        run=runs.get("sought", {}).get(key),
        control=runs.get("control", {}).get(key),
        killers=tuple(
            run for name, run in ran.items() if run.verdict in RED and _green(whole, name)
        ),
    )


def _hostile(
    fault: Mapping[str, Any], runs: Mapping[str, Mapping[tuple[str, str], Run]]
) -> Hostile:
    key = fault["id"], fault["case"]
    return Hostile(
        fault=fault["id"],
        text=fault["text"],
        case=fault["case"],
        run=runs.get("hostile", {}).get(key),
        after=runs.get("after", {}).get(key),
        allowed=tuple(fault["verdicts"]),
        teardown=tuple(fault.get("teardown", ("none",))),
    )
