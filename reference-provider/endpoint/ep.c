/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/ep.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/pool.h"
#include "endpoint/ep_attr.h"
#include "endpoint/ep_flush.h"
#include "endpoint/ep_setup.h"
#include "endpoint/ep_state.h"
#include "endpoint/ep_watermark.h"
#include "endpoint/fence.h"
#include "endpoint/qp.h"
#include "endpoint/srq.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "event/evd_queue.h"
#include "event/owner.h"
#include "memory/pz.h"

#include <pthread.h>
#include <stdlib.h>

static void run_broken(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, broken_work);
        struct ia *ia = ep->obj.ia;

        pthread_mutex_lock(&ia->cm_lock);
        /* The connection may have ended for another reason. */
        (void)ep_transition(ep, EP_CONNECTION_LOST, DAT_CONNECTION_EVENT_BROKEN);
        pthread_mutex_unlock(&ia->cm_lock);
}

static void run_drained(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, drained_work);
        struct ia *ia = ep->obj.ia;

        pthread_mutex_lock(&ia->cm_lock);
        if (!atomic_load(&ep->requests.in_use))
                (void)ep_transition(ep, EP_DRAINED, DAT_CONNECTION_EVENT_DISCONNECTED);
        pthread_mutex_unlock(&ia->cm_lock);
}

static DAT_RETURN ep_new(struct ia *ia, enum ep_state state, struct ep **out)
{
        struct ep *ep = calloc(1, sizeof(*ep));
        DAT_RETURN ret;

        if (!ep)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        ep->obj.ia = ia;
        atomic_store(&ep->state, state);
        ep->attr = ep_attr_default(ia);
        ep->soft_watermark = DAT_WATERMARK_INFINITE;
        ep->hard_watermark = DAT_WATERMARK_INFINITE;
        pool_init(&ep->recvs, ep, NULL, true, WR_POSTED_PLAIN);
        /* On iWARP a request may complete before its predecessors, see is_early(). */
        pool_init(&ep->requests, ep, NULL, false, ia->iwarp ? WR_POSTED : WR_POSTED_PLAIN);
        list_init(&ep->flush_link);
        work_init(&ep->broken_work, &ep->obj, run_broken);
        work_init(&ep->drained_work, &ep->obj, run_drained);
        work_init(&ep->soft_work, &ep->obj, ep_run_soft);
        fence_init(ep);
        ret = object_publish(ia, &ep->obj, DAT_HANDLE_TYPE_EP);
        if (ret != DAT_SUCCESS) {
                pool_destroy(&ep->recvs);
                pool_destroy(&ep->requests);
                free(ep);
                return ret;
        }
        *out = ep;
        return DAT_SUCCESS;
}

/* Undoes ep_new() for an EP whose handle the Consumer has not seen. */
static void ep_abandon(struct ep *ep)
{
        /* A closing IA has killed it. */
        if (!object_kill(&ep->obj))
                return;
        object_unpublish(&ep->obj);
        pool_destroy(&ep->recvs);
        pool_destroy(&ep->requests);
        free(ep);
}

/* Makes an EP without zone and EVDs, for a connection request. */
DAT_RETURN ep_new_tentative(struct ia *ia, struct ep **out)
{
        struct ep_setup setup = {.attr = ep_attr_default(ia)};
        DAT_RETURN ret = ep_new(ia, EP_TENTATIVE, out);

        if (ret != DAT_SUCCESS)
                return ret;
        ret = ep_setup_change(*out, NULL, &setup, DAT_NO_SUBTYPE);
        if (ret != DAT_SUCCESS)
                ep_abandon(*out);
        return ret;
}

static DAT_RETURN create(DAT_IA_HANDLE ia_handle, const struct ep_handles *wanted, bool with_srq,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        int attr_argument = with_srq ? DAT_INVALID_ARG7 : DAT_INVALID_ARG6;
        struct ep_setup setup = {0};
        struct ep *ep;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        setup.attr = attr ? *attr : ep_attr_default(ia);
        if (ia->lenient)
                ep_attr_fill_zeros(ia, &setup.attr);
        ret = ep_setup_get(ia, wanted, with_srq, &setup);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, attr_argument);
        if ((with_srq && !attr) || !ep_attr_valid(ia, &setup.attr, with_srq))
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, attr_argument + 1);
        if (!ep_handle)
                goto put;
        ret = ep_new(ia, EP_UNCONNECTED, &ep);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = ep_setup_change(ep, NULL, &setup, attr_argument);
        if (ret != DAT_SUCCESS) {
                ep_abandon(ep);
                goto put;
        }
        if (with_srq)
                ep_set_soft_mark(ep, ep_attr_soft_mark(&setup.attr));
        *ep_handle = object_handle(&ep->obj);
