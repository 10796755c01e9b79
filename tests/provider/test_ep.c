/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: what may be asked of one, what may be changed in which state, and what it tells. */
#include "loopback.h"

#include <stdlib.h>
#include <string.h>

static DAT_RETURN create(struct host *host, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
        return dat_ep_create(host->ia, host->pz, host->a.recv_evd, host->a.request_evd,
                             host->a.connect_evd, attr, ep);
}

static void attributes_are_checked(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR bad[14];
        DAT_EP_HANDLE ep;

        (void)state;
        end_make(host, &host->a, NULL);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                bad[i] = plain_attr();
        bad[0].service_type = (DAT_SERVICE_TYPE)5;
        bad[1].max_message_size = host->attr.max_message_size + 1;
        bad[2].max_rdma_size = host->attr.max_rdma_size + 1;
        bad[3].qos = DAT_QOS_ECONOMY;
        bad[4].recv_completion_flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
        bad[5].request_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
        bad[6].max_recv_dtos = host->attr.max_dto_per_ep + 1;
        bad[7].max_request_dtos = host->attr.max_dto_per_ep + 1;
        bad[8].max_recv_iov = host->attr.max_iov_segments_per_dto + 1;
        bad[9].max_request_iov = host->attr.max_iov_segments_per_dto + 1;
        bad[10].max_rdma_read_in = host->attr.max_rdma_read_per_ep_in + 1;
        bad[11].max_rdma_read_out = host->attr.max_rdma_read_per_ep_out + 1;
        bad[12].max_rdma_read_iov = host->attr.max_iov_segments_per_rdma_read + 1;
        bad[13].max_request_dtos = -1;
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_dat(create(host, &bad[i], &ep), DAT_INVALID_PARAMETER);
        host_close(host);
}

static void the_published_maximum_works(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        DAT_LMR_TRIPLET iov[64];
        DAT_COUNT n = host->attr.max_iov_segments_per_dto;
        DAT_EP_PARAM param;

        (void)state;
        attr.max_recv_dtos = host->attr.max_dto_per_ep;
        attr.max_request_dtos = host->attr.max_dto_per_ep;
        attr.max_recv_iov = n;
        attr.max_request_iov = n;
        attr.max_rdma_read_in = host->attr.max_rdma_read_per_ep_in;
        attr.max_rdma_read_out = host->attr.max_rdma_read_per_ep_out;
        attr.max_rdma_read_iov = host->attr.max_iov_segments_per_rdma_read;
        attr.max_rdma_write_iov = host->attr.max_iov_segments_per_rdma_write;
        attr.max_message_size = host->attr.max_message_size;
        attr.max_rdma_size = host->attr.max_rdma_size;
        assert_true(n <= 64);
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, &attr);
        end_make(host, &host->b, &attr);
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.ep_attr.max_request_dtos, attr.max_request_dtos);
        join_ends(host, &host->a, &host->b);
        for (DAT_COUNT i = 0; i < n; i++)
                iov[i] = segment(&host->b, (size_t)i * 16, 16);
        assert_dat(dat_ep_post_recv(host->b.ep, n, iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < n; i++)
                iov[i] = segment(&host->a, (size_t)i * 32, 16);
        assert_dat(dat_ep_post_send(host->a.ep, n, iov, cookie(2), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 16 * (DAT_VLEN)n);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 16 * (DAT_VLEN)n);
        host_close(host);
}

static void depths_are_exact(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 8);

        (void)state;
        for (unsigned int i = 0; i < 8; i++)
                post_recv(&host->a, 0, 8, i);
        assert_dat(dat_ep_post_recv(host->a.ep, 1, &iov, cookie(8), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        /* Without receives at the peer, sends stay outstanding. */
        for (unsigned int i = 0; i < 8; i++)
                post_send(&host->a, 0, 8, i);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(8), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        for (unsigned int i = 0; i < 8; i++)
                post_recv(&host->b, 0, 8, i);
        for (unsigned int i = 0; i < 8; i++)
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 8);
        post_recv(&host->b, 0, 8, 9);
        host_close(host);
}

