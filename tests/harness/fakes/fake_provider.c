/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A provider in software, for tests of the harness: IA, PZ, EVD, LMR, SRQ, and EPs and service
 * points that nothing ever connects to. Its dat.conf entry's ia_params are words "site=act" that
 * make it misbehave (misbehaviour.c); without any it keeps the rules that the self-test cases look
 * at.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dat/dat_registry.h>

#include "misbehaviour.h"

#define QUEUE 64

#define FAIL(type_) ((DAT_RETURN)(DAT_CLASS_ERROR | (type_)))

struct object {
        const DAT_PROVIDER *provider;
        DAT_HANDLE_TYPE type;
        struct object *next; /* of all that are alive */
        struct object *ia;
        DAT_SRQ_PARAM srq;
        DAT_EP_PARAM ep;
        unsigned char *memory;     /* of an LMR */
        DAT_PVOID pointers[QUEUE]; /* of an EVD: what its software events point at, */
        int events, taken;         /* how many have come and how many are taken */
        bool unwaitable;
        bool waiting; /* a thread, on an EVD */
};

static DAT_PROVIDER table;
static DAT_PROVIDER_INFO registered;
static struct object *alive;
static DAT_EVD_HANDLE async_evd;
static void *no_functions[8];
static void **no_table = no_functions;
static struct object *spare; /* whose address the next one has */
static char name[DAT_NAME_MAX_LENGTH];
static struct sockaddr_in address = {.sin_family = AF_INET};

/* Answers a call with what the test wants it to say, if it wants anything. */
#define MISBEHAVE(site_)                            \
        do {                                        \
                DAT_RETURN ret_ = misbehave(site_); \
                if (ret_ != DAT_SUCCESS)            \
                        return ret_;                \
        } while (0)

static struct object *find(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
        for (struct object *o = alive; o; o = o->next)
                if (o == handle && o->type == type)
                        return o;
        return NULL;
}

static DAT_RETURN make(DAT_HANDLE ia, DAT_HANDLE_TYPE type, DAT_HANDLE *made)
{
        struct object *object = spare ? spare : calloc(1, sizeof(*object));

        if (!object)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        spare = NULL;
        memset(object, 0, sizeof(*object));
        object->provider = &table;
        object->type = type;
        object->ia = ia;
        object->next = alive;
        alive = object;
        *made = object;
        return DAT_SUCCESS;
}

static void unmake(struct object *object)
{
        struct object **link = &alive;

        while (*link != object)
                link = &(*link)->next;
        *link = object->next;
        if (is_wanted("handles=reused") && !spare)
                spare = object;
        else
                free(object);
}

static DAT_RETURN free_object(DAT_HANDLE handle, DAT_HANDLE_TYPE type)
{
        struct object *object = find(handle, type);

        MISBEHAVE("free");
        if (!object)
                return FAIL(DAT_INVALID_HANDLE);
        unmake(object);
        return DAT_SUCCESS;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR ia_name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
                          DAT_IA_HANDLE *ia)
{
        (void)qlen;
        MISBEHAVE("open");
        snprintf(name, sizeof(name), "%s", ia_name);
        if (make(NULL, DAT_HANDLE_TYPE_IA, ia) != DAT_SUCCESS)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        if (make(*ia, DAT_HANDLE_TYPE_EVD, async) != DAT_SUCCESS)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        async_evd = *async;
        if (is_wanted("async=in_name"))
                *async = (DAT_EVD_HANDLE)&no_table;
        return DAT_SUCCESS;
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
                           DAT_PROVIDER_ATTR *provider_attr)
{
        (void)async;
        MISBEHAVE("ia_query");
        if (!find(ia, DAT_HANDLE_TYPE_IA))
                return FAIL(DAT_INVALID_HANDLE);
        if (is_wanted("ia_query=in_name"))
                return DAT_SUCCESS;
        if (ia_mask && ia_attr) {
                memset(ia_attr, 0, sizeof(*ia_attr));
                snprintf(ia_attr->adapter_name, sizeof(ia_attr->adapter_name), "fake");
                address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
                ia_attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&address;
                ia_attr->max_srqs = 4;
                ia_attr->max_pzs = is_wanted("zones=two") ? 2 : 5;
                ia_attr->max_lmr_virtual_address = ~(DAT_VADDR)0;
        }
        if (provider_mask && provider_attr) {
                DAT_BOOLEAN untouched = provider_attr->srq_supported;

                memset((void *)provider_attr, 0, sizeof(*provider_attr));
                snprintf(provider_attr->provider_name, sizeof(provider_attr->provider_name), "%s",
                         registered.ia_name);
                provider_attr->dapl_version_major = registered.dapl_version_major;
                provider_attr->dapl_version_minor = registered.dapl_version_minor;
                provider_attr->is_thread_safe = registered.is_thread_safe;
                provider_attr->srq_supported = !is_wanted("srq=absent");
                if (is_wanted("attributes=unwritten"))
                        provider_attr->srq_supported = untouched;
                if (is_wanted("psp=of_provider"))
                        provider_attr->ep_creator = DAT_PSP_CREATES_EP_ALWAYS;
                provider_attr->srq_info_supported = 3;
                provider_attr->completion_flags_supported = DAT_COMPLETION_UNSIGNALLED_FLAG;
        }
        return DAT_SUCCESS;
}

