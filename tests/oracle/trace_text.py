# SPDX-License-Identifier: BSD-2-Clause
"""Small traces as text: a call a line, as it is read in a report.

    accept: a zone that nothing uses is freed
    dat_pz_create ia_handle=ia -> pz_handle=pz#1
    dat_pz_free pz_handle=pz#1 ->

    refuse pz_free/in_use after lmr: a zone that an LMR uses is freed
    dat_pz_free pz_handle=pz#1 ->

Values are those of the records. Several are parted by "; ". Behind the arrow stand what the call
told, and, after "!", its return where that is not DAT_SUCCESS. "peer:" begins a call of the peer,
"2:" one of thread 2, "@10+5" says when a call began, and how long it took, in microseconds, and
"@+5" how much time had passed since the call before. "-> ..." is a call that did not return.

setup.txt has the calls that traces begin with (setup NAME after OTHER:), and values that have a
name (let NAME = VALUE). $NAME is such a value, $NAME(field=value, other=value) has other fields.
"without NAME" in the head of a trace is an attribute that the provider declares to be false, and
"with NAME" one that it declares to be true. "memory(post=3, length=64)" has what the record says
of the bytes of a transfer. "exec:" begins a call of a program of its own; "record: " has what the
case has noted, with "\\n" for a new line.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

SETUP = Path(__file__).parent / "traces" / "setup.txt"
LINE = re.compile(
    r"(?:(?P<peer>peer): )?(?:(?P<child>exec): )?(?:(?P<thread>\d+): )?"
    r"(?P<call>dat_\w+)(?: (?P<args>.*?))? ->"
    r"(?: (?P<unfinished>\.\.\.))?(?: !(?P<ret>DAT_\w+))?(?: (?P<out>[^@(]+?))?"
    r"(?: memory\((?P<memory>[^)]*)\))?"
    r"(?: @(?P<at>\d*)\+(?P<us>\d+))?"
)
HEAD = re.compile(
    r"(?P<kind>accept|refuse (?P<clause>\S+)|setup (?P<setup>\w+))"
    r"(?: after (?P<after>\w+))?(?: without (?P<without>\w+))?(?: with (?P<has>\w+))?"
    r"(?:: (?P<name>.*))?"
)
NAMED = re.compile(r"\$(\w+)(?:\(([^)]*)\))?")


@dataclass(frozen=True)
class Block:
    """One trace: what it shows, and the clause that it breaks ("" where it is accepted)."""

    name: str
    clause: str
    lines: tuple[str, ...]
    without: str = ""  # an attribute that is declared to be false
    has: str = ""  # one that is declared to be true

    @property
    def record(self) -> dict[str, Any]:
        """Its verdict record."""
        return record(self.lines)


def _pairs(text: str | None) -> list[list[str]]:
    return [part.split("=", 1) for part in text.split("; ")] if text else []


def record(lines: Sequence[str]) -> dict[str, Any]:
    """The verdict record of such a text."""
    calls: list[dict[str, Any]] = []
    numbers = {"case": 0, "peer": 0}
    clock = 0
    records: list[str] = []
    for line in lines:
        if line.startswith("record: "):
            records.append(line.removeprefix("record: ").replace("\\n", "\n"))
            continue
        match = LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"no call: {line}")
        who = match["peer"] or "case"
        numbers[who] += 1
        at, us = clock, 5
        if match["at"]:
            at, us = int(match["at"]), int(match["us"])
        elif match["us"]:
            at = clock + int(match["us"])
        clock = max(clock, at) + us + 10
        calls.append(
            {
                "kind": "call",
                "n": numbers[who],
                "who": who,
                **({"thread": int(match["thread"])} if match["thread"] else {}),
                **({"child": "exec#2"} if match["child"] else {}),
                "call": match["call"],
                "args": _pairs(match["args"]),
                "out": _pairs(match["out"]),
                "at_us": at,
                **_memory(match["memory"]),
                **_ended(match, us),
            }
        )
    hung = [call["call"] for call in calls if "unfinished" in call]
    return {
        "type": "verdict",
        "case": "x/y",
        "hosts": 1,
        "verdict": "TIMEOUT" if hung else "PASS",
        **({"pending": hung[-1]} if hung else {}),
        "calls": calls,
        "records": records,
    }


def _memory(text: str | None) -> dict[str, Any]:
    """What a record has of bytes: numbers, and digests, which are texts."""
    if text is None:
        return {}
    told = dict(part.split("=", 1) for part in text.split(", "))
    texts = ("digest", "remote")
    return {"memory": {name: part if name in texts else int(part) for name, part in told.items()}}


def _ended(match: re.Match[str], us: int) -> dict[str, Any]:
    if match["unfinished"]:
        return {"unfinished": True}
    return {"ret": match["ret"] or "DAT_SUCCESS", "us": us}


def blocks(path: Path) -> Iterator[Block]:
    """The traces of a file."""
    setups, values = _setup()
    for head, lines in _parts(path):
        before = setups[head["after"]] if head["after"] else ()
        own = tuple(_with_values(line, values) for line in lines)
        parts = (head["without"] or "", head["has"] or "")
        yield Block(head["name"], head["clause"] or "", before + own, *parts)


def _parts(path: Path) -> Iterator[tuple[re.Match[str], list[str]]]:
    """What is written of each trace: its head, and its calls."""
    head: re.Match[str] | None = None
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        started = HEAD.fullmatch(line.rstrip(":"))
        if started:
            if head:
                yield head, lines
            head, lines = started, []
        elif line.strip() and not line.startswith(("#", "let ")):
            lines.append(line)
    if head:
        yield head, lines


@cache
def _setup() -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """The calls, and the values, that have a name."""
    values: dict[str, str] = {}
    for line in SETUP.read_text(encoding="utf-8").splitlines():
        if line.startswith("let "):
            name, _, value = line.removeprefix("let ").partition(" = ")
            values[name] = _with_values(value, values)
    setups: dict[str, tuple[str, ...]] = {}
    for head, lines in _parts(SETUP):
        before = setups[head["after"]] if head["after"] else ()
        setups[head["setup"]] = before + tuple(_with_values(line, values) for line in lines)
    return setups, values


def _with_values(line: str, values: Mapping[str, str]) -> str:
    return NAMED.sub(lambda found: _value(values[found[1]], found[2]), line)


def _value(value: str, others: str | None) -> str:
    for other in others.split(", ") if others else ():
        field, _, given = other.partition("=")
        value, count = re.subn(rf"\b{field}=[^,;}}]*", f"{field}={given}", value, count=1)
        if not count:
            raise ValueError(f"no field {field} in {value}")
    return value
