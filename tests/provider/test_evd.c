/* SPDX-License-Identifier: BSD-2-Clause */
/* EVDs and CNOs: waiting, counting, overflowing, and who is woken by what. */
#include "loopback.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static DAT_EVD_HANDLE make_evd(struct host *host, DAT_COUNT qlen, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd;

        assert_dat(dat_evd_create(host->ia, qlen, cno, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS);
        return evd;
}

static char values[64];

static uintptr_t value_of(const DAT_EVENT *event)
{
        return (uintptr_t)event->event_data.software_event_data.pointer - (uintptr_t)values;
}

static DAT_RETURN post_software(DAT_EVD_HANDLE evd, uintptr_t value)
{
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        event.event_data.software_event_data.pointer = &values[value];
        return dat_evd_post_se(evd, &event);
}

static uint64_t microseconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

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

struct waiter {
        pthread_t thread;
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cno;
        DAT_COUNT threshold;
        DAT_TIMEOUT timeout;
        DAT_RETURN ret;
        DAT_EVENT event;
        DAT_COUNT nmore;
        DAT_EVD_HANDLE triggered;
        atomic_int tid; /* 0 until the thread has begun */
        atomic_bool begun;
        atomic_bool done;
};

static void *wait_on_evd(void *argument)
{
        struct waiter *waiter = argument;

        atomic_store(&waiter->tid, gettid());
        waiter->ret = dat_evd_wait(waiter->evd, waiter->timeout, waiter->threshold, &waiter->event,
                                   &waiter->nmore);
        atomic_store(&waiter->done, true);
        return NULL;
}

static void *wait_on_cno(void *argument)
{
        struct waiter *waiter = argument;

        atomic_store(&waiter->tid, gettid());
        atomic_store(&waiter->begun, true);
        waiter->ret = dat_cno_wait(waiter->cno, waiter->timeout, &waiter->triggered);
        atomic_store(&waiter->done, true);
        return NULL;
}

/* Starts a waiter and returns when it has certainly begun to wait, which a dequeue shows. */
static void start_waiter(struct waiter *waiter)
{
        DAT_EVENT event;

        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on_evd, waiter), 0);
        while (DAT_GET_TYPE(dat_evd_dequeue(waiter->evd, &event)) != DAT_INVALID_STATE)
                sched_yield();
}

/*
 * Starts a waiter on a CNO and lets it run. Nothing shows from outside that it sleeps; but a thread
 * that continues at once may, on one CPU, be the first each time.
 */
static void start_cno_waiter(struct waiter *waiter)
{
        atomic_store(&waiter->begun, false);
        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on_cno, waiter), 0);
        while (!atomic_load(&waiter->begun))
                sched_yield();
}

/* Returns when the waiter sleeps in its call, as the kernel tells of its thread. */
static void await_sleep(const struct waiter *waiter)
{
        char path[64];
        char state;

        do {
                FILE *file;

                sched_yield();
                (void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat",
                               atomic_load(&waiter->tid));
                file = fopen(path, "r");
                state = '?';
                if (!file)
                        continue;
                if (fscanf(file, "%*d %*s %c", &state) != 1)
                        state = '?';
                (void)fclose(file);
        } while (state != 'S');
}

