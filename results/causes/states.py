# SPDX-License-Identifier: BSD-2-Clause
"""What a call has left in a wrong state."""

import re

from results.causes.checks import is_told_instead
from results.causes.handles import SUCCESS
from results.causes.shown import is_of_answer
from results.model.attempt import Attempt
from results.model.evidence import Call

# A state that a query told wrongly, in what the executable specification says of it.
_STATE = re.compile(r"DAT_(EP|EVD)_STATE_[\w|]+(?=, not DAT_)")
_BIND = "dat_rmr_bind"
_EMPTY = re.compile(r"\bsegment_length=0\b")
_IN_USE = "DAT_INVALID_STATE"


def left_in(attempt: Attempt) -> tuple[str, str]:
    """The call of the page, or the one that blocked the case, and the wrong state that an object
    was in behind it; two empty texts if nothing is known of one. What the case saw later follows
    from that state, however it was seen.
    """
    said = attempt.deviation
    told = _STATE.search(said.saw) if said else None
    return (attempt.blocked or attempt.page_call, told[0]) if told else ("", "")


def is_still_bound(attempt: Attempt) -> bool:
    """Whether an RMR was unbound, and its region is still accessible or its LMR still in use."""
    check = attempt.failed_check
    if attempt.page_call != _BIND or check is None:
        return False
    before = [call for call in attempt.calls if call.name == _BIND and call.n <= check.after_call]
    if not before or not _unbinds(before[-1]):
        return False
    if is_of_answer(attempt):
        return check.expected == (SUCCESS,) and check.seen.split(",")[0] == _IN_USE
    return is_told_instead(check, "DAT_DTO_ERR_REMOTE_ACCESS", "DAT_DTO_SUCCESS")


def _unbinds(call: Call) -> bool:
    return call.ret == SUCCESS and _EMPTY.search(dict(call.args).get("lmr_triplet", "")) is not None
