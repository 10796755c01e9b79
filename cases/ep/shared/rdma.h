/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What dat_ep_post_rdma_write and dat_ep_post_rdma_read have in common: a connection within one IA
 * with memory at both ends, and the bodies of the cases that ask the same of both calls. By
 * convention the active EP posts, and the passive one's memory is the remote buffer; which of them
 * asks for the connection is drawn.
 */
#ifndef CASES_EP_RDMA_H
#define CASES_EP_RDMA_H

#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/cookies.h"

#include <limits.h>

/* One of the two calls. */
struct rdma_kind {
        DAT_RETURN(*post)
        (DAT_EP_HANDLE ep, DAT_COUNT segments, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
         const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
        bool reads;                       /* the local vector is what is filled */
        DAT_MEM_PRIV_FLAGS local, remote; /* what it needs at either end */
        DAT_MEM_PRIV_FLAGS other_remote;  /* what the other call needs there */
};
extern const struct rdma_kind rdma_write, rdma_read;

struct rdma_opts {
        size_t length;                      /* 1000 bytes, of the local vector */
        bool empty;                         /* it has none */
        const struct split *split;          /* of the local vector: one segment */
        DAT_COUNT segments;                 /* instead of a split; the EP is made for so many */
        size_t remote_length;               /* as the local vector */
        DAT_COUNT dtos;                     /* 16 */
        DAT_COUNT reads;                    /* under way at most, of a read: 4 */
        DAT_VLEN most;                      /* that the EP is made for: 1 MiB */
        DAT_COMPLETION_FLAGS request_flags; /* the EP's attribute */
        DAT_COMPLETION_FLAGS recv_flags;    /* the same of both EPs */
        DAT_EVD_HANDLE request_evd;         /* of the active EP: an own one */
        DAT_EVD_HANDLE passive_evd;         /* of the passive EP's requests: an own one */
        DAT_PZ_HANDLE pz;                   /* of the active EP and its vector: pz(t) */
        struct buf_opts local, remote;
};

/* Two connected EPs, and memory for an RDMA: its source holds message RDMA_MESSAGE. */
#define RDMA_MESSAGE 3
struct rdma {
        const struct rdma_kind *kind;
        struct loop loop;
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE evd; /* of its requests */
        DAT_PZ_HANDLE pz;   /* of its memory */
        struct vector local, remote;
        DAT_COUNT depth; /* requests that the case has at once, where it is about many */
};
struct rdma rdma_make(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts);
#define rdma_with(t_, kind_, ...) rdma_make((t_), (kind_), (struct rdma_opts){__VA_ARGS__})

/* The attributes of such an EP; UNSUPPORTED where the IA's own limits are below. */
DAT_EP_ATTR rdma_attr(struct test *t, const struct rdma_kind *kind, struct rdma_opts opts);

/*
 * Posts it with the vector and the remote buffer. The provider may have the I/O vector until the
 * completion: it is given one of its own.
 */
DAT_RETURN rdma_post(struct test *t, const struct rdma *rdma, const struct vector *local,
                     DAT_RMR_TRIPLET remote, uint64_t cookie, DAT_COMPLETION_FLAGS flags);

/* The whole of its vector, to or from the whole of its remote memory. */
DAT_RETURN rdma_post_whole(struct test *t, const struct rdma *rdma, uint64_t cookie,
                           DAT_COMPLETION_FLAGS flags);

/* Memory of the peer as the remote buffer of an RDMA of MESSAGE bytes. */
DAT_RMR_TRIPLET rdma_remote_of(struct peer_memory memory);

/* It completed, so many bytes are where they belong, and no other byte has changed. */
void expect_rdma(struct test *t, const struct rdma *rdma, uint64_t cookie, size_t length);

/* Of that, the bytes alone. */
void expect_rdma_bytes(struct test *t, const struct rdma *rdma, size_t length);

/* Where its bytes come from, and go to. */
const struct vector *rdma_source(const struct rdma *rdma);
const struct vector *rdma_target(const struct rdma *rdma);

/* The I/O vector that the provider may have, of so many segments. */
DAT_LMR_TRIPLET *rdma_iov(struct test *t, const DAT_LMR_TRIPLET *iov, DAT_COUNT segments);

/* No completion has come of what was refused, and a legal one goes through. */
void expect_rdma_goes_on(struct test *t, const struct rdma *rdma);

/* The same, and none of its memory has changed. */
void expect_rdma_refused(struct test *t, const struct rdma *rdma);

/* A legal call of either page. */
void rdma_legal(struct test *t, const struct rdma_kind *kind, DAT_EP_HANDLE *ep,
                DAT_LMR_TRIPLET **iov, const DAT_RMR_TRIPLET **remote);

/*
 * The rows, and the bodies of the families
 */

static const struct length_row wire_lengths[] = {
    {"one", 1},
    {"above_1024", 1025},
    {"at_4096", 4096},
    {"many_packets", 300007},
    {"most", LENGTH_MOST},
};

void rdma_moves(struct test *t, const struct rdma_kind *kind, const struct length_row *row);
void rdma_over_wire(struct test *t, const struct rdma_kind *kind, const struct length_row *row);

/*
 * Whether a write has come to the peer, as the peer sees its memory. It is asked again for a while:
 * that the bytes are there when the write completes is not said (DTO-2).
 */
bool rdma_peer_has(struct test *t, struct peer_ep *end, struct peer_memory memory, size_t length);
void rdma_in_segments(struct test *t, const struct rdma_kind *kind, const struct split *row);
void rdma_with_empty(struct test *t, const struct rdma_kind *kind, const struct split *row);
void rdma_of_several_lmrs(struct test *t, const struct rdma_kind *kind);
void rdma_most_segments(struct test *t, const struct rdma_kind *kind);
void rdma_fewer_segments(struct test *t, const struct rdma_kind *kind);

static const struct rdma_nothing {
        const char *id;
        DAT_COUNT segments; /* each without length */
        bool null_vector;
        bool room; /* where it would go there is some */
} rdma_nothings[] = {
    {"null_vector", 0, true, .room = false},    {"no_segments", 0, false, .room = false},
    {"empty_segment", 1, false, .room = false}, {"empty_segments", 4, false, .room = false},
    {"into_room", 1, false, .room = true},
};
void rdma_of_nothing(struct test *t, const struct rdma_kind *kind, const struct rdma_nothing *row);

/* A place in a remote region of REGION bytes. */
#define REGION ((size_t)4096)
static const struct rdma_place {
        const char *id;
        size_t offset;
        size_t length;
} rdma_places[] = {
    {"first_byte", 0, 1},           {"last_byte", REGION - 1, 1},    {"middle", 1537, 1111},
    {"up_to_end", 99, REGION - 99}, {"all_but_last", 0, REGION - 1}, {"whole", 0, REGION},
};
void rdma_at_place(struct test *t, const struct rdma_kind *kind, const struct rdma_place *row);

/* Less than there is room for. */
static const struct rdma_rest {
        const char *id;
        size_t length;
} rests[] = {
    {"one_byte", 1},      {"part_of_first", 66},  {"first_exactly", 67}, {"into_second", 68},
    {"two_exactly", 200}, {"part_of_third", 333}, {"all_but_one", 999},
};
void rdma_leaves_rest(struct test *t, const struct rdma_kind *kind, const struct rdma_rest *row);

/* Many RDMAs each way. All are signalled, or one of so many. */
static const struct rdma_stream {
        const char *id;
        int count;
        int among;
} rdma_streams[] = {
    {"told", 48, 1},
    {"suppressed", 1024, 16},
};
void rdma_many(struct test *t, const struct rdma_kind *kind, const struct rdma_stream *row);

/* How far behind a multiple of 64 the memory of either end begins. */
static const struct rdma_shift {
        const char *id;
        unsigned int local, remote;
} rdma_shifts[] = {
    {"none", 0, 0},       {"local_by_one", 1, 0}, {"remote_by_one", 0, 1}, {"both_by_one", 1, 1},
    {"both_apart", 3, 5}, {"by_half", 32, 0},     {"up_to_next", 63, 63},
};
void rdma_aligned(struct test *t, const struct rdma_kind *kind, const struct rdma_shift *row);
void rdma_completes_once(struct test *t, const struct rdma_kind *kind);
void rdma_in_order(struct test *t, const struct rdma_kind *kind);
void rdma_in_order_with_others(struct test *t, const struct rdma_kind *kind);
void rdma_unseen_there(struct test *t, const struct rdma_kind *kind);

void rdma_cookie(struct test *t, const struct rdma_kind *kind, const struct cookie *row);
void rdma_same_cookie(struct test *t, const struct rdma_kind *kind);
/* Of two EPs whose requests complete on one EVD. */
void rdma_of_its_own_ep(struct test *t, const struct rdma_kind *kind);

/* The completion of an RDMA whose cookie has bits in each byte. */
static const struct rdma_outcome {
        const char *id;
        DAT_COUNT segments;
        bool denied;   /* beyond the memory of the other end */
        bool too_late; /* posted when the connection has ended */
} rdma_outcomes[] = {
    {"several_segments", 3, .denied = false, .too_late = false},
    {"denied", 1, .denied = true, .too_late = false},
    {"flushed", 1, .denied = false, .too_late = true},
    {"flushed_several_segments", 3, .denied = false, .too_late = true},
};
void rdma_cookie_of(struct test *t, const struct rdma_kind *kind, const struct rdma_outcome *row);

/* Completion flags of a post; where UNSIGNALLED is among them, the EP is configured for it. */
struct rdma_flags {
        const char *id;
        DAT_COMPLETION_FLAGS flags;
};
#define SUPPRESS    DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIGNALLED DAT_COMPLETION_UNSIGNALLED_FLAG
#define FENCE       DAT_COMPLETION_BARRIER_FENCE_FLAG
static const struct rdma_flags rdma_flags[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG},
    {"suppress", SUPPRESS},
    {"fence", FENCE},
    {"suppress_fence", SUPPRESS | FENCE},
    {"unsignalled", UNSIGNALLED},
    {"unsignalled_suppress", UNSIGNALLED | SUPPRESS},
    {"unsignalled_fence", UNSIGNALLED | FENCE},
    {"all", UNSIGNALLED | SUPPRESS | FENCE},
};
void rdma_flagged(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row);
void rdma_flushed(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row);

