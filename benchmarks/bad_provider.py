# SPDX-License-Identifier: BSD-2-Clause
"""How long a provider is certified that breaks very many clauses, and how much of that is waiting.

Run it as `.venv/bin/python -m benchmarks.bad_provider [FAULTS [OPTION ...]]` on a machine that does
nothing else; the options are certify's. The provider is the reference one behind rows of faults/,
all of them at once; some of the calls that are to be refused hang or crash.
"""

import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.fabric_boot import describe_machine
from faults.generate import FaultWriter, calls_of
from faults.rows import Facts, Fault, Step, load_faults
from results.runlog.events import read
from results.runlog.records import EVENTS, KEPT, NOT_KEPT, Record
from runners.campaign.session.patience import WAITED_MS
from runners.checkout import Checkout, here
from runners.fabric import datconf

SEED = 160
FAULTS = 200
IA = "bad0"
WANTED_MINUTES = 15
# If one of these is broken, no case runs or no EP ever connects.
VITAL = {
    "dat_ia_open", "dat_ia_query", "dat_ia_close", "any call", "any event",
    "dat_cr_accept", "dat_cr_query", "dat_ep_connect", "dat_psp_create",
    "DAT_CONNECTION_REQUEST_EVENT", "DAT_CONNECTION_EVENT_ESTABLISHED",
}  # fmt: skip
# Rows that grant what must be refused, report wrong values, or lose events: of a hundred.
SHARES = {"grant": 0.8, "value": 0.1, "event": 0.1}
LOST = {"lose", "double", "reorder", "corrupt"}
# Of the calls that are granted wrongly, one in so many hangs, and as many crash.
HANGS = CRASHES = 8
PARTS = "call event fault handle hostile make provider strike text".split()
FLAGS = "-std=gnu11 -D_GNU_SOURCE -O2 -g -fPIC -fvisibility=hidden -shared".split()


def kind(fault: Fault) -> str:
    """What kind of row it is, of SHARES; empty where it would break much besides its own clause."""
    if not fault.clause or fault.in_libdat or fault.found_by:
        return ""
    steps = fault.steps
    if any(VITAL & set(step.on) or not (step.when or step.after) for step in steps):
        return ""
    if all(step.do == "answer" and step.returns == "DAT_SUCCESS" for step in steps):
        return "grant"
    if all(step.do == "set" and step.after for step in steps):
        return "value"
    return "event" if all(step.do in LOST and step.when for step in steps) else ""


def drawn(checkout: Checkout, count: int) -> list[Step]:
    """The steps of so many rows, the same each time."""
    paths = [*checkout.faults.rglob("*.toml"), *checkout.catalogue.glob("*/*.toml")]
    chance = random.Random(SEED)
    rows = chance.sample(faults := load_faults(sorted(paths)), len(faults))
    chosen = [
        fault
        for of, share in SHARES.items()
        for fault in [row for row in rows if kind(row) == of][: round(share * count)]
    ]
    return [worse(step, chance.random()) for fault in chosen for step in fault.steps]


def worse(step: Step, chance: float) -> Step:
    """A step, or what hangs or crashes where it would grant."""
    if step.do != "answer" or chance > 1 / HANGS + 1 / CRASHES:
        return step
    if chance < 1 / HANGS:
        return replace(step, do="hang", returns="")
    return replace(step, do="run", function="crash", returns="")


def known_calls(checkout: Checkout) -> Facts:
    """What is known of DAT 1.2: its calls are those that a faulty provider wraps."""
    facts: Facts = json.loads((checkout.root / "include/facts/dat-1.2.json").read_text())
    return facts


def build(checkout: Checkout, faults: Sequence[Fault], folder: Path) -> Path:
    """The faulty provider that has these faults, instead of those of faults/."""
    facts = known_calls(checkout)
    writer = FaultWriter(facts, calls_of(facts), ["fault.h", "functions.h"])
    for fault in faults:
        writer.add(fault)
    steps = max(len(fault.steps) for fault in faults)
    table = folder / "table.c"
    table.write_text(writer.text())
    made, parts = checkout.root / "build/default", checkout.root / "faults"
    sources = [*(parts / f"{name}.c" for name in PARTS), made / "faults/slots.c", table]
    folders = (parts, made / "faults", checkout.root / "include")
    options = [*FLAGS, f"-DSTEPS_MAX={steps}", *(f"-I{each}" for each in folders)]
    library = folder / "libdaplbad.so"
    linked = [f"-L{made / 'lib'}", "-ldat", "-pthread", "-o", str(library)]
    subprocess.run(["cc", *options, *map(str, sources), *linked], check=True)
    return library


def certify(checkout: Checkout, library: Path, options: Sequence[str], run: Path) -> float:
    """Certify the library; how many seconds that took."""
    dat_conf = library.with_name("dat.conf")
    dat_conf.write_text(
        datconf.lines("ref0", checkout.reference_provider, "rxe0")
        + datconf.lines(IA, library, "ref0 fault=bad")
    )
    asked = ["--dat-conf", str(dat_conf), "--ia", IA, "--seed", str(SEED), "--out", str(run)]
    begun = time.perf_counter()
    done = subprocess.run(
        ["./udapl-cts", "certify", *asked, *options], cwd=checkout.root, check=False
    )
    if done.returncode != 1:
        raise SystemExit(f"the run ended with {done.returncode}, and not with 1: not conformant")
    return time.perf_counter() - begun


def tell(verdicts: Sequence[Record]) -> None:
    """Print what became of the first and of the second attempts."""
    first = [record for record in verdicts if record["attempt"] == 1]
    words = Counter(record["verdict"] for record in first)
    broken = {record["case"] for record in first if record["verdict"] in NOT_KEPT}
    print(
        f"{len(broken)} clauses broken; of {len(first)} first verdicts "
        + ", ".join(f"{count} {word}" for word, count in words.most_common())
        + f"; {sum('put_off' in record for record in first)} were put off at first"
    )
    for attempt, what in ((1, "first"), (2, "second")):
        ended = [record for record in verdicts if record["attempt"] == attempt]
        waited = [
            record["ms"] / 1000
            for record in ended
            if record["ms"] >= WAITED_MS and (record["verdict"] not in KEPT or "teardown" in record)
        ]
        in_line = sum(record["ms"] for record in ended) / 1000
        print(
            f"{len(ended)} {what} attempts: {in_line:.0f} s one after the other, "
            f"{sum(waited):.0f} s of that in {len(waited)} that waited in vain"
        )


def main() -> None:
    """Print the figures."""
    count = int(sys.argv[1]) if sys.argv[1:] else FAULTS
    checkout = here()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = drawn(checkout, count)
        bad = Fault(path=folder, id="bad", text="Breaks all of it.", steps=steps)
        library = build(checkout, [bad], folder)
        seconds = certify(checkout, library, sys.argv[2:], folder / "run")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        records = (one.values for one in read(folder / "run" / EVENTS) if one)
        tell([record for record in records if record["type"] == "verdict"])
    print(
        f"certified in {seconds / 60:.1f} minutes (wanted: {WANTED_MINUTES}); "
        f"{(used.ru_utime + used.ru_stime) / 60:.1f} minutes of a processor"
    )


if __name__ == "__main__":
    main()
