/* SPDX-License-Identifier: BSD-2-Clause */
#include "evd.h"
#include "cno.h"
#include "cr.h"
#include "daplref.h"
#include "dat_abi.h"
#include "ep.h"
#include "handle.h"
#include "ia.h"
#include "list.h"
#include "lmr.h"
#include "lock.h"
#include "pool.h"
#include "service.h"
#include "srq.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POLL_BATCH 16
#define FLAGS_ALL  ((unsigned int)DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

static int min_int(int a, int b)
{
        return a < b ? a : b;
}

static int max_int(int a, int b)
{
        return a > b ? a : b;
}

/* Completions beyond this many stay in the CQ, which has room for them, until events are taken. */
static int dto_limit(const struct evd *evd)
{
        return max_int(evd->qlen, evd->budget);
}

static bool ring_reserve(struct evd *evd, int size)
{
        struct event *ring;

        if (size <= evd->ring_size)
                return true;
        ring = calloc((size_t)size, sizeof(*ring));
        if (!ring)
                return false;
        for (int i = 0; i < evd->count; i++)
                ring[i] = evd->ring[(evd->head + i) % evd->ring_size];
        free(evd->ring);
        evd->ring = ring;
        evd->ring_size = size;
        evd->head = 0;
        return true;
}

/* Wakes whoever is to learn of an event: the sleeping waiter, or else the CNO. */
static inline void signal_arrival(struct evd *evd, bool notify)
{
        if (evd->sleeping)
                evd->wakes = true;
        else if (!evd->waiter && notify && evd->cno && evd->enabled)
                cno_trigger(evd->cno, evd);
}

/* Ends the sleep of the waiter; called without the lock, for which it would only wait again. */
void evd_wake(struct evd *evd)
{
        uint64_t one = 1;

        if (write(evd->wake_fd, &one, sizeof(one)) < 0)
                return; /* the counter is full, so the waiter is being woken already */
}

static inline void unlock(struct evd *evd)
{
        bool wakes = evd->wakes && !evd->woken;

        evd->wakes = false;
        evd->woken |= wakes;
        lock_release(&evd->lock);
        if (wakes && !service_wakes_later(evd))
                evd_wake(evd);
}

/* The place of the next event, which enqueue() then makes one of the queue; NULL without memory. */
static inline struct event *tail(struct evd *evd)
{
        int at = evd->head + evd->count;

        /* Only a connection's end can exceed the ring, and it comes on no fast path. */
        if (evd->count == evd->ring_size) {
                if (!ring_reserve(evd, 2 * evd->ring_size))
                        return NULL;
                at = evd->count;
        }
        return &evd->ring[at < evd->ring_size ? at : at - evd->ring_size];
}

static inline void enqueue(struct evd *evd, struct event *event)
{
        event->dat.evd_handle = object_handle(&evd->obj);
        evd->count++;
        evd->dto_count += event->dto;
        evd->notify_count += event->notify;
        signal_arrival(evd, event->notify);
}

static void push(struct evd *evd, const struct event *event)
{
        struct event *slot = tail(evd);

        if (!slot)
                return;
        *slot = *event;
        enqueue(evd, slot);
}

/* The buffer of an SRQ, if it was one, is the Consumer's again. */
static void give_back(struct srq *srq, struct ep *ep)
{
        if (!srq)
                return;
        srq_buffer_reaped(srq);
        if (ep)
                ep_recv_held(ep, -1);
}

static inline void pop(struct evd *evd, DAT_EVENT *out)
{
        struct event *event = &evd->ring[evd->head];

        *out = event->dat;
        if (++evd->head == evd->ring_size)
                evd->head = 0;
        evd->count--;
        evd->dto_count -= event->dto;
        evd->notify_count -= event->notify;
        evd->overflowed = false;
        give_back(event->srq, event->ep);
}

static DAT_DTO_COMPLETION_STATUS status_of(const struct evd *evd, const struct wr *wr,
                                           enum ibv_wc_status status)
{
        bool receive = wr->kind == WR_RECV || wr->kind == WR_SRQ_RECV;

