# SPDX-License-Identifier: BSD-2-Clause
"""Shared receive queues.

What is outstanding is known to the last receive (SRQ-6), as long as no EP that may have held some
was freed or reset. Behind that, and for what is available, there are bounds: messages come at any
time, and of the receives of such an EP some may never be reaped.
"""

from typing import Any

from oracle.common import (
    SMALL_QUEUE,
    Wanted,
    answers,
    asked,
    few,
    ia_name,
    limit,
    made,
    mask_refusal,
    new_handle,
    one_of,
    truth,
    within,
)
from oracle.dto import bad_from, check_segments, room_of
from oracle.kernel import (
    ANY_ERROR,
    INSUFFICIENT,
    INVALID_HANDLE,
    INVALID_PARAMETER,
    INVALID_STATE,
    MODEL,
    NOT_IMPLEMENTED,
    Breach,
    Handle,
    Open,
    Refusal,
    after,
    after_any,
    choose,
    describe,
    may,
    racing,
    refuse,
    refuses,
    tells,
)
from oracle.messages import counts_of, is_spent, none_accepted, taken_surely
from oracle.state import (
    ACTIVE,
    COMPLETION_PENDING,
    PASSIVE,
    RESERVED,
    UNCONNECTED,
    Receive,
    Side,
    Srq,
)
from oracle.trace import Call
from oracle.watermark import set_mark

UNKNOWN = "DAT_VALUE_UNKNOWN"
IDLE = frozenset((UNCONNECTED, RESERVED, PASSIVE, ACTIVE, COMPLETION_PENDING))


def _attr(call: Call) -> dict[str, Any]:
    attr = call.arg("srq_attr")
    return attr if isinstance(attr, dict) else {}


def _small(call: Call, ia: Any, side: Side) -> bool:
    attr = _attr(call)
    return (
        few(side, "srq", limit(ia, "max_srqs", side))
        and within(attr.get("max_recv_dtos"), limit(ia, "max_recv_per_srq", side))
        and within(attr.get("max_recv_iov"), limit(ia, "max_iov_segments_per_dto", side))
    )


describe(
    "dat_srq_create",
    legal="srq_create/created",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
    handles=[
        Handle("ia_handle", "ia", clause="srq_create/invalid_ia_handle"),
        Handle("pz_handle", "pz", clause="srq_create/invalid_pz_handle"),
    ],
    small=_small,
)
describe(
    "dat_srq_free",
    legal="srq_free/unused",
    returns="INVALID_HANDLE INVALID_STATE",
    handles=[Handle("srq_handle", "srq", clause="srq_free/invalid_handle")],
)
describe(
    "dat_srq_post_recv",
    legal="srq_post_recv/without_ep",
    returns="INVALID_HANDLE INSUFFICIENT_RESOURCES INVALID_PARAMETER PROTECTION_VIOLATION "
    "PRIVILEGES_VIOLATION",
    handles=[Handle("srq_handle", "srq", clause="srq_post_recv/invalid_handle")],
    small=lambda _call, srq, _side: len(srq.posted) < srq.size_least,
)
describe(
    "dat_srq_query",
    legal="srq_query/field_among_all",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("srq_handle", "srq", clause="srq_query/invalid_handle")],
)
describe(
    "dat_srq_resize",
    legal="srq_resize/grow",
    returns="INVALID_HANDLE INVALID_PARAMETER INSUFFICIENT_RESOURCES INVALID_STATE",
    handles=[Handle("srq_handle", "srq", clause="srq_resize/invalid_handle")],
    small=lambda call, srq, side: _resize_small(call, srq, side),
)
describe(
    "dat_srq_set_lw",
    legal="srq_set_lw/set",
    returns="INVALID_HANDLE INVALID_PARAMETER MODEL_NOT_SUPPORTED",
    handles=[Handle("srq_handle", "srq", clause="srq_set_lw/invalid_handle")],
)


def _resize_small(call: Call, srq: Srq, side: Side) -> bool:
    request = call.arg("srq_max_recv_dto")
    if srq.size is not None and isinstance(request, int) and request <= srq.size:
        return True
    return within(request, limit(srq, "max_recv_per_srq", side))


