# SPDX-License-Identifier: BSD-2-Clause
"""What dat_ep_query and dat_ep_get_status tell of an EP."""

from typing import Any

from oracle.common import Wanted, answers, ia_name, mask_refusal, one_of
from oracle.ep import AT_LEAST, now
from oracle.ep_modify import ATTR_BIT, BEFORE_REQUEST, CHANGEABLE, EVD_BITS, bits_of, fits
from oracle.kernel import Breach, Open, Refusal, after, refuses, tells
from oracle.state import (
    ACTIVE,
    COMPLETION_PENDING,
    CONNECTED,
    DISCONNECT_PENDING,
    DISCONNECTED,
    NULL,
    PASSIVE,
    PLAIN_STATE,
    RESERVED,
    Ep,
    Side,
)
from oracle.trace import Call


@refuses("dat_ep_query", clauses=["ep_query/invalid_mask"], rulings=["SRQ-19"])
def query_mask(call: Call, _ep: Ep, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("ep_param_mask"))


def state_of(ep: Ep) -> Wanted:
    """A state in which the EP can be."""
    states = now(ep)

    def check(answer: Any) -> str:
        plain = PLAIN_STATE.get(answer, answer)
        if plain in states:
            return ""
        if COMPLETION_PENDING in states and plain == PASSIVE:
            return ""
        return "not " + " or ".join(sorted(states))

    return Wanted(check)


def _handle(ep: Ep, stream: str, value: Any) -> Any:
    if value is None:
        return None
    was = ep.was.get(stream)
    return one_of(was | {value}) if was else value


def _attribute(ep: Ep, field: str) -> Any:
    value = ep.attr.get(field)
    was: frozenset[Any] = ep.was.get(field, frozenset())
    if value is None or None in was:
        return None
    if ep.srq is not None and field == "max_recv_iov":
        return None
    if field in AT_LEAST and isinstance(value, int):
        learned = ep.learned.get(field)
        if learned is not None:
            return one_of(was | {learned}) if was else learned
        least = min([value, *(old for old in was if isinstance(old, int))])
        return Wanted(
            lambda answer: (
                "" if isinstance(answer, int) and answer >= least else f"not at least {least}"
            )
        )
    return one_of(was | {value}) if was else value


@tells("dat_ep_query", clauses=["ep_query/field"], rulings=["EP-17", "EP-27"])
def change_is_made(call: Call, ep: Ep, _side: Side) -> bool | str | None:
    """A query that shows what was there before a granted change: the change was not made."""
    param, bits = call.field("ep_param"), bits_of(call)
    attr = param.get("ep_attr") if isinstance(param, dict) else None
    if bits is None or not isinstance(param, dict) or not isinstance(attr, dict):
        return None
    judged: bool | None = None
    for bit in bits & CHANGEABLE.keys():
        name = CHANGEABLE[bit]
        if name not in ep.before:
            continue
        judged = True
        told = attr.get(name) if bit in ATTR_BIT else param.get(name)
        if told == ep.before[name]:
            why = f"{name} is {told} still, although another one was granted"
            return Breach(f"ep_modify/{name}/unconnected", why)
    return judged


@tells(
    "dat_ep_query",
    clauses=["ep_query/field", "ep_query/field_among_all", "ep_query/in_state"],
    rulings=["EP-26", "EP-27", "GEN-7"],
)
def query(call: Call, ep: Ep, side: Side) -> bool | str | None:
    pz = ep.pz.name if ep.pz else (NULL if ep.origin == "provider" else None)
    told = answers(
        call,
        "ep_param_mask",
        "ep_param",
        "DAT_EP_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(ep)),
            "ep_state": ("EP_STATE", state_of(ep)),
            "pz_handle": ("PZ_HANDLE", _handle(ep, "pz", pz)),
            "recv_evd_handle": ("RECV_EVD_HANDLE", _handle(ep, "recv_evd", ep.recv_evd)),
            "request_evd_handle": (
                "REQUEST_EVD_HANDLE",
                _handle(ep, "request_evd", ep.request_evd),
            ),
            "connect_evd_handle": (
                "CONNECT_EVD_HANDLE",
                _handle(ep, "connect_evd", ep.connect_evd),
            ),
            "srq_handle": ("SRQ_HANDLE", ep.srq.name if ep.srq else NULL),
        },
    )
    if isinstance(told, str):
        return told
    param = call.field("ep_param")
    bits = bits_of(call)
    why = _ports(ep, param, bits)
    if why:
        return why
    for bit, (field, stream, _wanted) in EVD_BITS.items():
        if bits and bit in bits and isinstance(param, dict) and getattr(ep, stream) is not None:
            _evd_effect(call, ep, (field, stream), param.get(field), side)
    attr = param.get("ep_attr") if isinstance(param, dict) else None
    if not isinstance(attr, dict) or bits is None:
        return told
    for bit in bits & ATTR_BIT.keys():
        field = ATTR_BIT[bit]
        _effect(call, ep, field, attr.get(field), side)
        wanted = _attribute(ep, field)
        if wanted is None:
            continue
        told = True
        if isinstance(wanted, Wanted):
            why = wanted.check(attr.get(field))
            if why:
                return f"{field} is {attr.get(field)}, {why}"
        elif attr.get(field) != wanted:
            return f"{field} is {attr.get(field)}, not {wanted}"
    return told


