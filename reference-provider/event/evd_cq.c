/* SPDX-License-Identifier: BSD-2-Clause */
#include "event/evd_cq.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/srq.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_impl.h"
#include "event/evd_queue.h"
#include "event/owner.h"
#include "memory/lmr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define LASTING (4 * REF_MAX_DTOS) /* completions, for a queue that cannot be resized */

static bool is_receive(const struct wr *wr)
{
        return wr->kind == WR_RECV || wr->kind == WR_SRQ_RECV;
}

static DAT_DTO_COMPLETION_STATUS failure_of(const struct evd *evd, const struct wr *wr,
                                            enum ibv_wc_status status)
{
        switch (status) {
        case IBV_WC_WR_FLUSH_ERR:
                return DAT_DTO_ERR_FLUSHED;
        case IBV_WC_LOC_LEN_ERR:
                return DAT_DTO_ERR_LOCAL_LENGTH;
        case IBV_WC_LOC_QP_OP_ERR:
                /*
                 * soft-RoCE reports this status for an LMR freed after the post, and for a message
                 * longer than the receive. A request can fail with it only for the first reason.
                 */
                if (is_receive(wr) && lmr_serves(evd->obj.ia, wr->sge, wr->num_sge))
                        return DAT_DTO_ERR_LOCAL_LENGTH;
                return DAT_DTO_ERR_LOCAL_PROTECTION;
        case IBV_WC_GENERAL_ERR:
                /* siw reports this status for a message to an LMR freed after the post. */
                if (is_receive(wr) && !lmr_serves(evd->obj.ia, wr->sge, wr->num_sge))
                        return DAT_DTO_ERR_LOCAL_PROTECTION;
                return DAT_DTO_ERR_TRANSPORT;
        case IBV_WC_LOC_EEC_OP_ERR:
                return DAT_DTO_ERR_LOCAL_EP;
        case IBV_WC_LOC_PROT_ERR:
        case IBV_WC_LOC_ACCESS_ERR:
                return DAT_DTO_ERR_LOCAL_PROTECTION;
        case IBV_WC_BAD_RESP_ERR:
                return DAT_DTO_ERR_BAD_RESPONSE;
        case IBV_WC_REM_ACCESS_ERR:
                return DAT_DTO_ERR_REMOTE_ACCESS;
        case IBV_WC_REM_INV_REQ_ERR:
        case IBV_WC_REM_OP_ERR:
                return DAT_DTO_ERR_REMOTE_RESPONDER;
        case IBV_WC_RNR_RETRY_EXC_ERR:
                return DAT_DTO_ERR_RECEIVER_NOT_READY;
        case IBV_WC_MW_BIND_ERR:
                return DAT_RMR_OPERATION_FAILED;
        default:
                return DAT_DTO_ERR_TRANSPORT;
        }
}

static inline bool wants_notice(const struct ep *ep, const struct wr *wr, bool ok)
{
        if (!ok || !ep || wr->kind == WR_SRQ_RECV)
                return !ep || !ok ||
                       ep->attr.recv_completion_flags != DAT_COMPLETION_SOLICITED_WAIT_FLAG;
        if (wr->kind == WR_RECV &&
            ep->attr.recv_completion_flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                return false;
        return !(wr->flags & DAT_COMPLETION_UNSIGNALLED_FLAG);
}

static struct srq *srq_of(const struct wr *wr)
{
        return wr->kind == WR_SRQ_RECV ? wr->pool->srq : NULL;
}

static inline void describe_dto(DAT_EVENT *dat, DAT_EP_HANDLE ep, const struct wr *wr,
                                DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        dat->event_number = DAT_DTO_COMPLETION_EVENT;
        dat->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
            .ep_handle = ep,
            .user_cookie = wr->cookie,
            .status = status,
            .transfered_length = length,
        };
        abi_tell_operation(&dat->event_data.dto_completion_event_data, wr->kind);
}

