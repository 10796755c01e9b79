# SPDX-License-Identifier: BSD-2-Clause
"""What hides behind a call that blocked a case."""

import re
from collections.abc import Collection, Iterator

from results.causes.checks import (
    ASLEEP,
    NUMBER,
    OTHER_BYTES,
    OTHER_EP,
    UNWRITTEN,
    is_missing,
    keys_of_event,
    names_expected,
    refusal_of,
    what_of_event,
)
from results.causes.crash_hang import key_of_crash, key_of_hang
from results.causes.keys import Key
from results.causes.shown import ANSWER, is_of_event
from results.model.attempt import Attempt

# How the control of a call was refused it.
_REFUSED = re.compile(r".*\) returned (DAT_\w+(?:, DAT_\w+)?), expected DAT_SUCCESS")
# What its control waited for in vain.
_NOTHING = re.compile(r".*: expected (DAT_\w+_EVENT\w*), saw no event\b")


def keys_of_blocked(
    attempt: Attempt, harmless: Collection[str], broken: Collection[str]
) -> Iterator[Key]:
    """The same of a case that a call blocked. What failed in it, if a control found the call
    broken, is not the cause.
    """
    crashed = attempt.crash is not None and not attempt.crash.teardown
    hung = bool(attempt.pending and attempt.stacks)
    # A promise that is kept where it is judged says nothing of what blocked here. It may be broken
    # in another way than by a crash or a hang.
    if attempt.promise in broken and (attempt.in_vain or not (crashed or hung)):
        yield "clause", attempt.promise
    said = attempt.deviation
    # The call that blocked it is the first that deviates.
    if said and said.call == attempt.blocked and said.clause not in harmless:
        yield "model", said.clause, said.call, what_of_event(said)
    # An object that a call has changed instead of refusing to may take no more.
    if said and said.grants and said.clause in broken and attempt.promise not in broken:
        yield "granted", *said.told
    if UNWRITTEN.match(attempt.refusal):
        yield "unwritten", attempt.blocked
    if attempt.in_vain:
        yield "control", attempt.blocked
        if answer := _REFUSED.search(attempt.refusal):
            yield "refused", attempt.blocked, refusal_of(answer[1])
        if due := _NOTHING.match(attempt.refusal):
            yield "missing", attempt.blocked, (due[1],)
            yield "nothing", attempt.blocked
    elif crashed:
        yield key_of_crash(attempt)
    elif hung:
        yield key_of_hang(attempt, None)
    else:
        yield from _keys_of_step(attempt)


def _keys_of_step(attempt: Attempt) -> Iterator[Key]:
    """The same of a step that saw a wrong answer, event or value."""
    check = attempt.failed_check
    if check is not None and is_missing(check):
        yield "missing", attempt.blocked, names_expected(check)
        # Its control may have waited for another event, which comes first.
        yield "nothing", attempt.blocked
    if ASLEEP.match(attempt.refusal):
        yield "asleep", attempt.blocked
    if check is not None and is_of_event(check):
        yield from keys_of_event(check, attempt.blocked)
    elif ANSWER.match(attempt.refusal):
        yield "refused", attempt.blocked, refusal_of(attempt.refusal)
    else:
        if check is not None and check.compared:
            yield "value", attempt.blocked, check.compared
        if OTHER_BYTES.match(attempt.refusal):
            # What a page's own call has sent is more in doubt than the receive of it.
            yield "bytes", attempt.page_call
        if OTHER_EP.match(attempt.refusal):
            yield "names", "ep_handle"
        # Numbers differ from case to case.
        yield "blocked", attempt.blocked, NUMBER.sub("", attempt.refusal)
