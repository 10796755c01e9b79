/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_handoff: to whom a request comes then, as what, and what is left of it where it was. */
#include "clauses/cr_handoff.h"
#include "case/standard.h"
#include "cases/cr/shared/request.h"

#include <string.h>

#define REQUESTS 6   /* at once */
#define TIMES    40  /* that a request is handed to and fro */
#define SENT     16  /* bytes of private data */
#define PLACES   64  /* of an EVD that requests fill, at most */
#define LOOKS    300 /* for an answer; each lasts as long as settle_briefly() */

/* Qualifiers at which nothing of the suite listens. */
#define UNHEARD_FIRST 24000
#define UNHEARD_COUNT 400

/* What the two points of a request's way have in common is the asker. */
static struct request expect_arrived(struct test *t, const struct request *request,
                                     const struct request *to)
{
        struct request arrived = *to;

        arrived.active = request->active;
        arrived.cr = expect_cr_request(t, to->evd, to->point, to->qual);
        if (to->maker == MADE_BY_PROVIDER) {
                arrived.passive = must_tell_ep(t, arrived.cr);
                expect_that(arrived.passive != DAT_HANDLE_NULL, "the provider made no EP");
                must_equip(t, &arrived);
        }
        return arrived;
}

/* The request that an event at the point tells of. */
static DAT_CR_HANDLE cr_of(struct test *t, const DAT_EVENT *event, const struct request *to)
{
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event->event_data.cr_arrival_event_data;

        expect_eq(event->event_number, DAT_CONNECTION_REQUEST_EVENT);
        expect_that(data->sp_handle.psp_handle == to->point, "the request is for another point");
        expect_eq(data->conn_qual, to->qual);
        return data->cr_handle;
}

/* What the asker of a request gets if no service point can get the request. */
static bool is_without_point(DAT_EVENT_NUMBER number)
{
        return number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
               number == DAT_CONNECTION_EVENT_UNREACHABLE;
}

/* Whether it was refused. Otherwise the request has ended, and its asker gets an event (CR-9). */
static bool expect_refused_or_ended(struct test *t, const struct request *request,
                                    DAT_CONN_QUAL qual)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret =
            expect_or_note(dat_cr_handoff(request->cr, qual), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_INVALID_PARAMETER))
                return true;
        request_gone(t, request);
        ret = dat_evd_wait(ep_connect_evd(t, request->active), event_timeout(t), 1, &event, &more);
        expect_that(
            !dat_is(ret, DAT_TIMEOUT_EXPIRED),
            "the request was handed to no service point, and the EP that asked gets no event");
        must(ret);
        expect_that(is_without_point(event.event_number), "the EP that asked got %s",
                    name_of_event(event.event_number));
        expect_ep_in(t, request->active, DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, request->evd);
        return false;
}

/* The call under test: the request is another one from then on, of the point that is named. */
static struct request handed(struct test *t, const struct request *request,
                             const struct request *to)
{
        expect(dat_cr_handoff(request->cr, to->qual), DAT_SUCCESS);
        request_gone(t, request);
        return expect_arrived(t, request, to);
}

/*
 * Where the request comes
 */

FAMILY(cr_handoff, to, request_kinds)
{
        struct request to = request_at(t, row->maker);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived = handed(t, &request, &to);

        expect_cr_kept(t, &arrived);
        expect_empty(t, request.evd);
        expect_eq(ep_state(t, request.passive), DAT_EP_STATE_UNCONNECTED);
        expect_cr_accepted(t, &arrived);
        expect_cr_parted(t, &arrived);
        expect_empty(t, to.evd);
}

static void expect_handed_between(struct test *t, enum ep_maker from, enum ep_maker at)
{
        struct request to = request_at(t, at);
        struct request request = requested(t, from);
        struct request arrived = handed(t, &request, &to);

        expect_cr_kept(t, &arrived);
        expect_empty(t, request.evd);
        expect_cr_accepted(t, &arrived);
        expect_cr_parted(t, &arrived);
        expect_empty(t, to.evd);
}

