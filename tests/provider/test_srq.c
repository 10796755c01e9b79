/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues: what is counted, what is refused, and when the watermark speaks. */
#include "loopback.h"

#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#define NO_REST "iWARP: a message does not wait for a buffer that rests in the provider"

/* A host whose end b receives through an SRQ of that depth. */
static struct host *srq_host(DAT_COUNT depth)
{
        struct host *host = host_open();

        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, depth);
        join_ends(host, &host->a, &host->b);
        return host;
}

static void assert_counts(DAT_SRQ_HANDLE srq, DAT_COUNT max, DAT_COUNT available,
                          DAT_COUNT outstanding)
{
        DAT_SRQ_PARAM param = srq_counts(srq);

        assert_int_equal(param.max_recv_dtos, max);
        assert_int_equal(param.available_dto_count, available);
        assert_int_equal(param.outstanding_dto_count, outstanding);
}

static void send_and_await(struct host *host, size_t length, uint64_t cookie_value)
{
        post_send(&host->a, 0, length, cookie_value);
        await_completion(host->a.request_evd, host->a.ep, cookie_value, DAT_DTO_SUCCESS, length);
}

/* A message above a hard mark: the end of the connection may overtake its acknowledgement. */
static void send_above_mark(struct host *host, size_t length, uint64_t cookie_value)
{
        DAT_DTO_COMPLETION_STATUS status;
        DAT_EVENT event;

        post_send(&host->a, 0, length, cookie_value);
        event = await_event(host->a.request_evd, DAT_DTO_COMPLETION_EVENT);
        status = event.event_data.dto_completion_event_data.status;
        assert_true(status == DAT_DTO_SUCCESS || status == DAT_DTO_ERR_FLUSHED);
}

static void await_low_watermark(struct host *host)
{
        DAT_EVENT event;
        DAT_COUNT nmore;

        assert_dat(dat_evd_wait(host->async_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_in_range(event.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW,
                        DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->b.srq);
        assert_int_equal(event.event_data.asynch_error_event_data.reason,
                         DAT_SRQ_LOW_WATERMARK_EVENT);
}

static void counts_follow_a_message(void **state)
{
        struct host *host = srq_host(10);

        (void)state;
        assert_counts(host->b.srq, 10, 0, 0);
        for (size_t i = 0; i < 3; i++)
                post_srq(&host->b, i * 1024, 1024, i);
        assert_counts(host->b.srq, 10, 3, 3);
        memset(host->a.memory, 0x77, 1024);
        send_and_await(host, 1000, 9);
        assert_counts(host->b.srq, 10, 2, 3);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 1000);
        assert_counts(host->b.srq, 10, 2, 2);
        assert_memory_equal(host->a.memory, host->b.memory, 1000);
        host_close(host);
}

static void depth_is_exact(void **state)
{
        struct host *host = srq_host(10);
        DAT_LMR_TRIPLET iov = segment(&host->b, 0, 64);

        (void)state;
        for (unsigned int i = 0; i < 10; i++)
                post_srq(&host->b, 0, 64, i);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, &iov, cookie(10)), DAT_INSUFFICIENT_RESOURCES);
        assert_counts(host->b.srq, 10, 10, 10);
        /* A buffer whose completion was not taken is still outstanding. */
        send_and_await(host, 10, 1);
        assert_counts(host->b.srq, 10, 9, 10);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, &iov, cookie(10)), DAT_INSUFFICIENT_RESOURCES);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, &iov, cookie(10)), DAT_SUCCESS);
        host_close(host);
}

static void resize_refuses_below_outstanding(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        for (unsigned int i = 0; i < 5; i++)
                post_srq(&host->b, 0, 64, i);
        assert_dat(dat_srq_resize(host->b.srq, 4), DAT_INVALID_STATE);
        assert_counts(host->b.srq, 8, 5, 5);
        /* Taken and completed, but not reaped: two of five. */
        send_and_await(host, 10, 1);
        send_and_await(host, 10, 2);
        assert_dat(dat_srq_resize(host->b.srq, 4), DAT_INVALID_STATE);
        assert_counts(host->b.srq, 8, 3, 5);
        assert_dat(dat_srq_resize(host->b.srq, 5), DAT_SUCCESS);
        assert_counts(host->b.srq, 5, 3, 5);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_srq_resize(host->b.srq, 4), DAT_SUCCESS);
        assert_dat(dat_srq_resize(host->b.srq, 3), DAT_INVALID_STATE);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_counts(host->b.srq, 4, 3, 3);
        for (unsigned int i = 2; i < 5; i++) {
                send_and_await(host, 20, i);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 20);
        }
        assert_counts(host->b.srq, 4, 0, 0);
        assert_dat(dat_srq_resize(host->b.srq, 1), DAT_SUCCESS);
        host_close(host);
}

