# SPDX-License-Identifier: BSD-2-Clause
"""Memory regions: registered, queried, synchronized, and freed when no RMR is bound to them."""

from typing import Any

from oracle.common import (
    answers,
    few,
    ia_name,
    limit,
    made,
    mask_parts,
    mask_refusal,
    new_handle,
    same_flags,
)
from oracle.kernel import (
    INVALID_PARAMETER,
    INVALID_STATE,
    MODEL,
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
from oracle.state import Lmr, Side
from oracle.trace import Call
from oracle.typed import Context
from oracle.values import flags

VIRTUAL = "DAT_MEM_TYPE_VIRTUAL"
OF_LMR = "DAT_MEM_TYPE_LMR"
SHARED = "DAT_MEM_TYPE_SHARED_VIRTUAL"
LOCAL_READ = "DAT_MEM_PRIV_LOCAL_READ_FLAG"
LOCAL_WRITE = "DAT_MEM_PRIV_LOCAL_WRITE_FLAG"
REMOTE_READ = "DAT_MEM_PRIV_REMOTE_READ_FLAG"
REMOTE_WRITE = "DAT_MEM_PRIV_REMOTE_WRITE_FLAG"
ALL = frozenset((LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE))
SMALL_REGION = 4 << 20


def privileges(text: Any) -> frozenset[str]:
    """The privileges in a recorded set; unknown bits keep their number."""
    named = flags(text)
    if "DAT_MEM_PRIV_ALL_FLAG" in named:
        named = (named - {"DAT_MEM_PRIV_ALL_FLAG"}) | ALL
    return named - {"DAT_MEM_PRIV_NONE_FLAG", "0x0"}


def _small(call: Call, ia: Any, side: Side) -> bool:
    length = call.arg("length")
    return (
        few(side, "lmr", limit(ia, "max_lmrs", side))
        and call.arg("mem_type") == VIRTUAL
        and isinstance(length, int)
        and length <= SMALL_REGION
    )


describe(
    "dat_lmr_create",
    legal="lmr_create/created",
    returns="INSUFFICIENT_RESOURCES INVALID_PARAMETER INVALID_HANDLE INVALID_STATE "
    "MODEL_NOT_SUPPORTED",
    handles=[
        Handle("ia_handle", "ia", clause="lmr_create/invalid_ia_handle"),
        Handle("pz_handle", "pz", clause="lmr_create/invalid_pz_handle"),
    ],
    small=_small,
)
describe(
    "dat_lmr_free",
    legal="lmr_free/unused",
    returns="INVALID_HANDLE INVALID_STATE",
    handles=[Handle("lmr_handle", "lmr", clause="lmr_free/invalid_handle")],
    gone_passes="DAT_SUCCESS",
)
describe(
    "dat_lmr_query",
    legal="lmr_query/field_among_all",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("lmr_handle", "lmr", clause="lmr_query/invalid_handle")],
)
for _call in ("dat_lmr_sync_rdma_read", "dat_lmr_sync_rdma_write"):
    _page = _call.removeprefix("dat_")
    describe(
        _call,
        legal=f"{_page}/place",
        returns="INVALID_HANDLE INVALID_PARAMETER",
        handles=[Handle("ia_handle", "ia", clause=f"{_page}/invalid_handle")],
    )