        if (status == IBV_WC_SUCCESS)
                return DAT_DTO_SUCCESS;
        switch (status) {
        case IBV_WC_WR_FLUSH_ERR:
                return DAT_DTO_ERR_FLUSHED;
        case IBV_WC_LOC_LEN_ERR:
                return DAT_DTO_ERR_LOCAL_LENGTH;
        case IBV_WC_LOC_QP_OP_ERR:
                /*
                 * soft-RoCE says so of memory whose LMR was freed after the post, which is all that
                 * is left for a request to fail by here, and of a message longer than the receive.
                 */
                if (receive && lmr_serves(evd->obj.ia, wr->sge, wr->num_sge))
                        return DAT_DTO_ERR_LOCAL_LENGTH;
                return DAT_DTO_ERR_LOCAL_PROTECTION;
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

static inline void describe(DAT_EVENT *dat, const struct ep *ep, const struct wr *wr,
                            DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        if (wr->kind == WR_BIND) {
                dat->event_number = DAT_RMR_BIND_COMPLETION_EVENT;
                dat->event_data.rmr_completion_event_data = (DAT_RMR_BIND_COMPLETION_EVENT_DATA){
                    .rmr_handle = wr->rmr,
                    .user_cookie = wr->cookie,
                    .status = status,
                };
                return;
        }
        dat->event_number = DAT_DTO_COMPLETION_EVENT;
        dat->event_data.dto_completion_event_data = (DAT_DTO_COMPLETION_EVENT_DATA){
            .ep_handle = ep ? object_handle(&ep->obj) : DAT_HANDLE_NULL,
            .user_cookie = wr->cookie,
            .status = status,
            .transfered_length = status == DAT_DTO_SUCCESS ? length : 0,
        };
        abi_tell_operation(&dat->event_data.dto_completion_event_data, wr->kind);
}

static inline void push_completion(struct evd *evd, struct ep *ep, const struct wr *wr,
                                   DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        bool notify = wants_notice(ep, wr, status == DAT_DTO_SUCCESS);
        DAT_EVENT *taker = evd->taker;
        struct event *event;

        if (taker) {
                describe(taker, ep, wr, status, length);
                taker->evd_handle = object_handle(&evd->obj);
                evd->taker = NULL;
                signal_arrival(evd, notify);
                give_back(srq_of(wr), ep);
                return;
        }
        event = tail(evd);
        if (!event)
                return;
        event->ep = ep;
        event->srq = srq_of(wr);
        event->dto = true;
        event->notify = notify;
        describe(&event->dat, ep, wr, status, length);
        enqueue(evd, event);
}

/* Turns a posted operation into its event, or into nothing where its success was suppressed. */
static inline void retire(struct evd *evd, struct ep *ep, struct wr *wr,
                          DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length)
{
        bool silent = status == DAT_DTO_SUCCESS && wr->flags & DAT_COMPLETION_SUPPRESS_FLAG;
        bool request = wr->kind != WR_RECV && wr->kind != WR_SRQ_RECV;
        struct srq *srq = srq_of(wr);

        if (srq && ep)
                ep_recv_held(ep, 1);
        if (evd->discards)
                give_back(srq, ep);
        else if (!silent)
                push_completion(evd, ep, wr, status, length);
        if (wr->done)
                wr->pool->done--;
        pool_give(wr);
        if (request)
                ep_request_done(ep);
}

/* A bind completes in software, and in its turn: when all that was posted before it has. */
static void retire_binds(struct evd *evd, struct wr_pool *pool)
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
                retire(evd, pool->ep, wr, DAT_DTO_SUCCESS, 0);
        }
}

static struct ep *find_qp(const struct evd *evd, uint32_t qp_num)
{
        struct ep *ep = evd->qps[qp_num % EVD_QP_BUCKETS];

        while (ep && ep->qp_num != qp_num)
                ep = ep->qp_next;
        return ep;
}

/* A message without a byte is a packet too. */
static void count_packets(struct ep *ep, uint32_t length)
{
        unsigned int shift = atomic_load_explicit(&ep->mtu_shift, memory_order_relaxed);
        uint32_t packets = length ? ((length - 1) >> shift) + 1 : 1;
        uint32_t psn = atomic_load_explicit(&ep->recv_psn, memory_order_relaxed);

        atomic_store_explicit(&ep->recv_psn, psn + packets, memory_order_relaxed);
}

static void complete(struct evd *evd, const struct ibv_wc *wc)
{
        /* Error completions carry no valid opcode, so the record says what was posted. */
        struct wr *wr = ((union wr_id){.number = wc->wr_id}).wr;
        struct wr_pool *pool = wr->pool;
        struct ep *ep = pool->ep;
        DAT_VLEN length;

        if (!wr_is_published(wr))
                return;
        length = wr->length;
        if (wr->kind == WR_SRQ_RECV) {
                ep = find_qp(evd, wc->qp_num);
                srq_buffer_taken(pool->srq);
                if (ep && wc->status == IBV_WC_SUCCESS)
                        count_packets(ep, wc->byte_len);
        }
        if (wr->kind == WR_RECV || wr->kind == WR_SRQ_RECV)
                length = wc->byte_len;
        retire(evd, ep, wr, status_of(evd, wr, wc->status), length);
        if (pool->done)
                retire_binds(evd, pool);
        if (wc->status != IBV_WC_SUCCESS && ep)
                ep_failed(ep);
}

