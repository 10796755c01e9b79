# SPDX-License-Identifier: BSD-2-Clause
"""A verdict, and what it is about: the check that decided it, and the call that broke."""

import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from results.model.evidence import Call, Check, Crash, Evidence, Stack, Trouble
from results.runlog.similarity import Kind


class Verdict(enum.StrEnum):
    """A verdict, in the order from best to worst that docs/results.md speaks of."""

    PASS = "PASS"
    NOTE = "NOTE"
    UNSUPPORTED = "UNSUPPORTED"
    RESOURCE = "RESOURCE"
    NOT_RUN = "NOT-RUN"
    BLOCKED = "BLOCKED"
    ERROR = "ERROR"
    FAIL = "FAIL"
    TIMEOUT = "TIMEOUT"
    CRASH = "CRASH"
    CONTRADICTED = "CONTRADICTED"


KEPT = frozenset({Verdict.PASS, Verdict.NOTE})
NOT_KEPT = frozenset({Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT, Verdict.CONTRADICTED})
UNKNOWN = frozenset({Verdict.BLOCKED, Verdict.ERROR, Verdict.RESOURCE, Verdict.NOT_RUN})
_ORDER = list(Verdict)


def worst(verdicts: Iterable[Verdict]) -> Verdict | None:
    """The worst of `verdicts`; None when there is none."""
    return max(verdicts, key=_ORDER.index, default=None)


