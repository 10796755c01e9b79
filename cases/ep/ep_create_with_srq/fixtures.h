/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_create_with_srq use. */
#ifndef CASES_EP_CREATE_WITH_SRQ_FIXTURES_H
#define CASES_EP_CREATE_WITH_SRQ_FIXTURES_H

#include "case.h"
#include "cases/srq/shared/queue.h"

#define LIMIT_OF_REFUSALS 64

/* The arguments of the call; what a case leaves out of them is whole and modest. */
struct arguments {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
        DAT_EP_PARAM param; /* of which ep_attr is given */
};

struct arguments ep_create_with_srq_arguments_of(struct test *t, DAT_IA_HANDLE of,
                                                 DAT_PZ_HANDLE zone);

struct arguments ep_create_with_srq_arguments(struct test *t);

DAT_RETURN ep_create_with_srq_call(const struct arguments *with, DAT_EP_HANDLE *ep);

DAT_EP_HANDLE ep_create_with_srq_adopted(struct test *t, const struct arguments *with,
                                         DAT_EP_HANDLE ep);

DAT_EP_HANDLE ep_create_with_srq_create(struct test *t, const struct arguments *with);

/* What a query says of the EP; that it can be queried is part of the clause. */
DAT_EP_PARAM ep_create_with_srq_described(struct test *t, DAT_EP_HANDLE ep);

/* An EP of the queue, by the call under test, and EVDs of its own. */
DAT_EP_HANDLE ep_create_with_srq_create_on(struct test *t, DAT_SRQ_HANDLE srq);

struct flow flow_to(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end);

struct flow flow_made(struct test *t, const struct queue *queue);

void ep_create_with_srq_set_flags(struct arguments *with, bool request, DAT_COMPLETION_FLAGS value);

static const struct request {
        const char *id;
        enum { SEND, WRITE, READ } what;
} requests[] = {
    {"send", SEND},
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

#endif