static void drain_locked(struct evd *evd, bool everything)
{
        struct ibv_wc wc[POLL_BATCH];
        int room = POLL_BATCH;
        int n;

        if (!evd->cq)
                return;
        do {
                if (!everything)
                        room = min_int(POLL_BATCH, dto_limit(evd) - evd->dto_count);
                if (room <= 0)
                        return;
                n = ibv_poll_cq(evd->cq, room, wc);
                for (int i = 0; i < n; i++)
                        complete(evd, &wc[i]);
        } while (n == room);
}

/* Moves what the completion queue holds into the FIFO, all of it, however full the FIFO is. */
void evd_drain(struct evd *evd)
{
        lock_acquire(&evd->lock);
        drain_locked(evd, true);
        unlock(evd);
}

/* The same, but no more than the FIFO is meant to hold; false when something may be left. */
bool evd_look(struct evd *evd)
{
        bool all;

        lock_acquire(&evd->lock);
        drain_locked(evd, false);
        all = evd->dto_count < dto_limit(evd);
        unlock(evd);
        return all;
}

static void raise_overflow(struct evd *evd)
{
        if (evd->obj.ia)
                evd_post_async(evd->obj.ia, DAT_ASYNC_ERROR_EVD_OVERFLOW, object_handle(&evd->obj),
                               DAT_EVD_OVERFLOW_ERROR);
}

/*
 * Adds an event that does not come from a completion queue; those already completed go first.
 * Returns false when the queue is full of such events: the event is lost, and the async EVD
 * hears of it once. Not so of a Connection Request, which the caller refuses: the length of the
 * queue is the backlog that the Consumer wants.
 */
bool evd_post(struct evd *evd, const struct event *event)
{
        bool is_request = event->dat.event_number == DAT_CONNECTION_REQUEST_EVENT;
        bool lost;
        bool raise = false;

        lock_acquire(&evd->lock);
        drain_locked(evd, true);
        lost = evd->closing || evd->count - evd->dto_count >= evd->qlen;
        if (!lost) {
                push(evd, event);
        } else if (!evd->overflowed && !evd->closing && !is_request) {
                evd->overflowed = true;
                raise = true;
        }
        unlock(evd);
        if (raise)
                raise_overflow(evd);
        return !lost;
}

/* Reports an asynchronous event of the IA on the EVD that was chosen at dat_ia_open(). */
void evd_post_async(struct ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE about, DAT_COUNT reason)
{
        struct event event = {
            .dat.event_number = number,
            .dat.event_data.asynch_error_event_data = {.dat_handle = about, .reason = reason},
            .notify = true,
        };
        struct evd *evd = ia_async_evd(ia);

        if (!evd)
                return;
        /* That it overflows itself, an EVD has no room for. */
        if (object_handle(&evd->obj) != about)
                (void)evd_post(evd, &event);
        object_put(evd);
}

static bool ensure_cq(struct evd *evd, int completions)
{
        struct ia *ia = evd->obj.ia;
        int entries = max_int(completions, POLL_BATCH);

        if (entries > ia->device.max_cqe)
                return false;
        if (evd->cq)
                return entries <= evd->cq->cqe || !ibv_resize_cq(evd->cq, entries);
        evd->channel = ibv_create_comp_channel(ia->verbs);
        if (!evd->channel)
                return false;
        (void)fcntl(evd->channel->fd, F_SETFL, O_NONBLOCK);
        evd->cq = ibv_create_cq(ia->verbs, entries, evd, evd->channel, 0);
        if (evd->cq)
                return true;
        ibv_destroy_comp_channel(evd->channel);
        evd->channel = NULL;
        return false;
}

/* Asks for an event at the next completion. Asked once, verbs sends one, however long it takes. */
static bool arm(struct evd *evd, bool solicited)
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
 * Of a stream whose notices the sender controls, a CNO is to hear only what the sender solicits,
 * which verbs tells by its event alone. Who watches wants to see every completion.
 */
static bool watches_solicited(const struct evd *evd)
{
        return evd->solicited_users && !evd->watchers;
}

static bool watches(const struct evd *evd)
{
        return evd->armed == EVD_ARMED_ANY ||
               (evd->armed == EVD_ARMED_SOLICITED && watches_solicited(evd));
}

/*
 * Goes on listening in the service thread. Who watches waits for operations to complete, whether
 * or not the Consumer takes their events and so makes room.
 */
static void watch(struct evd *evd)
{
        (void)arm(evd, watches_solicited(evd));
        drain_locked(evd, evd->watchers > 0);
}

