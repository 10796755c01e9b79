# SPDX-License-Identifier: BSD-2-Clause
"""The checks that keep catalogue, pages, rulings and cases true to each other.

Without the pages, which a clone does not have, a catalogue is held to the list of hashes that it
gives itself; with them, that list is held to the page.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import oracle
from faults.rows import RowError
from runners.catalogue import coverage, ruled
from runners.catalogue import pages as man
from runners.catalogue.clauses import (
    Catalogue,
    CatalogueError,
    Clause,
    PageClauses,
    every_page,
    load,
)
from runners.catalogue.faults import proof_faults, sought
from runners.catalogue.rulings import load as load_rulings
from runners.names import nearest

AGREES = 0
DISAGREES = 1
COULD_NOT_TELL = 2

# So many words in a row are a quotation.
QUOTED_WORDS = 9

# In a reason: a clause, a call, and other pages that are not named.
_CLAUSE_ID = re.compile(r"\b[a-z_0-9]+/[a-z_0-9]+(?:/[a-z_0-9]+)?\b")
_CALL = re.compile(r"\bdat_[a-z_]+\b")
_OTHER_PAGES = re.compile(r"\b(?:the pages? of|each page)\b")

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """A case as the binary lists it."""

    id: str
    file: str
    peers: int
    network: bool
    needs: frozenset[str]


class CasesError(Exception):
    """The cases cannot be listed; the message says what to do."""


def run(pages: Path | None = None, *, root: Path = _ROOT, binary: Path | None = None) -> int:
    """Checks the catalogue of `root` and prints what is wrong, a line each, and a summary.

    `pages` is a folder of formatted man pages; `binary` the udapl-cases to compare with, by default
    the built one. Returns 0 when all agrees, 1 when something does not, 2 when the cases could not
    be listed and nothing else is wrong.
    """
    try:
        catalogue = load(root / "cases")
        faults = list(catalogue_faults(catalogue, root, pages))
        if (root / "faults").is_dir():
            faults.extend(proof_faults(catalogue, root / "faults"))
    except (CatalogueError, man.PageError) as error:
        print(error, file=sys.stderr)
        return DISAGREES
    unlisted = None
    try:
        cases = list_cases(binary or root / "build/default/bin/udapl-cases")
        faults.extend(case_faults(catalogue, cases))
    except CasesError as error:
        unlisted = str(error)
    return _told(catalogue, faults, unlisted)


def catalogue_faults(catalogue: Catalogue, root: Path, pages: Path | None) -> Iterator[str]:
    """What is wrong without looking at a case."""
    rulings = frozenset(load_rulings(root / "docs/rulings"))
    yield from list_faults(catalogue, every_page(root / "cases"), pages)
    for page in catalogue.pages:
        yield from accounting_faults(page)
        yield from ruling_faults(page, rulings)
    yield from picture_faults(catalogue)
    yield from deferral_faults(catalogue)
    if (root / "oracle").is_dir():
        yield from rule_faults(catalogue, rulings)
    try:
        faults = sought(root / "faults")
    except RowError:
        faults = []  # proof_faults tells of it
    yield from coverage.stale(catalogue, every_page(root / "cases"), root, faults)
    if pages is not None:
        quotable = quotations(pages)
        for page in catalogue.pages:
            if page.stands_on:
                yield from borrowing_faults(
                    page, [man.read(pages, name) for name in page.stands_on]
                )
            else:
                yield from drift_faults(page, man.read(pages, page.page))
            yield from quotation_faults(page, quotable)


def list_faults(catalogue: Catalogue, listed: Sequence[str], pages: Path | None) -> Iterator[str]:
    """cases/pages.txt, of which reports say how many are covered, names each page once."""
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"cases/pages.txt: {name} is listed twice"
    for page in catalogue.pages:
        if page.page not in listed and not page.stands_on:
            yield f"{page.page}: is not in cases/pages.txt{nearest(page.page, listed)}"
    if pages is not None:
        there = {path.stem for path in pages.glob("dat_*.txt")}
        for name in sorted(there ^ set(listed)):
            where = "is listed, and no page" if name in listed else "is a page, and not listed"
            yield f"cases/pages.txt: {name} {where}"


def accounting_faults(page: PageClauses) -> Iterator[str]:
    """Each sentence is the ground of a clause or informative, and none is invented."""
    if sum(count for _, count in page.sections) != len(page.sentences):
        yield f"{page.page}: sections: do not add up to the {len(page.sentences)} sentences"
    convicting = {c.id for c in page.clauses if c.level == "must" and c.checkable}
    named = {"legal": page.legal, "control": page.control, "apart": page.apart}
    for key, id_ in named.items():
        if id_ and id_ not in convicting and (key == "legal" or id_ != page.legal):
            yield f"{page.page}: standard: {key}: {id_} is no must clause with a case"
    for clause in page.clauses:
        if clause.shows and clause.shows not in clause.needs:
            yield f"{clause.id}: shows: {clause.shows} is not among its needs"
    listed = set(page.sentences)
    grounds = {hash_ for clause in page.clauses for hash_ in clause.sentences}
    informative = {hash_ for row in page.informative for hash_ in row.sentences}
    for hash_ in page.sentences:
        if hash_ not in grounds | informative:
            yield f"{page.page}: sentence {hash_} has neither a clause nor a reason to have none"
        if hash_ in grounds & informative:
            yield f"{page.page}: sentence {hash_} has a clause and is called informative"
    for clause in page.clauses:
        for hash_ in clause.sentences:
            if hash_ not in listed:
                yield f"{clause.id}: sentences: {hash_} is not in the page's list"
    for hash_ in sorted(informative - listed):
        yield f"{page.page}: informative: {hash_} is not in the page's list"


def drift_faults(page: PageClauses, text: man.Page) -> Iterator[str]:
    """The list of sentences is the page's, and a clause is in a section of its sentences."""
    where = {sentence.hash: sentence for sentence in text.sentences}
    for hash_ in text.hashes:
        if hash_ not in page.sentences:
            yield f"{page.page}: the page has {hash_}, which is not listed: {where[hash_].text}"
    for hash_ in page.sentences:
        if hash_ not in where:
            yield f"{page.page}: {hash_} is listed, and the page has no such sentence (any more)"
    common = [hash_ for hash_ in page.sentences if hash_ in where]
    if common != [hash_ for hash_ in text.hashes if hash_ in set(common)]:
        yield f"{page.page}: sentences: are not in the page's order"
    elif page.sentences == text.hashes and page.sections != text.sections:
        yield f"{page.page}: sections: are not the page's, which are {_counts(text.sections)}"
    for clause in page.clauses:
        sections = {where[hash_].section for hash_ in clause.sentences if hash_ in where}
        if sections and clause.section not in sections:
            yield f"{clause.id}: section: its sentences stand in {', '.join(sorted(sections))}"


