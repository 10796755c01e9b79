# SPDX-License-Identifier: BSD-2-Clause
"""What has surely been sent over connections, by a time of this process."""

from oracle.pairing import SMALL_MESSAGE
from oracle.state import Connection, Side, Srq


def since(side: Side, connection: Connection, at: float) -> float:
    """When something was done at the other end, by this process's clock; late at the latest."""
    other = connection.other
    if other is None:
        return 1e18
    if side.objects.get(other.ep.name) is other.ep:
        return at
    return at + side.offset[1] if side.offset is not None else 1e18


def sent(side: Side, connection: Connection, until: float) -> int:
    """How many messages have surely been sent over a connection by a time."""
    other = connection.other
    if other is None or not other.exact:
        return 0
    count = 0
    for length, at, _digest in other.sent:
        if since(side, connection, at) > until or length is None or length > SMALL_MESSAGE:
            break
        count += 1
    return count


def taken_surely(srq: Srq, side: Side, until: float) -> int:
    """How many receives messages have surely taken that nobody has reaped."""
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
    return taken if total <= len(srq.posted) else 0
