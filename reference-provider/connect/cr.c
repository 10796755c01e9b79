/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cr.h"
#include "base/daplref.h"
#include "base/handle.h"
#include "base/ia.h"
#include "connect/cm_conn.h"
#include "connect/cm_event.h"
#include "connect/sp.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/qp.h"
#include "event/evd.h"
#include "event/evd_queue.h"
#include "event/owner.h"

#include <stdlib.h>
#include <string.h>

#define BAD_CR REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CR)

/* Sets the attributes of the Provider's EP to the peer's requested RDMA reads. */
static void match_request(struct ep *ep, const struct conn *conn)
{
        int limit = ep->obj.ia->limits.reads;

        ep->attr.max_rdma_read_in = min_int(conn->reads_in, limit);
        ep->attr.max_rdma_read_out = min_int(conn->reads_out, limit);
}

static bool assign_ep(struct service_point *point, struct cr *cr)
{
        struct ia *ia = point->obj.ia;

        if (point->reserved && point->spent)
                return false;
        if (point->ep) {
                cr->ep = point->ep;
                ep_must_transition(cr->ep, EP_CR_ARRIVED, (DAT_EVENT_NUMBER)0);
        } else if (point->flags == DAT_PSP_PROVIDER_FLAG) {
                if (ep_new_tentative(ia, &cr->ep) != DAT_SUCCESS)
                        return false;
                match_request(cr->ep, cr->conn);
                cr->ep_is_providers = true;
        }
        point->spent = true;
        return true;
}

/*
 * Kills an EP that the Provider made. Returns NULL if the closing IA has killed it. Called with
 * ia->cm_lock held.
 */
static struct ep *discard_provider_ep(struct ep *ep)
{
        if (!object_kill(&ep->obj))
                return NULL;
        ep_must_transition(ep, EP_DISCARDED, (DAT_EVENT_NUMBER)0);
        return ep;
}

/*
 * Frees the EP after all threads have released it. Called without ia->cm_lock, for which they may
 * wait.
 */
static void destroy_provider_ep(struct ep *ep)
{
        if (!ep)
                return;
        object_await_last(&ep->obj, 0);
        ep_destroy(ep);
}

static void note_peer(struct ep *ep, const struct cr *cr)
{
        ep->remote = cr->remote;
        ep->remote_port = cr->remote_port;
        ep->local_port = ntohs(rdma_get_src_port(cr->conn->id));
        ep->initiated = false;
}

/*
 * Reports a complete connection request on the service point's EVD. Returns false if the EVD is
 * full or there is no EP; the caller then rejects the request. Called with ia->cm_lock held.
 */
bool cr_deliver(struct service_point *point, struct conn *conn)
{
        struct ia *ia = point->obj.ia;
        struct cr *before = conn->cr; /* the CR that is handed off, or NULL */
        struct cr *cr = calloc(1, sizeof(*cr));
        const struct sockaddr *peer = rdma_get_peer_addr(conn->id);
        struct event event = {.dat.event_number = DAT_CONNECTION_REQUEST_EVENT, .notify = true};
        DAT_CR_ARRIVAL_EVENT_DATA *data = &event.dat.event_data.cr_arrival_event_data;

        if (!cr)
                return false;
        cr->conn = conn;
        memcpy(&cr->remote, peer,
               peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : sizeof(struct sockaddr_in));
        cr->remote_port = ntohs(rdma_get_dst_port(conn->id));
        memcpy(cr->private_data, conn->data, (size_t)conn->expected);
        cr->private_data_size = conn->expected;
        if (!assign_ep(point, cr))
                goto free;
        if (object_publish(ia, &cr->obj, DAT_HANDLE_TYPE_CR) != DAT_SUCCESS)
                goto unclaim;
        if (cr->ep)
                note_peer(cr->ep, cr);
        if (conn->state == CONN_GATHERING)
                conn_set_state(conn, CONN_REPORTED);
        conn->cr = cr;
        data->sp_handle.psp_handle = object_handle(&point->obj);
        data->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
        data->conn_qual = point->qual;
        data->cr_handle = object_handle(&cr->obj);
        if (evd_post(point->evd, &event)) {
                point->ep = NULL;
                return true;
        }
        /* A closing IA has killed it. */
        if (!object_kill(&cr->obj))
                return true;
        conn->cr = before;
        object_unpublish(&cr->obj);
unclaim:
        if (cr->ep_is_providers)
                destroy_provider_ep(discard_provider_ep(cr->ep));
        else if (cr->ep)
                ep_must_transition(cr->ep, EP_CR_UNDELIVERED, (DAT_EVENT_NUMBER)0);
        point->spent = false;
free:
        free(cr);
        return false;
}

