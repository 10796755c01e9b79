# SPDX-License-Identifier: BSD-2-Clause
"""`faults`: show that each case can fail, by providers that are each wrong in one thing."""

import argparse
import json
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.errors import InputError, RunnerError
from results.runlog import records
from runners.checkout import Checkout
from runners.commands import (
    MOST_WORKERS,
    Subparsers,
    add_cpus,
    add_device,
    add_kernel,
    add_patience,
    check_variant,
    fabric_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faults.rows import Fault
    from results.analysis.mutation import Mutation
    from runners.campaign.mutation.draw import Drawn
    from runners.campaign.plan.plan import Case
    from runners.catalogue.clauses import Catalogue
    from runners.fabric.base import Fabric


def add_parser(commands: Subparsers) -> None:
    """Add `faults` to the command line."""
    parser = commands.add_parser(
        "faults",
        help="prove that each case can fail",
        description="Wrap a provider (default: the reference provider) in one that breaks one "
        "clause at a time, and run the clause's case on it: it must turn red. Exit code: 0 every "
        "fault is caught by its own case, 1 not, 2 could not tell, 64 wrong input.",
    )
    parser.add_argument(
        "-k", dest="keyword", default="", metavar="EXPR", help="only the faults of this name"
    )
    parser.add_argument(
        "--draw",
        type=int,
        metavar="MUTANTS",
        help="all faults of the pages that a change touches, and a share of the others that is "
        "drawn by the commit, some MUTANTS in all (docs/faults.md)",
    )
    parser.add_argument("--provider", type=Path, metavar="LIB", help="the provider to wrap")
    parser.add_argument(
        "--ia-params", metavar="STR", help="its ia_params (default: the host's device)"
    )
    parser.add_argument(
        "--variant",
        metavar="NAME",
        help="wrap it in a provider that differs in what the pages leave open, and break that one",
    )
    parser.add_argument("--fabric", default="vm", metavar="NAME", help="default: vm")
    parser.add_argument(
        "--hosts",
        type=int,
        choices=(1, 2),
        default=1,
        help="2: cases with a peer have it on another host (default: 1)",
    )
    parser.add_argument(
        "-n",
        dest="workers",
        type=int,
        metavar="HOSTS",
        help="hosts, or pairs of them, that work side by side (default: as many as pay, which is "
        "one more than two for each processor with guests, and 1 elsewhere)",
    )
    add_cpus(parser)
    add_device(parser)
    add_kernel(parser)
    parser.add_argument(
        "--matrix", action="store_true", help="run each fault against each case of its page"
    )
    add_patience(parser, 1, "1")
    parser.add_argument(
        "--judge",
        choices=("oracle",),
        help="oracle: also judge the calls of each mutant by the executable specification "
        "(docs/oracle.md), and print how many it finds by itself",
    )
    parser.add_argument("--list", action="store_true", help="print the faults, and run nothing")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder (default: runs/faults-<time>)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the mutants that the command line describes; the exit code."""
    from runners.campaign.mutation import campaign as mutation
    from runners.campaign.plan.plan import load_cases
    from runners.campaign.plan.subject import from_library, varied
    from runners.interrupts import Interrupts

    checkout: Checkout = options.checkout
    fabric, settings = _fabric(options, checkout)
    catalogue, cases = load_cases(checkout)
    rows = mutation.rows_of(checkout, catalogue)
    faults = mutation.choose(rows.faults, options.keyword)
    drawn = _drawn(options, catalogue, faults, cases)
    faults = faults if drawn is None else list(drawn.faults)
    if options.list:
        for fault in faults:
            by = f"  (found by {fault.found_by})" if fault.found_by else ""
            print(f"{fault.id}  [{fault.clause or fault.case}]  {fault.text}{by}")
        return 0
    fabric.require()
    subject = from_library(
        _built(options.provider or checkout.reference_provider),
        options.ia_params or fabric.ia_params(settings),
    )
    if options.variant is not None:
        check_variant(options.variant, checkout)
        subject = varied(subject, _built(checkout.faulty_provider), options.variant)
    name = f"faults-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    order = mutation.Order(
        run=name,
        command=options.command_line,
        subject=subject,
        catalogue=catalogue,
        cases=cases,
        rows=rows,
        faults=faults,
        fabric=options.fabric,
        settings=settings,
        hosts=options.hosts,
        workers=options.workers,
        everything=options.matrix,
        patience=options.patience,
        judge=options.judge is not None,
        drawn=drawn,
    )
    _built(checkout.faulty_provider)
    _built(checkout.faulty_libdat)
    if any(fault.found_by for fault in faults):
        _built(checkout.puppet)
    folder = (options.out or checkout.runs / name).resolve()
    with Interrupts(records.COULD_NOT_TELL) as interrupts:
        teller = _Teller()
        try:
            mutation.conduct(checkout, order, folder, teller.tell)
        except KeyboardInterrupt:
            print(f"udapl-cts: {interrupts.seen} ended the run", file=sys.stderr)
    return _report(folder)


def _drawn(
    options: argparse.Namespace,
    catalogue: "Catalogue",
    faults: "Sequence[Fault]",
    cases: "Sequence[Case]",
) -> "Drawn | None":
    """What --draw draws of the faults; None where it is not given."""
    from runners.campaign.mutation import campaign as mutation
    from runners.campaign.mutation import draw

    if options.draw is None:
        return None
    if options.draw < 1:
        raise InputError(f"--draw {options.draw}: at least one mutant has to be drawn")
    counts = mutation.mutants(faults, cases)
    return draw.draw(options.checkout, catalogue, faults, counts, options.draw)


class _Teller:
    """Prints while it runs what a person wants to know: how far it is, and what surprises."""

    def __init__(self) -> None:
        from runners.campaign.schedule.progress import console

        self._out = console()
        self._started = datetime.now(UTC)
        self._counts: dict[str, Counter[str]] = {}

    def tell(self, record: records.Record) -> None:
        """A record that was just written."""
        if record["type"] == "mutation":
            self._out.print(f"{record['run']}: {len(record['faults'])} faults")
            if "drawn" in record:
                self._out.print(record["drawn"]["text"], soft_wrap=True)
        elif record["type"] == "incident":
            self._out.print(f"! {record['host']}: {record['text']}", markup=False)
        elif record["type"] == "verdict":
            self._verdict(record)
        else:
            self._count(*_PURPOSES)

    def _verdict(self, record: records.Record) -> None:
        purpose = record["purpose"]
        if purpose != "whole":
            self._count("whole")
        self._counts.setdefault(purpose, Counter())[record["verdict"]] += 1
        red = record["verdict"] in records.NOT_KEPT
        unexpected = red if purpose in ("whole", "after", "control") else not red
        if unexpected and purpose not in ("page", "hostile"):
            name = record["fault"] or "no fault"
            line = f"{record['verdict']:<11} {name}: {record['case']}  {record['reason']}"
            self._out.print(line, markup=False)

    def _count(self, *purposes: str) -> None:
        seconds = (datetime.now(UTC) - self._started).total_seconds()
        for purpose in purposes:
            counts = self._counts.pop(purpose, Counter())
            if counts:
                counted = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()))
                self._out.print(f"{seconds:6.1f} s  {_PURPOSES[purpose]}: {counted}")


_PURPOSES = {
    "whole": "without a fault",
    "own": "each fault with its own case",
    "page": "faults with other cases of their page",
    "hostile": "hostile faults",
    "after": "without a fault, after a hostile one",
    "sought": "faults that walks have to find",
    "control": "their walks without a fault",
}


def _report(folder: Path) -> int:
    """Render the page, print the conclusion; the exit code."""
    from reports.html.mutation import render
    from results.analysis.mutation import Outcome, load
    from results.errors import ReportError

    try:
        mutation = load(folder)
        path = render(folder)
    except ReportError as error:
        raise RunnerError(str(error)) from error
    for score in mutation.scores:
        print(f"{score.page}, {score.level}: {score.killed} of {score.of} killed by their own case")
    for sought in mutation.sought:
        saw = f": {sought.run.reason}" if sought.run else ""
        print(f"{sought.told}: {sought.fault} ({sought.clause}){saw}")
    for case in mutation.unsteady:
        what = f"{case.fault or 'no fault'} ({case.first.case})"
        print(f"unsteady: {what}: {case.first.verdict}, then {case.second.verdict}")
    for mutant in mutation.of(Outcome.SURVIVED, Outcome.ELSEWHERE):
        print(f"{mutant.outcome}: {mutant.fault} ({mutant.case})")
    for each in mutation.not_green:
        print(f"not green without a fault: {each.case}: {each.ended} {each.reason}")
    for hostile in mutation.loose:
        met = hostile.run.ended if hostile.run else "no verdict"
        after = hostile.after.ended if hostile.after else "none"
        print(f"not contained: {hostile.fault}: {met}, afterwards {after}")
    for page, count in Counter(_page(mutation, id_) for id_ in mutation.head["unproven"]).items():
        clauses = "must clause" if count == 1 else "must clauses"
        print(f"neither fault nor reason: {count} {clauses} of {page}")
    _judged(folder)
    if mutation.drawn:
        print(f"not all faults: {mutation.drawn}")
    print(f"report: {path}")
    return mutation.exit_code


def _judged(folder: Path) -> None:
    """How many of the mutants that struck the executable specification finds by itself."""
    from results.analysis.mutation import FILE

    last: dict[tuple[str, str], records.Record] = {}
    with (folder / FILE).open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line) if line.endswith("\n") else {"type": "cut off"}
            if record["type"] == "verdict" and record["purpose"] == "own":
                last[record["fault"], record["case"]] = record
    struck = [
        each for each in last.values() if "oracle" in each and each["verdict"] in records.NOT_KEPT
    ]
    if not struck:
        return
    found: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for each in struck:
        page = each["case"].split("/", 1)[0]
        of[page] += 1
        if each["oracle"]["verdict"] == "deviates":
            found[page] += 1
        else:
            print(f"not found by the oracle: {each['fault']} ({each['case']})")
    for page, count in sorted(of.items()):
        print(f"oracle, dat_{page}: found {found[page]} of {count} mutants that struck")
    share = 100 * found.total() / of.total()
    print(f"oracle: found {found.total()} of {of.total()} mutants that struck ({share:.1f} %)")


def _page(mutation: "Mutation", clause: str) -> str:
    page: str = next(row["page"] for row in mutation.head["clauses"] if row["id"] == clause)
    return page


def _fabric(
    options: argparse.Namespace, checkout: Checkout
) -> tuple[type["Fabric"], dict[str, Any]]:
    """The fabric and its settings; raises InputError where the options do not fit together."""
    if options.workers is not None and not 1 <= options.workers <= MOST_WORKERS:
        raise InputError(f"-n: from 1 to {MOST_WORKERS} hosts can run the cases")
    return fabric_of(options, checkout)


def _built(library: Path) -> Path:
    if not library.is_file():
        raise RunnerError(
            f"{library} is missing: cmake --preset default && cmake --build --preset default"
        )
    return library