static void describe_bind(DAT_EVENT *dat, const struct wr *wr, DAT_DTO_COMPLETION_STATUS status)
{
        dat->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
        dat->event_data.rmr_completion_event_data = (DAT_RMR_BIND_COMPLETION_EVENT_DATA){
            .rmr_handle = wr->rmr,
            .user_cookie = wr->cookie,
            .status = status,
        };
}

static inline void queue_completion(struct evd *evd, struct ep *ep, const struct wr *wr,
                                    DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        struct event *event = evd_tail(evd);

        if (!event)
                return;
        event->ep = ep;
        event->srq = srq_of(wr);
        event->dto = true;
        event->notify = wants_notice(ep, wr, status == DAT_DTO_SUCCESS);
        if (wr->kind == WR_BIND)
                describe_bind(&event->dat, wr, status);
        else
                describe_dto(&event->dat, ep ? ep->obj.handle : DAT_HANDLE_NULL, wr, status,
                             status == DAT_DTO_SUCCESS ? length : 0);
        evd_enqueue(evd, event);
}

/* Completes an operation: queues its event, unless the success is suppressed. */
static inline void retire(struct evd *evd, struct ep *ep, struct wr *wr,
                          DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        bool silent = status == DAT_DTO_SUCCESS && wr->flags & DAT_COMPLETION_SUPPRESS_FLAG;
        bool request = !is_receive(wr);
        struct srq *srq = srq_of(wr);

        if (srq && ep)
                ep_recv_held(ep, 1);
        if (evd->discards)
                evd_give_back(srq, ep);
        else if (!silent)
                queue_completion(evd, ep, wr, status, length);
        if (wr->done)
                wr->pool->done--;
        wr->done = false;
        wr->held = false;
        pool_give(wr);
        if (!request)
                return;
        ep_request_done(ep);
        /* No request bypasses this while fence.c watches the EVD, see take_completion(). */
        if (atomic_load_explicit(&ep->post_path, memory_order_relaxed) == POST_IN_TURN)
                work_queue(&ep->obj.ia->loop, &ep->fence.work);
}

/* A DTO cannot succeed after a failed one. A bind can, because it took effect in the call. */
static DAT_DTO_COMPLETION_STATUS status_behind(const struct wr *wr,
                                               DAT_DTO_COMPLETION_STATUS before)
{
        if (wr->kind == WR_BIND || before == DAT_DTO_SUCCESS || wr->status != DAT_DTO_SUCCESS)
                return wr->status;
        return DAT_DTO_ERR_FLUSHED;
}

/* Completes operations that were done early and whose predecessors have completed now. */
static void retire_done(struct evd *evd, struct wr_pool *pool, DAT_DTO_COMPLETION_STATUS before)
{
        for (;;) {
                struct wr *wr = NULL;

                lock_acquire(&pool->lock);
                if (!list_empty(&pool->pending)) {
                        wr = container_of(pool->pending.next, struct wr, link);
                        if (!wr->done)
                                wr = NULL;
                }
                lock_release(&pool->lock);
                if (!wr)
                        return;
                before = status_behind(wr, before);
                retire(evd, pool->ep, wr, before, wr->length);
        }
}

static void defer(struct wr *wr, DAT_DTO_COMPLETION_STATUS status)
{
        lock_acquire(&wr->pool->lock);
        wr->status = status;
        wr->done = true;
        lock_release(&wr->pool->lock);
        wr->pool->done++;
}

/* siw completes a request when the stream has its data, even before an earlier read. */
static bool is_early(const struct wr *wr)
{
        return !is_receive(wr) && wr->pool->ep->obj.ia->iwarp && !wr_is_first(wr);
}

static struct ep *find_qp(const struct evd *evd, uint32_t qp_num)
{
        struct ep *ep = evd->qps[qp_num % EVD_QP_BUCKETS];

        while (ep && ep->qp_num != qp_num)
                ep = ep->qp_next;
        return ep;
}

