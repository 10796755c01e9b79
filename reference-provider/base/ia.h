/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_IA_H
#define DAPLREF_IA_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/list.h"
#include "connect/iwarp.h"
#include "endpoint/ep_flush.h"
#include "memory/lmr.h"

struct binding;
struct evd;
struct destroyer;

/* Does the device make completion queues larger? */
enum cq_growth { CQ_UNTRIED, CQ_GROWS, CQ_FIXED };

/* What one IA may have. limits_fill() computes it when the IA opens; it does not change later. */
struct ia_limits {
        DAT_COUNT objects[REF_KINDS];
        uint64_t lmr_length;
        int dtos; /* of an EP in one direction, each with `iov` segments */
        int srq_dtos;
        int iov;
        int read_iov;
        int reads; /* RDMA reads of an EP in one direction */
};

struct ia {
        struct object obj;
        const struct binding *binding;
        struct ibv_context *verbs;
        struct rdma_cm_id
            *listen_id;          /* bound as long as the IA is open, so a removal is heard of */
        uint16_t keepalive_port; /* the port on which the listen_id listens for probes, or 0; peers
                                    know it */
        struct rdma_event_channel *cm;
        struct destroyer *destroyer; /* on iWARP; else NULL */
        struct evd *async_evd;       /* of this IA or of another, so under the lock of all IAs */
        struct evd *sink;            /* for completions that no Consumer wants */
        struct ibv_pd *domain;       /* of all zones, where the entry says one-domain; else NULL */
        struct ibv_pd *number_pd; /* of the queue pairs that lend their numbers; made when needed */
        struct link open_link;
        struct event_loop loop;
        struct event_source cm_source;
        struct event_source async_source;
        struct lmr_table lmrs;

        struct link conns;   /* under cm_lock */
        struct link retired; /* connections to destroy once cm_lock is released */
        struct ep_flush flush;
        struct link listeners;
        pthread_mutex_t lock;
        pthread_mutex_t cm_turn; /* of the thread that fetches and handles librdmacm's events */
        pthread_mutex_t cm_lock;
        struct link objects[REF_KINDS]; /* under lock */

        struct sockaddr_storage address;
        struct ibv_device_attr device;
        uint32_t token; /* the last that was drawn, or 0; under cm_lock */
        struct iwarp_ia iwarp_cm;
        uint64_t keepalive_interval; /* in microseconds; 0 is never */
        uint64_t next_keepalive;
        bool keepalive_always; /* those too from whom nothing is due */
        uint64_t next_look;
        uint64_t next_deadline; /* when the service thread looks again by itself, or 0 */
        int counts[REF_KINDS];
        struct ia_limits limits;
        _Atomic enum cq_growth cq_growth;
        int cm_fd; /* a set with librdmacm's descriptor in it */
        struct ibv_port_attr port_attr;
        struct ibv_qp_attr init_attr; /* of a queue pair in INIT, see qp.c; under cm_lock */
        int init_mask;                /* or 0 while it is not known */
        uint8_t port;
        bool iwarp;                /* not InfiniBand's CM: see cm.c */
        bool solicits;             /* a completion queue can wait for what the peer marks */
        bool raises_sigpipe;       /* see sigpipe.c */
        bool splits_short;         /* what is short and crosses a page comes wrong, see post.c */
        _Atomic bool numbers_move; /* the device tells the number of the packet that it expects */
        bool settled; /* under cm_turn: of what a call causes at both ends, the last was handled */
        bool removed;
        bool closing; /* under lock: no object is made any more */
        bool owns_async_evd;
        bool async_out_of_scope;
        bool lenient;
        _Atomic bool cm_paused; /* a call of the Consumer's fetches librdmacm's events */
};

#endif
