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

/* What an EVD has told a CNO that it feeds, for somebody to collect. */
struct cno_trigger {
        struct link link;   /* in cno->pending, while it is to be collected */
        struct handle *evd; /* whose handle the collector gets */
        bool left;          /* the EVD has gone over to another CNO, and left this behind */
};

/*
 * A trigger goes to the thread that has waited longest, or else to `pending`, so one of `waiting`
 * and `pending` is empty. Who has been told stays in `told` until its thread runs again.
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
        struct link due;    /* EVDs whose triggers the agent has not been told of */
        bool last_evd_left; /* of which the agent has not been told either */
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
