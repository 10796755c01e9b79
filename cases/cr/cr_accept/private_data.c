/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: private data of the accept. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/cr/cr_accept/fixtures.h"
#include "cases/cr/shared/request.h"
#include "cases/ep/shared/modify_table.h"
#include "clauses/cr_accept.h"

#include <limits.h>
#include <string.h>

#define SENT 16 /* bytes of private data */

static void fill(struct test *t, unsigned char *data, DAT_COUNT size)
{
        for (DAT_COUNT i = 0; i < size; i++)
                data[i] = (unsigned char)(1 + draw(t, 255));
}

FAMILY(cr_accept, private_data, amounts)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        DAT_COUNT size = amount_of(t, row);
        unsigned char *sent = buf_with(t, .length = (size_t)size + 1)->addr;
        DAT_CONNECTION_EVENT_DATA told;

        draw_amount(t, row, sent, size);
        expect(dat_cr_accept(request.cr, named_ep(&request), size, size ? sent : NULL),
               DAT_SUCCESS);
        request_accepted(t, &request);

        told = expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, size);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
}

FAMILY(cr_accept, private_data_by_kind, request_kinds)
{
        struct request request = requested(t, row->maker);
        unsigned char sent[SENT];
        DAT_CONNECTION_EVENT_DATA told;

        fill(t, sent, SENT);
        expect(dat_cr_accept(request.cr, named_ep(&request), SENT, sent), DAT_SUCCESS);
        request_accepted(t, &request);

        told = expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, SENT);
}

/* What stood there at the call counts, whatever stands there when the call has returned. */
FAMILY(cr_accept, private_data_copied, request_kinds)
{
        struct request request = requested(t, row->maker);
        unsigned char sent[SENT];
        unsigned char given[SENT];
        DAT_CONNECTION_EVENT_DATA told;

        fill(t, sent, SENT);
        memcpy(given, sent, SENT);
        expect(dat_cr_accept(request.cr, named_ep(&request), SENT, given), DAT_SUCCESS);
        memset(given, 0, sizeof(given));
        request_accepted(t, &request);

        told = expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, SENT);
}

CASE(cr_accept, no_byte_of_some)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        unsigned char unsent[SENT];
        DAT_CONNECTION_EVENT_DATA told;

        fill(t, unsent, SENT);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, unsent), DAT_SUCCESS);
        request_accepted(t, &request);

        told = expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, unsent, 0);
}

CASE(cr_accept, own_private_data)
{
        struct request requests[REQUESTS];
        unsigned char sent[REQUESTS][SENT];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        requests[0] = requested(t, MADE_BY_CONSUMER);
        for (int i = 1; i < count; i++)
                requests[i] = requested_like(t, &requests[0]);
        for (int i = count - 1; i >= 0; i--) {
                fill(t, sent[i], SENT);
                expect(dat_cr_accept(requests[i].cr, named_ep(&requests[i]), SENT, sent[i]),
                       DAT_SUCCESS);
                request_accepted(t, &requests[i]);
        }
        for (int i = 0; i < count; i++) {
                DAT_CONNECTION_EVENT_DATA told =
                    expect_cr_told(t, requests[i].active, DAT_CONNECTION_EVENT_ESTABLISHED);

                expect_private_data(t, told.private_data, told.private_data_size, sent[i], SENT);
        }
}

