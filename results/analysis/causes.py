# SPDX-License-Identifier: BSD-2-Clause
"""Findings by cause: one defect of a provider may fail a hundred clauses, and block more."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile

from results.model.run import (
    NOT_KEPT,
    REGISTRY,
    UNKNOWN,
    Attempt,
    Call,
    Case,
    Check,
    Clause,
    Run,
    Stack,
    Verdict,
    idle,
    worst,
)

_ORDER = list(Verdict)
_SUCCESS = "DAT_SUCCESS"
_INVALID = "DAT_INVALID_PARAMETER"
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")
# So many defects are named first.
FIRST = 5
_NUMBERS = ("none", "one", "two", "three", "four", "five")
_LIBC = re.compile(r"(libc|libpthread|ld-linux-[\w-]+)\.so")
# Where a provider waits, it waits in these.
_BELOW = re.compile(
    r"(libc|libpthread|ld-linux-[\w-]+|libibverbs|librdmacm|libnl(-route)?-3|libdat|lib\w+-rdmav\d+)\.so"
    r"|linux-vdso|\[|0x"
)
_SUITE = "udapl-cases"
# A provider's own wrappers of locks: their caller waits there.
_LOCK = re.compile(r"(?i)[^(]*\([^)]*(lock|mutex|acquire)[^)]*\)")
_ANSWER = re.compile(r"DAT_\w+")
# What a check of an event expects or sees, by name; completions may have a status behind it.
_EVENT = re.compile(
    r"DAT_(?:\w+_)?EVENT(?:_\w+)?$|DAT_ASYNC_ERROR_\w+$|DAT_\w+_EXTENSION_RANGE_BASE$"
)
# No event came, where one of a connection was expected of a call.
_MISSING = re.compile(r"no event\b")
_OF_CONNECTION = "DAT_CONNECTION_"
# An attempt to connect that comes to nothing has many causes: these are of one call each.
_LOST = ("DAT_CONNECTION_EVENT_TIMED_OUT", "DAT_CONNECTION_EVENT_UNREACHABLE")
# A refusal that every call has for many reasons.
_SCARCE = "DAT_INSUFFICIENT_RESOURCES"
# A step that failed by what its call returned.
_REFUSES = re.compile(r"returned DAT_(?!SUCCESS|\w*_EVENT)")
# A thread that had to wait in its call, and came back refused.
_CAME_BACK = re.compile(r"it returned (DAT_(?!SUCCESS|TIMEOUT_EXPIRED|QUEUE_EMPTY)\w+)")
# Bytes that arrived, and are not those that were sent, as the checks of them say it.
_OTHER_BYTES = re.compile(
    r"byte \d+ of \d+ is (0x|what belongs at )|(a message|message \d+) is not whole"
    r"|.* other bytes than were sent|.* is not what the RDMA brought"
)
# What a call is seen to leave unwritten, by a check of it and by a step that needs it.
_UNWRITTEN = re.compile(r"\w+ is not written\b|DAT_SUCCESS, with a value left unwritten$")
# Where defects beside the clauses were found, by the word of all of them.
_IN_TEARDOWN = "in teardown"
_WHERE = {"EXPLORE": "in random walks", "PROBE": "found by the probe"}
# A call that ends the object that it is given, and how one that exists no more, or is used, is
# refused.
_ENDS = re.compile(r"^dat_(\w+_free|cr_(accept|reject|handoff))$")
_OBJECT = re.compile(r"\w+#\d+")
_INFINITE = "DAT_TIMEOUT_INFINITE"
_NO_HANDLE = "DAT_INVALID_HANDLE"
_IN_USE = "DAT_INVALID_STATE"
_LONGEST = 200
_CALLS = 3

Key = tuple[object, ...]
# Keys that say which sentence is broken, and not how a finding ended.
_OF_A_CLAUSE = ("model", "told", "granted", "clause")
# Those that say nothing where another finding ended in the same way without them.
_DOUBTFUL = ("model", "granted")


@dataclass(frozen=True)
class Cause:
    """Findings that came about in one way: `cases` in the order of the catalogue, the DAT `calls`
    in which it showed, and `what` it was in words. `blocked` are the cases that were not judged
    because of it; it has only these where no clause about it failed.
    """

    cases: tuple[Case, ...]
    calls: tuple[str, ...]
    what: str
    blocked: tuple[Case, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst that it led to."""
        return worst(case.worst for case in self.cases or self.blocked) or Verdict.NOT_RUN

    @property
    def example(self) -> Case:
        """The first case that it led to the worst in."""
        return next(case for case in self.cases or self.blocked if case.worst is self.verdict)

    @property
    def clauses(self) -> Sequence[Clause]:
        """The clauses that failed by it, each once."""
        return _clauses(self.cases)

    @property
    def reach(self) -> int:
        """How many clauses it failed or blocked."""
        return len(_clauses((*self.cases, *self.blocked)))

    @property
    def extent(self) -> str:
        """In how many clauses: "1 clause", "12 clauses, and blocks 284 more"."""
        count, blocked = len(self.clauses), len(_clauses(self.blocked))
        said = _counted(count or blocked)
        return f"{said}, and blocks {blocked} more" if count and blocked else said

    @property
    def is_registrys(self) -> bool:
        """Whether all that failed by it is about clauses of the registry."""
        return bool(self.cases) and all(clause.blame == REGISTRY for clause in self.clauses)

    @property
    def name(self) -> str:
        """In one line: the calls, and what was wrong with them."""
        return f"{self._where}: {self.what}" if self._where else self.what

    @property
    def sentence(self) -> str:
        """The same as a sentence about the product, for a reader who knows the calls only."""
        attempt, where = self.example.decisive, self._where
        said = _said(attempt) if attempt and where else ""
        if ", seen in " in where and said.startswith(" "):
            where += ","
        return f"{where}{said}." if said else f"{self.name}."

    @property
    def _where(self) -> str:
        """The calls. Where other calls answered what they should not, the call whose page has all
        clauses that failed is before them.
        """
        shown = ", ".join(self.calls[:_CALLS])
        if len(self.calls) > _CALLS:
            shown += f" and {len(self.calls) - _CALLS} more calls"
        pages = {clause.page for clause in self.clauses}
        failed = self.verdict is Verdict.FAIL and not self.is_registrys
        if shown and failed and len(pages) == 1 and not pages & {*self.calls}:
            shown = f"{pages.pop()}, seen in {shown}"
        return shown