static void update_watch(struct evd *evd)
{
        bool want = evd->cq && !evd->closing && ((evd->cno && evd->enabled) || evd->watchers);

        if (!want && evd->watched)
                service_ignore(evd->obj.ia, evd);
        evd->watched = want && (evd->watched || service_listen(evd->obj.ia, evd));
        if (evd->watched && !watches(evd))
                watch(evd);
}

static bool reserve_locked(struct evd *evd, int completions)
{
        int budget = evd->budget + completions;

        /* What is discarded needs no queue before something is connected to it. */
        if (evd->discards) {
                evd->budget = budget;
                return true;
        }
        if (!ensure_cq(evd, budget) ||
            !ring_reserve(evd, 2 * (evd->qlen + max_int(evd->qlen, budget))))
                return false;
        evd->budget = budget;
        update_watch(evd);
        /* A waiter that went to sleep before there was a completion queue listens to none. */
        if (evd->sleeping)
                signal_arrival(evd, false);
        return true;
}

/* Makes sure of the completion queue, for a queue pair that is about to be made. */
bool evd_prepare(struct evd *evd)
{
        bool ok;

        lock_acquire(&evd->lock);
        ok = ensure_cq(evd, evd->budget);
        unlock(evd);
        return ok;
}

/* Makes room in the completion queue for that many more completions at once. */
bool evd_reserve(struct evd *evd, int completions)
{
        bool ok;

        lock_acquire(&evd->lock);
        ok = reserve_locked(evd, completions);
        unlock(evd);
        return ok;
}

void evd_unreserve(struct evd *evd, int completions)
{
        lock_acquire(&evd->lock);
        evd->budget -= completions;
        unlock(evd);
}

static struct evd_share *find_share(struct evd *evd, const struct srq *srq)
{
        struct evd_share *share = evd->shares;

        while (share && share->srq != srq)
                share = share->next;
        return share;
}

/* The buffers of an SRQ can all complete here, but only once, however many EPs it serves. */
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
        unlock(evd);
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
        unlock(evd);
}

/* Widens the share of an SRQ that is about to grow. */
bool evd_grow_share(struct evd *evd, struct srq *srq, int depth)
{
        struct evd_share *share;
        bool ok = true;

        lock_acquire(&evd->lock);
        share = find_share(evd, srq);
        if (share && depth > share->depth) {
                int more = depth - share->depth;

                ok = reserve_locked(evd, more);
                /* What is discarded has no queue, or one that queue pairs complete to already. */
                if (ok && evd->discards && evd->cq && !ensure_cq(evd, evd->budget)) {
                        evd->budget -= more;
                        ok = false;
                }
                if (ok)
                        share->depth = depth;
        }
        unlock(evd);
        return ok;
}

/* Lets completions of an SRQ find the EP that took the buffer. */
void evd_add_qp(struct evd *evd, struct ep *ep)
{
        struct ep **bucket = &evd->qps[ep->qp_num % EVD_QP_BUCKETS];

        lock_acquire(&evd->lock);
        ep->qp_next = *bucket;
        *bucket = ep;
        unlock(evd);
}

void evd_remove_qp(struct evd *evd, struct ep *ep)
{
        struct ep **at = &evd->qps[ep->qp_num % EVD_QP_BUCKETS];

        lock_acquire(&evd->lock);
        while (*at && *at != ep)
                at = &(*at)->qp_next;
        if (*at)
                *at = ep->qp_next;
        unlock(evd);
}

/* Completes as flushed, in the order of posting, whatever a queue pair that is gone has left. */
void evd_flush(struct evd *evd, struct wr_pool *pool)
{
        lock_acquire(&evd->lock);
        while (!list_empty(&pool->pending)) {
                struct wr *wr = container_of(pool->pending.next, struct wr, link);

                retire(evd, pool->ep, wr, wr->done ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED, 0);
        }
        unlock(evd);
}

/*
 * Completes one operation as flushed: at once, or with those before it when the EP has ended. False
 * when the queue is full; then the record is still the caller's.
 */
bool evd_flush_one(struct evd *evd, struct ep *ep, struct wr *wr)
{
        bool ok;

        if (ep->ends_at)
                return true;
        lock_acquire(&evd->lock);
        ok = evd->discards || evd->dto_count < dto_limit(evd);
        if (ok) {
                if (!evd->discards)
                        push_completion(evd, ep, wr, DAT_DTO_ERR_FLUSHED, 0);
                pool_give(wr);
        }
        unlock(evd);
        return ok;
}

/* The bind has taken effect; its completion follows those of the operations before it. */
void evd_bind_ready(struct evd *evd, struct wr *wr)
{
        lock_acquire(&evd->lock);
        lock_acquire(&wr->pool->lock);
        wr->done = true;
        lock_release(&wr->pool->lock);
        wr->pool->done++;
        retire_binds(evd, wr->pool);
        unlock(evd);
}

