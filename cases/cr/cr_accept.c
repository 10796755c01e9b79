/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: which EP it connects to whom, what the asker is told, and what a refusal leaves.
 */
#include "clauses/cr_accept.h"
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/cr/shared/request.h"
#include "cases/ep/shared/states.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define REQUESTS 6  /* at once */
#define POSTED   3  /* receives before the connection */
#define SENT     16 /* bytes of private data */
#define ROUNDS   10 /* connections that their asker leaves */
#define WHILE    64 /* looks, at most, before it does */

/*
 * The connection
 */

FAMILY(cr_accept, connects, request_kinds)
{
        struct request request = requested(t, row->maker);

        expect_cr_accepted(t, &request);

        expect_cr_parted(t, &request);
        expect_empty(t, request.evd);
}

/* A peer's request that is accepted is a connection, and messages go both ways. */
static void expect_peer_joined(struct test *t, const struct request *request, struct peer_ep *end)
{
        struct buf *buf = buf_with(t);

        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, request->passive), DAT_EP_STATE_CONNECTED);
        loop_post_recv(t, request->passive, buf, 7);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(request->recv_evd).user_cookie.as_64, 7);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the memory has not the message");
        peer_post_recv(end, 1, MESSAGE);
        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 9);
        loop_post_send(t, request->passive, buf, 8);
        expect_eq(expect_dto(request->request_evd).user_cookie.as_64, 8);
        peer_wait_recv(end, 9, MESSAGE);
}

static void take_from_peer(struct test *t, struct request *request)
{
        request->cr = expect_cr_request(t, request->evd, request->point, request->qual);
        if (request->maker != MADE_BY_PROVIDER)
                return;
        request->passive = must_tell_ep(t, request->cr);
        must_equip(t, request);
}

FAMILY(cr_accept, peer_connects, request_kinds)
{
        struct request request = request_at(t, row->maker);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        take_from_peer(t, &request);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        expect_peer_joined(t, &request, end);
}

CASE(cr_accept, waits_for_no_peer)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        take_from_peer(t, &request);
        peer_freeze(peer(t));
        expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
}

FAMILY(cr_accept, own_asker, two_requests)
{
        struct request requests[2];

        requests[0] = requested(t, MADE_BY_CONSUMER);
        requests[1] = requested_like(t, &requests[0]);
        expect_cr_accepted(t, &requests[row->one]);

        expect_cr_kept(t, &requests[!row->one]);
        expect_eq(ep_state(t, requests[!row->one].passive), DAT_EP_STATE_UNCONNECTED);
        expect_cr_accepted(t, &requests[!row->one]);
        expect_cr_parted(t, &requests[row->one]);
        expect_cr_messages(t, &requests[!row->one]);
}

FAMILY(cr_accept, own_providers_ep, two_requests)
{
        struct request requests[2];

        requests[0] = requested(t, MADE_BY_PROVIDER);
        requests[1] = requested_like(t, &requests[0]);
        expect_cr_accepted(t, &requests[row->one]);

        expect_eq(ep_state(t, requests[!row->one].passive),
                  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_cr_accepted(t, &requests[!row->one]);
}

CASE(cr_accept, in_any_order)
{
        struct request requests[REQUESTS];
        struct request accepted[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        requests[0] = requested(t, MADE_BY_CONSUMER);
        for (int i = 1; i < count; i++)
                requests[i] = requested_like(t, &requests[0]);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                accepted[left - 1] = requests[which];
                expect(dat_cr_accept(requests[which].cr, requests[which].passive, 0, NULL),
                       DAT_SUCCESS);
                request_accepted(t, &requests[which]);
                requests[which] = requests[left - 1];
        }
        for (int i = 0; i < count; i++) {
                expect_cr_connected(t, &accepted[i]);
                expect_cr_messages(t, &accepted[i]);
        }
}

/* The EP has been connected once, and reset. */
static void use_ep(struct test *t, struct request *request)
{
        struct request other = requested_like(t, request);

        release(t, other.passive);
        other.passive = request->passive;
        expect_cr_accepted(t, &other);
        expect_cr_parted(t, &other);
        expect(dat_ep_reset(request->passive), DAT_SUCCESS);
}

static void change_ep(struct test *t, struct request *request)
{
        DAT_EP_HANDLE older = request->passive;

        request->passive = ep_with(t, .recv_evd = request->recv_evd);
        release(t, older);
}

static const struct circumstance {
        const char *id;
        void (*bring)(struct test *t, struct request *request);
} circumstances[] = {
    {"point_freed", lose_point},
    {"evd_freed", lose_point_and_evd},
    {"ep_used_before", use_ep},
    {"ep_made_since", change_ep},
};

FAMILY(cr_accept, connects_after, circumstances)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        row->bring(t, &request);

        expect_cr_accepted(t, &request);
}

