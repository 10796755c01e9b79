# SPDX-License-Identifier: BSD-2-Clause
"""Files of waivers: what `certify --waivers` reads. docs/waivers.md shows one."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from results.errors import InputError
from results.runlog.records import Record
from runners.catalogue.faults import prefixes
from runners.inputs import read_toml
from runners.names import nearest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_SCHEMA = Path(__file__).resolve().parents[3] / "docs/waivers.schema.json"


def read(path: Path, clauses: Collection[str], today: date) -> list[Record]:
    """The waivers of the file `path`, as the run's record has them.

    `clauses` are the ids of all clauses. Raises InputError, with the place, for a file that cannot
    be read or is no file of waivers, and for a waiver of no clause or one that is expired `today`.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    table = read_toml(path, "the waivers")
    rows = [_plain(row) for row in _tables(table)]
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    checked = {**table, "waiver": rows} if "waiver" in table else table
    wrong = best_match(Draft202012Validator(schema).iter_errors(checked))
    if wrong is not None:
        raise InputError(f"{path}: {_said(wrong, rows)}")
    known = {prefix for id_ in clauses for prefix in prefixes(id_)}
    for row in rows:
        _check(path, row, known, today)
    return rows


def _tables(table: Mapping[str, Any]) -> Sequence[Any]:
    rows = table.get("waiver")
    return rows if isinstance(rows, list) else []


def _plain(row: Any) -> Any:
    """A row as the schema knows it, which has no dates."""
    if not isinstance(row, dict):
        return row
    return {key: str(value) if type(value) is date else value for key, value in row.items()}


def _said(wrong: "ValidationError", rows: Sequence[Any]) -> str:
    """What is wrong, and in which waiver of the file."""
    place = list(wrong.absolute_path)
    if not place or place[0] != "waiver" or len(place) < 2:
        return f"{wrong.message}; docs/waivers.md shows one"
    number = int(place[1])
    row = rows[number]
    clause = f" ({row['clause']})" if isinstance(row, dict) and "clause" in row else ""
    key = f"{place[2]}: " if len(place) > 2 else ""
    if key == "expires: ":
        return f"waiver {number + 1}{clause}: expires: is no date, such as 2027-01-31"
    return f"waiver {number + 1}{clause}: {key}{wrong.message}"


def _check(path: Path, row: Record, known: Iterable[str], today: date) -> None:
    clause = row["clause"]
    if clause not in known:
        raise InputError(f"{path}: no clause is called {clause!r}{nearest(clause, known)}")
    try:
        SpecifierSet(row["versions"])
    except InvalidSpecifier:
        raise InputError(
            f"{path}: the waiver of {clause}: versions: {row['versions']!r} is no range,"
            ' such as ">=2.1, <2.3"'
        ) from None
    try:
        last = date.fromisoformat(row["expires"])
    except ValueError:
        raise InputError(
            f"{path}: the waiver of {clause}: expires: is no date, such as 2027-01-31"
        ) from None
    if last < today:
        raise InputError(
            f"{path}: the waiver of {clause} expired on {last}: renew it with its approver"
            f" ({row['approver']}), or remove it"
        )
