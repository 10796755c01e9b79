/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_set_watermark: when an EP of an SRQ raises its soft mark's event, when its hard mark
 * breaks the connection, and when neither may be. A mark of 0 is exceeded by the first message,
 * whatever a provider counts; other marks are exceeded by receives that stand unreaped (EP-43).
 */
#include "clauses/ep_set_watermark.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>

#define INFINITE DAT_WATERMARK_INFINITE
#define POSTS    8
#define MANY     6 /* messages that exceed any mark but an infinite one */

/* An SRQ with receives, and a connected EP that takes them. */
struct stage {
        struct queue queue;
        struct flow flow;
        DAT_EVD_HANDLE connect_evd;
        DAT_COUNT ahead; /* receives that the EP holds though no message came */
};

/*
 * Receives that an EP tells it took ahead of messages, which marks may count (EP-43). Where the SRQ
 * tells all of them as its own still, one of the two counts is false, and excuses nothing (EP-54).
 */
static DAT_COUNT held_ahead(struct test *t, const struct stage *stage)
{
        DAT_COUNT available = DAT_VALUE_UNKNOWN;
        DAT_COUNT held = 0;
        DAT_COUNT span;

        if (!provider_attr(t)->ep_recv_info_supported ||
            !dat_is(dat_ep_recv_query(stage->flow.ep, &held, &span), DAT_SUCCESS) ||
            held == DAT_VALUE_UNKNOWN)
                return 0;
        if (provider_attr(t)->srq_info_supported)
                available = srq_param(t, stage->queue.srq).available_dto_count;
        return available == DAT_VALUE_UNKNOWN || available + held == POSTS ? held : 0;
}

static struct stage stage_set(struct test *t)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};

        queue_post(t, &stage.queue, POSTS);
        stage.flow = flow_open(t, &stage.queue, DAT_HANDLE_NULL);
        stage.connect_evd = ep_connect_evd(t, stage.flow.ep);
        stage.ahead = held_ahead(t, &stage);
        return stage;
}

static void expect_set(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
        expect(dat_ep_set_watermark(ep, soft, hard), DAT_SUCCESS);
}

static struct stage stage_marked(struct test *t, DAT_COUNT soft, DAT_COUNT hard)
{
        struct stage stage = stage_set(t);

        expect_set(t, stage.flow.ep, soft, hard);
        return stage;
}

#define OF_AHEAD "the EP took %d receives before any message came, and its marks count them (EP-43)"

/* No event of the soft mark is there, but for receives that the EP took ahead of messages. */
static void expect_no_soft_event(struct test *t, const struct stage *stage)
{
        if (stage->ahead == 0)
                expect_quiet(async_evd(t));
        else if (drain_async_event(t))
                end_noted(t, OF_AHEAD, stage->ahead);
}

static void expect_unbroken(struct test *t, const struct stage *stage)
{
        settle(t);
        if (stage->ahead > 0 && ep_state(t, stage->flow.ep) != DAT_EP_STATE_CONNECTED)
                end_noted(t, OF_AHEAD, stage->ahead);
        expect_quiet(stage->connect_evd);
        expect_eq(ep_state(t, stage->flow.ep), DAT_EP_STATE_CONNECTED);
}

static void expect_no_event(struct test *t, const struct stage *stage)
{
        expect_no_soft_event(t, stage);
        expect_unbroken(t, stage);
}

/* A hard mark may have an asynchronous event of its own, besides the broken connection (EP-55). */
static void expect_no_event_but_of_hard(struct test *t)
{
        if (drain_async_event(t))
                note(t, "an asynchronous event came of the hard mark (EP-55)");
        expect_quiet(async_evd(t));
}

/*
 * The provider counts receives whose completions stand unreaped, as an EP of another SRQ shows by
 * either mark; where it does not, what the case asks for cannot be seen (EP-43).
 */
