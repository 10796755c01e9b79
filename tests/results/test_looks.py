# SPDX-License-Identifier: BSD-2-Clause
"""What checks look at, in words that a reader of a report knows."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.model.evidence import Check
from results.model.looks import WORDS

ROOT = Path(__file__).parents[2]


def eq_checks() -> Iterator[str]:
    """The sources of what the cases compare by expect_eq()."""
    for path in sorted(ROOT.glob("cases/**/*.[ch]")):
        source = path.read_text(encoding="utf-8")
        for found in re.finditer(r"\bexpect_eq\(", source):
            depth = 0
            for at in range(found.end(), len(source)):
                depth += {"(": 1, ")": -1}.get(source[at], 0)
                if depth < 0 or (depth == 0 and source[at] == ","):
                    yield " ".join(source[found.end() : at].split())
                    break


def check(text: str, *expected: str) -> Check:
    return Check(
        text, "cases/a.c", 1, "expect", ok=False, expected=expected, seen="1", after_call=1
    )


def test_helpers_of_cases_have_words() -> None:
    known = {*re.findall(r"\w+", "".join(p.read_text() for p in ROOT.glob("include/**/*.h")))}
    helpers = {
        one.compared for text in eq_checks() if "(" in text for one in (check(f"{text} == 2", "2"),)
    }
    assert helpers - known <= {*WORDS}


@pytest.mark.parametrize(
    ("text", "expected", "title"),
    [
        ("srq_size(t, srq) == 8", "8", "max_recv_dtos"),
        ("after.max_recv_dtos == 8", "8", "max_recv_dtos"),
        ("DAT_SOFTWARE_EVENT on loop.evd", "DAT_SOFTWARE_EVENT", "the event"),
        ("dat_evd_dequeue(...)", "DAT_QUEUE_EMPTY", "dat_evd_dequeue(...)"),
    ],
)
def test_a_title_has_no_name_of_a_helper(text: str, expected: str, title: str) -> None:
    assert check(text, expected).title == title
