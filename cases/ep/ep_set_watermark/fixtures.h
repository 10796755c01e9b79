/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_set_watermark use. */
#ifndef CASES_EP_SET_WATERMARK_FIXTURES_H
#define CASES_EP_SET_WATERMARK_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/marks.h"
#include "cases/srq/shared/queue.h"

#define INFINITE DAT_WATERMARK_INFINITE
#define POSTS    8
#define MANY     6 /* messages that exceed any mark but an infinite one */

/* An SRQ with receives, and a connected EP that takes them. */
struct stage {
        struct queue queue;
        struct flow flow;
        DAT_EVD_HANDLE connect_evd;
        DAT_COUNT ahead; /* receives that the EP holds though no message came */
};

/*
 * Receives that an EP tells it took ahead of messages, which marks may count (EP-43). Where the SRQ
 * tells all of them as its own still, one of the two counts is false, and excuses nothing (EP-54).
 */
DAT_COUNT held_ahead(struct test *t, const struct stage *stage);

struct stage ep_set_watermark_stage_set(struct test *t);

/* The same by one route of the EP into Connected. */
struct stage stage_by(struct test *t, const struct ep_route *route);

void expect_set(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard);

struct stage stage_marked(struct test *t, DAT_COUNT soft, DAT_COUNT hard);

/* No event of the soft mark is there, but for receives that the EP took ahead of messages. */
void expect_no_soft_event(struct test *t, const struct stage *stage);

void expect_unbroken(struct test *t, const struct stage *stage);

void expect_no_event(struct test *t, const struct stage *stage);

void expect_messages_all(struct test *t, struct stage *stage);

void expect_broken(struct test *t, const struct stage *stage);

static const struct mark {
        const char *id;
        DAT_COUNT mark;
        int messages;
} kept[] = {
    {"below", 3, 2},
    {"at", 3, 3},
};

static const struct mark exceeded[] = {
    {"by_third", 2, 3},
    {"by_fourth", 3, 4},
    {"by_sixth", 5, 6},
};

/* A mark that has taken effect, and the mark that is set then. */
static const struct again {
        const char *id;
        DAT_COUNT first;
        DAT_COUNT second;
} again[] = {
    {"higher", 0, 2},
    {"lower", 2, 0},
    {"same", 2, 2},
};

struct pair {
        DAT_COUNT soft;
        DAT_COUNT hard;
};

#endif
