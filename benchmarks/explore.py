# SPDX-License-Identifier: BSD-2-Clause
"""What random walks reach, and which faults they find by themselves.

Run it as `.venv/bin/python -m benchmarks.explore [--seconds N] [--faults N] [--of-each N]`. It
explores the reference provider for some seconds, and prints calls a second and the states reached.
Then it explores a drawn sample of faults, each until a walk deviates or its seconds are over. With
--run FOLDER of a faults run it lists the faults that walks found and no case did.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fabric_boot import describe_machine
from results.analysis import mutation
from runners.campaign.explore.campaign import Order, assignment
from runners.campaign.explore.search import Search
from runners.campaign.explore.steps import OBJECTS
from runners.campaign.explore.walk import Walker
from runners.campaign.mutation.campaign import rows_of
from runners.campaign.plan.assignment import fabric_class
from runners.campaign.plan.plan import load_cases
from runners.campaign.plan.subject import from_library
from runners.checkout import Checkout, here
from runners.fabric import datconf
from runners.fabric.base import Wish

STEPS = 60
FABRIC = "vm"


def walker_of(checkout: Checkout, folder: Path, faults: Sequence[str]) -> Walker:
    """A walker on a guest whose dat.conf has the reference provider, and it with each fault."""
    settings = fabric_class(checkout.fabrics[FABRIC]).settings(Wish())
    subject = from_library(checkout.reference_provider, "rxe0")
    order = Order(subject, FABRIC, settings, OBJECTS, STEPS, 0.0, 0)
    made = assignment(checkout, order, folder)
    entries = (
        datconf.lines(ia_of(fault), checkout.faulty_provider, f"{subject.ia} fault={fault}")
        for fault in faults
    )
    with Path(made.env["DAT_OVERRIDE"]).open("a", encoding="utf-8") as file:
        file.writelines(entries)
    return Walker(made)


def ia_of(fault: str) -> str:
    """The IA of the provider that has a fault."""
    return f"fault:{fault}"


def search(walker: Walker, seconds: float, seed: int) -> str:
    """Why the first walk deviates that does; empty if none does in so many seconds."""
    walks = Search(walker, OBJECTS, STEPS, seed, seconds, 0, lambda: None, shrinks=False)
    found = next(walks.findings(), None)
    return f"{found.wrong.what} {found.wrong.call} {found.wrong.clause}" if found else ""


def reach(walker: Walker, seconds: float, seed: int) -> None:
    """Explore the reference provider, and print what was reached."""
    walker.walk(())
    begun, before = time.monotonic(), walker.calls.total()
    found = search(walker, seconds, seed)
    took = time.monotonic() - begun
    calls = walker.calls.total() - before
    print(f"reference provider: {found or 'no call deviates'}")
    print(f"{calls} calls in {took:.0f} s, {calls / took:.0f} a second, {walker.judged} judged")
    for kind, states in walker.reached.by_kind.items():
        print(f"{kind}: {', '.join(f'{state} {count}' for state, count in states.items())}")
    print("EP states by route:")
    for (before_, call, state), count in sorted(walker.reached.routes.items()):
        print(f"  {before_} --{call}--> {state}: {count}")


def killed(walker: Walker, faults: Sequence[str], seconds: float, seed: int) -> list[str]:
    """The faults that walks find; each is printed."""
    found = []
    for fault in faults:
        walker.ia = ia_of(fault)
        begun = time.monotonic()
        why = search(walker, seconds, seed)
        print(f"{fault}: {why or 'not found'}, {time.monotonic() - begun:.1f} s", flush=True)
        found += [fault] if why else []
    return found


def main(arguments: Sequence[str]) -> int:
    """Measure as the command line says."""
    parser = argparse.ArgumentParser(prog="benchmarks.explore")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the reference provider")
    parser.add_argument("--faults", type=int, default=30, help="how many are drawn")
    parser.add_argument("--of-each", type=float, default=20.0, help="seconds of a fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--run", type=Path, help="a faults run, whose cases are compared with")
    options = parser.parse_args(arguments)
    checkout = here()
    if not checkout.faulty_provider.exists():
        # Each open would fail, and count as a fault that was found.
        parser.error(f"{checkout.faulty_provider} is missing: ninja -C build/default daplfault")
    catalogue, _ = load_cases(checkout)
    known = [fault.id for fault in rows_of(checkout, catalogue).faults if not fault.in_libdat]
    drawn = random.Random(options.seed).sample(known, min(options.faults, len(known)))
    print(describe_machine())
    with tempfile.TemporaryDirectory() as name:
        walker = walker_of(checkout, Path(name), drawn)
        try:
            reach(walker, options.seconds, options.seed)
            found = killed(walker, drawn, options.of_each, options.seed)
        finally:
            walker.close()
    print(f"{len(found)} of {len(drawn)} drawn faults found by walks alone")
    if options.run is not None:
        by_case = {
            mutant.fault
            for mutant in mutation.load(options.run).mutants
            if mutant.outcome is mutation.Outcome.KILLED
        }
        only = [fault for fault in found if fault not in by_case]
        print(f"found by walks, and by no case of {options.run}: {', '.join(only) or 'none'}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
