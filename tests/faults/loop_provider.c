/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider in software for these tests. Each of its EPs is connected to itself: what is sent
 * comes back into the oldest receive of its SRQ, or its own. A connect to the IA's one PSP raises
 * the request there; accepting it establishes the EP that asked.
 */
#include <dat/dat_registry.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT     __attribute__((visibility("default")))
#define ERROR(why) (DAT_CLASS_ERROR | (why))
#define QUEUE      64

struct receive {
        DAT_LMR_TRIPLET segment;
        DAT_DTO_COOKIE cookie;
};

/* Any object; what it does not need is unused. A destroyed one is kept, with no type. */
struct object {
        const DAT_PROVIDER *table;
        int type;
        DAT_CONTEXT context;
        struct object *ia, *pz, *recv_evd, *request_evd, *connect_evd, *srq;
        /* EVD */
        DAT_EVENT events[QUEUE];
        int event_count;
        /* EP, SRQ */
        struct receive receives[QUEUE];
        int receive_count;
        int unreaped;
        DAT_COUNT size;
        DAT_COUNT low_watermark;
        DAT_EP_STATE state;
        /* CNO */
        DAT_OS_WAIT_PROXY_AGENT agent;
};

static const DAT_PROVIDER loop_table;
static DAT_PROVIDER_INFO registered;
static struct object *listener;
static struct object *cno;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;

static struct object *object_new(struct object *ia, int type)
{
        struct object *object = calloc(1, sizeof(*object));

        object->table = &loop_table;
        object->type = type;
        object->ia = ia;
        return object;
}

static bool is(const struct object *object, int type)
{
        return object && object->type == type;
}

static DAT_RETURN destroy(struct object *object, int type)
{
        if (!is(object, type))
                return ERROR(DAT_INVALID_HANDLE);
        object->type = -1;
        return DAT_SUCCESS;
}

static void push(struct object *evd, DAT_EVENT event)
{
        pthread_mutex_lock(&lock);
        event.evd_handle = evd;
        evd->events[evd->event_count++] = event;
        pthread_cond_broadcast(&arrived);
        pthread_mutex_unlock(&lock);
        if (cno && cno->agent.proxy_agent_func)
                cno->agent.proxy_agent_func(cno->agent.instance_data, evd);
}

static bool pop(struct object *evd, DAT_EVENT *event)
{
        struct object *ep;

        if (!evd->event_count)
                return false;
        *event = evd->events[0];
        memmove(&evd->events[0], &evd->events[1], sizeof(*event) * (size_t)--evd->event_count);
        ep = event->event_data.dto_completion_event_data.ep_handle;
        if (event->event_number == DAT_DTO_COMPLETION_EVENT && ep->srq && evd == ep->recv_evd)
                ep->srq->unreaped--;
        return true;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
                          DAT_IA_HANDLE *ia)
{
        struct object *object = object_new(NULL, DAT_HANDLE_TYPE_IA);

        (void)name;
        (void)qlen;
        object->ia = object;
        if (!*async_evd)
                *async_evd = object_new(object, DAT_HANDLE_TYPE_EVD);
        object->recv_evd = *async_evd;
        *ia = object;
        return DAT_SUCCESS;
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR *attr)
{
        if (!is(ia, DAT_HANDLE_TYPE_IA))
                return ERROR(DAT_INVALID_HANDLE);
        if (async_evd)
                *async_evd = ((struct object *)ia)->recv_evd;
        if (ia_mask)
                ia_attr->max_srqs = 7;
        if (mask) {
                attr->dapl_version_major = registered.dapl_version_major;
                attr->dapl_version_minor = registered.dapl_version_minor;
                attr->is_thread_safe = registered.is_thread_safe;
        }
        return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
        (void)flags;
        listener = NULL;
        cno = NULL;
        return destroy(ia, DAT_HANDLE_TYPE_IA);
}

static DAT_RETURN set_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
        ((struct object *)handle)->context = context;
        return DAT_SUCCESS;
}

static DAT_RETURN get_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
        *context = ((struct object *)handle)->context;
        return DAT_SUCCESS;
}

