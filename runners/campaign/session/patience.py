# SPDX-License-Identifier: BSD-2-Clause
"""What waits: cases in which events and ends of calls are waited for in vain, by how long they took
(docs/decisions/0160-second-attempts-and-waits.md).
"""

from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

from results.runlog.records import KEPT
from results.runlog.similarity import LEAST

# What took so long was waiting, for an event or for the end of a call, and may do so beside others.
WAITED_MS = 1000
# Nor does it wait where it took no longer than so many of those that were kept there.
SLOW = 4
# Of so many that were kept last it is known how long they took.
KNOWN = 101


class Waits:
    """The cases that waited in vain on some hosts, and whether others are waited for yet."""

    def __init__(self) -> None:
        self._kept: deque[float] = deque(maxlen=KNOWN)
        self._in_vain = 0

    def take(self, verdict: Mapping[str, Any]) -> None:
        """A case ended there: its verdict's record."""
        word, ms = verdict["verdict"], verdict["ms"]
        if word in KEPT and "teardown" not in verdict:
            self._kept.append(ms)
        elif word != "UNSUPPORTED":
            self._in_vain += ms >= self._limit_ms()

    @property
    def put_off(self) -> float | None:
        """After how many seconds a case is put off; None where all are waited for."""
        return self._limit_ms() / 1000 if self._in_vain >= LEAST else None

    def _limit_ms(self) -> float:
        return max(WAITED_MS, SLOW * median(self._kept or [0.0]))