def _clauses(cases: Iterable[Case]) -> Sequence[Clause]:
    return tuple({case.clause.id: case.clause for case in cases}.values())


def _counted(clauses: int) -> str:
    return "1 clause" if clauses == 1 else f"{clauses} clauses"


def causes(run: Run) -> list[Cause]:
    """The findings of `run` by cause, the one that fails or blocks most clauses first."""
    return grouped(run.cases, NOT_KEPT | {Verdict.BLOCKED})


def unknown_causes(run: Run) -> list[Cause]:
    """The same of the cases that came to no verdict, by no fault of the provider."""
    return grouped(run.cases, UNKNOWN - {Verdict.NOT_RUN, Verdict.BLOCKED})


def advice(run: Run, found: Sequence[Cause]) -> str:
    """What to mend first, in one sentence; empty where nothing was found.

    `found` are the causes of `run`. What failed in teardown is a defect too.
    """
    own = [cause for cause in found if not cause.is_registrys or run.subject.registry_is_tested]
    defects = len(own) + len(run.breakages)
    if not defects:
        return ""
    said = "1 defect" if defects == 1 else f"{defects} defects"
    if not own:
        words = {broken.word for broken in run.breakages}
        where = next((_WHERE.get(word) for word in words if len(words) == 1), None)
        return f"{said}, {where or _IN_TEARDOWN}."
    first = own[:FIRST]
    reach = len(_clauses(case for cause in first for case in (*cause.cases, *cause.blocked)))
    ways = [f"fail{'s' if len(first) == 1 else ''}"] if any(c.cases for c in first) else []
    ways += [f"block{'s' if len(first) == 1 else ''}"] if any(c.blocked for c in first) else []
    extent = f"{' or '.join(ways)} {reach:,} of {len(run.planned):,} clauses"
    if defects == 1:
        return f"{said}: it {extent}."
    if defects <= len(first):
        return f"{said}: they {extent}."
    which = "this one" if len(first) == 1 else f"these {_NUMBERS[len(first)]}"
    return f"{said}. Mend {which} first: {'it' if len(first) == 1 else 'they'} {extent}."


