/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/qp.h"
#include "base/daplref.h"
#include "base/destroy_async.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "base/sigpipe.h"
#include "endpoint/ep.h"
#include "endpoint/fence.h"
#include "endpoint/srq.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "memory/pz.h"

#define MIN_RNR_TIMER 12 /* 0.64 ms; librdmacm's default is 655 ms */
#define FOREVER       7
#define INLINE        64 /* bytes of a request that verbs copies at the post, if it can */
#define PSN_MASK      0xffffffu
#define HALVES        2 /* requests to verbs for one DTO, see post.c */

/* No attribute tells the inline size that a device supports, so it is tried. */
static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
        struct ibv_qp_cap wanted = init->cap;
        struct ibv_qp *qp = ibv_create_qp(pd, init);

        if (qp)
                return qp;
        init->cap = wanted;
        init->cap.max_inline_data = 0;
        return ibv_create_qp(pd, init);
}

static uint32_t max_send_wr(const struct ep *ep)
{
        uint32_t requests = ep->attr.max_request_dtos ? (uint32_t)ep->attr.max_request_dtos : 1;

        return ep->obj.ia->splits_short ? HALVES * requests : requests;
}

/* Makes the queue pair, in RESET. Called with ia->cm_lock held and the gate open. */
DAT_RETURN ep_make_qp(struct ep *ep)
{
        const DAT_EP_ATTR *attr = &ep->attr;
        DAT_COUNT sge = attr->max_request_iov;
        struct ibv_qp_init_attr init;

        if (!ep->pz)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
        if (!ep->connect_evd)
                return REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_EVD_CONNECT);
        if (sge < attr->max_rdma_read_iov)
                sge = attr->max_rdma_read_iov;
        if (sge < attr->max_rdma_write_iov)
                sge = attr->max_rdma_write_iov;
        if (sge < HALVES && ep->obj.ia->splits_short)
                sge = HALVES;
        if (!evd_prepare(ep_recv_target(ep)) || !evd_prepare(ep_request_target(ep)))
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
        init = (struct ibv_qp_init_attr){
            .qp_context = ep,
            .send_cq = ep_request_target(ep)->cq,
            .recv_cq = ep_recv_target(ep)->cq,
            .srq = ep->srq ? srq_join(ep->srq) : NULL,
            .cap = {.max_send_wr = max_send_wr(ep),
                    .max_recv_wr = attr->max_recv_dtos ? (uint32_t)attr->max_recv_dtos : 1,
                    .max_send_sge = sge ? (uint32_t)sge : 1,
                    .max_recv_sge =
                        attr->max_recv_iov > 0 && !ep->srq ? (uint32_t)attr->max_recv_iov : 1,
                    .max_inline_data = INLINE},
            .qp_type = IBV_QPT_RC,
        };
        ep->qp = create_qp(ep->pz->pd, &init);
        if (!ep->qp) {
                if (ep->srq)
                        srq_leave(ep->srq);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
        }
        ep->qp_num = ep->qp->qp_num;
        ep->inline_max = init.cap.max_inline_data;
        atomic_store(&ep->mtu_shift, 0);
        atomic_store(&ep->failed, false);
        atomic_store(&ep->last_wqe_reached, false);
        ep->qp_unanswered = false;
        if (ep->srq)
                evd_add_qp(ep_recv_target(ep), ep);
        return DAT_SUCCESS;
}

/*
 * Makes a queue pair that stays in RESET, only for its number. The CM treats two requests with the
 * same number as repetitions. Returns NULL on failure. Called with ia->cm_lock held.
 */
struct ibv_qp *qp_for_number(struct ia *ia)
{
        struct ibv_qp_init_attr init = {
            .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
            .qp_type = IBV_QPT_RC,
        };

        if (!ia->number_pd)
                ia->number_pd = ibv_alloc_pd(ia->verbs);
        if (!ia->number_pd || !evd_prepare(ia->sink))
                return NULL;
        init.send_cq = init.recv_cq = ia->sink->cq;
        return ibv_create_qp(ia->number_pd, &init);
}

