/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_srq_resize use. */
#ifndef CASES_SRQ_RESIZE_FIXTURES_H
#define CASES_SRQ_RESIZE_FIXTURES_H

#include "case.h"
#include "cases/srq/shared/queue.h"

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define MANY         50                   /* repetitions */
#define SEVERAL      3                    /* of what is done one by one */
#define ENOUGH       8                    /* calls that met messages on their way */
#define MOMENTS      3000                 /* in which any message has come */

/*
 * Reaps a message that is there, or comes in a moment, of `pending` that were sent. `met` counts
 * how often some of them were still on their way: so was what the case did last.
 */
bool reap_message(struct test *t, DAT_EVD_HANDLE evd, int pending, int *met,
                  DAT_DTO_COMPLETION_EVENT_DATA *dto);

/* They set out a moment later: on a fast network, too, what the case does next meets them. */
void flow_send_soon(struct flow *flow, int count);

/*
 * The request, below what is outstanding, is refused; or it is granted with all as it was, which a
 * provider that never shrinks may do (SRQ-2).
 */
void expect_refusal(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT request);

/*
 * A size of zero, with receives outstanding, is refused; or it is granted with all as it was
 * (SRQ-2).
 */
void expect_zero_refused(struct test *t, DAT_SRQ_HANDLE srq);

/* An SRQ that has too few receives for its mark; the event of that is taken. */
struct queue queue_below_mark(struct test *t, DAT_COUNT mark);

static const struct change {
        const char *id;
        enum { GROW, SHRINK, SAME_SIZE } how;
} changes[] = {
    {"grow", GROW},
    {"shrink", SHRINK},
    {"same_size", SAME_SIZE},
};

/* A shrink goes to the very number of receives outstanding. */
DAT_RETURN resize(struct test *t, DAT_SRQ_HANDLE srq, const struct change *change,
                  DAT_COUNT outstanding);

/* Every size that a queue may have whose receives and mark ask for `least` is granted. */
void expect_granted(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT least);

/* The cookies of receives of two segments: bits all over, and each one another. */
#define WIDE_COOKIE(i_) (UINT64_C(0xfedcba9876543210) ^ (uint64_t)(i_))
#define HALF            (MESSAGE / 2)

/* An SRQ whose receives may have two segments; where no IA has such, the case ends. */
struct queue queue_of_segments(struct test *t, DAT_COUNT size);

/* Receives whose second segment lies before the first one. */
void post_halves(struct test *t, const struct queue *queue, int count);

/* Receives outstanding, of which each of `eps` endpoints has had `messages`, none reaped. */
static const struct outstanding {
        const char *id;
        int posts;
        int eps;
        int messages;
        bool one_evd;
} outstanding[] = {
    {"completed", .posts = 4, .eps = 1, .messages = 4},
    {"posted_and_completed", .posts = 6, .eps = 1, .messages = 3},
    {"completed_on_several_evds", .posts = 4, .eps = 2, .messages = 2},
    {"completed_by_several_eps", .posts = 4, .eps = 2, .messages = 2, .one_evd = true},
    {"posted_and_completed_on_several_evds", .posts = 8, .eps = 2, .messages = 2},
};

/* Of the receives of a queue, each of `eps` EPs has one for a message that is half there. */
static const struct half {
        const char *id;
        int posts;
        int eps;
        int completed; /* by the first EP before, none reaped */
} halves[] = {
    {"taken", .posts = 2, .eps = 2},
    {"posted_taken_and_completed", .posts = 4, .eps = 1, .completed = 2},
};

static const struct traffic {
        const char *id;
        enum { GROWING, SHRINKING, ALTERNATING } how;
        int eps;
        bool one_evd;
} traffic[] = {
    {"growing", GROWING, .eps = 1},
    {"shrinking", SHRINKING, .eps = 1},
    {"alternating", ALTERNATING, .eps = 1},
    {"several_eps", ALTERNATING, .eps = 3},
    {"several_eps_on_one_evd", SHRINKING, .eps = 3, .one_evd = true},
};

int pending(const struct flow *flow);

#endif
