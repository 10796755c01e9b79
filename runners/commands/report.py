# SPDX-License-Identifier: BSD-2-Clause
"""`report`: render a run again, whole or partial."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from results.errors import InputError
from results.runlog import records
from runners import runs
from runners.catalogue.pages import PageError, read
from runners.commands import Subparsers
from runners.package import statement

if TYPE_CHECKING:
    from results.model.run import Run

FORMATS = ("html", "customer", "junit", "json", "md")


def add_parser(commands: Subparsers) -> None:
    """Add `report` to the command line."""
    parser = commands.add_parser(
        "report",
        help="render a run's report again, or several runs side by side",
        description="Render a run's report again, in the run's folder. Several runs make one table "
        "instead: profiles, pages and clauses by provider (html, md, json).",
    )
    parser.add_argument(
        "named",
        nargs="*",
        metavar="RUN",
        help="ids or folders, of several also packages; default: the latest",
    )
    parser.add_argument("--format", choices=FORMATS, default="html", help="default: html")
    parser.add_argument(
        "--pages",
        type=Path,
        metavar="DIR",
        help="show the words of each sentence too, from the formatted man pages in DIR: "
        "report-with-pages.html, for readers who have the pages",
    )
    parser.add_argument(
        "--statement",
        type=Path,
        metavar="FILE",
        help="with --format customer: what the maker says, TOML or JSON as for `package`",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="where several runs' table goes (default: runs/providers.html, .md or .json)",
    )
    parser.set_defaults(run=_report)


def _report(options: argparse.Namespace) -> int:
    from reports.render import render
    from results.errors import ReportError
    from results.model.load import load
    from results.runlog.invariants import broken
    from results.runlog.records import EVENTS

    if options.pages is not None and options.format != "html":
        raise InputError(f"--pages goes with --format html, not {options.format}")
    if options.statement is not None and options.format != "customer":
        raise InputError(f"--statement goes with --format customer, not {options.format}")
    if len(options.named) > 1:
        return _several(options)
    if options.out is not None:
        raise InputError("--out goes with several runs: one run's reports stand in its folder")
    named = options.named[0] if options.named else None
    folder = runs.find_run(options.checkout.runs, named)
    try:
        run = load(folder)
        if wrong := next(broken(folder), ""):
            raise ReportError(f"{folder / EVENTS} is not as a run writes it: {wrong}")
        words = None if options.pages is None else _words(run, options.pages)
        said = None if options.statement is None else statement.read(options.statement, run)
        print(render(folder, options.format, run, words, said))
    except (ReportError, PageError) as error:
        raise InputError(str(error)) from error
    if run.partial:
        goes_on = "It is going on now." if records.in_progress(folder) else ""
        resume = (
            f"./udapl-cts certify --resume {shlex.quote(named or 'latest')} runs what is missing."
        )
        print(f"udapl-cts: {run.partial} {goes_on or resume}", file=sys.stderr)
    return 0


def _several(options: argparse.Namespace) -> int:
    """Put the runs side by side."""
    from reports.compare.providers_table import RENDERERS, Several
    from reports.render import replace
    from results.errors import ReportError
    from results.model.load import light
    from runners.package.opened import opened

    if options.format not in RENDERERS or options.pages is not None:
        raise InputError(f"several runs make one table: as {', '.join(RENDERERS)}, without --pages")
    results: Path = options.checkout.runs
    runs = []
    for name in options.named:
        with opened(results, name) as folder:
            try:
                runs.append(light(folder))
            except ReportError as error:
                raise InputError(f"{name}: {error}") from error
    found = Several(tuple(runs))
    path = options.out or results / f"providers.{options.format}"
    try:
        replace(path, RENDERERS[options.format](found))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    print(path)
    return 0


def _words(run: "Run", pages: Path) -> dict[str, dict[str, str]]:
    """The words of the sentences of each page of a run, by hash. Raises PageError."""
    return {
        page.name: {
            sentence.hash: ": ".join((*sentence.terms, sentence.text))
            for sentence in read(pages, page.name).sentences
        }
        for page in run.pages
    }
