/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/sp.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "connect/cm_conn.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "event/evd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BACKLOG         1024
#define BACKLOG_IWARP   128 /* the kernel allocates half a KiB for each */
#define FIRST_FREE_PORT 1024
#define HASHED_PORTS    31744 /* 1024 to 32767, below the kernel's ephemeral ports */

/*
 * Maps a Connection Qualifier of 64 bits to a port of 16. A qualifier from 1 to 65535 is its own
 * port. Others are hashed, equally on every host. A request carries the whole qualifier, so two
 * that share a port are distinguished.
 */
uint16_t port_of_qual(DAT_CONN_QUAL qual)
{
        uint64_t hash = qual;

        if (qual >= 1 && qual <= UINT16_MAX)
                return (uint16_t)qual;
        hash ^= hash >> 33;
        hash *= UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 33;
        hash *= UINT64_C(0xc4ceb9fe1a85ec53);
        hash ^= hash >> 33;
        return (uint16_t)(FIRST_FREE_PORT + hash % HASHED_PORTS);
}

static struct listener *find_listener(struct ia *ia, uint16_t port)
{
        struct link *head = &ia->listeners;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct listener *listener = container_of(at, struct listener, link);

                if (listener->port == port)
                        return listener;
        }
        return NULL;
}

/* Returns the service point of the qualifier, or NULL. Called with ia->cm_lock held. */
struct service_point *point_find(struct ia *ia, DAT_CONN_QUAL qual)
{
        struct listener *listener = find_listener(ia, port_of_qual(qual));
        struct link *head;

        if (!listener)
                return NULL;
        head = &listener->points;
        for (struct link *at = head->next; at != head; at = at->next) {
                struct service_point *point = container_of(at, struct service_point, point_link);

                if (point->qual == qual)
                        return point;
        }
        return NULL;
}

static DAT_RETURN listen_error(int error)
{
        if (error == EADDRINUSE || error == EADDRNOTAVAIL)
                return REF_ERROR(DAT_CONN_QUAL_IN_USE, 0);
        if (error == EACCES || error == EPERM)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
        if (address->ss_family == AF_INET6)
                ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
        else
                ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static DAT_RETURN open_listener(struct ia *ia, uint16_t port, struct listener **out)
{
        struct sockaddr_storage address = ia->address;
        struct listener *listener = calloc(1, sizeof(*listener));
        DAT_RETURN ret;

        if (!listener)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        listener->kind = CONN_LISTENER;
        list_init(&listener->points);
        set_port(&address, port);
        if (rdma_create_id(ia->cm, &listener->id, listener, RDMA_PS_TCP)) {
                ret = listen_error(errno);
                goto free;
        }
        if (rdma_bind_addr(listener->id, (struct sockaddr *)&address) ||
            rdma_listen(listener->id, ia->iwarp ? BACKLOG_IWARP : BACKLOG)) {
                ret = listen_error(errno);
                goto destroy;
        }
        listener->port = ntohs(rdma_get_src_port(listener->id));
        list_append(&ia->listeners, &listener->link);
        *out = listener;
        return DAT_SUCCESS;
destroy:
        rdma_destroy_id(listener->id);
free:
        free(listener);
        return ret;
}

static void add_point(struct listener *listener, struct service_point *point, DAT_CONN_QUAL qual)
{
        point->listener = listener;
        point->qual = qual;
        list_append(&listener->points, &point->point_link);
}

/*
 * Starts to listen for the qualifier. Returns DAT_CONN_QUAL_IN_USE if another service point has it.
 */
DAT_RETURN point_listen(struct ia *ia, DAT_CONN_QUAL qual, struct service_point *point)
{
        uint16_t port = port_of_qual(qual);
        DAT_RETURN ret = DAT_SUCCESS;
        struct listener *listener;

        pthread_mutex_lock(&ia->cm_lock);
        listener = find_listener(ia, port);
        if (point_find(ia, qual))
                ret = REF_ERROR(DAT_CONN_QUAL_IN_USE, 0);
        else if (!listener)
                ret = open_listener(ia, port, &listener);
        if (ret == DAT_SUCCESS)
                add_point(listener, point, qual);
        pthread_mutex_unlock(&ia->cm_lock);
        return ret;
}

/* Starts to listen on a port that the kernel chooses; the qualifier is the port. */
DAT_RETURN point_listen_any(struct ia *ia, struct service_point *point)
{
        struct listener *listener;
        DAT_RETURN ret;

        pthread_mutex_lock(&ia->cm_lock);
        ret = open_listener(ia, 0, &listener);
        if (ret == DAT_SUCCESS)
                add_point(listener, point, listener->port);
        pthread_mutex_unlock(&ia->cm_lock);
        if (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE)
                ret = REF_ERROR(DAT_CONN_QUAL_UNAVAILABLE, 0);
        return ret;
}

/* Stops listening. rdma_destroy_id() waits for events in progress, so ia->cm_lock must be free. */
void point_unlisten(struct service_point *point)
{
        struct ia *ia = point->obj.ia;
        struct listener *listener = point->listener;

        if (!listener)
                return;
        pthread_mutex_lock(&ia->cm_lock);
        list_remove(&point->point_link);
        if (list_empty(&listener->points))
                list_remove(&listener->link);
        else
                listener = NULL;
        /* In a closing IA the EP is Disconnected already. */
        if (point->ep)
                (void)ep_transition(point->ep, EP_RSP_FREED, (DAT_EVENT_NUMBER)0);
        point->ep = NULL;
        pthread_mutex_unlock(&ia->cm_lock);
        if (!listener)
                return;
        rdma_destroy_id(listener->id);
        free(listener);
}

/* Frees a dead PSP or RSP. */
void point_destroy(struct service_point *point)
{
        point_unlisten(point);
        evd_count_other(point->evd, -1);
        object_unuse(&point->evd->obj);
        object_unpublish(&point->obj);
        free(point);
}

static DAT_RETURN get_cr_evd(struct ia *ia, DAT_EVD_HANDLE handle, struct evd **out)
{
        DAT_RETURN bad = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_CR);
        struct evd *evd = object_get(handle, DAT_HANDLE_TYPE_EVD);
        DAT_RETURN ret = bad;

        if (!evd)
                return bad;
        if (evd->obj.ia == ia && evd->flags & DAT_EVD_CR_FLAG)
                ret = object_use(&evd->obj, bad);
        if (ret == DAT_SUCCESS) {
                evd_count_other(evd, 1);
                *out = evd;
        }
        object_put(evd);
        return ret;
}

