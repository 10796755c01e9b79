# SPDX-License-Identifier: BSD-2-Clause
"""customer.html: one page or two that a provider's maker hands on, to be read and printed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from reports.html.html_env import environment
from results.analysis import features, waivers
from results.analysis.profiles import profiles
from results.causes.advice import advice
from results.causes.grouping import causes, unknown_causes
from results.errors import ReportError
from results.model.run import Run
from results.runlog.printable import printable

# What the maker says, beside a run's records.
STATEMENT = "statement.json"

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


def render(run: Run, said: Statement | None = None) -> str:
    """Returns the page of `run`, with what the maker `said`, if it did."""
    found = profiles(run)
    return (
        environment()
        .get_template("customer.html")
        .render(
            run=run,
            said=said or Statement(),
            stated=said is not None,
            profiles=[profile for profile in found if profile.standings],
            untouched=[profile.title for profile in found if not profile.standings],
            causes=(causes_ := causes(run)),
            advice=advice(run, causes_),
            undecided=unknown_causes(run),
            waivers=[judged for judged in waivers.judge(run) if judged.clauses],
            waived_sentence=waivers.sentence(run),
            features=features.sentences(run),
            hosts=_hosts(run),
            most=_LISTED,
        )
    )


def stated(folder: Path) -> Statement | None:
    """The statement beside a run, if there is one. Raises ReportError for a file that is none."""
    path = folder / STATEMENT
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReportError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} is no statement: {error}") from None
    if not isinstance(told, dict):
        raise ReportError(f"{path} is no statement: no JSON object")
    return statement(told)


def statement(told: Mapping[str, object]) -> Statement:
    """The statement in words that can be shown, whatever was `told`."""
    words = {
        field.name: printable(str(told.get(field.name, "")))
        for field in fields(Statement)
        if field.name != "claims"
    }
    claims = told.get("claims", [])
    claimed = claims if isinstance(claims, list) else [claims]
    return Statement(**words, claims=tuple(printable(str(claim)) for claim in claimed))


def _hosts(run: Run) -> list[dict[str, str]]:
    """The facts of each host, once for all the fabrics that it was of."""
    known: dict[str, dict[str, str]] = {}
    for fabric in run.fabrics:
        for host in fabric.facts:
            known.setdefault(host.get("name", ""), {}).update(host)
    return list(known.values())
