/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: requests whose connection cannot be made. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/cr/cr_accept/fixtures.h"
#include "cases/cr/shared/request.h"
#include "cases/srq/shared/queue.h"
#include "clauses/cr_accept.h"

#define ROUNDS 10 /* connections that their asker leaves */
#define WHILE  64 /* looks, at most, before it does */

#define BRIEFLY ((DAT_TIMEOUT)300000) /* microseconds for an event that need not come */

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

/* The EP accepts another request, and its next event is of that connection. */
static void expect_accepts_another(struct test *t, const struct request *request)
{
        struct request other;

        expect(dat_ep_reset(request->passive), DAT_SUCCESS);
        other = requested_for(t, request->passive);
        expect_cr_accepted(t, &other);
}

/*
 * The request whose asker is lost is accepted, and the local EP gets the event that there is no
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

FAMILY(cr_accept, untaken_asker_gone, asker_losses)
{
        struct request request = expect_taken_in_vain(t, MADE_BY_CONSUMER, row);

        expect_in_vain(t, &request);
}

FAMILY(cr_accept, asker_gone_by_kind, request_kinds)
{
        struct request request = requested_in_vain(t, row->maker, &asker_losses[0]);

        expect_in_vain(t, &request);
}

/* The same of EPs that came with their request, after its time. */
FAMILY(cr_accept, asker_timed_out, own_ep_kinds)
{
        struct request request = requested_in_vain(t, row->maker, &asker_losses[1]);

        expect_in_vain(t, &request);
}

enum { IA, ZONE, RECVS, REQUESTS_OF, CONNECTS, ASKER, MADE };

/* The EP that asks is of another opening of the IA, which is closed then. */
CASE(cr_accept, asker_closed)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_HANDLE made[MADE];

        must(dat_ia_open(ia_name(t), 8, &async, &made[IA]));
        adopt(t, DAT_HANDLE_TYPE_IA, made[IA]);
        made[ZONE] = pz_of(t, made[IA]);
        made[RECVS] = evd_with(t, .ia = made[IA]);
        made[REQUESTS_OF] = evd_with(t, .ia = made[IA]);
        made[CONNECTS] = evd_with(t, .ia = made[IA], .flags = DAT_EVD_CONNECTION_FLAG);
        must(dat_ep_create(made[IA], made[ZONE], made[RECVS], made[REQUESTS_OF], made[CONNECTS],
                           &attr, &made[ASKER]));
        adopt(t, DAT_HANDLE_TYPE_EP, made[ASKER]);
        release(t, request.active);
        request.active = made[ASKER];
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        for (int i = MADE - 1; i >= 0; i--)
                disown(t, made[i]);
        must(dat_ia_close(made[IA], DAT_CLOSE_ABRUPT_FLAG));

        expect_in_vain(t, &request);
}

FAMILY(cr_accept, peer_gone, peer_losses)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer *asks = peer(t);
        struct peer_ep *end = peer_request(asks, request.qual);

        expect_taken(t, &request);
        row->lose(end, asks);

        expect_in_vain(t, &request);
}

/*
 * The last event of a side, after that of the connection or instead of it. One whose request was
 * aborted may have none (EP-21), which is 0.
 */
static DAT_EVENT_NUMBER expect_end(struct test *t, DAT_EP_HANDLE ep, bool aborted)
{
        DAT_EVENT event;
        DAT_COUNT more;

        for (int i = 0; i < 2; i++) {
                bool silent = aborted && !i;
                DAT_TIMEOUT timeout = silent ? BRIEFLY : event_timeout(t);
                DAT_RETURN ret = dat_evd_wait(ep_connect_evd(t, ep), timeout, 1, &event, &more);

                if (silent && dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
                        return 0;
                }
                expect(ret, DAT_SUCCESS);
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
                DAT_EP_STATE state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
                DAT_EVENT_NUMBER end;

                expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
                request_accepted(t, &request);
                for (uint64_t i = 0; i < looks; i++)
                        state = ep_state(t, request.active);
                expect(dat_ep_disconnect(request.active, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);

                end = expect_end(t, request.active, state != DAT_EP_STATE_CONNECTED);
                expect_that(end == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                (state != DAT_EP_STATE_CONNECTED &&
                                 (!end || end == DAT_CONNECTION_EVENT_NON_PEER_REJECTED)),
                            "the last event of the side that left is %s", name_of_event(end));
                end = expect_end(t, request.passive, false);
                expect_that(end == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR ||
                                end == DAT_CONNECTION_EVENT_DISCONNECTED ||
                                end == DAT_CONNECTION_EVENT_BROKEN,
                            "the last event is %s", name_of_event(end));
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
                expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
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

        expect_taken(t, &request);
        post_some(t, &request);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_disconnect(end, row->flags);

        expect_was_there(t, &request);
}
