# SPDX-License-Identifier: BSD-2-Clause
"""How much a catalogue is: what a run records of the whole suite, and a verifier counts again."""

from collections import Counter
from itertools import chain

from results.analysis import profiles
from runners.catalogue.clauses import Catalogue


def by_profile(catalogue: Catalogue) -> dict[str, int]:
    """How many clauses each profile has in the whole suite, of which a run may be a part."""
    members = (
        profiles.of(clause.level, clause.check, clause.needs, clause.blame)
        for clause in catalogue.clauses.values()
    )
    return dict(Counter(chain.from_iterable(members)))
