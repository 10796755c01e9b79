# SPDX-License-Identifier: BSD-2-Clause
"""`explore`: walk through the API at random, and judge each call by the pages."""

import argparse
import random
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import InputError, RunnerError
from runners.checkout import APIS, DEFAULT_API, Checkout
from runners.commands import (
    WALK_SECONDS_MOST,
    Subparsers,
    add_cpus,
    add_device,
    add_kernel,
    fabric_of,
    walk_seconds,
)
from runners.names import nearest

if TYPE_CHECKING:
    from runners.campaign.explore.campaign import Order
    from runners.campaign.explore.search import Finding
    from runners.campaign.explore.walk import Walker

AGREES, DEVIATES, COULD_NOT_TELL = 0, 1, 2
SECONDS, STEPS = 60.0, 60
STEPS_MOST = 200
TELL_EVERY_S = 5.0
SEEDS = 1 << 31


def add_parser(commands: Subparsers) -> None:
    """Add `explore` to the command line."""
    parser = commands.add_parser(
        "explore",
        help="walk through the API at random, and judge each call by the pages",
        description="Draw random walks, take each on a provider, and judge each call by the "
        "executable specification. A walk that deviates is shrunk to few calls (docs/explore.md). "
        "Exit code: 0 no call deviates, 1 one does, 2 could not tell, 64 wrong input.",
    )
    parser.add_argument(
        "objects",
        nargs="*",
        metavar="OBJECT",
        help="only calls of these objects: ep, evd, srq, ... (default: all)",
    )
    parser.add_argument(
        "--seconds", type=walk_seconds, default=SECONDS, metavar="N", help="default: 60"
    )
    parser.add_argument(
        "--walks", type=_walks, metavar="N", help="end after so many walks, and not by the clock"
    )
    parser.add_argument("--seed", type=int, metavar="S", help="the walks of an earlier exploration")
    parser.add_argument(
        "--steps",
        type=_steps,
        default=STEPS,
        metavar="N",
        help=f"steps of a walk at most, behind the first (1 to {STEPS_MOST}; default: {STEPS})",
    )
    parser.add_argument(
        "--hosts",
        type=int,
        choices=(1, 2),
        default=1,
        help="2: each walk has a peer on the second host (default: 1)",
    )
    parser.add_argument("--provider", type=Path, metavar="LIB", help="default: the reference one")
    parser.add_argument(
        "--api",
        choices=APIS,
        default=DEFAULT_API,
        help=f"the DAT API that it speaks (default: {DEFAULT_API})",
    )
    parser.add_argument("--ia-params", metavar="STR", help="its ia_params (default: the device)")
    parser.add_argument("--fabric", default="vm", metavar="NAME", help="default: vm")
    parser.add_argument(
        "--fault",
        default="",
        metavar="ID",
        help="break the provider by this fault (docs/faults.md)",
    )
    parser.add_argument(
        "--walk", type=Path, metavar="FILE", help="take the walk of this file once, and search none"
    )
    parser.add_argument(
        "--emit-c",
        action="store_true",
        help="write each finding as a C case, which expects what the reference provider answers",
    )
    add_cpus(parser)
    add_device(parser)
    add_kernel(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder (default: runs/explore-<time>)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Explore as the command line says; the exit code."""
    from runners.interrupts import Interrupts

    checkout: Checkout = options.checkout.by(options.api)
    order = _order(options, checkout)
    folder = options.out or checkout.runs / f"explore-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    with Interrupts(COULD_NOT_TELL) as interrupts:
        try:
            if options.walk is not None:
                return _walk(checkout, order, options.walk, folder.resolve())
            return _explore(checkout, order, folder.resolve())
        except KeyboardInterrupt:
            print(f"udapl-cts: {interrupts.seen} ended the exploration", file=sys.stderr)
            return COULD_NOT_TELL


def _order(options: argparse.Namespace, checkout: Checkout) -> "Order":
    from runners.campaign.explore.campaign import Order
    from runners.campaign.explore.steps import OBJECTS, objects_by
    from runners.campaign.mutation.campaign import rows_of
    from runners.campaign.plan.plan import load_cases
    from runners.campaign.plan.subject import from_library

    for name in options.objects:
        if name not in OBJECTS:
            raise InputError(f"no walk has calls of {name!r}" + nearest(name, OBJECTS))
    if options.fault and options.api != DEFAULT_API:
        raise InputError(f"--fault breaks providers of DAT {DEFAULT_API} only")
    if options.emit_c and options.api != DEFAULT_API:
        raise InputError(f"--emit-c writes cases of walks by DAT {DEFAULT_API} only")
    if options.fault:
        catalogue, _ = load_cases(checkout)
        known = [fault.id for fault in rows_of(checkout, catalogue).faults if not fault.in_libdat]
        if options.fault not in known:
            raise InputError(
                f"no provider has the fault {options.fault!r}" + nearest(options.fault, known)
            )
    fabric, settings = fabric_of(options, checkout)
    fabric.require()
    for built in (checkout.puppet, checkout.reference_provider):
        if not built.is_file():
            raise RunnerError(f"{built} is not built: cmake --build --preset default")
    return Order(
        subject=from_library(
            options.provider or checkout.reference_provider,
            options.ia_params or fabric.ia_params(settings),
            options.api,
        ),
        fabric=options.fabric,
        settings=settings,
        objects=options.objects or objects_by(options.api),
        steps=options.steps,
        seconds=options.seconds if options.walks is None else WALK_SECONDS_MOST,
        walks=options.walks or 0,
        hosts=options.hosts,
        seed=random.randrange(SEEDS) if options.seed is None else options.seed,
        fault=options.fault,
        reference=from_library(checkout.reference_provider, fabric.ia_params(settings))
        if options.emit_c
        else None,
    )


def _explore(checkout: Checkout, order: "Order", folder: Path) -> int:
    from runners.campaign.explore.campaign import explore

    started = told = time.monotonic()

    def progress(walker: "Walker") -> None:
        nonlocal told
        if time.monotonic() - told < TELL_EVERY_S:
            return
        told = time.monotonic()
        rate = walker.calls.total() / (told - started)
        print(
            f"{told - started:6.0f} s  {walker.walks} walks, {walker.calls.total()} calls, "
            f"{rate:.0f} calls a second",
            file=sys.stderr,
        )

    print(f"exploring {', '.join(order.objects)} with seed {order.seed}")
    done = explore(checkout, order, folder, progress, _tell)
    print(
        f"{done.walks} walks, {done.calls.total()} calls ({done.judged} judged), "
        f"{len(done.returns)} kinds of answers, {len(done.findings)} findings"
    )
    print(f"in {folder}")
    if done.findings:
        return DEVIATES
    return AGREES if done.judged else COULD_NOT_TELL


def _tell(finding: "Finding", path: Path) -> None:
    from runners.campaign.explore.campaign import calls_of

    wrong = finding.wrong
    print(f"{wrong.what}: {wrong.why}")
    for line in calls_of(finding):
        print(f"  {line}")
    print(f"  shown {finding.shown} of {finding.again} times; again by --walk {path}")


def _walk(checkout: Checkout, order: "Order", path: Path, folder: Path) -> int:
    from runners.campaign.explore.campaign import assignment, tell_walk
    from runners.campaign.explore.walk import Walker, read_program

    try:
        program = read_program(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    walker = Walker(assignment(checkout, order, folder), order.ia, order.hosts)
    try:
        record = walker.walk(program)
    finally:
        walker.close()
    return DEVIATES if tell_walk(record) else AGREES


def _walks(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of walks")
    return number


def _steps(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if not 1 <= number <= STEPS_MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {STEPS_MOST}")
    return number