FAMILY(cr_handoff, from, request_kinds)
{
        expect_handed_between(t, row->maker, MADE_BY_CONSUMER);
}

/* Between points whose requests come with an EP each. */
static const struct owners {
        const char *id;
        enum ep_maker from;
        enum ep_maker to;
} owners[] = {
    {"provider_to_provider", MADE_BY_PROVIDER, MADE_BY_PROVIDER},
    {"provider_to_reserved", MADE_BY_PROVIDER, MADE_FOR_RSP},
    {"reserved_to_provider", MADE_FOR_RSP, MADE_BY_PROVIDER},
    {"reserved_to_reserved", MADE_FOR_RSP, MADE_FOR_RSP},
};

FAMILY(cr_handoff, between, owners)
{
        expect_handed_between(t, row->from, row->to);
}

FAMILY(cr_handoff, named_point, two_requests)
{
        struct request tos[] = {request_at(t, MADE_BY_CONSUMER), request_at(t, MADE_BY_CONSUMER)};
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived = handed(t, &request, &tos[row->one]);

        expect_empty(t, tos[!row->one].evd);
        expect_cr_accepted(t, &arrived);
        expect_empty(t, tos[!row->one].evd);
}

CASE(cr_handoff, one_evd)
{
        struct request request = requested(t, psp_maker(t));
        struct request to = request_like(t, &request);

        to.point = loop_listen(t, to.evd, psp_flags_granted(t), &to.qual);
        to = handed(t, &request, &to);

        expect_empty(t, request.evd);
        expect_cr_accepted(t, &to);
}

/* It comes there again, or stays what it is (CR-8). */
CASE(cr_handoff, own_point)
{
        struct request request = requested_known(t, psp_maker(t));
        struct request to = request;
        DAT_RETURN ret = dat_cr_handoff(request.cr, request.qual);

        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_cr_unfit(t, ret);
                expect_cr_kept(t, &request);
                expect_empty(t, request.evd);
                expect_cr_accepted(t, &request);
                return;
        }
        request_gone(t, &request);
        if (to.maker == MADE_BY_PROVIDER)
                to = request_like(t, &request);
        to = expect_arrived(t, &request, &to);
        expect_cr_kept(t, &to);
        expect_empty(t, to.evd);
        expect_cr_accepted(t, &to);
}

CASE(cr_handoff, any_qualifier)
{
        struct request to = request_at(t, psp_maker(t));
        struct request request = requested(t, psp_maker(t));
        DAT_PSP_HANDLE any = DAT_HANDLE_NULL;

        must(dat_psp_create_any(ia(t), &to.qual, to.evd, psp_flags_granted(t), &any));
        adopt(t, DAT_HANDLE_TYPE_PSP, any);
        to.point = any;
        to = handed(t, &request, &to);

        expect_cr_accepted(t, &to);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(cr_handoff, high_bits, high_bits)
{
        struct request low = request_at(t, psp_maker(t));
        struct request high = request_like(t, &low);
        struct request request = requested(t, psp_maker(t));
        DAT_RETURN ret;

        high.evd = request_evd(t);
        high.qual = low.qual ^ row->bits;
        ret = dat_psp_create(ia(t), high.qual, high.evd, psp_flags_granted(t), &high.point);
        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "the transport has no such qualifiers (PSP-4)");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_PSP, high.point);
        high = handed(t, &request, &high);

        expect_empty(t, low.evd);
        request = handed(t, &high, &low);
        expect_empty(t, high.evd);
        expect_cr_accepted(t, &request);
}

CASE(cr_handoff, waiter)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct waiter *waiter = wait_on_evd(t, to.evd, DAT_TIMEOUT_INFINITE, 1);
        const DAT_CR_ARRIVAL_EVENT_DATA *data;
        struct woken woken;

        must_wait(waiter);
        expect(dat_cr_handoff(request.cr, to.qual), DAT_SUCCESS);
        request_gone(t, &request);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        data = &woken.event.event_data.cr_arrival_event_data;
        adopt(t, DAT_HANDLE_TYPE_CR, data->cr_handle);
        expect_that(data->sp_handle.psp_handle == to.point, "the request is for another point");
        to.active = request.active;
        to.cr = data->cr_handle;
        expect_cr_accepted(t, &to);
}