static void finish_waiter(struct waiter *waiter, DAT_RETURN type)
{
        assert_int_equal(pthread_join(waiter->thread, NULL), 0);
        assert_dat(waiter->ret, type);
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

static struct host *flagged_host(DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request)
{
        struct host *host = host_open();
        DAT_EP_ATTR attr = plain_attr();

        attr.recv_completion_flags = recv;
        attr.request_completion_flags = request;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, &attr);
        end_make(host, &host->b, &attr);
        join_ends(host, &host->a, &host->b);
        return host;
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

static void a_cno_hears_of_its_evds(void **state)
{
        struct host *host = host_joined();
        DAT_EVD_HANDLE software;
        DAT_EVD_HANDLE heard;
        DAT_CNO_HANDLE cno;
        DAT_EVENT event;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        software = make_evd(host, 4, cno);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_INVALID_STATE);
        assert_dat(dat_cno_wait(cno, 10000, &heard), DAT_QUEUE_EMPTY);
        assert_null(heard);
        assert_dat(post_software(software, 1), DAT_SUCCESS);
        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        assert_ptr_equal(heard, software);
        for (unsigned int i = 0; i < 3; i++) {
                post_recv(&host->b, 0, 10, i);
                post_send(&host->a, 0, 10, 9);
                assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
                assert_ptr_equal(heard, host->b.recv_evd);
                assert_dat(dat_evd_dequeue(host->b.recv_evd, &event), DAT_SUCCESS);
        }
        assert_dat(dat_evd_disable(host->b.recv_evd), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 4);
        post_send(&host->a, 0, 10, 9);
        assert_dat(dat_cno_wait(cno, QUIET, &heard), DAT_QUEUE_EMPTY);
        await_completion(host->b.recv_evd, host->b.ep, 4, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_evd_enable(host->b.recv_evd), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_free(software), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

static void a_direct_waiter_comes_before_the_cno(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.threshold = 1, .timeout = LONG};
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE heard;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        waiter.evd = make_evd(host, 4, cno);
        start_waiter(&waiter);
        assert_dat(post_software(waiter.evd, 1), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_dat(dat_cno_wait(cno, QUIET, &heard), DAT_QUEUE_EMPTY);
        assert_dat(dat_evd_free(waiter.evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A waiter takes the event that the completion queue was armed for; the next triggers the CNO. */
static void the_cno_hears_again_after_a_waiter(void **state)
{
        struct host *host = host_joined();
        struct waiter waiter = {.evd = host->b.recv_evd, .threshold = 1, .timeout = LONG};
        const struct sched_param first = {.sched_priority = 1};
        DAT_CNO_HANDLE cno;
        DAT_EVD_HANDLE heard;
        int late = 0;

        (void)state;
        assert_dat(dat_cno_create(host->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, cno), DAT_SUCCESS);
        for (unsigned int i = 0; i < 20; i++) {
                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                start_waiter(&waiter);
                /* So it comes before the service thread, which then finds nothing to read. */
                (void)pthread_setschedparam(waiter.thread, SCHED_FIFO, &first);
                post_send(&host->a, 0, 10, 3);
                finish_waiter(&waiter, DAT_SUCCESS);
                await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 10);
                while (dat_cno_wait(cno, 0, &heard) == DAT_SUCCESS)
                        ;
                post_send(&host->a, 0, 10, 4);
                late += dat_cno_wait(cno, QUIET, &heard) != DAT_SUCCESS;
                await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
                await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, 10);
        }
        /* The service thread looks each second by itself, so a word that is lost only comes late.
         */
        assert_in_range(late, 0, 10);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

static const DAT_OS_WAIT_PROXY_AGENT no_agent = {NULL, NULL};

static DAT_CNO_HANDLE make_cno(struct host *host, DAT_OS_WAIT_PROXY_AGENT agent)
{
        DAT_CNO_HANDLE cno;

        assert_dat(dat_cno_create(host->ia, agent, &cno), DAT_SUCCESS);
        return cno;
}

static void assert_heard(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE heard;

        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        assert_ptr_equal(heard, evd);
}

static void assert_nothing_heard(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout)
{
        DAT_EVD_HANDLE heard = cno;

        assert_dat(dat_cno_wait(cno, timeout, &heard), DAT_QUEUE_EMPTY);
        assert_null(heard);
}

/* Has the thread run on one CPU with this one, and only while this one sleeps. */
static void run_after_me(pthread_t thread)
{
        const struct sched_param first = {.sched_priority = 1};
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(0, &one);
        assert_int_equal(pthread_setaffinity_np(thread, sizeof(one), &one), 0);
        assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
        assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_FIFO, &first), 0);
}

static void run_as_before(void)
{
        const struct sched_param plain = {0};
        cpu_set_t all;

        memset(&all, 0xff, sizeof(all));
        assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(all), &all), 0);
        assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_OTHER, &plain), 0);
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

