/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: calls of other threads on the SRQ beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/ep_set_watermark.h"

/* More receives than the SRQ has at any time: no mark is exceeded. */
static DAT_COUNT mark_of(unsigned int i)
{
        return i % 2 ? DAT_WATERMARK_INFINITE : 2 * SRQ_MOST;
}

/* And asks for the soft one. */
static DAT_RETURN set_marks(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_RETURN ret = dat_ep_set_watermark(it->flow.ep, mark_of(i), mark_of(i + 1));

        step_worked(&it->broken, "dat_ep_query",
                    dat_ep_query(it->flow.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
        it->marks[i] = param.ep_attr.srq_soft_hw;
        return ret;
}

static void check_marks(struct test *t, const struct srq_beside *it,
                        const struct srq_neighbour *row)
{
        (void)row;
        for (unsigned int i = 0; i < SRQ_TURNS; i++)
                expect_that(it->marks[i] == mark_of(i), "a soft watermark of %d granted, %d told",
                            mark_of(i), it->marks[i]);
}

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},     {"query", srq_beside_query}, {"resize", srq_beside_resize},
    {"set_lw", srq_beside_set_lw}, {"reap", srq_beside_reap},   {"other_srq", srq_beside_other_srq},
    {"ep", srq_beside_ep},
};

FAMILY(ep_set_watermark, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, set_marks, row, check_marks);
}
