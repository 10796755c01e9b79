# SPDX-License-Identifier: BSD-2-Clause
"""High watermarks of EPs: when their events must come, and when they must not.

Which receives count is open (EP-43): those that have completed and were not reaped may, or may not.
So an event is due only at a mark of 0, which the first message exceeds by either count; and it is
too early only if all messages that may have come, and all receives that the EP tells to have taken
ahead of messages, are no more than the mark (EP-54).
"""

from typing import Any

from oracle.due import OBSERVERS, applies, feeding, until_of
from oracle.ep import INFINITE
from oracle.kernel import Breach, after, tells
from oracle.messages import IDLE, acked, all_met, begins, early, sent_surely
from oracle.state import CONNECTED, Connection, Ep, Evd, Ia, Side
from oracle.trace import Call

BROKEN = "DAT_CONNECTION_EVENT_BROKEN"


@after("dat_ep_create_with_srq")
def made_with_mark(call: Call, _ia: Any, side: Side) -> None:
    """An EP is made with a soft mark, as a rule the infinite one."""
    ep = side.get(call.out.get("ep_handle"))
    if isinstance(ep, Ep):
        ep.high.known = ep.attr.get("srq_soft_hw") == INFINITE


@after("dat_ep_modify")
def modified(call: Call, ep: Ep, _side: Side) -> None:
    if "SRQ_SOFT_HW" in str(call.arg("ep_param_mask")):
        ep.high.known = False


@after("dat_ep_set_watermark")
def set_marks(call: Call, ep: Ep, side: Side) -> None:
    high = ep.high
    former = high.lowest
    if former is not None and not _exceeds(ep, side, call.end, former):
        former = None
    high.soft, high.hard = (
        mark if isinstance(mark := call.arg(f"{kind}_high_watermark"), int) else None
        for kind in ("soft", "hard")
    )
    high.set_at = call.end
    high.told = False
    marks = [mark for mark in (high.soft, high.hard) if mark is not None]
    high.sets += len(marks)
    # An event of the former mark may be on its way.
    if former is not None:
        high.former += 1
        marks.append(former)
    high.lowest = min(marks, default=None)
    if high.hard is not None:
        high.least_hard = min(high.hard, high.least_hard or high.hard)


def _exceeds(ep: Ep, side: Side, until: float, mark: int) -> bool:
    """Whether an EP may have had more receives than a mark."""
    most = held_at_most(ep, side, until)
    return most is None or most > mark


def held_at_most(ep: Ep, side: Side, until: float) -> int | None:
    """The most receives that an EP may have had since a mark was set; None where not known.

    They are of messages, or taken ahead of them: as many as the EP has told that it has.
    """
    srq = ep.srq
    if srq is None:
        return None
    if ep.states <= IDLE and not ep.ever:
        return 0
    come, ahead = _may_have_come(ep, side, until), ep.high.ahead
    return srq.peak if come is None or ahead is None else min(srq.peak, come + ahead)


def _may_have_come(ep: Ep, side: Side, until: float) -> int | None:
    """How many messages may have waited to be reaped at once, since a mark was set."""
    connection = ep.connection
    if connection is None or len(ep.connections) != 1 or side.trace.hosts != 1:
        return None
    if connection.other is None or not connection.other.exact or ep.strays:
        return None
    begun, reaped = begins(side, connection), ep.high.reaped
    waiting = [
        sum(at <= when for at in begun) - sum(at < when for at in reaped)
        for when in (ep.high.set_at, *(at for at in begun if ep.high.set_at < at <= until))
    ]
    return max(waiting)


@after("dat_ep_recv_query")
def told_ahead(call: Call, ep: Ep, _side: Side) -> None:
    """What an EP tells of its receives; those of messages may be among them."""
    told = call.field("nbufs_allocated")
    if isinstance(told, int) and ep.states == {CONNECTED}:
        ep.high.ahead = max(told, ep.high.ahead or 0)


def high_event(call: Call, ep: Ep, side: Side) -> bool | str:
    """An event about the marks of an EP: each setting raises one at most, and only above it.

    A hard mark may raise one, too (EP-55).
    """
    high = ep.high
    high.events += 1
    lowest, told = high.lowest, high.told
    high.told = True
    if high.former:
        high.former -= 1
    elif high.hard is None:
        high.lowest = None
    if not high.known or ep.reused_at or ep.lost or ep.srq is None or call.apart or side.threads:
        return True
    if lowest is None or high.events > high.sets:
        why = f"an event about {ep.name}, which has no mark whose event is to come"
        return Breach(f"ep_set_watermark/{'soft_once' if told else 'soft_kept'}", why)
    if not _exceeds(ep, side, call.end, lowest):
        why = f"an event about {ep.name}, whose mark of {lowest} was not exceeded"
        return Breach("ep_set_watermark/soft_kept", why)
    return True


