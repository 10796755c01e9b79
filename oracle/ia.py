# SPDX-License-Identifier: BSD-2-Clause
"""Interface adapters: opened, queried, closed."""

from typing import Any

from oracle.common import made, new_handle
from oracle.kernel import (
    INVALID_HANDLE,
    INVALID_PARAMETER,
    INVALID_STATE,
    Handle,
    Open,
    Refusal,
    after,
    choose,
    describe,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import NULL, Ep, Evd, Ia, Obj, Side, Sp
from oracle.trace import Call

describe(
    "dat_ia_openv",
    legal="ia_open/opened",
    returns="INSUFFICIENT_RESOURCES INVALID_PARAMETER PROVIDER_NOT_FOUND INVALID_HANDLE",
)
describe(
    "dat_ia_query",
    legal="ia_query/ia_field",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("ia_handle", "ia", clause="ia_query/invalid_handle")],
)
describe(
    "dat_ia_close",
    legal="ia_close/abrupt",
    legal_of=lambda call: (
        "ia_close/graceful" if call.arg("close_flags") == "DAT_CLOSE_GRACEFUL_FLAG" else ""
    ),
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE INVALID_PARAMETER INVALID_STATE",
    handles=[Handle("ia_handle", "ia", clause="ia_close/invalid_handle")],
    small=lambda _call, _ia, _side: True,
)


NOT_FOUND = "DAT_PROVIDER_NOT_FOUND"
ASYNC = "DAT_EVD_ASYNC_FLAG"


def opened_as(side: Side) -> Any:
    """The name by which the run opens the IA."""
    return side.attributes.get("opened_as")


@refuses("dat_ia_openv", clauses=["ia_open/name_unknown"], rulings=["IA-5", "REG-5"])
def name(call: Call, _ia: Any, side: Side) -> Refusal | Open | None:
    """Only the name that the run opens is known to be registered."""
    given = call.arg("name")
    known = opened_as(side)
    if (
        (call.thread == 1 or call.typed)
        and known is not None
        and given == known
        and call.arg("dat_major") == 1
        and call.arg("dat_minor") == 2
        and call.arg("thread_safety") == "DAT_FALSE"
    ):
        return None
    if call.arg("async_evd_handle") == NULL:
        # Another name may be registered; then it is opened, and else not found.
        if call.ret == NOT_FOUND:
            return may(NOT_FOUND)
        if call.ret == INVALID_HANDLE:
            return refuse(NOT_FOUND)
    return Open("what the registry knows is not recorded")


def _given(evd: Any) -> Refusal | Open | None:
    """What an asynchronous EVD of the consumer's lets the call be answered with, at any length."""
    if evd is None or evd.lost or (isinstance(evd, Evd) and evd.flags is None):
        return Open("an asynchronous EVD that is not known")
    if not isinstance(evd, Evd) or not evd.alive or ASYNC not in (evd.flags or ()):
        return may(INVALID_HANDLE)
    if evd.ia is None or not evd.ia.registered:
        return Open("an asynchronous EVD of an IA that is not known")
    return None


@refuses(
    "dat_ia_openv",
    clauses=["ia_open/async_length_negative"],
    rulings=["IA-6", "IA-7", "IA-8"],
)
def async_evd(call: Call, _ia: Any, side: Side) -> Refusal | Open | None:
    given = call.arg("async_evd_handle")
    length = call.arg("async_evd_min_qlen")
    if given != NULL:
        return _given(side.get(given))
    if not isinstance(length, int):
        return Open("async_evd_min_qlen is not recorded")
    if length < 0:
        return refuse(INVALID_PARAMETER)
    most = side.attributes.get("max_evd_qlen")
    return choose() if length == 0 or not isinstance(most, int) or length > most else None


