/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/post.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/lock.h"
#include "base/pool.h"
#include "base/sigpipe.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/fence.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "memory/lmr_gather.h"

#define REQUEST_FLAGS                                                     \
        (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
         DAT_COMPLETION_BARRIER_FENCE_FLAG)

struct operation {
        enum ibv_wr_opcode opcode;
        DAT_MEM_PRIV_FLAGS need;
        DAT_COMPLETION_FLAGS allowed;
        int flags_argument; /* the error subtype for invalid flags */
};

static const struct operation operations[] = {
    [WR_SEND] = {.opcode = IBV_WR_SEND,
                 .need = DAT_MEM_PRIV_LOCAL_READ_FLAG,
                 .allowed = REQUEST_FLAGS | DAT_COMPLETION_SOLICITED_WAIT_FLAG,
                 .flags_argument = DAT_INVALID_ARG5},
    [WR_RDMA_READ] = {.opcode = IBV_WR_RDMA_READ,
                      .need = DAT_MEM_PRIV_LOCAL_WRITE_FLAG,
                      .allowed = REQUEST_FLAGS,
                      .flags_argument = DAT_INVALID_ARG6},
    [WR_RDMA_WRITE] = {.opcode = IBV_WR_RDMA_WRITE,
                       .need = DAT_MEM_PRIV_LOCAL_READ_FLAG,
                       .allowed = REQUEST_FLAGS,
                       .flags_argument = DAT_INVALID_ARG6},
};

/*
 * Functions that are compiled once for each kind of operation. So operations[] is constant in them,
 * and the request stays in registers.
 */
#define PER_KIND static inline __attribute__((always_inline))

struct request {
        enum wr_kind kind; /* an index of operations[] */
        DAT_COUNT segments;
        const DAT_LMR_TRIPLET *iov;
        DAT_DTO_COOKIE cookie;
        const DAT_RMR_TRIPLET *remote; /* NULL for a send */
        DAT_COMPLETION_FLAGS flags;
};

PER_KIND DAT_COUNT max_segments(const DAT_EP_ATTR *attr, enum wr_kind kind)
{
        if (kind == WR_SEND)
                return attr->max_request_iov;
        return kind == WR_RDMA_READ ? attr->max_rdma_read_iov : attr->max_rdma_write_iov;
}

/*
 * Whether the request needs a fence: only behind a read. Reads of InfiniBand complete in order, but
 * the next one begins before the last one is complete. siw refuses a fence for reads.
 */
PER_KIND bool needs_fence(struct ep *ep, const struct request *request)
{
        return request->flags & DAT_COMPLETION_BARRIER_FENCE_FLAG &&
               !(request->kind == WR_RDMA_READ && ep->obj.ia->iwarp) && fence_has_read(ep, NULL);
}

PER_KIND DAT_RETURN check_request(struct ep *ep, const struct request *request, struct ibv_sge *sge,
                                  int *num_sge, DAT_VLEN *length, unsigned int *send_flags)
{
        const struct operation *operation = &operations[request->kind];
        DAT_RETURN ret;

        /* A negative number of segments is too large as an unsigned one. */
        if ((unsigned int)request->segments > (unsigned int)max_segments(&ep->attr, request->kind))
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (request->segments && !request->iov)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (request->kind != WR_SEND && !request->remote)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        /* Always signalled, because the record returns to the pool with its completion. */
        *send_flags = IBV_SEND_SIGNALED;
        if (request->flags != DAT_COMPLETION_DEFAULT_FLAG) {
                ret = ep_check_flags(ep, request->flags, operation->allowed,
                                     operation->flags_argument);
                if (ret != DAT_SUCCESS)
                        return ret;
                if (request->flags & DAT_COMPLETION_SOLICITED_WAIT_FLAG)
                        *send_flags |= IBV_SEND_SOLICITED;
                if (needs_fence(ep, request))
                        *send_flags |= IBV_SEND_FENCE;
        }
        ret = lmr_gather(ep->obj.ia, ep->pz, operation->need, request->iov, request->segments, sge,
                         num_sge, length);
        if (ret != DAT_SUCCESS)
                return ret;
        if (request->kind == WR_RDMA_READ && request->remote->segment_length > *length)
                return REF_ERROR(DAT_LENGTH_ERROR, 0);
        if (request->kind == WR_RDMA_WRITE && *length > request->remote->segment_length)
                return REF_ERROR(DAT_LENGTH_ERROR, 0);
        if (request->kind == WR_RDMA_READ)
                *length = request->remote->segment_length;
        if (*length >
            (request->kind == WR_SEND ? ep->attr.max_message_size : ep->attr.max_rdma_size))
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        return DAT_SUCCESS;
}

