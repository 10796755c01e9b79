/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_EP_H
#define DAPLREF_EP_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep_state.h"

/* How a post hands its request to verbs. */
enum post_path {
        POST_DIRECTLY,
        POST_WITHOUT_SIGPIPE,
        POST_IN_TURN, /* requests are held in software, or a fenced one is being posted */
};

/* The requests that fence.c holds in software. */
struct ep_fence {
        struct lock lock;
        struct link held;
        int announced; /* fenced requests that are being posted */
        bool watching; /* the request EVD is watched, because a request is held */
        struct work work;
};

struct conn;
struct evd;
struct pz;
struct srq;

struct ep {
        struct object obj;
        _Atomic int state; /* enum ep_state, changed by ep_transition() under ia->cm_lock */
        struct pz *pz;
        struct evd *recv_evd;
        struct evd *request_evd;
        struct evd *connect_evd;
        struct srq *srq;
        DAT_EP_ATTR attr;

        struct gate gate;
        struct ibv_qp *qp;
        uint32_t qp_num;
        bool qp_takes_receives;
        bool qp_takes_messages; /* true until the queue pair is destroyed */
        bool qp_unanswered;     /* its connection ended before the peer answered the request */
        struct ep *qp_next;     /* in recv_evd->qps */
        struct wr_pool recvs;
        struct wr_pool requests;
        struct ep_fence fence;
        _Atomic enum post_path post_path;
        uint32_t inline_max;
        int read_credit;                /* RDMA reads that the peer serves at once; 0 is none */
        uint32_t first_psn;             /* the first packet number expected from the peer */
        _Atomic uint32_t recv_psn;      /* after the last message received; under the EVD's lock */
        _Atomic unsigned int mtu_shift; /* 0 if packets are not counted */

        struct conn *conn;
        void (*disconnect)(struct ep *ep); /* set with conn; takes the EP off its connection */
        struct sockaddr_storage remote;
        DAT_PORT_QUAL local_port;
        DAT_PORT_QUAL remote_port;
        DAT_CONN_QUAL remote_qual;
        bool initiated; /* the last connection was requested from here */
        uint8_t private_data[256];
        int private_data_size;

        _Atomic bool failed; /* a failure that breaks the connection was seen */
        struct work broken_work;
        struct work drained_work;
        bool watching;
        uint64_t flush_barrier;        /* the barrier of the IA that the EP waits for */
        uint64_t flush_deadline;       /* the time after which the device's report is not awaited */
        _Atomic bool last_wqe_reached; /* the device reported the last completion of the queue
                                          pair's SRQ receives */
        struct link flush_link;        /* in ia->flush.eps */
        DAT_EVENT_NUMBER last_event;   /* the event to post after the flush, or 0 */

        _Atomic int srq_held; /* SRQ buffers taken by this EP whose events are not dequeued */
        _Atomic int soft_watermark;
        _Atomic int hard_watermark;
        struct work soft_work;
        _Atomic bool soft_armed;
        _Atomic bool hard_armed;
};

#define BAD_EP REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

/* The EVD of an EP's completions, or the IA's sink if the EP has none. */
static inline struct evd *ep_recv_target(const struct ep *ep)
{
        return ep->recv_evd ? ep->recv_evd : ep->obj.ia->sink;
}

static inline struct evd *ep_request_target(const struct ep *ep)
{
        return ep->request_evd ? ep->request_evd : ep->obj.ia->sink;
}

/*
 * Checks the completion flags of a request: each must be among those allowed for the operation, and
 * UNSIGNALLED needs an EP configured for it. Returns DAT_INVALID_PARAMETER with `subtype` if not.
 */
static inline DAT_RETURN ep_check_flags(const struct ep *ep, DAT_COMPLETION_FLAGS flags,
                                        DAT_COMPLETION_FLAGS allowed, int subtype)
{
        if ((unsigned int)flags & ~(unsigned int)allowed)
                return REF_ERROR(DAT_INVALID_PARAMETER, subtype);
        if (flags & DAT_COMPLETION_UNSIGNALLED_FLAG &&
            ep->attr.request_completion_flags != DAT_COMPLETION_UNSIGNALLED_FLAG)
                return REF_ERROR(DAT_INVALID_PARAMETER, subtype);
        return DAT_SUCCESS;
}

/* Called with an EVD locked after a request has completed. */
static inline void ep_request_done(struct ep *ep)
{
        if (atomic_load(&ep->state) == EP_DRAINING && !atomic_load(&ep->requests.in_use))
                work_queue(&ep->obj.ia->loop, &ep->drained_work);
}

DAT_RETURN ref_ep_create(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                         DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *);
DAT_RETURN ref_ep_create_with_srq(DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
                                  DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *,
                                  DAT_EP_HANDLE *);
DAT_RETURN ref_ep_query(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *);
DAT_RETURN ref_ep_modify(DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *);
DAT_RETURN ref_ep_get_status(DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *);
DAT_RETURN ref_ep_free(DAT_EP_HANDLE);
DAT_RETURN ref_ep_reset(DAT_EP_HANDLE);
DAT_RETURN ref_ep_recv_query(DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *);
DAT_RETURN ep_new_tentative(struct ia *ia, struct ep **out);
void ep_destroy(struct ep *ep);
bool ep_look(struct ep *ep);
void ep_drain_recvs(struct ep *ep);
void ep_post_event(struct ep *ep, DAT_EVENT_NUMBER number);

#endif
