/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: the EP at which a receive completes. */
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/loop.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

CASE(srq_post_recv, without_ep)
{
        struct queue queue = queue_with(t, 8);

        expect_room(t, &queue, 1);
}

CASE(srq_post_recv, posted_before_ep)
{
        struct queue queue = queue_with(t, 8);

        expect_posts(t, &queue, 4);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_post_recv, posted_after_connection)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int i = 0; i < 20; i++) {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
        }
}

CASE(srq_post_recv, any_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2] = {flow_open(t, &queue, DAT_HANDLE_NULL),
                                flow_open(t, &queue, DAT_HANDLE_NULL)};

        for (int i = 0; i < 4; i++) {
                expect_posts(t, &queue, 2);
                flow_send(&flows[i % 2], 2);
                expect_messages(t, &queue, &flows[i % 2], 2);
        }
}

/* Of two SRQs that are alike each has its receives, whichever was made first or used last. */
CASE(srq_post_recv, not_other_srq)
{
        struct queue queues[2] = {queue_with(t, 8), queue_with(t, 8)};
        struct flow flows[2] = {flow_open(t, &queues[0], DAT_HANDLE_NULL),
                                flow_open(t, &queues[1], DAT_HANDLE_NULL)};

        for (int turn = 0; turn < 2; turn++) {
                for (int i = 0; i < 2; i++)
                        expect_posts(t, &queues[i], 2 + i);
                for (int i = 0; i < 2; i++)
                        expect_traffic(t, &queues[i], &flows[i], 2 + i);
        }
}

/* One of them is of another open IA. */
CASE(srq_post_recv, srq_of_other_ia)
{
        struct queue own = queue_with(t, 8);
        struct queue queue = queue_of_other_ia(t, 8);
        struct flow flow = flow_open(t, &own, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 2);
        expect_posts(t, &own, 3);

        expect_traffic(t, &own, &flow, 3);
        expect_quiet(flow.evd);
        expect_count(t, srq_param(t, queue.srq).outstanding_dto_count, 2);
        expect_room(t, &queue, srq_size(t, queue.srq) - 2);
}

/* It is no message. */
CASE(srq_post_recv, rdma_takes_none)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM before;

        expect_posts(t, &queue, 2);
        before = srq_param(t, queue.srq);
        flow_is_written_to(t, &flow);
        expect_quiet(flow.evd);
        expect_kept(t, queue.srq, &before);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(srq_post_recv, not_plain_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        expect_posts(t, &queue, 4);
        must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 99},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end);
        expect_eq(expect_dto(ep_recv_evd(t, plain)).user_cookie.as_64, 99);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_post_recv, completion_names_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flows[2] = {flow_open(t, &queue, evd), flow_open(t, &queue, evd)};

        expect_posts(t, &queue, 8);
        for (int i = 0; i < 8; i++) {
                flow_send(&flows[i % 2], 1);
                expect_that(expect_dto(evd).ep_handle == flows[i % 2].ep,
                            "the completion is not of the EP to which the message came");
        }
}

#define EPS 12

/* As many EPs as no table of a few holds, asked from the newest to the oldest, and back. */
CASE(srq_post_recv, many_eps)
{
        DAT_COUNT count = cap_at_limit(t, EPS, DAT_HANDLE_TYPE_EP, 1);
        struct queue queue = queue_with(t, EPS);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flows[EPS];

        queue.cookie_bits = WIDE_COOKIES;
        for (DAT_COUNT i = 0; i < count; i++)
                flows[i] = flow_open(t, &queue, evd);
        for (DAT_COUNT turn = 0; turn < 2 * count; turn++) {
                struct flow *flow = &flows[turn < count ? count - 1 - turn : turn - count];
                DAT_DTO_COMPLETION_EVENT_DATA dto;

                expect_posts(t, &queue, 1);
                flow_send(flow, 1);
                dto = expect_dto(evd);
                expect_that(dto.ep_handle == flow->ep,
                            "the completion is not of the EP to which the message came");
                check_message(t, &queue, flow, 1, &dto);
        }
}

/* The messages of two EPs on one EVD have lengths of their own. */
CASE(srq_post_recv, length_of_each_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flows[2] = {flow_open(t, &queue, evd), flow_open(t, &queue, evd)};
        size_t lengths[2] = {7, 50};

        expect_posts(t, &queue, 8);
        for (int i = 0; i < 8; i++)
                peer_send(flows[i % 2].end, .length = lengths[i % 2] + (size_t)i / 2);
        for (int i = 0; i < 8; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(evd);
                int which = dto.ep_handle == flows[1].ep;

                expect_that(dto.ep_handle == flows[which].ep, "the completion is of another EP");
                expect_eq(dto.transfered_length, lengths[which]++);
        }
}

