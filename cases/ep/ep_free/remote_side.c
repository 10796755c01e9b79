/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: events at the other end of the connection. */
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "clauses/ep_free.h"

#include <string.h>

static const struct end {
        const char *id;
        bool active; /* the one that is freed */
} ends[] = {
    {"active", true},
    {"passive", false},
};

FAMILY(ep_free, other_end_told, ends)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE left = row->active ? loop.passive : loop.active;

        loop_join(t, &loop);
        free_now(t, row->active ? loop.active : loop.passive);

        expect_end_told(t, next_number(t, ep_connect_evd(t, left)));
        expect_eq(ep_state(t, left), DAT_EP_STATE_DISCONNECTED);
        free_now(t, left);
}

/* Receives and sends that the connection leaves behind at the end that stays are flushed there. */
CASE(ep_free, other_end_flushed)
{
        struct loop loop = transfer_with(t);
        struct vector vector = vector_with(t, .length = MESSAGE);

        must(recv_vector(loop.passive, &vector, 1, DAT_COMPLETION_DEFAULT_FLAG));
        must(send_vector(loop.passive, &vector, 2, DAT_COMPLETION_DEFAULT_FLAG));
        free_now(t, loop.active);

        expect_end_told(t, next_number(t, ep_connect_evd(t, loop.passive)));
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1, 0, DAT_DTO_ERR_FLUSHED);
        expect_completion(ep_request_evd(t, loop.passive), loop.passive, 2, 0, DAT_DTO_ERR_FLUSHED);
}

CASE(ep_free, peer_told)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                DAT_EP_HANDLE ep = ep_by(t, route);
                struct peer_ep *end = ep_end(t, ep);

                free_now(t, ep);

                expect_end_told(t, peer_wait_event(end).number);
        }
}

/* The EP asks where another one is connected. */
static void ask_as_another(struct test *t, struct loop *loop)
{
        struct loop old = {
            .requests = loop->requests,
            .active = ep_with(t),
            .passive = ep_with(t),
        };

        loop_join(t, &old);
        loop->qual = old.qual;
        loop_open_again(t, loop);
        must(dat_ep_dup_connect(loop->active, old.active, event_timeout(t), 0, NULL,
                                DAT_QOS_BEST_EFFORT));
}

static void expect_request_aborted(struct test *t, void (*ask)(struct test *t, struct loop *loop))
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE again = ep_with(t);
        DAT_EVENT_NUMBER number;

        ask(t, &loop);
        loop_take_request(t, &loop);
        free_now(t, loop.active);

        if (dat_is(dat_cr_accept(loop.request, loop_named(&loop), 0, NULL), DAT_SUCCESS)) {
                number = next_number(t, ep_connect_evd(t, loop.passive));
                expect_that(number != DAT_CONNECTION_EVENT_ESTABLISHED,
                            "a request of an EP that is gone became a connection");
        }
        if (loop.rsp) {
                loop.passive = ep_with(t);
                loop_open(t, &loop);
        }
        loop_connect(t, again, loop.qual);
        must_event(loop.requests, DAT_CONNECTION_REQUEST_EVENT);
}

/* The request was with the consumer, by either call. */
CASE(ep_free, aborts_request)
{
        expect_request_aborted(t, loop_ask);
        expect_request_aborted(t, ask_as_another);
}

/* An accept whose asker is stopped: when it runs again, the connection is not there any more. */
CASE(ep_free, aborts_accept)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_COMPLETION_PENDING);
        struct peer_ep *end = ep_end(t, ep);
        DAT_EVENT_NUMBER last;

        free_now(t, ep);

        last = peer_wait_event(end).number;
        if (last == DAT_CONNECTION_EVENT_ESTABLISHED)
                last = peer_wait_event(end).number;
        expect_that(last && last != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that there is no connection");
}

CASE(ep_free, ends_disconnect)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_DISCONNECT_PENDING);
        struct peer_ep *end = ep_end(t, ep);

        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
}

/* The sender to the freed EP gets an event, and the IA keeps serving other EPs. */
CASE(ep_free, under_traffic)
{
        struct buf *buf = buf_with(t, .length = EPS * MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EP_HANDLE other = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        for (size_t i = 0; i < EPS; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, COOKIE(i), DAT_COMPLETION_DEFAULT_FLAG));
        }
        peer_send(end, .count = EPS, .length = MESSAGE);
        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
        expect_ep_takes(t, other, pz(t), expect_connect(other), (struct load){1, 1, MESSAGE});
}

#define ROOM 4 /* receives for twice as many messages */

/* No race: the message after the last receive is on its way until there is one, or no EP. */
CASE(ep_free, while_message_waits)
{
        struct buf *buf = buf_with(t, .length = ROOM * MESSAGE);
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EP_HANDLE other = ep_with(t);
        struct peer_ep *end = must_connect(ep);

        for (size_t i = 0; i < ROOM; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                must(dat_ep_post_recv(ep, 1, &segment, COOKIE(i), DAT_COMPLETION_DEFAULT_FLAG));
        }
        peer_send(end, .count = 2 * (size_t)ROOM, .length = MESSAGE);
        for (size_t i = 0; i < ROOM; i++)
                must_dto(ep_recv_evd(t, ep));
        free_now(t, ep);

        expect_end_told(t, peer_wait_event(end).number);
        expect_ep_takes(t, other, pz(t), expect_connect(other), (struct load){1, 1, MESSAGE});
}
