/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: when a mark's event comes and when it does not, once per setting. */
#include "clauses/srq_set_lw.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>

#define MANY       50 /* repetitions */
#define ROUNDS     10 /* of traffic */
#define ASYNC_MOST 64 /* events that stand on the async EVD */

/*
 * Setting
 */

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
                must(dat_srq_set_lw(queue.srq, mark));
                expect_eq(srq_param(t, queue.srq).low_watermark, mark);
        }
}

/* Each mark up to 8, falling and rising, is granted and told, whatever event it raises. */
static void expect_marks_granted(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_EVENT event;

        for (DAT_COUNT i = -8; i <= 8; i++) {
                DAT_COUNT mark = i < 0 ? -i : i;

                expect(dat_srq_set_lw(srq, mark), DAT_SUCCESS);
                expect_eq(srq_param(t, srq).low_watermark, mark);
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
    {"connected", join_ep},
    {"unreaped", leave_unreaped},
    {"reaped", reap},
    {"disconnected", disconnect},
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

/*
 * The event during the call, and its boundary
 */

static const struct shortage {
        const char *id;
        int posts;
        DAT_COUNT mark;
} shortages[] = {
    {"none_of_one", 0, 1}, {"one_of_three", 1, 3}, {"one_too_few", 3, 4},
    {"none_of_all", 0, 8}, {"all_but_one", 7, 8},
};

FAMILY(srq_set_lw, event_at_once, shortages)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, row->mark));

        expect_async_event(queue.srq);
}

FAMILY(srq_set_lw, event_at_once_only_once, shortages)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, row->mark));
        drain_async_event(t);

        expect_quiet(async_evd(t));
}

static const struct shortage at_mark[] = {
    {"one", 1, 1},
    {"several", 4, 4},
    {"full_queue", 8, 8},
};

FAMILY(srq_set_lw, no_event_at_mark, at_mark)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, row->mark));

        expect_quiet(async_evd(t));
}

static const struct shortage above_mark[] = {
    {"by_one", 4, 3},
    {"by_far", 8, 1},
};

FAMILY(srq_set_lw, no_event_above_mark, above_mark)
{
        queue_armed(t, row->posts, row->mark);

        expect_quiet(async_evd(t));
}

/*
 * The event when an EP takes a receive
 */

static const struct fall {
        const char *id;
        int posts;
        DAT_COUNT mark;
} falls[] = {
    {"from_mark", 4, 4},   {"from_above", 6, 4}, {"two", 2, 2},
    {"all_but_one", 7, 7}, {"last_taken", 2, 1}, {"full_queue", 8, 8},
};

FAMILY(srq_set_lw, event_below_mark, falls)
{
        struct armed armed = armed_with(t, row->posts, row->mark);

        flow_deliver(t, &armed.flow, row->posts - row->mark + 1);

        expect_mark_event(t, &armed);
}

static const struct fall falls_to_mark[] = {
    {"by_one", 5, 4},
    {"by_several", 7, 4},
    {"to_last", 3, 1},
};

FAMILY(srq_set_lw, no_event_down_to_mark, falls_to_mark)
{
        struct armed armed = armed_with(t, row->posts, row->mark);

        flow_deliver(t, &armed.flow, row->posts - row->mark);

        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, event_while_waiting)
{
        struct armed armed = armed_with(t, 4, 4);
        struct waiter *waiter;
        struct woken woken;

        if (armed.raised)
                return;
        waiter = wait_on_evd(t, async_evd(t), DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        flow_send(&armed.flow, 1);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, armed.queue.srq);
}

CASE(srq_set_lw, event_when_taken)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_deliver(t, &armed.flow, 1);

        expect_mark_event(t, &armed);
        expect_messages(t, &armed.queue, &armed.flow, 1);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, no_event_when_reaped)
{
        struct armed armed = armed_with(t, 6, 4);

        flow_deliver(t, &armed.flow, 2);
        expect_messages(t, &armed.queue, &armed.flow, 2);

        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, unreaped_do_not_count)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        must(dat_srq_set_lw(queue.srq, 3));

        expect_async_event(queue.srq);
}

CASE(srq_set_lw, event_by_several_eps)
{
        struct armed armed = armed_with(t, 5, 4);
        struct flow other = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_deliver(t, &armed.flow, 1);
        expect_quiet(async_evd(t));

        flow_deliver(t, &other, 1);
        expect_mark_event(t, &armed);
}

