# SPDX-License-Identifier: BSD-2-Clause
"""The lines of events.jsonl.zst, each a record whose members are read by name and type."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from results.errors import ReportError
from results.runlog import frames
from results.runlog.chain import START, Link, broken
from results.runlog.printable import printable

FORMAT = 6
# The first format whose records are chained by digests.
OLDEST = 2
# Numbers are of 64 bits.
MOST = 1 << 63
# Before format 4, the verdict ERROR was called BROKEN.
_FORMER = {"BROKEN": "ERROR"}
_RENAMED = 4
RECORD_TYPES = frozenset(
    {"run", "hosts", "verdict", "undeclared", "walk", "explored", "incident", "end"}
)
_NUMBERS = frozenset({int, float})
_LISTS = frozenset({list})
# How a line ends that the runner wrote.
_END = re.compile(rb',"n":([0-9]{1,9}),"prev":"([0-9a-f]{64})"}\n\Z')
_END_MOST = 100
# So many different lists are made printable once: those of a run's calls are seldom new.
_SHARED = 1 << 14


class Members:
    """The members of one JSON object of a line; a wrong type is damage that names the line."""

    __slots__ = ("_path", "line", "link", "place", "values")

    def __init__(
        self,
        line: int,
        values: dict[str, Any],
        path: str = "",
        link: Link = START,
        place: frames.Line | None = None,
    ) -> None:
        self.line = line
        self.values = values
        # Of a whole line of a file, not of a part of one.
        self.link = link
        self.place = place
        self._path = path

    def damaged(self, why: str) -> NoReturn:
        """Gives the line up: `why` is a clause such as "'ms' is not a number"."""
        raise ReportError(
            f"events.jsonl.zst, line {self.line}: {why}; the file was damaged after it was written,"
            " or by another program than this suite's runner"
        )

    def _get(self, name: str, kinds: tuple[type, ...], what: str, default: Any) -> Any:
        value = self.values.get(name)
        if value is None:
            if default is None:
                self.damaged(f"'{self._path}{name}' is missing")
            return default
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            self.damaged(f"'{self._path}{name}' is not {what}")
        return value

    def text(self, name: str, default: str | None = "") -> str:
        """The string `name`, made printable; with the default None it must be there."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            value = self._get(name, (str,), "a string", default)
        return printable(value)

    def number(self, name: str, default: float | None = 0) -> float:
        """The number `name`."""
        value: float = self.values.get(name)  # type: ignore[assignment]
        if type(value) in _NUMBERS and -MOST <= value < MOST:
            return value
        value = self._get(name, (int, float), "a number", default)
        if not -MOST <= value < MOST:
            self.damaged(f"'{self._path}{name}' is too large")
        return value

    def integer(self, name: str, default: int | None = 0) -> int:
        """The whole number `name`."""
        value: int = self.values.get(name)  # type: ignore[assignment]
        if type(value) is int and -MOST <= value < MOST:
            return value
        value = self._get(name, (int,), "a whole number", default)
        if not -MOST <= value < MOST:
            self.damaged(f"'{self._path}{name}' is too large")
        return value

    def flag(self, name: str) -> bool:
        """The boolean `name`, False when it is absent."""
        if name not in self.values:
            return False
        value: bool = self._get(name, (bool,), "true or false", False)
        return value

    def items(self, name: str) -> list[Any]:
        """The list `name` as it is, empty when it is absent."""
        found = self.values.get(name)
        value: list[Any] = found if type(found) is list else self._get(name, (list,), "a list", [])
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """The list `name`, each element as printable text; an event object stands for its text."""
        items = self.items(name)
        if not items:
            return ()
        try:
            return _texts(tuple(items))
        except TypeError:
            return tuple(as_text(item) for item in items)

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """The list of [name, value] pairs `name`; an element that is no pair has an empty name."""
        found = self.items(name)
        if not found:
            return ()
        if set(map(type, found)) <= _LISTS:
            try:
                return _pairs(tuple(map(tuple, found)))
            except TypeError:
                pass
        items = [
            (item[0], item[1]) if isinstance(item, list) and len(item) == 2 else ("", item)
            for item in found
        ]
        return tuple([(as_text(key), as_text(value)) for key, value in items])

    def table(self, name: str) -> dict[str, str]:
        """The object `name` with each value as printable text, empty when it is absent."""
        value: dict[str, Any] = self._get(name, (dict,), "an object", {})
        return {printable(key): as_text(item) for key, item in value.items()}

    def counts(self, name: str) -> dict[str, int]:
        """The object `name` of whole numbers, empty when it is absent."""
        member = self.member(name)
        return {printable(key): member.integer(key, None) for key in member.values}

    def member(self, name: str) -> "Members":
        """The object `name`, empty when it is absent."""
        value: dict[str, Any] = self._get(name, (dict,), "an object", {})
        return Members(self.line, value, f"{self._path}{name}.")

    def members(self, name: str) -> Iterator["Members"]:
        """The list of objects `name`: each until the next one is asked for, for there are many."""
        one = Members(self.line, {}, f"{self._path}{name}.")
        for item in self.items(name):
            if not isinstance(item, dict):
                self.damaged(f"'{self._path}{name}' holds something that is no object")
            one.values = item
            yield one