/* Who is sent away has no part in the EVD any more, whether or not its thread has run since. */
static void an_evd_is_free_of_whom_it_sent_away(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        struct waiter gone = {
            .evd = make_evd(host, 4, cno), .threshold = 1, .timeout = DAT_TIMEOUT_INFINITE};
        struct waiter next = {.evd = gone.evd, .threshold = 1, .timeout = LONG};
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        for (int round = 0; round < 4; round++) {
                gone.done = next.done = false;
                start_waiter(&gone);
                await_sleep(&gone);
                run_after_me(gone.thread);
                assert_dat(dat_evd_set_unwaitable(gone.evd), DAT_SUCCESS);
                assert_refused(dat_evd_wait(gone.evd, 0, 1, &event, &nmore), DAT_INVALID_STATE,
                               DAT_INVALID_STATE_EVD_UNWAITABLE);
                assert_dat(post_software(gone.evd, 1), DAT_SUCCESS);
                assert_heard(cno, gone.evd);
                assert_dat(dat_evd_dequeue(gone.evd, &event), DAT_SUCCESS);
                assert_dat(dat_evd_dequeue(gone.evd, &event), DAT_QUEUE_EMPTY);
                assert_dat(dat_evd_clear_unwaitable(gone.evd), DAT_SUCCESS);
                if (round % 2) {
                        assert_dat(post_software(gone.evd, 2), DAT_SUCCESS);
                        assert_dat(dat_evd_wait(gone.evd, 0, 1, &event, &nmore), DAT_SUCCESS);
                        assert_heard(cno, gone.evd);
                }
                if (round < 2) {
                        assert_false(atomic_load(&gone.done));
                        run_as_before();
                        start_waiter(&next);
                        assert_dat(post_software(next.evd, 3), DAT_SUCCESS);
                        finish_waiter(&next, DAT_SUCCESS);
                        assert_nothing_heard(cno, 0);
                } else {
                        assert_dat(dat_evd_wait(gone.evd, QUIET, 1, &event, &nmore),
                                   DAT_TIMEOUT_EXPIRED);
                        run_as_before();
                }
                finish_waiter(&gone, DAT_INVALID_STATE);
        }
        /* It may even be freed, which then waits for the thread to leave. */
        start_waiter(&gone);
        await_sleep(&gone);
        run_after_me(gone.thread);
        assert_dat(dat_evd_set_unwaitable(gone.evd), DAT_SUCCESS);
        assert_dat(dat_evd_free(gone.evd), DAT_SUCCESS);
        run_as_before();
        finish_waiter(&gone, DAT_INVALID_STATE);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A completion arrives when it completes: it triggers no CNO that the EVD gets or regains later. */
static void a_cno_hears_of_what_arrives_then(void **state)
{
        struct host *host = host_joined();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_CNO_HANDLE other = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_EVD_HANDLE heard;

        (void)state;
        for (int round = 0; round < 3; round++) {
                for (unsigned int i = 0; i < 3; i++)
                        post_recv(&host->b, 0, 10, i);
                /* Without a CNO, or disabled after it has listened once. */
                if (round)
                        assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
                post_send(&host->a, 0, 10, 7);
                await_completion(host->a.request_evd, host->a.ep, 7, DAT_DTO_SUCCESS, 10);
                if (round == 0)
                        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
                if (round == 2)
                        assert_dat(dat_evd_modify_cno(evd, other), DAT_SUCCESS);
                if (round)
                        assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
                assert_nothing_heard(cno, QUIET);
                assert_nothing_heard(other, 0);
                post_send(&host->a, 0, 10, 8);
                assert_heard(round == 2 ? other : cno, evd);
                await_completion(host->a.request_evd, host->a.ep, 8, DAT_DTO_SUCCESS, 10);
                for (unsigned int i = 0; i < 2; i++)
                        await_completion(evd, host->b.ep, i, DAT_DTO_SUCCESS, 10);
                post_send(&host->a, 0, 10, 9);
                await_completion(host->a.request_evd, host->a.ep, 9, DAT_DTO_SUCCESS, 10);
                await_completion(evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
                while (dat_cno_wait(round == 2 ? other : cno, QUIET, &heard) == DAT_SUCCESS)
                        ;
        }
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(other), DAT_SUCCESS);
        host_close(host);
}

/* What a waiter sleeps on is taken from under it by who enables its EVD, and it wakes all the same.
 */
static void a_waiter_sleeps_through_enabling(void **state)
{
        struct host *host = host_joined();
        struct waiter waiter = {.evd = host->a.request_evd, .threshold = 1, .timeout = LONG};
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);
        DAT_EVENT event;
        int late = 0;

        (void)state;
        for (int round = 0; round < 20; round++) {
                uint64_t start;

                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                start_waiter(&waiter);
                await_sleep(&waiter);
                run_after_me(waiter.thread);
                assert_dat(
                    dat_ep_post_send(host->a.ep, 1, &iov, cookie(3), DAT_COMPLETION_SUPPRESS_FLAG),
                    DAT_SUCCESS);
                /* The message has come before its sender has the completion. */
                for (int i = 0, come = 0; come < 1000; i++) {
                        come += come || dat_evd_dequeue(host->b.recv_evd, &event) == DAT_SUCCESS;
                        assert_dat(i % 2 ? dat_evd_enable(waiter.evd) : dat_evd_disable(waiter.evd),
                                   DAT_SUCCESS);
                }
                run_as_before();
                start = microseconds();
                post_send(&host->a, 0, 10, 4);
                finish_waiter(&waiter, DAT_SUCCESS);
                late += microseconds() - start > QUIET;
                await_completion(host->b.recv_evd, host->b.ep, 2, DAT_DTO_SUCCESS, 10);
        }
        /* The service thread looks each second by itself, so who is not woken only comes late. */
        assert_in_range(late, 0, 10);
        host_close(host);
}

/* A solicited event gives notice once, however often the EVD is enabled afterwards. */
static void a_solicited_message_is_told_once(void **state)
{
        struct host *host =
            flagged_host(DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_DEFAULT_FLAG);
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_LMR_TRIPLET iov = segment(&host->a, 0, 10);

        (void)state;
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        post_recv(&host->b, 0, 10, 1);
        assert_dat(
            dat_ep_post_send(host->a.ep, 1, &iov, cookie(2), DAT_COMPLETION_SOLICITED_WAIT_FLAG),
            DAT_SUCCESS);
        assert_heard(cno, evd);
        for (int i = 0; i < 2; i++) {
                assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
                assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        }
        assert_nothing_heard(cno, QUIET);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
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

/* What an EVD has told its CNO is there to be collected after the EVD has gone over to another. */
static void a_trigger_stays_with_the_old_cno(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE first = make_cno(host, no_agent);
        DAT_CNO_HANDLE second = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = make_evd(host, 4, first);
        DAT_EVD_PARAM param;

        (void)state;
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, second), DAT_SUCCESS);
        assert_heard(first, evd);
        assert_nothing_heard(first, 0);
        assert_nothing_heard(second, 0);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
        assert_ptr_equal(param.cno_handle, second);
        assert_dat(dat_cno_free(first), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, second), DAT_SUCCESS);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(post_software(evd, 3), DAT_SUCCESS);
        assert_heard(second, evd);
        assert_nothing_heard(second, 0);
        assert_dat(dat_cno_free(second), DAT_SUCCESS);
        assert_dat(dat_evd_query(evd, DAT_EVD_FIELD_CNO, &param), DAT_SUCCESS);
        assert_null(param.cno_handle);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        host_close(host);
}