def grouped(cases: Iterable[Case], verdicts: Collection[Verdict]) -> list[Cause]:
    """The `cases` that ended in one of these `verdicts`, by cause, as causes() has them."""
    cases = list(cases)
    # Where a call deviates and cases are kept nevertheless, others fail for another reason.
    harmless = {
        trouble.clause for case in cases for each in case.attempts for trouble in each.beside
    }
    broken = {case.id for case in cases if case.worst in NOT_KEPT}
    failed = [case.decisive for case in cases if case.worst in NOT_KEPT and case.decisive]
    without_effect, endless = idle(cases), _endless(cases)
    misdirected = {call for attempt in failed if (call := _misdirected(attempt))}
    keys_of: dict[int, set[Key]] = {}
    for place, case in enumerate(cases):
        if case.worst in verdicts and case.decisive is not None:
            # What the registry got wrong, no provider did; a call that blocks is the provider's.
            blame = "provider" if case.worst is Verdict.BLOCKED else case.clause.blame
            own = _keys(case.decisive, harmless, broken)
            keys_of[place] = {(blame, *key) for key in own}
            if (call := case.decisive.page_call) in misdirected and _of_another(case.decisive):
                keys_of[place].add((blame, "misdirected", call))
            if call in endless and _waits_on(case.decisive, call):
                keys_of[place].add((blame, "endless", call))
            if call in without_effect and _was_granted(case.decisive, call):
                # What other calls answered behind it may have another cause elsewhere.
                keys_of[place] = {(blame, "clause", case.decisive.case), (blame, "idle", call)}
    _drop_doubtful(keys_of)
    groups: dict[int, tuple[dict[int, Case], set[Key]]] = {}
    by_key: dict[Key, int] = {}
    for place, keys in keys_of.items():
        group = {place: cases[place]}
        # A finding that shares a key with two groups shows that these are one.
        for known in {by_key[key] for key in keys if key in by_key}:
            others, shared = groups.pop(known)
            group |= others
            keys |= shared
        groups[place] = group, keys
        by_key.update(dict.fromkeys(keys, place))
    found = [_cause([group[place] for place in sorted(group)]) for group, _ in groups.values()]
    return sorted(found, key=lambda cause: (-cause.reach, -_ORDER.index(cause.verdict)))


def _endless(cases: Sequence[Case]) -> set[str]:
    """The calls that no case of their page saw come back from a wait without a timeout."""
    waited: set[str] = set()
    back: set[str] = set()
    for case in cases:
        name = case.decisive and case.decisive.page_call
        if not name or not name.endswith("_wait"):
            continue
        for call in case.decisive.calls if case.decisive else ():
            if call.name == name and ("timeout", _INFINITE) in call.args:
                (waited if call.unfinished else back).add(name)
    return waited - back


def _waits_on(attempt: Attempt, name: str) -> bool:
    """Whether a case failed with a thread in a call of this name that has no timeout."""
    calls = (call for call in attempt.calls if call.name == name and call.unfinished)
    return attempt.verdict is Verdict.FAIL and any(
        ("timeout", _INFINITE) in call.args for call in calls
    )


def _was_granted(attempt: Attempt, name: str) -> bool:
    """Whether a case failed behind a call of this name that returned DAT_SUCCESS."""
    calls = (call for call in attempt.calls if call.name == name and not call.teardown)
    return attempt.verdict is Verdict.FAIL and any(call.ret == _SUCCESS for call in calls)