@lru_cache(maxsize=_SHARED)
def _texts(items: tuple[Any, ...]) -> tuple[str, ...]:
    """Texts made printable. Raises TypeError where one is none: 1 and true are the same key."""
    if not all(isinstance(item, str) for item in items):
        raise TypeError
    return tuple(map(printable, items))


@lru_cache(maxsize=_SHARED)
def _pairs(items: tuple[tuple[Any, ...], ...]) -> tuple[tuple[str, str], ...]:
    """Pairs of texts made printable. Raises TypeError where one is no such."""
    if not all(len(item) == 2 for item in items):
        raise TypeError
    return tuple([(name, value) for name, value in map(_texts, items)])


def as_text(value: Any) -> str:
    """A JSON value for a person: strings as they are, objects by their `text` if they have one."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return printable(value["text"])
    return printable(json.dumps(value, ensure_ascii=False))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _decode(raw: bytes) -> Any:
    return json.loads(raw.decode("utf-8", "surrogateescape"), parse_constant=_no_constant)


def read(path: Path) -> Iterator[Members | None]:
    """Yields the records of `path` in order; a last line that was cut off yields None instead.

    Raises ReportError when there is no such file, when it is of another format, and for a line that
    is damaged or does not follow the one before it, which it names.
    """
    try:
        file = path.open("rb")
    except (FileNotFoundError, NotADirectoryError):
        raise ReportError(f"no such run: {path.parent} has no {path.name}") from None
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None
    with file:
        last = START
        former = False
        try:
            for line in frames.lines(file):
                record = _record(line, last, file) if line else None
                if record is None:
                    yield None
                    return
                if last is START:
                    former = _is_before(record, _RENAMED)
                if former:
                    _rename(record)
                yield record
                last = record.link
        except frames.FrameError as error:
            Members(last.number + 1, {}).damaged(str(error))
        if last is START:
            raise ReportError(f"{path} is empty: the run ended before its first record")


class Unclear(Exception):
    """A line that read() has to look at."""


def unread(path: Path) -> Iterator[tuple[Link, bytes]]:
    """Yields the lines of `path`, each with the link that it follows by its end.

    Raises Unclear where read() would have more to say.
    """
    try:
        with path.open("rb") as file:
            last = START
            for line in frames.lines(file):
                end = _END.search(line.raw[-_END_MOST:]) if line else None
                if line is None or end is None:
                    raise Unclear
                if (int(end[1]), end[2].decode()) != (last.number + 1, last.digest):
                    raise Unclear
                yield last, line.raw
                last = last.to(line.raw)
    except (OSError, frames.FrameError) as error:
        raise Unclear from error


def whole(raw: bytes, last: Link) -> Members:
    """The record of a line of unread(), if today's names are in it. Raises Unclear."""
    try:
        record = _checked(_decode(raw), last, last.to(raw), None)
    except (ValueError, RecursionError, ReportError) as error:
        raise Unclear from error
    if last is START and _is_before(record, _RENAMED):
        raise Unclear
    return record


def _record(line: frames.Line, last: Link, file: BinaryIO) -> Members | None:
    """The record of a line; None for one that a crash has spoilt."""
    link = last.to(line.raw)
    try:
        value = _decode(line.raw)
    except (ValueError, RecursionError) as error:
        if frames.is_last(file, line):
            return None
        Members(link.number, {}).damaged(f"this is not JSON ({error})")
    return _checked(value, last, link, line)


def _checked(value: Any, last: Link, link: Link, line: frames.Line | None) -> Members:
    number = link.number
    if not isinstance(value, dict):
        Members(number, {}).damaged("this is no JSON object")
    record = Members(number, value, link=link, place=line)
    if number == 1 and value.get("type") == "run":
        _check_format(record)
    if why := broken(value, last):
        record.damaged(why)
    kind = value.get("type")
    if (kind == "run") != (number == 1):
        record.damaged("a run record stands on the first line, and only there")
    if kind not in RECORD_TYPES:
        record.damaged(f"there is no record type {as_text(kind)!r}")
    return record


def _is_before(record: Members, version: int) -> bool:
    """Whether the first record of a run is of a format before `version`."""
    told = record.values.get("format", version)
    return isinstance(told, int) and told < version


def _rename(record: Members) -> None:
    """Give a verdict of an earlier format its name of today."""
    word = record.values.get("verdict")
    if isinstance(word, str) and word in _FORMER:
        record.values["verdict"] = _FORMER[word]


def _check_format(record: Members) -> None:
    version = record.integer("format", None)
    if version > FORMAT:
        raise ReportError(
            f"events.jsonl.zst is of format {version}, this udapl-cts reads formats up to {FORMAT}:"
            " use the udapl-cts that wrote it, or a newer one"
        )
    if version < 1:
        record.damaged(f"there is no format {version}")
    if version < OLDEST:
        raise ReportError(
            f"events.jsonl.zst is of format {version}, whose records carry no digest of the one"
            " before: use the udapl-cts that wrote it"
        )