/* dat_cr_query(3DAT) */
DAT_RETURN ref_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
        struct cr *cr = object_get(handle, DAT_HANDLE_TYPE_CR);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!cr)
                return BAD_CR;
        if ((unsigned int)mask & ~(unsigned int)DAT_CR_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&cr->obj.ia->cm_lock);
                *param = (DAT_CR_PARAM){
                    .remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote,
                    .remote_port_qual = cr->remote_port,
                    .private_data_size = cr->private_data_size,
                    .private_data = cr->private_data_size ? cr->private_data : NULL,
                    .local_ep_handle = cr->ep ? object_handle(&cr->ep->obj) : DAT_HANDLE_NULL,
                };
                pthread_mutex_unlock(&cr->obj.ia->cm_lock);
        }
        object_put(cr);
        return ret;
}

/* Frees a dead CR that only the caller holds. */
static void finish(struct cr *cr)
{
        object_await_last(&cr->obj, 1);
        object_unpublish(&cr->obj);
        free(cr);
}

/* Detaches the EP of a request that is not accepted. */
static struct ep *revert_ep(struct cr *cr)
{
        struct ep *ep = cr->ep;

        cr->ep = NULL;
        if (!ep)
                return NULL;
        if (cr->ep_is_providers)
                return discard_provider_ep(ep);
        ep_must_transition(ep, EP_CR_DISPOSED, (DAT_EVENT_NUMBER)0);
        return NULL;
}

/* A CR is killed under ia->cm_lock. Of two threads with one CR, the second finds it dead. */
static DAT_RETURN refuse(struct cr *cr, bool by_peer, int size, const void *data)
{
        struct ia *ia = cr->obj.ia;
        struct ep *ours;

        pthread_mutex_lock(&ia->cm_lock);
        if (!object_kill(&cr->obj)) {
                pthread_mutex_unlock(&ia->cm_lock);
                object_put(cr);
                return BAD_CR;
        }
        ours = revert_ep(cr);
        cr->conn->cr = NULL;
        if (by_peer)
                conn_reject(cr->conn, size, data);
        else
                conn_refuse(cr->conn);
        pthread_mutex_unlock(&ia->cm_lock);
        destroy_provider_ep(ours);
        finish(cr);
        return DAT_SUCCESS;
}

/* dat_cr_reject(3DAT). The private data, which DAT 1.2 lacks, is in the peer's event. */
DAT_RETURN ref_cr_reject(DAT_CR_HANDLE handle, DAT_COUNT size, const DAT_PVOID data)
{
        struct cr *cr = object_get(handle, DAT_HANDLE_TYPE_CR);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!cr)
                return BAD_CR;
        if (size < 0 || size > REF_MAX_PRIVATE_DATA)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (size && !data)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS)
                return refuse(cr, true, size, data);
        object_put(cr);
        return ret;
}

/* Rejects a request whose event the Consumer cannot take any more. */
void cr_discard(DAT_CR_HANDLE handle)
{
        struct cr *cr = object_get(handle, DAT_HANDLE_TYPE_CR);

        if (cr)
                (void)refuse(cr, false, 0, NULL);
}

