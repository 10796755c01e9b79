/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What dat_lmr_sync_rdma_read and dat_lmr_sync_rdma_write have in common: the same segments, of
 * memory that RDMA of the other end reads or writes.
 */
#ifndef CASES_LMR_SYNC_H
#define CASES_LMR_SYNC_H

#include "cases/ep/shared/rdma.h"
#include "cases/lmr/shared/region.h"

/* One of the two calls, and the RDMA that it is for. */
struct sync_kind {
        DAT_RETURN (*call)(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *segments, DAT_VLEN count);
        const struct rdma_kind *rdma;
};
extern const struct sync_kind sync_read, sync_write;

/* Any part of an LMR of REGION bytes is synchronized, and none of it changes. */
void sync_place(struct test *t, const struct sync_kind *kind, const struct rdma_place *row);

/* Segments in one call, of so many LMRs. */
struct sync_batch {
        const char *id;
        DAT_VLEN segments;
        DAT_VLEN lmrs;
        bool zones; /* each LMR in one of its own */
        bool same;  /* all segments are the same bytes */
};
static const struct sync_batch sync_batches[] = {
    {"of_one_lmr", 4, 1, false, false},      {"of_several_lmrs", 4, 4, false, false},
    {"of_several_zones", 4, 4, true, false}, {"of_few_lmrs_in_turn", 12, 3, true, false},
    {"the_same_again", 3, 1, false, true},   {"a_thousand", 1000, 4, true, false},
};
void sync_batch(struct test *t, const struct sync_kind *kind, const struct sync_batch *row);

/* An LMR of each type of memory, from its first to its last byte, and a part of it. */
void sync_of_type(struct test *t, const struct sync_kind *kind, const struct type_row *row);

/* LMRs that RDMA of the call's kind may use, whatever else may use them. */
static const struct sync_privileges {
        const char *id;
        bool other_remote, other_local;
        bool by_rmr; /* no remote one: they are an RMR's */
} sync_privileges[] = {
    {"as_needed", false, false, .by_rmr = false},
    {"both_local", false, true, .by_rmr = false},
    {"all", true, true, .by_rmr = false},
    {"by_rmr", false, true, .by_rmr = true},
};
void sync_privileged(struct test *t, const struct sync_kind *kind,
                     const struct sync_privileges *row);

/* Of its memory, the ranges that are synchronized in one call, which are all of it. */
static const struct rdma_count sync_ranges[] = {
    {"one", 1},
    {"two", 2},
    {"many", 25},
};
void sync_effect(struct test *t, const struct sync_kind *kind, const struct rdma_count *row);

/* The same of RDMA through an RMR, of an LMR without remote privileges. */
void sync_effect_by_rmr(struct test *t, const struct sync_kind *kind);

/* RDMA and memory agree without the call, where the provider says that it is not needed. */
void sync_not_needed(struct test *t, const struct sync_kind *kind);

/* RDMA that is under way elsewhere is not disturbed. */
void sync_amid_traffic(struct test *t, const struct sync_kind *kind);

/* The array is read during the call alone, and not written. */
void sync_array_read_only(struct test *t, const struct sync_kind *kind);

/* No bytes: by no segment, or by segments without length. */
static const struct sync_nothing {
        const char *id;
        DAT_VLEN segments;
        bool null_array;
} sync_nothings[] = {
    {"null_array", 0, true},
    {"no_segments", 0, false},
    {"empty_segment", 1, false},
    {"empty_segments", 3, false},
};
void sync_of_nothing(struct test *t, const struct sync_kind *kind, const struct sync_nothing *row);

/* One of the segments is none, alone or among others. */
static const struct wrong_row sync_wrongs[] = {
    WRONG_AMONG(freed_lmr, FREED),
    WRONG_AMONG(unknown_lmr, CONTEXT),
    {"lmr_of_other_ia", WRONG_IA, 1, 0, WRONG_BYTES},
    WRONG_AMONG(before_lmr, BEFORE),
    WRONG_AMONG(after_lmr, AFTER),
    {"longer_than_lmr", WRONG_LONGER, 1, 0, WRONG_BYTES},
    {"behind_lmr", WRONG_BEHIND, 1, 0, WRONG_BYTES},
    {"far_before_lmr", WRONG_FAR, 1, 0, WRONG_BYTES},
    {"in_other_lmr", WRONG_OTHERS, 1, 0, WRONG_BYTES},
    {"in_other_lmr_last", WRONG_OTHERS, 3, 2, WRONG_BYTES},
    {"around_the_end", WRONG_WRAPS, 1, 0, WRONG_BYTES},
    {"around_the_end_last", WRONG_WRAPS, 3, 2, WRONG_BYTES},
};
void sync_refused(struct test *t, const struct sync_kind *kind, const struct wrong_row *row);

/* A legal call of either page. */
void sync_legal(struct test *t, DAT_IA_HANDLE *ia_handle, const DAT_LMR_TRIPLET **segments,
                DAT_VLEN *count);

#endif
