# SPDX-License-Identifier: BSD-2-Clause
"""Endpoints: made, changed, queried, reset, freed. For posts see posts.py."""

from typing import Any

from oracle.common import (
    Wanted,
    answers,
    few,
    ia_name,
    limit,
    made,
    mask_parts,
    mask_refusal,
    new_handle,
    one_of,
    truth,
)
from oracle.kernel import (
    ANY_ERROR,
    INSUFFICIENT,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    INVALID_STATE,
    MODEL,
    NOT_IMPLEMENTED,
    Breach,
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
from oracle.messages import came, counts_of, is_spent, none_accepted
from oracle.pairing import SETTLED_US
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
    TENTATIVE,
    UNCONNECTED,
    Ep,
    Evd,
    Pz,
    Side,
    Srq,
)
from oracle.trace import Call

INFINITE = "DAT_WATERMARK_INFINITE"
DEFAULT_FLAG = "DAT_COMPLETION_DEFAULT_FLAG"
UNSIGNALLED = "DAT_COMPLETION_UNSIGNALLED_FLAG"
SOLICITED = "DAT_COMPLETION_SOLICITED_WAIT_FLAG"
THRESHOLD = "DAT_COMPLETION_EVD_THRESHOLD_FLAG"
SUPPRESS = "DAT_COMPLETION_SUPPRESS_FLAG"
FENCE = "DAT_COMPLETION_BARRIER_FENCE_FLAG"
FLAG_NEEDS = {
    UNSIGNALLED: "unsignalled_flag_supported",
    SOLICITED: "solicited_wait_flag_supported",
    THRESHOLD: "evd_threshold_flag_supported",
}

# States into which an EP may come by itself.
ALONE = {
    ACTIVE: frozenset((ACTIVE, CONNECTED, DISCONNECTED)),
    COMPLETION_PENDING: frozenset((COMPLETION_PENDING, CONNECTED, DISCONNECTED)),
    CONNECTED: frozenset((CONNECTED, DISCONNECTED)),
    DISCONNECT_PENDING: frozenset((DISCONNECT_PENDING, DISCONNECTED)),
    RESERVED: frozenset((RESERVED, PASSIVE)),
}
_memo: dict[frozenset[str], frozenset[str]] = {}


def now(ep: Ep) -> frozenset[str]:
    """The states in which an EP may be now."""
    states = ep.states
    closed = _memo.get(states)
    if closed is None:
        closed = states
        while True:
            more = closed.union(*(ALONE.get(state, frozenset((state,))) for state in closed))
            if more == closed:
                break
            closed = more
        _memo[states] = closed
    return closed


def in_states(ep: Ep, allowed: frozenset[str], error: str = INVALID_STATE) -> Refusal | None:
    """A call that some states allow: refused in the others."""
    states = now(ep)
    if states <= allowed:
        return None
    return may(error) if states & allowed else refuse(error)


# A field of the attributes, its mask bit, and the limit of the IA.
NUMBERS = {
    "max_recv_dtos": "max_dto_per_ep",
    "max_request_dtos": "max_dto_per_ep",
    "max_recv_iov": "max_iov_segments_per_dto",
    "max_request_iov": "max_iov_segments_per_dto",
    "max_rdma_read_in": "max_rdma_read_per_ep_in",
    "max_rdma_read_out": "max_rdma_read_per_ep_out",
    "max_rdma_read_iov": "max_iov_segments_per_rdma_read",
    "max_rdma_write_iov": "max_iov_segments_per_rdma_write",
}
SIZES = {"max_message_size": "max_message_size", "max_rdma_size": "max_rdma_size"}
ATTRIBUTES = (
    "service_type",
    "max_message_size",
    "max_rdma_size",
    "qos",
    "recv_completion_flags",
    "request_completion_flags",
    *NUMBERS,
    "srq_soft_hw",
)
AT_LEAST = frozenset(
    (
        "max_recv_dtos",
        "max_request_dtos",
        "max_recv_iov",
        "max_request_iov",
        "max_rdma_read_iov",
        "max_rdma_write_iov",
    )
)