CASE(cr_accept, one_connect_evd)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_EVENT events[2];

        request.active = ep_with(t, .connect_evd = request.connect_evd);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        for (int i = 0; i < 2; i++)
                events[i] = expect_event(request.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (int i = 0; i < 2; i++) {
                DAT_EP_HANDLE told = events[i].event_data.connect_event_data.ep_handle;

                expect_that(told == request.active || told == request.passive,
                            "the event names another EP");
        }
        expect_that(events[0].event_data.connect_event_data.ep_handle !=
                        events[1].event_data.connect_event_data.ep_handle,
                    "both events name one EP");
        expect_cr_messages(t, &request);
}

CASE(cr_accept, ep_of_srq)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t);

        request.passive = ep_with(t, .srq = srq, .recv_evd = request.recv_evd);
        srq_post(t, srq, buf, MESSAGE, 3, 1);
        expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_cr_connected(t, &request);

        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 5);
        loop_post_send(t, request.active, buf, 4);
        expect_eq(expect_dto(request.recv_evd).user_cookie.as_64, 3);
        expect_that(message_holds(buf->addr + 3 * MESSAGE, MESSAGE, 5),
                    "the memory has not the message");
}

/* The receives that loop_post_recv() posted take what comes, in their order. */
static void expect_posted_taken(struct test *t, const struct request *request,
                                const struct buf *buf)
{
        for (uint64_t i = 0; i < POSTED; i++) {
                message_fill(buf->addr + 2 * MESSAGE, MESSAGE, i);
                loop_post_send(t, request->active, buf, 10 + i);
                expect_eq(expect_dto(request->recv_evd).user_cookie.as_64, i);
                expect_that(message_holds(buf->addr, MESSAGE, i), "the memory has not the message");
                expect_dto(ep_request_evd(t, request->active));
        }
}

FAMILY(cr_accept, posted_before, request_kinds)
{
        struct request request = requested(t, row->maker);
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED; i++)
                loop_post_recv(t, request.passive, buf, i);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_cr_connected(t, &request);
        expect_posted_taken(t, &request, buf);
}

/* RDMA reads that an EP of the row serves and makes, where the asking one has `reads` both ways. */
static const struct depth {
        const char *id;
        DAT_COUNT more_in, less_out;
} depths[] = {
    {"equal", 0, 0},
    {"serves_more", 1, 0},
    {"makes_fewer", 0, 1},
};

static DAT_COUNT lesser(DAT_COUNT a, DAT_COUNT b)
{
        return a < b ? a : b;
}

FAMILY(cr_accept, reads, depths)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_COUNT limit =
            lesser(ia_attr(t)->max_rdma_read_per_ep_in, ia_attr(t)->max_rdma_read_per_ep_out);
        DAT_COUNT reads = lesser(2, limit);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));

        attr.max_rdma_read_iov = lesser(1, reads);
        attr.max_rdma_read_in = reads;
        attr.max_rdma_read_out = reads;
        request.active = ep_with(t, .attr = &attr);
        attr.max_rdma_read_in = lesser(reads + row->more_in, limit);
        attr.max_rdma_read_out = reads ? reads - row->less_out : 0;
        request.passive = ep_with(t, .attr = &attr);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);

        expect_cr_accepted(t, &request);
}

/*
 * Private data
 */

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

        fill(t, sent, size);
        expect(dat_cr_accept(request.cr, request.passive, size, size ? sent : NULL), DAT_SUCCESS);
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

CASE(cr_accept, no_byte_of_some)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        unsigned char unsent[SENT];
        DAT_CONNECTION_EVENT_DATA told;

        fill(t, unsent, SENT);
        expect(dat_cr_accept(request.cr, request.passive, 0, unsent), DAT_SUCCESS);
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
                expect(dat_cr_accept(requests[i].cr, requests[i].passive, SENT, sent[i]),
                       DAT_SUCCESS);
                request_accepted(t, &requests[i]);
        }
        for (int i = 0; i < count; i++) {
                DAT_CONNECTION_EVENT_DATA told =
                    expect_cr_told(t, requests[i].active, DAT_CONNECTION_EVENT_ESTABLISHED);

                expect_private_data(t, told.private_data, told.private_data_size, sent[i], SENT);
        }
}

FAMILY(cr_accept, private_data_to_peer, amounts)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);
        DAT_COUNT size = lesser(amount_of(t, row), PEER_PRIVATE_MAX);
        unsigned char sent[PEER_PRIVATE_MAX];
        struct peer_event told;

        fill(t, sent, PEER_PRIVATE_MAX);
        take_from_peer(t, &request);
        expect(dat_cr_accept(request.cr, request.passive, size, sent), DAT_SUCCESS);
        request_accepted(t, &request);

        told = peer_wait_event(end);
        expect_eq(told.number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, size);
}

