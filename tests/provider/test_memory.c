/* SPDX-License-Identifier: BSD-2-Clause */
/* LMRs, RMRs and RDMA: who may reach which bytes, and what happens to those who may not. */
#include "loopback.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define NO_RIGHTS "iWARP: siw lets a peer read what it may only write"
#define NO_CREDIT "iWARP: siw tells of as many reads as were asked for"

static DAT_RMR_TRIPLET remote(DAT_RMR_CONTEXT context, const unsigned char *at, size_t length)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = context,
            .target_address = (DAT_VADDR)(uintptr_t)at,
            .segment_length = length,
        };
}

/* The same of the accepting end's memory, before which there is an offset of -1. */
static DAT_RMR_TRIPLET remote_at(const struct host *host, DAT_RMR_CONTEXT context, size_t offset,
                                 size_t length)
{
        DAT_RMR_TRIPLET there = remote(context, host->b.memory, length);

        there.target_address += offset;
        return there;
}

static DAT_RETURN rdma_write(struct host *host, DAT_RMR_TRIPLET to, size_t length,
                             uint64_t cookie_value)
{
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, length);

        return dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(cookie_value), &to,
                                      DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN rdma_read(struct host *host, DAT_RMR_TRIPLET from, size_t length,
                            uint64_t cookie_value)
{
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, length);

        return dat_ep_post_rdma_read(host->a.ep, 1, &iov, cookie(cookie_value), &from,
                                     DAT_COMPLETION_DEFAULT_FLAG);
}

static void rejoin(struct host *host)
{
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
}

static void await_end(const struct end *end)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(end->connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_true(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
}

/*
 * The peer has refused the access: the DTO says so, and the connection breaks at both ends. On
 * iWARP the write was complete before, the read is flushed, and the connection ends.
 */
static void await_refusal(struct host *host, uint64_t cookie_value)
{
        if (host_is_iwarp()) {
                (void)await_event(host->a.request_evd, DAT_DTO_COMPLETION_EVENT);
                await_end(&host->a);
        } else {
                await_completion(host->a.request_evd, host->a.ep, cookie_value,
                                 DAT_DTO_ERR_REMOTE_ACCESS, 0);
                (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        }
        await_end(&host->b);
}

/* A write on iWARP is complete when the stream has it, and lands later. */
static void await_bytes(const void *at, const void *bytes, size_t length)
{
        const struct timespec moment = {.tv_nsec = 1000000};

        for (unsigned int i = 0; i < LONG / 1000 && memcmp(at, bytes, length) != 0; i++)
                (void)nanosleep(&moment, NULL);
        assert_memory_equal(at, bytes, length);
}

static void rdma_moves_data(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET parts[2];
        DAT_RMR_TRIPLET whole;

        (void)state;
        memset(host->a.memory, 0x11, 3000);
        assert_dat(
            rdma_write(host, remote(host->b.rmr_context, host->b.memory + 100, 3000), 3000, 1),
            DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 3000);
        await_bytes(host->b.memory + 100, host->a.memory, 3000);
        memset(host->b.memory, 0x22, 2000);
        assert_dat(rdma_read(host, remote(host->b.rmr_context, host->b.memory, 2000), 2500, 2),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 2000);
        assert_memory_equal(host->a.memory, host->b.memory, 2000);
        assert_int_equal(host->a.memory[2000], 0x11);
        parts[0] = segment(&host->a, 100, 10);
        parts[1] = segment(&host->a, 5000, 20);
        whole = remote(host->b.rmr_context, host->b.memory + 9000, 30);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 2, parts, cookie(3), &whole,
                                          DAT_COMPLETION_BARRIER_FENCE_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 30);
        await_bytes(host->b.memory + 9000, host->a.memory + 100, 10);
        host_close(host);
}

static void lengths_and_flags_are_checked(void **state)
{
        struct host *host = host_joined();
        DAT_RMR_TRIPLET there = remote(host->b.rmr_context, host->b.memory, 100);
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 100);
        DAT_EP_HANDLE ep = host->a.ep;

        (void)state;
        assert_dat(rdma_write(host, there, 101, 1), DAT_LENGTH_ERROR);
        assert_dat(rdma_read(host, there, 99, 1), DAT_LENGTH_ERROR);
        assert_dat(dat_ep_post_rdma_read(ep, 1, &iov, cookie(1), NULL, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_read(ep, 5, &iov, cookie(1), &there, 0), DAT_INVALID_PARAMETER);
        assert_dat(
            dat_ep_post_rdma_read(ep, 1, &iov, cookie(1), &there, DAT_COMPLETION_UNSIGNALLED_FLAG),
            DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_rdma_write(ep, 1, &iov, cookie(1), &there,
                                          DAT_COMPLETION_SOLICITED_WAIT_FLAG),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_post_send(ep, 1, &iov, cookie(1), DAT_COMPLETION_EVD_THRESHOLD_FLAG),
                   DAT_INVALID_PARAMETER);
        host_close(host);
}

static void reads_need_their_credit(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();

        (void)state;
        attr.max_rdma_read_out = 0;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, &attr);
        end_make(host, &host->b, NULL);
        join_ends(host, &host->a, &host->b);
        assert_dat(rdma_read(host, remote(host->b.rmr_context, host->b.memory, 10), 10, 1),
                   DAT_INSUFFICIENT_RESOURCES);
        host_close(host);
}