@tells("dat_ia_openv", clauses=["ia_open/unique_handle"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    told = new_handle(call, "ia_handle", side)
    if told is True and call.arg("async_evd_handle") == NULL:
        return new_handle(call, "async_evd_handle", side)
    return told


@tells("dat_ia_openv", clauses=["ia_open/async_given"], rulings=["IA-7"])
def keeps_given(call: Call, _ia: Any, side: Side) -> bool | str | None:
    """The handle of an EVD that was given stays."""
    given, told = call.arg("async_evd_handle"), call.field("async_evd_handle")
    if given == NULL or told is None or side.get(given) is None:
        return None
    return True if told == given else f"async_evd_handle is {told}, not {given} as it was given"


@after("dat_ia_openv")
def opened(call: Call, _ia: Any, side: Side) -> None:
    handle = made(call, "ia_handle", side)
    if not handle:
        return
    ia = Ia(handle)
    side.add(ia)
    side.ias.append(ia)
    side.opened += 1
    ia.attr = side.attributes
    if call.arg("thread_safety") != "DAT_FALSE":
        ia.attr = {key: value for key, value in ia.attr.items() if key != "is_thread_safe"}
    ia.registered = call.arg("name") == opened_as(side)
    if not ia.registered:
        ia.attr = {}
    given = call.arg("async_evd_handle")
    told = call.field("async_evd_handle")
    ia.async_evd = told if isinstance(told, str) else None
    ia.async_own = given == NULL
    if ia.async_own and ia.async_evd and made(call, "async_evd_handle", side):
        evd = Evd(ia.async_evd, ia)
        evd.flags = frozenset(("DAT_EVD_ASYNC_FLAG",))
        length = call.arg("async_evd_min_qlen")
        evd.qlen_least = length if isinstance(length, int) and length > 0 else 0
        evd.feeders.add((ia, "async"))
        evd.hidden = True
        side.add(evd)


@refuses("dat_ia_query", clauses=["ia_query/invalid_mask", "ia_query/invalid_bit"])
def masks(call: Call, _ia: Ia, _side: Side) -> Refusal | Open | None:
    nowhere = []
    for argument, pointer in (("ia_attr_mask", "ia_attr"), ("provider_attr_mask", "provider_attr")):
        mask = call.arg(argument)
        if not isinstance(mask, str):
            return Open("a mask is not recorded")
        if any(part.startswith("0x") and part != "0x0" for part in mask.split("|")):
            return refuse(INVALID_PARAMETER)
        if call.args.get(pointer) == "NULL":
            nowhere.append(mask)
    if any(not mask.endswith("_FIELD_NONE") for mask in nowhere):
        return Open("a null pointer")
    # Where nothing is asked for, the pointer may be refused or not. The EVD has to be right.
    return may(INVALID_PARAMETER) if nowhere else None


@tells("dat_ia_query", clauses=["ia_query/async_evd"])
def tells_async_evd(call: Call, ia: Ia, _side: Side) -> bool | str | None:
    told = call.field("async_evd_handle")
    if told is None or ia.async_evd is None:
        return None
    return True if told == ia.async_evd else f"async_evd_handle is {told}, not {ia.async_evd}"


# Bits of the masks that are not named after their fields.
IA_BITS = {
    "max_evd_qlen": "IA_MAX_EVD_QLEN",
}


@tells("dat_ia_query", clauses=["ia_query/unchanged_by_use", "ia_query/common_to_instances"])
def attributes(call: Call, ia: Ia, side: Side) -> bool | str | None:
    """An attribute stays what it was told to be, and is the same for all instances."""
    judged: bool | None = None
    for argument, output, bits in (
        ("ia_attr_mask", "ia_attr", "DAT_IA_FIELD_"),
        ("provider_attr_mask", "provider_attr", "DAT_PROVIDER_FIELD_"),
    ):
        told = call.field(output)
        mask = call.arg(argument)
        if not isinstance(told, dict) or not isinstance(mask, str):
            continue
        parts = mask.split("|")
        everything = f"{bits}ALL" in parts
        for field, value in told.items():
            if isinstance(value, (dict, list)) or "attr" in field or field.endswith("_ptr"):
                continue
            if field in ("evd_stream_merging_supported", *side.attributes.get("unwritten", ())):
                continue
            if not everything and not any(_names(part, bits, field) for part in parts):
                continue
            first = ia.parameters.get(field)
            known = ia.attr.get(field) if first is None else first
            if known is None:
                ia.parameters[field] = value
                continue
            judged = True
            if not _equal(value, known):
                return f"{field} is {value}, not {known} as it was told before"
    return judged


def _names(part: str, prefix: str, field: str) -> bool:
    name = part.removeprefix(prefix).lower()
    return name in (field, f"ia_{field}", f"provider_{field}")


def _equal(told: Any, known: Any) -> bool:
    if isinstance(known, bool):
        return bool(told == ("DAT_TRUE" if known else "DAT_FALSE") or told == int(known))
    return bool(_number(told) == _number(known))


def _number(value: Any) -> Any:
    """An address is written as a hexadecimal number in one record, and as a decimal in another."""
    try:
        return int(str(value), 0)
    except ValueError:
        return str(value)


@refuses("dat_ia_close", clauses=["ia_close/invalid_flags"])
def close_flags(call: Call, _ia: Ia, _side: Side) -> Refusal | Open | None:
    flags = call.arg("close_flags")
    if flags in ("DAT_CLOSE_ABRUPT_FLAG", "DAT_CLOSE_GRACEFUL_FLAG"):
        return None
    return refuse(INVALID_PARAMETER)


@refuses("dat_ia_close", clauses=["ia_close/graceful_refused"], rulings=["IA-1"])
def graceful(call: Call, ia: Ia, side: Side) -> Refusal | Open | None:
    """A graceful close is refused while the consumer has objects of the IA."""
    if call.arg("close_flags") != "DAT_CLOSE_GRACEFUL_FLAG":
        return None
    if call.thread != 1 and not call.typed:
        return Open("it may be another process that closes")
    if any(other.async_evd == ia.async_evd for other in side.ias if other is not ia):
        return Open("the asynchronous EVD is another instance's too")
    left = [obj for obj in side.objects.values() if obj.alive and obj.ia is ia and obj is not ia]
    own = [obj for obj in left if obj.name != ia.async_evd or not ia.async_own]
    if any(obj.lost for obj in own):
        return Open("an object of the IA is not known")
    certain = [obj for obj in own if not _uncertain(obj)]
    if certain:
        return refuse(INVALID_STATE)
    return may(INVALID_STATE) if own or _has_made(ia, side) else None


def _has_made(ia: Ia, side: Side) -> bool:
    """Whether the provider has made an EP for a request, which no call may have told of."""
    return any(
        isinstance(point, Sp)
        and point.ia is ia
        and point.requests > 0
        and (point.flag == "DAT_PSP_PROVIDER_FLAG" or point.ep is None)
        for point in side.objects.values()
    )


def _uncertain(obj: Obj) -> bool:
    """Objects that may be the provider's, or gone by themselves (RSP-1)."""
    if obj.kind == "cr":
        return True
    if obj.kind == "ep":
        return getattr(obj, "origin", "") == "provider"
    return obj.kind == "rsp" and bool(getattr(obj, "requests", 0))


@refuses("dat_ia_close", clauses=["ia_close/registered_by_application"], rulings=["REG-7", "IA-12"])
def registered_by_application(_call: Call, ia: Ia, side: Side) -> Refusal | Open | None:
    if not ia.registered:
        return may("DAT_PROVIDER_NOT_FOUND")
    return None


@after("dat_ia_close")
def closed(call: Call, ia: Ia, side: Side) -> None:
    for obj in side.objects.values():
        if obj.alive and obj.ia is ia:
            if obj.name == ia.async_evd and not ia.async_own:
                continue
            side.end(obj)
            if isinstance(obj, Ep):
                for connection in obj.connections:
                    connection.lasts_to(call.begin)
    side.end(ia)
    if ia in side.ias:
        side.ias.remove(ia)