static DAT_RETURN create_point(struct ia *ia, const struct service_point *wanted,
                               DAT_EVD_HANDLE evd_handle, bool any, struct service_point **out)
{
        DAT_HANDLE_TYPE kind = wanted->reserved ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP;
        struct service_point *point = calloc(1, sizeof(*point));
        DAT_RETURN ret;

        if (!point)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        *point = *wanted;
        list_init(&point->point_link);
        ret = get_cr_evd(ia, evd_handle, &point->evd);
        if (ret != DAT_SUCCESS)
                goto free;
        ret = object_publish(ia, &point->obj, kind);
        if (ret != DAT_SUCCESS)
                goto unuse;
        ret = any ? point_listen_any(ia, point) : point_listen(ia, wanted->qual, point);
        if (ret != DAT_SUCCESS)
                goto bury;
        *out = point;
        return ret;
bury:
        object_kill(&point->obj);
        object_unpublish(&point->obj);
unuse:
        evd_count_other(point->evd, -1);
        object_unuse(&point->evd->obj);
free:
        free(point);
        return ret;
}

static DAT_RETURN create_psp(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual, bool any,
                             DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
                             DAT_PSP_HANDLE *psp_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct service_point wanted = {.flags = flags};
        struct service_point *point;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (!qual) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        } else if (!psp_handle) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        } else {
                wanted.qual = any ? 0 : *qual;
                ret = create_point(ia, &wanted, evd_handle, any, &point);
        }
        if (ret == DAT_SUCCESS) {
                *qual = point->qual;
                *psp_handle = object_handle(&point->obj);
        }
        object_put(ia);
        return ret;
}

/* dat_psp_create(3DAT) */
DAT_RETURN ref_psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd_handle,
                          DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp_handle)
{
        return create_psp(ia_handle, &qual, false, evd_handle, flags, psp_handle);
}

/* dat_psp_create_any(3DAT) */
DAT_RETURN ref_psp_create_any(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *qual,
                              DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags,
                              DAT_PSP_HANDLE *psp_handle)
{
        return create_psp(ia_handle, qual, true, evd_handle, flags, psp_handle);
}

