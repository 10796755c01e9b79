/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "case.h"

/* The eight bytes of message `sequence` at offset 8 * `word` (SplitMix64 of both). */
static uint64_t message_word(uint64_t sequence, uint64_t word)
{
        uint64_t x = (sequence + 1) * UINT64_C(0x9e3779b97f4a7c15) + word;

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

void message_fill(void *to, size_t length, uint64_t sequence)
{
        for (size_t at = 0; at < length; at += 8) {
                uint64_t word = message_word(sequence, at / 8);

                memcpy((char *)to + at, &word, length - at < 8 ? length - at : 8);
        }
}

bool message_holds(const void *at, size_t length, uint64_t sequence)
{
        for (size_t i = 0; i < length; i += 8) {
                uint64_t word = message_word(sequence, i / 8);

                if (memcmp((const char *)at + i, &word, length - i < 8 ? length - i : 8) != 0)
                        return false;
        }
        return true;
}