static void defaults_can_be_used(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_EP_HANDLE ep;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(create(host, NULL, &ep), DAT_SUCCESS);
        assert_dat(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(param.ep_attr.max_recv_dtos > 0 && param.ep_attr.max_message_size > 0);
        assert_int_equal(param.ep_attr.max_rdma_read_out, 0);
        assert_ptr_equal(param.pz_handle, host->pz);
        assert_ptr_equal(param.recv_evd_handle, host->a.recv_evd);
        assert_ptr_equal(param.connect_evd_handle, host->a.connect_evd);
        assert_null(param.srq_handle);
        assert_dat(dat_ep_query(ep, (DAT_EP_PARAM_MASK)0x800, &param), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_free(ep), DAT_SUCCESS);
        host_close(host);
}

static void query_names_the_peer(void **state)
{
        struct host *host = host_joined();
        DAT_EP_PARAM a;
        DAT_EP_PARAM b;

        (void)state;
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &a), DAT_SUCCESS);
        assert_dat(dat_ep_query(host->b.ep, DAT_EP_FIELD_ALL, &b), DAT_SUCCESS);
        assert_int_equal(a.ep_state, DAT_EP_STATE_CONNECTED);
        assert_int_equal(a.remote_port_qual, host->qual);
        assert_int_equal(a.local_port_qual, b.remote_port_qual);
        assert_int_equal(b.local_port_qual, host->qual);
        assert_int_equal(((struct sockaddr_in *)a.remote_ia_address_ptr)->sin_addr.s_addr,
                         ((struct sockaddr_in *)host->attr.ia_address_ptr)->sin_addr.s_addr);
        assert_int_equal(((struct sockaddr_in *)b.remote_ia_address_ptr)->sin_addr.s_addr,
                         ((struct sockaddr_in *)host->attr.ia_address_ptr)->sin_addr.s_addr);
        host_close(host);
}

/* Every field that the page lists, with the value it has, so that only the state can forbid it. */
static const uint64_t fields_fixed[] = {
    DAT_EP_FIELD_IA_HANDLE,
    DAT_EP_FIELD_EP_STATE,
    DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
    DAT_EP_FIELD_LOCAL_PORT_QUAL,
    DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
    DAT_EP_FIELD_REMOTE_PORT_QUAL,
    DAT_EP_FIELD_SRQ_HANDLE,
};

static const uint64_t fields_early[] = {
    DAT_EP_FIELD_RECV_EVD_HANDLE,
    DAT_EP_FIELD_REQUEST_EVD_HANDLE,
    DAT_EP_FIELD_CONNECT_EVD_HANDLE,
    DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE,
    DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE,
    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE,
    DAT_EP_FIELD_EP_ATTR_QOS,
    DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS,
    DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS,
    DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
    DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS,
    DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV,
    DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV,
    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN,
    DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT,
};

static const uint64_t fields_quiet[] = {
    DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR,
    DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR,
    DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR,
    DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR,
};

static void expect_modify(DAT_EP_HANDLE ep, DAT_PZ_HANDLE pz, bool early, bool zone, bool quiet)
{
        DAT_EP_PARAM param;

        assert_dat(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        param.pz_handle = pz;
        for (size_t i = 0; i < sizeof(fields_fixed) / sizeof(fields_fixed[0]); i++)
                assert_dat(dat_ep_modify(ep, (DAT_EP_PARAM_MASK)fields_fixed[i], &param),
                           DAT_INVALID_PARAMETER);
        for (size_t i = 0; i < sizeof(fields_early) / sizeof(fields_early[0]); i++)
                assert_dat(dat_ep_modify(ep, (DAT_EP_PARAM_MASK)fields_early[i], &param),
                           early ? DAT_SUCCESS : DAT_INVALID_STATE);
        for (size_t i = 0; i < sizeof(fields_quiet) / sizeof(fields_quiet[0]); i++)
                assert_dat(dat_ep_modify(ep, (DAT_EP_PARAM_MASK)fields_quiet[i], &param),
                           quiet ? DAT_SUCCESS : DAT_INVALID_STATE);
        assert_dat(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param),
                   zone ? DAT_SUCCESS : DAT_INVALID_STATE);
        /* A change of nothing is none that a state could forbid. */
        assert_dat(dat_ep_modify(ep, 0, &param), DAT_SUCCESS);
}

