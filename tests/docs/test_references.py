# SPDX-License-Identifier: BSD-2-Clause
"""References in pages and sources: links, headings and decisions exist."""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = ROOT / "docs/decisions"
REPLACES = re.compile(r"^Replaces ([0-9, ]+)\.$", re.MULTILINE)
INDEX_ROW = re.compile(r"^\| \[(\d{4})\]\((\d{4}-[a-z0-9-]+\.md)\) \| (.+) \| ([0-9, ]*)\|$")
NUMBERS = re.compile(r"\d{4}")


def tracked(*patterns: str) -> list[Path]:
    """Files of the checkout whose names match, those that are not committed yet included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, text=True, capture_output=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).is_file()]


@cache
def tokens(path: Path) -> list[Token]:
    """The Markdown tokens of a page, inline ones included."""
    parsed = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    return [part for token in parsed for part in (token, *(token.children or []))]


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: set[str] = set()
    heading = False
    for token in tokens(path):
        if token.type == "heading_open":
            heading = True
        elif heading and token.type == "inline":
            words = "".join(part.content for part in token.children or [])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            copies = sum(1 for name in found if re.fullmatch(re.escape(slug) + r"(-\d+)?", name))
            found.add(f"{slug}-{copies}" if copies else slug)
            heading = False
    return found


def broken_links(page: Path) -> Iterator[str]:
    """Links and pictures of a page that lead nowhere."""
    for token in tokens(page):
        target = token.attrGet("href") or token.attrGet("src")
        if not target or "://" in str(target) or str(target).startswith("mailto:"):
            continue
        name, _, anchor = str(target).partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists():
            yield f"{page.relative_to(ROOT)}: no file {target}"
        elif anchor and anchor not in anchors(there):
            yield f"{page.relative_to(ROOT)}: no heading {target}"


def test_every_link_of_a_page_leads_somewhere() -> None:
    assert not [broken for page in tracked("*.md") for broken in broken_links(page)]


def test_every_decision_that_a_file_cites_exists() -> None:
    cited = re.compile(r"decisions/(\d{4}[a-z0-9.-]*)")
    dangling = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in tracked()
        if path.suffix in {".md", ".py", ".c", ".h", ".toml", ".txt", ".cmake", ".html"}
        for name in cited.findall(path.read_text(encoding="utf-8", errors="replace"))
        if not (DECISIONS / name.rstrip(".")).is_file()
    ]
    assert not dangling, "docs/decisions/README.md says which page replaces a number"


def test_the_index_has_every_decision_once_with_its_title_and_what_it_replaces() -> None:
    rows = [
        match.groups()
        for line in (DECISIONS / "README.md").read_text(encoding="utf-8").splitlines()
        if (match := INDEX_ROW.match(line))
    ]
    pages = {path.name: path.read_text(encoding="utf-8") for path in DECISIONS.glob("[0-9]*.md")}
    expected = []
    for name, text in pages.items():
        number, title = text.splitlines()[0].removeprefix("# ").split(": ", 1)
        replaced = REPLACES.search(text)
        expected.append((number, name, title, replaced[1] if replaced else ""))
    rows = [(number, name, title, replaced.strip()) for number, name, title, replaced in rows]
    assert sorted(rows) == sorted(expected)


def test_a_number_of_a_decision_is_used_once() -> None:
    numbers = [path.name[:4] for path in DECISIONS.glob("[0-9]*.md")]
    for path in DECISIONS.glob("[0-9]*.md"):
        replaced = REPLACES.search(path.read_text(encoding="utf-8"))
        numbers += NUMBERS.findall(replaced[1]) if replaced else []
    assert len(numbers) == len(set(numbers))
