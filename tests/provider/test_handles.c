/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles: destroyed, null and of another kind, in every call; and the published numbers of them.
 */
#include "loopback.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef DAT_RETURN (*call_fn)(DAT_HANDLE handle);

static DAT_EVENT event;
static DAT_COUNT count;
static DAT_HANDLE out;

static DAT_RETURN pz_query(DAT_HANDLE h)
{
        DAT_PZ_PARAM param;

        return dat_pz_query(h, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN rmr_create(DAT_HANDLE h)
{
        return dat_rmr_create(h, &out);
}

static DAT_RETURN lmr_query(DAT_HANDLE h)
{
        DAT_LMR_PARAM param;

        return dat_lmr_query(h, DAT_LMR_FIELD_ALL, &param);
}

static DAT_RETURN rmr_query(DAT_HANDLE h)
{
        DAT_RMR_PARAM param;

        return dat_rmr_query(h, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN evd_query(DAT_HANDLE h)
{
        DAT_EVD_PARAM param;

        return dat_evd_query(h, DAT_EVD_FIELD_ALL, &param);
}

static DAT_RETURN evd_wait(DAT_HANDLE h)
{
        return dat_evd_wait(h, 0, 1, &event, &count);
}

static DAT_RETURN evd_dequeue(DAT_HANDLE h)
{
        return dat_evd_dequeue(h, &event);
}

static DAT_RETURN evd_resize(DAT_HANDLE h)
{
        return dat_evd_resize(h, 9);
}

static DAT_RETURN evd_modify_cno(DAT_HANDLE h)
{
        return dat_evd_modify_cno(h, DAT_HANDLE_NULL);
}

static DAT_RETURN evd_post_se(DAT_HANDLE h)
{
        DAT_EVENT se = {.event_number = DAT_SOFTWARE_EVENT};

        return dat_evd_post_se(h, &se);
}

static DAT_RETURN cno_query(DAT_HANDLE h)
{
        DAT_CNO_PARAM param;

        return dat_cno_query(h, DAT_CNO_FIELD_ALL, &param);
}

static DAT_RETURN cno_wait(DAT_HANDLE h)
{
        return dat_cno_wait(h, 0, &out);
}

static DAT_RETURN cno_modify_agent(DAT_HANDLE h)
{
        return dat_cno_modify_agent(h, DAT_OS_WAIT_PROXY_AGENT_NULL);
}

static DAT_RETURN ep_query(DAT_HANDLE h)
{
        DAT_EP_PARAM param;

        return dat_ep_query(h, DAT_EP_FIELD_ALL, &param);
}

static DAT_RETURN ep_modify(DAT_HANDLE h)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        return dat_ep_modify(h, DAT_EP_FIELD_EP_ATTR_QOS, &param);
}

static DAT_RETURN ep_connect(DAT_HANDLE h)
{
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};

        return dat_ep_connect(h, (DAT_IA_ADDRESS_PTR)&to, 1, SECOND, 0, NULL, 0, 0);
}

static DAT_RETURN ep_dup_connect(DAT_HANDLE h)
{
        return dat_ep_dup_connect(h, h, SECOND, 0, NULL, 0);
}

static DAT_RETURN ep_disconnect(DAT_HANDLE h)
{
        return dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN ep_post_send(DAT_HANDLE h)
{
        return dat_ep_post_send(h, 0, NULL, cookie(0), 0);
}

static DAT_RETURN ep_post_recv(DAT_HANDLE h)
{
        return dat_ep_post_recv(h, 0, NULL, cookie(0), 0);
}

static DAT_RETURN ep_post_rdma_read(DAT_HANDLE h)
{
        DAT_RMR_TRIPLET remote = {0};

        return dat_ep_post_rdma_read(h, 0, NULL, cookie(0), &remote, 0);
}

static DAT_RETURN ep_post_rdma_write(DAT_HANDLE h)
{
        DAT_RMR_TRIPLET remote = {0};

        return dat_ep_post_rdma_write(h, 0, NULL, cookie(0), &remote, 0);
}

static DAT_RETURN ep_get_status(DAT_HANDLE h)
{
        return dat_ep_get_status(h, NULL, NULL, NULL);
}

static DAT_RETURN ep_recv_query(DAT_HANDLE h)
{
        return dat_ep_recv_query(h, &count, &count);
}

static DAT_RETURN ep_set_watermark(DAT_HANDLE h)
{
        return dat_ep_set_watermark(h, 1, 1);
}

static DAT_RETURN srq_query(DAT_HANDLE h)
{
        DAT_SRQ_PARAM param;

        return dat_srq_query(h, DAT_SRQ_FIELD_ALL, &param);
}

static DAT_RETURN srq_post_recv(DAT_HANDLE h)
{
        return dat_srq_post_recv(h, 0, NULL, cookie(0));
}

static DAT_RETURN srq_resize(DAT_HANDLE h)
{
        return dat_srq_resize(h, 5);
}

static DAT_RETURN srq_set_lw(DAT_HANDLE h)
{
        return dat_srq_set_lw(h, 1);
}

static DAT_RETURN psp_query(DAT_HANDLE h)
{
        DAT_PSP_PARAM param;

        return dat_psp_query(h, DAT_PSP_FIELD_ALL, &param);
}

static DAT_RETURN rsp_query(DAT_HANDLE h)
{
        DAT_RSP_PARAM param;

        return dat_rsp_query(h, DAT_RSP_FIELD_ALL, &param);
}

static DAT_RETURN cr_query(DAT_HANDLE h)
{
        DAT_CR_PARAM param;

        return dat_cr_query(h, DAT_CR_FIELD_ALL, &param);
}

static DAT_RETURN cr_accept(DAT_HANDLE h)
{
        return dat_cr_accept(h, DAT_HANDLE_NULL, 0, NULL);
}

static DAT_RETURN cr_handoff(DAT_HANDLE h)
{
        return dat_cr_handoff(h, 1);
}

static DAT_RETURN pz_create(DAT_HANDLE h)
{
        return dat_pz_create(h, &out);
}

static DAT_RETURN cno_create(DAT_HANDLE h)
{
        return dat_cno_create(h, DAT_OS_WAIT_PROXY_AGENT_NULL, &out);
}

static DAT_RETURN evd_create(DAT_HANDLE h)
{
        return dat_evd_create(h, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out);
}

static DAT_RETURN ia_query(DAT_HANDLE h)
{
        return dat_ia_query(h, NULL, 0, NULL, 0, NULL);
}

static DAT_RETURN context(DAT_HANDLE h)
{
        DAT_CONTEXT value;

        return dat_get_consumer_context(h, &value);
}

static DAT_RETURN set_context(DAT_HANDLE h)
{
        return dat_set_consumer_context(h, (DAT_CONTEXT){.as_64 = 1});
}

static DAT_RETURN handle_type(DAT_HANDLE h)
{
        DAT_HANDLE_TYPE type;

        return dat_get_handle_type(h, &type);
}

#define ANY_KIND (-1)

static const struct {
        int kind;
        call_fn call;
        const char *name;
} calls[] = {
#define CALL(kind, call)          \
        {                         \
                kind, call, #call \
        }
    CALL(DAT_HANDLE_TYPE_PZ, pz_query),
    CALL(DAT_HANDLE_TYPE_PZ, rmr_create),
    CALL(DAT_HANDLE_TYPE_PZ, dat_pz_free),
    CALL(DAT_HANDLE_TYPE_LMR, lmr_query),
    CALL(DAT_HANDLE_TYPE_LMR, dat_lmr_free),
    CALL(DAT_HANDLE_TYPE_RMR, rmr_query),
    CALL(DAT_HANDLE_TYPE_RMR, dat_rmr_free),
    CALL(DAT_HANDLE_TYPE_EVD, evd_query),
    CALL(DAT_HANDLE_TYPE_EVD, evd_wait),
    CALL(DAT_HANDLE_TYPE_EVD, evd_dequeue),
    CALL(DAT_HANDLE_TYPE_EVD, evd_resize),
    CALL(DAT_HANDLE_TYPE_EVD, evd_modify_cno),
    CALL(DAT_HANDLE_TYPE_EVD, evd_post_se),
    CALL(DAT_HANDLE_TYPE_EVD, dat_evd_enable),
    CALL(DAT_HANDLE_TYPE_EVD, dat_evd_disable),
    CALL(DAT_HANDLE_TYPE_EVD, dat_evd_set_unwaitable),
    CALL(DAT_HANDLE_TYPE_EVD, dat_evd_clear_unwaitable),
    CALL(DAT_HANDLE_TYPE_EVD, dat_evd_free),
    CALL(DAT_HANDLE_TYPE_CNO, cno_query),
    CALL(DAT_HANDLE_TYPE_CNO, cno_wait),
    CALL(DAT_HANDLE_TYPE_CNO, cno_modify_agent),
    CALL(DAT_HANDLE_TYPE_CNO, dat_cno_free),
    CALL(DAT_HANDLE_TYPE_EP, ep_query),
    CALL(DAT_HANDLE_TYPE_EP, ep_modify),
    CALL(DAT_HANDLE_TYPE_EP, ep_connect),
    CALL(DAT_HANDLE_TYPE_EP, ep_dup_connect),
    CALL(DAT_HANDLE_TYPE_EP, ep_disconnect),
    CALL(DAT_HANDLE_TYPE_EP, ep_post_send),
    CALL(DAT_HANDLE_TYPE_EP, ep_post_recv),
    CALL(DAT_HANDLE_TYPE_EP, ep_post_rdma_read),
    CALL(DAT_HANDLE_TYPE_EP, ep_post_rdma_write),
    CALL(DAT_HANDLE_TYPE_EP, ep_get_status),
    CALL(DAT_HANDLE_TYPE_EP, ep_recv_query),
    CALL(DAT_HANDLE_TYPE_EP, ep_set_watermark),
    CALL(DAT_HANDLE_TYPE_EP, dat_ep_reset),
    CALL(DAT_HANDLE_TYPE_EP, dat_ep_free),
    CALL(DAT_HANDLE_TYPE_SRQ, srq_query),
    CALL(DAT_HANDLE_TYPE_SRQ, srq_post_recv),
    CALL(DAT_HANDLE_TYPE_SRQ, srq_resize),
    CALL(DAT_HANDLE_TYPE_SRQ, srq_set_lw),
    CALL(DAT_HANDLE_TYPE_SRQ, dat_srq_free),
    CALL(DAT_HANDLE_TYPE_PSP, psp_query),
    CALL(DAT_HANDLE_TYPE_PSP, dat_psp_free),
    CALL(DAT_HANDLE_TYPE_RSP, rsp_query),
    CALL(DAT_HANDLE_TYPE_RSP, dat_rsp_free),
    CALL(DAT_HANDLE_TYPE_CR, cr_query),
    CALL(DAT_HANDLE_TYPE_CR, cr_accept),
    CALL(DAT_HANDLE_TYPE_CR, cr_handoff),
    CALL(DAT_HANDLE_TYPE_CR, dat_cr_reject),
    CALL(DAT_HANDLE_TYPE_IA, pz_create),
    CALL(DAT_HANDLE_TYPE_IA, cno_create),
    CALL(DAT_HANDLE_TYPE_IA, evd_create),
    CALL(DAT_HANDLE_TYPE_IA, ia_query),
    CALL(ANY_KIND, context),
    CALL(ANY_KIND, set_context),
    CALL(ANY_KIND, handle_type),
#undef CALL
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))
#define KINDS (DAT_HANDLE_TYPE_SRQ + 1)

struct zoo {
        struct host *host;
        DAT_HANDLE of[KINDS];
};

/* One live object of every kind. */
static struct zoo zoo_open(void)
{
        struct zoo zoo = {.host = host_open()};
        struct host *host = zoo.host;

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 4);
        connect_to(host, &host->a, host->qual);
        zoo.of[DAT_HANDLE_TYPE_CR] = await_request(host);
        zoo.of[DAT_HANDLE_TYPE_IA] = host->ia;
        zoo.of[DAT_HANDLE_TYPE_PZ] = host->pz;
        zoo.of[DAT_HANDLE_TYPE_LMR] = host->a.lmr;
        zoo.of[DAT_HANDLE_TYPE_EVD] = host->cr_evd;
        zoo.of[DAT_HANDLE_TYPE_EP] = host->a.ep;
        zoo.of[DAT_HANDLE_TYPE_SRQ] = host->b.srq;
        zoo.of[DAT_HANDLE_TYPE_PSP] = host->psp;
        assert_dat(dat_rmr_create(host->pz, &zoo.of[DAT_HANDLE_TYPE_RMR]), DAT_SUCCESS);
        assert_dat(
            dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &zoo.of[DAT_HANDLE_TYPE_CNO]),
            DAT_SUCCESS);
        assert_dat(
            dat_rsp_create(host->ia, 7500, host->b.ep, host->cr_evd, &zoo.of[DAT_HANDLE_TYPE_RSP]),
            DAT_SUCCESS);
        return zoo;
}

