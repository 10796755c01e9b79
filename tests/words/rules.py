# SPDX-License-Identifier: BSD-2-Clause
"""The rules of rules.toml as checks of proselint."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from proselint.registry.checks import Check, CheckResult
from proselint.registry.checks.types import PreferredFormsSimple
from pysbd import Segmenter

RULES = Path(__file__).with_name("rules.toml")
WORD = re.compile(r"[\w`][\w`'’./:()\[\]-]*")  # noqa: RUF001
IRREGULAR = "known given taken seen made held kept sent told found left lost built read set".split()
PASSIVE = re.compile(
    r"\b(?:is|are|was|were|be|been|being)\s+(?:not\s+|never\s+|then\s+|also\s+|only\s+)?"
    rf"(?:\w{{2,}}ed|\w+wn|{'|'.join(IRREGULAR)})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rules:
    """What rules.toml says."""

    words: int
    share: int
    passives: int
    exempt: frozenset[str]
    instead: dict[str, str]
    left: int


@dataclass(frozen=True)
class Finding:
    """A rule that a piece of prose breaks."""

    rule: str
    message: str


def load(path: Path = RULES) -> Rules:
    """The rules in `path`."""
    rules = tomllib.loads(path.read_text(encoding="utf-8"))
    sentence = rules["sentence"]
    return Rules(
        words=sentence["words"],
        share=sentence["share"],
        passives=sentence["passives"],
        exempt=frozenset(rules["pages"]["exempt"]),
        instead=rules["instead"],
        left=rules["sources"]["left"],
    )


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph."""
    return [sentence.strip() for sentence in _segmenter().segment(text) if WORD.search(sentence)]


def words(sentence: str) -> int:
    """How many words a sentence has."""
    return len(WORD.findall(sentence))


@cache
def _segmenter() -> Segmenter:
    return Segmenter(language="en", clean=False)


class Linter:
    """The checks of a set of rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._figures = Check(
            check_type=PreferredFormsSimple(items=rules.instead),
            path="words.figures",
            message="{1!r}: write {0!r}",
        )
        self._passives = Check(check_type=self._chains, path="words.passives")
        self._long = Check(check_type=self._long_sentence, path="words.long")

    def figures(self, text: str) -> list[Finding]:
        """Figures of speech in a text."""
        return self._findings(self._figures, text)

    def sentence(self, text: str) -> list[Finding]:
        """What is wrong with one sentence of a page: its length, and chains of passive verbs."""
        return self._findings(self._long, text) + self._findings(self._passives, text)

    def _findings(self, check: Check, text: str) -> list[Finding]:
        # proselint pads a text with line ends, so that words at its ends are found.
        results = cast("Iterator[CheckResult]", check.check_with_flags(f"\n{text}\n"))
        return [Finding(result.check_path, result.message) for result in results]

    def _long_sentence(self, text: str, check: Check) -> Iterator[CheckResult]:
        if (count := words(text)) > self._rules.words:
            message = f"{count} words: {' '.join(text.split())}"
            yield CheckResult(check.path, message, (0, len(text)), None)

    def _chains(self, text: str, check: Check) -> Iterator[CheckResult]:
        verbs = PASSIVE.findall(text)
        if len(verbs) >= self._rules.passives:
            message = f"passive chain {verbs}: {' '.join(text.split())}"
            yield CheckResult(check.path, message, (0, len(text)), None)
