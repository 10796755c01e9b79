# SPDX-License-Identifier: BSD-2-Clause
"""`spec`: whether catalogue, pages, rulings, cases and rules are true to each other."""

import argparse
import os
from pathlib import Path

from results.errors import InputError
from runners.commands import Subparsers

PAGES_VARIABLE = "UDAPL_CTS_PAGES"


def add_parser(commands: Subparsers) -> None:
    """Add `spec` and what follows it to the command line."""
    spec = commands.add_parser("spec", help="check the catalogue")
    verbs = spec.add_subparsers(title="commands", required=True, metavar="COMMAND")
    check = verbs.add_parser(
        "check",
        help="hold the catalogue to the cases, and to the pages where they are given",
    )
    check.add_argument(
        "--pages",
        type=Path,
        default=os.environ.get(PAGES_VARIABLE),
        metavar="DIR",
        help=f"the folder of the formatted man pages (default: ${PAGES_VARIABLE})",
    )
    check.set_defaults(run=_check)
    table = verbs.add_parser(
        "coverage",
        help="print docs/coverage.md: what of the pages no case decides, by reason",
    )
    table.set_defaults(run=_coverage)
    ruled = verbs.add_parser(
        "oracle",
        help="print how many clauses of each page the executable specification has a rule for",
    )
    ruled.add_argument("--all", action="store_true", help="list each clause without one, and why")
    ruled.set_defaults(run=_oracle)


def _check(options: argparse.Namespace) -> int:
    from runners.catalogue import check

    if options.pages is not None and not options.pages.is_dir():
        raise InputError(f"--pages {options.pages}: no such folder")
    checkout = options.checkout
    return check.run(options.pages, root=checkout.root, binary=checkout.cases_binary)


def _coverage(options: argparse.Namespace) -> int:
    from faults.rows import RowError
    from runners.catalogue.clauses import CatalogueError, every_page, load
    from runners.catalogue.coverage import text
    from runners.catalogue.faults import sought

    directory = options.checkout.catalogue
    try:
        faults = sought(options.checkout.faults)
        print(text(load(directory), every_page(directory), faults), end="")
    except (CatalogueError, RowError) as error:
        raise InputError(str(error)) from error
    return 0


def _oracle(options: argparse.Namespace) -> int:
    from runners.catalogue.clauses import CatalogueError, load
    from runners.catalogue.ruled import lines

    try:
        print("\n".join(lines(load(options.checkout.catalogue), listed=options.all)))
    except CatalogueError as error:
        raise InputError(str(error)) from error
    return 0