/* The message was too long. The EP that has its connection later is asked first. */
CASE(srq_post_recv, failed_completion_names_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flows[2] = {flow_open(t, &queue, evd), flow_open(t, &queue, evd)};

        for (int i = 1; i >= 0; i--) {
                DAT_DTO_COMPLETION_EVENT_DATA dto;

                expect_posts(t, &queue, 1);
                peer_send(flows[i].end, .length = MESSAGE + 1);
                dto = expect_event(evd, DAT_DTO_COMPLETION_EVENT)
                          .event_data.dto_completion_event_data;
                must_that(dto.status != DAT_DTO_SUCCESS, "a receive held more than it can");
                expect_that(dto.ep_handle == flows[i].ep,
                            "the completion is not of the EP to which the message came");
                expect_quiet(evd);
        }
}

CASE(srq_post_recv, connected_by_each_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                queue.cookie_bits = WIDE_COOKIES;
                for (int i = 0; i < 2; i++) {
                        expect_posts(t, &queue, 4);
                        expect_traffic(t, &queue, &flow, 4);
                }
        }
}

/* Each time it accepted a request. */
CASE(srq_post_recv, accepted_twice)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq);
        struct buf *from = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(from, 0, MESSAGE);
        struct flow flow = {.ep = ep, .evd = ep_recv_evd(t, ep), .length = MESSAGE};

        queue.cookie_bits = WIDE_COOKIES;
        for (int connection = 0; connection < 2; connection++) {
                struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

                loop.passive = ep;
                loop_join_either(t, &loop);
                expect_posts(t, &queue, 4);
                for (int i = 0; i < 4; i++) {
                        message_fill(from->addr, MESSAGE, flow.sent++);
                        must(dat_ep_post_send(loop.active, 1, &segment,
                                              (DAT_DTO_COOKIE){.as_64 = 0},
                                              DAT_COMPLETION_DEFAULT_FLAG));
                        expect_messages(t, &queue, &flow, 1);
                        must_dto(ep_request_evd(t, loop.active));
                }
                if (connection)
                        break;
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
                must(dat_ep_reset(ep));
        }
}

CASE(srq_post_recv, completion_on_recv_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow other = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(other.evd);
        expect_quiet(ep_request_evd(t, flow.ep));
}

FAMILY(srq_post_recv, ep_state, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

                ep_by(t, route, .srq = queue.srq);

                expect_posts(t, &queue, 4);
                expect_traffic(t, &queue, &flow, 4);
        }
}

FAMILY(srq_post_recv, takes_none, idle_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = {.ep = ep_by(t, route, .srq = queue.srq)};

                expect_posts(t, &queue, 4);
                settle(t);

                expect_count(t, srq_param(t, queue.srq).available_dto_count, 4);
                expect_eq(taken_ahead(t, &flow, 1), 0);
                expect_quiet(ep_recv_evd(t, flow.ep));
        }
}

FAMILY(srq_post_recv, leaves_all_to_others, idle_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);

                expect_posts(t, &queue, 4);
                expect_traffic(t, &queue, &flow, 4);
                expect_quiet(ep_recv_evd(t, ep));
        }
}

/* What an SRQ may have behind it, or may be amid, when a receive is posted. */
static void leave_unreaped(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 3);
        flow_deliver(t, flow, 3);
}

static void let_message_wait(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)queue;
        flow_send(flow, 1);
        settle(t);
}

static void drain(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 8);
        expect_traffic(t, queue, flow, 8);
}

static void refuse_free(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must_that(!dat_is(dat_srq_free(queue->srq), DAT_SUCCESS), "an SRQ in use was freed");
}

static void free_other_ep(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow other = flow_open(t, queue, DAT_HANDLE_NULL);

        (void)flow;
        expect_posts(t, queue, 1);
        expect_traffic(t, queue, &other, 1);
        release(t, other.ep);
}

static void grow(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
}

static void shrink(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_resize(queue->srq, 2));
}

static void arm(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 3);
        arm_mark(t, &(struct armed){.queue = *queue, .flow = *flow}, 2);
}

static void pass_mark(struct test *t, struct queue *queue, struct flow *flow)
{
        arm(t, queue, flow);
        expect_traffic(t, queue, flow, 2);
        drain_async_event(t);
}

static void reset_ep(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        flow_break(t, flow);
        must(dat_ep_reset(flow->ep));
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
}

