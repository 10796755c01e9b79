/* SPDX-License-Identifier: BSD-2-Clause */
/* The patterns over uDAPL: one IA, and for each end an EP with an EVD of each kind. */
#include "side.h"

#include <stdint.h>
#include <stdlib.h>

#define TIMEOUT 20000000u

struct end_of {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE connect_evd;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        unsigned char *memory;
};

struct dat {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_SRQ_HANDLE srq; /* or null */
        DAT_EVD_HANDLE cr_evd;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        DAT_IA_ADDRESS_PTR address;
        DAT_EVD_HANDLE evds[QUEUES];
        struct end_of ends[2];
        struct end_of spare[2]; /* what reconnect() connects */
};

#define must(call) check(call, #call)

static void check(DAT_RETURN ret, const char *call)
{
        const char *major = "?";
        const char *minor = "";

        if (ret == DAT_SUCCESS)
                return;
        (void)dat_strerror(ret, &major, &minor);
        die(call, major);
}

static DAT_EVENT await_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        must(dat_evd_wait(evd, TIMEOUT, 1, &event, &nmore));
        if (event.event_number != number)
                die("dat_evd_wait", "an event of another kind");
        return event;
}

static void make_end(struct dat *dat, struct end_of *end, DAT_EVD_HANDLE requests,
                     DAT_EVD_HANDLE recvs, DAT_SRQ_HANDLE srq)
{
        DAT_EP_ATTR attr = {
            .service_type = DAT_SERVICE_TYPE_RC,
            .max_message_size = MESSAGE_MAX,
            .max_rdma_size = MESSAGE_MAX,
            .qos = DAT_QOS_BEST_EFFORT,
            .max_recv_dtos = RECVS,
            .max_request_dtos = DEPTH,
            .max_recv_iov = 1,
            .max_request_iov = 1,
            .max_rdma_read_in = 1,
            .max_rdma_read_out = 1,
            .srq_soft_hw = DAT_HW_DEFAULT,
            .max_rdma_read_iov = 1,
            .max_rdma_write_iov = 1,
        };
        DAT_REGION_DESCRIPTION region;
        DAT_VLEN length;
        DAT_VADDR address;

        end->memory = calloc(1, MESSAGE_MAX);
        if (!end->memory)
                die("calloc", "no memory");
        region.for_va = end->memory;
        must(dat_lmr_create(dat->ia, DAT_MEM_TYPE_VIRTUAL, region, MESSAGE_MAX, dat->pz,
                            DAT_MEM_PRIV_ALL_FLAG, &end->lmr, &end->lmr_context, &end->rmr_context,
                            &length, &address));
        must(dat_evd_create(dat->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
                            &end->connect_evd));
        if (srq)
                must(dat_ep_create_with_srq(dat->ia, dat->pz, recvs, requests, end->connect_evd,
                                            srq, &attr, &end->ep));
        else
                must(dat_ep_create(dat->ia, dat->pz, recvs, requests, end->connect_evd, &attr,
                                   &end->ep));
}

static void free_end(struct end_of *end)
{
        must(dat_ep_free(end->ep));
        must(dat_evd_free(end->connect_evd));
        must(dat_lmr_free(end->lmr));
        free(end->memory);
}