static void resize_refuses_below_low_watermark(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        for (unsigned int i = 0; i < 2; i++)
                post_srq(&host->b, 0, 64, i);
        assert_dat(dat_srq_set_lw(host->b.srq, 4), DAT_SUCCESS);
        await_low_watermark(host);
        assert_dat(dat_srq_resize(host->b.srq, 3), DAT_INVALID_STATE);
        assert_int_equal(srq_counts(host->b.srq).low_watermark, 4);
        assert_counts(host->b.srq, 8, 2, 2);
        assert_dat(dat_srq_resize(host->b.srq, 4), DAT_SUCCESS);
        assert_dat(dat_srq_set_lw(host->b.srq, 5), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_set_lw(host->b.srq, -1), DAT_INVALID_PARAMETER);
        host_close(host);
}

static void resize_takes_only_sizes(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        assert_dat(dat_srq_resize(host->b.srq, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_resize(host->b.srq, -5), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_resize(host->b.srq, host->attr.max_recv_per_srq), DAT_SUCCESS);
        assert_counts(host->b.srq, host->attr.max_recv_per_srq, 0, 0);
        assert_dat(dat_srq_resize(host->b.srq, host->attr.max_recv_per_srq + 1),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_resize(host->b.srq, 8), DAT_SUCCESS);
        host_close(host);
}

static void resize_loses_no_message(void **state)
{
        struct host *host = srq_host(16);
        unsigned int next = 0;

        (void)state;
        for (size_t i = 0; i < 8; i++)
                post_srq(&host->b, i * 1024, 1024, i);
        for (unsigned int round = 0; round < 40; round++) {
                for (unsigned int i = 0; i < 4; i++)
                        post_send(&host->a, 0, 100 + i, i);
                assert_dat(dat_srq_resize(host->b.srq, 8 + (DAT_COUNT)(round * 7 % 60)),
                           DAT_SUCCESS);
                for (unsigned int i = 0; i < 4; i++) {
                        await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS,
                                         100 + i);
                        await_completion(host->b.recv_evd, host->b.ep, next % 8, DAT_DTO_SUCCESS,
                                         100 + i);
                        post_srq(&host->b, (size_t)(next % 8) * 1024, 1024, next % 8);
                        next++;
                }
        }
        assert_int_equal(srq_counts(host->b.srq).available_dto_count, 8);
        host_close(host);
}

/*
 * A device that cannot resize its queue has less in reserve, so buffers wait for their turn; and
 * nobody looks for the completions that make room for them.
 */
static void it_grows_far_under_a_queue_pair(void **state)
{
        const DAT_COUNT far = 700;
        const DAT_COUNT mark = 5;
        struct host *host = srq_host(8);

        (void)state;
        assert_dat(dat_srq_resize(host->b.srq, far), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < far; i++)
                post_srq(&host->b, 0, 10, (uint64_t)i);
        assert_counts(host->b.srq, far, far, far);
        assert_dat(dat_srq_set_lw(host->b.srq, mark), DAT_SUCCESS);
        for (DAT_COUNT i = mark; i < far; i++)
                send_and_await(host, 10, (uint64_t)i);
        assert_counts(host->b.srq, far, mark, far);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 0);
        await_low_watermark(host);
        assert_dat(dat_srq_resize(host->b.srq, far - 1), DAT_INVALID_STATE);
        for (DAT_COUNT i = 0; i < far - mark + 1; i++)
                await_completion(host->b.recv_evd, host->b.ep, (uint64_t)i, DAT_DTO_SUCCESS, 10);
        assert_counts(host->b.srq, far, mark - 1, mark - 1);
        assert_dat(dat_srq_resize(host->b.srq, mark), DAT_SUCCESS);
        host_close(host);
}

/* With none there, all that is posted moves to a larger queue, and is taken in its order. */
static void it_grows_far_before_a_queue_pair(void **state)
{
        const DAT_COUNT far = 700;
        struct host *host = host_open();

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 8);
        for (uint64_t i = 0; i < 8; i++)
                post_srq(&host->b, 0, 10, i);
        assert_dat(dat_srq_set_lw(host->b.srq, 8), DAT_SUCCESS);
        assert_dat(dat_srq_resize(host->b.srq, far), DAT_SUCCESS);
        assert_counts(host->b.srq, far, 8, 8);
        join_ends(host, &host->a, &host->b);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 0);
        await_low_watermark(host);
        send_and_await(host, 10, 1);
        for (uint64_t i = 0; i < 2; i++)
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
        assert_counts(host->b.srq, far, 6, 6);
        host_close(host);
}

