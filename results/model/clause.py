# SPDX-License-Identifier: BSD-2-Clause
"""Clauses, their cases over the modes, and what is said of them."""

from dataclasses import dataclass, field
from functools import cached_property

from results.model.attempt import Attempt, Verdict, worst

_ORDER = list(Verdict)


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

    def ended(self, hosts: int) -> list[str]:
        """How its attempts ended in a mode; if all ended alike, the last tells what differed."""
        attempts = [attempt for attempt in self.ordered if attempt.hosts == hosts]
        said = [attempt.ended for attempt in attempts]
        if hosts in self.unstable and len(set(said)) == 1:
            ends = {tuple(trouble.key for trouble in attempt.teardown) for attempt in attempts}
            said[-1] += (
                " (only the model's judgement differs)"
                if len(ends) == 1
                else " (what broke in teardown differs)"
            )
        return said

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


def hosts_word(hosts: int) -> str:
    """A mode's name: "1 host", "2 hosts"."""
    return "1 host" if hosts == 1 else f"{hosts} hosts"
