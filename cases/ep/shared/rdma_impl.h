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

/*
 * As many at once as `most`, or as the IA lets an EP have reads under way (DTO-45). UNSUPPORTED
 * where that is one: no two are at once.
 */
DAT_COUNT rdma_at_once(struct test *t, const struct rdma_kind *kind, DAT_COUNT most);

/* An EP for as many at once as rdma_at_once() tells for OUTSTANDING, and that number in `depth`. */
struct rdma rdma_deep_make(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts);
#define rdma_deep(t_, kind_, ...) rdma_deep_make((t_), (kind_), (struct rdma_opts){__VA_ARGS__})

/* For a clause of however many: a device may have a single one for reads. */
DAT_COUNT rdma_some_segments(struct test *t, const struct rdma_kind *kind);

DAT_COMPLETION_FLAGS rdma_configured_for(const struct rdma_flags *row);

#endif
