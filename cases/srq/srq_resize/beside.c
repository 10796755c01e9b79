/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: calls of other threads beside it. */
#include "cases/shared/beside.h"
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_resize.h"

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post, "dat_srq_post_recv"},
    {"query", srq_beside_query, "dat_srq_query"},
    {"reap", srq_beside_reap, "dat_evd_dequeue"},
    {"other_srq", srq_beside_other_srq, "dat_srq_free"},
    {"ep", srq_beside_ep, "dat_ep_free"},
};

FAMILY(srq_resize, beside, neighbours, BESIDE_DEADLINE)
{
        struct srq_beside it = srq_beside_with(t);
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                stress_met(&stress, srq_beside_round(t, &it, srq_beside_resize, row));
                expect_that(srq_size(t, it.queue.srq) >= SRQ_LEAST,
                            "the queue is smaller than the last size that was granted");
        }
        expect_room(t, &it.queue, srq_size(t, it.queue.srq));
        must_have_met(&stress);
}