static void require_unreaped_counted(struct test *t)
{
        struct stage soft = stage_marked(t, 1, INFINITE);
        struct stage hard;

        flow_deliver(t, &soft.flow, POSTS);
        if (drain_async_event(t))
                return;
        hard = stage_marked(t, INFINITE, 1);
        flow_send(&hard.flow, POSTS);
        settle(t);
        if (ep_state(t, hard.flow.ep) == DAT_EP_STATE_CONNECTED)
                end_noted(t, "no event with %d receives unreaped above a mark of 1 (EP-43)", POSTS);
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

        expect_no_soft_event(t, &stage);
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
        expect_no_soft_event(t, &stage);
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

CASE(ep_set_watermark, each_ep_its_own)
{
        struct stage stage = stage_marked(t, 0, INFINITE);
        struct flow newer = flow_open(t, &stage.queue, DAT_HANDLE_NULL);

        expect_set(t, newer.ep, 0, INFINITE);

        flow_send(&newer, 1);
        expect_async_event(newer.ep);
        expect_no_soft_event(t, &stage);
        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
        expect_quiet(async_evd(t));
}

CASE(ep_set_watermark, soft_keeps_messages)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, MANY);
        expect_async_event(stage.flow.ep);

        expect_messages_all(t, &stage);
        expect_quiet(stage.flow.evd);
}

/* Waits from before the mark is set, which may raise its event by itself (EP-43). */
CASE(ep_set_watermark, soft_wakes)
{
        struct stage stage = stage_set(t);
        struct waiter *waiter = wait_on_evd(t, async_evd(t), 4 * event_timeout(t), 1);
        struct woken woken;

        must_wait(waiter);
        expect_set(t, stage.flow.ep, 0, INFINITE);
        flow_send(&stage.flow, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, stage.flow.ep);
}

CASE(ep_set_watermark, soft_on_async_evd_alone)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);

        expect_messages_all(t, &stage);
        expect_quiet(stage.flow.evd);
        expect_quiet(stage.connect_evd);
        expect_quiet(ep_request_evd(t, stage.flow.ep));
}

CASE(ep_set_watermark, soft_once_in_a_burst)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_deliver(t, &stage.flow, POSTS);

        expect_async_event(stage.flow.ep);
        expect_quiet(async_evd(t));
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
        expect_async_event(stage.flow.ep);
        expect_messages_all(t, &stage);
        expect_set(t, stage.flow.ep, 0, INFINITE);
        expect_no_soft_event(t, &stage);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, soft_again_above)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_deliver(t, &stage.flow, 2);
        expect_async_event(stage.flow.ep);
        expect_set(t, stage.flow.ep, 0, INFINITE);

        expect_async_event(stage.flow.ep);
        expect_quiet(async_evd(t));
}

static const struct again {
        const char *id;
        DAT_COUNT first;
        DAT_COUNT second;
} again[] = {
    {"higher", 0, 2},
    {"lower", 2, 0},
    {"same", 2, 2},
};

FAMILY(ep_set_watermark, soft_again_at, again)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, row->first, INFINITE);

        flow_deliver(t, &stage.flow, row->first + 1);
        expect_async_event(stage.flow.ep);
        expect_messages_all(t, &stage);
        expect_set(t, stage.flow.ep, row->second, INFINITE);
        if (row->second > 0)
                flow_deliver(t, &stage.flow, row->second);
        expect_no_soft_event(t, &stage);

        flow_send(&stage.flow, 1);
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
        expect_set(t, stage.flow.ep, 2, INFINITE);

        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, soft_already_at)
{
        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, 3, INFINITE);

        expect_no_soft_event(t, &stage);
}

CASE(ep_set_watermark, hard_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, INFINITE, 2);

        expect_broken(t, &stage);
}

CASE(ep_set_watermark, hard_already_at)
{
        struct stage stage = stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, INFINITE, 3);

        expect_unbroken(t, &stage);
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

