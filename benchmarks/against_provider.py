# SPDX-License-Identifier: BSD-2-Clause
"""The reference provider against another one, by the same program, in counted instructions.

Run it as `.venv/bin/python -m benchmarks.against_provider DAT_CONF IA [PATTERN]`; a pattern is
chosen by a part of its name. The other provider's entry says the API by which both are met.
"""

import argparse
from pathlib import Path
from statistics import median

from benchmarks.against_verbs import Rates, measure, reference
from benchmarks.fabric_boot import describe_machine
from results.errors import InputError
from runners.checkout import APIS, here
from runners.fabric import datconf
from runners.fabric.datconf import Entry
from runners.fabric.files import Files


def entry_of(dat_conf: Path, ia: str) -> Entry:
    """What a dat.conf says of an IA, by the newest API of ours. Raises InputError."""
    found = [entry for entry in datconf.entries(datconf.read(dat_conf, Files())) if entry.ia == ia]
    for api in sorted(APIS, reverse=True):
        for entry in found:
            if entry.api == api:
                return entry
    raise InputError(f"{dat_conf} has no {ia} of an API that udapl-bench is built for")


def _table(ours: Rates, theirs: Rates) -> None:
    print(f"\n{'thousands of instructions an operation':40} reference      other   ratio")
    for pattern in ours:
        rate = median(ours[pattern]["uDAPL"])
        if pattern not in theirs:
            print(f"{pattern:40} {1e6 / rate:9.2f} {'not there':>10}")
            continue
        other = median(theirs[pattern]["uDAPL"])
        print(f"{pattern:40} {1e6 / rate:9.2f} {1e6 / other:10.2f}   {rate / other:.4f}")


def main() -> None:
    """Print the table; a ratio above 1 is for the reference provider."""
    parser = argparse.ArgumentParser(prog="benchmarks.against_provider")
    parser.add_argument("dat_conf", type=Path)
    parser.add_argument("ia")
    parser.add_argument("pattern", nargs="?", default="")
    options = parser.parse_args()
    try:
        other = entry_of(options.dat_conf, options.ia)
    except InputError as error:
        parser.error(str(error))
    checkout = here().by(other.api)
    print(describe_machine())
    ours = measure(checkout, reference(checkout), options.pattern, counted=True)
    _table(ours, measure(checkout, other, options.pattern, counted=True))


if __name__ == "__main__":
    main()
