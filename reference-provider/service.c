/* SPDX-License-Identifier: BSD-2-Clause */
#include "service.h"
#include "async_evd.h"
#include "cm.h"
#include "daplref.h"
#include "dat_abi.h"
#include "ep.h"
#include "evd.h"
#include "handle.h"
#include "ia.h"
#include "list.h"
#include "srq.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum source { SOURCE_CM, SOURCE_ASYNC, SOURCE_KICK, SOURCE_TIMER, SOURCE_SINK, SOURCES };

/* What epoll returns: the address of one of these, or the handle of an EVD. */
static char sources[SOURCES];

/* The IA whose service thread this thread is, or NULL. */
static REF_THREAD_LOCAL const struct ia *serving;

/* Whether this thread holds wakes, and whose waiter it then is to wake. */
static REF_THREAD_LOCAL bool holds_wakes;
static REF_THREAD_LOCAL struct evd *to_wake;

uint64_t now_us(void)
{
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void work_init(struct work *work, struct object *owner, void (*run)(struct work *))
{
        list_init(&work->link);
        work->queued = false;
        work->owner = owner;
        work->run = run;
}

/* Has the service thread look at its work and its deadlines, and wakes it for that. */
void service_rearm(struct ia *ia)
{
        uint64_t one = 1;

        if (serving == ia)
                ia->again = true;
        else if (write(ia->kick_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full, so the thread has been kicked already */
}

/*
 * A thread that handles an event of librdmacm with ia->cm_lock held leaves the first waiter whom it
 * releases asleep, since the call that a Consumer makes upon an event is often one that needs the
 * lock.
 */
void service_hold_wakes(void)
{
        holds_wakes = true;
}

void service_release_wakes(void)
{
        struct evd *evd = to_wake;

        holds_wakes = false;
        to_wake = NULL;
        if (!evd)
                return;
        evd_wake(evd);
        object_put(evd);
}

/* False when the caller is to wake the waiter itself. */
bool service_wakes_later(struct evd *evd)
{
        if (!holds_wakes || to_wake || !object_pin(&evd->obj))
                return false;
        to_wake = evd;
        return true;
}

/* Has the service thread run the work once, unless its owner is freed before. */
void work_queue(struct ia *ia, struct work *work)
{
        bool kick;

        pthread_mutex_lock(&ia->work_lock);
        kick = !work->queued;
        if (kick) {
                work->queued = true;
                list_append(&ia->work, &work->link);
        }
        pthread_mutex_unlock(&ia->work_lock);
        if (kick)
                service_rearm(ia);
}

/* Takes back work whose owner is dead and held by nobody else. */
void work_cancel(struct ia *ia, struct work *work)
{
        pthread_mutex_lock(&ia->work_lock);
        if (work->queued)
                list_remove(&work->link);
        work->queued = false;
        pthread_mutex_unlock(&ia->work_lock);
}

static struct work *work_next(struct ia *ia)
{
        struct work *work = NULL;

        pthread_mutex_lock(&ia->work_lock);
        while (!work && !list_empty(&ia->work)) {
                work = container_of(ia->work.next, struct work, link);
                list_remove(&work->link);
                work->queued = false;
                if (!object_pin(work->owner))
                        work = NULL;
        }
        pthread_mutex_unlock(&ia->work_lock);
        return work;
}

static void run_work(struct ia *ia)
{
        struct work *work;

        while ((work = work_next(ia)) != NULL) {
                struct object *owner = work->owner;

                work->run(work);
                object_put(owner);
        }
}

static void about_qp(const struct ibv_async_event *event)
{
        struct ep *ep = event->element.qp->qp_context;

        if (!ep || !object_pin(&ep->obj))
                return;
        ep_failed(ep);
        object_put(ep);
}

static void about_end_of_qp(const struct ibv_async_event *event)
{
        struct ep *ep = event->element.qp->qp_context;

        if (ep)
                ends_last_given_back(ep);
}

static void about_cq(const struct ibv_async_event *event)
{
        struct evd *evd = event->element.cq->cq_context;

        /* Whose queue pair is in ERR for it, look_for_failures() finds out. */
        atomic_store(&evd->lost, true);
        if (evd->discards || !object_pin(&evd->obj))
                return;
        async_evd_post(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, object_handle(&evd->obj),
                       DAT_EVD_OVERFLOW_ERROR);
        object_put(evd);
}

static void about_srq(struct ia *ia, struct ibv_async_event *event)
{
        struct srq *srq = event->element.srq->srq_context;
        enum ibv_event_type type = event->event_type;
        bool pinned = object_pin(&srq->obj);

        /* The SRQ cannot be destroyed before the event is acknowledged, nor freed while pinned. */
        ibv_ack_async_event(event);
        if (!pinned)
                return;
        if (type == IBV_EVENT_SRQ_LIMIT_REACHED)
                srq_low_event(srq);
        else
                async_evd_post(ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
                               object_handle(&srq->obj), DAT_SRQ_TRANSFER_TO_ERROR);
        object_put(srq);
}

static void handle_async(struct ia *ia)
{
        struct ibv_async_event event;

        while (!ibv_get_async_event(ia->verbs, &event)) {
                switch (event.event_type) {
                case IBV_EVENT_SRQ_LIMIT_REACHED:
                case IBV_EVENT_SRQ_ERR:
                        about_srq(ia, &event);
                        continue;
                case IBV_EVENT_QP_FATAL:
                case IBV_EVENT_QP_REQ_ERR:
                case IBV_EVENT_QP_ACCESS_ERR:
                        about_qp(&event);
                        break;
                case IBV_EVENT_QP_LAST_WQE_REACHED:
                        about_end_of_qp(&event);
                        break;
                case IBV_EVENT_CQ_ERR:
                        about_cq(&event);
                        break;
                case IBV_EVENT_DEVICE_FATAL:
                        async_evd_post(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, abi_ia_handle(&ia->obj),
                                       DAT_IA_CATASTROPHIC_ERROR);
                        break;
                default:
                        break;
                }
                ibv_ack_async_event(&event);
        }
}

static void empty(int fd)
{
        uint64_t count;

        if (read(fd, &count, sizeof(count)) < 0)
                return; /* somebody has been faster, which is as good */
}

static void handle_evd(DAT_EVD_HANDLE handle)
{
        struct evd *evd = object_get(handle, DAT_HANDLE_TYPE_EVD);

        if (!evd)
                return;
        evd_channel_ready(evd);
        object_put(evd);
}

static void handle_source(struct ia *ia, void *source)
{
        uintptr_t index = (uintptr_t)source - (uintptr_t)sources;

        switch (index) {
        case SOURCE_CM:
                cm_handle_events(ia);
                return;
        case SOURCE_ASYNC:
                handle_async(ia);
                return;
        case SOURCE_KICK:
                empty(ia->kick_fd);
                return;
        case SOURCE_TIMER:
                empty(ia->timer_fd);
                ia->timer = 0;
                return;
        case SOURCE_SINK:
                evd_channel_ready(ia->sink);
                return;
        default:
                handle_evd(source);
        }
}

static void set_timer(struct ia *ia, uint64_t deadline)
{
        struct itimerspec when = {
            .it_value = {.tv_sec = (time_t)(deadline / 1000000),
                         .tv_nsec = (long)(deadline % 1000000) * 1000},
        };

        if (deadline == ia->timer)
                return;
        (void)timerfd_settime(ia->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
        ia->timer = deadline;
}

static void *serve(void *argument)
{
        struct ia *ia = argument;
        struct epoll_event events[16];
        uint64_t deadline;
        int n;

        serving = ia;
        while (!atomic_load(&ia->stopping)) {
                n = epoll_wait(ia->epoll_fd, events, 16, -1);
                for (int i = 0; i < n; i++)
                        handle_source(ia, events[i].data.ptr);
                do {
                        ia->again = false;
                        run_work(ia);
                        deadline = cm_expire(ia);
                        cm_reap(ia);
                } while (ia->again);
                set_timer(ia, deadline);
        }
        return NULL;
}

static bool add_to(int epoll_fd, int fd, void *source)
{
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

        return !epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

static bool add_source(struct ia *ia, int fd, void *source)
{
        return add_to(ia->epoll_fd, fd, source);
}

/*
 * librdmacm's descriptor is in a set of its own, which is in the service thread's. The kernel wakes
 * who has such a descriptor in its set at every event, asked for or not, but not who has the set.
 */
static bool add_cm(struct ia *ia)
{
        return add_to(ia->cm_fd, ia->cm->fd, NULL) &&
               add_source(ia, ia->cm_fd, &sources[SOURCE_CM]);
}

static void listen_to_cm(struct ia *ia, bool listen)
{
        struct epoll_event event = {.events = listen ? EPOLLIN : 0,
                                    .data.ptr = &sources[SOURCE_CM]};

        (void)epoll_ctl(ia->epoll_fd, EPOLL_CTL_MOD, ia->cm_fd, &event);
}

/*
 * Has the service thread leave librdmacm's events to the calling thread, which is about to cause
 * some, until service_resume(). False when another thread has them already.
 */
bool service_relieve(struct ia *ia)
{
        if (atomic_exchange(&ia->relieved, true))
                return false;
        listen_to_cm(ia, false);
        return true;
}

/* Has it fetch them again, at once if there are any. */
void service_resume(struct ia *ia)
{
        listen_to_cm(ia, true);
        atomic_store(&ia->relieved, false);
}

static void *source_of(const struct ia *ia, const struct evd *evd)
{
        return evd == ia->sink ? &sources[SOURCE_SINK] : object_handle(&evd->obj);
}

/* Has the service thread call evd_channel_ready() whenever the EVD's channel has something. */
bool service_listen(struct ia *ia, struct evd *evd)
{
        return add_source(ia, evd->channel->fd, source_of(ia, evd));
}

void service_ignore(struct ia *ia, struct evd *evd)
{
        (void)epoll_ctl(ia->epoll_fd, EPOLL_CTL_DEL, evd->channel->fd, NULL);
}

static void close_fds(struct ia *ia)
{
        int *fds[] = {&ia->epoll_fd, &ia->cm_fd, &ia->kick_fd, &ia->timer_fd};

        for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
                if (*fds[i] >= 0)
                        close(*fds[i]);
                *fds[i] = -1;
        }
}

/* Starts a thread of the provider's; every signal stays with the Consumer's own. */
bool service_spawn(pthread_t *thread, void *(*run)(void *), void *argument)
{
        sigset_t all;
        sigset_t before;
        int error;

        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(thread, NULL, run, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        return !error;
}

DAT_RETURN service_start(struct ia *ia)
{
        ia->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        ia->cm_fd = epoll_create1(EPOLL_CLOEXEC);
        ia->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        ia->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        (void)fcntl(ia->cm->fd, F_SETFL, O_NONBLOCK);
        (void)fcntl(ia->verbs->async_fd, F_SETFL, O_NONBLOCK);
        if (ia->epoll_fd < 0 || ia->cm_fd < 0 || ia->kick_fd < 0 || ia->timer_fd < 0 ||
            !add_cm(ia) || !add_source(ia, ia->verbs->async_fd, &sources[SOURCE_ASYNC]) ||
            !add_source(ia, ia->kick_fd, &sources[SOURCE_KICK]) ||
            !add_source(ia, ia->timer_fd, &sources[SOURCE_TIMER]))
                goto failed;
        ia->running = service_spawn(&ia->thread, serve, ia);
        if (ia->running)
                return DAT_SUCCESS;
failed:
        close_fds(ia);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_ERROR_HANDLER);
}

/* Ends the service thread; its descriptors stay until service_close(). */
void service_stop(struct ia *ia)
{
        if (!ia->running)
                return;
        atomic_store(&ia->stopping, true);
        service_rearm(ia);
        pthread_join(ia->thread, NULL);
        ia->running = false;
}

void service_close(struct ia *ia)
{
        close_fds(ia);
}