static void zoo_close(struct zoo *zoo)
{
        assert_dat(dat_ia_close(zoo->host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(zoo->host->a.memory);
        free(zoo->host->b.memory);
        free(zoo->host);
}

static void expect_invalid(size_t call, DAT_HANDLE handle, const char *what)
{
        DAT_RETURN ret = calls[call].call(handle);

        if (DAT_GET_TYPE(ret) != DAT_INVALID_HANDLE)
                print_error("%s of a handle that is %s: 0x%08x\n", calls[call].name, what, ret);
        assert_int_equal(DAT_GET_TYPE(ret), DAT_INVALID_HANDLE);
}

static void types_and_contexts_are_kept(void **state)
{
        struct zoo zoo = zoo_open();
        DAT_CONTEXT value;
        DAT_HANDLE_TYPE type;

        (void)state;
        for (int kind = 0; kind < KINDS; kind++) {
                assert_dat(dat_get_handle_type(zoo.of[kind], &type), DAT_SUCCESS);
                assert_int_equal(type, kind);
                assert_dat(dat_get_consumer_context(zoo.of[kind], &value), DAT_SUCCESS);
                assert_int_equal(value.as_64, 0);
                value.as_64 = 1000 + (uint64_t)kind;
                assert_dat(dat_set_consumer_context(zoo.of[kind], value), DAT_SUCCESS);
        }
        for (int kind = 0; kind < KINDS; kind++) {
                assert_dat(dat_get_consumer_context(zoo.of[kind], &value), DAT_SUCCESS);
                assert_int_equal(value.as_64, 1000 + kind);
                value.as_64 = UINT64_MAX;
                assert_dat(dat_set_consumer_context(zoo.of[kind], value), DAT_SUCCESS);
                value.as_64 = 0;
                assert_dat(dat_get_consumer_context(zoo.of[kind], &value), DAT_SUCCESS);
                assert_int_equal(value.as_64, UINT64_MAX);
                value.as_ptr = NULL;
                assert_dat(dat_set_consumer_context(zoo.of[kind], value), DAT_SUCCESS);
                value.as_ptr = &zoo;
                assert_dat(dat_get_consumer_context(zoo.of[kind], &value), DAT_SUCCESS);
                assert_null(value.as_ptr);
                assert_refused(dat_get_consumer_context(zoo.of[kind], NULL), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(dat_get_handle_type(zoo.of[kind], NULL), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
        }
        zoo_close(&zoo);
}

static void other_kinds_are_refused(void **state)
{
        struct zoo zoo = zoo_open();

        (void)state;
        for (size_t call = 0; call < CALLS; call++) {
                expect_invalid(call, DAT_HANDLE_NULL, "null");
                for (int kind = 0; kind < KINDS; kind++) {
                        if (calls[call].kind != ANY_KIND && calls[call].kind != kind)
                                expect_invalid(call, zoo.of[kind], "of another kind");
                }
        }
        zoo_close(&zoo);
}

static void destroyed_handles_are_refused(void **state)
{
        struct zoo zoo = zoo_open();

        (void)state;
        zoo_close(&zoo);
        for (size_t call = 0; call < CALLS; call++) {
                for (int kind = 0; kind < KINDS; kind++) {
                        if (calls[call].kind == ANY_KIND || calls[call].kind == kind)
                                expect_invalid(call, zoo.of[kind], "destroyed");
                }
        }
}

/* What is not a handle at all may reach the provider as a second argument. */
static void foreign_pointers_are_refused(void **state)
{
        struct zoo zoo = zoo_open();
        struct host *host = zoo.host;
        DAT_REGION_DESCRIPTION region = {.for_va = &zoo};
        DAT_EP_ATTR attr = plain_attr();
        char stuff[256] = {0};
        union {
                uintptr_t number;
                DAT_HANDLE handle;
        } low = {.number = 16}, high = {.number = UINTPTR_MAX};
        DAT_HANDLE wrong[] = {stuff,
                              stuff + 8,
                              (char *)host->pz + 8,
                              (char *)host->pz + (ptrdiff_t)64 * 1000,
                              low.handle,
                              high.handle,
                              malloc(64)};

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                DAT_HANDLE bad = wrong[i];

                assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 8, bad,
                                          DAT_MEM_PRIV_ALL_FLAG, &out, NULL, NULL, NULL, NULL),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_evd_create(host->ia, 4, bad, DAT_EVD_DTO_FLAG, &out),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_ep_create(host->ia, bad, NULL, NULL, NULL, &attr, &out),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_ep_create(host->ia, host->pz, bad, NULL, NULL, &attr, &out),
                           DAT_INVALID_HANDLE);
                assert_dat(
                    dat_ep_create_with_srq(host->ia, host->pz, NULL, NULL, NULL, bad, &attr, &out),
                    DAT_INVALID_HANDLE);
                assert_dat(dat_psp_create(host->ia, 7501, bad, DAT_PSP_CONSUMER_FLAG, &out),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_rsp_create(host->ia, 7501, bad, host->cr_evd, &out),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_cr_accept(zoo.of[DAT_HANDLE_TYPE_CR], bad, 0, NULL),
                           DAT_INVALID_HANDLE);
                assert_dat(dat_evd_modify_cno(host->cr_evd, bad), DAT_INVALID_HANDLE);
                assert_dat(dat_ep_dup_connect(host->b.ep, bad, SECOND, 0, NULL, 0),
                           DAT_INVALID_HANDLE);
        }
        free(wrong[6]);
        zoo_close(&zoo);
}

static void the_published_number_of_objects(void **state)
{
        struct host *host = host_open();
        DAT_COUNT n = 1; /* host_open() has made one zone */
        DAT_PZ_HANDLE pz;
        DAT_RETURN ret;

        (void)state;
        while ((ret = dat_pz_create(host->ia, &pz)) == DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_pzs);
        n = 2; /* the async EVD and the one for requests */
        while ((ret = dat_evd_create(host->ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &out)) ==
               DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_evds);
        n = 0;
        while ((ret = dat_ep_create(host->ia, host->pz, NULL, NULL, NULL, NULL, &out)) ==
               DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        print_message("%d EPs of %d\n", n, host->attr.max_eps);
        assert_int_equal(n, host->attr.max_eps);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host);
}

/* One page serves every registration, for it is their number that counts. */
static void the_published_number_of_regions(void **state)
{
        static unsigned char page[4096];
        struct host *host = host_open();
        DAT_REGION_DESCRIPTION region = {.for_va = page};
        DAT_LMR_HANDLE first = DAT_HANDLE_NULL;
        DAT_LMR_HANDLE lmr;
        DAT_RMR_HANDLE rmr;
        DAT_COUNT n = 0;
        DAT_RETURN ret;

        (void)state;
        while ((ret = dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(page), host->pz,
                                     DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL)) ==
               DAT_SUCCESS) {
                if (!n++)
                        first = lmr;
        }
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_lmrs);
        assert_dat(dat_lmr_free(first), DAT_SUCCESS);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof(page), host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                   DAT_SUCCESS);
        n = 0;
        while ((ret = dat_rmr_create(host->pz, &rmr)) == DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_rmrs);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host);
}

