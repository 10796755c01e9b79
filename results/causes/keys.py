# SPDX-License-Identifier: BSD-2-Clause
"""What two findings share if they are of one cause."""

from collections import defaultdict
from collections.abc import Mapping

Key = tuple[object, ...]
# Keys that say which sentence is broken, and not how a finding ended.
_OF_A_CLAUSE = ("model", "told", "granted", "clause", "state")
# Of a finding whose last wait had no end, so that no event of it was judged.
_UNJUDGED = "asleep"
# Those that say nothing where another finding ended in the same way without them.
_DOUBTFUL = ("model", "granted", "state")


def drop_doubtful(keys_of: Mapping[int, set[Key]]) -> None:
    """Take away from each finding a deviation without which another one ended in the same way: what
    ended both is another defect.
    """
    having = defaultdict(set)
    for place, keys in keys_of.items():
        for key in keys:
            having[key].add(place)
    unjudged = {place for place, keys in keys_of.items() if _UNJUDGED in map(_kind, keys)}
    doubtful = {
        place: {
            model
            for model in keys
            if _kind(model) in _DOUBTFUL
            and any(
                having[key] - having[model] - unjudged
                for key in keys
                if _kind(key) not in _OF_A_CLAUSE
            )
        }
        for place, keys in keys_of.items()
    }
    for place, dropped in doubtful.items():
        keys_of[place] -= dropped


def _kind(key: Key) -> object:
    _, kind, *_ = key
    return kind
