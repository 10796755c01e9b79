# SPDX-License-Identifier: BSD-2-Clause
"""Mixed traffic by eight processes on two guests, for as long as is asked for.

Run it as `.venv/bin/python -m benchmarks.soak [--seconds N]`; the default is an hour. Four
processes on each guest exchange messages and RDMA with a process on the other one, resize their
queues, disconnect and connect again (benchmarks/soak.c). It fails if one of them saw something
unexpected, or if its memory or its descriptors were not level in the second half of its time.
"""

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.against_verbs import reference
from benchmarks.fabric_boot import describe_machine
from runners.checkout import Checkout, here
from runners.fabric import datconf
from runners.fabric.base import Host
from runners.fabric.vm import VmFabric

PAIRS = 4
FIRST_PORT = 7800
# A page or two more are the allocator's; what leaks with each of some thousand calls is more.
LEVEL_KIB = 256

Sample = dict[str, Any]


def command(program: Path, seconds: int, address: str) -> list[str]:
    """What runs the pairs' processes of a host side by side; it fails if one of them does."""
    ends = [
        f'{program} ref0 {FIRST_PORT + pair} {seconds} {address} & ids="$ids $!"'
        for pair in range(PAIRS)
    ]
    return ["sh", "-c", "; ".join([*ends, "for id in $ids; do wait $id || exit 1; done"])]


def run_host(host: Host, argv: Sequence[str], env: dict[str, str]) -> list[Sample]:
    """Run them to their end; what they printed."""
    with host.start_agent(argv, env) as stream:
        text = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
    if host.exit_status(timeout=10) != 0:
        raise SystemExit(f"{host.name}: {host.stderr_tail().strip()}")
    return [json.loads(line) for line in text.splitlines()]


def run(checkout: Checkout, entry: datconf.Entry, seconds: int) -> list[Sample]:
    """The samples of all processes, those of a process in their order."""
    program = checkout.cases_binary.with_name("udapl-soak")
    with tempfile.TemporaryDirectory() as folder, VmFabric(2) as fabric:
        dat_conf = Path(folder) / "dat.conf"
        dat_conf.write_text(entry.text + "\n")
        env = {"DAT_OVERRIDE": str(dat_conf)}
        commands = [command(program, seconds, address) for address in ("", "10.77.0.1")]
        with ThreadPoolExecutor() as both:
            told = both.map(lambda host, argv: run_host(host, argv, env), fabric.hosts, commands)
            return [sample for samples in told for sample in samples]


def growth(samples: Sequence[Sample], what: str) -> int:
    """By how much the last of a process's samples exceeds the one in the middle of them."""
    return int(samples[-1][what]) - int(samples[len(samples) // 2][what])


def main(arguments: Sequence[str]) -> int:
    """Print a line for each process; 0 if all was well."""
    parser = argparse.ArgumentParser(prog="benchmarks.soak", description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600)
    seconds = parser.parse_args(arguments).seconds
    checkout = here()
    print(describe_machine())
    processes: dict[tuple[int, bool], list[Sample]] = defaultdict(list)
    for sample in run(checkout, reference(checkout), seconds):
        processes[sample["port"], sample["serves"]].append(sample)
    print(
        f"{seconds} s; resident KiB and descriptors: in the middle of the time, and by how much "
        "more at its end"
    )
    print("process      messages     RDMA  connections  resizes  broken   resident   descriptors")
    well = len(processes) == 2 * PAIRS
    for (port, serves), samples in sorted(processes.items()):
        last, middle = samples[-1], samples[len(samples) // 2]
        memory, files = growth(samples, "resident_kib"), growth(samples, "descriptors")
        well = well and last["last"] and memory <= LEVEL_KIB and files <= 0
        print(
            f"{port} {'server' if serves else 'client':7}{last['messages']:9}{last['rdma']:9}"
            f"{last['connections']:13}{last['resizes']:9}{last['broken']:8}"
            f"{middle['resident_kib']:8}{memory:+5}{middle['descriptors']:8}{files:+3}"
        )
    print("every byte was right; memory and descriptors are level" if well else "not level")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
