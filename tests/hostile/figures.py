# SPDX-License-Identifier: BSD-2-Clause
"""What an attack came to: how many were tried, and what each kind of harm was done how often."""

from collections import Counter
from collections.abc import Sequence
from threading import Lock

SHOWN = 5


class Figures:
    """The figures of one kind of attack; from any thread."""

    def __init__(self, tried: str, harms: Sequence[str]) -> None:
        self._what = tried
        self._harms: Counter[str] = Counter(dict.fromkeys(harms, 0))
        self._lock = Lock()
        self._examples: list[str] = []
        self.tried = 0

    def count(self, tried: int = 1) -> None:
        """So many more were tried."""
        with self._lock:
            self.tried += tried

    def harm(self, kind: str, example: str) -> None:
        """One did harm; `example` is what a person looks at first."""
        assert kind in self._harms, kind
        with self._lock:
            self._harms[kind] += 1
            if len(self._examples) < SHOWN:
                self._examples.append(f"{kind}: {example}")

    @property
    def harmless(self) -> bool:
        """Whether something was tried, and nothing did harm."""
        return self.tried > 0 and not any(self._harms.values())

    @property
    def line(self) -> str:
        """The figures in a line."""
        harms = ", ".join(f"{count} {harm}" for harm, count in self._harms.items())
        return f"{self.tried:6,} {self._what}: {harms}"

    @property
    def examples(self) -> Sequence[str]:
        """The first of those that did harm."""
        return self._examples
