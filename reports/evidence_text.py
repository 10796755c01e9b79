# SPDX-License-Identifier: BSD-2-Clause
"""Evidence in words: how a call, a duration, an attempt read as plain text."""

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from results.model.attempt import Attempt
from results.model.clause import Case
from results.model.evidence import Call, Check, Stack
from results.model.walk import Walk

_BEFORE = 20
_WINDOW = 60
# Members of a structure whose bytes are all 0xa5, as a number, an address, or flags with names.
_UNSET_VALUE = (
    r"(?:0x(?:a5)+|2779096485|11936128518282651045|-1515870811|(?:DAT_\w+\|)+0xa5a5a5[0-9a-f]{2})"
)
_TOGETHER = r"(\d+) members of bytes 0xa5"
_UNSET_MEMBER = rf"(?:\w+=(?:{_UNSET_VALUE}|{{{_TOGETHER}}})|{_TOGETHER})"
_UNSET = re.compile(rf"{_UNSET_MEMBER}(?:, {_UNSET_MEMBER})+(?=[,}}])")


def duration(us: float) -> str:
    """A time in microseconds, with the unit that suits it: "14 µs", "1.8 ms", "10.0 s"."""
    if us < 1000:
        return f"{us:.0f} µs"
    if us < 1_000_000:
        return f"{us / 1000:.1f} ms"
    return f"{us / 1_000_000:.1f} s"


def returned(call: Call) -> str:
    """What a call came to: its return, with a subtype that says something."""
    if call.unfinished:
        return "did not return"
    if call.sub and call.sub != "DAT_NO_SUBTYPE":
        return f"{call.ret} ({call.sub})"
    return call.ret


def pair(name: str, value: str) -> str:
    """An argument or an output as name=value."""
    return f"{name}={shown(value)}" if name else value


def shown(value: str) -> str:
    """A value for a reader: members that were not set stand together, those of inner structures
    too.
    """
    before = "" if "a5a5" in value else value
    while value != before:
        before, value = value, _UNSET.sub(_told_together, value)
    return value


def _told_together(members: re.Match[str]) -> str:
    counts = re.findall(_TOGETHER, members[0])
    single = len(re.findall(_UNSET_VALUE, re.sub(_TOGETHER, "", members[0])))
    return f"{single + sum(map(int, counts))} members of bytes 0xa5"


def maker(call: Call) -> str:
    """Who made a call, "[peer] ", "[thread 2] "; empty for the case's own first thread."""
    who = [] if call.who == "case" else [call.who]
    who += [f"thread {call.thread}"] if call.thread > 1 else []
    return f"[{', '.join(who)}] " if who else ""


def call_text(call: Call) -> str:
    """A call in one line, in the manner of a system call trace."""
    who = maker(call) + ("[in teardown] " if call.teardown else "")
    args = ", ".join(pair(*arg) for arg in call.args)
    out = "; ".join(pair(*item) for item in call.out)
    line = f"{call.n:4} {who}{call.name}({args}) = {returned(call)}"
    return f"{line} -> {out}" if out else line


@dataclass(frozen=True)
class Line:
    """A line of a trace: a call, a check on what was done so far, or what is missing there."""

    call: Call | None = None
    check: Check | None = None
    missing: str = ""
    flagged: bool = False
    # In this call teardown broke.
    troubled: bool = False
    # A check that held so often, one behind the other.
    times: int = 1


@dataclass(frozen=True)
class Trace:
    """What an attempt did: what led up to the decision, its surroundings, what came after it.

    The teardown is the harness's, and stands apart. The peer's calls have numbers and a clock of
    their own, so they cannot stand among the case's.
    """

    earlier: Sequence[Line]
    shown: Sequence[Line]
    later: Sequence[Line]
    teardown: Sequence[Line]
    peer: Sequence[Line]

    @property
    def length(self) -> int:
        """The number of lines."""
        parts = (self.earlier, self.shown, self.later, self.teardown, self.peer)
        return sum(len(part) for part in parts)


