# SPDX-License-Identifier: BSD-2-Clause
"""The clauses that every call has, from a table of its arguments.

`[standard]` in a page's catalogue file names the arguments that are handles, and the pointers. From
it follow, for each of them, the clauses about what may not be given, their cases (declare.py) and
the faults that these cases must catch; and a provider that refuses every use of the call, which the
case of the clause `legal` must catch. The page's C file says by LEGAL(page) what a legal call is.

A case of another page that was not kept has a control for each call that it made. That is the case
of `legal`, unless `control` names another clause of the page, as it must where the case of `legal`
passes a call that does nothing. `apart` names a clause whose case does without the calls that need
this one: it tells which of them is broken.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

KINDS = ("ia", "pz", "evd", "cno", "lmr", "rmr", "srq", "ep", "psp", "rsp", "cr")
# Objects of which the harness makes one of another IA.
OF_OTHER_IA = ("pz", "evd", "cno", "srq")
# A call by which a refusal could change an object beside the bad handle, as a query then shows; the
# teardown cannot free what was freed.
CHANGES = {
    "ep": ("dat_ep_free({})", ["dat_ep_free"]),
    "evd": ("dat_evd_disable({})", []),
    "srq": ("dat_srq_set_lw({}, 1)", []),
}
KEYS = {
    "legal", "control", "apart", "section", "sentences", "handles", "pointers", "needs", "check",
    "returns", "rulings",
}  # fmt: skip
HANDLE_KEYS = {"argument", "kind", "sentences", "null", "other_ia", "dispatch"}
POINTER_KEYS = {"argument", "section", "sentences"}

Raw = dict[str, Any]


class StandardError(Exception):
    """A [standard] table that makes no sense; the message says where and why."""


@dataclass(frozen=True, kw_only=True)
class Handle:
    """An argument that is a handle."""

    argument: str
    kind: str
    sentences: Sequence[str]
    null: bool  # DAT_HANDLE_NULL is legal
    other_ia: bool  # one of another IA is asked for too
    dispatch: bool  # the registry finds the provider by it, so no provider sees a bad one

    @property
    def hows(self) -> list[str]:
        """The ways in which it can be bad, each a case."""
        hows = ["other_kind", "sibling"] if self.null else ["null", "other_kind", "sibling"]
        if self.kind != "cr":
            hows.append("destroyed")
        return hows + ["other_ia"] * self.other_ia


@dataclass(frozen=True, kw_only=True)
class Pointer:
    """An argument that points to where the call reads or writes."""

    argument: str
    section: str
    sentences: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Standard:
    """What [standard] says of a page's call."""

    page: str
    legal: str
    control: str
    apart: str
    section: str
    needs: Sequence[str]
    check: str
    rulings: Sequence[str]
    returns: str
    handles: Sequence[Handle]
    pointers: Sequence[Pointer]

    @property
    def call(self) -> str:
        """The page's call."""
        return f"dat_{self.page}"

    @property
    def has_cases(self) -> bool:
        """Whether any case is made of it, from the legal call of the page's C file."""
        return bool(self.handles or self.pointers)

    def family(self, handle: Handle) -> str:
        """The name of the clause about a bad handle: an only one needs none of its own."""
        return "invalid_handle" if len(self.handles) == 1 else f"invalid_{handle.argument}"

    def separate(self, handle: Handle) -> str:
        """The name of the clause about a destroyed SRQ, of which success is no failure (GEN-1)."""
        name = "" if len(self.handles) == 1 else f"{handle.argument.removesuffix('_handle')}_"
        return f"destroyed_{name}handle"


def read(page: str, table: Mapping[str, Any]) -> Standard | None:
    """What the [standard] table of a catalogue file says; None where it has none."""
    raw = table.get("standard")
    if raw is None:
        return None
    _demand(
        page, raw, KEYS, ("legal", "section", "sentences") if raw.get("handles") else ("legal",)
    )
    standard = Standard(
        page=page,
        legal=raw["legal"],
        control=raw.get("control", raw["legal"]),
        apart=raw.get("apart", ""),
        section=raw.get("section", ""),
        needs=raw.get("needs", []),
        check=raw.get("check", "local"),
        rulings=raw.get("rulings", []),
        returns=raw.get("returns", "DAT_INVALID_HANDLE"),
        handles=[_handle(page, row, raw.get("sentences", [])) for row in raw.get("handles", [])],
        pointers=[_pointer(page, row) for row in raw.get("pointers", [])],
    )
    for key in ("legal", "control", "apart"):
        if not str(raw.get(key, f"{page}/")).startswith(f"{page}/"):
            raise StandardError(f"{page}: standard: {key}: {raw[key]!r} is no clause of the page")
    return standard


