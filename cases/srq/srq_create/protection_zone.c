/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: the protection zone. */
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

/* A connection to the queue over an EP of this zone. */
static struct flow flow_in(struct test *t, const struct queue *queue, DAT_PZ_HANDLE zone)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq, .pz = zone);

        return (struct flow){.ep = ep,
                             .evd = ep_recv_evd(t, ep),
                             .end = peer_connect(peer(t), ep),
                             .length = MESSAGE};
}

CASE(srq_create, memory_of_its_pz)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = queue_in(t, zone, 8);
        struct flow flow = flow_in(t, &queue, zone);

        expect_posts(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(srq_create, memory_of_several)
{
        DAT_PZ_HANDLE zones[2] = {pz(t), pz_new(t)};
        struct queue queues[3];

        for (int i = 0; i < 3; i++) {
                queues[i] = queue_in(t, zones[i % 2], 8);
                expect_posts(t, &queues[i], 2);
        }
        for (int i = 0; i < 3; i++) {
                struct flow flow = flow_in(t, &queues[i], zones[i % 2]);

                expect_traffic(t, &queues[i], &flow, 2);
        }
}

CASE(srq_create, memory_of_another_pz)
{
        struct queue queue = queue_made(t, 8);
        struct buf *foreign = buf_with(t, .pz = pz_new(t));
        DAT_LMR_TRIPLET segment = triplet(foreign, 0, MESSAGE);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_RETURN ret =
            expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS}),
                   DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS)) {
                flow_send(&flow, 1);
                DAT_EVENT event = expect_event(flow.evd, DAT_DTO_COMPLETION_EVENT);
                expect_eq(event.event_data.dto_completion_event_data.status,
                          DAT_DTO_ERR_LOCAL_PROTECTION);
        } else {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
        }
        expect_that(!message_holds(foreign->addr, MESSAGE, 0), "the message is in that memory");
}