CASE(cr_handoff, cno)
{
        DAT_CNO_HANDLE cno;
        struct request to;
        struct request request;
        DAT_EVD_HANDLE told;

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        to = request_at(t, MADE_BY_CONSUMER);
        request = requested(t, MADE_BY_CONSUMER);
        must(dat_evd_modify_cno(to.evd, cno));
        must(dat_evd_enable(to.evd));
        expect(dat_cr_handoff(request.cr, to.qual), DAT_SUCCESS);
        request_gone(t, &request);

        expect(dat_cno_wait(cno, event_timeout(t), &told), DAT_SUCCESS);
        expect_that(told == to.evd, "the CNO tells of another EVD");
        to = expect_arrived(t, &request, &to);
        expect_cr_accepted(t, &to);
}

/* Both service points work as if no request had been handed off between them. */
CASE(cr_handoff, points_stay)
{
        struct request to = request_at(t, psp_maker(t));
        struct request request = requested(t, psp_maker(t));
        struct request arrived = handed(t, &request, &to);

        expect_psp(t, request.point, request.qual, request.evd, psp_flags_granted(t));
        expect_psp(t, to.point, to.qual, to.evd, psp_flags_granted(t));
        expect_served(t, request.point, request.qual, request.evd);
        expect_served(t, to.point, to.qual, to.evd);
        expect_cr_accepted(t, &arrived);
}

/*
 * What it is there
 */

static DAT_CR_PARAM told_of(struct test *t, DAT_CR_HANDLE cr)
{
        DAT_CR_PARAM param;

        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}

CASE(cr_handoff, port)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        DAT_PORT_QUAL port = told_of(t, request.cr).remote_port_qual;
        struct request arrived = handed(t, &request, &to);

        expect_eq(told_of(t, arrived.cr).remote_port_qual, port);
}

FAMILY(cr_handoff, tells_the_same, request_kinds)
{
        struct request to = request_at(t, row->maker);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request_told before = request_told(t, request.cr);
        struct request arrived = handed(t, &request, &to);

        before.param.local_ep_handle = named_ep(&arrived) ? DAT_HANDLE_NULL : arrived.passive;
        expect_told_still(t, arrived.cr, &before);
}

CASE(cr_handoff, address)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived = handed(t, &request, &to);
        struct request back = request_like(t, &to);

        expect(dat_ep_connect(back.active, told_of(t, arrived.cr).remote_ia_address_ptr, back.qual,
                              event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT,
                              DAT_CONNECT_DEFAULT_FLAG),
               DAT_SUCCESS);
        back.cr = expect_cr_request(t, back.evd, back.point, back.qual);
        expect_cr_accepted(t, &back);
}

FAMILY(cr_handoff, private_data, amounts)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_COUNT size = amount_of(t, row);
        unsigned char *sent = buf_with(t, .length = (size_t)size + 1)->addr;
        DAT_CR_PARAM param;

        draw_amount(t, row, sent, size);
        must_ask(t, &request, (struct asks){.size = size, .data = size ? sent : NULL});
        must_take(t, &request);
        to = handed(t, &request, &to);

        param = told_of(t, to.cr);
        expect_private_data(t, param.private_data, param.private_data_size, sent, size);
}

