/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turned(uint32_t word, int bits)
{
        return word >> bits | word << (32 - bits);
}

static uint32_t big_endian(const unsigned char *at)
{
        return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void expand(uint32_t words[64], const unsigned char *block)
{
        for (int i = 0; i < 16; i++)
                words[i] = big_endian(block + (size_t)4 * i);
        for (int i = 16; i < 64; i++) {
                uint32_t early = words[i - 15];
                uint32_t late = words[i - 2];

                words[i] = words[i - 16] + words[i - 7] +
                           (turned(early, 7) ^ turned(early, 18) ^ early >> 3) +
                           (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
        }
}

/* The standard's a to h are s[0] to s[7]. */
static void take_block(struct sha256 *hash, const unsigned char *block)
{
        uint32_t words[64];
        uint32_t s[8];

        expand(words, block);
        memcpy(s, hash->state, sizeof(s));
        for (int i = 0; i < 64; i++) {
                uint32_t first = s[7] + (turned(s[4], 6) ^ turned(s[4], 11) ^ turned(s[4], 25)) +
                                 ((s[4] & s[5]) ^ (~s[4] & s[6])) + constants[i] + words[i];
                uint32_t second = (turned(s[0], 2) ^ turned(s[0], 13) ^ turned(s[0], 22)) +
                                  ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

                memmove(s + 1, s, sizeof(s) - sizeof(s[0]));
                s[4] += first;
                s[0] = first + second;
        }
        for (int i = 0; i < 8; i++)
                hash->state[i] += s[i];
        /* A key may have been among them, in another order. */
        explicit_bzero(words, sizeof(words));
}

void sha256_begin(struct sha256 *hash)
{
        *hash = (struct sha256){
            .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                      0x1f83d9ab, 0x5be0cd19},
        };
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t length)
{
        const unsigned char *at = bytes;

        while (length) {
                size_t used = hash->length % SHA256_BLOCK;
                size_t part = SHA256_BLOCK - used < length ? SHA256_BLOCK - used : length;

                memcpy(hash->block + used, at, part);
                hash->length += part;
                at += part;
                length -= part;
                if (hash->length % SHA256_BLOCK == 0)
                        take_block(hash, hash->block);
        }
}

void sha256_end(struct sha256 *hash, unsigned char digest[SHA256_SIZE])
{
        static const unsigned char padding[SHA256_BLOCK] = {0x80};
        uint64_t bits = hash->length * 8;
        size_t used = hash->length % SHA256_BLOCK;
        unsigned char length[8];

        for (int i = 0; i < 8; i++)
                length[i] = (unsigned char)(bits >> (56 - 8 * i));
        sha256_add(hash, padding, (used < 56 ? 56 : 56 + SHA256_BLOCK) - used);
        sha256_add(hash, length, sizeof(length));
        for (int i = 0; i < SHA256_SIZE; i++)
                digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
