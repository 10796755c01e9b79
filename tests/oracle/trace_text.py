# SPDX-License-Identifier: BSD-2-Clause
"""Small traces as text: a call a line, as it is read in a report.

    dat_pz_create ia_handle=ia -> pz_handle=pz#1
    dat_pz_free pz_handle=pz#1 -> !DAT_INVALID_STATE

Values are those of the records. Several are parted by "; ". Behind the arrow stand what the call
told, and, after "!", its return where that is not DAT_SUCCESS. "peer:" begins a call of the peer,
"2:" one of thread 2, "@10+5" says when a call began, and how long it took, in microseconds.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LINE = re.compile(
    r"(?:(?P<peer>peer): )?(?:(?P<thread>\d+): )?(?P<call>dat_\w+)(?: (?P<args>.*?))? ->"
    r"(?: !(?P<ret>DAT_\w+))?(?: (?P<out>[^@]+?))?(?: @(?P<at>\d+)\+(?P<us>\d+))?"
)


@dataclass(frozen=True)
class Block:
    """One trace: what it shows, and the clause that it breaks ("" where it is accepted)."""

    name: str
    clause: str
    record: dict[str, Any]


def _pairs(text: str | None) -> list[list[str]]:
    return [part.split("=", 1) for part in text.split("; ")] if text else []


def record(lines: list[str]) -> dict[str, Any]:
    """The verdict record of such a text."""
    calls: list[dict[str, Any]] = []
    numbers = {"case": 0, "peer": 0}
    clock = 0
    for line in lines:
        match = LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"no call: {line}")
        who = match["peer"] or "case"
        numbers[who] += 1
        at, us = (int(match["at"]), int(match["us"])) if match["at"] else (clock, 5)
        clock = max(clock, at) + us + 10
        calls.append(
            {
                "kind": "call",
                "n": numbers[who],
                "who": who,
                **({"thread": int(match["thread"])} if match["thread"] else {}),
                "call": match["call"],
                "args": _pairs(match["args"]),
                "ret": match["ret"] or "DAT_SUCCESS",
                "out": _pairs(match["out"]),
                "at_us": at,
                "us": us,
            }
        )
    return {"type": "verdict", "case": "x/y", "hosts": 1, "verdict": "PASS", "calls": calls}


def blocks(path: Path) -> Iterator[Block]:
    """The traces of a file: "accept: NAME" or "refuse CLAUSE: NAME", then calls."""
    name, clause = "", ""
    lines: list[str] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), "accept: end"]:
        if line.startswith(("accept", "refuse")):
            if lines:
                yield Block(name, clause, record(lines))
            head, _, name = line.partition(": ")
            clause, lines = head.partition(" ")[2], []
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
