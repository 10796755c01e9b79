# SPDX-License-Identifier: BSD-2-Clause
"""What has surely been sent over connections, by a time of this process.

A message that finds no receive may wait, or end the connection: it depends on the transport.
"""

from collections.abc import Sequence

from oracle.pairing import SMALL_MESSAGE
from oracle.state import (
    DISCONNECTED,
    PASSIVE,
    RESERVED,
    TENTATIVE,
    UNCONNECTED,
    Connection,
    Ep,
    Evd,
    Receive,
    Request,
    Side,
    Srq,
)
from oracle.trace import Call


def since(side: Side, connection: Connection, at: float) -> float:
    """When something was done at the other end, by this process's clock; late at the latest."""
    other = connection.other
    if other is None:
        return 1e18
    if side.objects.get(other.ep.name) is other.ep:
        return at
    return at + side.offset[1] if side.offset is not None else 1e18


def begins(side: Side, connection: Connection) -> list[float]:
    """When each message of the other end was sent, by this process's clock; early at the latest."""
    other = connection.other
    if other is None:
        return []
    begun = [begin for _length, _at, _digest, begin in other.sent]
    if side.objects.get(other.ep.name) is other.ep:
        return begun
    least = side.offset[0] if side.offset is not None else -1e18
    return [begin + least for begin in begun]


def met(side: Side, connection: Connection, receives: Sequence[Receive]) -> int:
    """How many messages of a connection, from its first, have surely found their receives."""
    count = 0
    for begun, receive in zip(begins(side, connection), receives, strict=False):
        if receive.at > begun:
            break
        count += 1
    return count


def all_met(srq: Srq, side: Side) -> bool:
    """Whether each message to an EP of the SRQ that was not reaped surely found a receive."""
    begun: list[float] = []
    found = 0  # receives of messages that are known to have been received
    for ep in srq.eps:
        if ep.connection is not None:
            known = max(ep.srq_reaped, acked(side, ep.connection, 1e17))
            found += known - ep.srq_reaped
            begun += begins(side, ep.connection)[known:]
    posted = sorted(receive.at for receive in srq.posted)
    if srq.doubt:
        # Which of them are surely there is not known: at the latest the last ones.
        posted = posted[len(posted) - srq.outstanding_least :]
    posted = posted[found:]
    return len(begun) <= len(posted) and all(
        at <= when for at, when in zip(posted, sorted(begun), strict=False)
    )


def acked(side: Side, connection: Connection, until: float) -> int:
    """How many messages of a connection had surely been received by a time: their sends succeeded.

    This tells something only if a completion comes from the other end.
    """
    other = connection.other
    if other is None or not other.exact or len(other.ep.connections) != 1:
        return 0
    if side.attributes.get("end_to_end_completion_supported") is not True:
        return 0
    return sum(since(side, connection, at) + side.trace.acked_us <= until for at in other.acked)


def early(side: Side, end: Connection, at: float) -> float:
    """When something was done at an end, by this process's clock; early at the latest."""
    if side.objects.get(end.ep.name) is end.ep:
        return at
    return at + side.offset[0] if side.offset is not None else -1e18


def late(side: Side, end: Connection, at: float) -> float:
    """The same; late at the latest."""
    if side.objects.get(end.ep.name) is end.ep:
        return at
    return at + side.offset[1] if side.offset is not None else 1e18


def _finds(side: Side, request: Request, number: int, end: Connection, mate: Connection) -> bool:
    """Whether a send, the `number`th of its end, surely finds a receive that is long enough."""
    if request.length is None:
        return False
    srq, receives = mate.ep.srq, mate.ep.receives
    if srq is not None:
        return all(one.length is not None and request.length <= one.length for one in srq.posted)
    if number > len(receives):
        return False
    one = receives[number - 1]
    posted = late(side, mate, one.at) <= early(side, end, request.begin)
    return posted and one.length is not None and request.length <= one.length


def _lasts(side: Side, end: Connection, mate: Connection) -> float:
    """Until when an end has surely done nothing that may end its connection: has not left it, and
    posted nothing that may fail.
    """
    ep = end.ep
    if end.failed or ep.doubt or ep.lost or len(ep.connections) != 1:
        return -1e18
    if end.left_at is None and not ep.alive:
        return -1e18
    until = early(side, end, end.left_at) if end.left_at is not None else 1e18
    done = min(pair[1] for pair in ep.streams)
    number = sum(request.kind == "send" for request in ep.requests[:done])
    for request in ep.requests[done:]:
        if request.kind == "send":
            number += 1
            if _finds(side, request, number, end, mate):
                continue
        return min(until, early(side, end, request.begin))
    return until


def sent_surely(side: Side, connection: Connection, until: float) -> int:
    """The same, but for messages that a connection which ends may not bring any more.

    At an EP of an SRQ no flush comes instead of such a message.
    """
    other = connection.other
    if other is None or not other.exact:
        return 0
    count = acked(side, connection, until + side.trace.settled_us)
    lasts = min(_lasts(side, connection, other), _lasts(side, other, connection))
    return max(count, sent(side, connection, min(until, lasts - side.trace.settled_us)))