def clauses(standard: Standard) -> Iterator[Raw]:
    """The clauses that follow, as [[clause]] tables."""
    for handle in standard.handles:
        yield _invalid_handle(standard, handle)
        if handle.kind == "srq":
            yield _destroyed_srq(standard, handle)
    for pointer in standard.pointers:
        yield {
            **_common(standard, "may", pointer.section, pointer.sentences),
            "id": f"{standard.page}/null_{pointer.argument}",
            "text": f"Whatever a null pointer for {pointer.argument} is answered with, a legal call"
            " succeeds afterwards.",
            "rulings": ["GEN-3", "GEN-4"],
        }


def faults(standard: Standard) -> Iterator[Raw]:
    """The faults that the cases of these clauses must catch, as [[fault]] tables."""
    yield {
        "id": f"{standard.page}/every_use_refused",
        "clause": standard.legal,
        "text": "Refuses every call, whatever it asks for.",
        "on": standard.call,
        "do": "answer",
        "returns": "DAT_INSUFFICIENT_RESOURCES",
    }
    yield from _does_nothing(standard)
    for handle in standard.handles:
        yield from _null_in_libdat(standard, handle)
        for how, when in _bad(handle):
            clause = f"{standard.page}/{standard.family(handle)}/{how}"
            for suffix, returns, text in (
                ("taken", "DAT_SUCCESS", "Takes it, and says so."),
                ("misnamed", "DAT_INTERNAL_ERROR", "Refuses it with an error that says nothing."),
            ):
                if (how, suffix) == ("sibling", "misnamed"):
                    continue
                yield {
                    "id": f"{clause}_{suffix}",
                    "clause": clause,
                    "text": f"{handle.argument}, {how}: {text}",
                    "on": standard.call,
                    "when": when,
                    "do": "answer",
                    "returns": returns,
                }
            if how == "other_kind":
                yield {
                    "id": f"{clause}_kept",
                    "clause": clause,
                    "text": "After a bad handle, refuses good ones.",
                    "after": standard.call,
                    "after_when": f"returned == {standard.returns}",
                    "any_object": True,
                    "on": standard.call,
                    "do": "answer",
                    "returns": "DAT_INVALID_STATE",
                }
        yield from _changes(standard, handle)
        if handle.other_ia:
            yield _foreign(standard, handle)
    for pointer in standard.pointers:
        yield {
            "id": f"{standard.page}/null_{pointer.argument}_kept",
            "clause": f"{standard.page}/null_{pointer.argument}",
            "text": "After a null pointer, and after any call, refuses good ones.",
            "on": standard.call,
            "do": "answer",
            "returns": "DAT_INVALID_STATE",
        }


def _does_nothing(standard: Standard) -> Iterator[Raw]:
    """What the controls must catch that are not the case of `legal`."""
    others = {"does_nothing": standard.control, "does_nothing_apart": standard.apart}
    for name, clause in others.items():
        if clause in ("", standard.legal):
            continue
        yield {
            "id": f"{standard.page}/{name}",
            "clause": clause,
            "text": "Succeeds, and does nothing.",
            "on": standard.call,
            "do": "answer",
            "returns": "DAT_SUCCESS",
        }


def _null_in_libdat(standard: Standard, handle: Handle) -> Iterator[Raw]:
    """Where the handle by which libdat finds the provider is null, libdat itself has to refuse."""
    if not handle.dispatch or "null" not in handle.hows:
        return
    clause = f"{standard.page}/{standard.family(handle)}/null"
    for suffix, returns, text in (
        ("taken", "DAT_SUCCESS", "Takes it, and says so."),
        ("misnamed", "DAT_INTERNAL_ERROR", "Refuses it with an error that says nothing."),
    ):
        yield {
            "id": f"{clause}_{suffix}",
            "clause": clause,
            "text": f"{handle.argument}, null, in libdat: {text}",
            "on": f"dispatch of {standard.call}",
            "when": f"{handle.argument} == 0",
            "do": "answer",
            "returns": returns,
        }


def _bad(handle: Handle) -> Iterator[tuple[str, str]]:
    """Each way in which a provider sees the handle be bad, and the condition that tells it."""
    name, type_ = handle.argument, f"DAT_HANDLE_TYPE_{handle.kind.upper()}"
    for how in handle.hows:
        if how == "null" and not handle.dispatch:
            yield how, f"{name} == 0"
        elif how == "other_kind":
            yield how, f"{name} != 0 and not destroyed({name}) and kind({name}) != {type_}"
        elif how == "sibling":
            plain = f"DAT_HANDLE_TYPE_{'EVD' if handle.kind == 'pz' else 'PZ'}"
            yield (
                how,
                f"{name} != 0 and not destroyed({name}) and kind({name}) != {type_}"
                f" and kind({name}) != {plain}",
            )
        elif how == "destroyed" and handle.kind != "srq":
            yield how, f"destroyed({name})"


