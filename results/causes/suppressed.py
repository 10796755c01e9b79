# SPDX-License-Identifier: BSD-2-Clause
"""Suppressed requests: failures that were not told, and successes that were."""

from collections.abc import Iterator

from results.causes.checks import is_missing_completion
from results.causes.handles import SUCCESS
from results.causes.shown import TAKING, last_call
from results.model.attempt import Attempt
from results.model.evidence import Call

_FLAG = "DAT_COMPLETION_SUPPRESS_FLAG"
# What the executable specification says of an event.
_TOLD = "a success that was to be suppressed"
# The check of several that were flushed.
UNTOLD = "no event tells of the suppressed requests that were flushed"


def hides_failure(attempt: Attempt) -> bool:
    """Whether the completion of a suppressed request is missing. Its success has none, so what was
    missing told of a failure: whatever was posted, one place makes these.
    """
    check, last = attempt.failed_check, last_call(attempt)
    if check is None or last is None:
        return False
    if check.seen == UNTOLD:
        return True
    posts = list(_posts(attempt, last))
    if is_missing_completion(check):
        return bool(posts) and _is_suppressed(posts[-1])
    if check.field != "as_64" or last.name not in TAKING:
        return False
    # Another completion came in its place.
    due = [post for post in posts if (dict(post.args).get("user_cookie"),) == check.expected]
    return bool(due) and _is_suppressed(due[-1])


def tells_success(attempt: Attempt) -> bool:
    """Whether the first event that is wrong tells of the success of a suppressed request."""
    said = attempt.deviation
    return said is not None and said.call in TAKING and said.saw.endswith(_TOLD)


def _posts(attempt: Attempt, last: Call) -> Iterator[Call]:
    for call in attempt.calls:
        posted = call.who == "case" and call.n <= last.n and call.ret == SUCCESS
        if posted and "completion_flags" in dict(call.args):
            yield call


def _is_suppressed(post: Call) -> bool:
    return _FLAG in dict(post.args)["completion_flags"].split("|")
