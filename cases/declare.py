# SPDX-License-Identifier: BSD-2-Clause
"""Writes the C that the catalogue files of pages stand for.

`python -m cases.declare FACTS FOLDER PAGE.toml...`

FOLDER/PAGE.h has a declaration for each clause that a case decides: which features it needs,
whether it has a peer, whether it disturbs the network. CASE() and FAMILY() of harness/case.h take
it from there; a case without a clause does not compile. FOLDER/PAGE.c has the cases of the standard
clauses.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cases.standard import Handle, Raw, Standard, StandardError, clauses, read

PEERS = {
    "local": "",
    "pair": ", .peers = 1",
    "network": ", .peers = 1, .network = true",
}
HOWS = {
    "null": "BAD_HANDLE_NULL",
    "other_kind": "BAD_HANDLE_OTHER_KIND",
    "sibling": "BAD_HANDLE_SIBLING",
    "destroyed": "BAD_HANDLE_DESTROYED",
    "other_ia": "BAD_HANDLE_OTHER_IA",
}
HEADER = (
    "/* SPDX-License-Identifier: BSD-2-Clause */\n/* Made from {name} by cases/declare.py. */\n"
)


class DeclarationError(Exception):
    """A clause that no case can be declared by; the message names it."""


def declarations(tables: list[Raw]) -> Iterator[str]:
    """A line for each clause that a case decides."""
    for clause in tables:
        check = clause.get("check")
        if check == "none":
            continue
        if check not in PEERS:
            raise DeclarationError(
                f"{clause.get('id')}: check: {check!r} is not none, {', '.join(PEERS)}"
            )
        name = clause["id"].replace("/", "__")
        needs = constants(clause.get("needs", []))
        yield f"#define CLAUSE_{name} .needs = {needs}{row_needs(clause)}{PEERS[check]}\n"


def row_needs(clause: Raw) -> str:
    """The member for what single rows of a family need besides the family; empty without any."""
    rows = [row for row in clause.get("rows", []) if isinstance(row, dict) and row.get("needs")]
    if not rows:
        return ""
    listed = "".join(f'{{"{row["id"]}", {constants(row["needs"])}}}, ' for row in rows)
    return f", .row_needs = (const struct row_needs[]){{{listed}{{NULL, 0}}}}"


def constants(needs: list[str]) -> str:
    """The needs as a member of struct case_entry has them."""
    return " | ".join(constant(word) for word in needs) or "0"


def constant(need: str) -> str:
    """The enumerator of a word of `needs`: NEED_SRQ for srq_supported."""
    return f"NEED_{need.removesuffix('_supported').upper()}"


def parameters(facts: Mapping[str, Any], standard: Standard) -> list[tuple[str, str, str]]:
    """Direction, type and name of each parameter of a page's call."""
    function = facts["functions"].get(standard.call)
    if function is None:
        raise DeclarationError(f"{standard.page}: standard: there is no call {standard.call}")
    params = [(direction, type_, name) for direction, type_, name in function["params"]]
    named = {name for _, _, name in params}
    asked = [row.argument for row in standard.handles] + [row.argument for row in standard.pointers]
    for argument in asked:
        if argument not in named:
            raise DeclarationError(
                f"{standard.page}: standard: {standard.call} has no argument {argument}"
            )
    return params


def made(standard: Standard, params: list[tuple[str, str, str]]) -> tuple[str, str] | None:
    """The argument by which the call gives a new object, and that object's kind."""
    if "_create" not in standard.page and standard.page != "ia_open":
        return None
    for direction, type_, name in params:
        if direction == "OUT" and type_.replace(" ", "").endswith("_HANDLE*"):
            return name, type_.split("_")[1]
    return None


def assignable(type_: str) -> str:
    """An argument's type as a member's, which is filled in later."""
    if type_.endswith("[]"):
        return f"{type_.removesuffix('[]')}*"
    return type_ if type_.endswith("*") else type_.removeprefix("const ")


def call_struct(standard: Standard, params: list[tuple[str, str, str]]) -> str:
    """The arguments of a call as a structure, and the function that fills in legal ones."""
    members = "".join(f"        {assignable(type_)} {name};\n" for _, type_, name in params)
    return (
        f"struct {standard.call}_call {{\n{members}}};\n\n"
        f"void {standard.page}_legal(struct test *t, struct {standard.call}_call *call);\n\n"
    )


def header(path: Path, page: Mapping[str, Any], standard: Standard | None, facts: Any) -> str:
    """The header for the cases of the catalogue file `path`."""
    guard = f"CLAUSES_{path.stem.upper()}_H"
    tables = list(page.get("clause", []))
    struct = ""
    if standard:
        tables += clauses(standard)
        struct = call_struct(standard, parameters(facts, standard)) if standard.has_cases else ""
    return (
        f"{HEADER.format(name=path.name)}#ifndef {guard}\n#define {guard}\n\n"
        f'#include "case.h"\n\n{struct}{"".join(declarations(tables))}\n#endif\n'
    )


def objects(struct: str, params: list[tuple[str, str, str]]) -> str:
    """The table of a call's arguments that are handles of a known kind."""
    rows = "".join(
        f'        {{"{name}", offsetof({struct}, {name}), DAT_HANDLE_TYPE_{match[1]}}},\n'
        for direction, type_, name in params
        if direction == "IN" and (match := re.fullmatch(r"DAT_([A-Z]+)_HANDLE", type_))
    )
    return f"static const struct standard_object objects[] = {{\n{rows}}};\n\n" if rows else ""


