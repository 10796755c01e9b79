/* SPDX-License-Identifier: BSD-2-Clause */
#include "evidence/evidence.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "evidence/sha256.h"

static const char *const names[] = {
    [VERDICT_NONE] = "NONE",
    [VERDICT_PASS] = "PASS",
    [VERDICT_NOTE] = "NOTE",
    [VERDICT_FAIL] = "FAIL",
    [VERDICT_CRASH] = "CRASH",
    [VERDICT_TIMEOUT] = "TIMEOUT",
    [VERDICT_UNSUPPORTED] = "UNSUPPORTED",
    [VERDICT_RESOURCE] = "RESOURCE",
    [VERDICT_BLOCKED] = "BLOCKED",
    [VERDICT_ERROR] = "ERROR",
    [VERDICT_CONTRADICTED] = "CONTRADICTED",
};

const char *verdict_name(enum verdict verdict)
{
        return names[verdict];
}

static struct canary canary_make(uint64_t secret)
{
        struct canary canary;

        for (size_t i = 0; i < sizeof(canary.words) / sizeof(canary.words[0]); i++)
                canary.words[i] = secret + i;
        return canary;
}

struct evidence *evidence_new(uint64_t secret)
{
        struct evidence *evidence = mmap(NULL, sizeof(*evidence), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (evidence == MAP_FAILED)
                return NULL;
        evidence->first = canary_make(secret);
        evidence->middle = evidence->first;
        evidence->last = evidence->first;
        return evidence;
}

bool evidence_whole(const struct evidence *evidence, uint64_t secret)
{
        struct canary canary = canary_make(secret);

        return memcmp(&evidence->first, &canary, sizeof(canary)) == 0 &&
               memcmp(&evidence->middle, &canary, sizeof(canary)) == 0 &&
               memcmp(&evidence->last, &canary, sizeof(canary)) == 0;
}

void evidence_free(struct evidence *evidence)
{
        if (evidence)
                munmap(evidence, sizeof(*evidence));
}

static size_t slots(uint64_t count)
{
        return count < LOG_SLOTS ? (size_t)count : LOG_SLOTS;
}

size_t evidence_calls(const struct evidence *evidence)
{
        size_t used = slots(atomic_load(&evidence->call_count));

        while (used < LOG_SLOTS && evidence->calls[used].number != 0)
                used++;
        return used;
}

size_t evidence_entries(const struct evidence *evidence)
{
        size_t used = slots(atomic_load(&evidence->entry_count));

        while (used < LOG_SLOTS && atomic_load(&evidence->entries[used].number) != 0)
                used++;
        return used;
}

/* A text to its end, which tells it from what follows. */
static void add_text(struct sha256 *hash, const char *text, size_t size)
{
        static const char end;

        sha256_add(hash, text, strnlen(text, size - 1));
        sha256_add(hash, &end, 1);
}

/* Of what is read of a verdict: what stands behind the end of a text is no part of it. */
static uint64_t seal(const struct sealed_verdict *verdict, const uint64_t *key)
{
        const struct blocked *blocked = &verdict->blocked;
        unsigned char digest[SHA256_SIZE];
        struct sha256 hash;
        uint64_t seal;

        sha256_begin(&hash);
        sha256_add(&hash, key, sizeof(*key));
        sha256_add(&hash, &verdict->verdict, sizeof(verdict->verdict));
        sha256_add(&hash, &blocked->line, sizeof(blocked->line));
        add_text(&hash, verdict->reason, sizeof(verdict->reason));
        add_text(&hash, blocked->call, sizeof(blocked->call));
        add_text(&hash, blocked->ret, sizeof(blocked->ret));
        add_text(&hash, blocked->file, sizeof(blocked->file));
        add_text(&hash, blocked->text, sizeof(blocked->text));
        sha256_end(&hash, digest);
        explicit_bzero(&hash, sizeof(hash));
        memcpy(&seal, digest, sizeof(seal));
        return seal;
}

void verdict_put(struct sealed_verdict *to, const uint64_t *key, enum verdict verdict,
                 const char *reason, const struct blocked *blocked)
{
        static const struct blocked none;

        to->verdict = verdict;
        to->blocked = blocked ? *blocked : none;
        memset(to->reason, 0, sizeof(to->reason));
        snprintf(to->reason, sizeof(to->reason), "%s", reason);
        to->seal = seal(to, key);
}

/* Nothing stands behind the end of a reason, for verdict_put() wrote nothing there. */
static bool ends(const char reason[REASON_MAX])
{
        for (size_t i = strnlen(reason, REASON_MAX - 1); i < REASON_MAX; i++)
                if (reason[i])
                        return false;
        return true;
}

static void end_strings(struct blocked *blocked)
{
        blocked->call[sizeof(blocked->call) - 1] = '\0';
        blocked->ret[sizeof(blocked->ret) - 1] = '\0';
        blocked->file[sizeof(blocked->file) - 1] = '\0';
        blocked->text[sizeof(blocked->text) - 1] = '\0';
}

bool verdict_get(const struct sealed_verdict *from, const uint64_t *key, struct sealed_verdict *to)
{
        memcpy(to, from, sizeof(*to));
        end_strings(&to->blocked);
        return ends(to->reason) && to->verdict != VERDICT_NONE && to->verdict <= VERDICT_ERROR &&
               to->seal == seal(to, key);
}

const char *unasked_call(enum unasked call)
{
        static const char *const names[UNASKED_COUNT] = {
            [UNASKED_IA_QUERY] = "dat_ia_query",       [UNASKED_EP_QUERY] = "dat_ep_query",
            [UNASKED_EP_STATUS] = "dat_ep_get_status", [UNASKED_EVD_WAIT] = "dat_evd_wait",
            [UNASKED_EVD_DEQUEUE] = "dat_evd_dequeue",
        };

        return names[call];
}

uint64_t now_ns(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
