# SPDX-License-Identifier: BSD-2-Clause
"""Turn the ABI facts into a cmocka program about the calls that libdat passes on, and dat_strerror.

For each call: with every argument different, it reaches its own slot and no other, with those
arguments, and hands back what the slot answers; a handle that is none is refused with the right
subtype; a slot that the provider left null is not jumped through.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]

PROLOGUE = """\
#include "return_code.h"

#include <dat/dat_registry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

/* What the slot that was reached saw. */
static const char *reached;
static unsigned char seen[256];
static size_t seen_size;

static void see(const void *argument, size_t size)
{
        memcpy(seen + seen_size, argument, size);
        seen_size += size;
}

struct object {
        const DAT_PROVIDER *table;
};

static DAT_RETURN no_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                          DAT_IA_HANDLE *ia)
{
        (void)name;
        (void)qlen;
        (void)async_evd;
        (void)ia;
        return DAT_ERROR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}
"""

TESTS = """\
static struct object object = {&full};
static struct object empty_object = {&empty};

static DAT_RETURN bad_handle(size_t i)
{
        return DAT_ERROR(DAT_INVALID_HANDLE, rows[i].subtype);
}

static void call_reaches_its_slot(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++) {
                reached = NULL;
                seen_size = 0;
                assert_int_equal(rows[i].call(&object, true), 0x1000 + i);
                assert_string_equal(reached, rows[i].name);
        }
}

static void null_slot_is_not_called(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++)
                assert_int_equal(rows[i].call(&empty_object, false),
                                 DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
}

static void null_handle(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++)
                assert_int_equal(rows[i].call(DAT_HANDLE_NULL, false), bad_handle(i));
}

static void misaligned_handle(void **state)
{
        _Alignas(void *) char bytes[2 * sizeof(void *)];

        (void)state;
        for (size_t by = 1; by < sizeof(void *); by++) {
                memcpy(bytes + by, &object.table, sizeof(object.table));
                for (size_t i = 0; i < COUNT(rows); i++)
                        assert_int_equal(rows[i].call(bytes + by, false), bad_handle(i));
        }
}

static void handle_without_a_table(void **state)
{
        struct object zeroed = {NULL};

        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++)
                assert_int_equal(rows[i].call(&zeroed, false), bad_handle(i));
}

static void handle_with_a_table_of_nobody(void **state)
{
        DAT_PROVIDER unregistered = full;
        struct object foreign = {&unregistered};
        struct object wild = {(const DAT_PROVIDER *)0x5a5a5a5a5a5a5a58};

        (void)state;
        for (size_t i = 0; i < COUNT(rows); i++) {
                assert_int_equal(rows[i].call(&foreign, false), bad_handle(i));
                assert_int_equal(rows[i].call(&wild, false), bad_handle(i));
        }
}

static void unmapped_handle(void **state)
{
        void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        (void)state;
        assert_ptr_not_equal(page, MAP_FAILED);
        for (size_t i = 0; i < COUNT(rows); i++)
                if (!rows[i].moves_data)
                        assert_int_equal(rows[i].call(page, false), bad_handle(i));
        munmap(page, 4096);
        for (size_t i = 0; i < COUNT(rows); i++)
                if (!rows[i].moves_data)
                        assert_int_equal(rows[i].call(page, false), bad_handle(i));
}

static void removed_provider(void **state)
{
        (void)state;
        assert_int_equal(dat_registry_remove_provider(&full, &info), DAT_SUCCESS);
        for (size_t i = 0; i < COUNT(rows); i++)
                assert_int_equal(rows[i].call(&object, false), bad_handle(i));
        assert_int_equal(dat_registry_add_provider(&full, &info), DAT_SUCCESS);
}

/*
 * dat_strerror
 */

static const char *major_of(DAT_RETURN status)
{
        const char *major = NULL;
        const char *minor = NULL;

        assert_int_equal(dat_strerror(status, &major, &minor), DAT_SUCCESS);
        assert_non_null(minor);
        return major;
}

