# SPDX-License-Identifier: BSD-2-Clause
"""What broke beside the clauses, and what of it no case shows."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from results.model.attempt import NOT_KEPT, Attempt, Verdict
from results.model.clause import Case
from results.model.evidence import UNASKED, Trouble
from results.model.idle import idle_calls
from results.model.walk import Walk


@dataclass(frozen=True)
class Breakage:
    """A finding of its own: one thing that broke beside the clauses of the cases that met it, when
    what they had made was freed, or in a call that the executable specification found wrong; or in
    a random `walk`, and in no case. `attempt` is the first case's, or the walk's.
    """

    trouble: Trouble
    cases: tuple[Case, ...]
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


def breakages(cases: Sequence[Case], walks: Iterable[Walk]) -> list[Breakage]:
    """What broke beside the clauses, in first attempts: one for each call and cause. A clause
    that a case of its own found broken is among the findings, and so is what a call told
    wrongly, or refused, if a case ended by that, and a call without an answer if a case shows
    that.
    """
    shown = _Shown(cases)
    found: dict[tuple[str, str, str, str], tuple[Trouble, dict[str, Case], Attempt]] = {}
    for case in cases:
        for attempt in case.ordered:
            for trouble in shown.left_by(attempt) if attempt.number == 1 else ():
                seen = found.setdefault(trouble.key, (trouble, {}, attempt))
                seen[1][case.id] = case
                # One that had all of its time tells more.
                if seen[0].hurried and not trouble.hurried:
                    found[trouble.key] = trouble, seen[1], attempt
    broken = [
        Breakage(trouble, tuple(met.values()), attempt)
        for _, (trouble, met, attempt) in sorted(found.items())
    ]
    return broken + [
        Breakage(walk.trouble, (), walk.attempt, walk)
        for walk in walks
        if walk.trouble.key not in found and not shown.tells(walk.trouble)
    ]


def blockers(cases: Iterable[Case]) -> Counter[str]:
    """The calls whose failure left clauses without a judgement, with the number of clauses."""
    found: Counter[str] = Counter()
    for case in cases:
        firsts = (a for hosts in case.modes if (a := case.first(hosts)))
        calls = {a.blocked or "a step" for a in firsts if a.verdict is Verdict.BLOCKED}
        found.update(calls)
    return found


_IN_USE = "DAT_INVALID_STATE"
# A state that a call told, and that it must not have told.
_STATE = re.compile(r"tells (DAT_EP_STATE_\w+), not ")


def _states_of(attempt: Attempt) -> Iterator[str]:
    """The wrong states of EPs that a failed case saw, by its check and by the model."""
    check, said = attempt.failed_check, attempt.deviation
    if check is not None and check.seen.startswith("DAT_EP_STATE_"):
        yield check.seen
    if said is not None and (told := _STATE.match(said.saw)):
        yield told[1]


def _sees_use(attempt: Attempt) -> bool:
    """Whether a case failed since the close of its IA was refused, in which all was freed."""
    check, call = attempt.failed_check, attempt.culprit
    if attempt.verdict is not Verdict.FAIL or check is None or call is None:
        return False
    wanted = check.expected == ("DAT_SUCCESS",) and check.seen.startswith(_IN_USE)
    return wanted and call.name == "dat_ia_close"


def _place(attempt: Attempt) -> tuple[str, ...]:
    """Where the process of a case crashed: the signal, and the innermost function."""
    crash = attempt.crash
    return (crash.signal, *crash.functions[:1]) if crash else ()


class _Shown:
    """What the verdicts of cases show, so that it is no finding of its own."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = cases
        findings = [case for case in cases if case.worst in NOT_KEPT]
        failed = [case.decisive for case in findings if case.decisive]
        blocked = [c.decisive for c in cases if c.worst is Verdict.BLOCKED and c.decisive]
        # Clauses that a case of their own found broken.
        self._broken = {id_ for case in findings for id_ in (case.id, case.id.rpartition("/")[0])}
        checked = (each.checked_deviation for each in failed if each.deviation)
        ended = (a.deviation for a in blocked if a.deviation and a.deviation.call == a.blocked)
        behind = (
            a.refusals_deviation or a.events_deviation for a in failed if a.verdict is Verdict.FAIL
        )
        self._told = {deviation.told for deviation in (*checked, *ended, *behind) if deviation}
        culprits = (each.culprits_deviation for each in failed if each.deviation)
        # The pages whose call leaves something in use, by a case of them.
        self._keeping = {a.page_call for a in failed if _sees_use(a)}
        # The wrong states that cases saw, by the page: their call has left an object in them.
        self._left = {(a.page_call, state) for a in failed for state in _states_of(a)}
        # A wrong answer that names no value has one reason, whichever of its values a check is of.
        self._whole = {
            (each.clause, each.call) for each in culprits if each and not each.names_value
        }
        # The calls that do not work, by a control, and those that do nothing.
        in_vain = {
            each.blocked for case in cases for each in case.ordered if each.blocked and each.in_vain
        }
        self._in_vain = idle_calls(cases) | in_vain
        self._failed_pages = {
            case.clause.page
            for case in findings
            if case.decisive and case.decisive.verdict is Verdict.FAIL
        }
        # The calls that cases ended in without an answer, or were blocked by.
        self._unanswered = {*(each.pending for each in failed), *blockers(cases)}
        # The calls that cases crashed in, and where.
        self._crashes = {
            (a.pending, *_place(a)) for a in failed if a.crash and not a.crash.teardown
        }
        self._refused = frozenset(self._refusals())

    def _refusals(self) -> Iterator[tuple[str, str]]:
        """What calls returned instead of DAT_SUCCESS in cases that ended by that."""
        for case in self._cases:
            attempt = case.decisive
            if attempt is None:
                continue
            check, call = attempt.failed_check, attempt.culprit
            if case.worst is Verdict.BLOCKED:
                yield attempt.blocked, attempt.refusal.split(",")[0]
            elif case.worst is Verdict.FAIL and check and call and "DAT_SUCCESS" in check.expected:
                yield call.name, check.seen.split(",")[0]

    def tells(self, trouble: Trouble) -> bool:
        """Whether a finding is of the same clause, or tells the same of the call."""
        return trouble.clause in self._broken or trouble.told in self._told

    def left_by(self, attempt: Attempt) -> Iterator[Trouble]:
        """What broke beside the clause of an attempt, and no case shows."""
        for trouble in self._troubles(attempt):
            whole = not trouble.names_value and (trouble.clause, trouble.call) in self._whole
            refused = trouble.what == "refused" and (trouble.call, trouble.saw) in self._refused
            unasked = trouble.what == UNASKED and self._shows_unasked(trouble)
            left = self._shows_state(trouble, attempt) or (
                trouble.what == "refused"
                and trouble.saw.startswith(_IN_USE)
                and (
                    attempt.page_call in self._keeping
                    or any(self._shows_state(other, attempt) for other in attempt.beside)
                )
            )
            crash = trouble.what == "crash" and (trouble.call, *_place(attempt)) in self._crashes
            if not (self.tells(trouble) or whole or refused or unasked or left or crash):
                yield trouble

    def _troubles(self, attempt: Attempt) -> Iterator[Trouble]:
        """What broke beside the clause of an attempt, without what follows from something else. An
        object that was not freed keeps its parents, and a call that does not work may leave one.
        """
        if not attempt.teardown and not attempt.beside:
            return
        teardown = attempt.teardown
        if attempt.verdict in NOT_KEPT and attempt.waiting:
            # A free has no end while the thread waits that the case found asleep.
            teardown = tuple(trouble for trouble in teardown if trouble.what != "timeout")
        refused = [trouble for trouble in teardown if trouble.refuses]
        calls = attempt.calls if self._in_vain else ()
        in_vain = any(call.name in self._in_vain and call.ret == "DAT_SUCCESS" for call in calls)
        # Of refusals in teardown the first one is a finding, unless a call before it is to blame.
        own = {trouble.key for trouble in refused[:1] if not in_vain}
        told = {trouble.by for trouble in refused}
        yield from (t for t in teardown if not t.refuses or t.key in own)
        yield from (t for t in attempt.beside if not t.refuses or not (in_vain or t.by in told))

    def _shows_state(self, trouble: Trouble, attempt: Attempt) -> bool:
        """Whether a call tells a wrong state that another case saw, behind the same call."""
        told = _STATE.match(trouble.saw)
        pages = {page for page, state in self._left if told and state == told[1]}
        return bool(pages) and any(
            call.name in pages and call.ret == "DAT_SUCCESS" for call in attempt.calls
        )

    def _shows_unasked(self, trouble: Trouble) -> bool:
        """Whether a case shows that the call gave the probe no answer. One that returned fails
        cases of its page; one that did not return, as a crash, fails none, but they end in it.
        """
        returned = trouble.saw.startswith(trouble.call)
        return trouble.call in self._unanswered or (returned and trouble.call in self._failed_pages)