/* Takes back an operation that is not posted after all; binds may have waited for it only. */
void evd_withdraw(struct evd *evd, struct wr *wr)
{
        struct wr_pool *pool = wr->pool;

        lock_acquire(&evd->lock);
        pool_give(wr);
        if (pool->done)
                retire_binds(evd, pool);
        unlock(evd);
}

/* Drops the events of an EP that is being freed, so that none names a dead handle. */
void evd_forget_ep(struct evd *evd, const struct ep *ep)
{
        int kept = 0;

        lock_acquire(&evd->lock);
        for (int i = 0; i < evd->count; i++) {
                struct event *event = &evd->ring[(evd->head + i) % evd->ring_size];

                if (event->ep == ep) {
                        evd->dto_count -= event->dto;
                        evd->notify_count -= event->notify;
                        give_back(event->srq, event->ep);
                        continue;
                }
                evd->ring[(evd->head + kept++) % evd->ring_size] = *event;
        }
        evd->count = kept;
        unlock(evd);
}

/*
 * May a completion stream with these flags share the EVD with those that it has? Streams whose
 * notices the Consumer controls share it only with their like; the others only leave those alone.
 */
bool evd_accepts_flags(struct evd *evd, DAT_COMPLETION_FLAGS flags)
{
        bool ok;

        lock_acquire(&evd->lock);
        if (flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                ok = !evd->solicited_users && !evd->threshold_users && !evd->plain_users &&
                     !evd->other_users;
        else if (flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                ok = !evd->unsignalled_users && !evd->threshold_users && !evd->plain_users &&
                     !evd->other_users;
        else
                ok = !evd->unsignalled_users && !evd->solicited_users;
        unlock(evd);
        return ok;
}

/* May a stream that is not of completions use the EVD beside those that do? */
bool evd_accepts_others(struct evd *evd)
{
        /* It gives notice of each of its events, as completions by default do. */
        return evd_accepts_flags(evd, DAT_COMPLETION_DEFAULT_FLAG);
}

void evd_count_stream(struct evd *evd, DAT_COMPLETION_FLAGS flags, int by)
{
        lock_acquire(&evd->lock);
        if (flags == DAT_COMPLETION_UNSIGNALLED_FLAG)
                evd->unsignalled_users += by;
        else if (flags == DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                evd->solicited_users += by;
        else if (flags == DAT_COMPLETION_EVD_THRESHOLD_FLAG)
                evd->threshold_users += by;
        else
                evd->plain_users += by;
        update_watch(evd);
        unlock(evd);
}

void evd_count_other(struct evd *evd, int by)
{
        lock_acquire(&evd->lock);
        evd->other_users += by;
        unlock(evd);
}

/* Asks for, or no longer asks for, completions to be noticed while nobody waits. */
void evd_watch(struct evd *evd, int by)
{
        lock_acquire(&evd->lock);
        evd->watchers += by;
        update_watch(evd);
        unlock(evd);
}

/* There is no more than one, unless what the queue was armed for has changed. */
static void take_channel_event(struct evd *evd)
{
        struct ibv_cq *cq;
        void *context;

        if (!evd->channel || ibv_get_cq_event(evd->channel, &cq, &context))
                return;
        ibv_ack_cq_events(cq, 1);
        evd->armed = EVD_UNARMED;
        evd->channel_hit = true;
}

/* Called by the service thread when the channel of a watched EVD has something to read. */
void evd_channel_ready(struct evd *evd)
{
        lock_acquire(&evd->lock);
        take_channel_event(evd);
        if (evd->watched)
                watch(evd);
        if (evd->sleeping || (evd->solicited_users && evd->count))
                signal_arrival(evd, true);
        unlock(evd);
}

/* Makes an EVD that belongs to the IA; the caller publishes it, or not. */
DAT_RETURN evd_new(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **out)
{
        struct evd *evd = calloc(1, sizeof(*evd));

        if (!evd)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        evd->obj.ia = ia;
        evd->qlen = qlen;
        evd->flags = flags;
        evd->enabled = true;
        evd->waitable = true;
        /* Here, since dat_evd_wait(3DAT) has no return that says that descriptors are lacking. */
        evd->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (evd->wake_fd < 0) {
                free(evd);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
        }
        list_init(&evd->due_link);
        if (!ring_reserve(evd, 2 * qlen)) {
                close(evd->wake_fd);
                free(evd);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        }
        *out = evd;
        return DAT_SUCCESS;
}

/* Counts the EVD as one that uses the CNO, of which there has to be one. */
static DAT_RETURN use_cno(const struct evd *evd, DAT_CNO_HANDLE handle, struct cno **out)
{
        struct cno *cno = object_get(handle, DAT_HANDLE_TYPE_CNO);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_CNO);

        if (cno && cno->obj.ia == evd->obj.ia)
                ret = object_use(&cno->obj, ret);
        if (cno)
                object_put(cno);
        *out = cno;
        return ret;
}

static DAT_RETURN attach_cno(struct evd *evd, DAT_CNO_HANDLE cno_handle)
{
        struct cno_trigger *trigger = NULL;
        struct cno *cno = NULL;
        struct cno *old;
        DAT_RETURN ret;
        int due;

        if (cno_handle != DAT_HANDLE_NULL) {
                trigger = cno_new_trigger();
                if (!trigger)
                        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
                trigger->evd = evd->obj.handle;
                ret = use_cno(evd, cno_handle, &cno);
                if (ret != DAT_SUCCESS) {
                        free(trigger);
                        return ret;
                }
        }
        lock_acquire(&evd->lock);
        old = evd->cno;
        due = old ? cno_take_due(old, evd) : 0;
        if (old)
                cno_leave(old, evd);
        if (cno && !evd->trigger) {
                evd->trigger = trigger;
                trigger = NULL;
        }
        evd->cno = cno;
        while (cno && due--)
                cno_trigger(cno, evd);
        update_watch(evd);
        unlock(evd);
        free(trigger);
        if (old)
                object_unuse(&old->obj);
        return DAT_SUCCESS;
}

/*
 * dat_evd_create(3DAT), of which no page exists. evd_flags may be any union of stream types but
 * not empty. Returns DAT_INVALID_PARAMETER for a queue length below 1 or above the IA's limit.
 */
DAT_RETURN ref_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
                          DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct evd *evd;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (qlen < 1 || qlen > REF_MAX_EVD_QLEN)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        if (!flags || (unsigned int)flags & ~FLAGS_ALL)
                goto put;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        if (!evd_handle)
                goto put;
        ret = evd_new(ia, qlen, flags, &evd);
        if (ret != DAT_SUCCESS)
                goto put;
        ret = object_publish(ia, &evd->obj, DAT_HANDLE_TYPE_EVD);
        if (ret != DAT_SUCCESS) {
                evd_destroy(evd);
                goto put;
        }
        ret = attach_cno(evd, cno_handle);
        if (ret != DAT_SUCCESS) {
                object_kill(&evd->obj);
                evd_destroy(evd);
                goto put;
        }
        *evd_handle = object_handle(&evd->obj);
put:
        object_put(ia);
        return ret;
}

static struct evd *evd_get(DAT_EVD_HANDLE handle)
{
        return object_get(handle, DAT_HANDLE_TYPE_EVD);
}

#define BAD_EVD REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)

static DAT_EVD_STATE state_of(const struct evd *evd)
{
        unsigned int state = evd->enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED;

        state |= evd->waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE;
        if (evd->solicited_users)
                state |= DAT_EVD_STATE_CONFIG_SOLICITED;
        else if (evd->threshold_users)
                state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
        else if (evd->unsignalled_users)
                state |= DAT_EVD_STATE_CONFIG_NOTIFY;
        return (DAT_EVD_STATE)state;
}

/* dat_evd_query(3DAT) */
DAT_RETURN ref_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if ((unsigned int)mask & ~(unsigned int)DAT_EVD_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                lock_acquire(&evd->lock);
                *param = (DAT_EVD_PARAM){
                    .ia_handle = abi_ia_handle(&evd->obj.ia->obj),
                    .evd_qlen = evd->qlen,
                    .evd_state = state_of(evd),
                    .cno_handle = evd->cno ? object_handle(&evd->cno->obj) : DAT_HANDLE_NULL,
                    .evd_flags = evd->flags,
                };
                unlock(evd);
        }
        object_put(evd);
        return ret;
}

