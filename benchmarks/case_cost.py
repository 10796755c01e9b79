# SPDX-License-Identifier: BSD-2-Clause
"""The CPU time of a case: of a guest's whole process, without a peer and with one.

Run it as `.venv/bin/python -m benchmarks.case_cost [BINARY]`. With another build's udapl-cases, or
with udapl-cases-bare, whose trace keeps hardly anything, two guests run the same cases in
alternating blocks. The ratio of the two is the median of the blocks', so it is valid on a busy
machine too.
"""

import os
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.case_rate import KEPT
from benchmarks.fabric_boot import describe_machine
from runners.campaign.plan.plan import Planned, list_cases, load_cases, plan
from runners.campaign.session.agent import Agent
from runners.campaign.session.attempt import limits, peer
from runners.campaign.session.session import Session
from runners.checkout import Checkout, here
from runners.fabric import datconf
from runners.fabric.vm import VmFabric

# The first block of each guest, which has to translate everything, does not count.
BLOCKS = 9
CASES = {"without a peer": 150, "with one": 40}


def drawn(checkout: Checkout, binaries: Sequence[Path]) -> dict[str, list[Planned]]:
    """Of the cases that all binaries have, the same each time."""
    _, cases = load_cases(checkout)
    known = [{row["id"] for row in list_cases(binary)} for binary in binaries]
    shared = [case for case in cases if all(case.id in ids for ids in known)]
    planned = plan(shared, (1,), seed=1, every_mode=True)
    alone = [case for case in planned if case.peers == 0]
    paired = [case for case in planned if case.peers > 0]
    return {what: rows[: CASES[what]] for what, rows in zip(CASES, (alone, paired), strict=True)}


@contextmanager
def session(checkout: Checkout, binary: Path) -> Iterator[tuple[Session, int]]:
    """An agent of this binary in a guest of its own, and the guest's process."""
    with tempfile.TemporaryDirectory() as folder, VmFabric(1) as fabric:
        dat_conf = Path(folder) / "dat.conf"
        dat_conf.write_text(datconf.entry("cts0", checkout.reference_provider, "rxe0").text + "\n")
        (host,) = fabric.hosts
        argv = [str(binary), "--serve", "--ia", "cts0"]
        agent = Agent(host, host.start_agent(argv, {"DAT_OVERRIDE": str(dat_conf)}))
        opened = Session([agent])
        opened.hello()
        yield opened, host.pid
        opened.close()


def processor_s(process: int) -> float:
    """What a process has had of processors, in seconds."""
    words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def block(opened: Session, process: int, cases: Sequence[Planned]) -> float:
    """What a guest had for one of these cases, in milliseconds; one not kept ends the benchmark."""
    begun = processor_s(process)
    for case in cases:
        evidence = opened.run(case.case, limits(case), peer(case))
        if evidence.verdict is None or evidence.verdict.get("verdict") not in KEPT:
            raise SystemExit(f"{case.case}: {evidence.lost or evidence.verdict}")
    return (processor_s(process) - begun) / len(cases) * 1000


def main() -> None:
    """Print the figures."""
    checkout = here()
    binaries = [*(Path(name).resolve() for name in sys.argv[1:2]), checkout.cases_binary]
    print(describe_machine())
    costs: dict[tuple[str, Path], list[float]] = defaultdict(list)
    with ExitStack() as stack:
        guests = {one: stack.enter_context(session(checkout, one)) for one in binaries}
        for what, cases in drawn(checkout, binaries).items():
            for number in range(BLOCKS):
                for binary in binaries if number % 2 else reversed(binaries):
                    costs[what, binary].append(block(*guests[binary], cases))
    for what in CASES:
        medians = [statistics.median(costs[what, one][1:]) for one in binaries]
        told = ", ".join(f"{median:.1f} ms" for median in medians)
        print(f"a case {what}: {told} of a processor{_ratio([costs[what, b] for b in binaries])}")


def _ratio(costs: Sequence[Sequence[float]]) -> str:
    """The median of the ratios of the blocks, and the quarters that lie around it."""
    if len(costs) == 1:
        return ""
    ratios = [own / other for other, own in zip(costs[0][1:], costs[-1][1:], strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f", {middle:.3f} of the other's ({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
