# SPDX-License-Identifier: BSD-2-Clause
"""Calls that never come back from a wait without a timeout."""

from collections.abc import Sequence

from results.model.attempt import Attempt, Verdict
from results.model.clause import Case

_INFINITE = "DAT_TIMEOUT_INFINITE"


def endless(cases: Sequence[Case]) -> frozenset[str]:
    """The calls that no case of their page saw come back from a wait without a timeout."""
    waited: set[str] = set()
    back: set[str] = set()
    for case in cases:
        name = case.decisive and case.decisive.page_call
        if not name or not name.endswith("_wait"):
            continue
        for call in case.decisive.calls if case.decisive else ():
            if call.name == name and ("timeout", _INFINITE) in call.args:
                (waited if call.unfinished else back).add(name)
    return frozenset(waited - back)


def waits_on(attempt: Attempt, name: str) -> bool:
    """Whether a case failed with a thread in a call of this name that has no timeout."""
    calls = (call for call in attempt.calls if call.name == name and call.unfinished)
    return attempt.verdict is Verdict.FAIL and any(
        ("timeout", _INFINITE) in call.args for call in calls
    )