static void join(struct dat *dat, struct end_of *ends)
{
        DAT_EVENT event;

        must(dat_ep_connect(ends[END_A].ep, dat->address, dat->qual, TIMEOUT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        event = await_event(dat->cr_evd, DAT_CONNECTION_REQUEST_EVENT);
        must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, ends[END_B].ep, 0,
                           NULL));
        (void)await_event(ends[END_A].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(ends[END_B].connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void part(struct end_of *ends)
{
        must(dat_ep_disconnect(ends[END_A].ep, DAT_CLOSE_ABRUPT_FLAG));
        (void)await_event(ends[END_A].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(ends[END_B].connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void dat_visit(struct place *place)
{
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;

        must(dat_ia_open(place->ia, 8, &async_evd, &ia));
        must(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* False where the Provider has none. */
static bool make_srq(struct dat *dat)
{
        DAT_SRQ_ATTR attr = {
            .max_recv_dtos = RECVS, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_RETURN ret = dat_srq_create(dat->ia, dat->pz, &attr, &dat->srq);

        if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED || ret == DAT_NOT_IMPLEMENTED)
                return false;
        check(ret, "dat_srq_create");
        return true;
}

static void *dat_open(DAT_IA_HANDLE ia, bool shared)
{
        struct dat *dat = calloc(1, sizeof(*dat));
        DAT_IA_ATTR attr;

        if (!dat)
                die("calloc", "no memory");
        dat->ia = ia;
        must(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_NONE, NULL));
        dat->address = attr.ia_address_ptr;
        must(dat_pz_create(ia, &dat->pz));
        if (shared && !make_srq(dat)) {
                must(dat_pz_free(dat->pz));
                free(dat);
                return NULL;
        }
        must(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &dat->cr_evd));
        must(dat_psp_create_any(ia, &dat->qual, dat->cr_evd, DAT_PSP_CONSUMER_FLAG, &dat->psp));
        for (int i = 0; i < QUEUES; i++)
                must(dat_evd_create(ia, 2 * RECVS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG,
                                    &dat->evds[i]));
        for (int i = 0; i < 2; i++) {
                struct end_of *ends = i ? dat->spare : dat->ends;

                make_end(dat, &ends[END_A], dat->evds[A_REQUESTS], dat->evds[A_RECVS],
                         DAT_HANDLE_NULL);
                make_end(dat, &ends[END_B], dat->evds[B_REQUESTS], dat->evds[B_RECVS], dat->srq);
        }
        join(dat, dat->ends);
        return dat;
}

static void dat_close(void *self)
{
        struct dat *dat = self;

        part(dat->ends);
        for (int i = 0; i < 2; i++) {
                free_end(&dat->ends[i]);
                free_end(&dat->spare[i]);
        }
        for (int i = 0; i < QUEUES; i++)
                must(dat_evd_free(dat->evds[i]));
        must(dat_psp_free(dat->psp));
        must(dat_evd_free(dat->cr_evd));
        if (dat->srq)
                must(dat_srq_free(dat->srq));
        must(dat_pz_free(dat->pz));
        free(dat);
}

static DAT_LMR_TRIPLET local(const struct end_of *end, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = end->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)end->memory,
            .segment_length = length,
        };
}

static DAT_RMR_TRIPLET remote(const struct end_of *end, size_t length)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = end->rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)end->memory,
            .segment_length = length,
        };
}

static void dat_post_recv(void *self, enum end end, size_t length)
{
        struct dat *dat = self;
        struct end_of *at = &dat->ends[end];
        DAT_LMR_TRIPLET iov = local(at, length);
        DAT_DTO_COOKIE cookie = {.as_64 = length};

        if (dat->srq && end == END_B) {
                must(dat_srq_post_recv(dat->srq, 1, &iov, cookie));
                return;
        }
        must(dat_ep_post_recv(at->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_post_send(void *self, enum end end, size_t length)
{
        struct end_of *at = &((struct dat *)self)->ends[end];
        DAT_LMR_TRIPLET iov = local(at, length);
        DAT_DTO_COOKIE cookie = {.as_64 = length};

        must(dat_ep_post_send(at->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_post_write(void *self, enum end end, size_t length)
{
        struct dat *dat = self;
        DAT_LMR_TRIPLET iov = local(&dat->ends[end], length);
        DAT_RMR_TRIPLET target = remote(&dat->ends[!end], length);
        DAT_DTO_COOKIE cookie = {.as_64 = length};

        must(dat_ep_post_rdma_write(dat->ends[end].ep, 1, &iov, cookie, &target,
                                    DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_post_read(void *self, enum end end, size_t length)
{
        struct dat *dat = self;
        DAT_LMR_TRIPLET iov = local(&dat->ends[end], length);
        DAT_RMR_TRIPLET source = remote(&dat->ends[!end], length);
        DAT_DTO_COOKIE cookie = {.as_64 = length};

        must(dat_ep_post_rdma_read(dat->ends[end].ep, 1, &iov, cookie, &source,
                                   DAT_COMPLETION_DEFAULT_FLAG));
}

static void check_completion(const DAT_EVENT *event)
{
        if (event->event_number != DAT_DTO_COMPLETION_EVENT ||
            event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
                die("an operation over uDAPL", "failed");
}

static int dat_reap(void *self, enum queue queue, int most)
{
        DAT_EVD_HANDLE evd = ((struct dat *)self)->evds[queue];
        DAT_EVENT event;
        DAT_RETURN ret;

        for (int i = 0; i < most; i++) {
                ret = dat_evd_dequeue(evd, &event);
                if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
                        return i;
                check(ret, "dat_evd_dequeue");
                check_completion(&event);
        }
        return most;
}

static void dat_await(void *self, enum queue queue)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        must(dat_evd_wait(((struct dat *)self)->evds[queue], DAT_TIMEOUT_INFINITE, 1, &event,
                          &nmore));
        check_completion(&event);
}

static void dat_reconnect(void *self)
{
        struct dat *dat = self;

        join(dat, dat->spare);
        part(dat->spare);
        must(dat_ep_reset(dat->spare[END_A].ep));
        must(dat_ep_reset(dat->spare[END_B].ep));
}

const struct side dat_side = {
    .name = "uDAPL",
    .visit = dat_visit,
    .open = dat_open,
    .close = dat_close,
    .post_recv = dat_post_recv,
    .post_send = dat_post_send,
    .post_write = dat_post_write,
    .post_read = dat_post_read,
    .reap = dat_reap,
    .await = dat_await,
    .reconnect = dat_reconnect,
};
