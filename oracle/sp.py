# SPDX-License-Identifier: BSD-2-Clause
"""Service points, public and reserved, and the requests that come to them."""

from typing import Any

from oracle.common import answers, few, ia_name, made, mask_refusal, new_handle, one_of
from oracle.ep import in_states, now
from oracle.evd import EVENTS, unknown
from oracle.kernel import (
    INVALID_HANDLE,
    INVALID_PARAMETER,
    MODEL,
    Handle,
    Open,
    Refusal,
    after,
    describe,
    lose,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import (
    NULL,
    PASSIVE,
    RESERVED,
    TENTATIVE,
    UNCONNECTED,
    Cr,
    Ep,
    Evd,
    Side,
    Sp,
)
from oracle.trace import Call

IN_USE = "DAT_CONN_QUAL_IN_USE"
UNAVAILABLE = "DAT_CONN_QUAL_UNAVAILABLE"
CONSUMER = "DAT_PSP_CONSUMER_FLAG"
PROVIDER = "DAT_PSP_PROVIDER_FLAG"


def _few(_call: Call, _ia: Any, side: Side) -> bool:
    return few(side, "psp", None) and few(side, "rsp", None)


_HANDLES = {
    page: [
        Handle("ia_handle", "ia", clause=f"{page}/invalid_ia_handle"),
        Handle("evd_handle", "evd", clause=f"{page}/invalid_evd_handle"),
    ]
    for page in ("psp_create", "psp_create_any", "rsp_create")
}
describe(
    "dat_psp_create",
    legal="psp_create/usable",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER CONN_QUAL_IN_USE "
    "MODEL_NOT_SUPPORTED",
    handles=_HANDLES["psp_create"],
    small=_few,
)
describe(
    "dat_psp_create_any",
    legal="psp_create_any/usable",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER CONN_QUAL_UNAVAILABLE "
    "MODEL_NOT_SUPPORTED",
    handles=_HANDLES["psp_create_any"],
    small=_few,
)
describe(
    "dat_rsp_create",
    legal="rsp_create/usable",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER INVALID_STATE "
    "CONN_QUAL_IN_USE",
    handles=[
        _HANDLES["rsp_create"][0],
        Handle("ep_handle", "ep", null=True, clause="rsp_create/invalid_ep_handle"),
        _HANDLES["rsp_create"][1],
    ],
    small=_few,
)
for _kind in ("psp", "rsp"):
    describe(
        f"dat_{_kind}_free",
        legal=f"{_kind}_free/unused",
        returns="INVALID_HANDLE",
        handles=[Handle(f"{_kind}_handle", _kind, clause=f"{_kind}_free/invalid_handle")],
    )
    describe(
        f"dat_{_kind}_query",
        legal=f"{_kind}_query/field_among_all",
        returns="INVALID_HANDLE INVALID_PARAMETER",
        handles=[Handle(f"{_kind}_handle", _kind, clause=f"{_kind}_query/invalid_handle")],
    )


@refuses(
    "dat_psp_create",
    "dat_psp_create_any",
    "dat_rsp_create",
    clauses=[
        "psp_create/evd_of_other_stream",
        "psp_create_any/evd_of_other_stream",
        "rsp_create/evd_of_other_stream",
    ],
)
def evd_stream(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """An EVD that is not for connection requests is refused."""
    evd = call.objects.get("evd_handle")
    if not isinstance(evd, Evd) or evd.flags is None:
        return Open("what the EVD is for is not known")
    return None if "DAT_EVD_CR_FLAG" in evd.flags else refuse(INVALID_HANDLE)


@refuses(
    "dat_psp_create",
    "dat_psp_create_any",
    clauses=[
        "psp_create/invalid_flags",
        "psp_create_any/invalid_flags",
        "psp_create/as_declared",
        "psp_create_any/as_declared",
    ],
)
def flag(call: Call, _ia: Any, side: Side) -> Refusal | Open | None:
    given = call.arg("psp_flags")
    if given not in (CONSUMER, PROVIDER):
        return refuse(INVALID_PARAMETER)
    creator = side.attributes.get("ep_creator")
    if creator == "DAT_PSP_CREATES_EP_IFASKED":
        return None
    if creator == "DAT_PSP_CREATES_EP_NEVER":
        return refuse(MODEL) if given == PROVIDER else None
    if creator == "DAT_PSP_CREATES_EP_ALWAYS":
        return refuse(MODEL) if given == CONSUMER else None
    return Open("who makes EPs is not recorded")


def _unanswered(side: Side, point: Sp) -> bool:
    """Whether a request that came to the point still waits for its answer."""
    requests = (one for one in side.objects.values() if isinstance(one, Cr) and one.alive)
    return any(request.sp is point for request in requests)


@refuses(
    "dat_psp_create",
    "dat_rsp_create",
    clauses=["psp_create/in_use", "rsp_create/in_use"],
    rulings=["PSP-3", "PSP-4", "RSP-1"],
)
def qualifier(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    """A qualifier that a service point has is in use."""
    given = call.arg("conn_qual")
    if not isinstance(given, int):
        return Open("the qualifier is not recorded")
    point = side.qualifiers.get(given)
    if point is not None and point.alive:
        if point.lost:
            return Open("whether the qualifier is in use is not known")
        if point.kind == "rsp" and point.requests:
            return may(IN_USE)
        if point.ia is not ia:
            return may(IN_USE)
        return refuse(IN_USE)
    if point is not None and _unanswered(side, point):
        return may(IN_USE)
    if given < 1024 or given > 0xFFFF:
        return may(INVALID_PARAMETER, IN_USE)
    if side.opaque:
        return may(IN_USE)
    return None


@refuses("dat_psp_create_any", clauses=["psp_create_any/many_at_once"])
def unavailable(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    return None if _few(call, ia, side) else may(UNAVAILABLE)


@refuses("dat_rsp_create", clauses=["rsp_create/in_state"], rulings=["RSP-2"])
def reserved(call: Call, _ia: Any, side: Side) -> Refusal | Open | None:
    """An EP can be reserved in Unconnected only; a null one asks for one of the provider's."""
    ep = call.objects.get("ep_handle")
    if ep is None:
        creator = side.attributes.get("ep_creator")
        if creator in ("DAT_PSP_CREATES_EP_IFASKED", "DAT_PSP_CREATES_EP_ALWAYS"):
            return None
        if creator == "DAT_PSP_CREATES_EP_NEVER":
            return may(MODEL, INVALID_HANDLE)
        return Open("who makes EPs is not recorded")
    answer = in_states(ep, frozenset((UNCONNECTED,)))
    if answer is None and (ep.connect_evd in (None, NULL) or ep.pz is None):
        return Open("an EP that lacks what a connection needs")
    return answer


@tells("dat_psp_create", clauses=["psp_create/many_at_once"])
def own_psp(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "psp_handle", side)


@tells("dat_rsp_create", clauses=["rsp_create/told"])
def own_rsp(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "rsp_handle", side)


@tells("dat_psp_create_any", clauses=["psp_create_any/never_in_use"])
def own_qualifier(call: Call, _ia: Any, side: Side) -> bool | str | None:
    told = call.field("conn_qual")
    if not isinstance(told, int):
        return None
    point = side.qualifiers.get(told)
    if point is not None and point.alive and not point.lost and not point.requests:
        return f"chooses {told}, which a service point has"
    return new_handle(call, "psp_handle", side)


@after("dat_psp_create", "dat_psp_create_any", "dat_rsp_create")
def create(call: Call, ia: Any, side: Side) -> None:
    kind = "rsp" if call.name == "dat_rsp_create" else "psp"
    name = made(call, f"{kind}_handle", side)
    if not name:
        return
    point = Sp(kind, name, ia)
    given = call.field("conn_qual") if call.name == "dat_psp_create_any" else call.arg("conn_qual")
    point.qualifier = given
    evd = call.objects.get("evd_handle")
    if isinstance(evd, Evd):
        point.evd = evd.name
        evd.hidden = True
        evd.feeders.add((point, kind))
    point.flag = call.arg("psp_flags")
    if kind == "rsp":
        ep = call.objects.get("ep_handle")
        point.ep = ep.name if isinstance(ep, Ep) else None
        if isinstance(ep, Ep):
            ep.rsp = point
            ep.ever = True
            ep.states = frozenset((RESERVED,))
    side.add(point)
    side.qualifiers[given] = point


@after("dat_psp_free", "dat_rsp_free")
def free(_call: Call, point: Sp, side: Side) -> None:
    side.end(point)
    evd = side.get(point.evd)
    if isinstance(evd, Evd):
        evd.feeders.discard((point, point.kind))
    ep = side.get(point.ep)
    if isinstance(ep, Ep) and ep.rsp is point:
        ep.rsp = None
        states = now(ep)
        if RESERVED in ep.states and not point.requests:
            # A request may have come that no event has told of yet.
            ep.states = frozenset((UNCONNECTED, PASSIVE))
        elif states <= {RESERVED, PASSIVE} and not point.requests:
            ep.states = frozenset((UNCONNECTED, PASSIVE))


@refuses(
    "dat_psp_query",
    "dat_rsp_query",
    clauses=["psp_query/invalid_mask", "rsp_query/invalid_mask"],
    rulings=["SRQ-19"],
)
def mask(call: Call, point: Sp, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg(f"{point.kind}_param_mask"))


@refuses(
    "dat_rsp_query",
    "dat_rsp_free",
    clauses=["rsp_query/after_request", "rsp_free/unused"],
    rulings=["RSP-1"],
)
def spent(_call: Call, point: Sp, _side: Side) -> Refusal | Open | None:
    """An RSP that had its request may be gone."""
    return may(INVALID_HANDLE) if point.requests or _may_have_had(point) else None


def _may_have_had(point: Sp) -> bool:
    return point.kind == "rsp" and point.ep is None


@tells("dat_psp_query", clauses=["psp_query/field", "psp_query/field_among_all"])
def psp_query(call: Call, point: Sp, _side: Side) -> bool | str | None:
    return answers(
        call,
        "psp_param_mask",
        "psp_param",
        "DAT_PSP_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(point)),
            "conn_qual": ("CONN_QUAL", point.qualifier),
            "evd_handle": ("EVD_HANDLE", point.evd),
            "psp_flags": ("PSP_FLAGS", point.flag),
        },
    )


@tells("dat_rsp_query", clauses=["rsp_query/field", "rsp_query/field_among_all"], rulings=["RSP-1"])
def rsp_query(call: Call, point: Sp, _side: Side) -> bool | str | None:
    ep: Any = point.ep
    if point.requests or (isinstance(ep, str)):
        ep = None if ep is None else one_of(frozenset((ep, NULL)))
        if ep is not None and not point.requests and point.ep is not None:
            ep = one_of(frozenset((point.ep, NULL)))
    return answers(
        call,
        "rsp_param_mask",
        "rsp_param",
        "DAT_RSP_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(point)),
            "conn_qual": ("CONN_QUAL", point.qualifier),
            "evd_handle": ("EVD_HANDLE", point.evd),
            "ep_handle": ("EP_HANDLE", ep),
        },
    )


def _made_meanwhile(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> Sp | None:
    """The point of a request that a wait gave which began before the point was made: its record has
    no name for the handle, but the qualifier tells it.
    """
    handle = data.get("sp_handle")
    point = side.qualifiers.get(data.get("conn_qual"))
    unnamed = isinstance(handle, str) and handle.startswith("0x")
    if not unnamed or not call.overlaps or point is None or not point.alive:
        return None
    return point if point.evd == evd.name else None


def request_event(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> bool | str | None:
    """A request has a service point, at its qualifier, that reports to this EVD."""
    point = side.get(data.get("sp_handle")) or _made_meanwhile(call, evd, data, side)
    name = data.get("cr_handle")
    cr = Cr(str(name), point.ia if isinstance(point, Sp) else evd.ia)
    old = side.get(name)
    side.add(cr)
    if not isinstance(point, Sp):
        return unknown(call, data.get("sp_handle"), side)
    cr.sp = point
    why = ""
    if old is not None and old.alive:
        why = f"the request's handle is that of {name}, which stands"
    elif point.lost:
        return None
    elif point.evd != evd.name:
        why = f"a request for {point.name}, which reports to {point.evd}"
    elif data.get("conn_qual") != point.qualifier:
        why = f"the request's conn_qual is {data.get('conn_qual')}, not {point.qualifier}"
    elif point.kind == "rsp" and point.requests:
        why = f"a second request for {point.name}"
    point.requests += 1
    ep = side.get(point.ep) if point.kind == "rsp" else None
    if isinstance(ep, Ep):
        ep.ever = True
        ep.states = frozenset((PASSIVE,))
        cr.ep = ep.name
    elif point.kind == "psp" and point.flag == CONSUMER:
        cr.ep = NULL
    _join(cr, point, side)
    return why or True


def _join(cr: Cr, point: Sp, side: Side) -> None:
    """Find the attempt of this process that the request is, where there can be only one."""
    if side.opaque or len(side.ias) > 1:
        return
    waiting = [
        connection
        for connection in side.connects
        if connection.qualifier == point.qualifier and connection.request is None
    ]
    if len(waiting) == 1:
        waiting[0].request = cr
        cr.asker = waiting[0]
    elif waiting:
        # Which one it is, nothing tells: none of them is judged by it.
        for connection in waiting:
            connection.local = False


EVENTS["DAT_CONNECTION_REQUEST_EVENT"] = request_event

del lose, TENTATIVE
