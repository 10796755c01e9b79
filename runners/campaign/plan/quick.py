# SPDX-License-Identifier: BSD-2-Clause
"""The cases of `certify --quick`: a tenth of the suite, chosen by benchmarks.quick."""

from collections.abc import Iterable
from pathlib import Path

from results.errors import RunnerError
from runners.checkout import Checkout

HEAD = (
    "# SPDX-License-Identifier: BSD-2-Clause\n"
    "# The cases of `certify --quick`, made by `.venv/bin/python -m benchmarks.quick`."
)
# One in so many cases is chosen.
SHARE = 10


def quick_list(checkout: Checkout) -> Path:
    """The file that lists them, one a line."""
    return checkout.catalogue / "quick.txt"


def quick_cases(checkout: Checkout, known: Iterable[str]) -> list[str]:
    """Those of them that are `known`. Raises RunnerError if none is."""
    path = quick_list(checkout)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise RunnerError(f"cannot read {path}: {error.strerror}") from error
    listed = {line for line in lines if line and not line.startswith("#")}
    chosen = [case for case in known if case in listed]
    if not chosen:
        raise RunnerError(f"{path} lists no case of this suite")
    return chosen