FAMILY(cr_handoff, local_ep, request_kinds)
{
        struct request to = request_at(t, row->maker);
        struct request request = requested(t, MADE_BY_PROVIDER);
        struct request arrived = handed(t, &request, &to);
        DAT_EP_HANDLE told = told_of(t, arrived.cr).local_ep_handle;

        if (row->maker == MADE_BY_CONSUMER) {
                expect_that(told == DAT_HANDLE_NULL, "an EP that does not exist");
                return;
        }
        expect_that(told == arrived.passive, "the EP is not that of the point");
        expect_ep_in(t, told,
                     row->maker == MADE_FOR_RSP ? DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
                                                : DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

/* Told once, the asker can be reset and ask again. */
static void rejected(struct test *t, struct request *arrived, const struct request *from)
{
        struct request again = request_like(t, from);

        expect_cr_rejected(t, arrived);
        expect(dat_ep_reset(arrived->active), DAT_SUCCESS);
        again.active = arrived->active;
        must_ask(t, &again, (struct asks){0});
        again = expect_arrived(t, &again, &again);
        expect_cr_accepted(t, &again);
}

static void handed_on(struct test *t, struct request *arrived, const struct request *from)
{
        struct request next = request_at(t, MADE_BY_CONSUMER);

        (void)from;
        next = handed(t, arrived, &next);
        expect_empty(t, arrived->evd);
        expect_cr_accepted(t, &next);
}

static void handed_back(struct test *t, struct request *arrived, const struct request *from)
{
        struct request back = handed(t, arrived, from);

        expect_empty(t, arrived->evd);
        expect_cr_accepted(t, &back);
}

static void points_freed(struct test *t, struct request *arrived, const struct request *from)
{
        release(t, from->point);
        release(t, arrived->point);
        expect_cr_accepted(t, arrived);
}

static void told_private_data(struct test *t, struct request *arrived, const struct request *from)
{
        unsigned char sent[SENT] = "across points";
        DAT_CONNECTION_EVENT_DATA told;

        (void)from;
        expect(dat_cr_accept(arrived->cr, named_ep(arrived), SENT, sent), DAT_SUCCESS);
        request_accepted(t, arrived);
        told = expect_cr_told(t, arrived->active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_private_data(t, told.private_data, told.private_data_size, sent, SENT);
}

static void handed_nowhere(struct test *t, struct request *arrived, const struct request *from)
{
        release(t, from->point);
        must_know(t, arrived);
        for (int i = 0; i < 2; i++)
                if (!expect_refused_or_ended(t, arrived, from->qual))
                        return;
        expect_cr_kept(t, arrived);
        expect_cr_accepted(t, arrived);
}

/* The connection of an accept fails, or the accept says so itself, which is noted (CR-5). */
static void asker_gone(struct test *t, struct request *arrived, const struct request *from)
{
        DAT_RETURN ret;

        (void)from;
        lose_by_disconnect(t, arrived);
        ret = dat_cr_accept(arrived->cr, named_ep(arrived), 0, NULL);
        if (!dat_is(ret, DAT_SUCCESS)) {
                expect_cr_unfit(t, ret);
                end_noted(t, "the accept itself says that the asker has gone (CR-5)");
        }
        request_accepted(t, arrived);
        expect_cr_told(t, arrived->passive, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        expect_ep_in(t, arrived->passive, DAT_EP_STATE_DISCONNECTED);
}

/* The provider makes the EP of the RSP. */
static void handed_to_reserved(struct test *t, struct request *arrived, const struct request *from)
{
        struct request next = request_at(t, MADE_BY_PROVIDER);

        (void)from;
        next.point = rsp_listen(t, DAT_HANDLE_NULL, next.evd, &next.qual);
        next = handed(t, arrived, &next);
        expect_empty(t, arrived->evd);
        expect_cr_accepted(t, &next);
}

static const struct fate {
        const char *id;
        void (*meet)(struct test *t, struct request *arrived, const struct request *from);
} fates[] = {
    {"rejected", rejected},         {"handed_on", handed_on},
    {"handed_back", handed_back},   {"handed_nowhere", handed_nowhere},
    {"points_freed", points_freed}, {"answered", told_private_data},
    {"asker_gone", asker_gone},     {"handed_to_reserved", handed_to_reserved},
};

FAMILY(cr_handoff, then, fates)
{
        struct request to = request_at(t, psp_maker(t));
        struct request request = requested(t, psp_maker(t));
        struct request arrived = handed(t, &request, &to);

        row->meet(t, &arrived, &request);
}

FAMILY(cr_handoff, peers_request, request_kinds)
{
        struct request to = request_at(t, row->maker);
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);
        struct buf *buf = buf_with(t);

        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        to = handed(t, &request, &to);
        expect(dat_cr_accept(to.cr, named_ep(&to), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &to);

        expect_cr_told(t, to.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        loop_post_recv(t, to.passive, buf, 7);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(to.recv_evd).user_cookie.as_64, 7);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the memory has not the message");
}

CASE(cr_handoff, peer_rejected)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        to = handed(t, &request, &to);
        expect(dat_cr_reject(to.cr), DAT_SUCCESS);
        request_gone(t, &to);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/*
 * Of several, and when others are gone
 */

FAMILY(cr_handoff, other_request, two_requests)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request requests[2];
        struct request arrived;

        requests[0] = requested_known(t, MADE_BY_CONSUMER);
        requests[1] = requested_known_like(t, &requests[0]);
        arrived = handed(t, &requests[row->one], &to);

        expect_cr_kept(t, &requests[!row->one]);
        expect_cr_accepted(t, &arrived);
        expect_cr_accepted(t, &requests[!row->one]);
        expect_empty(t, to.evd);
}

CASE(cr_handoff, in_any_order)
{
        struct request tos[] = {request_at(t, psp_maker(t)), request_at(t, psp_maker(t))};
        struct request requests[REQUESTS];
        struct request arrived[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        requests[0] = requested(t, psp_maker(t));
        for (int i = 1; i < count; i++)
                requests[i] = requested_like(t, &requests[0]);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                arrived[left - 1] = handed(t, &requests[which], &tos[draw(t, 2)]);
                if (requests[which].maker == MADE_BY_CONSUMER)
                        arrived[left - 1].passive = requests[which].passive;
                requests[which] = requests[left - 1];
        }
        for (int i = 0; i < count; i++)
                expect_cr_accepted(t, &arrived[i]);
}

FAMILY(cr_handoff, often, request_kinds)
{
        struct request points[] = {
            request_at(t, psp_maker(t)),
            request_at(t, row->maker == MADE_BY_PROVIDER ? MADE_BY_PROVIDER : psp_maker(t))};
        struct request request = requested_known(t, row->maker);
        DAT_PORT_QUAL port = told_of(t, request.cr).remote_port_qual;

        for (int i = 0; i < TIMES; i++)
                request = handed(t, &request, &points[i % 2]);

        expect_eq(told_of(t, request.cr).remote_port_qual, port);
        expect_cr_kept(t, &request);
        expect_cr_accepted(t, &request);
}

static const struct left_alone {
        const char *id;
        void (*leave)(struct test *t, struct request *request);
} left_alone[] = {
    {"point_freed", lose_point},
    {"evd_freed", lose_point_and_evd},
};

FAMILY(cr_handoff, request_alone, left_alone)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);

        row->leave(t, &request);

        to = handed(t, &request, &to);
        expect_cr_accepted(t, &to);
}

/* Where the handoff is the asker's to follow, nothing comes of one that has gone (CR-5). */
static void expect_rejected_if_come(struct test *t, const struct request *to)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret = dat_evd_wait(to->evd, event_timeout(t), 1, &event, &more);

        if (dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                note(t, "the request of an asker that has gone ended with its handoff (CR-5)");
                return;
        }
        must(ret);
        expect(dat_cr_reject(cr_of(t, &event, to)), DAT_SUCCESS);
}

