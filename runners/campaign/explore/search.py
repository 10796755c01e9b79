# SPDX-License-Identifier: BSD-2-Clause
"""The search for walks that deviate, and their shrinking."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisException

from results.errors import RunnerError
from results.runlog.records import Record
from results.runlog.walks import Wrong, wrong
from runners.campaign.explore.steps import programs
from runners.campaign.explore.walk import Walker

# So many programs come of one seed of Hypothesis; the next ones of the seed behind it.
BATCH = 100
# How long a finding may be shrunk, in seconds, and how often the shrunk walk is taken again.
SHRINK_S = 60.0
AGAIN = 5


@dataclass(frozen=True)
class Finding:
    """The shortest walk that was found to deviate so, and how often it did when taken again."""

    wrong: Wrong
    program: tuple[str, ...]
    record: Record
    shown: int
    again: int


class _Over(BaseException):
    """The time of the search is over: Hypothesis passes on what is no Exception."""


class _DeviatesError(Exception):
    """A walk has the finding that is being shrunk."""


@dataclass
class Search:
    """A search of a seed through the calls of some objects: for `seconds`, or, where it is not 0,
    for so many `walks` besides those that shrink.
    """

    walker: Walker
    objects: Sequence[str]
    steps: int
    seed: int
    seconds: float
    walks: int
    progress: Callable[[], None]
    shrinks: bool = True  # else a finding is the walk that was drawn
    _taken: int = field(default=0, init=False)

    def findings(self) -> Iterator[Finding]:
        """Each finding when it is shrunk."""
        until = time.monotonic() + self.seconds
        known: set[tuple[str, str, str]] = set()
        batch = 0
        while time.monotonic() < until and not (self.walks and self._taken >= self.walks):
            found = self._batch(batch, until, known)
            if found is not None:
                known.add(found.wrong.key)
                yield found
            else:
                batch += 1

    def _batch(self, number: int, until: float, known: set[tuple[str, str, str]]) -> Finding | None:
        """The first finding of a batch that is not known, shrunk; None where there is none."""
        best: list[tuple[Wrong, list[str], Record]] = []
        unusable: list[RunnerError] = []
        ends = until

        @seed(self.seed + number)
        @settings(
            max_examples=BATCH,
            deadline=None,
            database=None,
            phases=(Phase.generate, *((Phase.shrink,) if self.shrinks else ())),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
        )
        @given(programs(self.objects, self.steps))
        def one(program: list[str]) -> None:
            nonlocal ends
            if time.monotonic() > ends or (self.walks and not best and self._taken >= self.walks):
                raise _Over
            self._taken += not best
            try:
                record = self.walker.walk(program)
                found = wrong(record)
            except RunnerError as error:
                # Hypothesis would take the walk again, and forget one that is then usable.
                unusable.append(error)
                raise _Over from error
            self.progress()
            if found is None or found.key in known or (best and found.key != best[-1][0].key):
                return
            if not best:
                ends = time.monotonic() + SHRINK_S
            best.append((found, program, record))
            raise _DeviatesError

        try:
            one()
        except (_Over, _DeviatesError, HypothesisException):
            # A walk that deviates only now and then is flaky to Hypothesis: the shortest is kept.
            pass
        except BaseExceptionGroup as group:
            if group.split((HypothesisException, _DeviatesError))[1] is not None:
                raise
        if not best:
            if unusable:
                raise unusable[0]
            return None
        if not self.shrinks:
            wrong_, program, record = best[0]
            return Finding(wrong_, tuple(program), record, 0, 0)
        # What was found stays found, though a walk that was to shrink it says nothing.
        return self._finish(*min(best, key=lambda each: (len(each[1]), "\n".join(each[1]))))

    def _finish(self, found: Wrong, program: list[str], record: Record) -> Finding:
        """Leave out what steps can be left out, the first ones too; then count how often it shows.

        A walk that shows it only now and then is not cut further than Hypothesis did. If a walk
        says nothing, the finding is what it was before.
        """
        at, shown, again = len(program) - 1, 0, 0
        ends = time.monotonic() + SHRINK_S
        with suppress(RunnerError):
            while at >= 0 and time.monotonic() < ends:
                shorter = program[:at] + program[at + 1 :]
                retaken = self.walker.walk(shorter)
                if (seen := wrong(retaken)) is not None and seen.key == found.key:
                    found, program, record = seen, shorter, retaken
                at -= 1
            while again < AGAIN:
                seen = wrong(self.walker.walk(program))
                again += 1
                shown += seen is not None and seen.key == found.key
        return Finding(found, tuple(program), record, shown, again)
