# SPDX-License-Identifier: BSD-2-Clause
"""Notifications of CNOs: which EVDs may have caused one, and which must have.

An EVD notifies its CNO while it has it, is enabled, and no thread waits on it. When an event came,
the calls do not tell. But an EVD that nothing feeds gets none by itself: its *stand* is the same as
long as nothing was posted or connected that ends in an event of it.
"""

from typing import Any

from oracle.cno import is_agent
from oracle.due import connections_due, due_of_srq, due_receives, due_requests, feeding
from oracle.evd import QUEUE_EMPTY
from oracle.kernel import Breach, after, after_any, before, tells
from oracle.state import Cno, Connection, Ep, Evd, Side
from oracle.trace import Call


def stand_of(evd: Evd, side: Side) -> tuple[Any, ...] | None:
    """What feeds an EVD, if it brings no event without a further call; else None."""
    parts: list[Any] = [evd.notice.posted]
    for feeder, stream in sorted(evd.feeders, key=lambda one: (one[0].serial, one[1])):
        if (
            not isinstance(feeder, Ep)
            or feeder.lost
            or feeder.doubt
            or not _rests(feeder, stream, side)
        ):
            return None
        parts.append(
            (feeder.serial, len(feeder.receives), len(feeder.requests), len(feeder.connections))
        )
    return tuple(parts)


def _rests(ep: Ep, stream: str, side: Side) -> bool:
    """Whether a stream of an EP brings no event without a further call."""
    if stream == "recv":
        return ep.srq is None and min(pair[0] for pair in ep.streams) == len(ep.receives)
    if stream == "request":
        return min(pair[1] for pair in ep.streams) == len(ep.requests)
    return all(_lasts(connection, side) for connection in ep.connections)


def _lasts(connection: Connection, side: Side) -> bool:
    """Whether a connection is over, or lasts unless this process ends it."""
    other = connection.other
    if connection.phase == "over":
        return True
    if connection.phase != "up" or other is None or side.objects.get(other.ep.name) is not other.ep:
        return False
    ends = (connection, other)
    return all(end.left_at is None and end.ep.alive and not end.failed for end in ends) and all(
        min(pair[1] for pair in end.ep.streams) == len(end.ep.requests) for end in ends
    )


@after("dat_evd_create")
def created(call: Call, _ia: Any, side: Side) -> None:
    evd = side.get(call.out.get("evd_handle"))
    if isinstance(evd, Evd):
        notice = evd.notice
        notice.attached = evd.cno
        notice.armed_at = notice.bare_at = call.begin
        notice.bare = stand_of(evd, side)


@after("dat_evd_post_se")
def posted(call: Call, evd: Evd, _side: Side) -> None:
    evd.notice.posted += 1
    evd.notice.last_at = call.end


def _still_bare(evd: Evd, side: Side, at: float) -> None:
    """An EVD that was empty still is, if nothing can have come since."""
    notice = evd.notice
    if notice.bare is not None and notice.bare == stand_of(evd, side):
        notice.bare_at = at


@after("dat_evd_modify_cno")
def other_cno(call: Call, evd: Evd, side: Side) -> None:
    notice = evd.notice
    if notice.attached != evd.cno:
        notice.shut[str(notice.attached)] = stand_of(evd, side)
        notice.armed_at = call.end
        _still_bare(evd, side, call.end)
    notice.shut.pop(str(evd.cno), None)
    notice.attached = evd.cno


@after("dat_evd_disable")
def is_disabled(call: Call, evd: Evd, side: Side) -> None:
    if evd.enabled is False and not call.overlaps:
        evd.notice.shut.setdefault(str(evd.cno), stand_of(evd, side))


@after("dat_evd_enable")
def is_enabled(call: Call, evd: Evd, side: Side) -> None:
    evd.notice.shut.clear()
    evd.notice.armed_at = call.end
    _still_bare(evd, side, call.end)


@after_any("dat_evd_wait", "dat_evd_dequeue")
def looked(call: Call, evd: Any, side: Side) -> None:
    """What was taken from an EVD, and whether nothing was left."""
    if not isinstance(evd, Evd):
        return
    notice = evd.notice
    notice.last_at = call.end
    empty = call.ret == QUEUE_EMPTY or call.field("n_more_events") == 0
    notice.bare = stand_of(evd, side) if empty and not call.overlaps else None
    notice.bare_at = call.begin if empty and not call.overlaps else -1e18