def _misdirected(attempt: Attempt) -> str:
    """The call of the page, if it was granted the end of one object and ended another one of its
    kind: empty if the case does not show both. What was not ended keeps the IA open, or nothing was
    told of its end. Of what was ended, though no call was granted that, the handle is invalid.
    """
    name, check = attempt.page_call, attempt.failed_check
    if not _ENDS.match(name) or check is None or attempt.verdict is not Verdict.FAIL:
        return ""
    calls = [call for call in attempt.calls if call.who == "case"]
    granted = [call for call in calls if _ENDS.match(call.name) and call.ret == _SUCCESS]
    ended = {_object(call) for call in granted}
    first = next((call for call in granted if call.name == name and _object(call)), None)
    if first is None:
        return ""
    kind = _kind_of(first)
    lost = {
        call.name
        for call in calls
        if call.n > first.n and call.ret == _NO_HANDLE
        if _kind_of(call) == kind and _object(call) not in ended
    }
    open_ = any(c.teardown and c.name == "dat_ia_close" and c.ret == _IN_USE for c in calls)
    # An object that the call itself refuses may be there nevertheless, and keep the IA open.
    shown = _is_missing_connection(check) if lost == {name} else open_
    return name if lost and shown else ""


def _object(call: Call) -> str:
    """The object that a call is given first, "cno#1"; empty for a handle of none."""
    handle = next((value for name, value in call.args if name.endswith("_handle")), "")
    return handle if _OBJECT.fullmatch(handle) else ""


def _takes_freed(call: Call) -> bool:
    return any(value.endswith(" (freed)") for _, value in call.args[:1])


def _kind_of(call: Call) -> str:
    return _object(call).partition("#")[0]


def _of_another(attempt: Attempt) -> bool:
    """Whether a case whose call ends another object than it names may have failed by that: a bad
    handle was granted, an object was refused as in use or as gone, or nothing was told of its end.
    """
    check = attempt.failed_check
    if attempt.verdict is not Verdict.FAIL or check is None or not _has_another(attempt):
        return False
    if _is_missing_connection(check):
        return True
    wrong = (_NO_HANDLE, _IN_USE)
    seen = check.seen.split(",")[0]
    return _of_an_answer(attempt) and (
        (seen == _SUCCESS and not {*check.expected} - {*wrong})
        or (seen in wrong and check.expected == (_SUCCESS,))
    )


def _has_another(attempt: Attempt) -> bool:
    """Whether there was an object that the page's call could end instead of the one it names."""
    name = attempt.page_call
    kind = name.removeprefix("dat_").split("_")[0]
    named = [value for call in attempt.calls if call.name == name for _, value in call.args[:1]]
    known = {value for call in attempt.calls for _, value in (*call.args, *call.out)}
    objects = {each for each in known if _OBJECT.fullmatch(each) and each.startswith(f"{kind}#")}
    return bool(objects - {*named[-1:]})


def _drop_doubtful(keys_of: Mapping[int, set[Key]]) -> None:
    """Take away from each finding a deviation without which another one ended in the same way: what
    ended both is another defect.
    """
    having = defaultdict(set)
    for place, keys in keys_of.items():
        for key in keys:
            having[key].add(place)
    doubtful = {
        place: {
            model
            for model in keys
            if _kind(model) in _DOUBTFUL
            and any(having[key] - having[model] for key in keys if _kind(key) not in _OF_A_CLAUSE)
        }
        for place, keys in keys_of.items()
    }
    for place, dropped in doubtful.items():
        keys_of[place] -= dropped


def _kind(key: Key) -> object:
    _, kind, *_ = key
    return kind


def _cause(cases: Sequence[Case]) -> Cause:
    failed = tuple(case for case in cases if case.worst is not Verdict.BLOCKED)
    blocked = tuple(case for case in cases if case.worst is Verdict.BLOCKED)
    attempts = [case.decisive for case in failed or blocked if case.decisive]
    calls = dict.fromkeys(call for attempt in attempts if (call := _call(attempt)))
    example = Cause(failed, (), "", blocked).example.decisive
    check = example.failed_check if example else None
    if len(calls) > 1 and check is not None and _is_of_event(check):
        # It is seen behind many calls, by those that take events.
        taking = (_last_call(attempt) for attempt in attempts)
        calls = dict.fromkeys(call.name for call in taking if call)
    what = " ".join(_what(example).split()) if example else ""
    shown = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}..."
    return Cause(failed, tuple(calls), shown, blocked)