/* An empty message is one packet. */
static void count_packets(struct ep *ep, uint32_t length)
{
        unsigned int shift = atomic_load_explicit(&ep->mtu_shift, memory_order_relaxed);
        uint32_t packets = length ? ((length - 1) >> shift) + 1 : 1;
        uint32_t psn = atomic_load_explicit(&ep->recv_psn, memory_order_relaxed);

        atomic_store_explicit(&ep->recv_psn, psn + packets, memory_order_relaxed);
}

/*
 * Whether a completion shows a broken connection. On iWARP a disconnect by the peer also flushes,
 * and the CM reports other breaks.
 */
static bool breaks(const struct ep *ep, enum ibv_wc_status status)
{
        return status != IBV_WC_SUCCESS && !(status == IBV_WC_WR_FLUSH_ERR && ep->obj.ia->iwarp);
}

/* Returns the EP that took an SRQ buffer, or NULL if it is gone. */
static struct ep *taker_of(struct evd *evd, const struct wr *wr, const struct ibv_wc *wc)
{
        struct ep *ep = find_qp(evd, wc->qp_num);

        srq_buffer_taken(wr->pool->srq);
        if (ep && wc->status == IBV_WC_SUCCESS)
                count_packets(ep, wc->byte_len);
        return ep;
}

static inline struct wr *record_of(const struct ibv_wc *wc)
{
        return ((union wr_id){.number = wc->wr_id}).wr;
}

/*
 * On iWARP the kernel flushes receives when the stream ends, perhaps before the EP's connection
 * event. So the flush in software completes them later, in order.
 */
static bool is_flushed_later(const struct wr *wr, enum ibv_wc_status status)
{
        return status == IBV_WC_WR_FLUSH_ERR && wr->kind == WR_RECV && wr->pool->ep->obj.ia->iwarp;
}

static void complete(struct evd *evd, const struct ibv_wc *wc)
{
        /* Error completions have no valid opcode, so the record tells the operation. */
        struct wr *wr = record_of(wc);
        DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
        struct wr_pool *pool = wr->pool;
        struct ep *ep = pool->ep;

        if (!wr_is_published(wr) || is_flushed_later(wr, wc->status))
                return;
        if (wr->kind == WR_SRQ_RECV)
                ep = taker_of(evd, wr, wc);
        if (wc->status != IBV_WC_SUCCESS)
                status = failure_of(evd, wr, wc->status);
        if (is_early(wr))
                defer(wr, status);
        else
                retire(evd, ep, wr, status, is_receive(wr) ? wc->byte_len : wr->length);
        if (pool->done)
                retire_done(evd, pool, status);
        if (ep && breaks(ep, wc->status))
                ep_failed(ep);
}

/* Whether a completion makes one event and has no other effect. Most are of this kind. */
static inline bool is_plain(const struct ibv_wc *wc, const struct wr *wr)
{
        return wr_is_plain(wr) && wc->status == IBV_WC_SUCCESS && !wr->pool->done;
}

static inline void complete_plain(const struct ibv_wc *wc, struct wr *wr, DAT_EVENT *event)
{
        struct ep *ep = wr->pool->ep;
        bool receive = wr->kind == WR_RECV;

        describe_dto(event, ep->obj.handle, wr, DAT_DTO_SUCCESS,
                     receive ? wc->byte_len : wr->length);
        pool_give(wr);
        if (!receive)
                ep_request_done(ep);
}

/* Polls the next batch, if the last is used up. Returns the number of completions. */
static __attribute__((noinline)) int poll_batch(struct evd *evd)
{
        int n = evd->cq ? ibv_poll_cq(evd->cq, EVD_POLL_BATCH, evd->polled) : 0;

        if (n <= 0)
                return 0;
        evd->polled_at = evd->polled;
        evd->polled_end = evd->polled + n;
        return n;
}

void evd_drain_locked(struct evd *evd, bool everything)
{
        bool more = true;

        while (everything || evd->dto_count < evd_dto_limit(evd)) {
                if (evd->polled_at != evd->polled_end) {
                        complete(evd, evd->polled_at++);
                        continue;
                }
                if (!more)
                        return;
                /* A batch that is not full emptied the queue. */
                more = poll_batch(evd) == EVD_POLL_BATCH;
        }
}

