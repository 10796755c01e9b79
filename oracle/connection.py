# SPDX-License-Identifier: BSD-2-Clause
"""Connections: asked for, given up, ended, and what their ends get to know."""

from typing import Any

from oracle.common import limit
from oracle.ep import in_states, now
from oracle.evd import EVENTS, unknown
from oracle.kernel import (
    INVALID_PARAMETER,
    INVALID_STATE,
    MODEL,
    Breach,
    Handle,
    Open,
    Refusal,
    after,
    choose,
    describe,
    may,
    refuse,
    refuses,
)
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
    Connection,
    Ep,
    Evd,
    Side,
)
from oracle.trace import Call
from oracle.values import flags

ABRUPT = "DAT_CLOSE_ABRUPT_FLAG"
GRACEFUL = "DAT_CLOSE_GRACEFUL_FLAG"
PREFIX = "DAT_CONNECTION_EVENT_"

CONNECT_ERRORS = (
    "INSUFFICIENT_RESOURCES INVALID_PARAMETER INVALID_ADDRESS INVALID_HANDLE INVALID_STATE "
    "MODEL_NOT_SUPPORTED"
)
describe(
    "dat_ep_connect",
    legal="ep_connect/established",
    returns=CONNECT_ERRORS,
    handles=[Handle("ep_handle", "ep", clause="ep_connect/invalid_handle")],
    small=lambda _call, _ep, _side: True,
)
describe(
    "dat_ep_dup_connect",
    legal="ep_dup_connect/established",
    returns=CONNECT_ERRORS,
    handles=[
        Handle("ep_handle", "ep", clause="ep_dup_connect/invalid_ep_handle"),
        Handle("ep_dup_handle", "ep", clause="ep_dup_connect/invalid_ep_dup_handle"),
    ],
    small=lambda _call, _ep, _side: True,
)
describe(
    "dat_ep_disconnect",
    legal="ep_disconnect/ended",
    returns="INVALID_HANDLE INSUFFICIENT_RESOURCES INVALID_PARAMETER INVALID_STATE",
    handles=[Handle("ep_handle", "ep", clause="ep_disconnect/invalid_handle")],
    small=lambda _call, _ep, _side: True,
)