static void low_watermark_speaks_once(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        for (unsigned int i = 0; i < 5; i++)
                post_srq(&host->b, 0, 64, i);
        assert_dat(dat_srq_set_lw(host->b.srq, 4), DAT_SUCCESS);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 1);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 2);
        await_low_watermark(host);
        send_and_await(host, 10, 3);
        assert_silent(host->async_evd);
        /* Set again while short: at once, and once. */
        assert_dat(dat_srq_set_lw(host->b.srq, 4), DAT_SUCCESS);
        await_low_watermark(host);
        send_and_await(host, 10, 4);
        assert_silent(host->async_evd);
        host_close(host);
}

static void low_watermark_speaks_without_any_poll(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        post_srq(&host->b, 0, 64, 0);
        post_srq(&host->b, 0, 64, 1);
        assert_dat(dat_srq_set_lw(host->b.srq, 2), DAT_SUCCESS);
        post_send(&host->a, 0, 10, 1);
        await_low_watermark(host);
        host_close(host);
}

static void segments_are_checked(void **state)
{
        struct host *host = srq_host(8);
        DAT_REGION_DESCRIPTION region = {.for_va = host->a.memory};
        DAT_LMR_TRIPLET iov[3];
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT context;
        DAT_PZ_HANDLE pz;

        (void)state;
        iov[0] = segment(&host->b, BUFFER - 10, 11);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, iov, cookie(1)), DAT_INVALID_PARAMETER);
        iov[0] = segment(&host->b, 0, 10);
        iov[0].virtual_address--;
        assert_dat(dat_srq_post_recv(host->b.srq, 1, iov, cookie(1)), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_post_recv(host->b.srq, -1, iov, cookie(1)), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_post_recv(host->b.srq, 3, iov, cookie(1)), DAT_INVALID_PARAMETER);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, NULL, cookie(1)), DAT_INVALID_PARAMETER);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 100, pz,
                                  DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_SUCCESS);
        iov[0] = segment(&host->a, 0, 10);
        iov[0].lmr_context = context;
        assert_dat(dat_srq_post_recv(host->b.srq, 1, iov, cookie(1)), DAT_PROTECTION_VIOLATION);
        assert_dat(dat_pz_free(pz), DAT_INVALID_STATE);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_dat(dat_srq_post_recv(host->b.srq, 1, iov, cookie(1)), DAT_PRIVILEGES_VIOLATION);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        assert_dat(dat_lmr_create(host->ia, DAT_MEM_TYPE_VIRTUAL, region, 100, host->pz,
                                  DAT_MEM_PRIV_LOCAL_READ_FLAG, &lmr, &context, NULL, NULL, NULL),
                   DAT_SUCCESS);
        iov[0].lmr_context = context;
        assert_dat(dat_srq_post_recv(host->b.srq, 1, iov, cookie(1)), DAT_PRIVILEGES_VIOLATION);
        assert_dat(dat_lmr_free(lmr), DAT_SUCCESS);
        assert_counts(host->b.srq, 8, 0, 0);
        assert_dat(dat_srq_post_recv(host->b.srq, 0, NULL, cookie(1)), DAT_SUCCESS);
        host_close(host);
}

static void in_use_it_is_not_freed(void **state)
{
        struct host *host = srq_host(8);
        DAT_RETURN ret = dat_srq_free(host->b.srq);

        (void)state;
        assert_dat(ret, DAT_INVALID_STATE);
        assert_int_equal(DAT_GET_SUBTYPE(ret), DAT_INVALID_STATE_SRQ_IN_USE);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        host->b.ep = DAT_HANDLE_NULL;
        post_srq(&host->b, 0, 10, 1);
        assert_dat(dat_srq_free(host->b.srq), DAT_SUCCESS);
        assert_dat(dat_srq_free(host->b.srq), DAT_INVALID_HANDLE);
        assert_dat(dat_srq_resize(host->b.srq, 9), DAT_INVALID_HANDLE);
        host->b.srq = DAT_HANDLE_NULL;
        host_close(host);
}

