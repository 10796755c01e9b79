/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: calls of other threads beside it. */
#include "cases/shared/beside.h"
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_post_recv.h"

static const struct srq_neighbour neighbours[] = {
    {"query", srq_beside_query, "dat_srq_query"},
    {"resize", srq_beside_resize, "dat_srq_resize"},
    {"set_lw", srq_beside_set_lw, "dat_srq_set_lw"},
    {"reap", srq_beside_reap, "dat_evd_dequeue"},
    {"other_srq", srq_beside_other_srq, "dat_srq_free"},
    {"ep", srq_beside_ep, "dat_ep_free"},
};

FAMILY(srq_post_recv, beside, neighbours, BESIDE_DEADLINE)
{
        struct srq_beside it = srq_beside_with(t);
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                stress_met(&stress, srq_beside_round(t, &it, srq_beside_post, row));
        }
        expect_room(t, &it.queue, srq_size(t, it.queue.srq));
        must_have_met(&stress);
}
