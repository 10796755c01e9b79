/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: connections with the peer. */
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "clauses/ia_close.h"

#define ENDS 3 /* of the peer */

/* What tells an end that the other one went with its IA (EP-72). */
static void expect_end_told(struct test *t, DAT_EVENT_NUMBER number)
{
        if (number == DAT_CONNECTION_EVENT_BROKEN)
                note(t, "a connection whose IA was closed is reported as broken (EP-72)");
        else
                expect_eq(number, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct ended {
        const char *id;
        int ends;
        int messages; /* that the peer sends over each */
} endeds[] = {
    {"one", 1, 0},
    {"several", ENDS, 0},
    {"under_traffic", ENDS, MESSAGES},
};

FAMILY(ia_close, peer_told, endeds)
{
        struct peer_ep *ends[ENDS];

        for (int i = 0; i < row->ends; i++) {
                DAT_EP_HANDLE ep = ep_with(t);
                struct buf *buf = buf_with(t);

                ends[i] = must_connect(ep);
                for (int n = 0; n < row->messages; n++)
                        loop_post_recv(t, ep, buf, (uint64_t)n);
        }
        for (int i = 0; i < row->ends && row->messages; i++)
                peer_send(ends[i], .count = row->messages, .length = MESSAGE);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        for (int i = 0; i < row->ends; i++)
                expect_end_told(t, peer_wait_event(ends[i]).number);
}

static const struct asked {
        const char *id;
        bool taken; /* the request's event */
} askeds[] = {
    {"standing", .taken = false},
    {"taken", .taken = true},
};

/* The peer has sent a request, which is never answered. */
FAMILY(ia_close, peer_request, askeds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_CR_FLAG, .cno = cno);
        DAT_EVENT_NUMBER number;
        DAT_CONN_QUAL qual;
        struct peer_ep *end;

        (void)loop_listen(t, evd, psp_flags_granted(t), &qual);
        end = peer_request(peer(t), qual);
        must_stand(t, cno);
        if (row->taken)
                must_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        number = peer_wait_event(end).number;
        expect_that(number && number != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that its request is gone");
}

/* The case has sent a request, and the peer answers after the IA was closed. */
CASE(ia_close, request_to_peer)
{
        struct peer_place place = peer_listen(peer(t));
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_EVENT_NUMBER number;
        struct peer_cr request;

        must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&place.address, place.qual,
                            DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                            DAT_CONNECT_DEFAULT_FLAG));
        request = peer_take_request(peer(t));
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        number = peer_wait_event(peer_accept(&request, NULL, 0)).number;
        expect_that(number && number != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer is not told that there is no connection");
}

static const struct listened {
        const char *id;
        bool rsp;
} listeneds[] = {
    {"psp", .rsp = false},
    {"rsp", .rsp = true},
};

/* The listener is gone; and the IA, opened again, can listen there. */
FAMILY(ia_close, peer_refused, listeneds)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        DAT_EVENT_NUMBER number;

        if (row->rsp)
                hold_rsp(t, &held);
        else
                hold_psp(t, &held);
        close_now(t, DAT_CLOSE_ABRUPT_FLAG);
        ia_reopen(t, DAT_HANDLE_NULL);

        number =
            peer_wait_event(peer_ask(peer(t), held.qual, .timeout = event_timeout(t) / 2)).number;
        expect_that(number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
                        number == DAT_CONNECTION_EVENT_UNREACHABLE ||
                        number == DAT_CONNECTION_EVENT_TIMED_OUT,
                    "the peer gets %s", name_of_event(number));
        held.evd = request_evd(t);
        held.handle = psp_at(t, held.qual, held.evd, psp_flags_granted(t));
        check_psp(t, &held);
}