@after_any("dat_cno_wait")
def waited(call: Call, cno: Any, side: Side) -> None:
    """A CNO that has no notification has none of an EVD from which nothing has come since."""
    if not isinstance(cno, Cno) or not call.finished:
        return
    if call.ok:
        cno.woken_at = call.end
    if call.ret != QUEUE_EMPTY:
        return
    for evd in cno.evds:
        notice = evd.notice
        stand = stand_of(evd, side)
        late = call.begin - notice.last_at < side.trace.notified_us
        known = not late and not call.overlaps and stand == notice.bare
        notice.clear[cno.name] = stand if known else None
        if notice.attached == cno.name:
            _still_bare(evd, side, call.begin)


@tells(
    "dat_cno_wait", clauses=["cno_wait/each_evd_named", "cno_wait/disabled_evd"], rulings=["CNO-4"]
)
def notified(call: Call, cno: Cno, side: Side) -> bool | str | None:
    """The EVD that is named had an event while it had the CNO and was enabled."""
    evd = side.get(call.field("evd_handle"))
    if not isinstance(evd, Evd) or evd.lost or side.threads or call.apart:
        return None
    shut = evd.notice.shut.get(cno.name)
    if shut is None or evd.notice.clear.get(cno.name) != shut:
        return True
    if evd.cno != cno.name:
        return f"names {evd.name}, which had left the CNO before its event came"
    why = f"names {evd.name}, which was disabled before its event came"
    return Breach("cno_wait/disabled_evd", why)


@before
def sleepers(call: Call, side: Side) -> None:
    """Look for threads that sleep on a CNO, before the first call that clears up."""
    if not call.teardown or side.cleared:
        return
    side.cleared = True
    if side.trace.hosts != 1 or side.trace.others:
        return
    waits = [other for other in call.overlaps if other.name in ("dat_cno_wait", "dat_evd_wait")]
    for wait in waits:
        timeout = wait.arg("timeout")
        if isinstance(timeout, int) and wait.begin + timeout + side.trace.settled_us <= call.begin:
            page = wait.name.removeprefix("dat_")
            why = f"sleeps, while its {timeout} us are over"
            side.overslept[wait.n] = (wait, f"{page}/time_out", why)
            continue
        cno = side.get(wait.arg("cno_handle"))
        if not isinstance(cno, Cno) or wait.apart or cno.lost or is_agent(cno.agent):
            continue
        if sum(other.arg("cno_handle") == cno.name for other in waits) != 1:
            continue
        for evd in cno.evds:
            met = any(other.arg("evd_handle") == evd.name for other in waits)
            if (
                not met
                and _would_notify(evd, cno)
                and _due(evd, side, call.begin - side.trace.settled_us)
            ):
                why = f"sleeps, while an event has come on {evd.name}"
                side.overslept[wait.n] = (wait, "cno_wait/wakes", why)


@tells(
    "dat_cno_wait", clauses=["cno_wait/wakes", "cno_wait/time_out"], rulings=["CNO-4"], asleep=True
)
def sleeper_wakes(call: Call, _cno: Cno, side: Side) -> bool | str | None:
    """A thread that sleeps on a CNO is woken by an event that comes to an empty EVD."""
    slept = side.overslept.pop(call.n, None)
    if slept is not None:
        return Breach(slept[1], slept[2])
    return True if call.ok and call.overlaps else None


@tells("dat_cno_wait", clauses=["cno_wait/kept_trigger"], rulings=["CNO-4"], always=True)
def events_notify(call: Call, cno: Cno, side: Side) -> bool | str | None:
    """A CNO is notified of the first event that comes to an empty EVD, and keeps that."""
    if call.ret != QUEUE_EMPTY or call.overlaps or call.apart or is_agent(cno.agent):
        return None
    if side.trace.hosts != 1 or side.trace.others or side.threads or cno.lost:
        return None
    until = call.end - side.trace.settled_us
    judged: bool | None = None
    for evd in cno.evds:
        if _would_notify(evd, cno):
            judged = True
            if _due(evd, side, until):
                return f"finds no notification, while an event has come on {evd.name}"
    return judged


def _would_notify(evd: Evd, cno: Cno) -> bool:
    """Whether each event that an EVD has has come since it can notify a CNO, and not yet has."""
    notice = evd.notice
    if not evd.alive or evd.lost or evd.cno != cno.name or evd.enabled is not True:
        return False
    return notice.attached == evd.cno and notice.bare_at >= max(notice.armed_at, cno.woken_at)


def _due(evd: Evd, side: Side, until: float) -> int:
    """How many events must be on an EVD."""
    return (
        sum(each.end <= until for each in evd.software)
        + sum(max(0, due_receives(ep, side, until)) for ep in feeding(evd, "recv"))
        + sum(max(0, due_of_srq(ep, side, until)) for ep in feeding(evd, "recv"))
        + sum(max(0, due_requests(ep, side, until)) for ep in feeding(evd, "request"))
        + connections_due(evd, side, until)
    )
