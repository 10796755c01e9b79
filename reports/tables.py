# SPDX-License-Identifier: BSD-2-Clause
"""Families of clauses that make a table together, such as parameters by EP state, as a picture."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from reports.model import Clause

_FEWEST_ROWS = 3
_FEWEST_COLUMNS = 4
_SUCCESS = "DAT_SUCCESS"


@dataclass(frozen=True)
class Square:
    """One clause of a table, and what it demands of the call, as its case expected it."""

    clause: Clause
    demand: str

    @property
    def sign(self) -> str:
        """One character for the demand."""
        return {"granted": "+", "refused": "\N{MINUS SIGN}", "either": "±"}.get(self.demand, "")


@dataclass(frozen=True)
class Table:
    """Families of one page whose rows have the same names."""

    page: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]


def tables(clauses: Iterable[Clause]) -> list[Table]:
    """The tables among `clauses`: at least three families with the same four rows or more."""
    families: dict[tuple[str, str], list[Clause]] = {}
    for clause in clauses:
        family, _, row = clause.name.partition("/")
        if row:
            families.setdefault((clause.page, family), []).append(clause)
    shapes: dict[tuple[str, tuple[str, ...]], list[tuple[str, list[Clause]]]] = {}
    for (page, family), members in families.items():
        columns = tuple(clause.name.partition("/")[2] for clause in members)
        shapes.setdefault((page, columns), []).append((family, members))
    return [
        Table(
            page,
            columns,
            tuple((family, tuple(_squares(members))) for family, members in found),
        )
        for (page, columns), found in shapes.items()
        if len(columns) >= _FEWEST_COLUMNS and len(found) >= _FEWEST_ROWS
    ]


def _squares(clauses: Iterable[Clause]) -> Iterator[Square]:
    for clause in clauses:
        yield Square(clause, _demand(clause))


def _demand(clause: Clause) -> str:
    """What the case's first check by a set of returns admits; empty where there was none."""
    for case in clause.cases:
        attempt = case.decisive
        for check in attempt.checks if attempt else ():
            if check.role == "expect" and all(word.startswith("DAT_") for word in check.expected):
                granted = _SUCCESS in check.expected
                if granted and len(check.expected) > 1:
                    return "either"
                return "granted" if granted else "refused"
    return ""
