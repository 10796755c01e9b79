/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points and Connection Requests: whose EP, whose request, and who hears of it. */
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
        DAT_EVENT event;
        DAT_COUNT nmore;
        int refused = 0;

        (void)state;
        memset(ends, 0, sizeof(ends));
        assert_dat(dat_evd_create(host->ia, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd),
                   DAT_SUCCESS);
        assert_dat(
            dat_psp_create_any(host->ia, &host->qual, evd, DAT_PSP_CONSUMER_FLAG, &host->psp),
            DAT_SUCCESS);
        for (int i = 0; i < 3; i++) {
                end_make(host, &ends[i], NULL);
                connect_to(host, &ends[i], host->qual);
        }
        for (int i = 0; i < 3; i++) {
                DAT_RETURN ret = dat_evd_wait(ends[i].connect_evd, SECOND, 1, &event, &nmore);

                if (ret != DAT_SUCCESS)
                        continue;
                assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                refused++;
        }
        assert_int_equal(refused, 1);
        /* Requests that nobody took go with their EVD. */
        assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        host->psp = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                end_free(&ends[i]);
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
        };

        return cmocka_run_group_tests_name("points", tests, NULL, NULL);
}