/* Starts to count the packets of messages from the peer. */
static void number_packets(struct ep *ep, const struct ibv_qp_attr *attr, int mask)
{
        if (mask & IBV_QP_RQ_PSN && mask & IBV_QP_PATH_MTU) {
                ep->first_psn = attr->rq_psn;
                atomic_store(&ep->recv_psn, attr->rq_psn);
                atomic_store(&ep->mtu_shift, 7 + attr->path_mtu); /* IBV_MTU_256 is 1 */
        }
}

/*
 * Gets the attributes of a queue pair's next state from librdmacm. On Ethernet those of INIT are
 * the same for all connections of a port, so they are cached. Called with ia->cm_lock held.
 */
static bool ask_attr(struct ia *ia, struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
        bool same = attr->qp_state == IBV_QPS_INIT && !ia->iwarp && id->port_num == ia->port &&
                    ia->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;

        if (same && ia->init_mask) {
                *attr = ia->init_attr;
                *mask = ia->init_mask;
                return true;
        }
        if (rdma_init_qp_attr(id, attr, mask))
                return false;
        if (same) {
                ia->init_attr = *attr;
                ia->init_mask = *mask;
        }
        return true;
}

/* Moves the queue pair to INIT, RTR or RTS with the attributes of librdmacm. */
bool ep_step_qp(struct ep *ep, struct rdma_cm_id *id, enum ibv_qp_state state)
{
        struct ibv_qp_attr attr = {.qp_state = state};
        int mask = 0;

        if (!ask_attr(ep->obj.ia, id, &attr, &mask))
                return false;
        if (state == IBV_QPS_INIT)
                attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
        if (state == IBV_QPS_RTR) {
                attr.min_rnr_timer = MIN_RNR_TIMER;
                attr.max_dest_rd_atomic = (uint8_t)ep->attr.max_rdma_read_in;
                number_packets(ep, &attr, mask);
                ep->qp_takes_messages = true;
        }
        if (state == IBV_QPS_RTS) {
                if (attr.max_rd_atomic > ep->attr.max_rdma_read_out)
                        attr.max_rd_atomic = (uint8_t)ep->attr.max_rdma_read_out;
                ep->read_credit = attr.max_rd_atomic;
                attr.retry_cnt = FOREVER;
                attr.rnr_retry = FOREVER;
        }
        return !ibv_modify_qp(ep->qp, &attr, mask);
}

/* On iWARP the kernel moves the queue pair to RTS during the accept or the peer's answer. */
void ep_kernel_steps_qp(struct ep *ep)
{
        ep->qp_takes_messages = true;
}

/* Sets the number of concurrent RDMA reads that was negotiated. */
void ep_may_read(struct ep *ep, int reads)
{
        ep->read_credit = reads < ep->attr.max_rdma_read_out ? reads : ep->attr.max_rdma_read_out;
}

static bool post_held(struct ep *ep)
{
        struct link *head = &ep->recvs.pending;
        struct link *after;
        struct ibv_recv_wr *bad;

        /* Read the link before the post: the completion of a posted record may move it. */
        for (struct link *at = head->next; at != head; at = after) {
                struct wr *wr = container_of(at, struct wr, link);
                struct ibv_recv_wr recv;

                after = at->next;
                if (!wr->held)
                        continue;
                wr_as_recv(wr, ep->obj.ia, &recv);
                wr->held = false;
                wr_publish(wr, ep->recvs.plain);
                if (ibv_post_recv(ep->qp, &recv, &bad))
                        return false;
        }
        return true;
}

/* Moves the queue pair to INIT and posts the held receives. */
bool ep_start_qp(struct ep *ep, struct rdma_cm_id *id)
{
        bool ok;

        if (!ep_step_qp(ep, id, IBV_QPS_INIT))
                return false;
        gate_close(&ep->gate);
        ok = post_held(ep);
        ep->qp_takes_receives = ok;
        gate_open(&ep->gate);
        return ok;
}

/* Destroys a queue pair that was never used. Its receives are held again. */
void ep_drop_qp(struct ep *ep)
{
        struct link *head = &ep->recvs.pending;

        gate_close(&ep->gate);
        ep->qp_takes_receives = false;
        if (ep->srq)
                evd_remove_qp(ep_recv_target(ep), ep);
        ibv_destroy_qp(ep->qp);
        if (ep->srq)
                srq_leave(ep->srq);
        ep->qp = NULL;
        for (struct link *at = head->next; at != head; at = at->next)
                container_of(at, struct wr, link)->held = true;
        gate_open(&ep->gate);
}

