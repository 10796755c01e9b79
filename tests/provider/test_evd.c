/* SPDX-License-Identifier: BSD-2-Clause */
/* Event dispatchers: what they queue, who waits for it, and which completions wake a waiter. */
#include "dispatch.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void software_events_queue_in_order(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd = make_evd(host, 3, DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
        for (uintptr_t i = 1; i <= 3; i++)
                assert_dat(post_software(evd, i), DAT_SUCCESS);
        assert_dat(post_software(evd, 4), DAT_QUEUE_FULL);
        assert_silent(host->async_evd);
        assert_dat(dat_evd_wait(evd, 0, 2, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(value_of(&event), 1);
        assert_int_equal(nmore, 2);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        assert_int_equal(value_of(&event), 2);
        assert_dat(dat_evd_wait(evd, 1000, 2, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_int_equal(nmore, 1);
        event.event_number = DAT_CONNECTION_EVENT_BROKEN;
        assert_dat(dat_evd_post_se(evd, &event), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_post_se(evd, NULL), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
        host_close(host);
}

static void bad_waits_are_refused(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd = make_evd(host, 4, DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT nmore;
        DAT_EVD_PARAM param;

        (void)state;
        assert_dat(dat_evd_wait(evd, 0, 0, &event, &nmore), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_wait(evd, 0, -1, &event, &nmore), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_wait(evd, 0, 5, &event, &nmore), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        assert_dat(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_INVALID_STATE);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(param.evd_state & DAT_EVD_STATE_UNWAITABLE);
        assert_int_equal(param.evd_qlen, 4);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        assert_dat(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        assert_dat(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_dat(dat_evd_create(host->ia, 0, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_create(host->ia, host->attr.max_evd_qlen + 1, DAT_HANDLE_NULL,
                                  DAT_EVD_DTO_FLAG, &evd),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_create(host->ia, 4, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0, &evd),
                   DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_create(host->ia, 4, host->pz, DAT_EVD_DTO_FLAG, &evd),
                   DAT_INVALID_HANDLE);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        free(host);
}

static void a_timeout_takes_its_time(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd = make_evd(host, 4, DAT_HANDLE_NULL);
        uint64_t start = microseconds();
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_wait(evd, 300000, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_true(microseconds() - start >= 300000);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

static void a_waiter_owns_its_evd(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                                .threshold = 2,
                                .timeout = DAT_TIMEOUT_INFINITE};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        start_waiter(&waiter);
        assert_dat(dat_evd_wait(waiter.evd, 0, 1, &event, &nmore), DAT_INVALID_STATE);
        assert_dat(dat_evd_free(waiter.evd), DAT_INVALID_STATE);
        assert_dat(post_software(waiter.evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(waiter.evd, &event), DAT_INVALID_STATE);
        assert_dat(post_software(waiter.evd, 2), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(value_of(&waiter.event), 1);
        assert_int_equal(waiter.nmore, 1);
        assert_dat(dat_evd_free(waiter.evd), DAT_SUCCESS);
        host_close(host);
}

static void waiters_are_released(void **state)
{
        struct host *host = host_open();
        struct waiter first = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                               .threshold = 1,
                               .timeout = DAT_TIMEOUT_INFINITE};
        struct waiter second = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                                .threshold = 1,
                                .timeout = DAT_TIMEOUT_INFINITE};
        struct waiter third = {.timeout = DAT_TIMEOUT_INFINITE};

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &third.cno), DAT_SUCCESS);
        start_waiter(&first);
        assert_dat(dat_evd_set_unwaitable(first.evd), DAT_SUCCESS);
        finish_waiter(&first, DAT_INVALID_STATE);
        start_waiter(&second);
        start_cno_waiter(&third);
        while (DAT_GET_TYPE(dat_cno_free(third.cno)) != DAT_INVALID_STATE) {
                /* The waiter came too late and found no CNO: make another. */
                pthread_join(third.thread, NULL);
                assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &third.cno),
                           DAT_SUCCESS);
                start_cno_waiter(&third);
        }
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        finish_waiter(&second, DAT_ABORT);
        pthread_join(third.thread, NULL);
        assert_null(third.triggered);
        free(host);
}

static void on_signal(int number)
{
        (void)number;
}

static void a_signal_interrupts(void **state)
{
        struct host *host = host_open();
        struct sigaction action = {.sa_handler = on_signal};
        struct waiter waiter = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                                .threshold = 2,
                                .timeout = DAT_TIMEOUT_INFINITE};

        (void)state;
        sigaction(SIGUSR1, &action, NULL);
        start_waiter(&waiter);
        assert_dat(post_software(waiter.evd, 1), DAT_SUCCESS);
        while (!atomic_load(&waiter.done)) {
                pthread_kill(waiter.thread, SIGUSR1);
                sched_yield();
        }
        finish_waiter(&waiter, DAT_INTERRUPTED_CALL);
        assert_dat(dat_evd_free(waiter.evd), DAT_SUCCESS);
        host_close(host);
}

/* Whatever the handler was installed with. */
static void a_signal_interrupts_a_cno(void **state)
{
        struct host *host = host_open();
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        DAT_TIMEOUT timeouts[] = {DAT_TIMEOUT_INFINITE, LONG};

        (void)state;
        sigaction(SIGUSR1, &action, NULL);
        for (int i = 0; i < 2; i++) {
                struct waiter waiter = {.timeout = timeouts[i]};

                assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &waiter.cno),
                           DAT_SUCCESS);
                start_cno_waiter(&waiter);
                while (!atomic_load(&waiter.done)) {
                        pthread_kill(waiter.thread, SIGUSR1);
                        sched_yield();
                }
                finish_waiter(&waiter, DAT_INTERRUPTED_CALL);
                assert_null(waiter.triggered);
                assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
        }
        host_close(host);
}

static void resize_keeps_what_is_queued(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd = make_evd(host, 4, DAT_HANDLE_NULL);
        DAT_EVD_PARAM param;
        DAT_EVENT event;

        (void)state;
        for (uintptr_t i = 1; i <= 4; i++)
                assert_dat(post_software(evd, i), DAT_SUCCESS);
        assert_dat(dat_evd_resize(evd, 3), DAT_INVALID_STATE);
        assert_dat(dat_evd_resize(evd, 0), DAT_INVALID_PARAMETER);
        assert_dat(dat_evd_resize(evd, host->attr.max_evd_qlen), DAT_SUCCESS);
        for (uintptr_t i = 5; i <= 40; i++)
                assert_dat(post_software(evd, i), DAT_SUCCESS);
        assert_dat(dat_evd_resize(evd, 40), DAT_SUCCESS);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        assert_int_equal(param.evd_qlen, 40);
        for (uintptr_t i = 1; i <= 40; i++) {
                assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
                assert_int_equal(value_of(&event), i);
        }
        assert_dat(dat_evd_resize(evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

static void completions_do_not_overflow(void **state)
{
        struct host *host = host_joined();

        (void)state;
        assert_dat(dat_evd_resize(host->a.request_evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_resize(host->b.recv_evd, 1), DAT_SUCCESS);
        for (unsigned int i = 0; i < 8; i++)
                post_recv(&host->b, 0, 10, i);
        for (unsigned int i = 0; i < 8; i++)
                post_send(&host->a, 0, 10, i);
        assert_silent(host->async_evd);
        for (unsigned int i = 0; i < 8; i++) {
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 10);
                await_completion(host->b.recv_evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
        }
        assert_silent(host->async_evd);
        host_close(host);
}

static void connection_events_overflow(void **state)
{
        struct host *host = host_listening();
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_evd_resize(host->a.connect_evd, 1), DAT_SUCCESS);
        connect_to(host, &host->a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        event = await_event(host->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, host->a.connect_evd);
        (void)await_event(host->a.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        assert_silent(host->a.connect_evd);
        assert_silent(host->async_evd);
        host_close(host);
}

static void an_evd_that_is_fed_is_not_freed(void **state)
{
        struct host *host = host_joined();
        DAT_EVD_HANDLE evds[] = {host->a.recv_evd, host->a.request_evd, host->a.connect_evd,
                                 host->cr_evd, host->async_evd};

        (void)state;
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
                assert_dat(dat_evd_free(evds[i]), DAT_INVALID_STATE);
        host_close(host);
}

static void all_streams_merge(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        struct end *a = &host->a;
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
        int completions = 0;

        (void)state;
        assert_dat(dat_evd_create(host->ia, 32, DAT_HANDLE_NULL,
                                  (DAT_EVD_FLAGS)(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG),
                                  &evd),
                   DAT_SUCCESS);
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, a, NULL);
        end_make(host, &host->b, NULL);
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, evd, evd, evd, &attr, &a->ep), DAT_SUCCESS);
        connect_to(host, a, host->qual);
        assert_dat(dat_cr_accept(await_request(host), host->b.ep, 0, NULL), DAT_SUCCESS);
        (void)await_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_recv(&host->b, 0, 10, 1);
        post_recv(a, 0, 10, 2);
        post_send(a, 0, 10, 3);
        post_send(&host->b, 0, 10, 4);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->b.request_evd, host->b.ep, 4, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_disconnect(a->ep, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED);
        /* Successful completions come before the end of the connection. */
        do {
                DAT_COUNT nmore;

                assert_dat(dat_evd_wait(evd, LONG, 1, &event, &nmore), DAT_SUCCESS);
                completions += event.event_number == DAT_DTO_COMPLETION_EVENT;
        } while (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED);
        assert_int_equal(completions, 2);
        assert_dat(dat_ep_free(a->ep), DAT_SUCCESS);
        a->ep = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

static void lost_events_are_reported_once(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd;
        struct end ends[4];
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_evd_create(host->ia, 2, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &evd),
                   DAT_SUCCESS);
        memset(ends, 0, sizeof(ends));
        for (int i = 0; i < 4; i++) {
                assert_dat(dat_ep_create(host->ia, host->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd,
                                         NULL, &ends[i].ep),
                           DAT_SUCCESS);
                connect_to(host, &ends[i], 7777);
        }
        event = await_event(host->async_evd, DAT_ASYNC_ERROR_EVD_OVERFLOW);
        assert_ptr_equal(event.event_data.asynch_error_event_data.dat_handle, evd);
        assert_silent(host->async_evd);
        for (int i = 0; i < 2; i++)
                assert_dat(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY);
        for (int i = 0; i < 4; i++)
                assert_dat(dat_ep_free(ends[i].ep), DAT_SUCCESS);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

static void unsignalled_requests_wake_nobody(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct waiter waiter = {.evd = host->a.request_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_wait(host->a.request_evd, 0, 2, &event, &nmore), DAT_INVALID_STATE);
        post_recv(&host->b, 0, 10, 1);
        post_recv(&host->b, 0, 10, 2);
        start_waiter(&waiter);
        assert_dat(
            dat_ep_post_send(host->a.ep, 1, &iov, cookie(3), DAT_COMPLETION_UNSIGNALLED_FLAG),
            DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        post_send(&host->a, 0, 10, 4);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
        await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

/* The send comes last, so what the peer has received tells that the others are complete. */
static void unsignalled_requests_of_every_kind_wake_nobody(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
        struct end *a = &host->a;
        struct waiter waiter = {.evd = a->request_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(a, 0, 10);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = host->b.rmr_context,
            .target_address = (DAT_VADDR)(uintptr_t)host->b.memory,
            .segment_length = 10,
        };
        DAT_RMR_CONTEXT context;
        DAT_RMR_HANDLE rmr;

        (void)state;
        assert_dat(dat_rmr_create(host->pz, &rmr), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        start_waiter(&waiter);
        assert_dat(dat_rmr_bind(rmr, &iov, DAT_MEM_PRIV_REMOTE_READ_FLAG, a->ep, cookie(2),
                                DAT_COMPLETION_UNSIGNALLED_FLAG, &context),
                   DAT_SUCCESS);
        assert_dat(dat_ep_post_rdma_write(a->ep, 1, &iov, cookie(3), &remote,
                                          DAT_COMPLETION_UNSIGNALLED_FLAG),
                   DAT_SUCCESS);
        assert_dat(dat_ep_post_rdma_read(a->ep, 1, &iov, cookie(4), &remote,
                                         DAT_COMPLETION_UNSIGNALLED_FLAG),
                   DAT_SUCCESS);
        assert_dat(
            dat_ep_post_send(a->ep, 1, &iov, cookie(5),
                             DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG),
            DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        /* What fails gives notice too. */
        remote.rmr_context = 0;
        assert_dat(dat_ep_post_rdma_write(a->ep, 1, &iov, cookie(6), &remote,
                                          DAT_COMPLETION_UNSIGNALLED_FLAG),
                   DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
        assert_int_equal(waiter.event.event_data.rmr_completion_event_data.user_cookie.as_64, 2);
        for (unsigned int i = 3; i <= 5; i++)
                await_completion(a->request_evd, a->ep, i, DAT_DTO_SUCCESS, 10);
        await_completion(a->request_evd, a->ep, 6, DAT_DTO_ERR_REMOTE_ACCESS, 0);
        assert_dat(dat_rmr_free(rmr), DAT_SUCCESS);
        host_close(host);
}

static void unsignalled_receives_wake_nobody(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
        struct waiter waiter = {.evd = host->b.recv_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(&host->b, 0, 10);

        (void)state;
        assert_dat(
            dat_ep_post_recv(host->b.ep, 1, &iov, cookie(1), DAT_COMPLETION_UNSIGNALLED_FLAG),
            DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 2);
        start_waiter(&waiter);
        post_send(&host->a, 0, 10, 3);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 10);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        post_send(&host->a, 0, 10, 4);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
        await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
        host_close(host);
}

static void only_solicited_messages_wake(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
        struct waiter waiter = {.evd = host->b.recv_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);

        (void)state;
        for (unsigned int i = 0; i < 3; i++)
                post_recv(&host->b, 0, 10, i);
        start_waiter(&waiter);
        post_send(&host->a, 0, 10, 7);
        await_completion(host->a.request_evd, host->a.ep, 7, DAT_DTO_SUCCESS, 10);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        assert_dat(
            dat_ep_post_send(host->a.ep, 1, &iov, cookie(8), DAT_COMPLETION_SOLICITED_WAIT_FLAG),
            DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.event.event_data.dto_completion_event_data.user_cookie.as_64, 0);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        /* A flush wakes, whatever the sender wanted. */
        waiter.done = false;
        start_waiter(&waiter);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.event.event_data.dto_completion_event_data.status,
                         DAT_DTO_ERR_FLUSHED);
        host_close(host);
}

static void suppressed_successes_are_not_seen(void **state)
{
        struct host *host = host_joined();
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);

        (void)state;
        for (unsigned int round = 0; round < 30; round++) {
                post_recv(&host->b, 0, 10, round);
                assert_dat(
                    dat_ep_post_send(host->a.ep, 1, &iov, cookie(1), DAT_COMPLETION_SUPPRESS_FLAG),
                    DAT_SUCCESS);
                await_completion(host->b.recv_evd, host->b.ep, round, DAT_DTO_SUCCESS, 10);
        }
        post_recv(&host->b, 0, 10, 99);
        post_send(&host->a, 0, 10, 2);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(3), DAT_COMPLETION_SUPPRESS_FLAG),
                   DAT_SUCCESS);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_ERR_FLUSHED, 0);
        host_close(host);
}

static void flags_that_do_not_mix_are_refused(void **state)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();
        DAT_EP_HANDLE ep;

        (void)state;
        attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
        end_make(host, &host->a, &attr);
        attr.recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
        assert_dat(dat_ep_create(host->ia, host->pz, host->a.recv_evd, DAT_HANDLE_NULL,
                                 DAT_HANDLE_NULL, &attr, &ep),
                   DAT_INVALID_PARAMETER);
        attr.recv_completion_flags = DAT_COMPLETION_SUPPRESS_FLAG;
        assert_dat(dat_ep_create(host->ia, host->pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                                 DAT_HANDLE_NULL, &attr, &ep),
                   DAT_INVALID_PARAMETER);
        host_close(host);
}

static void threshold_waits_for_completions(void **state)
{
        struct host *host = host_joined();
        struct waiter waiter = {.evd = host->b.recv_evd, .threshold = 3, .timeout = LONG};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        for (unsigned int i = 0; i < 4; i++)
                post_recv(&host->b, 0, 10, i);
        start_waiter(&waiter);
        post_send(&host->a, 0, 10, 1);
        post_send(&host->a, 0, 10, 2);
        await_completion(host->a.request_evd, host->a.ep, 1, DAT_DTO_SUCCESS, 10);
        await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        post_send(&host->a, 0, 10, 3);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_int_equal(waiter.nmore, 2);
        assert_dat(dat_evd_wait(host->b.recv_evd, 1000, 3, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_int_equal(nmore, 2);
        host_close(host);
}

/* A waiter leaves, even if the EVD is waitable again before it comes to look. */
static void a_moment_unwaitable_is_enough(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                                .threshold = 1,
                                .timeout = DAT_TIMEOUT_INFINITE};
        DAT_EVENT event;

        (void)state;
        for (int i = 0; i < 20; i++) {
                start_waiter(&waiter);
                assert_dat(dat_evd_set_unwaitable(waiter.evd), DAT_SUCCESS);
                assert_dat(dat_evd_clear_unwaitable(waiter.evd), DAT_SUCCESS);
                finish_waiter(&waiter, DAT_INVALID_STATE);
        }
        assert_dat(post_software(waiter.evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_wait(waiter.evd, 0, 1, &event, &waiter.nmore), DAT_SUCCESS);
        assert_dat(dat_evd_free(waiter.evd), DAT_SUCCESS);
        host_close(host);
}

/* What is left on the queue includes completions that were not yet polled. */
static void nmore_counts_what_has_completed(void **state)
{
        struct host *host = host_listening();
        struct end *b = &host->b;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_create(host->ia, 8, DAT_HANDLE_NULL,
                                  (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG), &evd),
                   DAT_SUCCESS);
        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        assert_dat(
            dat_ep_create(host->ia, host->pz, evd, b->request_evd, b->connect_evd, &attr, &b->ep),
            DAT_SUCCESS);
        join_ends(host, &host->a, b);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        for (unsigned int i = 0; i < 3; i++) {
                post_recv(b, 0, 10, i);
                post_send(&host->a, 0, 10, i);
                await_completion(host->a.request_evd, host->a.ep, i, DAT_DTO_SUCCESS, 10);
        }
        assert_dat(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_SOFTWARE_EVENT);
        assert_int_equal(nmore, 3);
        for (unsigned int i = 0; i < 3; i++) {
                assert_dat(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_SUCCESS);
                assert_int_equal(nmore, 2 - (int)i);
        }
        assert_dat(dat_ep_free(b->ep), DAT_SUCCESS);
        b->ep = DAT_HANDLE_NULL;
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

/* All that can be wrong with a call on an EVD, by its argument or state. */
static void each_argument_of_an_evd(void **state)
{
        struct host *host = host_open();
        struct host *other = host_open();
        struct waiter waiter = {.evd = make_evd(host, 4, DAT_HANDLE_NULL),
                                .threshold = 4,
                                .timeout = DAT_TIMEOUT_INFINITE};
        DAT_CNO_HANDLE foreign = make_cno(other, no_agent);
        DAT_COUNT wrong[] = {0, -1, INT32_MIN, host->attr.max_evd_qlen + 1, INT32_MAX};
        DAT_EVD_HANDLE evd = waiter.evd;
        DAT_EVD_PARAM param;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_refused(dat_evd_query(evd, (DAT_EVD_PARAM_MASK)0x20, &param), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_evd_query(evd, DAT_EVD_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
                assert_refused(dat_evd_resize(evd, wrong[i]), DAT_INVALID_PARAMETER,
                               DAT_INVALID_ARG2);
                assert_refused(dat_evd_wait(evd, 0, wrong[i], &event, &nmore),
                               DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        }
        assert_refused(dat_evd_wait(evd, 0, 5, &event, &nmore), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_evd_wait(evd, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG4);
        assert_refused(dat_evd_wait(evd, 0, 1, &event, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG5);
        assert_refused(dat_evd_dequeue(evd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        assert_refused(dat_evd_modify_cno(evd, foreign), DAT_INVALID_HANDLE,
                       DAT_INVALID_HANDLE_CNO);
        assert_refused(dat_evd_modify_cno(evd, evd), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
        for (DAT_TIMEOUT timeout = 0; timeout <= 1; timeout++) {
                nmore = -1;
                assert_refused(dat_evd_wait(evd, timeout, 4, &event, &nmore), DAT_TIMEOUT_EXPIRED,
                               DAT_NO_SUBTYPE);
                assert_int_equal(nmore, 0);
        }
        start_waiter(&waiter);
        assert_refused(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_WAITER);
        assert_refused(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_WAITER);
        assert_refused(dat_evd_free(evd), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        assert_dat(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_INVALID_STATE);
        assert_refused(waiter.ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        assert_refused(dat_evd_wait(evd, 0, 1, &event, &nmore), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_UNWAITABLE);
        /* The second call changes nothing, and a query reports either state. */
        for (int i = 0; i < 2; i++) {
                assert_dat(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
        }
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param), DAT_SUCCESS);
        assert_int_equal(param.evd_state, DAT_EVD_STATE_DISABLED | DAT_EVD_STATE_UNWAITABLE);
        for (int i = 0; i < 2; i++) {
                assert_dat(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
        }
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &param), DAT_SUCCESS);
        assert_int_equal(param.evd_state, DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(foreign), DAT_SUCCESS);
        host_close(other);
        host_close(host);
}

/* Of streams that the Consumer controls by flags, no more than one event can be waited for. */
static void a_threshold_is_not_for_controlled_streams(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG);
        DAT_EVD_PARAM param;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_refused(dat_evd_wait(host->a.recv_evd, 0, 2, &event, &nmore), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
        assert_refused(dat_evd_wait(host->a.request_evd, 0, 2, &event, &nmore), DAT_INVALID_STATE,
                       DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
        assert_dat(dat_evd_wait(host->a.recv_evd, 0, 1, &event, &nmore), DAT_TIMEOUT_EXPIRED);
        assert_dat(dat_evd_query(host->a.recv_evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(param.evd_state & DAT_EVD_STATE_CONFIG_SOLICITED);
        host_close(host);
}

#define SHARED_EVENTS 1000

struct taker {
        pthread_t thread;
        DAT_EVD_HANDLE evd;
        atomic_int *left;
};

static void *take_events(void *argument)
{
        struct taker *taker = argument;
        DAT_EVENT event;
        DAT_COUNT nmore;

        for (int i = 0; atomic_load(taker->left) > 0; i++) {
                DAT_RETURN ret = i % 2 ? dat_evd_dequeue(taker->evd, &event)
                                       : dat_evd_wait(taker->evd, 0, 1, &event, &nmore);

                if (ret != DAT_SUCCESS) {
                        sched_yield();
                        continue;
                }
                atomic_fetch_add((atomic_int *)event.event_data.software_event_data.pointer, 1);
                atomic_fetch_sub(taker->left, 1);
        }
        return NULL;
}

/* However many threads take events, each event is delivered once. */
static void each_event_is_delivered_once(void **state)
{
        struct host *host = host_open();
        DAT_EVD_HANDLE evd = make_evd(host, 16, DAT_HANDLE_NULL);
        atomic_int *taken = calloc(SHARED_EVENTS, sizeof(*taken));
        atomic_int left = SHARED_EVENTS;
        struct taker takers[3];

        (void)state;
        assert_non_null(taken);
        for (int i = 0; i < 3; i++) {
                takers[i] = (struct taker){.evd = evd, .left = &left};
                assert_int_equal(pthread_create(&takers[i].thread, NULL, take_events, &takers[i]),
                                 0);
        }
        for (int i = 0; i < SHARED_EVENTS; i++) {
                DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

                event.event_data.software_event_data.pointer = &taken[i];
                while (DAT_GET_TYPE(dat_evd_post_se(evd, &event)) == DAT_QUEUE_FULL)
                        sched_yield();
        }
        for (int i = 0; i < 3; i++)
                assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        for (int i = 0; i < SHARED_EVENTS; i++)
                assert_int_equal(atomic_load(&taken[i]), 1);
        free(taken);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(software_events_queue_in_order),
            cmocka_unit_test(bad_waits_are_refused),
            cmocka_unit_test(a_timeout_takes_its_time),
            cmocka_unit_test(a_waiter_owns_its_evd),
            cmocka_unit_test(waiters_are_released),
            cmocka_unit_test(a_signal_interrupts),
            cmocka_unit_test(a_signal_interrupts_a_cno),
            cmocka_unit_test(resize_keeps_what_is_queued),
            cmocka_unit_test(completions_do_not_overflow),
            cmocka_unit_test(connection_events_overflow),
            cmocka_unit_test(an_evd_that_is_fed_is_not_freed),
            cmocka_unit_test(all_streams_merge),
            cmocka_unit_test(lost_events_are_reported_once),
            cmocka_unit_test(unsignalled_requests_wake_nobody),
            cmocka_unit_test(unsignalled_requests_of_every_kind_wake_nobody),
            cmocka_unit_test(unsignalled_receives_wake_nobody),
            cmocka_unit_test(only_solicited_messages_wake),
            cmocka_unit_test(suppressed_successes_are_not_seen),
            cmocka_unit_test(flags_that_do_not_mix_are_refused),
            cmocka_unit_test(threshold_waits_for_completions),
            cmocka_unit_test(a_moment_unwaitable_is_enough),
            cmocka_unit_test(nmore_counts_what_has_completed),
            cmocka_unit_test(each_argument_of_an_evd),
            cmocka_unit_test(a_threshold_is_not_for_controlled_streams),
            cmocka_unit_test(each_event_is_delivered_once),
        };

        return cmocka_run_group_tests_name("evd", tests, NULL, NULL);
}