/* dat_psp_query(3DAT) */
DAT_RETURN ref_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
        struct service_point *point = object_get(handle, DAT_HANDLE_TYPE_PSP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!point)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PSP);
        if ((unsigned int)mask & ~(unsigned int)DAT_PSP_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (!param)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else
                *param = (DAT_PSP_PARAM){
                    .ia_handle = abi_ia_handle(&point->obj.ia->obj),
                    .conn_qual = point->qual,
                    .evd_handle = object_handle(&point->evd->obj),
                    .psp_flags = point->flags,
                };
        object_put(point);
        return ret;
}

static DAT_RETURN free_point(DAT_HANDLE handle, DAT_HANDLE_TYPE kind, int subtype)
{
        struct service_point *point = object_get(handle, kind);
        DAT_RETURN ret;

        if (!point)
                return REF_ERROR(DAT_INVALID_HANDLE, subtype);
        ret = object_retire(&point->obj, REF_ERROR(DAT_INVALID_HANDLE, subtype));
        if (ret == DAT_SUCCESS)
                point_destroy(point);
        return ret;
}

/* dat_psp_free(3DAT). CRs that were reported stay valid. */
DAT_RETURN ref_psp_free(DAT_PSP_HANDLE handle)
{
        return free_point(handle, DAT_HANDLE_TYPE_PSP, DAT_INVALID_HANDLE_PSP);
}

static DAT_RETURN reserve_ep(struct ep *ep)
{
        DAT_RETURN ret = DAT_SUCCESS;

        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        if (!ep_transition(ep, EP_RSP_CREATED, (DAT_EVENT_NUMBER)0))
                ret = ep_state_error(ep);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
        return ret;
}

static void unreserve_ep(struct ep *ep)
{
        pthread_mutex_lock(&ep->obj.ia->cm_lock);
        ep_must_transition(ep, EP_RSP_FREED, (DAT_EVENT_NUMBER)0);
        pthread_mutex_unlock(&ep->obj.ia->cm_lock);
}

/* dat_rsp_create(3DAT). Without an EP, the Provider makes one when the request arrives. */
DAT_RETURN ref_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep_handle,
                          DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *rsp_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct service_point wanted = {.reserved = true, .qual = qual};
        struct service_point *point;
        struct ep *ep = NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (ep_handle != DAT_HANDLE_NULL) {
                ep = object_get(ep_handle, DAT_HANDLE_TYPE_EP);
                if (!ep || ep->obj.ia != ia)
                        ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        } else {
                wanted.flags = DAT_PSP_PROVIDER_FLAG;
        }
        if (ret == DAT_SUCCESS && !rsp_handle)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        if (ret == DAT_SUCCESS && ep)
                ret = reserve_ep(ep);
        if (ret == DAT_SUCCESS) {
                wanted.ep = ep;
                ret = create_point(ia, &wanted, evd_handle, false, &point);
                if (ret == DAT_SUCCESS)
                        *rsp_handle = object_handle(&point->obj);
                else if (ep)
                        unreserve_ep(ep);
        }
        if (ep)
                object_put(ep);
        object_put(ia);
        return ret;
}

/* dat_rsp_query(3DAT) */
DAT_RETURN ref_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
        struct service_point *point = object_get(handle, DAT_HANDLE_TYPE_RSP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!point)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RSP);
        if ((unsigned int)mask & ~(unsigned int)DAT_RSP_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&point->obj.ia->cm_lock);
                *param = (DAT_RSP_PARAM){
                    .ia_handle = abi_ia_handle(&point->obj.ia->obj),
                    .conn_qual = point->qual,
                    .evd_handle = object_handle(&point->evd->obj),
                    .ep_handle = point->ep ? object_handle(&point->ep->obj) : DAT_HANDLE_NULL,
                };
                pthread_mutex_unlock(&point->obj.ia->cm_lock);
        }
        object_put(point);
        return ret;
}

/* dat_rsp_free(3DAT). An unclaimed EP becomes Unconnected again. */
DAT_RETURN ref_rsp_free(DAT_RSP_HANDLE handle)
{
        return free_point(handle, DAT_HANDLE_TYPE_RSP, DAT_INVALID_HANDLE_RSP);
}
