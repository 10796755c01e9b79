/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: the requests that a PSP receives. */
#include "case/poison.h"
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

#include <string.h>

/*
 * What a PSP is
 */

FAMILY(psp_create, usable, makers)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, row->flags, &loop.qual);

        expect_psp(t, loop.psp, loop.qual, loop.requests, row->flags);
        expect_empty(t, loop.requests);
        expect_served_by(t, loop.psp, loop.qual, loop.requests, row->flags);
}

FAMILY(psp_create, as_declared, makers)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_PSP_HANDLE psp;
        DAT_RETURN ret = dat_psp_create(ia(t), qual, evd, row->flags, &psp);

        must_be_told(t, NEED_PROVIDER_MADE_EP);
        if (psp_declared(t, row->flags)) {
                expect(ret, DAT_SUCCESS);
                adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        } else {
                expect(ret, DAT_MODEL_NOT_SUPPORTED);
        }
}

FAMILY(psp_create, from_peer, makers)
{
        struct loop loop = loop_new(t);
        struct peer_ep *end;
        DAT_CR_HANDLE request;

        loop.psp = psp_new(t, loop.requests, row->flags, &loop.qual);
        end = peer_request(peer(t), loop.qual);

        request = expect_request(t, loop.requests, loop.psp, loop.qual);
        psp_take_peer(t, request, row->flags, &loop);
        peer_wait_connected(end);
        expect_peer_messages(t, end, loop.passive);
}

CASE(psp_create, several_from_peer)
{
        struct loop loop = {.requests = request_evd(t)};
        struct peer_ep *ends[PLACES];
        DAT_CR_HANDLE requests[PLACES];

        loop.psp = psp_new(t, loop.requests, psp_flags_granted(t), &loop.qual);
        for (int i = 0; i < PLACES; i++)
                ends[i] = peer_request(peer(t), loop.qual);
        for (int i = 0; i < PLACES; i++)
                requests[i] = expect_request(t, loop.requests, loop.psp, loop.qual);

        for (int i = 0; i < PLACES; i++) {
                loop.passive = ep_with(t);
                psp_take_peer(t, requests[i], psp_flags_granted(t), &loop);
        }
        for (int i = 0; i < PLACES; i++)
                peer_wait_connected(ends[i]);
}

/*
 * Persistent
 */

/* A request has an EP that the provider has made, or is accepted with the loop's. */
static void deal_accept(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        loop->passive = request_ep(t, request) ? expect_own_accepted(t, request, loop)
                                               : expect_accepted(t, request, loop);
}

static void deal_reject(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        expect_rejected(t, request, loop);
}

/* The request stands unanswered, and goes with the IA. */
static void deal_leave(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        (void)t;
        (void)request;
        (void)loop;
}

static void deal_end(struct test *t, DAT_CR_HANDLE request, struct loop *loop)
{
        deal_accept(t, request, loop);
        must(dat_ep_disconnect(loop->active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct dealt {
        const char *id;
        void (*deal)(struct test *t, DAT_CR_HANDLE request, struct loop *loop);
} dealts[] = {
    {"accepted", deal_accept},
    {"rejected", deal_reject},
    {"unanswered", deal_leave},
    {"disconnected", deal_end},
};

static void expect_persists(struct test *t, const struct dealt *row, DAT_PSP_FLAGS flags)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_CONN_QUAL qual;
        DAT_PSP_HANDLE psp = psp_new(t, evd, flags, &qual);
        DAT_COUNT eps = flags == DAT_PSP_PROVIDER_FLAG ? 3 : 2; /* of each request */
        DAT_COUNT count = cap_at_limit(t, PLACES + 1, DAT_HANDLE_TYPE_EP, eps);

        for (int i = 0; i < count - 1; i++) {
                struct loop asks = loop_new(t);

                loop_connect(t, asks.active, qual);
                row->deal(t, expect_request(t, evd, psp, qual), &asks);
        }
        expect_served_by(t, psp, qual, evd, flags);
        expect_empty(t, evd);
}

FAMILY(psp_create, persistent, dealts)
{
        expect_persists(t, row, psp_flags_granted(t));
}

FAMILY(psp_create, persistent_of_provider, dealts)
{
        expect_persists(t, row, DAT_PSP_PROVIDER_FLAG);
}

/* Asks for a connection, with private data of its own. */
static void ask_as(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual, int who)
{
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, (unsigned char)who);
        must(dat_ep_connect(ep, ia_address(t), qual, event_timeout(t), PRIVATE_SIZE, data,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* Who asks by the request, of so many. */
static int asker(struct test *t, DAT_CR_HANDLE request, int count)
{
        unsigned char data[PRIVATE_SIZE];
        DAT_CR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(request, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.private_data && param.private_data_size >= PRIVATE_SIZE,
                    "the request has %d bytes of private data", (int)param.private_data_size);
        for (int who = 0; who < count; who++) {
                loop_private_data(data, (unsigned char)who);
                if (memcmp(param.private_data, data, PRIVATE_SIZE) == 0)
                        return who;
        }
        expect_that(false, "the request has private data that was not sent");
        return -1;
}

static const struct spread {
        const char *id;
        int points;
} spreads[] = {
    {"one_point", 1},
    {"two_points_of_one_evd", 2},
};

FAMILY(psp_create, several_requests, spreads)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop asks[REQUESTS] = {{.active = DAT_HANDLE_NULL}};
        bool came[REQUESTS] = {false};
        DAT_PSP_HANDLE psps[2] = {DAT_HANDLE_NULL};
        DAT_CONN_QUAL quals[2] = {0};
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        for (int i = 0; i < row->points; i++)
                psps[i] = psp_new(t, evd, psp_flags_granted(t), &quals[i]);
        for (int i = 0; i < count; i++) {
                asks[i] = loop_new(t);
                ask_as(t, asks[i].active, quals[i % row->points], i);
        }

        for (int i = 0; i < count; i++) {
                DAT_EVENT event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
                const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;
                int who = asker(t, data->cr_handle, count);

                expect_that(!came[who], "the request of EP %d came twice", who);
                came[who] = true;
                expect_that(data->sp_handle.psp_handle == psps[who % row->points],
                            "the request is for another point");
                expect_eq(data->conn_qual, quals[who % row->points]);
                asks[who].request = data->cr_handle;
        }
        expect_empty(t, evd);
        for (int i = 0; i < count; i++)
                expect_accepted(t, asks[i].request, &asks[i]);
}
