/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: the default mark and marks beyond the size. */
#include "case/limits.h"
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

#define SEVERAL 3 /* refusals */

#include <limits.h>

/*
 * The default mark
 */

CASE(srq_set_lw, default_mark)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
}

CASE(srq_set_lw, default_mark_raises_nothing)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(dat_srq_set_lw(queue.srq, DAT_SRQ_LW_DEFAULT));
        expect_quiet(async_evd(t));

        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, default_mark_disarms)
{
        struct armed armed = armed_with(t, 4, 4);

        must(dat_srq_set_lw(armed.queue.srq, DAT_SRQ_LW_DEFAULT));
        drain_async_event(t);
        flow_deliver(t, &armed.flow, 4);

        expect_no_mark_event(t, &armed.flow);
}

/*
 * The size, and beyond
 */

CASE(srq_set_lw, at_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT size = srq_size(t, srq);

        expect(dat_srq_set_lw(srq, size), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, size);
}

CASE(srq_set_lw, at_grown_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_resize(srq, srq_size_above(t, srq, 8)));

        expect(dat_srq_set_lw(srq, srq_size(t, srq)), DAT_SUCCESS);
}

CASE(srq_set_lw, above_shrunk_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        must(dat_srq_resize(srq, 8));

        expect(dat_srq_set_lw(srq, srq_size(t, srq) + 1), DAT_INVALID_PARAMETER);
}

static const struct mark {
        const char *id;
        DAT_COUNT mark; /* 0: one above the size */
} too_high[] = {
    {"by_one", 0},
    {"greatest", INT_MAX},
};

static DAT_COUNT too_high_for(struct test *t, DAT_SRQ_HANDLE srq, const struct mark *row)
{
        return row->mark ? row->mark : srq_size(t, srq) + 1;
}

FAMILY(srq_set_lw, above_size, too_high)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, too_high_for(t, srq, row)), DAT_INVALID_PARAMETER);
}

/* One above the size, and at ever greater distances from it. */
CASE(srq_set_lw, above_size_by_any)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        queue_post(t, &queue, 8);
        for (DAT_COUNT by = 1; by < INT_MAX - size - by; by *= 2)
                expect(dat_srq_set_lw(queue.srq, size + by), DAT_INVALID_PARAMETER);
}

FAMILY(srq_set_lw, above_size_raises_nothing, too_high)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        (void)dat_srq_set_lw(srq, too_high_for(t, srq, row));

        expect_quiet(async_evd(t));
}

FAMILY(srq_set_lw, above_size_keeps_mark, too_high)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        for (int i = 0; i < SEVERAL; i++) {
                (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));
                expect_eq(srq_param(t, queue.srq).low_watermark, 4);
        }
}

FAMILY(srq_set_lw, above_size_keeps_parameters, too_high)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 5);
        must(dat_srq_set_lw(queue.srq, 5));
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));

        expect_kept(t, queue.srq, &before);
        expect_room(t, &queue, before.max_recv_dtos - 5);
}

FAMILY(srq_set_lw, above_size_keeps_buffers, too_high)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 2);
        (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));

        expect_messages(t, &queue, &flow, 2);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

FAMILY(srq_set_lw, above_size_keeps_armed, too_high)
{
        struct armed armed = armed_with(t, 4, 4);

        (void)dat_srq_set_lw(armed.queue.srq, too_high_for(t, armed.queue.srq, row));
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

CASE(srq_set_lw, above_size_keeps_spent)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(srq, 4));
        drain_async_event(t);
        (void)dat_srq_set_lw(srq, srq_size(t, srq) + 1);

        expect_quiet(async_evd(t));
}

static const struct mark negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(srq_set_lw, negative, negative)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect_refused_or_note(dat_srq_set_lw(srq, row->mark), DAT_INVALID_PARAMETER);
        expect_quiet(async_evd(t));
}

FAMILY(srq_set_lw, negative_keeps_armed, negative)
{
        struct armed armed = armed_with(t, 4, 4);

        for (int i = 0; i < SEVERAL; i++)
                if (dat_is(dat_srq_set_lw(armed.queue.srq, row->mark), DAT_SUCCESS))
                        end_noted(t, "a negative mark was granted (SRQ-20)");
        expect_quiet(async_evd(t));
        expect_eq(srq_param(t, armed.queue.srq).low_watermark, 4);

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

/* A query returns the mark as it was set; one receive below it raises the event, and as many do
 * not. */
CASE(srq_set_lw, mark_of_hundreds)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_COUNT mark = HUNDREDS < limit ? HUNDREDS : limit;
        struct queue queue = queue_with(t, mark);

        expect_room(t, &queue, mark - 1);
        expect(dat_srq_set_lw(queue.srq, mark), DAT_SUCCESS);
        expect_async_event(queue.srq);
        expect_eq(srq_param(t, queue.srq).low_watermark, mark);
        expect_room(t, &queue, 1);
        expect(dat_srq_set_lw(queue.srq, mark), DAT_SUCCESS);
        expect_quiet(async_evd(t));
}
