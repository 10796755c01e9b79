/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: messages that have arrived in part. */
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_query/fixtures.h"
#include "clauses/srq_query.h"

/* A queue of `posts` receives, of which each of `flows` has taken one for a message half there. */
static struct queue half_received(struct test *t, int posts, struct flow *flows, int count)
{
        struct queue queue = queue_for(t, 8, COMING, (size_t)posts);

        for (int i = 0; i < count; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, posts);
        flows_hold(t, &queue, flows, count);
        return queue;
}

CASE(srq_query, outstanding_half_received)
{
        struct flow flows[2];
        struct queue queue = half_received(t, 2, flows, 2);
        DAT_COUNT seen = outstanding(t, queue.srq);

        must_be_coming(t, &queue, flows, 2);
        expect_count(t, seen, 2);
}

/* How many are flushed beside the one that was half there is the provider's choice (SRQ-26). */
CASE(srq_query, outstanding_flushed)
{
        struct flow flow;
        struct queue queue = half_received(t, 3, &flow, 1);
        DAT_COUNT left = 3;
        DAT_EVENT event;

        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);
        settle(t);
        expect_count(t, outstanding(t, queue.srq), left);

        while (event_left(t, flow.evd, &event)) {
                must_that(left > 0, "more receives were flushed than were posted");
                left--;
                expect_count(t, outstanding(t, queue.srq), left);
        }
        must_that(left < 3, "the receive of a message that was half there was not flushed");
        expect_count(t, available(t, queue.srq), left);
}

/* A provider that sees no receive taken until its message is whole is excused until then (SRQ-28).
 */
CASE(srq_query, available_half_received)
{
        struct queue queue = queue_for(t, 8, COMING, 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT at_rest;

        queue_post(t, &queue, 3);
        expect_available(t, available(t, queue.srq), &flow, 1, 3);
        at_rest = 3 - taken_ahead(t, &flow, 1);
        flows_hold(t, &queue, &flow, 1);
        DAT_COUNT seen = available(t, queue.srq);

        must_be_coming(t, &queue, &flow, 1);
        if (seen == 3)
                note(t, "the receive of a message that has begun to arrive is reported as "
                        "available until"
                        " the message is whole: the device shows it no earlier (SRQ-28)");
        else if (seen != at_rest)
                expect_count(t, seen, at_rest - 1);
        expect_messages(t, &queue, &flow, 1);
        expect_available(t, available(t, queue.srq), &flow, 1, 2);
}

CASE(srq_query, outstanding_of_three_kinds)
{
        struct queue queue = queue_for(t, 8, COMING, 6);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 2);
        flows_hold(t, &queue, &flow, 1);
        DAT_COUNT seen = outstanding(t, queue.srq);

        must_be_coming(t, &queue, &flow, 1);
        expect_count(t, seen, 6);
}

CASE(srq_query, keeps_half_received)
{
        struct flow flow;
        struct queue queue = half_received(t, 2, &flow, 1);

        query_often(t, queue.srq);
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

CASE(srq_query, available_as_declared)
{
        struct known known = known_srq(t);

        expect_declared(t, available(t, known.srq), KNOWN_POSTS);
}

CASE(srq_query, outstanding_as_declared)
{
        struct known known = known_srq(t);

        expect_declared(t, outstanding(t, known.srq), KNOWN_POSTS);
}