CASE(srq_set_lw, event_on_async_evd_alone)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_deliver(t, &armed.flow, 1);
        expect_messages(t, &armed.queue, &armed.flow, 1);

        expect_mark_event(t, &armed);
        expect_quiet(armed.flow.evd);
        expect_quiet(ep_connect_evd(t, armed.flow.ep));
}

CASE(srq_set_lw, event_keeps_connection)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_send(&armed.flow, 1);
        expect_mark_event(t, &armed);

        flow_send(&armed.flow, 3);
        expect_messages(t, &armed.queue, &armed.flow, 4);
        queue_post(t, &armed.queue, 4);
        expect_traffic(t, &armed.queue, &armed.flow, 4);
}

/*
 * What is not a receive taken from this SRQ
 */

CASE(srq_set_lw, no_event_by_posting)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        queue_post(t, &queue, 4);

        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, no_event_by_other_srq)
{
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &other, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        queue_post(t, &other, 4);
        expect_traffic(t, &other, &flow, 4);

        expect_quiet(async_evd(t));
}

/* Which of several SRQs, in the order of their making, has its receive taken first. */
static const struct chosen {
        const char *id;
        int index;
} chosen[] = {
    {"first", 0},
    {"middle", 1},
    {"last", 2},
};

FAMILY(srq_set_lw, event_of_the_srq, chosen)
{
        struct armed armed[3];

        for (int i = 0; i < 3; i++)
                armed[i] = armed_with(t, 4, 4);

        for (int i = 0; i < 3; i++) {
                struct armed *one = &armed[(row->index + i) % 3];

                flow_deliver(t, &one->flow, 1);
                expect_mark_event(t, one);
                expect_quiet(async_evd(t));
        }
}

CASE(srq_set_lw, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_SRQ_HANDLE srq = srq_with(t, .ia = other, .pz = pz_of(t, other), .max_recv_dtos = 8);
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        struct woken woken;

        must(dat_ia_query(other, &evd, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_NONE, NULL));

        expect(dat_srq_set_lw(srq, 4), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, 4);
        woken = expect_awake(wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1));
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, srq);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, no_event_by_plain_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        ep_with(t, .srq = queue.srq, .recv_evd = evd);
        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        peer_send(end, .count = 4, .length = MESSAGE);
        for (int i = 0; i < 4; i++)
                must_dto(evd);

        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, no_event_by_disconnect)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_break(t, &armed.flow);
        expect_quiet(async_evd(t));

        struct flow flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_send(&flow, 1);
        expect_mark_event(t, &armed);
}

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

CASE(srq_set_lw, once_after_event_at_once)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        must(dat_srq_set_lw(queue.srq, 4));
        expect_async_event(queue.srq);

        flow_deliver(t, &flow, 3);
        expect_quiet(async_evd(t));
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
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, higher_mark_replaces)
{
        struct armed armed = armed_with(t, 6, 3);

        arm_mark(t, &armed, 5);
        flow_deliver(t, &armed.flow, 2);
        expect_mark_event(t, &armed);

        flow_deliver(t, &armed.flow, 4);
        expect_quiet(async_evd(t));
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

/*
 * The default mark
 */

CASE(srq_set_lw, default_mark)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, DAT_SRQ_LW_DEFAULT);
}

CASE(srq_set_lw, default_mark_raises_nothing)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(dat_srq_set_lw(queue.srq, DAT_SRQ_LW_DEFAULT));
        expect_quiet(async_evd(t));

        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, default_mark_disarms)
{
        struct armed armed = armed_with(t, 4, 4);

        must(dat_srq_set_lw(armed.queue.srq, DAT_SRQ_LW_DEFAULT));
        drain_async_event(t);
        flow_deliver(t, &armed.flow, 4);

        expect_quiet(async_evd(t));
}

/*
 * The size, and beyond
 */

CASE(srq_set_lw, at_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT size = srq_size(t, srq);

        expect(dat_srq_set_lw(srq, size), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, size);
}

CASE(srq_set_lw, at_grown_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_resize(srq, srq_size_above(t, srq, 8)));

        expect(dat_srq_set_lw(srq, srq_size(t, srq)), DAT_SUCCESS);
}

CASE(srq_set_lw, above_shrunk_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        must(dat_srq_resize(srq, 8));

        expect(dat_srq_set_lw(srq, srq_size(t, srq) + 1), DAT_INVALID_PARAMETER);
}

static const struct mark {
        const char *id;
        DAT_COUNT mark; /* 0: one above the size */
} too_high[] = {
    {"by_one", 0},
    {"greatest", INT_MAX},
};

