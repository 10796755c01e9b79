/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/rounds.h"

#include "case/limits.h"
#include "case/test.h"

#define FEW      256  /* rounds, where the limit is beyond those of the run, or has no name */
#define MOST     640  /* rounds of a run */
#define THOROUGH 4200 /* and of a thorough one */
#define SLOW     4    /* as many times fewer, where each takes long */
#define LEAST    3    /* parts that show a leak */
/*
 * Bytes that an object leaves. A provider may keep some of each, so that its handle names no other
 * one afterwards; and memory comes from the system in larger pieces.
 */
#define LEFT        160
#define LEFT_MAPPED 1024

/* NOLINTNEXTLINE(bugprone-easily-swappable-parameters) */
static struct rounds rounds_under(struct test *t, const char *name, DAT_COUNT limit, int share)
{
        bool thorough = t->settings->thorough;
        unsigned int count = (unsigned int)((thorough ? THOROUGH : FEW) / share);

        if (limit > FEW / share && limit < (thorough ? THOROUGH : MOST) / share)
                count = (unsigned int)limit + 1;
        return (struct rounds){
            .t = t,
            .name = name,
            .limit = limit,
            .objects = 1,
            .stress = stress_of(t, count),
        };
}

static struct rounds rounds_in(struct test *t, DAT_HANDLE_TYPE type, int share)
{
        const DAT_IA_ATTR *attr = ia_attr_if_told(t);

        switch (type) {
        case DAT_HANDLE_TYPE_EP:
                return rounds_under(t, "max_eps", attr->max_eps, share);
        case DAT_HANDLE_TYPE_EVD:
                return rounds_under(t, "max_evds", attr->max_evds, share);
        case DAT_HANDLE_TYPE_LMR:
                return rounds_under(t, "max_lmrs", attr->max_lmrs, share);
        case DAT_HANDLE_TYPE_PZ:
                return rounds_under(t, "max_pzs", attr->max_pzs, share);
        case DAT_HANDLE_TYPE_RMR:
                return rounds_under(t, "max_rmrs", attr->max_rmrs, share);
        case DAT_HANDLE_TYPE_SRQ:
                return rounds_under(t, "max_srqs", limit_told(max_srqs), share);
        default:
                return rounds_under(t, NULL, 0, share);
        }
}

struct rounds rounds_of(struct test *t, DAT_HANDLE_TYPE type)
{
        return rounds_in(t, type, 1);
}

struct rounds rounds_slow(struct test *t, DAT_HANDLE_TYPE type, unsigned int objects)
{
        struct rounds rounds = rounds_in(t, type, SLOW);

        rounds.objects = objects;
        return rounds;
}

static unsigned int part_of(const struct rounds *rounds)
{
        return rounds->stress.rounds / ROUNDS_PARTS;
}

/* Looks at the process where a part begins, and where the last one ends. */
static void look(struct rounds *rounds)
{
        if (rounds->parts <= ROUNDS_PARTS && rounds->stress.done == rounds->parts * part_of(rounds))
                rounds->usage[rounds->parts++] = usage_now(rounds->t);
}

bool rounds_next(struct rounds *rounds)
{
        look(rounds);
        if (!stress_round(&rounds->stress))
                return false;
        stress_met(&rounds->stress, true);
        return true;
}

/* Each part but the first left so much: that one's may be what a provider has once. */
static bool grew(const struct rounds *rounds, long (*bytes)(const struct usage *usage), long left)
{
        for (unsigned int i = 2; i < rounds->parts; i++)
                if (bytes(&rounds->usage[i]) - bytes(&rounds->usage[i - 1]) <
                    (long)part_of(rounds) * (long)rounds->objects * left)
                        return false;
        return true;
}

#define LOOKS 100 /* at memory; a tenth of a quiet period is between two */

/* The same of all parts, and still after a while: a provider may free behind the calls, and lag. */
static bool stays(const struct rounds *rounds, long (*bytes)(const struct usage *usage), long left)
{
        long rounds_judged = (long)(rounds->parts - 2) * (long)part_of(rounds);

        if (!grew(rounds, bytes, left))
                return false;
        for (int i = 0; i < LOOKS; i++) {
                struct usage now = usage_now(rounds->t);

                if (bytes(&now) - bytes(&rounds->usage[1]) <
                    rounds_judged * (long)rounds->objects * left)
                        return false;
                settle_briefly(rounds->t);
        }
        return true;
}

static long mapped(const struct usage *usage)
{
        return usage->mapped;
}

static long allocated(const struct usage *usage)
{
        return usage->allocated;
}

void expect_no_leak(struct rounds *rounds)
{
        struct test *t = rounds->t;
        const struct usage *usage = rounds->usage;
        unsigned int last = rounds->parts - 1;

        record(t, "%u of %u rounds in the case's time; %s: %d", rounds->stress.done,
               rounds->stress.rounds, rounds->name ? rounds->name : "no limit of the IA is of them",
               rounds->limit);
        if (last < LEAST) {
                note(t, "the rounds take so long that no leak would show");
                return;
        }
        expect_nothing_left(t, &usage[1], "each round");
        expect_that(!stays(rounds, allocated, LEFT) && !stays(rounds, mapped, LEFT_MAPPED),
                    "each round left memory: %u rounds, %ld allocated bytes and %ld mapped ones",
                    (last - 1) * part_of(rounds), usage[last].allocated - usage[1].allocated,
                    usage[last].mapped - usage[1].mapped);
}
