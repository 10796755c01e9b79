# SPDX-License-Identifier: BSD-2-Clause
"""Families of clauses that make a table together, such as parameters by EP state, as a picture."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from results.model.clause import Clause

_FEWEST_ROWS = 3
_FEWEST_COLUMNS = 4


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
    """Families whose rows have the same names: of one page, or of several for a picture."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Square, ...]], ...]


def tables(clauses: Iterable[Clause]) -> list[Table]:
    """The tables of the pages: at least three families of one with the same four rows or more."""
    alone = (clause for clause in clauses if not clause.picture)
    return [
        table
        for table in _tables(alone, lambda clause: clause.page, lambda clause: clause.name)
        if len(table.columns) >= _FEWEST_COLUMNS and len(table.rows) >= _FEWEST_ROWS
    ]


def pictures(clauses: Iterable[Clause]) -> list[Table]:
    """The tables that the catalogue asks for: families of any page that name the same picture."""
    drawn = (clause for clause in clauses if clause.picture)
    return _tables(drawn, lambda clause: clause.picture, lambda clause: clause.id)


def _tables(
    clauses: Iterable[Clause], table_of: Callable[[Clause], str], name_of: Callable[[Clause], str]
) -> list[Table]:
    """The families among `clauses`, in tables of the same name and the same rows."""
    families: dict[tuple[str, str], list[tuple[str, Clause]]] = {}
    for clause in clauses:
        _, _, row = clause.name.partition("/")
        if row:
            label = name_of(clause).removesuffix(f"/{row}")
            families.setdefault((table_of(clause), label), []).append((row, clause))
    shapes: dict[tuple[str, tuple[str, ...]], list[tuple[str, tuple[Square, ...]]]] = {}
    for (table, label), members in families.items():
        columns = tuple(row for row, _ in members)
        squares = tuple(Square(clause, _demand(clause)) for _, clause in members)
        shapes.setdefault((table, columns), []).append((label, squares))
    return [Table(table, columns, tuple(found)) for (table, columns), found in shapes.items()]


def _demand(clause: Clause) -> str:
    """What the first of a clause's cases demands that demands anything."""
    told = (case.decisive.demand for case in clause.cases if case.decisive)
    return next((each for each in told if each is not None), "")
