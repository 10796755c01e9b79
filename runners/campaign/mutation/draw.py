# SPDX-License-Identifier: BSD-2-Clause
"""A part of the faults, for a gate: those of the pages that a change touches, and of the others a
share that is drawn by the commit, so that who runs it again draws the same.

A change of very many pages takes a share of them too. What its lines name is then drawn first.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from faults.rows import Fault
from results.runlog.records import Record
from runners.catalogue.clauses import Catalogue
from runners.checkout import Checkout, added, changes, seed

# Of what a change does not touch, however much it does touch, one in so many is drawn.
AT_LEAST = 20
# Of the pages that a change touches, at most so many times as many mutants as were asked for.
MOST_TOUCHED = 3
_NAMED = re.compile(r'"(?P<quoted>[\w/]+)"|\b(?:CASE|FAMILY)\(\w+, (?P<called>\w+)')


@dataclass(frozen=True)
class Drawn:
    """The faults that were drawn, of `known`. `base` is what the change is since, or empty; `pages`
    are those that it touches, with `changed` of the faults, of which `touched` were drawn; `others`
    is how many there are besides those and the hostile ones, of which each is drawn.
    """

    faults: Sequence[Fault]
    known: int
    seed: int
    base: str
    pages: Sequence[str]
    changed: int
    touched: int
    others: int

    @property
    def text(self) -> str:
        """What was drawn, in words."""
        hostile = sum(not fault.clause for fault in self.faults)
        share = len(self.faults) - self.touched - hostile
        since = f"changed since {self.base}" if self.base else "are known to have changed"
        pages = f"{len(self.pages)} page{'s' if len(self.pages) != 1 else ''}"
        touched = f"all {self.touched}"
        if self.touched < self.changed:
            touched = f"{self.touched} of {self.changed}"
        return (
            f"drawn by seed {self.seed}: {len(self.faults)} of {self.known} faults, which are"
            f" {touched} of the {pages} that {since}, {share} of {self.others} others, and"
            f" {hostile} hostile ones"
        )

    @property
    def record(self) -> Record:
        """The same, for faults.jsonl."""
        members = {"seed": self.seed, "base": self.base, "pages": list(self.pages)}
        return {**members, "faults": len(self.faults), "of": self.known, "text": self.text}


def draw(
    checkout: Checkout,
    catalogue: Catalogue,
    faults: Sequence[Fault],
    mutants: Mapping[str, int],
    most: int,
) -> Drawn:
    """Draw of `faults` so many that they make some `most` mutants; `mutants` are those of each."""
    drawn_by = seed(checkout.root)
    base, paths = changes(checkout.root) or ("", ())
    pages = touched(catalogue, paths)
    slugs = {page.removeprefix("dat_") for page in pages}
    hostile = [fault for fault in faults if not fault.clause]
    changed = [fault for fault in faults if fault.clause.split("/")[0] in slugs]
    chance = random.Random(drawn_by)
    met = changed
    if _count(changed, mutants) > most * MOST_TOUCHED:
        words = _words(checkout, catalogue, base, paths)
        clauses = {page.slug: [clause.id for clause in page.clauses] for page in catalogue.pages}
        parted: dict[bool, list[Fault]] = {True: [], False: []}
        for fault in changed:
            slug = fault.clause.split("/")[0]
            parted[not words[slug].isdisjoint(_names(fault, clauses[slug]))].append(fault)
        met, rest = parted[True], parted[False]
        met += _share(rest, mutants, most * MOST_TOUCHED - _count(met, mutants), chance)
    outside = {fault.id for fault in (*hostile, *changed)}
    others = [fault for fault in faults if fault.id not in outside]
    left = max(most - _count(met, mutants), _count(others, mutants) // AT_LEAST)
    drawn = {fault.id for fault in (*hostile, *met, *_share(others, mutants, left, chance))}
    return Drawn(
        faults=[fault for fault in faults if fault.id in drawn],
        known=len(faults),
        seed=drawn_by,
        base=base,
        pages=pages,
        changed=len(changed),
        touched=len(met),
        others=len(others),
    )


def _count(faults: Iterable[Fault], mutants: Mapping[str, int]) -> int:
    return sum(mutants[fault.id] for fault in faults)


def _share(
    faults: Sequence[Fault], mutants: Mapping[str, int], most: int, chance: random.Random
) -> list[Fault]:
    """So many of the faults, by chance, that they make some `most` mutants."""
    taken: list[Fault] = []
    for fault in chance.sample(faults, len(faults)):
        if most <= 0:
            break
        taken.append(fault)
        most -= mutants[fault.id]
    return taken


def _names(fault: Fault, clauses: Iterable[str]) -> set[str]:
    """What lines of its page call a fault by: its name, its clause's, and those of its rows."""
    ids = (clause for clause in clauses if fault.violates(clause))
    return {fault.name, *(part for clause in ids for part in clause.split("/")[1:])}


def _words(
    checkout: Checkout, catalogue: Catalogue, base: str, paths: Iterable[str]
) -> Mapping[str, set[str]]:
    """By page the names in lines that were added: what is in quotes, and what a C case or a
    family of them is called.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        slugs = [page.removeprefix("dat_") for page in touched(catalogue, [path])]
        lines = added(checkout.root, base, path) if slugs else []
        matches = (match for line in lines for match in _NAMED.finditer(line))
        names = {(match["quoted"] or match["called"]).rsplit("/", 1)[-1] for match in matches}
        for slug in slugs:
            found[slug] |= names
    return found


def touched(catalogue: Catalogue, paths: Iterable[str]) -> list[str]:
    """The pages that these changed files of the checkout are of.

    A file belongs to a page if its name, or the name of its folder below the object's folder, is
    the page's name. Other files of an object's folder, such as those in shared/, belong to all
    pages of the object. Files outside the objects' folders belong to no page.
    """
    found: set[str] = set()
    for path in map(PurePath, paths):
        if len(path.parts) < 3 or path.parts[0] not in ("cases", "faults"):
            continue
        stem = PurePath(path.parts[2]).stem
        of_object = [page for page in catalogue.pages if page.path.parent.name == path.parts[1]]
        named = [page for page in of_object if f"{stem}_".startswith(f"{page.slug}_")]
        longest = sorted(named, key=lambda page: len(page.slug))[-1:]
        found.update(page.page for page in longest or of_object)
    return sorted(found)