/*
 * Takes the next event through the FIFO, which is empty. Returns false if there is none. Not
 * inlined, so that the fast path saves fewer registers.
 */
static __attribute__((noinline)) bool take_in_turn(struct evd *evd, DAT_EVENT *event)
{
        if (evd->cno || evd->watchers)
                evd_drain_locked(evd, false);
        else
                while (!evd->count && (evd->polled_at != evd->polled_end || poll_batch(evd)))
                        complete(evd, evd->polled_at++);
        if (!evd->count)
                return false;
        evd_pop(evd, event);
        return true;
}

/*
 * Takes the next event. A plain completion is written directly to the Consumer, and the rest of the
 * batch is left, unless a CNO or watcher needs each completion.
 */
static inline bool take_completion(struct evd *evd, DAT_EVENT *event)
{
        const struct ibv_wc *wc;
        struct wr *wr;

        if (evd->cno || evd->watchers)
                return take_in_turn(evd, event);
        if (evd->polled_at == evd->polled_end && !poll_batch(evd))
                return false;
        wc = evd->polled_at;
        wr = record_of(wc);
        if (!is_plain(wc, wr))
                return take_in_turn(evd, event);
        evd->polled_at++;
        event->evd_handle = evd->obj.handle;
        complete_plain(wc, wr, event);
        return true;
}

/* dat_evd_dequeue(3DAT). Returns DAT_INVALID_STATE while a thread waits on the EVD. */
DAT_RETURN ref_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if (!event) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        lock_acquire(&evd->lock);
        if (evd_has_waiter(evd))
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        else if (evd->count)
                evd_pop(evd, event);
        else if (!take_completion(evd, event))
                ret = evd->obj.ia->lenient ? (DAT_RETURN)DAT_QUEUE_EMPTY
                                           : REF_ERROR(DAT_QUEUE_EMPTY, 0);
        /* Not evd_unlock(): no thread waits. */
        lock_release(&evd->lock);
        object_put(evd);
        return ret;
}

/* Drains the whole completion queue into the FIFO, even if the FIFO is full. */
void evd_drain(struct evd *evd)
{
        lock_acquire(&evd->lock);
        evd_drain_locked(evd, true);
        evd_unlock(evd);
}

/* Drains completions up to the limit of the FIFO. Returns false if some are left or were lost. */
bool evd_look(struct evd *evd)
{
        bool all;

        lock_acquire(&evd->lock);
        evd_drain_locked(evd, false);
        all = evd->dto_count < evd_dto_limit(evd) && !atomic_load(&evd->lost);
        evd_unlock(evd);
        return all;
}

static struct ibv_cq *make_cq(struct evd *evd, int entries)
{
        return ibv_create_cq(evd->obj.ia->verbs, entries, evd, evd->channel, 0);
}

/* For devices that cannot resize: as large a queue as possible, up to LASTING. */
static struct ibv_cq *make_lasting_cq(struct evd *evd, int entries)
{
        int ahead = min_int(LASTING, evd->obj.ia->device.max_cqe);
        struct ibv_cq *cq = NULL;

        for (; !cq && ahead > entries; ahead /= 2)
                cq = make_cq(evd, ahead);
        return cq ? cq : make_cq(evd, entries);
}

/*
 * No attribute tells whether the device can resize. So the first queue is made small and then
 * resized.
 */
static struct ibv_cq *make_first_cq(struct evd *evd, int entries)
{
        struct ia *ia = evd->obj.ia;
        struct ibv_cq *cq = make_cq(evd, 1);
        int error;

        if (!cq)
                return NULL;
        error = ibv_resize_cq(cq, entries);
        if (!error && cq->cqe >= entries) {
                atomic_store(&ia->cq_growth, CQ_GROWS);
                return cq;
        }
        ibv_destroy_cq(cq);
        if (error == ENOMEM)
                return NULL;
        atomic_store(&ia->cq_growth, CQ_FIXED);
        return make_lasting_cq(evd, entries);
}

