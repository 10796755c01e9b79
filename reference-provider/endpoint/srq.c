/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/srq.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/destroy_async.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep_flush.h"
#include "event/async_evd.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_cq.h"
#include "event/owner.h"
#include "memory/lmr_gather.h"
#include "memory/pz.h"

#include <errno.h>
#include <stdlib.h>

#define BAD_SRQ REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)

#define RESERVE 256 /* the smallest depth of a queue that cannot be resized */

/* An EVD on which buffers of the SRQ complete. There is one entry for each EP. */
struct srq_user {
        struct evd *evd;
        struct srq_user *next;
};

static void run_low(struct work *work)
{
        struct srq *srq = container_of(work, struct srq, low_work);

        async_evd_post(srq->obj.ia, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR,
                       object_handle(&srq->obj), DAT_SRQ_LOW_WATERMARK_EVENT);
}

/* Claims the low watermark event, which is posted once for each setting. */
static bool claim_low(struct srq *srq)
{
        return atomic_load(&srq->armed) && atomic_exchange(&srq->armed, false);
}

static void drain_users(struct srq *srq)
{
        for (struct srq_user *user = srq->users; user; user = user->next)
                evd_drain(user->evd);
}

/* The sink is drained with each post and once a second, so it needs no watch. */
static void watch_user(struct evd *evd, int by)
{
        if (!evd->discards)
                evd_watch(evd, by);
}

static int set_limit(struct srq *srq, int limit)
{
        struct ibv_srq_attr attr = {.srq_limit = (uint32_t)limit};

        /* Deferred buffers are not on the device, so its limit must not exceed its own depth. */
        if (srq->fixed && limit > srq->hardware_depth)
                attr.srq_limit = (uint32_t)srq->hardware_depth;
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
        /* Verbs reports buffers taken from now on, but not a queue that is short already. */
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
        if (!ia->device.max_srq)
                return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);
        if (!attr || attr->max_recv_dtos < 1 || attr->max_recv_dtos > ia->limits.srq_dtos ||
            attr->max_recv_iov < 1 || attr->max_recv_iov > ia->limits.iov ||
            attr->low_watermark < 0 || attr->low_watermark > attr->max_recv_dtos)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        return DAT_SUCCESS;
}

static struct ibv_srq *make_queue(struct srq *srq, int depth)
{
        struct ibv_srq_init_attr init = {
            .srq_context = srq,
            .attr = {.max_wr = (uint32_t)depth, .max_sge = (uint32_t)srq->max_recv_iov},
        };

        return ibv_create_srq(srq->pz->pd, &init);
}

/* Makes a verbs queue. If the device cannot resize it, *depth becomes larger. */
static struct ibv_srq *make_lasting_queue(struct srq *srq, int *depth)
{
        int most = srq->obj.ia->limits.srq_dtos;
        int reserve = *depth < RESERVE / 2 ? RESERVE : 2 * *depth;
        struct ibv_srq *queue;

        if (!srq->fixed)
                return make_queue(srq, *depth);
        if (reserve > most)
                reserve = most;
        queue = make_queue(srq, reserve);
        if (!queue)
                return make_queue(srq, *depth);
        *depth = reserve;
        return queue;
}

/* Makes a smaller queue if the device lacks room. Buffers beyond its depth are deferred. */
static struct ibv_srq *make_small_queue(struct srq *srq, int *depth)
{
        struct ibv_srq *queue = NULL;

        while (!queue && *depth > 1) {
                *depth /= 2;
                queue = make_queue(srq, *depth);
        }
        return queue;
}

