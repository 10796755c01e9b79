# SPDX-License-Identifier: BSD-2-Clause
"""dat.conf, as far as its page says what a line means.

A line that is nearly an entry may be one, or none (REG-8): it is odd, and hides no other. The case
notes what it wrote into the file, and how it told its providers to behave.
"""

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from oracle.trace import Trace

# What the records of a case begin with (cases/registry/shared/consumer.c).
OF_TEXT = "the dat.conf of a process of its own:\n"
CONTINUED = "dat.conf, continued:\n"
WITHOUT = "a process of its own, whose dat.conf is a file that there is not"
OF_RUN = "a process of its own, with the dat.conf of the run"
ORDERS = "orders to its providers: "
CUT = "..."

ENTRY = re.compile(
    r"(?P<name>[\w.:/@+-]{1,255}) u(?P<major>\d{1,4})\.(?P<minor>\d{1,4}) "
    r"(?P<safety>threadsafe|nonthreadsafe) (?P<standing>default|nondefault) "
    r'(?P<library>[\w.:/-]+) \w+\.\d+\.\d+ "(?P<data>[^"\\]*)" "[^"\\]*"',
    re.ASCII,
)
FIELDS = 8


class Key(NamedTuple):
    """What an IA is registered by."""

    name: str
    major: int
    minor: int
    safe: bool

    def __str__(self) -> str:
        safety = "threadsafe" if self.safe else "nonthreadsafe"
        return f"{self.name} {self.major}.{self.minor} {safety}"


@dataclass(slots=True)
class Conf:
    """A dat.conf. `known`: the record has all of it. `ordered`: its providers misbehave."""

    known: bool = False
    missing: bool = False
    ordered: bool = False
    odd: int = 0
    entries: set[Key] = field(default_factory=set)
    libraries: dict[Key, str] = field(default_factory=dict)  # of the entries that are listed
    data: dict[Key, list[str]] = field(default_factory=dict)  # of default entries
    loadable: set[str] = field(default_factory=set)  # libraries of which an IA was opened
    least: int = 0  # entries that are listed
    lines: int = 0

    @property
    def most(self) -> int | None:
        """How many are listed at most; None if a line may be one or more."""
        return None if self.odd else self.lines


def conf_of(trace: Trace) -> Conf | None:
    """The dat.conf of the one program of a trace; None where there are more, or none."""
    calls = [call for process in trace.processes for call in process.calls]
    programs = {call.apart for call in calls if call.apart.startswith("exec")}
    starts = [text for text in trace.records if text.startswith((OF_TEXT, WITHOUT, OF_RUN))]
    if len(programs) != 1 or len(starts) != 1 or any(process.cut for process in trace.processes):
        return None
    conf = Conf(missing=starts[0].startswith(WITHOUT))
    conf.ordered = any(text.startswith(ORDERS) for text in trace.records)
    conf.known = conf.missing
    more = [text for text in trace.records if text.startswith(CONTINUED)]
    if starts[0].startswith(OF_TEXT) and not [starts[0], *more][-1].endswith(CUT):
        conf.known = True
        text = "".join(part.removeprefix(CONTINUED) for part in more)
        for line in (starts[0].removeprefix(OF_TEXT) + text).split("\n"):
            _read(conf, line)
    conf.least = len(conf.libraries)
    for call in calls:
        name = call.arg("name")
        if call.name == "dat_ia_openv" and call.ok and isinstance(name, str):
            same = [key for key in conf.libraries if key.name == name.strip('"')]
            conf.loadable |= {conf.libraries[key] for key in same} if len(same) == 1 else set()
    return conf


def _read(conf: Conf, line: str) -> None:
    if not line or line.startswith("#"):
        return
    match = ENTRY.fullmatch(line)
    if match is None:
        conf.odd += not _is_short(line)
        return
    key = Key(
        match["name"], int(match["major"]), int(match["minor"]), match["safety"] == "threadsafe"
    )
    conf.lines += 1
    conf.entries.add(key)
    # A nondefault entry may be no entry, if there is no other one of its name.
    if match["standing"] == "default":
        conf.libraries.setdefault(key, match["library"])
        conf.data.setdefault(key, []).append(match["data"])


def _is_short(line: str) -> bool:
    """Whether a line has surely too few fields."""
    plain = line.isascii() and line.isprintable() and not set('"\\') & set(line.replace('""', ""))
    return plain and len(line.split(" ")) < FIELDS
