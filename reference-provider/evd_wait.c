/* SPDX-License-Identifier: BSD-2-Clause */
#include "daplref.h"
#include "evd.h"
#include "evd_cno.h"
#include "evd_cq.h"
#include "evd_queue.h"
#include "handle.h"
#include "lock.h"
#include "service.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

/* Ends the sleep of the waiter; called without the lock, for which it would only wait again. */
void evd_wake(struct evd *evd)
{
        uint64_t one = 1;

        if (write(evd->wake_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full, so the waiter is being woken already */
}

static DAT_RETURN set_waitable(DAT_EVD_HANDLE handle, bool waitable)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        evd->waitable = waitable;
        evd->evictions += !waitable;
        if (evd->sleeping)
                evd_signal_arrival(evd, false);
        evd_unlock(evd);
        object_put(evd);
        return DAT_SUCCESS;
}

/* dat_evd_set_unwaitable(3DAT): a thread that waits is released with DAT_INVALID_STATE. */
DAT_RETURN ref_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
        return set_waitable(handle, false);
}

/* dat_evd_clear_unwaitable(3DAT) */
DAT_RETURN ref_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
        return set_waitable(handle, true);
}

static DAT_RETURN may_wait(struct evd *evd, DAT_COUNT threshold)
{
        if (threshold < 1 || threshold > evd->qlen)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (evd->closing)
                return REF_ERROR(DAT_ABORT, 0);
        if (!evd->waitable)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        if (evd->waiter)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        if (threshold > 1 && evd->unsignalled_users)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
        if (threshold > 1 && evd->solicited_users)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
        return DAT_SUCCESS;
}

static bool satisfied(const struct evd *evd, DAT_COUNT threshold, bool slept)
{
        if (evd->count < threshold)
                return false;
        /* Having slept, a waiter wakes for a notice, not for what the Consumer wanted silent. */
        return !slept || threshold > 1 || evd->notify_count ||
               (evd->solicited_users && evd->channel_hit);
}

/* Sleeps until something happens to the EVD; 0 when the time is over, -EINTR for a signal. */
static int sleep_on(struct evd *evd, uint64_t deadline)
{
        struct pollfd fds[2] = {
            {.fd = evd->wake_fd, .events = POLLIN},
            {.fd = evd->channel ? evd->channel->fd : -1, .events = POLLIN},
        };
        struct timespec left;
        uint64_t now = deadline ? now_us() : 0;
        uint64_t count;
        int ready;
        int error;

        if (deadline && now >= deadline)
                return 0;
        if (deadline)
                left = (struct timespec){.tv_sec = (time_t)((deadline - now) / 1000000),
                                         .tv_nsec = (long)((deadline - now) % 1000000) * 1000};
        evd->sleeping = true;
        lock_release(&evd->lock);
        ready = ppoll(fds, 2, deadline ? &left : NULL, NULL);
        error = errno;
        lock_acquire(&evd->lock);
        evd->sleeping = false;
        evd->woken = false;
        if (ready > 0 && fds[0].revents && read(evd->wake_fd, &count, sizeof(count)) < 0)
                return 1;
        if (ready > 0 && fds[1].revents)
                evd_take_channel_event(evd);
        return ready < 0 ? -error : ready;
}

static DAT_RETURN wait_locked(struct evd *evd, uint64_t deadline, DAT_COUNT threshold)
{
        bool solicited = evd->solicited_users > 0;
        unsigned int evictions = evd->evictions;
        bool slept = false;
        int woken;

        for (;;) {
                evd_drain_locked(evd, false);
                if (evd->closing)
                        return REF_ERROR(DAT_ABORT, 0);
                if (evd->evictions != evictions)
                        return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
                if (satisfied(evd, threshold, slept))
                        return DAT_SUCCESS;
                evd->channel_hit = false;
                if (evd->cq) {
                        if (!evd_arm(evd, solicited))
                                return REF_ERROR(DAT_INTERNAL_ERROR, 0);
                        evd_drain_locked(evd, false);
                        if (satisfied(evd, threshold, slept))
                                return DAT_SUCCESS;
                }
                woken = sleep_on(evd, deadline);
                slept = true;
                if (woken == -EINTR)
                        return REF_ERROR(DAT_INTERRUPTED_CALL, 0);
                if (!woken) {
                        evd_drain_locked(evd, false);
                        return evd->count >= threshold ? DAT_SUCCESS
                                                       : REF_ERROR(DAT_TIMEOUT_EXPIRED, 0);
                }
        }
}

/* dat_evd_wait(3DAT): sleeps on the completion channel and on an eventfd; it never spins. */
DAT_RETURN ref_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *nmore)
{
        struct evd *evd = evd_get(handle);
        uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : now_us() + timeout;
        DAT_RETURN ret;

        if (!evd)
                return BAD_EVD;
        if (!event || !nmore) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER,
                                 event ? DAT_INVALID_ARG5 : DAT_INVALID_ARG4);
        }
        lock_acquire(&evd->lock);
        ret = may_wait(evd, threshold);
        if (ret != DAT_SUCCESS)
                goto out;
        evd->waiter = true;
        ret = wait_locked(evd, deadline, threshold);
        evd->waiter = false;
        if (ret == DAT_SUCCESS)
                evd_pop(evd, event);
        /* The waiter may have read what the service thread listens for. */
        if (evd->watched && !evd_watches(evd))
                evd_go_on_watching(evd);
        *nmore = evd->count;
out:
        evd_unlock(evd);
        object_put(evd);
        return ret;
}
