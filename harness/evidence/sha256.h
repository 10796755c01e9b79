/* SPDX-License-Identifier: BSD-2-Clause */
/* SHA-256 (FIPS 180-4). */
#ifndef HARNESS_SHA256_H
#define HARNESS_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BLOCK 64
#define SHA256_SIZE  32
#define SHA256_HEX   (2 * SHA256_SIZE + 1)

struct sha256 {
        uint32_t state[8];
        uint64_t length;
        unsigned char block[SHA256_BLOCK];
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t length);
void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_SIZE]);

#endif