/* Another EP comes when the receives are there. */
static void end_all(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow other = flow_open(t, queue, DAT_HANDLE_NULL);

        flow_break(t, &other);
        flow_break(t, flow);
        expect_posts(t, queue, 2);
        *flow = flow_open(t, queue, DAT_HANDLE_NULL);
}

/* The SRQ has no EP any more when the receives are posted; another one comes then. */
static void free_all(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 1);
        expect_traffic(t, queue, flow, 1);
        release(t, flow->ep);
        expect_posts(t, queue, 2);
        *flow = flow_open(t, queue, DAT_HANDLE_NULL);
}

struct situation {
        const char *id;
        void (*bring)(struct test *t, struct queue *queue, struct flow *flow);
};

static void call_in_vain(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 1);
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, queue, flow, turn);
}

/* Of the EP that the receives serve then, alone. */
static void make_requests(struct test *t, struct queue *queue, struct flow *flow)
{
        flow_break(t, flow);
        *flow = flow_with_requests(t, queue);
}

/* The EP that the receives serve was there when they were posted, and is connected then. */
static void connect_later(struct test *t, struct queue *queue, struct flow *flow)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq);

        flow_break(t, flow);
        expect_posts(t, queue, 3);
        *flow = (struct flow){
            .ep = ep, .evd = ep_recv_evd(t, ep), .end = must_connect(ep), .length = queue->length};
}

/* What its EP did not take stays for its next connection. */
static void leave_at_reset(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 4);
        expect_traffic(t, queue, flow, 1);
        flow_break(t, flow);
        reap_disconnected(t, queue, flow);
        must(dat_ep_reset(flow->ep));
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
}

static void call_calmly(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 1);
        for (int turn = 0; turn < CALM_TURNS; turn++)
                calm_turn(t, queue, flow, turn);
}

static const struct situation situations[] = {
    {"completions_unreaped", leave_unreaped},
    {"message_waiting", let_message_wait},
    {"queue_drained", drain},
    {"free_refused", refuse_free},
    {"ep_freed", free_other_ep},
    {"queue_grown", grow},
    {"queue_shrunk", shrink},
    {"ep_reset", reset_ep},
    {"all_disconnected", end_all},
    {"all_freed", free_all},
    {"calls_in_vain", call_in_vain},
    {"requests_made", make_requests},
    {"ep_connected_later", connect_later},
    {"left_at_reset", leave_at_reset},
    {"calls_granted", call_calmly},
};

static const struct situation mark_situations[] = {
    {"armed", arm},
    {"raised", pass_mark},
};

/* A queue whose receives can have two segments, where the IA lets them. */
static struct queue queue_of_halves(struct test *t)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;

        return (struct queue){.srq = srq_with(t, .max_recv_iov = most),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE)};
}

/* A receive on the queue's last slot, in as many segments as it can have, up to two. */
static void expect_post_in_halves(struct test *t, struct queue *queue)
{
        size_t at = (SLOTS - 1) * MESSAGE;
        bool halves = srq_param(t, queue->srq).max_recv_iov > 1;
        DAT_LMR_TRIPLET iov[] = {triplet(queue->buf, at, halves ? MESSAGE / 2 : MESSAGE),
                                 triplet(queue->buf, at + MESSAGE / 2, MESSAGE / 2)};

        expect(dat_srq_post_recv(queue->srq, halves ? 2 : 1, iov,
                                 (DAT_DTO_COOKIE){.as_64 = SLOTS - 1}),
               DAT_SUCCESS);
        queue->posted |= UINT64_C(1) << (SLOTS - 1);
}

/* Two receives more are taken, and all that are posted serve the messages that wait and more. */
static void expect_posts_serve(struct test *t, const struct situation *situation)
{
        struct queue queue = queue_of_halves(t);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        situation->bring(t, &queue, &flow);

        expect_posts(t, &queue, 1);
        expect_post_in_halves(t, &queue);
        expect_messages(t, &queue, &flow, (int)(flow.sent - flow.received));
        expect_traffic(t, &queue, &flow, __builtin_popcountll(queue.posted));
}

FAMILY(srq_post_recv, while_srq, situations)
{
        expect_posts_serve(t, row);
}

FAMILY(srq_post_recv, while_mark, mark_situations)
{
        expect_posts_serve(t, row);
}

CASE(srq_post_recv, disconnect_pending_takes)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        flow_pend(t, &queue, &flow);
        expect_posts(t, &queue, 2);
        flow_send(&flow, 2);

        expect_messages(t, &queue, &flow, 2);
        must_that(ep_state(t, flow.ep) == DAT_EP_STATE_DISCONNECT_PENDING,
                  "the EP left Disconnect Pending before its messages came");
}
