# SPDX-License-Identifier: BSD-2-Clause
"""What an attempt left: calls, checks, frames, and what broke beside its clause."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from results.model.looks import WORDS

_COMPARES = re.compile(r" (?:[=!<>]=|[<>]) ")
_FIELD = re.compile(r"(?:\.|->)\w+$")
# The last name of an expression, without the arguments or the index behind it.
_SUBJECT = re.compile(r"([A-Za-z_]\w*)\s*(?:\(.*\)|\[[^]]*\])?\s*$")
# What frames of the suite's own program begin with, and what the places of its cases have.
_SUITE = "udapl-cases"
_CASE = re.compile(r"^[^,]+, cases/")
_OFFSET = re.compile(r"(?<=\w)\+0x[0-9a-f]+")
# What is wrong with a call that gave the probe no answer.
UNASKED = "unasked"


class Call(NamedTuple):
    """One DAT call that a case, or its peer, made: a run has half a million."""

    n: int
    who: str
    thread: int  # 1: the one that the process began with
    name: str
    args: tuple[tuple[str, str], ...]
    ret: str
    sub: str
    out: tuple[tuple[str, str], ...]
    at_us: float
    us: float
    unfinished: bool
    teardown: bool


class Check(NamedTuple):
    """One check of a case; `after_call` is the number of the last call before it."""

    text: str
    file: str
    line: int
    role: str
    ok: bool
    expected: tuple[str, ...]
    seen: str
    after_call: int

    @property
    def is_condition(self) -> bool:
        """Whether it is one of a condition, whose source is all that was expected. What was seen
        is a sentence then.
        """
        return self.expected == (self.text,)

    @property
    def subject(self) -> str:
        """What a check by a value looked at, "max_recv_dtos" of "after.max_recv_dtos == 8": the
        last field or function before the comparison. Empty for other checks.
        """
        return "" if self.is_condition else WORDS.get(self.compared, self.compared)

    @property
    def title(self) -> str:
        """What a check of a value or of an answer looked at, for a reader who knows the DAT API
        only: the value, or the call. A check of an event has the name of the event, and of the
        variable with the EVD, as its text.
        """
        is_event = any(self.text.startswith(f"{name} on ") for name in self.expected)
        return "the event" if is_event else self.subject or self.text

    @property
    def field(self) -> str:
        """The same, of a condition only if it compares a field."""
        left = _COMPARES.split(self.text, maxsplit=1)[0]
        return self.compared if self.subject or _FIELD.search(left) else ""

    @property
    def compared(self) -> str:
        """The same, of a condition too."""
        left, *compares = _COMPARES.split(self.text, maxsplit=1)
        found = _SUBJECT.search(left) if compares else None
        return found[1] if found else ""


class Backtrace:
    """What has frames: `where` has the function, file and line of each, as much of them as was
    known.
    """

    __slots__ = ()
    backtrace: tuple[str, ...]
    where: tuple[str, ...]

    @property
    def placed(self) -> list[tuple[str, str]]:
        """The frames, each with its place, empty where none is known."""
        places = (*self.where, *[""] * len(self.backtrace))
        return list(zip(self.backtrace, places, strict=False))

    @property
    def frames(self) -> list[str]:
        """The frames, each with its place where one is known."""
        return [f"{frame}  {place}" if place else frame for frame, place in self.placed]

    @property
    def functions(self) -> list[str]:
        """The frames by what their functions are called, and what has no name by its place."""
        return [_function(frame, place) for frame, place in self.placed]

    @property
    def provider(self) -> str:
        """The place of the first frame that is none of the suite, where it has one."""
        return next(
            (
                f"{place} ({frame.split('(')[0]})"
                for frame, place in self.placed
                if place and not frame.startswith(_SUITE)
            ),
            "",
        )

    @property
    def case(self) -> str:
        """The place in the case that led there, where it is known."""
        return next((place for place in self.where if _CASE.search(place)), "")


def _function(frame: str, place: str) -> str:
    """ "libvendor.so(resize)", of a frame and its place."""
    name, comma, _ = place.partition(", ")
    # A place without a line is a function alone, a place without a function a file and its line.
    if name and (comma or ":" not in name):
        return f"{frame.split('(')[0]}({name})"
    return _OFFSET.sub("", frame)


@dataclass(frozen=True, slots=True)
class Crash(Backtrace):
    """The signal that ended a case's process, and where it was."""

    signal: str
    backtrace: tuple[str, ...]
    teardown: bool = False
    who: str = "case"
    where: tuple[str, ...] = ()

    @property
    def in_own_thread(self) -> bool:
        """Whether it was in a thread that the suite has not made: none of its frames is there."""
        return bool(self.backtrace) and not any(
            frame.startswith(_SUITE) for frame in self.backtrace
        )