def _keys(attempt: Attempt, harmless: Collection[str], broken: Collection[str]) -> Iterator[Key]:
    """What another finding must share with this one, any of it, to be of the same cause. `broken`
    are the cases that were not kept.
    """
    if attempt.blocked:
        yield from _keys_of_blocked(attempt, harmless, broken)
        return
    # Its first call that deviates is what broke; what it saw later follows from that.
    if attempt.deviates_from and attempt.deviates_from not in harmless:
        call = attempt.deviating_call
        yield "model", attempt.deviates_from, call.name if call else ""
    if told := attempt.checked_deviation:
        # It is what the check looked at, whatever cases survive it.
        yield "told", *told.told
        if told.grants:
            yield "granted", *told.told
    check = attempt.failed_check
    last = _last_call(attempt)
    # What a case is blocked by is known by the clause that promises it.
    yield "clause", attempt.case
    if attempt.verdict is Verdict.CRASH:
        yield _key_of_crash(attempt)
    elif attempt.verdict is Verdict.TIMEOUT:
        yield _key_of_hang(attempt, last)
    elif check is None or attempt.verdict is Verdict.CONTRADICTED:
        yield attempt.verdict, attempt.reason
    else:
        yield from _keys_of_check(attempt, check, last)


def _keys_of_blocked(
    attempt: Attempt, harmless: Collection[str], broken: Collection[str]
) -> Iterator[Key]:
    """The same of a case that a call blocked. What failed in it, if a control found the call
    broken, is not the cause.
    """
    # A promise that is kept where it is judged says nothing of what blocked here.
    if attempt.promise in broken:
        yield "clause", attempt.promise
    said = attempt.deviation
    # The call that blocked it is the first that deviates.
    if said and said.call == attempt.blocked and said.clause not in harmless:
        yield "model", said.clause, said.call
    # An object that a call has changed instead of refusing to may take no more.
    if said and said.grants and said.clause in broken and attempt.promise not in broken:
        yield "granted", *said.told
    if _UNWRITTEN.match(attempt.refusal):
        yield "unwritten", attempt.blocked
    if attempt.in_vain:
        yield "control", attempt.blocked
    elif attempt.crash and not attempt.crash.teardown:
        yield _key_of_crash(attempt)
    elif attempt.pending and attempt.stacks:
        yield _key_of_hang(attempt, None)
    else:
        yield from _keys_of_step(attempt)


def _keys_of_step(attempt: Attempt) -> Iterator[Key]:
    """The same of a step that saw a wrong answer, event or value."""
    check = attempt.failed_check
    if check is not None and _is_of_event(check):
        yield from _keys_of_event(check, attempt.blocked)
    elif _ANSWER.match(attempt.refusal):
        yield "refused", attempt.blocked, attempt.refusal.split(",")[0]
    else:
        if check is not None and check.compared:
            yield "value", attempt.blocked, check.compared
        # Numbers differ from case to case.
        yield "blocked", attempt.blocked, _NUMBER.sub("", attempt.refusal)


def _key_of_crash(attempt: Attempt) -> Key:
    # One function that crashes is one defect, whichever call of the provider led there.
    frame = _crashed_in(attempt)
    signal = attempt.crash.signal if attempt.crash else ""
    return ("crash", frame) if frame else ("crash", signal, attempt.pending)


def _key_of_hang(attempt: Attempt, last: Call | None) -> Key:
    function = _hangs_in(attempt) or attempt.pending or (last.name if last else "")
    return "timeout", function, _partners(attempt)


