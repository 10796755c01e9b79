/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread does to an SRQ, or beside it, while another one posts to it, resizes or queries it.
 */
#ifndef CASES_SRQ_NEIGHBOURS_H
#define CASES_SRQ_NEIGHBOURS_H

#include "cases/shared/beside.h"
#include "cases/srq/shared/queue.h"

#define SRQ_TURNS 16 /* calls of a thread in a round */
#define SRQ_LEAST (5 * SRQ_TURNS / 2)
#define SRQ_MOST  (3 * SRQ_TURNS) /* sizes between which it is resized; a round has two thirds */

/* A queue whose connection brings messages, and what the turns use beside it. */
struct srq_beside {
        struct queue queue;
        struct flow flow;
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_SRQ_ATTR srq_attr;           /* of another SRQ */
        DAT_EP_ATTR ep_attr;             /* of another EP */
        DAT_EVD_HANDLE evds[2];          /* the other EP's for requests and its connection */
        DAT_SRQ_PARAM params[SRQ_TURNS]; /* that the queries of a round told */
        DAT_EVENT events[SRQ_TURNS];     /* that were reaped in a round */
        DAT_COUNT sizes[SRQ_TURNS];      /* that a query told after each resize of a round */
        DAT_COUNT marks[SRQ_TURNS];      /* that a query told after each setting of a round */
        DAT_COUNT ahead;                 /* that the EP has taken ahead of messages (SRQ-31) */
        struct broken_step broken;       /* of the neighbour, or beside the page's call */
};

/* Parts of beside(): a call each, of a `struct srq_beside`. */
DAT_RETURN srq_beside_post(void *arg, unsigned int i);
DAT_RETURN srq_beside_query(void *arg, unsigned int i);
DAT_RETURN srq_beside_resize(void *arg, unsigned int i); /* and asks for the size */
DAT_RETURN srq_beside_set_lw(void *arg, unsigned int i);
DAT_RETURN srq_beside_reap(void *arg, unsigned int i);
DAT_RETURN srq_beside_other_srq(void *arg, unsigned int i); /* makes one and frees it */
DAT_RETURN srq_beside_ep(void *arg, unsigned int i);        /* the same, of an EP of the SRQ */

struct srq_neighbour {
        const char *id;
        DAT_RETURN (*turn)(void *arg, unsigned int i);
};

/* The size that number `i` of a round's resizes asks for; the last is the greater one. */
DAT_COUNT srq_beside_size(unsigned int i);

/*
 * Rounds in which threads make `turn` and the row's beside each other. Both succeed, what was
 * reaped is whole, and each receive that was posted meanwhile or before takes a message; `check`,
 * which may be NULL, looks at what a round told. In the end the queue has room as it says.
 */
void expect_srq_beside(struct test *t, DAT_RETURN (*turn)(void *arg, unsigned int i),
                       const struct srq_neighbour *row,
                       void (*check)(struct test *t, const struct srq_beside *it,
                                     const struct srq_neighbour *row));

#endif
