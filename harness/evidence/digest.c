/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/digest.h"

#include <string.h>

#include "evidence/trace_read.h"

#define PART 1024

static uint64_t begin(uint64_t length)
{
        return UINT64_C(0xcbf29ce484222325) ^ length;
}

/* Of all parts but the last, the length is a multiple of a word's. */
static uint64_t add(uint64_t hash, const unsigned char *bytes, size_t length)
{
        for (size_t i = 0; i < length; i += sizeof(uint64_t)) {
                uint64_t word = 0;

                memcpy(&word, bytes + i, length - i < sizeof(word) ? length - i : sizeof(word));
                hash = (hash ^ word) * UINT64_C(0x100000001b3);
                hash ^= hash >> 32;
        }
        return hash;
}

bool vector_read(const struct segment *vector, size_t count, uint64_t offset, void *to,
                 size_t length)
{
        unsigned char *next = to;

        for (size_t i = 0; i < count && length > 0; i++) {
                uint64_t left = vector[i].length;
                const void *from;
                size_t part;

                if (offset >= left) {
                        offset -= left;
                        continue;
                }
                left -= offset;
                part = left < length ? (size_t)left : length;
                from =
                    (const void *)(uintptr_t)vector[i].at; /* NOLINT(performance-no-int-to-ptr) */
                if (!trace_read(next, (const unsigned char *)from + offset, part))
                        return false;
                offset = 0;
                next += part;
                length -= part;
        }
        return length == 0;
}

static bool add_range(const struct segment *vector, size_t count, uint64_t from, uint64_t to,
                      uint64_t *hash)
{
        unsigned char part[PART];

        while (from < to) {
                size_t length = to - from < sizeof(part) ? (size_t)(to - from) : sizeof(part);

                if (!vector_read(vector, count, from, part, length))
                        return false;
                *hash = add(*hash, part, length);
                from += length;
        }
        return true;
}

bool digest_bytes(const void *from, size_t length, uint64_t *digest)
{
        const struct segment whole = {.at = (uintptr_t)from, .length = length};

        *digest = begin(length);
        return add_range(&whole, 1, 0, length, digest);
}

bool digest_vector(const struct segment *vector, size_t count, uint64_t length, uint64_t *digest)
{
        *digest = begin(length);
        if (length <= DIGEST_WHOLE)
                return add_range(vector, count, 0, length, digest);
        return add_range(vector, count, 0, DIGEST_END, digest) &&
               add_range(vector, count, length - DIGEST_END, length, digest);
}
