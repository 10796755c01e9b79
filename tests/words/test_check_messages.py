# SPDX-License-Identifier: BSD-2-Clause
"""A finding by a condition prints the message of its check, so each message is a sentence."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CASES = Path(__file__).parents[2] / "cases"
CALL = re.compile(r"(?<!define )\bexpect_that\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# What C has and English has not: operators, members, calls and constants that are spelt out.
SOURCE = re.compile(r"->|[=!<>]=|&&|\|\||\w\.\w+ |\w\(\)?|\[[^]]*\]|\bNULL\b")


def arguments(text: str, start: int) -> list[str]:
    """The arguments of a call of C whose bracket ends before `start`."""
    found, depth, at = [""], 0, start
    while depth >= 0:
        string = STRING.match(text, at)
        piece = string[0] if string else text[at]
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "," and depth == 0:
            found.append("")
        elif depth >= 0:
            found[-1] += piece
        at += len(piece)
    return [" ".join(argument.split()) for argument in found]


def messages(text: str) -> Iterator[tuple[int, str]]:
    """The line and the message of each expect_that() in a source; empty if it is no literal."""
    for call in CALL.finditer(text):
        _, message, *_ = arguments(text, call.end())
        yield text.count("\n", 0, call.start()) + 1, "".join(STRING.findall(message))


def is_sentence(message: str) -> bool:
    """Whether a message has words, and no source of C."""
    words = re.findall(r"%[#\w]+|[A-Za-z']+", message)
    return len(words) >= 2 and not SOURCE.search(message)


@pytest.mark.parametrize(
    ("message", "is_one"),
    [
        ("the CNO names another EVD", True),
        ("%d places asked for, %d queried", True),
        ("param->length == known->length", False),
        ("woken.evd is wrong", False),
        ("is_poison(&psp)", False),
        ("wrong", False),
        ("", False),
    ],
)
def test_source_is_no_sentence(message: str, is_one: bool) -> None:
    assert is_sentence(message) == is_one


def test_a_message_is_read_over_its_lines() -> None:
    text = 'x;\nexpect_that(f(a, "(") == 2,\n            "two"\n            " words", a);'
    assert list(messages(text)) == [(2, "two words")]


def test_each_condition_says_in_a_sentence_what_was_seen() -> None:
    wrong = [
        f"{path.relative_to(CASES)}:{line}: {message}"
        for path in sorted(CASES.rglob("*.[ch]"))
        for line, message in messages(path.read_text())
        if not is_sentence(message)
    ]
    assert not wrong