@refuses("dat_lmr_create", clauses=["lmr_create/undefined_type"], rulings=["LMR-3"])
def mem_type(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    kind = call.arg("mem_type")
    if kind == VIRTUAL:
        return None
    if kind in (OF_LMR, SHARED):
        return Open("memory of another type than the consumer's own")
    return refuse(INVALID_PARAMETER, MODEL)


@refuses("dat_lmr_create", clauses=["lmr_create/undefined_privilege"], rulings=["LMR-4"])
def undefined_privilege(call: Call, _ia: Any, _side: Side) -> Refusal | Open | None:
    given = call.arg("privileges")
    if given is None:
        return Open("the privileges are not recorded")
    if any(name.startswith("0x") for name in privileges(given)):
        return refuse(INVALID_PARAMETER)
    return None


@refuses("dat_lmr_create", clauses=["lmr_create/no_length"], rulings=["LMR-6", "LMR-7"])
def memory(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    """Whether the memory is there, no record tells; below the limits it mostly is."""
    length = call.arg("length")
    region = call.arg("region_description")
    if length == 0:
        return choose()
    most = limit(ia, "max_lmr_block_size", side)
    if not isinstance(length, int) or most is None or length > most:
        return Open("the length may be beyond what there is")
    if not isinstance(region, dict) or region.get("for_va") in (None, "NULL"):
        return Open("where the memory is, is not recorded")
    # The page calls memory that is not there invalid; the trace does not show what is there.
    return may(INVALID_PARAMETER, INVALID_STATE)


@tells("dat_lmr_create", clauses=["lmr_create/many_at_once"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "lmr_handle", side)


@tells("dat_lmr_create", clauses=["lmr_create/no_remote_context"], rulings=["LMR-1"])
def remote_context(call: Call, _ia: Any, _side: Side) -> bool | str | None:
    asked = privileges(call.arg("privileges"))
    told = call.field("rmr_context")
    if not isinstance(told, str) or asked & {REMOTE_READ, REMOTE_WRITE}:
        return None
    if isinstance(told, Context):
        why = f"gives the remote context {told.number} without a remote privilege"
        return True if told.number == 0 else why
    # A context is recorded by the name of its LMR, also where it is 0.
    return (
        True
        if not told.startswith("0x") or told == "0x0"
        else "gives a remote context without a remote privilege"
    )


@tells("dat_lmr_create", clauses=["lmr_create/registered"], rulings=["LMR-5"])
def registered(call: Call, _ia: Any, _side: Side) -> bool | str | None:
    length, told = call.arg("length"), call.field("registered_length")
    if call.arg("mem_type") != VIRTUAL or not isinstance(length, int) or not isinstance(told, int):
        return None
    address = call.field("registered_address")
    region = call.arg("region_description")
    if told < length:
        return f"registers {told} bytes of {length}"
    begin, at = _number(region, "for_va"), _hex(address)
    if isinstance(address, str) and "+" in address:
        return True
    if begin is not None and at is not None and (at > begin or at + told < begin + length):
        return f"registers {told} bytes at {address}, which are not those that were asked for"
    return True


def _number(region: Any, field: str) -> int | None:
    return _hex(region.get(field)) if isinstance(region, dict) else None


def _hex(text: Any) -> int | None:
    if isinstance(text, str) and text.startswith("0x"):
        try:
            return int(text, 16)
        except ValueError:
            return None
    return None


@after("dat_lmr_create")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "lmr_handle", side)
    if not name:
        return
    lmr = Lmr(name, ia)
    lmr.pz = call.objects.get("pz_handle")
    lmr.privileges = privileges(call.arg("privileges"))
    lmr.mem_type = str(call.arg("mem_type"))
    length = call.arg("length")
    lmr.length = length if isinstance(length, int) and lmr.mem_type == VIRTUAL else None
    lmr.told = {
        "region": call.arg("region_description"),
        "lmr_context": call.field("lmr_context"),
        "rmr_context": call.field("rmr_context"),
        "registered_size": call.field("registered_length"),
        "registered_address": call.field("registered_address"),
    }
    if lmr.pz is not None:
        lmr.pz.users.add(lmr)
    side.add(lmr)


@refuses("dat_lmr_free", clauses=["lmr_free/in_use"])
def in_use(_call: Call, lmr: Lmr, _side: Side) -> Refusal | Open | None:
    """An LMR that an RMR is bound to is not freed."""
    if any(rmr.alive for rmr in lmr.bound):
        return refuse(INVALID_STATE)
    if any(rmr.alive for rmr in lmr.maybe):
        return may(INVALID_STATE)
    return None


@after("dat_lmr_free")
def free(_call: Call, lmr: Lmr, side: Side) -> None:
    side.end(lmr)
    if lmr.pz is not None:
        lmr.pz.users.discard(lmr)


@refuses("dat_lmr_query", clauses=["lmr_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _lmr: Lmr, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("lmr_param_mask"))


@tells("dat_lmr_query", clauses=["lmr_query/field", "lmr_query/field_among_all"])
def query(call: Call, lmr: Lmr, side: Side) -> bool | str | None:
    told = lmr.told
    plain = lmr.mem_type == VIRTUAL
    return answers(
        call,
        "lmr_param_mask",
        "lmr_param",
        "DAT_LMR_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(lmr)),
            "mem_type": ("MEM_TYPE", lmr.mem_type),
            "region_desc": ("REGION_DESC", told["region"] if plain else None),
            "length": ("LENGTH", lmr.length),
            "pz_handle": ("PZ_HANDLE", lmr.pz.name if lmr.pz else None),
            "mem_priv": ("MEM_PRIV", _privileges(lmr.privileges)),
            "lmr_context": ("LMR_CONTEXT", _context(told["lmr_context"], lmr, side)),
            "rmr_context": (
                "RMR_CONTEXT",
                _context(told["rmr_context"], lmr, side)
                if lmr.privileges & {REMOTE_READ, REMOTE_WRITE}
                else None,
            ),
            "registered_size": ("REGISTERED_SIZE", told["registered_size"]),
            "registered_address": (
                "REGISTERED_ADDRESS",
                told["registered_address"] if _certain(told["registered_address"], lmr) else None,
            ),
        },
    )


@tells("dat_lmr_query", clauses=["lmr_query/field"], rulings=["LMR-1"])
def queried_context(call: Call, lmr: Lmr, _side: Side) -> bool | str | None:
    """The remote context of an LMR without a remote privilege is 0."""
    told, mask = call.field("lmr_param"), mask_parts(call.arg("lmr_param_mask"))
    context = told.get("rmr_context") if isinstance(told, dict) else None
    if not isinstance(context, Context) or lmr.privileges & {REMOTE_READ, REMOTE_WRITE}:
        return None
    if mask is None or not mask & {"DAT_LMR_FIELD_RMR_CONTEXT", "DAT_LMR_FIELD_ALL"}:
        return None
    return True if context.number == 0 else f"tells the remote context {context.number}"


def _certain(address: Any, lmr: Lmr) -> bool:
    """Addresses are recorded by an LMR that covers them, which may be another later."""
    del address, lmr
    return False


def _context(context: Any, lmr: Lmr, side: Side) -> Any:
    """A context is recorded by the name of its LMR, as long as no other has the same number."""
    return context if context in (lmr.name, "0x0") and side.opened == 1 else None


def _privileges(wanted: frozenset[str]) -> Any:
    if any(name.startswith("0x") for name in wanted):
        return None
    if wanted == ALL:
        return "DAT_MEM_PRIV_ALL_FLAG"
    if not wanted:
        return "DAT_MEM_PRIV_NONE_FLAG"
    return same_flags(wanted)


def lmr_of(segment: Any, side: Side, ia: Any) -> Lmr | None:
    """The LMR that a segment's context names, of this IA if it may be; None if it is not known."""
    context = segment.get("lmr_context") if isinstance(segment, dict) else None
    lmr = side.get(context)
    if isinstance(context, Context) and (not isinstance(lmr, Lmr) or lmr.ia is not ia):
        for other in side.live("lmr"):
            if other.ia is ia and _number_of(other) == context.number:
                lmr = other
    return lmr if isinstance(lmr, Lmr) else None


def _number_of(lmr: Lmr) -> int | None:
    """The LMR's context as a number, where that is recorded."""
    context = lmr.told.get("lmr_context")
    return context.number if isinstance(context, Context) else None


def offset_in(segment: Any, lmr: Lmr) -> int | None:
    """Where a segment begins in its LMR, or before it; None where that is not known."""
    address = segment.get("virtual_address")
    if isinstance(address, str) and address.startswith(f"{lmr.name}+"):
        return int(address[len(lmr.name) + 1 :])
    at, base = _hex(address), _base(lmr)
    return None if at is None or base is None else at - base


def _base(lmr: Lmr) -> int | None:
    return _number(lmr.told.get("region"), "for_va") if lmr.mem_type == VIRTUAL else None


def is_inside(segment: Any, lmr: Lmr) -> bool | None:
    """Whether a segment lies within its LMR; None where that is not known.

    What a provider has registered beyond what was asked for (LMR-5) is neither inside nor outside.
    """
    begin, length = offset_in(segment, lmr), segment.get("segment_length")
    if begin is None or lmr.length is None or not isinstance(length, int):
        return None
    if begin >= 0 and begin + length <= lmr.length:
        return True
    first, size = _registered(lmr)
    return False if begin < first or begin + length > first + size else None


def _registered(lmr: Lmr) -> tuple[int, int]:
    """Where the registered memory begins, by that which was asked for, and how long it is."""
    assert lmr.length is not None
    size, at, base = lmr.told.get("registered_size"), _hex(lmr.told.get("registered_address")), None
    if at is not None:
        base = _base(lmr)
    first = min(0, at - base) if at is not None and base is not None else 0
    return first, max(lmr.length - first, size if isinstance(size, int) else 0)


@refuses(
    "dat_lmr_sync_rdma_read",
    clauses=["lmr_sync_rdma_read/refused"],
    rulings=["DTO-40"],
)
def sync_read(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    return _sync(call, ia, side)


@refuses(
    "dat_lmr_sync_rdma_write",
    clauses=["lmr_sync_rdma_write/refused"],
    rulings=["DTO-40"],
)
def sync_write(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    return _sync(call, ia, side)


def _names_none(segment: dict[str, Any], side: Side) -> bool:
    """Whether a context is of no LMR that is alive, as a typed record tells."""
    context = segment.get("lmr_context")
    known = isinstance(context, Context) and context.startswith("0x")
    return known and not side.threads and not any(lmr.lost for lmr in side.live("lmr"))


def _sync(call: Call, ia: Any, side: Side) -> Refusal | Open | None:
    count = call.arg("num_segments")
    segments = call.arg("local_segments")
    if count == 0:
        return choose()
    if not isinstance(segments, list) or not isinstance(count, int):
        return Open("the segments are not recorded")
    open_reason: Open | None = None
    for segment in segments[:count]:
        lmr = lmr_of(segment, side, ia)
        if not isinstance(segment, dict):
            return Open("the segments are not recorded")
        if segment.get("segment_length") == 0:
            open_reason = Open("a segment without length")
        elif lmr is None and _names_none(segment, side):
            return refuse(INVALID_PARAMETER)
        elif lmr is None or lmr.lost or not lmr.alive or lmr.ia is not ia:
            open_reason = Open("the LMR of a segment is not known")
        else:
            inside = is_inside(segment, lmr)
            if inside is None:
                open_reason = Open("where a segment lies is not known")
            elif not inside:
                return refuse(INVALID_PARAMETER)
    if open_reason is None and len(segments) < count:
        return Open("not all segments are recorded")
    return open_reason