def trace(attempt: Attempt, limit: int) -> Trace:
    """The calls and checks of `attempt`, at most `limit` lines in each part of it."""
    culprit = attempt.culprit
    own, teardown, peer = [], [], []
    for call in attempt.calls:
        if call.who != "case":
            peer.append(call)
        elif call.teardown:
            teardown.append(call)
        else:
            own.append(call)
    lines = _lines(own, attempt.checks, culprit)
    flagged = [at for at, line in enumerate(lines) if line.flagged]
    if flagged:
        end = flagged[-1] + 1
        begin = max(end - _WINDOW, min(flagged[0], end - _BEFORE))
    else:
        end = len(lines)
        begin = end - _BEFORE
    # A few lines more are less trouble than a fold.
    begin = begin if begin > _BEFORE // 2 else 0
    end = end if len(lines) - end > _BEFORE // 2 else len(lines)
    parts = (
        lines[:begin],
        lines[begin:end],
        lines[end:],
        _lines(teardown, (), None, attempt.troubled),
        _lines(peer, (), culprit, attempt.troubled),
    )
    return Trace(*(_shortened(part, limit) for part in parts))


def _lines(
    calls: Sequence[Call],
    checks: Sequence[Check],
    culprit: Call | None,
    troubled: Sequence[Call] = (),
) -> list[Line]:
    """The checks among the calls, each after the last call that it could see.

    Where numbers are missing a line says so: an agent keeps so many calls and no more.
    """
    lines: list[Line] = []
    waiting = deque(sorted(checks, key=lambda check: check.after_call))

    def catch_up(number: int) -> None:
        while waiting and waiting[0].after_call <= number:
            check = waiting.popleft()
            if check.ok and lines and lines[-1].check == check:
                lines[-1] = replace(lines[-1], times=lines[-1].times + 1)
            else:
                lines.append(Line(check=check, flagged=not check.ok))

    last = calls[0].n - 1 if calls and calls[0].teardown else 0
    for call in calls:
        catch_up(last)
        if call.n > last + 1:
            lines.append(Line(missing=f"{call.n - last - 1} calls were not kept"))
            catch_up(call.n - 1)
        lines.append(Line(call=call, flagged=call == culprit, troubled=call in troubled))
        last = call.n
    catch_up(max((check.after_call for check in checks), default=0))
    return lines


def _shortened(lines: Sequence[Line], limit: int) -> Sequence[Line]:
    if len(lines) <= limit:
        return lines
    head = limit // 4
    tail = limit - head
    gap = Line(missing=f"{len(lines) - limit} lines are left out here, events.jsonl.zst has them")
    return [*lines[:head], gap, *lines[-tail:]]


def done(attempt: Attempt) -> str:
    """What a case did: the call that is judged; empty if none is known."""
    if call := attempt.culprit:
        args = ", ".join(pair(*arg) for arg in call.args)
        ret = f" = {returned(call)}" if attempt.after else ""
        return f"{maker(call)}{call.name}({args}){ret}, call {call.n}"
    return f"{attempt.pending}()" if attempt.pending else ""


def finding_text(case: Case, attempt: Attempt) -> list[str]:
    """A finding in four parts, a line each: requirement, what was done, expected, seen."""
    lines = [f"requirement: {case.clause.requirement}"]
    if case.clause.row:
        lines.append(f"in this case: {case.clause.row}")
    if did := done(attempt):
        lines.append(f"done: {' '.join(did.split())}")
    if admitted := expected(attempt):
        lines.append(f"expected: {admitted}")
    lines.append(f"seen: {attempt.seen}")
    if attempt.model:
        lines.append(f"model: {attempt.model}")
    return lines


def expected(attempt: Attempt) -> str:
    """What the clause admits, in one line, with what it was expected of; empty if not known."""
    admitted = " or ".join(attempt.expected)
    check, call = attempt.failed_check, attempt.culprit
    if check is None or attempt.expected != check.expected or (call and call.name in check.text):
        return admitted
    return f"{check.title}: {admitted}" if admitted else check.title