static bool has_children(const struct object *ia)
{
        for (const struct object *o = alive; o; o = o->next)
                if (o->ia == ia && o->next && o->type != DAT_HANDLE_TYPE_EVD)
                        return true;
        return false;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
        struct object *ia = find(handle, DAT_HANDLE_TYPE_IA);
        struct object *next;

        MISBEHAVE("close");
        if (flags == DAT_CLOSE_ABRUPT_FLAG)
                MISBEHAVE("abrupt");
        if (!ia)
                return FAIL(DAT_INVALID_HANDLE);
        if (flags == DAT_CLOSE_GRACEFUL_FLAG && has_children(ia))
                return FAIL(DAT_INVALID_STATE) | DAT_INVALID_STATE_IA_IN_USE;
        for (struct object *o = alive; o; o = next) {
                next = o->next;
                if (o->ia == ia)
                        unmake(o);
        }
        unmake(ia);
        return DAT_SUCCESS;
}

static int count(DAT_HANDLE_TYPE type)
{
        int count = 0;

        for (struct object *o = alive; o; o = o->next)
                count += o->type == type;
        return count;
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
        if (!find(ia, DAT_HANDLE_TYPE_IA))
                return FAIL(DAT_INVALID_HANDLE);
        if ((is_wanted("zones=two") || is_wanted("zones=fewer")) && count(DAT_HANDLE_TYPE_PZ) >= 2)
                return FAIL(DAT_INSUFFICIENT_RESOURCES);
        return make(ia, DAT_HANDLE_TYPE_PZ, pz);
}

static DAT_RETURN pz_free(DAT_PZ_HANDLE pz)
{
        return free_object(pz, DAT_HANDLE_TYPE_PZ);
}

static DAT_RETURN evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno,
                             DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
        (void)qlen;
        (void)cno;
        (void)flags;
        if (!find(ia, DAT_HANDLE_TYPE_IA))
                return FAIL(DAT_INVALID_HANDLE);
        return make(ia, DAT_HANDLE_TYPE_EVD, evd);
}

/* Of all EVDs; `came` tells of events, and of EVDs on which nobody may wait. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t came = PTHREAD_COND_INITIALIZER;

static DAT_RETURN evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event)
{
        struct object *object = find(evd, DAT_HANDLE_TYPE_EVD);

        if (!object)
                return FAIL(DAT_INVALID_HANDLE);
        pthread_mutex_lock(&mutex);
        object->pointers[object->events++ % QUEUE] = event->event_data.software_event_data.pointer;
        if (!is_wanted("wait=deaf"))
                pthread_cond_broadcast(&came);
        pthread_mutex_unlock(&mutex);
        return DAT_SUCCESS;
}

static void set_waitable(struct object *evd, bool waitable)
{
        pthread_mutex_lock(&mutex);
        evd->unwaitable = !waitable;
        pthread_cond_broadcast(&came);
        pthread_mutex_unlock(&mutex);
}

static DAT_RETURN evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
        if (!find(evd, DAT_HANDLE_TYPE_EVD))
                return FAIL(DAT_INVALID_HANDLE);
        set_waitable(evd, false);
        return DAT_SUCCESS;
}

/* The oldest event of an EVD, by one who holds the lock. */
static bool take_event(struct object *evd, DAT_EVENT *event)
{
        if (evd->taken == evd->events)
                return false;
        memset(event, 0, sizeof(*event));
        event->event_number = DAT_SOFTWARE_EVENT;
        event->evd_handle = is_wanted("event=other_evd") ? evd->ia : evd;
        if (is_wanted("event=async_evd"))
                event->evd_handle = async_evd;
        event->event_data.software_event_data.pointer = evd->pointers[evd->taken++ % QUEUE];
        if (is_wanted("event=of_no_ep")) {
                event->event_number = DAT_DTO_COMPLETION_EVENT;
                event->event_data.dto_completion_event_data.ep_handle = evd;
        }
        return true;
}

