# SPDX-License-Identifier: BSD-2-Clause
"""What the cases of a page together show of its call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from results.causes.crash_hang import crashed_elsewhere, the_crash_of
from results.causes.endless import endless, waits_on
from results.causes.keys import Key
from results.causes.wrong_object import is_of_another, misdirected
from results.model.attempt import NOT_KEPT, Attempt
from results.model.clause import Case
from results.model.idle import fails_behind, idle_calls


@dataclass(frozen=True)
class Pages:
    """The calls that their pages show broken: those that do nothing, those that end another object
    than they are given, and those that never come back from a wait. `crashes` has, by call, what a
    crash in it is known by, where all of them are one.
    """

    crashes: Mapping[str, Key]
    idle: frozenset[str]
    misdirected: frozenset[str]
    endless: frozenset[str]

    @classmethod
    def of(cls, cases: Sequence[Case]) -> "Pages":
        """What these cases show."""
        ended = [case.decisive for case in cases if case.decisive]
        failed = (attempt for attempt in ended if attempt.verdict in NOT_KEPT)
        wrong = frozenset(filter(None, map(misdirected, failed)))
        return cls(the_crash_of(ended), idle_calls(cases), wrong, endless(cases))

    def keys_of(self, attempt: Attempt, own: Iterable[Key]) -> Iterator[Key]:
        """What a finding is known by, and with no regard to its page by its `own` keys alone."""
        call = attempt.page_call
        if call in self.idle and fails_behind(attempt, call):
            # What other calls answered behind it may have another cause elsewhere.
            yield "clause", attempt.case
            yield "idle", call
            return
        yield from own
        if call in self.misdirected and is_of_another(attempt):
            yield "misdirected", call
        if crash := self.crashes.get(crashed_elsewhere(attempt)):
            yield crash
        if call in self.endless and waits_on(attempt, call):
            yield "endless", call
