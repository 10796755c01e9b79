/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_queue.h"
#include "base/daplref.h"
#include "base/handle.h"
#include "base/lock.h"
#include "endpoint/ep.h"
#include "endpoint/srq.h"
#include "event/async_evd.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "event/evd_impl.h"

#include <stdlib.h>

bool evd_ring_reserve(struct evd *evd, int size)
{
        struct event *ring;

        if (size <= evd->ring_size)
                return true;
        ring = calloc((size_t)size, sizeof(*ring));
        if (!ring)
                return false;
        for (int i = 0; i < evd->count; i++)
                ring[i] = evd->ring[(evd->head + i) % evd->ring_size];
        free(evd->ring);
        evd->ring = ring;
        evd->ring_size = size;
        evd->head = 0;
        return true;
}

void evd_push(struct evd *evd, const struct event *event)
{
        struct event *slot = evd_tail(evd);

        if (!slot)
                return;
        *slot = *event;
        evd_enqueue(evd, slot);
}

static void raise_overflow(struct evd *evd)
{
        if (evd->obj.ia)
                async_evd_post(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, object_handle(&evd->obj),
                               DAT_EVD_OVERFLOW_ERROR);
}

/*
 * Adds an event that is no completion, after draining completions. Returns false if the EVD is
 * full; the async EVD is notified once. A Connection Request that is not queued is not reported,
 * because the length of the EVD is the backlog.
 */
bool evd_post(struct evd *evd, const struct event *event)
{
        bool is_request = event->dat.event_number == DAT_CONNECTION_REQUEST_EVENT;
        bool lost;
        bool raise = false;

        lock_acquire(&evd->lock);
        evd_drain_locked(evd, true);
        lost = evd->state == EVD_CLOSING || evd->count - evd->dto_count >= evd->qlen;
        if (!lost) {
                evd_push(evd, event);
        } else if (!evd->overflowed && evd->state != EVD_CLOSING && !is_request) {
                evd->overflowed = true;
                raise = true;
        }
        evd_unlock(evd);
        if (raise)
                raise_overflow(evd);
        return !lost;
}

/* Drops the events of an EP that is freed. */
void evd_forget_ep(struct evd *evd, const struct ep *ep)
{
        int kept = 0;

        lock_acquire(&evd->lock);
        for (int i = 0; i < evd->count; i++) {
                struct event *event = &evd->ring[(evd->head + i) % evd->ring_size];

                if (event->ep == ep) {
                        evd->dto_count -= event->dto;
                        evd->notify_count -= event->notify;
                        evd_give_back(event->srq, event->ep);
                        continue;
                }
                evd->ring[(evd->head + kept++) % evd->ring_size] = *event;
        }
        evd->count = kept;
        evd_unlock(evd);
}

/*
 * dat_evd_resize(3DAT). Returns DAT_INVALID_STATE if the length is below the number of queued
 * events.
 */
DAT_RETURN ref_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if (qlen < 1 || qlen > REF_MAX_EVD_QLEN) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        lock_acquire(&evd->lock);
        evd_drain_locked(evd, true);
        if (qlen < evd->count)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
        else if (!evd_ring_reserve(evd, 2 * (qlen + max_int(qlen, evd->budget))))
                ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        else
                evd->qlen = qlen;
        evd_unlock(evd);
        object_put(evd);
        return ret;
}

/*
 * dat_evd_post_se(3DAT). Returns DAT_QUEUE_FULL if the EVD is full; the async EVD is not notified.
 */
DAT_RETURN ref_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *dat)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if (!dat || dat->event_number != DAT_SOFTWARE_EVENT) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        lock_acquire(&evd->lock);
        evd_drain_locked(evd, false);
        if (evd->count >= evd->qlen) {
                ret = REF_ERROR(DAT_QUEUE_FULL, 0);
        } else {
                struct event event = {.dat = *dat, .notify = true};

                evd_push(evd, &event);
        }
        evd_unlock(evd);
        object_put(evd);
        return ret;
}
