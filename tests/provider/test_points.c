/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points and Connection Requests: whose EP, whose request, and who gets the event. */
#include "loopback.h"

#include <stdlib.h>
#include <string.h>

static void the_provider_gives_an_ep(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_CR_PARAM request;
        DAT_CR_HANDLE cr;
        struct end *b = &host->b;

        (void)state;
        assert_int_equal(host->provider.ep_creator, DAT_PSP_CREATES_EP_IFASKED);
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, b, NULL);
        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        b->ep = request.local_ep_handle;
        assert_non_null(b->ep);
        assert_int_equal(state_of(b->ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        assert_dat(dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_null(param.pz_handle);
        assert_null(param.recv_evd_handle);
        assert_null(param.connect_evd_handle);
        /* It serves as many reads as the peer means to have outstanding, and the reverse. */
        assert_int_equal(param.ep_attr.max_rdma_read_in, plain_attr().max_rdma_read_out);
        assert_int_equal(param.ep_attr.max_rdma_read_out, plain_attr().max_rdma_read_in);
        assert_dat(dat_ep_free(b->ep), DAT_INVALID_STATE);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_STATE);
        param.pz_handle = host->pz;
        param.recv_evd_handle = b->recv_evd;
        param.request_evd_handle = b->request_evd;
        param.connect_evd_handle = b->connect_evd;
        assert_dat(dat_ep_modify(b->ep,
                                 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
                                     DAT_EP_FIELD_REQUEST_EVD_HANDLE |
                                     DAT_EP_FIELD_CONNECT_EVD_HANDLE,
                                 &param),
                   DAT_SUCCESS);
        post_recv(b, 0, 10, 1);
        assert_dat(dat_cr_accept(cr, host->a.ep, 0, NULL), DAT_INVALID_PARAMETER);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_send(&host->a, 0, 10, 2);
        await_completion(b->recv_evd, b->ep, 1, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

static void a_rejected_provider_ep_goes_back(void **state)
{
        struct host *host = host_open();
        DAT_CR_PARAM request;
        DAT_CR_HANDLE cr;

        (void)state;
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, &host->a, NULL);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        assert_dat(dat_ep_reset(request.local_ep_handle), DAT_INVALID_HANDLE);
        assert_dat(dat_cr_reject(cr), DAT_INVALID_HANDLE);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        host_close(host);
}

static void assert_no_disconnect(DAT_EP_HANDLE ep, DAT_EP_STATE expected)
{
        assert_int_equal(state_of(ep), expected);
        assert_dat(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
        assert_dat(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
        assert_int_equal(state_of(ep), expected);
}

/* Who has not accepted has nothing to disconnect; who has may give up before it is established. */
static void disconnect_on_the_passive_side(void **state)
{
        struct host *host = host_open();
        struct end c = {0};
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;
        DAT_CR_PARAM request;
        DAT_CR_HANDLE tentative;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        end_make(host, &c, NULL);
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        assert_dat(dat_rsp_create(host->ia, 7210, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_no_disconnect(host->b.ep, DAT_EP_STATE_RESERVED);
        connect_to(host, &host->a, 7210);
        cr = any_request(host);
        assert_no_disconnect(host->b.ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        connect_to(host, &c, host->qual);
        tentative = any_request(host);
        assert_dat(dat_cr_query(tentative, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        assert_no_disconnect(request.local_ep_handle, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        assert_dat(dat_cr_reject(tentative), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_ERR_FLUSHED, 0);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        end_free(&c);
        host_close(host);
}

static void an_rsp_takes_one_request(void **state)
{
        struct host *host = host_open();
        struct end c = {0};
        DAT_RSP_PARAM param;
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        end_make(host, &c, NULL);
        assert_dat(dat_rsp_create(host->ia, 7200, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_dat(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.ep_handle, host->b.ep);
        assert_int_equal(param.conn_qual, 7200);
        assert_dat(dat_psp_free(rsp), DAT_INVALID_HANDLE);
        connect_to(host, &host->a, 7200);
        cr = any_request(host);
        connect_to(host, &c, 7200);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_dat(dat_rsp_free(rsp), DAT_INVALID_HANDLE);
        end_free(&c);
        host_close(host);
}

static void a_freed_rsp_returns_its_ep(void **state)
{
        struct host *host = host_open();
        DAT_RSP_HANDLE rsp;
        DAT_RSP_HANDLE other;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_rsp_create(host->ia, 7200, host->a.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_dat(dat_rsp_create(host->ia, 7201, host->a.ep, host->cr_evd, &other),
                   DAT_INVALID_STATE);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_UNCONNECTED);
        host_close(host);
}

static void a_request_is_handed_off(void **state)
{
        struct host *host = host_open();
        DAT_PSP_HANDLE second;
        DAT_EVENT event;
        DAT_CR_HANDLE cr;
        DAT_CR_HANDLE moved;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        assert_dat(dat_psp_create(host->ia, 7300, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &second),
                   DAT_SUCCESS);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_handoff(cr, 7301), DAT_INVALID_PARAMETER);
        assert_dat(dat_cr_handoff(cr, 7300), DAT_SUCCESS);
        assert_dat(dat_cr_handoff(cr, 7300), DAT_INVALID_HANDLE);
        event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_int_equal(event.event_data.cr_arrival_event_data.conn_qual, 7300);
        assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.psp_handle, second);
        moved = event.event_data.cr_arrival_event_data.cr_handle;
        assert_dat(dat_cr_accept(moved, host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_psp_free(second), DAT_SUCCESS);
        host_close(host);
}

/* A service point whose EVD is full cannot take a request, which then stays where it is. */
static void a_failed_handoff_keeps_the_request(void **state)
{
        struct host *host = host_listening();
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        struct end third = {0};
        DAT_PSP_HANDLE full;
        DAT_EVD_HANDLE evd;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &third, NULL);
        assert_dat(dat_evd_create(host->ia, 1, DAT_HANDLE_NULL,
                                  DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd),
                   DAT_SUCCESS);
        assert_dat(dat_psp_create(host->ia, 7300, evd, DAT_PSP_CONSUMER_FLAG, &full), DAT_SUCCESS);
        assert_dat(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_handoff(cr, 7300), DAT_INVALID_PARAMETER);
        /* The peer gives up. Its next request comes after the word of that. */
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        connect_to(host, &third, host->qual);
        assert_dat(dat_cr_reject(await_request(host)), DAT_SUCCESS);
        assert_dat(dat_cr_accept(cr, host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
        assert_dat(dat_psp_free(full), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        end_free(&third);
        host_close(host);
}

static void a_connection_is_duplicated(void **state)
{
        struct host *host = host_joined();
        struct end c = {0};
        struct end d = {0};

        (void)state;
        end_make(host, &c, NULL);
        end_make(host, &d, NULL);
        assert_dat(dat_ep_dup_connect(c.ep, d.ep, LONG, 0, NULL, DAT_QOS_BEST_EFFORT),
                   DAT_INVALID_STATE);
        assert_dat(dat_ep_dup_connect(c.ep, host->a.ep, LONG, 0, NULL, DAT_QOS_BEST_EFFORT),
                   DAT_SUCCESS);
        assert_dat(dat_cr_accept(await_request(host), d.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(c.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(d.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        end_free(&c);
        end_free(&d);
        host_close(host);
}

static void a_full_backlog_refuses(void **state)
{
        struct host *host = host_open();
        struct end ends[3];
        DAT_EVD_HANDLE evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_EP_PARAM param;

        (void)state;
        memset(ends, 0, sizeof(ends));
        assert_dat(
            dat_evd_create(host->ia, 4, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connect_evd),
            DAT_SUCCESS);
        param.connect_evd_handle = connect_evd;
        assert_dat(dat_evd_create(host->ia, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd),
                   DAT_SUCCESS);
        assert_dat(
            dat_psp_create_any(host->ia, &host->qual, evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
            DAT_SUCCESS);
        for (int i = 0; i < 3; i++) {
                end_make(host, &ends[i], NULL);
                assert_dat(dat_ep_modify(ends[i].ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param),
                           DAT_SUCCESS);
                connect_to(host, &ends[i], host->qual);
        }
        (void)await_event(connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_silent(connect_evd);
        /* Requests that were not taken are freed with their EVD. */
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        host->psp = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                end_free(&ends[i]);
        assert_dat(dat_evd_free(connect_evd), DAT_SUCCESS);
        host_close(host);
}

static void a_request_outlives_its_point(void **state)
{
        struct host *host = host_listening();
        DAT_CR_HANDLE cr;

        (void)state;
        connect_to(host, &host->a, host->qual);
        cr = await_request(host);
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        host->psp = DAT_HANDLE_NULL;
        assert_dat(dat_cr_accept(cr, host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        host_close(host);
}

static void bad_points_are_refused(void **state)
{
        struct host *host = host_open();
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_psp_create(host->ia, 7400, host->a.recv_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_INVALID_HANDLE);
        assert_dat(dat_psp_create(host->ia, 7400, DAT_HANDLE_NULL, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_INVALID_HANDLE);
        assert_dat(dat_psp_create(host->ia, 7400, host->cr_evd, (DAT_PSP_FLAGS)5, &psp),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_psp_create_any(host->ia, &qual, host->cr_evd, (DAT_PSP_FLAGS)5, &psp),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_free(host->cr_evd), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &host->cr_evd),
                   DAT_SUCCESS);
        host_close(host);
}

static void wide_qualifiers_of_one_port_are_apart(void **state)
{
        /* Both hash to the same port; one of them listens. */
        DAT_CONN_QUAL first = UINT64_C(0x100000000);
        struct host *host = host_open();
        DAT_PSP_HANDLE psp;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_psp_create(host->ia, first, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        connect_to(host, &host->a, first + 1);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        connect_to(host, &host->a, first);
        assert_dat(dat_cr_reject(any_request(host)), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        host_close(host);
}

static DAT_CR_HANDLE request_at(struct host *host, DAT_CONN_QUAL qual, DAT_CR_PARAM *param)
{
        DAT_EVENT event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        assert_int_equal(data->conn_qual, qual);
        assert_dat(dat_cr_query(data->cr_handle, DAT_CR_FIELD_ALL, param), DAT_SUCCESS);
        return data->cr_handle;
}

/* From each kind of service point to each other one, with all that came with the request. */
static void a_request_goes_round(void **state)
{
        struct host *host = host_open();
        char data[] = "what the peer said";
        struct end own = {0};
        DAT_EP_HANDLE given;
        DAT_PSP_HANDLE psps[2];
        DAT_RSP_HANDLE rsps[2];
        DAT_CR_PARAM param;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &own, NULL);
        assert_dat(dat_psp_create(host->ia, 7310, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psps[0]),
                   DAT_SUCCESS);
        assert_dat(dat_psp_create(host->ia, 7311, host->cr_evd, DAT_PSP_PROVIDER_FLAG, &psps[1]),
                   DAT_SUCCESS);
        assert_dat(dat_rsp_create(host->ia, 7312, own.ep, host->cr_evd, &rsps[0]), DAT_SUCCESS);
        assert_dat(dat_rsp_create(host->ia, 7313, DAT_HANDLE_NULL, host->cr_evd, &rsps[1]),
                   DAT_SUCCESS);
        assert_dat(dat_ep_connect(host->a.ep, host->attr.ia_address_ptr, 7310, LONG, sizeof(data),
                                  data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        cr = request_at(host, 7310, &param);
        assert_null(param.local_ep_handle);
        /* To where it is, as to anywhere; the old handle is gone each time. */
        assert_dat(dat_cr_handoff(cr, 7310), DAT_SUCCESS);
        assert_refused(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_CR);
        cr = request_at(host, 7310, &param);
        assert_dat(dat_cr_handoff(cr, 7311), DAT_SUCCESS);
        cr = request_at(host, 7311, &param);
        given = param.local_ep_handle;
        assert_int_equal(state_of(given), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        assert_refused(dat_cr_handoff(cr, 7399), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_dat(dat_cr_handoff(cr, 7312), DAT_SUCCESS);
        assert_refused(dat_ep_reset(given), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        cr = request_at(host, 7312, &param);
        assert_ptr_equal(param.local_ep_handle, own.ep);
        assert_int_equal(state_of(own.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        /* It has had its request, and this is it. */
        assert_refused(dat_cr_handoff(cr, 7312), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_dat(dat_cr_handoff(cr, 7313), DAT_SUCCESS);
        assert_int_equal(state_of(own.ep), DAT_EP_STATE_UNCONNECTED);
        cr = request_at(host, 7313, &param);
        assert_int_equal(state_of(param.local_ep_handle),
                         DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        assert_dat(dat_cr_handoff(cr, 7310), DAT_SUCCESS);
        cr = request_at(host, 7310, &param);
        assert_null(param.local_ep_handle);
        assert_int_equal(param.private_data_size, sizeof(data));
        assert_string_equal(param.private_data, data);
        assert_int_equal(((struct sockaddr_in *)param.remote_ia_address_ptr)->sin_addr.s_addr,
                         ((struct sockaddr_in *)host->attr.ia_address_ptr)->sin_addr.s_addr);
        assert_dat(dat_cr_accept(cr, own.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(own.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (int i = 0; i < 2; i++) {
                assert_dat(dat_psp_free(psps[i]), DAT_SUCCESS);
                assert_dat(dat_rsp_free(rsps[i]), DAT_SUCCESS);
        }
        end_free(&own);
        host_close(host);
}

/* A backlog that is full is no lost event: the peers get one, and no other EVD does. */
static void a_full_backlog_alarms_nobody(void **state)
{
        struct host *host = host_open();
        struct end ends[3] = {0};
        DAT_EVD_HANDLE heard;
        DAT_RSP_HANDLE rsp;
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cno;
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 1, cno, DAT_EVD_CR_FLAG, &evd), DAT_SUCCESS);
        assert_dat(
            dat_psp_create_any(host->ia, &host->qual, evd, DAT_PSP_PROVIDER_FLAG, &host->psp),
            DAT_SUCCESS);
        end_make(host, &host->b, NULL);
        assert_dat(dat_rsp_create(host->ia, 7320, host->b.ep, evd, &rsp), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                end_make(host, &ends[i], NULL);
        connect_to(host, &ends[0], host->qual);
        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        connect_to(host, &ends[1], host->qual);
        (void)await_event(ends[1].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        connect_to(host, &ends[2], 7320);
        (void)await_event(ends[2].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_RESERVED);
        assert_silent(host->async_evd);
        /* What did not come in its way has not used up the RSP. */
        assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        assert_dat(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle), DAT_SUCCESS);
        (void)await_event(ends[0].connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        assert_dat(dat_ep_reset(ends[2].ep), DAT_SUCCESS);
        connect_to(host, &ends[2], 7320);
        event = await_event(evd, DAT_CONNECTION_REQUEST_EVENT);
        assert_ptr_equal(event.event_data.cr_arrival_event_data.sp_handle.rsp_handle, rsp);
        assert_dat(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, DAT_HANDLE_NULL,
                                 0, NULL),
                   DAT_SUCCESS);
        (void)await_event(ends[2].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        host->psp = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                end_free(&ends[i]);
        host_close(host);
}

/* Each is one that is free, and that needs no privilege; and while it is held, it stays so. */
static void any_qualifier_is_its_own(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        DAT_PSP_HANDLE psps[32];
        DAT_CONN_QUAL quals[32];
        DAT_PSP_PARAM param;
        DAT_PSP_HANDLE psp;
        DAT_RSP_HANDLE rsp;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(other, &other->a, NULL);
        for (int i = 0; i < 32; i++) {
                quals[i] = 7000;
                assert_dat(dat_psp_create_any(i % 2 ? other->ia : host->ia, &quals[i],
                                              i % 2 ? other->cr_evd : host->cr_evd,
                                              DAT_PSP_CONSUMER_FLAG, &psps[i]),
                           DAT_SUCCESS);
                assert_in_range(quals[i], 1024, 65535);
                for (int k = 0; k < i; k++)
                        assert_int_not_equal(quals[i], quals[k]);
                assert_dat(dat_psp_query(psps[i], DAT_PSP_FIELD_ALL, &param), DAT_SUCCESS);
                assert_int_equal(param.conn_qual, quals[i]);
                assert_ptr_equal(param.ia_handle, i % 2 ? other->ia : host->ia);
        }
        for (int i = 0; i < 2; i++) {
                assert_refused(
                    dat_psp_create(host->ia, quals[i], host->cr_evd, DAT_PSP_PROVIDER_FLAG, &psp),
                    DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
                assert_refused(dat_rsp_create(host->ia, quals[i], host->a.ep, host->cr_evd, &rsp),
                               DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
                assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_UNCONNECTED);
        }
        for (int i = 0; i < 32; i++)
                assert_dat(dat_psp_free(psps[i]), DAT_SUCCESS);
        /* A qualifier that is given back is anybody's, also by the other kind of service point. */
        assert_dat(dat_rsp_create(host->ia, quals[1], host->a.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_refused(
            dat_psp_create(host->ia, quals[1], host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
        assert_refused(
            dat_psp_create(other->ia, quals[1], other->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_dat(dat_psp_create(other->ia, quals[1], other->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        host_close(other);
        host_close(host);
}

static void each_argument_of_a_point(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        DAT_CONN_QUAL qual = 0;
        DAT_PSP_PARAM psp_param;
        DAT_RSP_PARAM rsp_param;
        DAT_CR_PARAM cr_param;
        DAT_PSP_HANDLE psp;
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;
        char data[1024] = {0};
        DAT_COUNT max = host->provider.max_private_data_size;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        end_make(other, &other->a, NULL);
        assert_refused(
            dat_psp_create(host->ia, 7330, host->a.recv_evd, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
        assert_refused(dat_psp_create(host->ia, 7330, other->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
        assert_refused(dat_psp_create(host->ia, 7330, host->cr_evd, (DAT_PSP_FLAGS)2, &psp),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_psp_create(host->ia, 7330, host->cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(
            dat_psp_create_any(host->ia, NULL, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(
            dat_psp_create_any(host->ia, &qual, host->cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(
            dat_psp_create_any(host->ia, &qual, other->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
            DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
        assert_refused(dat_rsp_create(host->ia, 7330, host->b.ep, host->cr_evd, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        assert_refused(dat_rsp_create(host->ia, 7330, host->b.ep, host->a.recv_evd, &rsp),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
        assert_refused(dat_rsp_create(host->ia, 7330, other->a.ep, host->cr_evd, &rsp),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_UNCONNECTED);
        assert_int_equal(state_of(other->a.ep), DAT_EP_STATE_UNCONNECTED);
        assert_dat(dat_psp_create(host->ia, 7330, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_refused(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)0x10, &psp_param),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_psp_query(psp, DAT_PSP_FIELD_PSP_FLAGS, &psp_param), DAT_SUCCESS);
        assert_int_equal(psp_param.psp_flags, DAT_PSP_CONSUMER_FLAG);
        assert_dat(dat_rsp_create(host->ia, 7331, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_refused(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)0x10, &rsp_param),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param), DAT_SUCCESS);
        assert_ptr_equal(rsp_param.ia_handle, host->ia);
        assert_ptr_equal(rsp_param.evd_handle, host->cr_evd);
        connect_to(host, &host->a, 7330);
        cr = any_request(host);
        assert_refused(dat_cr_query(cr, (DAT_CR_PARAM_MASK)0x20, &cr_param), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EP);
        assert_refused(dat_cr_accept(cr, other->a.ep, 0, NULL), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_EP);
        assert_refused(dat_cr_accept(cr, host->b.ep, 0, NULL), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EP_RESERVED);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_refused(dat_cr_accept(cr, host->b.ep, -1, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_cr_accept(cr, host->b.ep, max + 1, data), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_cr_accept(cr, host->b.ep, 1, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG4);
        assert_refused(dat_cr_handoff(cr, 7399), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_UNCONNECTED);
        assert_int_equal(state_of(host->a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
        assert_dat(dat_cr_accept(cr, host->b.ep, max, data), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_refused(dat_cr_reject(cr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        host_close(other);
        host_close(host);
}

/* What was reported before a service point went can be read and answered after it has gone. */
static void unread_requests_outlive_their_points(void **state)
{
        struct host *host = host_open();
        struct end ends[2] = {0};
        DAT_PSP_HANDLE psp;
        DAT_RSP_HANDLE rsp;
        DAT_EVD_HANDLE heard;
        DAT_CNO_HANDLE cno;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->cr_evd, cno), DAT_SUCCESS);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        end_make(host, &ends[0], NULL);
        end_make(host, &ends[1], NULL);
        assert_dat(dat_psp_create(host->ia, 7340, host->cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
                   DAT_SUCCESS);
        assert_dat(dat_rsp_create(host->ia, 7341, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        connect_to(host, &host->a, 7340);
        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        connect_to(host, &ends[0], 7341);
        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        assert_dat(dat_psp_free(psp), DAT_SUCCESS);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        /* No service point listens there any more. */
        connect_to(host, &ends[1], 7340);
        (void)await_event(ends[1].connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_cr_reject(any_request(host)), DAT_SUCCESS);
        assert_dat(dat_cr_accept(any_request(host), DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        (void)await_event(ends[0].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_evd_modify_cno(host->cr_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        end_free(&ends[0]);
        end_free(&ends[1]);
        host_close(host);
}

/* An RSP without an EP gets one from the Provider with its request, which is its only one. */
static void an_rsp_without_an_ep(void **state)
{
        struct host *host = host_open();
        DAT_RSP_PARAM param;
        DAT_CR_PARAM request;
        DAT_EP_PARAM wanted;
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        assert_dat(dat_rsp_create(host->ia, 7350, DAT_HANDLE_NULL, host->cr_evd, &rsp),
                   DAT_SUCCESS);
        assert_dat(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.conn_qual, 7350);
        connect_to(host, &host->a, 7350);
        cr = request_at(host, 7350, &request);
        assert_int_equal(state_of(request.local_ep_handle),
                         DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        wanted.pz_handle = host->pz;
        wanted.connect_evd_handle = host->b.connect_evd;
        assert_dat(dat_ep_modify(request.local_ep_handle,
                                 DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &wanted),
                   DAT_SUCCESS);
        assert_refused(dat_cr_accept(cr, request.local_ep_handle, 0, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        /* It is the Consumer's now, for another connection too. */
        assert_dat(dat_ep_disconnect(request.local_ep_handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(request.local_ep_handle), DAT_SUCCESS);
        assert_dat(dat_ep_connect(request.local_ep_handle, host->attr.ia_address_ptr, 7350, LONG, 0,
                                  NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        assert_dat(dat_ep_free(request.local_ep_handle), DAT_SUCCESS);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_provider_gives_an_ep),
            cmocka_unit_test(a_rejected_provider_ep_goes_back),
            cmocka_unit_test(disconnect_on_the_passive_side),
            cmocka_unit_test(an_rsp_takes_one_request),
            cmocka_unit_test(a_freed_rsp_returns_its_ep),
            cmocka_unit_test(a_request_is_handed_off),
            cmocka_unit_test(a_failed_handoff_keeps_the_request),
            cmocka_unit_test(a_connection_is_duplicated),
            cmocka_unit_test(a_full_backlog_refuses),
            cmocka_unit_test(a_request_outlives_its_point),
            cmocka_unit_test(bad_points_are_refused),
            cmocka_unit_test(wide_qualifiers_of_one_port_are_apart),
            cmocka_unit_test(a_request_goes_round),
            cmocka_unit_test(a_full_backlog_alarms_nobody),
            cmocka_unit_test(any_qualifier_is_its_own),
            cmocka_unit_test(each_argument_of_a_point),
            cmocka_unit_test(unread_requests_outlive_their_points),
            cmocka_unit_test(an_rsp_without_an_ep),
        };

        return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
