/* SPDX-License-Identifier: BSD-2-Clause */
#include "srq.h"
#include "daplref.h"
#include "dat_abi.h"
#include "ends.h"
#include "evd.h"
#include "handle.h"
#include "ia.h"
#include "list.h"
#include "lmr.h"
#include "lock.h"
#include "pool.h"
#include "pz.h"
#include "service.h"

#include <errno.h>
#include <stdlib.h>

#define BAD_SRQ REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)

/* An EVD on which buffers of the SRQ can complete, once for each EP that makes it so. */
struct srq_user {
        struct evd *evd;
        struct srq_user *next;
};

static void run_low(struct work *work)
{
        struct srq *srq = container_of(work, struct srq, low_work);

        evd_post_async(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
                       object_handle(&srq->obj), DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* The event comes once per setting, whoever sees the shortage first. */
static bool claim_low(struct srq *srq)
{
        return atomic_load(&srq->armed) && atomic_exchange(&srq->armed, false);
}

static void drain_users(struct srq *srq)
{
        for (struct srq_user *user = srq->users; user; user = user->next)
                evd_drain(user->evd);
}

static int set_limit(struct srq *srq, int limit)
{
        struct ibv_srq_attr attr = {.srq_limit = (uint32_t)limit};

        return ibv_modify_srq(srq->srq, &attr, IBV_SRQ_LIMIT);
}

static DAT_RETURN set_low_watermark(struct srq *srq, DAT_COUNT mark)
{
        pthread_mutex_lock(&srq->resize_lock);
        if (mark < 0 || mark > atomic_load(&srq->max_recv_dtos)) {
                pthread_mutex_unlock(&srq->resize_lock);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        atomic_store(&srq->armed, false);
        if (set_limit(srq, mark)) {
                pthread_mutex_unlock(&srq->resize_lock);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        }
        atomic_store(&srq->low_watermark, mark);
        atomic_store(&srq->armed, mark > 0);
        /* Verbs tells only of a buffer taken from now on, not of a queue that is short already. */
        drain_users(srq);
        if (atomic_load(&srq->available) < mark && claim_low(srq)) {
                (void)set_limit(srq, 0);
                run_low(&srq->low_work);
        }
        pthread_mutex_unlock(&srq->resize_lock);
        return DAT_SUCCESS;
}

static DAT_RETURN check_attr(struct ia *ia, const DAT_SRQ_ATTR *attr)
{
        if (!attr || attr->max_recv_dtos < 1 || attr->max_recv_dtos > ia_max_srq_dtos(ia) ||
            attr->max_recv_iov < 1 || attr->max_recv_iov > ia_max_iov(ia) ||
            attr->low_watermark < 0 || attr->low_watermark > attr->max_recv_dtos)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        return DAT_SUCCESS;
}

static DAT_RETURN srq_new(struct ia *ia, struct pz *pz, const DAT_SRQ_ATTR *attr, struct srq **out)
{
        struct ibv_srq_init_attr init = {
            .attr = {.max_wr = (uint32_t)attr->max_recv_dtos,
                     .max_sge = (uint32_t)attr->max_recv_iov},
        };
        struct srq *srq = calloc(1, sizeof(*srq));
        DAT_RETURN ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);

        if (!srq)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        pool_init(&srq->pool, NULL, srq, true);
        pthread_mutex_init(&srq->resize_lock, NULL);
        work_init(&srq->low_work, &srq->obj, run_low);
        srq->obj.ia = ia;
        srq->pz = pz;
        srq->max_recv_dtos = attr->max_recv_dtos;
        srq->max_recv_iov = attr->max_recv_iov;
        srq->hardware_depth = attr->max_recv_dtos;
        if (!pool_grow(&srq->pool, attr->max_recv_dtos))
                goto free;
        init.srq_context = srq;
        srq->srq = ibv_create_srq(pz->pd, &init);
        if (!srq->srq)
                goto free;
        ret = object_publish(ia, &srq->obj, DAT_HANDLE_TYPE_SRQ);
        if (ret == DAT_SUCCESS) {
                *out = srq;
                return ret;
        }
        ibv_destroy_srq(srq->srq);
free:
        pool_destroy(&srq->pool);
        free(srq);
        return ret;
}

/*
 * dat_srq_create(3DAT). The queue has exactly the size asked for, whatever verbs rounds it to. A
 * low watermark other than the default raises its event at once, for the queue is empty.
 */
DAT_RETURN ref_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle, DAT_SRQ_ATTR *attr,
                          DAT_SRQ_HANDLE *srq_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct pz *pz = NULL;
        struct srq *srq;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        pz = object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
        if (!pz || pz->obj.ia != ia)
                goto out;
        ret = check_attr(ia, attr);
        if (ret == DAT_SUCCESS && !srq_handle)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        if (ret != DAT_SUCCESS)
                goto out;
        ret = object_use(&pz->obj, REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
        if (ret != DAT_SUCCESS)
                goto out;
        ret = ends_start(ia);
        if (ret == DAT_SUCCESS)
                ret = srq_new(ia, pz, attr, &srq);
        if (ret != DAT_SUCCESS) {
                object_unuse(&pz->obj);
                goto out;
        }
        *srq_handle = object_handle(&srq->obj);
        if (attr->low_watermark != DAT_SRQ_LW_DEFAULT)
                (void)set_low_watermark(srq, attr->low_watermark);
out:
        if (pz)
                object_put(pz);
        object_put(ia);
        return ret;
}

/* dat_srq_free(3DAT): DAT_INVALID_STATE while an EP uses it; buffers still posted are returned. */
DAT_RETURN ref_srq_free(DAT_SRQ_HANDLE handle)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        DAT_RETURN ret;

        if (!srq)
                return BAD_SRQ;
        ret = object_retire(&srq->obj, REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
        if (ret == DAT_SUCCESS)
                srq_destroy(srq);
        return ret;
}

/* Frees what a dead SRQ consists of. */
void srq_destroy(struct srq *srq)
{
        ibv_destroy_srq(srq->srq);
        work_cancel(srq->obj.ia, &srq->low_work);
        object_unuse(&srq->pz->obj);
        object_bury(&srq->obj);
        pool_destroy(&srq->pool);
        pthread_mutex_destroy(&srq->resize_lock);
        free(srq);
}

static bool take_credit(struct srq *srq)
{
        int outstanding = atomic_load(&srq->outstanding);

        do {
                if (outstanding >= atomic_load(&srq->max_recv_dtos))
                        return false;
        } while (!atomic_compare_exchange_weak(&srq->outstanding, &outstanding, outstanding + 1));
        return true;
}

/* Gives back the buffers that EPs without a receive EVD have filled: nobody else looks for them. */
static void reap_unwanted(struct srq *srq)
{
        evd_drain(srq->obj.ia->sink);
}

static DAT_RETURN post(struct srq *srq, struct ibv_sge *sge, int num_sge, DAT_DTO_COOKIE cookie)
{
        struct ibv_recv_wr *bad;
        struct ibv_recv_wr recv = {.sg_list = sge, .num_sge = num_sge};
        struct wr *wr;

        if (!take_credit(srq)) {
                reap_unwanted(srq);
                if (!take_credit(srq))
                        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        }
        wr = pool_take(&srq->pool, srq->pool.capacity);
        if (!wr)
                goto uncredit;
        wr->kind = WR_SRQ_RECV;
        wr->cookie = cookie;
        wr->flags = DAT_COMPLETION_DEFAULT_FLAG;
        wr->length = 0;
        wr->num_sge = num_sge;
        for (int i = 0; i < num_sge; i++)
                wr->sge[i] = sge[i];
        recv.wr_id = ((union wr_id){.wr = wr}).number;
        atomic_fetch_add(&srq->available, 1);
        wr_publish(wr);
        if (!ibv_post_srq_recv(srq->srq, &recv, &bad))
                return DAT_SUCCESS;
        atomic_fetch_sub(&srq->available, 1);
        pool_give(wr);
uncredit:
        atomic_fetch_sub(&srq->outstanding, 1);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}

/*
 * dat_srq_post_recv(3DAT). DAT_INSUFFICIENT_RESOURCES once as many buffers are outstanding as the
 * SRQ holds, which counts those that have completed and whose events nobody has taken.
 */
DAT_RETURN ref_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                             DAT_DTO_COOKIE cookie)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        struct ibv_sge sge[REF_MAX_IOV];
        DAT_RETURN ret;
        int num_sge;

        if (!srq)
                return BAD_SRQ;
        if (segments < 0 || segments > srq->max_recv_iov)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (segments && !iov)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else
                ret = lmr_gather_recv(srq->obj.ia, srq->pz, iov, segments, sge, &num_sge);
        if (ret == DAT_SUCCESS) {
                gate_enter(&srq->gate);
                ret = post(srq, sge, num_sge, cookie);
                gate_leave(&srq->gate);
        }
        object_put(srq);
        return ret;
}

