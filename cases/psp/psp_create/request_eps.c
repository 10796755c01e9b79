/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: EPs of requests. */
#include "case/poison.h"
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

#define POOL 2

/* A port of the IA is bound to it. */
static void expect_bound(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        if (!ep_query_answers(t))
                return;
        poison(&param, sizeof(param));
        must(dat_ep_query(ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param));
        MUST_BE_WRITTEN("dat_ep_query", param, local_port_qual);
        expect_that(param.local_port_qual != 0, "an EP that accepted is bound to no port");
}

CASE(psp_create, consumers_ep)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        loop.active = ep_with(t);
        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_that(request_ep(t, loop.request) == DAT_HANDLE_NULL, "an EP that does not exist");

        loop.passive = ep_with(t);
        expect_accepted(t, loop.request, &loop);
        expect_bound(t, loop.passive);
        expect_message(t, loop.active, loop.passive);
        expect_message(t, loop.passive, loop.active);
}

CASE(psp_create, pool_of_two_points)
{
        DAT_EP_HANDLE pool[POOL] = {ep_with(t), ep_with(t)};
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psps[POOL];
        DAT_CONN_QUAL quals[POOL];

        for (int i = 0; i < POOL; i++)
                psps[i] = psp_new(t, evd, DAT_PSP_CONSUMER_FLAG, &quals[i]);
        for (int i = 0; i < POOL; i++) {
                struct loop asks = {.active = ep_with(t), .passive = pool[POOL - 1 - i]};

                loop_connect(t, asks.active, quals[i]);
                expect_accepted(t, expect_request(t, evd, psps[i], quals[i]), &asks);
                expect_message(t, asks.active, asks.passive);
        }
}

static const struct psp_ep_field ep_fields[] = {PSP_EP_FIELDS};

FAMILY(psp_create, providers_ep, ep_fields)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_check_ep(t, &loop, row);
}

CASE(psp_create, providers_ep_each)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct loop asks[PLACES];
        DAT_EP_HANDLE eps[PLACES];
        DAT_CONN_QUAL quals[2];
        DAT_PSP_HANDLE psps[2];

        for (int i = 0; i < 2; i++)
                psps[i] = psp_new(t, evd, DAT_PSP_PROVIDER_FLAG, &quals[i]);
        for (int i = 0; i < PLACES; i++) {
                asks[i] = (struct loop){.active = ep_with(t)};
                loop_connect(t, asks[i].active, quals[i % 2]);
                asks[i].request = expect_request(t, evd, psps[i % 2], quals[i % 2]);
                eps[i] = request_ep(t, asks[i].request);
                expect_eq(ep_state(t, eps[i]), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
                for (int j = 0; j < i; j++)
                        expect_that(eps[j] != eps[i], "two requests have one EP");
        }
        for (int i = 0; i < PLACES; i++)
                expect_own_accepted(t, asks[i].request, &asks[i]);
        for (int i = 0; i < PLACES; i++) {
                expect_bound(t, eps[i]);
                expect_message(t, asks[i].active, eps[i]);
                expect_message(t, eps[i], asks[i].active);
        }
}

static DAT_RETURN ask_state(void *ep)
{
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
        DAT_EP_STATE state;

        return dat_ep_get_status(ep, &state, &recv_idle, &request_idle);
}

CASE(psp_create, providers_ep_rejected)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};
        DAT_EP_HANDLE ep;

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        ep = request_ep(t, loop.request);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_rejected(t, loop.request, &loop);

        unjudged_call(t, "dat_ep_get_status of the EP of a rejected request", ask_state, ep, false);
        expect_served_by(t, loop.psp, loop.qual, loop.requests, DAT_PSP_PROVIDER_FLAG);
}

CASE(psp_create, attributes_match)
{
        struct loop loop = {.requests = request_evd(t)};

        loop.psp = psp_new(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        psp_read_all(t, &loop);
}

CASE(psp_create, both_on_one_evd)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        DAT_PSP_HANDLE psps[2];
        DAT_CONN_QUAL quals[2];

        for (int i = 0; i < 2; i++)
                psps[i] = psp_new(t, evd, makers[i].flags, &quals[i]);
        for (int i = 0; i < 2 * PLACES; i++) {
                struct loop asks = {.active = ep_with(t)};
                DAT_CR_HANDLE request;

                loop_connect(t, asks.active, quals[i % 2]);
                request = expect_request(t, evd, psps[i % 2], quals[i % 2]);
                expect_eq(request_ep(t, request) != DAT_HANDLE_NULL,
                          makers[i % 2].flags == DAT_PSP_PROVIDER_FLAG);
                expect_rejected(t, request, &asks);
                release(t, asks.active);
        }
}