_EVDS = (
    ("recv_completion_evd_handle", "recv_evd"),
    ("request_completion_evd_handle", "request_evd"),
    ("connect_evd_handle", "connect_evd"),
)
_SRQ_EVDS = (
    ("recv_evd_handle", "recv_evd"),
    ("request_evd_handle", "request_evd"),
    ("connect_evd_handle", "connect_evd"),
)


def _small(call: Call, ia: Any, side: Side) -> bool:
    attr = call.arg("ep_attributes")
    if not isinstance(attr, dict) or not few(side, "ep", limit(ia, "max_eps", side)):
        return False
    for field, bound in {**NUMBERS, **SIZES}.items():
        value, most = attr.get(field), limit(ia, bound, side)
        if most is None or not isinstance(value, int) or value > most // 2:
            return False
    return True


describe(
    "dat_ep_create",
    legal="ep_create/created",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
    handles=[
        Handle("ia_handle", "ia", clause="ep_create/invalid_ia_handle"),
        Handle("pz_handle", "pz", clause="ep_create/invalid_pz_handle"),
        Handle(
            _EVDS[0][0], "evd", null=True, clause="ep_create/invalid_recv_completion_evd_handle"
        ),
        Handle(
            _EVDS[1][0], "evd", null=True, clause="ep_create/invalid_request_completion_evd_handle"
        ),
        Handle(_EVDS[2][0], "evd", null=True, clause="ep_create/invalid_connect_evd_handle"),
    ],
    small=_small,
)
describe(
    "dat_ep_create_with_srq",
    legal="ep_create_with_srq/created",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
    handles=[
        Handle("ia_handle", "ia", clause="ep_create_with_srq/invalid_ia_handle"),
        Handle("pz_handle", "pz", clause="ep_create_with_srq/invalid_pz_handle"),
        Handle(
            "recv_evd_handle", "evd", null=True, clause="ep_create_with_srq/invalid_recv_evd_handle"
        ),
        Handle(
            "request_evd_handle",
            "evd",
            null=True,
            clause="ep_create_with_srq/invalid_request_evd_handle",
        ),
        Handle(
            "connect_evd_handle",
            "evd",
            null=True,
            clause="ep_create_with_srq/invalid_connect_evd_handle",
        ),
        Handle("srq_handle", "srq", clause="ep_create_with_srq/invalid_srq_handle"),
    ],
    small=_small,
)
for _call, _legal, _returns, _passes in (
    ("ep_free", "ep_free/in_state", "INVALID_HANDLE INVALID_STATE", "DAT_SUCCESS"),
    ("ep_reset", "ep_reset/in_state", "INVALID_HANDLE INVALID_STATE", ""),
    (
        "ep_modify",
        "ep_modify/all_at_once",
        "INVALID_HANDLE INVALID_PARAMETER INVALID_STATE",
        "",
    ),
    ("ep_query", "ep_query/field_among_all", "INVALID_HANDLE INVALID_PARAMETER", ""),
    ("ep_get_status", "ep_get_status/in_state", "INVALID_HANDLE", ""),
    (
        "ep_recv_query",
        "ep_recv_query/posted",
        "INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
        "",
    ),
    (
        "ep_set_watermark",
        "ep_set_watermark/in_state",
        "INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
        "",
    ),
):
    describe(
        f"dat_{_call}",
        legal=_legal,
        returns=_returns,
        handles=[Handle("ep_handle", "ep", clause=f"{_call}/invalid_handle")],
        gone_passes=_passes,
    )


def _of_page(call: Call, clause: str) -> str:
    return f"{call.name.removeprefix('dat_')}/{clause}"


