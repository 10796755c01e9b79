/* SPDX-License-Identifier: BSD-2-Clause */
/* LMRs, RMRs and RDMA: who may reach which bytes, and what happens to those who may not. */
#include "loopback.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static DAT_RMR_TRIPLET remote(DAT_RMR_CONTEXT context, const unsigned char *at, size_t length)
{
        return (DAT_RMR_TRIPLET){
            .rmr_context = context,
            .target_address = (DAT_VADDR)(uintptr_t)at,
            .segment_length = length,
        };
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

/* The peer has refused the access: the DTO says so, and the connection breaks at both ends. */
static void await_refusal(struct host *host, uint64_t cookie_value)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        await_completion(host->a.request_evd, host->a.ep, cookie_value, DAT_DTO_ERR_REMOTE_ACCESS,
                         0);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        assert_dat(dat_evd_wait(host->b.connect_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_true(event.event_number == DAT_CONNECTION_EVENT_BROKEN ||
                    event.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
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
        assert_memory_equal(host->b.memory + 100, host->a.memory, 3000);
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
        assert_memory_equal(host->b.memory + 9000, host->a.memory + 100, 10);
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

/* Nobody looks at the EVD of the requests: the connection's end must come all the same. */
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

        (void)state;
        assert_int_equal(host->provider.lmr_sync_req, DAT_FALSE);
        assert_dat(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_SUCCESS);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_SUCCESS);
        iov[1].segment_length++;
        assert_dat(dat_lmr_sync_rdma_read(host->ia, iov, 2), DAT_INVALID_PARAMETER);
        assert_dat(dat_lmr_sync_rdma_write(host->ia, iov, 2), DAT_INVALID_PARAMETER);
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

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(rdma_moves_data),
            cmocka_unit_test(lengths_and_flags_are_checked),
            cmocka_unit_test(reads_need_their_credit),
            cmocka_unit_test(reads_need_the_peers_credit),
            cmocka_unit_test(outside_the_lmr_breaks_the_connection),
            cmocka_unit_test(a_failure_ends_the_connection_unasked),
            cmocka_unit_test(an_rmr_gives_exactly_its_bytes),
            cmocka_unit_test(bad_binds_are_refused),
            cmocka_unit_test(a_bind_completes_in_its_turn),
            cmocka_unit_test(registers_every_type),
            cmocka_unit_test(bad_registrations_are_refused),
            cmocka_unit_test(syncs_check_their_segments),
            cmocka_unit_test(a_long_message_fails_at_both_ends),
        };

        return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