# What one call alone tells: whichever page looks at it.
_TOLD_BY = {"more": "dat_evd_wait"}
_WORD = re.compile(r"\w+")
# What a check says of an event with another object than its own.
_OF_ANOTHER = " about something else"
# Calls that change nothing.
_LOOKING = ("_query", "_get_status")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One verdict record: `number` is 1, or 2 when the case was run again alone. `evidence` reads
    what it did, which is not kept for longer than it is shown.
    """

    case: str
    hosts: int
    number: int
    verdict: Verdict
    reason: str
    host: str
    started: str
    ms: float
    notes: tuple[str, ...]
    leaks: tuple[str, ...]
    pending: str
    evidence: Callable[[], Evidence]
    # The check that decided the verdict, if one did.
    failed_check: Check | None
    # Whether its processes wrote anything.
    printed: bool
    # Whether a signal ended one of them.
    crashed: bool
    # What its clause demands of the page's own call, as results.analysis.tables has it.
    demand: str | None = None
    peer: str = ""
    # Of BLOCKED: the call whose failure kept the case from its act; empty if no call is known.
    blocked: str = ""
    # What that call returned, if it did not succeed, or what a control saw of it.
    refusal: str = ""
    # The clause that promises that call.
    promise: str = ""
    teardown: tuple[Trouble, ...] = ()
    # What the executable specification says of its calls, in words; empty in older runs.
    model: str = ""
    # The number of the case's first call that deviates, 0 if none does.
    deviating: int = 0
    # The clause that the first call which deviates breaks.
    deviates_from: str = ""
    # That call, in words; None where none deviates.
    deviation: Trouble | None = None
    # The call that breaks a clause of another case, if this one was kept.
    beside: tuple[Trouble, ...] = ()
    # The ways in which it was found broken, each shared with what ended alike.
    kinds: tuple[Kind, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """What it checked."""
        return self.evidence().checks

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that it made, and those of its peer."""
        return self.evidence().calls

    @property
    def records(self) -> tuple[str, ...]:
        """What it recorded for a reader."""
        return self.evidence().records

    @property
    def output(self) -> str:
        """What its processes wrote."""
        return self.evidence().output if self.printed else ""

    @property
    def crash(self) -> Crash | None:
        """How its process ended, where a signal ended it."""
        return self.evidence().crash if self.crashed else None

    @property
    def stacks(self) -> tuple[Stack, ...]:
        """Where its threads were, where it had no end."""
        return self.evidence().stacks

    @property
    def goes_on(self) -> bool:
        """Whether it had no end, though its calls return: the last one had only begun."""
        if self.verdict is not Verdict.TIMEOUT or self.pending:
            return False
        return any(c.unfinished and c.who == "case" and not c.teardown for c in self.calls)

    @property
    def waiting(self) -> tuple[Call, ...]:
        """The waits of its threads that did not come back, but for a call that had no end."""
        return tuple(
            call
            for call in self.calls
            if call.unfinished and call.who == "case" and not call.teardown
            if call.name.endswith("_wait") and call.name != self.pending
        )

    @property
    def hung(self) -> Stack | None:
        """The stack of the thread that had no end: the one in the call that did not return."""
        if self.verdict is not Verdict.TIMEOUT and not self.blocked:
            return None
        if self.goes_on:
            return None
        own = [stack for stack in self.stacks if stack.backtrace and not stack.teardown]
        stuck = [stack for stack in own if self.pending and stack.call == self.pending]
        return next(iter((*stuck, *own)), None)

    @property
    def place(self) -> tuple[str, ...]:
        """The hosts that it ran on, the subject's first."""
        return (self.host, self.peer) if self.peer else (self.host,)

    @property
    def deviating_call(self) -> Call | None:
        """The case's first call that deviates from the executable specification, if one does."""
        calls = (call for call in self.calls if call.who == "case" and call.n == self.deviating)
        return next(calls, None)

    @property
    def checked_deviation(self) -> Trouble | None:
        """The deviation that the check which failed looked at: the check is of what the call
        returned, or of what a granted call has changed, or followed at once and is about the value.
        Any other may not concern the case.
        """
        said, check = self.deviation, self.failed_check
        if self.verdict is not Verdict.FAIL or said is None or check is None:
            return None
        call = self.culprit
        if call and call.n == self.deviating and call.ret == check.seen.split(",")[0]:
            return said
        # A page's case looks at what its last call has done, which is granted as the first one was.
        behind = call is not None and call.n >= self.deviating and call.name == said.call
        if call and behind and said.grants and call.ret == "DAT_SUCCESS":
            return said
        about = {*said.subject.split()}
        if not about or not about <= {*_WORD.findall(f"{self.case} {check.text} {check.seen}")}:
            return None
        before = [c for c in self.calls if c.who == "case" and c.n <= check.after_call]
        last = max(before, key=lambda c: c.n, default=None)
        # The same call may have told the same value wrongly again.
        again = last is not None and last.name == said.call and last.ret == "DAT_SUCCESS"
        return said if last and (again or last.n == self.deviating) else None

    @property
    def refusals_deviation(self) -> Trouble | None:
        """The deviation of a query, if the last call on its object was the page's, and was refused:
        the refusal has changed the object.
        """
        call = self.deviating_call
        if call is None or not call.name.endswith(_LOOKING) or not call.args:
            return None
        before = [
            other
            for other in self.calls
            if other.who == "case" and other.n < call.n and other.args[:1] == call.args[:1]
            if not other.name.endswith(_LOOKING)
        ]
        last = before[-1] if before else None
        refused = last is not None and last.name == self.page_call and last.ret != "DAT_SUCCESS"
        return self.deviation if refused else None

    @property
    def events_deviation(self) -> Trouble | None:
        """The deviation of the wait right before a check of an event that has another object."""
        check, call = self.failed_check, self.deviating_call
        if check is None or call is None or not check.seen.endswith(_OF_ANOTHER):
            return None
        own = [c.n for c in self.calls if c.who == "case" and c.n <= check.after_call]
        return self.deviation if own and call.n == max(own) else None

    @property
    def culprits_deviation(self) -> Trouble | None:
        """The deviation of the very call that the check which failed is about."""
        call = self.culprit if self.verdict is Verdict.FAIL and self.failed_check else None
        return self.deviation if call and call.n == self.deviating else None

    @property
    def page_call(self) -> str:
        """The call that the page of its case is about."""
        return f"dat_{self.case.partition('/')[0]}"

    @property
    def culprit(self) -> Call | None:
        """The call that the verdict is about: the one that did not return, or was found wrong.

        It is none of teardown's, whose troubles are findings of their own.
        """
        check = self.failed_check
        endless = self.verdict in (Verdict.CRASH, Verdict.TIMEOUT)
        if check is None and not endless:
            return self.deviating_call if self.verdict is Verdict.FAIL else None
        calls = [call for call in self.calls if not call.teardown]
        if check is None or endless:
            if self.goes_on:
                return None
            stuck = [call for call in calls if call.unfinished and call.who == "case"]
            stuck = stuck or [call for call in calls if call.unfinished]
            if stuck:
                return stuck[-1]
            return next((c for c in reversed(calls) if c.name == self.pending), None)
        before = [c for c in calls if c.n <= check.after_call and c.who == "case"]
        named = [call for call in before if call.name in check.text]
        if check.field in _TOLD_BY:
            named = [call for call in before if call.name == _TOLD_BY[check.field]] or named
        # A guard tells that something wrote where it must not, but not what did.
        if not named and self.verdict is Verdict.FAIL and check.role != "guard":
            # What a check without a call's name looks at is what the page's own call has done.
            own = f"dat_{self.case.partition('/')[0]}"
            named = [call for call in before if call.name == own] or before
        return named[-1] if named else None

    @property
    def troubled(self) -> tuple[Call, ...]:
        """The calls in which its teardown broke."""
        found = []
        for trouble in self.teardown:
            calls = [c for c in self.calls if c.teardown and c.who == trouble.who]
            if trouble.what == "refused":
                found += [c for c in calls if c.name == trouble.call and c.ret == trouble.saw][:1]
            else:
                found += [c for c in calls if c.unfinished]
        return tuple(found)

    @property
    def expected(self) -> tuple[str, ...]:
        """What the clause admits here, one alternative each, in words where no check says it.
        Empty for a condition: the clause and the sentence of what was seen tell it.
        """
        if self.verdict is Verdict.CRASH:
            if not self.pending and self.crash and self.crash.in_own_thread:
                return ("no thread of the provider crashes",)
            return (f"{self.pending or 'every call'} returns, whatever it returns",)
        if self.verdict is Verdict.TIMEOUT:
            if self.pending:
                return (f"{self.pending} returns in time, whatever it returns",)
            return ("the case ends in time",)
        if self.verdict is Verdict.CONTRADICTED:
            return ("a verdict that agrees with its evidence",)
        check = self.failed_check
        return check.expected if check and not check.is_condition else ()

    @property
    def seen(self) -> str:
        """What happened instead, in one line."""
        if self.verdict is Verdict.CRASH and self.crash and self.crash.signal:
            inside = f" inside {self.pending}" if self.pending else ""
            return f"{self.crash.signal}{inside}"
        if self.verdict is Verdict.CONTRADICTED:
            return self.reason
        if self.verdict in (Verdict.CRASH, Verdict.TIMEOUT) and self.pending:
            return f"{self.reason or 'no verdict'} (inside {self.pending})"
        check = self.failed_check
        return (check.seen if check else "") or self.reason or "no reason was recorded"

    @property
    def after(self) -> str:
        """The call under test, and what it returned, where the check that failed does not name it:
        " (after dat_srq_resize = DAT_SUCCESS)".
        """
        call, check = self.culprit, self.failed_check
        if call is None or check is None or call.name in check.text:
            return ""
        return f" (after {call.name} = {'no return' if call.unfinished else call.ret})"

    @property
    def summary(self) -> str:
        """Expected and seen in one line, for lists and messages."""
        check = self.failed_check
        if self.verdict is Verdict.FAIL and check and check.is_condition:
            return f"{self.seen}{self.after}"
        if self.verdict is Verdict.FAIL and check and check.expected:
            expected = " or ".join(check.expected)
            return f"{check.title}: expected {expected}, saw {self.seen}{self.after}"
        if self.verdict is Verdict.FAIL and check:
            return f"{check.title}: {self.seen}{self.after}"
        if self.blocked:
            return f"not judged, because {self.reason or f'{self.blocked} failed'}"
        return self.seen if self.verdict in NOT_KEPT else self.reason

    @property
    def in_vain(self) -> bool:
        """Whether a control found that the call that blocked it does not work."""
        return bool(self.blocked) and self.refusal.startswith(f"{self.blocked} does not work")

    @property
    def ended(self) -> str:
        """The verdict, and that teardown broke where it did."""
        return f"{self.verdict}, teardown failed" if self.teardown else str(self.verdict)

    @property
    def outcome(self) -> object:
        """What a second attempt must have in common with it, or the case is unstable."""
        return self.verdict, tuple(trouble.key for trouble in (*self.teardown, *self.beside))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Why a NOTE is one: its notes and leaks, or its reason when it has neither."""
        return self.notes + self.leaks or ((self.reason,) if self.reason else ())