/* dat_evd_modify_cno(3DAT) */
DAT_RETURN ref_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret;

        if (!evd)
                return BAD_EVD;
        ret = attach_cno(evd, cno_handle);
        object_put(evd);
        return ret;
}

static DAT_RETURN set_enabled(DAT_EVD_HANDLE handle, bool enabled)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        evd->enabled = enabled;
        update_watch(evd);
        unlock(evd);
        object_put(evd);
        return DAT_SUCCESS;
}

/* dat_evd_enable(3DAT) */
DAT_RETURN ref_evd_enable(DAT_EVD_HANDLE handle)
{
        return set_enabled(handle, true);
}

/* dat_evd_disable(3DAT) */
DAT_RETURN ref_evd_disable(DAT_EVD_HANDLE handle)
{
        return set_enabled(handle, false);
}

static DAT_RETURN set_waitable(DAT_EVD_HANDLE handle, bool waitable)
{
        struct evd *evd = evd_get(handle);

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        evd->waitable = waitable;
        evd->evictions += !waitable;
        if (evd->sleeping)
                signal_arrival(evd, false);
        unlock(evd);
        object_put(evd);
        return DAT_SUCCESS;
}

/* dat_evd_set_unwaitable(3DAT): a thread that waits is released with DAT_INVALID_STATE. */
DAT_RETURN ref_evd_set_unwaitable(DAT_EVD_HANDLE handle)
{
        return set_waitable(handle, false);
}

