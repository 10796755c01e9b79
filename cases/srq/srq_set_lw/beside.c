/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: calls of other threads beside it. */
#include "cases/srq/shared/neighbours.h"
#include "clauses/srq_set_lw.h"

#define MARKED 7 /* the turn of a round that sets another mark than the default */
#define MARK   4

static DAT_COUNT mark_of(unsigned int i)
{
        return i == MARKED ? MARK : DAT_SRQ_LW_DEFAULT;
}

/* And asks for it. One event may come by it in a round, where too few receives are there. */
static DAT_RETURN set_mark(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_SRQ_PARAM param = {.low_watermark = -1};
        DAT_RETURN ret = dat_srq_set_lw(it->queue.srq, mark_of(i));

        step_worked(&it->broken, "dat_srq_query",
                    dat_srq_query(it->queue.srq, DAT_SRQ_FIELD_LOW_WATERMARK, &param));
        it->marks[i] = param.low_watermark;
        return ret;
}

static void check_marks(struct test *t, const struct srq_beside *it,
                        const struct srq_neighbour *row)
{
        (void)row;
        for (unsigned int i = 0; i < SRQ_TURNS; i++)
                expect_that(it->marks[i] == mark_of(i), "a watermark of %d granted, %d told",
                            mark_of(i), it->marks[i]);
        drain_async_event(t);
        expect_eq(srq_param(t, it->queue.srq).low_watermark, DAT_SRQ_LW_DEFAULT);
}

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post}, {"query", srq_beside_query},         {"resize", srq_beside_resize},
    {"reap", srq_beside_reap}, {"other_srq", srq_beside_other_srq}, {"ep", srq_beside_ep},
};

FAMILY(srq_set_lw, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, set_mark, row, check_marks);
}