static struct ibv_cq *make_cq_that_grows(struct evd *evd, int entries)
{
        switch (atomic_load(&evd->obj.ia->cq_growth)) {
        case CQ_GROWS:
                return make_cq(evd, entries);
        case CQ_FIXED:
                return make_lasting_cq(evd, entries);
        default:
                return make_first_cq(evd, entries);
        }
}

static bool ensure_cq(struct evd *evd, int completions)
{
        struct ia *ia = evd->obj.ia;
        int entries = max_int(completions, EVD_POLL_BATCH);

        if (entries > ia->device.max_cqe)
                return false;
        if (evd->cq)
                return entries <= evd->cq->cqe || !ibv_resize_cq(evd->cq, entries);
        evd->channel = ibv_create_comp_channel(ia->verbs);
        if (!evd->channel)
                return false;
        (void)fcntl(evd->channel->fd, F_SETFL, O_NONBLOCK);
        evd->cq = make_cq_that_grows(evd, entries);
        if (evd->cq)
                return true;
        ibv_destroy_comp_channel(evd->channel);
        evd->channel = NULL;
        return false;
}

/* Arms the queue. Verbs sends one event for each arming. */
bool evd_arm(struct evd *evd, bool solicited)
{
        enum evd_arming wanted = solicited ? EVD_ARMED_SOLICITED : EVD_ARMED_ANY;

        if (evd->armed == wanted)
                return true;
        if (ibv_req_notify_cq(evd->cq, solicited))
                return false;
        evd->armed = wanted;
        return true;
}

/*
 * Reads one event. Returns false if there is none. More than one is there only if the arming
 * changed.
 */
bool evd_take_channel_event(struct evd *evd)
{
        struct ibv_cq *cq;
        void *context;

        if (!evd->channel || ibv_get_cq_event(evd->channel, &cq, &context))
                return false;
        evd->unacknowledged++;
        evd->armed = EVD_UNARMED;
        evd->channel_hit = true;
        return true;
}

static bool reserve_locked(struct evd *evd, int completions)
{
        int budget = evd->budget + completions;

        /* The sink needs no queue before an EP is connected. */
        if (evd->discards) {
                evd->budget = budget;
                return true;
        }
        if (!ensure_cq(evd, budget) ||
            !evd_ring_reserve(evd, 2 * (evd->qlen + max_int(evd->qlen, budget))))
                return false;
        evd->budget = budget;
        evd_update_watch(evd);
        /* A waiter that sleeps without a completion channel must wake to listen to it. */
        if (evd->state == EVD_SLEEPING)
                evd_signal_arrival(evd, false);
        return true;
}

/* Ensures that the completion queue exists, before a queue pair is made. */
bool evd_prepare(struct evd *evd)
{
        bool ok;

        lock_acquire(&evd->lock);
        ok = ensure_cq(evd, evd->budget);
        evd_unlock(evd);
        return ok;
}

/*
 * Makes room for that many more completions. Returns false if the queue cannot be made large
 * enough.
 */
bool evd_reserve(struct evd *evd, int completions)
{
        bool ok;

        lock_acquire(&evd->lock);
        ok = reserve_locked(evd, completions);
        evd_unlock(evd);
        return ok;
}

void evd_unreserve(struct evd *evd, int completions)
{
        lock_acquire(&evd->lock);
        evd->budget -= completions;
        evd_unlock(evd);
}

static struct evd_share *find_share(struct evd *evd, const struct srq *srq)
{
        struct evd_share *share = evd->shares;

        while (share && share->srq != srq)
                share = share->next;
        return share;
}

/* Makes room for the buffers of an SRQ, once for all its EPs on this EVD. */
bool evd_share_srq(struct evd *evd, struct srq *srq, int depth)
{
        struct evd_share *share;
        bool ok = true;

        lock_acquire(&evd->lock);
        share = find_share(evd, srq);
        if (!share) {
                share = calloc(1, sizeof(*share));
                ok = share && reserve_locked(evd, depth);
                if (ok) {
                        *share =
                            (struct evd_share){.srq = srq, .depth = depth, .next = evd->shares};
                        evd->shares = share;
                } else {
                        free(share);
                }
        }
        if (ok)
                share->eps++;
        evd_unlock(evd);
        return ok;
}

