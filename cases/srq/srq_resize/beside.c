/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: calls of other threads beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_resize.h"

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},           {"query", srq_beside_query}, {"reap", srq_beside_reap},
    {"other_srq", srq_beside_other_srq}, {"ep", srq_beside_ep},
};

/* Each size that was granted was told at once, and the last one is there still. */
static void check_sizes(struct test *t, const struct srq_beside *it,
                        const struct srq_neighbour *row)
{
        (void)row;
        for (unsigned int i = 0; i < SRQ_TURNS; i++)
                expect_that(it->sizes[i] >= srq_beside_size(i), "%d receives granted, %d told",
                            srq_beside_size(i), it->sizes[i]);
        expect_that(srq_size(t, it->queue.srq) >= SRQ_MOST, "the last size granted is lost");
}

FAMILY(srq_resize, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, srq_beside_resize, row, check_sizes);
}
