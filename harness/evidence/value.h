/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the DAT API as text: symbols for enumerations and flags, names for handles. */
#ifndef HARNESS_VALUE_H
#define HARNESS_VALUE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dat_api.h"
#include "evidence/api.h"
#include "evidence/names.h"

#define VALUE_TEXT_MAX 4096

struct value_text {
        size_t length;
        char at[VALUE_TEXT_MAX];
};

void text_add(struct value_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Names and separators are nearly all of a text, and no format is needed for them. */
void text_put_part(struct value_text *text, const char *more, size_t length);
static inline void text_put(struct value_text *text, const char *more)
{
        text_put_part(text, more, strlen(more));
}

/* "0x10". */
void text_put_hex(struct value_text *text, uint64_t number);

/* Appends the value at `bytes`, which are as many as its type has. */
void value_add(struct value_text *text, struct names *names, const struct api_type *type,
               const unsigned char *bytes);

/* Appends an enumeration or flags; `names` may be NULL. */
void value_add_enum(struct value_text *text, const struct api_enum *names, uint64_t value);

/* The reasons of an asynchronous event about this object; NULL if its kind has none. */
const struct api_enum *value_async_reasons(const struct names *names, uint64_t handle);

/* The member of DAT_EVENT_DATA that holds for this number; NULL: the asynchronous one. */
const struct api_struct *value_event_layout(DAT_EVENT_NUMBER number);

/* A number of up to eight bytes at `bytes`. */
uint64_t value_number(const unsigned char *bytes, size_t size);

#endif
