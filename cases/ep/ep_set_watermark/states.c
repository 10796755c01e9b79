/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: EP states and side effects. */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/shared/loop.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

#include <string.h>

/*
 * States
 */

static const struct pair each_kind[] = {{4, 4}, {0, INFINITE}, {INFINITE, 0}, {INFINITE, INFINITE}};

/* The Provider's own EP has no SRQ (EP-44). */
FAMILY(ep_set_watermark, in_state, ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        EACH_EP_ROUTE (route, row->state) {
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = srq);
                DAT_EP_STATE before = ep_state(t, ep);

                for (int i = 0; i < 4; i++) {
                        DAT_RETURN ret =
                            dat_ep_set_watermark(ep, each_kind[i].soft, each_kind[i].hard);

                        if (row->state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                                expect(ret, DAT_SUCCESS, DAT_MODEL_NOT_SUPPORTED);
                        else
                                expect(ret, DAT_SUCCESS);
                        expect_ep_state_kept(t, ep, before);
                }
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

static DAT_COUNT soft_mark(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        must(dat_ep_query(ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param));
        return param.ep_attr.srq_soft_hw;
}

static void expect_marks_told(struct test *t, DAT_EP_HANDLE ep)
{
        static const DAT_COUNT marks[] = {3, 0, INFINITE, 5};

        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
                expect_set(t, ep, marks[i], INFINITE);
                expect_eq(soft_mark(t, ep), marks[i]);
                expect_eq(soft_mark(t, ep), marks[i]);
        }
}

static const struct told_row {
        const char *id;
        bool before; /* the marks are set in Unconnected */
        bool after;  /* in Connected */
        bool over;   /* looked for once the EP is Disconnected, and reset */
} told_rows[] = {
    {"unconnected", true, false, false},
    {"connected", false, true, false},
    {"kept", true, true, false},
    {"reset", true, true, true},
};

FAMILY(ep_set_watermark, queried, told_rows)
{
        struct loop loop =
            loop_of(t, (struct ep_opts){.srq = srq_with(t)}, (struct ep_opts){.srq = srq_with(t)});
        DAT_COUNT set;

        if (row->before)
                expect_marks_told(t, loop.active);
        if (!row->after)
                return;
        set = soft_mark(t, loop.active);
        loop_join_either(t, &loop);
        expect_eq(soft_mark(t, loop.active), set);
        if (!row->before)
                expect_marks_told(t, loop.active);
        if (!row->over)
                return;
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.active), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_eq(soft_mark(t, loop.active), set);
        must(dat_ep_reset(loop.active));
        expect_eq(soft_mark(t, loop.active), set);
}

FAMILY(ep_set_watermark, queried_in_state, consumer_ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        EACH_EP_ROUTE (route, row->state)
                expect_marks_told(t, ep_by(t, route, .srq = srq));
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
static struct stage stage_marked_by(struct test *t, const struct ep_route *route, struct pair marks)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};
        DAT_EP_HANDLE ep = ep_by(t, route, .srq = stage.queue.srq);

        queue_post(t, &stage.queue, POSTS);
        expect_set(t, ep, marks.soft, marks.hard);
        stage.connect_evd = ep_connect_evd(t, ep);
        stage.flow = (struct flow){
            .ep = ep,
            .evd = ep_recv_evd(t, ep),
            .end = expect_goes_on(ep, route->state),
            .length = MESSAGE,
        };
        stage.ahead = held_ahead(t, &stage);
        return stage;
}

FAMILY(ep_set_watermark, soft_before_connection, before_connection, DEADLINE_MS(20000))
{
        EACH_EP_ROUTE (route, row->state) {
                struct stage stage = stage_marked_by(t, route, (struct pair){0, INFINITE});

                if (route == ep_route_first(t, row->state))
                        expect_no_event(t, &stage);
                flow_send(&stage.flow, 1);
                expect_async_event(stage.flow.ep);
        }
}

FAMILY(ep_set_watermark, hard_before_connection, before_connection, DEADLINE_MS(20000))
{
        EACH_EP_ROUTE (route, row->state) {
                struct stage stage = stage_marked_by(t, route, (struct pair){INFINITE, 0});

                if (route == ep_route_first(t, row->state))
                        expect_no_event(t, &stage);
                flow_send(&stage.flow, 1);
                expect_broken(t, &stage);
        }
}