static void reads_need_the_peers_credit(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();

        (void)state;
        attr.max_rdma_read_in = 0;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, &attr);
        join_ends(host, &host->a, &host->b);
        assert_dat(rdma_read(host, remote(host->b.rmr_context, host->b.memory, 10), 10, 1),
                   DAT_INSUFFICIENT_RESOURCES);
        assert_dat(rdma_write(host, remote(host->b.rmr_context, host->b.memory, 10), 10, 2),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

static void outside_the_lmr_breaks_the_connection(void **state)
{
        struct host *host = host_joined();

        (void)state;
        assert_dat(
            rdma_write(host, remote(host->b.rmr_context, host->b.memory + BUFFER - 10, 20), 20, 1),
            DAT_SUCCESS);
        await_refusal(host, 1);
        rejoin(host);
        assert_dat(rdma_read(host, remote(host->b.rmr_context + 1, host->b.memory, 20), 20, 2),
                   DAT_SUCCESS);
        await_refusal(host, 2);
        host_close(host);
}

static DAT_RMR_CONTEXT bind_rmr(struct host *host, DAT_RMR_HANDLE rmr, size_t offset, size_t length,
                                DAT_MEM_PRIV_FLAGS privileges)
{
        DAT_LMR_TRIPLET region = segment(&host->b, offset, length);
        DAT_RMR_CONTEXT context = 0;
        DAT_EVENT event;

        assert_dat(dat_rmr_bind(rmr, &region, privileges, host->b.ep, cookie(77),
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_SUCCESS);
        event = await_event(host->b.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        assert_ptr_equal(event.event_data.rmr_completion_event_data.rmr_handle, rmr);
        assert_int_equal(event.event_data.rmr_completion_event_data.user_cookie.as_64, 77);
        assert_int_equal(event.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
        return context;
}

/* The EVD of the requests is not polled: the connection's end must come nevertheless. */
static void a_failure_ends_the_connection_unasked(void **state)
{
        struct host *host = host_joined();
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(
            rdma_write(host, remote(host->b.rmr_context, host->b.memory + BUFFER, 16), 16, 1),
            DAT_SUCCESS);
        assert_dat(dat_evd_wait(host->a.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_BROKEN);
        assert_ptr_equal(event.event_data.connect_event_data.ep_handle, host->a.ep);
        assert_dat(dat_evd_wait(host->b.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS, 0);
        host_close(host);
}

static void an_rmr_gives_exactly_its_bytes(void **state)
{
        struct host *host = host_joined();
        DAT_RMR_CONTEXT context;
        DAT_RMR_CONTEXT old;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_PARAM param;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        context = bind_rmr(host, rmr, 1000, 50, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
        assert_dat(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.rmr_context, context);
        assert_int_equal(param.lmr_triplet.segment_length, 50);
        assert_dat(dat_lmr_free(host->b.lmr), DAT_INVALID_STATE);
        assert_dat(rdma_write(host, remote(context, host->b.memory + 1000, 50), 50, 1),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 50);
        /* One byte below, one byte above, the wrong direction, and a context of the past. */
        assert_dat(rdma_write(host, remote(context, host->b.memory + 999, 50), 50, 2), DAT_SUCCESS);
        await_refusal(host, 2);
        rejoin(host);
        assert_dat(rdma_write(host, remote(context, host->b.memory + 1000, 51), 51, 3),
                   DAT_SUCCESS);
        await_refusal(host, 3);
        rejoin(host);
        assert_dat(rdma_read(host, remote(context, host->b.memory + 1000, 50), 50, 4), DAT_SUCCESS);
        await_refusal(host, 4);
        rejoin(host);
        old = context;
        context = bind_rmr(host, rmr, 2000, 10, DAT_MEM_PRIV_REMOTE_READ_FLAG);
        assert_int_not_equal(old, context);
        assert_dat(rdma_read(host, remote(context, host->b.memory + 2000, 10), 10, 5), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 5, DAT_DTO_SUCCESS, 10);
        assert_dat(rdma_write(host, remote(old, host->b.memory + 1000, 50), 50, 6), DAT_SUCCESS);
        await_refusal(host, 6);
        rejoin(host);
        (void)bind_rmr(host, rmr, 0, 0, DAT_MEM_PRIV_NONE_FLAG);
        assert_dat(dat_lmr_free(host->b.lmr), DAT_SUCCESS);
        host->b.lmr = DAT_HANDLE_NULL;
        assert_dat(rdma_read(host, remote(context, host->b.memory + 2000, 10), 10, 7), DAT_SUCCESS);
        await_refusal(host, 7);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_rmr_free(rmr), DAT_INVALID_HANDLE);
        host_close(host);
}

static void bad_binds_are_refused(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET region = segment(&host->b, BUFFER - 5, 10);
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_HANDLE foreign;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_rmr_create(pz, &foreign), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_INVALID_STATE);
        assert_dat(dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->b.ep, cookie(1),
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_INVALID_PARAMETER);
        region = segment(&host->b, 0, 10);
        assert_dat(dat_rmr_bind(foreign, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->b.ep,
                                cookie(1), DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_PROTECTION_VIOLATION);
        assert_dat(dat_rmr_bind(rmr, &region, (DAT_MEM_PRIV_FLAGS)0x400, host->b.ep, cookie(1),
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_INVALID_PARAMETER);
        region.lmr_context ^= 0x10000;
        assert_dat(dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->b.ep, cookie(1),
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_PRIVILEGES_VIOLATION);
        assert_silent(host->b.request_evd);
        assert_dat(dat_rmr_free(foreign), DAT_SUCCESS);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(host);
}

static void a_bind_completes_in_its_turn(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET region = segment(&host->a, 0, 10);
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        /* The send has to wait for a receive, so the bind must not be reported before it. */
        post_send(&host->a, 0, 10, 1);
        assert_dat(dat_rmr_bind(rmr, &region, DAT_MEM_PRIV_REMOTE_READ_FLAG, host->a.ep, cookie(2),
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_SUCCESS);
        assert_silent(host->a.request_evd);
        post_recv(&host->b, 0, 10, 3);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 10);
        (void)await_event(host->a.request_evd, DAT_RMR_BIND_COMPLETION_EVENT);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

static void registers_every_type(void **state)
{
        struct host *host = host_open();
        char id[DAT_LMR_COOKIE_SIZE] = "the same forty bytes at every sharer";
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_HANDLE first;
        DAT_LMR_HANDLE second;
        DAT_LMR_CONTEXT context;
        DAT_RMR_CONTEXT rmr_context = 1;
        DAT_LMR_PARAM param;
        DAT_VLEN length = 0;
        DAT_VADDR address = 0;
        char *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        char *own = malloc(8192);

        (void)state;
        region.for_va = own;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 8192, host->pz,
                                  DAT_MEM_PRIV_LOCAL_READ_FLAG, &first, &context, &rmr_context,
                                  &length, &address),
                   DAT_SUCCESS);
        assert_int_equal(rmr_context, 0);
        assert_true(length >= 8192 && address <= (DAT_VADDR)(uintptr_t)own);
        region.for_lmr_handle = first;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_LMR, region, 0, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &second, &context, &rmr_context, &length,
                                  &address),
                   DAT_SUCCESS);
        assert_int_not_equal(rmr_context, 0);
        assert_dat(dat_lmr_query(second, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.mem_type, DAT_MEM_TYPE_LMR);
        assert_int_equal(param.registered_size, 8192);
        assert_int_equal(param.rmr_context, rmr_context);
        assert_dat(dat_lmr_free(first), DAT_SUCCESS);
        assert_dat(dat_lmr_free(second), DAT_SUCCESS);
        region.for_shared_memory.virtual_address = shared;
        region.for_shared_memory.shared_memory_id = &id;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8192, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &first, &context, &rmr_context, &length,
                                  &address),
                   DAT_SUCCESS);
        assert_dat(dat_lmr_free(first), DAT_SUCCESS);
        region.for_shared_memory.virtual_address = own;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 8192, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &first, &context, &rmr_context, &length,
                                  &address),
                   DAT_INVALID_STATE);
        munmap(shared, 8192);
        free(own);
        host_close(host);
}

static void bad_registrations_are_refused(void **state)
{
        struct host *host = host_open();
        DAT_REGION_DESCRIPTION region;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT context;
        char *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char byte;

        (void)state;
        munmap(hole, 8192);
        region.for_va = &byte;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 0, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_lmr_create(host->ia, (DAT_MEM_TYPE)9, region, 1, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 1, host->pz,
                                  (DAT_MEM_PRIV_FLAGS)0x404, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 1, host->ia,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_HANDLE);
        region.for_lmr_handle = host->pz;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_LMR, region, 1, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_HANDLE);
        region.for_va = hole;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 8192, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_INVALID_PARAMETER);
        host_close(host);
}

