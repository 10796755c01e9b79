/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_create use. */
#ifndef CASES_EP_CREATE_FIXTURES_H
#define CASES_EP_CREATE_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#define FEW 5 /* DTOs under way at once */

struct ep_creation ep_create_arguments_of(struct test *t, DAT_IA_HANDLE of, DAT_PZ_HANDLE zone);

struct ep_creation ep_create_arguments(struct test *t);

/* The usual EP at the other end of one that is made. */
DAT_EP_HANDLE other_end(struct test *t);

DAT_EP_HANDLE plain_end(struct test *t);

#define EXACT_NUMBERS                                                \
        EP_NUMBER(max_message_size, max_message_size, 5000),         \
            EP_NUMBER(max_rdma_size, max_rdma_size, 6000),           \
            EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 2), \
            EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 3)
#define LEAST_NUMBERS                                                        \
        EP_NUMBER(max_recv_dtos, max_dto_per_ep, 5),                         \
            EP_NUMBER(max_request_dtos, max_dto_per_ep, 6),                  \
            EP_NUMBER(max_recv_iov, max_iov_segments_per_dto, 2),            \
            EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 3),         \
            EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 2), \
            EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 2)

static const struct ep_number at_least[] = {LEAST_NUMBERS};

static const struct ep_number numbers[] = {EXACT_NUMBERS, LEAST_NUMBERS};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

/* Segments of reads are for an EP that reads; it then has one read at least. */
struct ep_creation asking(struct test *t, const struct ep_number *number, uint64_t value);

static const struct request {
        const char *id;
        enum { SEND, WRITE, READ } what;
} requests[] = {
    {"send", SEND},
    {"rdma_write", WRITE},
    {"rdma_read", READ},
};

#endif
