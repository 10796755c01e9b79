/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: EPs of the SRQ. */
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

#define LOOKS 30 /* quiet periods in which a message that waits comes */

/*
 * An EP that finds no receive
 */

/* Whether the next message arrives whole, in good time. */
static bool arrives(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_RETURN ret = DAT_QUEUE_EMPTY;
        DAT_EVENT event;

        for (int look = 0; look < LOOKS && dat_is(ret, DAT_QUEUE_EMPTY); look++) {
                ret = dat_evd_dequeue(evd, &event);
                if (dat_is(ret, DAT_QUEUE_EMPTY))
                        settle(t);
        }
        return dat_is(ret, DAT_SUCCESS) && event.event_number == DAT_DTO_COMPLETION_EVENT &&
               event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* After so many messages, the next one finds no receive, at an EP of the queue and a plain one. */
static void compare_without_receive(struct test *t, int before)
{
        struct queue queue = queue_made(t, 8);
        struct queue other = queue_made(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow sibling = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow beside = flow_open(t, &other, DAT_HANDLE_NULL);
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_DTO_COOKIE cookie = {.as_64 = 0};

        for (int i = 0; i < before; i++) {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
                must(dat_ep_post_recv(plain, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
                peer_send(end, .length = MESSAGE);
                must_dto(ep_recv_evd(t, plain));
        }
        flow_send(&flow, 1);
        peer_send(end, .length = MESSAGE);
        settle(t);
        expect_posts(t, &other, 1);
        expect_traffic(t, &other, &beside, 1);
        expect_posts(t, &queue, 1);
        (void)dat_ep_post_recv(plain, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG);

        bool by_plain = arrives(t, ep_recv_evd(t, plain));
        bool by_srq = arrives(t, flow.evd);
        record(t, "without a receive a message %s", by_plain ? "waits" : "is lost");
        expect_that(by_srq == by_plain, "the EP of the SRQ %s, the one with its own queue %s",
                    by_srq ? "gets it" : "does not", by_plain ? "gets it" : "does not");
        if (by_srq && by_plain)
                expect_eq(ep_state(t, flow.ep), ep_state(t, plain));
        expect_posts(t, &queue, 1);
        expect_traffic(t, &queue, &sibling, 1);
}

CASE(srq_create, no_receive)
{
        compare_without_receive(t, 0);
}

CASE(srq_create, no_receive_any_more)
{
        compare_without_receive(t, 2);
}

/*
 * The EPs that share it
 */

static const struct sharing {
        const char *id;
        int eps;
        bool one_evd;
} sharings[] = {
    {"own_evds", 3, false},
    {"one_evd", 3, true},
};

/* Connects the row's EPs to the queue. */
static void open_flows(struct test *t, const struct queue *queue, const struct sharing *row,
                       struct flow *flows)
{
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, queue, evd);
}

FAMILY(srq_create, recv_evds, sharings)
{
        struct queue queue = queue_made(t, 8);
        struct flow flows[3];

        open_flows(t, &queue, row, flows);
        queue_post(t, &queue, 3);
        for (int i = 0; i < row->eps; i++) {
                flow_send(&flows[i], 1);
                expect_messages(t, &queue, &flows[i], 1);
        }
}

CASE(srq_create, any_ep_takes)
{
        struct queue queue = queue_made(t, 8);
        struct flow one = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow other = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int i = 0; i < 4; i++) {
                struct flow *flow = i % 2 ? &other : &one;

                queue_post(t, &queue, 1);
                flow_send(flow, 1);
                expect_messages(t, &queue, flow, 1);
        }
}

CASE(srq_create, fewer_receives_than_eps)
{
        struct queue queue = queue_made(t, 2);
        struct flow flows[3];

        open_flows(t, &queue, &sharings[0], flows);
        queue_post(t, &queue, 2);
        flow_send(&flows[2], 2);
        expect_messages(t, &queue, &flows[2], 2);
}

static const struct sharing orders[] = {
    {"one_ep", 1, false},
    {"own_evds", 3, false},
    {"one_evd", 3, true},
};

FAMILY(srq_create, order_per_connection, orders)
{
        struct queue queue = queue_made(t, 24);
        struct flow flows[3];

        open_flows(t, &queue, row, flows);
        queue_post(t, &queue, 8 * row->eps);
        for (int i = 0; i < 8 * row->eps; i++)
                flow_send(&flows[i % row->eps], 1);
        for (int i = 0; i < 8 * row->eps; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flows[i % row->eps].evd);

                check_message(t, &queue, flows, row->eps, &dto);
        }
}
