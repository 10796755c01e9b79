/* SPDX-License-Identifier: BSD-2-Clause */
/* What a case draws comes from the run's seed: a replay with the same seed draws the same. */
#include "case/test.h"

/* SplitMix64. */
static uint64_t next(uint64_t *state)
{
        uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

void draw_begin(struct test *t, const char *id)
{
        t->draws = t->settings->seed;
        for (; *id; id++)
                t->draws = (t->draws ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
}

uint64_t draw(struct test *t, uint64_t below)
{
        return next(&t->draws) % below;
}
