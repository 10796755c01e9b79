/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_srq_post_recv use. */
#ifndef CASES_SRQ_POST_RECV_FIXTURES_H
#define CASES_SRQ_POST_RECV_FIXTURES_H

#include "case.h"
#include "cases/srq/shared/queue.h"

#define CANARY        0x5c
#define LONG_MESSAGE  ((size_t)256 * 1024)
#define COOKIE        ((DAT_DTO_COOKIE){.as_64 = 0})
#define SEGMENTS      4
#define VECTOR_LENGTH 500

/* Where the segments lie in their memory: in another order, apart, and not aligned. */
static const struct place {
        size_t offset;
        size_t length;
} places[SEGMENTS] = {{1025, 100}, {3, 1}, {2051, 300}, {517, 99}};

struct vector {
        struct buf *buf;
        DAT_LMR_TRIPLET iov[SEGMENTS];
};

struct vector vector_with(struct test *t);

DAT_SRQ_HANDLE srq_for_vectors(struct test *t);

/* What the segments hold, one after the other. */
void gather(const struct vector *vector, unsigned char *flat);

size_t untouched(const unsigned char *at, size_t length);

void expect_outside_untouched(struct test *t, const struct vector *vector);

/* A vector as wide as the SRQ says that it takes, or wider: 8 bytes a segment, 8 bytes apart. */
struct comb {
        struct buf *buf;
        DAT_COUNT count;
        DAT_LMR_TRIPLET *iov;
};

struct comb comb_for(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT wider);

/* A message comes over a new connection, and fills the whole of the vector and nothing else. */
void expect_comb_filled(struct test *t, DAT_SRQ_HANDLE srq, const struct comb *comb);

/* Vectors with one segment that is wrong. */
static const struct wrong {
        const char *id;
        DAT_COUNT segments;
        int at;
} wrongs[] = {
    {"only", 1, 0},
    {"first", SEGMENTS, 0},
    {"second", SEGMENTS, 1},
    {"last", SEGMENTS, SEGMENTS - 1},
};

/* Memory that no message may reach. */
struct buf *kept_buf(struct test *t, struct buf_opts opts);

struct buf *foreign_buf(struct test *t);

void expect_untouched(struct test *t, const struct buf *buf, const char *what);

/* The receive was refused, or fails when its message comes (GEN-9). */
void expect_violation(struct test *t, DAT_RETURN ret, DAT_SRQ_HANDLE srq, size_t message);

#endif
