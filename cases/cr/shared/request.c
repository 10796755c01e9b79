/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/cr/shared/request.h"
#include "case/later_event.h"
#include "case/standard.h"

#include <string.h>

#define CONNECT_QLEN 8
#define ASKS_FOR     4 /* event deadlines: no request ends by itself before its case does */

#define EP_HANDLES                                                                                 \
        (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)

/* What the calls with a CR that is gone are given besides. */
static struct {
        DAT_EP_HANDLE ep;
        DAT_CONN_QUAL qual;
} beside;

#define UNSENT 0xa5 /* behind the private data: one that is sent as well is no padding */

DAT_COUNT amount_of(struct test *t, const struct amount *row)
{
        return row->size < 0 ? provider_attr(t)->max_private_data_size + 1 + row->size : row->size;
}

void draw_amount(struct test *t, const struct amount *row, unsigned char *data, DAT_COUNT size)
{
        for (DAT_COUNT i = 0; i < size; i++) {
                bool zero = i >= size - row->zeros || (row->zeros && i == 1);

                data[i] = zero ? 0 : (unsigned char)(1 + draw(t, 255));
        }
        data[size] = UNSENT;
}

void expect_private_data(struct test *t, const unsigned char *told, DAT_COUNT private_data_size,
                         const unsigned char *sent, DAT_COUNT size)
{
        expect_that(private_data_size >= size &&
                        private_data_size <= provider_attr(t)->max_private_data_size,
                    "%d bytes of private data, %d were sent", private_data_size, size);
        expect_that(size == 0 || memcmp(told, sent, (size_t)size) == 0,
                    "the private data is not what was sent");
        for (DAT_COUNT i = size; i < private_data_size; i++)
                expect_that(told[i] == 0, "byte %d, which was not sent, is %d", i, told[i]);
        if (private_data_size > size)
                note(t, "%d bytes of private data, %d were sent (CR-2)", private_data_size, size);
}

/* The EPs of a request; where the provider makes one, its EVDs. */
static struct request request_of(struct test *t, enum ep_maker maker)
{
        struct request request = {
            .maker = maker,
            .zone = pz(t),
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .qlen = CONNECT_QLEN, .flags = DAT_EVD_CONNECTION_FLAG),
            .active = ep_with(t),
        };

        if (maker != MADE_BY_PROVIDER)
                request.passive =
                    ep_with(t, .recv_evd = request.recv_evd, .request_evd = request.request_evd,
                            .connect_evd = request.connect_evd);
        return request;
}

static struct request request_on(struct test *t, enum ep_maker maker, DAT_EVD_HANDLE evd)
{
        DAT_PSP_FLAGS flags =
            maker == MADE_BY_PROVIDER ? DAT_PSP_PROVIDER_FLAG : DAT_PSP_CONSUMER_FLAG;
        struct request request;

        if (maker == MADE_BY_CONSUMER && provider_makes_all_eps(t))
                maker = MADE_FOR_RSP;
        request = request_of(t, maker);
        request.evd = evd;
        if (maker == MADE_FOR_RSP)
                request.point = rsp_listen(t, request.passive, evd, &request.qual);
        else
                request.point = loop_listen(t, evd, flags, &request.qual);
        return request;
}

struct request request_at(struct test *t, enum ep_maker maker)
{
        return request_on(t, maker, request_evd(t));
}

struct request request_like(struct test *t, const struct request *other)
{
        struct request request;

        if (other->maker == MADE_FOR_RSP)
                return request_on(t, MADE_FOR_RSP, other->evd);
        request = request_of(t, other->maker);
        request.evd = other->evd;
        request.point = other->point;
        request.qual = other->qual;
        return request;
}

struct request reserved_for(struct test *t, DAT_EP_HANDLE ep)
{
        struct request request = request_of(t, MADE_BY_PROVIDER);

        request.maker = MADE_FOR_RSP;
        request.passive = ep;
        request.evd = request_evd(t);
        request.point = rsp_listen(t, ep, request.evd, &request.qual);
        return request;
}

