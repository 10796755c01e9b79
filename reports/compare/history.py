# SPDX-License-Identifier: BSD-2-Clause
"""A provider's runs over time, drawn: all clauses, and each page by itself."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reports.html.html_env import environment, style
from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN
from results.model.clause import Clause, hosts_word
from results.model.run import Run

_WIDTH = 960
_HEIGHT = 220
_SMALL_WIDTH = 200
_SMALL_HEIGHT = 46
_WIDEST_BAR = 46.0
# A device's kind is its name without its number.
_NUMBERED = re.compile(r"_?\d+$")
# From the bottom up.
_PARTS = ("kept", "inapplicable", "unknown", "failed")


@dataclass(frozen=True)
class Point:
    """One run: what it was, and its clauses by page and by what came of them."""

    run: str
    started: str
    provider: str
    library: str
    sha256: str
    build_id: str
    # What was planned, in words, and a digest of the cases and modes.
    plan: str
    plan_digest: str
    # Where it ran, in words: runs of unlike fabrics or devices are not compared.
    place: str
    suite: str
    conclusion: str
    pages: dict[str, Counter[str]]

    @property
    def all(self) -> Counter[str]:
        """The clauses of all pages."""
        return sum(self.pages.values(), Counter())


@dataclass(frozen=True)
class Bar:
    """A piece of a run's column."""

    part: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Chart:
    """Runs as columns, each its x, its width, its title and its bars; the `last` run in words."""

    name: str
    width: int
    height: int
    columns: Sequence[tuple[float, float, str, Sequence[Bar]]]
    most: int
    last: str
    failed: bool


def point(run: Run) -> Point:
    """What a history needs of `run`."""
    pages: dict[str, Counter[str]] = {}
    for clause in run.planned:
        pages.setdefault(clause.page, Counter())[_part(clause)] += 1
    return Point(
        run.id,
        run.started,
        run.provider,
        run.subject.name,
        run.subject.sha256,
        run.subject.build_id,
        *_plan(run),
        _place(run),
        run.suite.commit,
        run.conclusion.word,
        pages,
    )


def _plan(run: Run) -> tuple[str, str]:
    """What a run planned: in words, and as a digest."""
    modes = " and ".join(hosts_word(hosts) for hosts in run.modes)
    planned = sorted(f"{case.id} {sorted(case.modes)}" for case in run.cases)
    digest = hashlib.sha256("\n".join(planned).encode()).hexdigest()
    return (
        f"{len(run.cases)} case{'' if len(run.cases) == 1 else 's'} of {run.coverage} on {modes}",
        digest,
    )


def _place(run: Run) -> str:
    """On which fabric and devices a run was: "vm, rxe"."""
    devices = {
        _NUMBERED.sub("", device)
        for fabric in run.fabrics
        for fact in fabric.facts
        for device in fact.get("devices", "").replace(",", " ").split()
    }
    return ", ".join(filter(None, (run.fabric, " and ".join(sorted(devices)))))


def render(points: Iterable[Point], unread: Sequence[str] = ()) -> str:
    """Returns the page of these runs, in the order in which they began, a picture for each
    provider, plan and place: runs of other cases cannot be compared by their height, and another
    device fails other clauses. `unread` says which could not be read, and why.
    """
    providers: dict[tuple[str, str, str], list[Point]] = {}
    for each in sorted(points, key=lambda each: (each.started, each.run)):
        name = each.provider.rpartition(" ")[0] or each.provider or each.library
        providers.setdefault((name, each.plan_digest, each.place), []).append(each)
    return (
        environment()
        .get_template("history.html")
        .render(
            groups=[
                (name, found, _whole(found), _by_page(found))
                for (name, *_), found in providers.items()
            ],
            parts=_PARTS,
            style=style(),
            unread=unread,
        )
    )


def _part(clause: Clause) -> str:
    verdict = clause.verdict
    if verdict in KEPT:
        return "kept"
    if verdict in NOT_KEPT:
        return "failed"
    return "unknown" if verdict in UNKNOWN else "inapplicable"


def _whole(points: Sequence[Point]) -> Chart:
    return _chart("all pages", _WIDTH, _HEIGHT, points, [each.all for each in points])


def _by_page(points: Sequence[Point]) -> list[Chart]:
    """A small chart for each page, those first that failed in the latest run that had them."""
    names = sorted({name for each in points for name in each.pages})
    charts = [
        _chart(
            name,
            _SMALL_WIDTH,
            _SMALL_HEIGHT,
            points,
            [each.pages.get(name, Counter()) for each in points],
        )
        for name in names
    ]
    return sorted(charts, key=lambda chart: not chart.failed)


def _chart(
    name: str, width: int, height: int, points: Sequence[Point], counts: Sequence[Counter[str]]
) -> Chart:
    """Columns of one scale: a run that had fewer clauses has a shorter one."""
    most = max((count.total() for count in counts), default=0) or 1
    step = min(width / len(points), _WIDEST_BAR)
    width = max(round(step * len(points)), _SMALL_WIDTH)
    columns = []
    for at, (each, count) in enumerate(zip(points, counts, strict=True)):
        bars, below = [], float(height)
        for part in _PARTS:
            # What failed must be seen, however few clauses it is of many.
            tall = max(count[part] / most * height, 2.0 if part == "failed" else 0.5)
            if not count[part]:
                continue
            below -= tall
            bars.append(
                Bar(
                    part,
                    round(at * step, 2),
                    round(below, 2),
                    round(step * 0.84, 2),
                    round(tall, 2),
                )
            )
        began = each.started[:16].replace("T", " ")
        built = f", build {each.build_id[:12]}" if each.build_id else ""
        title = f"{began}, {each.run}{built}: {_words(count)}"
        columns.append((round(at * step, 2), round(step, 2), title, bars))
    known = [count for count in counts if count]
    last = known[-1] if known else Counter()
    return Chart(name, width, height, columns, most, _words(last), bool(last["failed"]))


def _words(count: Counter[str]) -> str:
    if not count:
        return "not run"
    said = [f"{count['kept']} of {count.total()} kept"]
    said += [f"{count[part]} {part}" for part in reversed(_PARTS[1:]) if count[part]]
    return ", ".join(said)
