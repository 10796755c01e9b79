# SPDX-License-Identifier: BSD-2-Clause
"""Prints a changelog of Debian's format, made of CHANGELOG.md: `changelog.py CHANGELOG.md`.

A release is a heading `## VERSION (YYYY-MM-DD)`. Its entries are the list items below the heading;
an indented line continues an item. Other lines are left out.
"""

import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

HEADING = re.compile(r"^## (?P<version>[0-9][0-9.]*) \((?P<date>\d{4}-\d{2}-\d{2})\)$")
MAINTAINER = "the udapl-cts project <udapl-cts@localhost>"


def debian(markdown: str) -> Iterator[str]:
    """The lines of the Debian changelog."""
    date = ""
    for line in markdown.splitlines():
        if heading := HEADING.match(line):
            if date:
                yield from _end(date)
            date = heading["date"]
            yield f"udapl-cts ({heading['version']}) unstable; urgency=medium\n"
        elif date and line.startswith("- "):
            yield f"  * {line[2:]}"
        elif date and line.startswith("  "):
            yield f"    {line.strip()}"
    if date:
        yield from _end(date)


def _end(date: str) -> Iterator[str]:
    released = datetime.fromisoformat(date).replace(tzinfo=UTC)
    yield f"\n -- {MAINTAINER}  {format_datetime(released)}\n"


if __name__ == "__main__":
    print("\n".join(debian(Path(sys.argv[1]).read_text(encoding="utf-8"))), end="")
