/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_set_watermark/fixtures.h"
#include "cases/ep/shared/endpoint.h"

DAT_COUNT held_ahead(struct test *t, const struct stage *stage)
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

struct stage ep_set_watermark_stage_set(struct test *t)
{
        return stage_by(t, ep_route_first(t, DAT_EP_STATE_CONNECTED));
}

struct stage stage_by(struct test *t, const struct ep_route *route)
{
        struct stage stage = {.queue = queue_with(t, POSTS)};

        queue_post(t, &stage.queue, POSTS);
        stage.flow = flow_by(t, &stage.queue, route);
        stage.connect_evd = ep_connect_evd(t, stage.flow.ep);
        stage.ahead = held_ahead(t, &stage);
        return stage;
}

void expect_set(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
        expect(dat_ep_set_watermark(ep, soft, hard), DAT_SUCCESS);
}

struct stage stage_marked(struct test *t, DAT_COUNT soft, DAT_COUNT hard)
{
        struct stage stage = ep_set_watermark_stage_set(t);

        expect_set(t, stage.flow.ep, soft, hard);
        return stage;
}

#define OF_AHEAD "the EP took %d receives before any message came, and its marks count them (EP-43)"

void expect_no_soft_event(struct test *t, const struct stage *stage)
{
        if (stage->ahead == 0)
                expect_quiet(async_evd(t));
        else if (drain_async_event(t))
                end_noted(t, OF_AHEAD, stage->ahead);
}

void expect_unbroken(struct test *t, const struct stage *stage)
{
        settle(t);
        if (stage->ahead > 0 && ep_state(t, stage->flow.ep) != DAT_EP_STATE_CONNECTED)
                end_noted(t, OF_AHEAD, stage->ahead);
        expect_quiet(stage->connect_evd);
        expect_eq(ep_state(t, stage->flow.ep), DAT_EP_STATE_CONNECTED);
}

void expect_no_event(struct test *t, const struct stage *stage)
{
        expect_no_soft_event(t, stage);
        expect_unbroken(t, stage);
}

void expect_messages_all(struct test *t, struct stage *stage)
{
        expect_messages(t, &stage->queue, &stage->flow,
                        (int)(stage->flow.sent - stage->flow.received));
}

void expect_broken(struct test *t, const struct stage *stage)
{
        expect_event(stage->connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, stage->flow.ep), DAT_EP_STATE_DISCONNECTED);
}
