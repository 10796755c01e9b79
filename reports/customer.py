# SPDX-License-Identifier: BSD-2-Clause
"""customer.html: one page or two that a provider's maker hands on, to be read and printed."""

from collections.abc import Sequence
from dataclasses import dataclass

from reports import waivers
from reports.causes import causes
from reports.model import Run
from reports.pages import environment
from reports.profiles import profiles

# How many causes, waivers and hosts have room; of more, the page says how many the report has.
_LISTED = 10


@dataclass(frozen=True)
class Statement:
    """What the maker of a provider says of itself and of it; each may be empty."""

    organisation: str = ""
    product: str = ""
    version: str = ""
    contact: str = ""
    adapter: str = ""
    firmware: str = ""
    claims: Sequence[str] = ()


def render(run: Run, statement: Statement | None = None) -> str:
    """Returns the page of `run`, with what the maker says where there is a `statement`."""
    found = profiles(run)
    return (
        environment()
        .get_template("customer.html")
        .render(
            run=run,
            said=statement or Statement(),
            stated=statement is not None,
            profiles=[profile for profile in found if profile.standings],
            untouched=[profile.title for profile in found if not profile.standings],
            causes=causes(run),
            waivers=[judged for judged in waivers.judge(run) if judged.clauses],
            waived_sentence=waivers.sentence(run),
            hosts=_hosts(run),
            most=_LISTED,
        )
    )


def _hosts(run: Run) -> list[dict[str, str]]:
    """The facts of each host, once for all the fabrics that it was of."""
    known: dict[str, dict[str, str]] = {}
    for fabric in run.fabrics:
        for host in fabric.facts:
            known.setdefault(host.get("name", ""), {}).update(host)
    return list(known.values())