static const struct amount bad_sizes[] = {
    {"minus_one", INT_MIN + 1}, /* as they are, below */
    {"minus_two", -2},          {"least", INT_MIN}, {"one_past_most", 0}, {"by_far", INT_MAX},
};

static DAT_COUNT bad_size(struct test *t, const struct amount *row)
{
        if (row->size == INT_MIN + 1)
                return -1;
        return row->size ? row->size : provider_attr(t)->max_private_data_size + 1;
}

FAMILY(cr_accept, invalid_size, bad_sizes)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        DAT_COUNT most = provider_attr(t)->max_private_data_size;
        unsigned char *data = buf_with(t, .length = (size_t)most + 1)->addr;

        expect(dat_cr_accept(request.cr, request.passive, bad_size(t, row), data),
               DAT_INVALID_PARAMETER);

        expect_eq(ep_state(t, request.passive), DAT_EP_STATE_UNCONNECTED);
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
        struct request request = requested(t, row->maker);
        unsigned char data = 0;

        expect(dat_cr_accept(request.cr, named_ep(&request), -1, &data), DAT_INVALID_PARAMETER);

        expect_cr_kept(t, &request);
        expect_eq(ep_state(t, request.passive), states[row->maker]);
        expect_cr_accepted(t, &request);
}

/*
 * EPs that do not fit
 */

FAMILY(cr_accept, in_state, ep_states)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct ep_held held = ep_hold(t, row->state);
        struct request with_held = request;

        if (ep_is_in(&held, EP_IN(UNCONNECTED))) {
                with_held.passive = held.ep;
                expect_cr_accepted(t, &with_held);
                return;
        }
        expect_cr_unfit(t, dat_cr_accept(request.cr, held.ep, 0, NULL));
        expect_cr_kept(t, &request);
        expect_ep_untouched(t, &held);
        expect_cr_accepted(t, &request);
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

static DAT_EP_HANDLE ep_of_other_ia(struct test *t)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        must(dat_ep_create(other, pz_of(t, other), evd_with(t, .ia = other),
                           evd_with(t, .ia = other),
                           evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG), &attr, &ep));
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        return ep;
}

CASE(cr_accept, ep_elsewhere)
{
        struct request request = requested(t, MADE_BY_CONSUMER);
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
        struct request request = requested(t, row->maker);
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
        struct request request = requested(t, MADE_BY_CONSUMER);
        unsigned char data = 0;

        for (int i = 0; i < 100; i++) {
                expect(dat_cr_accept(request.cr, request.passive, -1, &data),
                       DAT_INVALID_PARAMETER);
                expect(dat_cr_accept(request.cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE);
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

        requests[0] = requested(t, MADE_BY_CONSUMER);
        expect(dat_cr_accept(requests[0].cr, requests[0].passive, -1, &data),
               DAT_INVALID_PARAMETER);
        requests[1] = request_like(t, &requests[0]);
        must_ask(t, &requests[1], (struct asks){0});
        requests[1].cr = expect_cr_request(t, requests[1].evd, requests[1].point, requests[1].qual);

        expect_cr_accepted(t, &requests[row->one]);
        expect_cr_accepted(t, &requests[!row->one]);
}

/*
 * Connections that cannot be
 */

static void post_some(struct test *t, const struct request *request)
{
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED; i++)
                loop_post_recv(t, request->passive, buf, i);
}

static void expect_flushed(struct test *t, const struct request *request)
{
        for (uint64_t i = 0; i < POSTED; i++) {
                DAT_EVENT event = expect_event(request->recv_evd, DAT_DTO_COMPLETION_EVENT);
                const DAT_DTO_COMPLETION_EVENT_DATA *dto =
                    &event.event_data.dto_completion_event_data;

                expect_eq(dto->user_cookie.as_64, i);
                expect_eq(dto->status, DAT_DTO_ERR_FLUSHED);
                expect_that(dto->ep_handle == request->passive, "the event names another EP");
        }
        expect_empty(t, request->recv_evd);
}

/* The EP accepts another request, of which it is told next. */
static void expect_accepts_another(struct test *t, const struct request *request)
{
        struct request other = requested(t, MADE_BY_CONSUMER);

        expect(dat_ep_reset(request->passive), DAT_SUCCESS);
        other.passive = request->passive;
        expect_cr_accepted(t, &other);
}

/*
 * The request whose asker is lost is accepted, and the local EP is told that there is no
 * connection; or, which is noted, not accepted, with no effect (CR-5).
 */
static void expect_in_vain(struct test *t, struct request *request)
{
        DAT_RETURN ret;

        post_some(t, request);
        ret = dat_cr_accept(request->cr, named_ep(request), 0, NULL);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_cr_unfit(t, ret);
                expect_empty(t, request->recv_evd);
                expect(dat_cr_reject(request->cr), DAT_SUCCESS);
                request_gone(t, request);
                end_noted(t, "the accept itself says that the asker has gone (CR-5)");
        }
        request_accepted(t, request);
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        expect_ep_in(t, request->passive, DAT_EP_STATE_DISCONNECTED);
        expect_flushed(t, request);
        expect_accepts_another(t, request);
}