static DAT_RETURN get_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
        if (((struct object *)handle)->type < 0)
                return ERROR(DAT_INVALID_HANDLE);
        *type = (DAT_HANDLE_TYPE)((struct object *)handle)->type;
        return DAT_SUCCESS;
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
        if (!is(ia, DAT_HANDLE_TYPE_IA))
                return ERROR(DAT_INVALID_HANDLE);
        *pz = object_new(ia, DAT_HANDLE_TYPE_PZ);
        return DAT_SUCCESS;
}

static DAT_RETURN pz_query(DAT_PZ_HANDLE pz, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
        (void)mask;
        if (!is(pz, DAT_HANDLE_TYPE_PZ))
                return ERROR(DAT_INVALID_HANDLE);
        param->ia_handle = ((struct object *)pz)->ia;
        return DAT_SUCCESS;
}

static DAT_RETURN pz_free(DAT_PZ_HANDLE pz)
{
        return destroy(pz, DAT_HANDLE_TYPE_PZ);
}

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                             DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                             DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
                             DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                             DAT_VADDR *registered_address)
{
        (void)privileges;
        if (!is(pz, DAT_HANDLE_TYPE_PZ))
                return ERROR(DAT_INVALID_HANDLE);
        if (type == DAT_MEM_TYPE_LMR && !is(region.for_lmr_handle, DAT_HANDLE_TYPE_LMR))
                return ERROR(DAT_INVALID_HANDLE);
        *lmr = object_new(ia, DAT_HANDLE_TYPE_LMR);
        ((struct object *)*lmr)->pz = pz;
        *lmr_context = 1;
        *rmr_context = 1;
        *registered_length = length;
        *registered_address = (DAT_VADDR)(uintptr_t)region.for_va;
        return DAT_SUCCESS;
}

static DAT_RETURN lmr_free(DAT_LMR_HANDLE lmr)
{
        return destroy(lmr, DAT_HANDLE_TYPE_LMR);
}

static DAT_RETURN cno_create(DAT_IA_HANDLE ia, DAT_OS_WAIT_PROXY_AGENT agent,
                             DAT_CNO_HANDLE *handle)
{
        cno = object_new(ia, DAT_HANDLE_TYPE_CNO);
        cno->agent = agent;
        *handle = cno;
        return DAT_SUCCESS;
}

static DAT_RETURN cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
        (void)mask;
        param->ia_handle = ((struct object *)handle)->ia;
        param->agent = ((struct object *)handle)->agent;
        return DAT_SUCCESS;
}

static DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
                             DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
        (void)qlen;
        (void)cno_handle;
        (void)flags;
        if (!is(ia, DAT_HANDLE_TYPE_IA))
                return ERROR(DAT_INVALID_HANDLE);
        *evd = object_new(ia, DAT_HANDLE_TYPE_EVD);
        return DAT_SUCCESS;
}

static DAT_RETURN evd_free(DAT_EVD_HANDLE evd)
{
        return destroy(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
        if (!is(evd, DAT_HANDLE_TYPE_EVD))
                return ERROR(DAT_INVALID_HANDLE);
        push(evd, *event);
        return DAT_SUCCESS;
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        bool popped;

        if (!is(evd, DAT_HANDLE_TYPE_EVD))
                return ERROR(DAT_INVALID_HANDLE);
        pthread_mutex_lock(&lock);
        popped = pop(evd, event);
        pthread_mutex_unlock(&lock);
        return popped ? DAT_SUCCESS : ERROR(DAT_QUEUE_EMPTY);
}

static DAT_RETURN evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                           DAT_EVENT *event, DAT_COUNT *n_more)
{
        struct object *evd = handle;
        struct timespec until;
        uint64_t us = timeout;
        bool popped;
        int late = 0;

        (void)threshold;
        if (!is(evd, DAT_HANDLE_TYPE_EVD))
                return ERROR(DAT_INVALID_HANDLE);
        clock_gettime(CLOCK_REALTIME, &until);
        us += (uint64_t)until.tv_nsec / 1000;
        until.tv_sec += (time_t)(us / 1000000);
        until.tv_nsec = (long)(us % 1000000) * 1000;
        pthread_mutex_lock(&lock);
        while (!evd->event_count && !late)
                late = pthread_cond_timedwait(&arrived, &lock, &until);
        popped = pop(evd, event);
        *n_more = evd->event_count;
        pthread_mutex_unlock(&lock);
        return popped ? DAT_SUCCESS : ERROR(DAT_TIMEOUT_EXPIRED);
}

