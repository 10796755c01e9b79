# SPDX-License-Identifier: BSD-2-Clause
"""Parses the text of a recorded value: numbers, names, structures and arrays.

A structure becomes a dict, an array a list, a decimal number an int; every other value stays text,
without the remark that its object is freed. A text that does not parse becomes None, which rules
read as "not recorded".
"""

from typing import Any

FREED = " (freed)"
MEMO_MAX = 200_000

_memo: dict[str, Any] = {}


def parse(text: str) -> Any:
    """Return the value of one recorded text. Results are shared: treat them as read-only."""
    try:
        return _memo[text]
    except KeyError:
        pass
    value = _parse_whole(text)
    if len(_memo) >= MEMO_MAX:
        _memo.clear()
    _memo[text] = value
    return value


def _parse_whole(text: str) -> Any:
    if not text:
        return None
    first = text[0]
    if first not in '{["':
        return _scalar(text)
    try:
        value, end = _value(text, 0)
    except (IndexError, ValueError):
        return None
    return value if end == len(text) else None


def _scalar(text: str) -> int | str:
    if text.endswith(FREED):
        text = text[: -len(FREED)]
    if text.isdecimal() or (text[:1] == "-" and text[1:].isdecimal()):
        return int(text)
    return text


def _value(text: str, at: int) -> tuple[Any, int]:
    first = text[at]
    if first == "{":
        return _structure(text, at + 1)
    if first == "[":
        return _array(text, at + 1)
    if first == '"':
        end = text.index('"', at + 1)
        return text[at + 1 : end], end + 1
    end = at
    while end < len(text) and text[end] not in ",}]":
        end += 1
    return _scalar(text[at:end]), end


def _structure(text: str, at: int) -> tuple[dict[str, Any], int]:
    fields: dict[str, Any] = {}
    while text[at] != "}":
        equals = text.index("=", at)
        value, end = _value(text, equals + 1)
        fields[text[at:equals]] = value
        at = end
        if text.startswith(", ", at):
            at += 2
        elif text[at] != "}":
            raise ValueError
    return fields, at + 1


def _array(text: str, at: int) -> tuple[list[Any], int]:
    elements: list[Any] = []
    while text[at] != "]":
        value, at = _value(text, at)
        elements.append(value)
        if text.startswith(", ", at):
            at += 2
        elif text[at] != "]":
            raise ValueError
    return elements, at + 1


def flags(text: Any) -> frozenset[str]:
    """Return the names in a recorded set of flags; an unnamed bit is a name such as 0x40."""
    if isinstance(text, str):
        return frozenset(text.split("|"))
    return frozenset((str(text),))
