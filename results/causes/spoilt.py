# SPDX-License-Identifier: BSD-2-Clause
"""Objects that a refused call has ended."""

from itertools import takewhile

from results.causes.handles import SUCCESS, object_of
from results.causes.shown import last_call
from results.model.attempt import Attempt

_NO_HANDLE = "DAT_INVALID_HANDLE"


def spoiler_of(attempt: Attempt) -> str:
    """The call that was refused for an object which the last call takes for none, though no call in
    between was granted. Empty where the last call is refused like that itself, or says another
    thing.
    """
    last = last_call(attempt)
    if last is None or last.ret != _NO_HANDLE or not (spoilt := object_of(last)):
        return ""
    before = [
        call
        for call in reversed(attempt.calls)
        if call.who == "case" and call.n < last.n and object_of(call) == spoilt
    ]
    refused = list(takewhile(lambda call: call.ret != SUCCESS, before))
    if not refused or (refused[-1].name, refused[-1].ret) == (last.name, last.ret):
        return ""
    return refused[-1].name