def source(path: Path, standard: Standard | None, facts: Any, line: int) -> str:
    """The page's promise and the cases of the standard clauses.

    Each case names the [standard] table, at `line`, as its place.
    """
    head = HEADER.format(name=path.name)
    if not standard or not standard.has_cases:
        return f'{head}#include "clauses/{path.stem}.h"\n\n{promise(standard)}'
    params = parameters(facts, standard)
    struct = f"struct {standard.call}_call"
    gift = made(standard, params)
    adopts = (
        f"        .made = offsetof({struct}, {gift[0]}),\n"
        f"        .made_type = DAT_HANDLE_TYPE_{gift[1]},\n        .makes = true,\n"
        if gift
        else ""
    )
    arguments = ", ".join(f"call->{name}" for _, _, name in params)
    objects_table = objects(struct, params)
    names = (
        "        .objects = objects,\n"
        "        .object_count = sizeof(objects) / sizeof(objects[0]),\n"
        if objects_table
        else ""
    )
    rows = "".join(_table(standard, struct, handle) for handle in standard.handles)
    cases = _cases(standard, struct, f'#line {line} "cases/{path.parent.name}/{path.name}"')
    return (
        f'{head}#include "case/standard.h"\n#include "clauses/{path.stem}.h"\n\n'
        f"static void arrange_legal(struct test *t, void *call)\n{{\n"
        f"        {standard.page}_legal(t, call);\n}}\n\n"
        f"static DAT_RETURN make(const void *arg)\n{{\n"
        f"        const {struct} *call = arg;\n\n"
        f"        return {standard.call}({arguments});\n}}\n\n"
        f"{objects_table}static const struct standard_call standard = {{\n"
        f'        .name = "{standard.call}",\n        .legal = arrange_legal,\n'
        f"        .make = make,\n        .size = sizeof({struct}),\n"
        f"        .refused = {standard.returns},\n{names}{adopts}}};\n\n"
        f"{promise(standard)}\n"
        f"{rows}{cases}"
    )


def promise(standard: Standard | None) -> str:
    """Which clause promises the page's call; empty for a page without a call."""
    if not standard:
        return ""
    return f'PROMISE({standard.call}, "{standard.legal}");\n'


def _table(standard: Standard, struct: str, handle: Handle) -> str:
    rows = "".join(
        f'        {{"{how}", "{handle.argument}", offsetof({struct}, {handle.argument}),\n'
        f"         DAT_HANDLE_TYPE_{handle.kind.upper()}, {HOWS[how]}}},\n"
        for how in handle.hows
        if (how, handle.kind) != ("destroyed", "srq")
    )
    return f"static const struct standard_handle bad_{handle.argument}[] = {{\n{rows}}};\n\n"


def _bodies(standard: Standard, struct: str) -> Iterator[tuple[str, str | None, str]]:
    """Of each case: its name, the table of rows if it is a family, and the call of its body."""
    for handle in standard.handles:
        place = f'"{handle.argument}", offsetof({struct}, {handle.argument})'
        yield (
            standard.family(handle),
            f"bad_{handle.argument}",
            "standard_bad_handle(t, &standard, row)",
        )
        if handle.kind == "srq":
            separate = standard.separate(handle)
            yield separate, None, f"standard_destroyed_srq(t, &standard, {place})"
    for pointer in standard.pointers:
        place = f'"{pointer.argument}", offsetof({struct}, {pointer.argument})'
        name = f"null_{pointer.argument}"
        yield name, None, f"standard_null_pointer(t, &standard, {place})"


def _cases(standard: Standard, struct: str, place: str) -> str:
    """The functions that a debugger can stop in, then one CASE a line, at `place` for reports."""
    functions = cases = ""
    for name, rows, call in _bodies(standard, struct):
        row, passed = (", const struct standard_handle *row", ", row") if rows else ("", "")
        functions += f"static void check_{name}(struct test *t{row})\n{{\n        {call};\n}}\n\n"
        head = (
            f"FAMILY({standard.page}, {name}, {rows})" if rows else f"CASE({standard.page}, {name})"
        )
        cases += f"{place}\n{head} {{ check_{name}(t{passed}); }}\n"
    return functions + cases


def files(facts: Mapping[str, Any], path: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Header and cases of a page, and what is to be in them; DeclarationError names the page."""
    try:
        text = path.read_text(encoding="utf-8")
        page = tomllib.loads(text)
        standard = read(path.stem, page)
        line = text[: text.find("[standard]")].count("\n") + 1
        yield folder / f"{path.stem}.h", header(path, page, standard, facts)
        yield folder / f"{path.stem}.c", source(path, standard, facts, line)
    except (DeclarationError, StandardError, tomllib.TOMLDecodeError, KeyError) as error:
        raise DeclarationError(f"{path}: {error}") from None


def main(argv: list[str]) -> int:
    """Writes header and cases of each page, where they change; 1 when a file makes no sense."""
    facts_path, folder, *pages = map(Path, argv)
    facts = json.loads(facts_path.read_text(encoding="utf-8"))
    try:
        for path, text in [each for page in pages for each in files(facts, page, folder)]:
            # What is compiled anew is what is newer.
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                path.write_text(text, encoding="utf-8")
    except DeclarationError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