FAMILY(cr_accept, asker_gone, asker_losses)
{
        struct request request = requested_in_vain(t, MADE_BY_CONSUMER, row);

        expect_in_vain(t, &request);
}

FAMILY(cr_accept, asker_gone_by_kind, request_kinds)
{
        struct request request = requested_in_vain(t, row->maker, &asker_losses[0]);

        expect_in_vain(t, &request);
}

FAMILY(cr_accept, peer_gone, peer_losses)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer *asks = peer(t);
        struct peer_ep *end = peer_request(asks, request.qual);

        take_from_peer(t, &request);
        row->lose(end, asks);

        expect_in_vain(t, &request);
}

/* The end that each side hears of, after the connection or instead of it; and the last event. */
static DAT_EVENT_NUMBER expect_end(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++) {
                expect(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more),
                       DAT_SUCCESS);
                expect_that(event.event_data.connect_event_data.ep_handle == ep,
                            "the event names another EP");
                if (i || event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
                        break;
        }
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, ep));
        return event.event_number;
}

CASE(cr_accept, asker_leaves_at_once)
{
        DAT_COUNT rounds = cap_at_limit(t, ROUNDS, DAT_HANDLE_TYPE_EP, 2);

        for (int round = 0; round < rounds; round++) {
                struct request request = requested(t, MADE_BY_CONSUMER);
                uint64_t looks = draw(t, WHILE);
                DAT_EVENT_NUMBER end;

                expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
                request_accepted(t, &request);
                for (uint64_t i = 0; i < looks; i++)
                        ep_state(t, request.active);
                expect(dat_ep_disconnect(request.active, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);

                expect_eq(expect_end(t, request.active), DAT_CONNECTION_EVENT_DISCONNECTED);
                end = expect_end(t, request.passive);
                expect_that(end == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
                                end == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                end == DAT_CONNECTION_EVENT_BROKEN,
                            "the last event is 0x%x", (unsigned int)end);
        }
}

static const struct leaving {
        const char *id;
        DAT_CLOSE_FLAGS flags;
} leavings[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG},
};

/* One end was told of the connection, so it was there for the other end too, however short. */
static void expect_was_there(struct test *t, const struct request *request)
{
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_ep_in(t, request->passive, DAT_EP_STATE_DISCONNECTED);
        expect_flushed(t, request);
        expect_empty(t, ep_connect_evd(t, request->passive));
}

FAMILY(cr_accept, asker_leaves_connected, leavings)
{
        DAT_COUNT rounds = cap_at_limit(t, ROUNDS, DAT_HANDLE_TYPE_EP, 2);

        for (int round = 0; round < rounds; round++) {
                struct request request = requested(t, MADE_BY_CONSUMER);

                post_some(t, &request);
                expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
                request_accepted(t, &request);
                expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
                expect(dat_ep_disconnect(request.active, row->flags), DAT_SUCCESS);

                expect_was_there(t, &request);
                expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_DISCONNECTED);
        }
}

FAMILY(cr_accept, peer_leaves_connected, leavings)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        take_from_peer(t, &request);
        post_some(t, &request);
        expect(dat_cr_accept(request.cr, request.passive, 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_disconnect(end, row->flags);

        expect_was_there(t, &request);
}

/*
 * The handle afterwards
 */

FAMILY(cr_accept, handle_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        make_for_uses(t);
        expect_cr_accepted(t, &request);

        expect_stale(row->call, request.cr);
}

FAMILY(cr_accept, handle_of_reserved_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_FOR_RSP);

        make_for_uses(t);
        expect_cr_accepted(t, &request);

        expect_stale(row->call, request.cr);
}

FAMILY(cr_accept, handle_of_lost_afterwards, cr_uses)
{
        struct request request = requested_in_vain(t, MADE_BY_CONSUMER, &asker_losses[0]);
        DAT_RETURN ret;

        make_for_uses(t);
        ret = dat_cr_accept(request.cr, request.passive, 0, NULL);
        if (!dat_is(ret, DAT_SUCCESS))
                end_noted(t, "the accept itself says that the asker has gone (CR-5)");
        request_accepted(t, &request);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);

        expect_stale(row->call, request.cr);
}

LEGAL(cr_accept)
{
        static unsigned char data[PRIVATE_SIZE];
        struct request request = requested(t, MADE_BY_CONSUMER);

        request_gone(t, &request);
        call->cr_handle = request.cr;
        call->ep_handle = request.passive;
        call->private_data_size = PRIVATE_SIZE;
        call->private_data = data;
}
