/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_CNO_H
#define DAPLREF_CNO_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "handle.h"
#include "list.h"
#include "service.h"

struct evd;

struct cno {
        struct object obj;
        pthread_mutex_t lock;
        _Atomic uint32_t changes; /* on which waiters sleep */
        DAT_OS_WAIT_PROXY_AGENT agent;
        struct handle *triggered_by; /* the EVD of the trigger that nobody has collected yet */
        bool triggered;
        bool closing;
        int waiters;
        unsigned int releases;
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
void cno_left(struct cno *cno, const struct evd *freed);
void cno_close(struct cno *cno);
void cno_dismiss_agent(struct cno *cno);
void cno_destroy(struct cno *cno);

#endif