FAMILY(cr_handoff, asker_gone, asker_losses)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested_in_vain(t, MADE_BY_CONSUMER, row);

        expect(dat_cr_handoff(request.cr, to.qual), DAT_SUCCESS);
        request_gone(t, &request);
        expect_rejected_if_come(t, &to);
        expect_empty(t, request.evd);
        request = requested_like(t, &to);
        expect_cr_accepted(t, &request);
        expect_empty(t, to.evd);
}

/*
 * Qualifiers without a listener
 */

static DAT_CONN_QUAL unheard(struct test *t, const struct request *request)
{
        (void)request;
        return UNHEARD_FIRST + draw(t, UNHEARD_COUNT);
}

static DAT_CONN_QUAL zero(struct test *t, const struct request *request)
{
        (void)t;
        (void)request;
        return 0;
}

static DAT_CONN_QUAL of_freed_psp(struct test *t, const struct request *request)
{
        struct request point = request_at(t, MADE_BY_CONSUMER);

        (void)request;
        release(t, point.point);
        return point.qual;
}

static DAT_CONN_QUAL of_freed_rsp(struct test *t, const struct request *request)
{
        struct request point = request_at(t, MADE_FOR_RSP);

        (void)request;
        release(t, point.point);
        return point.qual;
}

/* Its one request has come, and is unanswered. */
static DAT_CONN_QUAL of_spent_rsp(struct test *t, const struct request *request)
{
        (void)request;
        return requested(t, MADE_FOR_RSP).qual;
}

