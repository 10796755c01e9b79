# SPDX-License-Identifier: BSD-2-Clause
"""Pages as their author knows them: each sentence in its place, and what is based on it.

A sentence is its section, its number there and its hash. Its words are the page's, and only shown
where the reader brings the pages.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from results.model.attempt import Verdict, worst
from results.model.clause import Clause, Page
from results.model.run import Run

_MANY = 4

# The words of each page's sentences, by page and hash.
Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Stand:
    """What is based on a sentence: one clause, or the rows of a family that say the same."""

    name: str
    text: str
    clauses: Sequence[Clause]

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict of its clauses."""
        return worst(clause.verdict for clause in self.clauses if clause.verdict)

    @property
    def standing(self) -> str:
        """The verdict's word, or why there is none."""
        return self.verdict.value if self.verdict else self.clauses[0].standing

    @property
    def speaker(self) -> Clause:
        """The clause to look at first: the worst."""
        return next(clause for clause in self.clauses if clause.verdict is self.verdict)

    @property
    def counts(self) -> Counter[str]:
        """The clauses counted by standing."""
        return Counter(clause.standing for clause in self.clauses)


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page: the clauses that stand on it, or why it demands nothing."""

    section: str
    number: int
    hash: str
    stands: Sequence[Stand]
    reason: str
    words: str

    @property
    def verdict(self) -> Verdict | None:
        """The worst verdict of what is based on it."""
        return worst(stand.verdict for stand in self.stands if stand.verdict)


def sentences(run: Run, words: Words) -> dict[str, list[Sentence]]:
    """The sentences of each page that `run` tells of, in the page's order."""
    standing: dict[tuple[str, str], list[Clause]] = {}
    for clause in run.clauses:
        for hash_ in clause.sentences:
            standing.setdefault((clause.page, hash_), []).append(clause)
    return {
        page.name: [
            Sentence(
                section,
                number,
                hash_,
                _stands(standing.get((page.name, hash_), ())),
                page.informative.get(hash_, ""),
                words.get(page.name, {}).get(hash_, ""),
            )
            for section, number, hash_ in _places(page)
        ]
        for page in run.pages
    }


def _places(page: Page) -> Iterator[tuple[str, int, str]]:
    """Each sentence's section, and its number there."""
    places = ((name, n) for name, count in page.sections for n in range(1, count + 1))
    for hash_ in page.sentences:
        name, number = next(places, ("", 0))
        yield name, number, hash_


def _stands(clauses: Iterable[Clause]) -> list[Stand]:
    """The clauses; the rows of a family stand together where they are many, or say the same."""
    families: dict[str, list[Clause]] = {}
    for clause in clauses:
        family, _, row = clause.name.partition("/")
        families.setdefault(family if row else clause.name, []).append(clause)
    stands = []
    for family, rows in families.items():
        if len(rows) >= _MANY or len({clause.text for clause in rows}) < len(rows):
            stands.append(Stand(family, _text(rows), rows))
        else:
            stands += [Stand(clause.name, clause.text, [clause]) for clause in rows]
    return stands


def _text(rows: Sequence[Clause]) -> str:
    """The text of a family in one: the first row's, and which others say as much."""
    first, *others = rows
    if len({clause.text for clause in rows}) == 1:
        return first.text
    names = ", ".join(clause.name.partition("/")[2].replace("_", " ") for clause in others)
    return f"{first.text} Likewise: {names}."
