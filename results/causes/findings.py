# SPDX-License-Identifier: BSD-2-Clause
"""What one finding is known by, however it ended."""

from collections.abc import Collection, Iterator

from results.causes.blocked import keys_of_blocked
from results.causes.checks import came_undue, keys_of_check, what_of_event
from results.causes.completions import key_of_status
from results.causes.connections import origin_of
from results.causes.crash_hang import held_by_wait, key_of_crash, key_of_hang, overslept
from results.causes.handles import made_nothing
from results.causes.keys import Key
from results.causes.shown import TAKING, last_call
from results.causes.spoilt import spoiler_of
from results.causes.states import is_still_bound, left_in
from results.causes.still_used import keeper_of
from results.causes.suppressed import hides_failure, tells_success
from results.model.attempt import Attempt, Verdict
from results.model.evidence import Trouble


def keys_of(attempt: Attempt, harmless: Collection[str], broken: Collection[str]) -> Iterator[Key]:
    """What another finding must share with this one, any of it, to be of the same cause. `broken`
    are the cases that were not kept.
    """
    if keeper := keeper_of(attempt):
        yield "still used", keeper
    how, origin = origin_of(attempt)
    if origin:
        yield how, origin
    blamed, state = left_in(attempt)
    if state:
        yield "state", blamed, state
    if is_still_bound(attempt):
        yield "bound", attempt.page_call
    if hides_failure(attempt):
        yield "suppressed", "failure"
    if tells_success(attempt) and attempt.deviates_from not in harmless:
        yield "suppressed", "success"
    if completed := key_of_status(attempt):
        yield completed
    if attempt.blocked:
        yield from keys_of_blocked(attempt, harmless, broken)
        return
    check = attempt.failed_check
    undue = check is not None and came_undue(attempt, check)
    # Its first call that deviates is what broke; what it saw later follows from that. What an event
    # tells that was not to come is another matter.
    if attempt.deviates_from and attempt.deviates_from not in harmless and not undue:
        call = attempt.deviating_call
        what = what_of_event(attempt.deviation)
        yield "model", attempt.deviates_from, call.name if call else "", what
    if attempt.verdict is Verdict.FAIL and (changed := attempt.refusals_deviation):
        yield "refusal", attempt.page_call, *changed.told
    if attempt.verdict is Verdict.FAIL and check is None and attempt.deviation:
        # The model found it, where the case looked at nothing.
        yield _key_of_told(attempt.deviation)
    if told := attempt.checked_deviation:
        # It is what the check looked at, whatever cases survive it.
        yield _key_of_told(told)
        if told.grants:
            yield "granted", *told.told
    # Whatever the consumer does with no object fails.
    if attempt.verdict is Verdict.FAIL and (maker := made_nothing(attempt.calls)):
        yield "makes nothing", maker
    if attempt.verdict is Verdict.FAIL and (spoiler := spoiler_of(attempt)):
        yield "spoils", spoiler
    last = last_call(attempt)
    # What a case is blocked by is known by the clause that promises it.
    yield "clause", attempt.case
    for held in held_by_wait(attempt):
        yield "held", *held
    if attempt.verdict is Verdict.CRASH:
        yield key_of_crash(attempt)
    elif attempt.verdict is Verdict.TIMEOUT:
        yield key_of_hang(attempt, last)
        if wait := overslept(attempt, last):
            yield "overslept", wait
    elif check is None or attempt.verdict is Verdict.CONTRADICTED:
        yield attempt.verdict, attempt.reason
    else:
        yield from keys_of_check(attempt, check, last)


def _key_of_told(said: Trouble) -> Key:
    """What a call told wrongly. Each call that takes an event tells the same of it."""
    clause, call, *what = said.told
    if call in TAKING:
        return ("told", clause.partition("/")[2], *what)
    return ("told", *said.told)