static void syncs_check_their_segments(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET iov[2] = {segment(&host->a, 0, 10), segment(&host->b, 0, BUFFER)};
        DAT_LMR_HANDLE lmr;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_int_equal(host->provider.lmr_sync_req, DAT_FALSE);
        assert_dat(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_SUCCESS);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_SUCCESS);
        iov[1].segment_length++;
        assert_refused(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_lmr_sync_rdma_read(host->pz, iov, 1), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_IA);
        assert_refused(dat_lmr_sync_rdma_write(host->pz, iov, 1), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_IA);
        assert_refused(dat_lmr_sync_rdma_read(host->ia, NULL, UINT64_MAX), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, NULL, 0), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        lmr = region_of(host, &host->b, pz, DAT_MEM_PRIV_NONE_FLAG, &iov[1].lmr_context, NULL);
        iov[1].segment_length = BUFFER;
        assert_dat(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_SUCCESS);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_SUCCESS);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_INVALID_PARAMETER);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_INVALID_PARAMETER);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(host);
}

static void a_long_message_fails_at_both_ends(void **state)
{
        struct host *host = host_joined();

        (void)state;
        post_recv(&host->b, 0, 100, 1);
        post_send(&host->a, 0, 101, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_LENGTH_ERROR, 0);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_ERR_REMOTE_RESPONDER, 0);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        host_close(host);
}

