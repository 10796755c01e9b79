# SPDX-License-Identifier: BSD-2-Clause
"""Events that must have come: what the other end has sent, what an end has flushed, marks.

An event counts as due where what caused it was done half a second before the wait that does not
find it was over; on two hosts, where cases disturb the network, nothing is.
"""

from collections.abc import Iterator

from oracle.cno import is_agent
from oracle.ep import DEFAULT_FLAG, UNSIGNALLED, now
from oracle.evd import QUEUE_EMPTY, SOFTWARE, TIMEOUT_EXPIRED
from oracle.kernel import INVALID_STATE, tells
from oracle.messages import all_met, came, sent_surely, since, taken_surely
from oracle.pairing import SMALL_MESSAGE
from oracle.state import DISCONNECTED, UNCONNECTED, Cno, Connection, Ep, Evd, Ia, Side, Srq
from oracle.trace import Call

OBSERVERS = ("dat_evd_wait", "dat_evd_dequeue")
_SOFTWARE_ALONE = frozenset((SOFTWARE,))
# Calls after which what feeds an EVD, or the EVD, is not what it was.
ENDS = ("_free", "_close", "_reset", "_disconnect", "_unwaitable", "_modify", "evd_resize")


def _absent(call: Call) -> int:
    """How many events a call has found to be missing: fewer than so many were there."""
    if call.ret == QUEUE_EMPTY:
        return 1
    threshold = call.arg("threshold")
    slept = call.ret == TIMEOUT_EXPIRED or not call.finished or _ender(call) is not None
    if slept and isinstance(threshold, int) and threshold > 0:
        return threshold
    return 0


def _plain(ep: Ep, stream: str) -> bool:
    flags = ep.attr.get(f"{stream}_completion_flags")
    return flags == DEFAULT_FLAG and f"{stream}_completion_flags" not in ep.was


def _signals(ep: Ep) -> bool:
    """Whether each receive that completes to an EP of an SRQ ends a wait."""
    field = "recv_completion_flags"
    return ep.attr.get(field) in (DEFAULT_FLAG, UNSIGNALLED) and field not in ep.was


def _ended(ep: Ep, until: float) -> bool:
    """Whether the EP was surely Disconnected by a time."""
    connection = ep.connection
    return (
        connection is not None
        and connection.ended_at is not None
        and connection.ended_at <= until
        and now(ep) == {DISCONNECTED}
    )


def due_receives(ep: Ep, side: Side, until: float) -> int:
    """How many receive completions of an EP must be there, and are not reaped."""
    if ep.doubt or ep.lost or ep.srq is not None or not _plain(ep, "recv"):
        return 0
    posted = sum(receive.at <= until for receive in ep.receives)
    reaped = max(pair[0] for pair in ep.streams)
    if ep.lossy[0] > reaped:
        return 0
    if _ended(ep, until):
        return posted - reaped
    return came(ep, side, until) - reaped


def due_of_srq(ep: Ep, side: Side, until: float) -> int:
    """The same for an EP of an SRQ: where there is a receive for each message of all its EPs.

    Once an EP was reset, its own messages may be lost, and of the receives only those are surely
    there that were posted later.
    """
    srq = ep.srq
    if srq is None or (srq.doubt and srq.fresh is None) or ep.doubt or not _signals(ep):
        return 0
    if srq.doubt and UNCONNECTED in ep.states:
        return 0
    total = own = 0
    for other in srq.eps:
        connection = other.connection
        if connection is None:
            continue
        if connection.other is None or not connection.other.exact or len(other.connections) != 1:
            return 0
        total += max(0, len(connection.other.sent) - other.srq_reaped)
        if other is ep:
            own = sent_surely(side, connection, until) - other.srq_reaped
    return own if 0 < own <= total <= srq.outstanding_least and all_met(srq, side) else 0


def due_requests(ep: Ep, side: Side, until: float) -> int:
    """How many request completions must be there, and are not reaped."""
    if ep.doubt or ep.lost or not _plain(ep, "request"):
        return 0
    reaped = max(pair[1] for pair in ep.streams)
    waiting = ep.requests[reaped:]
    if not waiting or ep.lossy[1] > reaped or any(one.suppressed for one in waiting):
        return 0
    if _ended(ep, until):
        return sum(one.at <= until for one in waiting)
    connection = ep.connection
    if connection is None or connection.phase != "up" or len(ep.connections) != 1:
        return 0
    other = connection.other
    if other is None:
        return 0
    sends = sum(one.kind == "send" for one in ep.requests[:reaped])
    room = _room(side, connection, until)
    count = 0
    for one in waiting:
        if one.at > until or (one.length or 0) > SMALL_MESSAGE:
            break
        if one.kind == "send":
            sends += 1
            if sends > room:
                break
        elif one.kind == "read":
            break
        count += 1
    return count


