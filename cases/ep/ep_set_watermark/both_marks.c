/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: both watermarks and their replacement. */
#include "case/ep_attr.h"
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/high_marks.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/ia/shared/instance.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

/* A hard mark may have an asynchronous event of its own, besides the broken connection (EP-55). */
static void expect_no_event_but_of_hard(struct test *t)
{
        if (drain_async_event(t))
                note(t, "an asynchronous event came of the hard mark (EP-55)");
        expect_quiet(async_evd(t));
}

/*
 * Two marks
 */

CASE(ep_set_watermark, soft_breaks_nothing)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 3);
        expect_async_event(stage.flow.ep);

        expect_quiet(stage.connect_evd);
        expect_eq(ep_state(t, stage.flow.ep), DAT_EP_STATE_CONNECTED);
}

CASE(ep_set_watermark, hard_raises_no_async)
{
        struct stage stage = stage_marked(t, INFINITE, 0);

        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);

        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, both_exceeded)
{
        struct stage stage = stage_marked(t, 0, 0);

        flow_send(&stage.flow, 1);

        expect_async_event(stage.flow.ep);
        expect_broken(t, &stage);
}

CASE(ep_set_watermark, both_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, 2, 2);

        expect_async_event(stage.flow.ep);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, soft_then_hard)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 2, 4);

        flow_send(&stage.flow, 3);
        expect_async_event(stage.flow.ep);
        flow_send(&stage.flow, 1);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

CASE(ep_set_watermark, hard_then_soft)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 4, 2);

        flow_send(&stage.flow, 2);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_no_event_but_of_hard(t);
}

/*
 * Messages and requests of each kind
 */

/* A message of no bytes takes a receive as any other one. */
FAMILY(ep_set_watermark, exceeded_by_empty, high_marks)
{
        struct stage stage = stage_marked(t, row->soft, row->hard);

        peer_send(stage.flow.end, .empty = true);

        expect_high_mark_exceeded(t, stage.flow.ep, row);
}

/* What an EP without a receive EVD takes cannot be reaped; the first message is above 0. */
FAMILY(ep_set_watermark, without_recv_evd, high_marks)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};

        queue_post(t, &stage.queue, POSTS);
        stage.flow = flow_unreported(t, &stage.queue);
        stage.connect_evd = ep_connect_evd(t, stage.flow.ep);
        expect_set(t, stage.flow.ep, row->soft, row->hard);
        flow_send(&stage.flow, 1);

        expect_high_mark_exceeded(t, stage.flow.ep, row);
}

/* Sends that are unreaped on the EVD of both streams, and RDMA writes of the other end. */
FAMILY(ep_set_watermark, requests_not_counted, high_marks)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};

        queue_post(t, &stage.queue, POSTS);
        stage.flow = flow_with_sends(t, &stage.queue, 3);
        stage.connect_evd = ep_connect_evd(t, stage.flow.ep);
        stage.ahead = held_ahead(t, &stage);
        expect_set(t, stage.flow.ep, row->soft, row->hard);
        flow_is_written_to(t, &stage.flow);
        expect_no_event(t, &stage);

        flow_send(&stage.flow, 1);
        expect_high_mark_exceeded(t, stage.flow.ep, row);
}

