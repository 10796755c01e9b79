# SPDX-License-Identifier: BSD-2-Clause
"""A cause: findings that came about in one way, and its name."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from results.causes.connections import origin_of
from results.causes.crash_hang import held_by_wait
from results.causes.handles import SUCCESS
from results.causes.sentences import what_it_did, what_was_wrong
from results.causes.shown import TAKING, call_of, is_of_answer, is_of_event, last_call
from results.causes.spoilt import refused_before
from results.causes.still_used import keeper_of
from results.model.attempt import Attempt, Verdict, worst
from results.model.clause import Case, Clause
from results.model.subject import REGISTRY

_LONGEST = 200
_CALLS = 3


@dataclass(frozen=True)
class Cause:
    """Findings that came about in one way: `cases` in the order of the catalogue, the DAT `calls`
    in which it showed, and `what` it was in words. `blocked` are the cases that were not judged
    because of it; it has only these where no clause about it failed. `behind` is the call that
    broke what the others showed, where the findings tell it.
    """

    cases: tuple[Case, ...]
    calls: tuple[str, ...]
    what: str
    blocked: tuple[Case, ...] = ()
    behind: str = ""

    @property
    def verdict(self) -> Verdict:
        """The worst that it led to."""
        return worst(case.worst for case in self.cases or self.blocked) or Verdict.NOT_RUN

    @property
    def example(self) -> Case:
        """The first case that it led to the worst in, of the page that has most of these."""
        worst_of_all = [case for case in self.cases or self.blocked if case.worst is self.verdict]
        pages = Counter(case.clause.page for case in worst_of_all)
        return max(worst_of_all, key=lambda case: pages[case.clause.page])

    @property
    def clauses(self) -> Sequence[Clause]:
        """The clauses that failed by it, each once."""
        return clauses_of(self.cases)

    @property
    def reach(self) -> int:
        """How many clauses it failed or blocked."""
        return len(clauses_of((*self.cases, *self.blocked)))

    @property
    def extent(self) -> str:
        """In how many clauses: "1 clause", "12 clauses, and blocks 284 more"."""
        count, blocked = len(self.clauses), len(clauses_of(self.blocked))
        said = _counted(count or blocked)
        return f"{said}, and blocks {blocked} more" if count and blocked else said

    @property
    def is_registrys(self) -> bool:
        """Whether all that failed by it is about clauses of the registry."""
        return bool(self.cases) and all(clause.blame == REGISTRY for clause in self.clauses)

    @property
    def name(self) -> str:
        """In one line: the calls, and what was wrong with them."""
        return f"{self._where}: {self.what}" if self._where else self.what

    @property
    def sentence(self) -> str:
        """The same as a sentence about the product, for a reader who knows the calls only."""
        attempt, where = self.example.decisive, self._where
        said = what_it_did(attempt) if attempt and where else ""
        if ", seen in " in where and said.startswith(" "):
            where += ","
        return f"{where}{said}." if said else f"{self.name}."

    @property
    def _where(self) -> str:
        """The calls. Where other calls answered what they should not, the call that broke that, or
        whose page has all clauses that failed, is before them.
        """
        calls = [call for call in self.calls if call != self.behind] or [*self.calls]
        shown = ", ".join(calls[:_CALLS])
        if len(calls) > _CALLS:
            shown += f" and {len(calls) - _CALLS} more calls"
        pages = {clause.page for clause in self.clauses}
        told = self.verdict in (Verdict.FAIL, Verdict.TIMEOUT) and not self.is_registrys
        if shown and self.behind and self.behind not in calls:
            shown = f"{self.behind}, seen in {shown}"
        elif shown and told and len(pages) == 1 and not pages & {*self.calls}:
            shown = f"{pages.pop()}, seen in {shown}"
        return shown


def clauses_of(cases: Iterable[Case]) -> Sequence[Clause]:
    return tuple({case.clause.id: case.clause for case in cases}.values())


def _counted(clauses: int) -> str:
    return "1 clause" if clauses == 1 else f"{clauses} clauses"


def _of_page_or_taking(showed: Mapping[str, str], example: Attempt | None) -> Iterator[str]:
    """The calls in which it showed, with the page of each. What takes an event shows what the
    page's own call did: of these, the one that the example has is named.
    """
    taking = {
        call for call, page in showed.items() if call in TAKING and page != call and page in showed
    }
    dropped = taking
    if example and call_of(example) in taking:
        dropped = {showed[call] for call in taking}
    return (call for call in showed if call not in dropped)


def cause_of(cases: Sequence[Case]) -> Cause:
    failed = tuple(case for case in cases if case.worst is not Verdict.BLOCKED)
    blocked = tuple(case for case in cases if case.worst is Verdict.BLOCKED)
    attempts = [case.decisive for case in failed or blocked if case.decisive]
    showed = {call_of(attempt): attempt.page_call for attempt in attempts}
    example = Cause(failed, (), "", blocked).example.decisive
    check = example.failed_check if example else None
    often = Counter(map(call_of, attempts))
    calls = [call for call in _of_page_or_taking(showed, example) if call]
    if len(calls) > 1 and check is not None and is_of_event(check):
        # It is seen behind many calls, by those that take events.
        often = Counter(call.name for call in map(last_call, attempts) if call)
        calls = list(often)
    # Where one page has all of it, its call is named before those that show what it left.
    pages = {attempt.page_call for attempt in attempts}
    calls.sort(key=lambda call: (pages != {call}, -often[call]))
    what = " ".join(what_was_wrong(example).split()) if example else ""
    shown = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}..."
    return Cause(failed, tuple(calls), shown, blocked, _behind_all(attempts, pages))


def _behind_all(attempts: Sequence[Attempt], pages: Collection[str]) -> str:
    """The call that broke what the others of a finding showed: where most tell that, and none of
    them another one; or the calls, if each of them tells one.
    """
    told = Counter(_behind(attempt, pages) for attempt in attempts)
    known = [call for call in told if call]
    if len(known) == 1:
        return known[0] if told[known[0]] > told[""] else ""
    return "" if told[""] else ", ".join(known[:_CALLS])


def _behind(attempt: Attempt, pages: Collection[str]) -> str:
    """The same, by one of them; empty if it tells nothing of that. A query that tells a wrong value
    is to blame only if a case of its own page failed by that: another call may have made it wrong.
    """
    told = attempt.checked_deviation or (attempt.deviation if not attempt.failed_check else None)
    if told and told.names_value and told.call in pages:
        return told.call
    if origin := origin_of(attempt)[1] or keeper_of(attempt):
        return origin
    if attempt.verdict is Verdict.TIMEOUT:
        # The page of the wait says what had to end it.
        return next((wait for wait, _ in held_by_wait(attempt) if wait in pages), "")
    check = attempt.failed_check
    if attempt.verdict is not Verdict.FAIL or check is None or check.expected != (SUCCESS,):
        return ""
    return refused_before(attempt) if is_of_answer(attempt) else ""
