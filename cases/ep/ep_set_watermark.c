/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_set_watermark: when an EP of an SRQ raises its soft mark's event, when its hard mark
 * breaks the connection, and when neither may be. A mark of 0 is exceeded by the first message,
 * whatever a provider counts; other marks are exceeded by receives that stand unreaped (EP-43).
 */
#include "clauses/ep_set_watermark.h"
#include "../srq/queue.h"
#include "endpoint.h"

#include <limits.h>

#define INFINITE DAT_WATERMARK_INFINITE
#define POSTS    8
#define MANY     6 /* messages that exceed any mark but an infinite one */

/* An SRQ with receives, and a connected EP that takes them. */
struct stage {
        struct queue queue;
        struct flow flow;
        DAT_EVD_HANDLE connect_evd;
};

/* An EP that takes receives ahead of messages has them above a mark by itself (EP-43). */
static struct stage stage_set(struct test *t)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};
        DAT_COUNT ahead;

        queue_post(t, &stage.queue, POSTS);
        stage.flow = flow_open(t, &stage.queue, DAT_HANDLE_NULL);
        stage.connect_evd = ep_connect_evd(t, stage.flow.ep);
        ahead = taken_ahead(t, &stage.flow, 1);
        if (ahead > 0)
                end_noted(t,
                          "the EP took %d receives before any message came, and marks count them"
                          " (EP-43)",
                          ahead);
        return stage;
}

static struct stage stage_marked(struct test *t, DAT_COUNT soft, DAT_COUNT hard)
{
        struct stage stage = stage_set(t);

        must(dat_ep_set_watermark(stage.flow.ep, soft, hard));
        return stage;
}

/*
 * The provider counts receives whose completions stand unreaped, as an EP of another SRQ shows;
 * where it does not, what the case asks for cannot be seen (EP-43).
 */
static void require_unreaped_counted(struct test *t)
{
        struct stage stage = stage_marked(t, 1, INFINITE);

        flow_deliver(t, &stage.flow, 2);
        if (!drain_async_event(t))
                end_noted(t, "no event with 2 receives unreaped above a mark of 1 (EP-43)");
}

/* No event is there, neither of the soft mark nor of the hard one. */
static void expect_no_event(struct test *t, const struct stage *stage)
{
        expect_quiet(async_evd(t));
        expect_quiet(stage->connect_evd);
}

static void expect_messages_all(struct test *t, struct stage *stage)
{
        expect_messages(t, &stage->queue, &stage->flow,
                        (int)(stage->flow.sent - stage->flow.received));
}

static void expect_broken(struct test *t, const struct stage *stage)
{
        expect_event(stage->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, stage->flow.ep), DAT_EP_STATE_DISCONNECTED);
}

/*
 * The soft mark
 */

CASE(ep_set_watermark, soft_exceeded)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);

        expect_async_event(stage.flow.ep);
}

static const struct mark {
        const char *id;
        DAT_COUNT mark;
        int messages;
} kept[] = {
    {"below", 3, 2},
    {"at", 3, 3},
};

FAMILY(ep_set_watermark, soft_kept, kept)
{
        struct stage stage = stage_marked(t, row->mark, INFINITE);

        flow_deliver(t, &stage.flow, row->messages);

        expect_quiet(async_evd(t));
}

static const struct mark exceeded[] = {
    {"by_third", 2, 3},
    {"by_fourth", 3, 4},
    {"by_sixth", 5, 6},
};

FAMILY(ep_set_watermark, soft_exceeded_unreaped, exceeded)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, row->mark, INFINITE);

        flow_deliver(t, &stage.flow, row->messages - 1);
        expect_quiet(async_evd(t));
        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, reaped_not_counted)
{
        struct stage stage = stage_marked(t, 2, 2);

        for (int i = 0; i < MANY; i++) {
                flow_send(&stage.flow, 1);
                expect_messages_all(t, &stage);
        }

        expect_no_event(t, &stage);
}

CASE(ep_set_watermark, own_receives_only)
{
        struct stage stage = stage_marked(t, 0, 0);
        struct flow other = flow_open(t, &stage.queue, DAT_HANDLE_NULL);

        expect_traffic(t, &stage.queue, &other, 3);

        expect_no_event(t, &stage);
}

