/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD: a FIFO of events in software, into which a completion queue is drained. */
#ifndef DAPLREF_EVD_H
#define DAPLREF_EVD_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/list.h"
#include "base/lock.h"
#include "event/evd_state.h"

struct cno;
struct cno_trigger;
struct ep;
struct ia;
struct srq;
struct wr;
struct wr_pool;

struct event {
        DAT_EVENT dat;
        struct ep *ep;   /* its events are dropped when it is freed */
        struct srq *srq; /* the SRQ of the buffer that the event returns */
        bool dto;
        bool notify;
};

/* The completions of one SRQ that the EVD has room for. */
struct evd_share {
        struct srq *srq;
        int eps;
        int depth;
        struct evd_share *next;
};

/* The kind of completion for which the queue is armed. */
enum evd_arming { EVD_UNARMED, EVD_ARMED_SOLICITED, EVD_ARMED_ANY };

#define EVD_QP_BUCKETS 256
#define EVD_POLL_BATCH 16

struct evd {
        struct object obj;
        struct lock lock;
        DAT_COUNT qlen;
        DAT_EVD_FLAGS flags;
        bool enabled;
        bool discards; /* the IA's sink, which drops completions */

        struct event *ring;
        int ring_size;
        int head;
        int count;
        int dto_count;
        int notify_count;
        bool overflowed;

        struct ibv_cq *cq;
        struct ibv_comp_channel *channel;
        struct ibv_wc polled[EVD_POLL_BATCH]; /* the last batch from the CQ */
        struct ibv_wc *polled_at;             /* the next completion of the batch */
        struct ibv_wc *polled_end;            /* its end */
        int budget;                           /* the largest number of completions in the CQ */
        _Atomic bool lost;                    /* the device has lost a completion */
        struct evd_share *shares;
        struct ep *qps[EVD_QP_BUCKETS]; /* EPs with an SRQ, by queue pair number */
        enum evd_arming armed;
        unsigned int unacknowledged; /* events read from the channel and not acknowledged */
        bool channel_hit;

        int unsignalled_users; /* streams of completions by their flags */
        int solicited_users;
        int threshold_users;
        int plain_users;
        int other_users;           /* streams of other events */
        int unsignalled_srq_users; /* EPs with an SRQ, besides their stream */

        enum evd_state state;
        unsigned int turn;    /* of the waiter, from 1; it changes when a wait is cancelled */
        unsigned int aborted; /* the turn that was cancelled by a close */
        _Atomic int cancelled_waiters; /* cancelled, and not run yet */
        _Atomic uint32_t cancelled_left;
        int wake_fd;
        struct cno *cno;
        struct cno_trigger *trigger; /* made with the first CNO */
        bool left_triggers;          /* other CNOs may have triggers of this EVD */
        struct link due_link;        /* in cno->due, and the number of calls due; under cno->lock */
        int due;
        struct event_source sink_source; /* of the IA's sink, which has no handle */
        bool watched;                    /* the service thread listens to the channel */
        int watchers; /* objects that need completions drained while no thread waits */
};

#define BAD_EVD REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST)

static inline struct evd *evd_get(DAT_EVD_HANDLE handle)
{
        return object_get(handle, DAT_HANDLE_TYPE_EVD);
}

DAT_RETURN ref_evd_create(DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
                          DAT_EVD_HANDLE *);
DAT_RETURN ref_evd_query(DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *);
DAT_RETURN ref_evd_free(DAT_EVD_HANDLE);
DAT_RETURN evd_new(struct ia *ia, DAT_COUNT qlen, DAT_EVD_FLAGS flags, struct evd **out);
void evd_close(struct evd *evd);
void evd_destroy(struct evd *evd);
bool evd_accepts_flags(struct evd *evd, DAT_COMPLETION_FLAGS flags);
bool evd_accepts_others(struct evd *evd);
void evd_count_stream(struct evd *evd, DAT_COMPLETION_FLAGS flags, int by);
void evd_count_other(struct evd *evd, int by);
void evd_count_unsignalled_srq(struct evd *evd, int by);

#endif