static DAT_RETURN ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                                     DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                                     DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr,
                                     DAT_EP_HANDLE *handle)
{
        struct object *ep;

        if (!is(pz, DAT_HANDLE_TYPE_PZ) || !is(recv_evd, DAT_HANDLE_TYPE_EVD) ||
            (srq && !is(srq, DAT_HANDLE_TYPE_SRQ)))
                return ERROR(DAT_INVALID_HANDLE);
        ep = object_new(ia, DAT_HANDLE_TYPE_EP);
        ep->pz = pz;
        ep->recv_evd = recv_evd;
        ep->request_evd = request_evd;
        ep->connect_evd = connect_evd;
        ep->srq = srq;
        ep->size = attr ? attr->max_recv_dtos : 4;
        *handle = ep;
        return DAT_SUCCESS;
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                            DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
        return ep_create_with_srq(ia, pz, recv_evd, request_evd, connect_evd, NULL, attr, ep);
}

static DAT_RETURN ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
        struct object *ep = handle;

        (void)mask;
        if (!is(ep, DAT_HANDLE_TYPE_EP))
                return ERROR(DAT_INVALID_HANDLE);
        param->ia_handle = ep->ia;
        param->ep_state = ep->state;
        param->pz_handle = ep->pz;
        param->recv_evd_handle = ep->recv_evd;
        param->request_evd_handle = ep->request_evd;
        param->connect_evd_handle = ep->connect_evd;
        param->srq_handle = ep->srq;
        param->ep_attr.max_recv_dtos = ep->size;
        return DAT_SUCCESS;
}

static DAT_RETURN ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
        struct object *ep = handle;

        if (!is(ep, DAT_HANDLE_TYPE_EP) ||
            ((mask & DAT_EP_FIELD_PZ_HANDLE) && !is(param->pz_handle, DAT_HANDLE_TYPE_PZ)))
                return ERROR(DAT_INVALID_HANDLE);
        if (mask & DAT_EP_FIELD_PZ_HANDLE)
                ep->pz = param->pz_handle;
        return DAT_SUCCESS;
}

static DAT_RETURN ep_get_status(DAT_EP_HANDLE ep, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
                                DAT_BOOLEAN *request_idle)
{
        if (!is(ep, DAT_HANDLE_TYPE_EP))
                return ERROR(DAT_INVALID_HANDLE);
        *state = ((struct object *)ep)->state;
        *recv_idle = DAT_FALSE;
        *request_idle = DAT_TRUE;
        return DAT_SUCCESS;
}

static DAT_RETURN post(struct object *queue, int type, DAT_COUNT segments,
                       const DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie)
{
        if (!is(queue, type))
                return ERROR(DAT_INVALID_HANDLE);
        if (queue->receive_count + queue->unreaped >= queue->size)
                return ERROR(DAT_INSUFFICIENT_RESOURCES);
        if (segments != 1)
                return ERROR(DAT_INVALID_PARAMETER);
        queue->receives[queue->receive_count++] = (struct receive){*iov, cookie};
        return DAT_SUCCESS;
}

static DAT_RETURN ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                               DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
        (void)flags;
        return post(ep, DAT_HANDLE_TYPE_EP, segments, iov, cookie);
}

static void *at(DAT_VADDR address)
{
        return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr) */
}

static void complete(struct object *evd, struct object *ep, DAT_DTO_COOKIE cookie, DAT_VLEN length)
{
        push(evd,
             (DAT_EVENT){.event_number = DAT_DTO_COMPLETION_EVENT,
                         .event_data.dto_completion_event_data = {.ep_handle = ep,
                                                                  .user_cookie = cookie,
                                                                  .status = DAT_DTO_SUCCESS,
                                                                  .transfered_length = length}});
}