def borrowing_faults(page: PageClauses, texts: Sequence[man.Page]) -> Iterator[str]:
    """The sentences of a call without a page stand on the pages that are named for it."""
    sections: dict[str, set[str]] = {}
    for text in texts:
        for sentence in text.sentences:
            sections.setdefault(sentence.hash, set()).add(sentence.section)
    for hash_ in page.sentences:
        if hash_ not in sections:
            yield f"{page.page}: {hash_} is listed, and none of {', '.join(page.stands_on)} has it"
    for clause in page.clauses:
        found = {name for hash_ in clause.sentences for name in sections.get(hash_, ())}
        if found and clause.section not in found:
            yield f"{clause.id}: section: its sentences stand in {', '.join(sorted(found))}"


def ruling_faults(page: PageClauses, rulings: frozenset[str]) -> Iterator[str]:
    """A ruling that a clause leans on can be read."""
    for clause in page.clauses:
        for ruling in clause.rulings:
            if ruling not in rulings:
                yield f"{clause.id}: rulings: {ruling} is not in docs/rulings/"


def rule_faults(catalogue: Catalogue, rulings: frozenset[str]) -> Iterator[str]:
    """Each rule of the executable specification cites clauses and rulings that exist."""
    families = {id_.rpartition("/")[0] for id_ in catalogue.clauses}
    for rule in oracle.rules():
        if not rule.clauses:
            yield f"oracle: {rule.name}: cites no clause"
        for clause in rule.clauses:
            if clause not in catalogue.clauses and clause not in families:
                yield f"oracle: {rule.name}: cites {clause}, which is no clause"
        for ruling in rule.rulings:
            if ruling not in rulings:
                yield f"oracle: {rule.name}: cites {ruling}, which is no ruling"


def picture_faults(catalogue: Catalogue) -> Iterator[str]:
    """The families that a picture is drawn of have the same rows, and there are several."""
    drawn: dict[str, dict[str, list[str]]] = {}
    for clause in catalogue.clauses.values():
        if clause.picture:
            family, _, row = clause.id.rpartition("/")
            drawn.setdefault(clause.picture, {}).setdefault(family, []).append(row)
    for picture, families in drawn.items():
        (first, rows), *others = families.items()
        if not others:
            near = nearest(picture, drawn.keys() - {picture})
            yield f"{first}: picture: no other family has {picture!r}{near}"
        for family, found in others:
            if found != rows:
                yield f"{family}: picture: its rows are not those of {first} in {picture!r}"


