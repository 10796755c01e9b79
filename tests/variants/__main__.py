# SPDX-License-Identifier: BSD-2-Clause
"""Certify drawn cases on a drawn variant of the provider: none may fail, nor be blocked.

    python -m tests.variants RUNS          # one variant, drawn by the commit
    python -m tests.variants --all RUNS    # each of them

The cases of most pages meet a variant nowhere else.
"""

import random
import subprocess
import sys
from pathlib import Path

from faults.rows import load_variants
from results.runlog.records import CONFORMANT, COULD_NOT_TELL
from runners.campaign.plan.plan import load_cases
from runners.checkout import here

CASES = 120
# The second: calls of threads never met on a busy host.
PASSED = (CONFORMANT, COULD_NOT_TELL)


def _commit() -> str:
    command = ["git", "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(argv: list[str]) -> int:
    """Certify; 1 if a case of a variant was not kept."""
    checkout = here()
    seed = _commit()
    rows = load_variants([checkout.faults / "variants.toml"])
    variants = sorted(one.id.removeprefix("variant/") for one in rows)
    chosen = variants if "--all" in argv else [random.Random(seed).choice(variants)]
    _, cases = load_cases(checkout)
    wrong = []
    for variant in chosen:
        ids = [case.id for case in random.Random(f"{seed} {variant}").sample(cases, CASES)]
        command = [sys.executable, "-m", "runners", "certify", "-q", "--variant", variant]
        command += ["--hosts", "1", "--out", str(Path(argv[-1]) / variant), *ids]
        print(f"variant {variant}: {CASES} cases, drawn by {seed[:12]}", flush=True)
        if subprocess.run(command, check=False).returncode not in PASSED:
            wrong.append(variant)
    print(f"variants: {len(chosen) - len(wrong)} of {len(chosen)} were kept by all drawn cases")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
