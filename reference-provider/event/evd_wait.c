/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_wait.h"
#include "base/daplref.h"
#include "base/handle.h"
#include "base/lock.h"
#include "base/os.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_cq.h"
#include "event/evd_impl.h"
#include "event/evd_state.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

/* Whether the calling thread holds wakes, and the EVD whose waiter it then has to wake. */
static REF_THREAD_LOCAL bool holds_wakes;
static REF_THREAD_LOCAL struct evd *to_wake;

/* Wakes the waiter. Called without the lock, on which the waiter would sleep again. */
void evd_wake(struct evd *evd)
{
        uint64_t one = 1;

        if (atomic_load(&evd->cancelled_waiters)) {
                atomic_fetch_add(&evd->cancelled_left, 1);
                futex_wake(&evd->cancelled_left, INT_MAX);
        }
        if (write(evd->wake_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full, so the waiter is being woken already */
}

/*
 * Between evd_hold_wakes() and evd_release_wakes(), the calling thread does not wake the first
 * waiter that it releases. A thread that handles an event with ia->cm_lock held does so, because
 * the Consumer's next call often needs that lock.
 */
void evd_hold_wakes(void)
{
        holds_wakes = true;
}

void evd_release_wakes(void)
{
        struct evd *evd = to_wake;

        holds_wakes = false;
        to_wake = NULL;
        if (!evd)
                return;
        evd_wake(evd);
        object_put(evd);
}

/* Returns false if the caller must wake the waiter itself. */
bool evd_defers_wake(struct evd *evd)
{
        if (!holds_wakes || to_wake || !object_pin(&evd->obj))
                return false;
        to_wake = evd;
        return true;
}

/* Makes the EVD unwaitable or closes it. A waiter is cancelled: it returns without an event. */
void evd_cancel_wait(struct evd *evd, enum evd_input input)
{
        bool waited;

        lock_acquire(&evd->lock);
        waited = evd_has_waiter(evd);
        evd->state = evd_after(evd->state, input);
        if (waited && input == EVD_CLOSE)
                evd->aborted = evd->turn;
        evd->turn += waited;
        atomic_fetch_add(&evd->cancelled_waiters, waited);
        evd_unlock(evd);
        if (waited)
                evd_wake(evd);
}

/* dat_evd_set_unwaitable(3DAT). A waiting thread returns DAT_INVALID_STATE. */
DAT_RETURN ref_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        evd_cancel_wait(evd, EVD_MAKE_UNWAITABLE);
        object_put(evd);
        return DAT_SUCCESS;
}

/* dat_evd_clear_unwaitable(3DAT) */
DAT_RETURN ref_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        evd->state = evd_after(evd->state, EVD_MAKE_WAITABLE);
        evd_unlock(evd);
        object_put(evd);
        return DAT_SUCCESS;
}

static DAT_RETURN may_wait(struct evd *evd, DAT_COUNT threshold)
{
        if (threshold < 1 || threshold > evd->qlen)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (evd->state == EVD_CLOSING)
                return REF_ERROR(DAT_ABORT, 0);
        if (evd->state == EVD_UNWAITABLE)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        if (evd_has_waiter(evd))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        if (threshold > 1 && (evd->unsignalled_users || evd->unsignalled_srq_users))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
        if (threshold > 1 && evd->solicited_users)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
        return DAT_SUCCESS;
}

static bool satisfied(const struct evd *evd, DAT_COUNT threshold, bool slept)
{
        if (evd->count < threshold)
                return false;
        /* A waiter that has slept returns for an event that notifies, not for a silent one. */
        return !slept || threshold > 1 || evd->notify_count ||
               (evd->solicited_users && evd->channel_hit);
}

/* Sleeps until a descriptor is readable. Returns 0 after the deadline and -EINTR for a signal. */
static int poll_until(struct pollfd fds[2], uint64_t deadline)
{
        struct timespec left;
        uint64_t now = deadline ? now_us() : 0;
        int ready;

        if (deadline && now >= deadline)
                return 0;
        if (deadline)
                left = (struct timespec){.tv_sec = (time_t)((deadline - now) / 1000000),
                                         .tv_nsec = (long)((deadline - now) % 1000000) * 1000};
        ready = ppoll(fds, 2, deadline ? &left : NULL, NULL);
        return ready < 0 ? -errno : ready;
}