/*
 * Whether the packet number of the device is true. Some drivers always return the initial number. A
 * device is trusted once it returned a different number that matches the completed messages.
 */
static bool number_is_true(const struct ep *ep, uint32_t number, uint32_t next)
{
        struct ia *ia = ep->obj.ia;

        if (number != ep->first_psn && number == (next & PSN_MASK))
                atomic_store(&ia->numbers_move, true);
        return atomic_load(&ia->numbers_move);
}

/*
 * Whether a message may be arriving in a buffer of the EP's SRQ. Verbs does not show the buffer,
 * but each packet advances the expected sequence number. A peer's RDMA advances it too, and then
 * the answer is always true. Called with ia->cm_lock held.
 */
bool ep_may_be_receiving(struct ep *ep)
{
        struct ibv_qp_init_attr init;
        struct ibv_qp_attr attr;
        uint32_t ahead;
        uint32_t next;

        if (!ep->qp || !srq_may_be_arriving(ep->srq))
                return false;
        /* iWARP has no packet numbers. */
        if (ep->obj.ia->iwarp)
                return ep->qp_takes_messages;
        if (ibv_query_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_RQ_PSN, &init))
                return true;
        if (attr.qp_state == IBV_QPS_RESET || attr.qp_state == IBV_QPS_INIT)
                return false;
        if (!atomic_load(&ep->mtu_shift))
                return true;
        /* Drain after the query, so that each message in the number is counted. */
        evd_drain(ep_recv_target(ep));
        next = atomic_load(&ep->recv_psn);
        if (!number_is_true(ep, attr.rq_psn, next))
                return true;
        ahead = (attr.rq_psn - next) & PSN_MASK;
        return ahead && ahead <= PSN_MASK / 2;
}

/* An idle queue pair without an SRQ need not be stopped before it is destroyed. */
static bool is_idle(const struct ep *ep)
{
        return !ep->obj.ia->iwarp && !ep->srq && !atomic_load(&ep->recvs.in_use) &&
               !atomic_load(&ep->requests.in_use);
}

/* Moves the queue pair to ERR, so that it takes no more receives, see ep_flush.c. */
void qp_stop(struct ep *ep)
{
        struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
        struct sigpipe sigpipe;

        if (is_idle(ep))
                return;
        sigpipe_block(ep->obj.ia, &sigpipe);
        (void)ibv_modify_qp(ep->qp, &error, IBV_QP_STATE);
        sigpipe_restore(&sigpipe);
}

/* Whether a stopped queue pair may hold receives of an SRQ. */
bool qp_may_hold(const struct ep *ep)
{
        return ep->qp && ep->srq && ep->qp_takes_messages;
}

static void destroy(void *qp)
{
        ibv_destroy_qp(qp);
}

/*
 * Destroys a queue pair. If its request is `unanswered`, it may outlive its EP, and reports nothing
 * to it.
 */
void qp_destroy(struct ia *ia, struct ibv_qp *qp, bool unanswered)
{
        struct sigpipe sigpipe;

        if (unanswered) {
                qp->qp_context = NULL;
                destroy_async(ia, destroy, qp);
                return;
        }
        sigpipe_block(ia, &sigpipe);
        ibv_destroy_qp(qp);
        sigpipe_restore(&sigpipe);
}

/* Destroys the queue pair after collecting its completions. */
void qp_take_down(struct ep *ep)
{
        fence_drop(ep);
        evd_drain(ep_recv_target(ep));
        evd_drain(ep_request_target(ep));
        qp_destroy(ep->obj.ia, ep->qp, ep->qp_unanswered);
        evd_drain(ep_recv_target(ep));
        evd_drain(ep_request_target(ep));
        if (ep->srq) {
                evd_remove_qp(ep_recv_target(ep), ep);
                srq_leave(ep->srq);
        }
        ep->qp = NULL;
        ep->qp_takes_receives = false;
        ep->qp_takes_messages = false;
}