static void handles_of_other_kinds_are_refused(void **state)
{
        struct host *host = srq_host(8);
        DAT_HANDLE wrong[] = {host->ia, host->pz, host->b.ep, host->b.lmr, host->b.recv_evd};
        DAT_SRQ_PARAM param;

        (void)state;
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                assert_dat(dat_srq_resize(wrong[i], 9), DAT_INVALID_HANDLE);
                assert_dat(dat_srq_set_lw(wrong[i], 1), DAT_INVALID_HANDLE);
                assert_dat(dat_srq_query(wrong[i], DAT_SRQ_FIELD_ALL, &param), DAT_INVALID_HANDLE);
                assert_dat(dat_srq_free(wrong[i]), DAT_INVALID_HANDLE);
                assert_dat(dat_srq_post_recv(wrong[i], 0, NULL, cookie(0)), DAT_INVALID_HANDLE);
        }
        assert_dat(dat_srq_resize(DAT_HANDLE_NULL, 9), DAT_INVALID_HANDLE);
        assert_dat(dat_ep_post_recv(host->b.ep, 0, NULL, cookie(0), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_INVALID_STATE);
        host_close(host);
}

static void disconnect_leaves_the_queue_alone(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        for (unsigned int i = 0; i < 3; i++)
                post_srq(&host->b, 0, 64, i);
        send_and_await(host, 10, 1);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_counts(host->b.srq, 8, 2, 3);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        assert_silent(host->b.recv_evd);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        send_and_await(host, 11, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 11);
        assert_counts(host->b.srq, 8, 1, 1);
        host_close(host);
}

/* What an SRQ's EP has taken comes back only when no processor handles one of its messages; so
 * it ends some time after it was Disconnected. */
static struct host *host_that_ends_later(void)
{
        struct host *host = srq_host(8);
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
            .segment_length = 10,
        };

        post_srq(&host->b, 0, 64, 0);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(0), &remote,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 0, DAT_DTO_SUCCESS, 10);
        return host;
}

/* What is posted while it ends is flushed after what was posted before. */
static void an_ending_ep_flushes_in_order(void **state)
{
        struct host *host = host_that_ends_later();

        (void)state;
        for (unsigned int i = 0; i < 3; i++)
                post_send(&host->b, 0, 10, i);
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_int_equal(state_of(host->b.ep), DAT_EP_STATE_DISCONNECTED);
        for (unsigned int i = 3; i < 6; i++)
                post_send(&host->b, 0, 10, i);
        for (unsigned int i = 0; i < 6; i++)
                await_completion(host->b.request_evd, host->b.ep, i, DAT_DTO_ERR_FLUSHED, 0);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_counts(host->b.srq, 8, 1, 1);
        host_close(host);
}

static void an_ending_ep_can_be_reset(void **state)
{
        struct host *host = host_that_ends_later();

        (void)state;
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        send_and_await(host, 10, 1);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

static void an_ia_closes_while_eps_end(void **state)
{
        struct host *host = host_that_ends_later();

        (void)state;
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host->a.memory);
        free(host->b.memory);
        free(host);
}

static void freeing_an_ep_returns_its_buffers(void **state)
{
        struct host *host = srq_host(8);

        (void)state;
        for (unsigned int i = 0; i < 3; i++)
                post_srq(&host->b, 0, 64, i);
        send_and_await(host, 10, 1);
        assert_counts(host->b.srq, 8, 2, 3);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        host->b.ep = DAT_HANDLE_NULL;
        assert_counts(host->b.srq, 8, 2, 2);
        host_close(host);
}

static void several_eps_share_one(void **state)
{
        struct host *host = srq_host(8);
        struct end c = {0};
        struct end d = {.srq = host->b.srq};

        (void)state;
        end_make(host, &c, NULL);
        end_make_with_srq(host, &d, NULL, 0);
        join_ends(host, &c, &d);
        for (unsigned int i = 0; i < 4; i++)
                post_srq(&host->b, 0, 64, i);
        post_send(&host->a, 0, 10, 1);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        post_send(&c, 0, 11, 1);
        await_completion(d.recv_evd, d.ep, 1, DAT_DTO_SUCCESS, 11);
        post_send(&host->a, 0, 12, 2);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 12);
        post_send(&c, 0, 13, 2);
        await_completion(c.request_evd, c.ep, 1, DAT_DTO_SUCCESS, 11);
        await_completion(c.request_evd, c.ep, 2, DAT_DTO_SUCCESS, 13);
        /* Unreaped completions on two EVDs count alike. */
        assert_counts(host->b.srq, 8, 0, 2);
        assert_dat(dat_srq_resize(host->b.srq, 1), DAT_INVALID_STATE);
        assert_dat(dat_srq_resize(host->b.srq, 2), DAT_SUCCESS);
        d.srq = DAT_HANDLE_NULL;
        end_free(&c);
        end_free(&d);
        host_close(host);
}

