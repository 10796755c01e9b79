/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_set_watermark: the hard high watermark. */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_set_watermark.h"

/* Whichever way the EP was connected. */
CASE(ep_set_watermark, hard_exceeded)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct stage stage = stage_by(t, route);

                expect_set(t, stage.flow.ep, INFINITE, 0);
                flow_send(&stage.flow, 1);

                expect_broken(t, &stage);
        }
}

/* By whichever event, as of any connection that ends. */
CASE(ep_set_watermark, hard_ends_other)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct stage stage = stage_by(t, route);
                DAT_EVENT_NUMBER number;

                expect_set(t, stage.flow.ep, INFINITE, 0);
                flow_send(&stage.flow, 1);
                expect_broken(t, &stage);

                number = peer_wait_event(stage.flow.end).number;
                expect_that(number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                number == DAT_CONNECTION_EVENT_BROKEN,
                            "the other end has event 0x%x, and not that of the end", number);
        }
}

CASE(ep_set_watermark, hard_wakes)
{
        struct stage stage = ep_set_watermark_stage_set(t);
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

/* One EVD has the connection events of both EPs. */
CASE(ep_set_watermark, hard_on_shared_evd)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        struct queue queue = queue_with(t, POSTS);
        struct flow flows[2];
        DAT_EVENT event;

        for (int i = 0; i < 2; i++) {
                DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq, .connect_evd = evd);

                flows[i] = (struct flow){
                    .ep = ep,
                    .evd = ep_recv_evd(t, ep),
                    .end = peer_connect(peer(t), ep),
                    .length = MESSAGE,
                };
        }
        queue_post(t, &queue, POSTS);
        expect_set(t, flows[1].ep, INFINITE, 0);
        flow_send(&flows[1], 1);

        event = expect_event(evd, DAT_CONNECTION_EVENT_BROKEN);
        expect_that(event.event_data.connect_event_data.ep_handle == flows[1].ep,
                    "the event names another EP");
        expect_quiet(evd);
        expect_eq(ep_state(t, flows[0].ep), DAT_EP_STATE_CONNECTED);
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
 * Without the mark the EP would stay: the send that its disconnect waits for finds no receive. The
 * end is reported as broken, or as the disconnect that was asked for (EP-56).
 */
CASE(ep_set_watermark, hard_in_disconnect_pending)
{
        struct stage stage = ep_set_watermark_stage_set(t);
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        DAT_COUNT more;

        flow_pend(t, &stage.queue, &stage.flow);
        expect_set(t, stage.flow.ep, INFINITE, 0);
        flow_send(&stage.flow, 1);

        expect(dat_evd_wait(stage.connect_evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        expect_that(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                        event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED,
                    "event 0x%x is no end of a connection", event.event_number);
        if (event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED)
                note(t, "the end by a hard watermark is reported as a disconnect (EP-56)");
        expect_eq(ep_state(t, stage.flow.ep), DAT_EP_STATE_DISCONNECTED);
        expect_quiet(stage.connect_evd);
}
