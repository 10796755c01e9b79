/* SPDX-License-Identifier: BSD-2-Clause */
#include "loopback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Segments of an RDMA read, of which other devices than iWARP's may have one too; 0 is unknown. */
static DAT_COUNT read_iov;

static const char *name_of(DAT_RETURN ret)
{
        const char *major = "?";
        const char *minor = "";
        static char texts[2][128];
        static int turn;
        char *text = texts[turn++ % 2];

        (void)dat_strerror(ret, &major, &minor);
        (void)snprintf(text, sizeof(texts[0]), "%s %s", major, minor ? minor : "");
        return text;
}

void check_return(DAT_RETURN ret, DAT_RETURN type, const char *call, const char *file, int line)
{
        if (DAT_GET_TYPE(ret) == DAT_GET_TYPE(type))
                return;
        print_error("%s\n  returned %s (0x%08x), expected type 0x%x\n", call, name_of(ret), ret,
                    DAT_GET_TYPE(type));
        _fail(file, line);
}

void check_refusal(DAT_RETURN ret, DAT_RETURN expected, const char *call, const char *file,
                   int line)
{
        if (ret == (DAT_CLASS_ERROR | expected))
                return;
        print_error("%s\n  returned %s (0x%08x), expected %s\n", call, name_of(ret), ret,
                    name_of(DAT_CLASS_ERROR | expected));
        _fail(file, line);
}

static void skipped(void **state)
{
        print_message("%s\n", (const char *)*state);
        skip();
}

struct CMUnitTest test_or_skip(bool here, const char *name, CMUnitTestFunction test,
                               const char *reason)
{
        return (struct CMUnitTest){
            .name = name,
            .test_func = here ? test : skipped,
            .initial_state = here ? NULL : (void *)reason,
        };
}

DAT_EP_ATTR plain_attr(void)
{
        if (!read_iov)
                read_iov = host_is_iwarp() ? 1 : 4;
        return (DAT_EP_ATTR){
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = 1 << 20,
            .max_rdma_size = 1 << 20,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = 8,
            .max_request_dtos = 8,
            .max_recv_iov = 4,
            .max_request_iov = 4,
            .max_rdma_read_in = 4,
            .max_rdma_read_out = 4,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = read_iov,
            .max_rdma_write_iov = 4,
        };
}

DAT_DTO_COOKIE cookie(uint64_t value)
{
        return (DAT_DTO_COOKIE){.as_64 = value};
}

DAT_LMR_TRIPLET segment(const struct end *end, size_t offset, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = end->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)end->memory + offset,
            .segment_length = length,
        };
}

/* Opens the IA that DAPLREF_TEST_IA names, ref0 by default, with a zone and an EVD for requests. */
struct host *host_open(void)
{
        struct host *host = calloc(1, sizeof(*host));
        const char *name = getenv("DAPLREF_TEST_IA");

        assert_non_null(host);
        host->async_evd = DAT_HANDLE_NULL;
        assert_dat(
            dat_ia_open((DAT_NAME_PTR)(name ? name : "ref0"), 16, &host->async_evd, &host->ia),
            DAT_SUCCESS);
        assert_dat(dat_ia_query(host->ia, NULL, DAT_IA_FIELD_ALL, &host->attr,
                                DAT_PROVIDER_FIELD_ALL, &host->provider),
                   DAT_SUCCESS);
        read_iov = host->attr.max_iov_segments_per_rdma_read < 4
                       ? host->attr.max_iov_segments_per_rdma_read
                       : 4;
        assert_dat(dat_pz_create(host->ia, &host->pz), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &host->cr_evd),
                   DAT_SUCCESS);
        return host;
}

static void make_parts(struct host *host, struct end *end)
{
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN length;
        DAT_VADDR address;

        assert_dat(dat_evd_create(host->ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->recv_evd),
                   DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 64, DAT_HANDLE_NULL,
                                  DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &end->request_evd),
                   DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
                                  &end->connect_evd),
                   DAT_SUCCESS);
        end->memory = calloc(1, BUFFER);
        assert_non_null(end->memory);
        region.for_va = end->memory;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFER, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->lmr_context,
                                  &end->rmr_context, &length, &address),
                   DAT_SUCCESS);
}

/* Another LMR of an end's memory, which is to be freed before it; the contexts may be NULL. */
DAT_LMR_HANDLE region_of(struct host *host, const struct end *end, DAT_PZ_HANDLE pz,
                         unsigned int privileges, DAT_LMR_CONTEXT *context,
                         DAT_RMR_CONTEXT *rmr_context)
{
        DAT_REGION_DESCRIPTION region = {.for_va = end->memory};
        DAT_LMR_HANDLE lmr;

        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFER, pz,
                                  (DAT_MEM_PRIV_FLAGS)privileges, &lmr, context, rmr_context, NULL,
                                  NULL),
                   DAT_SUCCESS);
        return lmr;
}

void end_make(struct host *host, struct end *end, const DAT_EP_ATTR *attr)
{
        DAT_EP_ATTR plain = plain_attr();

        make_parts(host, end);
        assert_dat(dat_ep_create(host->ia, host->pz, end->recv_evd, end->request_evd,
                                 end->connect_evd, attr ? attr : &plain, &end->ep),
                   DAT_SUCCESS);
}