/* Has the end receive without an EVD, into its SRQ as before, and joins it again. */
static void leave_recv_evd(struct host *host, struct end *b)
{
        DAT_EP_ATTR attr = plain_attr();

        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, host->pz, DAT_HANDLE_NULL, b->request_evd,
                                          b->connect_evd, b->srq, &attr, &b->ep),
                   DAT_SUCCESS);
        join_ends(host, &host->a, b);
}

/* Buffers whose completions are suppressed are free again as soon as they are filled. */
static void buffers_of_an_ep_without_a_recv_evd(void **state)
{
        struct host *host = srq_host(4);
        struct end *b = &host->b;

        (void)state;
        leave_recv_evd(host, b);
        for (unsigned int round = 0; round < 3; round++) {
                for (unsigned int i = 0; i < 4; i++)
                        post_srq(b, 0, 64, i);
                for (unsigned int i = 0; i < 4; i++)
                        send_and_await(host, 10, i);
        }
        assert_dat(dat_srq_resize(b->srq, 1), DAT_SUCCESS);
        assert_counts(b->srq, 1, 0, 0);
        host_close(host);
}

/* Nor is one lost of as many as the SRQ has grown to, since no poll is needed meanwhile. */
static void growth_of_an_ep_without_a_recv_evd(void **state)
{
        struct host *host = srq_host(4);
        struct end *b = &host->b;
        DAT_COUNT depth = 1000;

        (void)state;
        leave_recv_evd(host, b);
        assert_dat(dat_srq_resize(b->srq, depth), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < depth; i++)
                post_srq(b, 0, 64, (uint64_t)i);
        for (DAT_COUNT i = 0; i < depth; i++)
                send_and_await(host, 10, (uint64_t)i);
        assert_dat(dat_srq_resize(b->srq, 1), DAT_SUCCESS);
        assert_counts(b->srq, 1, 0, 0);
        host_close(host);
}

#define MOST_QUEUES 64

/*
 * A completion queue has room for so many buffers only. An SRQ that cannot grow for want of it is
 * as it was, and an EP that cannot be made leaves nothing behind.
 */
static void resize_without_room_for_completions(void **state)
{
        struct host *host = srq_host(4);
        struct end *b = &host->b;
        DAT_SRQ_ATTR attr = {.max_recv_dtos = host->attr.max_recv_per_srq,
                             .max_recv_iov = 1,
                             .low_watermark = DAT_SRQ_LW_DEFAULT};
        DAT_EP_ATTR ep_attr = plain_attr();
        DAT_SRQ_HANDLE srqs[MOST_QUEUES];
        DAT_EP_HANDLE eps[MOST_QUEUES];
        DAT_COUNT most = attr.max_recv_dtos;
        DAT_RETURN ret;
        int n = 0;

        (void)state;
        while (attr.max_recv_dtos) {
                assert_true(n < MOST_QUEUES);
                assert_dat(dat_srq_create(host->ia, host->pz, &attr, &srqs[n]), DAT_SUCCESS);
                ret = dat_ep_create_with_srq(host->ia, host->pz, b->recv_evd, b->request_evd,
                                             DAT_HANDLE_NULL, srqs[n], &ep_attr, &eps[n]);
                if (ret == DAT_SUCCESS) {
                        n++;
                        continue;
                }
                assert_refused(ret, DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
                assert_dat(dat_srq_free(srqs[n]), DAT_SUCCESS);
                attr.max_recv_dtos /= 2;
        }
        assert_refused(dat_srq_resize(b->srq, most), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        assert_counts(b->srq, 4, 0, 0);
        assert_dat(dat_srq_resize(b->srq, 3), DAT_SUCCESS);
        for (unsigned int i = 0; i < 3; i++)
                post_srq(b, 0, 64, i);
        assert_refused(dat_srq_post_recv(b->srq, 0, NULL, cookie(1)), DAT_INSUFFICIENT_RESOURCES,
                       DAT_RESOURCE_SRQ);
        for (unsigned int i = 0; i < 3; i++) {
                send_and_await(host, 10, i);
                await_completion(b->recv_evd, b->ep, i, DAT_DTO_SUCCESS, 10);
        }
        while (n--) {
                assert_dat(dat_ep_free(eps[n]), DAT_SUCCESS);
                assert_dat(dat_srq_free(srqs[n]), DAT_SUCCESS);
        }
        assert_dat(dat_srq_resize(b->srq, most), DAT_SUCCESS);
        host_close(host);
}

/* By dat_ep_modify() an SRQ's EP gets a mark that counts, as it does when it is created. */
static void a_watermark_by_modify(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_EVENT event;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 8);
        param.ep_attr.srq_soft_hw = 1;
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        for (unsigned int i = 0; i < 3; i++)
                post_srq(&host->b, 0, 64, i);
        send_and_await(host, 10, 1);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 2);
        event = await_event(host->async_evd, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->b.ep);
        host_close(host);
}