static void refuse_write(struct host *host, DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
        assert_dat(rdma_write(host, remote_at(host, context, offset, length), length, 1),
                   DAT_SUCCESS);
        await_refusal(host, 1);
        rejoin(host);
}

static void refuse_read(struct host *host, DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
        assert_dat(rdma_read(host, remote_at(host, context, offset, length), length, 1),
                   DAT_SUCCESS);
        await_refusal(host, 1);
        rejoin(host);
}

static void serve_write(struct host *host, DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
        assert_dat(rdma_write(host, remote_at(host, context, offset, length), length, 1),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, length);
}

static void serve_read(struct host *host, DAT_RMR_CONTEXT context, size_t offset, size_t length)
{
        assert_dat(rdma_read(host, remote_at(host, context, offset, length), length, 1),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, length);
}

/* Whatever the local privileges, each remote one alone gives its own direction and no other. */
static void an_lmr_grants_what_it_was_made_for(void **state)
{
        static const unsigned int local[] = {DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_LOCAL_READ_FLAG,
                                             DAT_MEM_PRIV_LOCAL_WRITE_FLAG};
        struct host *host = host_joined();
        DAT_RMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;

        (void)state;
        for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
                lmr = region_of(host, &host->b, host->pz, local[i] | DAT_MEM_PRIV_REMOTE_READ_FLAG,
                                NULL, &context);
                assert_int_not_equal(context, 0);
                serve_read(host, context, 0, BUFFER);
                if (!i)
                        refuse_write(host, context, 0, 1);
                assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
                lmr = region_of(host, &host->b, host->pz, local[i] | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
                                NULL, &context);
                assert_int_not_equal(context, 0);
                serve_write(host, context, 0, BUFFER);
                if (!i)
                        refuse_read(host, context, 0, 1);
                assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        }
        host_close(host);
}

static void an_lmr_ends_where_it_ends(void **state)
{
        struct host *host = host_joined();
        struct end *b = &host->b;

        (void)state;
        serve_write(host, b->rmr_context, 0, 1);
        serve_write(host, b->rmr_context, BUFFER - 1, 1);
        serve_read(host, b->rmr_context, BUFFER - 1, 1);
        refuse_write(host, b->rmr_context, (size_t)-1, 1);
        refuse_write(host, b->rmr_context, BUFFER, 1);
        refuse_read(host, b->rmr_context, (size_t)-1, 2);
        refuse_read(host, b->rmr_context, BUFFER - 1, 2);
        refuse_write(host, b->rmr_context, (size_t)0 - (uintptr_t)b->memory, 1);
        refuse_read(host, b->rmr_context, UINTPTR_MAX - (uintptr_t)b->memory, 10);
        /* An access of no byte touches nothing, wherever it points. */
        serve_write(host, b->rmr_context, BUFFER + 1, 0);
        serve_read(host, b->rmr_context, BUFFER + 1, 0);
        host_close(host);
}

#define PAGE     ((size_t)4096)
#define FEW      40 /* bytes */
#define AT_ONCE  8  /* requests, as many as the EP has */
#define FILL(at) ((unsigned char)((at)*31 + (at) / 256))

/* Where a page ends in the accepting end's memory, which is full of FILL(). */
static size_t page_end(struct host *host)
{
        for (size_t i = 0; i < BUFFER; i++)
                host->b.memory[i] = FILL(i);
        return 2 * PAGE - (uintptr_t)host->b.memory % PAGE;
}

static void assert_read(const struct host *host, size_t offset, size_t length)
{
        for (size_t i = 0; i < length; i++)
                assert_int_equal(host->a.memory[i], FILL(offset + i));
        assert_int_equal(host->a.memory[length], 0);
}