@refuses("dat_srq_create", clauses=["srq_create/none_without_srqs"], rulings=["GEN-2"])
def supported(_call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    """A provider without SRQs says so."""
    has = truth(ia, "srq_supported", side)
    if has is None:
        return Open("whether there are SRQs is not recorded")
    return None if has else may(MODEL, NOT_IMPLEMENTED)


@refuses("dat_srq_create", clauses=["srq_create/negative"])
def negative(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    attr = _attr(call)
    size, segments = attr.get("max_recv_dtos"), attr.get("max_recv_iov")
    if not isinstance(size, int) or not isinstance(segments, int):
        return Open("the attributes are not recorded")
    return refuse(INVALID_PARAMETER) if size < 0 or segments < 0 else None


@refuses(
    "dat_srq_create",
    clauses=["srq_create/too_large", "srq_create/zero", "srq_create/both_at_ia_limits"],
    rulings=["SRQ-13", "SRQ-17", "SRQ-29"],
)
def beyond_limits(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    attr = _attr(call)
    most = limit(ia, "max_recv_per_srq", side), limit(ia, "max_iov_segments_per_dto", side)
    values = attr.get("max_recv_dtos"), attr.get("max_recv_iov")
    for value, maximum in zip(values, most, strict=True):
        if value == 0 or maximum is None or not isinstance(value, int) or value > maximum:
            return choose()
    if values == most:
        return may(INVALID_PARAMETER, INSUFFICIENT)
    return None


@refuses(
    "dat_srq_create",
    clauses=["srq_create/other_mark", "srq_create/wrong_mark"],
    rulings=["SRQ-8"],
)
def other_mark(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    return choose() if _attr(call).get("low_watermark") != 0 else None


@tells("dat_srq_create", clauses=["srq_create/another_srq"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "srq_handle", side)


@tells("dat_srq_create", clauses=["srq_create/attributes_kept"], rulings=["SRQ-32"])
def attributes_kept(call: Call, _ia: Any, _side: Side) -> bool | str | None:
    told = call.field("srq_attr")
    if not isinstance(told, dict):
        return None
    for field, value in _attr(call).items():
        if isinstance(told.get(field), int) and told[field] < value:
            return f"writes {told[field]} to {field}, which was {value}"
    return True


@after("dat_srq_create")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "srq_handle", side)
    if not name:
        return
    srq = Srq(name, ia)
    attr = _attr(call)
    srq.pz = call.objects.get("pz_handle")
    for field in ("max_recv_dtos", "max_recv_iov"):
        srq.parameters[field] = attr.get(field)
    size = attr.get("max_recv_dtos")
    srq.size_least = size if isinstance(size, int) and size > 0 else 0
    mark = attr.get("low_watermark")
    srq.low_watermark = 0 if mark == 0 else None
    if isinstance(mark, int) and mark > 0:
        srq.marks = frozenset((0, mark))
    srq.events = 0 if mark == 0 else 1
    if srq.pz is not None:
        srq.pz.users.add(srq)
    side.add(srq)


@refuses("dat_srq_free", clauses=["srq_free/in_use"], rulings=["SRQ-1", "SRQ-12"])
def in_use(call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    """An SRQ that an EP uses is not freed, whatever the EP's state."""
    eps = [ep for ep in srq.eps if ep.alive]
    if any(ep.lost for ep in eps):
        return Open("an EP of the SRQ is not known")
    if not eps:
        return None
    if call.ret == INVALID_HANDLE and call.sub == "DAT_INVALID_STATE_SRQ_IN_USE":
        return refuse(INVALID_HANDLE)
    return refuse(INVALID_STATE)


@after("dat_srq_free")
def free(_call: Call, srq: Srq, side: Side) -> None:
    side.end(srq)
    if srq.pz is not None:
        srq.pz.users.discard(srq)


@refuses(
    "dat_srq_post_recv",
    clauses=["srq_post_recv/negative_segments", "srq_post_recv/segment_too_many"],
    rulings=["SRQ-24"],
)
def segments(call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    count = call.arg("num_segments")
    if not isinstance(count, int):
        return Open("num_segments is not recorded")
    if count < 0:
        return refuse(INVALID_PARAMETER)
    asked = srq.parameters.get("max_recv_iov")
    if srq.iov is not None:
        if count > srq.iov:
            # One more may be taken (SRQ-24); the most that a number holds is no vector.
            return Refusal(ANY_ERROR) if count > 1 << 16 else choose()
    elif isinstance(asked, int) and count > asked:
        return choose()
    return None


@refuses(
    "dat_srq_post_recv",
    clauses=["srq_post_recv/other_zone", "srq_post_recv/outside_lmr", "srq_post_recv/freed_lmr"],
    rulings=["EP-1", "GEN-9", "SRQ-25"],
)
def vector(call: Call, srq: Srq, side: Side) -> Refusal | Open | None:
    return check_segments(call, srq, srq.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG")


@refuses("dat_srq_post_recv", clauses=["srq_post_recv/too_many"], rulings=["SRQ-23"])
def too_many(_call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    """A receive beyond the size may be refused; before that there is room."""
    posted = len(srq.posted)
    if posted >= (srq.size if srq.size is not None else srq.size_least):
        return may(INSUFFICIENT)
    return None


@after("dat_srq_post_recv")
def post_recv(call: Call, srq: Srq, side: Side) -> None:
    count = call.arg("num_segments")
    receive = Receive(
        call.arg("user_cookie"), room_of(call), count if isinstance(count, int) else 0
    )
    receive.maybe_bad = (
        check_segments(call, srq, srq.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG") is not None
    )
    receive.at = call.end
    receive.n = call.n
    receive.bad_from = bad_from(call, srq, srq.pz, side, "DAT_MEM_PRIV_LOCAL_WRITE_FLAG")
    srq.posted.append(receive)
    srq.peak = max(srq.peak, len(srq.posted))
    if srq.fresh is not None:
        srq.fresh += 1
    srq.changes()


@refuses("dat_srq_query", clauses=["srq_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _srq: Srq, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("srq_param_mask"))


def _count(told_as: str, srq: Srq, side: Side, least: int, most: int) -> Wanted:
    declared = truth(srq, told_as, side)

    def check(answer: Any) -> str:
        if answer == UNKNOWN:
            return ""
        if declared is False:
            return "which the provider declares that it cannot tell"
        if not isinstance(answer, int):
            return "which is no count"
        if answer < least or answer > most:
            return f"not {least}" if least == most else f"not from {least} to {most}"
        return ""

    return Wanted(check)


def _reaped_meanwhile(call: Call) -> int:
    """How many receives other threads may have reaped as the call was made.

    A wait that it met is judged where it ends, and had taken its completion before.
    """
    taking = (other for other in call.overlaps if other.name == "dat_evd_wait")
    return sum(not other.finished or other.event == "DAT_DTO_COMPLETION_EVENT" for other in taking)


def available_least(srq: Srq, side: Side) -> int:
    """The fewest receives that can be on the SRQ now."""
    if srq.doubt:
        return 0
    for ep in srq.eps:
        idle = ep.states <= IDLE and ep.connection is None
        if not (idle or none_accepted(side) or is_spent(ep, side)):
            return 0
    return len(srq.posted)


def _mark(srq: Srq) -> Any:
    """The low watermark: of an SRQ that was made with another one, that or the default (SRQ-8)."""
    return one_of(srq.marks) if srq.low_watermark is None and srq.marks else srq.low_watermark


def _size(srq: Srq) -> Any:
    if srq.size is not None:
        return srq.size
    most = srq.size_most

    def check(answer: Any) -> str:
        if not isinstance(answer, int) or answer < srq.size_least:
            return f"not at least {srq.size_least}"
        return "" if most is None or answer <= most else f"above {most}"

    return Wanted(check)


@tells("dat_srq_query", clauses=["srq_query/size_after"], rulings=["SRQ-2", "SRQ-16"])
def size_behind_resize(call: Call, srq: Srq, _side: Side) -> bool | str | None:
    """If the size was told before a dat_srq_resize, a wrong one behind it is that call's."""
    told = call.field("srq_param")
    size = told.get("max_recv_dtos") if isinstance(told, dict) else None
    if srq.resized is None or not asked(
        call.arg("srq_param_mask"), "MAX_RECV_DTO", "DAT_SRQ_FIELD_"
    ):
        return None
    clause, number = srq.resized
    srq.resized = None
    wanted = _size(srq)
    why = wanted.check(size) if isinstance(wanted, Wanted) else ""
    if not why and isinstance(wanted, int) and size != wanted:
        why = f"not {wanted}"
    if not why:
        return True
    if clause == SHRUNK and isinstance(size, int) and size >= srq.size_least:
        clause = "srq_resize/shrink_at_most_old_size"
    return Breach(clause, f"the size is {size}, {why}, behind the dat_srq_resize of call {number}")


@tells(
    "dat_srq_query",
    clauses=["srq_query/field", "srq_query/field_among_all", "srq_query/every_mask"],
    rulings=["SRQ-6", "SRQ-10", "SRQ-14", "SRQ-15", "SRQ-16"],
)
def query(call: Call, srq: Srq, side: Side) -> bool | str | None:
    posted = len(srq.posted)
    least = max(0, srq.outstanding_least - _reaped_meanwhile(call))
    waiting = posted - taken_surely(srq, side, call.begin - side.trace.settled_us)
    asked_iov = srq.parameters.get("max_recv_iov")
    iov: Any = srq.iov
    if iov is None and isinstance(asked_iov, int):
        iov = Wanted(
            lambda answer: (
                ""
                if isinstance(answer, int) and answer >= asked_iov
                else f"not at least {asked_iov}"
            )
        )
    return answers(
        call,
        "srq_param_mask",
        "srq_param",
        "DAT_SRQ_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(srq)),
            "srq_state": ("SRQ_STATE", "DAT_SRQ_STATE_OPERATIONAL"),
            "pz_handle": ("PZ_HANDLE", srq.pz.name if srq.pz else None),
            "max_recv_dtos": ("MAX_RECV_DTO", _size(srq)),
            "max_recv_iov": ("MAX_RECV_IOV", iov),
            "low_watermark": ("LOW_WATERMARK", _mark(srq)),
            "available_dto_count": (
                "AVAILABLE_DTO_COUNT",
                _count(
                    "srq_info_available_supported",
                    srq,
                    side,
                    min(available_least(srq, side), waiting),
                    waiting,
                ),
            ),
            "outstanding_dto_count": (
                "OUTSTANDING_DTO_COUNT",
                _count("srq_info_outstanding_supported", srq, side, least, posted),
            ),
        },
    )


@tells(
    "dat_srq_query",
    clauses=["srq_query/available_to_several_eps"],
    rulings=["SRQ-31", "EP-40"],
)
def available_and_held(call: Call, srq: Srq, side: Side) -> bool | str | None:
    """A receive that waits is on the SRQ or at one of its EPs."""
    told = call.field("srq_param")
    count = told.get("available_dto_count") if isinstance(told, dict) else None
    if not isinstance(count, int) or not asked(
        call.arg("srq_param_mask"), "AVAILABLE_DTO_COUNT", "DAT_SRQ_FIELD_"
    ):
        return None
    srq.available = count
    srq.told_at = min(srq.told_at, call.begin)
    return counts_of(srq, side, call) or (True if srq.held else None)


@after("dat_srq_query")
def learn(call: Call, srq: Srq, _side: Side) -> None:
    """Sizes that were told hold from now on."""
    told, mask = call.field("srq_param"), call.arg("srq_param_mask")
    if not isinstance(told, dict) or racing(call):
        return
    size, iov, mark = (told.get(f) for f in ("max_recv_dtos", "max_recv_iov", "low_watermark"))
    prefix = "DAT_SRQ_FIELD_"
    if (
        asked(mask, "MAX_RECV_DTO", prefix)
        and isinstance(size, int)
        and srq.size is None
        and size >= srq.size_least
    ):
        srq.size = srq.size_least = size
        srq.size_told = True
    if asked(mask, "MAX_RECV_IOV", prefix) and isinstance(iov, int) and srq.iov is None:
        srq.iov = iov
    if asked(mask, "LOW_WATERMARK", prefix) and srq.low_watermark is None:
        srq.low_watermark = mark if isinstance(mark, int) else None
        if mark in srq.marks and mark > 0 and srq.events:
            # It was granted: its event was raised when the SRQ was made.
            srq.due, srq.due_at, srq.due_made = 1, call.end, True
        srq.marks = frozenset()


@refuses("dat_srq_resize", clauses=["srq_resize/negative"], rulings=["GEN-5"])
def resize_negative(call: Call, _srq: Srq, _side: Side) -> Refusal | Open | None:
    request = call.arg("srq_max_recv_dto")
    if not isinstance(request, int):
        return Open("the size is not recorded")
    return refuse(INVALID_PARAMETER, INVALID_STATE) if request < 0 else None


@refuses(
    "dat_srq_resize",
    clauses=["srq_resize/too_large", "srq_resize/zero", "srq_resize/each_too_large"],
    rulings=["SRQ-13", "SRQ-17"],
)
def resize_limits(call: Call, srq: Srq, side: Side) -> Refusal | Open | None:
    request, most = call.arg("srq_max_recv_dto"), limit(srq, "max_recv_per_srq", side)
    if request == 0:
        return choose()
    if not isinstance(request, int) or most is None:
        return Open("the limit is not recorded")
    return choose() if request > most else None


@refuses(
    "dat_srq_resize",
    clauses=["srq_resize/below_outstanding", "srq_resize/below_posted"],
    rulings=["SRQ-2", "SRQ-6"],
)
def below_outstanding(call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    """Below what is outstanding the request is refused, or granted and nothing changes (SRQ-2)."""
    request = call.arg("srq_max_recv_dto")
    if not isinstance(request, int):
        return None
    return may(INVALID_STATE) if request < len(srq.posted) else None


@refuses(
    "dat_srq_resize",
    clauses=["srq_resize/below_low_watermark"],
    rulings=["SRQ-2", "SRQ-8", "SRQ-14"],
)
def below_low_watermark(call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    request = call.arg("srq_max_recv_dto")
    if srq.low_watermark is None:
        if not srq.marks or not isinstance(request, int):
            return Open("the low watermark is not known")
        return may(INVALID_STATE, INVALID_PARAMETER) if request < max(srq.marks) else None
    if isinstance(request, int) and 0 <= request < srq.low_watermark:
        return refuse(INVALID_STATE, *((INVALID_PARAMETER,) if request == 0 else ()))
    return None


SHRUNK = "srq_resize/shrink_at_least_request"


def _judged(call: Call, srq: Srq) -> bool:
    """Whether the next size tells what a resize did."""
    return srq.size_told and not call.overlaps and call.finished


def _asked_for(request: int, srq: Srq) -> str:
    """The clause about the size behind a resize that is granted."""
    if request < len(srq.posted) and not srq.doubt:
        return "srq_resize/below_outstanding"
    if request == srq.size:
        return "srq_resize/same_size_stays"
    return "srq_resize/grow_size" if request > (srq.size or srq.size_least) else SHRUNK


@after_any("dat_srq_resize")
def resize_refused(call: Call, srq: Srq | None, _side: Side) -> None:
    if srq is not None and not call.ok:
        clause = "srq_resize/refusal_keeps_parameters"
        srq.resized = (clause, call.n) if _judged(call, srq) else None


@after("dat_srq_resize")
def resize(call: Call, srq: Srq, _side: Side) -> None:
    """The size is then between the request and the old one; below what is outstanding, the old."""
    request = call.arg("srq_max_recv_dto")
    if not isinstance(request, int):
        srq.lost = "a size that is not recorded"
        return
    srq.resized = (_asked_for(request, srq), call.n) if _judged(call, srq) else None
    old = srq.size
    if request < len(srq.posted) and not srq.doubt:
        if request >= len(srq.posted) - _reaped_meanwhile(call):
            srq.size_least, srq.size_most, srq.size = min(request, srq.size_least), old, None
        return
    if old is not None and request == old:
        return
    if old is not None and request < old:
        srq.size_least, srq.size_most, srq.size = max(request, 0), old, None
    elif old is not None or request >= srq.size_least:
        srq.size_least, srq.size_most, srq.size = request, None, None
    else:
        srq.size_least, srq.size = max(request, 0), None


@refuses("dat_srq_set_lw", clauses=["srq_set_lw/as_declared"], rulings=["GEN-2"])
def watermarks(_call: Call, srq: Srq, side: Side) -> Refusal | Open | None:
    has = truth(srq, "srq_watermarks_supported", side)
    if has is None:
        return Open("whether there are watermarks is not recorded")
    return None if has else may(MODEL, NOT_IMPLEMENTED)


@refuses(
    "dat_srq_set_lw",
    clauses=["srq_set_lw/above_size", "srq_set_lw/above_size_by_any", "srq_set_lw/negative"],
    rulings=["SRQ-16", "SRQ-20"],
)
def above_size(call: Call, srq: Srq, _side: Side) -> Refusal | Open | None:
    mark = call.arg("low_watermark")
    if not isinstance(mark, int):
        return Open("the mark is not recorded")
    if mark < 0:
        return choose()
    if srq.size is not None:
        return refuse(INVALID_PARAMETER) if mark > srq.size else None
    if mark > srq.size_least:
        return may(INVALID_PARAMETER)
    return None


@after("dat_srq_set_lw")
def set_lw(call: Call, srq: Srq, side: Side) -> None:
    mark = call.arg("low_watermark")
    srq.low_watermark = mark if isinstance(mark, int) else None
    srq.marks = frozenset()
    if call.overlaps:
        srq.low_watermark = None
    set_mark(srq, mark, side, not call.overlaps, call.end)


SMALL = SMALL_QUEUE