/* The CNO of the EVD that the mark's event comes to is triggered. */
FAMILY(ep_set_watermark, triggers_cno, high_marks)
{
        struct stage stage = ep_set_watermark_stage_set(t);
        DAT_EVD_HANDLE evd = row->soft == 0 ? async_evd(t) : stage.connect_evd;
        DAT_CNO_HANDLE cno = cno_new(t);
        struct waiter *waiter;
        struct woken woken;

        must(dat_evd_modify_cno(evd, cno));
        waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        must_wait(waiter);
        expect_set(t, stage.flow.ep, row->soft, row->hard);
        flow_send(&stage.flow, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
        expect_high_mark_exceeded(t, stage.flow.ep, row);
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

/* A mark of the EP's attributes, which the first message exceeds, is replaced in time. */
CASE(ep_set_watermark, replaces_attribute)
{
        struct queue queue = queue_with(t, POSTS);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        struct stage stage = {.queue = queue};
        DAT_EP_HANDLE ep;

        attr.srq_soft_hw = 0;
        ep = ep_with(t, .srq = queue.srq, .attr = &attr);
        expect_set(t, ep, INFINITE, INFINITE);
        stage.flow = (struct flow){
            .ep = ep,
            .evd = ep_recv_evd(t, ep),
            .end = peer_connect(peer(t), ep),
            .length = MESSAGE,
        };
        stage.connect_evd = ep_connect_evd(t, ep);
        queue_post(t, &stage.queue, POSTS);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

CASE(ep_set_watermark, ep_of_other_ia)
{
        struct queue queue = queue_of_other_ia(t, POSTS);
        struct flow flow = flow_of_other_ia(t, &queue);
        struct woken woken;

        queue_post(t, &queue, POSTS);
        expect_set(t, flow.ep, 0, INFINITE);
        flow_send(&flow, 1);

        woken = expect_awake(wait_on_evd(t, async_told(t, other_ia(t)), DAT_TIMEOUT_INFINITE, 1));
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, flow.ep);
        expect_quiet(async_evd(t));
}

/* One message exceeds the EP's mark and leaves too few receives on the SRQ. */
CASE(ep_set_watermark, soft_with_low_mark)
{
        struct stage stage = stage_marked(t, 0, INFINITE);
        DAT_EVENT events[2];
        bool srq_first;

        expect_no_event(t, &stage);
        must(dat_srq_set_lw(stage.queue.srq, POSTS));
        if (drain_async_event(t))
                end_noted(t, "the SRQ has fewer receives than were posted (SRQ-31)");
        flow_send(&stage.flow, 1);
        for (int i = 0; i < 2; i++) {
                DAT_COUNT more;

                expect(dat_evd_wait(async_evd(t), event_timeout(t), 1, &events[i], &more),
                       DAT_SUCCESS);
        }

        srq_first = events[0].event_data.asynch_error_event_data.dat_handle == stage.queue.srq;
        expect_async_about(&events[!srq_first], stage.queue.srq);
        expect_async_about(&events[srq_first], stage.flow.ep);
        expect_quiet(async_evd(t));
}

/*
 * Marks that are replaced before they were exceeded, and infinite ones
 */

static const struct replacement {
        const char *id;
        struct pair first;
        struct pair second;
} to_higher[] = {
    {"soft", {0, INFINITE}, {MANY, INFINITE}},
    {"hard", {INFINITE, 0}, {INFINITE, MANY}},
    {"soft_infinite", {0, INFINITE}, {INFINITE, INFINITE}},
    {"hard_infinite", {INFINITE, 0}, {INFINITE, INFINITE}},
};

static struct stage stage_replaced(struct test *t, const struct replacement *row)
{
        struct stage stage = stage_marked(t, row->first.soft, row->first.hard);

        expect_set(t, stage.flow.ep, row->second.soft, row->second.hard);
        return stage;
}

FAMILY(ep_set_watermark, raised, to_higher)
{
        struct stage stage = stage_replaced(t, row);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

static const struct replacement to_two[] = {
    {"soft", {0, INFINITE}, {2, INFINITE}},
    {"hard", {INFINITE, 0}, {INFINITE, 2}},
    {"soft_from_infinite", {INFINITE, INFINITE}, {2, INFINITE}},
    {"hard_from_infinite", {INFINITE, INFINITE}, {INFINITE, 2}},
};

FAMILY(ep_set_watermark, raised_armed, to_two)
{
        require_unreaped_counted(t);

        struct stage stage = stage_replaced(t, row);

        flow_deliver(t, &stage.flow, 2);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        if (row->second.soft == 2)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

static const struct replacement to_lower[] = {
    {"soft", {MANY, INFINITE}, {0, INFINITE}},
    {"soft_infinite", {INFINITE, INFINITE}, {0, INFINITE}},
    {"soft_with_hard_changed", {0, INFINITE}, {0, MANY}},
    {"hard", {INFINITE, MANY}, {INFINITE, 0}},
    {"hard_infinite", {INFINITE, INFINITE}, {INFINITE, 0}},
    {"hard_with_soft_changed", {INFINITE, 0}, {MANY, 0}},
};

FAMILY(ep_set_watermark, lowered, to_lower)
{
        struct stage stage = stage_replaced(t, row);

        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        if (row->second.soft == 0)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

CASE(ep_set_watermark, infinite)
{
        struct stage stage = stage_marked(t, INFINITE, INFINITE);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

CASE(ep_set_watermark, infinite_at_first)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

/* The thread waits before the call, by which the mark is exceeded. */
FAMILY(ep_set_watermark, already_above_wakes, high_marks)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);
        DAT_EVD_HANDLE evd = row->soft == 0 ? async_evd(t) : stage.connect_evd;
        struct waiter *waiter;
        struct woken woken;

        flow_deliver(t, &stage.flow, 3);
        waiter = wait_on_evd(t, evd, 4 * event_timeout(t), 1);
        must_wait(waiter);
        expect_set(t, stage.flow.ep, row->soft, row->hard);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        if (row->soft == 0)
                expect_async_about(&woken.event, stage.flow.ep);
        else
                expect_eq(woken.event.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

/* A mark of the size that the SRQ had is exceeded by the receives that it took since. */
FAMILY(ep_set_watermark, on_grown_srq, high_marks)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);
        DAT_COUNT size = srq_size(t, stage.queue.srq);
        DAT_COUNT mark = size < SLOTS - 1 ? size : SLOTS - 1;

        must(dat_srq_resize(stage.queue.srq, srq_size_above(t, stage.queue.srq, 1)));
        if (srq_size(t, stage.queue.srq) <= mark)
                end_noted(t, "the SRQ grows no further than %d receives", mark);
        queue_post(t, &stage.queue, mark + 1 - POSTS);
        expect_set(t, stage.flow.ep, row->soft == 0 ? mark : INFINITE,
                   row->hard == 0 ? mark : INFINITE);

        flow_deliver(t, &stage.flow, mark);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_high_mark_exceeded(t, stage.flow.ep, row);
}

/*
 * Calls about the SRQ, the EP and another EP of the SRQ, granted and refused, that set no mark of
 * this EP and take no receive.
 */
static void call_around(struct test *t, const struct stage *stage)
{
        struct flow other = {.ep = ep_with(t, .srq = stage->queue.srq)};
        DAT_EP_PARAM param;

        other.evd = ep_recv_evd(t, other.ep);
        for (int turn = 0; turn < CALM_TURNS; turn++)
                calm_turn(t, &stage->queue, &other, turn);
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, &stage->queue, &stage->flow, turn);
        must(dat_ep_query(stage->flow.ep, DAT_EP_FIELD_ALL, &param));
        must(dat_srq_resize(stage->queue.srq, srq_size_above(t, stage->queue.srq, 1)));
        (void)srq_param(t, stage->queue.srq);
}

FAMILY(ep_set_watermark, armed_through, high_marks)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        expect_set(t, stage.flow.ep, row->soft, row->hard);
        call_around(t, &stage);
        expect_no_event(t, &stage);

        flow_send(&stage.flow, 1);
        expect_high_mark_exceeded(t, stage.flow.ep, row);
}

/* The receive that exceeded the mark is at the EP still. */
CASE(ep_set_watermark, soft_spent_through)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        expect_set(t, stage.flow.ep, 0, INFINITE);
        flow_deliver(t, &stage.flow, 1);
        expect_async_event(stage.flow.ep);
        call_around(t, &stage);
        expect_quiet(async_evd(t));

        flow_deliver(t, &stage.flow, 2);
        expect_messages_all(t, &stage);
        expect_quiet(async_evd(t));
}
