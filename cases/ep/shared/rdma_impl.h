/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the RDMA cases use of each other. */
#ifndef CASES_EP_RDMA_IMPL_H
#define CASES_EP_RDMA_IMPL_H

#include "cases/ep/shared/rdma.h"

#define LENGTH      ((size_t)1000) /* bytes of an RDMA */
#define SMALL       ((size_t)64)
#define LONG        ((size_t)512 * 1024)
#define ROUNDS      10
#define OUTSTANDING 16

/* No event comes to the EVD. */
void expect_rdma_silent(struct test *t, DAT_EVD_HANDLE evd);

/* What a case needs that posts so many at once. */
DAT_COUNT rdma_at_once(const struct rdma_kind *kind, DAT_COUNT count);

/* For a clause of however many: a device may have a single one for reads. */
DAT_COUNT rdma_some_segments(struct test *t, const struct rdma_kind *kind);

DAT_COMPLETION_FLAGS rdma_configured_for(const struct rdma_flags *row);

#endif
