# SPDX-License-Identifier: BSD-2-Clause
"""Contexts and types of handles, of whatever kind."""

from typing import Any

from oracle.kernel import (
    ANY_ERROR,
    INVALID_HANDLE,
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
from oracle.state import NULL, Side
from oracle.trace import Call

for _name, _legal in (
    ("get_consumer_context", "get_consumer_context/each_kind"),
    ("set_consumer_context", "set_consumer_context/each_kind"),
    ("get_handle_type", "get_handle_type/each_kind"),
):
    describe(f"dat_{_name}", legal=_legal, returns="INVALID_HANDLE INVALID_PARAMETER")

CALLS = ("dat_get_consumer_context", "dat_set_consumer_context", "dat_get_handle_type")


@refuses(
    *CALLS,
    clauses=[f"{name.removeprefix('dat_')}/null_handle" for name in CALLS],
    rulings=["GEN-1"],
)
def null_handle(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    return refuse(INVALID_HANDLE) if call.arg("dat_handle") == NULL else None


@refuses(
    *CALLS,
    clauses=[f"{name.removeprefix('dat_')}/destroyed_handle" for name in CALLS],
    rulings=["CTX-1", "GEN-1", "GEN-14"],
)
def destroyed_handle(call: Call, _obj: Any, side: Side) -> Refusal | Open | None:
    text = call.arg("dat_handle")
    if text == NULL:
        return None
    obj = side.get(text)
    if obj is None:
        return Open("a handle of no known object")
    if obj.lost:
        return Open(obj.lost)
    call.o = obj
    if not obj.alive:
        if obj.kind in ("srq", "ia"):
            return Open("a handle of an object that is gone")
        return Refusal(ANY_ERROR)
    if any(value == "NULL" for value in call.args.values()):
        return Open("a null pointer")
    if obj.kind == "cno" and call.name == "dat_get_handle_type":
        # GEN-14: the page does not list CNOs among its handles.
        return may(INVALID_HANDLE)
    return choose() if obj.kind == "srq" else None


@tells("dat_get_handle_type", clauses=["get_handle_type/each_kind"], rulings=["CTX-1"])
def handle_type(call: Call, obj: Any, _side: Side) -> bool | str | None:
    told = call.field("handle_type")
    if told is None or call.o is None or not call.o.alive:
        return None
    wanted = f"DAT_HANDLE_TYPE_{call.o.kind.upper()}"
    del obj
    return True if told == wanted else f"tells {told}, not {wanted}"


@tells("dat_get_consumer_context", clauses=["get_consumer_context/each_kind"], rulings=["CTX-3"])
def context(call: Call, _obj: Any, _side: Side) -> bool | str | None:
    told = call.field("context")
    obj = call.o
    if told is None or obj is None or not obj.alive or obj.context is None:
        return None
    return True if told == obj.context else f"tells {told}, not {obj.context}"


@after("dat_set_consumer_context")
def set_context(call: Call, _obj: Any, side: Side) -> None:
    obj = side.get(call.arg("dat_handle"))
    given = call.arg("context")
    if obj is not None:
        obj.context = given if isinstance(given, int) and not call.overlaps else None
