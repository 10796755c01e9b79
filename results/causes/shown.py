# SPDX-License-Identifier: BSD-2-Clause
"""In which call a finding showed, and what the check that failed is of."""

import re

from results.causes.crash_hang import crashed_beside
from results.model.attempt import Attempt, Verdict
from results.model.evidence import Call, Check

ANSWER = re.compile(r"DAT_\w+")
# What a check of an event expects or sees, by name; completions may have a status behind it.
EVENT = re.compile(
    r"DAT_(?:\w+_)?EVENT(?:_\w+)?$|DAT_ASYNC_ERROR_\w+$|DAT_\w+_EXTENSION_RANGE_BASE$"
)
# Calls that take an event, which shows what another call did.
TAKING = ("dat_evd_dequeue", "dat_evd_wait")
# No event came, where one of a connection was expected of a call.
_MISSING = re.compile(r"no event\b")
# The function that the header makes of a call, by which the registry knows it.
_MACROS = {"dat_ia_openv": "dat_ia_open"}
_OF_CONNECTION = "DAT_CONNECTION_"


def is_of_event(check: Check) -> bool:
    """Whether the check that failed is one of an event by its number, and another one came."""
    return bool(check.expected) and all(
        EVENT.match(name.split(" ")[0]) for name in (*check.expected, check.seen)
    )


def is_named(check: Check) -> bool:
    """Whether both sides of the check are names of constants."""
    names = (*check.expected, check.seen)
    return bool(check.expected) and all(ANSWER.fullmatch(name) for name in names)


def is_missing_connection(check: Check) -> bool:
    names = [name.split(" ")[0] for name in check.expected]
    told = all(name.startswith(_OF_CONNECTION) and EVENT.match(name) for name in names)
    return bool(names) and told and _MISSING.match(check.seen) is not None


def last_call(attempt: Attempt) -> Call | None:
    """The last call of the case itself before the check that failed, or before its end."""
    check = attempt.failed_check
    calls = [call for call in attempt.calls if call.who == "case" and not call.teardown]
    if check is not None:
        calls = [call for call in calls if call.n <= check.after_call]
    return calls[-1] if calls else None


def is_of_answer(attempt: Attempt) -> bool:
    """Whether the check that failed is one of what a call returned."""
    check, call = attempt.failed_check, attempt.culprit
    if check is None or call is None or is_of_event(check):
        return False
    # A call by a pointer has another text, but its return is what was seen.
    if call.name not in check.text and call.ret != check.seen.split(",")[0]:
        return False
    return bool(check.expected) and all(word.startswith("DAT_") for word in check.expected)


def call_of(attempt: Attempt) -> str:
    """The call in which it showed; empty where there was none."""
    if attempt.verdict in (Verdict.CRASH, Verdict.TIMEOUT) and attempt.pending:
        return attempt.pending
    if attempt.goes_on:
        return attempt.page_call
    if attempt.blocked:
        return attempt.blocked
    if crashed_beside(attempt):
        return ""
    call = attempt.culprit or last_call(attempt)
    return _MACROS.get(call.name, call.name) if call else ""
