# SPDX-License-Identifier: BSD-2-Clause
"""What an earlier connection of an EP, or its end, left undone."""

import re
from collections.abc import Iterable, Iterator

from results.causes.checks import NOTHING_TAKEN, is_missing_completion
from results.causes.handles import SUCCESS, object_of
from results.causes.shown import is_of_answer, is_of_event, last_call
from results.model.attempt import Attempt
from results.model.evidence import Call, Check

_RESET = "dat_ep_reset"
_MAKING = ("dat_ep_create", "dat_ep_create_with_srq")
_CONNECTING = ("dat_ep_connect", "dat_ep_dup_connect", "dat_cr_accept")
_CONNECTED = "DAT_EP_STATE_CONNECTED"
_DISCONNECTED = "DAT_EP_STATE_DISCONNECTED"
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
    """
    check, last = attempt.failed_check, last_call(attempt)
    if check is None or last is None:
        return "", ""
    granted = [
        call
        for call in attempt.calls
        if call.who == "case" and call.n <= last.n and call.ret == SUCCESS and not call.teardown
    ]
    if _ends_by_itself(check) and _was_reset(granted, _ep_of(last)):
        return "after reset", _RESET
    if _is_missing(attempt, check, last) and (post := _unflushed(granted, last)):
        return "not flushed", post
    return "", ""


def _ends_by_itself(check: Check) -> bool:
    if is_of_event(check):
        return check.seen == _BROKEN and _BROKEN not in check.expected
    return check.expected == (_CONNECTED,) and check.seen.startswith(_DISCONNECTED)


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
