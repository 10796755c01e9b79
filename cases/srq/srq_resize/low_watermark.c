/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: the low watermark. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

CASE(srq_resize, below_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        expect(dat_srq_resize(queue.srq, 3), DAT_INVALID_STATE);
}

/* Of a queue with `posts` receives, every size below a mark of `mark`, or at the size for 0. */
static const struct mark {
        const char *id;
        int posts;
        DAT_COUNT mark;
} marks[] = {
    {"armed", .posts = 6, .mark = 4},
    {"armed_at_receives", .posts = 4, .mark = 4},
    {"too_few_receives", .posts = 2, .mark = 4},
    {"at_size", .posts = 0, .mark = 0},
};

FAMILY(srq_resize, below_low_watermark_when, marks)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT mark = row->mark ? row->mark : srq_size(t, queue.srq);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, mark));
        drain_async_event(t);

        for (DAT_COUNT request = mark - 1; request > 0; request--)
                expect(dat_srq_resize(queue.srq, request), DAT_INVALID_STATE);
}

/* Nothing is outstanding any more, so that the mark alone forbids the sizes. */
CASE(srq_resize, below_spent_low_watermark)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_deliver(t, &armed.flow, 4);
        for (int i = 0; i < 4; i++)
                must_dto(armed.flow.evd);
        drain_async_event(t);

        for (DAT_COUNT request = 3; request > 0; request--)
                expect(dat_srq_resize(armed.queue.srq, request), DAT_INVALID_STATE);
}

CASE(srq_resize, below_low_watermark_keeps_parameters)
{
        struct queue queue = queue_below_mark(t, 4);

        queue_post(t, &queue, 2);
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        for (int i = 0; i < SEVERAL; i++) {
                (void)dat_srq_resize(queue.srq, 3);
                expect_kept(t, queue.srq, &before);
        }
}

CASE(srq_resize, below_low_watermark_keeps_size)
{
        struct queue queue = queue_below_mark(t, 4);
        DAT_COUNT size = srq_size(t, queue.srq);

        for (int i = 0; i < SEVERAL; i++)
                (void)dat_srq_resize(queue.srq, 3);

        expect_eq(srq_size(t, queue.srq), size);
        expect_room(t, &queue, size);
}

CASE(srq_resize, below_low_watermark_keeps_mark)
{
        struct queue queue = queue_below_mark(t, 4);

        (void)dat_srq_resize(queue.srq, 3);

        expect_eq(srq_param(t, queue.srq).low_watermark, 4);
}

CASE(srq_resize, below_low_watermark_keeps_armed)
{
        struct armed armed = armed_with(t, 4, 4);

        (void)dat_srq_resize(armed.queue.srq, 3);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

CASE(srq_resize, below_low_watermark_keeps_buffers)
{
        struct queue queue = queue_below_mark(t, 6);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 1);
        (void)dat_srq_resize(queue.srq, 4);

        expect_messages(t, &queue, &flow, 1);
        expect_traffic(t, &queue, &flow, 3);
}

CASE(srq_resize, at_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_resize, at_low_watermark_and_outstanding)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));

        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_resize, granted_after_below_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        for (int i = 0; i < MANY; i++)
                (void)dat_srq_resize(queue.srq, 3);

        expect_granted(t, queue.srq, 4);
        expect_room(t, &queue, srq_size(t, queue.srq));
}

CASE(srq_resize, after_lowering_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        (void)dat_srq_resize(queue.srq, 3);
        must(dat_srq_set_lw(queue.srq, 2));

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
}

CASE(srq_resize, after_raising_watermark)
{
        struct queue queue = queue_below_mark(t, 2);

        must(dat_srq_set_lw(queue.srq, 5));
        drain_async_event(t);

        expect(dat_srq_resize(queue.srq, 4), DAT_INVALID_STATE);
        expect(dat_srq_resize(queue.srq, 5), DAT_SUCCESS);
}
