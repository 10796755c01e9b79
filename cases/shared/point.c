/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/point.h"
#include "case/poison.h"

#include <netinet/in.h>
#include <string.h>

#define QUAL_FIRST 23000
#define QUAL_COUNT 900

DAT_EVD_HANDLE request_evd(struct test *t)
{
        return evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
}

struct loop loop_new(struct test *t)
{
        return loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
}

struct loop watched_loop(struct test *t, DAT_CNO_HANDLE *cno)
{
        struct loop loop = loop_new(t);

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, *cno);
        loop.requests = evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG, .cno = *cno);
        must(dat_evd_enable(loop.requests));
        return loop;
}

void must_stand(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd;

        must(dat_cno_wait(cno, event_timeout(t), &evd));
}

DAT_CONN_QUAL point_qual(struct test *t)
{
        return QUAL_FIRST + draw(t, QUAL_COUNT);
}

DAT_PSP_HANDLE point_elsewhere(struct test *t, DAT_EVD_HANDLE *evd, DAT_CONN_QUAL *qual)
{
        DAT_PSP_HANDLE psp;

        *evd = evd_with(t, .ia = other_ia(t), .qlen = 8, .flags = DAT_EVD_CR_FLAG);
        *qual = point_qual(t);
        must(dat_psp_create(other_ia(t), *qual, *evd, psp_flags_granted(t), &psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

bool place_is_here(struct test *t, const struct peer_place *place)
{
        return same_host(&place->address, ia_address(t));
}

void expect_peer_served(struct test *t, const struct peer_place *place)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_cr request;
        struct peer_ep *end;

        must(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&place->address, place->qual, event_timeout(t),
                            0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        request = peer_take_request(peer(t));
        end = peer_accept(&request, NULL, 0);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(end);
}

DAT_PSP_HANDLE psp_at(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags)
{
        DAT_PSP_HANDLE psp;

        poison(&psp, sizeof(psp));
        expect(dat_psp_create(ia(t), qual, evd, flags, &psp), DAT_SUCCESS);
        expect_that(!is_poison(&psp, sizeof(psp)), "no handle was stored");
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

DAT_RSP_HANDLE rsp_at(struct test *t, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
        DAT_RSP_HANDLE rsp;

        poison(&rsp, sizeof(rsp));
        expect(dat_rsp_create(ia(t), qual, ep, evd, &rsp), DAT_SUCCESS);
        expect_that(!is_poison(&rsp, sizeof(rsp)), "no handle was stored");
        adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
        return rsp;
}

/* A call that is the page's own is judged by its handle too. */
static void handle_stored(struct test *t, const char *call, const char *page, bool stored)
{
        if (is_of_page(t, page))
                expect_that(stored, "no handle was stored");
        must_that_of(call, stored, "no handle was stored");
}

DAT_PSP_HANDLE psp_new(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags, DAT_CONN_QUAL *qual)
{
        DAT_PSP_HANDLE psp;

        expect(point_make(t,
                          (struct point_opts){
                              .first = QUAL_FIRST, .count = QUAL_COUNT, .evd = evd, .flags = flags},
                          qual, &psp),
               DAT_SUCCESS);
        handle_stored(t, "dat_psp_create", "psp_create", !is_poison(&psp, sizeof(psp)));
        adopt(t, DAT_HANDLE_TYPE_PSP, psp);
        return psp;
}

DAT_RSP_HANDLE rsp_new(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual)
{
        DAT_RSP_HANDLE rsp;

        expect(point_make(t,
                          (struct point_opts){.first = QUAL_FIRST,
                                              .count = QUAL_COUNT,
                                              .evd = evd,
                                              .reserved = true,
                                              .ep = ep},
                          qual, &rsp),
               DAT_SUCCESS);
        handle_stored(t, "dat_rsp_create", "rsp_create", !is_poison(&rsp, sizeof(rsp)));
        adopt(t, DAT_HANDLE_TYPE_RSP, rsp);
        return rsp;
}

void expect_psp(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                DAT_PSP_FLAGS flags)
{
        DAT_PSP_PARAM param;

        poison(&param, sizeof(param));
        expect(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
        MUST_BE_WRITTEN("dat_psp_query", param, conn_qual);
        MUST_BE_WRITTEN("dat_psp_query", param, psp_flags);
        MUST_BE_WRITTEN("dat_psp_query", param, evd_handle);
        MUST_BE_WRITTEN("dat_psp_query", param, ia_handle);
        expect_eq(param.conn_qual, qual);
        expect_eq(param.psp_flags, flags);
        expect_that(param.evd_handle == evd, "the EVD is not the PSP's own");
        expect_that(param.ia_handle == ia(t), "the IA is not the PSP's own");
}

void expect_rsp(struct test *t, DAT_RSP_HANDLE rsp, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
                DAT_EVD_HANDLE evd)
{
        DAT_RSP_PARAM param;

        poison(&param, sizeof(param));
        expect(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
        MUST_BE_WRITTEN("dat_rsp_query", param, conn_qual);
        MUST_BE_WRITTEN("dat_rsp_query", param, ep_handle);
        MUST_BE_WRITTEN("dat_rsp_query", param, evd_handle);
        MUST_BE_WRITTEN("dat_rsp_query", param, ia_handle);
        expect_eq(param.conn_qual, qual);
        expect_that(param.ep_handle == ep, "the EP is not the RSP's own");
        expect_that(param.evd_handle == evd, "the EVD is not the RSP's own");
        expect_that(param.ia_handle == ia(t), "the IA is not the RSP's own");
}

DAT_CR_HANDLE expect_request(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE point,
                             DAT_CONN_QUAL qual)
{
        DAT_EVENT event = expect_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        expect_that(data->sp_handle.psp_handle == point, "the request is for another point");
        expect_eq(data->conn_qual, qual);
        return data->cr_handle;
}

bool same_host(const void *one, const void *other)
{
        const struct sockaddr_in *a = one;
        const struct sockaddr_in *b = other;
        const struct sockaddr_in6 *a6 = one;
        const struct sockaddr_in6 *b6 = other;

        if (!a || !b || a->sin_family != b->sin_family)
                return false;
        if (a->sin_family == AF_INET6)
                return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
        return a->sin_addr.s_addr == b->sin_addr.s_addr;
}

static bool leads_somewhere(const void *pointer)
{
        return pointer && !is_poison(&pointer, sizeof(pointer));
}

struct request_told request_told(struct test *t, DAT_CR_HANDLE request)
{
        struct request_told told;
        const struct sockaddr *address;

        memset(&told, 0, sizeof(told));
        poison(&told.param, sizeof(told.param));
        must(dat_cr_query(request, DAT_CR_FIELD_ALL, &told.param));
        address = told.param.remote_ia_address_ptr;
        if (leads_somewhere(address))
                memcpy(&told.address, address,
                       address->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                      : sizeof(struct sockaddr_in));
        if (told.param.private_data_size >= PRIVATE_SIZE &&
            leads_somewhere(told.param.private_data))
                memcpy(told.data, told.param.private_data, PRIVATE_SIZE);
        return told;
}

void expect_told_still(struct test *t, DAT_CR_HANDLE request, const struct request_told *before)
{
        struct request_told now = request_told(t, request);

        expect_that(same_host(&now.address, &before->address), "the address is another one");
        expect_eq(now.param.remote_port_qual, before->param.remote_port_qual);
        expect_eq(now.param.private_data_size, before->param.private_data_size);
        expect_that(memcmp(now.data, before->data, PRIVATE_SIZE) == 0,
                    "the private data is another one");
        expect_that(now.param.local_ep_handle == before->param.local_ep_handle,
                    "the local EP is another one");
}

void expect_told_of_asker(struct test *t, DAT_CR_HANDLE request, DAT_EP_HANDLE asker)
{
        struct request_told told = request_told(t, request);
        unsigned char sent[PRIVATE_SIZE];
        DAT_EP_PARAM param;

        loop_private_data(sent, OF_REQUEST);
        expect_that(told.param.private_data_size >= PRIVATE_SIZE, "%d bytes of private data",
                    told.param.private_data_size);
        expect_that(memcmp(told.data, sent, PRIVATE_SIZE) == 0,
                    "the private data is not what was sent");
        /* That a request tells an address and a port is dat_cr_query()'s affair (EP-71). */
        must_that_of("dat_cr_query", told.address.ss_family != AF_UNSPEC,
                     "the request tells no address");
        must_that_of("dat_cr_query", told.param.remote_port_qual != 0, "the request tells port 0");
        expect_that(same_host(&told.address, ia_address(t)),
                    "the address is not that of the IA which asked");
        poison(&param, sizeof(param));
        must(dat_ep_query(asker, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param));
        expect_eq(told.param.remote_port_qual, param.local_port_qual);
}

DAT_EP_HANDLE request_ep(struct test *t, DAT_CR_HANDLE request)
{
        DAT_CR_PARAM param;

        poison(&param, sizeof(param));
        expect(dat_cr_query(request, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param), DAT_SUCCESS);
        MUST_BE_WRITTEN("dat_cr_query", param, local_ep_handle);
        return param.local_ep_handle;
}

void expect_accepted_by(struct test *t, DAT_CR_HANDLE request, DAT_EP_HANDLE ep,
                        const struct loop *loop)
{
        expect(dat_cr_accept(request, ep, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, loop->passive), DAT_EP_STATE_CONNECTED);
        expect_eq(ep_state(t, loop->active), DAT_EP_STATE_CONNECTED);
}

DAT_EP_HANDLE expect_accepted(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        if (provider_makes_all_eps(t) && !loop->rsp)
                return expect_own_accepted(t, request, loop);
        expect_accepted_by(t, request, loop_named(loop), loop);
        return loop->passive;
}

void expect_all_accepted(struct test *t, const struct loop *asks, int count)
{
        if (provider_makes_all_eps(t)) {
                for (int i = 0; i < count; i++)
                        expect_accepted(t, asks[i].request, &asks[i]);
                return;
        }
        for (int i = 0; i < count; i++)
                expect(dat_cr_accept(asks[i].request, asks[i].passive, 0, NULL), DAT_SUCCESS);
        for (int i = 0; i < count; i++) {
                expect_event(ep_connect_evd(t, asks[i].passive), DAT_CONNECTION_EVENT_ESTABLISHED);
                expect_event(ep_connect_evd(t, asks[i].active), DAT_CONNECTION_EVENT_ESTABLISHED);
        }
}

void expect_rejected(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        expect(dat_cr_reject(request), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

#define EQUIPMENT                                                                                  \
        (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)

static DAT_EP_PARAM equipment(struct test *t)
{
        return (DAT_EP_PARAM){
            .pz_handle = pz(t),
            .recv_evd_handle = evd_with(t),
            .request_evd_handle = evd_with(t),
            .connect_evd_handle = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG),
        };
}

static void own(struct test *t, DAT_EP_HANDLE ep, const DAT_EP_PARAM *with)
{
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, with->recv_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, with->request_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, with->connect_evd_handle);
}

DAT_EP_HANDLE expect_own_taken(struct test *t, DAT_CR_HANDLE request)
{
        DAT_EP_HANDLE ep = request_ep(t, request);
        DAT_EP_PARAM with = equipment(t);

        expect_that(ep != DAT_HANDLE_NULL, "the provider made no EP");
        expect(dat_ep_modify(ep, EQUIPMENT, &with), DAT_SUCCESS);
        expect(dat_cr_accept(request, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        own(t, ep, &with);
        expect_event(with.connect_evd_handle, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_CONNECTED);
        return ep;
}

DAT_EP_HANDLE expect_own_accepted(struct test *t, DAT_CR_HANDLE request, const struct loop *loop)
{
        DAT_EP_HANDLE ep = expect_own_taken(t, request);

        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, loop->active), DAT_EP_STATE_CONNECTED);
        return ep;
}

void expect_ep_in(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
        DAT_EP_PARAM param;

        poison(&param, sizeof(param));
        expect_eq(ep_state(t, ep), state);
        if (!ep_query_answers(t))
                return;
        expect(dat_ep_query(ep, DAT_EP_FIELD_EP_STATE, &param), DAT_SUCCESS);
        expect_eq(plain_ep_state(param.ep_state), state);
}

void expect_message(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to)
{
        struct buf *buf = buf_with(t);

        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 7);
        memset(buf->addr, 0, 2 * MESSAGE);
        loop_post_recv(t, to, buf, 5);
        loop_post_send(t, from, buf, 6);
        expect_eq(expect_dto(ep_recv_evd(t, to)).user_cookie.as_64, 5);
        expect_eq(expect_dto(ep_request_evd(t, from)).user_cookie.as_64, 6);
        expect_that(message_holds(buf->addr, MESSAGE, 7), "the memory has not the message");
}

void expect_in_order(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, const struct buf *buf,
                     uint64_t count)
{
        for (uint64_t i = 0; i < count; i++) {
                message_fill(buf->addr + 2 * MESSAGE, MESSAGE, i);
                loop_post_send(t, from, buf, 10 + i);
                expect_eq(expect_dto(ep_recv_evd(t, to)).user_cookie.as_64, i);
                expect_that(message_holds(buf->addr, MESSAGE, i), "the memory has not the message");
                expect_dto(ep_request_evd(t, from));
        }
}

void expect_peer_messages(struct test *t, struct peer_ep *end, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);

        memset(buf->addr, 0, 2 * MESSAGE);
        loop_post_recv(t, ep, buf, 5);
        peer_send(end, .length = MESSAGE, .first = 3);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).user_cookie.as_64, 5);
        expect_that(message_holds(buf->addr, MESSAGE, 3), "the memory has not the peer's message");
        peer_post_recv(end, 1, MESSAGE);
        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 4);
        loop_post_send(t, ep, buf, 6);
        expect_eq(expect_dto(ep_request_evd(t, ep)).user_cookie.as_64, 6);
        peer_wait_recv(end, 4, MESSAGE);
        peer_wait_sent(end);
}

void expect_served(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        expect_served_by(t, psp, qual, evd, psp_flags_granted(t));
}

void expect_served_by(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                      DAT_PSP_FLAGS flags)
{
        struct loop asks = {.active = ep_with(t)};
        DAT_CR_HANDLE request;

        if (flags == DAT_PSP_CONSUMER_FLAG)
                asks.passive = ep_with(t);
        loop_connect(t, asks.active, qual);
        request = expect_request(t, evd, psp, qual);
        if (flags == DAT_PSP_CONSUMER_FLAG)
                expect_accepted_by(t, request, asks.passive, &asks);
        else
                expect_own_accepted(t, request, &asks);
}

void expect_refused(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd)
{
        DAT_EP_HANDLE ep = ep_with(t);

        loop_connect(t, ep, qual);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, evd);
}

DAT_EVD_HANDLE wrong_evd(struct test *t, const struct wrong_evd *row)
{
        return row->flags == DAT_EVD_ASYNC_FLAG ? async_evd(t) : evd_with(t, .flags = row->flags);
}