/* dat_evd_clear_unwaitable(3DAT) */
DAT_RETURN ref_evd_clear_unwaitable(DAT_EVD_HANDLE handle)
{
        return set_waitable(handle, true);
}

/* dat_evd_resize(3DAT): exact, and DAT_INVALID_STATE below the number of events queued. */
DAT_RETURN ref_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if (qlen < 1 || qlen > REF_MAX_EVD_QLEN) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        lock_acquire(&evd->lock);
        drain_locked(evd, true);
        if (qlen < evd->count)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
        else if (!ring_reserve(evd, 2 * (qlen + max_int(qlen, evd->budget))))
                ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        else
                evd->qlen = qlen;
        unlock(evd);
        object_put(evd);
        return ret;
}

/* dat_evd_post_se(3DAT): DAT_QUEUE_FULL when the queue holds its length, and nobody hears of it. */
DAT_RETURN ref_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *dat)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!evd)
                return BAD_EVD;
        if (!dat || dat->event_number != DAT_SOFTWARE_EVENT) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        lock_acquire(&evd->lock);
        drain_locked(evd, false);
        if (evd->count >= evd->qlen) {
                ret = REF_ERROR(DAT_QUEUE_FULL, 0);
        } else {
                struct event event = {.dat = *dat, .notify = true};

                push(evd, &event);
        }
        unlock(evd);
        object_put(evd);
        return ret;
}

/* dat_evd_dequeue(3DAT): DAT_INVALID_STATE while a thread waits on the EVD. */
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
        if (evd->waiter) {
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        } else if (evd->count) {
                pop(evd, event);
        } else {
                evd->taker = event;
                drain_locked(evd, false);
                if (evd->taker)
                        ret = evd->obj.ia->lenient ? (DAT_RETURN)DAT_QUEUE_EMPTY
                                                   : REF_ERROR(DAT_QUEUE_EMPTY, 0);
                evd->taker = NULL;
        }
        unlock(evd);
        object_put(evd);
        return ret;
}

static DAT_RETURN may_wait(struct evd *evd, DAT_COUNT threshold)
{
        if (threshold < 1 || threshold > evd->qlen)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (evd->closing)
                return REF_ERROR(DAT_ABORT, 0);
        if (!evd->waitable)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
        if (evd->waiter)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        if (threshold > 1 && evd->unsignalled_users)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_NOTIFY);
        if (threshold > 1 && evd->solicited_users)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_CONFIG_SOLICITED);
        return DAT_SUCCESS;
}

static bool satisfied(const struct evd *evd, DAT_COUNT threshold, bool slept)
{
        if (evd->count < threshold)
                return false;
        /* Having slept, a waiter wakes for a notice, not for what the Consumer wanted silent. */
        return !slept || threshold > 1 || evd->notify_count ||
               (evd->solicited_users && evd->channel_hit);
}

/* Sleeps until something happens to the EVD; 0 when the time is over, -EINTR for a signal. */
static int sleep_on(struct evd *evd, uint64_t deadline)
{
        struct pollfd fds[2] = {
            {.fd = evd->wake_fd, .events = POLLIN},
            {.fd = evd->channel ? evd->channel->fd : -1, .events = POLLIN},
        };
        struct timespec left;
        uint64_t now = deadline ? now_us() : 0;
        uint64_t count;
        int ready;
        int error;

        if (deadline && now >= deadline)
                return 0;
        if (deadline)
                left = (struct timespec){.tv_sec = (time_t)((deadline - now) / 1000000),
                                         .tv_nsec = (long)((deadline - now) % 1000000) * 1000};
        evd->sleeping = true;
        lock_release(&evd->lock);
        ready = ppoll(fds, 2, deadline ? &left : NULL, NULL);
        error = errno;
        lock_acquire(&evd->lock);
        evd->sleeping = false;
        evd->woken = false;
        if (ready > 0 && fds[0].revents && read(evd->wake_fd, &count, sizeof(count)) < 0)
                return 1;
        if (ready > 0 && fds[1].revents)
                take_channel_event(evd);
        return ready < 0 ? -error : ready;
}