@refuses(
    "dat_ep_connect",
    "dat_ep_dup_connect",
    clauses=["ep_connect/in_state", "ep_dup_connect/in_state"],
    rulings=["EP-20"],
)
def state(_call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    """Who asks for a connection is Unconnected."""
    return in_states(ep, frozenset((UNCONNECTED,)))


@refuses(
    "dat_ep_connect",
    "dat_ep_dup_connect",
    clauses=["ep_connect/bad_private_data_size", "ep_dup_connect/bad_private_data_size"],
    rulings=["EP-23"],
)
def private_data(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    size, most = call.arg("private_data_size"), limit(ep, "max_private_data_size", side)
    if not isinstance(size, int) or most is None:
        return Open("the size of the private data is not recorded")
    if size < 0 or size > most:
        return refuse(INVALID_PARAMETER)
    if size and call.args.get("private_data") == "NULL":
        return Open("a null pointer for private data")
    return may(INVALID_PARAMETER) if call.arg("timeout") == 0 else None


@refuses(
    "dat_ep_connect",
    "dat_ep_dup_connect",
    clauses=["ep_connect/qos", "ep_dup_connect/qos"],
    rulings=["EP-82", "EP-89"],
)
def quality(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    asked = flags(call.arg("quality_of_service")) - {"DAT_QOS_BEST_EFFORT"}
    if not asked:
        return None
    declared = side.attributes.get("dat_qos_supported")
    if declared is None:
        return Open("the qualities are not recorded")
    del ep
    has = flags(declared)
    if any(name.startswith("0x") for name in asked):
        return refuse(MODEL, INVALID_PARAMETER)
    if not asked <= has:
        return refuse(MODEL)
    return may(MODEL) if len(asked) > 1 else None


@refuses("dat_ep_connect", clauses=["ep_connect/multipath"], rulings=["EP-24"])
def connect_flags(call: Call, _ep: Ep, _side: Side) -> Refusal | Open | None:
    given = call.arg("connect_flags")
    if given == "DAT_CONNECT_DEFAULT_FLAG":
        return None
    if given == "DAT_CONNECT_MULTIPATH_FLAG":
        return choose()
    return Open("flags that the page does not list")


@refuses(
    "dat_ep_connect",
    "dat_ep_dup_connect",
    clauses=["ep_connect/established", "ep_dup_connect/established"],
    rulings=["EP-3", "EP-84", "EP-87"],
)
def reachable(call: Call, ep: Ep, side: Side) -> Refusal | Open | None:
    if ep.connect_evd in (None, NULL) or ep.pz is None:
        return choose()
    if call.name == "dat_ep_dup_connect":
        return None
    qualifier = call.arg("remote_conn_qual")
    if not isinstance(qualifier, int) or qualifier > 0xFFFF or qualifier == 0:
        return choose()
    if call.arg("remote_ia_address") != side.attributes.get("ia_address_ptr"):
        return may("DAT_INVALID_ADDRESS", INVALID_PARAMETER)
    return None


@refuses("dat_ep_dup_connect", clauses=["ep_dup_connect/like_in_state"], rulings=["EP-20", "EP-87"])
def duplicated(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    dup = call.objects.get("ep_dup_handle")
    if dup is ep or dup is None:
        return Open("the EP and the duplicated one are the same")
    states = now(dup)
    if DISCONNECT_PENDING in states:
        return may(INVALID_STATE)
    answer = in_states(dup, frozenset((CONNECTED,)))
    if answer is not None:
        return answer
    connection = dup.connection
    if connection is None or not connection.active:
        return choose()
    return None


@after("dat_ep_connect", "dat_ep_dup_connect")
def asked(call: Call, ep: Ep, side: Side) -> None:
    connection = Connection(ep, active=True)
    size = call.arg("private_data_size")
    connection.private_sent = size if isinstance(size, int) else None
    connection.data_sent = call.arg("private_data")
    if call.name == "dat_ep_connect":
        connection.qualifier = call.arg("remote_conn_qual")
    else:
        dup = call.objects.get("ep_dup_handle")
        former = dup.connection if isinstance(dup, Ep) else None
        connection.qualifier = former.qualifier if former is not None else None
    point = side.qualifiers.get(connection.qualifier)
    connection.local = point is not None and point.alive
    connection.number = call.n
    ep.begins(connection)
    side.connects.append(connection)
    peer = side.peer
    if isinstance(peer, Side) and call.n in side.links:
        # The peer was judged before: its end of the connection is known as a whole.
        other = peer.accepts.get(side.links[call.n])
        connection.other = other
        if other is not None:
            connection.private_given = other.private_sent
            connection.data_given = other.data_sent
            connection.accepted_at = other.accepted_at
    ep.states = frozenset((ACTIVE, CONNECTED, DISCONNECTED))


@refuses("dat_ep_disconnect", clauses=["ep_disconnect/bad_flags"])
def close_flags(call: Call, _ep: Ep, _side: Side) -> Refusal | Open | None:
    if call.arg("close_flags") in (ABRUPT, GRACEFUL):
        return None
    return refuse(INVALID_PARAMETER)


@refuses(
    "dat_ep_disconnect",
    clauses=["ep_disconnect/in_state", "ep_disconnect/gracefully_in_state"],
    rulings=["EP-5", "EP-6", "EP-8"],
)
def disconnect_state(call: Call, ep: Ep, _side: Side) -> Refusal | Open | None:
    """There has to be a connection, or one on its way, or one that was."""
    states = now(ep)
    refused = states & {UNCONNECTED, RESERVED, PASSIVE, TENTATIVE}
    if refused == states:
        return refuse(INVALID_STATE)
    if DISCONNECT_PENDING in states and call.arg("close_flags") == GRACEFUL:
        return choose()
    return may(INVALID_STATE) if refused else None


@after("dat_ep_disconnect")
def disconnected(call: Call, ep: Ep, _side: Side) -> None:
    states = now(ep)
    left: set[str] = {DISCONNECTED}
    if states & {CONNECTED, DISCONNECT_PENDING}:
        left |= {CONNECTED, DISCONNECT_PENDING}
    if states & {ACTIVE, COMPLETION_PENDING}:
        left |= states & {ACTIVE, COMPLETION_PENDING}
    ep.states = frozenset(left)
    ep.pending.clear()
    connection = ep.connection
    if connection is not None:
        connection.leaves(call.begin)
        if connection.phase == "pending":
            connection.aborted = True
        if connection.ended_at is None and call.arg("close_flags") == ABRUPT:
            connection.ended_at = call.end


FAILURES = frozenset(("PEER_REJECTED", "NON_PEER_REJECTED", "TIMED_OUT", "UNREACHABLE"))
ENDS = frozenset(("DISCONNECTED", "BROKEN"))


def _next(connection: Connection, name: str) -> str:
    """The phase in which an event leaves a connection; empty where it cannot be."""
    if connection.phase == "pending":
        if name == "ESTABLISHED":
            return "up"
        if connection.active:
            if name in FAILURES:
                return "over"
            if name in ENDS and connection.by_us:
                return "over"
            return ""
        if name == "ACCEPT_COMPLETION_ERROR":
            return "over"
        if name in ("DISCONNECTED", "NON_PEER_REJECTED") and connection.by_us:
            return "over"
        return ""
    if connection.phase == "up" and name in ENDS:
        return "over"
    return ""


def connection_event(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> bool | str | None:
    """A connection event has a connection that it tells of, and comes once."""
    event = call.field("event")
    name = str(event["event_number"]).removeprefix(PREFIX)
    ep = side.get(data.get("ep_handle"))
    if not isinstance(ep, Ep):
        # A wait that began before its EP was made has no name for it.
        for feeder, stream in evd.feeders:
            if isinstance(feeder, Ep) and stream == "connect":
                feeder.lost = "a connection event of an EP that is not known"
        return unknown(call, data.get("ep_handle"), side)
    if ep.lost:
        return None
    if evd.flags is not None and "DAT_EVD_CONNECTION_FLAG" not in evd.flags:
        return f"a connection event on {evd.name}, which is not for such events"
    if ep.connect_evd not in (None, evd.name) and "connect_evd" not in ep.was:
        return f"a connection event of {ep.name}, which reports to {ep.connect_evd}"
    fitting = _fitting(ep, name)
    if not fitting:
        if not ep.connections:
            return f"{name} of {ep.name}, which has asked for no connection and accepted none"
        return f"{name} of {ep.name}, whose connection is {ep.connections[-1].phase}"
    told = _told(fitting, name, side)
    if told is None:
        ep.lost = f"{name} of one of two connections"
        return None
    phase = _next(told, name)
    why = _cause(told, name, side)
    told.phase = phase
    if phase == "up" and ep.srq is not None:
        ep.srq.changes()
    if phase == "over":
        told.ended_at = call.end
    if phase == "over":
        ep.pending.clear()
    if told is ep.connection and ep.alive:
        _moved(ep, told, name)
    if why:
        return f"{name} of {ep.name}, {why}"
    return _private(call, told, data, ep, side) if name == "ESTABLISHED" else True


def _fitting(ep: Ep, name: str) -> list[Connection]:
    """The connections that such an event can tell of; the first of those that live is the last."""
    fitting = []
    for connection in ep.connections:
        if _next(connection, name):
            fitting.append(connection)
        if connection.phase != "over" and not connection.aborted and not connection.by_us:
            break
    return fitting


def _told(fitting: list[Connection], name: str, side: Side) -> Connection | None:
    """The connection that an event tells of; None where it can be one or another (EP-21)."""
    first = fitting[0]
    if len(fitting) == 1 or not first.aborted or first.phase != "pending":
        return first
    fair = [connection for connection in fitting if not _cause(connection, name, side)]
    if len(fair) > 1:
        return None
    told = fair[0] if fair else first
    for passed in fitting[: fitting.index(told)]:
        passed.phase = "over"
    return told


def _cause(connection: Connection, name: str, side: Side) -> str:
    """What must have been done before such an event; empty where it was, or cannot be known."""
    if not connection.local or not connection.active:
        return ""
    request = connection.request
    if request is None:
        return ""
    del side
    if name == "ESTABLISHED" and not connection.accepted:
        return "whose request was not accepted"
    if name == "PEER_REJECTED" and not connection.rejected:
        return "whose request was not rejected"
    return ""


def _moved(ep: Ep, connection: Connection, name: str) -> None:
    if name == "ESTABLISHED":
        if not connection.by_us:
            ep.states = frozenset((CONNECTED,))
        return
    if now(ep) & {DISCONNECTED}:
        ep.states = frozenset((DISCONNECTED,))


def _private(
    call: Call, connection: Connection, data: dict[str, Any], ep: Ep, side: Side
) -> bool | str | None:
    """The end that asked gets the private data of the acceptance, the other one none."""
    size = data.get("private_data_size")
    if not isinstance(size, int):
        return True
    if not connection.active:
        row = f"{call.name.removeprefix('dat_')}/event/established_passive"
        return True if size == 0 else Breach(row, f"private_data_size is {size}, and there is none")
    most = limit(ep, "max_private_data_size", side)
    given = connection.private_given
    if size < 0 or (most is not None and size > most):
        return f"private_data_size is {size}, which no private data has"
    if given is not None and size < given:
        return f"private_data_size is {size}, although {given} bytes were given"
    if not holds(data.get("private_data"), connection.data_given):
        return "the private data is not what was given with the acceptance"
    return True


def holds(told: Any, given: Any) -> bool:
    """Whether private data that is reported begins with what was given (CR-2)."""
    if not isinstance(given, dict) or not isinstance(given.get("hex"), str):
        return True
    if given.get("length") == 0:
        return True
    if told == "NULL":
        return False
    if not isinstance(told, dict) or not isinstance(told.get("hex"), str):
        return True
    return str(told["hex"]).startswith(given["hex"])


for _name in (
    "ESTABLISHED",
    "PEER_REJECTED",
    "NON_PEER_REJECTED",
    "ACCEPT_COMPLETION_ERROR",
    "DISCONNECTED",
    "BROKEN",
    "TIMED_OUT",
    "UNREACHABLE",
):
    EVENTS[f"{PREFIX}{_name}"] = connection_event
