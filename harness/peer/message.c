/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "case.h"

#define WORD sizeof(uint64_t)
/* Odd, so that no two words of a message are the same. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* Where the words of message `sequence` begin: SplitMix64, once for each message. */
static uint64_t message_start(uint64_t sequence)
{
        uint64_t x = (sequence + 1) * STEP;

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

/* The next eight bytes: cases fill and compare very many. */
static inline uint64_t next_word(uint64_t *state)
{
        uint64_t word = *state ^ *state >> 32;

        *state += STEP;
        return word;
}

void message_fill(void *to, size_t length, uint64_t sequence)
{
        uint64_t state = message_start(sequence);
        char *at = to;
        uint64_t word;

        for (; length >= WORD; length -= WORD, at += WORD) {
                word = next_word(&state);
                memcpy(at, &word, WORD);
        }
        word = next_word(&state);
        if (length)
                memcpy(at, &word, length);
}

bool message_holds(const void *at, size_t length, uint64_t sequence)
{
        uint64_t state = message_start(sequence);
        const char *from = at;
        uint64_t word;

        for (; length >= WORD; length -= WORD, from += WORD) {
                word = next_word(&state);
                if (memcmp(from, &word, WORD) != 0)
                        return false;
        }
        word = next_word(&state);
        return !length || memcmp(from, &word, length) == 0;
}
