# SPDX-License-Identifier: BSD-2-Clause
"""What a run means: clauses, cases, modes, and the conclusion drawn from them."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN, Attempt, Verdict, worst
from results.model.evidence import UNASKED, Trouble
from results.model.idle import idle
from results.runlog.similarity import LEAST, Kind, enough

# Who is at fault where a clause about the registry (libdat) is not kept.
REGISTRY = "registry"
# What the cases of a host have kept of the privilege of its agent, where they kept nothing.
NO_PRIVILEGE = "none"
_ORDER = list(Verdict)


# How the reason of a verdict begins where a case needs more than the IA declares.
_LIMIT = re.compile(r"max_\w+( = -?\d+)?(?=\W|$)")
_LIMITS_TOLD = 3


@dataclass(frozen=True)
class Walk:
    """A random walk that was found wrong, shrunk to few steps: what is wrong, and in how many of
    the times that it was taken again.
    """

    number: int
    trouble: Trouble
    why: str
    steps: tuple[str, ...]
    shown: int
    again: int
    attempt: Attempt

    @property
    def id(self) -> str:
        """What `replay` calls it."""
        return f"explore/{self.number}"

    @property
    def often(self) -> str:
        """How often it was wrong when it was taken again, in words."""
        return f"shown {self.shown} of {self.again} times"


@dataclass(frozen=True)
class Explored:
    """What the random walks of a run came to. `states` counts by object the states that objects
    came to; `ended` is why it ended before its time, empty if it did not.
    """

    seconds: float
    walks: int
    steps: int
    calls: int
    judged: int
    states: dict[str, dict[str, int]]
    ended: str = ""

    @property
    def sentence(self) -> str:
        """What was walked, in words."""
        states = sum(map(len, self.states.values()))
        early = f" It ended early: {self.ended}." if self.ended else ""
        return (
            f"Random walks of {self.seconds:g} seconds: {self.walks:,} walks of {self.steps:,}"
            f" steps, {self.calls:,} calls, of which {self.judged:,} were judged, and {states}"
            f" states of {len(self.states)} kinds of objects.{early}"
        )

    @property
    def by_object(self) -> list[tuple[str, str]]:
        """The states of each kind of object with their counts, in words."""
        return [
            (kind, "; ".join(f"{state} {count:,}" for state, count in states.items()))
            for kind, states in self.states.items()
        ]


@dataclass(frozen=True)
class Breakage:
    """A finding of its own: one thing that broke beside the clauses of the cases that met it, when
    what they had made was freed, or in a call that the executable specification found wrong; or in
    a random `walk`, and in no case. `attempt` is the first case's, or the walk's.
    """

    trouble: Trouble
    cases: tuple["Case", ...]
    attempt: Attempt
    walk: Walk | None = None

    @property
    def text(self) -> str:
        """In one line, without the cases."""
        return f"{self.word.lower()}: {self.trouble.text}"

    @property
    def word(self) -> str:
        """Where it was found: "TEARDOWN", "PROBE", "MODEL" or "EXPLORE"."""
        if self.walk:
            return "EXPLORE"
        if self.trouble.what == UNASKED:
            return "PROBE"
        return "MODEL" if self.trouble.clause else "TEARDOWN"

    @property
    def extent(self) -> str:
        """In how many cases: "in 12 cases, first in ep_create/..."."""
        if self.walk:
            return f"in walk {self.walk.id} of {len(self.walk.steps)} steps, {self.walk.often}"
        first = self.first
        return f"in {len(self.cases)} cases, first in {first}" if self.cases[1:] else f"in {first}"

    @property
    def first(self) -> str:
        """The first case that met it, or the walk: what is replayed."""
        return self.walk.id if self.walk else self.cases[0].id


@dataclass
class Case:
    """A case over the modes in which it was planned or has a verdict."""

    id: str
    clause: "Clause"
    modes: set[int] = field(default_factory=set)
    attempts: list[Attempt] = field(default_factory=list)
    # By mode, on how many testbeds it lacks a verdict where it is to run on each.
    missing: dict[int, int] = field(default_factory=dict)

    def first(self, hosts: int) -> Attempt | None:
        """The first attempt that decides the verdict of mode `hosts`; the worst, if several."""
        firsts = [a for a in self.attempts if a.hosts == hosts and a.number == 1]
        if len(firsts) == 1:
            return firsts[0]
        return max(firsts, key=lambda a: _ORDER.index(a.verdict), default=None)

    def verdict(self, hosts: int) -> Verdict | None:
        """The verdict of mode `hosts`; None when the case has no business there."""
        if hosts not in self.modes:
            return None
        first = self.first(hosts)
        if first is None or self.missing.get(hosts):
            return worst([Verdict.NOT_RUN, *([first.verdict] if first else [])])
        return first.verdict

    @cached_property
    def worst(self) -> Verdict:
        """The worst verdict over the modes."""
        found = worst(v for hosts in self.modes if (v := self.verdict(hosts)))
        return found or Verdict.NOT_RUN

    @cached_property
    def decisive(self) -> Attempt | None:
        """The first attempt that the worst verdict comes from."""
        firsts = (self.first(hosts) for hosts in sorted(self.modes))
        return next((a for a in firsts if a and a.verdict is self.worst), None)

    @cached_property
    def unstable(self) -> tuple[int, ...]:
        """The modes in which it ended otherwise when it was run again."""
        return tuple(hosts for hosts in sorted(self.modes) if self._varied(hosts))

    @cached_property
    def once(self) -> tuple[Attempt, ...]:
        """The first attempts that were found broken, and of which there is no second one."""
        firsts = (each for each in self.attempts if each.number == 1 and each.kinds)
        return tuple(each for each in firsts if self.second(each) is None)

    def second(self, first: Attempt) -> Attempt | None:
        """The second attempt of what `first` tried; None where there is none."""
        here = [each for each in self.attempts if each.hosts == first.hosts]
        # Where every pair is tried, it is one of the same hosts.
        many = sum(each.number == 1 for each in here) > 1
        return next(
            (e for e in here if e.number > 1 and (not many or e.place == first.place)), None
        )

    def _varied(self, hosts: int) -> bool:
        ended: dict[tuple[str, ...], dict[int, object]] = {}
        here = [attempt for attempt in self.attempts if attempt.hosts == hosts]
        # Where every pair is tried, an attempt is compared with that of the same hosts.
        many = sum(attempt.number == 1 for attempt in here) > 1
        for attempt in here:
            place = attempt.place if many else ()
            ended.setdefault(place, {})[attempt.number] = attempt.outcome
        return any(len(set(by_number.values())) > 1 for by_number in ended.values())

    @cached_property
    def ordered(self) -> list[Attempt]:
        """All attempts, by mode and number."""
        return sorted(self.attempts, key=lambda a: (a.hosts, a.number))


@dataclass(frozen=True, slots=True)
class Ruling:
    """How the suite reads what a page leaves unclear."""

    id: str
    title: str
    reading: str


@dataclass(frozen=True, slots=True)
class Waiver:
    """A finding that an approver answers for: of which clause or family of them, of which versions
    of which provider, why, and until when.
    """

    clause: str
    provider: str
    versions: str
    reason: str
    url: str
    approver: str
    expires: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A provider that is wrong in one thing: which clause or family of them it breaks, and how."""

    id: str
    clause: str
    text: str


