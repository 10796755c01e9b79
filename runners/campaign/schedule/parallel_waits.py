# SPDX-License-Identifier: BSD-2-Clause
"""Cases that wait, beside one another: each on hosts of its own, more of them than there is work
for (docs/decisions/0160-second-attempts-and-waits.md).
"""

from collections import deque
from collections.abc import Generator, Iterable
from contextlib import closing
from itertools import groupby
from threading import Event

from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import Planned
from runners.campaign.schedule.lanes import Part, Told, of_hosts, side_by_side
from runners.campaign.session.testbed import Emit, Testbed

# So many cases that wait are less load than one that does not.
FOR_EACH_WORKER = 4


def beside(
    assignment: Assignment, cases: Iterable[Planned], attempt: int, workers: int, emit: Emit
) -> Generator[Told, None, None]:
    """Run cases that are known to wait, those of one mode at a time; yields each as it ends."""
    for hosts, group in groupby(cases, key=lambda planned: planned.hosts):
        left = deque(group)
        room = max(workers, min(FOR_EACH_WORKER * workers, assignment.room(hosts)))
        count = min(room, len(left))
        label = "again" if attempt > 1 else "beside"
        beds = [Testbed(assignment, hosts, f"{label}{number}-") for number in range(count)]
        parts = [[Part(bed, left)] for bed in beds]
        lanes = side_by_side(parts, of_hosts(emit), Event(), attempt)
        with closing(lanes) as ended:
            yield from ended
