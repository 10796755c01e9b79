/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/rounds.h"

#include "case/limits.h"
#include "case/test.h"

#define FEW      256  /* rounds, where the limit is beyond those of the run, or has no name */
#define MOST     640  /* rounds of a run */
#define THOROUGH 4200 /* and of a thorough one */
#define LEAST    3    /* parts that show a leak */
/*
 * Bytes that a round leaves. A provider may keep some of each object, so that its handle names no
 * other one afterwards; and memory comes from the system in larger pieces.
 */
#define LEFT        160
#define LEFT_MAPPED 1024

/* NOLINTNEXTLINE(bugprone-easily-swappable-parameters) */
static struct rounds rounds_under(struct test *t, const char *name, DAT_COUNT limit)
{
        bool thorough = t->settings->thorough;
        unsigned int count = thorough ? THOROUGH : FEW;

        if (limit > FEW && limit < (thorough ? THOROUGH : MOST))
                count = (unsigned int)limit + 1;
        return (struct rounds){
            .t = t,
            .name = name,
            .limit = limit,
            .stress = stress_of(t, count),
        };
}

struct rounds rounds_of(struct test *t, DAT_HANDLE_TYPE type)
{
        const DAT_IA_ATTR *attr = ia_attr(t);

        switch (type) {
        case DAT_HANDLE_TYPE_EP:
                return rounds_under(t, "max_eps", attr->max_eps);
        case DAT_HANDLE_TYPE_EVD:
                return rounds_under(t, "max_evds", attr->max_evds);
        case DAT_HANDLE_TYPE_LMR:
                return rounds_under(t, "max_lmrs", attr->max_lmrs);
        case DAT_HANDLE_TYPE_PZ:
                return rounds_under(t, "max_pzs", attr->max_pzs);
        case DAT_HANDLE_TYPE_RMR:
                return rounds_under(t, "max_rmrs", attr->max_rmrs);
        case DAT_HANDLE_TYPE_SRQ:
                return rounds_under(t, "max_srqs", limit_told(max_srqs));
        default:
                return rounds_under(t, NULL, 0);
        }
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
                    (long)part_of(rounds) * left)
                        return false;
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
        expect_that(!grew(rounds, allocated, LEFT) && !grew(rounds, mapped, LEFT_MAPPED),
                    "each round left memory: %u rounds, %ld allocated bytes and %ld mapped ones",
                    (last - 1) * part_of(rounds), usage[last].allocated - usage[1].allocated,
                    usage[last].mapped - usage[1].mapped);
}