@dataclass(frozen=True)
class Proof:
    """A faults run of the same suite: what became of each fault with each case that was to catch
    it. `page` is the path of its page from the run's folder, if it had one; `drawn` says in words
    of which share of the faults it was, where it was not of all.
    """

    run: str
    page: str
    dirty: bool
    outcomes: dict[tuple[str, str], str]
    drawn: str = ""


@dataclass(frozen=True)
class Page:
    """How a page is accounted for: its sentences by hash, how many each section has, and why some
    demand nothing.
    """

    name: str
    sections: tuple[tuple[str, int], ...]
    sentences: tuple[str, ...]
    informative: dict[str, str]


class Demand:
    """What a clause says: `text` is its own, or if it has a `family` the row's."""

    __slots__ = ()
    text: str
    family: str

    @property
    def requirement(self) -> str:
        """What the provider must do: the text of its family, or its own."""
        return self.family or self.text

    @property
    def row(self) -> str:
        """The case of the requirement that it is about; empty if it is about all of it."""
        return self.text if self.family else ""

    @property
    def whole(self) -> str:
        """The requirement and the row in one line."""
        return f"{self.family} In this case: {self.text}" if self.family else self.text


@dataclass
class Clause(Demand):
    """A clause of the catalogue, with the cases that were planned for it."""

    id: str
    page: str
    section: str
    level: str
    text: str
    check: str
    needs: tuple[str, ...]
    rulings: tuple[str, ...]
    reason: str
    sentences: tuple[str, ...] = ()
    # Where its case is in the suite's sources.
    place: str = ""
    # What its family is a row of, with families of other pages.
    picture: str = ""
    # Who is at fault where it is not kept: the "provider", or the "registry".
    blame: str = "provider"
    # Of a row with a text of its own: the text of the clause that it is a row of.
    family: str = ""
    # Whether its case fails a call of the page that does nothing.
    control: bool = False
    cases: list[Case] = field(default_factory=list)

    @cached_property
    def verdict(self) -> Verdict | None:
        """The worst verdict of its cases; None when the run had none for it."""
        return worst(case.worst for case in self.cases)

    @cached_property
    def standing(self) -> str:
        """The verdict's word, or why there is none: "no case" (none can exist), "not selected"."""
        if self.verdict:
            return self.verdict.value
        return "no case" if self.check == "none" else "not selected"

    def mode(self, hosts: int) -> Verdict | None:
        """The worst verdict of its cases in mode `hosts`."""
        return worst(v for case in self.cases if (v := case.verdict(hosts)))

    @property
    def name(self) -> str:
        """The id without its page."""
        return self.id.split("/", 1)[-1]

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know beside the verdict: notes, reasons, each once."""
        if not self.cases:
            return (self.reason,) if self.reason else ()
        lines: list[str] = []
        for case in self.cases:
            for hosts in sorted(case.modes):
                attempt = case.first(hosts)
                if attempt is None or attempt.verdict is not self.verdict:
                    continue
                if attempt.verdict is Verdict.NOTE:
                    lines += attempt.remarks
                elif attempt.verdict is not Verdict.PASS and attempt.summary:
                    lines.append(attempt.summary)
        return tuple(dict.fromkeys(lines))


@dataclass(frozen=True)
class Suite:
    """The suite that ran."""

    version: str
    commit: str
    dirty: bool
    # How many clauses each profile has, of all pages.
    profiles: dict[str, int] = field(default_factory=dict)
    # Every page there is, with clauses or without; all cases, and how many a whole run has by mode.
    pages: tuple[str, ...] = ()
    cases: int = 0
    plan: dict[int, int] = field(default_factory=dict)
    # The digest of the binary that has the cases.
    binary: str = ""

    @property
    def tree(self) -> str:
        """Whether the suite was as committed; empty when no commit is known."""
        if self.commit in ("", "unknown"):
            return ""
        return "with local changes" if self.dirty else "clean"


@dataclass(frozen=True)
class Subject:
    """The provider that was certified."""

    library: str
    api: str
    sha256: str
    build_id: str
    ia: str
    dat_conf_entry: str
    variant: str = ""
    # What stood in the place of the usual libdat, if anything did.
    libdat: str = ""
    libdat_sha256: str = ""

    @property
    def name(self) -> str:
        """The library's file name."""
        return self.library.rsplit("/", 1)[-1] or "the provider"

    @property
    def registry_is_tested(self) -> bool:
        """Whether the registry is under test too; one that was not named is not."""
        return bool(self.libdat)

    @property
    def registry(self) -> str:
        """Whose registry it is, in words."""
        if self.libdat:
            return f"the registry {self.libdat.rsplit('/', 1)[-1]}"
        return "the suite's own registry" if self.api == "1.2" else "the hosts' own registry"