static void modify_follows_the_state(void **state)
{
        struct host *host = host_open();
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        expect_modify(host->b.ep, host->pz, true, true, true);
        assert_dat(dat_rsp_create(host->ia, 7100, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_RESERVED);
        expect_modify(host->b.ep, host->pz, true, false, false);
        connect_to(host, &host->a, 7100);
        expect_modify(host->a.ep, host->pz, false, false, false);
        cr = any_request(host);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        expect_modify(host->b.ep, host->pz, true, false, false);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_modify(host->b.ep, host->pz, false, false, false);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        expect_modify(host->b.ep, host->pz, false, false, false);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        host_close(host);
}

static void modify_takes_effect(void **state)
{
        struct host *host = host_listening();
        DAT_EP_PARAM param;
        DAT_LMR_TRIPLET iov;

        (void)state;
        memset(&param, 0, sizeof(param));
        param.ep_attr.max_recv_dtos = 2;
        param.recv_evd_handle = host->a.recv_evd;
        assert_dat(dat_ep_modify(host->b.ep,
                                 DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
                                 &param),
                   DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        post_recv(&host->b, 0, 10, 2);
        iov = segment(&host->b, 0, 10);
        assert_dat(dat_ep_post_recv(host->b.ep, 1, &iov, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        join_ends(host, &host->a, &host->b);
        post_send(&host->a, 0, 10, 4);
        await_completion(host->a.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        host->b.ep = DAT_HANDLE_NULL;
        host_close(host);
}

/* What is posted already must still go to a queue pair that is made by the new attributes. */
static void modify_leaves_posted_receives_room(void **state)
{
        struct host *host = host_listening();
        DAT_LMR_TRIPLET iov[3];
        DAT_EP_PARAM param;

        (void)state;
        for (size_t i = 0; i < 3; i++)
                iov[i] = segment(&host->b, 100 * i, 10);
        assert_dat(dat_ep_post_recv(host->b.ep, 3, iov, cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        memset(&param, 0, sizeof(param));
        param.ep_attr.max_recv_iov = 2;
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
                   DAT_INVALID_STATE);
        param.ep_attr.max_recv_iov = 3;
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, &param),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        post_send(&host->a, 0, 30, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 30);
        host_close(host);
}

static void a_refused_change_changes_nothing(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM before;
        DAT_EP_PARAM param;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &before), DAT_SUCCESS);
        param = before;
        param.ep_attr.max_request_dtos = 3;
        param.ep_attr.max_recv_dtos = host->attr.max_dto_per_ep + 1;
        assert_dat(dat_ep_modify(host->a.ep,
                                 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS |
                                     DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS,
                                 &param),
                   DAT_INVALID_PARAMETER);
        param = before;
        param.ep_attr.max_request_dtos = 3;
        param.recv_evd_handle = host->pz;
        assert_dat(
            dat_ep_modify(host->a.ep,
                          DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS | DAT_EP_FIELD_RECV_EVD_HANDLE,
                          &param),
            DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_memory_equal(&param, &before, sizeof(param));
        host_close(host);
}

static void sends_need_a_connection(void **state)
{
        struct host *host = host_open();
        DAT_LMR_TRIPLET iov;
        DAT_RMR_TRIPLET there;

        (void)state;
        end_make(host, &host->a, NULL);
        iov = segment(&host->a, 0, 10);
        there = (DAT_RMR_TRIPLET){.segment_length = 10};
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(1), 0), DAT_INVALID_STATE);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(1), &there, 0),
                   DAT_INVALID_STATE);
        assert_dat(dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(1), &there, 0),
                   DAT_INVALID_STATE);
        assert_silent(host->a.request_evd);
        host_close(host);
}

