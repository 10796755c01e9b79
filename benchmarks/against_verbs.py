# SPDX-License-Identifier: BSD-2-Clause
"""The reference provider against the same patterns over raw verbs, as ratios of their rates.

Run it as `.venv/bin/python -m benchmarks.against_verbs [PATTERN]`; a pattern is chosen by a part of
its name. In the first guest, clocks count instructions, and so its figures are the same on every
machine and under any load. Those of the second are times: this machine should do nothing else.
"""

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.fabric_boot import describe_machine
from runners.checkout import Checkout, here
from runners.fabric import datconf
from runners.fabric.vm import VmFabric

PROGRAMS = {"1.2": "udapl-bench", "2.0": "udapl-bench-2.0"}
WANTED = 0.97
WANTED_OF = {"connections": 0.9, "IA, opened and closed": 0.7}

# The rounds of each side, and how many milliseconds of the guest's clock one takes.
COUNTED = (5, 20)
TIMED = (25, 100)

# Operations a second of each side, round by round.
Rates = dict[str, dict[str, list[float]]]


def measure(checkout: Checkout, entry: datconf.Entry, pattern: str, counted: bool) -> Rates:
    """Run udapl-bench on an IA, in a guest of its own, and collect what it prints."""
    rounds, milliseconds = COUNTED if counted else TIMED
    program = checkout.cases_binary.with_name(PROGRAMS[checkout.api])
    argv = [str(program), entry.ia, str(rounds), str(milliseconds), pattern]
    with tempfile.TemporaryDirectory() as folder, VmFabric(1, counted=counted) as fabric:
        dat_conf = Path(folder) / "dat.conf"
        dat_conf.write_text(entry.text + "\n")
        (host,) = fabric.hosts
        with host.start_agent(argv, {"DAT_OVERRIDE": str(dat_conf)}) as stream:
            text = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
        if host.exit_status(timeout=10) != 0:
            raise SystemExit(f"{program.name} failed in the guest: {host.stderr_tail().strip()}")
    rates: Rates = defaultdict(lambda: defaultdict(list))
    for line in text.splitlines():
        told = json.loads(line)
        rates[told["pattern"]][told["side"]].append(told["operations"] / told["seconds"])
    return rates


def reference(checkout: Checkout) -> datconf.Entry:
    """The reference provider's entry, on a guest's device."""
    return datconf.entry("ref0", checkout.reference_provider, "rxe0", checkout.api)


def row(pattern: str, sides: dict[str, list[float]]) -> str:
    """One line of the table: what an operation takes on each side, and the median of the ratios."""
    verbs, dat = sides["verbs"], sides["uDAPL"]
    ratios = sorted(ours / theirs for ours, theirs in zip(dat, verbs, strict=True))
    wanted = WANTED_OF.get(pattern, WANTED)
    return (
        f"{pattern:28} {1e6 / median(verbs):10.2f} {1e6 / median(dat):10.2f}   "
        f"{median(ratios):.3f}  ({ratios[0]:.3f} to {ratios[-1]:.3f}; wanted: {wanted})"
    )


def main(arguments: Sequence[str]) -> None:
    """Print a table of each kind."""
    checkout = here()
    pattern = arguments[0] if arguments else ""
    print(describe_machine())
    for counted, unit in ((True, "thousands of instructions"), (False, "microseconds")):
        rates = measure(checkout, reference(checkout), pattern, counted)
        if not rates:
            raise SystemExit(f"no pattern has {pattern!r} in its name")
        print(f"\n{unit + ' an operation':40} verbs      uDAPL   ratio")
        for name, sides in rates.items():
            print(row(name, sides), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
