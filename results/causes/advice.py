# SPDX-License-Identifier: BSD-2-Clause
"""What to mend first."""

from collections.abc import Sequence

from results.causes.cause import Cause, clauses_of
from results.model.run import Run

# So many defects are named first.
FIRST = 5
_NUMBERS = ("none", "one", "two", "three", "four", "five")
# Where defects beside the clauses were found, by the word of all of them.
_IN_TEARDOWN = "in teardown"
_WHERE = {"EXPLORE": "in random walks", "PROBE": "found by the probe"}


def advice(run: Run, found: Sequence[Cause]) -> str:
    """What to mend first, in one sentence; empty where nothing was found.

    `found` are the causes of `run`. What failed in teardown is a defect too.
    """
    own = [cause for cause in found if not cause.is_registrys or run.subject.registry_is_tested]
    defects = len(own) + len(run.breakages)
    if not defects:
        return ""
    said = "1 defect" if defects == 1 else f"{defects} defects"
    if not own:
        words = {broken.word for broken in run.breakages}
        where = next((_WHERE.get(word) for word in words if len(words) == 1), None)
        return f"{said}, {where or _IN_TEARDOWN}."
    first = own[:FIRST]
    reach = len(clauses_of(case for cause in first for case in (*cause.cases, *cause.blocked)))
    ways = [f"fail{'s' if len(first) == 1 else ''}"] if any(c.cases for c in first) else []
    ways += [f"block{'s' if len(first) == 1 else ''}"] if any(c.blocked for c in first) else []
    extent = f"{' or '.join(ways)} {reach:,} of {len(run.planned):,} clauses"
    if defects == 1:
        return f"{said}: it {extent}."
    if defects <= len(first):
        return f"{said}: they {extent}."
    which = "this one" if len(first) == 1 else f"these {_NUMBERS[len(first)]}"
    return f"{said}. Mend {which} first: {'it' if len(first) == 1 else 'they'} {extent}."