CASE(ep_set_watermark, hard_wakes)
{
        struct stage stage = stage_set(t);
        struct waiter *waiter = wait_on_evd(t, stage.connect_evd, 4 * event_timeout(t), 1);
        struct woken woken;

        must_wait(waiter);
        expect_set(t, stage.flow.ep, INFINITE, 0);
        flow_send(&stage.flow, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, stage.flow.ep), DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_set_watermark, hard_once)
{
        struct stage stage = stage_marked(t, INFINITE, 0);

        flow_send(&stage.flow, MANY);

        expect_broken(t, &stage);
        expect_quiet(stage.connect_evd);
}

FAMILY(ep_set_watermark, hard_kept, kept)
{
        struct stage stage = stage_marked(t, INFINITE, row->mark);

        flow_send(&stage.flow, row->messages);
        expect_unbroken(t, &stage);

        expect_messages_all(t, &stage);
        flow_send(&stage.flow, 1);
        expect_messages_all(t, &stage);
}

FAMILY(ep_set_watermark, hard_exceeded_unreaped, exceeded)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, INFINITE, row->mark);

        flow_send(&stage.flow, row->messages - 1);
        expect_unbroken(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
}

CASE(ep_set_watermark, hard_keeps_messages)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, INFINITE, 3);

        flow_send(&stage.flow, 3);
        expect_unbroken(t, &stage);
        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);

        expect_messages(t, &stage.queue, &stage.flow, 3);
}

/* Each receive completes to the EP whose connection broke, or serves another one (SRQ-26). */
CASE(ep_set_watermark, hard_loses_no_receive)
{
        struct stage stage = stage_marked(t, INFINITE, 0);
        struct flow other = flow_open(t, &stage.queue, DAT_HANDLE_NULL);
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        int left = POSTS;

        flow_send(&stage.flow, 1);
        expect_broken(t, &stage);
        settle(t);
        for (; dat_is(dat_evd_dequeue(stage.flow.evd, &event), DAT_SUCCESS); left--) {
                const DAT_DTO_COMPLETION_EVENT_DATA *dto =
                    &event.event_data.dto_completion_event_data;

                expect_eq(dto->ep_handle == stage.flow.ep, true);
                if (dto->status == DAT_DTO_SUCCESS)
                        check_message(t, &stage.queue, &stage.flow, 1, dto);
                else
                        stage.queue.posted &= ~(UINT64_C(1) << dto->user_cookie.as_64);
        }
        expect_traffic(t, &stage.queue, &other, left);
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

static const struct pair each_kind[] = {{4, 4}, {0, INFINITE}, {INFINITE, 0}, {INFINITE, INFINITE}};

/* The Provider's own EP has no SRQ (EP-44). */
FAMILY(ep_set_watermark, in_state, ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = srq);
        DAT_EP_STATE before = ep_state(t, ep);

        for (int i = 0; i < 4; i++) {
                DAT_RETURN ret = dat_ep_set_watermark(ep, each_kind[i].soft, each_kind[i].hard);

                if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                        expect(ret, DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
                else
                        expect(ret, DAT_SUCCESS);
                expect_ep_state_kept(t, ep, before);
        }
        expect_quiet(async_evd(t));
}

/* All marks that an SRQ of that size has a use for, each alone and both together. */
CASE(ep_set_watermark, every_mark)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = POSTS);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        DAT_COUNT size = srq_size(t, srq);

        for (DAT_COUNT mark = 0; mark <= size; mark++) {
                expect_set(t, ep, mark, INFINITE);
                expect_set(t, ep, INFINITE, mark);
                expect_set(t, ep, mark, size - mark);
        }
        expect_quiet(async_evd(t));
}

static const struct ep_state_row before_connection[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

/* Marks that are set before the EP is connected, or connected anew; that is what follows. */
static struct stage stage_marked_in(struct test *t, DAT_EP_STATE state, struct pair marks)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};
        DAT_EP_HANDLE ep = ep_in(t, state, .srq = stage.queue.srq);

        queue_post(t, &stage.queue, POSTS);
        expect_set(t, ep, marks.soft, marks.hard);
        stage.connect_evd = ep_connect_evd(t, ep);
        stage.flow = (struct flow){
            .ep = ep,
            .evd = ep_recv_evd(t, ep),
            .end = expect_goes_on(ep, state),
            .length = MESSAGE,
        };
        stage.ahead = held_ahead(t, &stage);
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
 * What the marks leave as it was
 */