/* dat_srq_query(3DAT): both counts are exact but for messages that are arriving this moment. */
DAT_RETURN ref_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!srq)
                return BAD_SRQ;
        if ((unsigned int)mask & ~(unsigned int)DAT_SRQ_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&srq->resize_lock);
                drain_users(srq);
                *param = (DAT_SRQ_PARAM){
                    .ia_handle = abi_ia_handle(&srq->obj.ia->obj),
                    .srq_state = DAT_SRQ_STATE_OPERATIONAL,
                    .pz_handle = object_handle(&srq->pz->obj),
                    .max_recv_dtos = atomic_load(&srq->max_recv_dtos),
                    .max_recv_iov = srq->max_recv_iov,
                    .low_watermark = atomic_load(&srq->low_watermark),
                    .available_dto_count = atomic_load(&srq->available),
                    .outstanding_dto_count = atomic_load(&srq->outstanding),
                };
                pthread_mutex_unlock(&srq->resize_lock);
        }
        object_put(srq);
        return ret;
}

static bool set_depth(struct srq *srq, int depth)
{
        /* Size and limit in one call fail where the limit exceeds the old size: two calls. */
        struct ibv_srq_attr attr = {.max_wr = (uint32_t)depth};

        if (ibv_modify_srq(srq->srq, &attr, IBV_SRQ_MAX_WR))
                return false;
        srq->hardware_depth = depth;
        return true;
}

