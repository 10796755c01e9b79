/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_cno.h"
#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "event/cno.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "event/evd_impl.h"

#include <stdlib.h>

/*
 * A CNO on a SOLICITED stream is triggered by solicited completions only, which verbs reports by
 * its event. Watchers need every completion.
 */
static bool watches_solicited(const struct evd *evd)
{
        return evd->solicited_users && !evd->watchers;
}

bool evd_watches(const struct evd *evd)
{
        return evd->armed == EVD_ARMED_ANY ||
               (evd->armed == EVD_ARMED_SOLICITED && watches_solicited(evd));
}

/* Arms the queue again and drains it. Watchers need completions drained even if the EVD is full. */
void evd_go_on_watching(struct evd *evd)
{
        (void)evd_arm(evd, watches_solicited(evd));
        evd_drain_locked(evd, evd->watchers > 0);
}

static void sink_ready(struct event_source *source)
{
        evd_channel_ready(container_of(source, struct evd, sink_source));
}

/* Called by the service thread for a readable channel of an EVD that has a handle. */
void evd_object_ready(struct object *object)
{
        evd_channel_ready(container_of(object, struct evd, obj));
}

/* Makes the service thread call evd_channel_ready() while the channel is readable. */
static bool listen_to_channel(struct evd *evd)
{
        struct event_loop *loop = &evd->obj.ia->loop;

        if (evd->obj.handle)
                return event_loop_add_evd(loop, evd->channel->fd, &evd->obj);
        evd->sink_source.ready = sink_ready;
        return event_loop_add(loop, evd->channel->fd, &evd->sink_source);
}

void evd_ignore_channel(struct evd *evd)
{
        event_loop_remove(&evd->obj.ia->loop, evd->channel->fd);
}

void evd_update_watch(struct evd *evd)
{
        bool want =
            evd->cq && evd->state != EVD_CLOSING && ((evd->cno && evd->enabled) || evd->watchers);

        if (!want && evd->watched)
                evd_ignore_channel(evd);
        evd->watched = want && (evd->watched || listen_to_channel(evd));
        if (evd->watched && !evd_watches(evd))
                evd_go_on_watching(evd);
}

/* Adds or removes a watcher, which needs completions drained while no thread waits. */
void evd_watch(struct evd *evd, int by)
{
        lock_acquire(&evd->lock);
        evd->watchers += by;
        evd_update_watch(evd);
        evd_unlock(evd);
}

/*
 * Signals a channel event. A sleeping waiter must look again. A solicited event was not signalled
 * when it was queued, so it is signalled here.
 */
static void signal_channel_event(struct evd *evd)
{
        if (evd->state == EVD_SLEEPING || (evd->solicited_users && evd->count > evd->notify_count))
                evd_signal_arrival(evd, true);
}

/* Called by the service thread while the channel of a watched EVD is readable. */
void evd_channel_ready(struct evd *evd)
{
        bool hit;

        lock_acquire(&evd->lock);
        hit = evd_take_channel_event(evd);
        if (evd->watched)
                evd_go_on_watching(evd);
        if (hit)
                signal_channel_event(evd);
        evd_unlock(evd);
}

/*
 * Drains completions before the EVD is enabled, disabled or given another CNO, so that they are
 * signalled as before the change.
 */
static void evd_settle(struct evd *evd)
{
        bool hit = evd_take_channel_event(evd);

        evd_drain_locked(evd, false);
        if (hit)
                signal_channel_event(evd);
}

/* Counts the EVD as a user of the CNO. Returns DAT_INVALID_HANDLE if there is none. */
static DAT_RETURN use_cno(const struct evd *evd, DAT_CNO_HANDLE handle, struct cno **out)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);

        if (cno && cno->obj.ia == evd->obj.ia)
                ret = object_use(&cno->obj, ret);
        if (cno)
                object_put(cno);
        *out = cno;
        return ret;
}

DAT_RETURN evd_attach_cno(struct evd *evd, DAT_CNO_HANDLE cno_handle)
{
        struct cno_trigger *trigger = NULL;
        struct cno *cno = NULL;
        struct cno *old;
        DAT_RETURN ret;
        int due;

        if (cno_handle != DAT_HANDLE_NULL) {
                trigger = cno_new_trigger();
                if (!trigger)
                        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
                trigger->evd = evd->obj.handle;
                ret = use_cno(evd, cno_handle, &cno);
                if (ret != DAT_SUCCESS) {
                        free(trigger);
                        return ret;
                }
        }
        lock_acquire(&evd->lock);
        evd_settle(evd);
        old = evd->cno;
        due = old ? cno_take_due(old, evd) : 0;
        if (old)
                cno_leave(old, evd);
        if (cno && !evd->trigger) {
                evd->trigger = trigger;
                trigger = NULL;
        }
        evd->cno = cno;
        while (cno && due--)
                cno_trigger(cno, evd);
        evd_update_watch(evd);
        evd_unlock(evd);
        free(trigger);
        if (old)
                object_unuse(&old->obj);
        return DAT_SUCCESS;
}

/* dat_evd_modify_cno(3DAT) */
DAT_RETURN ref_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret;

        if (!evd)
                return BAD_EVD;
        ret = evd_attach_cno(evd, cno_handle);
        object_put(evd);
        return ret;
}

static DAT_RETURN set_enabled(DAT_EVD_HANDLE handle, bool enabled)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        evd_settle(evd);
        evd->enabled = enabled;
        evd_update_watch(evd);
        evd_unlock(evd);
        object_put(evd);
        return DAT_SUCCESS;
}

/* dat_evd_enable(3DAT) */
DAT_RETURN ref_evd_enable(DAT_EVD_HANDLE handle)
{
        return set_enabled(handle, true);
}

/* dat_evd_disable(3DAT) */
DAT_RETURN ref_evd_disable(DAT_EVD_HANDLE handle)
{
        return set_enabled(handle, false);
}
