/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/daplref.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep.h"
#include "endpoint/ep_attr.h"
#include "endpoint/ep_setup.h"
#include "endpoint/ep_state.h"
#include "endpoint/ep_watermark.h"
#include "event/evd.h"
#include "event/evd_queue.h"
#include "memory/pz.h"

#include <pthread.h>

#define STREAM_FIELDS                                                     \
        (DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)
#define QUIET_FIELDS                                                                              \
        (DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR | DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR | \
         DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR | DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)
#define MODIFIABLE_FIELDS (STREAM_FIELDS | DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_EP_ATTR_ALL)

/* Whether dat_ep_modify(3DAT) allows a change of these fields in that state. */
static bool state_allows(uint64_t mask, int state)
{
        bool quiet = state == EP_UNCONNECTED;
        bool tentative = state == EP_TENTATIVE;

        if (!mask)
                return true;
        if (!quiet && !tentative && state != EP_RESERVED && state != EP_PASSIVE)
                return false;
        if (mask & DAT_EP_FIELD_PZ_HANDLE && !quiet && !tentative)
                return false;
        return !(mask & QUIET_FIELDS) || quiet;
}

/* The largest number of segments of a held receive. */
static int held_segments(struct wr_pool *pool)
{
        int most = 0;

        lock_acquire(&pool->lock);
        for (struct link *at = pool->pending.next; at != &pool->pending; at = at->next) {
                const struct wr *wr = container_of(at, struct wr, link);

                if (wr->num_sge > most)
                        most = wr->num_sge;
        }
        lock_release(&pool->lock);
        return most;
}

static DAT_RETURN check_held_receives(struct ep *ep, const struct ep_setup *to)
{
        int held = atomic_load(&ep->recvs.in_use);

        if (!held)
                return DAT_SUCCESS;
        /* A held receive was checked against the zone at its post. */
        if (to->pz != ep->pz)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
        if (to->attr.recv_completion_flags != ep->attr.recv_completion_flags)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
        if (!ep->srq &&
            (to->attr.max_recv_dtos < held || to->attr.max_recv_iov < held_segments(&ep->recvs)))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_NOTREADY);
        return DAT_SUCCESS;
}

/* Events of an earlier connection on an EVD that the EP no longer uses would outlive the EP. */
static void leave_evds(const struct ep *ep, const struct ep_setup *from)
{
        struct evd *evds[] = {from->recv_evd, from->request_evd, from->connect_evd};

        for (int i = 0; i < 3; i++) {
                if (evds[i] && evds[i] != ep->recv_evd && evds[i] != ep->request_evd &&
                    evds[i] != ep->connect_evd)
                        evd_forget_ep(evds[i], ep);
        }
}

static DAT_RETURN modify(struct ep *ep, uint64_t mask, const DAT_EP_PARAM *param)
{
        struct ep_setup from = ep_setup_of(ep);
        struct ep_setup to = from;
        struct ep_handles wanted = {
            .pz = param->pz_handle,
            .recv_evd = param->recv_evd_handle,
            .request_evd = param->request_evd_handle,
            .connect_evd = param->connect_evd_handle,
        };
        struct evd *pinned[3] = {NULL};
        struct pz *pz = NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        if (!mask)
                return ret;
        if (mask & DAT_EP_FIELD_PZ_HANDLE) {
                pz = object_get(wanted.pz, DAT_HANDLE_TYPE_PZ);
                if (!pz || pz->obj.ia != ep->obj.ia ||
                    (ep->srq && !ep_setup_suits_srq(pz, ep->srq)))
                        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
                to.pz = pz;
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_RECV_EVD_HANDLE) {
                ret = ep_setup_get_evd(ep->obj.ia, wanted.recv_evd, DAT_EVD_DTO_FLAG,
                                       DAT_INVALID_HANDLE_EVD_RECV, &pinned[0]);
                to.recv_evd = pinned[0];
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) {
                ret = ep_setup_get_evd(ep->obj.ia, wanted.request_evd,
                                       DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
                                       DAT_INVALID_HANDLE_EVD_REQUEST, &pinned[1]);
                to.request_evd = pinned[1];
        }
        if (ret == DAT_SUCCESS && mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) {
                ret = ep_setup_get_evd(ep->obj.ia, wanted.connect_evd, DAT_EVD_CONNECTION_FLAG,
                                       DAT_INVALID_HANDLE_EVD_CONN, &pinned[2]);
                to.connect_evd = pinned[2];
        }
        if (DAT_GET_TYPE(ret) == DAT_INVALID_HANDLE)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        ep_attr_merge(&to.attr, mask, &param->ep_attr);
        if (ret == DAT_SUCCESS && !ep_attr_valid(ep->obj.ia, &to.attr, ep->srq != NULL))
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS)
                ret = check_held_receives(ep, &to);
        if (ret == DAT_SUCCESS)
                ret = ep_setup_change(ep, &from, &to, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS)
                leave_evds(ep, &from);
        /* An attribute set to the value that dat_ep_query() shows, 0 included, changes nothing. */
        if (ret == DAT_SUCCESS && ep->srq && to.attr.srq_soft_hw != from.attr.srq_soft_hw)
                ep_set_soft_mark(ep, ep_attr_soft_mark(&to.attr));
        for (int i = 0; i < 3; i++)
                ep_setup_put_evd(pinned[i]);
        if (pz)
                object_put(pz);
        return ret;
}

/*
 * dat_ep_modify(3DAT): makes all changes or none. No queue pair exists in the states that allow a
 * change.
 */
DAT_RETURN ref_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK dat_mask,
                         const DAT_EP_PARAM *param)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        uint64_t mask = (uint64_t)dat_mask;
        DAT_RETURN ret;

        if (!ep)
                return BAD_EP;
        if (mask & ~(uint64_t)MODIFIABLE_FIELDS) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ep->obj.ia->cm_lock);
                gate_close(&ep->gate);
                if (state_allows(mask, atomic_load(&ep->state)))
                        ret = modify(ep, mask, param);
                else
                        ret = ep_state_error(ep);
                gate_open(&ep->gate);
                pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        }
        object_put(ep);
        return ret;
}
