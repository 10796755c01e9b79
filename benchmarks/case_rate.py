# SPDX-License-Identifier: BSD-2-Clause
"""How many local cases a guest runs in a second, and what its agent weighs.

Run it as `.venv/bin/python -m benchmarks.case_rate` on a machine that does nothing else.
"""

import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fabric_boot import describe_machine
from runners.campaign.plan.plan import Planned, load_cases, plan
from runners.campaign.session.agent import Agent
from runners.campaign.session.attempt import limits
from runners.campaign.session.session import Session
from runners.checkout import Checkout, here
from runners.fabric import datconf
from runners.fabric.console import console
from runners.fabric.guest_host import GuestHost
from runners.fabric.vm import VmFabric

ROUNDS = 3
WANTED_RATE = 30
WANTED_MIB = 64
KEPT = ("PASS", "NOTE", "UNSUPPORTED")


def local_cases(checkout: Checkout) -> list[Planned]:
    """Every case without a peer, in a mixed order."""
    _, cases = load_cases(checkout)
    return plan([case for case in cases if case.peers == 0], (1,), seed=1, every_mode=True)


def cases_per_second(session: Session, cases: Sequence[Planned]) -> float:
    """The rate of one round of all cases; one that is no success ends the benchmark."""
    start = time.perf_counter()
    for case in cases:
        evidence = session.run(case.case, limits(case), "none")
        if evidence.verdict is None or evidence.verdict["verdict"] not in KEPT:
            raise SystemExit(f"{case.case}: {evidence.lost or evidence.verdict}")
    return len(cases) / (time.perf_counter() - start)


def peak_memory(host: GuestHost, process: int) -> float:
    """The greatest resident set of a process of a guest, in MiB."""
    with console(host, ["cat", f"/proc/{process}/status"]) as stream:
        text = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
    match = re.search(r"VmHWM:\s+(\d+) kB", text)
    if match is None:
        raise SystemExit(f"the guest does not tell the memory of process {process}: {text}")
    return int(match[1]) / 1024


def main() -> None:
    """Print the figures."""
    checkout = here()
    cases = local_cases(checkout)
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder, VmFabric(1) as fabric:
        dat_conf = Path(folder) / "dat.conf"
        dat_conf.write_text(datconf.entry("cts0", checkout.reference_provider, "rxe0").text + "\n")
        (host,) = fabric.hosts
        argv = [str(checkout.cases_binary), "--serve", "--ia", "cts0"]
        session = Session([Agent(host, host.start_agent(argv, {"DAT_OVERRIDE": str(dat_conf)}))])
        (hello,) = session.hello()
        rates = [cases_per_second(session, cases) for _ in range(ROUNDS)]
        memory = peak_memory(host, hello["pid"])
        session.close()
    told = ", ".join(f"{rate:.1f}" for rate in rates)
    print(
        f"{len(cases)} local cases, {ROUNDS} rounds: {told} a second (wanted: {WANTED_RATE})\n"
        f"agent: {memory:.1f} MiB at most (wanted: under {WANTED_MIB})"
    )


if __name__ == "__main__":
    main()