def _keys_of_check(attempt: Attempt, check: Check, last: Call | None) -> Iterator[Key]:
    """The same of a check that failed: its site, and the wrong answer of the call."""
    culprit = attempt.culprit
    call = _call(attempt)
    answer = _ANSWER.match(check.seen)
    refused = answer is not None and answer[0] != _SUCCESS
    if _is_of_event(check):
        yield from _keys_of_event(check, call)
        return
    # A loop over kinds checks the answers of several calls, and of several kinds, at one place.
    if not (refused and _of_an_answer(attempt)):
        yield "site", check.file, check.line, last.name if last else ""
        if culprit:
            yield "site", check.file, check.line, culprit.name
    if _is_missing_connection(check):
        # However the case looked for it.
        yield "missing", call, tuple(name.split(" ")[0] for name in check.expected)
    if _UNWRITTEN.match(check.seen):
        yield "unwritten", call
    if back := _CAME_BACK.match(check.seen):
        yield "refused", call, back[1]
    if _OTHER_BYTES.match(check.seen):
        yield "bytes", call
    if check.is_condition:
        # A step that needs the same says the same.
        yield "blocked", call, _NUMBER.sub("", check.seen)
    if answer and refused and culprit and culprit.ret == answer[0]:
        # Whatever was expected instead, and wherever it was checked.
        yield "refused", call, answer[0]
    if (parameter := _granted_parameter(attempt, check)) and culprit:
        yield "parameter", culprit.name, parameter
    if _of_an_answer(attempt):
        # One wrong code, with its subtype, comes from one place, whichever call it is seen in.
        known = refused and "," in check.seen and not check.seen.startswith(_SCARCE)
        # A call that took the handle of an object that is gone has answered for itself.
        answers = last.name if last and _takes_freed(last) and last.ret == check.seen else call
        yield "answer", check.expected, check.seen, "" if known else answers
    elif culprit and _is_named(check):
        # One name told for another, whatever the check calls it.
        yield "named", call, check.expected, check.seen
    if check.field and culprit and not _of_an_answer(attempt):
        # A flag or a number that is wrong in one field comes from one place.
        yield "value", call, check.field


def _granted_parameter(attempt: Attempt, check: Check) -> str:
    """The parameter that a call was asked about alone, if it granted that and did something else. A
    parameter that is ignored keeps its value, and takes one that no object can have.
    """
    call = attempt.culprit
    if call is None or call.ret != _SUCCESS:
        return ""
    if _of_an_answer(attempt) and check.expected != (_INVALID,):
        return ""
    masks = [value for name, value in call.args if name.endswith("_mask")]
    return next(filter(_ANSWER.fullmatch, masks), "")


def _is_of_event(check: Check) -> bool:
    """Whether the check that failed is one of an event by its number, and another one came."""
    return bool(check.expected) and all(
        _EVENT.match(name.split(" ")[0]) for name in (*check.expected, check.seen)
    )


def _is_named(check: Check) -> bool:
    """Whether both sides of the check are names of constants."""
    names = (*check.expected, check.seen)
    return bool(check.expected) and all(_ANSWER.fullmatch(name) for name in names)


def _is_missing_connection(check: Check) -> bool:
    names = [name.split(" ")[0] for name in check.expected]
    told = all(name.startswith(_OF_CONNECTION) and _EVENT.match(name) for name in names)
    return bool(names) and told and _MISSING.match(check.seen) is not None


def _keys_of_event(check: Check, call: str) -> Iterator[Key]:
    """The same of an event of a wrong number: it comes from one place, whichever call takes it."""
    expected = tuple(name.split(" ")[0] for name in check.expected)
    yield "event", expected, check.seen, call if check.seen in _LOST else ""


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
    if check is None or call is None or _is_of_event(check):
        return False
    # A call by a pointer has another text, but its return is what was seen.
    if call.name not in check.text and call.ret != check.seen.split(",")[0]:
        return False
    return bool(check.expected) and all(word.startswith("DAT_") for word in check.expected)


def _call(attempt: Attempt) -> str:
    """The call in which it showed; empty where there was none."""
    if attempt.verdict in (Verdict.CRASH, Verdict.TIMEOUT) and attempt.pending:
        return attempt.pending
    if attempt.blocked:
        return attempt.blocked
    if _crashed_beside(attempt):
        return ""
    call = attempt.culprit or _last_call(attempt)
    return call.name if call else ""