static DAT_RETURN wait_locked(struct evd *evd, uint64_t deadline, DAT_COUNT threshold)
{
        bool solicited = evd->solicited_users > 0;
        unsigned int evictions = evd->evictions;
        bool slept = false;
        int woken;

        for (;;) {
                drain_locked(evd, false);
                if (evd->closing)
                        return REF_ERROR(DAT_ABORT, 0);
                if (evd->evictions != evictions)
                        return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
                if (satisfied(evd, threshold, slept))
                        return DAT_SUCCESS;
                evd->channel_hit = false;
                if (evd->cq) {
                        if (!arm(evd, solicited))
                                return REF_ERROR(DAT_INTERNAL_ERROR, 0);
                        drain_locked(evd, false);
                        if (satisfied(evd, threshold, slept))
                                return DAT_SUCCESS;
                }
                woken = sleep_on(evd, deadline);
                slept = true;
                if (woken == -EINTR)
                        return REF_ERROR(DAT_INTERRUPTED_CALL, 0);
                if (!woken) {
                        drain_locked(evd, false);
                        return evd->count >= threshold ? DAT_SUCCESS
                                                       : REF_ERROR(DAT_TIMEOUT_EXPIRED, 0);
                }
        }
}

/* dat_evd_wait(3DAT): sleeps on the completion channel and on an eventfd; it never spins. */
DAT_RETURN ref_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
                        DAT_EVENT *event, DAT_COUNT *nmore)
{
        struct evd *evd = evd_get(handle);
        uint64_t deadline = timeout == DAT_TIMEOUT_INFINITE ? 0 : now_us() + timeout;
        DAT_RETURN ret;

        if (!evd)
                return BAD_EVD;
        if (!event || !nmore) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_PARAMETER,
                                 event ? DAT_INVALID_ARG5 : DAT_INVALID_ARG4);
        }
        lock_acquire(&evd->lock);
        ret = may_wait(evd, threshold);
        if (ret != DAT_SUCCESS)
                goto out;
        evd->waiter = true;
        ret = wait_locked(evd, deadline, threshold);
        evd->waiter = false;
        if (ret == DAT_SUCCESS)
                pop(evd, event);
        /* The waiter may have read what the service thread listens for. */
        if (evd->watched && !watches(evd))
                watch(evd);
        *nmore = evd->count;
out:
        unlock(evd);
        object_put(evd);
        return ret;
}

/* dat_evd_free(3DAT): DAT_INVALID_STATE while anything feeds it or a thread waits on it. */
DAT_RETURN ref_evd_free(DAT_EVD_HANDLE handle)
{
        struct evd *evd = evd_get(handle);
        DAT_RETURN ret;
        bool waiter;

        if (!evd)
                return BAD_EVD;
        lock_acquire(&evd->lock);
        waiter = evd->waiter;
        unlock(evd);
        if (waiter) {
                object_put(evd);
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
        }
        pthread_mutex_lock(&evd->obj.ia->lock);
        if (evd->obj.users)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
        else
                ret = object_kill(&evd->obj) ? DAT_SUCCESS : BAD_EVD;
        pthread_mutex_unlock(&evd->obj.ia->lock);
        if (ret != DAT_SUCCESS) {
                object_put(evd);
                return ret;
        }
        evd_close(evd);
        object_await_last(&evd->obj, 1);
        evd_destroy(evd);
        return ret;
}

/* Releases whoever waits; no event is taken in any more. */
void evd_close(struct evd *evd)
{
        lock_acquire(&evd->lock);
        evd->closing = true;
        update_watch(evd);
        if (evd->sleeping)
                signal_arrival(evd, false);
        unlock(evd);
}

/* Frees an EVD that nothing feeds any more. Requests still queued on it are refused. */
void evd_destroy(struct evd *evd)
{
        DAT_EVENT dat;

        while (evd->count) {
                pop(evd, &dat);
                if (dat.event_number == DAT_CONNECTION_REQUEST_EVENT)
                        cr_discard(dat.event_data.cr_arrival_event_data.cr_handle);
        }
        if (evd->watched)
                service_ignore(evd->obj.ia, evd);
        if (evd->cno)
                (void)cno_take_due(evd->cno, evd);
        if (evd->obj.handle)
                cno_forget(evd->cno, evd);
        if (evd->cq)
                ibv_destroy_cq(evd->cq);
        if (evd->channel)
                ibv_destroy_comp_channel(evd->channel);
        if (evd->obj.handle)
                object_bury(&evd->obj);
        close(evd->wake_fd);
        while (evd->shares) {
                struct evd_share *share = evd->shares;

                evd->shares = share->next;
                free(share);
        }
        free(evd->ring);
        free(evd);
}
