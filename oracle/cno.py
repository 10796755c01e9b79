# SPDX-License-Identifier: BSD-2-Clause
"""CNOs: made, given agents, waited for, queried, and freed when no EVD has them."""

from typing import Any

from oracle.common import Wanted, answers, few, ia_name, made, mask_refusal, new_handle, shown
from oracle.kernel import (
    INVALID_STATE,
    Handle,
    Open,
    Refusal,
    after,
    after_any,
    describe,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import NULL, Cno, Side
from oracle.trace import Call

QUEUE_EMPTY = "DAT_QUEUE_EMPTY"

describe(
    "dat_cno_create",
    legal="cno_create/usable",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER",
    handles=[Handle("ia_handle", "ia", clause="cno_create/invalid_handle")],
    small=lambda _call, _ia, side: few(side, "cno", None),
)
describe(
    "dat_cno_free",
    legal="cno_free/unused",
    returns="INVALID_HANDLE INVALID_STATE",
    handles=[Handle("cno_handle", "cno", clause="cno_free/invalid_handle")],
)
describe(
    "dat_cno_modify_agent",
    legal="cno_modify_agent/change",
    returns="INVALID_HANDLE INVALID_PARAMETER",
    handles=[Handle("cno_handle", "cno", clause="cno_modify_agent/invalid_handle")],
)
describe(
    "dat_cno_query",
    legal="cno_query/field_among_all",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("cno_handle", "cno", clause="cno_query/invalid_handle")],
)
describe(
    "dat_cno_wait",
    legal="cno_wait/wakes",
    returns="INVALID_HANDLE QUEUE_EMPTY INVALID_PARAMETER INTERRUPTED_CALL",
    handles=[Handle("cno_handle", "cno", clause="cno_wait/invalid_handle")],
)


@tells("dat_cno_create", clauses=["cno_create/many"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "cno_handle", side)


@after("dat_cno_create")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "cno_handle", side)
    if name:
        cno = Cno(name, ia)
        cno.agent = call.arg("agent")
        side.add(cno)


def _named(cno: Cno, side: Side) -> list[Any]:
    return [evd for evd in side.live("evd") if evd.cno == cno.name]


@refuses("dat_cno_free", clauses=["cno_free/in_use"])
def in_use(_call: Call, cno: Cno, side: Side) -> Refusal | Open | None:
    """A CNO that an EVD has is not freed."""
    if any(evd.cno is None for evd in side.live("evd")):
        return Open("the CNO of an EVD is not known")
    return refuse(INVALID_STATE) if _named(cno, side) else None


@after("dat_cno_free")
def free(_call: Call, cno: Cno, side: Side) -> None:
    side.end(cno)


@after("dat_cno_modify_agent")
def modify_agent(call: Call, cno: Cno, _side: Side) -> None:
    cno.agent = call.arg("agent")


@refuses("dat_cno_query", clauses=["cno_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _cno: Cno, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("cno_param_mask"))


NO_AGENT = {"instance_data": "NULL", "proxy_agent_func": "NULL"}


@tells("dat_cno_query", clauses=["cno_query/field", "cno_query/field_among_all"], rulings=["CNO-3"])
def query(call: Call, cno: Cno, _side: Side) -> bool | str | None:
    agent = cno.agent
    # An agent may have left the CNO by its first call, of which the trace tells nothing.
    known = agent if not is_agent(agent) or not cno.evds else _agent_or_none(agent)
    return answers(
        call,
        "cno_param_mask",
        "cno_param",
        "DAT_CNO_FIELD_",
        {"ia_handle": ("IA_HANDLE", ia_name(cno)), "agent": ("AGENT", known)},
    )


def _agent_or_none(agent: Any) -> Any:
    """What a CNO tells of an agent that may have left it."""
    if not isinstance(agent, dict):
        return None

    def check(answer: Any) -> str:
        return "" if answer in (agent, NO_AGENT) else f"not {shown(agent)} or none"

    return Wanted(check)


def is_agent(agent: Any) -> bool:
    return not isinstance(agent, dict) or agent.get("proxy_agent_func") not in ("NULL", "0x0")


@refuses("dat_cno_wait", clauses=["cno_wait/time_out"], rulings=["CNO-1", "CNO-4"])
def wait(call: Call, cno: Cno, side: Side) -> Refusal | Open | None:
    """A wait times out where nothing has notified the CNO; elsewhere either may be."""
    timeout = call.arg("timeout")
    if timeout == "DAT_TIMEOUT_INFINITE":
        return may("DAT_INTERRUPTED_CALL")
    if any(evd.enabled is None or evd.cno is None for evd in side.live("evd")):
        return Open("the state of an EVD is not known")
    return may(QUEUE_EMPTY, "DAT_INTERRUPTED_CALL")


@after_any("dat_cno_wait")
def waited(_call: Call, _cno: Any, _side: Side) -> None:
    return


@tells("dat_cno_wait", clauses=["cno_wait/each_evd_named"], rulings=["CNO-2", "CNO-4"])
def named_evd(call: Call, cno: Cno, side: Side) -> bool | str | None:
    """The EVD that is named is one that the CNO has, or had."""
    told = call.field("evd_handle")
    if told is None:
        return None
    if told == NULL:
        evds = [evd for evd in cno.evds if evd.alive]
        return "names no EVD, although the CNO has one" if evds else True
    evd = side.get(told)
    if evd is None and not all(evd.alive for evd in cno.evds):
        # The handle of an EVD that was freed is recorded by a new name.
        return None
    if evd is None or evd.kind != "evd":
        return f"names {told}, which is no EVD"
    return True if evd in cno.evds else f"names {told}, which never had the CNO"
