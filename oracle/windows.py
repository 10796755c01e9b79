# SPDX-License-Identifier: BSD-2-Clause
"""What RDMA reaches in the process itself: windows of RMRs, and LMRs.

Judged is an RDMA between two EPs of one process, by a context that was in force when it was posted
and still is when its completion is taken. A binding is in force if the completion of its bind has
been taken, and no later bind of the RMR was posted.
"""

from typing import Any, NamedTuple

from oracle.common import declared
from oracle.kernel import Breach, tells
from oracle.lmr import is_inside, offset_in
from oracle.state import Connection, Ep, Lmr, Rmr, Side
from oracle.trace import Call
from oracle.typed import Context

TAKES = ("dat_evd_dequeue", "dat_evd_wait")
SUCCESS, DENIED = "DAT_DTO_SUCCESS", "DAT_DTO_ERR_REMOTE_ACCESS"
REMOTE = {"write": "DAT_MEM_PRIV_REMOTE_WRITE_FLAG", "read": "DAT_MEM_PRIV_REMOTE_READ_FLAG"}


class Reach(NamedTuple):
    """Whether an RDMA may reach its remote memory, why, and by which clause."""

    may: bool
    owner: Lmr | Rmr
    binding: Any  # of an RMR
    clause: str
    why: str

    @property
    def lasts(self) -> bool:
        """Whether what was in force at the post still is."""
        owner = self.owner
        if not owner.alive or owner.lost:
            return False
        return isinstance(owner, Lmr) or owner.binding is self.binding


def reach_of(call: Call, kind: str, connection: Connection | None, side: Side) -> Reach | None:
    """What an RDMA reaches over a connection; None where it is not known."""
    remote = call.arg("remote_iov")
    end = _end(connection, side)
    if end is None or not isinstance(remote, dict) or call.overlaps or side.threads:
        return None
    context, length = remote.get("rmr_context"), remote.get("segment_length")
    if not isinstance(context, str) or not isinstance(length, int) or length == 0:
        return None
    segment = {"virtual_address": remote.get("target_address"), "segment_length": length}
    lmrs = [lmr for lmr in side.live("lmr") if _is(context, lmr.told.get("rmr_context"))]
    rmrs = [rmr for rmr in side.live("rmr") if rmr.binding and _is(context, rmr.binding["context"])]
    if len(lmrs) + len(rmrs) != 1:
        return None
    if lmrs:
        return _of_lmr(lmrs[0], segment, kind, end)
    return _of_rmr(rmrs[0], segment, kind, end)


def _end(connection: Connection | None, side: Side) -> Ep | None:
    """The EP at the other end, if it is of this process, and the connection is there."""
    if connection is None or connection.phase != "up" or connection.other is None:
        return None
    end = connection.other.ep
    known = end.alive and not end.lost and "pz" not in end.was
    return end if known and side.objects.get(end.name) is end else None


def _is(context: str, told: Any) -> bool:
    """Whether a context is the one that a call told; in older records it has no number."""
    if isinstance(context, Context) and isinstance(told, Context):
        return context.number == told.number
    return bool(context == told)


def _of_lmr(lmr: Lmr, segment: dict[str, Any], kind: str, end: Ep) -> Reach | None:
    inside, clause = is_inside(segment, lmr), "lmr_create/privilege"
    if lmr.lost or lmr.ia is not end.ia or inside is None:
        return None
    if REMOTE[kind] not in lmr.privileges:
        return Reach(False, lmr, None, clause, f"{lmr.name} lets none {kind} it")
    if not inside:
        return Reach(False, lmr, None, clause, f"it leaves {lmr.name}")
    return Reach(True, lmr, None, clause, f"{lmr.name} allows it") if lmr.pz is end.pz else None


def _of_rmr(rmr: Rmr, segment: dict[str, Any], kind: str, end: Ep) -> Reach | None:
    binding = rmr.binding
    assert binding is not None
    lmr, window = binding["lmr"], binding["triplet"]
    if not binding["made"] or not isinstance(lmr, Lmr) or not lmr.alive or lmr.lost or rmr.lost:
        return None
    if rmr.ia is not end.ia or window is None:
        return None
    if REMOTE[kind] not in binding["privileges"]:
        why = f"{rmr.name} is bound so that none may {kind}"
        return Reach(False, rmr, binding, "rmr_bind/privileges", why)
    begin, first, room = offset_in(segment, lmr), offset_in(window, lmr), window["segment_length"]
    if begin is None or first is None or not isinstance(room, int):
        return None
    if begin < first or begin + segment["segment_length"] > first + room:
        why = f"it leaves the region that {rmr.name} is bound to"
        return Reach(False, rmr, binding, "rmr_bind/outside", why)
    if rmr.pz is not end.pz or lmr.pz is not end.pz:
        return None
    return Reach(True, rmr, binding, "rmr_bind/inside", f"{rmr.name} is bound so that it may")


def reached(reach: Reach | None, data: dict[str, Any], kind: str, side: Side) -> bool | str | None:
    """What a completion tells of an RDMA, held to what it reaches."""
    if reach is None or not reach.lasts:
        return None
    status = data.get("status")
    if kind == "write" and not declared(reach.owner, "end_to_end_completion_supported", side):
        return None
    if status == SUCCESS:
        return True if reach.may else Breach(reach.clause, f"a success, although {reach.why}")
    if status == DENIED:
        return Breach(reach.clause, f"is denied, although {reach.why}") if reach.may else True
    return None


@tells(
    *TAKES,
    clauses=["rmr_bind/inside", "rmr_bind/outside", "rmr_bind/privileges", "lmr_create/privilege"],
    rulings=["RMR-4", "DTO-42"],
)
def remote_memory(call: Call, _evd: Any, _side: Side) -> bool | str | None:
    """An RDMA reaches the memory that its context is for, and no other."""
    told: bool | str | None = call.objects.get("reached")
    return told
