# SPDX-License-Identifier: BSD-2-Clause
"""What `trace` costs a program: its patterns under the recorder, as ratios of their rates without.

Run it as `.venv/bin/python -m benchmarks.trace_cost [PATTERN]`; a pattern is chosen by a part of
its name. In the first guest, clocks count instructions. Those of the second are times: this machine
should do nothing else. Before each program that is traced runs one that is not.
"""

import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.against_verbs import COUNTED, PROGRAMS, TIMED, reference
from benchmarks.fabric_boot import describe_machine
from runners.checkout import Checkout, here
from runners.fabric.vm import VmFabric

WANTED = 0.8
PATTERN = "ping-pong, 8 B"
PAIRS = 5
# In a guest's memory, like the disk of a host whose files are cached.
FOLDER = "/tmp"

# Operations a second by pattern.
Rates = dict[str, list[float]]


# What the guest's shell does: the program by itself, then under the recorder, so often.
SCRIPT = """
often=$1 recorder=$2
shift 2
for i in $(seq "$often"); do
        echo plain
        "$@" || exit
        echo traced
        LD_PRELOAD=$recorder "$@" || exit
done
"""


def measure(checkout: Checkout, pattern: str, counted: bool) -> dict[str, Rates]:
    """The rates without the recorder, "plain", and with it, "traced"."""
    entry = reference(checkout)
    rounds, milliseconds = COUNTED if counted else TIMED
    program = checkout.cases_binary.with_name(PROGRAMS[checkout.api])
    often = str(1 if counted else PAIRS)
    bench = [str(program), entry.ia, str(rounds), str(milliseconds), pattern]
    argv = ["sh", "-c", SCRIPT, "sh", often, str(checkout.recorder), *bench]
    with tempfile.TemporaryDirectory() as folder, VmFabric(1, counted=counted) as fabric:
        dat_conf = Path(folder) / "dat.conf"
        dat_conf.write_text(entry.text + "\n")
        (host,) = fabric.hosts
        environment = {
            "DAT_OVERRIDE": str(dat_conf),
            "UDAPL_CTS_TRACE": FOLDER,
            "UDAPL_CTS_TRACE_SIZE": str(16 << 20),
        }
        with host.start_agent(argv, environment) as stream:
            text = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
        if host.exit_status(timeout=10) != 0:
            raise SystemExit(f"{program.name} failed in the guest: {host.stderr_tail().strip()}")
    return rates_of(text)


def rates_of(text: str) -> dict[str, Rates]:
    """What udapl-bench printed of its uDAPL side, by the word before it."""
    rates: dict[str, Rates] = {"plain": defaultdict(list), "traced": defaultdict(list)}
    under = ""
    for line in text.splitlines():
        if line in rates:
            under = line
            continue
        told = json.loads(line)
        if told["side"] == "uDAPL":
            rates[under][told["pattern"]].append(told["operations"] / told["seconds"])
    return rates


def main(arguments: Sequence[str]) -> None:
    """Print a table of each kind."""
    checkout = here()
    pattern = arguments[0] if arguments else PATTERN
    print(describe_machine())
    for counted, unit in ((True, "thousands of instructions"), (False, "microseconds")):
        plain, traced = measure(checkout, pattern, counted).values()
        if not plain:
            raise SystemExit(f"no pattern has {pattern!r} in its name")
        print(f"\n{unit + ' an operation':40}  plain     traced   ratio")
        for name in plain:
            ratio = median(traced[name]) / median(plain[name])
            print(
                f"{name:38} {1e6 / median(plain[name]):10.2f} {1e6 / median(traced[name]):10.2f}"
                f"   {ratio:.3f}  (wanted: {WANTED})",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
