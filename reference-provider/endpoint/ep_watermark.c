/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep_watermark.h"
#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "endpoint/ep.h"
#include "event/async_evd.h"
#include "event/evd_cno.h"
#include "event/owner.h"

#include <pthread.h>
#include <stdatomic.h>

bool ep_has_watermark(const struct ep *ep)
{
        return atomic_load(&ep->soft_watermark) != DAT_WATERMARK_INFINITE ||
               atomic_load(&ep->hard_watermark) != DAT_WATERMARK_INFINITE;
}

/*
 * Stores a watermark and arms it. While one is finite, the service thread drains the receive EVD,
 * because the Consumer may not.
 */
static void set_mark(struct ep *ep, _Atomic int *mark, _Atomic bool *armed, DAT_COUNT value)
{
        bool had = ep_has_watermark(ep);

        atomic_store(mark, value);
        if (ep_has_watermark(ep) != had)
                evd_watch(ep_recv_target(ep), had ? -1 : 1);
        atomic_store(armed, value != DAT_WATERMARK_INFINITE);
}

void ep_set_soft_mark(struct ep *ep, DAT_COUNT value)
{
        set_mark(ep, &ep->soft_watermark, &ep->soft_armed, value);
}

void ep_set_hard_mark(struct ep *ep, DAT_COUNT value)
{
        set_mark(ep, &ep->hard_watermark, &ep->hard_armed, value);
}

void ep_run_soft(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, soft_work);

        async_evd_post(ep->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR, object_handle(&ep->obj),
                       DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static bool above(_Atomic int *mark, _Atomic bool *armed, int held)
{
        int limit = atomic_load(mark);

        return limit != DAT_WATERMARK_INFINITE && held > limit && atomic_load(armed) &&
               atomic_exchange(armed, false);
}

/*
 * Counts the SRQ buffers that the EP has taken and whose events are not dequeued. `by` is 1, 0 or
 * -1.
 */
void ep_recv_held(struct ep *ep, int by)
{
        int held = atomic_fetch_add(&ep->srq_held, by) + by;

        if (by < 0)
                return;
        if (above(&ep->soft_watermark, &ep->soft_armed, held))
                work_queue(&ep->obj.ia->loop, &ep->soft_work);
        if (above(&ep->hard_watermark, &ep->hard_armed, held))
                ep_failed(ep);
}

static bool mark_valid(DAT_COUNT mark)
{
        return mark == DAT_WATERMARK_INFINITE || mark >= 0;
}

/*
 * dat_ep_set_watermark(3DAT). The watermarks count SRQ buffers taken by the EP whose events are not
 * dequeued. Returns DAT_MODEL_NOT_SUPPORTED for an EP without SRQ.
 */
DAT_RETURN ref_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        if (!ep->srq) {
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        } else if (!mark_valid(soft)) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!mark_valid(hard)) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ep->obj.ia->cm_lock);
                ep_set_soft_mark(ep, soft);
                ep_set_hard_mark(ep, hard);
                ep->attr.srq_soft_hw = soft;
                pthread_mutex_unlock(&ep->obj.ia->cm_lock);
                ep_drain_recvs(ep);
                ep_recv_held(ep, 0);
        }
        object_put(ep);
        return ret;
}