/* A record is free only after its completion is drained, so drain and try once more. */
static struct wr *drain_and_take(struct ep *ep, struct wr_pool *pool, DAT_COUNT limit)
{
        if (!limit)
                return NULL;
        evd_drain(pool == &ep->recvs ? ep_recv_target(ep) : ep_request_target(ep));
        return pool_take(pool, limit);
}

PER_KIND struct wr *take_record(struct ep *ep, struct wr_pool *pool, DAT_COUNT limit)
{
        struct wr *wr = pool_take(pool, limit);

        return wr ? wr : drain_and_take(ep, pool, limit);
}

static DAT_RETURN flush_at_once(struct evd *evd, struct ep *ep, struct wr *wr)
{
        if (evd_flush_one(evd, ep, wr))
                return DAT_SUCCESS;
        pool_give(wr);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
}

PER_KIND void describe(struct wr *wr, enum wr_kind kind, DAT_COMPLETION_FLAGS flags,
                       DAT_DTO_COOKIE cookie, DAT_VLEN length)
{
        wr->kind = kind;
        wr->flags = flags;
        wr->cookie = cookie;
        wr->length = length;
}

/* Leaves the members of other operations uninitialised. */
PER_KIND void describe_to_verbs(struct ibv_send_wr *send, const struct request *request)
{
        send->next = NULL;
        send->opcode = operations[request->kind].opcode;
        send->imm_data = 0;
        if (request->kind != WR_SEND) {
                send->wr.rdma.remote_addr = abi_remote_address(request->remote);
                send->wr.rdma.rkey = request->remote->rmr_context;
        }
}

#define SHORT 32
#define PAGE  4096

/*
 * siw copies short messages into the packet header, and fails at a page boundary. Returns the
 * number of bytes before the boundary, or 0 if the message need not be split.
 */
PER_KIND uint32_t before_page(const struct ep *ep, const struct ibv_send_wr *send, uint64_t address,
                              DAT_VLEN length)
{
        uint32_t first = PAGE - (uint32_t)(address % PAGE);

        return ep->obj.ia->splits_short && length <= SHORT && first < length && send->num_sge == 1
                   ? first
                   : 0;
}

/* siw also copies a request that waits for a read, but not one with two segments. */
static void halve_segment(const struct ep *ep, struct ibv_send_wr *send, DAT_VLEN length)
{
        struct ibv_sge *sge = send->sg_list;
        uint32_t first = send->num_sge ? before_page(ep, send, sge->addr, length) : 0;

        if (!first)
                return;
        sge[1] = sge[0];
        sge[1].addr += first;
        sge[1].length -= first;
        sge[0].length = first;
        send->num_sge = 2;
}

static int post_without_sigpipe(struct ep *ep, struct ibv_send_wr *send)
{
        struct ibv_send_wr *bad;
        struct sigpipe sigpipe;
        int error;

        sigpipe_block(ep->obj.ia, &sigpipe);
        error = ibv_post_send(ep->qp, send, &bad);
        sigpipe_restore(&sigpipe);
        return error;
}

static __attribute__((noinline)) int post_otherwise(struct ep *ep, struct ibv_send_wr *send)
{
        return ep->obj.ia->raises_sigpipe ? post_without_sigpipe(ep, send) : fence_post(ep, send);
}

PER_KIND int hand_to_verbs(struct ep *ep, struct ibv_send_wr *send)
{
        struct ibv_send_wr *bad;

        if (atomic_load_explicit(&ep->post_path, memory_order_relaxed) != POST_DIRECTLY)
                return post_otherwise(ep, send);
        return ibv_post_send(ep->qp, send, &bad);
}

static __attribute__((noinline)) void prepare_fenced(struct ep *ep, struct ibv_send_wr *send,
                                                     DAT_VLEN length)
{
        if (ep->obj.ia->fence_deadlocks)
                fence_announce(ep);
        else
                halve_segment(ep, send, length);
}

/*
 * Posts a read as two. The first is unsignalled and so completes only on failure; then the
 * completion of the second finds a record that is no longer posted.
 */
