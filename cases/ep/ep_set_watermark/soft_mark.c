/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: the soft high watermark. */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

#define ROUNDS 8 /* of traffic */

/*
 * The soft mark
 */

/* Whichever way the EP was connected. */
CASE(ep_set_watermark, soft_exceeded)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct stage stage = stage_by(t, route);

                expect_set(t, stage.flow.ep, 0, INFINITE);
                flow_send(&stage.flow, 1);

                expect_async_event(stage.flow.ep);
        }
}

FAMILY(ep_set_watermark, soft_kept, kept)
{
        struct stage stage = stage_marked(t, row->mark, INFINITE);

        flow_deliver(t, &stage.flow, row->messages);

        expect_no_soft_event(t, &stage);
}

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

static const struct shared_mark {
        const char *id;
        DAT_COUNT soft;
        DAT_COUNT hard;
} shared_marks[] = {
    {"soft", 2, INFINITE},
    {"hard", INFINITE, 2},
};

/* More of another EP are unreaped on the EVD of both, and are reaped first. */
FAMILY(ep_set_watermark, own_receives_on_shared_evd, shared_marks)
{
        require_unreaped_counted(t);

        struct stage stage = stage_marked(t, row->soft, row->hard);
        struct flow other = flow_open(t, &stage.queue, stage.flow.evd);

        flow_deliver(t, &other, 4);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 2);
        settle(t);
        expect_no_event(t, &stage);
        expect_messages(t, &stage.queue, &other, 4);
        expect_no_event(t, &stage);
        flow_send(&stage.flow, 1);
        if (row->soft == 2)
                expect_async_event(stage.flow.ep);
        else
                expect_broken(t, &stage);
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
        struct stage stage = ep_set_watermark_stage_set(t);
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

CASE(ep_set_watermark, soft_in_disconnect_pending)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        flow_pend(t, &stage.queue, &stage.flow);
        expect_set(t, stage.flow.ep, 0, INFINITE);
        flow_send(&stage.flow, 1);

        expect_async_event(stage.flow.ep);
}

/* Two receives are at the EP, as many as its mark allows, when it is freed. */
CASE(ep_set_watermark, freed_raises_nothing)
{
        struct stage stage = stage_marked(t, 2, INFINITE);

        flow_deliver(t, &stage.flow, 2);
        expect_no_soft_event(t, &stage);
        release(t, stage.flow.ep);

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

/* The mark is set before, between or after the messages: its one event comes by either. */
CASE(ep_set_watermark, soft_once_in_traffic)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);

        for (int round = 0; round < ROUNDS; round++) {
                if (round > 0)
                        queue_post(t, &stage.queue, POSTS);
                flow_send(&stage.flow, POSTS);
                expect_set(t, stage.flow.ep, 0, INFINITE);
                expect_messages_all(t, &stage);

                expect_async_event(stage.flow.ep);
                expect_quiet(async_evd(t));
        }
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

        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, 2, INFINITE);

        expect_async_event(stage.flow.ep);
}

CASE(ep_set_watermark, soft_already_at)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, 3, INFINITE);

        expect_no_soft_event(t, &stage);
}

CASE(ep_set_watermark, hard_already_above)
{
        require_unreaped_counted(t);

        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, INFINITE, 2);

        expect_broken(t, &stage);
}

CASE(ep_set_watermark, hard_already_at)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        flow_deliver(t, &stage.flow, 3);
        expect_set(t, stage.flow.ep, INFINITE, 3);

        expect_unbroken(t, &stage);
        expect_messages_all(t, &stage);
}
