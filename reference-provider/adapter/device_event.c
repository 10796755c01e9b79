/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/device_event.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "endpoint/ep.h"
#include "endpoint/ep_flush.h"
#include "endpoint/srq.h"
#include "event/async_evd.h"
#include "event/evd.h"
#include "event/owner.h"

#include <fcntl.h>
#include <infiniband/verbs.h>

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
                ep_flush_last_wqe(ep);
}

static void about_cq(const struct ibv_async_event *event)
{
        struct evd *evd = event->element.cq->cq_context;

        /* look_for_failures() finds the queue pairs that are in ERR because of it. */
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

static void handle_events(struct event_source *source)
{
        struct ia *ia = container_of(source, struct ia, async_source);
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

/* Makes the service thread handle the asynchronous events of the IA's verbs context. */
bool device_event_listen(struct ia *ia)
{
        ia->async_source.ready = handle_events;
        (void)fcntl(ia->verbs->async_fd, F_SETFL, O_NONBLOCK);
        return event_loop_add(&ia->loop, ia->verbs->async_fd, &ia->async_source);
}
