# SPDX-License-Identifier: BSD-2-Clause
"""`history`: a provider's runs over time, as a picture."""

import argparse
from pathlib import Path

from results.errors import InputError
from runners import runs
from runners.commands import Subparsers


def add_parser(commands: Subparsers) -> None:
    """Add `history` to the command line."""
    parser = commands.add_parser(
        "history",
        help="draw a provider's runs over time",
        description="Draw the runs and packages in a folder over time, a picture for each provider "
        "and a small one for each page, as HTML. Runs that cannot be read are named there, and "
        "left out.",
    )
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="of runs, or of packages; default: results",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="default: history.html in that folder"
    )
    parser.set_defaults(run=_history)


def _history(options: argparse.Namespace) -> int:
    from reports.compare.history import point, render
    from reports.render import replace
    from results.errors import ReportError
    from results.model.load import light
    from runners.package.opened import opened, packages

    folder: Path = options.folder or options.checkout.runs
    points, unread = [], []
    for each in (*runs.runs_in(folder), *packages(folder)):
        try:
            with opened(folder, str(each)) as run:
                points.append(point(light(run)))
        except (ReportError, InputError) as error:
            unread.append(f"{each.name}: {error}")
    # A run may lie there as it was, and packaged too.
    points = list({each.run: each for each in points}.values())
    if not points:
        why = f": {unread[0]}" if unread else ""
        raise InputError(f"no run in {folder} that could be drawn{why}")
    path = options.out or folder / "history.html"
    try:
        replace(path, render(points, unread))
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    print(path)
    return 0
