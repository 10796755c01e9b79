# SPDX-License-Identifier: BSD-2-Clause
"""docs/coverage.md: what of the pages no case decides, by reason, as the catalogue has it."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from faults.rows import Fault
from runners.catalogue.clauses import LEVELS, Catalogue, PageClauses

FILE = Path("docs/coverage.md")
# So many pages are named; more are counted.
NAMED = 6

_HEAD = """\
# What is not covered

Every page of uDAPL 1.2 that names a call has a catalogue{but}, which accounts for each of its
sentences: it is the ground of clauses, or demands nothing. A clause has a case. This is what has
none, and why. `./udapl-cts spec coverage` writes the table from the catalogue, and `spec check`
says where it is no longer true.

Clauses that a case decides, but that no fault of ours can break, are the rows `no_fault` in
`faults/`, each with its reason; the report shows them beside the clause.

| what | where | why no case decides it |
|---|---|---|
"""

_SOUGHT = """
## Cases yet to be written

No case finds these faults. The random walks of `./udapl-cts faults` do, each time
([faults.md](faults.md#faults-that-no-case-finds)).

| fault | clause | what the provider does |
|---|---|---|
"""


def text(catalogue: Catalogue, pages: Iterable[str], faults: Iterable[Fault] = ()) -> str:
    """The file, of a catalogue, the names of every page, and the faults."""
    missing = sorted(set(pages) - {page.page for page in catalogue.pages})
    but = f", but for {len(missing)}" if missing else ""
    rows = [*_missing(missing), *_pageless(catalogue.pages), *_clauses(catalogue)]
    rows += _sentences(catalogue.pages)
    lines = (
        f"| {what} | {where} | {why.replace('|', chr(92) + '|')} |" for what, where, why in rows
    )
    return _HEAD.format(but=but) + "\n".join(lines) + "\n" + _sought(faults)


def _sought(faults: Iterable[Fault]) -> str:
    rows = [f"| `{f.id}` | `{f.clause}` | {f.text} |\n" for f in faults if f.found_by]
    return _SOUGHT + "".join(rows) if rows else ""


def stale(
    catalogue: Catalogue, pages: Iterable[str], root: Path, faults: Iterable[Fault] = ()
) -> Iterator[str]:
    """A line where the file of this checkout is not what its catalogue and its faults say."""
    path = root / FILE
    if path.exists() and path.read_text(encoding="utf-8") != text(catalogue, pages, faults):
        yield f"{FILE}: is not what the catalogue says: ./udapl-cts spec coverage > {FILE}"


Row = tuple[str, str, str]


def _missing(pages: Sequence[str]) -> Iterator[Row]:
    if pages:
        yield "page", ", ".join(f"`{page}`" for page in pages), "It has no catalogue as yet."


def _pageless(pages: Iterable[PageClauses]) -> Iterator[Row]:
    for page in pages:
        if page.stands_on and page.names_a_call:
            why = (
                "There is no page of this call. Its clauses stand on sentences of"
                f" {', '.join(page.stands_on)}; what those do not say, no clause does."
            )
            yield "page", f"`{page.page}`", why


def _clauses(catalogue: Catalogue) -> Iterator[Row]:
    for level in LEVELS:
        by_reason: dict[str, list[str]] = {}
        for clause in catalogue.clauses.values():
            if not clause.checkable and clause.level == level:
                by_reason.setdefault(clause.reason or "", []).append(clause.id)
        for reason, ids in sorted(by_reason.items(), key=lambda row: (-len(row[1]), row[1])):
            what = f"{level} clause" if len(ids) == 1 else f"{len(ids)} {level} clauses"
            yield what, _named(sorted(ids), "more"), reason


def _sentences(pages: Iterable[PageClauses]) -> Iterator[Row]:
    by_reason: dict[str, dict[str, int]] = {}
    for page in pages:
        for row in page.informative:
            counts = by_reason.setdefault(row.reason, {})
            counts[page.page] = counts.get(page.page, 0) + len(row.sentences)
    ordered = sorted(by_reason.items(), key=lambda row: (-sum(row[1].values()), sorted(row[1])))
    for reason, counts in ordered:
        count = sum(counts.values())
        what = "sentence" if count == 1 else f"{count} sentences"
        yield what, _named(sorted(counts), "more pages"), reason


def _named(names: Sequence[str], more: str) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED} {more}"
