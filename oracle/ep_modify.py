# SPDX-License-Identifier: BSD-2-Clause
"""dat_ep_modify: what may be changed when, and what a change does."""

from typing import Any

from oracle.common import mask_parts, mask_refusal, truth
from oracle.ep import (
    AT_LEAST,
    ATTRIBUTES,
    DEFAULT_FLAG,
    FLAG_NEEDS,
    SOLICITED,
    check_value,
    in_states,
    is_of_binds,
    leave_evd,
    now,
    set_evd,
)
from oracle.kernel import (
    ANY_ERROR,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    INVALID_STATE,
    Open,
    Refusal,
    after,
    choose,
    lose,
    may,
    refuse,
    refuses,
)
from oracle.state import NULL, PASSIVE, RESERVED, TENTATIVE, UNCONNECTED, Ep, Evd, Pz, Side
from oracle.trace import Call

# Bits of the mask, by what may be changed when.
NEVER = frozenset(
    f"DAT_EP_FIELD_{name}"
    for name in (
        "IA_HANDLE",
        "EP_STATE",
        "LOCAL_IA_ADDRESS_PTR",
        "LOCAL_PORT_QUAL",
        "REMOTE_IA_ADDRESS_PTR",
        "REMOTE_PORT_QUAL",
    )
)
NAMED = frozenset(
    f"DAT_EP_FIELD_EP_ATTR_{name}"
    for name in (
        "NUM_TRANSPORT_ATTR",
        "TRANSPORT_SPECIFIC_ATTR",
        "NUM_PROVIDER_ATTR",
        "PROVIDER_SPECIFIC_ATTR",
    )
)
UNLISTED = frozenset(
    f"DAT_EP_FIELD_EP_ATTR_{name}"
    for name in ("SRQ_SOFT_HW", "MAX_RDMA_READ_IOV", "MAX_RDMA_WRITE_IOV")
)
EVD_BITS = {
    "DAT_EP_FIELD_RECV_EVD_HANDLE": ("recv_evd_handle", "recv_evd", "DAT_EVD_DTO_FLAG"),
    "DAT_EP_FIELD_REQUEST_EVD_HANDLE": ("request_evd_handle", "request_evd", "DAT_EVD_DTO_FLAG"),
    "DAT_EP_FIELD_CONNECT_EVD_HANDLE": (
        "connect_evd_handle",
        "connect_evd",
        "DAT_EVD_CONNECTION_FLAG",
    ),
}
ATTR_BIT = {f"DAT_EP_FIELD_EP_ATTR_{field.upper()}": field for field in ATTRIBUTES}
PZ_BIT = "DAT_EP_FIELD_PZ_HANDLE"
SRQ_BIT = "DAT_EP_FIELD_SRQ_HANDLE"
# The parameters that dat_ep_modify can change, by their bits.
CHANGEABLE = {**ATTR_BIT, PZ_BIT: "pz_handle", **{bit: names[0] for bit, names in EVD_BITS.items()}}
BEFORE_REQUEST = frozenset((UNCONNECTED, RESERVED, PASSIVE, TENTATIVE))
QUIESCENT = frozenset((UNCONNECTED, TENTATIVE))


def bits_of(call: Call) -> frozenset[str] | None:
    bits = mask_parts(call.arg("ep_param_mask"))
    if bits is None:
        return None
    if "DAT_EP_FIELD_EP_ATTR_ALL" in bits:
        bits = (bits - {"DAT_EP_FIELD_EP_ATTR_ALL"}) | frozenset(ATTR_BIT) | NAMED
    if "DAT_EP_FIELD_ALL" in bits:
        bits = frozenset(ATTR_BIT) | NAMED | NEVER | frozenset((*EVD_BITS, PZ_BIT, SRQ_BIT))
    return bits


def _param(call: Call) -> tuple[dict[str, Any], dict[str, Any]]:
    param = call.arg("ep_param")
    if not isinstance(param, dict):
        return {}, {}
    attr = param.get("ep_attr")
    return param, attr if isinstance(attr, dict) else {}


@refuses("dat_ep_modify", clauses=["ep_modify/undefined_mask_bit"], rulings=["EP-32"])
def modify_mask(call: Call, _ep: Ep, _side: Side) -> Refusal | Open | None:
    if not isinstance(call.arg("ep_param"), dict):
        return Open("the parameters are not recorded")
    return mask_refusal(call.arg("ep_param_mask"))