def _room(side: Side, connection: Connection, until: float) -> int:
    """How many receives the other end has surely posted by a time."""
    other = connection.other
    if other is None or other.ep.srq is not None or len(other.ep.connections) != 1:
        return 0
    return sum(since(side, connection, receive.at) <= until for receive in other.ep.receives)


def feeding(evd: Evd, stream: str) -> Iterator[Ep]:
    for feeder, name in evd.feeders:
        if name != stream or not isinstance(feeder, Ep) or not feeder.alive:
            continue
        # A soft mark that may be the old one changes nothing at the connect EVD.
        if not feeder.was or (stream == "connect" and feeder.was.keys() == {"srq_soft_hw"}):
            yield feeder


def _ender(call: Call) -> Call | None:
    """The call that made the EVD unwaitable, and so ended a wait on it."""
    if call.ret != INVALID_STATE:
        return None
    return next((other for other in call.overlaps if _made_unwaitable(call, other)), None)


def _made_unwaitable(call: Call, other: Call) -> bool:
    return other.name == "dat_evd_set_unwaitable" and other.args.get("evd_handle") == call.args.get(
        "evd_handle"
    )


def until_of(call: Call, side: Side) -> float:
    """The time by which what is due must have been done."""
    ender = _ender(call)
    settled_us: int = side.trace.settled_us
    if ender is not None:
        return ender.begin - settled_us
    return (call.end if call.finished else side.last) - settled_us


def _is_alone(call: Call) -> bool:
    """Whether no call meanwhile took from the EVD, or ended what feeds it."""
    return all(
        _made_unwaitable(call, other)
        or (
            not other.name.endswith(ENDS)
            and not (
                other.name in OBSERVERS
                and other.args.get("evd_handle") == call.args.get("evd_handle")
            )
        )
        for other in call.overlaps
    )


def applies(call: Call, side: Side) -> int:
    if side.trace.hosts != 1 or side.trace.others or not _is_alone(call):
        return 0
    return _absent(call)


@tells(*OBSERVERS, clauses=["ep_post_recv/in_order", "ep_post_recv/length"], asleep=True)
def receives_come(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A receive whose message has come completes."""
    absent = applies(call, side)
    if not absent:
        return None
    until = until_of(call, side)
    due = sum(max(0, due_receives(ep, side, until)) for ep in feeding(evd, "recv"))
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} receives must have completed"
    return True if due else None


@tells(
    *OBSERVERS,
    clauses=["srq_post_recv/any_ep", "srq_post_recv/posted_after_connection"],
    asleep=True,
)
def srq_receives_come(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A message takes a receive of the SRQ, which completes."""
    absent = applies(call, side)
    if not absent:
        return None
    until = until_of(call, side)
    due = sum(due_of_srq(ep, side, until) for ep in feeding(evd, "recv"))
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} receives must have completed"
    return True if due else None


