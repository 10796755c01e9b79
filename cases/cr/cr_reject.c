/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_reject: events at both ends, EPs that are free again, and the remains of the request. */
#include "clauses/cr_reject.h"
#include "case/standard.h"
#include "cases/cr/shared/request.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/handle/shared/object.h"

#include <string.h>

#define REQUESTS 6  /* at once */
#define TIMES    40 /* that a request is made and rejected */
#define POSTED   4  /* receives */

/* The EP, which was rejected, asks once more, and its connection is the next thing that it hears.
 */
static void expect_asks_again(struct test *t, DAT_EP_HANDLE active)
{
        struct request again = request_at(t, MADE_BY_CONSUMER);

        expect(dat_ep_reset(active), DAT_SUCCESS);
        again.active = active;
        expect(dat_ep_connect(active, ia_address(t), again.qual, event_timeout(t), 0, NULL,
                              DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        again.cr = expect_cr_request(t, again.evd, again.point, again.qual);
        expect_cr_accepted(t, &again);
}

/*
 * The EP that asked
 */

FAMILY(cr_reject, asker_told, request_kinds)
{
        struct request request = requested(t, row->maker);

        expect_cr_rejected(t, &request);

        expect_asks_again(t, request.active);
        expect_empty(t, request.evd);
        expect_empty(t, request.connect_evd);
}

FAMILY(cr_reject, peer_told, request_kinds)
{
        struct request request = request_at(t, row->maker);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_PEER_REJECTED);
        if (row->maker == MADE_FOR_RSP)
                expect_eq(ep_state(t, request.passive), DAT_EP_STATE_UNCONNECTED);
}

FAMILY(cr_reject, peers_other_request, two_requests)
{
        struct request requests[2];
        struct request *other = &requests[!row->one];
        struct peer_ep *ends[2];

        requests[0] = request_at(t, MADE_BY_CONSUMER);
        requests[1] = request_like(t, &requests[0]);
        for (int i = 0; i < 2; i++) {
                ends[i] = peer_request(peer(t), requests[i].qual);
                requests[i].cr =
                    expect_cr_request(t, requests[i].evd, requests[i].point, requests[i].qual);
        }
        expect(dat_cr_reject(requests[row->one].cr), DAT_SUCCESS);
        request_gone(t, &requests[row->one]);

        expect_eq(peer_wait_event(ends[row->one]).number, DAT_CONNECTION_EVENT_PEER_REJECTED);
        expect(dat_cr_accept(other->cr, named_ep(other), 0, NULL), DAT_SUCCESS);
        request_accepted(t, other);
        expect_cr_told(t, other->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(peer_wait_event(ends[!row->one]).number, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/*
 * The EP that came with the request
 */

static void is_unconnected(struct test *t, struct request *request)
{
        expect_ep_in(t, request->passive, DAT_EP_STATE_UNCONNECTED);
}

static void has_parameters(struct test *t, struct request *request)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_ep_query(request->passive, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the IA is another one");
        expect_that(param.pz_handle == request->zone, "the zone is another one");
        expect_that(param.recv_evd_handle == request->recv_evd, "the receive EVD is another one");
        expect_that(param.request_evd_handle == request->request_evd,
                    "the request EVD is another one");
        expect_that(param.connect_evd_handle == request->connect_evd,
                    "the connect EVD is another one");
}

static void accepts(struct test *t, struct request *request)
{
        struct request other = requested_for(t, request->passive);

        expect_cr_accepted(t, &other);
}

static void asks(struct test *t, struct request *request)
{
        expect_eq(ep_state(t, request->passive), DAT_EP_STATE_UNCONNECTED);
        expect_asks_again(t, request->passive);
}

static void is_reserved(struct test *t, struct request *request)
{
        struct request other = *request;

        other.active = ep_with(t);
        other.point = rsp_new(t, request->passive, request->evd, &other.qual);
        expect_eq(ep_state(t, request->passive), DAT_EP_STATE_RESERVED);
        must_ask(t, &other, (struct asks){0});
        other.cr = expect_cr_request(t, other.evd, other.point, other.qual);
        expect_cr_accepted(t, &other);
}

static void is_freed(struct test *t, struct request *request)
{
        const DAT_EVD_HANDLE evds[] = {request->recv_evd, request->request_evd,
                                       request->connect_evd};

        expect(dat_ep_free(request->passive), DAT_SUCCESS);
        disown(t, request->passive);
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
}

static void is_modified(struct test *t, struct request *request)
{
        DAT_EP_PARAM param = {.recv_evd_handle = request->request_evd};

        expect(dat_ep_modify(request->passive, DAT_EP_FIELD_RECV_EVD_HANDLE, &param), DAT_SUCCESS);
        ep_reports_to(t, request->passive, DAT_EP_FIELD_RECV_EVD_HANDLE, param.recv_evd_handle);
        accepts(t, request);
        expect_empty(t, request->recv_evd);
}

static void takes_receives(struct test *t, struct request *request)
{
        struct request other;
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        for (uint64_t i = 0; i < POSTED; i++)
                expect(dat_ep_post_recv(request->passive, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        other = requested_for(t, request->passive);
        expect(dat_cr_accept(other.cr, named_ep(&other), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &other);
        expect_cr_connected(t, &other);
        expect_in_order(t, other.active, other.passive, buf, POSTED);
}

static const struct ep_use {
        const char *id;
        void (*use)(struct test *t, struct request *request);
} ep_uses[] = {
    {"unconnected", is_unconnected},
    {"parameters", has_parameters},
    {"accepts", accepts},
    {"asks", asks},
    {"reserved", is_reserved},
    {"modified", is_modified},
    {"receives", takes_receives},
    {"freed", is_freed},
};

FAMILY(cr_reject, reserved_ep, ep_uses)
{
        struct request request = requested(t, MADE_FOR_RSP);

        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);

        row->use(t, &request);
}

CASE(cr_reject, reserved_of_provider)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);

        request.point = rsp_new(t, DAT_HANDLE_NULL, request.evd, &request.qual);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect_cr_rejected(t, &request);

        expect_asks_again(t, request.active);
        expect_empty(t, request.evd);
}

/* The IA counts the EP of the request no more. */
CASE(cr_reject, ia_closes)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EVD_HANDLE evd = evd_with(t, .ia = other, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
        DAT_EP_HANDLE asker = ep_with(t);
        DAT_CONN_QUAL qual = point_qual(t);
        DAT_PSP_HANDLE psp;
        DAT_EVENT event;

        must(dat_psp_create(other, qual, evd, DAT_PSP_PROVIDER_FLAG, &psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        loop_connect(t, asker, qual);
        event = must_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        expect(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle), DAT_SUCCESS);
        expect_cr_told(t, asker, DAT_CONNECTION_EVENT_PEER_REJECTED);

        release(t, psp);
        release(t, evd);
        disown(t, other);
        expect(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
}

CASE(cr_reject, reserved_receives)
{
        struct request request = requested(t, MADE_FOR_RSP);
        struct request other;
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED; i++)
                loop_post_recv(t, request.passive, buf, i);
        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);
        expect_empty(t, request.recv_evd);

        other = requested_for(t, request.passive);
        expect(dat_cr_accept(other.cr, named_ep(&other), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &other);
        expect_cr_connected(t, &other);
        expect_in_order(t, other.active, other.passive, buf, POSTED);
}

/* What an EP has at its end that was Unconnected when an RSP was made with it. */
CASE(cr_reject, reserved_ep_as_before)
{
        DAT_EP_HANDLE ep = ep_with(t);
        uint64_t context = draw_context(t);
        struct ep_snapshot before = ep_snapshot(t, ep);
        struct request request;

        must(dat_set_consumer_context(ep, CONTEXT(context)));
        request = reserved_for(t, ep);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect_cr_rejected(t, &request);

        expect_ep_kept(t, ep, &before, (DAT_EP_PARAM_MASK)0);
        expect_context(t, ep, context);
}

/*
 * What stays
 */

FAMILY(cr_reject, other_request, two_requests)
{
        struct request requests[2];

        requests[0] = requested_known(t, MADE_BY_CONSUMER);
        requests[1] = requested_known_like(t, &requests[0]);
        expect_cr_rejected(t, &requests[row->one]);

        expect_cr_kept(t, &requests[!row->one]);
        expect_cr_accepted(t, &requests[!row->one]);
        expect_cr_parted(t, &requests[!row->one]);
        expect_empty(t, requests[row->one].evd);
}

FAMILY(cr_reject, other_providers_ep, two_requests)
{
        struct request requests[2];

        requests[0] = requested(t, MADE_BY_PROVIDER);
        requests[1] = requested_like(t, &requests[0]);
        expect_cr_rejected(t, &requests[row->one]);

        expect_cr_accepted(t, &requests[!row->one]);
}

CASE(cr_reject, in_any_order)
{
        struct request requests[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        requests[0] = requested_known(t, MADE_BY_CONSUMER);
        for (int i = 1; i < count; i++)
                requests[i] = requested_known_like(t, &requests[0]);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                expect_cr_rejected(t, &requests[which]);
                requests[which] = requests[left - 1];
                for (int i = 0; i < left - 1; i++)
                        expect_cr_kept(t, &requests[i]);
        }
}

/* Whether an RSP is there after its request is left open (RSP-1). */
static void free_spent(struct test *t, DAT_RSP_HANDLE rsp)
{
        DAT_RETURN ret;

        disown(t, rsp);
        ret = dat_rsp_free(rsp);
        must_that(dat_is(ret, DAT_SUCCESS) || dat_is(ret, DAT_INVALID_HANDLE),
                  "the RSP whose request was rejected cannot be freed");
}

FAMILY(cr_reject, often, request_kinds)
{
        struct request request = request_at(t, row->maker);

        for (int i = 0; i < TIMES; i++) {
                must_ask(t, &request, (struct asks){0});
                request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
                expect_cr_rejected(t, &request);
                expect(dat_ep_reset(request.active), DAT_SUCCESS);
                if (row->maker != MADE_FOR_RSP)
                        continue;
                free_spent(t, request.point);
                request.point = rsp_new(t, request.passive, request.evd, &request.qual);
        }
        must_ask(t, &request, (struct asks){0});
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        if (row->maker == MADE_BY_PROVIDER) {
                request.passive = must_tell_ep(t, request.cr);
                must_equip(t, &request);
        }
        expect_cr_accepted(t, &request);
}

CASE(cr_reject, points_stay)
{
        struct request request = request_at(t, psp_maker(t));
        struct request other = request_at(t, psp_maker(t));
        struct request reserved = request_at(t, MADE_FOR_RSP);
        const DAT_EP_HANDLE idle[] = {request.active, request.passive, other.active, other.passive};

        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect_cr_rejected(t, &request);
        for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
                if (idle[i])
                        release(t, idle[i]);

        expect_psp(t, other.point, other.qual, other.evd, psp_flags_granted(t));
        expect_rsp(t, reserved.point, reserved.qual, reserved.passive, reserved.evd);
        expect_served(t, request.point, request.qual, request.evd);
        expect_served(t, other.point, other.qual, other.evd);
        must_ask(t, &reserved, (struct asks){0});
        reserved.cr = expect_cr_request(t, reserved.evd, reserved.point, reserved.qual);
        expect_cr_accepted(t, &reserved);
}

/* A service point at a qualifier of the provider's choice keeps working, and can be freed. */
CASE(cr_reject, chosen_point_stays)
{
        struct request request = request_at(t, psp_maker(t));

        request.point = DAT_HANDLE_NULL;
        must(dat_psp_create_any(ia(t), &request.qual, request.evd, psp_flags_granted(t),
                                &request.point));
        adopt(t, DAT_HANDLE_TYPE_PSP, request.point);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect_cr_rejected(t, &request);

        expect_psp(t, request.point, request.qual, request.evd, psp_flags_granted(t));
        expect_served(t, request.point, request.qual, request.evd);
        expect(dat_psp_free(request.point), DAT_SUCCESS);
        disown(t, request.point);
        expect_refused(t, request.qual, request.evd);
}

static void free_psp(struct test *t, DAT_HANDLE point)
{
        expect(dat_psp_free(point), DAT_SUCCESS);
        disown(t, point);
}

/* Nothing of the request is left that would hold what it was made of. */
FAMILY(cr_reject, lets_go, request_kinds)
{
        struct request request = request_at(t, row->maker);
        const DAT_EVD_HANDLE evds[] = {request.recv_evd, request.request_evd, request.connect_evd,
                                       request.evd};
        struct buf *buf;

        if (row->maker == MADE_BY_PROVIDER)
                request.zone = pz_new(t);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        buf = buf_with(t, .pz = request.zone);
        loop_post_recv(t, request.passive, buf, 1);
        expect_cr_rejected(t, &request);
        if (row->maker == MADE_FOR_RSP)
                free_spent(t, request.point);
        else
                free_psp(t, request.point);
        if (row->maker != MADE_BY_PROVIDER) {
                expect(dat_ep_free(request.passive), DAT_SUCCESS);
                disown(t, request.passive);
        }
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
                expect(dat_evd_free(evds[i]), DAT_SUCCESS);
                disown(t, evds[i]);
        }
        if (row->maker == MADE_BY_PROVIDER) {
                release(t, buf->lmr);
                expect(dat_pz_free(request.zone), DAT_SUCCESS);
                disown(t, request.zone);
        }
}

/* Of two RSPs, the one whose request was not rejected has its own still. */
FAMILY(cr_reject, other_reserved, two_requests)
{
        struct request requests[2];

        for (int i = 0; i < 2; i++)
                requests[i] = request_at(t, MADE_FOR_RSP);
        must_ask(t, &requests[row->one], (struct asks){0});
        must_take(t, &requests[row->one]);
        expect_cr_rejected(t, &requests[row->one]);

        expect_rsp(t, requests[!row->one].point, requests[!row->one].qual,
                   requests[!row->one].passive, requests[!row->one].evd);
        expect_eq(ep_state(t, requests[!row->one].passive), DAT_EP_STATE_RESERVED);
        must_ask(t, &requests[!row->one], (struct asks){0});
        must_take(t, &requests[!row->one]);
        expect_cr_accepted(t, &requests[!row->one]);
}

/*
 * What was refused before
 */

static DAT_RETURN accept_for_none(struct test *t, const struct request *request)
{
        (void)t;
        return dat_cr_accept(request->cr, DAT_HANDLE_NULL, 0, NULL);
}

static DAT_RETURN hand_to_none(struct test *t, const struct request *request)
{
        DAT_CONN_QUAL qual;
        DAT_RETURN ret;

        release(t, loop_listen(t, request->evd, psp_flags_granted(t), &qual));
        ret = dat_cr_handoff(request->cr, qual);
        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        request_gone(t, request);
        end_noted(t, "a handoff to a qualifier without a listener is not refused (CR-9)");
}

static DAT_RETURN query_nothing_known(struct test *t, const struct request *request)
{
        DAT_CR_PARAM param;

        (void)t;
        return dat_cr_query(request->cr, (DAT_CR_PARAM_MASK)(DAT_CR_FIELD_ALL + 1), &param);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*call)(struct test *t, const struct request *request);
} refusals[] = {
    {"accept", accept_for_none},
    {"handoff", hand_to_none},
    {"query", query_nothing_known},
};

FAMILY(cr_reject, after_refusal, refusals)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        must_that(!dat_is(row->call(t, &request), DAT_SUCCESS),
                  "what is to be refused was granted");
        expect_cr_rejected(t, &request);

        expect_asks_again(t, request.active);
        expect_empty(t, request.evd);
}

/*
 * What the request has lost meanwhile
 */

static const struct left_alone {
        const char *id;
        void (*leave)(struct test *t, struct request *request);
} left_alone[] = {
    {"point_freed", lose_point},
    {"evd_freed", lose_point_and_evd},
};

FAMILY(cr_reject, request_alone, left_alone)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        row->leave(t, &request);

        expect_cr_rejected(t, &request);
}

/* The asker is heard of no more: its connection is the next thing that it hears. */
FAMILY(cr_reject, asker_gone, asker_losses)
{
        struct request request = requested_in_vain(t, MADE_BY_CONSUMER, row);

        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);

        if (request.active)
                expect_asks_again(t, request.active);
        expect_empty(t, request.evd);
        expect_empty(t, request.connect_evd);
}