static const char *minor_of(DAT_RETURN status)
{
        const char *major = NULL;
        const char *minor = NULL;

        assert_int_equal(dat_strerror(status, &major, &minor), DAT_SUCCESS);
        assert_non_null(major);
        return minor;
}

static void every_type_has_its_name(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(types); i++) {
                assert_string_equal(major_of(types[i].value), types[i].name);
                if (types[i].value == DAT_SUCCESS)
                        continue;
                assert_string_equal(major_of(DAT_CLASS_ERROR | types[i].value), types[i].name);
                assert_string_equal(major_of(DAT_CLASS_WARNING | types[i].value), types[i].name);
                assert_string_equal(minor_of(DAT_CLASS_ERROR | types[i].value), "");
        }
}

static void every_subtype_has_its_name(void **state)
{
        (void)state;
        for (size_t i = 0; i < COUNT(subtypes); i++)
                assert_string_equal(minor_of(DAT_ERROR(subtypes[i].type, subtypes[i].value)),
                                    subtypes[i].name);
}

static void undefined_codes(void **state)
{
        static const DAT_RETURN undefined[] = {
            DAT_CLASS_ERROR,
            DAT_CLASS_WARNING,
            1,
            DAT_ERROR(DAT_CONN_QUAL_UNAVAILABLE + 0x10000, 0),
            DAT_ERROR(DAT_TYPE_MASK - 0x10000, 0),
            DAT_ERROR(DAT_ABORT, DAT_THREAD_SAFETY_NOT_FOUND + 1),
            DAT_ERROR(DAT_ABORT, DAT_SUBTYPE_MASK),
        };
        const char *text;

        (void)state;
        for (size_t i = 0; i < COUNT(undefined); i++)
                assert_int_equal(dat_strerror(undefined[i], &text, &text),
                                 DAT_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1));
}

static void strings_that_nobody_wants(void **state)
{
        const char *text = NULL;

        (void)state;
        assert_int_equal(dat_strerror(DAT_ERROR(DAT_ABORT, 0), &text, NULL), DAT_SUCCESS);
        assert_string_equal(text, "DAT_ABORT");
        assert_int_equal(dat_strerror(DAT_ERROR(DAT_ABORT, 0), NULL, NULL), DAT_SUCCESS);
}