def _ports(ep: Ep, param: Any, bits: frozenset[str] | None) -> str:
    """While a connection lasts, its ports stay, and each end has the other's (EP-71)."""
    connection = ep.connection
    if not isinstance(param, dict) or bits is None or connection is None:
        return ""
    if not now(ep) <= CAN_TAKE | {DISCONNECTED} or param.get("ep_state") not in CAN_TAKE:
        return ""
    for bit in ("LOCAL_PORT_QUAL", "REMOTE_PORT_QUAL"):
        field = bit.lower()
        if f"DAT_EP_FIELD_{bit}" not in bits:
            continue
        told = param.get(field)
        known = connection.ports.setdefault(field, told)
        if told != known:
            return f"{field} is {told}, not {known} as it was told before"
        other = connection.other
        mate = "remote_port_qual" if field == "local_port_qual" else "local_port_qual"
        if other is not None and other.ports.get(mate, told) != told:
            return f"{field} is {told}, and at the other end it is {other.ports[mate]}"
    return ""


def _evd_effect(call: Call, ep: Ep, names: tuple[str, str], told: Any, side: Side) -> None:
    """The same as for attributes, of the EVDs (EP-17)."""
    field, stream = names
    if stream in ep.changed and told == getattr(ep, stream) and stream not in ep.was:
        side.works.add(field)
    was: frozenset[Any] = ep.was.get(stream, frozenset())
    if told != getattr(ep, stream) and told in was:
        why = f"{field} is {told}, although {getattr(ep, stream)} was granted"
        side.deferred.append((field, call, f"ep_modify/{field}", why))


def _effect(call: Call, ep: Ep, field: str, told: Any, side: Side) -> None:
    """A change that was granted and not made is one finding, at Unconnected (EP-17).

    Where the same parameter could be changed in Unconnected, it is one in the other states too.
    """
    granted = ep.attr.get(field)
    if granted is None:
        return
    if field in ep.changed and told == granted and field not in ep.was:
        side.works.add(field)
    was: frozenset[Any] = ep.was.get(field, frozenset())
    if told != granted and (told in was or (None in was and not fits(field, told, granted))):
        why = f"{field} is {told}, although {granted} was granted"
        side.deferred.append((field, call, f"ep_modify/{field}", why))


@after("dat_ep_query")
def learn(call: Call, ep: Ep, side: Side) -> None:
    param, bits = call.field("ep_param"), bits_of(call)
    if not isinstance(param, dict) or bits is None or call.overlaps:
        return
    if "DAT_EP_FIELD_EP_STATE" in bits:
        see_state(ep, param.get("ep_state"), side)
    attr = param.get("ep_attr")
    if not isinstance(attr, dict):
        return
    for bit in bits & ATTR_BIT.keys():
        field = ATTR_BIT[bit]
        told = attr.get(field)
        asked = ep.attr.get(field)
        if field in AT_LEAST and isinstance(told, int) and isinstance(asked, int) and told >= asked:
            ep.learned.setdefault(field, told)


def see_state(ep: Ep, told: Any, side: Side) -> None:
    """The state that was told is the one that the EP had."""
    plain = PLAIN_STATE.get(told, told)
    states = now(ep)
    settle(ep, plain, side)
    if plain in states:
        ep.states = frozenset((plain,))


@tells(
    "dat_ep_get_status",
    clauses=["ep_get_status/in_state"],
    rulings=["EP-8", "GEN-7"],
)
def status(call: Call, ep: Ep, _side: Side) -> bool | str | None:
    told = call.field("ep_state")
    if told is None:
        return None
    why = state_of(ep).check(told)
    return True if not why else f"tells {told}, {why}"


@after("dat_ep_get_status")
def status_seen(call: Call, ep: Ep, side: Side) -> None:
    if not call.overlaps:
        see_state(ep, call.field("ep_state"), side)


@tells(
    "dat_ep_get_status",
    clauses=["ep_get_status/recv_in_state", "ep_get_status/sends_reaped"],
    rulings=["EP-70"],
)
def idle(call: Call, ep: Ep, _side: Side) -> bool | str | None:
    """Idle is an EP of which nothing was posted that is not reaped."""
    if ep.doubt:
        return None
    judged: bool | None = None
    for output, posted, at, waiting in (
        ("recv_idle", len(ep.receives), 0, BEFORE_REQUEST | {ACTIVE}),
        ("request_idle", len(ep.requests), 1, frozenset()),
    ):
        told = call.field(output)
        if told is None or (at == 0 and ep.srq is not None):
            continue
        reaped = max(pair[at] for pair in ep.streams)
        lost = ep.lossy[at]
        if reaped >= posted:
            judged = True
            if told != "DAT_TRUE":
                return f"{output} is {told}, although nothing is outstanding"
        elif posted > max(reaped, lost) and ep.states <= waiting and ACTIVE not in ep.states:
            judged = True
            if told != "DAT_FALSE":
                return f"{output} is {told}, although receives wait"
    return judged


UNKNOWN = "DAT_VALUE_UNKNOWN"
ALIVE = frozenset((ACTIVE, COMPLETION_PENDING, PASSIVE, RESERVED, CONNECTED, DISCONNECT_PENDING))


def settle(ep: Ep, told: str, side: Side) -> None:
    """What a state that was told says of answers before it."""
    if ep.pending and told in ALIVE:
        side.proven.extend(ep.pending)
    ep.pending.clear()


CAN_TAKE = frozenset((CONNECTED, DISCONNECT_PENDING))
