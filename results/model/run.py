# SPDX-License-Identifier: BSD-2-Clause
"""What a run means: clauses, cases, modes, and the conclusion drawn from them."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from results.model.attempt import KEPT, NOT_KEPT, UNKNOWN, Attempt, Verdict
from results.model.breakage import Breakage, blockers, breakages
from results.model.clause import Case, Clause, Fault, Page, Proof, Ruling, Waiver, hosts_word
from results.model.subject import REGISTRY, End, Fabric, Found, Incident, Subject, Suite, Undeclared
from results.model.walk import Explored, Walk
from results.runlog.similarity import LEAST, Kind, enough

_ORDER = list(Verdict)


# How the reason of a verdict begins where a case needs more than the IA declares.
_LIMIT = re.compile(r"max_\w+( = -?\d+)?(?=\W|$)")
_LIMITS_TOLD = 3


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
        """What broke beside the clauses, and no case shows."""
        return breakages(self.cases, self.walks)

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
        return blockers(self.cases)

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
