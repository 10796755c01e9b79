/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/fence.h"
#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "event/evd.h"
#include "event/evd_cno.h"
#include "event/evd_cq.h"
#include "event/owner.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/*
 * In soft-RoCE's rxe_wqe_is_fenced() a repeated request waits for every read, later ones included.
 * So a later read that is repeated behind it deadlocks with it. On such a device a fenced request
 * behind an incomplete read is held in software, and so are all requests after it. The service
 * thread posts them, without the flag, as soon as the reads have completed. Meanwhile it watches
 * the EVD, because no thread of the Consumer need drain it.
 */
struct held_post {
        struct link link;
        bool fenced;
        struct ibv_send_wr send;
        struct ibv_sge sge[REF_MAX_IOV];
};

static struct wr *record_of(const struct ibv_send_wr *send)
{
        return ((union wr_id){.number = send->wr_id}).wr;
}

/*
 * Whether an RDMA read of the EP that was posted before the record is incomplete; any read if
 * `before` is NULL. A read that another thread is posting is not counted, because nothing orders it
 * before the caller's request.
 */
bool fence_has_read(struct ep *ep, const struct wr *before)
{
        struct wr_pool *pool = &ep->requests;
        const struct link *end = before ? &before->link : &pool->pending;
        bool found = false;

        lock_acquire(&pool->lock);
        for (struct link *at = pool->pending.next; at != end && !found; at = at->next) {
                const struct wr *wr = container_of(at, struct wr, link);

                found = wr_is_published(wr) && wr->kind == WR_RDMA_READ;
        }
        lock_release(&pool->lock);
        return found;
}

static int post_now(struct ep *ep, struct ibv_send_wr *send)
{
        struct ibv_send_wr *bad;

        send->send_flags &= ~(unsigned int)IBV_SEND_FENCE;
        return ibv_post_send(ep->qp, send, &bad);
}

/* Copies the request, but not its data. Returns ENOMEM if there is no memory. */
static int hold(struct ep *ep, const struct ibv_send_wr *send, bool fenced)
{
        struct held_post *held = malloc(sizeof(*held));

        if (!held)
                return ENOMEM;
        held->fenced = fenced;
        held->send = *send;
        held->send.send_flags &= ~(unsigned int)IBV_SEND_INLINE;
        held->send.sg_list = held->sge;
        for (int i = 0; i < send->num_sge; i++)
                held->sge[i] = send->sg_list[i];
        list_append(&ep->fence.held, &held->link);
        return 0;
}

/* Adapts the way of posts and the watch to what is held. Called with the fence locked. */
static void settle(struct ep *ep)
{
        struct evd *evd = ep_request_target(ep);
        bool holds = !list_empty(&ep->fence.held);

        atomic_store(&ep->post_path, holds || ep->fence.announced ? POST_IN_TURN : POST_DIRECTLY);
        if (holds == ep->fence.watching)
                return;
        ep->fence.watching = holds;
        evd_watch(evd, holds ? 1 : -1);
        if (!holds)
                return;
        /* The last read may have completed before the watch began. */
        evd_drain(evd);
        work_queue(&ep->obj.ia->loop, &ep->fence.work);
}

static bool may_post(const struct ep *ep)
{
        int state = atomic_load(&ep->state);

        return state == EP_CONNECTED || state == EP_DRAINING;
}

static void release(struct ep *ep)
{
        struct link *head = &ep->fence.held;
        struct link *next;

        for (struct link *at = head->next; at != head; at = next) {
                struct held_post *held = container_of(at, struct held_post, link);

                next = at->next;
                if (held->fenced && fence_has_read(ep, record_of(&held->send)))
                        break;
                /* Its record stays pending, so the flush of the broken connection completes it. */
                if (post_now(ep, &held->send))
                        ep_failed(ep);
                list_unlink(at);
                free(held);
        }
        settle(ep);
}

static void run_release(struct work *work)
{
        struct ep *ep = container_of(work, struct ep, fence.work);

        gate_enter(&ep->gate);
        lock_acquire(&ep->fence.lock);
        if (may_post(ep))
                release(ep);
        lock_release(&ep->fence.lock);
        gate_leave(&ep->gate);
}

/* Also chooses the way of posts. */
void fence_init(struct ep *ep)
{
        atomic_store(&ep->post_path,
                     ep->obj.ia->raises_sigpipe ? POST_WITHOUT_SIGPIPE : POST_DIRECTLY);
        list_init(&ep->fence.held);
        work_init(&ep->fence.work, &ep->obj, run_release);
}

/*
 * Called before the post of a fenced request, so that it and all later ones take fence_post().
 * Inside the gate.
 */
void fence_announce(struct ep *ep)
{
        lock_acquire(&ep->fence.lock);
        ep->fence.announced++;
        settle(ep);
        lock_release(&ep->fence.lock);
}

/*
 * Posts the request, whose record is published, or holds it behind earlier reads or behind held
 * requests. Returns 0 or an errno. Inside the gate, with POST_IN_TURN.
 */
int fence_post(struct ep *ep, const struct ibv_send_wr *send)
{
        bool fenced = send->send_flags & IBV_SEND_FENCE;
        struct ibv_send_wr now = *send;
        int error;

        lock_acquire(&ep->fence.lock);
        ep->fence.announced -= fenced;
        if (list_empty(&ep->fence.held) && !(fenced && fence_has_read(ep, record_of(send))))
                error = post_now(ep, &now);
        else
                error = hold(ep, send, fenced);
        settle(ep);
        lock_release(&ep->fence.lock);
        return error;
}

/* Forgets the held requests, whose records the flush completes. Called with the gate closed. */
void fence_drop(struct ep *ep)
{
        struct link *head = &ep->fence.held;
        struct link *next;

        lock_acquire(&ep->fence.lock);
        if (!list_empty(head)) {
                for (struct link *at = head->next; at != head; at = next) {
                        next = at->next;
                        free(container_of(at, struct held_post, link));
                }
                list_init(head);
                settle(ep);
        }
        lock_release(&ep->fence.lock);
}
