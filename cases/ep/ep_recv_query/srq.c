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
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

FAMILY(ep_recv_query, srq_in_state, taking_nothing)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                struct ep_held held = ep_hold_by(t, route, .srq = queue.srq);

                queue_post(t, &queue, POSTS);

                struct info info = recv_info(t, held.ep);
                expect_count(t, info.count, 0);
                expect_count(t, info.span, 0);
                expect_ep_untouched(t, &held);
        }
}

CASE(ep_recv_query, srq_connected)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);

        expect_held(t, &queue, &flow, 1, POSTS);
        expect_traffic(t, &queue, &flow, POSTS);
}

CASE(ep_recv_query, srq_accounted)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2];

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, POSTS);
        flow_deliver(t, &flows[0], 1);
        flow_deliver(t, &flows[1], 1);
        expect_messages(t, &queue, &flows[1], 1);

        expect_held(t, &queue, flows, 2, POSTS - 2);
}

/* The completions are left on the EVD, and then reaped one after another. */
CASE(ep_recv_query, srq_completed_one_by_one)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, POSTS);
        for (int waiting = POSTS - 1; waiting >= 0; waiting--) {
                flow_deliver(t, &flow, 1);
                expect_held(t, &queue, &flow, 1, waiting);
        }
        for (int i = 0; i < POSTS; i++) {
                expect_messages(t, &queue, &flow, 1);
                expect_held(t, &queue, &flow, 1, 0);
        }
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
