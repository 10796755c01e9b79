# SPDX-License-Identifier: BSD-2-Clause
"""The kernel: rules, how they are registered, and how one call is held to them.

Of a call three kinds of rules are asked:

refuses(call)   a condition under which the call must, or may, return something else than success
tells(call)     what a successful call must have told
after(call)     what the state is afterwards

A refusal rule returns None (the condition does not hold), a Refusal, or OPEN (a reason why the call
cannot be judged). If several conditions hold, every return that fits one of them passes (GEN-5). If
none holds, the call must succeed.

A rule of what a call tells returns None (not asked), True (as it must be) or a sentence that says
what is wrong.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from oracle.state import NULL, Obj, Side
from oracle.trace import OBSERVERS, Call
from oracle.verdict import Deviation, Judgement

SUCCESS = "DAT_SUCCESS"
INVALID_HANDLE = "DAT_INVALID_HANDLE"
INVALID_PARAMETER = "DAT_INVALID_PARAMETER"
INVALID_STATE = "DAT_INVALID_STATE"
INSUFFICIENT = "DAT_INSUFFICIENT_RESOURCES"
MODEL = "DAT_MODEL_NOT_SUPPORTED"
NOT_IMPLEMENTED = "DAT_NOT_IMPLEMENTED"
INTERNAL = "DAT_INTERNAL_ERROR"

ANY_ERROR = frozenset(("any error",))


@dataclass(frozen=True, slots=True)
class Refusal:
    """Returns that a condition allows; `must`: success is not among what passes. `cites`: what is
    none of them breaks the rule's clause, and not the call's. `begun`: they are no errors, but how
    a call ends that was begun, so they do not pass if another condition forbids it.
    """

    returns: frozenset[str]
    must: bool = True
    cites: bool = False
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """The call cannot be judged, and why."""

    why: str


def refuse(*returns: str) -> Refusal:
    """The call must return one of these."""
    return Refusal(frozenset(returns))


def may(*returns: str) -> Refusal:
    """The call may return one of these, or succeed."""
    return Refusal(frozenset(returns), must=False)


def ends(*returns: str) -> Refusal:
    """The call, if nothing forbids it, may end with one of these."""
    return Refusal(frozenset(returns), must=False, begun=True)


def choose() -> Refusal:
    """The call may return any error but DAT_INTERNAL_ERROR, or succeed: the page demands neither
    success nor a refusal, and names no return (GEN-13).
    """
    return Refusal(ANY_ERROR, must=False, cites=True)


class Breach(str):
    """Why a call told something wrong, and the clause that it breaks, if its rule cites a family or
    another page's clause says it.
    """

    def __new__(cls, clause: str, why: str) -> Self:
        """Text, with a clause beside it."""
        breach = super().__new__(cls, why)
        breach.clause = clause
        return breach

    clause: str


Refuses = Callable[[Call, Any, Side], Refusal | Open | None]
Tells = Callable[[Call, Any, Side], bool | str | None]
After = Callable[[Call, Any, Side], None]
Before = Callable[[Call, Side], None]


@dataclass(slots=True)
class Rule:
    """A rule, its clauses and the rulings that it follows."""

    name: str
    kind: str
    function: Callable[[Call, Any, Side], Any]
    clauses: Sequence[str]
    rulings: Sequence[str]

    def of(self, page: str) -> "Held":
        """The rule for a call of this page: it cites that page's clauses, where it has some.

        A rule about what another call has caused has none; it cites that call's clauses.
        """
        own = tuple(clause for clause in self.clauses if clause.startswith(f"{page}/"))
        return Held(self.function, own or tuple(self.clauses))


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A rule as one call is held to it; a deviation is cited as one of the first clause."""

    function: Callable[[Call, Any, Side], Any]
    clauses: Sequence[str]


# A page whose name is not that of its call.
PAGES = {"dat_ia_openv": "ia_open"}


@dataclass(frozen=True, slots=True)
class Handle:
    """An argument that is a handle."""

    argument: str
    kind: str
    null: bool = False  # DAT_HANDLE_NULL is legal
    clause: str = ""


