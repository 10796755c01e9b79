/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: counts after earlier operations on an SRQ. */
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

static void srq_was_resized(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, 1);
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
        expect_messages(t, queue, flow, 1);
        expect_traffic(t, queue, flow, POSTS - 1);
}

static void srq_ep_was_marked(struct test *t, struct queue *queue, struct flow *flow)
{
        must(dat_ep_set_watermark(flow->ep, 8, DAT_WATERMARK_INFINITE));
        queue_post(t, queue, POSTS);
        expect_traffic(t, queue, flow, POSTS);
}

/*
 * Two messages are unreaped when the third one breaks the connection. A mark that does not count
 * them is exceeded by any message once it is 0 (EP-43).
 */
static void srq_ep_was_broken(struct test *t, struct queue *queue, struct flow *flow)
{
        must(dat_ep_set_watermark(flow->ep, DAT_WATERMARK_INFINITE, 2));
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, 2);
        flow_deliver(t, flow, 1);
        if (ep_state(t, flow->ep) == DAT_EP_STATE_CONNECTED) {
                must(dat_ep_set_watermark(flow->ep, DAT_WATERMARK_INFINITE, 0));
                flow_send(flow, 1);
        }
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_BROKEN);
        settle(t);
}

static void srq_was_marked(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        must(dat_srq_set_lw(queue->srq, 2));
        expect_traffic(t, queue, flow, POSTS);
}

static void srq_ep_was_reset(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        flow_break(t, flow);
        must(dat_ep_reset(flow->ep));
}

static void srq_ep_was_reconnected(struct test *t, struct queue *queue, struct flow *flow)
{
        srq_ep_was_reset(t, queue, flow);
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

/* Too long for the receive that it took. */
static void srq_had_failure(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 1);
        peer_send(flow->end, .length = MESSAGE + 1);
        must_event(flow->evd, DAT_DTO_COMPLETION_EVENT);
}

static void srq_had_empty_message(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 1);
        peer_send(flow->end, .empty = true);
        must_dto(flow->evd);
}

/* Nothing but dat_evd_dequeue reaped. */
static void srq_had_dequeued(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_EVENT event;

        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
        for (int i = 0; i < POSTS; i++)
                must(dat_evd_dequeue(flow->evd, &event));
}

static void srq_had_vain_calls(struct test *t, struct queue *queue, struct flow *flow)
{
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, queue, flow, turn);
        queue_post(t, queue, POSTS);
        expect_traffic(t, queue, flow, POSTS);
}

static void srq_had_requests(struct test *t, struct queue *queue, struct flow *flow)
{
        flow_break(t, flow);
        *flow = flow_with_requests(t, queue);
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

/* What stands unreaped on the EP's EVD is of an EP of another SRQ. */
static void srq_had_other_on_evd(struct test *t, struct queue *queue, struct flow *flow)
{
        struct queue other = queue_with(t, 8);
        struct flow beside = flow_open(t, &other, flow->evd);

        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        queue_post(t, &other, POSTS);
        flow_deliver(t, &beside, POSTS);
}

static void srq_had_evd_resized(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
        evd_turn(t, flow->evd, 0);
        expect_messages(t, queue, flow, POSTS);
}

static void srq_had_sibling_freed(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow sibling = flow_open(t, queue, flow->evd);

        queue_post(t, queue, 2);
        expect_traffic(t, queue, &sibling, 1);
        expect_traffic(t, queue, flow, 1);
        flow_break(t, &sibling);
        release(t, sibling.ep);
}

/* Its messages stand unreaped, on the EVD that it shares with this one. */
static void srq_had_sibling(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow sibling = flow_open(t, queue, flow->evd);

        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, 2);
        flow_deliver(t, &sibling, POSTS - 2);
}

static void srq_ep_was_passive(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, .srq = queue->srq);

        *flow = (struct flow){
            .ep = ep, .evd = ep_recv_evd(t, ep), .end = must_connect(ep), .length = queue->length};
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
}

/* All receives of the queue have had their messages, over this flow. */
static void serve_over(struct test *t, struct queue *queue, struct flow *flow, struct flow with)
{
        *flow = with;
        queue_post(t, queue, POSTS);
        flow_deliver(t, flow, POSTS);
}

static void srq_ep_unreported(struct test *t, struct queue *queue, struct flow *flow)
{
        serve_over(t, queue, flow, flow_unreported(t, queue));
}

static void srq_ep_solicited(struct test *t, struct queue *queue, struct flow *flow)
{
        serve_over(t, queue, flow,
                   flow_notifying(t, queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_HANDLE_NULL));
}

static void srq_ep_had_cno(struct test *t, struct queue *queue, struct flow *flow)
{
        serve_over(t, queue, flow, flow_open(t, queue, evd_with(t, .cno = cno_new(t))));
}

/* Its sends stand unreaped where the receives do. */
static void srq_ep_had_one_evd(struct test *t, struct queue *queue, struct flow *flow)
{
        serve_over(t, queue, flow, flow_with_sends(t, queue, 2));
}

static void srq_ep_had_evd_changed(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_EP_PARAM param = {.recv_evd_handle = evd_with(t)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq);

        must(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, param.recv_evd_handle);
        serve_over(t, queue, flow,
                   (struct flow){.ep = ep,
                                 .evd = param.recv_evd_handle,
                                 .end = peer_connect(peer(t), ep),
                                 .length = queue->length});
}

