# SPDX-License-Identifier: BSD-2-Clause
"""Event dispatchers: their state, their length, and what may be taken from them.

Software events are known to the last one. What other streams have queued is not: an event that is
taken must have a cause (EVENTS), and of one that is not there nothing follows.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

from oracle.common import (
    Wanted,
    answers,
    asked,
    between,
    few,
    ia_name,
    limit,
    made,
    mask_refusal,
    new_handle,
    truth,
    within,
)
from oracle.kernel import (
    ANY_ERROR,
    INVALID_PARAMETER,
    INVALID_STATE,
    RACE,
    Breach,
    Handle,
    Open,
    Refusal,
    after,
    after_any,
    choose,
    describe,
    ends,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import NULL, Cno, Evd, Posted, Side, Sp
from oracle.trace import Call
from oracle.values import flags

SOFTWARE = "DAT_EVD_SOFTWARE_FLAG"
SOFTWARE_EVENT = "DAT_SOFTWARE_EVENT"
TIMEOUT_EXPIRED = "DAT_TIMEOUT_EXPIRED"
QUEUE_EMPTY = "DAT_QUEUE_EMPTY"
QUEUE_FULL = "DAT_QUEUE_FULL"
INTERRUPTED = "DAT_INTERRUPTED_CALL"
INFINITE = "DAT_TIMEOUT_INFINITE"

DEFAULT = frozenset(
    f"DAT_EVD_{name}_FLAG" for name in ("CR", "DTO", "CONNECTION", "RMR_BIND", "ASYNC")
)
STREAM = {
    "DAT_EVD_SOFTWARE_FLAG": "software",
    "DAT_EVD_CR_FLAG": "cr",
    "DAT_EVD_DTO_FLAG": "dto",
    "DAT_EVD_CONNECTION_FLAG": "connection",
    "DAT_EVD_RMR_BIND_FLAG": "rmr_bind",
    "DAT_EVD_ASYNC_FLAG": "async",
}
ORDER = ("software", "cr", "dto", "connection", "rmr_bind", "async")

# By event number: who knows its cause. A function takes the event off the model's queues.
EventRule = Callable[[Call, Evd, dict[str, Any], Side], bool | str | None]
EVENTS: dict[str, EventRule] = {}
# The rows of the pages' clauses about what an event tells, if the number shows the row.
_ROWS = {
    SOFTWARE_EVENT: "software",
    "DAT_CONNECTION_REQUEST_EVENT": "connection_request",
    "DAT_CONNECTION_EVENT_ESTABLISHED": "established_active",
    "DAT_CONNECTION_EVENT_PEER_REJECTED": "rejected",
    "DAT_CONNECTION_EVENT_NON_PEER_REJECTED": "unheard",
    "DAT_CONNECTION_EVENT_DISCONNECTED": "disconnected",
    "DAT_RMR_BIND_COMPLETION_EVENT": "bound",
}


def evd_flags(text: Any) -> frozenset[str]:
    """The streams of a recorded set of flags."""
    named = flags(text)
    if "DAT_EVD_DEFAULT_FLAG" in named:
        named = (named - {"DAT_EVD_DEFAULT_FLAG"}) | DEFAULT
    return named


def _small(call: Call, ia: Any, side: Side) -> bool:
    return few(side, "evd", limit(ia, "max_evds", side)) and within(
        call.arg("evd_min_qlen"), limit(ia, "max_evd_qlen", side)
    )


describe(
    "dat_evd_create",
    legal="evd_create/length",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
    handles=[
        Handle("ia_handle", "ia", clause="evd_create/invalid_ia_handle"),
        Handle("cno_handle", "cno", null=True, clause="evd_create/invalid_cno_handle"),
    ],
    small=_small,
)
describe(
    "dat_evd_free",
    legal="evd_free/unused",
    returns="INVALID_HANDLE INVALID_STATE",
    handles=[Handle("evd_handle", "evd", clause="evd_free/invalid_handle")],
)
describe(
    "dat_evd_query",
    legal="evd_query/field_among_all",
    returns="INVALID_HANDLE INVALID_PARAMETER",
    handles=[Handle("evd_handle", "evd", clause="evd_query/invalid_handle")],
)
describe(
    "dat_evd_resize",
    legal="evd_resize/grow",
    returns="INVALID_HANDLE INVALID_PARAMETER INSUFFICIENT_RESOURCES INVALID_STATE",
    handles=[Handle("evd_handle", "evd", clause="evd_resize/invalid_handle")],
    small=lambda call, evd, side: within(
        call.arg("evd_min_qlen"), limit(evd, "max_evd_qlen", side)
    ),
)
describe(
    "dat_evd_modify_cno",
    legal="evd_modify_cno/from_state",
    returns="INVALID_HANDLE",
    handles=[
        Handle("evd_handle", "evd", clause="evd_modify_cno/invalid_evd_handle"),
        Handle("cno_handle", "cno", null=True, clause="evd_modify_cno/invalid_cno_handle"),
    ],
)
for _call, _legal in (
    ("enable", "from_state"),
    ("disable", "from_state"),
    ("set_unwaitable", "from_state"),
    ("clear_unwaitable", "from_state"),
):
    describe(
        f"dat_evd_{_call}",
        legal=f"evd_{_call}/{_legal}",
        returns="INVALID_HANDLE",
        handles=[Handle("evd_handle", "evd", clause=f"evd_{_call}/invalid_handle")],
    )
describe(
    "dat_evd_post_se",
    legal="evd_post_se/posted",
    returns="INVALID_HANDLE INVALID_PARAMETER QUEUE_FULL",
    handles=[Handle("evd_handle", "evd", clause="evd_post_se/invalid_handle")],
)
describe(
    "dat_evd_dequeue",
    legal="evd_dequeue/event",
    returns="INVALID_HANDLE QUEUE_EMPTY INVALID_STATE",
    handles=[Handle("evd_handle", "evd", clause="evd_dequeue/invalid_handle")],
)
describe(
    "dat_evd_wait",
    legal="evd_wait/event",
    returns="INVALID_HANDLE INVALID_PARAMETER ABORT INVALID_STATE TIMEOUT_EXPIRED INTERRUPTED_CALL",
    handles=[Handle("evd_handle", "evd", clause="evd_wait/invalid_handle")],
)


@refuses("dat_evd_create", clauses=["evd_create/two_streams"], rulings=["EVD-5"])
def streams(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    """Streams that are merged make an EVD; those that are not merged are refused."""
    named = evd_flags(call.arg("evd_flags"))
    if not named or not named <= STREAM.keys():
        return Open("flags of which no page speaks")
    for one, two in combinations(sorted((STREAM[name] for name in named), key=ORDER.index), 2):
        merged = truth(ia, f"merged_{one}_{two}_supported", side)
        if merged is None:
            return Open("whether the streams are merged is not recorded")
        if not merged:
            return Refusal(ANY_ERROR)
    return None


@refuses("dat_evd_create", clauses=["evd_create/one_stream"], rulings=["EVD-13"])
def asynchronous_alone(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    """The diagonal of evd_stream_merging_supported, which permits it, is not recorded."""
    alone = evd_flags(call.arg("evd_flags")) == {"DAT_EVD_ASYNC_FLAG"}
    return may(INVALID_PARAMETER, "DAT_MODEL_NOT_SUPPORTED") if alone else None


@refuses("dat_evd_create", clauses=["evd_create/length"], rulings=["EVD-5"])
def create_length(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    length, most = call.arg("evd_min_qlen"), limit(ia, "max_evd_qlen", side)
    if not isinstance(length, int) or most is None or length <= 0 or length > most:
        return Open("a length of which no page speaks")
    return None


@tells("dat_evd_create", clauses=["evd_create/many_at_once"], rulings=["EVD-5"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "evd_handle", side)


@after("dat_evd_create")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "evd_handle", side)
    if not name:
        return
    evd = Evd(name, ia)
    length = call.arg("evd_min_qlen")
    evd.qlen_least = length if isinstance(length, int) and length > 0 else 0
    evd.flags = evd_flags(call.arg("evd_flags"))
    cno = call.objects.get("cno_handle")
    evd.cno = cno.name if cno is not None else NULL
    if cno is not None:
        cno.evds.add(evd)
    evd.hidden = evd.flags != {SOFTWARE}
    side.add(evd)


@refuses("dat_evd_free", clauses=["evd_free/fed"], rulings=["EVD-10", "RSP-1"])
def fed(_call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    """An EVD that a stream feeds is not freed; the asynchronous one of an IA may be."""
    feeders = [feeder for feeder, _ in evd.feeders if feeder.alive]
    if any(feeder.lost for feeder in feeders):
        return Open("what feeds the EVD is not known")
    certain = [feeder for feeder in feeders if feeder.kind in ("ep", "psp")]
    if any(getattr(feeder, "origin", "") != "provider" for feeder in certain):
        return refuse(INVALID_STATE)
    if any(feeder.kind == "rsp" and not feeder.requests for feeder in feeders):  # type: ignore[attr-defined]
        return refuse(INVALID_STATE)
    if feeders:
        return may(INVALID_STATE)
    if evd.flags and "DAT_EVD_ASYNC_FLAG" in evd.flags:
        return Open("an EVD for asynchronous events")
    return None


@after("dat_evd_free")
def free(_call: Call, evd: Evd, side: Side) -> None:
    side.end(evd)
    cno = side.get(evd.cno)
    if isinstance(cno, Cno):
        cno.certain = False


@refuses("dat_evd_query", clauses=["evd_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _evd: Evd, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("evd_param_mask"))


def _state(evd: Evd) -> Wanted:
    def check(answer: Any) -> str:
        told = flags(answer)
        for known, yes, no in (
            (evd.enabled, "DAT_EVD_STATE_ENABLED", "DAT_EVD_STATE_DISABLED"),
            (evd.waitable, "DAT_EVD_STATE_WAITABLE", "DAT_EVD_STATE_UNWAITABLE"),
        ):
            if known is None:
                continue
            if (yes in told) != known or (no in told) == known:
                return f"not {yes if known else no}"
        return ""

    return Wanted(check)


@tells("dat_evd_query", clauses=["evd_query/field", "evd_query/field_among_all", "evd_query/state"])
def query(call: Call, evd: Evd, _side: Side) -> bool | str | None:
    length = evd.qlen if evd.qlen is not None else between(evd.qlen_least, evd.qlen_most)
    return answers(
        call,
        "evd_param_mask",
        "evd_param",
        "DAT_EVD_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(evd)),
            "evd_qlen": ("EVD_QLEN", length),
            "evd_state": ("EVD_STATE", _state(evd)),
            "cno_handle": ("CNO", evd.cno),
            "evd_flags": ("EVD_FLAGS", same_evd_flags(evd.flags)),
        },
    )


def same_evd_flags(wanted: frozenset[str] | None) -> Any:
    if wanted is None:
        return None

    def check(answer: Any) -> str:
        return "" if evd_flags(answer) == wanted else "not " + "|".join(sorted(wanted))

    return Wanted(check)


@after("dat_evd_query")
def learn_length(call: Call, evd: Evd, _side: Side) -> None:
    told = call.field("evd_param")
    length = told.get("evd_qlen") if isinstance(told, dict) else None
    if (
        isinstance(length, int)
        and length >= evd.qlen_least
        and asked(call.arg("evd_param_mask"), "EVD_QLEN", "DAT_EVD_FIELD_")
    ):
        evd.qlen = length
    state = told.get("evd_state") if isinstance(told, dict) else None
    if state is not None and asked(call.arg("evd_param_mask"), "EVD_STATE", "DAT_EVD_FIELD_"):
        learn_state(call, evd, flags(state))


def learn_state(call: Call, evd: Evd, told: frozenset[str]) -> None:
    """The state is known again, where threads have changed it at once and none does now."""
    if evd.enabled is None and not any(
        _meets(call, name) for name in ("dat_evd_enable", "dat_evd_disable")
    ):
        evd.enabled = "DAT_EVD_STATE_ENABLED" in told


@refuses(
    "dat_evd_resize",
    clauses=["evd_resize/negative", "evd_resize/zero", "evd_resize/above_ia_limit"],
    rulings=["EVD-6", "SRQ-17"],
)
def resize_length(call: Call, evd: Evd, side: Side) -> Refusal | Open | None:
    length, most = call.arg("evd_min_qlen"), limit(evd, "max_evd_qlen", side)
    if not isinstance(length, int) or most is None:
        return Open("the length is not recorded")
    if length < 0:
        return refuse(INVALID_PARAMETER, INVALID_STATE)
    return choose() if length == 0 or length > most else None


@refuses("dat_evd_resize", clauses=["evd_resize/below_content"], rulings=["EVD-6"])
def below_content(call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    length = call.arg("evd_min_qlen")
    if not isinstance(length, int):
        return None
    if evd.hidden and (evd.qlen is None or length < evd.qlen):
        return may(INVALID_STATE)
    return may(INVALID_STATE) if length < len(evd.software) else None


@after("dat_evd_resize")
def resize(call: Call, evd: Evd, _side: Side) -> None:
    length = call.arg("evd_min_qlen")
    evd.qlen = None
    evd.qlen_most = None
    evd.qlen_least = length if isinstance(length, int) and length > 0 else 0


@after("dat_evd_modify_cno")
def modify_cno(call: Call, evd: Evd, side: Side) -> None:
    old = side.get(evd.cno)
    if isinstance(old, Cno):
        old.certain = False
    cno = call.objects.get("cno_handle")
    evd.cno = cno.name if cno is not None else NULL
    if cno is not None:
        cno.evds.add(evd)


@after("dat_evd_enable")
def enable(call: Call, evd: Evd, _side: Side) -> None:
    evd.enabled = None if _meets(call, "dat_evd_disable") else True


@after("dat_evd_disable")
def disable(call: Call, evd: Evd, _side: Side) -> None:
    evd.enabled = None if _meets(call, "dat_evd_enable") else False


def _meets(call: Call, contrary: str) -> bool:
    """Whether another thread has made the contrary call on the EVD meanwhile."""
    evd = call.args.get("evd_handle")
    return any(
        other.name == contrary and other.args.get("evd_handle") == evd for other in call.overlaps
    )


@after("dat_evd_set_unwaitable")
def set_unwaitable(_call: Call, evd: Evd, _side: Side) -> None:
    evd.waitable = False


@after("dat_evd_clear_unwaitable")
def clear_unwaitable(_call: Call, evd: Evd, _side: Side) -> None:
    evd.waitable = True


@refuses("dat_evd_post_se", clauses=["evd_post_se/other_event"])
def other_event(call: Call, _evd: Evd, _side: Side) -> Refusal | Open | None:
    event = call.arg("event")
    if not isinstance(event, dict):
        return Open("the event is not recorded")
    if event.get("event_number") != SOFTWARE_EVENT:
        return refuse(INVALID_PARAMETER)
    return None


@refuses("dat_evd_post_se", clauses=["evd_post_se/full"], rulings=["EVD-2"])
def full(_call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    """A queue with as many software events as it is long takes no more."""
    if evd.flags is not None and SOFTWARE not in evd.flags:
        return Open("an EVD that is not for software events")
    queued = len(evd.software)
    if evd.qlen is not None and queued >= evd.qlen:
        return refuse(QUEUE_FULL)
    if evd.hidden or queued >= evd.qlen_least:
        return may(QUEUE_FULL)
    return None


@after("dat_evd_post_se")
def post_se(call: Call, evd: Evd, side: Side) -> None:
    event = call.arg("event")
    data = event.get("event_data") if isinstance(event, dict) else None
    pointer = data.get("pointer") if isinstance(data, dict) else None
    evd.software.append(Posted(pointer, call.begin, call.end))
    if evd.qlen is not None and len(evd.software) > evd.qlen:
        evd.qlen = None
    cno = side.get(evd.cno)
    if isinstance(cno, Cno):
        if any(other.name in ("dat_evd_wait", "dat_cno_wait") for other in call.overlaps):
            cno.doubt = RACE
        if evd.enabled is not False:
            cno.possible[evd.name] = cno.possible.get(evd.name, 0) + 1
        if evd.enabled is True and evd.alive:
            cno.certain = True


def is_unsignalled(evd: Evd) -> bool | None:
    """Whether an EP leaves notification on this EVD to the consumer."""
    for feeder, stream in evd.feeders:
        if not feeder.alive or feeder.kind != "ep":
            continue
        attr = feeder.attr  # type: ignore[attr-defined]
        if feeder.lost:
            return None
        if stream == "recv" and attr.get("recv_completion_flags") in (
            "DAT_COMPLETION_UNSIGNALLED_FLAG",
            "DAT_COMPLETION_SOLICITED_WAIT_FLAG",
        ):
            # Receives of an SRQ signal whatever the flag is.
            return True if feeder.srq is None else None  # type: ignore[attr-defined]
        if (
            stream == "request"
            and attr.get("request_completion_flags") == "DAT_COMPLETION_UNSIGNALLED_FLAG"
        ):
            return True
    return False


@refuses("dat_evd_wait", clauses=["evd_wait/no_threshold"])
def no_threshold(call: Call, _evd: Evd, _side: Side) -> Refusal | Open | None:
    threshold = call.arg("threshold")
    if not isinstance(threshold, int):
        return Open("the threshold is not recorded")
    return refuse(INVALID_PARAMETER) if threshold < 1 else None


@refuses(
    "dat_evd_wait",
    clauses=["evd_wait/threshold_above_length", "evd_wait/threshold_of_shrunk_queue"],
    rulings=["EVD-4"],
)
def threshold_above(call: Call, evd: Evd, side: Side) -> Refusal | Open | None:
    threshold = call.arg("threshold")
    if not isinstance(threshold, int) or threshold <= evd.qlen_least:
        return None
    most = limit(evd, "max_evd_qlen", side)
    if (evd.qlen is not None and threshold > evd.qlen) or (
        most is not None and threshold > 4 * most
    ):
        return refuse(INVALID_PARAMETER)
    return may(INVALID_PARAMETER)


@refuses(
    "dat_evd_wait",
    clauses=[
        "evd_wait/threshold_with_unsignalled_receives",
        "evd_wait/threshold_with_solicited_receives",
        "evd_wait/threshold_with_unsignalled_requests",
    ],
    rulings=["EVD-8"],
)
def threshold_of_consumer(call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    if call.arg("threshold") == 1:
        return None
    left = is_unsignalled(evd)
    if left is None:
        return may(INVALID_STATE, INVALID_PARAMETER)
    return refuse(INVALID_STATE, INVALID_PARAMETER) if left else None


@refuses("dat_evd_wait", clauses=["evd_wait/in_state"])
def unwaitable(_call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    if evd.waitable is None:
        return Open("whether the EVD is waitable is not known")
    return None if evd.waitable else refuse(INVALID_STATE)


@refuses("dat_evd_wait", clauses=["evd_wait/time_out", "evd_wait/long_wait"], rulings=["EVD-11"])
def time_out(call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    """A wait may time out if fewer software events are there than it waits for."""
    threshold = call.arg("threshold")
    if call.arg("timeout") == INFINITE:
        return ends(INTERRUPTED)
    if isinstance(threshold, int) and 1 <= threshold <= len(evd.software):
        return ends(INTERRUPTED)
    return ends(INTERRUPTED, TIMEOUT_EXPIRED)


@tells(
    "dat_evd_wait",
    clauses=["evd_wait/time_out", "evd_wait/long_wait"],
    rulings=["EVD-11"],
    asleep=True,
)
def no_earlier(call: Call, _evd: Evd, _side: Side) -> bool | str | None:
    """A wait that times out returns no earlier than its time."""
    return _in_time(call, TIMEOUT_EXPIRED, "evd_wait/long_wait")


def _in_time(call: Call, returned: str, endless: str) -> bool | str | None:
    timeout = call.arg("timeout")
    if not call.finished or call.ret != returned:
        return None
    if any(other.name.endswith(("_free", "_close")) for other in call.overlaps):
        # How a wait ends that is released no page says (CNO-2).
        return None
    took = call.raw.get("us", 0)
    if timeout == INFINITE:
        # Beside no other call, its return is judged.
        return Breach(endless, f"times out after {took} us") if call.overlaps else None
    if not isinstance(timeout, int):
        return None
    return True if took + 1 >= timeout else f"times out after {took} us, not {timeout} us"


@tells(
    "dat_cno_wait",
    clauses=["cno_wait/time_out", "cno_wait/long_wait"],
    rulings=["CNO-1", "EVD-11"],
    asleep=True,
)
def cno_no_earlier(call: Call, _cno: Any, _side: Side) -> bool | str | None:
    early = _in_time(call, QUEUE_EMPTY, "cno_wait/long_wait")
    if early is not True:
        return early
    told = call.field("evd_handle")
    return True if told in (None, NULL) else f"times out and names {told}"


@tells("dat_evd_wait", clauses=["evd_wait/time_out"], always=True)
def more_after_time_out(call: Call, evd: Evd, _side: Side) -> bool | str | None:
    """The number of those queued is reported, also where the time is over."""
    more, threshold = call.field("n_more_events"), call.arg("threshold")
    if call.ret != TIMEOUT_EXPIRED or not isinstance(more, int):
        return None
    least = len(evd.software)
    if more < least or (not evd.hidden and more != least):
        return f"tells {more} events, while {least} software events are queued"
    return True if not isinstance(threshold, int) or more < threshold else f"tells {more} events"


@tells("dat_evd_wait", clauses=["evd_wait/more", "evd_wait/threshold"])
def more(call: Call, evd: Evd, _side: Side) -> bool | str | None:
    told, threshold = call.field("n_more_events"), call.arg("threshold")
    if not isinstance(told, int) or not isinstance(threshold, int):
        return None
    if told < threshold - 1:
        return f"tells {told} further events, and waited for {threshold}"
    if call.overlaps:
        return True
    event = call.field("event")
    taken = isinstance(event, dict) and event.get("event_number") == SOFTWARE_EVENT
    least = len(evd.software) - (1 if taken else 0)
    if told < least or (not evd.hidden and told != least):
        return f"tells {told} further events, while {least} software events are queued"
    # A queue that was asked for a length may hold more, so its length bounds nothing here.
    return True


@refuses("dat_evd_dequeue", clauses=["evd_dequeue/empty"])
def empty(_call: Call, evd: Evd, _side: Side) -> Refusal | Open | None:
    return None if evd.software else may(QUEUE_EMPTY)


@tells("dat_evd_dequeue", "dat_evd_wait", clauses=["evd_dequeue/event", "evd_wait/event"])
def event(call: Call, evd: Evd, side: Side) -> bool | str | None:
    """The event that is taken is one that something caused."""
    return _take(call, evd, side)


def _take(call: Call, evd: Evd, side: Side) -> bool | str | None:
    told = call.field("event")
    call.objects["taken"] = True
    if not isinstance(told, dict):
        return None
    number = told.get("event_number")
    if told.get("evd_handle") != evd.name:
        return f"the event's evd_handle is {told.get('evd_handle')}, not {evd.name}"
    rule = EVENTS.get(str(number))
    if rule is None:
        return f"the event's number is {number}, which is none"
    data = told.get("event_data")
    wrong = rule(call, evd, data, side) if isinstance(data, dict) else None
    row = _ROWS.get(str(number))
    if not row or not isinstance(wrong, str) or isinstance(wrong, Breach):
        return wrong
    return Breach(f"{call.name.removeprefix('dat_')}/event/{row}", wrong)


@after_any("dat_evd_dequeue", "dat_evd_wait")
def taken(call: Call, evd: Any, side: Side) -> None:
    if call.ok and isinstance(evd, Evd) and "taken" not in call.objects:
        _take(call, evd, side)
    if isinstance(evd, Evd) and _found_empty(call):
        evd.empty_at = call.begin
    if call.ok and isinstance(evd, Evd):
        cno = side.get(evd.cno)
        if isinstance(cno, Cno):
            cno.certain = False


def _found_empty(call: Call) -> bool:
    if call.ret == QUEUE_EMPTY:
        return True
    return call.ret == TIMEOUT_EXPIRED and call.field("n_more_events") == 0


def unknown(call: Call, name: Any, side: Side) -> str | None:
    """An event about something of which the model knows nothing."""
    if not isinstance(name, str) or not name.startswith("0x"):
        return f"an event about {name}, which is not of its kind"
    if call.overlaps or any(
        point.flag == "DAT_PSP_PROVIDER_FLAG" or point.ep is None
        for point in side.objects.values()
        if isinstance(point, Sp)
    ):
        return None
    return f"an event about {name}, which is no object"


def _software(call: Call, evd: Evd, data: dict[str, Any], _side: Side) -> bool | str | None:
    pointer = data.get("pointer")
    if not evd.software:
        return "a software event, while none is queued"
    races = any(
        other.name in ("dat_evd_wait", "dat_evd_dequeue", "dat_evd_post_se")
        for other in call.overlaps
    )
    queued = evd.software if races else _first(evd.software)
    taken = next((each for each in queued if each.pointer in (None, pointer)), None)
    evd.software.remove(taken or evd.software[0])
    if races:
        return None
    return True if taken else f"the event's pointer is {pointer}, not {queued[0].pointer}"


def _first(software: list[Posted]) -> list[Posted]:
    """Which of the queued events may be the first: posts of several threads that met are in no
    order.
    """
    ended = min(each.end for each in software)
    return [each for each in software if each is software[0] or each.begin < ended]


EVENTS[SOFTWARE_EVENT] = _software
