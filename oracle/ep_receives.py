# SPDX-License-Identifier: BSD-2-Clause
"""The receives of an EP: what dat_ep_recv_query tells, and watermarks."""

from typing import Any

from oracle.common import truth
from oracle.ep import INFINITE, now
from oracle.ep_modify import BEFORE_REQUEST, remember
from oracle.ep_query import CAN_TAKE, UNKNOWN
from oracle.kernel import MODEL, NOT_IMPLEMENTED, Open, Refusal, after, choose, may, refuses, tells
from oracle.messages import came, counts_of, none_accepted
from oracle.state import DISCONNECTED, Ep, Side, Srq
from oracle.trace import Call


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
        most = posted - max(reaped, came(ep, side, call.begin - side.trace.settled_us))
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


def _range(least: int, most: int) -> str:
    return str(most) if least == most else f"from {least} to {most}"


def waiting_least(ep: Ep) -> int:
    """The fewest receives of its own that wait for a message."""
    states = now(ep)
    if not states <= BEFORE_REQUEST:
        return 0
    reaped = max(pair[0] for pair in ep.streams)
    return len(ep.receives) - max(reaped, ep.lossy[0])


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
    remember(ep, "srq_soft_hw", ep.attr.get("srq_soft_hw"), False)
    ep.attr["srq_soft_hw"] = soft
    ep.was["srq_soft_hw"] = frozenset((None,))
    ep.marks += 1