static void pause_ms(long ms)
{
        const struct timespec pause = {.tv_nsec = ms * 1000000};

        nanosleep(&pause, NULL);
}

/* The pauses of one who gets ready to wait: short ones that a signal may end, and a long one. */
static void get_ready(void)
{
        const struct timespec moment = {.tv_nsec = 3000000};
        sigset_t signals;

        sigemptyset(&signals);
        for (int i = 0; i < 3; i++)
                sigtimedwait(&signals, NULL, &moment);
        pause_ms(60);
}

/* Waits for events to come until then; one that polls asks again and again. */
static bool has_events(struct object *evd, DAT_COUNT threshold, const struct timespec *until)
{
        while (evd->events - evd->taken < threshold && !evd->unwaitable) {
                if (is_wanted("wait=poll")) {
                        pthread_mutex_unlock(&mutex);
                        pthread_mutex_lock(&mutex);
                } else if (is_wanted("wait=pause")) {
                        pthread_mutex_unlock(&mutex);
                        pause_ms(15);
                        pthread_mutex_lock(&mutex);
                } else if (!until) {
                        pthread_cond_wait(&came, &mutex);
                } else if (pthread_cond_clockwait(&came, &mutex, CLOCK_MONOTONIC, until) ==
                           ETIMEDOUT) {
                        break;
                }
        }
        return evd->events - evd->taken >= threshold;
}

/* A misbehaving wait returns at once. */
static DAT_RETURN evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                           DAT_EVENT *event, DAT_COUNT *more)
{
        struct object *evd = find(handle, DAT_HANDLE_TYPE_EVD);
        DAT_RETURN ret = FAIL(DAT_TIMEOUT_EXPIRED);
        struct timespec until;

        MISBEHAVE("evd_wait");
        if (!evd)
                return FAIL(DAT_INVALID_HANDLE);
        if (is_wanted("wait=event")) {
                memset(event, 0, sizeof(*event));
                event->event_number = DAT_SOFTWARE_EVENT;
                event->evd_handle = handle;
                return DAT_SUCCESS;
        }
        if (is_wanted("wait=early"))
                return FAIL(DAT_TIMEOUT_EXPIRED);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += timeout / 1000000;
        until.tv_nsec += (long)(timeout % 1000000) * 1000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (is_wanted("wait=late"))
                get_ready();
        pthread_mutex_lock(&mutex);
        evd->waiting = true;
        if (has_events(evd, threshold, timeout == DAT_TIMEOUT_INFINITE ? NULL : &until) &&
            take_event(evd, event))
                ret = DAT_SUCCESS;
        else if (evd->unwaitable)
                ret = FAIL(DAT_INVALID_STATE);
        evd->waiting = false;
        *more = evd->events - evd->taken;
        pthread_mutex_unlock(&mutex);
        return ret;
}

static DAT_RETURN evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
        struct object *evd = find(handle, DAT_HANDLE_TYPE_EVD);
        bool taken;

        MISBEHAVE("evd_dequeue");
        if (!evd)
                return FAIL(DAT_INVALID_HANDLE);
        pthread_mutex_lock(&mutex);
        if (evd->waiting) {
                pthread_mutex_unlock(&mutex);
                return FAIL(DAT_INVALID_STATE);
        }
        taken = take_event(evd, event);
        pthread_mutex_unlock(&mutex);
        return taken ? DAT_SUCCESS : FAIL(DAT_QUEUE_EMPTY);
}

static bool has_ep(DAT_EVD_HANDLE evd)
{
        bool found = false;

        for (const struct object *at = alive; at && !found; at = at->next)
                found = at->type == DAT_HANDLE_TYPE_EP && at->ep.connect_evd_handle == evd;
        return found;
}

