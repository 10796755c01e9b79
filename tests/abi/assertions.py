# SPDX-License-Identifier: BSD-2-Clause
"""Turn the facts about a DAT ABI into a C program that asserts each of them about its headers.

Those of 1.2 are ours, in include/dat, and those of 2.0 are Debian's.

A fact that C can settle while compiling is a static assertion, so a wrong header does not build.
The program, when run, prints every fact as a TAP line, and their count.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Facts = dict[str, Any]

# Debian's headers leave it to the program to include what they use.
HEADERS_2_0 = ("netinet/in.h", "stddef.h", "stdint.h", "dat2/udat.h", "dat2/dat_registry.h")

PROLOGUE = """\
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#pragma GCC diagnostic error "-Wswitch"

static int count, broken;

static void report(int holds, const char *fact)
{
        count++;
        broken += !holds;
        printf("%sok %d - %s\\n", holds ? "" : "not ", count, fact);
}

#define SAME(a, b) __builtin_types_compatible_p(a, b)
#define FACT(condition, text)                    \\
        do {                                     \\
                _Static_assert(condition, text); \\
                report(condition, text);         \\
        } while (0)
"""

EPILOGUE = """\
        printf("1..%d\\n# %d ABI facts, %d broken\\n", count, count, broken);
        return broken != 0;
}
"""


def fact(condition: str, text: str) -> str:
    """A check that fails the compilation."""
    return f'FACT({condition}, "{text}");'


def runtime_fact(condition: str, text: str) -> str:
    """A check of what is no constant expression, made when the program runs."""
    return f'report({condition}, "{text}");'


def layout(name: str, row: Facts) -> Iterator[str]:
    """Size and alignment of a type."""
    yield fact(f"sizeof({name}) == {row['size']}", f"{name}: {row['size']} bytes")
    if "align" in row:
        yield fact(f"alignof({name}) == {row['align']}", f"{name}: aligned to {row['align']}")


def enum_members(name: str, row: Facts) -> str:
    """A switch that compiles only when it names each member of the enum and nothing else."""
    seen: set[int] = set()
    cases = []
    for member, value in row["members"].items():
        if value not in seen:
            seen.add(value)
            cases.append(f"case {member}:")
    return (
        f"static int is_a_{name}({name} value)\n{{\n\tswitch (value) {{\n\t"
        + "\n\t".join(cases)
        + "\n\t\treturn 1;\n\t}\n\treturn 0;\n}\n"
    )


def enums(facts: Facts) -> Iterator[str]:
    for name, row in facts["enums"].items():
        yield fact(f"SAME({name}, enum {row['tag']})", f"{name}: is enum {row['tag']}")
        yield from layout(name, row)
        word, sign = ("signed", "<") if row["signed"] else ("unsigned", ">")
        yield fact(f"({name})-1 {sign} ({name})0", f"{name}: {word}")
        for member, value in row["members"].items():
            yield fact(f"{member} == {value}", f"{member}: {value}")
        first = next(iter(row["members"]))
        yield runtime_fact(f"is_a_{name}({first})", f"{name}: has no other members")


def macros(facts: Facts) -> Iterator[str]:
    for name, row in facts["macros"].items():
        value, c_type = row["value"], row["type"]
        if c_type == "string literal":
            yield fact(f"sizeof({name}) == {len(value) + 1}", f"{name}: {len(value)} characters")
            yield runtime_fact(f'strcmp({name}, "{value}") == 0', f"{name}: {value}")
            continue
        yield fact(f"SAME(__typeof__({name}), {c_type})", f"{name}: of type {c_type}")
        if c_type.endswith("*"):
            yield runtime_fact(f"{name} == (void *){value}", f"{name}: {value}")
        else:
            yield fact(f"{name} == {value}", f"{name}: {value}")


def typedefs(facts: Facts) -> Iterator[str]:
    for name, row in facts["typedefs"].items():
        yield fact(f"SAME({name}, {row['type']})", f"{name}: {row['type']}")
        yield from layout(name, row)


def fields(owner: str, rows: list[Facts]) -> Iterator[str]:
    for row in rows:
        name, c_type = f"{owner}.{row['name']}", row["type"]
        value = f"(({owner} *)0)->{row['name']}"
        yield fact(
            f"offsetof({owner}, {row['name']}) == {row['offset']}", f"{name}: at {row['offset']}"
        )
        yield fact(f"sizeof({value}) == {row['size']}", f"{name}: {row['size']} bytes")
        yield fact(f"SAME(__typeof__({value}), {c_type})", f"{name}: {c_type}")


def structs(facts: Facts) -> Iterator[str]:
    for name, row in facts["structs"].items():
        tag = f"{row['kind']} {row['tag']}"
        yield fact(f"SAME({name}, {tag})", f"{name}: is {tag}")
        yield from layout(name, row)
        yield from fields(name, row["fields"])


def signature(row: Facts) -> str:
    """The parameter types of a function or slot."""
    return ", ".join(param[1] for param in row["params"])


def functions(facts: Facts) -> Iterator[str]:
    for name, row in facts["functions"].items():
        args = signature(row)
        if row["kind"] == "macro":
            zeros = ", ".join("0" for _ in row["params"])
            yield fact(
                f"SAME(__typeof__({name}({zeros})), {row['ret']})",
                f"{name}: a macro, gives {row['ret']}",
            )
        else:
            yield fact(
                f"SAME(__typeof__({name}), {row['ret']}({args}))", f"{name}: {row['ret']} ({args})"
            )


def slots(facts: Facts) -> list[Facts]:
    """The slots of the table that are calls, with return type and parameters filled in."""
    rows = []
    for slot in facts["provider_table"]["slots"]:
        if "function" in slot:
            public = facts["functions"][slot["function"]]
            rows.append({**slot, "ret": public["ret"], "params": public["params"]})
        elif "params" in slot:
            rows.append(slot)
    return rows


def provider_table(facts: Facts) -> Iterator[str]:
    table = facts["provider_table"]
    name = table["name"]
    yield fact(
        f"SAME({name}, {table['kind']} {table['tag']})",
        f"{name}: is {table['kind']} {table['tag']}",
    )
    yield from layout(name, table)
    yield from fields(
        name,
        [
            {"name": s["member"], "type": s["type"], "offset": s["offset"], "size": 8}
            for s in table["slots"]
        ],
    )
    calls = slots(facts)
    yield fact(
        f"{len(table['slots'])} * sizeof(void *) == sizeof({name})",
        f"{name}: {len(table['slots'])} words",
    )
    for row in calls:
        types = ", ".join(param[1] for param in row["params"])
        yield fact(
            f"SAME({row['type']}, {row['ret']} (*)({types}))",
            f"{name}.{row['member']}: {row['ret']} ({types})",
        )
    for index, row in enumerate(calls):
        if "function" in row:
            macro = row["function"].upper()
            yield runtime_fact(
                f"calls_{macro}(&object) == {index}", f"{macro}: calls {row['member']}"
            )


def slot_functions(facts: Facts) -> Iterator[str]:
    """A provider whose every slot answers with its own index, and a caller of each macro."""
    calls = slots(facts)
    for index, row in enumerate(calls):
        params = ", ".join(f"{p[1]} a{i}" for i, p in enumerate(row["params"]))
        unused = " ".join(f"(void)a{i};" for i in range(len(row["params"])))
        yield (
            f"static {row['ret']} answer_{row['member']}({params})\n"
            f"{{\n\t{unused}\n\treturn {index};\n}}\n"
        )
    members = "\n".join(f"\t.{row['member']} = answer_{row['member']}," for row in calls)
    yield f"static DAT_PROVIDER provider = {{\n{members}\n}};\n"
    for row in calls:
        if "function" not in row:
            continue
        macro = row["function"].upper()
        rest = row["params"][1:]
        declared = "".join(
            f"\t{p[1]} a{i};\n\tmemset((void *)&a{i}, 0, sizeof(a{i}));\n"
            for i, p in enumerate(rest)
        )
        args = ", ".join(["object", *(f"a{i}" for i in range(len(rest)))])
        yield (
            f"static DAT_RETURN calls_{macro}(DAT_HANDLE object)\n"
            f"{{\n{declared}\treturn {macro}({args});\n}}\n"
        )


def return_codes(facts: Facts) -> Iterator[str]:
    """A composed code comes apart into the type and subtype that it was made of."""
    yield fact("DAT_IS_WARNING(0x40030005)", "DAT_IS_WARNING: true of a warning")
    yield fact("!DAT_IS_WARNING(0x80030005)", "DAT_IS_WARNING: false of an error")
    for name, row in facts["return_codes"].items():
        masked = row["value"] & facts["macros"]["DAT_TYPE_MASK"]["value"]
        yield fact(
            f"DAT_GET_TYPE(DAT_CLASS_ERROR | {name} | 0xffff) == {masked}",
            f"DAT_GET_TYPE: finds {name} in an error",
        )
        for subtype in row["subtypes"]:
            yield fact(
                f"DAT_GET_SUBTYPE(DAT_CLASS_ERROR | {name} | {subtype}) == {subtype}",
                f"DAT_GET_SUBTYPE: finds {subtype} in a {name}",
            )


SYNONYMS = (
    fact(
        "SAME(DAT_RMR_BIND_COMPLETION_STATUS, DAT_DTO_COMPLETION_STATUS)",
        "DAT_RMR_BIND_COMPLETION_STATUS: another name of DAT_DTO_COMPLETION_STATUS",
    ),
    fact(
        "offsetof(DAT_IA_ATTR, max_mtu_size) == offsetof(DAT_IA_ATTR, max_message_size)",
        "max_mtu_size: another name of max_message_size",
    ),
    fact(
        "offsetof(DAT_IA_ATTR, max_rdma_read_per_ep) == "
        "offsetof(DAT_IA_ATTR, max_rdma_read_per_ep_in)",
        "max_rdma_read_per_ep: another name of max_rdma_read_per_ep_in",
    ),
    runtime_fact(
        "DAT_OS_WAIT_PROXY_AGENT_NULL.instance_data == NULL",
        "DAT_OS_WAIT_PROXY_AGENT_NULL: no instance data",
    ),
    runtime_fact(
        "DAT_OS_WAIT_PROXY_AGENT_NULL.proxy_agent_func == NULL",
        "DAT_OS_WAIT_PROXY_AGENT_NULL: no function",
    ),
)


def program(facts: Facts) -> str:
    """The C text."""
    headers = facts.get("headers", HEADERS_2_0)
    parts = [*(f"#include <{header}>" for header in headers), PROLOGUE]
    parts += [enum_members(name, row) for name, row in facts["enums"].items()]
    parts += slot_functions(facts)
    sections = [enums, macros, typedefs, structs, functions, provider_table]
    if "return_codes" in facts:
        sections.append(return_codes)
    for section in sections:
        body = "".join(f"\t{line}\n" for line in section(facts))
        head = "\tDAT_PROVIDER *object = &provider;\n\n" if section is provider_table else ""
        parts.append(f"static void {section.__name__}(void)\n{{\n{head}{body}}}\n")
    parts.append("int main(void)\n{\n")
    parts += [f"\t{section.__name__}();\n" for section in sections]
    parts += [f"\t{line}\n" for line in SYNONYMS]
    parts.append(EPILOGUE)
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("facts", type=Path, help="the facts, as include/facts/dat-1.2.json")
    parser.add_argument("program", type=Path, help="the C file to write")
    args = parser.parse_args()
    args.program.write_text(program(json.loads(args.facts.read_text())))


if __name__ == "__main__":
    main()
