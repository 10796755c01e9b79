# SPDX-License-Identifier: BSD-2-Clause
"""Connection requests: queried, accepted, rejected, handed off."""

from typing import Any

from oracle.common import Wanted, answers, between, limit, mask_refusal
from oracle.connection import holds
from oracle.ep import now
from oracle.kernel import (
    ANY_ERROR,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    Handle,
    Open,
    Refusal,
    after,
    choose,
    describe,
    lose,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.sp import CONSUMER, PROVIDER
from oracle.state import (
    COMPLETION_PENDING,
    CONNECTED,
    DISCONNECTED,
    NULL,
    PASSIVE,
    RESERVED,
    TENTATIVE,
    UNCONNECTED,
    Connection,
    Cr,
    Ep,
    Evd,
    Side,
    Sp,
)
from oracle.trace import Call

_REQUESTS_ALONE = frozenset({"DAT_EVD_CR_FLAG"})

describe(
    "dat_cr_query",
    legal="cr_query/field_among_all",
    returns="INVALID_HANDLE INVALID_PARAMETER",
    handles=[Handle("cr_handle", "cr", clause="cr_query/invalid_handle")],
)
describe(
    "dat_cr_accept",
    legal="cr_accept/connects",
    returns="INVALID_HANDLE INVALID_PARAMETER",
    handles=[
        Handle("cr_handle", "cr", clause="cr_accept/invalid_cr_handle"),
        Handle("ep_handle", "ep", null=True, clause="cr_accept/invalid_ep_handle"),
    ],
)
describe(
    "dat_cr_reject",
    legal="cr_reject/asker_told",
    returns="INVALID_HANDLE",
    handles=[Handle("cr_handle", "cr", clause="cr_reject/invalid_handle")],
)
describe(
    "dat_cr_handoff",
    legal="cr_handoff/to",
    returns="INVALID_HANDLE INVALID_PARAMETER",
    handles=[Handle("cr_handle", "cr", clause="cr_handoff/invalid_handle")],
)


@refuses("dat_cr_query", clauses=["cr_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _cr: Cr, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("cr_param_mask"))


def _local_ep(cr: Cr) -> Any:
    if cr.ep is not None:
        return cr.ep
    point = cr.sp
    if point is None or (point.kind == "psp" and point.flag != PROVIDER):
        return None
    return Wanted(lambda answer: "although the provider makes EPs" if answer == NULL else "")


def _data(cr: Cr) -> Any:
    given = cr.asker.data_sent if cr.asker is not None else None
    if not isinstance(given, dict):
        return None
    return Wanted(lambda told: "" if holds(told, given) else "which is not what the asker gave")


@tells(
    "dat_cr_query",
    clauses=["cr_query/field", "cr_query/field_among_all", "cr_query/local_ep"],
    rulings=["CR-2", "PSP-1"],
)
def query(call: Call, cr: Cr, side: Side) -> bool | str | None:
    sent = cr.asker.private_sent if cr.asker is not None else None
    most = limit(cr, "max_private_data_size", side)
    known = cr.parameters
    size: Any = known.get("private_data_size")
    if size is None:
        size = between(sent if sent is not None else 0, most)
    return answers(
        call,
        "cr_param_mask",
        "cr_param",
        "DAT_CR_FIELD_",
        {
            "remote_port_qual": ("REMOTE_PORT_QUAL", known.get("remote_port_qual")),
            "private_data_size": ("PRIVATE_DATA_SIZE", size),
            "private_data": ("PRIVATE_DATA", _data(cr)),
            "local_ep_handle": ("LOCAL_EP_HANDLE", _local_ep(cr)),
        },
    )


@after("dat_cr_query")
def learn(call: Call, cr: Cr, side: Side) -> None:
    told = call.field("cr_param")
    named = call.arg("cr_param_mask")
    if not isinstance(told, dict) or not isinstance(named, str):
        return
    bits = named.split("|")
    whole = "DAT_CR_FIELD_ALL" in bits
    for field in ("remote_port_qual", "private_data_size"):
        if whole or f"DAT_CR_FIELD_{field.upper()}" in bits:
            cr.parameters.setdefault(field, told.get(field))
    if whole or "DAT_CR_FIELD_LOCAL_EP_HANDLE" in bits:
        _meet(cr, told.get("local_ep_handle"), side)


def _meet(cr: Cr, name: Any, side: Side) -> None:
    """The provider's EP of a request is seen for the first time."""
    if cr.ep is not None or name == NULL or not isinstance(name, str):
        return
    cr.ep = name
    old = side.get(name)
    if isinstance(old, Ep) and old.alive and old.origin == "consumer":
        return
    ep = Ep(name, cr.ia)
    ep.origin = "provider"
    ep.ever = True
    ep.states = frozenset((TENTATIVE,))
    if cr.sp is not None and cr.sp.kind == "rsp":
        ep.states = frozenset((TENTATIVE, RESERVED, PASSIVE))
    if old is not None:
        ep.doubt = "an EP that is gone had the handle"
    side.add(ep)


@refuses(
    "dat_cr_accept",
    clauses=["cr_accept/invalid_size", "cr_accept/invalid_size_by_kind"],
)
def private_data(call: Call, cr: Cr, side: Side) -> Refusal | Open | None:
    size, most = call.arg("private_data_size"), limit(cr, "max_private_data_size", side)
    if not isinstance(size, int) or most is None:
        return Open("the size of the private data is not recorded")
    if size < 0 or size > most:
        return refuse(INVALID_PARAMETER)
    if size and call.args.get("private_data") == "NULL":
        return Open("a null pointer for private data")
    return None


@refuses(
    "dat_cr_accept",
    clauses=["cr_accept/named_ep", "cr_accept/in_state", "cr_accept/bare_ep"],
    rulings=["CR-1", "CR-3", "CR-5"],
)
def on_ep(call: Call, cr: Cr, side: Side) -> Refusal | Open | None:
    """The EP is the request's own, or one of the consumer's that is Unconnected."""
    ep = call.objects.get("ep_handle")
    point = cr.sp
    if point is None or point.lost:
        return Open("the service point of the request is not known")
    if point.kind == "psp" and point.flag == CONSUMER:
        if ep is None:
            return Refusal(ANY_ERROR)
        states = now(ep)
        if UNCONNECTED not in states:
            return Refusal(ANY_ERROR)
        if states != {UNCONNECTED}:
            return choose()
        if ep.connect_evd in (None, NULL) or ep.pz is None or ep.origin != "consumer":
            return choose()
        if NULL in (ep.recv_evd, ep.request_evd):
            return choose()
    else:
        own = side.get(cr.ep)
        if ep is not None:
            if own is None:
                return choose()
            if own is not ep:
                return refuse(INVALID_PARAMETER, INVALID_HANDLE)
            return may(INVALID_PARAMETER, INVALID_HANDLE)
        if not isinstance(own, Ep) or own.origin == "provider":
            return choose()
        if own.connect_evd in (None, NULL) or own.pz is None:
            return choose()
    asker = cr.asker
    if asker is None or asker.by_us or asker.phase != "pending" or not asker.ep.alive:
        # One who has gone may be told of at once (CR-5).
        return choose()
    return None


@after("dat_cr_accept")
def accepted(call: Call, cr: Cr, side: Side) -> None:
    side.end(cr)
    ep = call.objects.get("ep_handle") or side.get(cr.ep)
    size = call.arg("private_data_size")
    if cr.asker is not None:
        cr.asker.accepted = True
        cr.asker.private_given = size if isinstance(size, int) else None
        cr.asker.data_given = call.arg("private_data")
    if not isinstance(ep, Ep):
        return
    connection = Connection(ep, active=False)
    connection.private_sent = size if isinstance(size, int) else None
    connection.data_sent = call.arg("private_data")
    connection.request = cr
    connection.other = cr.asker
    if cr.asker is not None:
        cr.asker.other = connection
    connection.accepted_at = call.end
    connection.number = call.n
    side.accepts[cr.name] = connection
    peer = side.peer
    if isinstance(peer, Side) and connection.other is None and cr.name in side.asked_by:
        connection.other = next(
            (one for one in peer.connects if one.number == side.asked_by[cr.name]), None
        )
    if cr.asker is not None:
        cr.asker.accepted_at = call.end
    ep.begins(connection)
    ep.states = frozenset((COMPLETION_PENDING, CONNECTED, DISCONNECTED))


@after("dat_cr_reject")
def rejected(_call: Call, cr: Cr, side: Side) -> None:
    side.end(cr)
    if cr.asker is not None:
        cr.asker.rejected = True
    ep = side.get(cr.ep)
    if not isinstance(ep, Ep):
        return
    if ep.origin == "provider":
        side.end(ep)
        ep.lossy = (len(ep.receives), len(ep.requests))
        if ep.pz is not None:
            ep.pz.users.discard(ep)
    else:
        ep.states = frozenset((UNCONNECTED,))


def _may_be_full(point: Sp, side: Side) -> bool:
    """Whether requests may have taken each place of the point's EVD."""
    evd = side.get(point.evd)
    # Of what fills an EVD of several streams the trace does not have all.
    if not isinstance(evd, Evd) or evd.flags != _REQUESTS_ALONE:
        return True
    heard = {qualifier for qualifier, one in side.qualifiers.items() if one.evd == point.evd}
    ends = [side, side.peer] if isinstance(side.peer, Side) else [side]
    waiting = sum(
        connection.request is None and connection.qualifier in heard
        for end in ends
        for connection in end.connects
    )
    return waiting >= evd.qlen_least


@refuses(
    "dat_cr_handoff",
    clauses=["cr_handoff/nowhere"],
    rulings=["CR-7", "CR-8", "CR-9", "GEN-12", "PSP-4"],
)
def nowhere(call: Call, cr: Cr, side: Side) -> Refusal | Open | None:
    """A qualifier at which the IA has no service point may be refused."""
    given = call.arg("handoff")
    point = side.qualifiers.get(given)
    if point is None or not point.alive:
        return Open("the peer may listen there") if side.opaque else may(INVALID_PARAMETER)
    if point.lost:
        return Open("the service point is not known")
    if point.ia is not cr.ia:
        return may(INVALID_PARAMETER)
    # An RSP takes one request, and one that came may not have been told yet.
    if point.kind == "rsp":
        return may(INVALID_PARAMETER)
    if point is cr.sp or _may_be_full(point, side):
        return Refusal(ANY_ERROR, must=False)
    return None


@after("dat_cr_handoff")
def handed_off(call: Call, cr: Cr, side: Side) -> None:
    side.end(cr)
    lose(side.get(cr.ep), "the EP of a request that was handed off")
    if cr.asker is not None:
        cr.asker.request = None
        cr.asker.qualifier = call.arg("handoff")
