# SPDX-License-Identifier: BSD-2-Clause
"""Where a provider crashed, and where it had no end: one function is one defect."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import dropwhile

from results.causes.keys import Key
from results.model.attempt import Attempt, Verdict
from results.model.evidence import Call, Stack

_LIBC = re.compile(r"(libc|libpthread|ld-linux-[\w-]+)\.so")
# Where a provider waits, it waits in these.
_BELOW = re.compile(
    r"(libc|libpthread|ld-linux-[\w-]+|libibverbs|librdmacm|libnl(-route)?-3|libdat|lib\w+-rdmav\d+)\.so"
    r"|linux-vdso|\[|0x"
)
# A peer's process leaves no stack.
_PEER = re.compile(r"ended by SIG\w+ in (\w+)$")
# Nor does the case of a control, in the record of what it blocked.
_CONTROL = re.compile(r"(\w+) does not work \([\w/]+: CRASH, ended by SIG\w+\)$")
_SUITE = "udapl-cases"
# A provider's own wrappers of locks: their caller waits there.
_LOCK = re.compile(r"(?i)[^(]*\([^)]*(lock|mutex|acquire)[^)]*\)")


def key_of_crash(attempt: Attempt) -> Key:
    # One function that crashes is one defect, whichever call of the provider led there.
    frame = crashed_in(attempt)
    signal = attempt.crash.signal if attempt.crash else ""
    return ("crash", frame) if frame else ("crash", signal, attempt.pending)


def key_of_hang(attempt: Attempt, last: Call | None) -> Key:
    if attempt.goes_on:
        return "slow", attempt.page_call
    function = hangs_in(attempt) or attempt.pending or (last.name if last else "")
    return "timeout", function, _partners(attempt)


def the_crash_of(attempts: Iterable[Attempt]) -> Mapping[str, Key]:
    """By call, what a crash in it is known by; without the calls that crash in several ways."""
    found: defaultdict[str, set[Key]] = defaultdict(set)
    for attempt in attempts:
        if attempt.crash and attempt.pending and not attempt.crash.teardown:
            found[attempt.pending].add(key_of_crash(attempt))
    return {call: keys.pop() for call, keys in found.items() if len(keys) == 1}


def crashed_elsewhere(attempt: Attempt) -> str:
    """The call in which the peer of a case or a control crashed, which blocked it; or empty."""
    crashed = _PEER.match(attempt.refusal) or _CONTROL.match(attempt.refusal)
    return crashed[1] if crashed else ""


def overslept(attempt: Attempt, last: Call | None) -> str:
    """The wait that a case hangs in, or its last call, though its timeout has an end; or empty."""
    wait = last
    if attempt.verdict is Verdict.TIMEOUT:
        open_ = (call for call in attempt.calls if call.unfinished)
        wait = next((call for call in open_ if call.name == attempt.pending), None)
    timeout = dict(wait.args).get("timeout", "") if wait and wait.name.endswith("_wait") else ""
    return wait.name if wait and timeout.isdigit() else ""


def held_by_wait(attempt: Attempt) -> list[tuple[str, str]]:
    """The waits of threads that did not come back, each with the calls that had no end for it: the
    one that the case ended in, or those of teardown.
    """
    ends = {trouble.call for trouble in attempt.teardown if trouble.what == "timeout"}
    if attempt.verdict is Verdict.TIMEOUT and attempt.pending:
        ends = {attempt.pending}
    waits = {call.name for call in attempt.waiting} if ends else set()
    return sorted((wait, call) for wait in waits for call in ends)


def crashed_beside(attempt: Attempt) -> bool:
    """Whether a thread of the provider's own crashed, beside the calls of the case."""
    crash = attempt.crash if attempt.verdict is Verdict.CRASH else None
    return crash is not None and not attempt.pending and crash.in_own_thread


def crashed_in(attempt: Attempt) -> str:
    """The function that a crash was in, or what has no name by its place; empty if not known. A
    wrapper of a lock is not it, but its caller.
    """
    frames = attempt.crash.functions if attempt.crash else []
    own = list(dropwhile(_LIBC.match, frames)) or frames
    return next((frame for frame in own if not _LOCK.match(frame)), next(iter(own), ""))


def hangs_in(attempt: Attempt) -> str:
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
