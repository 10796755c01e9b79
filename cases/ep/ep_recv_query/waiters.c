/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: threads that wait for completions of the EP. */
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/watched.h"
#include "clauses/ep_recv_query.h"

static const struct receiver {
        const char *id;
        bool srq;
} receivers[] = {
    {"own_queue", false},
    {"srq", true},
};

static void look(struct test *t, DAT_HANDLE ep)
{
        expect_within(t, recv_info(t, ep), 0, WATCHED_RECEIVES);
}

static struct watched watched_ep(DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, struct peer_ep *end)
{
        return (struct watched){.evd = evd, .end = end, .object = ep, .look = look};
}

static struct watched watched_by(struct test *t, const struct receiver *row)
{
        struct queue queue;
        struct flow flow;
        struct own own;

        if (!row->srq) {
                struct watched watched;

                own = own_connected(t, WATCHED_RECEIVES);
                watched = watched_ep(own.ep, own.evd, own.end);
                watched.ep = own.ep;
                return watched;
        }
        queue = queue_with(t, WATCHED_RECEIVES);
        flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, WATCHED_RECEIVES);
        return watched_ep(flow.ep, flow.evd, flow.end);
}

FAMILY(ep_recv_query, wakes, receivers)
{
        struct watched watched = watched_by(t, row);

        expect_looks_wake(t, &watched);
}

FAMILY(ep_recv_query, wakes_at_threshold, receivers)
{
        struct watched watched = watched_by(t, row);

        expect_looks_wake_at_threshold(t, &watched);
}

CASE(ep_recv_query, triggers_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .cno = cno);
        struct own own = {.ep = ep_with(t, .recv_evd = evd), .buf = buf_with(t), .length = MESSAGE};
        struct watched watched;

        own_post(t, &own, WATCHED_RECEIVES);
        watched = watched_ep(own.ep, evd, peer_connect(peer(t), own.ep));

        expect_looks_trigger(t, &watched, cno);
}