/* The unsignalled flag, and what the EP is configured for instead of it. */
static const struct rdma_unconfigured {
        const char *id;
        DAT_COMPLETION_FLAGS flags, of_ep, of_receives;
} rdma_unconfigured[] = {
    {"alone", UNSIGNALLED, 0, 0},
    {"suppress", UNSIGNALLED | SUPPRESS, 0, 0},
    {"fence", UNSIGNALLED | FENCE, 0, 0},
    {"all", UNSIGNALLED | SUPPRESS | FENCE, 0, 0},
    {"threshold", UNSIGNALLED, DAT_COMPLETION_EVD_THRESHOLD_FLAG, 0},
    {"for_receives", UNSIGNALLED, 0, UNSIGNALLED},
};
void rdma_unsignalled_refused(struct test *t, const struct rdma_kind *kind,
                              const struct rdma_unconfigured *row);

static const struct rdma_flags rdma_undefined[] = {
    {"next_bit", (DAT_COMPLETION_FLAGS)0x20},
    {"highest_bit", (DAT_COMPLETION_FLAGS)(1U << 31)},
    {"all_bits", (DAT_COMPLETION_FLAGS)~0U},
};
void rdma_flags_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_flags *row);
void rdma_each_undefined_flag(struct test *t, const struct rdma_kind *kind);

