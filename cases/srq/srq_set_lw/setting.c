/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: which marks are granted. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

#define MANY       50 /* repetitions */
#define ASYNC_MOST 64 /* events that stand on the async EVD */

CASE(srq_set_lw, set)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);

        expect(dat_srq_set_lw(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_set_lw, set_on_empty_queue)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, 4), DAT_SUCCESS);
}

CASE(srq_set_lw, set_value)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 8);
        for (DAT_COUNT mark = 8; mark >= 0; mark--) {
                DAT_COUNT low_watermark;

                must(dat_srq_set_lw(queue.srq, mark));
                low_watermark = queried_mark(t, queue.srq, mark);
                expect_eq(low_watermark, mark);
        }
}

/* Each mark up to 8, falling and rising, is granted and told, whatever event it raises. */
static void expect_marks_granted(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_EVENT event;

        for (DAT_COUNT i = -8; i <= 8; i++) {
                DAT_COUNT mark = i < 0 ? -i : i;
                DAT_COUNT low_watermark;

                expect(dat_srq_set_lw(srq, mark), DAT_SUCCESS);
                low_watermark = queried_mark(t, srq, mark);
                expect_eq(low_watermark, mark);
        }
        for (int i = 0; i < ASYNC_MOST; i++)
                if (!dat_is(dat_evd_dequeue(async_evd(t), &event), DAT_SUCCESS))
                        break;
}

static void post_some(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        queue_post(t, queue, 4);
}

static void post_all(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        queue_post(t, queue, 8);
}

static void grow(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
}

static void shrink(struct test *t, struct queue *queue, struct flow *flow)
{
        grow(t, queue, flow);
        must(dat_srq_resize(queue->srq, 8));
}

static void spend(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_set_lw(queue->srq, 8));
        drain_async_event(t);
}

static void refuse(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_set_lw(queue->srq, srq_size(t, queue->srq) + 1 + i);
}

static void refuse_resize(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        queue_post(t, queue, 4);
        (void)dat_srq_resize(queue->srq, 2);
}

static void join_ep(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 4);
        *flow = flow_open(t, queue, DAT_HANDLE_NULL);
}

static void leave_unreaped(struct test *t, struct queue *queue, struct flow *flow)
{
        join_ep(t, queue, flow);
        flow_deliver(t, flow, 3);
}

static void reap(struct test *t, struct queue *queue, struct flow *flow)
{
        leave_unreaped(t, queue, flow);
        expect_messages(t, queue, flow, 3);
}

static void disconnect(struct test *t, struct queue *queue, struct flow *flow)
{
        leave_unreaped(t, queue, flow);
        flow_break(t, flow);
}

static void call_calmly(struct test *t, struct queue *queue, struct flow *flow)
{
        join_ep(t, queue, flow);
        for (int turn = 0; turn < CALM_TURNS; turn++)
                calm_turn(t, queue, flow, turn);
}

/* What an SRQ has been through when it is given marks. */
struct situation {
        const char *id;
        void (*bring)(struct test *t, struct queue *queue, struct flow *flow);
};

static const struct situation situations[] = {
    {"some_posted", post_some},
    {"full", post_all},
    {"grown", grow},
    {"shrunk", shrink},
    {"spent", spend},
    {"mark_refused", refuse},
    {"resize_refused", refuse_resize},
};

static const struct situation connected_situations[] = {
    {"connected", join_ep},       {"unreaped", leave_unreaped},   {"reaped", reap},
    {"disconnected", disconnect}, {"calls_granted", call_calmly},
};

FAMILY(srq_set_lw, granted_when, situations)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        row->bring(t, &queue, &flow);

        expect_marks_granted(t, queue.srq);
}

FAMILY(srq_set_lw, granted_while, connected_situations)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        row->bring(t, &queue, &flow);

        expect_marks_granted(t, queue.srq);
}

/* Whichever way the EP came into its state. */
FAMILY(srq_set_lw, while_ep, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = srq);
                DAT_EP_STATE before = ep_state(t, ep);

                expect(dat_srq_set_lw(srq, 4), DAT_SUCCESS);
                expect_eq(srq_param(t, srq).low_watermark, 4);
                expect_async_event(srq);
                expect_ep_state_kept(t, ep, before);
        }
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, value_after_event)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(srq, 4));
        drain_async_event(t);

        expect_eq(srq_param(t, srq).low_watermark, 4);
}

CASE(srq_set_lw, as_declared)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_RETURN ret = dat_srq_set_lw(srq, 4);

        if (provider_attr(t)->srq_watermarks_supported)
                expect(ret, DAT_SUCCESS);
        else
                expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED, DAT_SUCCESS);
}