/* The flag of the receives forbids a threshold on their EVD, though an SRQ's give notice. */
static void no_threshold_for_unsignalled_receives(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        DAT_EP_PARAM param = {.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        end_make_with_srq(host, &host->b, &attr, 4);
        assert_refused(dat_evd_wait(host->b.recv_evd, 0, 2, &event, &nmore), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
        assert_dat(dat_evd_wait(host->b.recv_evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, &param),
                   DAT_SUCCESS);
        assert_dat(dat_evd_wait(host->b.recv_evd, 0, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        host_close(host);
}

/* The hard mark acts once per setting, and a change of the soft mark does not set the hard one. */
static void modify_leaves_the_hard_mark(void **state)
{
        struct host *host = srq_host(8);
        DAT_EP_PARAM param = {.ep_attr.srq_soft_hw = 5};

        (void)state;
        assert_dat(dat_ep_set_watermark(host->b.ep, DAT_WATERMARK_INFINITE, 0), DAT_SUCCESS);
        for (unsigned int i = 0; i < 2; i++)
                post_srq(&host->b, 0, 64, i);
        send_above_mark(host, 10, 1);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        await_completion(host->b.recv_evd, host->b.ep, 0, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_ep_reset(host->b.ep), DAT_SUCCESS);
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        send_and_await(host, 10, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_silent(host->b.connect_evd);
        host_close(host);
}

/* A program that queries, changes other attributes and gives all of them back keeps its mark. */
static void modify_keeps_a_mark_of_zero(void **state)
{
        struct host *host = host_open();
        DAT_EP_PARAM param;
        DAT_EVENT event;

        (void)state;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make_with_srq(host, &host->b, NULL, 8);
        assert_dat(dat_ep_set_watermark(host->b.ep, 0, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
        assert_dat(dat_ep_query(host->b.ep, DAT_EP_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.ep_attr.srq_soft_hw, 0);
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &param),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        post_srq(&host->b, 0, 64, 1);
        send_and_await(host, 10, 1);
        event = await_event(host->async_evd, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->b.ep);
        host_close(host);
}

static void watermarks_of_an_ep(void **state)
{
        struct host *host = srq_host(8);
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_ep_set_watermark(host->a.ep, 1, 1), DAT_MODEL_NOT_SUPPORTED);
        assert_dat(dat_ep_set_watermark(host->b.ep, 1, DAT_WATERMARK_INFINITE), DAT_SUCCESS);
        for (unsigned int i = 0; i < 5; i++)
                post_srq(&host->b, 0, 64, i);
        send_and_await(host, 10, 1);
        (void)srq_counts(host->b.srq);
        assert_silent(host->async_evd);
        send_and_await(host, 10, 2);
        (void)srq_counts(host->b.srq);
        assert_dat(dat_evd_wait(host->async_evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->b.ep);
        assert_int_equal(event.event_data.asynch_error_event_data.reason,
                         DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
        assert_dat(dat_ep_set_watermark(host->b.ep, DAT_WATERMARK_INFINITE, 2), DAT_SUCCESS);
        send_above_mark(host, 10, 3);
        (void)srq_counts(host->b.srq);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        host_close(host);
}

/* The thread that fetches a host's events, for as long as an agent keeps it. */
struct stopper {
        sem_t stopped;
        sem_t may_go_on;
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE evd;
};

static void stop(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct stopper *stopper = data;

        if (evd == DAT_HANDLE_NULL)
                return;
        sem_post(&stopper->stopped);
        sem_wait(&stopper->may_go_on);
}

static void stop_service(struct host *host, struct stopper *stopper)
{
        DAT_OS_WAIT_PROXY_AGENT agent = {stopper, stop};
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        sem_init(&stopper->stopped, 0, 0);
        sem_init(&stopper->may_go_on, 0, 0);
        assert_dat(dat_cno_create(host->ia, agent, &stopper->cno), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 4, stopper->cno, DAT_EVD_SOFTWARE_FLAG, &stopper->evd),
                   DAT_SUCCESS);
        assert_dat(dat_evd_post_se(stopper->evd, &event), DAT_SUCCESS);
        sem_wait(&stopper->stopped);
}

static void free_stopper(struct stopper *stopper)
{
        assert_dat(dat_evd_free(stopper->evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(stopper->cno), DAT_SUCCESS);
        sem_destroy(&stopper->stopped);
        sem_destroy(&stopper->may_go_on);
}

/* A message may come before the event that the connection is there, and exceed the mark. */
static void hard_watermark_before_established(void **state)
{
        struct host *near = host_open();
        struct host *far = host_open();
        struct stopper near_service;
        struct stopper far_service;
        DAT_CR_HANDLE cr;

        (void)state;
        listen_any(far, DAT_PSP_CONSUMER_FLAG);
        end_make(near, &near->a, NULL);
        end_make_with_srq(far, &far->b, NULL, 4);
        assert_dat(dat_ep_set_watermark(far->b.ep, DAT_WATERMARK_INFINITE, 0), DAT_SUCCESS);
        post_srq(&far->b, 0, 64, 1);
        connect_to(near, &near->a, far->qual);
        cr = await_request(far);
        /* An accept handles what comes while it lasts, so nothing is to come before its end. */
        stop_service(near, &near_service);
        assert_dat(dat_cr_accept(cr, far->b.ep, 0, NULL), DAT_SUCCESS);
        stop_service(far, &far_service);
        sem_post(&near_service.may_go_on);
        (void)await_event(near->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        send_and_await(near, 10, 2);
        (void)srq_counts(far->b.srq);
        assert_int_equal(state_of(far->b.ep), DAT_EP_STATE_COMPLETION_PENDING);
        sem_post(&far_service.may_go_on);
        (void)await_event(far->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(far->b.connect_evd, DAT_CONNECTION_EVENT_BROKEN);
        free_stopper(&near_service);
        free_stopper(&far_service);
        host_close(near);
        host_close(far);
}

static void assert_held(DAT_EP_HANDLE ep, DAT_COUNT expected)
{
        DAT_COUNT count = -2;
        DAT_COUNT span = -2;

        assert_dat(dat_ep_recv_query(ep, &count, &span), DAT_SUCCESS);
        assert_int_equal(count, expected);
        assert_int_equal(span, expected);
}

/* Each packet is numbered: lengths around those that fill one, and a message that is empty. */
static void recv_query_knows_that_nothing_arrives(void **state)
{
        static const size_t lengths[] = {10, 0, 256, 1023, 1024, 1025, 4096, 4097, BUFFER};
        /* A device of another make is believed once its numbers have moved. */
        bool stranger = getenv("DAPLREF_TEST_LIBRARY") != NULL;
        struct host *host = srq_host(16);
        DAT_COUNT count = sizeof(lengths) / sizeof(lengths[0]);

        (void)state;
        for (DAT_COUNT i = 0; i <= count; i++)
                post_srq(&host->b, 0, BUFFER, (uint64_t)i);
        assert_held(host->b.ep, stranger ? DAT_VALUE_UNKNOWN : 0);
        for (DAT_COUNT i = 0; i < count; i++) {
                send_and_await(host, lengths[i], 99);
                assert_held(host->b.ep, 0);
                await_completion(host->b.recv_evd, host->b.ep, (uint64_t)i, DAT_DTO_SUCCESS,
                                 lengths[i]);
                assert_held(host->b.ep, 0);
        }
        assert_dat(dat_ep_disconnect(host->b.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_held(host->b.ep, 0);
        assert_counts(host->b.srq, 16, 1, 1);
        host_close(host);
}

/* A peer's RDMA is numbered among the packets of messages; no buffer may be left to one then. */
static void recv_query_says_when_it_cannot_know(void **state)
{
        struct host *host = srq_host(8);
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 8);
        DAT_RMR_TRIPLET there = {.rmr_context = host->b.rmr_context,
                                 .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
                                 .segment_length = 8};

        (void)state;
        post_srq(&host->b, 0, 64, 0);
        post_srq(&host->b, 0, 64, 1);
        assert_dat(dat_ep_post_rdma_write(host->a.ep, 1, &iov, cookie(9), &there,
                                          DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 9, DAT_DTO_SUCCESS, 8);
        assert_held(host->b.ep, DAT_VALUE_UNKNOWN);
        send_and_await(host, 10, 1);
        assert_held(host->b.ep, DAT_VALUE_UNKNOWN);
        send_and_await(host, 10, 2);
        assert_held(host->b.ep, 0);
        host_close(host);
}

/* The zone of an SRQ guards what is received, the zone of its EP what is sent. */
static void an_ep_of_another_zone(void **state)
{
        DAT_EP_ATTR attr = plain_attr();
        DAT_EP_PARAM param = {0};
        struct host *host;
        DAT_LMR_TRIPLET iov;
        DAT_PZ_HANDLE pz;

        (void)state;
        setenv("DAPLREF_TEST_IA", "one0", 1);
        host = srq_host(4);
        unsetenv("DAPLREF_TEST_IA");
        assert_int_equal(host->provider.srq_ep_pz_difference_supported, DAT_TRUE);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_dat(dat_ep_reset(host->a.ep), DAT_SUCCESS);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, pz, host->b.recv_evd, host->b.request_evd,
                                          host->b.connect_evd, host->b.srq, &attr, &host->b.ep),
                   DAT_SUCCESS);
        param.pz_handle = host->pz;
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
        param.pz_handle = pz;
        assert_dat(dat_ep_modify(host->b.ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        post_srq(&host->b, 0, 64, 1);
        memset(host->a.memory, 0x5a, 64);
        send_and_await(host, 64, 2);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 64);
        assert_memory_equal(host->a.memory, host->b.memory, 64);
        iov = segment(&host->b, 0, 64);
        assert_dat(dat_ep_post_send(host->b.ep, 1, &iov, cookie(3), DAT_COMPLETION_DEFAULT_FLAG),
                   DAT_PROTECTION_VIOLATION);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        host->b.ep = NULL;
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(host);
}

/* Without the setting, soft-RoCE would refuse what such an EP receives. */
static void one_zone_for_a_queue_and_its_eps(void **state)
{
        struct host *host = srq_host(4);
        DAT_EP_ATTR attr = plain_attr();
        DAT_EP_PARAM param = {0};
        DAT_EP_HANDLE ep;
        DAT_PZ_HANDLE pz;

        (void)state;
        assert_int_equal(host->provider.srq_ep_pz_difference_supported, DAT_FALSE);
        assert_dat(dat_pz_create(host->ia, &pz), DAT_SUCCESS);
        assert_dat(dat_ep_create_with_srq(host->ia, pz, host->b.recv_evd, host->b.request_evd,
                                          host->b.connect_evd, host->b.srq, &attr, &ep),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_create_with_srq(host->ia, host->pz, host->b.recv_evd, host->b.request_evd,
                                          host->b.connect_evd, host->b.srq, &attr, &ep),
                   DAT_SUCCESS);
        param.pz_handle = pz;
        assert_dat(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param), DAT_INVALID_PARAMETER);
        assert_dat(dat_ep_free(ep), DAT_SUCCESS);
        assert_dat(dat_pz_free(pz), DAT_SUCCESS);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(counts_follow_a_message),
            cmocka_unit_test(depth_is_exact),
            cmocka_unit_test(resize_refuses_below_outstanding),
            cmocka_unit_test(resize_refuses_below_low_watermark),
            cmocka_unit_test(resize_takes_only_sizes),
            cmocka_unit_test(resize_loses_no_message),
            cmocka_unit_test(it_grows_far_under_a_queue_pair),
            cmocka_unit_test(it_grows_far_before_a_queue_pair),
            cmocka_unit_test(low_watermark_speaks_once),
            cmocka_unit_test(low_watermark_speaks_without_any_poll),
            cmocka_unit_test(segments_are_checked),
            cmocka_unit_test(in_use_it_is_not_freed),
            cmocka_unit_test(handles_of_other_kinds_are_refused),
            cmocka_unit_test(disconnect_leaves_the_queue_alone),
            unless_iwarp(an_ending_ep_flushes_in_order, NO_WAIT),
            cmocka_unit_test(an_ending_ep_can_be_reset),
            cmocka_unit_test(an_ia_closes_while_eps_end),
            cmocka_unit_test(freeing_an_ep_returns_its_buffers),
            cmocka_unit_test(several_eps_share_one),
            cmocka_unit_test(an_ep_of_another_zone),
            cmocka_unit_test(one_zone_for_a_queue_and_its_eps),
            cmocka_unit_test(buffers_of_an_ep_without_a_recv_evd),
            unless_iwarp(growth_of_an_ep_without_a_recv_evd, NO_REST),
            cmocka_unit_test(resize_without_room_for_completions),
            cmocka_unit_test(a_watermark_by_modify),
            cmocka_unit_test(no_threshold_for_unsignalled_receives),
            cmocka_unit_test(modify_leaves_the_hard_mark),
            cmocka_unit_test(modify_keeps_a_mark_of_zero),
            cmocka_unit_test(watermarks_of_an_ep),
            cmocka_unit_test(hard_watermark_before_established),
            unless_iwarp(recv_query_knows_that_nothing_arrives, NO_NUMBERS),
            cmocka_unit_test(recv_query_says_when_it_cannot_know),
        };

        return cmocka_run_group_tests_name("srq", tests, NULL, NULL);
}
