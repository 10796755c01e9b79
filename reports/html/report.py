# SPDX-License-Identifier: BSD-2-Clause
"""report.html: one file, no network, readable without scripts, light enough for 20,000 cases.

What must be read is in the markup: the conclusion, the findings, a row for each clause. The
evidence of clauses is packed, a bundle of clauses at a time, and unpacked by the page's script when
a row is opened. Pages sentence by sentence are packed too. Everything that a provider had a hand in
goes through autoescaping, and a content security policy admits no script but the page's own.
"""

import re
import shlex
import zlib
from base64 import b85encode
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sized
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from reports.evidence_text import done, duration, stacks, trace, walked
from reports.html.html_env import TEMPLATES, digest, environment, style
from reports.html.trace_html import SharedLines, lines
from results.analysis import features, waivers
from results.analysis.differences import warnings
from results.analysis.pairs import pairs
from results.analysis.profiles import CORE, MEMBERS, of, profiles, title
from results.analysis.profiles import CRITERIA as PROFILE_CRITERIA
from results.analysis.proof import Proven, faults_of, reasons
from results.analysis.sentences import Sentence, Words, sentences
from results.analysis.tables import pictures, tables
from results.causes.advice import advice
from results.causes.grouping import causes, unknown_causes
from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN, Attempt, Verdict, worst
from results.model.clause import Case, Clause
from results.model.evidence import Trouble
from results.model.run import CRITERIA, Run
from results.model.subject import Fabric
from results.worker_processes import in_order

_FULL_FINDINGS = 100
_BUNDLE = 512
_LEVEL = 9
_STRIP_TICKS = 300
_IN_PLACE = 200
_PACKED = 2000
_MATRIX = 40
_BRIEF = 60
_FEW_PAGES = 12
_POINTER = re.compile("0x[0-9a-f]{6,}")


def render(run: Run, words: Words | None = None) -> Iterator[str]:
    """The HTML page of `run` in pieces, with the words of the pages' sentences where they are
    given.

    They are then in this page only, which says so.
    """
    faults, no_faults = faults_of(run), reasons(run)
    env = _environment(run, faults, no_faults)
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    packer = _Packer(env)
    bundles = list(_bundled(run.clauses))
    told = sentences(run, words or {})
    jobs = [partial(packer.evidence, bundle) for bundle in bundles]
    jobs += [partial(packer.sentences, page, rows) for page, rows in told.items()]
    told_of = {id_ for id_, proven in faults.items() if proven} | set(no_faults)
    told_of |= {clause.id for clause in run.clauses if run.asked_of(clause)}
    groups = _groups(bundles, told_of)
    every = profiles(run)
    return env.get_template("report.html").generate(
        script=Markup(script),
        script_digest=digest(script),
        style=style(),
        groups=groups,
        bundles=map(Markup, in_order(lambda number: jobs[number](), range(len(jobs)), 1)),
        first_of_sentences=len(bundles),
        strip=_strip([row.clause for group in groups.values() for row in group.rows]),
        full_findings=_FULL_FINDINGS,
        in_place=_IN_PLACE,
        brief=_BRIEF,
        few_pages=_FEW_PAGES,
        pairs=(matrix := pairs(run)),
        telling=lambda case: _telling(case, bool(matrix.names)),
        most_in_matrix=_MATRIX,
        undecided=[c for c in run.cases if c.worst in UNKNOWN - {Verdict.NOT_RUN, Verdict.BLOCKED}],
        causes=(found := causes(run)),
        advice=advice(run, found),
        undecided_causes=(unknown := unknown_causes(run)),
        example_of={
            case.id: one.example
            for one in (*found, *unknown)
            for case in (*one.cases, *one.blocked)
        },
        inapplicable=_inapplicable(run),
        modes=sorted(set(run.modes) | {h for case in run.cases for h in case.modes}),
        warnings=warnings(run),
        features_title=features.TITLE,
        features=features.sentences(run),
        sentences=told,
        with_words=words is not None,
        profiles=[profile for profile in every if profile.standings],
        untouched=[profile.title for profile in every if not profile.standings],
        levels=run.count(lambda clause: clause.level),
        pages=run.count(lambda clause: clause.page),
        pictures=pictures(run.clauses),
        tables={group.page: tables(row.clause for row in group.rows) for group in groups.values()},
        fabric_keys=_fabric_keys,
        parted=_parted,
        provider=_provider(run),
        parity_table=lambda modes: _parity_table(run, modes[0], modes[1]),
    )


def _telling(case: Case, on_each_pair: bool) -> list[Attempt]:
    """The attempts that a finding shows: where there is one for each pair, not those that kept."""
    return [a for a in case.ordered if not on_each_pair or a.verdict not in KEPT]


