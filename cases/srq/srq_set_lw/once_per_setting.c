/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: one event for each setting. */
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

#define ROUNDS 10 /* of traffic */

/*
 * Once per setting
 */

CASE(srq_set_lw, once)
{
        struct armed armed = armed_with(t, 6, 4);

        flow_deliver(t, &armed.flow, 3);
        expect_mark_event(t, &armed);

        flow_deliver(t, &armed.flow, 3);
        expect_messages(t, &armed.queue, &armed.flow, 6);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, once_in_a_burst)
{
        struct armed armed = armed_with(t, 8, 7);

        flow_deliver(t, &armed.flow, 8);

        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

/* Messages come to all EPs at once. */
CASE(srq_set_lw, once_by_several_eps)
{
        struct armed armed = armed_with(t, 8, 7);
        struct flow flows[3] = {
            armed.flow,
            flow_open(t, &armed.queue, DAT_HANDLE_NULL),
            flow_open(t, &armed.queue, DAT_HANDLE_NULL),
        };

        for (int i = 0; i < 3; i++)
                flow_send(&flows[i], 2);
        for (int i = 0; i < 3; i++)
                expect_messages(t, &armed.queue, &flows[i], 2);

        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

/* The mark is set before, between or after the messages: its one event comes by either. */
CASE(srq_set_lw, once_in_traffic)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int round = 0; round < ROUNDS; round++) {
                queue_post(t, &queue, 8);
                flow_send(&flow, 8);
                expect(dat_srq_set_lw(queue.srq, 8), DAT_SUCCESS);
                expect_messages(t, &queue, &flow, 8);

                expect_async_event(queue.srq);
                expect_quiet(async_evd(t));
        }
}

/* The second message finds no receive, and has the next one that is posted. */
CASE(srq_set_lw, once_though_a_message_waits)
{
        struct armed armed = armed_with(t, 1, 1);

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);

        flow_send(&armed.flow, 1);
        expect_quiet(async_evd(t));
        queue_post(t, &armed.queue, 1);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, once_after_event_at_once)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        must(dat_srq_set_lw(queue.srq, 4));
        expect_async_event(queue.srq);

        flow_deliver(t, &flow, 3);
        expect_no_mark_event(t, &flow);
}

CASE(srq_set_lw, once_though_replenished)
{
        struct armed armed = armed_with(t, 4, 4);

        expect_traffic(t, &armed.queue, &armed.flow, 4);
        expect_mark_event(t, &armed);

        queue_post(t, &armed.queue, 6);
        expect_traffic(t, &armed.queue, &armed.flow, 6);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, replenished_after_event_at_once)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(dat_srq_set_lw(queue.srq, 4));
        expect_async_event(queue.srq);

        queue_post(t, &queue, 6);
        expect_traffic(t, &queue, &flow, 6);
        expect_quiet(async_evd(t));
}

/*
 * Set again
 */

static const struct again {
        const char *id;
        DAT_COUNT first;
        DAT_COUNT second;
} again[] = {
    {"same", 4, 4},
    {"lower", 6, 3},
    {"higher", 3, 6},
};

/* Posts, or has messages take, what makes so many receives stand on the queue. */
static void stand_at(struct test *t, struct armed *armed, int receives)
{
        int posted = __builtin_popcountll(armed->queue.posted);

        if (posted < receives)
                queue_post(t, &armed->queue, receives - posted);
        else
                expect_traffic(t, &armed->queue, &armed->flow, posted - receives);
}

/* The receives stand at the second mark when it is set: the next event is its alone. */
FAMILY(srq_set_lw, rearmed, again)
{
        struct armed armed = armed_with(t, row->first, row->first);

        expect_traffic(t, &armed.queue, &armed.flow, 1);
        expect_mark_event(t, &armed);
        stand_at(t, &armed, row->second);
        arm_mark(t, &armed, row->second);
        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, rearmed_while_below)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 2);
        for (int i = 0; i < 4; i++) {
                expect(dat_srq_set_lw(queue.srq, 4), DAT_SUCCESS);
                expect_async_event(queue.srq);
        }
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, each_setting_has_its_event)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(srq, 4));
        must(dat_srq_set_lw(srq, 5));
        must(dat_srq_set_lw(srq, 5));

        for (int i = 0; i < 3; i++)
                expect_async_event(srq);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, lower_mark_replaces)
{
        struct armed armed = armed_with(t, 6, 5);

        arm_mark(t, &armed, 3);
        flow_deliver(t, &armed.flow, 3);
        expect_no_mark_event(t, &armed.flow);

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

CASE(srq_set_lw, higher_mark_replaces)
{
        struct armed armed = armed_with(t, 6, 3);

        arm_mark(t, &armed, 5);
        flow_deliver(t, &armed.flow, 2);
        expect_mark_event(t, &armed);

        flow_deliver(t, &armed.flow, 4);
        expect_no_mark_event(t, &armed.flow);
}

CASE(srq_set_lw, higher_mark_at_once)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        must(dat_srq_set_lw(queue.srq, 5));

        expect_async_event(queue.srq);
        expect_quiet(async_evd(t));
}