static void the_published_number_of_queues(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR ep_attr = plain_attr();
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_COUNT n = 0;
        DAT_RETURN ret;

        (void)state;
        while ((ret = dat_srq_create(host->ia, host->pz, &attr, &srq)) == DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_srqs);
        n = 0;
        while ((ret = dat_ep_create_with_srq(host->ia, host->pz, NULL, NULL, NULL, srq, &ep_attr,
                                             &out)) == DAT_SUCCESS)
                n++;
        assert_dat(ret, DAT_INSUFFICIENT_RESOURCES);
        assert_int_equal(n, host->attr.max_ep_per_srq);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host);
}

/* The longest queues are made, and hold what they promise; one more is refused. */
static void the_published_depth_of_queues(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR attr = {.max_recv_dtos = host->attr.max_recv_per_srq,
                             .max_recv_iov = host->attr.max_iov_segments_per_dto,
                             .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR ep_attr = plain_attr();
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
        DAT_SRQ_HANDLE srq;
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE ep;

        (void)state;
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &srq), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < attr.max_recv_dtos; i++)
                assert_dat(dat_srq_post_recv(srq, 0, NULL, cookie(0)), DAT_SUCCESS);
        assert_dat(dat_srq_post_recv(srq, 0, NULL, cookie(0)), DAT_INSUFFICIENT_RESOURCES);
        attr.max_recv_dtos++;
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &out), DAT_INVALID_PARAMETER);
        attr.max_recv_dtos--;
        attr.max_recv_iov++;
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &out), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_create(host->ia, host->attr.max_evd_qlen, DAT_HANDLE_NULL,
                                  DAT_EVD_SOFTWARE_FLAG, &evd),
                   DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < host->attr.max_evd_qlen; i++)
                assert_dat(dat_evd_post_se(evd, &event), DAT_SUCCESS);
        assert_dat(dat_evd_post_se(evd, &event), DAT_QUEUE_FULL);
        ep_attr.max_recv_dtos = host->attr.max_dto_per_ep;
        assert_dat(dat_ep_create(host->ia, host->pz, NULL, NULL, NULL, &ep_attr, &ep), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < ep_attr.max_recv_dtos; i++)
                assert_dat(dat_ep_post_recv(ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                           DAT_SUCCESS);
        assert_dat(dat_ep_post_recv(ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INSUFFICIENT_RESOURCES);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host);
}