def _fabric_keys(fabric: Fabric) -> list[str]:
    """The names of all facts that are known of a fabric's hosts, in the order they were told."""
    return list(dict.fromkeys(key for host in fabric.facts for key in host if host[key]))


def _parted(attributes: dict[str, str]) -> list[tuple[str, dict[str, str]]]:
    """The attributes by the structure that they are of; the agent tells the IA's first."""
    names = list(attributes)
    begin = names.index("provider_name") if "provider_name" in names else len(names)
    own = {name for name in names[begin:] if not name.startswith("ia_")}
    return [
        ("IA attributes", {name: attributes[name] for name in names if name not in own}),
        ("Provider attributes", {name: attributes[name] for name in names if name in own}),
    ]


def _provider(run: Run) -> str:
    """What the provider calls itself, with its version and that of DAPL."""
    attributes = next((fabric.attributes for fabric in run.fabrics if fabric.opened), {})
    if "provider_name" not in attributes:
        return ""
    dapl = ".".join(attributes.get(f"dapl_version_{part}", "?") for part in ("major", "minor"))
    return f"{attributes['provider_name']} {run.provider_version}, of DAPL {dapl}"


@dataclass(frozen=True)
class CrossTable:
    """Cases by their verdict in one mode (rows) and in another (columns)."""

    rows: list[Verdict]
    columns: list[Verdict]
    cells: Counter[tuple[Verdict, Verdict]]


def _parity_table(run: Run, one: int, other: int) -> CrossTable:
    cells: Counter[tuple[Verdict, Verdict]] = Counter()
    for case in run.cases:
        first, second = case.first(one), case.first(other)
        if first and second:
            cells[first.verdict, second.verdict] += 1
    return CrossTable(
        [verdict for verdict in Verdict if any(row is verdict for row, _ in cells)],
        [verdict for verdict in Verdict if any(column is verdict for _, column in cells)],
        cells,
    )


def _environment(
    run: Run, faults: dict[str, list[Proven]], no_faults: dict[str, str]
) -> Environment:
    env = environment()
    env.filters.update(
        duration=duration,
        counted=_counted,
        lines=lines,
        shell=lambda words: shlex.join(words),
    )
    env.globals.update(
        run=run,
        criteria=CRITERIA,
        profile_criteria=PROFILE_CRITERIA,
        profile_members=MEMBERS,
        waived=waivers.waived(run),
        waivers=waivers.judge(run),
        waived_sentence=waivers.sentence(run),
        faults=faults,
        no_faults=no_faults,
        anchor=_anchor,
        done=done,
        same_calls=_same_calls,
        stacks=stacks,
        trace=trace,
        walked=walked,
        standings=[verdict.value for verdict in Verdict] + ["not selected", "no case"],
    )
    return env


def _counted(things: Sized, name: str) -> str:
    """ "1 call", "12 calls"."""
    return f"{len(things)} {name}{'s' if len(things) != 1 else ''}"


def _anchor(trouble: Trouble) -> str:
    """Where the page tells of what broke in teardown."""
    return "teardown:" + ":".join(trouble.key)