static DAT_CONN_QUAL of_its_point_and_more(struct test *t, const struct request *request)
{
        (void)t;
        return request->qual | UINT64_C(1) << 32;
}

static const struct nowhere {
        const char *id;
        DAT_CONN_QUAL (*qual)(struct test *t, const struct request *request);
} nowheres[] = {
    {"unheard", unheard},        {"zero", zero},
    {"freed_psp", of_freed_psp}, {"freed_rsp", of_freed_rsp},
    {"spent_rsp", of_spent_rsp}, {"high_bits", of_its_point_and_more},
};

FAMILY(cr_handoff, nowhere, nowheres)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested_known(t, MADE_BY_CONSUMER);
        DAT_CONN_QUAL qual = row->qual(t, &request);

        for (int i = 0; i < 2; i++) {
                if (expect_refused_or_ended(t, &request, qual))
                        continue;
                expect_empty(t, to.evd);
                request = requested_like(t, &request);
                expect_cr_accepted(t, &request);
                return;
        }
        expect_cr_kept(t, &request);
        expect_empty(t, request.evd);
        to = handed(t, &request, &to);
        expect_cr_accepted(t, &to);
}

/* Another IA listens there: what is granted, though it is not asked for, is done (GEN-12). */
CASE(cr_handoff, other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EVD_HANDLE evd = evd_with(t, .ia = other, .flags = DAT_EVD_CR_FLAG);
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested_known(t, MADE_BY_CONSUMER);
        DAT_CONN_QUAL qual = 0;
        DAT_PSP_HANDLE psp = DAT_HANDLE_NULL;

        must(dat_psp_create_any(other, &qual, evd, psp_flags_granted(t), &psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);

        if (dat_is(expect_or_note(dat_cr_handoff(request.cr, qual), DAT_INVALID_PARAMETER,
                                  DAT_SUCCESS),
                   DAT_SUCCESS)) {
                request_gone(t, &request);
                expect_cr_request(t, evd, psp, qual);
                return;
        }
        expect_cr_kept(t, &request);
        expect_empty(t, evd);
        to = handed(t, &request, &to);
        expect_cr_accepted(t, &to);
}

FAMILY(cr_handoff, nowhere_from, request_kinds)
{
        struct request request = requested_known(t, row->maker);
        DAT_EP_STATE before = ep_state(t, request.passive);

        if (!expect_refused_or_ended(t, &request, unheard(t, &request)))
                return;
        expect_cr_kept(t, &request);
        expect_eq(ep_state(t, request.passive), before);
        expect_cr_accepted(t, &request);
}

/*
 * A point whose EVD is full
 */

/* Requests that stand on the point's EVD, one for each of its places. */
static DAT_COUNT fill(struct test *t, const struct request *to, DAT_CNO_HANDLE cno)
{
        DAT_COUNT places = evd_param(t, to->evd).evd_qlen;

        if (places > PLACES)
                end_noted(t, "the EVD has %d places: too many to fill", (int)places);
        must(dat_evd_modify_cno(to->evd, cno));
        must(dat_evd_enable(to->evd));
        for (DAT_COUNT i = 0; i < places; i++) {
                loop_connect(t, ep_with(t), to->qual);
                must_stand(t, cno);
        }
        return places;
}

/* The request comes after all, or its asker is refused as one without a place (PSP-6). */
static bool comes_or_is_refused(struct test *t, struct request *arrived)
{
        DAT_EVENT event;

        if (dat_is(dat_evd_dequeue(arrived->evd, &event), DAT_SUCCESS)) {
                expect(dat_cr_reject(cr_of(t, &event, arrived)), DAT_SUCCESS);
                expect_cr_told(t, arrived->active, DAT_CONNECTION_EVENT_PEER_REJECTED);
                return true;
        }
        if (!dat_is(dat_evd_dequeue(ep_connect_evd(t, arrived->active), &event), DAT_SUCCESS))
                return false;
        expect_that(is_without_point(event.event_number), "the EP that asked got %s",
                    name_of_event(event.event_number));
        return true;
}

/* The request stays the consumer's, or is the point's to answer; it is not lost (CR-7). */
CASE(cr_handoff, full_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct request to = request_at(t, psp_maker(t));
        struct request request = request_at(t, psp_maker(t));
        unsigned char data[PRIVATE_SIZE];
        DAT_COUNT count;
        DAT_RETURN ret;
        bool done = false;

        loop_private_data(data, OF_REQUEST);
        must_ask(
            t, &request,
            (struct asks){.size = PRIVATE_SIZE, .data = data, .timeout = DAT_TIMEOUT_INFINITE});
        must_take(t, &request);
        must_know(t, &request);
        count = fill(t, &to, cno);
        ret = dat_cr_handoff(request.cr, to.qual);
        if (dat_is(ret, DAT_SUCCESS)) {
                request_gone(t, &request);
        } else {
                expect_cr_unfit(t, ret);
                expect_cr_kept(t, &request);
        }
        for (DAT_COUNT i = 0; i < count; i++)
                expect(dat_cr_reject(expect_request(t, to.evd, to.point, to.qual)), DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS)) {
                to = handed(t, &request, &to);
                expect_cr_accepted(t, &to);
                return;
        }
        to.active = request.active;
        for (int i = 0; i < LOOKS && !done; i++) {
                done = comes_or_is_refused(t, &to);
                if (!done)
                        settle_briefly(t);
        }
        expect_that(done, "the request was neither refused nor reported");
        drain_async_event(t);
}

