/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of an EVD share. Each function is called with the EVD locked. */
#ifndef DAPLREF_EVD_IMPL_H
#define DAPLREF_EVD_IMPL_H

#include <stdbool.h>

#include "base/handle.h"
#include "base/lock.h"
#include "event/cno.h"
#include "event/evd.h"
#include "event/evd_queue.h"
#include "event/evd_wait.h"
#include "event/owner.h"

/* More completions stay in the CQ, which has room for them. */
static inline int evd_dto_limit(const struct evd *evd)
{
        return max_int(evd->qlen, evd->budget);
}

/* Returns an SRQ buffer to the Consumer. */
static inline void evd_give_back(struct srq *srq, struct ep *ep)
{
        if (!srq)
                return;
        srq_buffer_reaped(srq);
        if (ep)
                ep_recv_held(ep, -1);
}

static inline bool evd_has_waiter(const struct evd *evd)
{
        return evd->state >= EVD_RUNNING;
}

/* Signals an event to the sleeping waiter, or else to the CNO. */
static inline void evd_signal_arrival(struct evd *evd, bool notify)
{
        if (evd_has_waiter(evd))
                evd->state = evd_after(evd->state, EVD_ARRIVAL);
        else if (notify && evd->cno && evd->enabled)
                cno_trigger(evd->cno, evd);
}

static inline void evd_unlock(struct evd *evd)
{
        bool wakes = evd->state == EVD_WAKE_PENDING;

        if (wakes)
                evd->state = evd_after(evd->state, EVD_UNLOCK);
        lock_release(&evd->lock);
        if (wakes && !evd_defers_wake(evd))
                evd_wake(evd);
}

/*
 * Returns the slot of the next event, which evd_enqueue() then adds, or NULL if there is no memory.
 */
static inline struct event *evd_tail(struct evd *evd)
{
        int at = evd->head + evd->count;

        /* Only the flush at the end of a connection can exceed the ring. */
        if (evd->count == evd->ring_size) {
                if (!evd_ring_reserve(evd, 2 * evd->ring_size))
                        return NULL;
                at = evd->count;
        }
        return &evd->ring[at < evd->ring_size ? at : at - evd->ring_size];
}

static inline void evd_enqueue(struct evd *evd, struct event *event)
{
        event->dat.evd_handle = object_handle(&evd->obj);
        evd->count++;
        evd->dto_count += event->dto;
        evd->notify_count += event->notify;
        evd_signal_arrival(evd, event->notify);
}

static inline void evd_pop(struct evd *evd, DAT_EVENT *out)
{
        struct event *event = &evd->ring[evd->head];

        *out = event->dat;
        if (++evd->head == evd->ring_size)
                evd->head = 0;
        evd->count--;
        evd->dto_count -= event->dto;
        evd->notify_count -= event->notify;
        evd->overflowed = false;
        evd_give_back(event->srq, event->ep);
}

#endif