def deferral_faults(catalogue: Catalogue) -> Iterator[str]:
    """A reason that leaves a demand to another page names a clause there that a case decides."""
    checkable = [clause.id for clause in catalogue.clauses.values() if clause.checkable]
    decided = {*checkable, *(id_.rpartition("/")[0] for id_ in checkable)}
    stems = {page.path.stem for page in catalogue.pages}
    for page in catalogue.pages:
        reasons = [(page.page, row.reason) for row in page.informative]
        reasons += [(clause.id, clause.reason) for clause in page.clauses if clause.reason]
        for place, reason in dict.fromkeys(reasons):
            named = [id_ for id_ in _CLAUSE_ID.findall(reason) if id_.split("/")[0] in stems]
            for id_ in named:
                if id_ not in decided:
                    yield f"{place}: reason: {id_} is no clause that a case decides"
            elsewhere = _OTHER_PAGES.search(reason) or set(_CALL.findall(reason)) - {page.page}
            if elsewhere and not named:
                yield f"{place}: reason: leaves it to another page, and names no clause there"


def quotations(directory: Path) -> frozenset[tuple[str, ...]]:
    """All runs of QUOTED_WORDS words that the pages of `directory` have."""
    runs: set[tuple[str, ...]] = set()
    for path in sorted(directory.glob("*.txt")):
        runs.update(_runs(path.read_text(encoding="utf-8", errors="replace")))
    return frozenset(runs)


def quotation_faults(page: PageClauses, quotable: frozenset[tuple[str, ...]]) -> Iterator[str]:
    """Clauses and reasons are in words of their own."""
    texts = [(clause.id, "text", clause.text) for clause in page.clauses]
    texts += [(clause.id, "reason", clause.reason or "") for clause in page.clauses]
    texts += [(page.page, "informative", row.reason) for row in page.informative]
    for place, key, text in dict.fromkeys(texts):
        quoted = next((run for run in _runs(text) if run in quotable), None)
        if quoted:
            yield f"{place}: {key}: is the page's own wording: {' '.join(quoted)}"


def case_faults(catalogue: Catalogue, cases: Mapping[str, Case]) -> Iterator[str]:
    """Each checkable clause has its case, each case its clause, and they say the same."""
    checkable = {clause.id: clause for clause in catalogue.clauses.values() if clause.checkable}
    for id_ in sorted(checkable.keys() - cases.keys()):
        yield f"{id_}: has no case{nearest(id_, cases.keys() - checkable.keys())}"
    for id_ in sorted(cases.keys() - checkable.keys()):
        what = "its clause has check = none" if id_ in catalogue.clauses else "has no clause"
        yield f"{id_} ({cases[id_].file}): {what}"
    for id_ in sorted(checkable.keys() & cases.keys()):
        yield from _agreement_faults(checkable[id_], cases[id_])


def list_cases(binary: Path) -> dict[str, Case]:
    """The cases that `binary` lists, by id; CasesError where it cannot."""
    try:
        done = subprocess.run([binary, "--list"], capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        cases = [
            Case(r["id"], r["file"], r["peers"], r["network"], frozenset(r["needs"])) for r in rows
        ]
    except FileNotFoundError:
        raise CasesError(f"{binary} is not built, so no case was looked at") from None
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError, TypeError) as error:
        raise CasesError(f"{binary} does not list its cases: {error}") from None
    return {case.id: case for case in cases}


def _agreement_faults(clause: Clause, case: Case) -> Iterator[str]:
    fits = {
        "local": case.peers == 0,
        "pair": case.peers == 1 and not case.network,
        "network": case.peers == 1 and case.network,
        "multi": case.peers > 1,
    }
    if not fits[clause.check]:
        where = " by a network that it disturbs" if case.network else ""
        yield f"{clause.id}: check: is {clause.check}, and its case has {case.peers} peer(s){where}"
    if set(clause.needs) != case.needs:
        yield (
            f"{clause.id}: needs: the clause has {_list(clause.needs)}, "
            f"its case {_list(case.needs)}"
        )


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """The runs of QUOTED_WORDS words; names of calls and types in a row are no wording."""
    row = re.findall(r"[a-z_0-9]+", text.lower())
    for at in range(len(row) - QUOTED_WORDS + 1):
        run_ = tuple(row[at : at + QUOTED_WORDS])
        if len(set(run_)) > QUOTED_WORDS // 2 + 1:
            yield run_


def _counts(sections: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{name} = {count}" for name, count in sections)


def _list(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)) or "none"


def _told(catalogue: Catalogue, faults: Sequence[str], unlisted: str | None) -> int:
    for page in catalogue.pages:
        checkable = sum(clause.checkable for clause in page.clauses)
        print(
            f"{page.page}: {len(page.sentences)} sentences, {len(page.clauses)} clauses, "
            f"{checkable} of them for a case to check",
            flush=True,
        )
    for fault in faults:
        print(fault, file=sys.stderr)
    if unlisted:
        print(f"spec check: {unlisted}", file=sys.stderr)
    if faults:
        print(f"spec check: {len(faults)} disagreements", file=sys.stderr)
        return DISAGREES
    if unlisted:
        return COULD_NOT_TELL
    if ruled.clauses_cited() & catalogue.clauses.keys():
        print(ruled.total(catalogue))
    print("spec check: all agrees")
    return AGREES