def _changes(standard: Standard, handle: Handle) -> Iterator[Raw]:
    """A refusal of the handle that changes another object of the call, if one can be changed."""
    clause = f"{standard.page}/{standard.family(handle)}/other_kind"
    for other in standard.handles:
        if other is handle or other.kind not in CHANGES:
            continue
        call, teardown = CHANGES[other.kind]
        yield {
            "id": f"{clause}_refusal_drops",
            "clause": clause,
            "text": f"Refuses {handle.argument}, and changes what {other.argument} names.",
            "on": standard.call,
            "when": dict(_bad(handle))["other_kind"],
            "do": "also",
            "call": call.format(other.argument),
            **({"teardown": teardown} if teardown else {}),
        }
        return


def _foreign(standard: Standard, handle: Handle) -> Raw:
    clause = f"{standard.page}/{standard.family(handle)}/other_ia"
    return {
        "id": f"{clause}_misnamed",
        "clause": clause,
        "text": "Looks only into the objects of its own IA, and fails inside.",
        "on": standard.call,
        "when": "returned == DAT_INVALID_HANDLE or returned == DAT_INVALID_PARAMETER",
        "do": "report",
        "returns": "DAT_INTERNAL_ERROR",
    }


def _invalid_handle(standard: Standard, handle: Handle) -> Raw:
    name, kind = handle.argument, handle.kind.upper()
    article = "an" if handle.kind in ("ia", "evd", "lmr", "rmr", "srq", "ep", "rsp") else "a"
    rows: dict[str, Raw] = {
        "null": {"text": f"DAT_HANDLE_NULL for {name} is refused with {standard.returns}."},
        "other_kind": {
            "text": f"A live handle that is not {article} {kind}'s, for {name}, is refused with"
            f" {standard.returns}."
        },
        "sibling": {
            "text": f"A live handle of the kind that is nearest to {article} {kind}, for {name}, is"
            f" refused with {standard.returns}."
        },
        "destroyed": {
            "text": f"The handle of {article} {kind} that is gone, for {name}, is refused with"
            f" {standard.returns}.",
            "rulings": ["GEN-1", "GEN-6"],
            "dat_2_0": "A process that ends in the call is a NOTE (GEN-1).",
        },
        "other_ia": {
            "text": f"{article.capitalize()} {kind} of another IA, for {name}, is refused with"
            f" {standard.returns} or DAT_INVALID_PARAMETER.",
            "rulings": ["GEN-6", "GEN-12"],
        },
    }
    if handle.dispatch:
        rows["null"]["blame"] = "registry"
    hows = [how for how in handle.hows if (how, handle.kind) != ("destroyed", "srq")]
    return {
        **_common(standard, "must", standard.section, handle.sentences),
        "id": f"{standard.page}/{standard.family(handle)}",
        "text": f"A handle that is not {article} {kind}'s, for {name}, is refused with"
        f" {standard.returns}, what the call names stays as it was, and a legal call then"
        " succeeds.",
        "rulings": ["GEN-6", *standard.rulings],
        "rows": [{"id": how, **rows[how]} for how in hows],
    }


def _destroyed_srq(standard: Standard, handle: Handle) -> Raw:
    return {
        **_common(standard, "may", standard.section, handle.sentences),
        "id": f"{standard.page}/{standard.separate(handle)}",
        "text": f"The handle of a freed SRQ, for {handle.argument}, is answered with"
        f" {standard.returns}, where the provider can tell.",
        "rulings": ["GEN-1", "GEN-3"],
    }


def _common(standard: Standard, level: str, section: str, sentences: Sequence[str]) -> Raw:
    return {
        "level": level,
        "section": section,
        "sentences": list(sentences),
        "check": standard.check,
        "needs": list(standard.needs),
    }


def _handle(page: str, row: Mapping[str, Any], sentences: Sequence[str]) -> Handle:
    _demand(page, row, HANDLE_KEYS, ("argument", "kind"))
    if row["kind"] not in KINDS:
        raise StandardError(f"{page}: standard: {row['argument']}: {row['kind']!r} is no kind")
    if row.get("other_ia") and row["kind"] not in OF_OTHER_IA:
        raise StandardError(
            f"{page}: standard: {row['argument']}: other_ia is for {', '.join(OF_OTHER_IA)}"
        )
    return Handle(
        argument=row["argument"],
        kind=row["kind"],
        sentences=row.get("sentences", sentences),
        null=row.get("null", False),
        other_ia=row.get("other_ia", False),
        dispatch=row.get("dispatch", False),
    )


def _pointer(page: str, row: Mapping[str, Any]) -> Pointer:
    _demand(page, row, POINTER_KEYS, ("argument", "sentences"))
    return Pointer(
        argument=row["argument"],
        section=row.get("section", "PARAMETERS"),
        sentences=row["sentences"],
    )


def _demand(page: str, row: Mapping[str, Any], known: set[str], required: Sequence[str]) -> None:
    missing = [key for key in required if key not in row]
    unknown = sorted(set(row) - known)
    if missing:
        raise StandardError(f"{page}: standard: {', '.join(missing)} is missing")
    if unknown:
        raise StandardError(f"{page}: standard: unknown key {', '.join(unknown)}")
