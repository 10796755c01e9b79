/* SPDX-License-Identifier: BSD-2-Clause */
/* A FIFO of events in software, into which a completion queue is drained. */
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
        struct ep *ep;   /* whose event it is; dropped when the EP goes */
        struct srq *srq; /* whose buffer the event returns to the Consumer */
        bool dto;
        bool notify;
};

/* How many completions one SRQ can leave on one EVD. */
struct evd_share {
        struct srq *srq;
        int eps;
        int depth;
        struct evd_share *next;
};

/* For what the completion queue will send, or has sent, the event that the channel holds next. */
enum evd_arming { EVD_UNARMED, EVD_ARMED_SOLICITED, EVD_ARMED_ANY };

#define EVD_QP_BUCKETS 256
#define EVD_POLL_BATCH 16

struct evd {
        struct object obj;
        struct lock lock;
        DAT_COUNT qlen;
        DAT_EVD_FLAGS flags;
        bool enabled;
        bool discards; /* the IA's own EVD for completions that no Consumer wants */

        struct event *ring;
        int ring_size;
        int head;
        int count;
        int dto_count;
        int notify_count;
        bool overflowed;

        struct ibv_cq *cq;
        struct ibv_comp_channel *channel;
        struct ibv_wc polled[EVD_POLL_BATCH]; /* the batch that was last taken out of the CQ, */
        struct ibv_wc *polled_at;             /* of which what is from here on is still to be */
        struct ibv_wc *polled_end;            /* looked at */
        int budget;                           /* completions that may be in the CQ at once */
        _Atomic bool lost; /* the device has lost one, for want of room or otherwise */
        struct evd_share *shares;
        struct ep *qps[EVD_QP_BUCKETS]; /* SRQ endpoints by queue pair number */
        enum evd_arming armed;
        unsigned int unacknowledged; /* events taken from the channel */
        bool channel_hit;

        int unsignalled_users; /* completion streams by their completion flags */
        int solicited_users;
        int threshold_users;
        int plain_users;
        int other_users; /* streams that are not of completions */

        enum evd_state state;
        unsigned int turn;    /* of the waiter, from 1; another once it has been sent away */
        unsigned int aborted; /* the turn that ended because the EVD closed */
        _Atomic int cancelled_waiters; /* threads that were sent away, and have not run yet */
        _Atomic uint32_t cancelled_left;
        int wake_fd;
        struct cno *cno;
        struct cno_trigger *trigger; /* its own with the CNO, once it has had one */
        bool left_triggers;          /* and others may be with CNOs that it had before */
        struct link due_link;        /* in cno->due, and how many times, under cno->lock */
        int due;
        struct event_source sink_source; /* of the IA's sink, which has no handle */
        bool watched;                    /* the service thread listens to the channel */
        int watchers; /* graceful disconnects that need the service thread to listen */
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

#endif
