# SPDX-License-Identifier: BSD-2-Clause
"""The rulings of docs/rulings/: how the suite reads an unclear page."""

import re
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^#{2,3} ", re.MULTILINE)
_HEADING = re.compile(r"(?P<id>[A-Z]+-[0-9]+): (?P<title>.+)\n")
_READING = re.compile(r"\*Reading\.\* (?P<reading>.+?)(?:\n\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Ruling:
    """One ruling: what it is about, and the reading that is taken, each in one line of text."""

    id: str
    title: str
    reading: str


def load(folder: Path) -> dict[str, Ruling]:
    """The rulings in the pages of `folder`, docs/rulings of a checkout, by id.

    Raises ValueError if two rulings have one id. Empty if there is no such folder.
    """
    rulings: dict[str, Ruling] = {}
    for page in sorted(folder.glob("*.md")):
        for section in _SECTION.split(page.read_text(encoding="utf-8")):
            heading = _HEADING.match(section)
            if heading:
                if heading["id"] in rulings:
                    raise ValueError(f"{page}: there is another ruling {heading['id']}")
                reading = _READING.search(section)
                words = " ".join(reading["reading"].split()) if reading else ""
                rulings[heading["id"]] = Ruling(heading["id"], heading["title"], words)
    return rulings
