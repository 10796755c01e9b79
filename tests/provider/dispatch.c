/* SPDX-License-Identifier: BSD-2-Clause */
#include "dispatch.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

DAT_EVD_HANDLE make_evd(struct host *host, DAT_COUNT qlen, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd;

        assert_dat(dat_evd_create(host->ia, qlen, cno, DAT_EVD_SOFTWARE_FLAG, &evd), DAT_SUCCESS);
        return evd;
}

static char values[64];

DAT_RETURN post_software(DAT_EVD_HANDLE evd, uintptr_t value)
{
        DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};

        event.event_data.software_event_data.pointer = &values[value];
        return dat_evd_post_se(evd, &event);
}

uintptr_t value_of(const DAT_EVENT *event)
{
        return (uintptr_t)event->event_data.software_event_data.pointer - (uintptr_t)values;
}

uint64_t microseconds(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

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

void start_waiter(struct waiter *waiter)
{
        DAT_EVENT event;

        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on_evd, waiter), 0);
        while (DAT_GET_TYPE(dat_evd_dequeue(waiter->evd, &event)) != DAT_INVALID_STATE)
                sched_yield();
}

void start_cno_waiter(struct waiter *waiter)
{
        atomic_store(&waiter->begun, false);
        assert_int_equal(pthread_create(&waiter->thread, NULL, wait_on_cno, waiter), 0);
        while (!atomic_load(&waiter->begun))
                sched_yield();
}

void await_sleep(const struct waiter *waiter)
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

void finish_waiter(struct waiter *waiter, DAT_RETURN type)
{
        assert_int_equal(pthread_join(waiter->thread, NULL), 0);
        assert_dat(waiter->ret, type);
}

DAT_CNO_HANDLE make_cno(struct host *host, DAT_OS_WAIT_PROXY_AGENT agent)
{
        DAT_CNO_HANDLE cno;

        assert_dat(dat_cno_create(host->ia, agent, &cno), DAT_SUCCESS);
        return cno;
}

void assert_heard(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd)
{
        DAT_EVD_HANDLE heard;

        assert_dat(dat_cno_wait(cno, LONG, &heard), DAT_SUCCESS);
        assert_ptr_equal(heard, evd);
}

void assert_nothing_heard(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout)
{
        DAT_EVD_HANDLE heard = cno;

        assert_dat(dat_cno_wait(cno, timeout, &heard), DAT_QUEUE_EMPTY);
        assert_null(heard);
}

void run_after_me(pthread_t thread)
{
        const struct sched_param first = {.sched_priority = 1};
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(0, &one);
        assert_int_equal(pthread_setaffinity_np(thread, sizeof(one), &one), 0);
        assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(one), &one), 0);
        assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_FIFO, &first), 0);
}

void run_as_before(void)
{
        const struct sched_param plain = {0};
        cpu_set_t all;

        memset(&all, 0xff, sizeof(all));
        assert_int_equal(pthread_setaffinity_np(pthread_self(), sizeof(all), &all), 0);
        assert_int_equal(pthread_setschedparam(pthread_self(), SCHED_OTHER, &plain), 0);
}

struct host *flagged_host(DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request)
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