def sent(side: Side, connection: Connection, until: float) -> int:
    """How many messages have surely come by half a second after a time, or their receives are
    flushed.
    """
    other = connection.other
    if other is None or not other.exact:
        return 0
    count = acked(side, connection, until + side.trace.settled_us)
    if connection.phase != "up":
        return count
    for length, at, _digest, _begin in other.sent[count:]:
        if since(side, connection, at) > until or length is None or length > SMALL_MESSAGE:
            break
        count += 1
    return count


def came(ep: Ep, side: Side, until: float) -> int:
    """How many receives of its own messages have surely completed by a time."""
    connection = ep.connection
    if connection is None or len(ep.connections) != 1:
        return 0
    posted = sum(receive.at <= until for receive in ep.receives)
    count = min(posted, sent(side, connection, until), met(side, connection, ep.receives))
    return max(count, acked(side, connection, until + side.trace.settled_us))


def none_accepted(side: Side) -> bool:
    """Whether no end of the trace has accepted a connection so far: no message can be there."""
    peer = side.peer
    if side.trace.others:
        return False
    return not side.accepts and not side.cut and (peer is None or not (peer.accepts or peer.cut))


def is_quiet(srq: Srq, side: Side, since_at: float, until: float) -> bool:
    """Whether each message to an EP of the SRQ had come by a time, and none was sent later."""
    if side.trace.hosts != 1:
        return False
    for ep in srq.eps:
        connection = ep.connection
        if connection is None:
            continue
        other = connection.other
        if other is None:
            if not none_accepted(side):
                return False
            continue
        begun = sum(at <= until for at in begins(side, connection))
        if not other.exact or len(ep.connections) != 1:
            return False
        if max(ep.srq_reaped, sent_surely(side, connection, since_at)) < begun:
            return False
    return True


def taken_surely(srq: Srq, side: Side, until: float) -> int:
    """How many receives messages have surely taken that were not reaped."""
    if side.trace.hosts != 1 or srq.doubt or any(ep.strays for ep in srq.eps):
        return 0
    total = taken = 0
    for ep in srq.eps:
        connection = ep.connection
        if connection is None:
            continue
        other = connection.other
        if other is None or not other.exact or len(ep.connections) != 1:
            return 0
        total += max(0, len(other.sent) - ep.srq_reaped)
        taken += max(0, sent_surely(side, connection, until) - ep.srq_reaped)
    return taken if total <= len(srq.posted) and all_met(srq, side) else 0


def counts_of(srq: Srq, side: Side, call: Call) -> str:
    """A receive that waits is on the SRQ or at one EP: why what was told of them is too much."""
    settled = srq.told_at - side.trace.settled_us
    if srq.doubt or side.threads or not is_quiet(srq, side, settled, call.end):
        return ""
    if any(ep.connection is not None and ep.connection.phase == "pending" for ep in srq.eps):
        return ""  # It may connect, and take receives, between two answers.
    waiting = len(srq.posted) - taken_surely(srq, side, settled)
    at_eps = sum(srq.held.values())
    told = f" and {srq.available} available on the SRQ" if srq.available is not None else ""
    if at_eps + (srq.available or 0) > waiting:
        return f"with it, {at_eps} receives count at EPs{told}, while {waiting} wait"
    if srq.available is None or not all(_is_told(ep, srq, side) for ep in srq.eps):
        return ""
    least = len(srq.posted) - sum(_unreaped(ep, side, call.end) for ep in srq.eps)
    if at_eps + srq.available < least:
        return f"with it, {at_eps} receives count at EPs{told}, while {least} wait"
    return ""


def _is_told(ep: Ep, srq: Srq, side: Side) -> bool:
    """Whether it is known how many receives of the SRQ are at the EP."""
    if ep.states <= IDLE or none_accepted(side) or is_spent(ep, side):
        return True
    return ep in srq.held and ep.connection is not None and ep.connection.phase == "up"


def _unreaped(ep: Ep, side: Side, until: float) -> int:
    """How many messages to an EP of an SRQ may have come that were not reaped."""
    connection = ep.connection
    if connection is None:
        return 0
    return max(0, sum(at <= until for at in begins(side, connection)) - ep.srq_reaped)


# An EP of an SRQ that was never connected holds no receive of it.
IDLE = frozenset((UNCONNECTED, RESERVED, PASSIVE, TENTATIVE))


def is_spent(ep: Ep, side: Side) -> bool:
    """Whether all that an EP had to flush was reaped: its EVD was empty long after its end."""
    connection, evd = ep.connection, side.get(ep.recv_evd)
    return (
        connection is not None
        and connection.ended_at is not None
        and len(ep.connections) == 1
        and ep.states == {DISCONNECTED}
        and isinstance(evd, Evd)
        and evd.empty_at >= connection.ended_at + side.trace.flushed_us
    )
