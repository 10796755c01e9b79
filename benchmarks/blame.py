# SPDX-License-Identifier: BSD-2-Clause
"""Whom the suite blames if one call of a provider is broken, and how much it still judges.

Run it as `.venv/bin/python -m benchmarks.blame`; `--help` names the options. Each call of the
reference provider is broken in turn, in each of several ways, behind the faulty provider. First,
drawn cases run on the unbroken provider, and their calls are recorded; or a run that there is has
them. Then, for each broken call, some of those run again that make it: the others cannot meet the
fault. Each stands for as many of the suite as it was drawn from.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.bad_provider import build, known_calls
from benchmarks.blame_needs import LISTED, needs
from benchmarks.fabric_boot import describe_machine
from faults.generate import calls_of
from faults.rows import Fault, Step, load_faults
from results.runlog.events import read
from results.runlog.records import EVENTS, KEPT, NOT_KEPT, Record
from runners.campaign.mutation.campaign import DEADLINE_MS, EVENT_MS, QUIET_MS, dat_conf
from runners.campaign.plan.assignment import Assignment, agent_command
from runners.campaign.plan.plan import (
    Case,
    Control,
    controls,
    identity,
    load_cases,
    planned,
)
from runners.campaign.plan.subject import from_library
from runners.campaign.session.attempt import Attempt, limits
from runners.campaign.session.session import Limits
from runners.campaign.session.testbed import Testbed
from runners.checkout import Checkout, here

SEED = 34
# Of the cases that make a call, so many in each way: all calls take about a quarter of an hour.
CASES = 3
MODES = {
    "refused": {"do": "answer", "returns": "DAT_INTERNAL_ERROR"},
    "nothing": {"do": "answer", "returns": "DAT_SUCCESS"},
    "crash": {"do": "run", "function": "crash"},
    "hang": {"do": "hang"},
}
# A query tells one of its fields wrongly; which one is drawn from the rows of faults/.
FIELD = "field"
# What the probe of an agent calls too: then it is to meet the fault, and not the whole IA.
PROBED = {"dat_ia_query", "dat_ep_query", "dat_ep_get_status", "dat_evd_wait", "dat_evd_dequeue"}
# Without these no IA is opened, and no case runs.
VITAL = {"dat_ia_open", "dat_ia_close"}
WHOLE_IA = "whole"
FILE = "blame.jsonl"
GUESTS = 3
# What hangs has no other end.
HANG_MS = 3_000
RED = NOT_KEPT - {"BLOCKED"}
JUDGED = KEPT | RED
PRECISION, REACH = 98, 95


@dataclass(frozen=True)
class Job:
    """A case to be run, with a broken call or with none."""

    case: Case
    call: str = ""
    mode: str = ""

    @property
    def ia(self) -> str:
        """The IA that the case opens."""
        return f"fault:{self.call}/{self.mode}" if self.call else WHOLE_IA


@dataclass
class Figures:
    """What became of the cases while calls were broken; `free` and `judged` count all that those
    that ran stand for. The wrong ones are there in words.
    """

    red: int = 0
    own: int = 0
    blocked: int = 0
    blocked_rightly: int = 0
    free: float = 0
    judged: float = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        """Add the figures of another call."""
        for name in ("red", "own", "blocked", "blocked_rightly", "free", "judged", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        return (
            f"{self.own} of {self.red} red clauses are the call's ({share(self.own, self.red)}); "
            f"{self.blocked_rightly} of {self.blocked} blocked ones name it; "
            f"{self.judged:.0f} of {self.free:.0f} that do not need it are judged "
            f"({share(self.judged, self.free)})"
        )


class Concerned(Mapping[str, Control]):
    """Of the controls, those whose cases make the call that is broken at the moment."""

    def __init__(self, whole: Mapping[str, Control], made: Mapping[str, set[str]]) -> None:
        self._whole, self._made = whole, made
        self.call = ""

    def __getitem__(self, call: str) -> Control:
        control = self._whole[call]
        if all(self.call not in self._made.get(one.case, ()) for one in control):
            raise KeyError(call)
        return control

    def __iter__(self) -> Iterator[str]:
        return (call for call in self._whole if call in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def share(part: float, of: float) -> str:
    """A share in percent."""
    return f"{100 * part / of:.1f} %" if of else "none"


class Beds:
    """Guests that run jobs side by side; what happens is written to a file."""

    def __init__(
        self, checkout: Checkout, assignment: Assignment, stack: ExitStack, path: Path
    ) -> None:
        self._checkout, self._assignment = checkout, assignment
        self._file = stack.enter_context(path.open("w", encoding="utf-8", buffering=1))
        self._free: SimpleQueue[tuple[Testbed, Concerned]] = SimpleQueue()
        self._pool = stack.enter_context(ThreadPoolExecutor(GUESTS))
        self._made: dict[str, set[str]] = {}
        for number in range(GUESTS):
            self._free.put(self._open(stack, assignment, str(number)))

    def _open(
        self, stack: ExitStack, assignment: Assignment, name: str
    ) -> tuple[Testbed, Concerned]:
        concerned = Concerned(assignment.controls, self._made)
        testbed = Testbed(replace(assignment, controls=concerned), 1, f"{name}-")
        stack.callback(testbed.close)
        testbed.prepare()
        return testbed, concerned

    def learn(self, made: Mapping[str, set[str]]) -> None:
        """By case, the calls that it makes of an unbroken provider."""
        self._made.update(made)

    def run(self, lots: Iterable[Sequence[Job]]) -> Iterator[list[Record]]:
        """Run lots of jobs side by side, each on one guest; what came of each, in their order."""
        for records in self._pool.map(self._run_lot, lots):
            for record in records:
                self._file.write(json.dumps(record) + "\n")
            yield records

    def _run_lot(self, lot: Sequence[Job]) -> list[Record]:
        bed = self._free.get()
        try:
            with ExitStack() as stack:
                testbed, concerned = self._probing(stack, lot) or bed
                return [self._run(testbed, concerned, job) for job in lot]
        finally:
            self._free.put(bed)

    def _probing(self, stack: ExitStack, lot: Sequence[Job]) -> tuple[Testbed, Concerned] | None:
        if not lot or lot[0].call not in PROBED:
            return None
        argv = agent_command(self._checkout, lot[0].ia)
        name = f"{lot[0].call}-{lot[0].mode}"
        return self._open(stack, replace(self._assignment, argv=argv), name)

    def _run(self, testbed: Testbed, concerned: Concerned, job: Job) -> Record:
        records: list[Record] = []
        concerned.call = job.call
        plan = planned(job.case, 1)
        usual = Limits(deadline_ms=DEADLINE_MS, event_ms=EVENT_MS, quiet_ms=QUIET_MS)
        own = job.case.deadline_ms not in (0, Limits().deadline_ms)
        if job.mode == "hang" or not own:
            shortest = HANG_MS if job.mode == "hang" else DEADLINE_MS
            plan = replace(plan, deadline_ms=shortest)
        testbed.run(Attempt(plan, ia=job.ia, within=limits(plan, usual)), records.append)
        verdicts = [record for record in records if record["type"] == "verdict"]
        return kept(job, (*verdicts, {"verdict": "NOT-RUN", "reason": testbed.given_up})[0])


def assignment_of(checkout: Checkout, registry: Path, folder: Path) -> Assignment:
    """Which agent runs where, with which dat.conf."""
    return Assignment(
        fabric=checkout.fabrics["vm"],
        argv=agent_command(checkout, WHOLE_IA),
        env={"DAT_OVERRIDE": str(registry), "LD_PRELOAD": str(checkout.faulty_libdat)},
        logs=str(folder / "hosts"),
        plan=(),
        identity=identity(checkout.cases_binary),
    )


def wrong_fields(checkout: Checkout, seed: int) -> dict[str, Step]:
    """By query, a step that tells one of its fields wrongly each time, drawn from faults/."""
    rows: dict[str, list[Step]] = {}
    for fault in load_faults(sorted(checkout.faults.rglob("*.toml"))):
        step = fault.steps[0]
        call = step.on[0]
        tells = step.do == "set" and not (step.after or step.remember)
        if call.endswith("_query") and tells and len(fault.steps) == len(step.on) == 1:
            rows.setdefault(call, []).append(replace(step, when="", nth=1, times=0))
    return {call: random.Random(f"{seed} {call}").choice(rows[call]) for call in sorted(rows)}


def ways(
    calls: Iterable[str], modes: Sequence[str], fields: Mapping[str, Step]
) -> dict[tuple[str, str], Step]:
    """Each call, broken in each way."""
    broken = {
        (call, mode): Step(on=[call], **MODES[mode])  # type: ignore[arg-type]
        for call in calls
        for mode in modes
        if mode in MODES
    }
    if FIELD in modes:
        broken |= {(call, FIELD): fields[call] for call in calls if call in fields}
    return broken


def faults_of(broken: Mapping[tuple[str, str], Step], folder: Path) -> list[Fault]:
    """A fault of each broken call and way."""
    return [
        Fault(path=folder, id=f"{call}/{mode}", text=mode, steps=[step])
        for (call, mode), step in broken.items()
    ]


def kept(job: Job, record: Record) -> Record:
    """What is written of a verdict."""
    return {
        "case": job.case.id,
        "call": job.call,
        "mode": job.mode,
        "verdict": record["verdict"],
        "reason": record["reason"],
        "blocked": record.get("blocked", {}),
        "made": [] if job.call else sorted(made_by_case(record)),
    }


def made_by_case(record: Record) -> set[str]:
    """The calls that the case made, and not its peer."""
    return {call["call"] for call in record.get("calls", ()) if call.get("who") == "case"}


def same_call(one: str, other: str) -> bool:
    """dat_ia_open() is a macro for dat_ia_openv()."""
    return one.removesuffix("v") == other.removesuffix("v") if "ia_open" in one else one == other


def is_own(case: Case, call: str, mode: str) -> bool:
    """Whether the clause speaks of the call: its page does, or it is listed with its sentence."""
    return case.page == call or any(
        re.fullmatch(listed.clause, case.id) and call == listed.call and mode in listed.modes
        for listed in LISTED
    )


def judge(cases: Sequence[Case], call: str, verdicts: dict[str, Record], each: float) -> Figures:
    """The figures of one broken call. A case without a verdict did not meet it; one that has a
    verdict stands for `each`.
    """
    figures = Figures()
    for case in cases:
        record = verdicts.get(case.id)
        word = record["verdict"] if record else "PASS"
        if not needs(call, case):
            weight = each if record else 1
            figures.free += weight
            figures.judged += weight * (word in JUDGED)
        if record is None or word in KEPT:
            continue
        where = f"{call} {record['mode']}: {word} {case.id}: {record['reason']}"
        if word in RED:
            figures.red += 1
            own = is_own(case, call, record["mode"])
            figures.own += own
            figures.wrong += [] if own else [where]
        elif word == "BLOCKED":
            figures.blocked += 1
            named = same_call(record["blocked"].get("call", ""), call)
            figures.blocked_rightly += named
            figures.wrong += [] if named else [where]
        else:
            figures.wrong.append(where)
    return figures


def drawn(cases: Sequence[Case], count: int, seed: str) -> list[Case]:
    """So many of the cases, or all of them if there are no more."""
    chosen = random.Random(seed).sample(cases, min(count, len(cases)))
    return sorted(chosen, key=lambda case: case.id)


def read_whole(folder: Path) -> dict[str, set[str]]:
    """Of the cases that were kept unbroken on one host, the calls that each made; of a run of this
    benchmark, or of certify.
    """
    if (folder / FILE).exists():
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
        records: Iterable[dict[str, Any]] = [json.loads(line) for line in lines]
        unbroken = (record for record in records if not record["call"])
    else:
        records = (one.values for one in read(folder / EVENTS) if one)
        unbroken = (
            {**record, "made": made_by_case(record)}
            for record in records
            if record["type"] == "verdict" and record["hosts"] == 1
        )
    return {record["case"]: set(record["made"]) for record in unbroken if record["verdict"] in KEPT}


@dataclass(frozen=True)
class Lot:
    """A call that is broken in a way, the cases that run on it, and those that it is asked of."""

    call: str
    mode: str
    chosen: list[Case]
    asked: list[Case]
    each: float

    def jobs(self) -> list[Job]:
        """What is to be run."""
        return [Job(case, self.call, self.mode) for case in self.chosen]

    def figures(self, records: Iterable[Record]) -> Figures:
        """What came of it."""
        return judge(self.asked, self.call, {one["case"]: one for one in records}, self.each)


def lot_of(
    call: str, mode: str, cases: Sequence[Case], made: Mapping[str, set[str]], options: Any
) -> Lot:
    """Draw the cases that are run on a call that is broken in a way."""
    concerned = [case for case in cases if call in made[case.id]]
    chosen = drawn(concerned, options.cases, f"{options.seed} {call} {mode}")
    others = [case for case in cases if call not in made[case.id]]
    return Lot(call, mode, chosen, others + chosen, len(concerned) / max(1, len(chosen)))


def tell(by_way: Mapping[str, Figures], each: Figures) -> None:
    """Print the figures of each way, what is wrong, and the sum."""
    for mode, figures in by_way.items():
        print(f"{mode}: {figures}")
    for line in each.wrong:
        print(f"  {line}")
    print(f"all: {each} (wanted: {PRECISION} % and {REACH} %)")


def parse(argv: Sequence[str], calls: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.blame", description="Break each call of the provider in turn."
    )
    parser.add_argument("calls", nargs="*", metavar="CALL", help="default: all")
    parser.add_argument(
        "--mode",
        action="append",
        choices=[*MODES, FIELD],
        help="how a call is broken (default: all)",
    )
    parser.add_argument(
        "--whole", type=int, metavar="N", help="draw so many cases of the suite (default: all)"
    )
    parser.add_argument(
        "--cases",
        type=int,
        default=CASES,
        metavar="N",
        help=f"run so many of them on each broken call, in each way (default: {CASES})",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of both draws (default: {SEED})")
    parser.add_argument(
        "--same", type=Path, metavar="DIR", help="take the calls of cases from a run"
    )
    parser.add_argument("--plain", action="store_true", help="run no controls")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/blame-<time>")
    options = parser.parse_args(argv)
    if unknown := set(options.calls) - set(calls):
        parser.error(f"no call that can be broken: {', '.join(sorted(unknown))}")
    options.calls = options.calls or calls
    options.mode = options.mode or [*MODES, FIELD]
    return options


def main() -> None:
    """Print the figures."""
    checkout = here()
    every_call = [call for call in calls_of(known_calls(checkout)) if call not in VITAL]
    options = parse(sys.argv[1:], every_call)
    folder = (options.out or checkout.runs / f"blame-{datetime.now(UTC):%Y%m%d-%H%M%S}").resolve()
    folder.mkdir(parents=True)
    catalogue, every_case = load_cases(checkout)
    cases = [case for case in every_case if not case.network]
    if options.whole:
        cases = drawn(cases, options.whole, str(options.seed))
    broken = ways(options.calls, options.mode, wrong_fields(checkout, options.seed))
    faults = faults_of(broken, folder)
    registry = folder / "dat.conf"
    library = build(checkout, faults, folder)
    registry.write_text(
        dat_conf(from_library(checkout.reference_provider, "rxe0"), library, faults)
    )
    print(describe_machine())
    total, by_way = Figures(), {mode: Figures() for mode in options.mode}
    with ExitStack() as stack:
        assignment = assignment_of(checkout, registry, folder)
        if not options.plain:
            every_plan = [planned(case, 1) for case in every_case]
            assignment = replace(assignment, controls=controls(catalogue, every_plan))
        beds = Beds(checkout, assignment, stack, folder / FILE)
        if not options.same:
            # Without the calls of the controls none of them would run.
            known = {one.case for control in assignment.controls.values() for one in control}
            known |= {one.id for one in cases}
            for _ in beds.run([Job(case)] for case in every_case if case.id in known):
                pass
        made = read_whole(options.same or folder)
        beds.learn(made)
        cases = [case for case in cases if case.id in made]
        lots = [lot_of(call, mode, cases, made, options) for call, mode in broken]
        for lot, records in zip(lots, beds.run(lot.jobs() for lot in lots), strict=True):
            figures = lot.figures(records)
            print(f"{lot.call} {lot.mode}: {figures}", flush=True)
            by_way[lot.mode].add(figures)
            total.add(figures)
    tell(by_way, total)


if __name__ == "__main__":
    main()
