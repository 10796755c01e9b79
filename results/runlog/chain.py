# SPDX-License-Identifier: BSD-2-Clause
"""The chain of a record file: each line carries its number and the digest of the line before it."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Link:
    """What a line hands to the next one: its number, from 1, and its SHA-256."""

    number: int
    digest: str

    def to(self, line: bytes) -> "Link":
        """The link that `line`, the next one, hands on; its newline is no part of it."""
        return Link(self.number + 1, hashlib.sha256(line.removesuffix(b"\n")).hexdigest())


# What the first line carries.
START = Link(0, "0" * 64)


def linked(record: bytes, last: Link) -> bytes:
    """The line, with its newline, of `record`, an encoded JSON object, when it follows `last`."""
    comma = b"," if len(record) > len(b"{}") else b""
    members = f'"n":{last.number + 1},"prev":"{last.digest}"}}\n'
    return record[:-1] + comma + members.encode()


def broken(values: Mapping[str, Any], last: Link) -> str:
    """Why a record with these members does not follow `last`, in words; nothing where it does."""
    number, due = values.get("n"), last.number + 1
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        return "the record has no number ('n')"
    if number > due:
        gap = f"records {due} to {number - 1} are" if number > due + 1 else f"record {due} is"
        return f"this is record {number}, and {gap} not there"
    if number == last.number:
        return f"record {number} stands there twice"
    if number < due:
        return f"this is record {number}, out of its order"
    if values.get("prev") != last.digest:
        if last is START:
            return "the first record carries the digest of another before it"
        return (
            f"it does not carry the digest of record {last.number}: that one was changed after it"
            " was written, or this one"
        )
    return ""