def _crashed_beside(attempt: Attempt) -> bool:
    """Whether a thread of the provider's own crashed, beside the calls of the case."""
    crash = attempt.crash if attempt.verdict is Verdict.CRASH else None
    return crash is not None and not attempt.pending and crash.in_own_thread


def _what(attempt: Attempt) -> str:
    """What was wrong, without the call."""
    check = attempt.failed_check
    if attempt.verdict is Verdict.CRASH:
        signal = attempt.crash.signal if attempt.crash else ""
        frame = _crashed_in(attempt)
        place = f" in {frame}" if frame else ""
        beside = ", in a thread of the provider" if _crashed_beside(attempt) else ""
        return f"{signal or attempt.reason or 'crash'}{place}{beside}"
    if attempt.verdict is Verdict.TIMEOUT:
        place = f" in {function}" if (function := _hangs_in(attempt)) else ""
        said = "no return" if attempt.pending else attempt.reason or "no end of the case"
        return f"{said}{place}"
    if attempt.refusal:
        refused = _ANSWER.match(attempt.refusal)
        said = attempt.refusal.removeprefix(f"{attempt.blocked} ")
        return f"returned {said}" if refused else said
    if check is None or attempt.verdict is Verdict.CONTRADICTED:
        return attempt.reason or "no reason was recorded"
    if _of_an_answer(attempt) or _is_of_event(check):
        return f"expected {' or '.join(check.expected)}, saw {check.seen}"
    if check.subject and check.expected:
        return f"{check.subject}: expected {' or '.join(check.expected)}, saw {check.seen}"
    if check.is_condition and check.seen:
        # The message of the check says what was seen.
        return check.seen
    if check.expected and check.seen:
        return f"{check.text}: expected {' or '.join(check.expected)}, saw {check.seen}"
    return f"{check.text} does not hold, {check.file}:{check.line}"


def _said(attempt: Attempt) -> str:
    """What the call did, behind its name in a sentence; empty where _what() has to do."""
    check, what = attempt.failed_check, _what(attempt)
    if attempt.verdict is Verdict.CRASH:
        return f" crashed: {what}"
    if attempt.verdict is Verdict.TIMEOUT and what.startswith("no return"):
        return f" did not return{what.removeprefix('no return').replace(' in ', ' from ', 1)}"
    if attempt.refusal:
        return f" {what}, and had to succeed" if _REFUSES.match(what) else ""
    if check is None or attempt.verdict is Verdict.CONTRADICTED:
        return ""
    wanted = " or ".join(check.expected)
    if _of_an_answer(attempt):
        return f" returned {check.seen}, and had to return {wanted}"
    if _is_of_event(check):
        return f" led to {check.seen}, and had to lead to {wanted}"
    if check.subject and check.expected:
        return f": {check.subject} was {check.seen}, and had to be {wanted}"
    return ""


def _crashed_in(attempt: Attempt) -> str:
    """The function that a crash was in, or what has no name by its place; empty if not known. A
    wrapper of a lock is not it, but its caller.
    """
    frames = attempt.crash.functions if attempt.crash else []
    own = list(dropwhile(_LIBC.match, frames)) or frames
    return next((frame for frame in own if not _LOCK.match(frame)), next(iter(own), ""))


def _hangs_in(attempt: Attempt) -> str:
    """The function of the provider that had no end, empty where none is known to."""
    first = _waits_in(attempt.hung) if attempt.hung else ""
    return "" if first.startswith(_SUITE) else first


def _waits_in(stack: Stack) -> str:
    """The function that a thread is in, below which are only wrappers of locks and libraries."""
    own = [function for function in stack.functions if not _BELOW.match(function)]
    return next((each for each in own if not _LOCK.match(each)), next(iter(own), ""))


def _partners(attempt: Attempt) -> frozenset[str]:
    """Where other threads wait for a lock: two deadlocks may share the function of one thread."""
    others = [stack for stack in attempt.stacks if stack is not attempt.hung]
    waiting = [s for s in others if s.functions and "lock" in s.functions[0] and not s.teardown]
    return frozenset(filter(None, map(_waits_in, waiting)))