/*
 * Waits until cancelled waiters have run, because they share the eventfd. Also returns when this
 * waiter is woken.
 */
static int await_cancelled(struct evd *evd, uint32_t seen, uint64_t deadline)
{
        int error = futex_wait_until(&evd->cancelled_left, seen, deadline);

        return error == ETIMEDOUT ? 0 : error == EINTR ? -EINTR : 1;
}

/* Sleeps until the EVD is signalled. Returns 0 after the deadline and -EINTR for a signal. */
static int sleep_on(struct evd *evd, unsigned int turn, uint64_t deadline)
{
        struct pollfd fds[2] = {
            {.fd = evd->wake_fd, .events = POLLIN},
            {.fd = evd->channel ? evd->channel->fd : -1, .events = POLLIN},
        };
        uint32_t seen = atomic_load(&evd->cancelled_left);
        bool behind = atomic_load(&evd->cancelled_waiters) > 0;
        uint64_t count;
        int ready;

        evd->state = evd_after(evd->state, EVD_SLEEP);
        lock_release(&evd->lock);
        ready = behind ? await_cancelled(evd, seen, deadline) : poll_until(fds, deadline);
        lock_acquire(&evd->lock);
        if (ready > 0 && fds[0].revents && read(evd->wake_fd, &count, sizeof(count)) < 0)
                ready = 1; /* another thread has read it */
        if (evd->turn != turn)
                return ready;
        evd->state = evd_after(evd->state, EVD_RUN);
        if (ready > 0 && fds[1].revents)
                (void)evd_take_channel_event(evd);
        return ready;
}

static DAT_RETURN cancelled_error(const struct evd *evd, unsigned int turn)
{
        return evd->aborted == turn
                   ? REF_ERROR(DAT_ABORT, 0)
                   : REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
}

static DAT_RETURN wait_locked(struct evd *evd, uint64_t deadline, DAT_COUNT threshold)
{
        bool solicited = evd->solicited_users > 0;
        unsigned int turn = evd->turn;
        bool slept = false;
        int woken;

        for (;;) {
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
                woken = sleep_on(evd, turn, deadline);
                slept = true;
                if (evd->turn != turn)
                        return cancelled_error(evd, turn);
                if (woken == -EINTR)
                        return REF_ERROR(DAT_INTERRUPTED_CALL, 0);
                evd_drain_locked(evd, false);
                if (!woken)
                        return evd->count >= threshold ? DAT_SUCCESS
                                                       : REF_ERROR(DAT_TIMEOUT_EXPIRED, 0);
        }
}

/*
 * Called by a cancelled waiter that runs: lets later waiters sleep on the eventfd. Called with the
 * lock held.
 */
static void leave_cancelled(struct evd *evd)
{
        atomic_fetch_sub(&evd->cancelled_waiters, 1);
        atomic_fetch_add(&evd->cancelled_left, 1);
        futex_wake(&evd->cancelled_left, INT_MAX);
}

/* dat_evd_wait(3DAT). Sleeps on the completion channel and an eventfd; it never polls actively. */
DAT_RETURN ref_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *nmore)
{
        struct evd *evd = evd_get(handle);
        uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : now_us() + timeout;
        unsigned int turn;
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
        /* Completions from before the call are signalled as without a waiter. */
        evd_drain_locked(evd, false);
        turn = evd->turn;
        evd->state = evd_after(evd->state, EVD_ENTER);
        ret = wait_locked(evd, deadline, threshold);
        if (evd->turn != turn) {
                leave_cancelled(evd);
                goto out;
        }
        evd->state = evd_after(evd->state, EVD_LEAVE);
        if (ret == DAT_SUCCESS)
                evd_pop(evd, event);
        /* The waiter may have read the channel event of the service thread. */
        if (evd->watched && !evd_watches(evd))
                evd_go_on_watching(evd);
        *nmore = evd->count;
out:
        evd_unlock(evd);
        object_put(evd);
        return ret;
}