@dataclass(frozen=True, slots=True)
class Found:
    """A feature whose attribute dat_ia_query left unwritten: whether it is there, None where that
    is not known; by what that was found ("trial", "assumption"), and how in words.
    """

    feature: str
    present: bool | None
    by: str
    how: str


@dataclass(frozen=True)
class Ia:
    """What the IA of a host said of itself; `unasked` is what became of dat_ia_query in the probe,
    where it gave no answer, and `unlooked` what became of the queries by which fixtures look.
    """

    opened: bool
    reason: str
    library: str
    build_id: str
    attributes: dict[str, str]
    needs: dict[str, str]
    output: str
    found: tuple[Found, ...] = ()
    unasked: str = ""
    unlooked: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fabric:
    """A fabric that was up: its hosts, and what the IA of each said of itself, the subject's
    first; and where the suite runs on each pair of hosts, the pairs.
    """

    hosts: int
    facts: tuple[dict[str, str], ...]
    each: tuple[Ia, ...]
    testbeds: tuple[tuple[str, ...], ...] = ()

    @property
    def opened(self) -> bool:
        """Whether the subject's IA was opened."""
        return self.each[0].opened

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes of the subject's IA and provider."""
        return self.each[0].attributes

    @property
    def needs(self) -> dict[str, str]:
        """The optional features, and whether the subject's IA declares them."""
        return self.each[0].needs


@dataclass(frozen=True)
class Incident:
    """Something broke that is not a case."""

    what: str
    host: str
    text: str


@dataclass(frozen=True, slots=True)
class Undeclared:
    """What came of the case that shows a feature at work, where the feature is not declared."""

    feature: str
    case: str
    verdict: str


@dataclass(frozen=True)
class End:
    """The run's last message."""

    finished: str
    status: str


@dataclass(frozen=True)
class Parity:
    """Whether the same case has the same verdict in each mode."""

    compared: int
    differing: tuple[Case, ...]


@dataclass(frozen=True)
class Conclusion:
    """`word` is one of CRITERIA, `criterion` what it means, `because` why it was drawn here."""

    word: str
    sentence: str
    because: str
    criterion: str


