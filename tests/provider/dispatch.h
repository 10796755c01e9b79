/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of EVDs and of CNOs share: software events, and threads that wait. */
#ifndef DISPATCH_H
#define DISPATCH_H

#include "loopback.h"

#include <pthread.h>
#include <stdatomic.h>

struct waiter {
        pthread_t thread;
        DAT_EVD_HANDLE evd;
        DAT_CNO_HANDLE cno;
        DAT_COUNT threshold;
        DAT_TIMEOUT timeout;
        DAT_RETURN ret;
        DAT_EVENT event;
        DAT_COUNT nmore;
        DAT_EVD_HANDLE triggered;
        atomic_int tid; /* 0 until the thread has begun */
        atomic_bool begun;
        atomic_bool done;
};

static const DAT_OS_WAIT_PROXY_AGENT no_agent = {NULL, NULL};

/* An EVD for software events; `cno` may be DAT_HANDLE_NULL. */
DAT_EVD_HANDLE make_evd(struct host *host, DAT_COUNT qlen, DAT_CNO_HANDLE cno);

/* Posts the software event `value`, which value_of() tells of it again: below 64. */
DAT_RETURN post_software(DAT_EVD_HANDLE evd, uintptr_t value);
uintptr_t value_of(const DAT_EVENT *event);

/* The monotonic clock. */
uint64_t microseconds(void);

/* Starts a waiter and returns when it has certainly begun to wait, which a dequeue shows. */
void start_waiter(struct waiter *waiter);

/*
 * Starts a waiter on a CNO and lets it run. Nothing shows from outside that it sleeps; but a thread
 * that continues at once may, on one CPU, be the first each time.
 */
void start_cno_waiter(struct waiter *waiter);

/* Returns when the waiter sleeps in its call, as the kernel tells of its thread. */
void await_sleep(const struct waiter *waiter);

/* Joins the waiter, whose call has returned `type`. */
void finish_waiter(struct waiter *waiter, DAT_RETURN type);

/* A CNO with this agent, or no_agent. */
DAT_CNO_HANDLE make_cno(struct host *host, DAT_OS_WAIT_PROXY_AGENT agent);

/* The CNO is triggered by this EVD. */
void assert_heard(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd);

/* The CNO is not triggered for so many microseconds. */
void assert_nothing_heard(DAT_CNO_HANDLE cno, DAT_TIMEOUT timeout);

/* Has the thread run on one CPU with this one, and only while this one sleeps. */
void run_after_me(pthread_t thread);

/* Ends run_after_me(). */
void run_as_before(void);

/* A host with joined ends that have these flags for their receives, and for their requests. */
struct host *flagged_host(DAT_COMPLETION_FLAGS recv, DAT_COMPLETION_FLAGS request);

#endif
