# SPDX-License-Identifier: BSD-2-Clause
"""Typed values of records (format 3) as the values that rules compare.

Handles, contexts and pointers become their names, or hexadecimal numbers, as in older records;
counts that have a name have it; private data stays a structure, with its digest.
"""

from typing import Any, Self

NULL_HANDLE = "DAT_HANDLE_NULL"
NULL_POINTER = "NULL"
BITS = ("_mask", "flags", "privileges")
COUNTS = {
    "timeout": {4294967295: "DAT_TIMEOUT_INFINITE"},
    "soft_high_watermark": {-1: "DAT_WATERMARK_INFINITE"},
    "hard_high_watermark": {-1: "DAT_WATERMARK_INFINITE"},
    "srq_soft_hw": {-1: "DAT_WATERMARK_INFINITE"},
    "nbufs_allocated": {-2: "DAT_VALUE_UNKNOWN"},
    "bufs_alloc_span": {-2: "DAT_VALUE_UNKNOWN"},
    "available_dto_count": {-2: "DAT_VALUE_UNKNOWN"},
    "outstanding_dto_count": {-2: "DAT_VALUE_UNKNOWN"},
}


class Context(str):
    """A context, as the name of the LMR that is recorded for it, and its number.

    LMRs of two IAs may have one number, and the name is of either.
    """

    def __new__(cls, name: str, number: int) -> Self:
        """Text, with a number beside it."""
        context = super().__new__(cls, name)
        context.number = number
        return context

    number: int


def value(name: str, typed: Any) -> Any:
    """The value of a parameter or member. Raises TypeError or KeyError for what is none."""
    if typed is None:
        return NULL_HANDLE if name.endswith("handle") else NULL_POINTER
    if isinstance(typed, bool):
        return "DAT_TRUE" if typed else "DAT_FALSE"
    if isinstance(typed, int):
        if name.endswith(BITS):
            return f"0x{typed:x}"  # no bit has a name
        return COUNTS.get(name, {}).get(typed, typed)
    if isinstance(typed, str):
        return typed
    if isinstance(typed, list):
        return [value(name, element) for element in typed]
    if not isinstance(typed, dict):
        raise TypeError(f"{name} is {type(typed).__name__}")
    return _structure(name, typed)


def _structure(name: str, typed: dict[str, Any]) -> Any:
    if "handle" in typed and typed.keys() <= {"handle", "freed"}:
        handle = typed["handle"]
        return handle if isinstance(handle, str) else f"0x{handle:x}"
    if "context" in typed and typed.keys() <= {"context", "lmr"}:
        return Context(typed.get("lmr") or f"0x{typed['context']:x}", typed["context"])
    if "va" in typed and typed.keys() <= {"va", "lmr", "offset"}:
        if "lmr" in typed:
            return f"{typed['lmr']}+{typed['offset']}"
        return f"0x{typed['va']:x}"
    if typed.keys() == {"text"}:
        return typed["text"]
    if typed.keys() == {"pointer"} and isinstance(typed["pointer"], int):
        return f"0x{typed['pointer']:x}"
    if "family" in typed and typed.keys() <= {"family", "address", "port", "scope"}:
        return typed.get("address", "an address of another family")
    return {member: value(member, part) for member, part in typed.items()}