def check_value(field: str, value: Any, obj: Any, side: Side, srq: bool) -> Refusal | Open | None:
    """What a value of an EP's attribute lets a call be answered with."""
    if field == "service_type":
        return None if value == "DAT_SERVICE_TYPE_RC" else refuse(INVALID_PARAMETER, MODEL)
    if field == "qos":
        if value == "DAT_QOS_BEST_EFFORT":
            return None
        return may(INVALID_PARAMETER, MODEL)
    if field in ("recv_completion_flags", "request_completion_flags"):
        return _check_flags(field, value, obj, side)
    if field == "srq_soft_hw":
        return None if value == INFINITE else may(INVALID_PARAMETER, MODEL)
    if not isinstance(value, int):
        return Open(f"{field} is not recorded")
    ignored = srq and field == "max_recv_iov"
    if value < 0:
        return choose() if ignored else refuse(INVALID_PARAMETER)
    most = limit(obj, NUMBERS.get(field, "") or SIZES[field], side)
    if most is None:
        return Open("a limit is not recorded")
    if value > most:
        # Of one number dat_ep_create_with_srq names the return (EP-29).
        named = srq and field == "max_rdma_read_iov"
        return may(INVALID_PARAMETER, INSUFFICIENT) if named else choose()
    if value == 0 and ignored:
        return choose()
    if value == 0 and field not in ("max_rdma_read_in", "max_rdma_read_out", "max_rdma_read_iov"):
        return may(INVALID_PARAMETER)
    return may(INSUFFICIENT) if value == most else None


def _check_flags(field: str, value: Any, obj: Any, side: Side) -> Refusal | Open | None:
    if value == DEFAULT_FLAG:
        return None
    receives = field == "recv_completion_flags"
    if value in (UNSIGNALLED, THRESHOLD) or (value == SOLICITED and receives):
        has = truth(obj, FLAG_NEEDS[value], side)
        # EPs that share an EVD may be refused flags that differ (EP-34).
        return may(INVALID_PARAMETER) if has else may(INVALID_PARAMETER, MODEL)
    if not receives and value in (SUPPRESS, SOLICITED, FENCE):
        return choose()
    return refuse(INVALID_PARAMETER, MODEL)


