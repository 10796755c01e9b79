# SPDX-License-Identifier: BSD-2-Clause
"""How many lanes pay: cases that run at a time on hosts that they share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runners.campaign.schedule.progress import counted

# A case waits for about half of its time: for its peer, for an event, for the kernel.
FOR_EACH_PROCESSOR = 2
# By default no more: each lane begins with a connection to each host, and an sshd drops connections
# at random from the tenth that begins at once (MaxStartups).
MOST = 8
# A case has fewer objects of a kind at once, with its peer's, unless its clause has
# alone = "limits": 127 EVDs and 118 EPs are the most that a run of the suite had. The limits that
# an IA declares are those of its adapter.
OF_A_CASE = {
    "max_eps": 128,
    "max_evds": 128,
    "max_lmrs": 128,
    "max_pzs": 64,
    "max_rmrs": 64,
    "max_srqs": 16,
}


@dataclass(frozen=True)
class Lanes:
    """So many lanes, and why."""

    count: int
    why: str

    def __str__(self) -> str:
        return f"{counted(self.count, 'lane')} on each host: {self.why}"


def asked_for(count: int) -> Lanes:
    """As many as -n says."""
    return Lanes(count, "-n says so")


def by_processors(processors: int) -> Lanes:
    """As many as hosts with so many processors get more done with."""
    what = counted(processors, "processor")
    each = "the one processor" if processors == 1 else f"each of the {what}"
    count = FOR_EACH_PROCESSOR * processors
    if count > MOST:
        return Lanes(MOST, f"the most without -n, for {what}")
    return Lanes(count, f"{FOR_EACH_PROCESSOR} for {each}")


def within_limits(lanes: Lanes, attributes: Mapping[str, Any]) -> Lanes:
    """As many of `lanes` as an IA with these attributes has objects for."""
    least = lanes
    for name, of_a_case in OF_A_CASE.items():
        limit = attributes.get(name, 0)
        # A limit of 0 is that of a kind of object which the provider does not have.
        if isinstance(limit, int) and 0 < limit < of_a_case * least.count:
            fit = max(1, limit // of_a_case)
            least = Lanes(fit, f"{name} is {limit}, and a case may have {of_a_case}")
    return least
