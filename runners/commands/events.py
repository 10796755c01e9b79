# SPDX-License-Identifier: BSD-2-Clause
"""`events`: a run's records as JSON lines."""

import argparse
import sys

from results.errors import InputError
from results.runlog import records
from runners import runs
from runners.commands import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add `events` to the command line."""
    parser = commands.add_parser(
        "events",
        help="print a run's records as JSON lines",
        description="Print the records of a run, whole or partial, as JSON lines: what zstdcat "
        "prints of its events.jsonl.zst, but checked, each against the one before it. Exit code: "
        "0, or 64 where there is no such run or a record is damaged.",
    )
    parser.add_argument("named", nargs="?", metavar="RUN", help="id or folder; default: the latest")
    parser.set_defaults(run=_events)


def _events(options: argparse.Namespace) -> int:
    from results.errors import ReportError
    from results.runlog.events import read

    folder = runs.find_run(options.checkout.runs, options.named)
    try:
        for record in read(folder / records.EVENTS):
            if record is None:
                print("udapl-cts: the last record was cut off, and is left out", file=sys.stderr)
            elif record.place is not None:
                sys.stdout.buffer.write(record.place.raw)
    except ReportError as error:
        sys.stdout.flush()
        raise InputError(str(error)) from error
    return 0