static void status_tells_what_is_outstanding(void **state)
{
        struct host *host = host_joined();
        DAT_EP_STATE ep_state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
        DAT_COUNT count;
        DAT_COUNT span;

        (void)state;
        assert_dat(dat_ep_get_status(host->a.ep, &ep_state, &recv_idle, &request_idle),
                   DAT_SUCCESS);
        assert_int_equal(recv_idle, DAT_TRUE);
        assert_int_equal(request_idle, DAT_TRUE);
        post_recv(&host->a, 0, 10, 1);
        post_recv(&host->a, 0, 10, 2);
        post_send(&host->a, 0, 10, 2);
        assert_dat(dat_ep_get_status(host->a.ep, &ep_state, &recv_idle, &request_idle),
                   DAT_SUCCESS);
        assert_int_equal(recv_idle, DAT_FALSE);
        assert_int_equal(request_idle, DAT_FALSE);
        assert_dat(dat_ep_recv_query(host->a.ep, &count, &span), DAT_SUCCESS);
        assert_int_equal(count, 2);
        assert_int_equal(span, 2);
        /* What has completed is at the EP no more, seen or not; a query of both is not needed. */
        post_recv(&host->b, 0, 10, 3);
        post_send(&host->b, 0, 10, 4);
        await_completion(host->b.request_evd, host->b.ep, 4, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_recv_query(host->a.ep, NULL, &span), DAT_SUCCESS);
        assert_int_equal(span, 1);
        assert_dat(dat_ep_recv_query(host->a.ep, &count, NULL), DAT_SUCCESS);
        assert_int_equal(count, 1);
        assert_dat(dat_ep_recv_query(host->a.ep, NULL, NULL), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_dat(dat_ep_recv_query(host->a.ep, &count, &span), DAT_SUCCESS);
        assert_int_equal(count, 0);
        assert_int_equal(span, 0);
        host_close(host);
}

static void messages_above_the_maximum_are_refused(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        DAT_LMR_TRIPLET iov;

        (void)state;
        attr.max_message_size = 100;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, &attr);
        end_make(host, &host->b, NULL);
        join_ends(host, &host->a, &host->b);
        iov = segment(&host->a, 0, 101);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(1), 0), DAT_INVALID_PARAMETER);
        host_close(host);
}

static void zero_bytes_are_a_message(void **state)
{
        struct host *host = host_joined();

        (void)state;
        assert_dat(dat_ep_post_recv(host->b.ep, 0, NULL, cookie(1), 0), DAT_SUCCESS);
        assert_dat(dat_ep_post_send(host->a.ep, 0, NULL, cookie(2), 0), DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 0);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 0);
        host_close(host);
}

static void eps_without_dto_evds_work(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        struct end *a = &host->a;
        DAT_RMR_TRIPLET nowhere = {.segment_length = 10};
        DAT_RMR_CONTEXT context;
        DAT_LMR_TRIPLET iov;
        DAT_RMR_HANDLE rmr;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, a, NULL);
        end_make(host, &host->b, NULL);
        iov = segment(a, 0, 10);
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                                 a->connect_evd, &attr, &a->ep),
                   DAT_SUCCESS);
        join_ends(host, a, &host->b);
        for (unsigned int i = 0; i < 40; i++) {
                post_recv(&host->b, 0, 10, i);
                post_send(a, 0, 10, i);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
                post_recv(a, 0, 10, i);
                post_send(&host->b, 0, 10, i);
                await_completion(host->b.request_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
                assert_dat(dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, a->ep, cookie(i),
                                        DAT_COMPLETION_DEFAULT_FLAG, &context),
                           DAT_SUCCESS);
        }
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        /* What fails unseen ends the connection as well. */
        assert_dat(dat_ep_reset(a->ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        join_ends(host, a, &host->b);
        assert_dat(dat_ep_post_rdma_write(a->ep, 1, &iov, cookie(1), &nowhere, 0), DAT_SUCCESS);
        /* On iWARP it does not fail here: the peer ends the connection. */
        (void)await_event(a->connect_evd, host_is_iwarp() ? DAT_CONNECTION_EVENT_DISCONNECTED
                                                          : DAT_CONNECTION_EVENT_BROKEN);
        host_close(host);
}

static void free_in_every_state(void **state)
{
        struct host *host = host_open();
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;

        (void)state;
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        assert_dat(dat_rsp_create(host->ia, 7100, host->b.ep, host->cr_evd, &rsp), DAT_SUCCESS);
        assert_dat(dat_ep_free(host->b.ep), DAT_INVALID_STATE);
        connect_to(host, &host->a, 7100);
        cr = any_request(host);
        assert_dat(dat_ep_free(host->b.ep), DAT_INVALID_STATE);
        /* An attempt without an answer ends with its EP. */
        assert_dat(dat_ep_free(host->a.ep), DAT_SUCCESS);
        host->a.ep = DAT_HANDLE_NULL;
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_UNCONNECTED);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        host_close(host);
}