/*
 * The handle afterwards
 */

FAMILY(cr_handoff, handle_afterwards, cr_uses)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived;

        make_for_uses(t);
        arrived = handed(t, &request, &to);

        if (arrived.cr == request.cr)
                end_noted(t, "the request has its handle at its new point too");
        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_handoff, looks_afterwards, cr_looks)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived = handed(t, &request, &to);

        if (arrived.cr == request.cr)
                end_noted(t, "the request has its handle at its new point too");
        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

FAMILY(cr_handoff, handle_by_kind, own_ep_kinds)
{
        struct request to = request_at(t, psp_maker(t));
        struct request request = requested(t, row->maker);
        struct request arrived;

        make_for_uses(t);
        arrived = handed(t, &request, &to);

        if (arrived.cr == request.cr)
                end_noted(t, "the request has its handle at its new point too");
        expect_cr_stale(t, request.cr);
}

FAMILY(cr_handoff, handle_after_all, cr_uses)
{
        struct request to = request_at(t, MADE_BY_CONSUMER);
        struct request request = requested(t, MADE_BY_CONSUMER);
        struct request arrived;

        make_for_uses(t);
        arrived = handed(t, &request, &to);
        expect_cr_accepted(t, &arrived);

        expect_stale(row->call, requested(t, MADE_BY_CONSUMER).cr, request.cr);
}

LEGAL(cr_handoff)
{
        struct request to = request_at(t, psp_maker(t));
        struct request request = requested(t, psp_maker(t));

        request_gone(t, &request);
        call->cr_handle = request.cr;
        call->handoff = to.qual;
}
