/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_create_with_srq use. */
#ifndef CASES_EP_CREATE_WITH_SRQ_FIXTURES_H
#define CASES_EP_CREATE_WITH_SRQ_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/creation.h"
#include "cases/srq/shared/queue.h"

#define LIMIT_OF_REFUSALS 64

struct ep_creation ep_create_with_srq_arguments_of(struct test *t, DAT_IA_HANDLE of,
                                                   DAT_PZ_HANDLE zone);

struct ep_creation ep_create_with_srq_arguments(struct test *t);

/* An EP of the queue, by the call under test, and EVDs of its own. */
DAT_EP_HANDLE ep_create_with_srq_create_on(struct test *t, DAT_SRQ_HANDLE srq);

struct flow flow_to(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end);

struct flow flow_made(struct test *t, const struct queue *queue);

static const struct request {
        const char *id;
        enum { SEND, WRITE, READ } what;
} requests[] = {
    {"send", SEND},
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

#endif