@refuses(
    "dat_ep_create",
    "dat_ep_create_with_srq",
    clauses=["ep_create/wrong", "ep_create_with_srq/wrong"],
    rulings=["EP-12", "EP-26", "EP-29", "EP-34"],
)
def attributes(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    attr = call.arg("ep_attributes")
    with_srq = call.name == "dat_ep_create_with_srq"
    if not isinstance(attr, dict):
        return Open("no attributes are recorded")
    allowed: set[str] = set()
    must = False
    for field in ATTRIBUTES:
        answer = check_value(field, attr.get(field), ia, side, with_srq)
        if isinstance(answer, Open):
            return answer
        if answer is not None:
            allowed |= answer.returns
            must = must or answer.must
    for count in ("ep_transport_specific_count", "ep_provider_specific_count"):
        if attr.get(count) != 0:
            return Open("named attributes")
    if not allowed:
        return None
    return Refusal(frozenset(allowed), must)


@refuses(
    "dat_ep_create",
    "dat_ep_create_with_srq",
    clauses=["ep_create/evd_of_another_stream", "ep_create_with_srq/evd_of_another_stream"],
    rulings=["EP-33"],
)
def other_streams(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """An EVD that was made for other events is refused."""
    refusal: Refusal | None = None
    names = _SRQ_EVDS if call.name == "dat_ep_create_with_srq" else _EVDS
    for argument, stream in names:
        evd = call.objects.get(argument)
        if evd is None:
            continue
        if evd.flags is None:
            return Open("what an EVD is for is not known")
        wanted = "DAT_EVD_CONNECTION_FLAG" if stream == "connect_evd" else "DAT_EVD_DTO_FLAG"
        if wanted not in evd.flags:
            if _of_binds(evd, stream):
                refusal = may(INVALID_HANDLE, INVALID_PARAMETER)
                continue
            return refuse(INVALID_HANDLE, INVALID_PARAMETER)
    return refusal


def _of_binds(evd: Evd, stream: str) -> bool:
    """Whether it was made for the binds among the requests: such an EVD may be refused, or not."""
    return stream == "request_evd" and "DAT_EVD_RMR_BIND_FLAG" in (evd.flags or ())


@refuses(
    "dat_ep_create",
    "dat_ep_create_with_srq",
    clauses=["ep_create/null_evd", "ep_create_with_srq/null_evd"],
    rulings=["EP-91"],
)
def without_evd(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """An EP without an EVD for one of its streams may be refused as a combination."""
    names = _SRQ_EVDS if call.name == "dat_ep_create_with_srq" else _EVDS
    nulls = any(call.arg(argument) == NULL for argument, _stream in names)
    return may(INVALID_PARAMETER) if nulls else None


@refuses("dat_ep_create_with_srq", clauses=["ep_create_with_srq/mismatch"], rulings=["GEN-13"])
def reads_mismatch(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """Segments for RDMA reads without RDMA reads, or the reverse, may be refused."""
    attr = call.arg("ep_attributes")
    if not isinstance(attr, dict):
        return None
    unlike = (attr.get("max_rdma_read_iov") == 0) != (attr.get("max_rdma_read_out") == 0)
    return choose() if unlike else None


@refuses(
    "dat_ep_create",
    "dat_ep_create_with_srq",
    clauses=["ep_create/mixed_flags_on_one_evd", "ep_create_with_srq/mixed_flags_on_one_evd"],
    rulings=["EP-34"],
)
def mixed_flags(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """EPs and streams that share an EVD may be refused flags that differ."""
    attr = call.arg("ep_attributes")
    names = _SRQ_EVDS if call.name == "dat_ep_create_with_srq" else _EVDS
    own = set()
    if isinstance(attr, dict):
        own = {attr.get("recv_completion_flags"), attr.get("request_completion_flags")}
    evds = [call.arg(argument) for argument, _stream in names if call.arg(argument) != NULL]
    if own != {DEFAULT_FLAG} and len(set(evds)) < len(evds):
        return choose()
    for argument, _stream in names[:2]:
        evd = call.objects.get(argument)
        if evd is None:
            continue
        for feeder, stream in evd.feeders:
            if isinstance(feeder, Ep) and stream != "connect":
                flags = {
                    feeder.attr.get("recv_completion_flags"),
                    feeder.attr.get("request_completion_flags"),
                }
                if flags != {DEFAULT_FLAG} or own != {DEFAULT_FLAG}:
                    return choose()
    return None


@refuses(
    "dat_ep_create_with_srq",
    clauses=["ep_create_with_srq/pz_of_the_srq_only"],
    rulings=["EP-25"],
)
def srq_zone(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    """A zone that is not the SRQ's is refused, unless it is declared to be possible."""
    srq, pz = call.objects.get("srq_handle"), call.objects.get("pz_handle")
    if srq is None or pz is None or srq.pz is pz:
        return None
    differ = truth(ia, "srq_ep_pz_difference_supported", side)
    if differ is None:
        return Open("whether zones may differ is not recorded")
    return None if differ else refuse(INVALID_PARAMETER)


@refuses("dat_ep_create_with_srq", clauses=["ep_create_with_srq/created"], rulings=["GEN-2"])
def no_srqs(_call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    has = truth(ia, "srq_supported", side)
    return None if has else may(MODEL, NOT_IMPLEMENTED)


@tells(
    "dat_ep_create",
    "dat_ep_create_with_srq",
    clauses=["ep_create/created", "ep_create_with_srq/created"],
)
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "ep_handle", side)


@after("dat_ep_create", "dat_ep_create_with_srq")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "ep_handle", side)
    if not name:
        return
    ep = Ep(name, ia)
    attr = call.arg("ep_attributes")
    if isinstance(attr, dict):
        ep.attr = {field: attr.get(field) for field in ATTRIBUTES}
    ep.pz = call.objects.get("pz_handle")
    if ep.pz is not None:
        ep.pz.users.add(ep)
    with_srq = call.name == "dat_ep_create_with_srq"
    for argument, stream in _SRQ_EVDS if with_srq else _EVDS:
        evd = call.objects.get(argument)
        set_evd(ep, stream, evd)
    ep.srq = call.objects.get("srq_handle") if with_srq else None
    if ep.attr.get("srq_soft_hw") != INFINITE:
        ep.marks += 1
    if ep.srq is not None:
        ep.srq.eps.add(ep)
    side.add(ep)
    doubt_reused(ep, side, call.n)


def doubt_reused(ep: Ep, side: Side, number: int) -> None:
    """Completions of an EP that is gone may come under a handle that a new one has."""
    for other in side.objects.values():
        if (
            isinstance(other, Ep)
            and not other.alive
            and (other.recv_evds & ep.recv_evds or other.request_evds & ep.request_evds)
            and (other.receives or other.requests or other.srq_reaped or other.srq)
        ):
            ep.doubt = "an EP that is gone may have had its handle"
            ep.reused_at = number


STREAM_OF = {"recv_evd": "recv", "request_evd": "request", "connect_evd": "connect"}


def set_evd(ep: Ep, stream: str, evd: Evd | None) -> None:
    """Give an EP an EVD."""
    setattr(ep, stream, evd.name if evd is not None else NULL)
    if evd is not None:
        evd.feeders.add((ep, STREAM_OF[stream]))
        evd.hidden = True
        if stream == "recv_evd":
            ep.recv_evds.add(evd.name)
        elif stream == "request_evd":
            ep.request_evds.add(evd.name)


def leave_evd(ep: Ep, stream: str, side: Side) -> None:
    """Take an EVD from an EP."""
    evd = side.get(getattr(ep, stream))
    if isinstance(evd, Evd):
        evd.feeders.discard((ep, STREAM_OF[stream]))


@refuses("dat_ep_free", clauses=["ep_free/in_state"], rulings=["EP-8", "GEN-7"])
def free_state(_call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    states = now(ep)
    kept = states & {RESERVED, PASSIVE, TENTATIVE}
    if not kept:
        return None
    return refuse(INVALID_STATE) if kept == states else may(INVALID_STATE)


@after("dat_ep_free")
def free(call: Call, ep: Ep, side: Side) -> None:
    side.end(ep)
    forget(ep, side)
    for stream in STREAM_OF:
        leave_evd(ep, stream, side)
    for connection in ep.connections:
        connection.leaves(call.begin)
    ep.lossy = (len(ep.receives), len(ep.requests))


def forget(ep: Ep, side: Side) -> None:
    """The EP is gone, or goes: what it holds of an SRQ is not known any more."""
    if ep.pz is not None:
        ep.pz.users.discard(ep)
    if ep.srq is not None:
        ep.srq.eps.discard(ep)
        if ep.ever and not is_spent(ep, side):
            ep.srq.loses("an EP that had receives of the SRQ is gone")


@refuses("dat_ep_reset", clauses=["ep_reset/in_state"], rulings=["EP-8", "GEN-7"])
def reset_state(_call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    return in_states(ep, frozenset((DISCONNECTED, UNCONNECTED)))


@after("dat_ep_reset")
def reset(_call: Call, ep: Ep, side: Side) -> None:
    """Completions that were not reaped may be lost; connection events stay (EP-74)."""
    ep.pending.clear()
    if now(ep) != {UNCONNECTED}:
        ep.lossy = (len(ep.receives), len(ep.requests))
        if ep.srq is not None and ep.ever and not is_spent(ep, side):
            ep.srq.loses("an EP that had receives of the SRQ was reset")
    ep.states = frozenset((UNCONNECTED,))


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
_NAMES = {**ATTR_BIT, PZ_BIT: "pz_handle", **{bit: names[0] for bit, names in EVD_BITS.items()}}
BEFORE_REQUEST = frozenset((UNCONNECTED, RESERVED, PASSIVE, TENTATIVE))
QUIESCENT = frozenset((UNCONNECTED, TENTATIVE))


def _bits(call: Call) -> frozenset[str] | None:
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
    bits = _bits(call) or frozenset()
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
    bits = (_bits(call) or frozenset()) - NEVER - {SRQ_BIT}
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
    bits = _bits(call) or frozenset()
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
    bits = _bits(call) or frozenset()
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
            if _of_binds(evd, stream):
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
    bits = _bits(call) or frozenset()
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
    bits = _bits(call)
    param, attr = _param(call)
    if bits is None or not param:
        lose(ep, "a change that is not recorded")
        return
    plain = now(ep) == {UNCONNECTED}
    certain = plain and not call.overlaps
    for bit in bits & ATTR_BIT.keys():
        field = ATTR_BIT[bit]
        _remember(ep, field, ep.attr.get(field), plain and bit not in UNLISTED)
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
            _remember(ep, stream, old, plain)
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
                _remember(ep, "pz", ep.pz.name, plain)
        ep.pz = pz
        pz.users.add(ep)


def _remember(ep: Ep, what: str, old: Any, certain: bool) -> None:
    """In other states than Unconnected a change may be granted and not made (EP-17)."""
    if certain:
        ep.was.pop(what, None)
    else:
        ep.was[what] = frozenset((old,)) | ep.was.get(what, frozenset())


def _replaces(ep: Ep, name: str, old: Any, new: Any, certain: bool) -> None:
    """A change was granted that must be made, unless it is not `certain` (EP-17)."""
    ep.before.pop(name, None)
    if certain and old is not None and not _fits(name, old, new):
        ep.before[name] = old


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
    param, bits = call.field("ep_param"), _bits(call)
    attr = param.get("ep_attr") if isinstance(param, dict) else None
    if bits is None or not isinstance(param, dict) or not isinstance(attr, dict):
        return None
    judged: bool | None = None
    for bit in bits & _NAMES.keys():
        name = _NAMES[bit]
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
    bits = _bits(call)
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
    if told != granted and (told in was or (None in was and not _fits(field, told, granted))):
        why = f"{field} is {told}, although {granted} was granted"
        side.deferred.append((field, call, f"ep_modify/{field}", why))


def _fits(field: str, told: Any, granted: Any) -> bool:
    """Whether a value is what was granted, or a number above it (EP-27)."""
    if field not in AT_LEAST:
        return bool(told == granted)
    return isinstance(told, int) and isinstance(granted, int) and told >= granted


@after("dat_ep_query")
def learn(call: Call, ep: Ep, side: Side) -> None:
    param, bits = call.field("ep_param"), _bits(call)
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


@refuses("dat_ep_recv_query", clauses=["ep_recv_query/as_declared"], rulings=["EP-14", "EP-42"])
def recv_query_declared(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    if call.args.get("nbufs_allocated") == "NULL" and call.args.get("bufs_alloc_span") == "NULL":
        return Open("nothing is asked for")
    has = truth(ep, "ep_recv_info_supported", side)
    if has is None:
        return Open("whether counts are supported is not recorded")
    return None if has else may(MODEL, NOT_IMPLEMENTED)


@tells(
    "dat_ep_recv_query",
    clauses=["ep_recv_query/posted", "ep_recv_query/posted_span", "ep_recv_query/completed"],
    rulings=["EP-14", "EP-15", "EP-40"],
)
def recv_query(call: Call, ep: Ep, side: Side) -> bool | str | None:
    """What counts are the receives that were posted and are not complete."""
    has = truth(ep, "ep_recv_info_supported", side)
    count, span = call.field("nbufs_allocated"), call.field("bufs_alloc_span")
    for value in (count, span):
        if value in (None, UNKNOWN):
            continue
        if has is False:
            return f"tells {value}, which the provider declares that it cannot tell"
        if not isinstance(value, int) or value < 0:
            return f"tells {value}, which is no count"
    if isinstance(count, int) and isinstance(span, int) and span < count:
        idle_ep = ep.srq is None and span == 0
        if not idle_ep:
            return f"tells a span of {span}, below its count of {count}"
    if ep.srq is not None:
        return _held(call, ep, side)
    if ep.doubt:
        return None
    posted = len(ep.receives)
    reaped = min(pair[0] for pair in ep.streams)
    most = posted - reaped
    if not call.overlaps and side.trace.hosts == 1:
        most = posted - max(reaped, came(ep, side, call.begin - SETTLED_US))
    least = waiting_least(ep)
    states = now(ep)
    if states == {DISCONNECTED}:
        most = least = 0
    elif not call.overlaps:
        _defer_least(call, ep, side, count, span)
    judged: bool | None = None
    if isinstance(count, int):
        judged = True
        if not least <= count <= most:
            return f"tells {count} receives, not {_range(least, most)}"
    if isinstance(span, int):
        judged = True
        if span > most or (span < least and span != 0):
            return f"tells a span of {span}, not {_range(least, most)}"
    return judged


def _defer_least(call: Call, ep: Ep, side: Side, count: Any, span: Any) -> None:
    """Unless the connection has ended by then, receives without a message wait still.

    Whether it had ended, the next state tells that the EP is seen in.
    """
    connection = ep.connection
    posted = len(ep.receives)
    most = 0
    if connection is not None:
        other = connection.other
        if other is None:
            if now(ep) & CAN_TAKE and not none_accepted(side):
                return
        elif not other.exact or len(ep.connections) != 1:
            return
        else:
            most = len(other.sent)
    least = posted - max(*(pair[0] for pair in ep.streams), min(posted, most), ep.lossy[0])
    if isinstance(count, int) and count < least:
        ep.pending.append((call, f"tells {count} receives, not at least {least}"))
    elif isinstance(span, int) and 0 < span < least:
        ep.pending.append((call, f"tells a span of {span}, not at least {least}"))


ALIVE = frozenset((ACTIVE, COMPLETION_PENDING, PASSIVE, RESERVED, CONNECTED, DISCONNECT_PENDING))


def settle(ep: Ep, told: str, side: Side) -> None:
    """What a state that was told says of answers before it."""
    if ep.pending and told in ALIVE:
        side.proven.extend(ep.pending)
    ep.pending.clear()


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"from {least} to {most}"


def waiting_least(ep: Ep) -> int:
    """The fewest receives of its own that wait for a message."""
    states = now(ep)
    if not states <= BEFORE_REQUEST:
        return 0
    reaped = max(pair[0] for pair in ep.streams)
    return len(ep.receives) - max(reaped, ep.lossy[0])


CAN_TAKE = frozenset((CONNECTED, DISCONNECT_PENDING))


def _is_outside(ep: Ep, side: Side) -> bool:
    """Whether the EP is surely in no connection, or in one that no end has accepted so far."""
    connection = ep.connection
    asks = connection is not None and connection.phase == "pending" and none_accepted(side)
    return asks or not now(ep) & CAN_TAKE


def _held(call: Call, ep: Ep, side: Side) -> bool | str | None:
    """An EP of an SRQ holds receives only while connected, and none that another one holds."""
    count, span = call.field("nbufs_allocated"), call.field("bufs_alloc_span")
    srq: Srq | None = ep.srq
    assert srq is not None
    if _is_outside(ep, side):
        for value in (count, span):
            if isinstance(value, int) and value != 0:
                return f"tells {value} of an EP that can hold no receive"
        return True
    if isinstance(count, int) and count > len(srq.posted):
        return f"tells {count} receives, while {len(srq.posted)} are outstanding"
    if srq.doubt:
        return None
    connection = ep.connection
    other = connection.other if connection is not None else None
    if (
        isinstance(span, int)
        and span > len(srq.posted)
        and other is not None
        and other.exact
        and len(ep.connections) == 1
        and len(other.sent) <= ep.srq_reaped
    ):
        return f"tells a span of {span}, while no message is on its way"
    if isinstance(count, int):
        srq.held[ep] = count
        srq.told_at = min(srq.told_at, call.begin)
    return counts_of(srq, side, call) or True


@refuses("dat_ep_set_watermark", clauses=["ep_set_watermark/as_declared"], rulings=["EP-44"])
def watermarks(_call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    has = truth(ep, "ep_watermarks_supported", side)
    if has is None:
        return Open("whether there are watermarks is not recorded")
    if ep.srq is None:
        return may(MODEL, NOT_IMPLEMENTED)
    return None if has else may(MODEL, NOT_IMPLEMENTED)


@refuses("dat_ep_set_watermark", clauses=["ep_set_watermark/negative"], rulings=["EP-45"])
def marks(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    size = ep.srq.size_least if ep.srq is not None else 0
    for argument in ("soft_high_watermark", "hard_high_watermark"):
        mark = call.arg(argument)
        if mark == INFINITE:
            continue
        if not isinstance(mark, int) or mark < 0 or mark > size:
            return choose()
    return None


@after("dat_ep_set_watermark")
def set_marks(call: Call, ep: Ep, _side: Side) -> None:
    soft = call.arg("soft_high_watermark")
    _remember(ep, "srq_soft_hw", ep.attr.get("srq_soft_hw"), False)
    ep.attr["srq_soft_hw"] = soft
    ep.was["srq_soft_hw"] = frozenset((None,))
    ep.marks += 1
