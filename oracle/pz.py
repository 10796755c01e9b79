# SPDX-License-Identifier: BSD-2-Clause
"""Protection zones: made, queried, and freed when nothing uses them."""

from typing import Any

from oracle.common import answers, few, ia_name, limit, made, mask_refusal, new_handle
from oracle.kernel import (
    INVALID_STATE,
    Handle,
    Open,
    Refusal,
    after,
    describe,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import Obj, Pz, Side
from oracle.trace import Call


def _few(call: Call, ia: Any, side: Side) -> bool:
    return few(side, "pz", limit(ia, "max_pzs", side))


describe(
    "dat_pz_create",
    legal="pz_create/created",
    returns="INSUFFICIENT_RESOURCES INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("ia_handle", "ia", clause="pz_create/invalid_handle")],
    small=_few,
)
describe(
    "dat_pz_free",
    legal="pz_free/unused",
    returns="INVALID_STATE INVALID_HANDLE",
    handles=[Handle("pz_handle", "pz", clause="pz_free/invalid_handle")],
    gone_passes="DAT_SUCCESS",
)
describe(
    "dat_pz_query",
    legal="pz_query/all_fields",
    returns="INVALID_PARAMETER INVALID_HANDLE",
    handles=[Handle("pz_handle", "pz", clause="pz_query/invalid_handle")],
)


@tells("dat_pz_create", clauses=["pz_create/many_at_once"])
def own_handle(call: Call, _ia: Any, side: Side) -> bool | str | None:
    return new_handle(call, "pz_handle", side)


@after("dat_pz_create")
def create(call: Call, ia: Any, side: Side) -> None:
    name = made(call, "pz_handle", side)
    if name:
        side.add(Pz(name, ia))


@refuses("dat_pz_free", clauses=["pz_free/in_use"], rulings=["PZ-1"])
def in_use(_call: Call, pz: Pz, _side: Side) -> Refusal | Open | None:
    """A zone that an EP, an LMR or an RMR uses is not freed; one of an SRQ may be."""
    users = [user for user in pz.users if user.alive]
    if any(user.lost for user in users):
        return Open("a user of the zone is not known")
    if any(user.kind != "srq" and not _providers(user) for user in users):
        return refuse(INVALID_STATE)
    if users:
        return may(INVALID_STATE)
    return None


def _providers(user: Obj) -> bool:
    """An EP of the provider's is under its control again after a rejection."""
    return user.kind == "ep" and getattr(user, "origin", "") == "provider"


@after("dat_pz_free")
def free(_call: Call, pz: Pz, side: Side) -> None:
    side.end(pz)


@refuses("dat_pz_query", clauses=["pz_query/invalid_mask"], rulings=["SRQ-19"])
def mask(call: Call, _pz: Pz, _side: Side) -> Refusal | Open | None:
    return mask_refusal(call.arg("pz_param_mask"))


@tells("dat_pz_query", clauses=["pz_query/ia_handle", "pz_query/own_ia"])
def query(call: Call, pz: Pz, _side: Side) -> bool | str | None:
    return answers(
        call,
        "pz_param_mask",
        "pz_param",
        "DAT_PZ_FIELD_",
        {"ia_handle": ("IA_HANDLE", ia_name(pz))},
    )
