/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: sizes below the outstanding receives. */
#include "cases/ep/shared/endpoint.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

/* All requests from `most` down, which are refused. */
static void expect_refusals(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT most)
{
        for (DAT_COUNT request = most; request > 0; request--)
                expect_refusal(t, srq, request);
}

static const struct request {
        const char *id;
        int posts;
        DAT_COUNT size;
} below_posted[] = {
    {"by_one", 6, 5},
    {"by_far", 6, 1},
};

FAMILY(srq_resize, below_posted, below_posted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);

        expect_refusal(t, queue.srq, row->size);
}

CASE(srq_resize, below_full_queue)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        expect_refusals(t, queue.srq, full - 1);
}

CASE(srq_resize, below_taken)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_DTO_COMPLETION_EVENT_DATA dto;
        int silent = 0;
        int met = 0;

        for (int window = 0; window < MANY && met < ENOUGH; window++) {
                queue_post(t, &queue, 4);
                flow_send_soon(&flow, 4);

                /* On its way from queue to EP to EVD, a receive counts at every moment. */
                for (DAT_COUNT outstanding = 4; outstanding > 1;) {
                        expect_refusal(t, queue.srq, outstanding - 1);
                        if (reap_message(t, flow.evd, outstanding, &met, &dto)) {
                                check_message(t, &queue, &flow, 1, &dto);
                                outstanding--;
                                silent = 0;
                        }
                        expect_that(silent++ < MOMENTS, "message %llu has not come",
                                    (unsigned long long)flow.received);
                }
                expect_messages(t, &queue, &flow, 1);
        }
        if (met < ENOUGH)
                note(t, "only %d requests met messages on their way: they are reported late", met);
}

static struct queue queue_with_outstanding(struct test *t, const struct outstanding *row)
{
        struct queue queue = queue_with(t, 16);
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;

        queue_post(t, &queue, row->posts);
        for (int i = 0; i < row->eps; i++) {
                struct flow flow = flow_open(t, &queue, evd);

                flow_deliver(t, &flow, row->messages);
        }
        return queue;
}

static DAT_SRQ_HANDLE srq_with_outstanding(struct test *t, const struct outstanding *row)
{
        return queue_with_outstanding(t, row).srq;
}

FAMILY(srq_resize, below_outstanding, outstanding)
{
        DAT_SRQ_HANDLE srq = srq_with_outstanding(t, row);

        expect_refusals(t, srq, row->posts - 1);
        expect_zero_refused(t, srq);
}

FAMILY(srq_resize, at_outstanding, outstanding)
{
        DAT_SRQ_HANDLE srq = srq_with_outstanding(t, row);

        expect(dat_srq_resize(srq, row->posts), DAT_SUCCESS);
}

FAMILY(srq_resize, granted_with_outstanding, outstanding)
{
        struct queue queue = queue_with_outstanding(t, row);

        expect_granted(t, queue.srq, row->posts);
        expect_room(t, &queue, srq_size(t, queue.srq) - row->posts);
}

FAMILY(srq_resize, granted_with_outstanding_under_mark, outstanding)
{
        DAT_SRQ_HANDLE srq = srq_with_outstanding(t, row);
        DAT_COUNT size;
        DAT_COUNT more;

        must(dat_srq_set_lw(srq, 1));
        more = srq_size_above(t, srq, 4);
        expect(dat_srq_resize(srq, more), DAT_SUCCESS);
        size = srq_size(t, srq);
        expect_that(size >= more, "%d asked for, %d queried", more, size);
        expect(dat_srq_resize(srq, size), DAT_SUCCESS);
        expect_eq(srq_size(t, srq), size);
        expect(dat_srq_resize(srq, row->posts), DAT_SUCCESS);
        expect_that(srq_size(t, srq) >= row->posts && srq_size(t, srq) <= size,
                    "%d asked for of %d, %d queried", row->posts, size, srq_size(t, srq));
}

static struct queue half_received(struct test *t, const struct half *row, struct flow *flows)
{
        struct queue queue = queue_for(t, 8, COMING, (size_t)row->posts);

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, row->posts);
        if (row->completed)
                flow_deliver(t, &flows[0], row->completed);
        flows_hold(t, &queue, flows, row->eps);
        return queue;
}

FAMILY(srq_resize, below_half_received, halves)
{
        struct flow flows[2];
        struct queue queue = half_received(t, row, flows);

        expect_refusal(t, queue.srq, row->posts - 1);
        must_be_coming(t, &queue, flows, row->eps);
}

FAMILY(srq_resize, at_half_received, halves)
{
        struct flow flows[2];
        struct queue queue = half_received(t, row, flows);

        expect(dat_srq_resize(queue.srq, row->posts), DAT_SUCCESS);
        must_be_coming(t, &queue, flows, row->eps);
}

FAMILY(srq_resize, granted_half_received, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        expect(resize(t, queue.srq, row, half.posts), DAT_SUCCESS);
        must_be_coming(t, &queue, &flow, 1);
}

FAMILY(srq_resize, keeps_half_received, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        must(resize(t, queue.srq, row, half.posts));
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

/* What the EP had taken is flushed to it, once, and the rest is not. */
FAMILY(srq_resize, keeps_half_received_flushed, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);
        uint64_t taken = message_holds(queue.buf->addr, MESSAGE, 0) ? 0 : 1;

        must(resize(t, queue.srq, row, half.posts));
        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);

        reap_disconnected(t, &queue, &flow);
        expect_that(!(queue.posted >> taken & 1),
                    "the receive of a message that was half there was not flushed");
        if (queue.posted)
                expect_rest_usable(t, &queue);
}

