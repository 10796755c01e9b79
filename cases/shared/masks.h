/* SPDX-License-Identifier: BSD-2-Clause */
/* What each query has: undefined masks, a mask of no field, and the structure's bounds. */
#ifndef CASES_MASKS_H
#define CASES_MASKS_H

#include "case.h"

/* A dat_*_query() by one signature. The provider writes into `param` itself, not into a copy. */
struct object_query {
        const char *text; /* of the call, for the evidence */
        DAT_RETURN (*call)(DAT_HANDLE object, uint64_t mask, void *param);
        size_t size;  /* of the structure */
        uint64_t all; /* the mask of all fields */
};

/* The query succeeds. `param` is poison before it. */
void expect_query(struct test *t, const struct object_query *query, DAT_HANDLE object,
                  uint64_t mask, void *param);

/*
 * All fields are queried into memory with guards at both ends. The caller checks the structure at
 * `addr`, and releases `lmr`, which checks the guards.
 */
struct buf *expect_query_within(struct test *t, const struct object_query *query,
                                DAT_HANDLE object);

/* A query without any field succeeds, or is refused as a NOTE. */
void expect_no_mask_answered(struct test *t, const struct object_query *query, DAT_HANDLE object);

struct undefined_mask {
        const char *id;
        unsigned int bits; /* the one mask of the row; or 0, for each bit alone that is not among */
        unsigned int fields; /* these */
};

/* The rows for fields whose bits are `all_`, from the lowest bit on. */
#define UNDEFINED_MASKS(all_)                                                                   \
        {"next_bit", (all_) + 1, 0}, {"next_bit_among_all", (all_) | ((all_) + 1), 0},          \
            {"middle_bit", 1U << 16, 0}, {"highest_bit", 1U << 31, 0}, {"each_bit", 0, (all_)}, \
            {"all_bits", ~0U, 0},

/* The mask of the row that follows `*mask`, which is 0 at first; false if there is none. */
bool undefined_mask_next(const struct undefined_mask *row, unsigned int *mask);

/* Each mask of the row is refused with DAT_INVALID_PARAMETER. */
void expect_masks_refused(struct test *t, const struct object_query *query, DAT_HANDLE object,
                          const struct undefined_mask *row);

#endif
