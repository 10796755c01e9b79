# SPDX-License-Identifier: BSD-2-Clause
"""What all posts share: the vector, its memory, and the room of it."""

from typing import Any

from oracle.kernel import ANY_ERROR, INVALID_PARAMETER, Open, Refusal, may
from oracle.lmr import is_inside, lmr_of, offset_in
from oracle.state import Pz, Side
from oracle.trace import Call

PROTECTION = "DAT_PROTECTION_VIOLATION"
PRIVILEGES = "DAT_PRIVILEGES_VIOLATION"


def vector_of(call: Call) -> list[Any] | None:
    """The recorded segments; None where they are not all recorded."""
    count = call.arg("num_segments")
    if isinstance(count, int) and count <= 0:
        return []
    segments = call.arg("local_iov")
    if not isinstance(segments, list) or not isinstance(count, int) or len(segments) < count:
        return None
    return segments[:count]


def room_of(call: Call) -> int | None:
    """The bytes of a vector; None where they are not recorded."""
    segments = vector_of(call)
    if segments is None:
        return None
    total = 0
    for segment in segments:
        length = segment.get("segment_length") if isinstance(segment, dict) else None
        if not isinstance(length, int):
            return None
        total += length
    return total


def check_segments(
    call: Call, obj: Any, pz: Pz | None, side: Side, privilege: str
) -> Refusal | Open | None:
    """What the memory of a vector lets a post be answered with.

    A violation may be found late (GEN-9), so a post is never bound to be refused for it.
    """
    segments = vector_of(call)
    if segments is None:
        return Open("the vector is not recorded")
    allowed: set[str] = set()
    reason: Open | None = None
    for segment in segments:
        if not isinstance(segment, dict):
            return Open("the vector is not recorded")
        lmr = lmr_of(segment, side, obj.ia)
        if segment.get("segment_length") == 0:
            allowed |= ANY_ERROR
        if lmr is None or lmr.lost or not lmr.alive or lmr.ia is not obj.ia:
            allowed |= {INVALID_PARAMETER, PROTECTION, PRIVILEGES}
            continue
        if lmr.pz is not pz:
            allowed.add(PROTECTION)
        if privilege not in lmr.privileges:
            allowed |= {PRIVILEGES}
        if privilege == "DAT_MEM_PRIV_LOCAL_WRITE_FLAG" and (
            "DAT_MEM_PRIV_LOCAL_READ_FLAG" not in lmr.privileges
        ):
            allowed |= {PRIVILEGES}
        inside = is_inside(segment, lmr)
        if inside is False:
            allowed.add(INVALID_PARAMETER)
        elif inside is None:
            allowed |= {INVALID_PARAMETER}
            reason = Open("where a segment lies is not known")
    if allowed:
        return may(*allowed)
    return reason


def bad_from(call: Call, obj: Any, pz: Pz | None, side: Side, privilege: str) -> int | None:
    """The offset of the first byte in a vector that must not be moved; None where there is none.

    Only what is certain counts: an LMR that is there, of another zone, without the privilege, or
    left by the segment.
    """
    segments = vector_of(call)
    at = 0
    for segment in segments or ():
        length = segment.get("segment_length") if isinstance(segment, dict) else None
        if not isinstance(length, int):
            return None
        lmr = lmr_of(segment, side, obj.ia)
        known = lmr is not None and lmr.alive and not lmr.lost and lmr.ia is obj.ia
        if length and known and lmr is not None and pz is not None:
            if lmr.pz is not pz or privilege not in lmr.privileges:
                return at
            if is_inside(segment, lmr) is False:
                return at if (offset_in(segment, lmr) or 0) < 0 else at + length - 1
        at += length
    return None