static __attribute__((noinline)) int post_halves(struct ep *ep, struct ibv_send_wr *send,
                                                 uint32_t first)
{
        struct ibv_sge near = send->sg_list[0];
        struct ibv_sge far = near;
        struct ibv_send_wr rest = *send;

        near.length = first;
        far.addr += first;
        far.length -= first;
        rest.sg_list = &far;
        rest.wr.rdma.remote_addr += first;
        send->sg_list = &near;
        send->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
        send->next = &rest;
        return hand_to_verbs(ep, send);
}

PER_KIND int post_to_verbs(struct ep *ep, const struct request *request, struct ibv_send_wr *send,
                           DAT_VLEN length)
{
        uint32_t first = 0;

        if (request->kind == WR_RDMA_READ)
                first = before_page(ep, send, send->wr.rdma.remote_addr, length);
        return first ? post_halves(ep, send, first) : hand_to_verbs(ep, send);
}

/*
 * Posts to an EP that is not connected: flushes the request or refuses it. Takes no pointer to the
 * request, so that it may stay in registers.
 */
static __attribute__((noinline)) DAT_RETURN post_unconnected(struct ep *ep, enum wr_kind kind,
                                                             DAT_COMPLETION_FLAGS flags,
                                                             DAT_DTO_COOKIE cookie, DAT_VLEN length)
{
        struct wr *wr;

        if (!ep_state_flushes(atomic_load(&ep->state)))
                return ep_state_error(ep);
        wr = take_record(ep, &ep->requests, ep->attr.max_request_dtos);
        if (!wr)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        describe(wr, kind, flags, cookie, length);
        return flush_at_once(ep_request_target(ep), ep, wr);
}

PER_KIND DAT_RETURN post_checked(struct ep *ep, const struct request *request, struct ibv_sge *sge,
                                 int num_sge, DAT_VLEN length, unsigned int send_flags)
{
        struct ibv_send_wr send;
        struct wr *wr;

        if (atomic_load(&ep->state) != EP_CONNECTED)
                return post_unconnected(ep, request->kind, request->flags, request->cookie, length);
        /* Without a credit a device may block the read without limit. */
        if (request->kind == WR_RDMA_READ && !ep->read_credit)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        wr = take_record(ep, &ep->requests, ep->attr.max_request_dtos);
        if (!wr)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        describe(wr, request->kind, request->flags, request->cookie, length);
        describe_to_verbs(&send, request);
        send.wr_id = ((union wr_id){.wr = wr}).number;
        send.sg_list = sge;
        send.num_sge = num_sge;
        /*
         * A fenced request may send data that earlier reads have not delivered yet, so it is not
         * inline.
         */
        if (send_flags & IBV_SEND_FENCE)
                prepare_fenced(ep, &send, length);
        else if (request->kind != WR_RDMA_READ && length <= ep->inline_max)
                send_flags |= IBV_SEND_INLINE;
        send.send_flags = send_flags;
        wr_publish(wr,
                   request->flags & DAT_COMPLETION_SUPPRESS_FLAG ? WR_POSTED : ep->requests.plain);
        if (!post_to_verbs(ep, request, &send, length))
                return DAT_SUCCESS;
        evd_withdraw(ep_request_target(ep), wr);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

/*
 * Trims the buffer to the length of the read. siw treats a read without segment as one with the
 * previous segment of its slot, so an empty read gets a segment of length 0.
 */
PER_KIND int read_segments(const struct ep *ep, struct ibv_sge *sge, int num_sge, DAT_VLEN length)
{
        int used = lmr_trim(sge, num_sge, length);

        if (!used && ep->obj.ia->iwarp)
                sge[used++] = (struct ibv_sge){0};
        return used;
}

PER_KIND DAT_RETURN post_request(DAT_EP_HANDLE handle, const struct request *request)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        struct ibv_sge sge[REF_MAX_IOV];
        DAT_RETURN ret;
        unsigned int send_flags;
        DAT_VLEN length;
        int num_sge;

        if (!ep)
                return BAD_EP;
        /* The check is inside the gate, because the attributes change while the gate is closed. */
        gate_enter(&ep->gate);
        ret = check_request(ep, request, sge, &num_sge, &length, &send_flags);
        if (ret == DAT_SUCCESS) {
                if (request->kind == WR_RDMA_READ)
                        num_sge = read_segments(ep, sge, num_sge, length);
                ret = post_checked(ep, request, sge, num_sge, length, send_flags);
        }
        gate_leave(&ep->gate);
        object_put(ep);
        return ret;
}

/* dat_ep_post_send(3DAT) */
DAT_RETURN ref_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
        struct request request = {
            .kind = WR_SEND,
            .segments = segments,
            .iov = iov,
            .cookie = cookie,
            .flags = flags,
        };

        return post_request(handle, &request);
}

