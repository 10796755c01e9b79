# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: what a provider got wrong once may show in a hundred clauses."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from results.model.run import NOT_KEPT, UNKNOWN, Attempt, Call, Case, Clause, Run, Verdict, worst

_ORDER = list(Verdict)
_SUCCESS = "DAT_SUCCESS"
# Frames of a crash that tell it from others; those of the C library above them tell nothing.
_FRAMES = 2
_LIBC = re.compile(r"(libc|libpthread|ld-linux-[\w-]+)\.so")
# Where a provider waits, it waits in these.
_BELOW = re.compile(
    r"(libc|libpthread|ld-linux-[\w-]+|libibverbs|librdmacm|libnl(-route)?-3|libdat|lib\w+-rdmav\d+)\.so"
    r"|linux-vdso|\[|0x"
)
_SUITE = "udapl-cases"
_LONGEST = 200
_CALLS = 3

Key = tuple[object, ...]


@dataclass(frozen=True)
class Cause:
    """Findings that came about in one way: `cases` in the order of the catalogue, the DAT `calls`
    in which it showed, and `what` it was in words.
    """

    cases: tuple[Case, ...]
    calls: tuple[str, ...]
    what: str

    @property
    def verdict(self) -> Verdict:
        """The worst that it led to."""
        return worst(case.worst for case in self.cases) or Verdict.NOT_RUN

    @property
    def example(self) -> Case:
        """The first case that it led to the worst in."""
        return next(case for case in self.cases if case.worst is self.verdict)

    @property
    def clauses(self) -> Sequence[Clause]:
        """The clauses that it is about, each once."""
        return tuple({case.clause.id: case.clause for case in self.cases}.values())

    @property
    def extent(self) -> str:
        """In how many clauses: "1 clause", "12 clauses"."""
        count = len(self.clauses)
        return "1 clause" if count == 1 else f"{count} clauses"

    @property
    def is_registrys(self) -> bool:
        """Whether all that it led to is about clauses of the registry."""
        return all(clause.blame == "registry" for clause in self.clauses)

    @property
    def name(self) -> str:
        """In one line: the calls, and what was wrong with them."""
        shown = ", ".join(self.calls[:_CALLS])
        if len(self.calls) > _CALLS:
            shown += f" and {len(self.calls) - _CALLS} more calls"
        return f"{shown}: {self.what}" if shown else self.what


def causes(run: Run) -> list[Cause]:
    """The findings of `run` by cause, the worst first, and of these the one of most clauses."""
    return grouped(run.cases, NOT_KEPT)


def unknown_causes(run: Run) -> list[Cause]:
    """The same of the cases that came to no verdict on the provider."""
    return grouped(run.cases, UNKNOWN - {Verdict.NOT_RUN})


def grouped(cases: Iterable[Case], verdicts: Collection[Verdict]) -> list[Cause]:
    """The `cases` that ended in one of these `verdicts`, by cause, as causes() has them."""
    place: dict[str, int] = {}
    groups: list[list[Case]] = []
    by_key: dict[Key, list[Case]] = {}
    for case in cases:
        place[case.id] = len(place)
        if case.worst not in verdicts or case.decisive is None:
            continue
        group = [case]
        # What the registry got wrong, no provider did.
        keys = [(case.clause.blame, *key) for key in _keys(case.decisive)]
        # Whoever shares a key with two groups shows that these are one.
        for known in {id(by_key[key]): by_key[key] for key in keys if key in by_key}.values():
            group = known + group
            groups.remove(known)
            by_key.update({key: group for key, named in by_key.items() if named is known})
        groups.append(group)
        by_key.update(dict.fromkeys(keys, group))
    found = [_cause(sorted(group, key=lambda case: place[case.id])) for group in groups]
    return sorted(found, key=lambda cause: (-_ORDER.index(cause.verdict), -len(cause.clauses)))