CASE(ep_set_watermark, soft_keeps_messages)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, MANY);
        expect_async_event(stage.flow.ep);

        expect_messages_all(t, &stage);
        expect_quiet(stage.flow.evd);
}

/*
 * Once per setting
 */

CASE(ep_set_watermark, soft_once)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);

        flow_send(&stage.flow, 3);
        expect_messages_all(t, &stage);
        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, soft_once_though_reaped)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
        expect_messages_all(t, &stage);

        flow_send(&stage.flow, 1);
        expect_messages_all(t, &stage);
        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, soft_again)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        must_that(drain_async_event(t), "the first setting raised no event");
        expect_messages_all(t, &stage);
        must(dat_ep_set_watermark(stage.flow.ep, 0, INFINITE));
        expect_quiet(async_evd(t));

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, soft_again_above)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_deliver(t, &stage.flow, 2);
        must_that(drain_async_event(t), "the first setting raised no event");
        must(dat_ep_set_watermark(stage.flow.ep, 0, INFINITE));

        expect_async_event(stage.flow.ep);
        expect_quiet(async_evd(t));
}

/*
 * A mark that is set with receives at the EP
 */

CASE(ep_set_watermark, soft_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        must(dat_ep_set_watermark(stage.flow.ep, 2, INFINITE));

        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, soft_already_at)
{
        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        must(dat_ep_set_watermark(stage.flow.ep, 3, INFINITE));

        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, hard_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        must(dat_ep_set_watermark(stage.flow.ep, INFINITE, 2));

        expect_broken(t, &stage);
}

CASE(ep_set_watermark, hard_already_at)
{
        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        must(dat_ep_set_watermark(stage.flow.ep, INFINITE, 3));

        expect_quiet(stage.connect_evd);
        expect_messages_all(t, &stage);
}

/*
 * The hard mark
 */

CASE(ep_set_watermark, hard_exceeded)
{
        struct stage stage = stage_marked(t, INFINITE, 0);

        flow_send(&stage.flow, 1);

        expect_broken(t, &stage);
}

FAMILY(ep_set_watermark, hard_kept, kept)
{
        struct stage stage = stage_marked(t, INFINITE, row->mark);

        flow_send(&stage.flow, row->messages);
        expect_quiet(stage.connect_evd);

        expect_messages_all(t, &stage);
        flow_send(&stage.flow, 1);
        expect_messages_all(t, &stage);
}

FAMILY(ep_set_watermark, hard_exceeded_unreaped, exceeded)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, INFINITE, row->mark);

        flow_send(&stage.flow, row->messages - 1);
        expect_quiet(stage.connect_evd);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
}

CASE(ep_set_watermark, hard_keeps_messages)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, INFINITE, 3);

        flow_deliver(t, &stage.flow, 3);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);

        expect_messages(t, &stage.queue, &stage.flow, 3);
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

        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, both_exceeded)
{
        struct stage stage = stage_marked(t, 0, 0);

        flow_send(&stage.flow, 1);

        expect_async_event(stage.flow.ep);
        expect_broken(t, &stage);
}

CASE(ep_set_watermark, soft_then_hard)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 2, 4);

        flow_deliver(t, &stage.flow, 3);
        expect_async_event(stage.flow.ep);
        flow_deliver(t, &stage.flow, 1);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, hard_then_soft)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 4, 2);

        flow_deliver(t, &stage.flow, 2);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        expect_quiet(async_evd(t));
}

/*
 * Marks that are replaced before they were exceeded, and infinite ones
 */

struct pair {
        DAT_COUNT soft;
        DAT_COUNT hard;
};

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

        must(dat_ep_set_watermark(stage.flow.ep, row->second.soft, row->second.hard));
        return stage;
}

