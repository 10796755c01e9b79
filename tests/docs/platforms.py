# SPDX-License-Identifier: BSD-2-Clause
"""Certify the reference provider on other distributions, from nothing.

`python -m tests.docs.platforms SYSTEM [--mirror URL] [CASE...]` makes a bare system, clones this
one there, and runs the first command of README.md, which installs, builds and certifies: the whole
suite, or these cases. Needs root and a network. Exit code: 0 all that ran was kept, 1 not.
"""

import argparse
import shlex
from pathlib import Path

from tests.docs.stage import DEBIAN_13, UBUNTU_24_04, fresh, in_namespace

SYSTEMS = {"debian-13": DEBIAN_13, "ubuntu-24.04": UBUNTU_24_04}
TIMEOUT = 5400
LINES = 6


def main() -> int:
    """Make the system, certify there, print what was said last."""
    options = argparse.ArgumentParser(prog="python -m tests.docs.platforms", description=__doc__)
    options.add_argument("system", choices=SYSTEMS)
    options.add_argument("cases", nargs="*", metavar="CASE", help="default: the whole suite")
    options.add_argument("--mirror", metavar="URL", default="", help="of Ubuntu's archive")
    options.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    chosen = options.parse_intermixed_args()
    if chosen.system == "ubuntu-24.04" and not chosen.mirror:
        options.error("ubuntu-24.04 needs --mirror, the URL of Ubuntu's archive")
    if chosen.inside is None:
        return in_namespace("tests.docs.platforms")
    stage = fresh(chosen.inside, SYSTEMS[chosen.system], chosen.mirror)
    code, said = stage.run(f"./udapl-cts certify -q {shlex.join(chosen.cases)}", TIMEOUT)
    print("\n".join(said.splitlines()[-LINES:]))
    _, kernel = stage.run("ls .cache/kernel")
    print(f"{chosen.system}: certify ended with {code}, on {kernel.strip()}")
    return 0 if code == 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