put:
        ep_setup_put(&setup);
        object_put(ia);
        return ret;
}

/* dat_ep_create(3DAT) */
DAT_RETURN ref_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                         DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                         const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct ep_handles wanted = {
            .pz = pz,
            .recv_evd = recv_evd,
            .request_evd = request_evd,
            .connect_evd = connect_evd,
        };

        return create(ia_handle, &wanted, false, attr, ep_handle);
}

/* dat_ep_create_with_srq(3DAT) */
DAT_RETURN ref_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
                                  DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
                                  DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
                                  const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep_handle)
{
        struct ep_handles wanted = {
            .pz = pz,
            .recv_evd = recv_evd,
            .request_evd = request_evd,
            .connect_evd = connect_evd,
            .srq = srq,
        };

        return create(ia_handle, &wanted, true, attr, ep_handle);
}
#define EP_FIELDS_ALL ((uint64_t)DAT_EP_FIELD_ALL)

/* dat_ep_query(3DAT): fills every field, whatever the mask. */
DAT_RETURN ref_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;
        struct ia *ia;

        if (!ep)
                return BAD_EP;
        ia = ep->obj.ia;
        if ((uint64_t)mask & ~EP_FIELDS_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&ia->cm_lock);
                *param = (DAT_EP_PARAM){
                    .ia_handle = abi_ia_handle(&ia->obj),
                    .ep_state = ep_dat_state(ep),
                    .local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address,
                    .local_port_qual = ep->local_port,
                    .remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ep->remote,
                    .remote_port_qual = ep->remote_port,
                    .pz_handle = ep->pz ? object_handle(&ep->pz->obj) : DAT_HANDLE_NULL,
                    .recv_evd_handle =
                        ep->recv_evd ? object_handle(&ep->recv_evd->obj) : DAT_HANDLE_NULL,
                    .request_evd_handle =
                        ep->request_evd ? object_handle(&ep->request_evd->obj) : DAT_HANDLE_NULL,
                    .connect_evd_handle =
                        ep->connect_evd ? object_handle(&ep->connect_evd->obj) : DAT_HANDLE_NULL,
                    .srq_handle = ep->srq ? object_handle(&ep->srq->obj) : DAT_HANDLE_NULL,
                    .ep_attr = ep->attr,
                };
                pthread_mutex_unlock(&ia->cm_lock);
        }
        object_put(ep);
        return ret;
}

/* dat_ep_get_status(3DAT): each pointer may be NULL. */
DAT_RETURN ref_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
                             DAT_BOOLEAN *request_idle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        evd_drain(ep_recv_target(ep));
        evd_drain(ep_request_target(ep));
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        if (state)
                *state = ep_dat_state(ep);
        if (recv_idle)
                *recv_idle = atomic_load(&ep->recvs.in_use) ? DAT_FALSE : DAT_TRUE;
        if (request_idle)
                *request_idle = atomic_load(&ep->requests.in_use) ? DAT_FALSE : DAT_TRUE;
        object_put(ep);
        return DAT_SUCCESS;
}

/* dat_ep_reset(3DAT). Waits until the EP is flushed. */
DAT_RETURN ref_ep_reset(DAT_EP_HANDLE handle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        ep_flush_await(ep);
        if (!object_lives(&ep->obj))
                ret = BAD_EP;
        else if (!ep_transition(ep, EP_RESET, (DAT_EVENT_NUMBER)0))
                ret = ep_state_error(ep);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        object_put(ep);
        return ret;
}