def attempt_text(attempt: Attempt) -> str:
    """An attempt's evidence as plain text: calls, backtrace, leaks."""
    lines = []
    story = trace(attempt, _WINDOW)
    if story.earlier:
        lines.append(f"({len(story.earlier)} earlier lines are in report.html)")
    lines += [_line_text(line) for line in story.shown]
    lines += [f"in teardown: {trouble.text}" for trouble in attempt.teardown]
    if attempt.crash and attempt.crash.backtrace:
        lines.append("backtrace, in teardown:" if attempt.crash.teardown else "backtrace:")
        lines += [f"    {frame}" for frame in attempt.crash.frames]
    for title, frames in stacks(attempt):
        lines += [f"{title}:", *(f"    {frame}" for frame in frames)]
    lines += [f"leak: {leak}" for leak in attempt.leaks]
    return "\n".join(lines)


def walked(walk: Walk) -> list[str]:
    """The calls of a random walk up to the one that is wrong, and all where that is not known.

    Those by which the harness opens the IA are left out, if none of them is wrong.
    """
    opens = ("dat_ia_openv", "dat_ia_query")
    calls = walk.attempt.calls
    wrong = walk.attempt.deviating_call
    last = wrong.n if wrong else max((call.n for call in calls), default=0)
    return [
        call_text(call) + ("   <-- here" if call == wrong else "")
        for call in calls
        if call.n <= last and (call.name not in opens or call == wrong)
    ]


def teardown_text(attempt: Attempt) -> str:
    """What broke in the teardown of an attempt, and its calls, as plain text."""
    lines = [f"in teardown: {trouble.text}" for trouble in attempt.teardown]
    story = trace(attempt, _WINDOW)
    of_peer = any(trouble.who == "peer" for trouble in attempt.teardown)
    lines += [_line_text(line) for line in (*story.teardown, *(story.peer if of_peer else ()))]
    if attempt.crash and attempt.crash.teardown:
        lines += ["backtrace:", *(f"    {frame}" for frame in attempt.crash.frames)]
    for title, frames in stacks(attempt, teardown=True):
        lines += [f"{title}:", *(f"    {frame}" for frame in frames)]
    return "\n".join(lines)


def stacks(attempt: Attempt, teardown: bool = False) -> list[tuple[str, list[str]]]:
    """Where the threads of what had no end were: whose stack it is, and its frames. Threads at the
    same place are told together, and the one that the verdict is about comes first. With `teardown`
    only what was taken then.
    """
    alike: dict[tuple[str, tuple[str, ...], bool], list[Stack]] = {}
    taken = [stack for stack in attempt.stacks if stack.teardown or not teardown]
    for stack in sorted(taken, key=lambda stack: stack is not attempt.hung):
        key = stack.call, tuple(stack.frames) or (stack.why,), stack.teardown
        alike.setdefault(key, []).append(stack)
    return [
        (_whose(group, call) + (", in teardown" if late else ""), list(frames))
        for (call, frames, late), group in alike.items()
    ]


def _whose(group: Sequence[Stack], call: str) -> str:
    """Whose stack it is: "stack of thread 2, in dat_evd_wait"."""
    numbers = [str(stack.thread) for stack in group if stack.thread]
    if len(group) > 1:
        whose = f"{len(group)} threads"
    elif numbers:
        whose = f"thread {numbers[0]}"
    else:
        whose = f"a thread without calls ({group[0].name})" if group[0].name else "a thread"
    return f"stack of {whose}" + (f", in {call}" if call else "")


def _line_text(line: Line) -> str:
    if line.call:
        return call_text(line.call) + ("   <-- here" if line.flagged or line.troubled else "")
    if line.check:
        check = line.check
        word = "held" if check.ok else f"saw {check.seen}"
        word += f" {line.times} times" if line.times > 1 else ""
        return f"     {check.role} {check.text}: {word} ({check.file}:{check.line})"
    return f"     ({line.missing})"