CRITERIA = {
    "conformant": (
        "a whole run of a suite as committed, in each mode, in which at least one clause was kept"
        " (PASS, NOTE), and every other too or it did not apply (UNSUPPORTED: the provider declares"
        " the feature absent); it speaks of the pages that are named, and of no other"
    ),
    "kept, in part": (
        "what was checked was kept, but it was not all, or not as a lab repeats it: a selection,"
        " one mode, a changed suite, more patience than usual, a variant of the provider, or"
        " features of which dat_ia_query tells nothing"
    ),
    "not conformant": (
        "a first attempt ended in FAIL, CRASH, TIMEOUT or CONTRADICTED, or in BLOCKED, because a"
        " call of the provider failed that another clause promises, or what a case had made"
        " could not be freed (teardown), or a random walk found a call wrong (explore); a second"
        " attempt never takes that back"
    ),
    "could not tell": (
        "nothing of that kind against the provider, but a case ended in ERROR, which is the"
        " suite's or the host's failure,"
        " or in RESOURCE, for lack of means, or NOT-RUN, the run was interrupted, random walks"
        " that were asked for ended early, no clause could"
        " be checked at all, or a clause of a registry failed that is not under test"
    ),
}

Key = TypeVar("Key")


def idle_calls(cases: Iterable[Case]) -> frozenset[str]:
    """The calls that do nothing, by what these cases saw."""
    cases = list(cases)
    controls = {case.id for case in cases if case.clause.control}
    return idle((case.decisive for case in cases if case.decisive), controls)