/* dat_ep_free(3DAT): fails while a service point or a CR uses the EP. */
DAT_RETURN ref_ep_free(DAT_EP_HANDLE handle)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ep)
                return BAD_EP;
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        if (!ep_allows(ep, EP_FREED)) {
                ret = ep_state_error(ep);
        } else if (!object_kill(&ep->obj)) {
                ret = BAD_EP;
        } else {
                ep_must_transition(ep, EP_FREED, (DAT_EVENT_NUMBER)0);
                ep_flush_await(ep);
        }
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        if (ret != DAT_SUCCESS) {
                object_put(ep);
                return ret;
        }
        object_await_last(&ep->obj, 1);
        ep_destroy(ep);
        return ret;
}

/* Frees a dead EP that has no connection. */
void ep_destroy(struct ep *ep)
{
        struct ep_setup setup = ep_setup_of(ep);
        struct evd *evds[] = {ep_recv_target(ep), ep_request_target(ep), ep->connect_evd};
        struct ia *ia = ep->obj.ia;

        for (int i = 0; i < 3; i++) {
                if (evds[i])
                        evd_forget_ep(evds[i], ep);
        }
        ep_set_soft_mark(ep, DAT_WATERMARK_INFINITE);
        ep_set_hard_mark(ep, DAT_WATERMARK_INFINITE);
        work_cancel(&ia->loop, &ep->broken_work);
        work_cancel(&ia->loop, &ep->drained_work);
        work_cancel(&ia->loop, &ep->soft_work);
        work_cancel(&ia->loop, &ep->fence.work);
        ep_setup_count_streams(&setup, -1);
        ep_setup_detach(ep, &setup);
        object_unpublish(&ep->obj);
        pool_destroy(&ep->recvs);
        pool_destroy(&ep->requests);
        free(ep);
}

/* Posts a connection event on the connect EVD, with the private data of the peer's answer. */
void ep_post_event(struct ep *ep, DAT_EVENT_NUMBER number)
{
        bool answer = ep->initiated && (number == DAT_CONNECTION_EVENT_ESTABLISHED ||
                                        number == DAT_CONNECTION_EVENT_PEER_REJECTED);
        struct event event = {
            .dat.event_number = number,
            .dat.event_data.connect_event_data =
                {
                    .ep_handle = object_handle(&ep->obj),
                    .private_data_size = answer ? ep->private_data_size : 0,
                    .private_data = answer && ep->private_data_size ? ep->private_data : NULL,
                },
            .ep = ep,
            .notify = true,
        };

        if (ep->connect_evd)
                (void)evd_post(ep->connect_evd, &event);
}

/*
 * Records a failure that breaks the connection: now, or when it is established, since messages may
 * arrive before that event. May be called with an EVD locked.
 */
void ep_failed(struct ep *ep)
{
        int state;

        atomic_store(&ep->failed, true);
        state = atomic_load(&ep->state);
        if (ep_state_can_break(state))
                work_queue(&ep->obj.ia->loop, &ep->broken_work);
}

/*
 * Drains the completions of an EP up to the limits of its EVDs' FIFOs, and so records its failures.
 * Returns false if some are left or were lost. Called with ia->cm_lock held.
 */
bool ep_look(struct ep *ep)
{
        bool all = evd_look(ep_recv_target(ep));

        return evd_look(ep_request_target(ep)) && all;
}

void ep_drain_recvs(struct ep *ep)
{
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        evd_drain(ep_recv_target(ep));
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
}

/* Returns the number of receives at the EP. For an EP with an SRQ only 0 can be known. */
static DAT_COUNT recvs_at(struct ep *ep)
{
        bool receiving;

        if (!ep->srq)
                return atomic_load(&ep->recvs.in_use);
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        receiving = ep_may_be_receiving(ep);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        return receiving ? DAT_VALUE_UNKNOWN : 0;
}

/*
 * dat_ep_recv_query(3DAT). The span equals the count, because messages arrive in order. Both are
 * DAT_VALUE_UNKNOWN while a message may be arriving in an SRQ buffer.
 */
DAT_RETURN ref_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *allocated, DAT_COUNT *span)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_COUNT count;

        if (!ep)
                return BAD_EP;
        ep_drain_recvs(ep);
        count = recvs_at(ep);
        if (allocated)
                *allocated = count;
        if (span)
                *span = count;
        object_put(ep);
        return DAT_SUCCESS;
}