static DAT_RETURN srq_new(struct ia *ia, struct pz *pz, const DAT_SRQ_ATTR *attr, struct srq **out)
{
        struct srq *srq = calloc(1, sizeof(*srq));
        DAT_RETURN ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);

        if (!srq)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        /* Not plain: the completion must find the EP that has taken the buffer. */
        pool_init(&srq->pool, NULL, srq, true, WR_POSTED);
        pthread_mutex_init(&srq->resize_lock, NULL);
        work_init(&srq->low_work, &srq->obj, run_low);
        srq->obj.ia = ia;
        srq->pz = pz;
        srq->max_recv_dtos = attr->max_recv_dtos;
        srq->max_recv_iov = attr->max_recv_iov;
        srq->fixed = !(ia->device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
        list_init(&srq->deferred);
        if (!pool_grow(&srq->pool, attr->max_recv_dtos))
                goto free;
        srq->hardware_depth = attr->max_recv_dtos;
        srq->srq = make_lasting_queue(srq, &srq->hardware_depth);
        if (!srq->srq && srq->fixed)
                srq->srq = make_small_queue(srq, &srq->hardware_depth);
        if (!srq->srq)
                goto free;
        srq->watching = srq->hardware_depth < attr->max_recv_dtos;
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
 * dat_srq_create(3DAT). The queue has exactly the requested size, whatever verbs makes of it. A low
 * watermark other than the default raises its event at once, because the queue is empty.
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
        ret = ep_flush_start(ia);
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

/*
 * dat_srq_free(3DAT). Returns DAT_INVALID_STATE while an EP uses it. Posted buffers return to the
 * Consumer.
 */
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

/* Frees a dead SRQ. */
void srq_destroy(struct srq *srq)
{
        destroy_async_srq(srq->obj.ia, srq->srq);
        work_cancel(&srq->obj.ia->loop, &srq->low_work);
        object_unuse(&srq->pz->obj);
        object_unpublish(&srq->obj);
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

/* Drains the sink, which has the buffers of EPs without a receive EVD. */
static void drain_sink(struct srq *srq)
{
        evd_drain(srq->obj.ia->sink);
}

static int give_to_device(struct srq *srq, struct wr *wr)
{
        struct ibv_recv_wr recv;
        struct ibv_recv_wr *bad;

        wr_as_recv(wr, srq->obj.ia, &recv);
        return ibv_post_srq_recv(srq->srq, &recv, &bad);
}

/* Moves a record between the deferred and the posted ones. */
static void move_record(struct srq *srq, struct link *to, struct wr *wr)
{
        lock_acquire(&srq->pool.lock);
        list_move(to, &wr->link);
        lock_release(&srq->pool.lock);
}

/* Posts deferred records until the verbs queue is full. Called with deferred_lock held. */
static void post_deferred(struct srq *srq)
{
        while (!list_empty(&srq->deferred) && srq->on_device < srq->hardware_depth) {
                struct wr *wr = container_of(srq->deferred.next, struct wr, link);

                /* Move it first: its completion may move it as soon as the device has it. */
                move_record(srq, &srq->pool.pending, wr);
                if (give_to_device(srq, wr)) {
                        lock_acquire(&srq->pool.lock);
                        wr->link.prev->next = wr->link.next;
                        wr->link.next->prev = wr->link.prev;
                        list_append(srq->deferred.next, &wr->link);
                        lock_release(&srq->pool.lock);
                        return;
                }
                srq->on_device++;
        }
}

/* Posts a record, or defers it if the verbs queue, which cannot be resized, is full. */
static int post_or_defer(struct srq *srq, struct wr *wr)
{
        int ret = 0;

        lock_acquire(&srq->deferred_lock);
        if (!list_empty(&srq->deferred) || srq->on_device >= srq->hardware_depth) {
                move_record(srq, &srq->deferred, wr);
        } else {
                ret = give_to_device(srq, wr);
                srq->on_device += !ret;
        }
        lock_release(&srq->deferred_lock);
        return ret;
}

static DAT_RETURN post(struct srq *srq, struct ibv_sge *sge, int num_sge, DAT_DTO_COOKIE cookie)
{
        struct wr *wr;

        if (!take_credit(srq)) {
                drain_sink(srq);
                if (!take_credit(srq))
                        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        }
        wr = pool_take(&srq->pool, srq->pool.capacity);
        if (!wr)
                goto uncredit;
        wr->kind = WR_SRQ_RECV;
        wr->cookie = cookie;
        wr->flags = DAT_COMPLETION_DEFAULT_FLAG;
        wr->num_sge = num_sge;
        for (int i = 0; i < num_sge; i++)
                wr->sge[i] = sge[i];
        atomic_fetch_add(&srq->available, 1);
        wr_publish(wr, srq->pool.plain);
        if (!(srq->fixed ? post_or_defer(srq, wr) : give_to_device(srq, wr)))
                return DAT_SUCCESS;
        atomic_fetch_sub(&srq->available, 1);
        pool_give(wr);
uncredit:
        atomic_fetch_sub(&srq->outstanding, 1);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
}

/*
 * dat_srq_post_recv(3DAT). Returns DAT_INSUFFICIENT_RESOURCES if the SRQ's size is outstanding.
 * Completed buffers count until their events are dequeued.
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

/* dat_srq_query(3DAT). Both counts are exact except for messages that are arriving. */
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
        /* Only the size: verbs refuses a size and a limit above the old size in one call. */
        struct ibv_srq_attr attr = {.max_wr = (uint32_t)depth};

        if (ibv_modify_srq(srq->srq, &attr, IBV_SRQ_MAX_WR))
                return false;
        srq->hardware_depth = depth;
        return true;
}

/* Posts all buffers to a new verbs queue. */
static void move_to(struct srq *srq, struct ibv_srq *queue, int depth)
{
        lock_acquire(&srq->deferred_lock);
        lock_acquire(&srq->pool.lock);
        while (!list_empty(&srq->deferred))
                list_move(&srq->pool.pending, srq->deferred.next);
        while (!list_empty(&srq->pool.pending))
                list_move(&srq->deferred, srq->pool.pending.next);
        lock_release(&srq->pool.lock);
        srq->srq = queue;
        srq->hardware_depth = depth;
        srq->on_device = 0;
        post_deferred(srq);
        lock_release(&srq->deferred_lock);
}

/* Replaces a verbs queue that cannot be resized by a larger one, unless a queue pair uses it. */
static void replace(struct srq *srq, int depth)
{
        struct ibv_srq *old = srq->srq;
        struct ibv_srq *queue;

        if (srq->qps)
                return;
        drain_users(srq);
        queue = make_lasting_queue(srq, &depth);
        if (!queue)
                return;
        move_to(srq, queue, depth);
        destroy_async_srq(srq->obj.ia, old);
        if (atomic_load(&srq->armed))
                (void)set_limit(srq, atomic_load(&srq->low_watermark));
}

/* While buffers may be deferred, the EVDs are drained as completions arrive, which posts them. */
static void update_watching(struct srq *srq, int depth)
{
        bool watch = depth > srq->hardware_depth;

        if (watch == srq->watching)
                return;
        srq->watching = watch;
        for (struct srq_user *user = srq->users; user; user = user->next)
                watch_user(user->evd, watch ? 1 : -1);
}

static bool grow(struct srq *srq, int depth)
{
        if (!pool_grow(&srq->pool, depth))
                return false;
        for (struct srq_user *user = srq->users; user; user = user->next) {
                if (!evd_grow_share(user->evd, srq, depth))
                        return false;
        }
        if (srq->fixed && depth > srq->hardware_depth)
                replace(srq, depth);
        return srq->fixed || depth <= srq->hardware_depth || set_depth(srq, depth);
}

static DAT_RETURN resize(struct srq *srq, int depth)
{
        drain_sink(srq);
        if (depth < atomic_load(&srq->outstanding) || depth < atomic_load(&srq->low_watermark))
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_OPERATIONAL);
        if (depth > atomic_load(&srq->max_recv_dtos) && !grow(srq, depth))
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_SRQ);
        /* The verbs queue may stay larger; the credit enforces the size. */
        if (!srq->fixed && depth < srq->hardware_depth)
                (void)set_depth(srq, depth);
        atomic_store(&srq->max_recv_dtos, depth);
        if (srq->fixed)
                update_watching(srq, depth);
        return DAT_SUCCESS;
}