static DAT_RETURN evd_free(DAT_EVD_HANDLE evd)
{
        if (is_wanted("evd_free=unless_used") && has_ep(evd))
                return FAIL(DAT_INVALID_STATE);
        return free_object(evd, DAT_HANDLE_TYPE_EVD);
}

static DAT_RETURN lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                             DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
                             DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
                             DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                             DAT_VADDR *registered_address)
{
        static DAT_LMR_CONTEXT last;
        DAT_RETURN ret;

        (void)type;
        (void)privileges;
        if (!find(ia, DAT_HANDLE_TYPE_IA) || !find(pz, DAT_HANDLE_TYPE_PZ))
                return FAIL(DAT_INVALID_HANDLE);
        ret = make(ia, DAT_HANDLE_TYPE_LMR, lmr);
        if (ret != DAT_SUCCESS)
                return ret;
        ((struct object *)*lmr)->memory = region.for_va;
        *lmr_context = ++last;
        *rmr_context = last;
        *registered_length = length;
        *registered_address = (DAT_VADDR)(uintptr_t)region.for_va;
        return DAT_SUCCESS;
}

static DAT_RETURN lmr_free(DAT_LMR_HANDLE lmr)
{
        return free_object(lmr, DAT_HANDLE_TYPE_LMR);
}

static DAT_RETURN srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
                             DAT_SRQ_HANDLE *srq)
{
        DAT_RETURN ret;

        MISBEHAVE("create");
        if (!find(ia, DAT_HANDLE_TYPE_IA) || !find(pz, DAT_HANDLE_TYPE_PZ))
                return FAIL(DAT_INVALID_HANDLE);
        ret = make(ia, DAT_HANDLE_TYPE_SRQ, srq);
        if (ret != DAT_SUCCESS)
                return ret;
        ((struct object *)*srq)->srq = (DAT_SRQ_PARAM){
            .ia_handle = ia,
            .pz_handle = pz,
            .max_recv_dtos = attr->max_recv_dtos,
            .max_recv_iov = is_wanted("create=narrow") ? 0 : attr->max_recv_iov,
        };
        return DAT_SUCCESS;
}

static DAT_RETURN srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
        struct object *object = find(srq, DAT_HANDLE_TYPE_SRQ);
        DAT_COUNT untouched;

        (void)mask;
        MISBEHAVE("query");
        if (!object)
                return FAIL(DAT_INVALID_HANDLE) | DAT_INVALID_HANDLE_SRQ;
        untouched = param->max_recv_iov;
        *param = object->srq;
        if (is_wanted("parameters=unwritten"))
                param->max_recv_iov = untouched;
        return DAT_SUCCESS;
}

static DAT_RETURN srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT size)
{
        struct object *object = find(srq, DAT_HANDLE_TYPE_SRQ);

        MISBEHAVE("resize");
        if (!object)
                return FAIL(DAT_INVALID_HANDLE) | DAT_INVALID_HANDLE_SRQ;
        if (size < object->srq.outstanding_dto_count)
                return FAIL(DAT_INVALID_STATE);
        object->srq.max_recv_dtos = size;
        return DAT_SUCCESS;
}

/* The first byte that is no more the segment's. */
static unsigned char *behind(const DAT_LMR_TRIPLET *segment)
{
        DAT_VADDR address = segment->virtual_address + segment->segment_length;
        unsigned char *pointer;

        memcpy(&pointer, &address, sizeof(pointer));
        return pointer;
}

static DAT_RETURN srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT count, DAT_LMR_TRIPLET *iov,
                                DAT_DTO_COOKIE cookie)
{
        struct object *object = find(srq, DAT_HANDLE_TYPE_SRQ);

        (void)cookie;
        if (!object)
                return FAIL(DAT_INVALID_HANDLE) | DAT_INVALID_HANDLE_SRQ;
        if (count == 1 && is_wanted("post=overrun"))
                *behind(iov) ^= 1;
        object->srq.available_dto_count++;
        object->srq.outstanding_dto_count++;
        return DAT_SUCCESS;
}

static DAT_RETURN srq_free(DAT_SRQ_HANDLE srq)
{
        MISBEHAVE("srq_free");
        return free_object(srq, DAT_HANDLE_TYPE_SRQ);
}

