/* SPDX-License-Identifier: BSD-2-Clause */
/* Operands of a check as text: the names that the DAT API has for their values, and their units. */
#ifndef HARNESS_OPERAND_H
#define HARNESS_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

struct operand_type {
        const struct api_enum *names; /* NULL: no names */
        const char *unit;             /* "" or " bytes", " us" */
        bool is_boolean;
};

/*
 * The type of what a check compares. `text` is its source, "seen == wanted": a constant of the API
 * in it tells the enumeration; else the last name of either side does, if it is a field of the
 * API's structures and has one type in all of them.
 */
struct operand_type operand_type(const char *text);

/* Writes `value`, of this type, to `text`: a number if the type has no name for it. */
void operand_text(char *text, size_t size, const struct operand_type *type, long long value);

#endif