/*
 * dat_srq_resize(3DAT): to exactly the requested size. Returns DAT_INVALID_STATE, and changes
 * nothing, if the size is below the outstanding buffers or the low watermark. Posts wait meanwhile,
 * because verbs remaps the queue; messages still arrive.
 */
DAT_RETURN ref_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT depth)
{
        struct srq *srq = object_get(handle, DAT_HANDLE_TYPE_SRQ);
        DAT_RETURN ret;

        if (!srq)
                return BAD_SRQ;
        if (depth < 1 || depth > srq->obj.ia->limits.srq_dtos) {
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

/* dat_srq_set_lw(3DAT). Posts the event at once if fewer buffers than the mark are available. */
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

/* Called with an EVD locked when an EP has taken a buffer. */
void srq_buffer_taken(struct srq *srq)
{
        int left = atomic_fetch_sub(&srq->available, 1) - 1;

        if (srq->fixed) {
                lock_acquire(&srq->deferred_lock);
                srq->on_device--;
                post_deferred(srq);
                lock_release(&srq->deferred_lock);
        }
        if (left < atomic_load(&srq->low_watermark) && claim_low(srq))
                work_queue(&srq->obj.ia->loop, &srq->low_work);
}

/* Called when the event of a buffer is dequeued or dropped. */
void srq_buffer_reaped(struct srq *srq)
{
        atomic_fetch_sub(&srq->outstanding, 1);
}

/* Whether a posted buffer has not completed, so that a message may be arriving in it. */
bool srq_may_be_arriving(struct srq *srq)
{
        bool any;

        pthread_mutex_lock(&srq->resize_lock);
        drain_users(srq);
        any = atomic_load(&srq->available) > 0;
        pthread_mutex_unlock(&srq->resize_lock);
        return any;
}

/*
 * Handles the device's limit event, which may be of an earlier setting. Most devices clear the
 * limit with the event. If not, or while buffers are deferred, only the available count decides.
 */
void srq_low_event(struct srq *srq)
{
        struct ibv_srq_attr attr;
        bool low;

        pthread_mutex_lock(&srq->resize_lock);
        drain_users(srq);
        low = atomic_load(&srq->available) < atomic_load(&srq->low_watermark) ||
              (!srq->watching && !ibv_query_srq(srq->srq, &attr) && !attr.srq_limit);
        if (low)
                low = claim_low(srq);
        pthread_mutex_unlock(&srq->resize_lock);
        if (low)
                run_low(&srq->low_work);
}

/* Returns the verbs queue for a new queue pair. It is not replaced before srq_leave(). */
struct ibv_srq *srq_join(struct srq *srq)
{
        struct ibv_srq *queue;

        pthread_mutex_lock(&srq->resize_lock);
        srq->qps++;
        queue = srq->srq;
        pthread_mutex_unlock(&srq->resize_lock);
        return queue;
}

void srq_leave(struct srq *srq)
{
        pthread_mutex_lock(&srq->resize_lock);
        srq->qps--;
        pthread_mutex_unlock(&srq->resize_lock);
}

/* Adds the EVD as one on which an EP completes buffers. Returns false if the EVD has no room. */
bool srq_attach(struct srq *srq, struct evd *evd)
{
        struct srq_user *user = calloc(1, sizeof(*user));
        bool ok;

        if (!user)
                return false;
        pthread_mutex_lock(&srq->resize_lock);
        ok = evd_share_srq(evd, srq, atomic_load(&srq->max_recv_dtos));
        if (ok) {
                *user = (struct srq_user){.evd = evd, .next = srq->users};
                srq->users = user;
                if (srq->watching)
                        watch_user(evd, 1);
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
                if (srq->watching)
                        watch_user(evd, -1);
                evd_unshare_srq(evd, srq);
        }
        pthread_mutex_unlock(&srq->resize_lock);
        free(user);
}
