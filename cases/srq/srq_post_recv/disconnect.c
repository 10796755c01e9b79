/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: disconnects. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#define DISCONNECTS 4

static void end_abruptly(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)queue;
        must(dat_ep_disconnect(flow->ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void end_gracefully(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)queue;
        must(dat_ep_disconnect(flow->ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void end_by_peer(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)queue;
        peer_disconnect(flow->end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* A message that is longer than its receive. */
static void end_by_receive(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 1);
        peer_send(flow->end, .length = flow->length + 1, .first = flow->sent);
        flow->overflows = true;
        must_end_after_failure(t, flow);
}

/* An RDMA write to memory that the peer has not. */
static void end_by_request(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.rmr_context = 0x5a5a5a5a, .segment_length = MESSAGE};

        (void)queue;
        must(dat_ep_post_rdma_write(flow->ep, 1, &segment, COOKIE, &remote,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        must_end_after_failure(t, flow);
}

static const struct ending {
        const char *id;
        void (*end)(struct test *t, struct queue *queue, struct flow *flow);
} endings[] = {
    {"abrupt", end_abruptly},           {"graceful", end_gracefully},
    {"by_peer", end_by_peer},           {"failed_receive", end_by_receive},
    {"failed_request", end_by_request},
};

/*
 * The most receives that an EP, at rest, can have taken: what it tells, or else those that are
 * told as available no more. -1 where the provider tells neither.
 */
static int most_taken(struct test *t, const struct queue *queue, const struct flow *flow)
{
        DAT_COUNT available = srq_param(t, queue->srq).available_dto_count;
        DAT_COUNT held = DAT_VALUE_UNKNOWN;
        DAT_COUNT span;

        if (provider_attr(t)->ep_recv_info_supported)
                must(dat_ep_recv_query(flow->ep, &held, &span));
        if (held != DAT_VALUE_UNKNOWN)
                return held;
        if (available != DAT_VALUE_UNKNOWN)
                return __builtin_popcountll(queue->posted) - available;
        return -1;
}

FAMILY(srq_post_recv, disconnect_leaves_others, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        int flushed;
        int most;

        expect_posts(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 2);
        most = most_taken(t, &queue, &flow);
        row->end(t, &queue, &flow);

        flushed = reap_disconnected(t, &queue, &flow);
        expect_that(most < 0 || flushed <= most,
                    "%d receives were flushed, and the EP had taken %d", flushed, most);
        if (queue.posted)
                expect_rest_usable(t, &queue);
        else
                note(t, "an idle EP had taken all receives, and was not asked to tell");
}

/* Its connection had not ended. What it took ahead of messages may end with it. */
CASE(srq_post_recv, ep_freed_leaves_others)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 2);
        if (most_taken(t, &queue, &flow) != 0)
                end_noted(t, "an EP took receives ahead of messages, or tells nothing of them");
        release(t, flow.ep);

        expect_quiet(flow.evd);
        expect_rest_usable(t, &queue);
}

FAMILY(srq_post_recv, disconnect_counted, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT rest;
        DAT_SRQ_PARAM param;

        expect_posts(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 2);
        row->end(t, &queue, &flow);
        reap_disconnected(t, &queue, &flow);

        rest = __builtin_popcountll(queue.posted);
        param = srq_param(t, queue.srq);
        expect_count(t, param.available_dto_count, rest);
        expect_count(t, param.outstanding_dto_count, rest);
        expect_room(t, &queue, srq_size(t, queue.srq) - rest);
}

/* Whichever way the EP was connected. */
FAMILY(srq_post_recv, disconnect_keeps_completions, endings)
{
        struct queue queue = queue_with(t, 8);

        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct flow flow = flow_by(t, &queue, route);

                expect_posts(t, &queue, 4);
                flow_deliver(t, &flow, 4);
                row->end(t, &queue, &flow);

                expect_messages(t, &queue, &flow, 4);
                if (flow.overflows)
                        reap_disconnected(t, &queue, &flow);
                expect_quiet(flow.evd);
        }
}

FAMILY(srq_post_recv, disconnect_under_traffic, endings)
{
        struct queue queue = queue_for(t, 12, LONG_MESSAGE, 12);
        int flushed = 0;

        queue.cookie_bits = WIDE_COOKIES;
        for (int i = 0; i < DISCONNECTS; i++) {
                struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

                expect_posts(t, &queue, 12 - __builtin_popcountll(queue.posted));
                flow_send(&flow, 6);
                expect_messages(t, &queue, &flow, 1);
                row->end(t, &queue, &flow);
                flushed += reap_disconnected(t, &queue, &flow);
        }
        record(t, "%d receives were flushed in %d disconnects", flushed, DISCONNECTS);
        expect_rest_usable(t, &queue);
}

CASE(srq_post_recv, disconnect_flushes_half_received)
{
        struct queue queue = queue_for(t, 8, COMING, 2);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue.cookie_bits = WIDE_COOKIES;
        expect_posts(t, &queue, 2);
        flows_hold(t, &queue, &flow, 1);
        uint64_t taken = message_holds(queue.buf->addr, MESSAGE, 0) ? 0 : 1;
        end_abruptly(t, &queue, &flow);
        must_be_coming(t, &queue, &flow, 1);

        reap_disconnected(t, &queue, &flow);
        expect_that(!(queue.posted >> taken & 1),
                    "the receive of a message that was half there was not flushed");
}