/* The handle of an EVD that has been freed is never heard of; what the others told is. */
static void a_freed_evd_is_not_heard_of(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_CNO_HANDLE other = make_cno(host, no_agent);
        DAT_EVD_HANDLE stays = make_evd(host, 4, cno);
        DAT_EVD_HANDLE goes = make_evd(host, 4, cno);
        DAT_EVD_HANDLE roams = make_evd(host, 4, cno);

        (void)state;
        assert_dat(post_software(goes, 1), DAT_SUCCESS);
        assert_dat(dat_evd_free(goes), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        for (int i = 0; i < 2; i++) {
                goes = make_evd(host, 4, cno);
                assert_dat(post_software(i ? stays : goes, 1), DAT_SUCCESS);
                assert_dat(post_software(i ? goes : stays, 2), DAT_SUCCESS);
                assert_dat(dat_evd_free(goes), DAT_SUCCESS);
                assert_heard(cno, stays);
                assert_nothing_heard(cno, 0);
        }
        /* Nor of one that had gone over to another CNO before. */
        assert_dat(post_software(roams, 1), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(roams, other), DAT_SUCCESS);
        assert_dat(post_software(roams, 2), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(roams, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_free(roams), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_nothing_heard(other, 0);
        assert_dat(dat_evd_free(stays), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        assert_dat(dat_cno_free(other), DAT_SUCCESS);
        host_close(host);
}

/* A waiter that has been told leaves, though the EVD is freed before it runs; but it names none. */
static void a_waiter_leaves_without_the_evd_that_told_it(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.cno = make_cno(host, no_agent), .timeout = LONG};
        DAT_EVD_HANDLE stays = make_evd(host, 4, waiter.cno);
        DAT_EVD_HANDLE goes = make_evd(host, 4, waiter.cno);

        (void)state;
        start_cno_waiter(&waiter);
        await_sleep(&waiter);
        run_after_me(waiter.thread);
        assert_dat(post_software(goes, 1), DAT_SUCCESS);
        assert_dat(dat_evd_free(goes), DAT_SUCCESS);
        run_as_before();
        finish_waiter(&waiter, DAT_SUCCESS);
        assert_null(waiter.triggered);
        assert_nothing_heard(waiter.cno, 0);
        assert_dat(dat_evd_free(stays), DAT_SUCCESS);
        assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
        host_close(host);
}

/* Triggers that come at once release as many waiters, whichever EVDs they are of. */
static void each_trigger_releases_a_waiter(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evds[2] = {make_evd(host, 4, cno), make_evd(host, 4, cno)};
        struct waiter waiters[2];

        (void)state;
        for (int round = 0; round < 2; round++) {
                DAT_EVD_HANDLE second = evds[round];

                for (int i = 0; i < 2; i++) {
                        waiters[i] = (struct waiter){.cno = cno, .timeout = LONG};
                        start_cno_waiter(&waiters[i]);
                        await_sleep(&waiters[i]);
                        run_after_me(waiters[i].thread);
                        run_as_before();
                }
                run_after_me(waiters[0].thread);
                assert_dat(post_software(evds[0], 1), DAT_SUCCESS);
                assert_dat(post_software(second, 2), DAT_SUCCESS);
                run_as_before();
                for (int i = 0; i < 2; i++)
                        finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_true((waiters[0].triggered == evds[0] && waiters[1].triggered == second) ||
                            (waiters[1].triggered == evds[0] && waiters[0].triggered == second));
                assert_nothing_heard(cno, 0);
        }
        for (int i = 0; i < 2; i++)
                assert_dat(dat_evd_free(evds[i]), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* What has arrived before somebody looks at the EVD directly is told, whoever takes it. */
static void a_look_hides_nothing_from_the_cno(void **state)
{
        struct host *host = host_joined();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = host->b.recv_evd;
        DAT_EVENT event;
        DAT_COUNT nmore;

        (void)state;
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        for (int round = 0; round < 10; round++) {
                post_recv(&host->b, 0, 10, 1);
                /* So the service thread does not run between. */
                run_after_me(pthread_self());
                post_send(&host->a, 0, 10, 2);
                while (dat_evd_wait(evd, 0, 1, &event, &nmore) != DAT_SUCCESS)
                        ;
                run_as_before();
                assert_heard(cno, evd);
                await_completion(host->a.request_evd, host->a.ep, 2, DAT_DTO_SUCCESS, 10);
                assert_nothing_heard(cno, 0);
        }
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* A thread that has been told, or released, is not blocked on the CNO any more. */
static void a_cno_whose_waiter_was_told_is_freed(void **state)
{
        struct host *host = host_open();

        (void)state;
        for (int told = 0; told < 2; told++) {
                struct waiter waiter = {.cno = make_cno(host, no_agent),
                                        .timeout = DAT_TIMEOUT_INFINITE};
                DAT_EVD_HANDLE evd = make_evd(host, 4, waiter.cno);

                start_cno_waiter(&waiter);
                await_sleep(&waiter);
                run_after_me(waiter.thread);
                if (told) {
                        assert_dat(post_software(evd, 1), DAT_SUCCESS);
                        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
                } else {
                        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
                }
                assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
                run_as_before();
                finish_waiter(&waiter, told ? DAT_SUCCESS : DAT_INVALID_STATE);
                assert_ptr_equal(waiter.triggered, told ? evd : DAT_HANDLE_NULL);
                if (told)
                        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        }
        host_close(host);
}

/* Only the end of the last EVD that a CNO has releases who waits on it. */
static void waiters_leave_with_the_last_evd(void **state)
{
        struct host *host = host_open();
        struct waiter waiter = {.cno = make_cno(host, no_agent), .timeout = DAT_TIMEOUT_INFINITE};
        DAT_EVD_HANDLE moved = make_evd(host, 4, waiter.cno);
        DAT_EVD_HANDLE evds[2];

        (void)state;
        start_cno_waiter(&waiter);
        assert_silent(host->async_evd);
        assert_dat(dat_evd_modify_cno(moved, DAT_HANDLE_NULL), DAT_SUCCESS);
        for (int i = 0; i < 2; i++)
                evds[i] = make_evd(host, 4, waiter.cno);
        assert_dat(dat_evd_free(moved), DAT_SUCCESS);
        assert_dat(dat_evd_free(evds[0]), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_false(atomic_load(&waiter.done));
        assert_dat(dat_evd_free(evds[1]), DAT_SUCCESS);
        finish_waiter(&waiter, DAT_INVALID_STATE);
        assert_null(waiter.triggered);
        assert_dat(dat_cno_free(waiter.cno), DAT_SUCCESS);
        host_close(host);
}

/* As the page of dat_cno_free advises: an EVD that goes from CNO to CNO releases their waiters. */
static void a_software_event_releases_each_waiter(void **state)
{
        struct host *host = host_open();
        struct waiter waiters[3];
        DAT_EVD_HANDLE evd = make_evd(host, 4, DAT_HANDLE_NULL);

        (void)state;
        memset(waiters, 0, sizeof(waiters));
        for (int i = 0; i < 3; i++) {
                waiters[i].cno = make_cno(host, no_agent);
                waiters[i].timeout = DAT_TIMEOUT_INFINITE;
                start_cno_waiter(&waiters[i]);
        }
        for (int i = 0; i < 3; i++) {
                assert_dat(dat_evd_modify_cno(evd, waiters[i].cno), DAT_SUCCESS);
                assert_dat(post_software(evd, 1), DAT_SUCCESS);
        }
        for (int i = 0; i < 3; i++) {
                finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_ptr_equal(waiters[i].triggered, evd);
        }
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        for (int i = 0; i < 3; i++)
                assert_dat(dat_cno_free(waiters[i].cno), DAT_SUCCESS);
        host_close(host);
}

/* One trigger is for one of those who wait. */
static void a_trigger_is_for_one_waiter(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        struct waiter waiters[2] = {{.cno = cno, .timeout = DAT_TIMEOUT_INFINITE},
                                    {.cno = cno, .timeout = DAT_TIMEOUT_INFINITE}};
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);

        (void)state;
        start_cno_waiter(&waiters[0]);
        start_cno_waiter(&waiters[1]);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        while (!atomic_load(&waiters[0].done) && !atomic_load(&waiters[1].done))
                sched_yield();
        assert_silent(host->async_evd);
        assert_true(atomic_load(&waiters[0].done) != atomic_load(&waiters[1].done));
        assert_dat(dat_cno_free(cno), DAT_INVALID_STATE);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                finish_waiter(&waiters[i], DAT_SUCCESS);
                assert_ptr_equal(waiters[i].triggered, evd);
        }
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Events of every stream reach a CNO; an unwaitable EVD triggers it too. */
static void a_cno_hears_of_every_stream(void **state)
{
        struct host *host = host_listening();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evds[] = {host->cr_evd, host->a.connect_evd, host->b.recv_evd,
                                 host->async_evd};
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1, .low_watermark = 2};
        DAT_SRQ_HANDLE srq;
        DAT_EVENT event;

        (void)state;
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++) {
                assert_dat(dat_evd_modify_cno(evds[i], cno), DAT_SUCCESS);
                assert_dat(dat_evd_set_unwaitable(evds[i]), DAT_SUCCESS);
        }
        connect_to(host, &host->a, host->qual);
        assert_heard(cno, host->cr_evd);
        assert_dat(dat_evd_dequeue(host->cr_evd, &event), DAT_SUCCESS);
        assert_dat(
            dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, host->b.ep, 0, NULL),
            DAT_SUCCESS);
        assert_heard(cno, host->a.connect_evd);
        assert_dat(dat_evd_dequeue(host->a.connect_evd, &event), DAT_SUCCESS);
        assert_int_equal(event.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
        (void)await_event(host->b.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        post_recv(&host->b, 0, 10, 1);
        post_send(&host->a, 0, 10, 2);
        assert_heard(cno, host->b.recv_evd);
        assert_dat(dat_evd_clear_unwaitable(host->b.recv_evd), DAT_SUCCESS);
        await_completion(host->b.recv_evd, host->b.ep, 1, DAT_DTO_SUCCESS, 10);
        assert_dat(dat_srq_create(host->ia, host->pz, &attr, &srq), DAT_SUCCESS);
        assert_heard(cno, host->async_evd);
        assert_dat(dat_srq_free(srq), DAT_SUCCESS);
        for (size_t i = 0; i < sizeof(evds) / sizeof(evds[0]); i++)
                assert_dat(dat_evd_modify_cno(evds[i], DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Of a stream whose notices the sender controls, a CNO hears when the sender asks for it. */
static void a_cno_hears_of_solicited_messages(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_LMR_TRIPLET iov;
        DAT_EP_ATTR attr = plain_attr();
        DAT_EVENT event;

        (void)state;
        attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
        listen_any(host, DAT_PSP_CONSUMER_FLAG);
        end_make(host, &host->a, NULL);
        end_make(host, &host->b, NULL);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        assert_dat(dat_evd_free(host->b.recv_evd), DAT_SUCCESS);
        assert_dat(dat_evd_create(host->ia, 8, cno, DAT_EVD_DTO_FLAG, &host->b.recv_evd),
                   DAT_SUCCESS);
        assert_dat(dat_ep_create(host->ia, host->pz, host->b.recv_evd, host->b.request_evd,
                                 host->b.connect_evd, &attr, &host->b.ep),
                   DAT_SUCCESS);
        join_ends(host, &host->a, &host->b);
        iov = segment(&host->a, 0, 10);
        for (unsigned int round = 0; round < 3; round++) {
                post_recv(&host->b, 0, 10, 1);
                post_recv(&host->b, 0, 10, 2);
                post_send(&host->a, 0, 10, 3);
                await_completion(host->a.request_evd, host->a.ep, 3, DAT_DTO_SUCCESS, 10);
                assert_nothing_heard(cno, QUIET);
                assert_dat(dat_ep_post_send(host->a.ep, 1, &iov, cookie(4),
                                            DAT_COMPLETION_SOLICITED_WAIT_FLAG),
                           DAT_SUCCESS);
                assert_heard(cno, host->b.recv_evd);
                for (uint64_t i = 1; i <= 2; i++) {
                        assert_dat(dat_evd_dequeue(host->b.recv_evd, &event), DAT_SUCCESS);
                        assert_int_equal(
                            event.event_data.dto_completion_event_data.user_cookie.as_64, i);
                }
                await_completion(host->a.request_evd, host->a.ep, 4, DAT_DTO_SUCCESS, 10);
        }
        post_recv(&host->b, 0, 10, 5);
        assert_dat(dat_ep_disconnect(host->a.ep, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_heard(cno, host->b.recv_evd);
        await_completion(host->b.recv_evd, host->b.ep, 5, DAT_DTO_ERR_FLUSHED, 0);
        /* The settings end with the stream: of the next one, each message gives notice. */
        end_free(&host->a);
        assert_dat(dat_ep_free(host->b.ep), DAT_SUCCESS);
        attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
        assert_dat(dat_ep_create(host->ia, host->pz, host->b.recv_evd, host->b.request_evd,
                                 host->b.connect_evd, &attr, &host->b.ep),
                   DAT_SUCCESS);
        assert_dat(dat_evd_dequeue(host->b.connect_evd, &event), DAT_QUEUE_EMPTY);
        end_make(host, &host->a, NULL);
        join_ends(host, &host->a, &host->b);
        assert_nothing_heard(cno, 0);
        post_recv(&host->b, 0, 10, 6);
        post_send(&host->a, 0, 10, 7);
        assert_heard(cno, host->b.recv_evd);
        assert_dat(dat_evd_modify_cno(host->b.recv_evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

struct agent {
        pthread_mutex_t lock;
        pthread_cond_t called;
        int calls;
        DAT_EVD_HANDLE evds[8];
        DAT_CNO_HANDLE cno; /* which it tries to free */
        DAT_RETURN freed;
        bool held; /* the first call does not return before it is let go */
};

static void agent_function(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct agent *agent = data;

        if (agent->cno)
                agent->freed = dat_cno_free(agent->cno);
        pthread_mutex_lock(&agent->lock);
        agent->evds[agent->calls++ % 8] = evd;
        pthread_cond_broadcast(&agent->called);
        while (agent->held)
                pthread_cond_wait(&agent->called, &agent->lock);
        pthread_mutex_unlock(&agent->lock);
}

static void await_calls(struct agent *agent, int calls)
{
        pthread_mutex_lock(&agent->lock);
        while (agent->calls < calls)
                pthread_cond_wait(&agent->called, &agent->lock);
        assert_int_equal(agent->calls, calls);
        pthread_mutex_unlock(&agent->lock);
}

static void let_go(struct agent *agent)
{
        pthread_mutex_lock(&agent->lock);
        agent->held = false;
        pthread_cond_broadcast(&agent->called);
        pthread_mutex_unlock(&agent->lock);
}

static void an_agent_is_called(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);
        DAT_CNO_PARAM param;

        (void)state;
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
        assert_ptr_equal(param.ia_handle, host->ia);
        assert_ptr_equal(param.agent.instance_data, &agent);
        assert_true(param.agent.proxy_agent_func == agent_function);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_ptr_equal(agent.evds[0], evd);
        /* Besides what is delivered by the CNO itself. */
        assert_heard(cno, evd);
        assert_dat(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
        assert_null(param.agent.instance_data);
        assert_true(param.agent.proxy_agent_func == NULL);
        assert_dat(post_software(evd, 2), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_int_equal(agent.calls, 1);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* Each trigger, of each EVD, also of those that come while the agent is at work. */
static void an_agent_is_told_of_each_trigger(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        struct agent other = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_OS_WAIT_PROXY_AGENT instead = {&other, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evds[] = {make_evd(host, 4, cno), make_evd(host, 4, cno)};
        int of_first = 0;

        (void)state;
        agent.held = true;
        assert_dat(post_software(evds[0], 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_dat(post_software(evds[0], 2), DAT_SUCCESS);
        assert_dat(post_software(evds[1], 3), DAT_SUCCESS);
        assert_dat(post_software(evds[0], 4), DAT_SUCCESS);
        let_go(&agent);
        await_calls(&agent, 4);
        for (int i = 0; i < 4; i++) {
                of_first += agent.evds[i] == evds[0];
                assert_true(agent.evds[i] == evds[0] || agent.evds[i] == evds[1]);
        }
        assert_int_equal(of_first, 3);
        /* What the old agent has not been told, the new one is. */
        agent.held = true;
        assert_dat(post_software(evds[1], 5), DAT_SUCCESS);
        await_calls(&agent, 5);
        assert_dat(post_software(evds[1], 6), DAT_SUCCESS);
        assert_dat(dat_cno_modify_agent(cno, instead), DAT_SUCCESS);
        let_go(&agent);
        await_calls(&other, 1);
        assert_ptr_equal(other.evds[0], evds[1]);
        /* The last EVD that goes is the last of which it hears. */
        assert_dat(dat_evd_free(evds[0]), DAT_SUCCESS);
        assert_silent(host->async_evd);
        assert_int_equal(other.calls, 1);
        assert_dat(dat_evd_free(evds[1]), DAT_SUCCESS);
        await_calls(&other, 2);
        assert_null(other.evds[1]);
        assert_int_equal(agent.calls, 5);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
        host_close(host);
}

/* An agent is called at the close of its IA, and may not free the CNO that is calling it. */
static void an_agent_hears_of_the_end(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        struct agent idle = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, agent_function};
        DAT_OS_WAIT_PROXY_AGENT other = {&idle, agent_function};
        DAT_CNO_HANDLE cno = make_cno(host, proxy);
        DAT_EVD_HANDLE evd = make_evd(host, 4, cno);

        (void)state;
        (void)make_cno(host, other);
        agent.cno = cno;
        agent.held = true;
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 1);
        assert_refused(agent.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_evd_modify_cno(evd, cno), DAT_SUCCESS);
        let_go(&agent);
        assert_dat(dat_evd_modify_cno(evd, DAT_HANDLE_NULL), DAT_SUCCESS);
        assert_dat(dat_ia_close(host->ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
        assert_int_equal(agent.calls, 2);
        assert_null(agent.evds[1]);
        assert_refused(agent.freed, DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);
        assert_int_equal(idle.calls, 1);
        assert_null(idle.evds[0]);
        free(host);
}

/* An agent may undo what called it, but for the CNO itself, whose EVD it may free. */
static void free_the_evd(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
        struct agent *agent = data;
        DAT_RETURN ret = evd ? dat_evd_free(evd) : DAT_SUCCESS;
        DAT_RETURN cno_ret = dat_cno_free(agent->cno);

        pthread_mutex_lock(&agent->lock);
        agent->freed = ret == DAT_SUCCESS ? cno_ret : ret;
        agent->calls++;
        pthread_cond_broadcast(&agent->called);
        pthread_mutex_unlock(&agent->lock);
}

static void an_agent_frees_its_evd(void **state)
{
        struct host *host = host_open();
        struct agent agent = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .called = PTHREAD_COND_INITIALIZER};
        DAT_OS_WAIT_PROXY_AGENT proxy = {&agent, free_the_evd};
        DAT_EVENT event;
        DAT_EVD_HANDLE evd;

        (void)state;
        agent.cno = make_cno(host, proxy);
        evd = make_evd(host, 4, agent.cno);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        await_calls(&agent, 2);
        assert_refused(agent.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        assert_dat(dat_evd_dequeue(evd, &event), DAT_INVALID_HANDLE);
        while (DAT_GET_TYPE(dat_cno_free(agent.cno)) == DAT_INVALID_STATE)
                sched_yield();
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

static void each_argument_of_a_cno(void **state)
{
        struct host *host = host_open();
        DAT_CNO_HANDLE cno = make_cno(host, no_agent);
        DAT_EVD_HANDLE evd = make_evd(host, 1, cno);
        DAT_CNO_PARAM param;

        (void)state;
        assert_refused(dat_cno_create(host->ia, no_agent, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_refused(dat_cno_query(cno, (DAT_CNO_PARAM_MASK)0x4, &param), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG2);
        assert_refused(dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
                       DAT_INVALID_ARG3);
        assert_dat(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
        assert_true(param.agent.proxy_agent_func == NULL);
        assert_refused(dat_cno_wait(cno, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        assert_nothing_heard(cno, 0);
        assert_nothing_heard(cno, 1);
        assert_refused(dat_cno_free(cno), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
        /* Of an EVD that is disabled it hears nothing, of what came meanwhile neither. */
        assert_dat(dat_evd_disable(evd), DAT_SUCCESS);
        assert_dat(post_software(evd, 1), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_dat(dat_evd_enable(evd), DAT_SUCCESS);
        assert_nothing_heard(cno, 0);
        assert_dat(post_software(evd, 2), DAT_QUEUE_FULL);
        assert_nothing_heard(cno, 0);
        assert_dat(dat_evd_free(evd), DAT_SUCCESS);
        assert_dat(dat_cno_free(cno), DAT_SUCCESS);
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

#define STORM_EVENTS 4000

/* What the threads of the storm share. */
struct storm {
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cnos[2];
        atomic_int taken[STORM_EVENTS];
        atomic_int left;
        atomic_int strange; /* returns that nothing explains */
};

static void storm_took(struct storm *storm, const DAT_EVENT *event)
{
        atomic_fetch_add((atomic_int *)event->event_data.software_event_data.pointer, 1);
        atomic_fetch_sub(&storm->left, 1);
}

static void *storm_waits(void *argument)
{
        struct storm *storm = argument;
        DAT_EVENT event;
        DAT_COUNT nmore;

        while (atomic_load(&storm->left) > 0) {
                DAT_RETURN ret = dat_evd_wait(storm->evd, QUIET, 1, &event, &nmore);

                if (ret == DAT_SUCCESS)
                        storm_took(storm, &event);
                else if (DAT_GET_TYPE(ret) != DAT_INVALID_STATE &&
                         DAT_GET_TYPE(ret) != DAT_TIMEOUT_EXPIRED)
                        atomic_fetch_add(&storm->strange, 1);
        }
        return NULL;
}

static void *storm_hears(void *argument)
{
        struct storm *storm = argument;
        DAT_EVENT event;

        for (int i = 0; atomic_load(&storm->left) > 0; i++) {
                DAT_EVD_HANDLE heard = storm;
                DAT_RETURN ret = dat_cno_wait(storm->cnos[i % 2], SECOND / 1000, &heard);

                if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY && heard != storm->evd)
                        atomic_fetch_add(&storm->strange, 1);
                ret = dat_evd_dequeue(storm->evd, &event);
                if (ret == DAT_SUCCESS)
                        storm_took(storm, &event);
                else if (DAT_GET_TYPE(ret) != DAT_QUEUE_EMPTY &&
                         DAT_GET_TYPE(ret) != DAT_INVALID_STATE)
                        atomic_fetch_add(&storm->strange, 1);
        }
        return NULL;
}

static void *storm_changes(void *argument)
{
        struct storm *storm = argument;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; atomic_load(&storm->left) > 0 && ret == DAT_SUCCESS; i++) {
                switch (i % 6) {
                case 0:
                        ret = dat_evd_set_unwaitable(storm->evd);
                        break;
                case 1:
                        ret = dat_evd_clear_unwaitable(storm->evd);
                        break;
                case 2:
                        ret = dat_evd_disable(storm->evd);
                        break;
                case 3:
                        ret = dat_evd_enable(storm->evd);
                        break;
                case 4:
                        ret = dat_evd_modify_cno(storm->evd, storm->cnos[i / 6 % 2]);
                        break;
                default:
                        ret = dat_evd_resize(storm->evd, 8 + i % 8);
                        if (DAT_GET_TYPE(ret) == DAT_INVALID_STATE)
                                ret = DAT_SUCCESS;
                        sched_yield();
                }
        }
        if (ret != DAT_SUCCESS)
                atomic_fetch_add(&storm->strange, 1);
        return NULL;
}

/* Whatever is done to an EVD meanwhile, each event comes once, and each waiter wakes. */
static void an_evd_stands_a_storm(void **state)
{
        static void *(*const parts[])(void *) = {storm_waits, storm_waits, storm_hears, storm_hears,
                                                 storm_changes};
        struct host *host = host_open();
        struct storm *storm = calloc(1, sizeof(*storm));
        pthread_t threads[5];

        (void)state;
        assert_non_null(storm);
        for (int i = 0; i < 2; i++)
                storm->cnos[i] = make_cno(host, no_agent);
        storm->evd = make_evd(host, 8, storm->cnos[0]);
        atomic_store(&storm->left, STORM_EVENTS);
        for (int i = 0; i < 5; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, parts[i], storm), 0);
        for (int i = 0; i < STORM_EVENTS; i++) {
                DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

                event.event_data.software_event_data.pointer = &storm->taken[i];
                while (DAT_GET_TYPE(dat_evd_post_se(storm->evd, &event)) == DAT_QUEUE_FULL)
                        sched_yield();
        }
        for (int i = 0; i < 5; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (int i = 0; i < STORM_EVENTS; i++)
                assert_int_equal(atomic_load(&storm->taken[i]), 1);
        assert_int_equal(atomic_load(&storm->strange), 0);
        assert_dat(dat_evd_free(storm->evd), DAT_SUCCESS);
        for (int i = 0; i < 2; i++) {
                assert_nothing_heard(storm->cnos[i], 0);
                assert_dat(dat_cno_free(storm->cnos[i]), DAT_SUCCESS);
        }
        free(storm);
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
            cmocka_unit_test(a_cno_hears_of_its_evds),
            cmocka_unit_test(a_direct_waiter_comes_before_the_cno),
            cmocka_unit_test(the_cno_hears_again_after_a_waiter),
            cmocka_unit_test(a_moment_unwaitable_is_enough),
            cmocka_unit_test(an_evd_is_free_of_whom_it_sent_away),
            cmocka_unit_test(a_cno_hears_of_what_arrives_then),
            cmocka_unit_test(a_waiter_sleeps_through_enabling),
            cmocka_unit_test(a_solicited_message_is_told_once),
            cmocka_unit_test(nmore_counts_what_has_completed),
            cmocka_unit_test(a_trigger_stays_with_the_old_cno),
            cmocka_unit_test(a_freed_evd_is_not_heard_of),
            cmocka_unit_test(a_waiter_leaves_without_the_evd_that_told_it),
            cmocka_unit_test(each_trigger_releases_a_waiter),
            cmocka_unit_test(a_look_hides_nothing_from_the_cno),
            cmocka_unit_test(a_cno_whose_waiter_was_told_is_freed),
            cmocka_unit_test(waiters_leave_with_the_last_evd),
            cmocka_unit_test(a_software_event_releases_each_waiter),
            cmocka_unit_test(a_trigger_is_for_one_waiter),
            cmocka_unit_test(a_cno_hears_of_every_stream),
            cmocka_unit_test(a_cno_hears_of_solicited_messages),
            cmocka_unit_test(an_agent_is_called),
            cmocka_unit_test(an_agent_is_told_of_each_trigger),
            cmocka_unit_test(an_agent_hears_of_the_end),
            cmocka_unit_test(an_agent_frees_its_evd),
            cmocka_unit_test(each_argument_of_an_evd),
            cmocka_unit_test(each_argument_of_a_cno),
            cmocka_unit_test(a_threshold_is_not_for_controlled_streams),
            cmocka_unit_test(each_event_is_delivered_once),
            cmocka_unit_test(an_evd_stands_a_storm),
        };

        return cmocka_run_group_tests_name("evd", tests, NULL, NULL);
}
