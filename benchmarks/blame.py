# SPDX-License-Identifier: BSD-2-Clause
"""Whom the suite blames if one call of a provider is broken, and how much it still judges.

Run it as `.venv/bin/python -m benchmarks.blame`; `--help` names the options. Each call of the
reference provider is broken in turn, in each of several ways, behind the faulty provider. First,
drawn cases run on the unbroken provider, and their calls are recorded. Then, for each broken call,
those of them run again that make it: the others cannot meet the fault.
"""

import argparse
import json
import random
import re
import sys
from collections.abc import Iterable, Sequence
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
from faults.rows import Fault, Step
from results.runlog.records import KEPT, NOT_KEPT, Record
from runners.campaign.mutation.campaign import DEADLINE_MS, EVENT_MS, QUIET_MS, dat_conf
from runners.campaign.plan.assignment import Assignment, agent_command
from runners.campaign.plan.plan import Case, controls, identity, load_cases, planned
from runners.campaign.plan.subject import from_library
from runners.campaign.session.attempt import Attempt, limits
from runners.campaign.session.session import Limits
from runners.campaign.session.testbed import Testbed
from runners.checkout import Checkout, here

SEED = 34
# One call takes about a minute, in all ways, with so many cases that make it.
CASES = 120
MODES = {
    "refused": {"do": "answer", "returns": "DAT_INTERNAL_ERROR"},
    "nothing": {"do": "answer", "returns": "DAT_SUCCESS"},
    "crash": {"do": "run", "function": "crash"},
    "hang": {"do": "hang"},
}
# Without these no IA is opened, and no case runs.
VITAL = {"dat_ia_open", "dat_ia_close"}
WHOLE_IA = "whole"
FILE = "blame.jsonl"
GUESTS = 3
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
    """What became of the cases while calls were broken: counts, and the wrong ones in words."""

    red: int = 0
    own: int = 0
    blocked: int = 0
    blocked_rightly: int = 0
    free: int = 0
    judged: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, other: "Figures") -> None:
        """Add the figures of another call."""
        for name in ("red", "own", "blocked", "blocked_rightly", "free", "judged", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        return (
            f"{self.own} of {self.red} red clauses are the call's ({share(self.own, self.red)}); "
            f"{self.blocked_rightly} of {self.blocked} blocked ones name it; "
            f"{self.judged} of {self.free} that do not need it are judged "
            f"({share(self.judged, self.free)})"
        )


def share(part: int, of: int) -> str:
    """A share in percent."""
    return f"{100 * part / of:.1f} %" if of else "none"


class Beds:
    """Guests that run jobs side by side; what happens is written to a file."""

    def __init__(self, assignment: Assignment, stack: ExitStack, path: Path) -> None:
        self._file = stack.enter_context(path.open("w", encoding="utf-8", buffering=1))
        self._free: SimpleQueue[Testbed] = SimpleQueue()
        self._pool = stack.enter_context(ThreadPoolExecutor(GUESTS))
        for number in range(GUESTS):
            testbed = Testbed(assignment, 1, f"{number}-")
            stack.callback(testbed.close)
            testbed.prepare()
            self._free.put(testbed)

    def run(self, jobs: Iterable[Job]) -> list[Record]:
        """Run all jobs; what came of each."""
        records = []
        for record in self._pool.map(self._run, jobs):
            self._file.write(json.dumps(record) + "\n")
            records.append(record)
        return records

    def _run(self, job: Job) -> Record:
        records: list[Record] = []
        testbed = self._free.get()
        try:
            plan = planned(job.case, 1)
            usual = Limits(deadline_ms=DEADLINE_MS, event_ms=EVENT_MS, quiet_ms=QUIET_MS)
            own = job.case.deadline_ms not in (0, Limits().deadline_ms)
            plan = plan if own else replace(plan, deadline_ms=DEADLINE_MS)
            testbed.run(Attempt(plan, ia=job.ia, within=limits(plan, usual)), records.append)
        finally:
            self._free.put(testbed)
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


def faults_of(calls: Iterable[str], folder: Path) -> list[Fault]:
    """Each call, broken in each way."""
    return [
        Fault(path=folder, id=f"{call}/{mode}", text=mode, steps=[Step(on=[call], **how)])  # type: ignore[arg-type]
        for call in calls
        for mode, how in MODES.items()
    ]


def kept(job: Job, record: Record) -> Record:
    """What is written of a verdict."""
    made = {call["call"] for call in record.get("calls", ()) if call.get("who") == "case"}
    return {
        "case": job.case.id,
        "call": job.call,
        "mode": job.mode,
        "verdict": record["verdict"],
        "reason": record["reason"],
        "blocked": record.get("blocked", {}),
        "made": [] if job.call else sorted(made),
    }


def same_call(one: str, other: str) -> bool:
    """dat_ia_open() is a macro for dat_ia_openv()."""
    return one.removesuffix("v") == other.removesuffix("v") if "ia_open" in one else one == other


def is_own(case: Case, call: str, mode: str) -> bool:
    """Whether the clause speaks of the call: its page does, or it is listed with its sentence."""
    return case.page == call or any(
        re.fullmatch(listed.clause, case.id) and call == listed.call and mode in listed.modes
        for listed in LISTED
    )


def judge(cases: Sequence[Case], call: str, verdicts: dict[str, Record]) -> Figures:
    """The figures of one broken call; a case without a verdict did not meet it."""
    figures = Figures()
    for case in cases:
        record = verdicts.get(case.id)
        word = record["verdict"] if record else "PASS"
        if not needs(call, case):
            figures.free += 1
            figures.judged += word in JUDGED
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


def read_whole(path: Path) -> dict[str, set[str]]:
    """Of the cases that passed unbroken, the calls that each made."""
    lines = path.read_text(encoding="utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return {
        record["case"]: set(record["made"])
        for record in records
        if not record["call"] and record["verdict"] in KEPT
    }


def break_call(
    beds: Beds, call: str, modes: Iterable[str], chosen: Sequence[Case], asked: Sequence[Case]
) -> Figures:
    """Run the chosen cases while a call is broken in each way, and print the figures over all that
    are asked about; the sum.
    """
    figures = Figures()
    for mode in modes:
        verdicts = beds.run([Job(case, call, mode) for case in chosen])
        of_mode = judge(asked, call, {record["case"]: record for record in verdicts})
        print(f"{call} {mode}: {of_mode}", flush=True)
        figures.add(of_mode)
    for line in figures.wrong:
        print(f"  {line}", flush=True)
    return figures


def parse(argv: Sequence[str], calls: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.blame", description="Break each call of the provider in turn."
    )
    parser.add_argument("calls", nargs="*", metavar="CALL", help="default: all")
    parser.add_argument(
        "--mode", action="append", choices=MODES, help="how a call is broken (default: all)"
    )
    parser.add_argument(
        "--whole", type=int, metavar="N", help="draw so many cases of the suite (default: all)"
    )
    parser.add_argument(
        "--cases",
        type=int,
        default=CASES,
        metavar="N",
        help=f"run so many of them on each broken call (default: {CASES})",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of both draws (default: {SEED})")
    parser.add_argument("--same", type=Path, metavar="DIR", help="take the calls of an older run")
    parser.add_argument("--plain", action="store_true", help="run no controls")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: runs/blame-<time>")
    options = parser.parse_args(argv)
    if unknown := set(options.calls) - set(calls):
        parser.error(f"no call that can be broken: {', '.join(sorted(unknown))}")
    options.calls = options.calls or calls
    options.mode = options.mode or list(MODES)
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
    faults = faults_of(options.calls, folder)
    registry = folder / "dat.conf"
    library = build(checkout, faults, folder)
    registry.write_text(
        dat_conf(from_library(checkout.reference_provider, "rxe0"), library, faults)
    )
    print(describe_machine())
    total = Figures()
    with ExitStack() as stack:
        assignment = assignment_of(checkout, registry, folder)
        if not options.plain:
            every_plan = [planned(case, 1) for case in every_case]
            assignment = replace(assignment, controls=controls(catalogue, every_plan))
        beds = Beds(assignment, stack, folder / FILE)
        if not options.same:
            beds.run([Job(case) for case in cases])
        made = read_whole((options.same or folder) / FILE)
        cases = [case for case in cases if case.id in made]
        for call in options.calls:
            concerned = [case for case in cases if call in made[case.id]]
            chosen = drawn(concerned, options.cases, f"{options.seed} {call}")
            left = {case.id for case in concerned} - {case.id for case in chosen}
            asked = [case for case in cases if case.id not in left]
            total.add(break_call(beds, call, options.mode, chosen, asked))
    print(f"all: {total} (wanted: {PRECISION} % and {REACH} %)")


if __name__ == "__main__":
    main()