static DAT_COUNT too_high_for(struct test *t, DAT_SRQ_HANDLE srq, const struct mark *row)
{
        return row->mark ? row->mark : srq_size(t, srq) + 1;
}

FAMILY(srq_set_lw, above_size, too_high)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, too_high_for(t, srq, row)), DAT_INVALID_PARAMETER);
}

/* One above the size, and at ever greater distances from it. */
CASE(srq_set_lw, above_size_by_any)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        queue_post(t, &queue, 8);
        for (DAT_COUNT by = 1; by < INT_MAX - size - by; by *= 2)
                expect(dat_srq_set_lw(queue.srq, size + by), DAT_INVALID_PARAMETER);
}

FAMILY(srq_set_lw, above_size_raises_nothing, too_high)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        (void)dat_srq_set_lw(srq, too_high_for(t, srq, row));

        expect_quiet(async_evd(t));
}

FAMILY(srq_set_lw, above_size_keeps_mark, too_high)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));

        expect_eq(srq_param(t, queue.srq).low_watermark, 4);
}

FAMILY(srq_set_lw, above_size_keeps_parameters, too_high)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 5);
        must(dat_srq_set_lw(queue.srq, 5));
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));

        expect_kept(t, queue.srq, &before);
        expect_room(t, &queue, before.max_recv_dtos - 5);
}

FAMILY(srq_set_lw, above_size_keeps_buffers, too_high)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 2);
        (void)dat_srq_set_lw(queue.srq, too_high_for(t, queue.srq, row));

        expect_messages(t, &queue, &flow, 2);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

FAMILY(srq_set_lw, above_size_keeps_armed, too_high)
{
        struct armed armed = armed_with(t, 4, 4);

        (void)dat_srq_set_lw(armed.queue.srq, too_high_for(t, armed.queue.srq, row));
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, above_size_keeps_spent)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(srq, 4));
        drain_async_event(t);
        (void)dat_srq_set_lw(srq, srq_size(t, srq) + 1);

        expect_quiet(async_evd(t));
}

static const struct mark negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(srq_set_lw, negative, negative)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect_or_note(dat_srq_set_lw(srq, row->mark), DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_quiet(async_evd(t));
}

/*
 * What a granted mark leaves as it was
 */

CASE(srq_set_lw, keeps_buffers)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 6));
        must(dat_srq_set_lw(queue.srq, 2));

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_set_lw, keeps_completions)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        must(dat_srq_set_lw(queue.srq, 2));

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

CASE(srq_set_lw, keeps_size)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        must(dat_srq_set_lw(queue.srq, 4));

        expect_eq(srq_size(t, queue.srq), size);
        expect_room(t, &queue, size);
}

CASE(srq_set_lw, keeps_counts)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 2);
        must(dat_srq_set_lw(queue.srq, 4));

        DAT_SRQ_PARAM param = srq_param(t, queue.srq);
        expect_available(t, param.available_dto_count, &flow, 1, 3);
        expect_count(t, param.outstanding_dto_count, 5);
}

CASE(srq_set_lw, keeps_other_srq)
{
        DAT_SRQ_HANDLE other = srq_with(t, .max_recv_dtos = 8);
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        must(dat_srq_set_lw(other, 2));
        drain_async_event(t);
        must(dat_srq_set_lw(srq, 4));

        expect_async_event(srq);
        expect_quiet(async_evd(t));
        expect_eq(srq_param(t, other).low_watermark, 2);
}

/* The SRQ's own event may come besides, for a mark below what is posted (SRQ-3). */
static void expect_async_event_besides(struct test *t, DAT_EP_HANDLE ep, DAT_SRQ_HANDLE srq)
{
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++) {
                expect(dat_evd_wait(async_evd(t), event_timeout(t), 1, &event, &more), DAT_SUCCESS);
                if (event.event_data.asynch_error_event_data.dat_handle != srq)
                        break;
        }
        expect_async_about(&event, ep);
}

CASE(srq_set_lw, keeps_ep_marks)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        queue_post(t, &queue, 8);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        must(dat_ep_set_watermark(flow.ep, 0, DAT_WATERMARK_INFINITE));

        expect(dat_srq_set_lw(queue.srq, 1), DAT_SUCCESS);
        flow_send(&flow, 1);
        expect_async_event_besides(t, flow.ep, queue.srq);
        expect_messages(t, &queue, &flow, 1);
}

/*
 * Arguments
 */

LEGAL(srq_set_lw)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        call->srq_handle = queue.srq;
        call->low_watermark = 4;
}
