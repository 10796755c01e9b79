# SPDX-License-Identifier: BSD-2-Clause
"""Posts to endpoints and their completions: each comes once, in order, as what was posted."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oracle.dto import PRIVILEGES, PROTECTION, bad_from, check_segments, room_of
from oracle.ep import (
    DEFAULT_FLAG,
    FENCE,
    SOLICITED,
    SUPPRESS,
    THRESHOLD,
    UNSIGNALLED,
    in_states,
    now,
)
from oracle.evd import EVENTS, unknown
from oracle.kernel import (
    ANY_ERROR,
    INSUFFICIENT,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    Breach,
    Handle,
    Open,
    Refusal,
    after,
    choose,
    describe,
    may,
    racing,
    refuse,
    refuses,
)
from oracle.lmr import is_inside, lmr_of, privileges
from oracle.messages import acked, begins, is_quiet, met
from oracle.state import (
    CONNECTED,
    DISCONNECTED,
    Connection,
    Ep,
    Evd,
    Lmr,
    Receive,
    Request,
    Rmr,
    Side,
    Srq,
)
from oracle.trace import Call
from oracle.values import flags
from oracle.windows import REMOTE, reach_of, reached

LENGTH = "DAT_LENGTH_ERROR"
SUCCESS = "DAT_DTO_SUCCESS"
FLUSHED = "DAT_DTO_ERR_FLUSHED"
LOCAL_LENGTH = "DAT_DTO_ERR_LOCAL_LENGTH"

POST_ERRORS = (
    "INSUFFICIENT_RESOURCES INVALID_PARAMETER INVALID_HANDLE INVALID_STATE LENGTH_ERROR "
    "PROTECTION_VIOLATION PRIVILEGES_VIOLATION"
)
KINDS = {
    "dat_ep_post_send": "send",
    "dat_ep_post_rdma_write": "write",
    "dat_ep_post_rdma_read": "read",
    "dat_rmr_bind": "bind",
}
FLAGS = {
    "send": frozenset((SUPPRESS, SOLICITED, UNSIGNALLED, FENCE)),
    "write": frozenset((SUPPRESS, UNSIGNALLED, FENCE)),
    "read": frozenset((SUPPRESS, UNSIGNALLED, FENCE)),
    "bind": frozenset((SUPPRESS, UNSIGNALLED, FENCE)),
    "recv": frozenset((UNSIGNALLED,)),
}
NAMED_FLAGS = frozenset((SUPPRESS, SOLICITED, UNSIGNALLED, FENCE, THRESHOLD))


def _room(call: Call, _obj: Any, _side: Side) -> bool:
    """A lack of resources is judged by the rule about places."""
    del call
    return True


for _name, _legal in (
    ("dat_ep_post_recv", "ep_post_recv/in_state"),
    ("dat_ep_post_send", "ep_post_send/in_state"),
    ("dat_ep_post_rdma_write", "ep_post_rdma_write/in_state"),
    ("dat_ep_post_rdma_read", "ep_post_rdma_read/in_state"),
):
    describe(
        _name,
        legal=_legal,
        returns=POST_ERRORS,
        handles=[Handle("ep_handle", "ep", clause=f"{_name.removeprefix('dat_')}/invalid_handle")],
        small=_room,
    )
describe(
    "dat_rmr_bind",
    legal="rmr_bind/inside",
    returns=POST_ERRORS + " MODEL_NOT_SUPPORTED",
    handles=[
        Handle("rmr_handle", "rmr", clause="rmr_bind/invalid_rmr_handle"),
        Handle("ep_handle", "ep", clause="rmr_bind/invalid_ep_handle"),
    ],
    small=_room,
)


TRANSFERS = ("ep_post_recv", "ep_post_send", "ep_post_rdma_write", "ep_post_rdma_read")
RDMA = ("ep_post_rdma_write", "ep_post_rdma_read")


def _of_pages(name: str, *pages: str) -> list[str]:
    """The clauses of one name on several pages."""
    return [f"{page}/{name}" for page in pages]


def _ep(call: Call) -> Ep:
    ep = call.objects["ep_handle"]
    assert isinstance(ep, Ep)
    return ep


@refuses("dat_ep_post_recv", clauses=["ep_post_recv/with_srq"], rulings=["EP-9"])
def of_srq(call: Call, _ep_: Any, _side: Side) -> Refusal | Open | None:
    """Receives cannot be posted to an EP with an SRQ."""
    return Refusal(ANY_ERROR) if _ep(call).srq is not None else None


@refuses(
    *KINDS,
    clauses=_of_pages("in_state", "ep_post_send", *RDMA, "rmr_bind"),
    rulings=["EP-86"],
)
def state(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """Requests are for Connected and Disconnected EPs."""
    return in_states(_ep(call), frozenset((CONNECTED, DISCONNECTED)))


@refuses(
    "dat_ep_post_recv",
    *KINDS,
    clauses=_of_pages("undefined_flags", *TRANSFERS, "rmr_bind"),
    rulings=["DTO-6", "DTO-41", "RMR-5"],
)
def undefined_flags(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """Flags that the page does not name are refused; those of other posts may be."""
    kind = KINDS.get(call.name, "recv")
    text = call.arg("completion_flags")
    if text is None:
        return Open("the flags are not recorded")
    named = flags(text) - {DEFAULT_FLAG, "0x0"}
    if not named <= NAMED_FLAGS:
        return refuse(INVALID_PARAMETER)
    return None if named <= FLAGS[kind] else may(INVALID_PARAMETER)


@refuses(
    "dat_ep_post_recv",
    *KINDS,
    clauses=_of_pages("unsignalled_unconfigured", *TRANSFERS, "rmr_bind"),
    rulings=["DTO-6", "DTO-41", "RMR-5"],
)
def unsignalled_unconfigured(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """Notification is left to the consumer only on an EP that is configured for it."""
    text = call.arg("completion_flags")
    if text is None or UNSIGNALLED not in flags(text):
        return None
    ep = _ep(call)
    receives = call.name == "dat_ep_post_recv"
    field = "recv_completion_flags" if receives else "request_completion_flags"
    configured = _values(ep, field)
    if None in configured:
        return Open("the flags of the EP are not known")
    if UNSIGNALLED not in configured:
        return refuse(INVALID_PARAMETER)
    return None if configured == {UNSIGNALLED} else may(INVALID_PARAMETER)


@refuses(
    "dat_ep_post_recv",
    "dat_ep_post_send",
    "dat_ep_post_rdma_write",
    "dat_ep_post_rdma_read",
    clauses=_of_pages("negative_segments", *TRANSFERS),
    rulings=["DTO-1", "DTO-40", "DTO-48"],
)
def segments(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    ep, kind = _ep(call), KINDS.get(call.name, "recv")
    count = call.arg("num_segments")
    if not isinstance(count, int):
        return Open("num_segments is not recorded")
    if count < 0:
        return refuse(INVALID_PARAMETER)
    if kind in ("write", "read") and count == 0:
        return choose()
    field = {
        "recv": "max_recv_iov",
        "send": "max_request_iov",
        "write": "max_rdma_write_iov",
        "read": "max_rdma_read_iov",
    }[kind]
    most = _least(ep, field)
    if most is None:
        return Open("how many segments the EP takes is not known")
    return may(INSUFFICIENT, INVALID_PARAMETER) if count > most else None


def _values(ep: Ep, field: str) -> frozenset[Any]:
    """What an attribute of an EP may be: after some changes it may still be what it was (EP-17)."""
    was: frozenset[Any] = ep.was.get(field, frozenset())
    return was | {ep.attr.get(field)}


def _least(ep: Ep, field: str) -> int | None:
    """The least that a number among the attributes may be; None where it is not known."""
    values = [value for value in _values(ep, field) if isinstance(value, int)]
    return min(values) if len(values) == len(_values(ep, field)) else None


@refuses(
    "dat_ep_post_recv", clauses=["ep_post_recv/wrong_segment"], rulings=["EP-1", "EP-10", "GEN-9"]
)
def recv_vector(call: Call, _obj: Any, side: Side) -> Refusal | Open | None:
    ep = _ep(call)
    if ep.srq is not None or "pz" in ep.was:
        return Open("a vector of an EP whose zone is not known")
    return check_segments(call, ep, ep.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG")


@refuses(
    "dat_ep_post_send",
    "dat_ep_post_rdma_write",
    "dat_ep_post_rdma_read",
    clauses=["ep_post_send/wrong_segment", *_of_pages("local_refused", *RDMA)],
    rulings=["EP-1", "GEN-9", "DTO-42", "DTO-46"],
)
def request_vector(call: Call, _obj: Any, side: Side) -> Refusal | Open | None:
    ep, kind = _ep(call), KINDS[call.name]
    if "pz" in ep.was:
        return Open("a vector of an EP whose zone is not known")
    privilege = "WRITE" if kind == "read" else "READ"
    answer = check_segments(call, ep, ep.pz, side, f"DAT_MEM_PRIV_LOCAL_{privilege}_FLAG")
    allowed: set[str] = set(answer.returns) if isinstance(answer, Refusal) else set()
    total = room_of(call)
    size = ep.attr.get("max_message_size" if kind == "send" else "max_rdma_size")
    if total is None or not isinstance(size, int):
        return answer or Open("the length is not known")
    if total > size or "max_rdma_size" in ep.was or "max_message_size" in ep.was:
        allowed |= ANY_ERROR
    if kind != "send":
        remote = call.arg("remote_iov")
        length = remote.get("segment_length") if isinstance(remote, dict) else None
        if not isinstance(length, int):
            return Open("the remote buffer is not recorded")
        if length != total:
            allowed.add(LENGTH)
        if length == 0 or length > size:
            allowed |= ANY_ERROR
        # What the other side has, and allows, a provider may know.
        allowed |= {PROTECTION, PRIVILEGES}
        lmr = side.get(remote.get("rmr_context"))
        if not isinstance(lmr, Lmr) or not lmr.alive or not _reaches(remote, lmr):
            allowed.add(INVALID_PARAMETER)
    if isinstance(answer, Open):
        return answer
    return may(*allowed) if allowed else None


def _reaches(remote: dict[str, Any], lmr: Lmr) -> bool:
    """Whether the remote buffer surely lies in an LMR of this process."""
    return is_inside({**remote, "virtual_address": remote.get("target_address")}, lmr) is True


@refuses(
    "dat_ep_post_recv",
    *KINDS,
    clauses=_of_pages("one_too_many", *TRANSFERS, "rmr_bind"),
    rulings=["DTO-1", "DTO-5", "DTO-45"],
)
def places(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """With all places taken there may be none; before that there is one."""
    ep = _ep(call)
    receives = call.name == "dat_ep_post_recv"
    field = "max_recv_dtos" if receives else "max_request_dtos"
    most = ep.attr.get(field)
    if ep.doubt or not isinstance(most, int) or field in ep.was:
        return may(INSUFFICIENT)
    if receives:
        if ep.srq is not None:
            return None
        taken = len(ep.receives) - min(pair[0] for pair in ep.streams)
    else:
        taken = len(ep.requests) - min(pair[1] for pair in ep.streams)
    if taken >= most:
        return may(INSUFFICIENT)
    if call.name == "dat_ep_post_rdma_read":
        out = ep.attr.get("max_rdma_read_out")
        reads = sum(request.kind == "read" for request in ep.requests)
        if not isinstance(out, int) or reads >= out:
            return may(INSUFFICIENT, INVALID_PARAMETER)
    return None


@refuses(
    "dat_rmr_bind",
    clauses=["rmr_bind/other_zone", "rmr_bind/beyond_lmr"],
    rulings=["GEN-9", "RMR-5", "RMR-7", "EP-1"],
)
def bind(call: Call, _obj: Any, side: Side) -> Refusal | Open | None:
    ep, rmr = _ep(call), call.objects["rmr_handle"]
    triplet = call.arg("lmr_triplet")
    if not isinstance(triplet, dict) or "pz" in ep.was:
        return Open("the region is not recorded")
    allowed: set[str] = set()
    asked = privileges(call.arg("mem_priv"))
    if any(name.startswith("0x") for name in asked):
        return refuse(INVALID_PARAMETER, PRIVILEGES)
    if asked - {"DAT_MEM_PRIV_REMOTE_READ_FLAG", "DAT_MEM_PRIV_REMOTE_WRITE_FLAG"}:
        allowed |= {INVALID_PARAMETER, PRIVILEGES}
    if rmr.pz is not ep.pz:
        allowed |= {PROTECTION, INVALID_PARAMETER}
    if triplet.get("segment_length") == 0:
        return Open("a bind of no bytes") if allowed else None
    lmr = lmr_of(triplet, side, ep.ia)
    if lmr is None or lmr.lost or not lmr.alive or lmr.ia is not ep.ia:
        return may(INVALID_PARAMETER, PROTECTION, PRIVILEGES, INVALID_HANDLE)
    if lmr.pz is not ep.pz or lmr.pz is not rmr.pz:
        allowed |= {PROTECTION, INVALID_PARAMETER}
    for kind in ("READ", "WRITE"):
        if f"DAT_MEM_PRIV_REMOTE_{kind}_FLAG" in asked and (
            f"DAT_MEM_PRIV_LOCAL_{kind}_FLAG" not in lmr.privileges
        ):
            allowed.add(PRIVILEGES)
    inside = is_inside(triplet, lmr)
    if inside is not True:
        allowed.add(INVALID_PARAMETER)
        if inside is None:
            return Open("where the region lies is not known")
    return may(*allowed) if allowed else None


def _doubt_races(call: Call, ep: Ep) -> None:
    if call.overlaps and racing(call):
        ep.doubt = "posted by several threads at once"


@after("dat_ep_post_recv")
def posted_recv(call: Call, ep: Ep, side: Side) -> None:
    count = call.arg("num_segments")
    receive = Receive(
        call.arg("user_cookie"), room_of(call), count if isinstance(count, int) else 0
    )
    receive.maybe_bad = (
        check_segments(call, ep, ep.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG") is not None
    )
    receive.bad_from = bad_from(call, ep, ep.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG")
    receive.at = call.end
    receive.n = call.n
    ep.receives.append(receive)
    _doubt_races(call, ep)


@after(*KINDS)
def posted_request(call: Call, _obj: Any, side: Side) -> None:
    ep, kind = call.objects.get("ep_handle"), KINDS[call.name]
    if not isinstance(ep, Ep):
        return
    count = call.arg("num_segments")
    length = None if kind == "bind" else room_of(call)
    request = Request(kind, call.arg("user_cookie"), length, count if isinstance(count, int) else 0)
    request.suppressed = SUPPRESS in flags(call.arg("completion_flags"))
    if kind == "read":
        remote = call.arg("remote_iov")
        told = remote.get("segment_length") if isinstance(remote, dict) else None
        # What is read fills the vector as far as it goes.
        fits = isinstance(told, int) and length is not None and told <= length
        request.length = told if fits else None
    if kind == "bind":
        rmr = call.objects["rmr_handle"]
        request.rmr = rmr.name if rmr is not None else ""
        if isinstance(rmr, Rmr):
            _bound(call, rmr, ep, side)
    request.turn = len(ep.connections)
    request.begin = call.begin
    ep.requests.append(request)
    connection = ep.connection
    if kind == "send" and connection is not None:
        connection.sent.append((length, call.end, call.memory.get("digest"), call.begin))
        if call.overlaps:
            connection.exact = False
    request.at = call.end
    request.n = call.n
    request.memory = call.memory
    if kind in REMOTE:
        request.reach = reach_of(call, kind, connection, side)
    if kind != "bind" and "pz" not in ep.was:
        privilege = "WRITE" if kind == "read" else "READ"
        request.bad_from = bad_from(call, ep, ep.pz, side, f"DAT_MEM_PRIV_LOCAL_{privilege}_FLAG")
    _doubt_races(call, ep)


def _bound(call: Call, rmr: Rmr, ep: Ep, side: Side) -> None:
    """What an RMR is bound to; over an EP that is not surely Connected, it may be the former."""
    triplet = call.arg("lmr_triplet")
    former = rmr.binding.get("lmr") if rmr.binding else None
    if isinstance(former, Lmr):
        former.bound.discard(rmr)
        former.maybe.add(rmr)
    rmr.binding = None
    rmr.known = False
    if not isinstance(triplet, dict):
        return
    lmr = lmr_of(triplet, side, ep.ia)
    for other in side.objects.values():
        if isinstance(other, Lmr) and rmr in other.bound:
            other.bound.discard(rmr)
            other.maybe.add(rmr)
    if triplet.get("segment_length") == 0 or lmr is None:
        return
    lmr.maybe.add(rmr)
    rmr.binding = {
        "triplet": triplet if str(triplet.get("virtual_address")).startswith(lmr.name) else None,
        "privileges": privileges(call.arg("mem_priv")),
        "context": call.field("context"),
        "lmr": lmr,
        "made": False,
    }
    if now(ep) != {CONNECTED, DISCONNECTED} and now(ep) != {CONNECTED}:
        rmr.binding = None


# Completions


def _recv_fits(receive: Receive, data: dict[str, Any]) -> str:
    """Why a completion is not that of this receive; empty where it may be."""
    if data.get("user_cookie") != receive.cookie:
        return f"the cookie is {data.get('user_cookie')}, not {receive.cookie}"
    if data.get("status") == SUCCESS and receive.length is not None:
        length = data.get("transfered_length")
        if isinstance(length, int) and length > receive.length:
            return f"the length is {length}, beyond the receive's {receive.length}"
    return ""


def _request_fits(request: Request, data: dict[str, Any], bind: bool) -> str:
    if (request.kind == "bind") != bind:
        return f"a completion of another kind than the {request.kind} that was posted"
    if data.get("user_cookie") != request.cookie:
        return f"the cookie is {data.get('user_cookie')}, not {request.cookie}"
    if data.get("status") == SUCCESS:
        if request.suppressed:
            return "a success that was to be suppressed"
        length = data.get("transfered_length")
        known = not bind and request.length is not None and isinstance(length, int)
        if known and length != request.length:
            return f"the length is {length}, not {request.length}"
    return ""


@dataclass(frozen=True, slots=True)
class Message:
    """What has come to a receive, where it is sure which: nothing is known of what was not seen."""

    receive: Receive
    of_srq: bool
    length: int | None = None  # of what was sent
    digest: Any = None


@dataclass(frozen=True, slots=True)
class TooLong:
    """Why a receive that was flushed has had a message for which it is too short."""

    of_srq: bool
    why: str


def _lost_track(ep: Ep, why: str) -> None:
    ep.doubt = why


def completion(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> bool | str | None:
    """A DTO or bind that completes is one that was posted, and the next of its queue."""
    bind = "rmr_handle" in data
    ep = side.get(data.get("ep_handle")) if not bind else None
    if bind:
        return _bind_completion(call, evd, data, side)
    if isinstance(ep, Srq):
        why = f"the completion names {ep.name}, and not the EP"
        return Breach("srq_post_recv/completion_names_ep", why)
    if not isinstance(ep, Ep):
        # A wait that began before its EP was made has no name for it.
        for feeder, _ in evd.feeders:
            if isinstance(feeder, Ep):
                _lost_track(feeder, "a completion of an EP that is not known")
        return unknown(call, data.get("ep_handle"), side)
    if ep.lost:
        return None
    on_recv, on_request = evd.name in ep.recv_evds, evd.name in ep.request_evds
    if not on_recv and not on_request:
        if ep.origin == "provider" and not ep.recv_evds:
            return None
        return f"a completion of {ep.name}, which does not report DTOs to {evd.name}"
    if ep.srq is not None and on_recv:
        return _srq_completion(call, ep, data, side, on_request)
    return _stream(call, ep, data, side, (on_recv, on_request), False)


def _stream(
    call: Call, ep: Ep, data: dict[str, Any], side: Side, streams: tuple[bool, bool], bind: bool
) -> bool | str | None:
    on_recv, on_request = streams
    if ep.doubt:
        return None
    after_it: set[tuple[int, int]] = set()
    may_receive = may_request = False
    why = ""
    for received, requested in ep.streams:
        if on_recv and not bind:
            at = received
            while at < len(ep.receives):
                misfit = _recv_fits(ep.receives[at], data)
                if not misfit:
                    after_it.add((at + 1, requested))
                    may_receive = True
                elif not why:
                    why = misfit
                if at >= ep.lossy[0]:
                    break
                at += 1
            else:
                why = why or "a completion more than there were receives"
        if on_request:
            at = requested
            while at < len(ep.requests):
                request = ep.requests[at]
                misfit = _request_fits(request, data, bind)
                if not misfit:
                    after_it.add((received, at + 1))
                    may_request = True
                elif not why:
                    why = misfit
                if not request.suppressed and at >= ep.lossy[1]:
                    break
                at += 1
            else:
                why = why or "a completion more than there were requests"
    if not after_it:
        _lost_track(ep, "a completion that was not expected")
        return f"of {ep.name}: {why}"
    message = ""
    if may_receive and may_request:
        if ep.connection is not None:
            ep.connection.exact = False
    elif may_receive:
        message = _message(call, ep, data, [ep.receives[pair[0] - 1] for pair in after_it], side)
    if len(after_it) == 1 and not message:
        ((received, requested),) = after_it
        if may_receive:
            message = _violation(data, [ep.receives[received - 1]])
        else:
            _acked(ep, requested, call, data)
            request = ep.requests[requested - 1]
            if not bind:
                message = _violation(data, [request])
                call.objects["reached"] = reached(request.reach, data, request.kind, side)
                if data.get("status") == SUCCESS:
                    call.objects["moved"] = request
    _failed(ep, data)
    ep.streams = frozenset(after_it) if len(after_it) <= 16 else ep.streams
    if len(after_it) > 16:
        _lost_track(ep, "too many explanations")
    return f"of {ep.name}: {message}" if message else _status(ep, data)


def _message(call: Call, ep: Ep, data: dict[str, Any], receives: list[Receive], side: Side) -> str:
    """A receive that completes has the next message of its connection."""
    connection = ep.connection
    status = data.get("status")
    if status == SUCCESS and len(receives) == 1:
        call.objects["message"] = Message(receives[0], ep.srq is not None)
    if connection is None or len(ep.connections) != 1:
        return ""
    if status == FLUSHED and acked(side, connection, call.begin) > connection.reaped:
        return "flushed, although its message was received"
    if status == FLUSHED and len(receives) == 1:
        why = _too_long(ep, connection, receives[0], side)
        call.objects["too_long"] = TooLong(ep.srq is not None, why) if why else None
    if status not in (SUCCESS, LOCAL_LENGTH):
        return ""
    at = connection.reaped
    connection.reaped += 1
    other = connection.other
    if other is None or not other.exact or not connection.exact:
        return ""
    if at >= len(other.sent):
        return f"a message is told, although the other end has sent {len(other.sent)} and no more"
    length, told = other.sent[at][0], data.get("transfered_length")
    if length is None:
        return ""
    room = [receive.length for receive in receives]
    if status == SUCCESS and isinstance(told, int) and told != length:
        return f"the length is {told}, and the message has {length} bytes"
    if status == SUCCESS and len(receives) == 1:
        call.objects["message"] = Message(
            receives[0], ep.srq is not None, length, other.sent[at][2]
        )
    if None in room:
        return ""
    if status == SUCCESS and all(length > (one or 0) for one in room):
        return f"a success, although the message has {length} bytes, and the receive {room[0]}"
    if status == LOCAL_LENGTH and all(length <= (one or 0) for one in room):
        return f"too long, although the message has {length} bytes, and the receive {room[0]}"
    return ""


def _failed(ep: Ep, data: dict[str, Any]) -> None:
    """A transfer that fails, and is not flushed only, ends the connection."""
    if ep.connection is not None and data.get("status") not in (SUCCESS, FLUSHED):
        ep.connection.failed = True


def _acked(ep: Ep, requested: int, call: Call, data: dict[str, Any]) -> None:
    """Of a request that succeeded, all sends up to it have been received."""
    connection = ep.connection
    if connection is None or len(ep.connections) != 1 or data.get("status") != SUCCESS:
        return
    sends = sum(request.kind == "send" for request in ep.requests[:requested])
    connection.acked.extend([call.end] * (sends - len(connection.acked)))


def _too_long(ep: Ep, connection: Connection, receive: Receive, side: Side) -> str:
    """A receive for which the next message was too long completes so, and is not flushed.

    Only if nothing else can have ended the connection: no end has disconnected, no earlier receive
    has failed, and the requests of both are sends, of which each earlier one was received.
    """
    other, at = connection.other, connection.reaped
    if other is None or not other.exact or not connection.exact or receive.length is None:
        return ""
    if connection.by_us or connection.failed or other.by_us:
        return ""
    if side.trace.hosts != 1 or at >= len(other.sent):
        return ""
    if ep.requests or any(request.kind != "send" for request in other.ep.requests):
        return ""
    length = other.sent[at][0]
    if length is None or length <= receive.length or len(other.ep.connections) != 1:
        return ""
    if ep.srq is None and met(side, connection, ep.receives) <= at:
        return ""
    if ep.srq is not None and not _surely_met(ep.srq, side, connection, receive):
        return ""
    return f"is flushed, although the message has {length} bytes, and the receive {receive.length}"


def _surely_met(srq: Srq, side: Side, connection: Connection, receive: Receive) -> bool:
    """Whether a receive was on the SRQ before the next message, and no longer one was."""
    begun = begins(side, connection)[connection.reaped]
    return receive.at <= begun and all(
        one.length is not None and one.length <= (receive.length or 0) for one in srq.posted
    )


def _violation(data: dict[str, Any], moved: Sequence[Receive]) -> str:
    """Success, although memory was moved that may not be (GEN-9)."""
    length: Any = data.get("transfered_length")
    for one in moved:
        bad = one.bad_from
        if bad is None or data.get("status") != SUCCESS or not isinstance(length, int):
            continue
        if length > bad:
            return "a success, although its memory may not be used so"
    return ""


def _status(ep: Ep, data: dict[str, Any]) -> bool | str | None:
    """Flushed is what was outstanding when the connection ended, or is posted after it."""
    status = data.get("status")
    if status == FLUSHED and ep.alive and not ep.connections and not ep.ever:
        return f"of {ep.name}: flushed, although it was never connected"
    if status == SUCCESS and not ep.ever:
        return f"of {ep.name}: a success, although it was never connected"
    return True


def _srq_completion(
    call: Call, ep: Ep, data: dict[str, Any], side: Side, on_request: bool
) -> bool | str | None:
    srq = ep.srq
    assert srq is not None
    if srq.doubt and not any(r.cookie == data.get("user_cookie") for r in srq.posted):
        return None
    if on_request and ep.requests:
        head = [ep.requests[pair[1]] for pair in ep.streams if pair[1] < len(ep.requests)]
        if any(not _request_fits(request, data, False) for request in head):
            if any(not _recv_fits(receive, data) for receive in srq.posted):
                srq.doubt, srq.fresh = "a completion may be a receive or a request", None
                _lost_track(ep, srq.doubt)
                return None
            return _stream(call, ep, data, side, (False, True), False)
    why = "no receive is outstanding on the SRQ"
    for receive in srq.posted:
        misfit = _recv_fits(receive, data)
        if not misfit:
            srq.posted.remove(receive)
            srq.reaps(call.end)
            if srq.fresh:
                srq.fresh -= 1
            none_held = data.get("status") == FLUSHED and _holds_none(ep, srq, side, call)
            srq.changes()
            if receive.n < ep.reused_at:
                # It may be of the EP that is gone.
                if ep.connection is not None:
                    ep.strays += 1
                    ep.connection.exact = False
                return None
            if none_held:
                return f"of {ep.name}: flushed, although it held no receive when it was queried"
            _failed(ep, data)
            if data.get("status") in (SUCCESS, LOCAL_LENGTH):
                ep.srq_reaped += 1
                ep.high.reaped.append(call.end)
            same = [one for one in srq.posted if one.cookie == receive.cookie]
            message = _message(call, ep, data, [receive, *same], side)
            message = message or (_violation(data, [receive]) if not same else "")
            return f"of {ep.name}: {message}" if message else _status(ep, data)
        why = f"no outstanding receive of the SRQ fits: {misfit}"
    if on_request and ep.requests:
        return _stream(call, ep, data, side, (False, True), False)
    srq.doubt, srq.fresh = "a completion that was not expected", None
    return f"of {ep.name}: {why}"


def _holds_none(ep: Ep, srq: Srq, side: Side, call: Call) -> bool:
    """Whether the EP has told that it holds none, and nothing has come since."""
    if srq.held.get(ep) != 0 or srq.doubt or side.threads:
        return False
    return is_quiet(srq, side, srq.told_at - side.trace.settled_us, call.end)


def _bind_completion(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> bool | str | None:
    rmr = data.get("rmr_handle")
    if side.get(rmr) is None:
        return unknown(call, rmr, side)
    eps = [
        ep
        for ep in side.objects.values()
        if isinstance(ep, Ep)
        and evd.name in ep.request_evds
        and any(request.kind == "bind" and request.rmr == rmr for request in ep.requests)
    ]
    if not eps:
        return f"a bind of {rmr}, which was not bound over an EP of {evd.name}"
    if any(ep.doubt or ep.lost for ep in eps):
        return None
    if len(eps) > 1:
        for ep in eps:
            _lost_track(ep, "binds of one RMR over several EPs")
        return None
    ep = eps[0]
    fits = [
        ep.requests[pair[1]].rmr == rmr
        for pair in ep.streams
        if pair[1] < len(ep.requests) and not ep.requests[pair[1]].suppressed
    ]
    told = _stream(call, ep, data, side, (False, True), True)
    if told is True and fits and not any(fits):
        return f"the bind of {rmr} completes before those posted earlier"
    if told is True:
        _made(ep, str(rmr), data, side)
    return told


def _made(ep: Ep, name: str, data: dict[str, Any], side: Side) -> None:
    """A bind that succeeded, and that no other one has followed, is in force."""
    rmr = side.get(name)
    if not isinstance(rmr, Rmr):
        return
    if data.get("status") != SUCCESS:
        rmr.binding = None
        return
    later = any(
        request.kind == "bind" and request.rmr == name
        for other in side.objects.values()
        if isinstance(other, Ep)
        for request in other.requests[min(pair[1] for pair in other.streams) :]
    )
    if later or rmr.binding is None:
        return
    rmr.binding["made"] = True
    lmr = rmr.binding["lmr"]
    for other_lmr in side.objects.values():
        if isinstance(other_lmr, Lmr):
            other_lmr.maybe.discard(rmr)
    lmr.bound.add(rmr)


EVENTS["DAT_DTO_COMPLETION_EVENT"] = completion
EVENTS["DAT_RMR_BIND_COMPLETION_EVENT"] = completion
