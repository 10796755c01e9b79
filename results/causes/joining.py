# SPDX-License-Identifier: BSD-2-Clause
"""Which findings are of one cause: those that share keys, unless two defects met in a few of them.

Of a provider with many defects some cases meet two at once, and have keys of both. If each such
case joined the two, all defects would be one. So two sets of findings are one only if a good part
of the smaller one is in the other, too.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping

from results.causes.keys import Key

# Of the smaller set of findings; see docs/decisions/0299-two-defects-in-one-case.md.
_SHARE = 0.2


def joined(found: Mapping[int, set[Key]], behind: Mapping[int, int]) -> list[list[int]]:
    """The findings by cause, each of them once. `found` has the keys of each finding by its place;
    places and groups come in order. What `behind` maps to another finding is of that one's cause,
    and joins nothing.
    """
    having: dict[Key, set[int]] = defaultdict(set)
    for place, keys in found.items():
        for key in keys if place not in behind else ():
            having[key].add(place)
    sets = _Sets(having.values())
    sets.join()
    groups: dict[int, list[int]] = defaultdict(list)
    of: dict[int, int] = {}
    for place in found.keys() - behind.keys():
        shared = [having[key] for key in found[place]]
        of[place] = sets.best(place, shared) if shared else -1 - place
    for place in found:
        groups[of[behind.get(place, place)]].append(place)
    return sorted(map(sorted, groups.values()))


class _Sets:
    """Sets of findings, by numbers that are given in order and never again."""

    def __init__(self, sets: Iterable[set[int]]) -> None:
        distinct = dict.fromkeys(frozenset(each) for each in sets)
        self.places = {number: set(each) for number, each in enumerate(distinct)}
        self.next = len(self.places)
        self.of: dict[int, set[int]] = defaultdict(set)
        for number, places in self.places.items():
            for place in places:
                self.of[place].add(number)
        self.nearest: list[tuple[float, int, int, int]] = []

    def join(self) -> None:
        """Join two after the other, those first that share most."""
        for number in [*self.places]:
            self._look(number, {each for each in self._beside(number) if each < number})
        while self.nearest:
            *_, one, other = heapq.heappop(self.nearest)
            if one in self.places and other in self.places:
                self._unite(one, other)

    def best(self, place: int, havings: Iterable[set[int]]) -> int:
        """The set that a finding is of: the one that has most of what its keys have."""
        keys = list(havings)
        return max(
            sorted(self.of[place]),
            key=lambda number: sum(len(key & self.places[number]) / len(key) for key in keys),
        )

    def _beside(self, number: int) -> set[int]:
        return {each for place in self.places[number] for each in self.of[place]} - {number}

    def _look(self, number: int, others: Iterable[int]) -> None:
        for other in sorted(others):
            shared = len(self.places[number] & self.places[other])
            share = shared / min(len(self.places[number]), len(self.places[other]))
            if share >= _SHARE:
                heapq.heappush(self.nearest, (-share, -shared, other, number))

    def _unite(self, one: int, other: int) -> None:
        number, self.next = self.next, self.next + 1
        self.places[number] = self.places.pop(one) | self.places.pop(other)
        for place in self.places[number]:
            self.of[place] = self.of[place] - {one, other} | {number}
        self._look(number, self._beside(number))
