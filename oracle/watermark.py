# SPDX-License-Identifier: BSD-2-Clause
"""Asynchronous events: each has an object, and something that caused it."""

from typing import Any

from oracle.evd import EVENTS
from oracle.high_marks import high_event
from oracle.kernel import Breach
from oracle.messages import is_quiet
from oracle.state import Ep, Evd, Side, Srq
from oracle.trace import Call

NUMBERS = ("EVD_OVERFLOW", "IA_CATASTROPHIC", "EP_BROKEN", "TIMED_OUT", "PROVIDER_INTERNAL_ERROR")


def async_event(call: Call, evd: Evd, data: dict[str, Any], side: Side) -> bool | str | None:
    """An asynchronous event about an SRQ or an EP has a mark that was set (GEN-10)."""
    if evd.flags is not None and "DAT_EVD_ASYNC_FLAG" not in evd.flags:
        return f"an asynchronous event on {evd.name}, which is not for such events"
    name = data.get("dat_handle")
    obj = side.get(name)
    if obj is None:
        if call.overlaps or not isinstance(name, str) or name.startswith("0x"):
            return None
        return f"an asynchronous event about {name}, which is no object"
    if obj.lost:
        return None
    if obj.ia is not None and evd.ia is not obj.ia and obj.ia.async_evd != evd.name:
        why = f"an asynchronous event about {name}, which is another IA's"
        return Breach("srq_set_lw/srq_of_other_ia", why) if isinstance(obj, Srq) else why
    if isinstance(obj, Srq):
        return _of_srq(call, obj, side)
    if isinstance(obj, Ep):
        if not obj.marks:
            return f"an asynchronous event about {name}, which has no high watermark"
        return high_event(call, obj, side)
    if isinstance(obj, Evd):
        return True if obj.hidden else f"an overflow of {name}, which has software events only"
    return None


def used(srq: Srq, side: Side) -> bool:
    """Whether an EP may have taken a receive of the SRQ."""
    return bool(srq.doubt) or any(
        isinstance(ep, Ep) and ep.srq is srq and ep.ever for ep in side.objects.values()
    )


def _untaken(srq: Srq, side: Side, at: float) -> bool:
    """Whether all receives were told to be available, and nothing has come since."""
    return (
        srq.available == len(srq.posted)
        and not srq.doubt
        and is_quiet(srq, side, srq.told_at - side.trace.settled_us, at)
    )


def _of_srq(call: Call, srq: Srq, side: Side) -> bool | str | None:
    if srq.events > 0:
        srq.events -= 1
        if srq.due > 0:
            srq.due -= 1
            srq.due_made = False
        else:
            srq.undue = False
        return True
    if srq.armed and used(srq, side) and not _untaken(srq, side, call.end):
        srq.armed = srq.undue = False
        return True
    why = f"a watermark event of {srq.name}, which has no mark whose event is to come"
    return Breach(_undue(srq), why)


def _undue(srq: Srq) -> str:
    """The clause that an event breaks which nothing was to raise."""
    if srq.armed:
        return "srq_set_lw/no_event_at_mark"
    return f"srq_set_lw/{'once' if srq.low_watermark else 'default_mark_raises_nothing'}"


def set_mark(srq: Srq, mark: Any, side: Side, certain: bool, at: float) -> None:
    """A low watermark is set: its event comes at once, later, or never."""
    srq.armed = srq.undue = False
    srq.reaped.clear()
    srq.set_at = at
    if not isinstance(mark, int) or not certain:
        srq.events += 1
        return
    if mark <= 0:
        return
    if used(srq, side) and not _untaken(srq, side, at):
        # Receives may have been taken: the event may come now, or later.
        srq.events += 1
        srq.undue = True
        reaped_below(srq, at)
        return
    available = len(srq.posted)
    if available < mark:
        srq.events += 1
        srq.due += 1
        srq.due_at = at
        return
    srq.armed = srq.undue = True
    if available > mark:
        srq.events += 1  # by the letter of the usage note (SRQ-3)


def reaped_below(srq: Srq, at: float) -> None:
    """With fewer receives outstanding than the mark, fewer are on the SRQ: its event is due.

    Once an EP was reset, `posted` bounds the number from above.
    """
    mark = srq.low_watermark
    bounded = not srq.doubt or srq.fresh is not None
    if srq.undue and bounded and isinstance(mark, int) and len(srq.posted) < mark:
        if srq.armed:
            srq.armed = False
            srq.events += 1
        srq.undue = False
        srq.due += 1
        srq.due_at = at


for _number in NUMBERS:
    EVENTS[f"DAT_ASYNC_ERROR_{_number}"] = async_event
