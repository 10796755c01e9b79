# SPDX-License-Identifier: BSD-2-Clause
"""The random walks of a run: taken when its cases have been, recorded as findings of the run."""

from collections.abc import Callable
from dataclasses import replace

from results.errors import RunnerError
from results.runlog.records import Record, ResultsLost
from runners.campaign.explore.search import Finding, Search
from runners.campaign.explore.steps import objects_by
from runners.campaign.explore.walk import Walker
from runners.campaign.plan.assignment import Assignment
from runners.campaign.plan.plan import identity
from runners.campaign.session.model import found_by_model
from runners.checkout import Checkout

# Steps of a walk behind its first ones.
STEPS = 60


def puppets(assignment: Assignment, checkout: Checkout) -> Assignment:
    """The assignment of a run with the puppet in the place of the cases, on the same subject."""
    return replace(
        assignment,
        argv=(str(checkout.puppet), *assignment.argv[1:]),
        identity=identity(checkout.puppet),
        logs=f"{assignment.logs}/explore",
        plan=(),
        spread=None,
        every_pair=False,
        controls={},
        registrys=(),
        model=False,
    )


def explore(
    checkout: Checkout,
    assignment: Assignment,
    hosts: int,
    seconds: float,
    walked: int,
    write: Callable[[Record], None],
    progress: Callable[[str], None],
) -> None:
    """Take walks for `seconds`, by the seed of the assignment, in the mode of so many hosts. The
    run has `walked` findings of earlier ones. What it comes to is written as records.
    """
    walker = Walker(puppets(assignment, checkout), None, hosts, write)
    search = Search(
        walker,
        objects_by(checkout.api),
        STEPS,
        assignment.seed + walked,
        seconds,
        0,
        lambda: progress(f"random walk {walker.walks}"),
    )
    ended, number = "", walked
    try:
        for finding in search.findings():
            number += 1
            write(_record(number, finding))
        if not walker.judged:
            ended = "no call of a walk could be judged"
    except ResultsLost:
        raise
    except RunnerError as error:
        ended = str(error)
    finally:
        walker.close()
    write(
        {
            "type": "explored",
            "hosts": hosts,
            "seconds": seconds,
            "seed": assignment.seed,
            "walks": walker.walks,
            "steps": walker.steps,
            "calls": walker.calls.total(),
            "judged": walker.judged,
            "findings": number,
            "states": walker.reached.by_kind,
            "ended": ended,
        }
    )


def _record(number: int, finding: Finding) -> Record:
    return {
        "type": "walk",
        "number": number,
        **finding.wrong.record,
        "steps": list(finding.program),
        "shown": finding.shown,
        "again": finding.again,
        "record": found_by_model(finding.record),
    }
