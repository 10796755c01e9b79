/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: disconnects of a connection with the peer. */
#include "case/ep_attr.h"
#include "case/later_event.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

FAMILY(ep_disconnect, peer_is_told, both_flags)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct peer_event event;

        end_by(t, ep, row->flags);
        expect_ended(t, ep);
        event = peer_wait_event(end);
        expect_that(event.number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                        event.number == DAT_CONNECTION_EVENT_BROKEN,
                    "the peer was told %s", name_of_event(event.number));
        expect_that(!peer_has_event(end), "the peer was told twice");
}

/* What was sent before the end is received. */
CASE(ep_disconnect, peer_receives_all)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct buf *buf = buf_with(t, .length = WORKS * MESSAGE);

        peer_post_recv(end, WORKS, MESSAGE);
        for (size_t i = 0; i < WORKS; i++) {
                DAT_LMR_TRIPLET segment = triplet(buf, i * MESSAGE, MESSAGE);

                message_fill(buf->addr + i * MESSAGE, MESSAGE, i);
                must(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        }
        end_by(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, ep_request_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
        expect_ended(t, ep);
        for (size_t i = 0; i < WORKS; i++)
                peer_wait_recv(end, i, MESSAGE);
        peer_wait_disconnected(end);
}

/* Where the peer ended it, there is nothing left to end. */
FAMILY(ep_disconnect, peer_was_first, both_flags)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct peer_ep *end = peer_connect(peer(t), ep);

        peer_disconnect(end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        end_by(t, ep, row->flags);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        settle_briefly(t);
        expect_no_later_event(ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

LEGAL(ep_disconnect)
{
        call->ep_handle = line_of(t).loop.active;
        call->close_flags = DAT_CLOSE_ABRUPT_FLAG;
}
