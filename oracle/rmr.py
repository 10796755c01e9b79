# SPDX-License-Identifier: BSD-2-Clause
"""RMRs: made in a zone, bound by a post to an EP, queried, freed."""

from typing import Any

from oracle.common import answers, few, ia_name, limit, made, mask_refusal, new_handle
from oracle.kernel import Handle, Open, Refusal, after, describe, refuses, tells
from oracle.lmr import _privileges
from oracle.state import Pz, Rmr, Side
from oracle.trace import Call

describe(
    "dat_rmr_create",
    legal="rmr_create/created",
    returns="INSUFFICIENT_RESOURCES INVALID_HANDLE",
    handles=[Handle("pz_handle", "pz", clause="rmr_create/invalid_handle")],
    small=lambda _call, pz, side: few(side, "rmr", limit(pz, "max_rmrs", side)),
)
describe(
    "dat_rmr_free",
    legal="rmr_free/freed",
    returns="INVALID_HANDLE",
    handles=[Handle("rmr_handle", "rmr", clause="rmr_free/invalid_handle")],
    gone_passes="DAT_SUCCESS",
)
describe(
    "dat_rmr_query",
    legal="rmr_query/field_among_all",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("rmr_handle", "rmr", clause="rmr_query/invalid_handle")],
)


@tells("dat_rmr_create", clauses=["rmr_create/many_at_once"])
def own_handle(call: Call, _pz: Any, side: Side) -> bool | str | None:
    return new_handle(call, "rmr_handle", side)


@after("dat_rmr_create")
def create(call: Call, pz: Pz, side: Side) -> None:
    name = made(call, "rmr_handle", side)
    if name:
        rmr = Rmr(name, pz.ia if pz else None)
        rmr.pz = pz
        if pz:
            pz.users.add(rmr)
        side.add(rmr)


@after("dat_rmr_free")
def free(_call: Call, rmr: Rmr, side: Side) -> None:
    side.end(rmr)
    if rmr.pz is not None:
        rmr.pz.users.discard(rmr)


@refuses("dat_rmr_query", clauses=["rmr_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _rmr: Rmr, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("rmr_param_mask"))


@tells("dat_rmr_query", clauses=["rmr_query/field", "rmr_query/field_among_all"])
def query(call: Call, rmr: Rmr, side: Side) -> bool | str | None:
    # A bind that was posted may yet be flushed: the fields are those of the last that succeeded.
    binding = rmr.binding if rmr.binding and rmr.binding["made"] else {}
    triplet = binding.get("triplet")
    privileges = binding.get("privileges")
    return answers(
        call,
        "rmr_param_mask",
        "rmr_param",
        "DAT_RMR_FIELD_",
        {
            "ia_handle": ("IA_HANDLE", ia_name(rmr)),
            "pz_handle": ("PZ_HANDLE", rmr.pz.name if rmr.pz else None),
            "lmr_triplet": ("LMR_TRIPLET", _of_one_ia(triplet, call, side)),
            "mem_priv": ("MEM_PRIV", None if privileges is None else _privileges(privileges)),
            "rmr_context": ("RMR_CONTEXT", binding.get("context")),
        },
    )


def _of_one_ia(triplet: Any, call: Call, side: Side) -> Any:
    """The triplet to expect. LMRs of two IAs may have the same context, and each other's name."""
    told = call.field("rmr_param")
    if side.opened == 1 or not isinstance(triplet, dict) or not isinstance(told, dict):
        return triplet
    return {**triplet, "lmr_context": (told.get("lmr_triplet") or {}).get("lmr_context")}
