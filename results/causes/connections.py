# SPDX-License-Identifier: BSD-2-Clause
"""What an earlier connection of an EP, or its end, left undone."""

import re
from collections.abc import Iterable, Iterator

from results.causes.checks import NOTHING_TAKEN, is_missing_completion
from results.causes.handles import SUCCESS, object_of
from results.causes.shown import is_of_answer, is_of_event, last_call
from results.causes.states import left_in
from results.model.attempt import Attempt
from results.model.evidence import Call, Check

_RESET = "dat_ep_reset"
_MAKING = ("dat_ep_create", "dat_ep_create_with_srq")
_CONNECTING = ("dat_ep_connect", "dat_ep_dup_connect", "dat_cr_accept")
_CONNECTED = "DAT_EP_STATE_CONNECTED"
_DISCONNECTED = "DAT_EP_STATE_DISCONNECTED"
# The states that an EP is left in by no call but these, the calls that begin them, and the names
# that refusals have for them.
_LEFT_BY = {
    "RESERVED": ("dat_rsp_free",),
    "PASSIVE_CONNECTION_PENDING": ("dat_cr_reject", "dat_cr_handoff", "dat_cr_accept"),
    "DISCONNECTED": (_RESET,),
}
_BEGUN_BY = {
    "RESERVED": ("dat_rsp_create",),
    "PASSIVE_CONNECTION_PENDING": ("dat_rsp_create",),
    "DISCONNECTED": _CONNECTING,
}
_REFUSED_IN = {
    "DAT_INVALID_STATE_EP_RESERVED": "RESERVED",
    "DAT_INVALID_STATE_EP_PASSCONNPENDING": "PASSIVE_CONNECTION_PENDING",
    "DAT_INVALID_STATE_EP_DISCONNECTED": "DISCONNECTED",
}
_BROKEN = "DAT_CONNECTION_EVENT_BROKEN"
_OF_EP = re.compile(r"event_number=DAT_CONNECTION_EVENT_(?P<kind>\w+),.*\bep_handle=(?P<ep>ep#\d+)")
# Operations whose completion comes on one of an EP's EVDs.
_POSTS = {
    "recv_completion_evd_handle": ("dat_ep_post_recv",),
    "request_completion_evd_handle": (
        "dat_ep_post_send",
        "dat_ep_post_rdma_read",
        "dat_ep_post_rdma_write",
    ),
}


def origin_of(attempt: Attempt) -> tuple[str, str]:
    """What went wrong with the connection of an EP, and the call of it; two empty texts if nothing
    is known of it.

    - A connection ended by itself, on an EP that was reset: the reset kept something of the former
      one.
    - A completion is missing on an EP whose connection has ended: the post is not flushed.
    - An EP is in a state behind the call that had to end it, as a query or a refusal tells.
    """
    check, last = attempt.failed_check, last_call(attempt)
    if last is None:
        return "", ""
    granted = [
        call
        for call in attempt.calls
        if call.who == "case" and call.n <= last.n and call.ret == SUCCESS and not call.teardown
    ]
    if (state := _state_seen(attempt)) and (left := _had_to_end(state, granted)):
        return f"left {state}", left
    if check is None:
        return "", ""
    if _ends_by_itself(check) and _was_reset(granted, _ep_of(last)):
        return "after reset", _RESET
    if _is_missing(attempt, check, last) and (post := _unflushed(granted, last)):
        return "not flushed", post
    return "", ""


def _ends_by_itself(check: Check) -> bool:
    if is_of_event(check):
        return check.seen == _BROKEN and _BROKEN not in check.expected
    return check.expected == (_CONNECTED,) and check.seen.startswith(_DISCONNECTED)


def _state_seen(attempt: Attempt) -> str:
    """The state that an EP was seen in and had to have left, as "RESERVED"; empty for others."""
    check = attempt.failed_check
    seen = attempt.refusal if attempt.blocked or check is None else check.seen
    if attempt.checked_deviation:
        seen = left_in(attempt)[1] or seen
    if check is not None and check.expected == (_CONNECTED,):
        return ""
    refusal, _, subtype = seen.partition(", ")
    state = seen.removeprefix("DAT_EP_STATE_")
    if refusal == "DAT_INVALID_STATE":
        return _REFUSED_IN.get(subtype, "")
    return state if state != seen and state in _LEFT_BY else ""


def _had_to_end(state: str, granted: Iterable[Call]) -> str:
    """The call that had to end a state, if it was the last that was granted of those that begin it
    and end it.
    """
    ends = _LEFT_BY[state]
    calls = [call.name for call in granted if call.name in (*ends, *_BEGUN_BY[state])]
    return calls[-1] if calls and calls[-1] in ends else ""


def _ep_of(call: Call) -> str:
    """The EP that a call is about, or the event that it took."""
    told = (_OF_EP.search(value) for _, value in call.out)
    return next((found["ep"] for found in told if found), object_of(call))


def _was_reset(granted: Iterable[Call], ep: str) -> bool:
    """Whether an EP was connected, reset and connected again."""
    order = [
        call.name == _RESET
        for call in granted
        if call.name in (_RESET, *_CONNECTING) and ep in dict(call.args).values()
    ]
    return False in order and True in order[order.index(False) :] and not order[-1]


def _is_missing(attempt: Attempt, check: Check, last: Call) -> bool:
    if last.ret != NOTHING_TAKEN.get(last.name):
        return False
    answer = is_of_answer(attempt) and check.expected == (SUCCESS,)
    return answer or is_missing_completion(check)


def _unflushed(granted: Iterable[Call], taking: Call) -> str:
    """The last post to an EP that completes on the EVD which was empty, if that EP was left."""
    granted = list(granted)
    for role, posts in _POSTS.items():
        for ep in _reporting_to(granted, role, object_of(taking)):
            posted = [call for call in granted if call.name in posts and object_of(call) == ep]
            if posted and _is_left(granted, ep):
                return posted[-1].name
    return ""


def _reporting_to(granted: Iterable[Call], role: str, evd: str) -> Iterator[str]:
    for call in granted:
        if call.name in _MAKING and dict(call.args).get(role) == evd:
            yield dict(call.out).get("ep_handle", "")


def _is_left(granted: Iterable[Call], ep: str) -> bool:
    """Whether the last that was told of an EP's connection is its end."""
    told = (_OF_EP.search(value) for call in granted for _, value in call.out)
    kinds = [found["kind"] for found in told if found and found["ep"] == ep]
    return bool(kinds) and kinds[-1] != "ESTABLISHED"