/* However it lies to a page's end. siw brings such bytes wrong, unless they are read as two. */
static void few_bytes_are_read_over_the_end_of_a_page(void **state)
{
        struct host *host = host_joined();
        size_t end = page_end(host);

        (void)state;
        for (size_t length = 1; length <= FEW; length++) {
                for (size_t before = 0; before <= length; before++) {
                        memset(host->a.memory, 0, FEW + 1);
                        serve_read(host, host->b.rmr_context, end - before, length);
                        assert_read(host, end - before, length);
                }
        }
        host_close(host);
}

/* A message that waits for a read leaves later, by another way. */
static void few_bytes_are_sent_behind_a_read(void **state)
{
        struct host *host = host_joined();
        struct end *a = &host->a;
        size_t end = 2 * PAGE - (uintptr_t)a->memory % PAGE;
        DAT_RMR_TRIPLET from = remote_at(host, host->b.rmr_context, 0, PAGE);
        DAT_LMR_TRIPLET into = segment(a, 4 * PAGE, PAGE);

        (void)state;
        for (size_t i = 0; i < 4 * PAGE; i++)
                a->memory[i] = FILL(i);
        for (size_t length = 2; length <= FEW; length++) {
                for (size_t before = 1; before < length; before++) {
                        DAT_LMR_TRIPLET iov = segment(a, end - before, length);

                        post_recv(&host->b, PAGE, length, 1);
                        assert_dat(dat_ep_post_rdma_read(a->ep, 1, &into, cookie(2), &from, 0),
                                   DAT_SUCCESS);
                        assert_dat(dat_ep_post_send(a->ep, 1, &iov, cookie(3),
                                                    DAT_COMPLETION_BARRIER_FENCE_FLAG),
                                   DAT_SUCCESS);
                        await_completion(a->request_evd, a->ep, 2, DAT_DTO_SUCCESS, PAGE);
                        await_completion(a->request_evd, a->ep, 3, DAT_DTO_SUCCESS, length);
                        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, length);
                        assert_memory_equal(host->b.memory + PAGE, a->memory + end - before,
                                            length);
                }
        }
        host_close(host);
}

/* Whatever its place in the queue was used for before. */
static void a_read_of_nothing_brings_nothing(void **state)
{
        struct host *host = host_joined();

        (void)state;
        memset(host->b.memory, 0x66, 10);
        for (unsigned int i = 0; i < 4 * AT_ONCE; i++) {
                memset(host->a.memory, 0, 10);
                serve_read(host, host->b.rmr_context, 0, 10);
                assert_int_equal(host->a.memory[0], 0x66);
        }
        memset(host->a.memory, 0, 10);
        for (unsigned int i = 0; i < 4 * AT_ONCE; i++) {
                serve_read(host, host->b.rmr_context, 0, 0);
                assert_int_equal(host->a.memory[0], 0);
        }
        host_close(host);
}

/* There is room for all of them, each makes one event, and one that is refused makes one too. */
static void many_reads_over_the_end_of_a_page(void **state)
{
        struct host *host = host_joined();
        size_t end = page_end(host);
        DAT_EVENT refused;

        (void)state;
        memset(host->a.memory, 0, FEW);
        for (uint64_t i = 0; i < AT_ONCE; i++)
                assert_dat(rdma_read(host, remote_at(host, host->b.rmr_context, end - 3, 7), 7, i),
                           DAT_SUCCESS);
        for (uint64_t i = 0; i < AT_ONCE; i++)
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 7);
        assert_silent(host->a.request_evd);
        assert_read(host, end - 3, 7);
        assert_dat(rdma_read(host, remote_at(host, 0, end - 3, 7), 7, 1), DAT_SUCCESS);
        refused = await_event(host->a.request_evd, DAT_DTO_COMPLETION_EVENT);
        assert_int_not_equal(refused.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        assert_silent(host->a.request_evd);
        host_close(host);
}

