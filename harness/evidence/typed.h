/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of the DAT API as JSON data (docs/typed-values.md). */
#ifndef HARNESS_TYPED_H
#define HARNESS_TYPED_H

#include <stddef.h>

#include "evidence/api.h"
#include "evidence/evidence.h"
#include "evidence/names.h"
#include "evidence/writer.h"

/* What a value is written with: names for handles, and the call whose pointees were captured. */
struct typed {
        struct writer *writer;
        struct names *names;
        const struct call_record *call;
};

/* Writes a handle that is of no object, whatever object of this process has the same number. */
void typed_write_nameless(const struct typed *typed, uint64_t handle);

/* Writes the value at `bytes`, which has as many bytes as its type. */
void typed_write(const struct typed *typed, const struct api_type *type,
                 const unsigned char *bytes);

/* Writes what a pointer argument was; `pointer` is its value. NULL is null. */
void typed_write_address(const struct typed *typed, uint64_t pointer);
void typed_write_bytes(const struct typed *typed, uint64_t pointer);
void typed_write_pointer(const struct typed *typed, uint64_t pointer);

/* Writes `size` bytes at most of a string that may end before. */
void typed_write_text(const struct typed *typed, const unsigned char *bytes, size_t size);

#endif
