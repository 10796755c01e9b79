# SPDX-License-Identifier: BSD-2-Clause
"""The rulings of docs/rulings.md: how the suite reads what a page leaves unclear."""

import re
from dataclasses import dataclass
from pathlib import Path

_SECTION = re.compile(r"^#{2,3} ", re.MULTILINE)
_HEADING = re.compile(r"(?P<id>[A-Z]+-[0-9]+): (?P<title>.+)\n")
_READING = re.compile(r"\*The reading\.\* (?P<reading>.+?)(?:\n\n|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Ruling:
    """One ruling: what it is about, and the reading that is taken, each in one line of text."""

    id: str
    title: str
    reading: str


def load(path: Path) -> dict[str, Ruling]:
    """The rulings in `path`, docs/rulings.md of a checkout, by id; none where there is no file."""
    if not path.is_file():
        return {}
    rulings = {}
    for section in _SECTION.split(path.read_text(encoding="utf-8")):
        heading = _HEADING.match(section)
        if heading:
            reading = _READING.search(section)
            words = " ".join(reading["reading"].split()) if reading else ""
            rulings[heading["id"]] = Ruling(heading["id"], heading["title"], words)
    return rulings