static const struct rdma_flags rdma_unlisted[] = {
    {"solicited_wait", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"evd_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG},
};
void rdma_flags_unlisted(struct test *t, const struct rdma_kind *kind,
                         const struct rdma_flags *row);

void rdma_suppressed_rounds(struct test *t, const struct rdma_kind *kind);
void rdma_suppressed_vector(struct test *t, const struct rdma_kind *kind);
void rdma_suppressed_failure(struct test *t, const struct rdma_kind *kind);
void rdma_unsignalled_waits(struct test *t, const struct rdma_kind *kind);
void rdma_fenced(struct test *t, const struct rdma_kind *kind);

void rdma_vector_given_back(struct test *t, const struct rdma_kind *kind,
                            const struct vector_end *row);
void rdma_vector_not_modified(struct test *t, const struct rdma_kind *kind);
void rdma_remote_given_back(struct test *t, const struct rdma_kind *kind);
void rdma_remote_not_modified(struct test *t, const struct rdma_kind *kind);
void rdma_arguments_of_refused(struct test *t, const struct rdma_kind *kind);

void rdma_in_state(struct test *t, const struct rdma_kind *kind, const struct ep_state_row *row);
void rdma_after_turn(struct test *t, const struct rdma_kind *kind, const struct ep_turn *row);
void rdma_cut_off(struct test *t, const struct rdma_kind *kind);
void rdma_cut_off_suppressed(struct test *t, const struct rdma_kind *kind);

void rdma_most_outstanding(struct test *t, const struct rdma_kind *kind);
void rdma_one_too_many(struct test *t, const struct rdma_kind *kind);
void rdma_places_come_back(struct test *t, const struct rdma_kind *kind);

/* What is refused, and by which return. */
static const struct rdma_refusal {
        const char *id;
        DAT_RETURN returned;
        bool unsignalled;
} rdma_refusals[] = {
    {"negative_segments", DAT_INVALID_PARAMETER, .unsignalled = false},
    {"unsignalled", DAT_INVALID_PARAMETER, .unsignalled = true},
    {"too_short", DAT_LENGTH_ERROR, .unsignalled = false},
};
void rdma_refusal_leaves(struct test *t, const struct rdma_kind *kind,
                         const struct rdma_refusal *row);
void rdma_refusal_on_disconnected(struct test *t, const struct rdma_kind *kind,
                                  const struct rdma_refusal *row);

/*
 * Refusals (rdma_refusals.c)
 */

/* One of the local segments may not be used. */
void rdma_local_refused(struct test *t, const struct rdma_kind *kind, const struct wrong_row *row);

/* The same on an EP that is Disconnected. */
void rdma_wrong_on_disconnected(struct test *t, const struct rdma_kind *kind,
                                const struct wrong_row *row);

enum rdma_privilege { AS_NEEDED, OTHER_CALLS, NO_PRIVILEGE };

/* Remote memory that may not be reached, and what the call is refused with: any of three. */
struct rdma_wrong {
        const char *id;
        bool other_zone;
        bool freed;
        enum rdma_privilege privilege;
        DAT_VADDR offset; /* of the memory's first byte; it wraps */
        DAT_VLEN length;  /* 0: 100 bytes */
        DAT_RETURN returns[3];
};
#define ALL_THREE(ret_)          \
        {                        \
                ret_, ret_, ret_ \
        }
#define OUT_OF_REACH                                                                      \
        {                                                                                 \
                DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION, DAT_INVALID_PARAMETER \
        }
static const struct rdma_wrong rdma_remote_wrongs[] = {
    {"other_zone", .other_zone = true, .returns = ALL_THREE(DAT_PROTECTION_VIOLATION)},
    {"privilege_of_other_call", .privilege = OTHER_CALLS,
     .returns = ALL_THREE(DAT_PRIVILEGES_VIOLATION)},
    {"no_remote_privilege", .privilege = NO_PRIVILEGE,
     .returns = {DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_VIOLATION, DAT_INVALID_PARAMETER}},
    {"freed", .freed = true, .returns = OUT_OF_REACH},
    {"before_by_one", .offset = (DAT_VADDR)-1, .returns = OUT_OF_REACH},
    {"after_by_one", .offset = REGION - 99, .returns = OUT_OF_REACH},
    {"longer_by_one", .length = REGION + 1, .returns = OUT_OF_REACH},
    {"behind_end", .offset = REGION, .length = 1, .returns = OUT_OF_REACH},
    {"before_start", .offset = (DAT_VADDR)-1, .length = 1, .returns = OUT_OF_REACH},
    {"far_behind", .offset = UINT64_C(1) << 40, .returns = OUT_OF_REACH},
};
void rdma_remote_refused(struct test *t, const struct rdma_kind *kind,
                         const struct rdma_wrong *row);
/* Memory of the peer, as its owner sees it. */
static const struct rdma_wrong rdma_peer_wrongs[] = {
    {"before_by_one", .offset = (DAT_VADDR)-1, .returns = OUT_OF_REACH},
    {"after_by_one", .offset = REGION - 99, .returns = OUT_OF_REACH},
    {"behind_end", .offset = REGION, .length = 1, .returns = OUT_OF_REACH},
};
void rdma_peer_refused(struct test *t, const struct rdma_kind *kind, const struct rdma_wrong *row);

/* A context of a window that is no more. */
static const struct rdma_window {
        const char *id;
        bool rebound; /* to other memory; else unbound */
} rdma_windows[] = {
    {"unbound", false},
    {"rebound", true},
};
/*
 * A connection whose passive end binds, and remote memory that only a window opens. The bind of the
 * new RMR to a segment, which gives its context; a failure is BLOCKED.
 */
struct rdma rdma_windowed(struct test *t, const struct rdma_kind *kind, DAT_RMR_HANDLE *rmr);
DAT_RMR_CONTEXT rdma_must_bind(struct test *t, const struct rdma *rdma, DAT_RMR_HANDLE rmr,
                               DAT_LMR_TRIPLET segment, DAT_MEM_PRIV_FLAGS privileges);
void rdma_through_window(struct test *t, const struct rdma_kind *kind);
void rdma_window_gone(struct test *t, const struct rdma_kind *kind, const struct rdma_window *row);

/* The privileges that the call needs, and no other, at either end. */
void rdma_privileges_enough(struct test *t, const struct rdma_kind *kind);

/* What is to be filled is shorter than what is to fill it. */
static const struct rdma_short {
        const char *id;
        DAT_COUNT segments;
        size_t source, target;
} rdma_shorts[] = {
    {"by_one", 1, 1000, 999},
    {"by_far", 1, 4096, 64},
    {"in_sum_of_segments", 4, 1000, 999},
    {"nothing", 1, 64, 0},
};
void rdma_too_short(struct test *t, const struct rdma_kind *kind, const struct rdma_short *row);
void rdma_too_short_by_far(struct test *t, const struct rdma_kind *kind);
void rdma_beyond_most(struct test *t, const struct rdma_kind *kind);

static const struct rdma_count {
        const char *id;
        DAT_COUNT segments;
} rdma_negatives[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};
void rdma_negative_segments(struct test *t, const struct rdma_kind *kind,
                            const struct rdma_count *row);
void rdma_segment_too_many(struct test *t, const struct rdma_kind *kind);
void rdma_greatest_segments(struct test *t, const struct rdma_kind *kind);

#endif
