/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: calls of other threads beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_post_recv.h"

static const struct srq_neighbour neighbours[] = {
    {"query", srq_beside_query}, {"resize", srq_beside_resize},       {"set_lw", srq_beside_set_lw},
    {"reap", srq_beside_reap},   {"other_srq", srq_beside_other_srq}, {"ep", srq_beside_ep},
};

FAMILY(srq_post_recv, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, srq_beside_post, row, NULL);
}