static DAT_RETURN ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                               DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
        struct object *ep = handle;
        struct object *queue;
        struct receive receive;

        if (!is(ep, DAT_HANDLE_TYPE_EP))
                return ERROR(DAT_INVALID_HANDLE);
        queue = ep->srq ? ep->srq : ep;
        if (segments != 1 || !queue->receive_count)
                return ERROR(DAT_INVALID_STATE);
        receive = queue->receives[0];
        memmove(&queue->receives[0], &queue->receives[1],
                sizeof(receive) * (size_t)--queue->receive_count);
        queue->unreaped += ep->srq != NULL;
        memcpy(at(receive.segment.virtual_address), at(iov->virtual_address),
               (size_t)iov->segment_length);
        complete(ep->recv_evd, ep, receive.cookie, iov->segment_length);
        if (!(flags & DAT_COMPLETION_SUPPRESS_FLAG))
                complete(ep->request_evd, ep, cookie, iov->segment_length);
        return DAT_SUCCESS;
}

static DAT_RETURN ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR address,
                             DAT_CONN_QUAL conn_qual, DAT_TIMEOUT timeout, DAT_COUNT size,
                             const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
        struct object *ep = handle;
        struct object *cr;

        (void)address;
        (void)timeout;
        (void)size;
        (void)data;
        (void)qos;
        (void)flags;
        if (!is(ep, DAT_HANDLE_TYPE_EP))
                return ERROR(DAT_INVALID_HANDLE);
        if (!listener)
                return ERROR(DAT_INVALID_ADDRESS);
        cr = object_new(ep->ia, DAT_HANDLE_TYPE_CR);
        cr->srq = ep;
        ep->state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
        push(listener->recv_evd,
             (DAT_EVENT){.event_number = DAT_CONNECTION_REQUEST_EVENT,
                         .event_data.cr_arrival_event_data = {.sp_handle.psp_handle = listener,
                                                              .conn_qual = conn_qual,
                                                              .cr_handle = cr}});
        return DAT_SUCCESS;
}

static DAT_RETURN psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
        (void)conn_qual;
        (void)flags;
        listener = object_new(ia, DAT_HANDLE_TYPE_PSP);
        listener->recv_evd = evd;
        *psp = listener;
        return DAT_SUCCESS;
}

/* As if the provider had made an EP of its own for the request. */
static DAT_RETURN cr_query(DAT_CR_HANDLE cr, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
        if (!is(cr, DAT_HANDLE_TYPE_CR))
                return ERROR(DAT_INVALID_HANDLE);
        if (mask & DAT_CR_FIELD_LOCAL_EP_HANDLE)
                param->local_ep_handle = object_new(((struct object *)cr)->ia, DAT_HANDLE_TYPE_EP);
        return DAT_SUCCESS;
}

static DAT_RETURN cr_accept(DAT_CR_HANDLE cr, DAT_EP_HANDLE ep, DAT_COUNT size,
                            const DAT_PVOID data)
{
        static char greeting[] = "hello";
        struct object *active;

        (void)ep;
        (void)size;
        (void)data;
        if (!is(cr, DAT_HANDLE_TYPE_CR))
                return ERROR(DAT_INVALID_HANDLE);
        active = ((struct object *)cr)->srq;
        active->state = DAT_EP_STATE_CONNECTED;
        push(active->connect_evd,
             (DAT_EVENT){.event_number = DAT_CONNECTION_EVENT_ESTABLISHED,
                         .event_data.connect_event_data = {.ep_handle = active,
                                                           .private_data_size = sizeof(greeting),
                                                           .private_data = greeting}});
        return destroy(cr, DAT_HANDLE_TYPE_CR);
}

static DAT_RETURN ep_free(DAT_EP_HANDLE ep)
{
        return destroy(ep, DAT_HANDLE_TYPE_EP);
}

static DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *handle)
{
        struct object *srq;

        if (!is(pz, DAT_HANDLE_TYPE_PZ))
                return ERROR(DAT_INVALID_HANDLE);
        srq = object_new(ia, DAT_HANDLE_TYPE_SRQ);
        srq->pz = pz;
        srq->size = attr->max_recv_dtos;
        *handle = srq;
        return DAT_SUCCESS;
}

static DAT_RETURN srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
        struct object *srq = handle;

        (void)mask;
        if (!is(srq, DAT_HANDLE_TYPE_SRQ))
                return ERROR(DAT_INVALID_HANDLE);
        *param = (DAT_SRQ_PARAM){.ia_handle = srq->ia,
                                 .pz_handle = srq->pz,
                                 .max_recv_dtos = srq->size,
                                 .max_recv_iov = 1,
                                 .low_watermark = srq->low_watermark,
                                 .available_dto_count = srq->receive_count,
                                 .outstanding_dto_count = srq->receive_count + srq->unreaped};
        return DAT_SUCCESS;
}

static DAT_RETURN srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT size)
{
        struct object *srq = handle;

        if (!is(srq, DAT_HANDLE_TYPE_SRQ))
                return ERROR(DAT_INVALID_HANDLE);
        if (size < srq->receive_count + srq->unreaped || size < srq->low_watermark)
                return ERROR(DAT_INVALID_STATE);
        srq->size = size;
        return DAT_SUCCESS;
}

static DAT_RETURN srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
        if (!is(srq, DAT_HANDLE_TYPE_SRQ))
                return ERROR(DAT_INVALID_HANDLE);
        ((struct object *)srq)->low_watermark = low_watermark;
        return DAT_SUCCESS;
}

static DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                                DAT_DTO_COOKIE cookie)
{
        return post(srq, DAT_HANDLE_TYPE_SRQ, segments, iov, cookie);
}

static DAT_RETURN srq_free(DAT_SRQ_HANDLE srq)
{
        return destroy(srq, DAT_HANDLE_TYPE_SRQ);
}

static const DAT_PROVIDER loop_table = {
    .device_name = "loop0",
    .ia_open_func = ia_open,
    .ia_query_func = ia_query,
    .ia_close_func = ia_close,
    .set_consumer_context_func = set_context,
    .get_consumer_context_func = get_context,
    .get_handle_type_func = get_type,
    .cno_create_func = cno_create,
    .cno_query_func = cno_query,
    .cr_query_func = cr_query,
    .cr_accept_func = cr_accept,
    .evd_create_func = evd_create,
    .evd_wait_func = evd_wait,
    .evd_post_se_func = evd_post_se,
    .evd_dequeue_func = evd_dequeue,
    .evd_free_func = evd_free,
    .ep_create_func = ep_create,
    .ep_query_func = ep_query,
    .ep_modify_func = ep_modify,
    .ep_connect_func = ep_connect,
    .ep_post_send_func = ep_post_send,
    .ep_post_recv_func = ep_post_recv,
    .ep_get_status_func = ep_get_status,
    .ep_free_func = ep_free,
    .lmr_create_func = lmr_create,
    .lmr_free_func = lmr_free,
    .psp_create_func = psp_create,
    .pz_create_func = pz_create,
    .pz_query_func = pz_query,
    .pz_free_func = pz_free,
    .ep_create_with_srq_func = ep_create_with_srq,
    .srq_create_func = srq_create,
    .srq_free_func = srq_free,
    .srq_post_recv_func = srq_post_recv,
    .srq_query_func = srq_query,
    .srq_resize_func = srq_resize,
    .srq_set_lw_func = srq_set_lw,
};

EXPORT void DAT_PROVIDER_INIT_FUNC_NAME(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
        (void)instance_data;
        registered = *info;
        dat_registry_add_provider(&loop_table, info);
}

EXPORT void DAT_PROVIDER_FINI_FUNC_NAME(const DAT_PROVIDER_INFO *info)
{
        dat_registry_remove_provider(&loop_table, info);
}
