# SPDX-License-Identifier: BSD-2-Clause
"""`list` and `show`: what the suite has."""

import argparse
import json
import shutil
import textwrap
from typing import Any

from results.errors import InputError
from runners.commands import Subparsers
from runners.names import nearest


def add_parser(commands: Subparsers) -> None:
    """Add `list` and `show` to the command line."""
    listing = commands.add_parser("list", help="list the cases")
    listing.add_argument("--json", action="store_true", help="as a JSON array")
    listing.set_defaults(run=_list)
    show = commands.add_parser("show", help="show a clause and its case")
    show.add_argument("clause", metavar="CLAUSE", help="srq_resize/below_outstanding, for instance")
    show.set_defaults(run=_show)


def _list(options: argparse.Namespace) -> int:
    from runners.campaign.plan.plan import load_cases

    _, cases = load_cases(options.checkout)
    rows = [
        {
            "id": case.id,
            "clause": case.clause.id,
            "page": case.page,
            "level": case.clause.level,
            "check": case.clause.check,
            "needs": list(case.clause.needs),
        }
        for case in cases
    ]
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    width = max((len(row["id"]) for row in rows), default=0)
    for row in rows:
        print(f"{row['id']:{width}}  {row['level']:<8}  {row['check']:<5}  {_needs(row)}".rstrip())
    return 0


def _needs(row: dict[str, Any]) -> str:
    return "needs " + ", ".join(row["needs"]) if row["needs"] else ""


def _show(options: argparse.Namespace) -> int:
    from runners.campaign.plan.plan import list_cases
    from runners.catalogue.clauses import load

    catalogue = load(options.checkout.catalogue)
    clause = catalogue.clauses.get(options.clause)
    if clause is None:
        raise InputError(
            f"no clause is called {options.clause!r}" + nearest(options.clause, catalogue.clauses)
        )
    print(f"{clause.id}  ({clause.page}, {clause.section})")
    width = shutil.get_terminal_size((100, 24)).columns
    print(textwrap.fill(clause.requirement, width))
    if clause.row:
        print(textwrap.fill(f"in this case: {clause.row}", width))
    print(f"level: {clause.level}")
    print(f"check: {clause.check}" + (f" ({clause.reason})" if clause.reason else ""))
    if clause.dat_2_0:
        print(f"by DAT 2.0: {clause.dat_2_0}")
    if clause.needs:
        print(f"needs: {', '.join(clause.needs)}")
    if clause.rulings:
        print(f"rulings: {', '.join(clause.rulings)} (docs/rulings/)")
    for row in list_cases(options.checkout.cases_binary):
        if row["id"] == clause.id:
            print(f"case: {row['file']}:{row['line']}")
    return 0
