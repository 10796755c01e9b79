# SPDX-License-Identifier: BSD-2-Clause
"""Which broken call a case was not kept for: its own, or one that it only uses.

A case uses calls of other pages. Each such page names the clause whose case fails a provider that
refuses every call of the page, or whose calls do nothing (`control`, or `legal`). If a case was not
kept, these cases are run as controls, for the calls that it made. If a control is not kept either,
the case says nothing about its own clause: it is BLOCKED by that call. What it saw stays in its
record.

Calls that need each other are red in each other's controls. A page may name a clause whose case
does without the others (`apart`): the one call of the circle that is red there broke it. Likewise
where a control came to its end in the very call whose page the case is of.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from results.runlog.records import CONTRADICTED, NOT_KEPT, Record
from runners.campaign.plan.plan import Control, Planned

BLOCKED = "BLOCKED"
RED = NOT_KEPT - {CONTRADICTED}
# Every case opens and closes the IA, and the harness asks it for its attributes: a defect there
# says nothing about what else a case saw.
EVERYWHERE = frozenset({"dat_ia_open", "dat_ia_query", "dat_ia_close"})
# So often is a control not kept before it counts.
TRIES = 2
# How a case of a bad argument writes its last check: the call with legal arguments works.
LEGAL = "(all: legal)"
SUCCESS = "DAT_SUCCESS"
# The check that a thread comes back from its wait.
WAITER = "waiter returns"
# How a record has the handle of no object.
NULL = "DAT_HANDLE_NULL"
# Calls that make an object or a connection, and those that tell of one.
MAKES = ("_create", "_create_any", "_create_with_srq", "_connect")
TELLS = ("_query", "_get_status")

# Runs a control; its record, or None where the hosts were lost.
Run = Callable[[Planned], Record | None]


def _page_of(call: str) -> str:
    """The page of a call: dat_ia_open() is a macro for dat_ia_openv()."""
    return "dat_ia_open" if call == "dat_ia_openv" else call


class Controls:
    """The controls of one testbed and one IA: each is run when first needed, and remembered.

    `registrys` are the clauses that convict the registry only, and not the provider.
    """

    def __init__(self, controls: Mapping[str, Control], registrys: Collection[str] = ()) -> None:
        self._controls = controls
        self._registrys = registrys
        # By case.
        self._known: dict[str, Record] = {}

    def judge(self, record: Record, run: Run) -> Record:
        """The record, BLOCKED by the call that a control finds broken, if one is to blame."""
        if record["verdict"] not in RED | {BLOCKED}:
            return record
        # A clause of the registry says nothing about the provider, whose call its case uses.
        of_registry = record["case"] in self._registrys
        own = "" if of_registry else "dat_" + record["case"].split("/", 1)[0]
        if of_registry and (promise := _broken_in(record)):
            call = _page_of(record["pending"])
            return _blocked(record, call, promise, f"{call} has no end")
        named = _blocker(record)
        if (empty := _empty_handed(record)) and empty != own and empty in self._controls:
            why = f"{empty} returned {SUCCESS}, and no handle"
            return _blocked(record, empty, self._controls[empty][0].case, why)
        circles = _circles(self._broken([*_made(record), own, named], run))
        broke = {call for circle in circles for call in self._who_broke(circle, run)}
        roots = {call for call in broke if call in (own, named) or self._met(record, call)}
        if own in roots and _failed(record).get("text", "").endswith(LEGAL):
            return self._blocked_by(record, own)
        if own not in roots:
            roots = {call for call in roots if not self._is_of(own, call, run)}
        if not roots or own in roots or named in roots:
            return record
        last = [call for call in _made(record) if call in roots]
        call = last[-1] if last else min(roots)
        return self._blocked_by(record, call)

    def _met(self, record: Record, call: str) -> bool:
        """Whether the case met what its control found broken: it made the call, and not all of its
        calls were granted where the control is red for a refusal.
        """
        made = [one for one in record["calls"] if _page_of(one["call"]) == call]
        rets = [one.get("ret") for one in made if not one.get("teardown")]
        if _page_of(record.get("pending", "")) == call:
            return True
        control = self._found(call)
        granted = _failed(control).get("seen", "").startswith(SUCCESS)
        if _stems_from(control) == call and not granted:
            return any(ret != SUCCESS for ret in rets)
        return bool(rets)

    def _is_of(self, own: str, call: str, run: Run) -> bool:
        """Whether the control of the call is red for the case's own call, and the call works where
        it is asked apart from that one: what an own call refuses is its own finding.
        """
        controls = self._controls[call]
        if _stems_from(self._found(call)) != own or len(controls) < 2:
            return False
        apart = self._run(controls[1], run)
        return apart is not None and apart["verdict"] not in RED | {BLOCKED}

    def _blocked_by(self, record: Record, call: str) -> Record:
        control = self._found(call)
        why = f"{call} does not work ({control['case']}: {control['verdict']}, {control['reason']})"
        return _blocked(record, call, control["case"], why)

    def _broken(self, calls: Iterable[str], run: Run) -> dict[str, Record]:
        """The controls that are not kept, by call: of these calls, and of what they use."""
        broken: dict[str, Record] = {}
        left = list(calls)
        while left:
            call = left.pop()
            if call in broken or call not in self._controls or call in EVERYWHERE:
                continue
            control = self._run(self._controls[call][0], run)
            if control is None or (call.endswith(MAKES) and _was_told(control)):
                continue
            if control["verdict"] in RED | {BLOCKED}:
                broken[call] = control
                left += [*_made(control), _stems_from(control)]
        # One that came to no verdict by a call that works says nothing of its own.
        return {call: broken[call] for call in broken if not _is_undecided(broken, call)}

    def _who_broke(self, circle: Collection[str], run: Run) -> Collection[str]:
        """Of calls that need each other, the one that is red without the others; or all of them."""
        if len(circle) == 1:
            return circle
        apart = {
            call: self._run(self._controls[call][1], run)
            for call in sorted(circle)
            if len(self._controls[call]) > 1
        }
        red = [call for call, control in apart.items() if control and control["verdict"] in RED]
        return red if len(red) == 1 else circle

    def _found(self, call: str) -> Record:
        """The control of a broken call that says the most of it: the last that ran and is red."""
        ran = [self._known[one.case] for one in self._controls[call] if one.case in self._known]
        return [control for control in ran if control["verdict"] in RED | {BLOCKED}][-1]

    def _run(self, control: Planned, run: Run) -> Record | None:
        if control.case not in self._known:
            for _ in range(TRIES):
                record = run(control)
                if record is None:
                    return None
                self._known[control.case] = record
                if record["verdict"] not in RED | {BLOCKED}:
                    break
        return self._known[control.case]


def _blocked(record: Record, call: str, clause: str, why: str) -> Record:
    failed = _failed(record)
    nowhere = {"file": "", "line": 0, "text": ""}
    site = {name: failed.get(name, none) for name, none in nowhere.items()}
    return record | {
        "verdict": BLOCKED,
        "reason": f"{why}; the case saw {record['verdict']}: {record['reason']}",
        "blocked": {"call": call, "clause": clause, "ret": why, "site": site},
    }


def _failed(record: Record) -> Mapping[str, Any]:
    """The last check that did not hold, if there is one."""
    return next((check for check in reversed(record["checks"]) if not check["ok"]), {})


def _broken_in(record: Record) -> str:
    """The clause of the call that a case came to its end in, by the executable specification; empty
    if that is the case's own clause, or if the call is not known to be wrong.
    """
    said = record.get("oracle", {})
    clause: str = said.get("clause", "")
    own = record["case"] == clause or record["case"].startswith(f"{clause}/")
    ends = [(call["who"], call["n"]) for call in record["calls"] if call.get("unfinished")]
    told = "pending" in record and (said.get("who"), said.get("n")) in ends
    return clause if told and not own else ""


def _was_told(control: Record) -> bool:
    """Whether a control is red for what a query told of what was made. The object or the query may
    be wrong; it exists, and other cases use it nevertheless.
    """
    failed = _failed(control)
    made = [call for call in control["calls"] if call["n"] <= failed.get("calls", 0)]
    if control["verdict"] != "FAIL" or not made:
        return False
    call = made[-1]
    asked_of = failed["text"].startswith(call["call"])
    return call["call"].endswith(TELLS) and call.get("ret") == SUCCESS and not asked_of


def _empty_handed(record: Record) -> str:
    """The first call of a case that said to have made an object, or to have met an EVD, and gave
    no handle; or nothing.
    """
    for call in record["calls"]:
        gives = "_create" in call["call"] or call["call"] == "dat_cno_wait"
        if gives and call.get("ret") == SUCCESS and not _was_released(call, record):
            handles = [value for name, value in call.get("out", ()) if name.endswith("_handle")]
            if NULL in handles:
                return str(call["call"])
    return ""


def _was_released(wait: Record, record: Record) -> bool:
    """Whether a wait ended without an event because its object went: ruling CNO-2 admits that."""
    ended = wait.get("at_us", 0) + wait.get("us", 0)
    return wait["call"] == "dat_cno_wait" and any(
        call["call"] in ("dat_cno_free", "dat_ia_close") and call["at_us"] <= ended
        for call in record["calls"]
        # The clock of another process has begun at another time.
        if call.get("who") == wait.get("who")
    )


def _made(record: Record) -> list[str]:
    """The calls that a case made besides teardown, each once, in the order of its last one."""
    calls = [call["call"] for call in record["calls"] if not call.get("teardown")]
    return [*reversed(dict.fromkeys(map(_page_of, reversed(calls))))]


def _blocker(record: Record) -> str:
    """The call that gave a case no handle, or that a BLOCKED case names; empty for others."""
    return _empty_handed(record) or _page_of(record.get("blocked", {}).get("call", ""))


def _stems_from(control: Record) -> str:
    """The call in which a control came to its end: one that blocked it, that did not return, or
    whose answer it did not expect; empty where none is known. Calls that need each other are red
    in each other's controls.
    """
    if (blocker := _blocker(control)) or control["verdict"] == BLOCKED:
        return blocker
    if pending := control.get("pending"):
        return _page_of(pending)
    text = _failed(control).get("text", "")
    if text == WAITER:
        # The thread is in its wait, or came back with another answer than it had to.
        waits = (call["call"] for call in control["calls"] if call["call"].endswith("_wait"))
        return next(reversed([*waits]), "")
    calls = (call for call in reversed(_made(control)) if text.startswith(f"{call}("))
    return next(calls, "")


def _circles(broken: Mapping[str, Record]) -> list[set[str]]:
    """Those that stem from no other, each with those that it needs and that need it."""
    stems = {
        call: {_source(broken, other) for other in _made(control) if other in broken} - {call}
        for call, control in broken.items()
        if _source(broken, call) == call
    }
    behind = {call: _reached(stems, call) for call in stems}
    roots = (call for call in stems if all(call in behind[other] for other in behind[call]))
    return [{call} | behind[call] for call in roots]


def _source(broken: Mapping[str, Record], call: str) -> str:
    """The call that a broken one stems from, directly or not; itself if from none."""
    seen = {call}
    while (other := _stems_from(broken[call])) in broken and other not in seen:
        seen.add(other)
        call = other
    return call


def _is_undecided(broken: Mapping[str, Record], call: str) -> bool:
    """Whether the control was blocked by a call that is not known to be broken."""
    control = broken[_source(broken, call)]
    return control["verdict"] == BLOCKED and _blocker(control) not in broken


def _reached(stems: Mapping[str, Collection[str]], call: str) -> set[str]:
    reached: set[str] = set()
    left = list(stems[call])
    while left:
        other = left.pop()
        if other not in reached:
            reached.add(other)
            left += stems[other]
    return reached
