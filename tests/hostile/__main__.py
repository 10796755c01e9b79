# SPDX-License-Identifier: BSD-2-Clause
"""The suite under attack: `python -m tests.hostile` makes the attacks and prints the figures.

The long form has the hostile faults in guests too; --short needs none and takes about a
minute on two cores. docs/threats.md has the figures. Exit code: 0 no harm was done, 1 some was.
"""

import argparse
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.hostile import attacks
from tests.hostile.damage import damage
from tests.hostile.disturb import DISTURBANCES, disturb
from tests.hostile.figures import Figures
from tests.hostile.impossible import impossible
from tests.hostile.inputs import fuzz
from tests.runners.fake_checkout import PROVIDER, compile_library, make_checkout

LONG = {"inputs": 10_000, "records": 5_000, "impossible": 1_000, "runs": 200}
SHORT = {"inputs": 400, "records": 150, "impossible": 100, "runs": len(DISTURBANCES)}


def main() -> int:
    """Attack, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--short", action="store_true", help="without guests, in a minute")
    parser.add_argument("--seed", type=int, help="that of an earlier call")
    options = parser.parse_args()
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    harmless = True
    with tempfile.TemporaryDirectory(prefix="udapl-cts-hostile-") as name:
        for figures in _all(Path(name), SHORT if options.short else LONG, options.short, seed):
            print(figures.line, *figures.examples, sep="\n    ", flush=True)
            harmless &= figures.harmless
    return 0 if harmless else 1


def _all(folder: Path, counts: dict[str, int], short: bool, seed: int) -> Iterator[Figures]:
    provider = compile_library(folder / "libdaplref.so", PROVIDER)
    told = attacks.figures()
    ways = attacks.WAYS[:1] if short else attacks.WAYS
    attacks.stand_ins(make_checkout(folder / "attacks", provider), ways, told)
    if not short:
        attacks.in_guests(folder / "faults", told)
    yield told
    cts = make_checkout(folder / "inputs", provider)
    os.environ["FAKE_ROOT"] = str(cts.root)
    former = Path.cwd()
    # What a command line says of files is said of this folder.
    os.chdir(folder)
    yield fuzz(cts, counts["inputs"], random.Random(seed))
    os.chdir(former)
    records = make_checkout(folder / "records", provider)
    yield damage(records, counts["records"], random.Random(seed))
    (folder / "impossible").mkdir()
    yield impossible(folder / "impossible", counts["impossible"], random.Random(seed))
    yield disturb(folder / "runs", provider, counts["runs"], random.Random(seed))


if __name__ == "__main__":
    raise SystemExit(main())