class Plan:
    """All that is asked of one call."""

    __slots__ = (
        "after",
        "after_any",
        "after_elsewhere",
        "always",
        "asleep",
        "call",
        "elsewhere",
        "gone",
        "handle_rules",
        "handles",
        "legal",
        "legal_of",
        "listed",
        "page",
        "refuses",
        "row",
        "small",
        "tells",
    )

    def __init__(self, call: str) -> None:
        self.call = call
        self.page = PAGES.get(call, call.removeprefix("dat_"))
        self.handles: Sequence[Handle] = ()
        self.handle_rules: dict[str, Held] = {}  # by argument
        self.legal = Held(_nothing, ("",))
        self.listed: frozenset[str] = frozenset()
        self.gone: frozenset[str] = frozenset()
        self.small: Callable[[Call, Any, Side], bool] | None = None
        self.row: Callable[[Call], str] = lambda _call: ""
        self.legal_of: Callable[[Call], str] = lambda _call: ""
        self.refuses: list[Held] = []
        self.tells: list[Held] = []
        self.always: list[Held] = []
        self.asleep: list[Held] = []  # also while other threads make calls, or it does not return
        self.elsewhere: list[Held] = []  # of calls of a program of its own
        self.after_elsewhere: list[Before] = []
        self.after: list[After] = []
        self.after_any: list[After] = []


PLANS: dict[str, Plan] = {}
RULES: list[Rule] = []


def plan_of(call: str) -> Plan:
    """The plan of a call, made where there is none."""
    plan = PLANS.get(call)
    if plan is None:
        plan = PLANS[call] = Plan(call)
    return plan


def describe(
    call: str,
    *,
    legal: str,
    returns: str = "",
    handles: Sequence[Handle] = (),
    small: Callable[[Call, Any, Side], bool] | None = None,
    gone_passes: str = "",
    row: Callable[[Call], str] | None = None,
    legal_of: Callable[[Call], str] | None = None,
) -> None:
    """Declare a call: its legal clause, the errors that its page lists, its handle arguments.

    `legal_of` tells of another legal clause for some calls; empty for none.
    `row` tells of which row of the legal clause a call is; empty for none. `small` says whether a
    lack of resources cannot excuse a refusal, because what the call asks for is far below what the
    IA declares. `gone_passes` are returns that pass for a destroyed handle besides errors.
    """
    plan = plan_of(call)
    rule = Rule(f"{call}: legal", "legal", _nothing, [legal], [])
    RULES.append(rule)
    plan.legal = rule.of(plan.page)
    plan.listed = frozenset(f"DAT_{name}" for name in returns.split())
    plan.handles = handles
    plan.small = small
    plan.row = row or plan.row
    plan.legal_of = legal_of or plan.legal_of
    plan.gone = frozenset(gone_passes.split())
    for handle in handles:
        if handle.clause:
            rule = Rule(
                f"{call}: {handle.argument}", "handle", _nothing, [handle.clause], ["GEN-1"]
            )
            RULES.append(rule)
            plan.handle_rules[handle.argument] = rule.of(plan.page)


def _nothing(_call: Call, _objects: Any, _side: Side) -> None:
    return None


def refuses(
    *calls: str, clauses: Sequence[str], rulings: Sequence[str] = ()
) -> Callable[[Refuses], Refuses]:
    """Register a condition under which calls are refused."""

    def register(function: Refuses) -> Refuses:
        rule = Rule(function.__name__, "refuses", function, clauses, rulings)
        RULES.append(rule)
        for call in calls:
            plan = plan_of(call)
            plan.refuses.append(rule.of(plan.page))
        return function

    return register


def tells(
    *calls: str,
    clauses: Sequence[str],
    rulings: Sequence[str] = (),
    always: bool = False,
    asleep: bool = False,
) -> Callable[[Tells], Tells]:
    """Register what successful calls must have told; `always`: unsuccessful ones, too.

    `asleep`: besides, calls that met calls of other threads, and such that did not return; the
    rule looks at this itself.
    """

    def register(function: Tells) -> Tells:
        rule = Rule(function.__name__, "tells", function, clauses, rulings)
        RULES.append(rule)
        for call in calls:
            plan = plan_of(call)
            held = rule.of(plan.page)
            (plan.always if always or asleep else plan.tells).append(held)
            if asleep:
                plan.asleep.append(held)
        return function

    return register


def after(*calls: str) -> Callable[[After], After]:
    """Register what successful calls change."""

    def register(function: After) -> After:
        for call in calls:
            plan_of(call).after.append(function)
        return function

    return register


def after_any(*calls: str) -> Callable[[After], After]:
    """Register what calls change whatever they return; the function looks at that itself."""

    def register(function: After) -> After:
        for call in calls:
            plan_of(call).after_any.append(function)
        return function

    return register