static void several_ias_at_once(void **state)
{
        struct host *first = host_open();
        struct host *second = host_open();
        DAT_EVD_HANDLE async = first->async_evd;
        DAT_IA_HANDLE third;
        DAT_EP_HANDLE ep;

        (void)state;
        assert_dat(dat_ep_create(first->ia, second->pz, NULL, NULL, NULL, NULL, &ep),
                   DAT_INVALID_HANDLE);
        /* The length is ignored where no EVD is to be made. */
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref0", -1, &async, &third), DAT_SUCCESS);
        assert_ptr_equal(async, first->async_evd);
        assert_dat(dat_ia_close(third, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        async = (DAT_EVD_HANDLE)DAT_EVD_ASYNC_EXISTS;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref0", 8, &async, &third), DAT_SUCCESS);
        assert_int_equal((uintptr_t)async, (uintptr_t)DAT_EVD_OUT_OF_SCOPE);
        assert_dat(dat_ia_close(third, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        async = second->pz;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref0", 8, &async, &third), DAT_INVALID_HANDLE);
        async = DAT_HANDLE_NULL;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref0", -1, &async, &third), DAT_INVALID_PARAMETER);
        host_close(second);
        host_close(first);
}

static void entries_of_dat_conf(void **state)
{
        static const char *const others[] = {"port0", "net0", "six0"};
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_ATTR ia_attr;
        DAT_PROVIDER_ATTR attr;
        DAT_IA_HANDLE ia;

        (void)state;
        assert_dat(dat_ia_openv((DAT_NAME_PTR) "safe0", 8, &async, &ia, 1, 2, DAT_TRUE),
                   DAT_SUCCESS);
        assert_dat(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr), DAT_SUCCESS);
        assert_int_equal(attr.is_thread_safe, DAT_TRUE);
        assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        async = DAT_HANDLE_NULL;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "any0", 8, &async, &ia), DAT_SUCCESS);
        assert_dat(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr), DAT_SUCCESS);
        assert_int_equal(attr.is_thread_safe, DAT_FALSE);
        assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
                async = DAT_HANDLE_NULL;
                assert_dat(dat_ia_open((DAT_NAME_PTR)others[i], 8, &async, &ia), DAT_SUCCESS);
                assert_dat(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &ia_attr, 0, NULL),
                           DAT_SUCCESS);
                assert_string_equal(ia_attr.adapter_name, others[i]);
                assert_int_equal(ia_attr.ia_address_ptr->sa_family, i == 2 ? AF_INET6 : AF_INET);
                assert_dat(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        }
        async = DAT_HANDLE_NULL;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "none0", 8, &async, &ia), DAT_INSUFFICIENT_RESOURCES);
        assert_dat(dat_ia_open((DAT_NAME_PTR) "odd0", 8, &async, &ia), DAT_INSUFFICIENT_RESOURCES);
}