def _same_calls(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts made the same calls with the same returns, wherever memory lay."""

    def story(attempt: Attempt) -> list[tuple[object, ...]]:
        return [
            (c.who, c.name, _POINTER.sub("", repr(c.args)), c.ret, c.sub, c.unfinished)
            for c in attempt.calls
        ]

    return story(one) == story(other)


def _bundled(clauses: Iterable[Clause]) -> Iterable[list[Clause]]:
    rest = iter(clauses)
    while bundle := list(islice(rest, _BUNDLE)):
        yield bundle


class _Packer:
    """Packs what the page's script unpacks: bundles, each by itself."""

    def __init__(self, env: Environment) -> None:
        self._shared = SharedLines()
        packing = env.overlay()
        packing.filters = env.filters | {"lines": self._shared.lines}
        self._macros: Any = packing.get_template("evidence.html").module

    def evidence(self, bundle: list[Clause]) -> str:
        """The evidence of clauses, by their ids, in ASCII."""
        return self._packed(
            (clause.id, self._macros.clause_evidence(clause, _PACKED)) for clause in bundle
        )

    def sentences(self, page: str, rows: list[Sentence]) -> str:
        """The sentences of a page, by its name, in ASCII."""
        return self._packed([(page, self._macros.page_sentences(rows))])

    def _packed(self, made: Iterable[tuple[str, str]]) -> str:
        parts = {name: self._shared.taken(str(markup)) for name, markup in made}
        packed = zlib.compress(self._shared.packed(parts).encode("utf-8"), _LEVEL)
        # Beside others "<" could end or begin a script.
        return b85encode(packed).decode("ascii").replace("<", ",")


@dataclass(frozen=True)
class Row:
    """A clause in the matrix, and the bundle that has its evidence, if there is any."""

    clause: Clause
    bundle: int | None


@dataclass(frozen=True)
class Family:
    """Rows of one requirement, which then stands above them; or clauses without a family."""

    requirement: str
    rows: list[Row]

    @property
    def place(self) -> str:
        """Where the cases of all rows are in the suite's sources, if that is one place."""
        places = {row.clause.place for row in self.rows}
        return places.pop() if self.requirement and len(places) == 1 else ""


@dataclass
class Group:
    """A page's clauses by section."""

    page: str
    sections: dict[str, list[Family]]

    @property
    def rows(self) -> list[Row]:
        return [row for section in self.sections.values() for part in section for row in part.rows]

    @property
    def profiles(self) -> str:
        """How many of its clauses were kept, by profile: "Core 3 of 4, srq_supported 7 of 7"."""
        total: Counter[str] = Counter()
        kept: Counter[str] = Counter()
        for row in self.rows:
            for name in of(row.clause.level, row.clause.check, row.clause.needs, row.clause.blame):
                total[name] += 1
                kept[name] += row.clause.verdict in KEPT
        return ", ".join(
            f"{title(name)} {kept[name]} of {total[name]}"
            for name in sorted(total, key=lambda name: (name != CORE, name))
        )


def _groups(bundles: list[list[Clause]], told_of: Container[str]) -> dict[str, Group]:
    """The clauses by page; those in `told_of` have evidence without a case too."""
    sections: dict[tuple[str, str], list[Row]] = {}
    for number, bundle in enumerate(bundles):
        for clause in bundle:
            known = clause.cases or clause.id in told_of
            row = Row(clause, number if known else None)
            sections.setdefault((clause.page, clause.section), []).append(row)
    groups: dict[str, Group] = {}
    for (page, section), rows in sections.items():
        groups.setdefault(page, Group(page, {})).sections[section] = list(_families(rows))
    return groups


def _families(rows: Iterable[Row]) -> Iterator[Family]:
    """The rows in their order: neighbours of one requirement together, and the others."""
    alone: list[Row] = []
    for requirement, members in groupby(rows, lambda row: row.clause.requirement):
        together = list(members)
        if len(together) == 1:
            alone += together
            continue
        if alone:
            yield Family("", alone)
            alone = []
        yield Family(requirement, together)
    if alone:
        yield Family("", alone)


@dataclass(frozen=True)
class Tick:
    """A piece of the verdict strip; its height says the verdict as its colour does."""

    x: float
    width: float
    height: int
    verdict: Verdict
    title: str
    href: str


_HEIGHTS = {
    Verdict.PASS: 16,
    Verdict.NOTE: 20,
    Verdict.UNSUPPORTED: 5,
    Verdict.RESOURCE: 5,
    Verdict.NOT_RUN: 3,
    Verdict.BLOCKED: 27,
    Verdict.ERROR: 28,
    Verdict.FAIL: 40,
    Verdict.TIMEOUT: 40,
    Verdict.CRASH: 40,
    Verdict.CONTRADICTED: 40,
}


def _strip(clauses: list[Clause]) -> list[Tick]:
    """The verdicts side by side in 1000 units; beyond a number of clauses several share a tick."""
    clauses = [clause for clause in clauses if clause.verdict]
    if not clauses:
        return []
    share = -(-len(clauses) // _STRIP_TICKS)
    parts = [clauses[at : at + share] for at in range(0, len(clauses), share)]
    step = 1000 / len(parts)
    ticks = []
    for at, part in enumerate(parts):
        verdict = _spoken(part)
        speaker = next(clause for clause in part if clause.verdict is verdict)
        title = f"{verdict} {speaker.id}"
        if len(part) > 1:
            title += f" and its {len(part) - 1} neighbours"
        ticks.append(
            Tick(
                round(at * step, 3),
                round(step * 0.8, 3),
                _HEIGHTS[verdict],
                verdict,
                title,
                f"clause:{speaker.id}",
            )
        )
    return ticks


def _spoken(clauses: list[Clause]) -> Verdict:
    """What neighbours are shown as: the worst that a reader must act on, else the commonest."""
    verdicts = [clause.verdict for clause in clauses if clause.verdict]
    urgent = worst(verdict for verdict in verdicts if verdict in NOT_KEPT | UNKNOWN)
    return urgent or Counter(verdicts).most_common(1)[0][0]


def _inapplicable(run: Run) -> dict[str, list[Case]]:
    """The cases that did not apply, by the reason that was given."""
    found: dict[str, list[Case]] = {}
    for case in run.cases:
        attempt = case.decisive
        if attempt and attempt.verdict in (Verdict.UNSUPPORTED, Verdict.RESOURCE):
            why = f"{attempt.verdict}: {attempt.reason or 'no reason was recorded'}"
            found.setdefault(why, []).append(case)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))
