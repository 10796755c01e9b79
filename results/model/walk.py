# SPDX-License-Identifier: BSD-2-Clause
"""What random walks of a run came to."""

from dataclasses import dataclass

from results.model.attempt import Attempt
from results.model.evidence import Trouble


@dataclass(frozen=True)
class Walk:
    """A random walk that was found wrong, shrunk to few steps: what is wrong, and in how many of
    the times that it was taken again.
    """

    number: int
    trouble: Trouble
    why: str
    steps: tuple[str, ...]
    shown: int
    again: int
    attempt: Attempt

    @property
    def id(self) -> str:
        """What `replay` calls it."""
        return f"explore/{self.number}"

    @property
    def often(self) -> str:
        """How often it was wrong when it was taken again, in words."""
        return f"shown {self.shown} of {self.again} times"


@dataclass(frozen=True)
class Explored:
    """What the random walks of a run came to. `states` counts by object the states that objects
    came to; `ended` is why it ended before its time, empty if it did not.
    """

    seconds: float
    walks: int
    steps: int
    calls: int
    judged: int
    states: dict[str, dict[str, int]]
    ended: str = ""

    @property
    def sentence(self) -> str:
        """What was walked, in words."""
        states = sum(map(len, self.states.values()))
        early = f" It ended early: {self.ended}." if self.ended else ""
        return (
            f"Random walks of {self.seconds:g} seconds: {self.walks:,} walks of {self.steps:,}"
            f" steps, {self.calls:,} calls, of which {self.judged:,} were judged, and {states}"
            f" states of {len(self.states)} kinds of objects.{early}"
        )

    @property
    def by_object(self) -> list[tuple[str, str]]:
        """The states of each kind of object with their counts, in words."""
        return [
            (kind, "; ".join(f"{state} {count:,}" for state, count in states.items()))
            for kind, states in self.states.items()
        ]