@dataclass
class Run:
    """A whole run, complete or not."""

    id: str
    started: str
    command: tuple[str, ...]
    seed: str
    patience: int
    fabric: str
    modes: tuple[int, ...]
    suite: Suite
    subject: Subject
    clauses: list[Clause]
    rulings: tuple[Ruling, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    pages: tuple[Page, ...] = ()
    faults: tuple[Fault, ...] = ()
    no_faults: dict[str, str] = field(default_factory=dict)
    proofs: tuple[Proof, ...] = ()
    # What --assume said of features: whether each is there.
    assumed: dict[str, bool] = field(default_factory=dict)
    # Whether who ran it takes findings that are waived for an exit code of 0.
    waived_ok: bool = False
    fabrics: list[Fabric] = field(default_factory=list)
    undeclared: list[Undeclared] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    end: End | None = None
    cut_off: bool = False
    # How many seconds of random walks were asked for, those that were found wrong, and what all of
    # them came to.
    explore: float = 0.0
    walks: list[Walk] = field(default_factory=list)
    explored: Explored | None = None
    # By clause or family: how often the executable specification judged a call by a rule of it.
    asked: Counter[str] = field(default_factory=Counter)
    # How many records were read, and the digest of the last: it stands for all of them.
    records: int = 0
    digest: str = ""

    def asked_of(self, clause: Clause) -> str:
        """How often the executable specification judged a clause, and its family, in words."""
        told = []
        if own := self.asked[clause.id]:
            told.append(f"it {_times(own)}")
        if family := self.asked[clause.id.rpartition("/")[0]]:
            told.append(f"its family {_times(family)}")
        return ", and ".join(told)

    def rulings_of(self, clause: Clause) -> list[Ruling]:
        """The rulings that `clause` cites, those of which the run has the words."""
        return [ruling for ruling in self.rulings if ruling.id in clause.rulings]

    @cached_property
    def provider_version(self) -> str:
        """The version that the provider's attributes tell; empty where none was seen."""
        attributes = next((fabric.attributes for fabric in self.fabrics if fabric.opened), {})
        parts = [attributes.get(f"provider_version_{part}", "") for part in ("major", "minor")]
        return ".".join(parts) if all(parts) else ""

    @cached_property
    def provider(self) -> str:
        """What the provider calls itself, with its version; empty where none was seen."""
        attributes = next((fabric.attributes for fabric in self.fabrics if fabric.opened), {})
        return f"{attributes.get('provider_name', '')} {self.provider_version}".strip()

    @cached_property
    def cases(self) -> list[Case]:
        """All cases, in the order of their clauses."""
        return [case for clause in self.clauses for case in clause.cases]

    @cached_property
    def planned(self) -> list[Clause]:
        """The clauses that this run had a case for."""
        return [clause for clause in self.clauses if clause.cases]

    @cached_property
    def complete(self) -> bool:
        """Whether the run came to its planned end."""
        return self.end is not None and self.end.status == "complete" and not self.not_run

    @cached_property
    def not_run(self) -> int:
        """How many planned (case, mode) pairs have no verdict."""
        return sum(
            case.verdict(hosts) is Verdict.NOT_RUN for case in self.cases for hosts in case.modes
        )

    @cached_property
    def partial(self) -> str:
        """Why the run is no whole one, in one sentence; empty when it is."""
        if self.complete:
            return ""
        planned = sum(len(case.modes) for case in self.cases)
        if self.end is None:
            why = "the run stopped without a last word (killed, or still going on)"
        elif self.end.status == "complete":
            why = "the run came to its end without reaching every case"
        else:
            why = f"the run was {self.end.status}"
        tail = "; its last record was cut off and is left out" if self.cut_off else ""
        missing = f"{self.not_run} of {planned} planned verdicts are missing (NOT-RUN)."
        if not self.not_run:
            missing = "No planned verdict is missing."
        return f"{why[0].upper()}{why[1:]}{tail}. {missing}"

    @cached_property
    def unsaid(self) -> str:
        """What a run of a selection says nothing about, in one sentence; empty when it is whole."""
        count = self.counts["not selected"]
        if not count:
            return ""
        verb = "was" if count == 1 else "were"
        return f"{_clauses(count)} of the same pages {verb} not selected: nothing is said of them."

    @cached_property
    def covered(self) -> tuple[str, ...]:
        """The pages that this run had a case of."""
        return tuple(sorted({clause.page for clause in self.planned}))

    @cached_property
    def every_page(self) -> bool:
        """Whether this run had a case of each of several pages."""
        pages = self.suite.pages
        return len(pages) > 1 and set(pages) <= set(self.covered)

    @cached_property
    def coverage(self) -> str:
        """How many of all pages those are: "10 of the 73 pages", "all 73 pages". A call may have no
        page.
        """
        pages = self.suite.pages
        count = len(set(self.covered) & set(pages)) if pages else len(self.covered)
        total = len(pages)
        if self.every_page:
            return f"all {total} pages"
        if total:
            return f"{count} of the {total} pages"
        return "1 page" if count == 1 else f"{count} pages"

    @cached_property
    def in_part(self) -> tuple[str, ...]:
        """Why what was kept is not what a whole run of the suite would say, a reason each."""
        return tuple(self._in_part())

    def _in_part(self) -> Iterator[str]:
        suite = self.suite
        if suite.cases == 0:
            yield "a run that does not say how much the whole suite is"
        elif len(self.cases) < suite.cases:
            which = "the quick selection" if "--quick" in self.command else "a selection"
            yield f"{which}, {len(self.cases)} of {suite.cases} cases"
        else:
            for hosts, whole in sorted(suite.plan.items()):
                count = sum(hosts in case.modes for case in self.cases)
                if count < whole:
                    yield f"{count or 'none'} of {whole} cases on {hosts_word(hosts)}"
        if not suite.tree:
            yield "a suite of no known commit"
        elif suite.dirty:
            yield "a suite with local changes"
        if self.patience > 1:
            yield f"{self.patience} times the usual patience"
        if self.subject.variant:
            yield f"the variant {self.subject.variant} of the provider"
        if count := len({found.feature for found in self.found}):
            yield f"features of which dat_ia_query tells nothing: {count}"

    @property
    def unasked(self) -> tuple[str, ...]:
        """What became of dat_ia_query in probes, where it gave no answer, each once."""
        ias = (ia for fabric in self.fabrics for ia in fabric.each)
        return tuple(dict.fromkeys(ia.unasked for ia in ias if ia.unasked))

    @property
    def unlooked(self) -> tuple[tuple[str, str], ...]:
        """The queries by which fixtures did not look, and what became of them in probes."""
        ias = (ia for fabric in self.fabrics for ia in fabric.each)
        return tuple(dict.fromkeys(each for ia in ias for each in ia.unlooked.items()))

    @cached_property
    def found(self) -> tuple[Found, ...]:
        """What was found of features whose attribute dat_ia_query left unwritten, each once."""
        ias = (ia for fabric in self.fabrics for ia in fabric.each)
        return tuple(dict.fromkeys(found for ia in ias for found in ia.found))

    @cached_property
    def findings(self) -> list[Case]:
        """The cases that were not kept."""
        return [case for case in self.cases if case.worst in NOT_KEPT]

    @cached_property
    def breakages(self) -> list[Breakage]:
        """What broke beside the clauses, in first attempts: one for each call and cause. A clause
        that a case of its own found broken is among the findings, and so is what a call told
        wrongly, or refused, if a case ended by that, and a call without an answer if a case shows
        that.
        """
        broken = {id_ for case in self.findings for id_ in (case.id, case.id.rpartition("/")[0])}
        decisive = (case.decisive for case in self.findings)
        checked = (each.checked_deviation for each in decisive if each and each.deviation)
        blocked = [c.decisive for c in self.cases if c.worst is Verdict.BLOCKED and c.decisive]
        ended = (a.deviation for a in blocked if a.deviation and a.deviation.call == a.blocked)
        told = {deviation.told for deviation in (*checked, *ended) if deviation}
        decisive = (case.decisive for case in self.findings)
        culprits = (each.culprits_deviation for each in decisive if each and each.deviation)
        # A wrong answer that names no value has one reason, whichever of its values a check is of.
        whole = {(each.clause, each.call) for each in culprits if each and not each.names_value}
        found: dict[tuple[str, str, str, str], tuple[Trouble, dict[str, Case], Attempt]] = {}
        for case in self.cases:
            for attempt in case.ordered:
                troubles = self._troubles(attempt) if attempt.number == 1 else ()
                for trouble in troubles:
                    if trouble.clause in broken or trouble.told in told:
                        continue
                    if not trouble.names_value and (trouble.clause, trouble.call) in whole:
                        continue
                    if (trouble.call, trouble.saw) in self._refused and trouble.what == "refused":
                        continue
                    if trouble.what == UNASKED and self._shown(trouble):
                        continue
                    seen = found.setdefault(trouble.key, (trouble, {}, attempt))
                    seen[1][case.id] = case
                    # One that had all of its time tells more.
                    if seen[0].hurried and not trouble.hurried:
                        found[trouble.key] = trouble, seen[1], attempt
        breakages = [
            Breakage(trouble, tuple(cases.values()), attempt)
            for _, (trouble, cases, attempt) in sorted(found.items())
        ]
        alone = (w for w in self.walks if w.trouble.key not in found)
        return breakages + [
            Breakage(walk.trouble, (), walk.attempt, walk)
            for walk in alone
            if walk.trouble.clause not in broken and walk.trouble.told not in told
        ]

    def _troubles(self, attempt: Attempt) -> list[Trouble]:
        """What broke beside the clause of an attempt, without what follows from something else. An
        object that was not freed keeps its parents, and a call that does not work may leave one.
        """
        if not attempt.teardown and not attempt.beside:
            return []
        refused = [trouble for trouble in attempt.teardown if trouble.refuses]
        calls = attempt.calls if self._in_vain else ()
        in_vain = any(call.name in self._in_vain and call.ret == "DAT_SUCCESS" for call in calls)
        # Of refusals in teardown the first one is a finding, unless a call before it is to blame.
        own = {trouble.key for trouble in refused[:1] if not in_vain}
        told = {trouble.by for trouble in refused}
        teardown = [t for t in attempt.teardown if not t.refuses or t.key in own]
        beside = [t for t in attempt.beside if not t.refuses or not (in_vain or t.by in told)]
        return teardown + beside

    @cached_property
    def _in_vain(self) -> frozenset[str]:
        """The calls that do not work, by a control, where cases were blocked by them, and those
        that do nothing.
        """
        blocked = (attempt for case in self.cases for attempt in case.ordered if attempt.blocked)
        return idle_calls(self.cases) | {each.blocked for each in blocked if each.in_vain}

    @cached_property
    def _refused(self) -> frozenset[tuple[str, str]]:
        """What calls returned instead of DAT_SUCCESS in cases that ended by that."""
        found = set()
        for case in self.cases:
            attempt = case.decisive
            if attempt is None:
                continue
            check, call = attempt.failed_check, attempt.culprit
            if case.worst is Verdict.BLOCKED:
                found.add((attempt.blocked, attempt.refusal.split(",")[0]))
            elif case.worst is Verdict.FAIL and check and call and "DAT_SUCCESS" in check.expected:
                found.add((call.name, check.seen.split(",")[0]))
        return frozenset(found)

    def _shown(self, trouble: Trouble) -> bool:
        """Whether a case shows that the call gave the probe no answer. One that returned fails
        cases of its page; one that did not return, as a crash, fails none, but they end in it.
        """
        returned = trouble.saw.startswith(trouble.call)
        return trouble.call in self._unanswered or (returned and trouble.call in self._failed_pages)

    @cached_property
    def _failed_pages(self) -> frozenset[str]:
        """The pages of cases that failed."""
        ends = [(case.clause.page, case.decisive) for case in self.findings if case.decisive]
        return frozenset(page for page, attempt in ends if attempt.verdict is Verdict.FAIL)

    @cached_property
    def _unanswered(self) -> frozenset[str]:
        """The calls that cases ended in without an answer, or were blocked by."""
        pending = (case.decisive.pending for case in self.findings if case.decisive)
        return frozenset({*pending, *self.blockers})

    @cached_property
    def exploration(self) -> str:
        """What random walks the run has taken, in words, and what they are worth."""
        if not self.explore:
            return "No random walks were taken: certify --explore SECONDS takes some."
        if self.explored is None:
            return "Random walks were asked for, and the run did not come to them."
        what = "defect" if len(self.walks) == 1 else "defects"
        found = f"{len(self.walks)} {what} found." if self.walks else "No call deviates, no proof."
        return f"{self.explored.sentence} {found}"

    @cached_property
    def unexplored(self) -> str:
        """Why random walks that were asked for say less than they should; empty if they do not."""
        if not self.explore:
            return ""
        if self.explored is None:
            return "the run did not come to the random walks that were asked for"
        return f"random walks ended early ({self.explored.ended})" if self.explored.ended else ""

    @cached_property
    def first_broken(self) -> str:
        """The case to replay first: one that was not kept, or else one whose teardown broke, or a
        walk; empty if there is none.
        """
        found = (*(case.id for case in self.findings), *(each.first for each in self.breakages))
        return next(iter(found), "")

    @cached_property
    def unstable(self) -> list[Case]:
        """The cases that ended otherwise when they were run again."""
        return [case for case in self.cases if case.unstable]

    @cached_property
    def again(self) -> str:
        """How many of those that were found broken were run again, and why the others were not;
        empty where each was.
        """
        firsts = [a for case in self.cases for a in case.attempts if a.number == 1 and a.kinds]
        once = [attempt for case in self.cases for attempt in case.once]
        if not once:
            return ""
        sampled = sum(self._sampled(attempt) for attempt in once)
        said = (
            f"Of {len(firsts)} verdicts that were not kept, or not freed, {len(firsts) - len(once)}"
            " were tried a second time, alone"
        )
        if sampled:
            said += (
                f". {sampled} were tried once: of each kind, with the same verdict and in the same"
                f" call or check, or broken alike in teardown, a sample of at least {LEAST} was"
                " drawn by the seed"
            )
        if sampled < len(once):
            said += f". {len(once) - sampled} were tried once, since the run did not come to them"
        return f"{said}."

    def _sampled(self, attempt: Attempt) -> bool:
        """Whether of each kind of one that was tried once enough others were tried twice."""
        return all(enough(*self._seconds.get(kind, (0, False))) for kind in attempt.kinds)

    @cached_property
    def _seconds(self) -> dict[Kind, tuple[int, bool]]:
        """Of each kind how many were tried twice, and whether one ended otherwise then."""
        found: dict[Kind, tuple[int, bool]] = {}
        for case in self.cases:
            for first in case.attempts if case.attempts[1:] else ():
                if first.number == 1 and (again := case.second(first)):
                    varied = again.outcome != first.outcome
                    for kind in first.kinds:
                        count, other = found.get(kind, (0, False))
                        found[kind] = count + 1, other or varied
        return found

    def with_verdict(self, *verdicts: Verdict) -> list[Clause]:
        """The clauses whose verdict is one of `verdicts`."""
        return [clause for clause in self.clauses if clause.verdict in verdicts]

    def count(self, key: Callable[[Clause], Key]) -> dict[Key, Counter[str]]:
        """The clauses' standings counted by `key`, such as their level or page."""
        table: dict[Key, Counter[str]] = {}
        for clause in self.clauses:
            table.setdefault(key(clause), Counter())[clause.standing] += 1
        return table

    @cached_property
    def counts(self) -> Counter[str]:
        """The clauses counted by standing."""
        return Counter(clause.standing for clause in self.clauses)

    @cached_property
    def parity(self) -> Parity:
        """Compares the cases that have a verdict in more than one mode."""
        compared = 0
        differing = []
        for case in self.cases:
            verdicts = {a.verdict for hosts in case.modes if (a := case.first(hosts))}
            compared += sum(case.first(hosts) is not None for hosts in case.modes) > 1
            if len(verdicts) > 1:
                differing.append(case)
        return Parity(compared, tuple(differing))

    @cached_property
    def blockers(self) -> Counter[str]:
        """The calls whose failure left clauses without a judgement, with the number of clauses."""
        found: Counter[str] = Counter()
        for case in self.cases:
            firsts = (a for hosts in case.modes if (a := case.first(hosts)))
            calls = {a.blocked or "a step" for a in firsts if a.verdict is Verdict.BLOCKED}
            found.update(calls)
        return found

    @cached_property
    def conclusion(self) -> Conclusion:
        """What the run says about the provider."""
        failed = len(self.with_verdict(*NOT_KEPT))
        checked = failed + len(self.with_verdict(*KEPT))
        unknown = len(self.with_verdict(*UNKNOWN))
        blocked = len(self.with_verdict(Verdict.BLOCKED))
        sentence = "No clause checked"
        if checked:
            sentence = f"{_clauses(checked)} checked, {failed or 'none'} failed"
        if blocked:
            sentence += f", {blocked} blocked"
        if unknown > blocked:
            sentence += f", {unknown - blocked} not decided"
        words = Counter(each.word for each in self.breakages)
        if ways := words["TEARDOWN"]:
            sentence += f", teardown failed in {ways} way{'s' if ways > 1 else ''}"
        if ways := words["PROBE"]:
            sentence += f", {ways} more call{'s' if ways > 1 else ''} gave the probe no answer"
        if ways := words["MODEL"]:
            sentence += f", the model found {ways} more defect{'s' if ways > 1 else ''}"
        if ways := words["EXPLORE"]:
            sentence += f", random walks found {ways} more defect{'s' if ways > 1 else ''}"
        word, because = self._judged(failed, checked, unknown)
        because = "; ".join([because, *self._small_limits()])
        return Conclusion(word, sentence, because, CRITERIA[word])

    def _judged(self, failed: int, checked: int, unknown: int) -> tuple[str, str]:
        """The conclusion's word, and why; from the numbers of clauses."""
        registrys = sum(clause.blame == REGISTRY for clause in self.with_verdict(*NOT_KEPT))
        if (
            failed > registrys
            or self.breakages
            or self.blockers
            or (registrys and self.subject.registry_is_tested)
        ):
            return "not conformant", "; ".join(self._failed(failed, registrys))
        if why := self._undecided(checked, unknown, registrys):
            return "could not tell", why
        kept = "each clause that was checked was kept"
        if self.in_part:
            return "kept, in part", f"{kept}; this was {'; '.join(self.in_part)}"
        return "conformant", f"{kept}, of {self.coverage}"

    def _undecided(self, checked: int, unknown: int, registrys: int) -> str:
        """Why the run does not tell whether the provider conforms; empty if it does tell."""
        if registrys:
            return self._registrys(registrys)
        if unknown:
            return f"nothing failed, but {_clauses(unknown)} could not be decided"
        if not self.planned:
            return "no case was planned"
        if not checked:
            return "no clause applied, so none was checked"
        if self.end is not None and self.end.status != "complete":
            return f"the run was {self.end.status}"
        return self.unexplored

    @cached_property
    def limits(self) -> Counter[str]:
        """The declared limits that were too small for a case, with the number of clauses."""
        cases = (case for clause in self.with_verdict(Verdict.UNSUPPORTED) for case in clause.cases)
        attempts = (case.decisive for case in cases)
        return Counter(found[0] for a in attempts if a and (found := _LIMIT.match(a.reason)))

    def _small_limits(self) -> Iterator[str]:
        """What was not asked because the provider declares room for too little."""
        if not self.limits:
            return
        most = self.limits.most_common(_LIMITS_TOLD)
        named = ", ".join(f"{limit} ({count})" for limit, count in most)
        others = len(self.limits) - len(most)
        named += f" and {others} more" if others else ""
        yield f"{_clauses(self.limits.total())} not asked, because the IA declares {named}"

    def _failed(self, clauses: int, registrys: int) -> Iterator[str]:
        """What failed: so many clauses, of which some are the registry's; and in teardown."""
        if clauses:
            ended = f"ended in {_either(NOT_KEPT & set(self.counts))}"
            yield f"{_clauses(clauses)} {ended}"
        if registrys:
            yield self._registrys(registrys)
        if registrys and registrys == clauses and not self.breakages:
            yield "nothing was found against the provider"
        if self.blockers:
            calls = ", ".join(f"{call} failed ({n})" for call, n in self.blockers.most_common())
            count = len(self.with_verdict(Verdict.BLOCKED))
            yield f"{_clauses(count)} not judged, because {calls}"
        for word, what in (
            ("TEARDOWN", "teardown failed"),
            ("PROBE", "the probe got no answer"),
            ("MODEL", "the model found a defect"),
            ("EXPLORE", "a random walk found a defect"),
        ):
            ends = {e.trouble.call or "no call": None for e in self.breakages if e.word == word}
            if ends:
                yield f"{what} ({', '.join(ends)})"

    def _registrys(self, count: int) -> str:
        """That so many clauses of the registry failed, and whose that is."""
        whose = f"{_clauses(count)} {'is' if count == 1 else 'are'} of {self.subject.registry}"
        if self.subject.registry_is_tested:
            return f"{whose}, which is not conformant"
        if self.subject.api == "1.2":
            return f"{whose}: the suite is at fault there, and no provider"
        return (
            f"{whose}: it is not under test, unless --libdat names it, and no provider is at fault"
        )

    def excuses(self, clause: Clause, verdict: Verdict) -> bool:
        """Whether this is no finding against what is under test, but one against the suite."""
        aside = clause.blame == "registry" and not self.subject.registry_is_tested
        return aside and verdict in NOT_KEPT

    def blamed(self, clause: Clause) -> str:
        """Whom a finding about `clause` is against, in words."""
        return self.subject.registry if clause.blame == "registry" else "the provider"

    def replay(self, case: str) -> str:
        """The command that runs the case of this id, or a walk, again as it ran here."""
        patience = f" --patience {self.patience}" if self.patience > 1 else ""
        return f"./udapl-cts replay {shlex.quote(self.id)} {shlex.quote(case)}{patience}"


def _either(verdicts: Iterable[str]) -> str:
    """ "FAIL", "FAIL, TIMEOUT or CRASH"."""
    *rest, last = [verdict for verdict in _ORDER if verdict in set(verdicts)]
    return f"{', '.join(rest)} or {last}" if rest else str(last)


def _clauses(count: int) -> str:
    return "1 clause" if count == 1 else f"{count} clauses"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def hosts_word(hosts: int) -> str:
    """A mode's name: "1 host", "2 hosts"."""
    return "1 host" if hosts == 1 else f"{hosts} hosts"
