# SPDX-License-Identifier: BSD-2-Clause
"""What has surely been sent over connections, by a time of this process.

A message that finds no receive may wait, or end the connection: it depends on the transport.
"""

from collections.abc import Sequence

from oracle.pairing import SMALL_MESSAGE
from oracle.state import Connection, Receive, Side, Srq


def since(side: Side, connection: Connection, at: float) -> float:
    """When something was done at the other end, by this process's clock; late at the latest."""
    other = connection.other
    if other is None:
        return 1e18
    if side.objects.get(other.ep.name) is other.ep:
        return at
    return at + side.offset[1] if side.offset is not None else 1e18


def _begun(side: Side, connection: Connection) -> list[float]:
    """When each message of the other end was sent, by this process's clock; early at the latest."""
    other = connection.other
    if other is None:
        return []
    begun = [begin for _length, _at, _digest, begin in other.sent]
    if side.objects.get(other.ep.name) is other.ep:
        return begun
    early = side.offset[0] if side.offset is not None else -1e18
    return [begin + early for begin in begun]


def met(side: Side, connection: Connection, receives: Sequence[Receive]) -> int:
    """How many messages of a connection, from its first, have surely found their receives."""
    count = 0
    for begun, receive in zip(_begun(side, connection), receives, strict=False):
        if receive.at > begun:
            break
        count += 1
    return count


def all_met(srq: Srq, side: Side) -> bool:
    """Whether each message to an EP of the SRQ that was not reaped surely found a receive."""
    begun: list[float] = []
    for ep in srq.eps:
        if ep.connection is not None:
            begun += _begun(side, ep.connection)[ep.srq_reaped :]
    posted = [receive.at for receive in srq.posted]
    return len(begun) <= len(posted) and all(
        at <= when for at, when in zip(sorted(posted), sorted(begun), strict=False)
    )


def sent(side: Side, connection: Connection, until: float) -> int:
    """How many messages have surely been sent over a connection by a time."""
    other = connection.other
    if other is None or not other.exact:
        return 0
    count = 0
    for length, at, _digest, _begin in other.sent:
        if since(side, connection, at) > until or length is None or length > SMALL_MESSAGE:
            break
        count += 1
    return count


def taken_surely(srq: Srq, side: Side, until: float) -> int:
    """How many receives messages have surely taken that were not reaped."""
    if side.trace.hosts != 1 or srq.doubt:
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
        if connection.phase == "up":
            taken += max(0, sent(side, connection, until) - ep.srq_reaped)
    return taken if total <= len(srq.posted) and all_met(srq, side) else 0