@tells(
    *OBSERVERS,
    clauses=["ep_post_send/length", "ep_disconnect/requests_broken_off"],
    asleep=True,
)
def requests_come(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A request that can be carried out completes, and one that is flushed does."""
    absent = applies(call, side)
    if not absent:
        return None
    until = until_of(call, side)
    due = sum(due_requests(ep, side, until) for ep in feeding(evd, "request"))
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} requests must have completed"
    return True if due else None


def connections_due(evd: Evd, side: Side, until: float) -> int:
    """How many connection events must be there, and are not taken."""
    due = 0
    for ep in feeding(evd, "connect"):
        connection = ep.connection
        if connection is None or ep.lost:
            continue
        if connection.phase == "pending" and not connection.by_us and connection.active:
            other = connection.other
            accepted = connection.accepted_at
            if other is not None and accepted is not None and not other.by_us:
                due += since(side, connection, accepted) <= until
        elif connection.phase == "up" and connection.ended_at is not None:
            due += connection.by_us and connection.ended_at <= until
    return due


@tells(*OBSERVERS, clauses=["ep_connect/established", "ep_disconnect/ended"], asleep=True)
def connection_events_come(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """The end that asked gets the acceptance's event, and each end that of the end."""
    absent = applies(call, side)
    if not absent:
        return None
    due = connections_due(evd, side, until_of(call, side))
    if due >= absent:
        return f"finds fewer than {absent} events, while {due} connection events must have come"
    return True if due else None


@tells(
    *OBSERVERS,
    clauses=["srq_set_lw/event_at_once", "srq_set_lw/each_setting_has_its_event"],
    rulings=["GEN-10", "SRQ-3"],
    asleep=True,
)
def marks_are_told(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """A mark that is set while receives are fewer raises its event."""
    absent, made, later = _due_marks(call, evd, side)
    return _told_marks(absent, later) if later >= absent or not made else None


@tells(*OBSERVERS, clauses=["srq_create/other_mark"], rulings=["SRQ-8"], asleep=True)
def made_marks_are_told(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """The mark that an SRQ was made with raises its event, for there is no receive."""
    absent, made, later = _due_marks(call, evd, side)
    return _told_marks(absent, made + later) if made and later < absent else None


def _told_marks(absent: int, due: int) -> bool | str | None:
    if absent and due >= absent:
        return f"finds fewer than {absent} events, while {due} marks must have raised theirs"
    return True if absent and due else None


def _due_marks(call: Call, evd: Evd, side: Side) -> tuple[int, int, int]:
    """How many events the call did not find; those of marks that must be there: of SRQs that were
    made with one, and of those set later.
    """
    absent = applies(call, side)
    if not absent or not any(isinstance(feeder, Ia) for feeder, _ in evd.feeders):
        return 0, 0, 0
    until = until_of(call, side)
    srqs = [
        srq
        for srq in side.objects.values()
        if isinstance(srq, Srq) and srq.alive and srq.ia is evd.ia
    ]
    due = [srq for srq in srqs if srq.due and srq.due_at <= until]
    made = sum(srq.due_made for srq in due)
    later = sum(srq.due for srq in due) - made
    later += sum(srq.undue and srq.set_at <= until and _below(srq, side, until) for srq in srqs)
    return absent, made, later


def _below(srq: Srq, side: Side, until: float) -> bool:
    """Whether fewer receives than the mark were surely left, messages having taken the others.

    One that was reaped later may have been there. Once an EP was reset, no more are left than those
    that were posted and not reaped.
    """
    mark = srq.low_watermark
    later = sum(at > until for at in srq.reaped)
    left = len(srq.posted) + later - taken_surely(srq, side, until)
    bounded = not srq.doubt or srq.fresh is not None
    return isinstance(mark, int) and bounded and left < mark


def _sleeps(call: Call, returns: str) -> bool:
    """Whether a wait met other calls and ended by its time alone, or not at all."""
    return bool(call.overlaps) and (call.ret == returns or not call.finished)


@tells("dat_evd_wait", clauses=["evd_wait/wakes", "evd_wait/threshold"], asleep=True)
def software_wakes(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """Software events that are posted while a thread waits for them end its wait."""
    threshold = call.arg("threshold")
    if not _sleeps(call, TIMEOUT_EXPIRED) or evd.flags != _SOFTWARE_ALONE:
        return None
    if not isinstance(threshold, int) or threshold < 1 or not _is_alone(call) or call.apart:
        return None
    until = until_of(call, side)
    due = sum(each.end <= until for each in evd.software)
    if due >= threshold:
        return f"sleeps for {threshold} events, while {due} software events are queued"
    return True if due else None


@tells("dat_evd_wait", clauses=["evd_wait/made_unwaitable"], asleep=True)
def unwaitable_wakes(call: Call, _evd: Evd, side: Side) -> bool | str | None:
    """A wait on an EVD that is made unwaitable ends."""
    if _ender(call) is not None:
        return True
    if not _sleeps(call, TIMEOUT_EXPIRED) or call.apart:
        return None
    own = [
        other
        for other in call.overlaps
        if other.name.endswith("_unwaitable")
        and other.args.get("evd_handle") == call.args.get("evd_handle")
    ]
    if not own or any(other.name == "dat_evd_clear_unwaitable" for other in own):
        return None
    until = until_of(call, side)
    if any(other.ok and other.end <= until and not other.apart for other in own):
        return "sleeps on an EVD that was made unwaitable"
    return None


# What a thread on a CNO may sleep through, or is woken by: nothing that takes an event from it.
_WAKE = frozenset(("dat_evd_post_se", "dat_evd_create"))


@tells("dat_cno_wait", clauses=["cno_wait/wakes"], rulings=["CNO-4"], asleep=True)
def event_wakes(call: Call, cno: Cno, side: Side) -> bool | str | None:
    """An event on an enabled EVD, on which no thread waits, ends a wait on its CNO.

    A wait without a timeout shows that it has missed one if only a later one ends it.
    """
    if is_agent(cno.agent) or call.apart:
        return None
    if any(other.name not in _WAKE or other.apart for other in call.overlaps):
        return None
    posts = [
        other
        for other in call.overlaps
        if other.name == "dat_evd_post_se" and other.ok and _notifies(other.o, cno)
    ]
    if call.ok:
        last = max((other.begin for other in posts), default=0) - side.trace.settled_us
        for other in posts:
            if call.begin <= other.begin and other.end <= last:
                return f"sleeps until a later event, while one has come on {other.o.name}"
        return True if posts else None
    if not _sleeps(call, QUEUE_EMPTY):
        return None
    until = until_of(call, side)
    for other in posts:
        if call.begin <= other.begin and other.end <= until:
            return f"sleeps, while an event has come on {other.o.name}"
    return None


def _notifies(evd: object, cno: Cno) -> bool:
    """Whether each event of an EVD on which no thread waits notifies a CNO."""
    if not isinstance(evd, Evd) or evd.lost or not evd.alive:
        return False
    return evd.flags == _SOFTWARE_ALONE and evd.cno == cno.name and evd.enabled is True