@tells(
    *OBSERVERS,
    clauses=["ep_set_watermark/hard_kept", "ep_set_watermark/soft_breaks_nothing"],
    rulings=["EP-43", "EP-54"],
)
def no_early_break(call: Call, _evd: Evd, side: Side) -> bool | str | None:
    """A connection of an EP with marks does not break by itself below the hard one."""
    if call.event != BROKEN:
        return None
    data = call.field("event").get("event_data")
    ep = side.get(data.get("ep_handle")) if isinstance(data, dict) else None
    if not isinstance(ep, Ep) or not ep.high.sets or not _lasts(ep, side, call.end):
        return None
    least = ep.high.least_hard
    if least is not None and _exceeds(ep, side, call.end, least):
        return True
    return f"{ep.name} breaks, whose hard mark was not exceeded"


def _lasts(ep: Ep, side: Side, until: float) -> bool:
    """Whether nothing but a mark can have broken the connection of an EP."""
    connection, srq = ep.connection, ep.srq
    if connection is None or srq is None or len(ep.connections) != 1 or side.trace.hosts != 1:
        return False
    other = connection.other
    if other is None or not other.exact or not ep.high.known or side.threads:
        return False
    ends = (connection, other)
    if any(end.failed or _has_left(side, end, until) for end in ends):
        return False
    if any(len(end.ep.connections) != 1 or end.ep.lost or end.ep.doubt for end in ends):
        return False
    if any(request.kind != "send" for end in ends for request in end.ep.requests):
        return False
    fits = all(
        length is not None and one.length is not None and length <= one.length
        for length, *_ in other.sent
        for one in srq.posted
    )
    waiting = len(other.sent) - ep.srq_reaped
    return fits and waiting <= srq.outstanding_least and all_met(srq, side)


def _has_left(side: Side, end: Connection, until: float) -> bool:
    """Whether an end may have begun to give up its connection by a time."""
    if end.left_at is None:
        return end.by_us or not end.ep.alive
    return early(side, end, end.left_at) <= until


def _exceeds_none(ep: Ep, side: Side, set_at: float, until: float) -> bool:
    """Whether a message has surely taken a receive after a mark of 0 was set."""
    connection, srq = ep.connection, ep.srq
    if connection is None or srq is None or len(ep.connections) != 1 or ep.lost or ep.doubt:
        return False
    begun = begins(side, connection)
    if connection.other is None or not connection.other.exact:
        return False
    came = min(sent_surely(side, connection, until), len(begun))
    found = max(ep.srq_reaped, acked(side, connection, until))
    if not any(at >= set_at for at in begun[:came]):
        return False
    if any(at >= set_at for at in begun[: min(found, came)]):
        return True
    return len(begun) - ep.srq_reaped <= srq.outstanding_least and all_met(srq, side)


@tells(
    *OBSERVERS,
    clauses=["ep_set_watermark/soft_exceeded"],
    rulings=["GEN-10", "EP-43"],
    asleep=True,
)
def soft_marks_are_told(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A message that comes to an EP with a soft mark of 0 raises its event."""
    absent = applies(call, side)
    if not absent or not any(isinstance(feeder, Ia) for feeder, _ in evd.feeders):
        return None
    until = until_of(call, side)
    due = sum(
        ep.high.soft == 0
        and not ep.high.told
        and ep.ia is evd.ia
        and _exceeds_none(ep, side, ep.high.set_at, until)
        for ep in side.live("ep")
    )
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} marks were exceeded"
    return True if due else None


@tells(
    *OBSERVERS,
    clauses=["ep_set_watermark/hard_exceeded"],
    rulings=["EP-43"],
    asleep=True,
)
def hard_marks_break(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A message that comes to an EP with a hard mark of 0 breaks its connection."""
    absent = applies(call, side)
    if not absent:
        return None
    until = until_of(call, side)
    due = sum(
        ep.high.hard == 0
        and ep.connection is not None
        and ep.connection.phase == "up"
        and _exceeds_none(ep, side, ep.high.set_at, until)
        for ep in feeding(evd, "connect")
    )
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} connections must have broken"
    return True if due else None