static const struct marks {
        DAT_COUNT soft;
        DAT_COUNT hard;
} harmless[] = {
    {POSTS, INFINITE},
    {INFINITE, POSTS},
    {POSTS, POSTS},
    {INFINITE, INFINITE},
};

#define HARMLESS (sizeof(harmless) / sizeof(harmless[0]))

/* Receives that wait, and completions that stand unreaped. */
CASE(ep_set_watermark, keeps_receives)
{
        struct stage stage = stage_set(t);
        struct ep_snapshot before = ep_snapshot(t, stage.flow.ep);

        flow_deliver(t, &stage.flow, POSTS / 2);
        for (size_t i = 0; i < HARMLESS; i++) {
                expect_set(t, stage.flow.ep, harmless[i].soft, harmless[i].hard);
                expect_ep_kept(t, stage.flow.ep, &before, 0);
        }
        flow_send(&stage.flow, POSTS / 2);

        expect_messages_all(t, &stage);
        expect_unbroken(t, &stage);
}

CASE(ep_set_watermark, keeps_low_mark)
{
        struct stage stage = stage_set(t);

        must(dat_srq_set_lw(stage.queue.srq, POSTS));
        for (size_t i = 0; i < HARMLESS; i++)
                expect_set(t, stage.flow.ep, harmless[i].soft, harmless[i].hard);

        expect_eq(srq_param(t, stage.queue.srq).low_watermark, POSTS);
        flow_send(&stage.flow, 1);
        expect_async_event(stage.queue.srq);
        expect_unbroken(t, &stage);
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

static void expect_not_exceeded(struct test *t, struct stage *stage, int messages)
{
        flow_send(&stage->flow, messages);
        expect_no_event(t, stage);
        expect_messages_all(t, stage);
}

FAMILY(ep_set_watermark, greatest, greatest)
{
        struct stage stage = stage_set(t);

        expect_or_note(dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                       DAT_SUCCESS, DAT_INVALID_PARAMETER);

        expect_not_exceeded(t, &stage, POSTS);
}

static const struct beside_size {
        const char *id;
        bool hard;
        DAT_COUNT above;
} beside_size[] = {
    {"soft_at", false, 0},
    {"soft_above", false, 1},
    {"hard_at", true, 0},
    {"hard_above", true, 1},
};

/* The mark of a size can be had; one above it need not be (EP-45). */
FAMILY(ep_set_watermark, beside_size, beside_size)
{
        struct stage stage = stage_set(t);
        DAT_COUNT size = srq_size(t, stage.queue.srq);
        int all = size < SLOTS ? (int)size : SLOTS;
        DAT_COUNT mark = size + row->above;
        DAT_RETURN ret = dat_ep_set_watermark(stage.flow.ep, row->hard ? INFINITE : mark,
                                              row->hard ? mark : INFINITE);

        if (row->above)
                expect_or_note(ret, DAT_SUCCESS, DAT_INVALID_PARAMETER);
        else
                expect(ret, DAT_SUCCESS);
        queue_post(t, &stage.queue, all - POSTS);
        expect_not_exceeded(t, &stage, all);
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

        expect_not_exceeded(t, &stage, POSTS);
}

static const struct argument half_good[] = {
    {"good_soft", {0, -2}},
    {"good_hard", {-2, 0}},
};

FAMILY(ep_set_watermark, refusal_sets_nothing, half_good)
{
        struct stage stage = stage_set(t);

        if (dat_is(expect_or_note(
                       dat_ep_set_watermark(stage.flow.ep, row->marks.soft, row->marks.hard),
                       DAT_INVALID_PARAMETER, DAT_SUCCESS),
                   DAT_SUCCESS))
                return;
        expect_not_exceeded(t, &stage, POSTS);
        expect_set(t, stage.flow.ep, 0, INFINITE);
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
