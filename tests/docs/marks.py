# SPDX-License-Identifier: BSD-2-Clause
"""The code blocks of the pages and their marks, which say what each command needs.

A mark is an HTML comment before a block:

    <!-- commands: guests, whole -->       needs of the block's commands: one for all, or one each
    <!-- commands: guests exits 1 -->      the expected exit code, if it is not 0
    <!-- file: ../statement.toml -->       the block is that file, relative to the clone
    <!-- append: cases/srq/srq_resize.toml -->
    <!-- text -->                          neither: output, or an excerpt of a file

Each indented block and each fence without a language has a mark.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "docs/certify.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md")
MARK = re.compile(r"^<!-- (?P<kind>commands|file|append|text)(?:: (?P<value>.+))? -->$")
NEED = re.compile(r"^(?P<need>[a-z]+)(?: exits (?P<code>\d+))?$")


class Need(StrEnum):
    """What a command needs. REASONS has those that no test provides."""

    CLONE = "clone"  # a built clone, and the files of other blocks
    GUESTS = "guests"  # also soft-RoCE guests, or a change of the clone; at most some minutes
    WHOLE = "whole"
    LAB = "lab"
    CLUSTER = "cluster"
    TERMINAL = "terminal"
    SPEC = "spec"
    GIVEN = "given"
    INSTALLED = "installed"
    LONG = "long"
    FORM = "form"
    ELSEWHERE = "elsewhere"
    PACKAGES = "packages"


REASONS = {
    Need.WHOLE: "runs the whole suite, all faults or all tests: other steps do",
    Need.LAB: "needs hosts by ssh or RDMA hardware: the step labs does it in guests",
    Need.CLUSTER: "needs a Slurm cluster: the step labs does it in guests",
    Need.TERMINAL: "waits for a person at a terminal",
    Need.SPEC: "needs the man pages, which are not part of the project",
    Need.GIVEN: "needs a library that is not part of the project",
    Need.INSTALLED: "installs on the machine: the step installed does it in bare Debians",
    Need.LONG: "takes more than ten minutes: the step soak, or a benchmark",
    Need.ELSEWHERE: "another page has the same command",
    Need.PACKAGES: "needs packages of packages-dev.txt: other steps run it",
    Need.FORM: "is the form of a command, with a name to replace",
}


class MarkError(Exception):
    """A block without a mark, or a mark that is wrong."""


@dataclass(frozen=True)
class Command:
    """One command of a block, with the exit code that it has to have."""

    text: str
    need: Need
    code: int = 0


@dataclass(frozen=True)
class Block:
    """A code block: commands, or a file, or neither."""

    page: Path
    line: int
    text: str
    commands: tuple[Command, ...] = ()
    file: str = ""
    append: str = ""

    @property
    def place(self) -> str:
        """Page and line."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The marked blocks of a page, in its order. Raises MarkError."""
    mark = None
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block":
            mark = MARK.match(token.content.strip()) or mark
            continue
        if token.type not in ("code_block", "fence"):
            if token.nesting >= 0 and token.type != "inline":
                mark = None
            continue
        line = token.map[0] + 1 if token.map else 0
        if mark is not None:
            yield _block(page, line, token.content, mark)
        elif not token.info:
            raise MarkError(f"{page.relative_to(ROOT)}:{line}: the block has no mark")
        mark = None


def _block(page: Path, line: int, text: str, mark: re.Match[str]) -> Block:
    kind, value = mark["kind"], mark["value"] or ""
    if kind == "file":
        return Block(page, line, text, file=value)
    if kind == "append":
        return Block(page, line, text, append=value)
    if kind == "text":
        return Block(page, line, text)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    needs = [_need(page, line, each.strip()) for each in value.split(",")]
    if len(needs) == 1:
        needs *= len(lines)
    if len(needs) != len(lines):
        where = f"{page.relative_to(ROOT)}:{line}"
        raise MarkError(f"{where}: {len(needs)} needs for {len(lines)} commands")
    found = (Command(each, *need) for each, need in zip(lines, needs, strict=True))
    return Block(page, line, text, commands=tuple(found))


def _need(page: Path, line: int, word: str) -> tuple[Need, int]:
    match = NEED.match(word)
    if match is None or match["need"] not in list(Need):
        raise MarkError(f"{page.relative_to(ROOT)}:{line}: no such need: {word}")
    return Need(match["need"]), int(match["code"] or 0)


def all_blocks() -> list[Block]:
    """The blocks of all pages, in the order in which they are run. Raises MarkError."""
    pages = (*dict.fromkeys(PAGES), ROOT / "CONTRIBUTING.md")
    return [block for page in pages for block in blocks(page)]
