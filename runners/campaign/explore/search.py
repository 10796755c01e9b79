# SPDX-License-Identifier: BSD-2-Clause
"""The search for walks that deviate, and their shrinking."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from results.errors import RunnerError
from results.runlog.records import Record
from results.runlog.walks import Wrong, wrong
from runners.campaign.explore.programs import Programs
from runners.campaign.explore.steps import simpler
from runners.campaign.explore.walk import Walker

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

    def findings(self) -> Iterator[Finding]:
        """Each finding when it is shrunk."""
        until = time.monotonic() + self.seconds
        known: set[tuple[str, str, str]] = set()
        programs = Programs(self.objects, self.steps, self.seed, self.walker.hosts)
        for number in count():
            if time.monotonic() >= until or (self.walks and number >= self.walks):
                return
            program = programs.program(number)
            record = self.walker.walk(program)
            found = wrong(record)
            self.progress()
            if found is not None and found.key not in known:
                known.add(found.key)
                if self.shrinks:
                    yield _Shrinking(self.walker, self.progress, found, program, record).finding()
                else:
                    yield Finding(found, tuple(program), record, 0, 0)


@dataclass
class _Shrinking:
    """A finding that is being shrunk. If a walk says nothing, it stays what it was before."""

    walker: Walker
    progress: Callable[[], None]
    found: Wrong
    program: list[str]
    record: Record

    def finding(self) -> Finding:
        """Leave out what steps can be left out, the first ones too, and make the arguments of the
        others simple; then count how often it shows.
        """
        until = time.monotonic() + SHRINK_S
        shown, again = 0, 0
        with suppress(RunnerError):
            self._leave_out(until)
            self._simplify(until)
            while again < AGAIN:
                again += 1
                shown += self._shows(self.program)
        return Finding(self.found, tuple(self.program), self.record, shown, again)

    def _leave_out(self, until: float) -> None:
        """Leave out halves, quarters and so on, at last single steps until none can be."""
        size = max(1, len(self.program) // 2)
        while time.monotonic() < until:
            before = len(self.program)
            at = before
            while at > 0 and time.monotonic() < until:
                at = max(0, min(at, len(self.program)) - size)
                self._shows(self.program[:at] + self.program[at + size :])
            if size == 1 and len(self.program) == before:
                return
            size = max(1, size // 2)

    def _simplify(self, until: float) -> None:
        for at, line in enumerate(self.program):
            for other in simpler(line):
                if time.monotonic() > until:
                    return
                self._shows([*self.program[:at], other, *self.program[at + 1 :]])

    def _shows(self, program: list[str]) -> bool:
        """Take a walk; whether it has the finding, which is kept where it does."""
        record = self.walker.walk(program)
        seen = wrong(record)
        self.progress()
        if seen is None or seen.key != self.found.key:
            return False
        self.found, self.program, self.record = seen, program, record
        return True
