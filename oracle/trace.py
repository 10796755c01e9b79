# SPDX-License-Identifier: BSD-2-Clause
"""Reads the calls of one verdict record.

A record that is damaged is refused as a whole, with the number of the call; a call whose values are
not recorded is left to the rules, which do not judge what they cannot see.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oracle.typed import value
from oracle.values import parse

# Recorded times are cut to a microsecond, begin and duration each.
CLOCK_US = 2


# The type of a record that `trace` made of a process (docs/trace.md).
TRACED = "trace"


class TraceError(Exception):
    """A record that is no trace; the message names the call."""


class Call:
    """One recorded call. `overlaps` are the calls of other threads that it met."""

    __slots__ = (
        "apart",
        "args",
        "begin",
        "changed",
        "end",
        "finished",
        "key",
        "memory",
        "n",
        "name",
        "o",
        "objects",
        "out",
        "overlaps",
        "raw",
        "ret",
        "sub",
        "teardown",
        "thread",
        "typed",
        "who",
    )

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.n: int = raw["n"]
        self.who: str = raw["who"]
        self.thread: int = raw.get("thread", 1)
        self.apart: str = raw.get("child", "")  # of a forked copy, or a program of its own
        self.name: str = raw["call"]
        # Records of format 3 have the values as data beside their texts.
        values = raw.get("typed", raw)
        args = values["args"]
        if values is not raw and not isinstance(args, dict):
            raise TypeError("typed arguments are no object")
        self.typed = isinstance(args, dict)
        self.args: dict[str, Any] = _values(args) if self.typed else dict(args)
        if values is not raw:
            self._tell_nulls(args, dict(raw["args"]))
        self.finished: bool = not raw.get("unfinished", False)
        self.ret: str = raw.get("ret", "")
        self.sub: str = raw.get("sub", "")
        out = values.get("out") or {}
        self.out: dict[str, Any] = _values(out) if isinstance(out, dict) else dict(out)
        self.memory = _memory(raw.get("memory", {}))
        self.changed: Sequence[str] = raw.get("changed", [])
        if not isinstance(self.changed, list):
            raise TypeError("the changed arguments are no list")
        self.teardown: bool = bool(raw.get("teardown"))
        self.begin: float = raw["at_us"]
        self.end: float = self.begin + (raw.get("us") or 0) + CLOCK_US
        moments = raw.get("ns")
        if moments:
            self.begin = moments[0] / 1000
            self.end = moments[-1] / 1000
        self.key: float = self.begin
        self.overlaps: Sequence[Call] = ()
        self.objects: dict[str, Any] = {}
        self.o: Any = None

    def _tell_nulls(self, args: Mapping[str, Any], texts: Mapping[str, str]) -> None:
        """As data, a null pointer to a handle and a null handle are the same: the text has both."""
        for name, part in args.items():
            if part is None and name in texts:
                self.args[name] = texts[name]

    @property
    def ok(self) -> bool:
        """Whether it returned DAT_SUCCESS."""
        return self.ret == "DAT_SUCCESS"

    def arg(self, name: str) -> Any:
        """The value of an argument; None where it is not recorded."""
        text = self.args.get(name)
        return text if self.typed or text is None else parse(text)

    def field(self, name: str) -> Any:
        """The value of an output; None where it is not recorded."""
        text = self.out.get(name)
        return text if self.typed or text is None else parse(text)

    @property
    def event(self) -> str:
        """The number of the event that the call took; empty where it took none."""
        if "event" not in self.out:
            return ""
        event = self.field("event")
        return str(event.get("event_number")) if isinstance(event, dict) else ""


def _memory(told: Any) -> Mapping[str, Any]:
    """What a call tells of the bytes of a message. Raises TypeError for what is none."""
    if not isinstance(told, dict):
        raise TypeError("the memory is no object")
    for name, part in told.items():
        if type(part) is not (str if name in ("digest", "remote") else int):
            raise TypeError(f"{name} of the memory is {type(part).__name__}")
    return told


def _values(typed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value(name, part) for name, part in typed.items()}


class Process:
    """The calls of one process, in the order in which they are judged."""

    __slots__ = ("calls", "cut", "edge", "threads", "who")

    def __init__(self, who: str, calls: list[Call]) -> None:
        self.who = who
        self.calls = calls
        self.cut = 0  # the number of the first call that is missing
        self.edge = math.inf  # no missing call was made before; microseconds
        self.threads = False


class Trace:
    """What a verdict record tells of one run of a case."""

    __slots__ = (
        "acked_us",
        "attributes",
        "case",
        "flushed_us",
        "hosts",
        "notified_us",
        "others",
        "pending",
        "processes",
        "records",
        "settled_us",
        "verdict",
    )

    def __init__(self, case: str, hosts: int, verdict: str, attributes: Mapping[str, Any]) -> None:
        self.case = case
        # Whether it may have met processes that are not in the record, at an unknown pace.
        self.others = False
        self.hosts = hosts
        self.verdict = verdict
        self.pending = ""  # the call that it had no end for, if it is known
        self.attributes = attributes
        self.processes: list[Process] = []
        self.records: Sequence[str] = ()  # what the case has noted
        self.wait(1)

    def wait(self, patience: int) -> None:
        """Give what is done so many times as long to have its effect."""
        # What was done so long before has had its effect, unless the network is disturbed.
        self.settled_us = 500_000 * patience
        # After its completion was reaped by the sender, a message has completed its receive.
        self.acked_us = 50_000 * patience
        # After its end, an EP has flushed what it has to.
        self.flushed_us = 90_000 * patience
        # After an event was taken, its notification is no longer on its way.
        self.notified_us = 50_000 * patience


def read(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> Trace:
    """Return the trace of a verdict record. Raises TraceError."""
    trace = Trace(
        str(record.get("case", "")),
        int(record.get("hosts", 1)),
        str(record.get("verdict", "")),
        attributes,
    )
    trace.others = record.get("type") == TRACED
    trace.pending = str(record.get("pending", ""))
    trace.records = [text for text in record.get("records") or () if isinstance(text, str)]
    by_who: dict[str, list[Call]] = {}
    for position, raw in enumerate(record.get("calls") or (), 1):
        try:
            call = Call(raw)
        except (KeyError, TypeError, ValueError) as fault:
            raise TraceError(f"call {position} of the record is not a call: {fault!r}") from None
        by_who.setdefault(call.who, []).append(call)
    for who, calls in by_who.items():
        trace.processes.append(_process(who, calls))
    return trace


def _process(who: str, calls: list[Call]) -> Process:
    process = Process(who, calls)
    expected = 1
    for call in calls:
        if call.n < expected:
            raise TraceError(f"call {call.n} of {who} stands behind call {expected - 1}")
        if call.n > expected and not process.cut:
            process.cut = expected
        expected = call.n + 1
    if any(call.thread != 1 for call in calls):
        process.threads = True
        if process.cut:
            process.edge = _edge(calls[: process.cut - 1])
        _order(process)
    return process


def _edge(kept: list[Call]) -> float:
    """The earliest moment of a call that comes behind `kept` in the order of numbers. A thread
    takes a number after its call before has ended.
    """
    ended: dict[int, float] = {}
    edge = -math.inf
    for call in kept:
        edge = max(edge, ended.get(call.thread, edge))
        ended[call.thread] = call.end if call.finished else math.inf
    return edge


# These observe what others did, so they are judged where they end; all others where they begin.
OBSERVERS = frozenset(("dat_evd_wait", "dat_evd_dequeue", "dat_cno_wait"))


def _order(process: Process) -> None:
    """Order calls of several threads: what is done early, what is observed late."""
    calls = process.calls
    for call in calls:
        if not call.finished:
            call.end = 1 << 62
    open_calls: list[Call] = []
    overlaps: dict[int, list[Call]] = {}
    for call in sorted(calls, key=lambda call: (call.begin, call.n)):
        open_calls = [
            other for other in open_calls if other.end >= call.begin and other.thread != call.thread
        ]
        for other in open_calls:
            overlaps.setdefault(other.n, []).append(call)
            overlaps.setdefault(call.n, []).append(other)
        open_calls.append(call)
    last: dict[int, float] = {}
    for call in calls:
        call.overlaps = overlaps.get(call.n, ())
        call.key = call.end if call.name in OBSERVERS and call.overlaps else call.begin
        # Within a thread the order of the records holds.
        call.key = max(call.key, last.get(call.thread, 0.0))
        last[call.thread] = call.key
    calls.sort(key=lambda call: (call.key, call.name in OBSERVERS, call.n))


def missing(calls: Iterable[Call]) -> bool:
    """Whether any call did not return."""
    return any(not call.finished for call in calls)