/* Each argument of its own is refused by its own subtype, and with or without an SRQ. */
static void arguments_of_ep_create(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        struct end *a = &host->a;
        DAT_EP_ATTR attr = plain_attr();
        DAT_HANDLE wrong[] = {host->ia, other->pz, other->cr_evd};
        DAT_EP_HANDLE ep;

        (void)state;
        end_make_with_srq(host, a, NULL, 4);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                DAT_HANDLE bad = wrong[i];

                assert_refused(dat_ep_create(host->ia, bad, NULL, NULL, NULL, &attr, &ep),
                               DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
                assert_refused(dat_ep_create(host->ia, host->pz, bad, NULL, NULL, &attr, &ep),
                               DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
                assert_refused(dat_ep_create(host->ia, host->pz, NULL, bad, NULL, &attr, &ep),
                               DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
                assert_refused(dat_ep_create(host->ia, host->pz, NULL, NULL, bad, &attr, &ep),
                               DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
                assert_refused(
                    dat_ep_create_with_srq(host->ia, host->pz, NULL, NULL, NULL, bad, &attr, &ep),
                    DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ);
        }
        /* EVDs that are not made for such events. */
        assert_refused(dat_ep_create(host->ia, host->pz, a->connect_evd, NULL, NULL, &attr, &ep),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
        assert_refused(dat_ep_create(host->ia, host->pz, NULL, a->connect_evd, NULL, &attr, &ep),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
        assert_refused(dat_ep_create(host->ia, host->pz, NULL, NULL, a->recv_evd, &attr, &ep),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CONN);
        assert_refused(dat_ep_create(host->pz, host->pz, NULL, NULL, NULL, &attr, &ep),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        assert_refused(dat_ep_create(host->ia, host->pz, NULL, NULL, NULL, &attr, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        assert_refused(
            dat_ep_create_with_srq(host->ia, host->pz, NULL, NULL, NULL, a->srq, NULL, &ep),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        assert_refused(
            dat_ep_create_with_srq(host->ia, host->pz, NULL, NULL, NULL, a->srq, &attr, NULL),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
        host_close(other);
        host_close(host);
}

static void no_attribute_is_negative_or_unknown(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR bad[17];
        DAT_NAMED_ATTR named = {"name", "value"};
        DAT_EP_PARAM before;
        DAT_EP_PARAM param;
        DAT_EP_HANDLE ep;

        (void)state;
        end_make(host, &host->a, NULL);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                bad[i] = plain_attr();
        bad[0].max_message_size = UINT64_MAX;
        bad[1].max_rdma_size = UINT64_MAX;
        bad[2].recv_completion_flags = (DAT_COMPLETION_FLAGS)0x20;
        bad[3].request_completion_flags = (DAT_COMPLETION_FLAGS)0x20;
        bad[4].max_recv_dtos = -1;
        bad[5].max_recv_iov = -1;
        bad[6].max_request_iov = -1;
        bad[7].max_rdma_read_in = -1;
        bad[8].max_rdma_read_out = -1;
        bad[9].srq_soft_hw = -2;
        bad[10].max_rdma_read_iov = -1;
        bad[11].max_rdma_write_iov = -1;
        bad[12].max_rdma_write_iov = host->attr.max_iov_segments_per_rdma_write + 1;
        bad[13].ep_transport_specific_count = 1;
        bad[13].ep_transport_specific = &named;
        bad[14].ep_provider_specific_count = 1;
        bad[14].ep_provider_specific = &named;
        bad[15].recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
        bad[16].qos = (DAT_QOS)0x100;
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &before), DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                assert_refused(create(host, &bad[i], &ep), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                param = before;
                param.ep_attr = bad[i];
                assert_refused(dat_ep_modify(host->a.ep, DAT_EP_FIELD_EP_ATTR_ALL, &param),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        }
        assert_dat(dat_ep_query(host->a.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_memory_equal(&param, &before, sizeof(param));
        host_close(host);
}

/* In either order: silent completions, or those to be solicited, have their EVD to themselves. */
static void silent_streams_have_their_evd_alone(void **state)
{
        static const DAT_COMPLETION_FLAGS controlled[] = {DAT_COMPLETION_UNSIGNALLED_FLAG,
                                                          DAT_COMPLETION_SOLICITED_WAIT_FLAG};
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_EVD_HANDLE evd;

        (void)state;
        end_make(host, &host->a, NULL);
        assert_dat(dat_evd_create(host->ia, 64, DAT_HANDLE_NULL,
                                  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &evd),
                   DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(controlled) / sizeof(controlled[0]); i++) {
                DAT_EP_ATTR silent = plain_attr();
                DAT_EP_ATTR plain = plain_attr();
                DAT_EP_ATTR threshold = plain_attr();
                DAT_EP_HANDLE one;
                DAT_EP_HANDLE two;

                silent.recv_completion_flags = controlled[i];
                threshold.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
                threshold.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
                assert_refused(dat_ep_create(host->ia, host->pz, evd, NULL, evd, &silent, &one),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                assert_refused(dat_ep_create(host->ia, host->pz, evd, evd, NULL, &silent, &one),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                assert_dat(dat_ep_create(host->ia, host->pz, evd, NULL, NULL, &silent, &one),
                           DAT_SUCCESS);
                assert_dat(dat_ep_create(host->ia, host->pz, evd, NULL, NULL, &silent, &two),
                           DAT_SUCCESS);
                assert_dat(dat_ep_free(two), DAT_SUCCESS);
                assert_refused(dat_ep_create(host->ia, host->pz, evd, NULL, NULL, &plain, &two),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                assert_refused(dat_ep_create(host->ia, host->pz, NULL, evd, NULL, &threshold, &two),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                assert_refused(dat_ep_create(host->ia, host->pz, NULL, NULL, evd, &plain, &two),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                param.connect_evd_handle = evd;
                assert_refused(dat_ep_modify(host->a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &param),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
                assert_dat(dat_ep_free(one), DAT_SUCCESS);
                assert_dat(dat_ep_create(host->ia, host->pz, NULL, NULL, evd, &plain, &one),
                           DAT_SUCCESS);
                assert_refused(dat_ep_create(host->ia, host->pz, evd, NULL, NULL, &silent, &two),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
                assert_dat(dat_ep_create(host->ia, host->pz, evd, evd, evd, &threshold, &two),
                           DAT_SUCCESS);
                assert_dat(dat_ep_free(two), DAT_SUCCESS);
                assert_dat(dat_ep_free(one), DAT_SUCCESS);
        }
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

static bool same_host(DAT_IA_ADDRESS_PTR a, DAT_IA_ADDRESS_PTR b)
{
        return a && a->sa_family == AF_INET && b->sa_family == AF_INET &&
               ((struct sockaddr_in *)a)->sin_addr.s_addr ==
                   ((struct sockaddr_in *)b)->sin_addr.s_addr;
}

/* Both ends are on this host, so each address is the same one. Ports of 0 are not looked at. */
static void expect_query(struct host *host, DAT_EP_HANDLE ep, DAT_EP_STATE ep_state,
                         DAT_PORT_QUAL local, DAT_PORT_QUAL peer)
{
        DAT_EP_PARAM param;

        memset(&param, 0xee, sizeof(param));
        assert_dat(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.ia_handle, host->ia);
        assert_int_equal(param.ep_state, ep_state);
        assert_true(same_host(param.local_ia_address_ptr, host->attr.ia_address_ptr));
        if (local)
                assert_int_equal(param.local_port_qual, local);
        if (!peer)
                return;
        assert_true(same_host(param.remote_ia_address_ptr, host->attr.ia_address_ptr));
        assert_int_equal(param.remote_port_qual, peer);
}

static DAT_PORT_QUAL local_port(DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        assert_dat(dat_ep_query(ep, DAT_EP_FIELD_LOCAL_PORT_QUAL, &param), DAT_SUCCESS);
        assert_int_not_equal(param.local_port_qual, 0);
        return param.local_port_qual;
}

static void query_names_the_peer_in_every_state(void **state)
{
        struct host *host = host_open();
        struct end *a = &host->a;
        struct end *b = &host->b;
        DAT_CR_PARAM request;
        DAT_PORT_QUAL port;
        DAT_RSP_HANDLE rsp;
        DAT_CR_HANDLE cr;
        DAT_EP_PARAM before;
        DAT_EP_PARAM param;

        (void)state;
        listen_any(host, DAT_PSP_PROVIDER_FLAG);
        end_make(host, a, NULL);
        end_make(host, b, NULL);
        expect_query(host, a->ep, DAT_EP_STATE_UNCONNECTED, 0, 0);
        assert_dat(dat_rsp_create(host->ia, 7100, b->ep, host->cr_evd, &rsp), DAT_SUCCESS);
        expect_query(host, b->ep, DAT_EP_STATE_RESERVED, 0, 0);
        assert_dat(dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &before), DAT_SUCCESS);
        connect_to(host, a, host->qual);
        port = local_port(a->ep);
        expect_query(host, a->ep, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, port, host->qual);
        cr = await_request(host);
        assert_dat(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request), DAT_SUCCESS);
        expect_query(host, request.local_ep_handle, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
                     host->qual, port);
        assert_dat(dat_cr_reject(cr), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
        expect_query(host, a->ep, DAT_EP_STATE_DISCONNECTED, 0, 0);
        assert_dat(dat_ep_reset(a->ep), DAT_SUCCESS);
        connect_to(host, a, 7100);
        port = local_port(a->ep);
        cr = any_request(host);
        expect_query(host, b->ep, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, 7100, port);
        assert_dat(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_query(host, a->ep, DAT_EP_STATE_CONNECTED, port, 7100);
        expect_query(host, b->ep, DAT_EP_STATE_CONNECTED, 7100, port);
        /* A connection changes none of the attributes that the Consumer has given. */
        assert_dat(dat_ep_query(b->ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_memory_equal(&param.ep_attr, &before.ep_attr, sizeof(param.ep_attr));
        post_send(a, 0, 10, 1);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        expect_query(host, a->ep, DAT_EP_STATE_DISCONNECT_PENDING, port, 7100);
        /* Fields that are not queried need no room in the masks, but all need some in memory. */
        assert_dat(dat_ep_query(a->ep, 0, &param), DAT_SUCCESS);
        for (unsigned int bit = 0; bit < 64; bit++) {
                uint64_t mask = UINT64_C(1) << bit;

                if (mask & DAT_EP_FIELD_ALL)
                        assert_dat(dat_ep_query(a->ep, mask, &param), DAT_SUCCESS);
                else
                        assert_refused(dat_ep_query(a->ep, mask, &param), DAT_INVALID_PARAMETER,
                                       DAT_INVALID_ARG2);
        }
        assert_refused(dat_ep_query(a->ep, DAT_EP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_rsp_free(rsp), DAT_SUCCESS);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(attributes_are_checked),
            cmocka_unit_test(the_published_maximum_works),
            unless_iwarp(depths_are_exact, NO_WAIT),
            cmocka_unit_test(defaults_can_be_used),
            cmocka_unit_test(query_names_the_peer),
            cmocka_unit_test(modify_follows_the_state),
            cmocka_unit_test(modify_takes_effect),
            cmocka_unit_test(modify_leaves_posted_receives_room),
            cmocka_unit_test(a_refused_change_changes_nothing),
            cmocka_unit_test(sends_need_a_connection),
            unless_iwarp(status_tells_what_is_outstanding, NO_WAIT),
            cmocka_unit_test(messages_above_the_maximum_are_refused),
            cmocka_unit_test(zero_bytes_are_a_message),
            cmocka_unit_test(eps_without_dto_evds_work),
            cmocka_unit_test(free_in_every_state),
            cmocka_unit_test(arguments_of_ep_create),
            cmocka_unit_test(no_attribute_is_negative_or_unknown),
            unless_iwarp(silent_streams_have_their_evd_alone, NO_SOLICIT),
            unless_iwarp(query_names_the_peer_in_every_state, NO_WAIT),
        };

        return cmocka_run_group_tests_name("ep", tests, NULL, NULL);
}
