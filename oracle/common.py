# SPDX-License-Identifier: BSD-2-Clause
"""What rules of several objects share: masks, limits, resources, query answers."""

from collections.abc import Callable, Mapping
from typing import Any

from oracle.kernel import ANY_ERROR, INVALID_PARAMETER, Open, Refusal, refuse
from oracle.state import Obj, Side
from oracle.trace import Call

# Counts below which a lack of resources is no excuse, besides half of what the IA declares.
SMALL_COUNT = 24
SMALL_QUEUE = 512


def declared(obj: Any, name: str, side: Side) -> Any:
    """What the IA of an object, or its provider, declares; None where it is not known."""
    ia = obj.ia if isinstance(obj, Obj) else None
    if ia is not None and name in ia.attr:
        return ia.attr[name]
    return side.attributes.get(name)


def limit(obj: Any, name: str, side: Side) -> int | None:
    """A declared number."""
    value = declared(obj, name, side)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def truth(obj: Any, name: str, side: Side) -> bool | None:
    """A declared boolean or count."""
    value = declared(obj, name, side)
    if value in ("DAT_TRUE", True):
        return True
    if value in ("DAT_FALSE", False):
        return False
    return None


def within(value: Any, most: int | None, cap: int = SMALL_QUEUE) -> bool:
    """Whether a number is far below a declared limit."""
    return isinstance(value, int) and most is not None and 0 < value <= min(cap, most // 2)


def few(side: Side, kind: str, most: int | None) -> bool:
    """Whether the process has few objects of a kind: no lack of them can be real."""
    count = side.counts.get(kind, 0)
    return count < SMALL_COUNT and (most is None or count < most // 2)


def mask_parts(mask: Any) -> frozenset[str] | None:
    """The bits of a mask; None where it is not recorded."""
    if not isinstance(mask, str):
        return None
    return frozenset(mask.split("|"))


def mask_refusal(mask: Any, no_mask: bool = True) -> Refusal | Open | None:
    """What a mask is answered with: unknown bits are refused, no bit may be (SRQ-19, EP-32)."""
    parts = mask_parts(mask)
    if parts is None:
        return Open("the mask is not recorded")
    for part in parts:
        if part.startswith("0x"):
            if part == "0x0":
                # As choose(), but a mask of no field breaks no rule about its bits.
                return Refusal(ANY_ERROR, must=False) if no_mask else None
            return refuse(INVALID_PARAMETER)
    return None


def asked(mask: Any, bit: str, prefix: str) -> bool:
    """Whether a mask asks for a field, by its bit or with all others."""
    parts = mask_parts(mask)
    if parts is None:
        return False
    return f"{prefix}{bit}" in parts or f"{prefix}ALL" in parts


def answers(
    call: Call,
    mask: str,
    output: str,
    prefix: str,
    expected: Mapping[str, tuple[str, Any]],
) -> bool | str | None:
    """Hold a query's answer to what is expected: field by bit and value.

    A value that is callable says itself whether an answer will do. None: not known.
    """
    wanted = call.arg(mask)
    told = call.field(output)
    if not isinstance(told, dict):
        return None
    judged: bool | None = None
    for field, (bit, value) in expected.items():
        if value is None or field not in told or not asked(wanted, bit, prefix):
            continue
        judged = True
        answer = told[field]
        if isinstance(value, Wanted):
            why = value.check(answer)
            if why:
                return f"{field} is {shown(answer)}, {why}"
        elif answer != value:
            return f"{field} is {shown(answer)}, not {shown(value)}"
    return judged


class Wanted:
    """An expectation that is a condition."""

    __slots__ = ("check",)

    def __init__(self, check: Callable[[Any], str]) -> None:
        self.check = check


def one_of(values: frozenset[Any]) -> Wanted:
    """One of some values."""

    def check(answer: Any) -> str:
        if answer in values:
            return ""
        return "not " + " or ".join(sorted(shown(value) for value in values))

    return Wanted(check)


def between(least: int | None, most: int | None) -> Wanted:
    """A number within bounds."""

    def check(answer: Any) -> str:
        if not isinstance(answer, int):
            return "which is no number"
        if least is not None and answer < least:
            return f"below {least}"
        if most is not None and answer > most:
            return f"above {most}"
        return ""

    return Wanted(check)


def same_flags(value: frozenset[str] | None) -> Any:
    """A set of flags, in whatever order."""
    if value is None:
        return None

    def check(answer: Any) -> str:
        told = frozenset(str(answer).split("|"))
        return "" if told == value else "not " + "|".join(sorted(value))

    return Wanted(check)


def shown(value: Any) -> str:
    """A value for a sentence."""
    if isinstance(value, frozenset):
        return "|".join(sorted(map(str, value)))
    return str(value)


def ia_name(obj: Obj) -> Any:
    """The handle of an object's IA; None where it is not known."""
    return obj.ia.name if obj.ia is not None else None


def made(call: Call, output: str, side: Side) -> str | None:
    """The handle that a call made, if it is a new one. Beside a call that destroys an object, a new
    one may get its handle, and be recorded by its name.
    """
    name: str | None = call.out.get(output)
    if name is None:
        return None
    old = side.objects.get(name)
    if old is None or not old.alive:
        return name
    if call.overlaps and not old.lost:
        old.lost = "another object may have its name"
    return None


def new_handle(call: Call, output: str, side: Side) -> bool | str | None:
    """A call that makes an object must give a handle of its own."""
    name = call.out.get(output)
    if name is None or (call.thread != 1 and not call.typed):
        return None
    if name == "DAT_HANDLE_NULL":
        return f"{output} is a null handle"
    old = side.objects.get(name)
    if old is not None and old.alive and not old.lost:
        return f"{output} is the handle of {name}, which exists"
    return True
