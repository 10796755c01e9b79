/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: messages in flight and disconnects. */
#include "case/standard.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_recv_query.h"

#include <limits.h>
#include <string.h>

/* They are all there, as a wait for so many shows, before any of them is reaped but that one. */
static void expect_flushed(struct test *t, DAT_EVD_HANDLE evd, int count)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect(dat_evd_wait(evd, event_timeout(t), count, &event, &more), DAT_SUCCESS);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}

/*
 * Messages on their way
 */

/* At each query some of the messages sent may have come: so many receives may be gone. */
static void own_traffic(struct test *t, struct own *own)
{
        own_post(t, own, WINDOW - (int)(own->posted - own->received));
        own_send(own, WINDOW - 2);
        while (own->received < own->sent) {
                expect_within(t, recv_info(t, own->ep), (int)(own->posted - own->sent),
                              (int)(own->posted - own->received));
                own_expect_messages(t, own, 1);
        }
        expect_count(t, recv_info(t, own->ep).count, 2);
}

FAMILY(ep_recv_query, in_traffic, traffic)
{
        struct own own = own_for(t, row->length, WINDOW);

        own.end = peer_connect(peer(t), own.ep);
        for (int window = 0; window < WINDOWS; window++)
                own_traffic(t, &own);
}

CASE(ep_recv_query, half_received)
{
        struct own own = own_for(t, COMING, 2);
        bool begun = false;

        own_post(t, &own, 2);
        own.end = peer_connect(peer(t), own.ep);
        peer_disturb(peer(t), .kbit_per_s = SLOW_KBIT);
        own_send(&own, 1);
        for (int look = 0; look < MANY && !begun; look++) {
                settle(t);
                begun = message_holds(own.buf->addr, MESSAGE, 0);
                if (begun && message_holds(own.buf->addr, COMING, 0))
                        unsupported_in_part(t);
        }
        must_that(begun, "no byte of a message has come");
        struct info info = recv_info(t, own.ep);

        must_that(!message_holds(own.buf->addr, COMING, 0), "the message was whole by then");
        expect_within(t, info, 2, 2);
}

CASE(ep_recv_query, in_traffic_out_of_order)
{
        struct own own = own_for(t, PACKETS, WINDOW);

        own.end = peer_connect(peer(t), own.ep);
        peer_disturb_by(peer(t), out_of_order);
        for (int window = 0; goes_on_to_overtake(t, window); window++)
                own_traffic(t, &own);
        must_have_overtaken(peer(t));
}

/*
 * The end of a connection
 */

static void expect_none(struct test *t, DAT_EP_HANDLE ep)
{
        struct info info = recv_info(t, ep);

        expect_count(t, info.count, 0);
        expect_count(t, info.span, 0);
}

/* Whichever way the EP was connected. */
FAMILY(ep_recv_query, disconnected, endings)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct own own = own_by(t, route, POSTS);

                disconnect(t, row, own.ep, own.end);
                expect_flushed(t, own.evd, POSTS);
                expect_none(t, own.ep);
                must_flushes(t, own.evd, POSTS - 1);
                expect_none(t, own.ep);
        }
}

CASE(ep_recv_query, posted_disconnected)
{
        struct own own = own_connected(t, 0);

        disconnect(t, &endings[0], own.ep, own.end);
        own_post(t, &own, 2);
        must_flushes(t, own.evd, 2);

        expect_none(t, own.ep);
}

/* The flushes are reaped before it, or after it where it did not lose them. */
CASE(ep_recv_query, after_reset)
{
        for (int reaped = 1; reaped >= 0; reaped--) {
                struct own own = own_connected(t, POSTS);

                disconnect(t, &endings[0], own.ep, own.end);
                expect_flushed(t, own.evd, POSTS);
                if (reaped)
                        must_flushes(t, own.evd, POSTS - 1);
                must(dat_ep_reset(own.ep));
                expect_none(t, own.ep);

                own_post(t, &own, 2);
                expect_left(t, own.ep, 2);
                drain_evd(t, own.evd);
                expect_left(t, own.ep, 2);
        }
}