/* dat_ep_post_rdma_read(3DAT) */
DAT_RETURN ref_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                                 DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                 DAT_COMPLETION_FLAGS flags)
{
        struct request request = {
            .kind = WR_RDMA_READ,
            .segments = segments,
            .iov = iov,
            .cookie = cookie,
            .remote = remote,
            .flags = flags,
        };

        return post_request(handle, &request);
}

/* dat_ep_post_rdma_write(3DAT) */
DAT_RETURN ref_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                                  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
                                  DAT_COMPLETION_FLAGS flags)
{
        struct request request = {
            .kind = WR_RDMA_WRITE,
            .segments = segments,
            .iov = iov,
            .cookie = cookie,
            .remote = remote,
            .flags = flags,
        };

        return post_request(handle, &request);
}

static inline __attribute__((always_inline)) DAT_RETURN
post_recv(struct ep *ep, const struct ibv_sge *sge, int num_sge, DAT_DTO_COOKIE cookie,
          DAT_COMPLETION_FLAGS flags)
{
        struct ibv_recv_wr *bad;
        struct ibv_recv_wr recv;
        struct wr *wr;

        wr = take_record(ep, &ep->recvs, ep->attr.max_recv_dtos);
        if (!wr)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        wr->kind = WR_RECV;
        wr->flags = flags;
        wr->cookie = cookie;
        if (ep_state_flushes(atomic_load(&ep->state)))
                return flush_at_once(ep_recv_target(ep), ep, wr);
        wr->num_sge = num_sge;
        for (int i = 0; i < num_sge; i++)
                wr->sge[i] = sge[i];
        if (!ep->qp_takes_receives) {
                wr->held = true;
                return DAT_SUCCESS;
        }
        wr_as_recv(wr, ep->obj.ia, &recv);
        wr_publish(wr, ep->recvs.plain);
        if (!ibv_post_recv(ep->qp, &recv, &bad))
                return DAT_SUCCESS;
        pool_give(wr);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
}

static __attribute__((noinline)) DAT_RETURN post_recv_any(struct ep *ep, DAT_COUNT segments,
                                                          const DAT_LMR_TRIPLET *iov,
                                                          DAT_DTO_COOKIE cookie,
                                                          DAT_COMPLETION_FLAGS flags)
{
        struct ibv_sge sge[REF_MAX_IOV];
        DAT_RETURN ret;
        int num_sge;

        ret = lmr_gather_recv(ep->obj.ia, ep->pz, iov, segments, sge, &num_sge);
        return ret == DAT_SUCCESS ? post_recv(ep, sge, num_sge, cookie, flags) : ret;
}

/* The case of one segment that is not empty. It is written to memory only in the record. */
static inline __attribute__((always_inline)) DAT_RETURN post_recv_one(struct ep *ep,
                                                                      const DAT_LMR_TRIPLET *iov,
                                                                      DAT_DTO_COOKIE cookie,
                                                                      DAT_COMPLETION_FLAGS flags)
{
        const struct ia *ia = ep->obj.ia;
        struct ibv_sge sge;
        DAT_RETURN ret = lmr_check_segment(ia, ep->pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, iov, &sge);

        if (ret != DAT_SUCCESS)
                return ret;
        lmr_limit(ia, &sge);
        return post_recv(ep, &sge, 1, cookie, flags);
}

/* dat_ep_post_recv(3DAT). Before the EP has a queue pair, the receive is held in software. */
DAT_RETURN ref_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT segments, DAT_LMR_TRIPLET *iov,
                            DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret;

        if (!ep)
                return BAD_EP;
        gate_enter(&ep->gate);
        if (ep->srq)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE);
        else if (!ep->pz)
                ret = REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_EP_PZ);
        else if ((unsigned int)segments > (unsigned int)ep->attr.max_recv_iov)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (segments && !iov)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (flags != DAT_COMPLETION_DEFAULT_FLAG &&
                 (flags != DAT_COMPLETION_UNSIGNALLED_FLAG ||
                  ep->attr.recv_completion_flags != DAT_COMPLETION_UNSIGNALLED_FLAG))
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        else if (segments == 1 && iov->segment_length)
                ret = post_recv_one(ep, iov, cookie, flags);
        else
                ret = post_recv_any(ep, segments, iov, cookie, flags);
        gate_leave(&ep->gate);
        object_put(ep);
        return ret;
}