void evd_unshare_srq(struct evd *evd, struct srq *srq)
{
        struct evd_share **at;

        lock_acquire(&evd->lock);
        for (at = &evd->shares; *at && (*at)->srq != srq; at = &(*at)->next)
                ;
        if (*at && --(*at)->eps == 0) {
                struct evd_share *share = *at;

                evd->budget -= share->depth;
                *at = share->next;
                free(share);
        }
        evd_unlock(evd);
}

/* Enlarges the share of an SRQ before it grows. */
bool evd_grow_share(struct evd *evd, struct srq *srq, int depth)
{
        struct evd_share *share;
        bool ok = true;

        lock_acquire(&evd->lock);
        share = find_share(evd, srq);
        if (share && depth > share->depth) {
                int more = depth - share->depth;

                ok = reserve_locked(evd, more);
                /* The sink may have no queue, or one that queue pairs already use. */
                if (ok && evd->discards && evd->cq && !ensure_cq(evd, evd->budget)) {
                        evd->budget -= more;
                        ok = false;
                }
                if (ok)
                        share->depth = depth;
        }
        evd_unlock(evd);
        return ok;
}

/* Adds the EP to the table by which completions of an SRQ find it. */
void evd_add_qp(struct evd *evd, struct ep *ep)
{
        struct ep **bucket = &evd->qps[ep->qp_num % EVD_QP_BUCKETS];

        lock_acquire(&evd->lock);
        ep->qp_next = *bucket;
        *bucket = ep;
        evd_unlock(evd);
}

void evd_remove_qp(struct evd *evd, struct ep *ep)
{
        struct ep **at = &evd->qps[ep->qp_num % EVD_QP_BUCKETS];

        lock_acquire(&evd->lock);
        while (*at && *at != ep)
                at = &(*at)->qp_next;
        if (*at)
                *at = ep->qp_next;
        evd_unlock(evd);
}

/*
 * Completes the pending operations as flushed, in posting order, after the queue pair is destroyed.
 */
void evd_flush(struct evd *evd, struct wr_pool *pool)
{
        DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;

        lock_acquire(&evd->lock);
        while (!list_empty(&pool->pending)) {
                struct wr *wr = container_of(pool->pending.next, struct wr, link);

                status = wr->done ? status_behind(wr, status) : DAT_DTO_ERR_FLUSHED;
                retire(evd, pool->ep, wr, status, wr->length);
        }
        evd_unlock(evd);
}

/*
 * Completes one operation as flushed, or leaves that to the flush if the EP is in EP_FLUSHING.
 * Returns false if the EVD is full; the caller then owns the record.
 */
bool evd_flush_one(struct evd *evd, struct ep *ep, struct wr *wr)
{
        bool ok;

        if (atomic_load(&ep->state) == EP_FLUSHING)
                return true;
        lock_acquire(&evd->lock);
        ok = evd->discards || evd->dto_count < evd_dto_limit(evd);
        if (ok) {
                if (!evd->discards)
                        queue_completion(evd, ep, wr, DAT_DTO_ERR_FLUSHED, 0);
                pool_give(wr);
        }
        evd_unlock(evd);
        return ok;
}

/* Completes a bind, which has taken effect, after the operations before it. */
void evd_bind_ready(struct evd *evd, struct wr *wr)
{
        lock_acquire(&evd->lock);
        defer(wr, DAT_DTO_SUCCESS);
        retire_done(evd, wr->pool, DAT_DTO_SUCCESS);
        evd_unlock(evd);
}

/* Takes back a record whose post failed. Binds after it may complete now. */
void evd_withdraw(struct evd *evd, struct wr *wr)
{
        struct wr_pool *pool = wr->pool;

        lock_acquire(&evd->lock);
        pool_give(wr);
        if (pool->done)
                retire_done(evd, pool, DAT_DTO_SUCCESS);
        evd_unlock(evd);
}
