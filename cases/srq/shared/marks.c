/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/shared/marks.h"
#include "cases/srq/shared/queue.h"

#define UNREAPED 3
#define INFINITE DAT_WATERMARK_INFINITE

static void deliver_each(struct test *t, struct flow *flow, int count)
{
        for (int i = 0; i < count; i++)
                flow_deliver(t, flow, 1);
}

static bool connection_ended(struct test *t, const struct flow *flow)
{
        settle(t);
        return ep_state(t, flow->ep) != DAT_EP_STATE_CONNECTED;
}

/*
 * Each mark counts by the call that sets it, and by the next message: a provider that has a defect
 * in one of these still counts by the others, and gets no NOTE.
 */
void require_unreaped_counted(struct test *t)
{
        struct queue queue = queue_with(t, 2 * UNREAPED + 2);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 2 * UNREAPED + 2);
        deliver_each(t, &flow, UNREAPED);
        must(dat_ep_set_watermark(flow.ep, 1, INFINITE));
        if (drain_async_event(t))
                return;
        must(dat_ep_set_watermark(flow.ep, UNREAPED, INFINITE));
        flow_deliver(t, &flow, 1);
        if (drain_async_event(t))
                return;
        must(dat_ep_set_watermark(flow.ep, INFINITE, 1));
        if (connection_ended(t, &flow))
                return;

        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        must(dat_ep_set_watermark(flow.ep, INFINITE, 1));
        deliver_each(t, &flow, UNREAPED);
        if (!connection_ended(t, &flow))
                end_noted(t, "no event with %d receives unreaped above a mark of 1 (EP-43)",
                          UNREAPED);
}
