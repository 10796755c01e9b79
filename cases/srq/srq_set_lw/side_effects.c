/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: what a granted mark leaves unchanged, and arguments. */
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

/*
 * What a granted mark leaves as it was
 */

CASE(srq_set_lw, keeps_buffers)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 6));
        must(dat_srq_set_lw(queue.srq, 2));

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_set_lw, keeps_completions)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        must(dat_srq_set_lw(queue.srq, 2));

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

CASE(srq_set_lw, keeps_size)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        must(dat_srq_set_lw(queue.srq, 4));

        expect_eq(srq_size(t, queue.srq), size);
        expect_room(t, &queue, size);
}

CASE(srq_set_lw, keeps_counts)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 2);
        must(dat_srq_set_lw(queue.srq, 4));

        DAT_SRQ_PARAM param = srq_param(t, queue.srq);
        expect_available(t, param.available_dto_count, &flow, 1, 3);
        expect_count(t, param.outstanding_dto_count, 5);
}

CASE(srq_set_lw, keeps_other_srq)
{
        DAT_SRQ_HANDLE other = srq_with(t, .max_recv_dtos = 8);
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(other, 2));
        drain_async_event(t);
        must(dat_srq_set_lw(srq, 4));

        expect_async_event(srq);
        expect_quiet(async_evd(t));
        expect_eq(srq_param(t, other).low_watermark, 2);
}

/* The SRQ's own event may come besides, for a mark below what is posted (SRQ-3). */
static void expect_async_event_besides(struct test *t, DAT_EP_HANDLE ep, DAT_SRQ_HANDLE srq)
{
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++) {
                expect(dat_evd_wait(async_evd(t), event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_data.asynch_error_event_data.dat_handle != srq)
                        break;
        }
        expect_async_about(&event, ep);
}

CASE(srq_set_lw, keeps_ep_marks)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        queue_post(t, &queue, 8);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        must(dat_ep_set_watermark(flow.ep, 0, DAT_WATERMARK_INFINITE));

        expect(dat_srq_set_lw(queue.srq, 1), DAT_SUCCESS);
        flow_send(&flow, 1);
        expect_async_event_besides(t, flow.ep, queue.srq);
        expect_messages(t, &queue, &flow, 1);
}

/*
 * Arguments
 */

LEGAL(srq_set_lw)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        call->srq_handle = queue.srq;
        call->low_watermark = 4;
}