CASE(cr_reject, untaken_asker_gone)
{
        const struct asker_loss *loss = &asker_losses[draw(t, 3)];
        struct request request = expect_taken_in_vain(t, MADE_FOR_RSP, loss);

        record(t, "the asker is lost: %s", loss->id);
        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);

        is_unconnected(t, &request);
        accepts(t, &request);
}

FAMILY(cr_reject, reserved_asker_gone, asker_losses)
{
        struct request request = requested_in_vain(t, MADE_FOR_RSP, row);

        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);

        is_unconnected(t, &request);
        accepts(t, &request);
}

FAMILY(cr_reject, peer_gone, peer_losses)
{
        struct request request = request_at(t, MADE_FOR_RSP);
        struct peer *asks = peer(t);
        struct peer_ep *end = peer_request(asks, request.qual);

        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        row->lose(end, asks);

        expect(dat_cr_reject(request.cr), DAT_SUCCESS);
        request_gone(t, &request);
        is_unconnected(t, &request);
        accepts(t, &request);
}

/*
 * The handle afterwards
 */

FAMILY(cr_reject, handle_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        make_for_uses(t);
        expect_cr_rejected(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_reject, looks_afterwards, cr_looks)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        expect_cr_rejected(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_reject, handle_by_kind, own_ep_kinds)
{
        struct request request = requested(t, row->maker);

        make_for_uses(t);
        expect_cr_rejected(t, &request);

        expect_cr_stale(t, request.cr);
}

FAMILY(cr_reject, handle_of_reserved_afterwards, cr_uses)
{
        struct request request = requested(t, MADE_FOR_RSP);

        make_for_uses(t);
        expect_cr_rejected(t, &request);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

LEGAL(cr_reject)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        request_gone(t, &request);
        call->cr_handle = request.cr;
}