def _cause(cases: Sequence[Case]) -> Cause:
    attempts = [case.decisive for case in cases if case.decisive]
    calls = dict.fromkeys(call for attempt in attempts if (call := _call(attempt)))
    example = Cause(tuple(cases), (), "").example.decisive
    what = " ".join(_what(example).split()) if example else ""
    return Cause(
        tuple(cases),
        tuple(calls),
        what if len(what) <= _LONGEST else f"{what[:_LONGEST]}...",
    )


def _keys(attempt: Attempt) -> Iterator[Key]:
    """What another finding must share with this one, any of it, to be of the same cause."""
    check = attempt.failed_check
    last = _last_call(attempt)
    if attempt.verdict is Verdict.CRASH:
        frames = _top_frames(attempt)
        signal = attempt.crash.signal if attempt.crash else ""
        yield ("crash", *frames) if frames else ("crash", signal, attempt.pending)
    elif attempt.verdict is Verdict.TIMEOUT:
        yield "timeout", _hangs_in(attempt) or attempt.pending or (last.name if last else "")
    elif check is None or attempt.verdict is Verdict.CONTRADICTED:
        yield attempt.verdict, attempt.reason
    else:
        culprit = attempt.culprit
        yield "site", check.file, check.line, last.name if last else ""
        if culprit:
            yield "site", check.file, check.line, culprit.name
        if _of_an_answer(attempt):
            # One wrong code, with its subtype, comes from one place, whichever call it is seen in.
            refused = check.seen.split(",")[0] != _SUCCESS and "," in check.seen
            yield "answer", check.expected, check.seen, "" if refused else _call(attempt)


def _last_call(attempt: Attempt) -> Call | None:
    """The last call of the case itself before the check that failed, or before its end."""
    check = attempt.failed_check
    calls = [call for call in attempt.calls if call.who == "case" and not call.teardown]
    if check is not None:
        calls = [call for call in calls if call.n <= check.after_call]
    return calls[-1] if calls else None


def _of_an_answer(attempt: Attempt) -> bool:
    """Whether the check that failed is one of what a call returned."""
    check, call = attempt.failed_check, attempt.culprit
    if check is None or call is None or call.name not in check.text:
        return False
    return bool(check.expected) and all(word.startswith("DAT_") for word in check.expected)


def _call(attempt: Attempt) -> str:
    """The call in which it showed; empty where there was none."""
    if attempt.verdict in (Verdict.CRASH, Verdict.TIMEOUT) and attempt.pending:
        return attempt.pending
    call = attempt.culprit or _last_call(attempt)
    return call.name if call else ""


def _what(attempt: Attempt) -> str:
    """What was wrong, without the call."""
    check = attempt.failed_check
    if attempt.verdict is Verdict.CRASH:
        signal = attempt.crash.signal if attempt.crash else ""
        frames = _top_frames(attempt)
        return (signal or attempt.reason or "crash") + (f" in {frames[0]}" if frames else "")
    if attempt.verdict is Verdict.TIMEOUT:
        place = f" in {function}" if (function := _hangs_in(attempt)) else ""
        said = "no return" if attempt.pending else attempt.reason or "no end of the case"
        return f"{said}{place}"
    if check is None or attempt.verdict is Verdict.CONTRADICTED:
        return attempt.reason or "no reason was recorded"
    if _of_an_answer(attempt):
        return f"expected {' or '.join(check.expected)}, saw {check.seen}"
    return f"{check.text} does not hold, {check.file}:{check.line}"


def _top_frames(attempt: Attempt) -> Sequence[str]:
    """Where a crash was: functions without the place in them, and what has no name by its place."""
    frames = attempt.crash.functions if attempt.crash else []
    return (list(dropwhile(_LIBC.match, frames)) or frames)[:_FRAMES]


def _hangs_in(attempt: Attempt) -> str:
    """The function of the provider that had no end, empty where none is known to."""
    hung = attempt.hung
    functions = hung.functions if hung else []
    first = next((function for function in functions if not _BELOW.match(function)), "")
    return "" if first.startswith(_SUITE) else first
