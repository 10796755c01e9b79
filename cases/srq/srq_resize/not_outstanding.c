/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: receives that are not outstanding. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

CASE(srq_resize, other_srq_not_counted)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        struct queue other = queue_with(t, 8);

        queue_post(t, &other, 6);

        expect(dat_srq_resize(srq, 2), DAT_SUCCESS);
}

FAMILY(srq_resize, other_srq_untouched, three_srqs)
{
        struct queue queues[3];
        DAT_SRQ_PARAM before[3];

        for (int i = 0; i < 3; i++) {
                queues[i] = queue_with(t, 8);
                queue_post(t, &queues[i], 1 + i);
                before[i] = srq_param(t, queues[i].srq);
        }
        DAT_SRQ_HANDLE srq = queues[row->index].srq;
        DAT_COUNT request = srq_size_above(t, srq, 8);

        expect(dat_srq_resize(srq, request), DAT_SUCCESS);

        expect_that(srq_size(t, srq) >= request, "%d asked for, %d queried", request,
                    srq_size(t, srq));
        for (int i = 0; i < 3; i++) {
                if (i == row->index)
                        continue;
                expect_kept(t, queues[i].srq, &before[i]);
                expect_room(t, &queues[i], before[i].max_recv_dtos - 1 - i);
        }
}

/* Receives, messages and mark of an SRQ while another one is resized. */
FAMILY(srq_resize, other_srq_serves, changes)
{
        DAT_SRQ_HANDLE before = srq_with(t, .max_recv_dtos = 16);
        struct armed armed = armed_with(t, 6, 6);
        DAT_SRQ_HANDLE after = srq_with(t, .max_recv_dtos = 16);

        must(resize(t, before, row, 4));
        must(resize(t, after, row, 4));
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 3);
        expect_mark_event(t, &armed);
        must(resize(t, before, row, 4));
        must(resize(t, after, row, 4));
        expect_messages(t, &armed.queue, &armed.flow, 3);
        expect_traffic(t, &armed.queue, &armed.flow, 3);
        expect_quiet(armed.flow.evd);
}

/* Their EPs' completions stand on one EVD: each counts for its own SRQ. */
CASE(srq_resize, other_srq_on_evd)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, evd);
        struct flow beside = flow_open(t, &other, evd);
        DAT_SRQ_PARAM before;

        queue_post(t, &queue, 2);
        queue_post(t, &other, 5);
        flow_deliver(t, &beside, 3);
        before = srq_param(t, other.srq);

        expect_granted(t, queue.srq, 2);
        expect_refusal(t, queue.srq, 1);
        expect_refusal(t, other.srq, 4);
        expect_granted(t, other.srq, 5);
        before.max_recv_dtos = srq_size(t, other.srq);
        expect_kept(t, other.srq, &before);

        expect_messages(t, &other, &beside, 3);
        expect_traffic(t, &queue, &flow, 2);
        expect_traffic(t, &other, &beside, 2);
        expect_quiet(evd);
}

CASE(srq_resize, srq_of_other_ia)
{
        struct queue own = queue_with(t, 8);
        struct queue queue = queue_of_other_ia(t, 8);
        DAT_SRQ_PARAM before = srq_param(t, own.srq);
        DAT_COUNT request = srq_size_above(t, queue.srq, 8);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);

        expect_room(t, &queue, request);
        expect_kept(t, own.srq, &before);
}

CASE(srq_resize, plain_ep_not_counted)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flow = flow_open(t, &queue, evd);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .count = 4, .length = MESSAGE);
        peer_wait_sent(end);
        queue_post(t, &queue, 2);
        flow_deliver(t, &flow, 1);

        expect(dat_srq_resize(queue.srq, 2), DAT_SUCCESS);
}

CASE(srq_resize, requests_not_counted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 2);
        flow_with_sends(t, &queue, 2);

        expect(dat_srq_resize(queue.srq, 2), DAT_SUCCESS);
}
