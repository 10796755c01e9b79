# SPDX-License-Identifier: BSD-2-Clause
"""Prose of the checkout: paragraphs of pages, and comments and texts of sources."""

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
C_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
C_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"')
HASH_COMMENT = re.compile(r"^[ \t]*#(.*)$", re.MULTILINE)
# A text with fewer words is a name or a key.
TEXT_WORDS = 3

Piece = tuple[int, str]


def tracked(*patterns: str) -> list[Path]:
    """Files of the checkout whose names match."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).is_file()]


def paragraphs(page: str) -> Iterator[Piece]:
    """The paragraphs, list items and table cells of a Markdown page, with their first line.

    Code is one word, and a link is its text.
    """
    line = 1
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline":
            yield line, "".join(_plain(part) for part in token.children or []).strip()


def _plain(token: Token) -> str:
    if token.type == "code_inline":
        return "`code`"
    if token.type in {"softbreak", "hardbreak"}:
        return " "
    return token.content if token.type == "text" else ""


def source(path: Path) -> Iterator[Piece]:
    """The comments and texts of a source file, with their lines."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in {".c", ".h"}:
        yield from _matches(C_COMMENT, text)
        yield from _texts(_matches(C_TEXT, C_COMMENT.sub(_blank, text)))
    elif path.suffix == ".py":
        yield from _python(text)
    elif path.suffix == ".toml":
        yield from _matches(HASH_COMMENT, text)
        yield from _texts((1, value) for value in _strings(tomllib.loads(text)))


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[Piece]:
    for match in pattern.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split())


def _blank(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def _texts(pieces: Iterator[Piece]) -> Iterator[Piece]:
    return ((line, text) for line, text in pieces if len(text.split()) >= TEXT_WORDS)


def _python(text: str) -> Iterator[Piece]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = " ".join(node.value.encode(errors="replace").decode().split())
            yield from _texts(iter([(node.lineno, words)]))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)
