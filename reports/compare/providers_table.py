# SPDX-License-Identifier: BSD-2-Clause
"""Several providers side by side: one table of profiles, pages and clauses by provider."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from markupsafe import Markup

from reports.html.html_env import TEMPLATES, digest, environment, style
from reports.md_escape import code, plain
from results.analysis.profiles import profiles
from results.model.attempt import KEPT, NOT_KEPT, Verdict
from results.model.clause import Clause
from results.model.run import Run

FORMAT = 1
_NOTHING = "not run"


@dataclass(frozen=True)
class Cell:
    """What one provider came to in one row: a word for the style, and words for the reader."""

    standing: str
    text: str


@dataclass(frozen=True)
class Row:
    """A profile, a page or a clause, with a cell for each provider."""

    name: str
    cells: tuple[Cell, ...]
    text: str = ""

    @property
    def differs(self) -> bool:
        """Whether the providers came to different things here."""
        return len({cell.standing for cell in self.cells}) > 1


@dataclass(frozen=True)
class Page:
    """A page's row, and those of its clauses."""

    row: Row
    clauses: tuple[Row, ...]


@dataclass(frozen=True)
class Several:
    """Runs side by side, in the order in which they were named."""

    runs: tuple[Run, ...]

    @property
    def alike(self) -> bool:
        """Whether all were made by one suite."""
        return len({(run.suite.commit, run.suite.dirty) for run in self.runs}) == 1

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """What each provider is called, with its library, or the run's id, where several are called
        alike.
        """
        names = [run.provider or run.subject.name for run in self.runs]
        for more in ([run.subject.name for run in self.runs], [run.id for run in self.runs]):
            names = [
                name if names.count(name) == 1 else f"{name}, {further}"
                for name, further in zip(names, more, strict=True)
            ]
        return tuple(names)

    @cached_property
    def profiles(self) -> list[Row]:
        """A row for each profile of any of the suites."""
        by_run = [{profile.title: profile for profile in profiles(run)} for run in self.runs]
        names = dict.fromkeys(name for found in by_run for name in found)
        return [
            Row(
                name,
                tuple(
                    Cell(found[name].result, f"{found[name].kept} of {found[name].total}")
                    if name in found and found[name].standings
                    else Cell(_NOTHING, "")
                    for found in by_run
                ),
            )
            for name in names
        ]

    @cached_property
    def pages(self) -> list[Page]:
        """The pages that any run had a case of, each with all clauses that any run had of it."""
        by_run = [{clause.id: clause for clause in run.clauses} for run in self.runs]
        # The first run that knows a clause says where it stands.
        merged: dict[str, dict[str, Clause]] = {}
        for clauses in zip_longest(*(run.clauses for run in self.runs)):
            for clause in clauses:
                if clause is not None and clause.check != "none":
                    merged.setdefault(clause.page, {}).setdefault(clause.id, clause)
        return [
            Page(
                Row(page, tuple(_counted(found, known) for found in by_run)),
                tuple(
                    Row(id_, tuple(_cell(found.get(id_)) for found in by_run), clause.whole)
                    for id_, clause in known.items()
                ),
            )
            for page, known in sorted(merged.items())
            if any(found[id_].verdict for id_ in known for found in by_run if id_ in found)
        ]


def html(found: Several) -> str:
    """Returns the table as one HTML page that folds by page; without scripts all of it is open."""
    script = (TEMPLATES / "several.js").read_text(encoding="utf-8")
    return (
        environment()
        .get_template("several.html")
        .render(found=found, style=style(), script=Markup(script), script_digest=digest(script))
    )


def markdown(found: Several) -> str:
    """Returns profiles and pages as Markdown, and the clauses that not all kept."""
    lines = ["### Providers side by side", ""]
    for title, run in zip(found.titles, found.runs, strict=True):
        lines.append(
            f"- {plain(title)}: **{run.conclusion.word}**, {run.coverage}, run {code(run.id)},"
            f" suite {code(run.suite.commit[:12])}"
        )
    if not found.alike:
        lines += ["", "The runs were made by different suites."]
    lines += ["", *_table("profile", found.titles, found.profiles)]
    lines += _table("page", found.titles, [page.row for page in found.pages])
    apart = [
        row
        for page in found.pages
        for row in page.clauses
        if row.differs or any(cell.standing not in KEPT for cell in row.cells)
    ]
    if apart:
        lines += _table("clause", found.titles, apart)
    lines.append("Clauses that are not listed were kept by all.")
    return "\n".join(lines) + "\n"


def canonical(found: Several) -> str:
    """Returns the table as JSON (docs/providers.schema.json): for each row a word for each run, in
    the order of `runs`.
    """
    told: dict[str, Any] = {
        "format": FORMAT,
        "runs": [
            {
                "conclusion": run.conclusion.word,
                "provider": run.provider,
                "run": run.id,
                "sha256": run.subject.sha256,
                "suite": run.suite.commit,
            }
            for run in found.runs
        ],
        "profiles": _words(found.profiles),
        "pages": {page.row.name: _words(page.clauses) for page in found.pages},
    }
    return json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


RENDERERS: Mapping[str, Callable[[Several], str]] = {
    "html": html,
    "md": markdown,
    "json": canonical,
}


def _words(rows: Sequence[Row]) -> dict[str, list[str]]:
    return {row.name: [cell.standing for cell in row.cells] for row in rows}


def _cell(clause: Clause | None) -> Cell:
    if clause is None or clause.verdict is None:
        return Cell(_NOTHING, "")
    return Cell(clause.verdict.value, clause.verdict.value)


def _counted(found: Mapping[str, Clause], known: Mapping[str, Clause]) -> Cell:
    """What a provider came to in the clauses of a page."""
    verdicts = Counter(found[id_].verdict for id_ in known if id_ in found)
    del verdicts[None]
    if not verdicts:
        return Cell(_NOTHING, "")
    kept = sum(verdicts[verdict] for verdict in KEPT)
    broken = sum(verdicts[verdict] for verdict in NOT_KEPT)
    inapplicable = verdicts[Verdict.UNSUPPORTED]
    rest = len(known) - kept - broken - inapplicable
    said = [f"{kept} of {len(known)}"]
    said += [f"{broken} failed"] if broken else []
    said += [f"{rest} not checked"] if rest else []
    said += [f"{inapplicable} not applicable"] if inapplicable else []
    standing = "fail" if broken else "partial" if rest else "success" if kept else "not declared"
    return Cell(standing, ", ".join(said))


def _table(what: str, titles: Sequence[str], rows: Sequence[Row]) -> list[str]:
    lines = [
        f"| {what} | " + " | ".join(plain(title) for title in titles) + " |",
        "| --- |" + " --- |" * len(titles),
    ]
    for row in rows:
        cells = [
            cell.standing + (f" ({cell.text})" if cell.text not in ("", cell.standing) else "")
            for cell in row.cells
        ]
        lines.append(f"| {code(row.name)} | " + " | ".join(cells) + " |")
    return [*lines, ""]
