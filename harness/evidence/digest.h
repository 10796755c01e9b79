/* SPDX-License-Identifier: BSD-2-Clause */
/* Digests of a consumer's memory: FNV-1a on words of eight bytes (docs/typed-values.md). */
#ifndef HARNESS_DIGEST_H
#define HARNESS_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a longer vector only the first and the last DIGEST_END bytes are digested. */
#define DIGEST_WHOLE 8192
#define DIGEST_END   4096

struct segment {
        uint64_t at;
        uint64_t length; /* bytes */
};

/* The digest of `length` bytes at `from`, whatever their number; false where one is unreadable. */
bool digest_bytes(const void *from, size_t length, uint64_t *digest);

/*
 * The digest of the first `length` bytes of the vector, which has them; false where a byte that it
 * looks at is unreadable.
 */
bool digest_vector(const struct segment *vector, size_t count, uint64_t length, uint64_t *digest);

/* Copies `length` bytes of the vector, from byte `offset` on; false where one is unreadable. */
bool vector_read(const struct segment *vector, size_t count, uint64_t offset, void *to,
                 size_t length);

#endif
