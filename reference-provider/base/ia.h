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

/* Whether the device resizes completion queues. */
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
        struct rdma_cm_id *listen_id; /* bound and listening while the IA is open, so that librdmacm
                                         reports a device removal */
        uint16_t keepalive_port; /* the port of listen_id, on which peers send keepalives, or 0 */
        struct rdma_event_channel *cm;
        struct destroyer *destroyer; /* on iWARP, else NULL */
        struct evd *async_evd;    /* of this IA or of another; under the lock of the list of IAs */
        struct evd *sink;         /* takes completions of EPs that have no EVD for them */
        struct ibv_pd *domain;    /* of all zones if the entry says one-domain, else NULL */
        struct ibv_pd *number_pd; /* of queue pairs made for their number; see qp.c */
        struct link open_link;
        struct event_loop loop;
        struct event_source cm_source;
        struct event_source async_source;
        struct lmr_table lmrs;

        struct link conns;   /* under cm_lock */
        struct link retired; /* connections to destroy after cm_lock is released */
        struct ep_flush flush;
        struct link listeners;
        pthread_mutex_t lock;
        pthread_mutex_t cm_turn; /* for fetching librdmacm's events */
        pthread_mutex_t cm_lock;
        struct link objects[REF_KINDS]; /* under lock */

        struct sockaddr_storage address;
        struct ibv_device_attr device;
        uint32_t token; /* the last token drawn, or 0; under cm_lock */
        struct iwarp_ia iwarp_cm;
        uint64_t keepalive_interval; /* in microseconds; 0 disables keepalives */
        uint64_t next_keepalive;
        bool keepalive_always; /* also to peers of which no completion is due */
        uint64_t next_look;
        uint64_t next_deadline; /* the time of the next tick, or 0 */
        int counts[REF_KINDS];
        struct ia_limits limits;
        _Atomic enum cq_growth cq_growth;
        int cm_fd; /* an epoll set with librdmacm's descriptor in it */
        struct ibv_port_attr port_attr;
        struct ibv_qp_attr init_attr; /* of a queue pair in INIT, see ask_attr(); under cm_lock */
        int init_mask;                /* 0 until it is known */
        uint8_t port;
        bool iwarp;           /* iWARP's CM, not InfiniBand's */
        bool solicits;        /* a completion queue supports solicited waits */
        bool raises_sigpipe;  /* see sigpipe.c */
        bool splits_short;    /* short messages that cross a page arrive corrupted, see post.c */
        bool fence_deadlocks; /* the device's fence can deadlock with a later read, see fence.c */
        _Atomic bool numbers_move; /* the device reports the number of the expected packet */
        bool settled; /* under cm_turn: the last event that the call causes has been handled */
        bool removed;
        bool closing; /* under lock: no objects can be made */
        bool owns_async_evd;
        bool async_out_of_scope;
        bool lenient;
        _Atomic bool cm_paused; /* a call of the Consumer fetches librdmacm's events */
};

#endif