FAMILY(ep_set_watermark, raised, to_higher)
{
        struct stage stage = stage_replaced(t, row);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
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
        struct stage stage = stage_set(t);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

/*
 * States
 */

FAMILY(ep_set_watermark, in_state, ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = srq);
        DAT_EP_STATE before = ep_state(t, ep);

        /* The Provider's own EP has no SRQ (EP-44). */
        if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                expect(dat_ep_set_watermark(ep, 4, 4), DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
        else
                expect(dat_ep_set_watermark(ep, 4, 4), DAT_SUCCESS);
        expect_ep_state_kept(t, ep, before);
        expect_quiet(async_evd(t));
}

static const struct ep_state_row before_connection[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
};

/* Marks that are set before the EP is connected; its connection is what follows. */
static struct stage stage_marked_in(struct test *t, DAT_EP_STATE state, struct pair marks)
{
        stage_set(t);

        struct stage stage = {.queue = queue_with(t, POSTS)};
        DAT_EP_HANDLE ep = ep_in(t, state, .srq = stage.queue.srq);

        queue_post(t, &stage.queue, POSTS);
        must(dat_ep_set_watermark(ep, marks.soft, marks.hard));
        stage.connect_evd = ep_connect_evd(t, ep);
        stage.flow = (struct flow){
            .ep = ep,
            .evd = ep_recv_evd(t, ep),
            .end = must_connect(ep),
            .length = MESSAGE,
        };
        return stage;
}

FAMILY(ep_set_watermark, soft_before_connection, before_connection)
{
        struct stage stage = stage_marked_in(t, row->state, (struct pair){0, INFINITE});

        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
}

FAMILY(ep_set_watermark, hard_before_connection, before_connection)
{
        struct stage stage = stage_marked_in(t, row->state, (struct pair){INFINITE, 0});

        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
}

/*
 * Arguments, and what a provider has not
 */

static const struct argument {
        const char *id;
        struct pair marks;
} greatest[] = {
    {"soft", {INT_MAX, INFINITE}},
    {"hard", {INFINITE, INT_MAX}},
    {"soft_above_srq", {1000000, INFINITE}},
    {"hard_above_srq", {INFINITE, 1000000}},
};

FAMILY(ep_set_watermark, greatest, greatest)
{
        struct stage stage = stage_set(t);

        expect_or_note(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                       DAT_SUCCESS, DAT_INVALID_PARAMETER);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

static const struct argument negative[] = {
    {"soft_minus_two", {-2, INFINITE}},
    {"soft_least", {INT_MIN, INFINITE}},
    {"hard_minus_two", {INFINITE, -2}},
    {"hard_least", {INFINITE, INT_MIN}},
};

FAMILY(ep_set_watermark, negative, negative)
{
        struct stage stage = stage_set(t);

        expect_or_note(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                       DAT_INVALID_PARAMETER, DAT_SUCCESS);

        flow_send(&stage.flow, MANY);
        expect_no_event(t, &stage);
        expect_messages_all(t, &stage);
}

FAMILY(ep_set_watermark, refusal_keeps_marks, negative)
{
        bool bad_soft = row->marks.soft != INFINITE;
        struct stage stage = stage_marked(t, bad_soft ? 0 : INFINITE, bad_soft ? INFINITE : 0);

        if (dat_is(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                   DAT_SUCCESS)) {
                note(t, "a negative mark was granted (EP-45)");
                return;
        }
        flow_send(&stage.flow, 1);
        if (bad_soft)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

CASE(ep_set_watermark, as_declared)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        DAT_RETURN ret = dat_ep_set_watermark(ep, 4, 4);

        if (provider_attr(t)->srq_watermarks_supported)
                expect(ret, DAT_SUCCESS);
        else if (!dat_is(ret, DAT_SUCCESS))
                expect_or_note(ret, DAT_MODEL_NOT_SUPPORTED, DAT_NOT_IMPLEMENTED);
        else
                record(t, "marks are granted, though those of SRQs are declared absent");
}

CASE(ep_set_watermark, plain_ep)
{
        DAT_EP_HANDLE ep = ep_with(t);

        expect(dat_ep_set_watermark(ep, 4, 4), DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
        expect_quiet(async_evd(t));
}

LEGAL(ep_set_watermark)
{
        call->ep_handle = ep_with(t, .srq = srq_with(t));
        call->soft_high_watermark = 4;
        call->hard_high_watermark = 4;
}
