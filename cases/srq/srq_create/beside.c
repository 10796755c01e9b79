/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: calls of other threads beside it, on an SRQ of the same IA. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_create.h"

/* Makes an SRQ; that it is freed is a step. */
static DAT_RETURN make_srq(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_srq_create(it->ia, it->pz, &it->srq_attr, &srq);

        (void)i;
        if (dat_is(ret, DAT_SUCCESS))
                step_worked(&it->broken, "dat_srq_free", dat_srq_free(srq));
        return ret;
}

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},
    {"reap", srq_beside_reap},
    {"ep", srq_beside_ep},
};

FAMILY(srq_create, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, make_srq, row, NULL);
}