/* What was flushed counts until it is reaped, and no longer. */
CASE(srq_resize, below_flushed)
{
        const struct half half = {.posts = 3, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);
        settle(t);
        expect_refusals(t, queue.srq, half.posts - 1);
        expect(dat_srq_resize(queue.srq, half.posts), DAT_SUCCESS);

        must_that(reap_disconnected(t, &queue, &flow) > 0,
                  "the receive of a message that was half there was not flushed");
        if (queue.posted)
                expect(dat_srq_resize(queue.srq, __builtin_popcountll(queue.posted)), DAT_SUCCESS);
}

CASE(srq_resize, refusal_keeps_half_received)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        (void)dat_srq_resize(queue.srq, 1);
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

CASE(srq_resize, at_posted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);

        expect(dat_srq_resize(queue.srq, 6), DAT_SUCCESS);
}

/* What a receive is made of: it counts as one. */
static const struct made_of {
        const char *id;
        bool segments;
} made_of[] = {
    {"several_segments", true},
    {"no_segments", false},
};

static DAT_SRQ_HANDLE srq_with_receives(struct test *t, const struct made_of *row, int count)
{
        struct queue queue = row->segments ? queue_of_segments(t, 8) : queue_with(t, 8);

        if (row->segments)
                post_halves(t, &queue, count);
        for (int i = 0; i < count && !row->segments; i++)
                expect(dat_srq_post_recv(queue.srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return queue.srq;
}

FAMILY(srq_resize, below_receives_of, made_of)
{
        expect_refusals(t, srq_with_receives(t, row, 6), 5);
}

FAMILY(srq_resize, at_receives_of, made_of)
{
        expect_granted(t, srq_with_receives(t, row, 6), 6);
}

/* Of three receives one has met a message that it cannot hold; its completion stands unreaped. */
static struct queue queue_with_failure(struct test *t, struct flow *flow)
{
        struct queue queue = queue_with(t, 8);

        *flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 3);
        peer_send(flow->end, .length = MESSAGE + 1);
        settle(t);
        return queue;
}

/* Reaps all that have failed; returns how many these are. */
static DAT_COUNT reap_failed(struct test *t, const struct flow *flow)
{
        DAT_EVENT event = must_event(flow->evd, DAT_DTO_COMPLETION_EVENT);
        DAT_COUNT failed = 0;

        do {
                must_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                          "a receive held more than it can");
                failed++;
        } while (event_left(t, flow->evd, &event));
        return failed;
}

CASE(srq_resize, below_failed)
{
        struct flow flow;
        struct queue queue = queue_with_failure(t, &flow);

        expect_refusals(t, queue.srq, 2);
        reap_failed(t, &flow);
}

CASE(srq_resize, after_reaping_failed)
{
        struct flow flow;
        struct queue queue = queue_with_failure(t, &flow);

        expect_granted(t, queue.srq, 3 - reap_failed(t, &flow));
}

/* Whichever way it was connected; beside the first of these EPs another one is connected. */
CASE(srq_resize, below_completed_of_disconnected_ep)
{
        const struct ep_route *first = ep_route_first(t, DAT_EP_STATE_CONNECTED);

        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                if (route == first)
                        flow_open(t, &queue, DAT_HANDLE_NULL);

                queue_post(t, &queue, 4);
                flow_deliver(t, &flow, 4);
                expect_refusal(t, queue.srq, 3);
                flow_break(t, &flow);

                expect_refusal(t, queue.srq, 3);
        }
}

CASE(srq_resize, granted_with_completed_of_disconnected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        flow_break(t, &flow);

        expect_granted(t, queue.srq, 4);
}

/* Their events go with the EP, or stay until they are reaped. */
CASE(srq_resize, after_ep_freed)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        flow_break(t, &flow);
        release(t, flow.ep);
        settle(t);
        drain_evd(t, flow.evd);

        expect_granted(t, queue.srq, 2);
}

CASE(srq_resize, below_completed_on_evd_with_cno)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, evd_with(t, .cno = cno_new(t)));

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);

        expect_refusals(t, queue.srq, 3);
        expect_granted(t, queue.srq, 4);
}

CASE(srq_resize, below_completed_on_changed_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        flow_deliver(t, &flow, 3);
        for (int turn = 0; turn < EVD_TURNS; turn++) {
                evd_turn(t, flow.evd, turn);
                expect_refusal(t, queue.srq, 2);
                expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        }
}

FAMILY(srq_resize, after_reaping, reap_calls)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EVENT event;

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        (void)dat_srq_resize(queue.srq, 3);
        must(row->take(flow.evd, 4, &event));

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        expect_refusal(t, queue.srq, 2);
}

/* Those on the other EVD are outstanding still. */
CASE(srq_resize, after_reaping_of_one_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2];

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 5);
        for (int i = 0; i < 2; i++)
                flow_deliver(t, &flows[i], 2);
        expect_messages(t, &queue, &flows[1], 2);

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        expect_refusals(t, queue.srq, 2);
        expect_messages(t, &queue, &flows[0], 2);
        expect(dat_srq_resize(queue.srq, 1), DAT_SUCCESS);
}