def elsewhere(
    *calls: str, clauses: Sequence[str], rulings: Sequence[str] = ()
) -> Callable[[Tells], Tells]:
    """Register what calls of a program of its own must return and tell."""

    def register(function: Tells) -> Tells:
        rule = Rule(function.__name__, "tells", function, clauses, rulings)
        RULES.append(rule)
        for call in calls:
            plan = plan_of(call)
            plan.elsewhere.append(rule.of(plan.page))
        return function

    return register


def after_elsewhere(*calls: str) -> Callable[[Before], Before]:
    """Register what calls of a program of its own change; the function looks at returns itself."""

    def register(function: Before) -> Before:
        for call in calls:
            plan_of(call).after_elsewhere.append(function)
        return function

    return register


WATCHES: list[Before] = []


def before(function: Before) -> Before:
    """Register what is looked at before each call is judged."""
    WATCHES.append(function)
    return function


@cache
def _needs_object(function: After) -> bool:
    """Whether the second parameter, which is the object of the call, has a type."""
    kinds = [*function.__annotations__.values()]
    return kinds[1] is not Any


class Judge:
    """Holds the calls of one process to the rules."""

    def __init__(self, side: Side, judgement: Judgement) -> None:
        self.side = side
        self.judgement = judgement
        self.asked: list[Held] = []  # the rules that had something to say, once for each call

    def deviate(self, call: Call, rule: Held, why: str) -> None:
        """Note that a call lies outside of what is allowed by a rule."""
        clause = why.clause if isinstance(why, Breach) else rule.clauses[0]
        self.judgement.deviations.append(Deviation(call.who, call.n, call.name, clause, str(why)))

    def call(self, call: Call) -> None:
        """Judge one call, and take the state on."""
        plan = PLANS.get(call.name)
        if call.apart.startswith("exec"):
            self.of_program(plan, call)
            return
        if plan is None:
            self.judgement.unjudged[f"no rules for {call.name}"] += 1
            return
        side = self.side
        for watch in WATCHES:
            watch(call, side)
        reason = racing(call)
        bad, unknown = self.resolve(plan, call)
        if plan.asleep and not bad and not unknown and (reason == RACE or not call.finished):
            self.told(call, plan.asleep)
        if not call.finished:
            self.unfinished(plan, call, bad or unknown or reason)
            return
        if not reason:
            reason = unknown or null_pointer(call)
        soft = reason == RACE and plan.call in OBSERVERS and observes_alone(call)
        if not reason:
            reason = self.returns(plan, call, bad)
        if not bad and not unknown and (not reason or soft):
            if plan.always and not soft:
                self.told(call, plan.always)
            if call.ok:
                self.told(call, plan.tells)
        if call.apart:
            # What it does to a copy of the process, it does not to the process, but the device
            # may be one.
            if call.ok and "_create" in call.name:
                for obj in call.objects.values():
                    lose(obj, "a process apart has made an object of it")
            self.judgement.judged += not reason
            self.judgement.unjudged.update([reason] if reason else [])
            return
        # An object of another IA may be taken (GEN-12), and then the call has its effect.
        if call.ok and all(how == "other_ia" for _handle, how in bad):
            for function in plan.after:
                self.change(call, function)
        if call.ok and reason == NULL_POINTER and not call.typed:
            # What it has made, it may have made in a process apart.
            for text in call.out.values():
                lose(side.objects.get(text), reason)
        for function in plan.after_any:
            function(call, call.o, side)
        if reason:
            self.judgement.unjudged[reason] += 1
        else:
            self.judgement.judged += 1

    def of_program(self, plan: Plan | None, call: Call) -> None:
        """Judge a call of a program of its own, of which the registry is known and no object."""
        before = len(self.asked)
        if plan is not None:
            self.told(call, plan.elsewhere)
            for function in plan.after_elsewhere:
                function(call, self.side)
        if len(self.asked) > before:
            self.judgement.judged += 1
        else:
            self.judgement.unjudged["a call of a program of its own"] += 1

    def change(self, call: Call, function: After) -> None:
        """Change the state. A function whose object has a type needs one; without it, what the call
        does to its other objects is not known.
        """
        if call.o is None and _needs_object(function):
            for obj in call.objects.values():
                lose(obj, "a call on it had a handle of no known object")
            return
        function(call, call.o, self.side)

    def told(self, call: Call, rules: Sequence[Held]) -> None:
        """Hold what a call told to rules, up to the first that it breaks."""
        for rule in rules:
            told = rule.function(call, call.o, self.side)
            if told is None:
                continue
            self.asked.append(rule)
            if told is not True:
                self.deviate(call, rule, told)
                return

    def resolve(self, plan: Plan, call: Call) -> tuple[list[tuple[Handle, str]], str]:
        """Find the objects of the call's handles. Returns bad ones, and why one is not known."""
        bad: list[tuple[Handle, str]] = []
        unknown = ""
        objects = call.objects
        primary: Any = None
        for handle in plan.handles:
            text = call.arg(handle.argument)
            obj: Any = None
            if text is None:
                unknown = f"{handle.argument} is not recorded"
            elif text == NULL or text == 0:
                if not handle.null:
                    bad.append((handle, "null"))
            else:
                obj = self.side.objects.get(text) if isinstance(text, str) else None
                if obj is None:
                    unknown = "a handle of no known object"
                elif obj.kind != handle.kind:
                    bad.append((handle, "other_kind"))
                    obj = None
                elif obj.lost:
                    unknown = obj.lost
                elif not obj.alive:
                    bad.append((handle, "destroyed"))
            objects[handle.argument] = obj
            if primary is None:
                primary = obj
        call.o = primary
        if not bad and not unknown:
            bad = self.of_other_ia(plan, call)
        return bad, unknown

    def of_other_ia(self, plan: Plan, call: Call) -> list[tuple[Handle, str]]:
        """Handles of another IA than that of the first."""
        ia: Any = None
        for handle in plan.handles:
            obj = call.objects[handle.argument]
            if obj is None or obj.ia is None:
                continue
            if ia is None:
                ia = obj.ia
            elif obj.ia is not ia:
                return [(handle, "other_ia")]
        return []

    def returns(self, plan: Plan, call: Call, bad: list[tuple[Handle, str]]) -> str:
        """Judge the return. Returns why it cannot be judged, or an empty text."""
        ret = call.ret
        if bad:
            return self.bad_handles(plan, call, bad)
        must: Held | None = None
        first: frozenset[str] = frozenset()
        chosen: Held | None = None
        allowed: set[str] = set()
        begun: set[str] = set()
        reason = ""
        for rule in plan.refuses:
            answer = rule.function(call, call.o, self.side)
            if answer is None:
                continue
            if type(answer) is Open:
                reason = answer.why
                continue
            assert type(answer) is Refusal
            self.asked.append(rule)
            (begun if answer.begun else allowed).update(answer.returns)
            if answer.must and must is None:
                must, first = rule, answer.returns
            if answer.cites:
                chosen = rule
        if must is None:
            allowed |= begun
        if ret == SUCCESS:
            if must is not None:
                wanted = " or ".join(sorted(first))
                self.deviate(call, must, f"succeeds; it must return {wanted}")
            elif not reason:
                self.asked.append(plan.legal)
            return reason if must is None else ""
        if ret in allowed or (allowed & ANY_ERROR and ret != INTERNAL):
            return ""
        if must is not None:
            wanted = " or ".join(sorted(first))
            if reason and ret in plan.listed:
                return reason
            self.deviate(call, must, f"returns {ret}; it must return {wanted}")
            return ""
        if reason and ret != INTERNAL:
            return reason
        if ret == INSUFFICIENT and INSUFFICIENT in plan.listed:
            if plan.small is None or not plan.small(call, call.o, self.side):
                return "a lack of resources may be real"
            self.deviate(call, plan.legal, f"returns {ret} far below the declared limits")
            return ""
        if chosen is not None:
            self.deviate(call, chosen, f"returns {ret}, which is no refusal (GEN-13)")
            return ""
        self.asked.append(plan.legal)
        row = plan.row(call)
        clause = f"{plan.legal.clauses[0]}/{row}" if row else plan.legal.clauses[0]
        clause = plan.legal_of(call) or clause
        why = Breach(clause, f"returns {ret}, although nothing forbids the call")
        self.deviate(call, plan.legal, why)
        return ""

    def bad_handles(self, plan: Plan, call: Call, bad: list[tuple[Handle, str]]) -> str:
        """Judge a call with handles that are none (GEN-1, GEN-5, GEN-12)."""
        handle, how = bad[0]
        ret = call.ret
        if call.thread != 1 and not call.typed:
            return "it may be another process that calls"
        rule = plan.handle_rules.get(handle.argument, plan.legal)
        if rule is not plan.legal:
            self.asked.append(rule)
        if len(bad) > 1:
            if ret == SUCCESS:
                self.deviate(call, rule, f"succeeds, although {handle.argument} is {how}")
            return ""
        if how == "other_ia":
            if ret in (SUCCESS, INVALID_HANDLE, INVALID_PARAMETER):
                return ""
            if ret == INTERNAL:
                self.deviate(call, rule, f"returns {ret} for {handle.argument} of another IA")
                return ""
            return "an object of another IA"
        if how == "destroyed":
            if ret == SUCCESS and handle.kind != "srq" and SUCCESS not in plan.gone:
                self.deviate(call, rule, f"succeeds with {handle.argument} of a destroyed object")
            elif ret == INTERNAL:
                self.deviate(call, rule, f"returns {ret} for {handle.argument} that is destroyed")
            return ""
        if ret == INVALID_HANDLE:
            return ""
        absent = ret == NOT_IMPLEMENTED and MODEL in plan.listed  # GEN-2
        if ret in (SUCCESS, INTERNAL) or (ret not in plan.listed and not absent):
            self.deviate(call, rule, f"returns {ret}, although {handle.argument} is {how}")
            return ""
        return "several errors at once"

    def unfinished(self, plan: Plan, call: Call, excuse: Any) -> None:
        """A call that did not return."""
        for handle in plan.handles:
            obj = call.objects.get(handle.argument)
            if obj is not None:
                obj.lost = "a call on it did not return"
        verdict, pending = self.side.trace.verdict, self.side.trace.pending
        if verdict == "TIMEOUT" and call.name != pending:
            self.judgement.unjudged["it did not return"] += 1
            return
        if excuse or plan.call in WAITS or verdict not in ("TIMEOUT", "CRASH", "CONTRADICTED"):
            self.judgement.unjudged["it did not return"] += 1
            return
        if call.who != "case" or any(
            isinstance(value, str) and value in ("NULL", "0x0") for value in call.args.values()
        ):
            self.judgement.unjudged["it did not return"] += 1
            return
        self.deviate(call, plan.legal, "does not return")


