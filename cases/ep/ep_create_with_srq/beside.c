/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: calls of other threads on the SRQ beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/ep_create_with_srq.h"

/* Makes an EP of the SRQ; that it is freed is a step. */
static DAT_RETURN make_ep(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ep_create_with_srq(it->ia, it->pz, it->flow.evd, it->evds[0],
                                                it->evds[1], it->queue.srq, &it->ep_attr, &ep);

        (void)i;
        if (dat_is(ret, DAT_SUCCESS))
                step_worked(&it->broken, "dat_ep_free", dat_ep_free(ep));
        return ret;
}

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},     {"query", srq_beside_query}, {"resize", srq_beside_resize},
    {"set_lw", srq_beside_set_lw}, {"reap", srq_beside_reap},   {"other_srq", srq_beside_other_srq},
};

FAMILY(ep_create_with_srq, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, make_ep, row, NULL);
}