@refuses(
    "dat_ep_modify",
    clauses=["ep_modify/never_modifiable_keeps", "ep_modify/never_modifiable_among_good"],
    rulings=["EP-18", "EP-50"],
)
def never(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    """What can never be modified is refused."""
    bits = bits_of(call) or frozenset()
    if bits & NEVER:
        if now(ep) <= BEFORE_REQUEST:
            return refuse(INVALID_PARAMETER)
        return refuse(INVALID_PARAMETER, INVALID_STATE)
    if SRQ_BIT in bits:
        return refuse(INVALID_PARAMETER, INVALID_STATE)
    return None


@refuses("dat_ep_modify", clauses=["ep_modify/wrong_state_among_good"], rulings=["EP-17"])
def modify_state(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    """Each parameter can be modified in some states."""
    bits = (bits_of(call) or frozenset()) - NEVER - {SRQ_BIT}
    states = now(ep)
    answer: Refusal | None = None
    if PZ_BIT in bits:
        answer = in_states(ep, QUIESCENT)
    if (answer is None or not answer.must) and bits & (
        EVD_BITS.keys() | (ATTR_BIT.keys() - UNLISTED)
    ):
        answer = in_states(ep, BEFORE_REQUEST) or answer
        if answer is None and PASSIVE in states:
            answer = may(INVALID_STATE)
    return answer


@refuses("dat_ep_modify", clauses=["ep_modify/not_on_the_page"], rulings=["EP-18", "EP-28"])
def modify_others(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    bits = bits_of(call) or frozenset()
    if bits & UNLISTED:
        return choose()
    if bits & NAMED:
        param, attr = _param(call)
        del param
        counts = (attr.get("ep_transport_specific_count"), attr.get("ep_provider_specific_count"))
        if counts == (0, 0) and now(ep) == {UNCONNECTED}:
            return may(INVALID_PARAMETER)
        return choose()
    return None


@refuses(
    "dat_ep_modify",
    clauses=["ep_modify/invalid_object", "ep_modify/evd_of_other_stream"],
    rulings=["EP-25", "EP-31", "EP-33", "GEN-12", "EP-19"],
)
def modify_objects(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    """Zone and EVDs have to be what they are given for."""
    bits = bits_of(call) or frozenset()
    param, _ = _param(call)
    allowed: set[str] = set()
    for bit, (field, stream, wanted) in EVD_BITS.items():
        if bit not in bits:
            continue
        text = param.get(field)
        if text == NULL:
            allowed |= ANY_ERROR
            continue
        evd = side.get(text)
        if evd is None or evd.lost:
            return Open("an EVD that is not known")
        if not isinstance(evd, Evd) or not evd.alive or evd.ia is not ep.ia:
            return refuse(INVALID_PARAMETER, INVALID_HANDLE)
        if evd.flags is None:
            return Open("what an EVD is for is not known")
        if wanted not in evd.flags:
            if is_of_binds(evd, stream):
                allowed |= {INVALID_PARAMETER, INVALID_HANDLE}
                continue
            return refuse(INVALID_PARAMETER, INVALID_HANDLE)
        allowed.add(INVALID_PARAMETER) if _flags_meet(evd, ep) else None
    if PZ_BIT in bits:
        text = param.get("pz_handle")
        pz = side.get(text)
        if text == NULL:
            return refuse(INVALID_PARAMETER, INVALID_HANDLE)
        if pz is None or pz.lost:
            return Open("a zone that is not known")
        if not isinstance(pz, Pz) or not pz.alive or pz.ia is not ep.ia:
            return refuse(INVALID_PARAMETER, INVALID_HANDLE)
        if ep.srq is not None and ep.srq.pz is not pz:
            differ = truth(ep, "srq_ep_pz_difference_supported", side)
            if differ is None:
                return Open("whether zones may differ is not recorded")
            if not differ:
                return Refusal(ANY_ERROR)
        if ep.pz is not pz and ep.receives:
            allowed |= ANY_ERROR
    return may(*allowed) if allowed else None


FLAG_FIELDS = frozenset(("recv_completion_flags", "request_completion_flags"))


def _alone(ep: Ep, side: Side) -> bool:
    """Whether no other stream shares an EVD with those of the EP, so that its flags bind none."""
    if ep.recv_evd == ep.request_evd and ep.recv_evd != NULL:
        return False
    for name in (ep.recv_evd, ep.request_evd):
        evd = side.get(name)
        if name == NULL:
            continue
        if not isinstance(evd, Evd) or evd.lost or evd.flags is None:
            return False
        if evd.flags - {"DAT_EVD_DTO_FLAG", "DAT_EVD_RMR_BIND_FLAG"}:
            return False
        if any(feeder is not ep for feeder, _ in evd.feeders):
            return False
    return True


def _flags_meet(evd: Evd, ep: Ep) -> bool:
    """Whether flags of several EPs meet on an EVD, so that they may not fit (EP-34)."""
    others = any(feeder is not ep and feeder.kind == "ep" for feeder, _ in evd.feeders)
    own = (ep.attr.get("recv_completion_flags"), ep.attr.get("request_completion_flags"))
    return others or own != (DEFAULT_FLAG, DEFAULT_FLAG)


def _posted(ep: Ep, field: str) -> int:
    """What posted receives need of an attribute: a smaller one may be refused (EP-53)."""
    if field == "max_recv_dtos":
        return len(ep.receives)
    if field == "max_recv_iov":
        return max((receive.segments for receive in ep.receives), default=0)
    return 0


@refuses(
    "dat_ep_modify",
    clauses=["ep_modify/invalid_value", "ep_modify/recv_flags_after_posting"],
    rulings=["EP-12", "EP-29", "EP-30", "EP-34", "EP-52", "EP-53", "EP-90"],
)
def modify_values(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    bits = bits_of(call) or frozenset()
    _, attr = _param(call)
    allowed: set[str] = set()
    for bit in bits & ATTR_BIT.keys():
        if bit in UNLISTED:
            continue
        field = ATTR_BIT[bit]
        value = attr.get(field)
        answer = check_value(field, value, ep, side, ep.srq is not None)
        configurable = field == "recv_completion_flags" or value != SOLICITED
        if (
            field in FLAG_FIELDS
            and configurable
            and value in FLAG_NEEDS
            and truth(ep, FLAG_NEEDS[value], side)
        ):
            answer = None
        if isinstance(answer, Open):
            return answer
        if answer is not None:
            if answer.must:
                return answer
            allowed |= answer.returns
        if field == "recv_completion_flags" and ep.receives:
            if value != ep.attr.get(field) and ep.srq is None and not ep.connections:
                return Refusal(ANY_ERROR)
            allowed |= ANY_ERROR
        if isinstance(value, int) and value < _posted(ep, field):
            allowed |= ANY_ERROR
        if field in FLAG_FIELDS and not _alone(ep, side):
            allowed.add(INVALID_PARAMETER)
    return may(*allowed) if allowed else None


@after("dat_ep_modify")
def modify(call: Call, ep: Ep, side: Side) -> None:
    bits = bits_of(call)
    param, attr = _param(call)
    if bits is None or not param:
        lose(ep, "a change that is not recorded")
        return
    plain = now(ep) == {UNCONNECTED}
    certain = plain and not call.overlaps
    for bit in bits & ATTR_BIT.keys():
        field = ATTR_BIT[bit]
        remember(ep, field, ep.attr.get(field), plain and bit not in UNLISTED)
        old = ep.learned.get(field, ep.attr.get(field))
        _replaces(ep, field, old, attr.get(field), certain and bit not in UNLISTED)
        if plain and attr.get(field) != ep.attr.get(field):
            ep.changed.add(field)
        ep.attr[field] = attr.get(field)
        ep.learned.pop(field, None)
    for bit, (field, stream, _wanted) in EVD_BITS.items():
        if bit not in bits:
            continue
        text = param.get(field)
        evd = side.get(text)
        old = getattr(ep, stream)
        if text != NULL and not isinstance(evd, Evd):
            lose(ep, "an EVD that is not known")
            return
        if not plain and old not in (None, text):
            remember(ep, stream, old, plain)
            former = side.get(old)
            if isinstance(former, Evd):
                lose(former, "an EVD that an EP may have left")
        else:
            leave_evd(ep, stream, side)
        _replaces(ep, field, old, text, certain)
        if plain and old != text:
            ep.changed.add(stream)
        set_evd(ep, stream, evd)
    if PZ_BIT in bits:
        pz = side.get(param.get("pz_handle"))
        if not isinstance(pz, Pz):
            lose(ep, "a zone that is not known")
            return
        _replaces(ep, "pz_handle", ep.pz.name if ep.pz else None, pz.name, certain)
        if ep.pz is not None and ep.pz is not pz:
            ep.pz.users.discard(ep)
            if not plain:
                lose(ep.pz, "a zone that an EP may have left")
                remember(ep, "pz", ep.pz.name, plain)
        ep.pz = pz
        pz.users.add(ep)


def remember(ep: Ep, what: str, old: Any, certain: bool) -> None:
    """In other states than Unconnected a change may be granted and not made (EP-17)."""
    if certain:
        ep.was.pop(what, None)
    else:
        ep.was[what] = frozenset((old,)) | ep.was.get(what, frozenset())


def _replaces(ep: Ep, name: str, old: Any, new: Any, certain: bool) -> None:
    """A change was granted that must be made, unless it is not `certain` (EP-17)."""
    ep.before.pop(name, None)
    if certain and old is not None and not fits(name, old, new):
        ep.before[name] = old


def fits(field: str, told: Any, granted: Any) -> bool:
    """Whether a value is what was granted, or a number above it (EP-27)."""
    if field not in AT_LEAST:
        return bool(told == granted)
    return isinstance(told, int) and isinstance(granted, int) and told >= granted