static void expect_accepted_with(struct test *t, struct request *request, DAT_COUNT size)
{
        DAT_CONNECTION_EVENT_DATA told;
        unsigned char sent[SENT];

        fill(t, sent, size);
        expect(dat_cr_accept(request->cr, named_ep(request), size, sent), DAT_SUCCESS);
        request_accepted(t, request);
        told = expect_cr_told(t, request->active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, size);
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* An EP that has sent private data before, and more, accepts with other data. */
CASE(cr_accept, private_data_anew)
{
        struct request before = requested(t, MADE_BY_CONSUMER);
        bool waits = !provider_makes_all_eps(t); /* the next request, meanwhile */
        struct request request =
            waits ? requested_for(t, before.passive) : (struct request){.maker = before.maker};

        expect_accepted_with(t, &before, SENT);
        expect_cr_parted(t, &before);
        expect(dat_ep_reset(before.passive), DAT_SUCCESS);
        if (!waits)
                request = requested_for(t, before.passive);
        expect_accepted_with(t, &request, SENT / 2);
}

static DAT_RETURN accept_with_reserved(struct test *t, const struct request *request,
                                       unsigned char *data)
{
        DAT_EP_HANDLE ep = ep_with(t);
        DAT_CONN_QUAL qual;

        rsp_new(t, ep, request_evd(t), &qual);
        return dat_cr_accept(request->cr, ep, SENT, data);
}

static DAT_RETURN accept_with_none(struct test *t, const struct request *request,
                                   unsigned char *data)
{
        (void)t;
        return dat_cr_accept(request->cr, DAT_HANDLE_NULL, SENT, data);
}

static DAT_RETURN accept_negative(struct test *t, const struct request *request,
                                  unsigned char *data)
{
        (void)t;
        return dat_cr_accept(request->cr, named_ep(request), -1, data);
}

static const struct refused_first {
        const char *id;
        DAT_RETURN (*call)(struct test *t, const struct request *request, unsigned char *data);
} refused_first[] = {
    {"reserved_ep", accept_with_reserved},
    {"no_ep", accept_with_none},
    {"negative_size", accept_negative},
};

/* The refused call had other data, and more of it. */
FAMILY(cr_accept, private_data_of_refused, refused_first)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        unsigned char refused[SENT];

        fill(t, refused, SENT);
        expect_cr_unfit(t, row->call(t, &request, refused));
        expect_accepted_with(t, &request, SENT / 2);
}

FAMILY(cr_accept, private_data_to_peer, amounts)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);
        DAT_COUNT size = lesser(amount_of(t, row), PEER_PRIVATE_MAX);
        unsigned char sent[PEER_PRIVATE_MAX + 1];
        struct peer_event told;

        draw_amount(t, row, sent, size);
        expect_taken(t, &request);
        expect(dat_cr_accept(request.cr, named_ep(&request), size, sent), DAT_SUCCESS);
        request_accepted(t, &request);

        told = peer_wait_event(end);
        expect_eq(told.number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, size);
}

static const struct amount bad_sizes[] = {
    {"minus_one", INT_MIN + 1, 0}, /* as they are, below */
    {"minus_two", -2, 0},          {"least", INT_MIN, 0},
    {"one_past_most", 0, 0},       {"by_far", INT_MAX, 0},
};

static DAT_COUNT bad_size(struct test *t, const struct amount *row)
{
        if (row->size == INT_MIN + 1)
                return -1;
        return row->size ? row->size : provider_attr(t)->max_private_data_size + 1;
}

FAMILY(cr_accept, invalid_size, bad_sizes)
{
        struct request request = requested_known(t, MADE_BY_CONSUMER);
        DAT_COUNT most = provider_attr(t)->max_private_data_size;
        unsigned char *data = buf_with(t, .length = (size_t)most + 1)->addr;
        DAT_EP_STATE before = ep_state(t, request.passive);

        expect(dat_cr_accept(request.cr, named_ep(&request), bad_size(t, row), data),
               DAT_INVALID_PARAMETER);

        expect_eq(ep_state(t, request.passive), before);
        expect_empty(t, request.connect_evd);
        expect_cr_kept(t, &request);
        expect_cr_accepted(t, &request);
}

FAMILY(cr_accept, invalid_size_by_kind, request_kinds)
{
        static const DAT_EP_STATE states[] = {
            [MADE_BY_CONSUMER] = DAT_EP_STATE_UNCONNECTED,
            [MADE_BY_PROVIDER] = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
            [MADE_FOR_RSP] = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
        };
        struct request request = requested_known(t, row->maker);
        struct ep_snapshot before = ep_look(t, request.passive);
        unsigned char data = 0;

        expect(dat_cr_accept(request.cr, named_ep(&request), -1, &data), DAT_INVALID_PARAMETER);

        expect_cr_kept(t, &request);
        expect_eq(ep_state(t, request.passive), states[row->maker]);
        expect_ep_kept(t, request.passive, &before, (DAT_EP_PARAM_MASK)0);
        expect_cr_accepted(t, &request);
}