WAITS = frozenset(("dat_evd_wait", "dat_cno_wait"))
RACE = "calls of several threads at once"


# Arguments that may be null, where the call says so by another one.
NULLABLE = {
    "private_data": "private_data_size",
    "local_iov": "num_segments",
    "local_segments": "num_segments",
    "nbufs_allocated": "",
    "bufs_alloc_span": "",
    "ia_attr": "ia_attr_mask",
    "provider_attr": "provider_attr_mask",
}


NULL_POINTER = "a null pointer"


def null_pointer(call: Call) -> str:
    """Why a call with a null pointer is not judged (GEN-4)."""
    for name, text in call.args.items():
        if text == "NULL":
            by = NULLABLE.get(name)
            if by is None or (by and not _is_empty(call.arg(by))):
                return NULL_POINTER
    return ""


def _is_empty(value: object) -> bool:
    """Whether a count is 0, or a mask has no bit."""
    return value == 0 or (isinstance(value, str) and value.endswith("_FIELD_NONE"))


def racing(call: Call) -> str:
    """Why a call that met others cannot be judged."""
    if not call.overlaps:
        return ""
    if call.name in WAITS:
        return RACE
    mine = {text for text in call.args.values() if isinstance(text, str)}
    mine.discard(NULL)
    for other in call.overlaps:
        if other.name not in WAITS:
            return RACE
        if mine & {other.args.get("evd_handle"), other.args.get("cno_handle")}:
            return RACE
        if call.name.endswith(("_free", "_close", "_modify", "_cno", "_agent")):
            return RACE
    return ""


ENDS = ("_free", "_close", "_reset", "_disconnect", "_unwaitable", "_modify", "_resize")


def observes_alone(call: Call) -> bool:
    """Whether what a wait gave can be judged, though other threads made calls meanwhile."""
    for other in call.overlaps:
        if other.name in OBSERVERS:
            if other.args.get("evd_handle") == call.args.get("evd_handle"):
                return False
        elif other.name.endswith(ENDS):
            return False
    return True


def lose(obj: Obj | None, why: str) -> None:
    """From now on the object is not judged."""
    if obj is not None and not obj.lost:
        obj.lost = why
