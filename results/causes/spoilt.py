# SPDX-License-Identifier: BSD-2-Clause
"""Objects that a refused call has ended."""

from itertools import takewhile

from results.causes.handles import SUCCESS, object_of
from results.causes.shown import last_call
from results.model.attempt import Attempt
from results.model.evidence import Call

_NO_HANDLE = "DAT_INVALID_HANDLE"


def spoiler_of(attempt: Attempt) -> str:
    """The call that was refused for an object which the last call takes for none, though no call in
    between was granted. Empty where the last call is refused like that itself, or says another
    thing.
    """
    last = last_call(attempt)
    if last is None or last.ret != _NO_HANDLE:
        return ""
    return _first_refused(last, _before(attempt, last))


def refused_before(attempt: Attempt) -> str:
    """The call that was refused for the object of the last call, which is refused since: no call in
    between was granted but queries. Empty where it is the same refusal.
    """
    last = last_call(attempt)
    if last is None or last.ret == SUCCESS:
        return ""
    asked = [call for call in _before(attempt, last) if not call.name.endswith("_query")]
    return _first_refused(last, asked)


def _before(attempt: Attempt, last: Call) -> list[Call]:
    """The calls of the case on the object of the last one, the latest first."""
    return [
        call
        for call in reversed(attempt.calls)
        if call.who == "case" and call.n < last.n and object_of(call) == object_of(last) != ""
    ]


def _first_refused(last: Call, before: list[Call]) -> str:
    refused = list(takewhile(lambda call: call.ret != SUCCESS, before))
    if not refused or (refused[-1].name, refused[-1].ret) == (last.name, last.ret):
        return ""
    return refused[-1].name