static int add_providers(void **state)
{
        (void)state;
        return dat_registry_add_provider(&full, &info) != DAT_SUCCESS ||
               dat_registry_add_provider(&empty, &empty_info) != DAT_SUCCESS;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(call_reaches_its_slot),
            cmocka_unit_test(null_slot_is_not_called),
            cmocka_unit_test(null_handle),
            cmocka_unit_test(misaligned_handle),
            cmocka_unit_test(handle_without_a_table),
            cmocka_unit_test(handle_with_a_table_of_nobody),
            cmocka_unit_test(unmapped_handle),
            cmocka_unit_test(removed_provider),
            cmocka_unit_test(every_type_has_its_name),
            cmocka_unit_test(every_subtype_has_its_name),
            cmocka_unit_test(undefined_codes),
            cmocka_unit_test(strings_that_nobody_wants),
        };

        return cmocka_run_group_tests_name("calls", tests, add_providers, NULL);
}
"""

# No system call is spent on the handles of these, so an unmapped one may fault.
MOVES_DATA = {
    "dat_ep_post_send",
    "dat_ep_post_recv",
    "dat_ep_post_rdma_read",
    "dat_ep_post_rdma_write",
    "dat_srq_post_recv",
    "dat_evd_dequeue",
    "dat_evd_wait",
    "dat_evd_post_se",
    "dat_rmr_bind",
    "dat_lmr_sync_rdma_read",
    "dat_lmr_sync_rdma_write",
}


def slot(index: int, name: str, row: Row) -> str:
    """The slot of a provider that keeps what it was called with, and answers with its index."""
    params = ", ".join(f"{param[1]} a{i}" for i, param in enumerate(row["params"]))
    keep = "".join(
        f"\tsee((const void *)&a{i}, sizeof(a{i}));\n" for i in range(len(row["params"]))
    )
    return (
        f"static DAT_RETURN slot_{name}({params})\n{{\n"
        f'\treached = "{name}";\n{keep}\treturn 0x1000 + {index};\n}}\n'
    )


def caller(name: str, row: Row) -> str:
    """Call with a different pattern in each argument but the handle, and compare what arrived."""
    rest = range(1, len(row["params"]))
    declare = "".join(f"\t{row['params'][i][1].removeprefix('const ')} a{i};\n" for i in rest)
    fill = "".join(f"\tmemset((void *)&a{i}, {0x10 + i}, sizeof(a{i}));\n" for i in rest)
    args = ", ".join(["handle", *(f"a{i}" for i in rest)])
    check = "".join(
        f"\tassert_memory_equal(at, (const void *)&a{i}, sizeof(a{i}));\n\tat += sizeof(a{i});\n"
        for i in rest
    )
    return (
        f"static DAT_RETURN call_{name}(DAT_HANDLE handle, bool check)\n{{\n"
        f"{declare}\tconst unsigned char *at = seen + sizeof(handle);\n\tDAT_RETURN ret;\n\n"
        f"{fill}\tret = {name}({args});\n\tif (!check)\n\t\treturn ret;\n"
        f"\tassert_memory_equal(seen, &handle, sizeof(handle));\n{check}"
        f"\tassert_ptr_equal(at, seen + seen_size);\n\treturn ret;\n}}\n"
    )


def tables(calls: dict[str, Row]) -> Iterator[str]:
    slots = "".join(f"\t.{row['slot']} = slot_{name},\n" for name, row in calls.items())
    yield f"static const DAT_PROVIDER full = {{\n\t.ia_open_func = no_open,\n{slots}}};\n"
    yield "static const DAT_PROVIDER empty = {.ia_open_func = no_open};\n"
    yield 'static const DAT_PROVIDER_INFO info = {.ia_name = "full"};\n'
    yield 'static const DAT_PROVIDER_INFO empty_info = {.ia_name = "empty"};\n'
    rows = "".join(
        f'\t{{"{name}", call_{name}, {row["bad_handle"]}, {int(name in MOVES_DATA)}}},\n'
        for name, row in calls.items()
    )
    yield (
        "#define COUNT(array) (sizeof(array) / sizeof((array)[0]))\n\n"
        "static const struct {\n\tconst char *name;\n\tDAT_RETURN (*call)(DAT_HANDLE, bool);\n"
        f"\tDAT_RETURN_SUBTYPE subtype;\n\tbool moves_data;\n}} rows[] = {{\n{rows}}};\n"
    )


def return_codes(codes: dict[str, Row]) -> Iterator[str]:
    types = "".join(f'\t{{{name}, "{name}"}},\n' for name in codes)
    yield (
        "static const struct {\n\tDAT_RETURN value;\n\tconst char *name;\n"
        f"}} types[] = {{\n{types}}};\n"
    )
    subtypes = "".join(
        f'\t{{{name}, {subtype}, "{subtype}"}},\n'
        for name, row in codes.items()
        for subtype in row["subtypes"]
    )
    yield (
        "static const struct {\n\tDAT_RETURN type;\n\tDAT_RETURN value;\n\tconst char *name;\n"
        f"}} subtypes[] = {{\n{subtypes}}};\n"
    )


def program(facts: Row) -> str:
    """The C text."""
    calls = {n: row for n, row in facts["functions"].items() if row["kind"] == "dispatch"}
    parts = [PROLOGUE]
    parts += [slot(i, name, row) for i, (name, row) in enumerate(calls.items())]
    parts += [caller(name, row) for name, row in calls.items()]
    parts += tables(calls)
    parts += return_codes(facts["return_codes"])
    parts.append(TESTS)
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("facts", type=Path, help="the facts, include/facts/dat-1.2.json")
    parser.add_argument("program", type=Path, help="the C file to write")
    args = parser.parse_args()
    args.program.write_text(program(json.loads(args.facts.read_text())))


if __name__ == "__main__":
    main()
