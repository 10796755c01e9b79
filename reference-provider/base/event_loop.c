/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/event_loop.h"
#include "base/daplref.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/os.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 16

/* The loop whose service thread the calling thread is, or NULL. */
static REF_THREAD_LOCAL const struct event_loop *serving;

void work_init(struct work *work, struct object *owner, void (*run)(struct work *))
{
        list_init(&work->link);
        work->queued = false;
        work->owner = owner;
        work->run = run;
}

/* Makes the service thread run deferred work and the tick once more. May be called anywhere. */
void event_loop_rearm(struct event_loop *loop)
{
        uint64_t one = 1;

        if (serving == loop)
                loop->again = true;
        else if (write(loop->kick_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full, so the thread has been woken already */
}

/*
 * Makes the service thread run the work once, unless its owner is freed first. Work that is queued
 * already runs once only. May be called with an EVD locked.
 */
void work_queue(struct event_loop *loop, struct work *work)
{
        bool kick;

        pthread_mutex_lock(&loop->work_lock);
        kick = !work->queued;
        if (kick) {
                work->queued = true;
                list_append(&loop->work, &work->link);
        }
        pthread_mutex_unlock(&loop->work_lock);
        if (kick)
                event_loop_rearm(loop);
}

/* Removes work whose owner is dead and pinned by the caller alone. */
void work_cancel(struct event_loop *loop, struct work *work)
{
        pthread_mutex_lock(&loop->work_lock);
        if (work->queued)
                list_remove(&work->link);
        work->queued = false;
        pthread_mutex_unlock(&loop->work_lock);
}

static struct work *work_next(struct event_loop *loop)
{
        struct work *work = NULL;

        pthread_mutex_lock(&loop->work_lock);
        while (!work && !list_empty(&loop->work)) {
                work = container_of(loop->work.next, struct work, link);
                list_remove(&work->link);
                work->queued = false;
                if (!object_pin(work->owner))
                        work = NULL;
        }
        pthread_mutex_unlock(&loop->work_lock);
        return work;
}

static void run_work(struct event_loop *loop)
{
        struct work *work;

        while ((work = work_next(loop)) != NULL) {
                struct object *owner = work->owner;

                work->run(work);
                object_put(owner);
        }
}

static void read_counter(int fd)
{
        uint64_t count;

        if (read(fd, &count, sizeof(count)) < 0)
                return; /* another thread has read it */
}

static void kicked(struct event_source *source)
{
        read_counter(container_of(source, struct event_loop, kick)->kick_fd);
}

static void timer_expired(struct event_source *source)
{
        struct event_loop *loop = container_of(source, struct event_loop, timer);

        read_counter(loop->timer_fd);
        loop->timer_at = 0;
}

static void set_timer(struct event_loop *loop, uint64_t deadline)
{
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)(deadline / 1000000),
                         .tv_nsec = (long)(deadline % 1000000) * 1000},
        };

        if (deadline == loop->timer_at)
                return;
        (void)timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
        loop->timer_at = deadline;
}

/* `data` is an event_source or the handle of an EVD, which may have been freed meanwhile. */
static void dispatch(struct event_loop *loop, void *data)
{
        struct event_source *source = data;
        struct object *evd;

        if (!handle_is_record(data)) {
                source->ready(source);
                return;
        }
        evd = object_get(data, DAT_HANDLE_TYPE_EVD);
        if (!evd)
                return;
        loop->evd_ready(evd);
        object_put(evd);
}

static void *serve(void *argument)
{
        struct event_loop *loop = argument;
        struct epoll_event events[EVENTS_AT_ONCE];
        uint64_t deadline;
        int n;

        serving = loop;
        while (!atomic_load(&loop->stopping)) {
                n = epoll_wait(loop->epoll_fd, events, EVENTS_AT_ONCE, -1);
                for (int i = 0; i < n; i++)
                        dispatch(loop, events[i].data.ptr);
                do {
                        loop->again = false;
                        run_work(loop);
                        deadline = loop->tick(loop);
                } while (loop->again);
                set_timer(loop, deadline);
        }
        return NULL;
}

static bool add(struct event_loop *loop, int fd, void *data)
{
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = data};

        return !epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* The source must exist until the descriptor is removed and the service thread has ended. */
bool event_loop_add(struct event_loop *loop, int fd, struct event_source *source)
{
        return add(loop, fd, source);
}

/* Adds a descriptor of an EVD that has a handle. The EVD may be freed at any time after removal. */
bool event_loop_add_evd(struct event_loop *loop, int fd, const struct object *evd)
{
        return add(loop, fd, object_handle(evd));
}

void event_loop_remove(struct event_loop *loop, int fd)
{
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

/* Stops, or resumes, the calls for a descriptor that stays in the loop. */
void event_loop_enable(struct event_loop *loop, int fd, struct event_source *source, bool enable)
{
        struct epoll_event event = {.events = enable ? EPOLLIN : 0, .data.ptr = source};

        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

/* Makes a loop without descriptors. The owner then sets `tick` and `evd_ready`. */
void event_loop_init(struct event_loop *loop)
{
        loop->epoll_fd = loop->kick_fd = loop->timer_fd = -1;
        loop->kick.ready = kicked;
        loop->timer.ready = timer_expired;
        pthread_mutex_init(&loop->work_lock, NULL);
        list_init(&loop->work);
}

void event_loop_destroy(struct event_loop *loop)
{
        pthread_mutex_destroy(&loop->work_lock);
}

/* Opens the descriptors. If it returns false, event_loop_close() closes those that were opened. */
bool event_loop_open(struct event_loop *loop)
{
        loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        loop->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        loop->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        return loop->epoll_fd >= 0 && loop->kick_fd >= 0 && loop->timer_fd >= 0 &&
               event_loop_add(loop, loop->kick_fd, &loop->kick) &&
               event_loop_add(loop, loop->timer_fd, &loop->timer);
}

/* Starts the service thread. Returns false if no thread can be made. */
bool event_loop_start(struct event_loop *loop)
{
        loop->running = thread_spawn(&loop->thread, serve, loop);
        return loop->running;
}

/* Ends the service thread; its descriptors stay open until event_loop_close(). */
void event_loop_stop(struct event_loop *loop)
{
        if (!loop->running)
                return;
        atomic_store(&loop->stopping, true);
        event_loop_rearm(loop);
        pthread_join(loop->thread, NULL);
        loop->running = false;
}

void event_loop_close(struct event_loop *loop)
{
        int *fds[] = {&loop->epoll_fd, &loop->kick_fd, &loop->timer_fd};

        for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
                if (*fds[i] >= 0)
                        close(*fds[i]);
                *fds[i] = -1;
        }
}
