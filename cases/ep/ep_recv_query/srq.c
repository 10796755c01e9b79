/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: receives of an SRQ. */
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

CASE(ep_recv_query, srq_unconnected)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq);

        queue_post(t, &queue, POSTS);

        struct info info = recv_info(t, ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

static const struct ep_state_row taking_nothing[] = {
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

FAMILY(ep_recv_query, srq_in_state, taking_nothing)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);

                queue_post(t, &queue, POSTS);

                struct info info = recv_info(t, ep);
                expect_count(t, info.count, 0);
                expect_count(t, info.span, 0);
        }
}

/*
 * What the SRQ tells as available and what its EPs hold is all that was posted and has not come:
 * each is reported by exactly one.
 */
static void expect_accounted(struct test *t, const struct queue *queue, DAT_COUNT held,
                             DAT_COUNT waiting)
{
        DAT_COUNT available = srq_param(t, queue->srq).available_dto_count;

        if (provider_attr(t)->srq_info_supported && available != DAT_VALUE_UNKNOWN &&
            held != DAT_VALUE_UNKNOWN)
                expect_that(available + held == waiting,
                            "%d receives are available and %d at EPs, where %d wait for messages",
                            available, held, waiting);
}

CASE(ep_recv_query, srq_connected)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct info info;

        queue_post(t, &queue, POSTS);

        info = recv_info(t, flow.ep);
        expect_within(t, info, 0, POSTS);
        expect_accounted(t, &queue, info.count, POSTS);
        expect_traffic(t, &queue, &flow, POSTS);
}

CASE(ep_recv_query, srq_accounted)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2];
        DAT_COUNT held = 0;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flows[0], 1);
        flow_deliver(t, &flows[1], 1);
        expect_messages(t, &queue, &flows[1], 1);

        for (int i = 0; i < 2; i++) {
                struct info info = recv_info(t, flows[i].ep);

                expect_within(t, info, 0, POSTS - 2);
                if (info.count == DAT_VALUE_UNKNOWN || held == DAT_VALUE_UNKNOWN)
                        held = DAT_VALUE_UNKNOWN;
                else
                        held += info.count;
        }
        expect_accounted(t, &queue, held, POSTS - 2);
}

/* Whichever way the EP was connected. */
FAMILY(ep_recv_query, srq_completed, arrivals)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                queue_post(t, &queue, POSTS);
                flow_deliver(t, &flow, POSTS);
                if (row->reaped)
                        expect_messages(t, &queue, &flow, POSTS);

                struct info info = recv_info(t, flow.ep);
                expect_count(t, info.count, 0);
                expect_count(t, info.span, 0);
        }
}

FAMILY(ep_recv_query, srq_disconnected, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        disconnect(t, row, flow.ep, flow.end);
        settle(t);

        struct info info = recv_info(t, flow.ep);
        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}
