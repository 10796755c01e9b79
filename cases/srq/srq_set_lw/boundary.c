/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: at which receive the event comes. */
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

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

/* An EP that takes receives ahead of messages leaves fewer on the SRQ, and the event is right. */
FAMILY(srq_set_lw, no_event_at_mark_with_ep, at_mark)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT left;
        bool came;

        (void)flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, row->mark));
        came = drain_async_event(t);
        left = srq_param(t, queue.srq).available_dto_count;

        if (came && left == DAT_VALUE_UNKNOWN)
                note(t, "an event came, and how many receives are available is not told");
        expect_that(!came || left == DAT_VALUE_UNKNOWN || left < row->mark,
                    "an event came with %d receives at a mark of %d", left, row->mark);
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

CASE(srq_set_lw, event_at_once_while_waiting)
{
        struct queue queue = queue_with(t, 8);
        struct waiter *waiter = wait_on_evd(t, async_evd(t), DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        expect(dat_srq_set_lw(queue.srq, 1), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, queue.srq);
        expect_quiet(async_evd(t));
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

/* The provider has counted them for its queries before. */
CASE(srq_set_lw, unreaped_queried_do_not_count)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT count;
        DAT_COUNT span;

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        srq_param(t, queue.srq);
        (void)dat_ep_recv_query(flow.ep, &count, &span);
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

/* Whichever way the EP was connected. */
CASE(srq_set_lw, event_by_each_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct armed armed = {.queue = queue_with(t, 8)};

                armed.flow = flow_by(t, &armed.queue, route);
                queue_post(t, &armed.queue, 4);
                arm_mark(t, &armed, 4);
                flow_deliver(t, &armed.flow, 1);
                expect_mark_event(t, &armed);
                expect_quiet(async_evd(t));
        }
}

/* No completion reports the receives of the EP, which leave the SRQ nevertheless. */
CASE(srq_set_lw, event_without_recv_evd)
{
        struct armed armed = {.queue = queue_with(t, 8)};

        armed.flow = flow_unreported(t, &armed.queue);
        queue_post(t, &armed.queue, 4);
        arm_mark(t, &armed, 4);
        flow_deliver(t, &armed.flow, 1);

        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, event_in_disconnect_pending)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_pend(t, &armed.queue, &armed.flow);
        expect_quiet(async_evd(t));
        flow_send(&armed.flow, 1);

        expect_mark_event(t, &armed);
}

/* A message that has no bytes, or more than its receive. */
static const struct odd_message {
        const char *id;
        bool empty;
} odd_messages[] = {
    {"empty", true},
    {"too_long", false},
};

FAMILY(srq_set_lw, event_by_message, odd_messages)
{
        struct armed armed = armed_with(t, 4, 4);

        peer_send(armed.flow.end, .length = row->empty ? 0 : MESSAGE + 1, .empty = row->empty);
        must_event(armed.flow.evd, DAT_DTO_COMPLETION_EVENT);

        expect_mark_event(t, &armed);
}

/* It wakes no thread that waits for receives. */
CASE(srq_set_lw, event_by_unsolicited)
{
        struct armed armed = {.queue = queue_with(t, 8)};

        armed.flow =
            flow_notifying(t, &armed.queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_HANDLE_NULL);
        queue_post(t, &armed.queue, 4);
        arm_mark(t, &armed, 4);
        flow_deliver(t, &armed.flow, 1);

        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
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