/* The EP, which is Disconnected, gives back what it has, and is reset. */
static void reset_stage(struct test *t, struct stage *stage)
{
        DAT_EVENT event;

        settle(t);
        while (dat_is(fixture_event_now(t, stage->flow.evd, &event), DAT_SUCCESS))
                stage->queue.posted &=
                    ~(UINT64_C(1) << event.event_data.dto_completion_event_data.user_cookie.as_64);
        must(dat_ep_reset(stage->flow.ep));
        queue_post(t, &stage->queue, POSTS - __builtin_popcountll(stage->queue.posted));
}

static void connect_stage(struct test *t, struct stage *stage)
{
        stage->flow.end = must_connect(stage->flow.ep);
        stage->flow.sent = 0;
        stage->flow.received = 0;
        stage->ahead = held_ahead(t, stage);
}

/* The mark is set for a second connection, before that is made or after. */
static void set_anew(struct test *t, struct stage *stage, struct pair marks, bool before)
{
        reset_stage(t, stage);
        if (before)
                expect_set(t, stage->flow.ep, marks.soft, marks.hard);
        connect_stage(t, stage);
        if (!before)
                expect_set(t, stage->flow.ep, marks.soft, marks.hard);
}

/* So many messages come to the stage's EP. */
static void deliver(struct test *t, struct stage *stage, DAT_COUNT messages)
{
        if (messages > 0)
                flow_deliver(t, &stage->flow, messages);
}

FAMILY(ep_set_watermark, soft_anew, again)
{
        require_unreaped_counted(t);

        for (int before = 0; before < 2; before++) {
                struct stage stage = stage_marked(t, row->first, INFINITE);

                deliver(t, &stage, row->first + 1);
                expect_async_event(stage.flow.ep);
                flow_break(t, &stage.flow);
                set_anew(t, &stage, (struct pair){row->second, INFINITE}, before);
                deliver(t, &stage, row->second);
                expect_no_soft_event(t, &stage);

                flow_send(&stage.flow, 1);
                expect_async_event(stage.flow.ep);
                expect_quiet(async_evd(t));
        }
}

FAMILY(ep_set_watermark, hard_anew, again)
{
        require_unreaped_counted(t);

        for (int before = 0; before < 2; before++) {
                struct stage stage = stage_marked(t, INFINITE, row->first);

                flow_send(&stage.flow, row->first + 1);
                expect_broken(t, &stage);
                set_anew(t, &stage, (struct pair){INFINITE, row->second}, before);
                if (row->second > 0)
                        flow_send(&stage.flow, row->second);
                expect_unbroken(t, &stage);

                flow_send(&stage.flow, 1);
                expect_broken(t, &stage);
        }
}

/* The EP is connected anew, and no mark is set since. */
static void reconnect(struct test *t, struct stage *stage)
{
        flow_break(t, &stage->flow);
        reset_stage(t, stage);
        connect_stage(t, stage);
}

static const struct kept_mark {
        const char *id;
        struct pair marks;
} kept_marks[] = {
    {"soft", {0, INFINITE}},
    {"hard", {INFINITE, 0}},
};

/* The first connection ends before a mark of it is exceeded (EP-46). */
FAMILY(ep_set_watermark, kept_for_next_connection, kept_marks)
{
        struct stage stage = stage_marked(t, row->marks.soft, row->marks.hard);

        expect_no_event(t, &stage);
        reconnect(t, &stage);
        expect_no_event(t, &stage);

        flow_send(&stage.flow, 1);
        if (row->marks.soft == 0)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
}

CASE(ep_set_watermark, soft_once_though_reconnected)
{
        struct stage stage = stage_marked(t, 0, INFINITE);

        flow_send(&stage.flow, 1);
        expect_async_event(stage.flow.ep);
        reconnect(t, &stage);

        flow_deliver(t, &stage.flow, 3);
        expect_quiet(async_evd(t));
        expect_messages_all(t, &stage);
        expect_quiet(async_evd(t));
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
        struct stage stage = ep_set_watermark_stage_set(t);
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
        struct stage stage = ep_set_watermark_stage_set(t);

        must(dat_srq_set_lw(stage.queue.srq, POSTS));
        for (size_t i = 0; i < HARMLESS; i++)
                expect_set(t, stage.flow.ep, harmless[i].soft, harmless[i].hard);

        expect_eq(srq_param(t, stage.queue.srq).low_watermark, POSTS);
        flow_send(&stage.flow, 1);
        expect_async_event(stage.queue.srq);
        expect_unbroken(t, &stage);
}