void end_make_with_srq(struct host *host, struct end *end, const DAT_EP_ATTR *attr, DAT_COUNT depth)
{
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = depth, .max_recv_iov = 2, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR plain = plain_attr();

        make_parts(host, end);
        if (!end->srq)
                assert_dat(dat_srq_create(host->ia, host->pz, &srq_attr, &end->srq), DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, host->pz, end->recv_evd, end->request_evd,
                                          end->connect_evd, end->srq, attr ? attr : &plain,
                                          &end->ep),
                   DAT_SUCCESS);
}

void end_free(struct end *end)
{
        if (end->ep)
                assert_dat(dat_ep_free(end->ep), DAT_SUCCESS);
        if (end->srq)
                assert_dat(dat_srq_free(end->srq), DAT_SUCCESS);
        if (end->lmr)
                assert_dat(dat_lmr_free(end->lmr), DAT_SUCCESS);
        if (end->connect_evd)
                assert_dat(dat_evd_free(end->connect_evd), DAT_SUCCESS);
        if (end->request_evd)
                assert_dat(dat_evd_free(end->request_evd), DAT_SUCCESS);
        if (end->recv_evd)
                assert_dat(dat_evd_free(end->recv_evd), DAT_SUCCESS);
        free(end->memory);
        memset(end, 0, sizeof(*end));
}

/* Frees all that is there, one by one, and closes gracefully: nothing may be left over. */
void host_close(struct host *host)
{
        end_free(&host->a);
        end_free(&host->b);
        if (host->psp)
                assert_dat(dat_psp_free(host->psp), DAT_SUCCESS);
        assert_dat(dat_evd_free(host->cr_evd), DAT_SUCCESS);
        assert_dat(dat_pz_free(host->pz), DAT_SUCCESS);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        free(host);
}

void listen_any(struct host *host, DAT_PSP_FLAGS flags)
{
        assert_dat(dat_psp_create_any(host->ia, &host->qual, host->cr_evd, flags, &host->psp),
                   DAT_SUCCESS);
}

DAT_EVENT await_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(event.event_number, number);
        assert_ptr_equal(event.evd_handle, evd);
        return event;
}

void await_completion(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie_value,
                      DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        DAT_EVENT event = await_event(evd, DAT_DTO_COMPLETION_EVENT);
        DAT_DTO_COMPLETION_EVENT_DATA *data = &event.event_data.dto_completion_event_data;

        assert_int_equal(data->status, status);
        assert_int_equal(data->user_cookie.as_64, cookie_value);
        assert_ptr_equal(data->ep_handle, ep);
        if (status == DAT_DTO_SUCCESS)
                assert_int_equal(data->transfered_length, length);
}

void assert_silent(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT nmore = -1;

        assert_dat(dat_evd_wait(evd, QUIET, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_int_equal(nmore, 0);
}

/* The next request, of whichever service point. */
DAT_CR_HANDLE any_request(struct host *host)
{
        DAT_EVENT event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);

        return event.event_data.cr_arrival_event_data.cr_handle;
}

/* The next request, which must be of the host's own service point. */
DAT_CR_HANDLE await_request(struct host *host)
{
        DAT_EVENT event = await_event(host->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        assert_ptr_equal(data->sp_handle.psp_handle, host->psp);
        assert_int_equal(data->conn_qual, host->qual);
        assert_non_null(data->local_ia_address_ptr);
        return data->cr_handle;
}

/* Asks this host for a connection. */
void connect_to(struct host *host, struct end *end, DAT_CONN_QUAL qual)
{
        assert_dat(dat_ep_connect(end->ep, host->attr.ia_address_ptr, qual, LONG, 0, NULL,
                                  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
                   DAT_SUCCESS);
}

/* Connects a to b through the host's service point. */
void join_ends(struct host *host, struct end *a, struct end *b)
{
        connect_to(host, a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), b->ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(a->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(b->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* A host with a service point and both ends made. */
struct host *host_listening(void)
{
        struct host *host = host_open();

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        return host;
}

/* A host with both ends made by these attributes, and joined. */
struct host *host_joined_with(const DAT_EP_ATTR *attr)
{
        struct host *host = host_open();

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, attr);
        end_make(host, &host->b, attr);
        join_ends(host, &host->a, &host->b);
        return host;
}

/* The same, by the plain ones. */
struct host *host_joined(void)
{
        return host_joined_with(NULL);
}

void post_recv(struct end *end, size_t offset, size_t length, uint64_t cookie_value)
{
        DAT_LMR_TRIPLET iov = segment(end, offset, length);

        assert_dat(
            dat_ep_post_recv(end->ep, 1, &iov, cookie(cookie_value), DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
}

void post_srq(struct end *end, size_t offset, size_t length, uint64_t cookie_value)
{
        DAT_LMR_TRIPLET iov = segment(end, offset, length);

        assert_dat(dat_srq_post_recv(end->srq, 1, &iov, cookie(cookie_value)), DAT_SUCCESS);
}

void post_send(struct end *end, size_t offset, size_t length, uint64_t cookie_value)
{
        DAT_LMR_TRIPLET iov = segment(end, offset, length);

        assert_dat(
            dat_ep_post_send(end->ep, 1, &iov, cookie(cookie_value), DAT_COMPLETION_DEFAULT_FLAG),
            DAT_SUCCESS);
}

DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;

        assert_dat(dat_ep_get_status(ep, &state, &recv_idle, &request_idle), DAT_SUCCESS);
        return state;
}

DAT_SRQ_PARAM srq_counts(DAT_SRQ_HANDLE srq)
{
        DAT_SRQ_PARAM param;

        assert_dat(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        return param;
}