static bool grow(struct srq *srq, int depth)
{
        if (!pool_grow(&srq->pool, depth))
                return false;
        for (struct srq_user *user = srq->users; user; user = user->next) {
                if (!evd_grow_share(user->evd, srq, depth))
                        return false;
        }
        return set_depth(srq, depth);
}

static DAT_RETURN resize(struct srq *srq, int depth)
{
        reap_unwanted(srq);
        if (depth < atomic_load(&srq->outstanding) || depth < atomic_load(&srq->low_watermark))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_OPERATIONAL);
        if (depth > srq->hardware_depth && !grow(srq, depth))
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        /* The verbs queue may stay larger where it refuses to shrink: the credit is what counts. */
        if (depth < srq->hardware_depth)
                (void)set_depth(srq, depth);
        atomic_store(&srq->max_recv_dtos, depth);
        return DAT_SUCCESS;
}

/*
 * dat_srq_resize(3DAT): to exactly the size asked for. DAT_INVALID_STATE, and nothing changes,
 * below the number of outstanding buffers or below the low watermark. Posts wait meanwhile, since
 * verbs maps the queue anew; messages go on arriving.
 */
DAT_RETURN ref_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT depth)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        DAT_RETURN ret;

        if (!srq)
                return BAD_SRQ;
        if (depth < 1 || depth > ia_max_srq_dtos(srq->obj.ia)) {
                object_put(srq);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        pthread_mutex_lock(&srq->resize_lock);
        gate_close(&srq->gate);
        ret = resize(srq, depth);
        gate_open(&srq->gate);
        pthread_mutex_unlock(&srq->resize_lock);
        object_put(srq);
        return ret;
}

/* dat_srq_set_lw(3DAT): the event comes at once when fewer buffers than the mark are posted. */
DAT_RETURN ref_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT mark)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        DAT_RETURN ret;

        if (!srq)
                return BAD_SRQ;
        ret = set_low_watermark(srq, mark);
        object_put(srq);
        return ret;
}

/* An EP has consumed a buffer. Called with an EVD locked. */
void srq_buffer_taken(struct srq *srq)
{
        int left = atomic_fetch_sub(&srq->available, 1) - 1;

        if (left < atomic_load(&srq->low_watermark) && claim_low(srq))
                work_queue(srq->obj.ia, &srq->low_work);
}

/* The Consumer has taken the event of a buffer, or it never will. */
void srq_buffer_reaped(struct srq *srq)
{
        atomic_fetch_sub(&srq->outstanding, 1);
}

/* False when every buffer posted has completed, so that no message can be arriving in one. */
bool srq_may_be_arriving(struct srq *srq)
{
        bool any;

        pthread_mutex_lock(&srq->resize_lock);
        drain_users(srq);
        any = atomic_load(&srq->available) > 0;
        pthread_mutex_unlock(&srq->resize_lock);
        return any;
}

/* The device reports the limit. It clears the limit in doing so: if it is set, the report is old.
 */
void srq_low_event(struct srq *srq)
{
        struct ibv_srq_attr attr;
        bool raise;

        pthread_mutex_lock(&srq->resize_lock);
        raise = !ibv_query_srq(srq->srq, &attr) && !attr.srq_limit && claim_low(srq);
        pthread_mutex_unlock(&srq->resize_lock);
        if (raise)
                run_low(&srq->low_work);
}

/* An EP will complete buffers of the SRQ on that EVD. False when the EVD has no room for them. */
bool srq_attach(struct srq *srq, struct evd *evd)
{
        struct srq_user *user = calloc(1, sizeof(*user));
        bool ok;

        if (!user)
                return false;
        pthread_mutex_lock(&srq->resize_lock);
        ok = evd_share_srq(evd, srq, srq->hardware_depth);
        if (ok) {
                *user = (struct srq_user){.evd = evd, .next = srq->users};
                srq->users = user;
        }
        pthread_mutex_unlock(&srq->resize_lock);
        if (!ok)
                free(user);
        return ok;
}

void srq_detach(struct srq *srq, struct evd *evd)
{
        struct srq_user **at;
        struct srq_user *user;

        pthread_mutex_lock(&srq->resize_lock);
        for (at = &srq->users; *at && (*at)->evd != evd; at = &(*at)->next)
                ;
        user = *at;
        if (user) {
                *at = user->next;
                evd_unshare_srq(evd, srq);
        }
        pthread_mutex_unlock(&srq->resize_lock);
        free(user);
}
