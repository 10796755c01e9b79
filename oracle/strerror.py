# SPDX-License-Identifier: BSD-2-Clause
"""Texts of returns: each type has one of its own, and each of its subtypes.

Which subtypes a type has is as the header says. Headers differ in the number of some values, and
any of them may go with another type, so what is neither listed nor far away is left open (REG-2).
"""

from typing import Any

from oracle.kernel import (
    INVALID_PARAMETER,
    Breach,
    Open,
    Refusal,
    describe,
    may,
    refuse,
    refuses,
    tells,
)
from oracle.state import Side
from oracle.trace import Call

NO_SUBTYPE = "DAT_NO_SUBTYPE"
NOT_IMPLEMENTED = "DAT_NOT_IMPLEMENTED"
FAR_TYPE = 0xFFE  # headers have DAT_NOT_IMPLEMENTED behind it
FREE_SUBTYPES = 0x100  # headers differ about those before
TYPE_MASK = 0x3FFF
# Of a longer text the record has a part.
WHOLE = 200

# The subtypes of a type, by how their names begin.
SUBTYPES = {
    "DAT_ABORT": ("DAT_SUB_INTERRUPTED",),
    "DAT_INSUFFICIENT_RESOURCES": ("DAT_RESOURCE_",),
    "DAT_INVALID_HANDLE": ("DAT_INVALID_HANDLE",),
    "DAT_INVALID_PARAMETER": ("DAT_INVALID_ARG",),
    "DAT_INVALID_STATE": ("DAT_INVALID_STATE_",),
    "DAT_PROVIDER_NOT_FOUND": (
        "DAT_NAME_NOT_REGISTERED",
        "DAT_MAJOR_NOT_FOUND",
        "DAT_MINOR_NOT_FOUND",
        "DAT_THREAD_SAFETY_NOT_FOUND",
    ),
    "DAT_PRIVILEGES_VIOLATION": ("DAT_PRIVILEGES_",),
    "DAT_PROTECTION_VIOLATION": ("DAT_PROTECTION_",),
    "DAT_INVALID_ADDRESS": ("DAT_INVALID_ADDRESS_",),
}


def _parts(call: Call) -> tuple[str, str | None] | None:
    """The type and the subtype of a return; of the latter, older records do not tell."""
    status = call.arg("status")
    if isinstance(status, str):
        return status, None
    if not isinstance(status, dict):
        return None
    kind, subtype = status.get("type"), status.get("subtype")
    return (kind, subtype) if isinstance(kind, str) and isinstance(subtype, str) else None


def _row(call: Call) -> str:
    """The row of strerror/type that a return is of; empty for one with a subtype."""
    kind, subtype = _parts(call) or ("", None)
    named = kind.startswith("DAT_") and kind not in ("DAT_SUCCESS", NOT_IMPLEMENTED)
    return kind.removeprefix("DAT_").lower() if named and subtype == NO_SUBTYPE else ""


describe("dat_strerror", legal="strerror/type", returns="INVALID_PARAMETER", row=_row)


def _has(kind: str, subtype: str) -> bool:
    """Whether the header lists a subtype with a type."""
    return subtype.startswith(SUBTYPES.get(kind, ())) if kind in SUBTYPES else False


@refuses("dat_strerror", clauses=["strerror/undefined"], rulings=["REG-2"])
def undefined(call: Call, _obj: Any, _side: Side) -> Refusal | Open | None:
    """A return that no header defines is refused."""
    parts = _parts(call)
    if parts is None:
        return Open("the return is not recorded")
    kind, subtype = parts
    if kind.startswith("0x"):
        far = (int(kind, 16) >> 16) & TYPE_MASK > FAR_TYPE
        return may(INVALID_PARAMETER) if far else refuse(INVALID_PARAMETER)
    if kind == NOT_IMPLEMENTED:
        return may(INVALID_PARAMETER)
    if subtype is None:
        return None if kind == "DAT_SUCCESS" else may(INVALID_PARAMETER)
    if subtype == NO_SUBTYPE or _has(kind, subtype):
        return None
    far = subtype.startswith("0x") and int(subtype, 16) >= FREE_SUBTYPES
    return refuse(INVALID_PARAMETER) if far and kind in SUBTYPES else may(INVALID_PARAMETER)


@tells("dat_strerror", clauses=["strerror/type", "strerror/success"], asleep=True)
def own_text(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """A type has a text, the same each time, that no other type has."""
    parts, text = _parts(call), call.field("major_message")
    if not call.ok or parts is None or not isinstance(text, str):
        return None
    kind = parts[0]
    if kind.startswith("0x") or len(text) >= WHOLE:
        return None
    clause = "strerror/success" if kind == "DAT_SUCCESS" else "strerror/type"
    clause += f"/{row}" if (row := _row(call)) else ""
    if not text or text == "NULL":
        return Breach(clause, f"{kind} has no text")
    known = side.texts.setdefault(kind, text)
    if known != text:
        return Breach(clause, f"the text of {kind} is {text!r}, and was {known!r}")
    same = next((other for other, its in side.texts.items() if its == text and other != kind), "")
    return Breach(clause, f"{kind} and {same} have one text") if same else True


@tells("dat_strerror", clauses=["strerror/subtypes"], asleep=True)
def text_of_subtype(call: Call, _obj: Any, side: Side) -> bool | str | None:
    """A subtype of a type has a text that no other one of it has, nor the type without one."""
    parts, text = _parts(call), call.field("minor_message")
    if not call.ok or parts is None or not isinstance(text, str) or len(text) >= WHOLE:
        return None
    kind, subtype = parts
    if subtype is None or not (subtype == NO_SUBTYPE or _has(kind, subtype)):
        return None
    if subtype != NO_SUBTYPE and text in ("", "NULL"):
        return f"{subtype} has no text"
    known = side.minor_texts.setdefault((kind, subtype), text)
    if known != text:
        return f"the text of {subtype} is {text!r}, and was {known!r}"
    for (other, beside), its in side.minor_texts.items():
        if other == kind and beside != subtype and its == text:
            return f"{subtype} and {beside} have one text"
    return True
