# SPDX-License-Identifier: BSD-2-Clause
"""Calls that do nothing, and what fails behind them."""

from collections.abc import Collection, Iterable

from results.model.attempt import Attempt, Verdict
from results.model.clause import Case

_SUCCESS = "DAT_SUCCESS"
# What a record has behind the name of an object that was freed.
_FREED = " (freed)"
_NULL = "DAT_HANDLE_NULL"


def idle(decisive: Iterable[Attempt], controls: Collection[str]) -> frozenset[str]:
    """The calls that do nothing, by the attempts that decide the verdicts of cases: no case of
    their page was refused one, but by a null handle, which the registry refuses. What a free was
    granted works afterwards. Another call takes a handle of no object, and was granted in the
    control of its page, which saw no effect. `controls` are the cases that look for the effect.
    """
    by_page: dict[str, list[Attempt]] = {}
    for attempt in decisive:
        by_page.setdefault(attempt.page_call, []).append(attempt)
    return frozenset(
        name for name, attempts in by_page.items() if _is_idle(name, attempts, controls)
    )


def idle_calls(cases: Iterable[Case]) -> frozenset[str]:
    """The calls that do nothing, by what these cases saw."""
    cases = list(cases)
    controls = {case.id for case in cases if case.clause.control}
    return idle((case.decisive for case in cases if case.decisive), controls)


def fails_behind(attempt: Attempt, name: str) -> bool:
    """Whether a case failed behind a call of this name that returned DAT_SUCCESS."""
    calls = (call for call in attempt.calls if call.name == name and not call.teardown)
    return attempt.verdict is Verdict.FAIL and any(call.ret == _SUCCESS for call in calls)


def _is_idle(name: str, attempts: list[Attempt], controls: Collection[str]) -> bool:
    failed = [attempt for attempt in attempts if attempt.verdict is Verdict.FAIL]
    left = any(map(_outlives, failed))
    if not left and not any(map(_takes_bad_handles, failed)):
        return False
    calls = (call for attempt in attempts for call in attempt.calls if call.name == name)
    if any(call.ret != _SUCCESS and _NULL not in dict(call.args).values() for call in calls):
        return False
    return left or any(a.case in controls and fails_behind(a, name) for a in failed)


def _outlives(attempt: Attempt) -> bool:
    """Whether another call took the handle of an object for a good one that the page's free was
    granted.
    """
    name = attempt.page_call
    kind, free, _ = name.removeprefix("dat_").partition("_free")
    if not free:
        return False
    others = (c for c in attempt.calls if c.name != name and c.ret == _SUCCESS and c.args)
    first = (call.args[0][1] for call in others)
    return any(each.startswith(f"{kind}#") and each.endswith(_FREED) for each in first)


def _takes_bad_handles(attempt: Attempt) -> bool:
    """Whether it failed because the page's call was granted a bad handle."""
    check = attempt.failed_check
    if check is None:
        return False
    before = [c.name for c in attempt.calls if c.who == "case" and c.n <= check.after_call]
    own = before[-1:] == [attempt.page_call]
    return own and check.expected == ("DAT_INVALID_HANDLE",) and check.seen == _SUCCESS
