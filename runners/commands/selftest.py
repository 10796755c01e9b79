# SPDX-License-Identifier: BSD-2-Clause
"""`selftest`: build, and run every test of this project."""

import argparse
import os
from pathlib import Path

from runners.commands import Subparsers
from runners.commands.spec import PAGES_VARIABLE


def add_parser(commands: Subparsers) -> None:
    """Add `selftest` to the command line."""
    parser = commands.add_parser("selftest", help="run every test of this project")
    parser.add_argument(
        "-k", dest="only", default="", metavar="STEP", help="steps whose name has it"
    )
    parser.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="all faults too, of which otherwise those of the pages that changed are met, and a "
        "share of the others",
    )
    parser.add_argument("--list", action="store_true", help="list the steps")
    parser.add_argument(
        "--pages",
        type=Path,
        default=os.environ.get(PAGES_VARIABLE),
        metavar="DIR",
        help=f"hold the catalogue to the man pages in DIR (default: ${PAGES_VARIABLE})",
    )
    parser.set_defaults(run=_selftest)


def _selftest(options: argparse.Namespace) -> int:
    from runners.selftest import selftest

    return selftest(options.checkout, options.only, options.pages, options.list, options.everything)
