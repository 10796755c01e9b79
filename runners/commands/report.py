# SPDX-License-Identifier: BSD-2-Clause
"""`report`: render a run again, whole or partial."""

import argparse

from runners import results
from runners.commands import Subparsers
from runners.errors import InputError

FORMATS = ("html", "junit", "json", "md")


def add_parser(commands: Subparsers) -> None:
    """Add `report` to the command line."""
    parser = commands.add_parser("report", help="render a run's report again")
    parser.add_argument("named", nargs="?", metavar="RUN", help="id or folder; default: the latest")
    parser.add_argument("--format", choices=FORMATS, default="html", help="default: html")
    parser.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    from reports import ReportError, render

    folder = results.find_run(options.checkout.results, options.named)
    try:
        print(render(folder, options.format))
    except ReportError as error:
        raise InputError(str(error)) from error
    return 0
