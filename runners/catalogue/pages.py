# SPDX-License-Identifier: BSD-2-Clause
"""A man page as plain text, taken apart into the sentences that a catalogue accounts for.

What a catalogue keeps of a sentence is its hash, so no text of a page enters the project. A hash
stands for the sentence's words alone: it outlives a page's being set anew in another width.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

HASH_DIGITS = 8

_SKIPPED_SECTIONS = frozenset({"SEE ALSO"})
_HEADING = re.compile(r"[A-Z][A-Z ]*")
_BULLET = re.compile(r"( *)(o|\d+\.)( {2,})(?=\S)")
_BROKEN_WORD = re.compile(r"(?<=\w)([-_])\s+(?=\w)")
_SENTENCE_END = re.compile(r"[.?!][\"')]*$")
_SENTENCE_START = re.compile(r"[\"'(]*([A-Z0-9]|[a-z][A-Z]|\w+_)")
_ABBREVIATIONS = frozenset({"e.g.", "i.e.", "etc.", "vs.", "cf."})
_TABLE_RULES = frozenset("─┌┬┐├┼┤└┴┘")
_TABLE_HEADER = ("ATTRIBUTE TYPE", "ATTRIBUTE VALUE")


class PageError(Exception):
    """A page cannot be read; the message names its file."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a row of a synopsis or table. `terms` are the entries it stands under."""

    section: str
    terms: tuple[str, ...]
    text: str

    @property
    def words(self) -> tuple[str, ...]:
        """What the hash stands for: the words of terms and text, lower-case."""
        return tuple(words(" ".join((*self.terms, self.text))))

    @cached_property
    def hash(self) -> str:
        """The name of the sentence in a catalogue."""
        digest = hashlib.sha256(" ".join(self.words).encode()).hexdigest()
        return digest[:HASH_DIGITS]


@dataclass(frozen=True)
class Page:
    """A page's sentences in their order, SEE ALSO left out."""

    name: str
    sentences: tuple[Sentence, ...]

    @property
    def hashes(self) -> tuple[str, ...]:
        """The sentences' hashes in their order; a sentence that the page repeats stands once."""
        return tuple(dict.fromkeys(sentence.hash for sentence in self.sentences))

    @property
    def sections(self) -> tuple[tuple[str, int], ...]:
        """How many of the hashes each section has, in their order."""
        first: dict[str, str] = {}
        for sentence in self.sentences:
            first.setdefault(sentence.hash, sentence.section)
        return tuple(Counter(first.values()).items())


def words(text: str) -> list[str]:
    """The words of `text`: lower-case, free of punctuation, broken ones rejoined."""
    rejoined = _BROKEN_WORD.sub(r"\1", text)
    return re.findall(r"[a-z0-9_]+", rejoined.replace("-", "").lower())


def read(directory: Path, name: str) -> Page:
    """The page `name` (dat_srq_resize) of `directory`; PageError where there is none."""
    path = directory / f"{name}.txt"
    try:
        return parse(name, path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PageError(f"{path}: no such page") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PageError(f"{path}: {error}") from None


def parse(name: str, text: str) -> Page:
    """Takes apart the page whose formatted text is `text`."""
    found: list[Sentence] = []
    for section, lines in _sections(_without_running_lines(text.splitlines())):
        if section not in _SKIPPED_SECTIONS:
            found.extend(sentence for sentence in _units(section, lines) if sentence.words)
    if not found:
        raise PageError(f"{name}: no section with a sentence was found; is it a formatted page?")
    return Page(name, tuple(found))


def _without_running_lines(lines: Sequence[str]) -> list[str]:
    """Leaves out what runs along the top and the bottom of a page: lines at the margin that head
    no section.
    """
    return [line for line in lines if not line[:1].strip() or _HEADING.fullmatch(line.rstrip())]


def _sections(lines: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    heading = ""
    body: list[str] = []
    for line in lines:
        if line[:1].strip():
            if heading:
                yield heading, body
            heading, body = line.rstrip(), []
        else:
            body.append(line.rstrip())
    if heading:
        yield heading, body


def _units(section: str, lines: Sequence[str]) -> Iterator[Sentence]:
    if section == "NAME":
        yield Sentence(section, (), " ".join(" ".join(lines).split()))
    elif section == "SYNOPSIS":
        yield from (Sentence(section, (), row) for row in _synopsis_rows(lines))
    else:
        prose = [line for line in lines if not _is_table(line)]
        yield from _prose(section, prose)
        yield from (Sentence(section, (), row) for row in _table_rows(lines))


def _synopsis_rows(lines: Sequence[str]) -> Iterator[str]:
    """How to compile, what to include, and each declaration: the paragraphs, but that the first
    two stand in one.
    """
    row: list[str] = []
    for line in [*lines, ""]:
        text = " ".join(line.split())
        alone = text.startswith(("cc ", "#"))
        if row and (alone or not text):
            yield " ".join(row)
            row = []
        if alone:
            yield text
        elif text:
            row.append(text)


def _is_table(line: str) -> bool:
    text = line.strip()
    return text[:1] == "│" or (bool(text) and set(text) <= _TABLE_RULES)


def _table_rows(lines: Sequence[str]) -> Iterator[str]:
    """The rows between a table's rules, each with its cells' lines rejoined."""
    cells: list[list[str]] = []
    for line in (line.strip() for line in lines if _is_table(line)):
        if line.startswith("│"):
            parts = [part.strip() for part in line.strip("│").split("│")]
            cells.append(parts)
            continue
        row = tuple(" ".join(filter(None, column)) for column in zip(*cells, strict=False))
        cells = []
        if row and row != _TABLE_HEADER:
            yield ": ".join(filter(None, row))


@dataclass(frozen=True)
class _Block:
    indent: int
    lines: tuple[str, ...]
    bullet: bool = False

    @property
    def text(self) -> str:
        return _BROKEN_WORD.sub(r"\1", " ".join(self.lines))


def _prose(section: str, lines: Sequence[str]) -> Iterator[Sentence]:
    """The sentences of paragraphs and of entries, an entry being a short line with deeper text."""
    blocks = list(_blocks(lines))
    terms: list[_Block] = []
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        while terms and terms[-1].indent >= block.indent:
            terms.pop()
        if following is not None and _is_term(block, following):
            terms.append(block)
            continue
        for text in _split(block.text):
            yield Sentence(section, tuple(term.text for term in terms), text)


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    """Runs of lines of one indentation, ended by a blank line or a bullet."""
    run: list[str] = []
    indent = 0
    bullet = False
    for line in [*lines, ""]:
        mark = _BULLET.match(line)
        column = mark.end() if mark else len(line) - len(line.lstrip())
        if run and (mark or not line.strip() or column != indent):
            yield _Block(indent, tuple(run), bullet)
            run = []
        if not run:
            indent, bullet = column, mark is not None
        if line.strip():
            run.append(line[column:])


def _is_term(block: _Block, following: _Block) -> bool:
    return (
        following.indent > block.indent
        and not block.bullet
        and len(block.lines) == 1
        and len(_split(block.text)) == 1
        and not _SENTENCE_END.search(block.text)
    )


def _split(text: str) -> list[str]:
    """The sentences of a paragraph."""
    tokens = text.split()
    sentences: list[str] = []
    start = 0
    for at, (token, following) in enumerate(zip(tokens, [*tokens[1:], ""], strict=True)):
        ends = _SENTENCE_END.search(token) and token.lower() not in _ABBREVIATIONS
        if not following or (ends and _SENTENCE_START.match(following)):
            sentences.append(" ".join(tokens[start : at + 1]))
            start = at + 1
    return sentences
