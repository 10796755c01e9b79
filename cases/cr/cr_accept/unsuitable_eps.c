/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: local EPs that do not fit the request. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/cr/cr_accept/fixtures.h"
#include "cases/cr/shared/request.h"
#include "cases/ep/shared/states.h"
#include "cases/srq/shared/queue.h"
#include "clauses/cr_accept.h"

/* The request is made last: some transports end one that is unanswered for long. */
FAMILY(cr_accept, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                struct request request;

                if (!ep_is_in(&held, EP_IN(UNCONNECTED)))
                        ep_hold_receive(t, &held);
                request = requested_known(t, MADE_BY_CONSUMER);
                if (ep_is_in(&held, EP_IN(UNCONNECTED))) {
                        request.passive = held.ep;
                        expect_cr_accepted(t, &request);
                        continue;
                }
                expect_cr_unfit(t, dat_cr_accept(request.cr, held.ep, 0, NULL));
                expect_cr_kept(t, &request);
                expect_ep_untouched(t, &held);
                expect_cr_accepted(t, &request);
        }
}

/* An EP of the provider's, as it is made: without zone and EVDs. */
CASE(cr_accept, bare_ep)
{
        struct request request = request_at(t, MADE_BY_PROVIDER);
        unsigned char data[PRIVATE_SIZE];
        DAT_RETURN ret;

        loop_private_data(data, OF_REQUEST);
        must_ask(t, &request, (struct asks){.size = PRIVATE_SIZE, .data = data});
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        request.passive = must_tell_ep(t, request.cr);
        must_know(t, &request);
        ret = dat_cr_accept(request.cr, DAT_HANDLE_NULL, 0, NULL);
        if (dat_is(ret, DAT_SUCCESS)) {
                request_accepted(t, &request);
                end_noted(t, "an EP without zone and EVDs was connected (CR-1)");
        }
        expect_cr_unfit(t, ret);

        expect_cr_kept(t, &request);
        expect_eq(ep_state(t, request.passive), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        must_equip(t, &request);
        expect_cr_accepted(t, &request);
}

/* The very EP that asks, which is no end for its own request. */
CASE(cr_accept, asking_ep)
{
        struct request request = requested_known(t, MADE_BY_CONSUMER);

        expect_cr_unfit(t, dat_cr_accept(request.cr, request.active, 0, NULL));

        expect_cr_kept(t, &request);
        expect_cr_accepted(t, &request);
}

static DAT_EP_HANDLE ep_of_other_ia(struct test *t)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        must(dat_ep_create(other, pz_of(t, other), evd_with(t, .ia = other),
                           evd_with(t, .ia = other),
                           evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG), &attr, &ep));
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        return ep;
}

CASE(cr_accept, ep_elsewhere)
{
        struct request request = requested_known(t, MADE_BY_CONSUMER);
        DAT_EP_HANDLE elsewhere = ep_of_other_ia(t);
        DAT_RETURN ret = expect(dat_cr_accept(request.cr, elsewhere, 0, NULL), DAT_INVALID_HANDLE,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS)) {
                request_gone(t, &request);
                expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
                end_noted(t, "granted, though the EP is another IA's (GEN-12)");
        }
        expect_eq(ep_state(t, elsewhere), DAT_EP_STATE_UNCONNECTED);
        expect_cr_kept(t, &request);
        expect_cr_accepted(t, &request);
}

/* The EP that is named for a request which has one. */
static const struct named {
        const char *id;
        enum ep_maker maker;
        bool own;
} nameds[] = {
    {"own_of_provider", MADE_BY_PROVIDER, .own = true},
    {"own_of_rsp", MADE_FOR_RSP, .own = true},
    {"other_for_provider", MADE_BY_PROVIDER, .own = false},
    {"other_for_rsp", MADE_FOR_RSP, .own = false},
};

FAMILY(cr_accept, named_ep, nameds)
{
        struct request request = requested_known(t, row->maker);
        DAT_EP_HANDLE other = ep_with(t);
        DAT_EP_STATE before = ep_state(t, request.passive);
        DAT_RETURN ret = dat_cr_accept(request.cr, row->own ? request.passive : other, 0, NULL);

        if (row->own && dat_is(ret, DAT_SUCCESS)) {
                request_accepted(t, &request);
                expect_cr_connected(t, &request);
                end_noted(t, "granted with the EP that the request has, by its handle (CR-3)");
        }
        expect(ret, DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE);

        expect_cr_kept(t, &request);
        expect_eq(ep_state(t, other), DAT_EP_STATE_UNCONNECTED);
        expect_eq(ep_state(t, request.passive), before);
        expect_cr_accepted(t, &request);
}

/* After no end of refusals, the request is accepted as if it were the first attempt. */
CASE(cr_accept, after_many_refusals)
{
        struct request request = requested_known(t, MADE_BY_CONSUMER);
        DAT_EP_HANDLE other = ep_with(t);
        unsigned char data = 0;

        for (int i = 0; i < 100; i++) {
                expect(dat_cr_accept(request.cr, named_ep(&request), -1, &data),
                       DAT_INVALID_PARAMETER);
                if (request.maker == MADE_BY_CONSUMER)
                        expect(dat_cr_accept(request.cr, DAT_HANDLE_NULL, 0, NULL),
                               DAT_INVALID_HANDLE);
                else
                        expect(dat_cr_accept(request.cr, other, 0, NULL), DAT_INVALID_PARAMETER,
                               DAT_INVALID_HANDLE);
        }
        expect_cr_kept(t, &request);
        expect_cr_accepted(t, &request);
}

/* The receives were posted before the refusal, and outlive it. */
FAMILY(cr_accept, receives_after_refusal, request_kinds)
{
        struct request request = requested(t, row->maker);
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED; i++)
                loop_post_recv(t, request.passive, buf, i);
        expect(dat_cr_accept(request.cr, named_ep(&request), -1, buf->addr), DAT_INVALID_PARAMETER);
        expect_empty(t, request.recv_evd);

        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_cr_connected(t, &request);
        expect_posted_taken(t, &request, buf);
}

/* The point still hears, and neither request is in the way of the other. */
FAMILY(cr_accept, next_after_refusal, two_requests)
{
        struct request requests[2];
        unsigned char data = 0;

        requests[0] = requested(t, psp_maker(t));
        expect(dat_cr_accept(requests[0].cr, named_ep(&requests[0]), -1, &data),
               DAT_INVALID_PARAMETER);
        requests[1] = request_like(t, &requests[0]);
        must_ask(t, &requests[1], (struct asks){0});
        expect_taken(t, &requests[1]);

        expect_cr_accepted(t, &requests[row->one]);
        expect_cr_accepted(t, &requests[!row->one]);
}