/* A lenient entry lets a send read what may only be written, and takes 0 for no limit. */
static void a_lenient_entry_forgives(void **state)
{
        DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4};
        DAT_REGION_DESCRIPTION region;
        struct host *host;
        DAT_VADDR address;
        DAT_VLEN length;
        DAT_EVENT event;

        (void)state;
        setenv("DAPLREF_TEST_IA", "lenient0", 1);
        host = host_open();
        unsetenv("DAPLREF_TEST_IA");
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, &attr);
        end_make(host, &host->b, &attr);
        region.for_va = host->a.memory;
        assert_dat(dat_lmr_free(host->a.lmr), DAT_SUCCESS);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, BUFFER, host->pz,
                                  DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &host->a.lmr, &host->a.lmr_context,
                                  &host->a.rmr_context, &length, &address),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        post_recv(&host->b, 0, 4096, 1);
        post_send(&host->a, 0, 4096, 2);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 4096);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 4096);
        assert_int_equal(dat_evd_dequeue(host->b.recv_evd, &event), DAT_QUEUE_EMPTY);
        host_close(host);
}

/* An async EVD goes with the IA that made it, and leaves another that reports on it without one. */
static void an_async_evd_goes_with_its_ia(void **state)
{
        struct host *first = host_open();
        DAT_EVD_HANDLE async = first->async_evd;
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 2};
        DAT_SRQ_HANDLE srq;
        DAT_EVD_HANDLE evd;
        DAT_IA_HANDLE second;
        DAT_PZ_HANDLE pz;
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_ia_open((DAT_NAME_PTR) "ref0", 8, &async, &second), DAT_SUCCESS);
        assert_dat(dat_pz_create(second, &pz), DAT_SUCCESS);
        assert_dat(dat_srq_create(second, pz, &attr, &srq), DAT_SUCCESS);
        event = await_event(async, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, srq);
        assert_dat(dat_ia_close(first->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(first);
        assert_dat(dat_srq_set_lw(srq, 2), DAT_SUCCESS);
        assert_dat(dat_ia_query(second, &evd, 0, NULL, 0, NULL), DAT_SUCCESS);
        assert_int_equal((uintptr_t)evd, (uintptr_t)DAT_EVD_OUT_OF_SCOPE);
        assert_dat(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(types_and_contexts_are_kept),
            cmocka_unit_test(other_kinds_are_refused),
            cmocka_unit_test(destroyed_handles_are_refused),
            cmocka_unit_test(foreign_pointers_are_refused),
            cmocka_unit_test(the_published_number_of_objects),
            cmocka_unit_test(the_published_number_of_regions),
            cmocka_unit_test(the_published_number_of_queues),
            cmocka_unit_test(the_published_depth_of_queues),
            cmocka_unit_test(several_ias_at_once),
            cmocka_unit_test(an_async_evd_goes_with_its_ia),
            cmocka_unit_test(entries_of_dat_conf),
            cmocka_unit_test(a_lenient_entry_forgives),
        };

        return cmocka_run_group_tests_name("handles", tests, NULL, NULL);
}