@dataclass(frozen=True, slots=True)
class Stack(Backtrace):
    """Where a thread of a case was that had no end: `thread` is its number in the calls, 0 where it
    made none, `call` the DAT call that it was in, and `why` the reason that nothing is known.
    """

    backtrace: tuple[str, ...]
    where: tuple[str, ...] = ()
    thread: int = 0
    name: str = ""
    call: str = ""
    why: str = ""
    teardown: bool = False


@dataclass(frozen=True, slots=True)
class Trouble:
    """What broke beside a case's clause: the call, which is empty outside of any, how, what was
    seen, and whose it was, the `case`'s or its `peer`'s. In teardown it was "refused", or ended in
    "crash" or "timeout". A call that "deviates" breaks `clause` by the executable specification.
    One that is "unasked" gave the probe no answer, so the case did without it.
    """

    call: str
    what: str
    saw: str
    who: str = "case"
    # Whether the call was given less time than others, for it had had no end so often before.
    hurried: bool = False
    clause: str = ""

    @property
    def text(self) -> str:
        """In words: "dat_ep_free refused with DAT_INVALID_STATE"."""
        whose = f" of the {self.who}" if self.who != "case" else ""
        if self.clause:
            return f"{self.call}{whose} deviates from {self.clause}: {self.saw}"
        if self.what == UNASKED:
            return f"{self.call} gave the probe no answer, and cases did without it: {self.saw}"
        if self.what == "refused":
            return f"{self.call}{whose} refused with {self.saw}"
        inside = f"inside {self.call}{whose}" if self.call else f"outside of any call{whose}"
        return f"{self.saw} {inside}" + (", hurried" if self.hurried else "")

    @property
    def by(self) -> tuple[str, str]:
        """The call, and whose it was."""
        return self.call, self.who

    @property
    def refuses(self) -> bool:
        """Whether the call was refused."""
        return self.what == "refused" or bool(self.clause and self.saw.startswith("returns DAT_"))

    @property
    def grants(self) -> bool:
        """Whether the call was granted what it must refuse."""
        return bool(self.clause) and self.saw.startswith("succeeds; it must return DAT_")

    @property
    def subject(self) -> str:
        """What a call that deviates told wrongly, "max_recv_iov" of "max_recv_iov is 1, not 2"; or
        all of what was seen, if it is no value.
        """
        return self.saw.partition(" is ")[0].removeprefix("the ")

    @property
    def names_value(self) -> bool:
        """Whether it says of one value what it is."""
        return " is " in self.saw

    @property
    def told(self) -> tuple[str, str, str]:
        """What is the same where a call that deviates tells one thing wrongly, in any way."""
        return self.clause, self.call, self.subject

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What is the same for all cases that met the same, however long each waited."""
        saw = "no end" if self.what == "timeout" else self.clause or self.saw
        return self.call, self.what, saw, self.who


class Evidence(NamedTuple):
    """What an attempt did, and what it left: far more than what counts of it, and more than fits
    into memory for all of a run.
    """

    checks: tuple[Check, ...] = ()
    calls: tuple[Call, ...] = ()
    records: tuple[str, ...] = ()
    output: str = ""
    crash: Crash | None = None
    stacks: tuple[Stack, ...] = ()