static const struct srq_history {
        const char *id;
        void (*make)(struct test *t, struct queue *queue, struct flow *flow);
} srq_histories[] = {
    {"resized", srq_was_resized},
    {"soft_mark", srq_ep_was_marked},
    {"hard_mark", srq_ep_was_broken},
    {"low_mark", srq_was_marked},
    {"reset", srq_ep_was_reset},
    {"reconnected", srq_ep_was_reconnected},
    {"failure", srq_had_failure},
    {"empty_message", srq_had_empty_message},
    {"sibling_unreaped", srq_had_sibling},
    {"dequeued", srq_had_dequeued},
    {"vain_calls", srq_had_vain_calls},
    {"requests", srq_had_requests},
    {"shared_evd", srq_had_other_on_evd},
    {"evd_resized", srq_had_evd_resized},
    {"sibling_freed", srq_had_sibling_freed},
    {"passive", srq_ep_was_passive},
    {"no_recv_evd", srq_ep_unreported},
    {"solicited", srq_ep_solicited},
    {"cno", srq_ep_had_cno},
    {"one_evd", srq_ep_had_one_evd},
    {"evd_changed", srq_ep_had_evd_changed},
};

FAMILY(ep_recv_query, srq_after, srq_histories)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        row->make(t, &queue, &flow);

        struct info info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

static void srq_traffic(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, WINDOW - __builtin_popcountll(queue->posted));
        flow_send(flow, WINDOW - 2);
        while (flow->received < flow->sent) {
                expect_within(t, recv_info(t, flow->ep), 0, __builtin_popcountll(queue->posted));
                expect_messages(t, queue, flow, 1);
        }
}

FAMILY(ep_recv_query, srq_in_traffic, traffic)
{
        struct queue queue = queue_for(t, WINDOW, row->length, WINDOW);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < WINDOWS; window++)
                srq_traffic(t, &queue, &flow);
}

CASE(ep_recv_query, srq_in_traffic_out_of_order)
{
        struct queue queue = queue_for(t, WINDOW, PACKETS, WINDOW);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        peer_disturb_by(peer(t), out_of_order);
        for (int window = 0; goes_on_to_overtake(t, window); window++)
                srq_traffic(t, &queue, &flow);
        must_have_overtaken(peer(t));
}

CASE(ep_recv_query, srq_half_received)
{
        struct queue queue = queue_for(t, WINDOW, COMING, 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        flows_hold(t, &queue, &flow, 1);
        struct info info = recv_info(t, flow.ep);

        must_be_coming(t, &queue, &flow, 1);
        expect_within(t, info, 1, 3);
}

/* Each EP has a receive for its own message, and only those taken ahead when both are whole. */
CASE(ep_recv_query, srq_half_received_each)
{
        struct queue queue = queue_for(t, WINDOW, COMING, 4);
        struct flow flows[2];
        struct info infos[2];

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        flows_hold(t, &queue, flows, 2);
        for (int i = 0; i < 2; i++)
                infos[i] = recv_info(t, flows[i].ep);

        must_be_coming(t, &queue, flows, 2);
        for (int i = 0; i < 2; i++)
                expect_within(t, infos[i], 1, 3);
        if (infos[0].count != DAT_VALUE_UNKNOWN && infos[1].count != DAT_VALUE_UNKNOWN)
                expect_that(infos[0].count + infos[1].count <= 4,
                            "%d and %d receives at two EPs, of 4", infos[0].count, infos[1].count);

        for (int i = 0; i < 2; i++)
                expect_messages(t, &queue, &flows[i], 1);
        expect_held(t, &queue, flows, 2, 2);
}

CASE(ep_recv_query, srq_half_received_disconnected)
{
        struct queue queue = queue_for(t, WINDOW, COMING, 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct info info;

        queue_post(t, &queue, 3);
        flows_hold(t, &queue, &flow, 1);
        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);
        settle(t);

        info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

CASE(ep_recv_query, srq_several_eps)
{
        struct queue queue = queue_for(t, WINDOW, LONG_MESSAGE, WINDOW);
        struct flow flows[2];
        DAT_COUNT sum;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        for (int window = 0; window < WINDOWS; window++) {
                queue_post(t, &queue, WINDOW);
                for (int i = 0; i < 2; i++)
                        flow_send(&flows[i], WINDOW / 2);
                for (int left = WINDOW; left > 0; left--) {
                        sum = 0;
                        for (int i = 0; i < 2; i++) {
                                struct info info = recv_info(t, flows[i].ep);

                                expect_within(t, info, 0, left);
                                if (info.count != DAT_VALUE_UNKNOWN)
                                        sum += info.count;
                        }
                        expect_that(sum <= left, "%d receives at two EPs, of %d", sum, left);
                        expect_messages(t, &queue, &flows[left % 2], 1);
                }
        }
}

CASE(ep_recv_query, srq_takes_nothing)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flow, 2);
        for (int i = 0; i < MANY; i++)
                expect_within(t, recv_info(t, flow.ep), 0, POSTS - 2);

        flow_send(&flow, POSTS - 2);
        expect_messages(t, &queue, &flow, POSTS);
        expect_within(t, recv_info(t, flow.ep), 0, 0);
        expect_quiet(flow.evd);
}

/* The soft mark of the EP stays armed, and spent once its event has come. */
CASE(ep_recv_query, srq_keeps_mark)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        must(dat_ep_set_watermark(flow.ep, 0, DAT_WATERMARK_INFINITE));
        if (drain_async_event(t))
                end_noted(t, "the EP took receives before any message came (EP-43)");
        for (int i = 0; i < MANY; i++)
                expect_within(t, recv_info(t, flow.ep), 0, POSTS);
        expect_quiet(async_evd(t));

        flow_deliver(t, &flow, 1);
        expect_async_event(flow.ep);
        for (int i = 0; i < MANY; i++)
                expect_within(t, recv_info(t, flow.ep), 0, POSTS - 1);
        expect_no_mark_event(t, &flow);
}
