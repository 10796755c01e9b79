# SPDX-License-Identifier: BSD-2-Clause
"""A part of the faults, for a gate: those of the pages that a change touches, and of the others a
share that is drawn by the commit, so that who runs it again draws the same.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from faults.rows import Fault
from results.runlog.records import Record
from runners.catalogue.clauses import Catalogue
from runners.checkout import Checkout, changes, seed

# Of what a change does not touch, however much it does touch, one in so many is drawn.
AT_LEAST = 20


@dataclass(frozen=True)
class Drawn:
    """The faults that were drawn, of `known`. `base` is what the change is since, or empty; `pages`
    are those that it touches, with `touched` of the faults; `others` is how many there are besides
    those and the hostile ones, of which each is drawn.
    """

    faults: Sequence[Fault]
    known: int
    seed: int
    base: str
    pages: Sequence[str]
    touched: int
    others: int

    @property
    def text(self) -> str:
        """What was drawn, in words."""
        hostile = sum(not fault.clause for fault in self.faults)
        share = len(self.faults) - self.touched - hostile
        since = f"changed since {self.base}" if self.base else "are known to have changed"
        pages = f"{len(self.pages)} page{'s' if len(self.pages) != 1 else ''}"
        return (
            f"drawn by seed {self.seed}: {len(self.faults)} of {self.known} faults, which are all"
            f" {self.touched} of the {pages} that {since}, {share} of {self.others} others, and"
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
    named = {fault.id for fault in (*hostile, *changed)}
    others = [fault for fault in faults if fault.id not in named]
    left = most - sum(mutants[fault.id] for fault in changed)
    left = max(left, sum(mutants[fault.id] for fault in others) // AT_LEAST)
    for fault in random.Random(drawn_by).sample(others, len(others)):
        if left <= 0:
            break
        named.add(fault.id)
        left -= mutants[fault.id]
    return Drawn(
        faults=[fault for fault in faults if fault.id in named],
        known=len(faults),
        seed=drawn_by,
        base=base,
        pages=pages,
        touched=len(changed),
        others=len(others),
    )


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