/* Frees a dead CR of a closing IA. Its connection is freed separately. */
void cr_destroy(struct cr *cr)
{
        cr->conn->cr = NULL;
        object_unpublish(&cr->obj);
        free(cr);
}

static DAT_RETURN choose_ep(struct cr *cr, DAT_EP_HANDLE ep_handle, struct ep **out)
{
        DAT_RETURN bad = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        struct ep *ep;

        *out = NULL;
        if (cr->ep) {
                if (ep_handle != DAT_HANDLE_NULL)
                        return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
                if (!object_pin(&cr->ep->obj))
                        return bad;
                *out = cr->ep;
                return DAT_SUCCESS;
        }
        ep = object_get(ep_handle, DAT_HANDLE_TYPE_EP);
        if (!ep)
                return bad;
        *out = ep;
        return ep->obj.ia == cr->obj.ia ? DAT_SUCCESS : bad;
}

static DAT_RETURN accept_locked(struct cr *cr, struct ep *ep, DAT_COUNT size, const void *data)
{
        enum ep_event accepts = cr->ep == ep ? EP_ACCEPT_OWN : EP_ACCEPT;
        DAT_RETURN ret;

        if (!ep_allows(ep, accepts))
                return ep_state_error(ep);
        ret = ep_make_qp(ep);
        if (ret != DAT_SUCCESS)
                return ret;
        if (!object_kill(&cr->obj)) {
                ep_drop_qp(ep);
                return BAD_CR;
        }
        note_peer(ep, cr);
        cr->conn->cr = NULL;
        cr->ep = NULL;
        ep_must_transition(ep, accepts, (DAT_EVENT_NUMBER)0);
        conn_accept(cr->conn, ep, size, data);
        return DAT_SUCCESS;
}

/*
 * dat_cr_accept(3DAT). Returns DAT_INVALID_STATE, and changes nothing, if the EP lacks a zone or
 * connect EVD or is in the wrong state. A peer that cancelled is reported on the connect EVD.
 */
DAT_RETURN ref_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_COUNT size,
                         const DAT_PVOID data)
{
        struct cr *cr = object_get(handle, DAT_HANDLE_TYPE_CR);
        struct ep *ep = NULL;
        DAT_RETURN ret = DAT_SUCCESS;
        bool paused;

        if (!cr)
                return BAD_CR;
        if (size < 0 || size > REF_MAX_PRIVATE_DATA)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (size && !data)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        if (ret == DAT_SUCCESS) {
                paused = cm_call_begin(cr->obj.ia);
                ret = choose_ep(cr, ep_handle, &ep);
                if (ret == DAT_SUCCESS)
                        ret = accept_locked(cr, ep, size, data);
                cm_call_end(cr->obj.ia, paused, ret);
        }
        if (ep)
                object_put(ep);
        if (ret == DAT_SUCCESS)
                finish(cr);
        else
                object_put(cr);
        return ret;
}

/*
 * dat_cr_handoff(3DAT): to another service point of this IA. Returns DAT_INVALID_PARAMETER if there
 * is none with that qualifier, or if it cannot take the request.
 */
DAT_RETURN ref_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL qual)
{
        struct cr *cr = object_get(handle, DAT_HANDLE_TYPE_CR);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        struct service_point *point;
        struct ep *ours = NULL;

        if (!cr)
                return BAD_CR;
        pthread_mutex_lock(&cr->obj.ia->cm_lock);
        point = point_find(cr->obj.ia, qual);
        if (!object_lives(&cr->obj)) {
                ret = BAD_CR;
        } else if (point && cr_deliver(point, cr->conn)) {
                ret = object_kill(&cr->obj) ? DAT_SUCCESS : BAD_CR;
                if (ret == DAT_SUCCESS)
                        ours = revert_ep(cr);
        }
        pthread_mutex_unlock(&cr->obj.ia->cm_lock);
        if (ret != DAT_SUCCESS) {
                object_put(cr);
                return ret;
        }
        destroy_provider_ep(ours);
        finish(cr);
        return ret;
}
