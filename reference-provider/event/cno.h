/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_CNO_H
#define DAPLREF_CNO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/event_loop.h"
#include "base/handle.h"
#include "base/list.h"

struct evd;

/* A trigger of an EVD that waits for a thread in dat_cno_wait(3DAT). */
struct cno_trigger {
        struct link link;   /* in cno->pending while it waits */
        struct handle *evd; /* the handle that the thread returns */
        bool left;          /* the EVD uses another CNO now, and the CNO frees the trigger */
};

/*
 * A trigger goes to the thread that has waited longest, or else to `pending`. So one of `waiting`
 * and `pending` is empty. Threads with an answer are in `told` until they run.
 */
struct cno {
        struct object obj;
        pthread_mutex_t lock;
        DAT_OS_WAIT_PROXY_AGENT agent;
        struct link waiting;
        struct link told;
        struct link pending;
        bool closing;
        struct work agent_work;
        struct link due;    /* EVDs with triggers that the agent was not called for */
        bool last_evd_left; /* and the agent was not called for that */
        bool agent_is_in;
};

DAT_RETURN ref_cno_create(DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *);
DAT_RETURN ref_cno_modify_agent(DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT);
DAT_RETURN ref_cno_query(DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *);
DAT_RETURN ref_cno_free(DAT_CNO_HANDLE);
DAT_RETURN ref_cno_wait(DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *);
void cno_trigger(struct cno *cno, struct evd *evd);
int cno_take_due(struct cno *cno, struct evd *evd);
struct cno_trigger *cno_new_trigger(void);
void cno_leave(struct cno *cno, struct evd *evd);
void cno_forget(struct cno *cno, struct evd *evd);
void cno_close(struct cno *cno);
void cno_dismiss_agent(struct cno *cno);
void cno_destroy(struct cno *cno);

#endif
