# SPDX-License-Identifier: BSD-2-Clause
"""The faults that stand against the clauses: faults/**/*.toml and the catalogue, together."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults.rows import Fault, NoFault, RowError, load_faults, load_no_faults
from runners.catalogue.clauses import Catalogue
from runners.names import nearest


@dataclass(frozen=True)
class Rows:
    """The rows of all faults of a checkout."""

    faults: Sequence[Fault]
    no_faults: Sequence[NoFault]

    @property
    def clauses(self) -> list[tuple[Path, str]]:
        """The clauses that rows speak of, and where."""
        named = [(fault.path, fault.clause) for fault in self.faults if fault.clause]
        named += [(f.path, f"{f.clause}/{row}") for f in self.faults for row in f.but]
        return named + [(row.path, row.clause) for row in self.no_faults]


def load_rows(folder: Path) -> Rows:
    """All rows under `folder` (faults/), and those that follow from the catalogue beside it.

    RowError where one makes no sense.
    """
    paths = [*sorted(folder.rglob("*.toml")), *sorted((folder.parent / "cases").glob("*/*.toml"))]
    return Rows(load_faults(paths), load_no_faults(paths))


def sought(folder: Path) -> list[Fault]:
    """The rows under `folder` that random walks have to find; none if there is no such folder."""
    if not folder.is_dir():
        return []
    return [fault for fault in load_faults(sorted(folder.rglob("*.toml"))) if fault.found_by]


def prefixes(clause: str) -> list[str]:
    """`page/family/row` and the family that it is of."""
    parts = clause.split("/")
    return ["/".join(parts[:count]) for count in range(2, len(parts) + 1)]


def unknown(catalogue: Catalogue, rows: Rows) -> Iterator[str]:
    """A line for each row that speaks of a clause which is none."""
    known = {prefix for id_ in catalogue.clauses for prefix in prefixes(id_)}
    for path, clause in rows.clauses:
        if clause not in known:
            yield f"{path}: no clause is called {clause!r}{nearest(clause, known)}"


def unproven(catalogue: Catalogue, rows: Rows) -> list[str]:
    """The `must` clauses with a case that have neither a fault nor a reason why there is none."""
    for_cases = [fault for fault in rows.faults if not fault.found_by]
    named = {fault.clause for fault in for_cases if not fault.but}
    named |= {row.clause for row in rows.no_faults}
    of_some_rows = [fault for fault in for_cases if fault.but]
    return [
        clause.id
        for clause in catalogue.clauses.values()
        if clause.level == "must" and clause.checkable and not named & set(prefixes(clause.id))
        if not any(fault.violates(clause.id) for fault in of_some_rows)
    ]


def misblamed(catalogue: Catalogue, rows: Rows) -> Iterator[str]:
    """A line for each fault of a provider against a clause that is said to be the registry's."""
    registrys = {id_ for id_, clause in catalogue.clauses.items() if clause.blame == "registry"}
    for fault in rows.faults:
        if fault.clause in registrys and not fault.in_libdat:
            yield (
                f"{fault.clause}: blame: is the registry's, and a provider alone breaks it by the"
                f" fault {fault.id}"
            )


def proof_faults(catalogue: Catalogue, folder: Path) -> Iterator[str]:
    """What stands between the clauses and the proof that their cases can fail, a line each."""
    try:
        rows = load_rows(folder)
    except RowError as error:
        yield str(error)
        return
    yield from unknown(catalogue, rows)
    yield from misblamed(catalogue, rows)
    for page in catalogue.pages:
        if not page.legal and page.names_a_call:
            yield (
                f"{page.page}: standard: legal: is missing: name the clause whose case fails a"
                " provider that refuses every call"
            )
    for id_ in unproven(catalogue, rows):
        yield f"{id_}: has neither a fault for its case to catch nor a no_fault with a reason"