struct request request_for(struct test *t, DAT_EP_HANDLE ep)
{
        struct request request;

        if (provider_makes_all_eps(t))
                return reserved_for(t, ep);
        request = request_at(t, MADE_BY_CONSUMER);
        request.passive = ep;
        return request;
}

enum ep_maker psp_maker(struct test *t)
{
        return provider_makes_all_eps(t) ? MADE_BY_PROVIDER : MADE_BY_CONSUMER;
}

void must_ask(struct test *t, const struct request *request, struct asks asks)
{
        must(dat_ep_connect(request->active, ia_address(t), request->qual,
                            asks.timeout ? asks.timeout : ASKS_FOR * event_timeout(t), asks.size,
                            asks.data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

DAT_EP_HANDLE must_tell_ep(struct test *t, DAT_CR_HANDLE cr)
{
        DAT_CR_PARAM param;

        memset(&param, 0, sizeof(param));
        must(dat_cr_query(cr, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param));
        return param.local_ep_handle;
}

void must_equip(struct test *t, struct request *request)
{
        DAT_EP_PARAM param = {
            .pz_handle = request->zone,
            .recv_evd_handle = request->recv_evd,
            .request_evd_handle = request->request_evd,
            .connect_evd_handle = request->connect_evd,
        };

        must(dat_ep_modify(request->passive, EP_HANDLES, &param));
}

void must_take(struct test *t, struct request *request)
{
        DAT_EVENT event = must_event(request->evd, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        must_that(data->sp_handle.psp_handle == request->point,
                  "the request is for another service point");
        request->cr = data->cr_handle;
        adopt(t, DAT_HANDLE_TYPE_CR, request->cr);
        if (request->maker != MADE_BY_PROVIDER)
                return;
        request->passive = must_tell_ep(t, request->cr);
        must_that(request->passive != DAT_HANDLE_NULL, "the provider made no EP");
        must_equip(t, request);
}

static void ask_and_take(struct test *t, struct request *request)
{
        unsigned char data[PRIVATE_SIZE];

        loop_private_data(data, OF_REQUEST);
        must_ask(t, request, (struct asks){.size = PRIVATE_SIZE, .data = data});
        must_take(t, request);
}

struct request requested(struct test *t, enum ep_maker maker)
{
        struct request request = request_at(t, maker);

        ask_and_take(t, &request);
        return request;
}

struct request requested_like(struct test *t, const struct request *other)
{
        struct request request = request_like(t, other);

        ask_and_take(t, &request);
        return request;
}

struct request requested_for(struct test *t, DAT_EP_HANDLE ep)
{
        struct request request = request_for(t, ep);

        ask_and_take(t, &request);
        return request;
}

void must_know(struct test *t, struct request *request)
{
        request->told = request_told(t, request->cr);
        request->known = true;
}

struct request requested_known(struct test *t, enum ep_maker maker)
{
        struct request request = requested(t, maker);

        must_know(t, &request);
        return request;
}

struct request requested_known_like(struct test *t, const struct request *other)
{
        struct request request = requested_like(t, other);

        must_know(t, &request);
        return request;
}

/* One of two events may tell of an aborted request, or none, and then its state does (EP-21). */
void lose_by_disconnect(struct test *t, struct request *request)
{
        DAT_EVENT event;
        DAT_COUNT more;
        DAT_RETURN ret;

        must(dat_ep_disconnect(request->active, DAT_CLOSE_ABRUPT_FLAG));
        ret = dat_evd_wait(ep_connect_evd(t, request->active), event_timeout(t) / 3, 1, &event,
                           &more);
        if (dat_is(ret, DAT_TIMEOUT_EXPIRED)) {
                must_that(ep_state(t, request->active) == DAT_EP_STATE_DISCONNECTED,
                          "the EP that asks did not abort its request");
                return;
        }
        must(ret);
        must_that(event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
                      event.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                  "%s tells of an aborted request", name_of_event(event.event_number));
}

/* Either event is for this (EP-3). */
void lose_by_timeout(struct test *t, struct request *request)
{
        DAT_EVENT event;
        DAT_COUNT more;

        must(dat_evd_wait(ep_connect_evd(t, request->active), event_timeout(t), 1, &event, &more));
        must_that(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE,
                  "the EP that asks did not time out");
}

void lose_by_free(struct test *t, struct request *request)
{
        release(t, request->active);
        request->active = DAT_HANDLE_NULL;
}

void lose_peer_by_disconnect(struct peer_ep *end, struct peer *peer)
{
        (void)peer;
        peer_give_up(end);
}

void lose_peer_by_death(struct peer_ep *end, struct peer *peer)
{
        (void)end;
        peer_kill(peer);
}

void lose_point(struct test *t, struct request *request)
{
        release(t, request->point);
}

void lose_point_and_evd(struct test *t, struct request *request)
{
        release(t, request->point);
        release(t, request->evd);
}

struct request requested_in_vain(struct test *t, enum ep_maker maker, const struct asker_loss *loss)
{
        struct request request = request_at(t, maker);

        must_ask(t, &request, (struct asks){.timeout = loss->timeout});
        must_take(t, &request);
        loss->lose(t, &request);
        return request;
}

struct request expect_taken_in_vain(struct test *t, enum ep_maker maker,
                                    const struct asker_loss *loss)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct request request = request_at(t, maker);

        must(dat_evd_modify_cno(request.evd, cno));
        must(dat_evd_enable(request.evd));
        must_ask(t, &request, (struct asks){.timeout = loss->timeout});
        must_stand(t, cno);
        loss->lose(t, &request);
        request.cr = expect_cr_request(t, request.evd, request.point, request.qual);
        if (request.maker == MADE_BY_PROVIDER) {
                request.passive = must_tell_ep(t, request.cr);
                must_equip(t, &request);
        }
        return request;
}

DAT_EP_HANDLE named_ep(const struct request *request)
{
        return request->maker == MADE_BY_CONSUMER ? request->passive : DAT_HANDLE_NULL;
}

void request_gone(struct test *t, const struct request *request)
{
        disown(t, request->cr);
}

void request_accepted(struct test *t, const struct request *request)
{
        disown(t, request->cr);
        if (request->maker != MADE_BY_PROVIDER)
                return;
        adopt(t, DAT_HANDLE_TYPE_EP, request->passive);
        ep_reports_to(t, request->passive, DAT_EP_FIELD_RECV_EVD_HANDLE, request->recv_evd);
        ep_reports_to(t, request->passive, DAT_EP_FIELD_REQUEST_EVD_HANDLE, request->request_evd);
        ep_reports_to(t, request->passive, DAT_EP_FIELD_CONNECT_EVD_HANDLE, request->connect_evd);
}

DAT_CR_HANDLE expect_cr_request(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE point,
                                DAT_CONN_QUAL qual)
{
        DAT_CR_HANDLE cr = expect_request(t, evd, point, qual);

        adopt(t, DAT_HANDLE_TYPE_CR, cr);
        return cr;
}

DAT_CONNECTION_EVENT_DATA expect_cr_told(struct test *t, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number)
{
        DAT_EVENT event = expect_event(ep_connect_evd(t, ep), number);

        expect_that(event.event_data.connect_event_data.ep_handle == ep,
                    "the event names another EP");
        told_last(ep, number);
        return event.event_data.connect_event_data;
}

void expect_cr_unfit(struct test *t, DAT_RETURN ret)
{
        expect_that(!dat_is(ret, DAT_SUCCESS) && !dat_is(ret, DAT_INTERNAL_ERROR),
                    "the call returned %s", name_of_return(ret));
}

void expect_cr_connected(struct test *t, const struct request *request)
{
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_cr_told(t, request->active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_ep_in(t, request->passive, DAT_EP_STATE_CONNECTED);
        expect_ep_in(t, request->active, DAT_EP_STATE_CONNECTED);
}

void expect_cr_messages(struct test *t, const struct request *request)
{
        expect_message(t, request->active, request->passive);
        expect_message(t, request->passive, request->active);
}

void expect_cr_accepted(struct test *t, const struct request *request)
{
        expect(dat_cr_accept(request->cr, named_ep(request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, request);
        expect_cr_connected(t, request);
        expect_cr_messages(t, request);
}

void expect_cr_parted(struct test *t, const struct request *request)
{
        expect(dat_ep_disconnect(request->active, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        expect_cr_told(t, request->active, DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_DISCONNECTED);
}

void expect_cr_rejected(struct test *t, const struct request *request)
{
        expect(dat_cr_reject(request->cr), DAT_SUCCESS);
        request_gone(t, request);
        expect_cr_told(t, request->active, DAT_CONNECTION_EVENT_PEER_REJECTED);
        expect_ep_in(t, request->active, DAT_EP_STATE_DISCONNECTED);
}

/*
 * Which port a request tells is dat_cr_query()'s affair (EP-71), and no other page's. One that
 * tells none may do so everywhere: whether it told one before, a known request shows.
 */
static void must_tell_port(struct test *t, const DAT_CR_PARAM *told, DAT_EP_HANDLE asker)
{
        DAT_EP_PARAM param;

        if (told->remote_port_qual == 0 || !ep_query_answers(t))
                return;
        memset(&param, 0, sizeof(param));
        must(dat_ep_query(asker, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param));
        must_that_of("dat_cr_query", told->remote_port_qual == param.local_port_qual,
                     "the request tells port %llu, its asker has %llu",
                     (unsigned long long)told->remote_port_qual,
                     (unsigned long long)param.local_port_qual);
}

void expect_cr_kept(struct test *t, const struct request *request)
{
        unsigned char sent[PRIVATE_SIZE];
        DAT_CR_PARAM param;

        loop_private_data(sent, OF_REQUEST);
        memset(&param, 0, sizeof(param));
        expect(dat_cr_query(request->cr, DAT_CR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.private_data_size >= PRIVATE_SIZE &&
                        memcmp(param.private_data, sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
        expect_ep_in(t, request->active, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        if (request->known)
                expect_told_still(t, request->cr, &request->told);
        must_tell_port(t, &param, request->active);
        expect_empty(t, ep_connect_evd(t, request->active));
}

DAT_RETURN use_query(void *cr)
{
        DAT_CR_PARAM param;

        return dat_cr_query(cr, DAT_CR_FIELD_ALL, &param);
}

DAT_RETURN use_accept(void *cr)
{
        return dat_cr_accept(cr, beside.ep, 0, NULL);
}

DAT_RETURN use_reject(void *cr)
{
        return dat_cr_reject(cr);
}

DAT_RETURN use_handoff(void *cr)
{
        return dat_cr_handoff(cr, beside.qual);
}

DAT_RETURN use_context(void *cr)
{
        DAT_CONTEXT context;

        return dat_get_consumer_context(cr, &context);
}

DAT_RETURN use_type(void *cr)
{
        DAT_HANDLE_TYPE type;

        return dat_get_handle_type(cr, &type);
}

void make_for_uses(struct test *t)
{
        beside.ep = ep_with(t);
        loop_listen(t, request_evd(t), psp_flags_granted(t), &beside.qual);
}

void expect_cr_stale(struct test *t, DAT_CR_HANDLE gone)
{
        for (size_t i = 0; i < sizeof(cr_uses) / sizeof(cr_uses[0]); i++)
                expect_stale(cr_uses[i].call, requested(t, MADE_BY_CONSUMER).cr, gone);
        for (size_t i = 0; i < sizeof(cr_looks) / sizeof(cr_looks[0]); i++)
                expect_stale(cr_looks[i].call, requested(t, MADE_BY_CONSUMER).cr, gone);
}
