/* SPDX-License-Identifier: BSD-2-Clause */
/* What an IA can have when it is closed: objects of each kind, and traffic between them. */
#ifndef CASES_IA_OBJECTS_H
#define CASES_IA_OBJECTS_H

#include "cases/cno/shared/agent.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"

/* Something of the case's IA, as far as it has been made. */
struct held {
        DAT_HANDLE handle;
        DAT_HANDLE_TYPE type;
        DAT_EVD_HANDLE evd;
        DAT_CONN_QUAL qual;
        DAT_RMR_CONTEXT context;
        struct loop loop;
        struct queue queue;
        struct agent *agent;
        struct waiter *waiter;
};

/*
 * A way to have something: how it is made, which ends in ERROR where it fails, and how it is seen
 * to be there still, by its use, which is FAIL.
 */
struct having {
        const char *id;
        void (*make)(struct test *t, struct held *held);
        void (*check)(struct test *t, struct held *held);
};

/*
 * Another instance stays open: at the last close a registry may unload the provider, from which a
 * thread that was released is still on its way back, and which nothing that is gone can be asked
 * of.
 */
void keep_loaded(struct test *t);

/* Wakes a thread that waits, if there is one. */
void held_wake(struct test *t, struct held *held);

void hold_evd(struct test *t, struct held *held);
void hold_async_evd(struct test *t, struct held *held);
void hold_events(struct test *t, struct held *held);
void hold_cno(struct test *t, struct held *held);
void hold_agent(struct test *t, struct held *held);
void hold_zone(struct test *t, struct held *held);
void hold_lmr(struct test *t, struct held *held);
void hold_rmr(struct test *t, struct held *held);
void hold_ep(struct test *t, struct held *held);
void hold_connection(struct test *t, struct held *held);
void hold_psp(struct test *t, struct held *held);
void hold_rsp(struct test *t, struct held *held);
void hold_request(struct test *t, struct held *held);
void hold_srq(struct test *t, struct held *held);
void hold_evd_waiter(struct test *t, struct held *held);
void hold_cno_waiter(struct test *t, struct held *held);

void check_evd(struct test *t, struct held *held);
void check_async_evd(struct test *t, struct held *held);
void check_events(struct test *t, struct held *held);
void check_cno(struct test *t, struct held *held);
void check_agent(struct test *t, struct held *held);
void check_zone(struct test *t, struct held *held);
void check_lmr(struct test *t, struct held *held);
void check_rmr(struct test *t, struct held *held);
void check_ep(struct test *t, struct held *held);
void check_connection(struct test *t, struct held *held);
void check_psp(struct test *t, struct held *held);
void check_rsp(struct test *t, struct held *held);
void check_request_held(struct test *t, struct held *held);
void check_srq(struct test *t, struct held *held);
void check_evd_waiter(struct test *t, struct held *held);
void check_cno_waiter(struct test *t, struct held *held);

/* The last one needs "srq_supported". */
static const struct having havings[] = {
    {"evd", hold_evd, check_evd},
    {"async_evd", hold_async_evd, check_async_evd},
    {"evd_with_events", hold_events, check_events},
    {"cno", hold_cno, check_cno},
    {"cno_with_agent", hold_agent, check_agent},
    {"pz", hold_zone, check_zone},
    {"lmr", hold_lmr, check_lmr},
    {"rmr", hold_rmr, check_rmr},
    {"ep", hold_ep, check_ep},
    {"connection", hold_connection, check_connection},
    {"psp", hold_psp, check_psp},
    {"rsp", hold_rsp, check_rsp},
    {"request", hold_request, check_request_held},
    {"evd_waiter", hold_evd_waiter, check_evd_waiter},
    {"cno_waiter", hold_cno_waiter, check_cno_waiter},
    {"srq", hold_srq, check_srq},
};

#endif
