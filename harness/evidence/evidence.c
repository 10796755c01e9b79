/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/evidence.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static const char *const names[] = {
    [VERDICT_NONE] = "NONE",
    [VERDICT_PASS] = "PASS",
    [VERDICT_NOTE] = "NOTE",
    [VERDICT_FAIL] = "FAIL",
    [VERDICT_CRASH] = "CRASH",
    [VERDICT_TIMEOUT] = "TIMEOUT",
    [VERDICT_UNSUPPORTED] = "UNSUPPORTED",
    [VERDICT_RESOURCE] = "RESOURCE",
    [VERDICT_BROKEN] = "BROKEN",
    [VERDICT_CONTRADICTED] = "CONTRADICTED",
};

const char *verdict_name(enum verdict verdict)
{
        return names[verdict];
}

static struct canary canary_make(uint64_t nonce)
{
        struct canary canary;

        for (size_t i = 0; i < sizeof(canary.words) / sizeof(canary.words[0]); i++)
                canary.words[i] = ~nonce + i;
        return canary;
}

struct evidence *evidence_new(uint64_t nonce)
{
        struct evidence *evidence = mmap(NULL, sizeof(*evidence), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (evidence == MAP_FAILED)
                return NULL;
        evidence->first = canary_make(nonce);
        evidence->middle = evidence->first;
        evidence->last = evidence->first;
        return evidence;
}

bool evidence_whole(const struct evidence *evidence, uint64_t nonce)
{
        struct canary canary = canary_make(nonce);

        return memcmp(&evidence->first, &canary, sizeof(canary)) == 0 &&
               memcmp(&evidence->middle, &canary, sizeof(canary)) == 0 &&
               memcmp(&evidence->last, &canary, sizeof(canary)) == 0;
}

void evidence_free(struct evidence *evidence)
{
        if (evidence)
                munmap(evidence, sizeof(*evidence));
}

/* FNV-1a, begun with the nonce instead of its usual basis. */
static uint64_t hash(uint64_t state, const void *bytes, size_t length)
{
        const unsigned char *at = bytes;

        for (size_t i = 0; i < length; i++)
                state = (state ^ at[i]) * UINT64_C(0x100000001b3);
        return state;
}

static uint64_t seal(const struct sealed_verdict *verdict, uint64_t nonce)
{
        uint64_t state = hash(nonce, &verdict->verdict, sizeof(verdict->verdict));

        return hash(state, verdict->reason, sizeof(verdict->reason));
}

void verdict_put(struct sealed_verdict *to, uint64_t nonce, enum verdict verdict,
                 const char *reason)
{
        to->verdict = verdict;
        memset(to->reason, 0, sizeof(to->reason));
        snprintf(to->reason, sizeof(to->reason), "%s", reason);
        to->seal = seal(to, nonce);
}

bool verdict_get(const struct sealed_verdict *from, uint64_t nonce, struct sealed_verdict *to)
{
        memcpy(to, from, sizeof(*to));
        if (to->seal != seal(to, nonce) || to->verdict == VERDICT_NONE ||
            to->verdict > VERDICT_BROKEN)
                return false;
        to->reason[sizeof(to->reason) - 1] = '\0';
        return true;
}

uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
