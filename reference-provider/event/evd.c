/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/destroy_async.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/lock.h"
#include "connect/cr.h"
#include "event/cno.h"
#include "event/evd_cno.h"
#include "event/evd_impl.h"
#include "event/evd_queue.h"
#include "event/evd_wait.h"
#include "event/owner.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FLAGS_ALL ((unsigned int)DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

/*
 * Whether a stream with these completion flags may share the EVD with its other streams.
 * UNSIGNALLED and SOLICITED streams share it only with streams of the same flags.
 */
bool evd_accepts_flags(struct evd *evd, DAT_COMPLETION_FLAGS flags)
{
        bool ok;

        lock_acquire(&evd->lock);
        if (flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                ok = !evd->solicited_users && !evd->threshold_users && !evd->plain_users &&
                     !evd->other_users;
        else if (flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                ok = !evd->unsignalled_users && !evd->threshold_users && !evd->plain_users &&
                     !evd->other_users;
        else
                ok = !evd->unsignalled_users && !evd->solicited_users;
        evd_unlock(evd);
        return ok;
}

/* Whether a stream of other events than completions may use the EVD. */
bool evd_accepts_others(struct evd *evd)
{
        /* It notifies of each event, as completions with default flags do. */
        return evd_accepts_flags(evd, DAT_COMPLETION_DEFAULT_FLAG);
}

void evd_count_stream(struct evd *evd, DAT_COMPLETION_FLAGS flags, int by)
{
        lock_acquire(&evd->lock);
        if (flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                evd->unsignalled_users += by;
        else if (flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                evd->solicited_users += by;
        else if (flags == DAT_COMPLETION_EVD_THRESHOLD_FLAG)
                evd->threshold_users += by;
        else
                evd->plain_users += by;
        evd_update_watch(evd);
        evd_unlock(evd);
}

/* Counts EPs with an SRQ whose receives are UNSIGNALLED. They give notice as any other stream. */
void evd_count_unsignalled_srq(struct evd *evd, int by)
{
        lock_acquire(&evd->lock);
        evd->unsignalled_srq_users += by;
        evd_unlock(evd);
}

void evd_count_other(struct evd *evd, int by)
{
        lock_acquire(&evd->lock);
        evd->other_users += by;
        evd_unlock(evd);
}

/* Makes an EVD of the IA, which the caller may publish. */
DAT_RETURN evd_new(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **out)
{
        struct evd *evd = calloc(1, sizeof(*evd));

        if (!evd)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        evd->obj.ia = ia;
        evd->qlen = qlen;
        evd->flags = flags;
        evd->enabled = true;
        evd->turn = 1;
        /* Made here, because dat_evd_wait(3DAT) has no error for a lack of descriptors. */
        evd->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (evd->wake_fd < 0) {
                free(evd);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
        }
        list_init(&evd->due_link);
        if (!evd_ring_reserve(evd, 2 * qlen)) {
                close(evd->wake_fd);
                free(evd);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        }
        *out = evd;
        return DAT_SUCCESS;
}

/*
 * dat_evd_create(3DAT), which has no page. evd_flags is a non-empty union of stream types. Returns
 * DAT_INVALID_PARAMETER if the length is below 1 or above the IA's limit.
 */
DAT_RETURN ref_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
                          DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct evd *evd;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (qlen < 1 || qlen > REF_MAX_EVD_QLEN)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        if (!flags || (unsigned int)flags & ~FLAGS_ALL)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        if (!evd_handle)
                goto put;
        ret = evd_new(ia, qlen, flags, &evd);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = object_publish(ia, &evd->obj, DAT_HANDLE_TYPE_EVD);
        if (ret != DAT_SUCCESS) {
                evd_destroy(evd);
                goto put;
        }
        ret = evd_attach_cno(evd, cno_handle);
        if (ret != DAT_SUCCESS) {
                object_kill(&evd->obj);
                evd_destroy(evd);
                goto put;
        }
        *evd_handle = object_handle(&evd->obj);
put:
        object_put(ia);
        return ret;
}

static DAT_EVD_STATE state_of(const struct evd *evd)
{
        unsigned int state = evd->enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED;

        state |= evd->state == EVD_UNWAITABLE ? DAT_EVD_STATE_UNWAITABLE : DAT_EVD_STATE_WAITABLE;
        if (evd->solicited_users)
                state |= DAT_EVD_STATE_CONFIG_SOLICITED;
        else if (evd->threshold_users)
                state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
        else if (evd->unsignalled_users)
                state |= DAT_EVD_STATE_CONFIG_NOTIFY;
        return (DAT_EVD_STATE)state;
}

/* dat_evd_query(3DAT) */
DAT_RETURN ref_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if ((unsigned int)mask & ~(unsigned int)DAT_EVD_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                lock_acquire(&evd->lock);
                *param = (DAT_EVD_PARAM){
                    .ia_handle = abi_ia_handle(&evd->obj.ia->obj),
                    .evd_qlen = evd->qlen,
                    .evd_state = state_of(evd),
                    .cno_handle = evd->cno ? object_handle(&evd->cno->obj) : DAT_HANDLE_NULL,
                    .evd_flags = evd->flags,
                };
                evd_unlock(evd);
        }
        object_put(evd);
        return ret;
}

/* dat_evd_free(3DAT). Returns DAT_INVALID_STATE while an object uses it or a thread waits on it. */
DAT_RETURN ref_evd_free(DAT_EVD_HANDLE handle)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret;
        bool waiter;

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        waiter = evd_has_waiter(evd);
        evd_unlock(evd);
        if (waiter) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        }
        pthread_mutex_lock(&evd->obj.ia->lock);
        if (evd->obj.users)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
        else
                ret = object_kill(&evd->obj) ? DAT_SUCCESS : BAD_EVD;
        pthread_mutex_unlock(&evd->obj.ia->lock);
        if (ret != DAT_SUCCESS) {
                object_put(evd);
                return ret;
        }
        evd_close(evd);
        object_await_last(&evd->obj, 1);
        evd_destroy(evd);
        return ret;
}

/* Releases the waiter. The EVD accepts no more events. */
void evd_close(struct evd *evd)
{
        evd_cancel_wait(evd, EVD_CLOSE);
        lock_acquire(&evd->lock);
        evd_update_watch(evd);
        evd_unlock(evd);
}

/* Frees an EVD that no object uses. Queued connection requests are rejected. */
void evd_destroy(struct evd *evd)
{
        DAT_EVENT dat;

        while (evd->count) {
                evd_pop(evd, &dat);
                if (dat.event_number == DAT_CONNECTION_REQUEST_EVENT)
                        cr_discard(dat.event_data.cr_arrival_event_data.cr_handle);
        }
        if (evd->watched)
                evd_ignore_channel(evd);
        if (evd->cno)
                (void)cno_take_due(evd->cno, evd);
        if (evd->obj.handle)
                cno_forget(evd->cno, evd);
        if (evd->cq) {
                /*
                 * ibv_destroy_cq() waits for these. One call for all saves a mutex for each event.
                 */
                ibv_ack_cq_events(evd->cq, evd->unacknowledged);
                destroy_async_cq(evd->obj.ia, evd->cq);
        }
        if (evd->channel)
                destroy_async_channel(evd->obj.ia, evd->channel);
        if (evd->obj.handle)
                object_unpublish(&evd->obj);
        close(evd->wake_fd);
        while (evd->shares) {
                struct evd_share *share = evd->shares;

                evd->shares = share->next;
                free(share);
        }
        free(evd->ring);
        free(evd);
}
