# SPDX-License-Identifier: BSD-2-Clause
"""Completions that tell of an error where the work had to succeed."""

import re

from results.causes.keys import Key
from results.causes.shown import TAKING
from results.model.attempt import Attempt
from results.model.evidence import Call, Check

_COOKIE = re.compile(r"\buser_cookie=(\w+)")
_WANTED = "DAT_DTO_SUCCESS"
# How a check or a step says what came instead. A flush follows from many defects.
_SEEN = re.compile(
    r"(?:the status is )?(?P<status>DAT_DTO_ERR_(?!FLUSHED)\w+)"
    rf"(?:, not {_WANTED}|, cookie \w+, \d+ bytes)?"
)
# The same of work of the peer.
_PEERS = re.compile(
    r"(?:the peer's |an? )(?P<work>send|receive|RDMA write) completed with: "
    r"(?P<status>DAT_DTO_ERR_(?!FLUSHED)\w+)"
)
_RECEIVES = ("dat_ep_post_recv", "dat_srq_post_recv")
_POSTED_BY = {
    "send": "dat_ep_post_send",
    "receive": _RECEIVES[0],
    "RDMA write": "dat_ep_post_rdma_write",
}


def key_of_status(attempt: Attempt) -> Key | None:
    """The error and the work whose completion tells it: one place makes it, whatever page looks.

    None where the failure is another one, or works of several kinds have the completion's cookie.
    """
    check = attempt.failed_check
    said = attempt.refusal if attempt.blocked else check.seen if check else ""
    if of_peer := _PEERS.fullmatch(said):
        return ("completed", _POSTED_BY[of_peer["work"]], of_peer["status"])
    told = _SEEN.fullmatch(check.seen) if check else None
    if check is None or told is None or not _wants_success(check):
        return None
    works = _works(attempt, check)
    return ("completed", works.pop(), told["status"]) if len(works) == 1 else None


def _wants_success(check: Check) -> bool:
    return check.seen.endswith(f", not {_WANTED}") or any(_WANTED in it for it in check.expected)


def _works(attempt: Attempt, check: Check) -> set[str]:
    """The posts that the last completion before a check can be of, by its cookie."""
    calls = [call for call in attempt.calls if call.who == "case" and call.n <= check.after_call]
    taken = next((call for call in reversed(calls) if call.name in TAKING), None)
    cookie = _COOKIE.search(dict(taken.out).get("event", "")) if taken else None
    return {_work(call) for call in calls if cookie and _has(call, cookie[1])}


def _has(call: Call, cookie: str) -> bool:
    return "_post_" in call.name and dict(call.args).get("user_cookie") == cookie


def _work(call: Call) -> str:
    """The kind of work: a receive is one, wherever it was posted."""
    return _RECEIVES[0] if call.name in _RECEIVES else call.name
