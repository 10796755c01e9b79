/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_srq_create use. */
#ifndef CASES_SRQ_CREATE_FIXTURES_H
#define CASES_SRQ_CREATE_FIXTURES_H

#include "case.h"
#include "cases/srq/shared/queue.h"

/* An SRQ with these attributes, by the call under test. */
DAT_SRQ_HANDLE create_on(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr);

DAT_SRQ_HANDLE srq_create_create(struct test *t, DAT_PZ_HANDLE zone, DAT_SRQ_ATTR attr);

/* What a query says of it; that it can be queried is part of the clause. */
DAT_SRQ_PARAM srq_create_described(struct test *t, DAT_SRQ_HANDLE srq);

DAT_SRQ_ATTR attr_of(DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT mark);

/* A queue on an SRQ of this zone. */
struct queue queue_in(struct test *t, DAT_PZ_HANDLE zone, DAT_COUNT size);

struct queue queue_made(struct test *t, DAT_COUNT size);

void expect_at_least(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT dtos, DAT_COUNT iov);

/* Attributes that the IA's limits allow are refused for lack of resources only. */
DAT_SRQ_HANDLE create_at_limit(struct test *t, DAT_COUNT dtos, DAT_COUNT iov);

#endif
