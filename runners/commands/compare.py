# SPDX-License-Identifier: BSD-2-Clause
"""`compare`: what changed from one run to another."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import InputError
from results.runlog import records
from runners.commands import Subparsers

if TYPE_CHECKING:
    from results.analysis.comparison import Comparison

FORMATS = ("text", "html", "md", "json")
CODES = {
    "no regression": records.CONFORMANT,
    "regressed": records.NOT_CONFORMANT,
    "could not tell": records.COULD_NOT_TELL,
}


def add_parser(commands: Subparsers) -> None:
    """Add `compare` to the command line."""
    parser = commands.add_parser(
        "compare",
        help="what changed from one run to another",
        description="Compare two runs: verdicts that changed, new and mended findings, attributes, "
        "clauses that only one of them had, and how long they took. Exit code: 0 nothing that was "
        "kept failed now; 1 something did; 2 something that was kept is not known now; 64 they "
        "cannot be compared.",
    )
    parser.add_argument("before", metavar="A", help="the run before: its id, folder or package")
    parser.add_argument("after", metavar="B", help="the run after")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")
    parser.set_defaults(run=_compare)


def _compare(options: argparse.Namespace) -> int:
    from reports.compare.comparison import RENDERERS
    from results.errors import ReportError

    try:
        found = compared(options.checkout.runs, options.before, options.after)
    except ReportError as error:
        raise InputError(str(error)) from error
    rendered = RENDERERS[options.format](found)
    if options.out is None:
        sys.stdout.write(rendered)
    else:
        try:
            options.out.write_text(rendered, encoding="utf-8", newline="\n")
        except OSError as error:
            raise InputError(f"cannot write {options.out}: {error.strerror}") from error
        print(options.out)
    return CODES[found.word]


def compared(results: Path, before: str, after: str) -> "Comparison":
    """The runs of these names against each other. Raises InputError, ReportError."""
    from results.analysis.comparison import compare
    from results.model.load import light, load
    from runners.package.opened import opened

    with opened(results, before) as one, opened(results, after) as other:
        return compare(light(one), load(other))