static void what_is_freed_or_elsewhere_is_out_of_reach(void **state)
{
        struct host *host = host_joined();
        DAT_RMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;
        DAT_RMR_HANDLE rmr;
        DAT_PZ_HANDLE pz;

        (void)state;
        lmr = region_of(host, &host->b, host->pz, DAT_MEM_PRIV_ALL_FLAG, NULL, &context);
        serve_write(host, context, 0, 10);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        refuse_write(host, context, 0, 10);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        lmr = region_of(host, &host->b, pz, DAT_MEM_PRIV_ALL_FLAG, NULL, &context);
        refuse_read(host, context, 0, 10);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        context = bind_rmr(host, rmr, 0, 10, DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
        assert_refused(dat_lmr_free(host->b.lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
        serve_write(host, context, 0, 10);
        /* A bound RMR can be freed, which unbinds it: the LMR is free as well. */
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        refuse_write(host, context, 0, 10);
        assert_dat(dat_lmr_free(host->b.lmr), DAT_SUCCESS);
        host->b.lmr = DAT_HANDLE_NULL;
        host_close(host);
}

/* What an RMR may grant depends on the local privileges of its LMR, not on the remote ones. */
static void an_rmr_grants_no_more_than_its_lmr(void **state)
{
        static const struct {
                unsigned int lmr;
                unsigned int rmr;
                DAT_RETURN subtype;
        } binds[] = {
            {DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0},
            {DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0},
            {DAT_MEM_PRIV_NONE_FLAG, DAT_MEM_PRIV_NONE_FLAG, 0},
            {DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_ALL_FLAG,
             0},
            {DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
             DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_PRIVILEGES_RDMA_WRITE},
            {DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG,
             DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_PRIVILEGES_RDMA_READ},
            {DAT_MEM_PRIV_LOCAL_READ_FLAG,
             DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
             DAT_PRIVILEGES_RDMA_WRITE},
        };
        struct host *host = host_joined();
        struct end *b = &host->b;
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_PARAM param;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(binds) / sizeof(binds[0]); i++) {
                DAT_LMR_TRIPLET part = segment(b, 0, BUFFER);
                DAT_LMR_HANDLE lmr =
                    region_of(host, b, host->pz, binds[i].lmr, &part.lmr_context, NULL);
                DAT_RETURN ret = dat_rmr_bind(rmr, &part, (DAT_MEM_PRIV_FLAGS)binds[i].rmr, b->ep,
                                              cookie(i), DAT_COMPLETION_SUPPRESS_FLAG, &context);

                if (binds[i].subtype) {
                        assert_refused(ret, DAT_PRIVILEGES_VIOLATION, binds[i].subtype);
                        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
                        continue;
                }
                assert_dat(ret, DAT_SUCCESS);
                assert_dat(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), DAT_SUCCESS);
                assert_ptr_equal(param.ia_handle, host->ia);
                assert_ptr_equal(param.pz_handle, host->pz);
                assert_int_equal(param.mem_priv, binds[i].rmr);
                assert_int_equal(param.rmr_context, context);
                assert_memory_equal(&param.lmr_triplet, &part, sizeof(part));
                if (binds[i].rmr & DAT_MEM_PRIV_REMOTE_READ_FLAG)
                        serve_read(host, context, 0, BUFFER);
                if (binds[i].rmr & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
                        serve_write(host, context, 0, BUFFER);
                if (!binds[i].rmr)
                        refuse_read(host, context, 0, 1);
                /* An unbind looks at no LMR. */
                part.segment_length = 0;
                part.lmr_context = 0;
                assert_dat(dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_NONE_FLAG, b->ep, cookie(i),
                                        DAT_COMPLETION_SUPPRESS_FLAG, &context),
                           DAT_SUCCESS);
                assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        }
        assert_silent(b->request_evd);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

/* A refused bind leaves the RMR bound as it was. */
static void a_refused_bind_changes_nothing(void **state)
{
        struct host *host = host_joined();
        struct host *other = host_open();
        struct end *b = &host->b;
        DAT_LMR_TRIPLET bad[] = {
            segment(b, 0, BUFFER + 1), segment(b, BUFFER, 1),     segment(b, (size_t)-1, 1),
            segment(b, 1, UINT64_MAX), segment(b, 0, UINT64_MAX),
        };
        DAT_LMR_TRIPLET part = segment(b, 0, 10);
        DAT_RMR_CONTEXT bound;
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_HANDLE foreign;
        DAT_LMR_HANDLE lmr;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        assert_dat(dat_rmr_create(other->pz, &foreign), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        bound = bind_rmr(host, rmr, 0, BUFFER, DAT_MEM_PRIV_REMOTE_READ_FLAG);
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_refused(dat_rmr_bind(rmr, &bad[i], DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep,
                                            cookie(1), 0, &context),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(
            dat_rmr_bind(rmr, NULL, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1), 0, &context),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(
            dat_rmr_bind(rmr, &part, (DAT_MEM_PRIV_FLAGS)0x4, b->ep, cookie(1), 0, &context),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_refused(
            dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1), 0, NULL),
            DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        for (unsigned int bit = 0; bit < 32; bit++) {
                unsigned int flag = 1u << bit;

                if (flag != DAT_COMPLETION_SUPPRESS_FLAG &&
                    flag != DAT_COMPLETION_BARRIER_FENCE_FLAG)
                        assert_refused(dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG,
                                                    b->ep, cookie(1), (DAT_COMPLETION_FLAGS)flag,
                                                    &context),
                                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        }
        assert_refused(dat_rmr_bind(foreign, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1),
                                    0, &context),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        assert_refused(dat_rmr_bind(b->lmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1),
                                    0, &context),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
        assert_refused(dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_HANDLE_NULL,
                                    cookie(1), 0, &context),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        /* An LMR of another zone than the RMR and the EP, and one that is gone. */
        lmr = region_of(host, b, pz, DAT_MEM_PRIV_ALL_FLAG, &part.lmr_context, NULL);
        assert_dat(
            dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1), 0, &context),
            DAT_PROTECTION_VIOLATION);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(
            dat_rmr_bind(rmr, &part, DAT_MEM_PRIV_REMOTE_READ_FLAG, b->ep, cookie(1), 0, &context),
            DAT_PRIVILEGES_VIOLATION);
        assert_silent(b->request_evd);
        serve_read(host, bound, 0, BUFFER);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_rmr_free(foreign), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(other);
        host_close(host);
}

/* A zone knows all who are in it, and a pointer that is not wanted may be null. */
static void a_zone_in_use_stays(void **state)
{
        struct host *host = host_open();
        DAT_SRQ_ATTR srq_attr = {
            .max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR attr = plain_attr();
        DAT_PZ_PARAM param;
        DAT_SRQ_HANDLE srq;
        DAT_RMR_HANDLE rmr;
        DAT_EP_HANDLE ep;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_refused(dat_pz_create(host->ia, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.ia_handle, host->ia);
        assert_refused(dat_pz_query(pz, (DAT_PZ_PARAM_MASK)2, &param), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_pz_query(pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_rmr_create(pz, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_dat(dat_ep_create(host->ia, pz, NULL, NULL, NULL, &attr, &ep), DAT_SUCCESS);
        assert_refused(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
        assert_dat(dat_ep_free(ep), DAT_SUCCESS);
        assert_dat(dat_rmr_create(pz, &rmr), DAT_SUCCESS);
        assert_refused(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
        assert_refused(dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)(DAT_RMR_FIELD_ALL + 1), NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        assert_dat(dat_srq_create(host->ia, pz, &srq_attr, &srq), DAT_SUCCESS);
        assert_refused(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
        assert_dat(dat_srq_free(srq), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        assert_refused(dat_pz_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        host_close(host);
}

static void expect_lmr(DAT_LMR_HANDLE lmr, DAT_MEM_TYPE type, const void *start, DAT_PZ_HANDLE pz,
                       DAT_MEM_PRIV_FLAGS privileges)
{
        DAT_LMR_PARAM param;

        assert_dat(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.mem_type, type);
        assert_int_equal(param.length, 4096);
        assert_ptr_equal(param.pz_handle, pz);
        assert_int_equal(param.mem_priv, privileges);
        assert_int_equal(param.registered_size, 4096);
        assert_int_equal(param.registered_address, (uintptr_t)start);
}

/* An LMR over the memory of another has a zone and privileges of its own, and outlives it. */
static void an_lmr_of_an_lmr_is_its_own(void **state)
{
        struct host *host = host_joined();
        struct host *other = host_open();
        unsigned char *memory = host->b.memory;
        DAT_REGION_DESCRIPTION region = {.for_va = memory};
        DAT_LMR_TRIPLET part = segment(&host->b, 0, 4096);
        DAT_RMR_CONTEXT context;
        DAT_LMR_HANDLE source;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_PARAM param;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz,
                                  DAT_MEM_PRIV_NONE_FLAG, &source, NULL, NULL, NULL, NULL),
                   DAT_SUCCESS);
        expect_lmr(source, DAT_MEM_TYPE_VIRTUAL, memory, pz, DAT_MEM_PRIV_NONE_FLAG);
        region.for_lmr_handle = source;
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_LMR, region, 0, host->pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &part.lmr_context, &context, NULL,
                                  NULL),
                   DAT_SUCCESS);
        expect_lmr(lmr, DAT_MEM_TYPE_LMR, memory, host->pz, DAT_MEM_PRIV_ALL_FLAG);
        assert_dat(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.region_desc.for_lmr_handle, source);
        assert_int_equal(param.lmr_context, part.lmr_context);
        assert_refused(dat_lmr_query(lmr, (DAT_LMR_PARAM_MASK)(DAT_LMR_FIELD_ALL + 1), &param),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_lmr_free(source), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        serve_write(host, context, 0, 4096);
        refuse_write(host, context, 0, 4097);
        assert_dat(dat_ep_post_recv(host->b.ep, 1, &part, cookie(5), 0), DAT_SUCCESS);
        post_send(&host->a, 0, 4096, 6);
        await_completion(host->b.recv_evd, host->b.ep, 5, DAT_DTO_SUCCESS, 4096);
        /* The memory of one IA's LMR is not another IA's to give. */
        region.for_lmr_handle = lmr;
        assert_refused(dat_lmr_create(other->ia, DAT_MEM_TYPE_LMR, region, 0, other->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &source, NULL, NULL, NULL, NULL),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        host_close(other);
        host_close(host);
}

/* What may only be read can be sent from, and read by the peer, but not be made writable. */
static void read_only_memory_is_registered_for_reading(void **state)
{
        static const unsigned int refused[] = {
            DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_MEM_PRIV_ALL_FLAG};
        struct host *host = host_joined();
        unsigned char *memory =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        DAT_REGION_DESCRIPTION region = {.for_va = memory};
        DAT_LMR_TRIPLET part = {.virtual_address = (DAT_VADDR)(uintptr_t)memory,
                                .segment_length = 4096};
        DAT_RMR_CONTEXT context;
        DAT_LMR_HANDLE lmr;

        (void)state;
        memset(memory, 0x5a, 4096);
        assert_int_equal(mprotect(memory, 4096, PROT_READ), 0);
        for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
                assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096,
                                              host->pz, (DAT_MEM_PRIV_FLAGS)refused[i], &lmr, NULL,
                                              NULL, NULL, NULL),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, host->pz,
                                  DAT_MEM_PRIV_READ_FLAG, &lmr, &part.lmr_context, &context, NULL,
                                  NULL),
                   DAT_SUCCESS);
        post_recv(&host->b, 0, 4096, 1);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &part, cookie(2), 0), DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 4096);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 4096);
        assert_memory_equal(host->b.memory, memory, 4096);
        assert_dat(rdma_read(host, remote(context, memory, 4096), 4096, 3), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 4096);
        assert_memory_equal(host->a.memory, memory, 4096);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        munmap(memory, 4096);
        host_close(host);
}

static void arguments_of_lmr_create(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        static unsigned char memory[64];
        DAT_REGION_DESCRIPTION region = {.for_va = memory};
        DAT_REGION_DESCRIPTION nowhere = {.for_va = NULL};
        DAT_LMR_HANDLE lmr;

        (void)state;
        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, nowhere, 64, host->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        for (int i = 0; i < 3; i++)
                assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region,
                                              i ? UINT64_MAX >> (i - 1) : 0, host->pz,
                                              DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region,
                                      host->attr.max_lmr_block_size + 1, host->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, other->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        assert_refused(dat_lmr_create(host->pz, DAT_MEM_TYPE_VIRTUAL, region, 64, host->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                       DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 64, host->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, NULL, NULL, NULL, NULL, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        for (unsigned int bit = 0; bit < 32; bit++) {
                if (!(DAT_MEM_PRIV_ALL_FLAG & 1u << bit))
                        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 64,
                                                      host->pz, (DAT_MEM_PRIV_FLAGS)(1u << bit),
                                                      &lmr, NULL, NULL, NULL, NULL),
                                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        }
        region.for_shared_memory.shared_memory_id = NULL;
        region.for_shared_memory.virtual_address = memory;
        assert_refused(dat_lmr_create(host->ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 64, host->pz,
                                      DAT_MEM_PRIV_ALL_FLAG, &lmr, NULL, NULL, NULL, NULL),
                       DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        host_close(other);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(rdma_moves_data),
            cmocka_unit_test(lengths_and_flags_are_checked),
            cmocka_unit_test(reads_need_their_credit),
            unless_iwarp(reads_need_the_peers_credit, NO_CREDIT),
            cmocka_unit_test(outside_the_lmr_breaks_the_connection),
            unless_iwarp(a_failure_ends_the_connection_unasked, NO_REFUSAL),
            unless_iwarp(an_rmr_gives_exactly_its_bytes, NO_RIGHTS),
            cmocka_unit_test(bad_binds_are_refused),
            unless_iwarp(a_bind_completes_in_its_turn, NO_WAIT),
            cmocka_unit_test(registers_every_type),
            cmocka_unit_test(bad_registrations_are_refused),
            cmocka_unit_test(syncs_check_their_segments),
            unless_iwarp(a_long_message_fails_at_both_ends, NO_REFUSAL),
            unless_iwarp(an_lmr_grants_what_it_was_made_for, NO_RIGHTS),
            cmocka_unit_test(an_lmr_ends_where_it_ends),
            cmocka_unit_test(few_bytes_are_read_over_the_end_of_a_page),
            cmocka_unit_test(many_reads_over_the_end_of_a_page),
            cmocka_unit_test(few_bytes_are_sent_behind_a_read),
            cmocka_unit_test(a_read_of_nothing_brings_nothing),
            cmocka_unit_test(what_is_freed_or_elsewhere_is_out_of_reach),
            unless_iwarp(an_rmr_grants_no_more_than_its_lmr, NO_RIGHTS),
            cmocka_unit_test(a_refused_bind_changes_nothing),
            cmocka_unit_test(a_zone_in_use_stays),
            cmocka_unit_test(an_lmr_of_an_lmr_is_its_own),
            cmocka_unit_test(read_only_memory_is_registered_for_reading),
            cmocka_unit_test(arguments_of_lmr_create),
        };

        return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
