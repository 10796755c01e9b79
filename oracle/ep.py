# SPDX-License-Identifier: BSD-2-Clause
"""Endpoints: made, reset, freed. For posts see posts.py."""

from typing import Any

from oracle.common import (
    few,
    limit,
    made,
    new_handle,
    truth,
)
from oracle.kernel import (
    INSUFFICIENT,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    INVALID_STATE,
    MODEL,
    NOT_IMPLEMENTED,
    Handle,
    Open,
    Refusal,
    after,
    choose,
    describe,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.messages import is_spent
from oracle.state import (
    ACTIVE,
    COMPLETION_PENDING,
    CONNECTED,
    DISCONNECT_PENDING,
    DISCONNECTED,
    NULL,
    PASSIVE,
    RESERVED,
    TENTATIVE,
    UNCONNECTED,
    Ep,
    Evd,
    Side,
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
            if is_of_binds(evd, stream):
                refusal = may(INVALID_HANDLE, INVALID_PARAMETER)
                continue
            return refuse(INVALID_HANDLE, INVALID_PARAMETER)
    return refusal


def is_of_binds(evd: Evd, stream: str) -> bool:
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