static DAT_RETURN psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                             DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
        (void)qual;
        (void)evd;
        (void)flags;
        MISBEHAVE("psp");
        if (is_wanted("psp=of_provider"))
                return FAIL(DAT_MODEL_NOT_SUPPORTED);
        if (!find(ia, DAT_HANDLE_TYPE_IA))
                return FAIL(DAT_INVALID_HANDLE);
        return make(ia, DAT_HANDLE_TYPE_PSP, psp);
}

static DAT_RETURN psp_free(DAT_PSP_HANDLE psp)
{
        return free_object(psp, DAT_HANDLE_TYPE_PSP);
}

static DAT_RETURN rsp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
                             DAT_EVD_HANDLE evd, DAT_RSP_HANDLE *rsp)
{
        (void)qual;
        (void)evd;
        MISBEHAVE("rsp");
        if (!find(ia, DAT_HANDLE_TYPE_IA) || !find(ep, DAT_HANDLE_TYPE_EP))
                return FAIL(DAT_INVALID_HANDLE);
        return make(ia, DAT_HANDLE_TYPE_RSP, rsp);
}

static DAT_RETURN rsp_free(DAT_RSP_HANDLE rsp)
{
        return free_object(rsp, DAT_HANDLE_TYPE_RSP);
}

static DAT_RETURN ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
                            DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
                            const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
        DAT_RETURN ret;

        (void)attr;
        MISBEHAVE("ep");
        if (!find(ia, DAT_HANDLE_TYPE_IA))
                return FAIL(DAT_INVALID_HANDLE);
        ret = make(ia, DAT_HANDLE_TYPE_EP, ep);
        if (ret == DAT_SUCCESS)
                find(*ep, DAT_HANDLE_TYPE_EP)->ep = (DAT_EP_PARAM){
                    .pz_handle = pz,
                    .recv_evd_handle = recv_evd,
                    .request_evd_handle = request_evd,
                    .connect_evd_handle = connect_evd,
                    .ep_state = DAT_EP_STATE_UNCONNECTED,
                };
        return ret;
}

static DAT_RETURN ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
        const struct object *ep = find(handle, DAT_HANDLE_TYPE_EP);

        (void)mask;
        MISBEHAVE("ep_query");
        if (!ep)
                return FAIL(DAT_INVALID_HANDLE);
        *param = ep->ep;
        if (is_wanted("ep_query=other_evd"))
                param->connect_evd_handle = param->request_evd_handle;
        return DAT_SUCCESS;
}

static DAT_RETURN ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
                                DAT_BOOLEAN *request_idle)
{
        const struct object *ep = find(handle, DAT_HANDLE_TYPE_EP);

        MISBEHAVE("ep_get_status");
        if (!ep)
                return FAIL(DAT_INVALID_HANDLE);
        *state = ep->ep.ep_state;
        *recv_idle = *request_idle = DAT_TRUE;
        return DAT_SUCCESS;
}

static DAT_RETURN ep_free(DAT_EP_HANDLE ep)
{
        return free_object(ep, DAT_HANDLE_TYPE_EP);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
        misbehaviour_want(params);
        registered = *info;
        table = (DAT_PROVIDER){
            .device_name = registered.ia_name,
            .ia_open_func = ia_open,
            .ia_query_func = ia_query,
            .ia_close_func = ia_close,
            .pz_create_func = pz_create,
            .pz_free_func = pz_free,
            .evd_create_func = evd_create,
            .evd_wait_func = evd_wait,
            .evd_dequeue_func = evd_dequeue,
            .evd_post_se_func = evd_post_se,
            .evd_set_unwaitable_func = evd_set_unwaitable,
            .evd_free_func = evd_free,
            .lmr_create_func = lmr_create,
            .lmr_free_func = lmr_free,
            .srq_create_func = srq_create,
            .srq_query_func = srq_query,
            .srq_resize_func = srq_resize,
            .srq_post_recv_func = srq_post_recv,
            .srq_free_func = srq_free,
            .psp_create_func = psp_create,
            .psp_free_func = psp_free,
            .rsp_create_func = rsp_create,
            .rsp_free_func = rsp_free,
            .ep_create_func = ep_create,
            .ep_query_func = ep_query,
            .ep_get_status_func = ep_get_status,
            .ep_free_func = ep_free,
        };
        dat_registry_add_provider(&table, &registered);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
        dat_registry_remove_provider(&table, info);
}
