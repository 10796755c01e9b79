/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What posted transfers have in common: memory whose every byte says where it belongs, vectors of
 * segments with canaries around each, two connected EPs of one IA, and completions of which every
 * field is looked at.
 */
#ifndef CASES_EP_TRANSFER_H
#define CASES_EP_TRANSFER_H

#include "cases/ep/shared/segment.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/loop.h"

#define SPLIT_MOST 8
#define COOKIE(n_) ((DAT_DTO_COOKIE){.as_64 = (n_)})

/* How the bytes of a vector are shared among its segments: by these parts of all. */
struct split {
        const char *id;
        DAT_COUNT segments;
        unsigned char parts[SPLIT_MOST];
};

/* Of one segment, halves, and parts of all lengths in each order. */
static const struct split splits[] = {
    {"one", 1, {1}},
    {"halves", 2, {1, 1}},
    {"short_first", 2, {1, 99}},
    {"short_last", 2, {99, 1}},
    {"growing", 4, {1, 2, 4, 8}},
    {"shrinking", 4, {8, 4, 2, 1}},
    {"long_among_short", 3, {1, 98, 1}},
};

/* Segments without length among others: a provider may refuse them (SRQ-25). */
static const struct split splits_with_empty[] = {
    {"empty_first", 3, {0, 1, 2}},
    {"empty_among", 3, {1, 0, 2}},
    {"empty_last", 3, {2, 1, 0}},
    {"empty_but_one", 4, {0, 0, 1, 0}},
};

/*
 * Memory of a transfer: segments in the order of the vector, in another order in their buffer,
 * apart from each other and at odd addresses. What is in no segment is canaries.
 */
struct vector {
        struct buf *buf;
        DAT_COUNT count;
        size_t length; /* of all segments */
        DAT_LMR_TRIPLET *iov;
};
struct vector_opts {
        size_t length;             /* 0: segments without bytes */
        const struct split *split; /* one segment */
        DAT_COUNT segments;        /* instead of a split: so many, about equally long */
        bool aligned;              /* each segment begins `shift` bytes behind a multiple of 64 */
        unsigned int shift;        /* 0 to 63 */
        struct buf_opts buf;       /* but for the length */
};
/* A vector that is all canaries: a receive's, or of an RDMA read. */
struct vector vector_make(struct test *t, struct vector_opts opts);
#define vector_with(t_, ...) vector_make((t_), (struct vector_opts){__VA_ARGS__})

/* The whole of a buffer as a vector of one segment, all canaries. */
struct vector vector_over(struct test *t, struct buf *buf);

/* Where its first segment lies. */
unsigned char *vector_at(const struct vector *vector);

/* The segments, in their order, hold message `sequence` from now on: what is to be sent. */
void vector_fill(struct test *t, const struct vector *vector, uint64_t sequence);

/* A vector of one segment as the remote buffer of an RDMA. */
DAT_RMR_TRIPLET vector_remote(const struct vector *vector);

/*
 * The first `length` bytes of the segments, in their order, are those of message `sequence`; all
 * else, in the segments and around them, is canaries still. What a byte has instead is told: the
 * byte of another place, or none. must_hold: a vector that holds something else ends in ERROR.
 */
#define expect_holds(vector_, sequence_, length_)                                           \
        vector_holds(t, CHECK_SITE_(#vector_ " holds its message"), (vector_), (sequence_), \
                     (length_), true)
#define must_hold(vector_, sequence_, length_)                                              \
        vector_holds(t, CHECK_SITE_(#vector_ " holds its message"), (vector_), (sequence_), \
                     (length_), false)
void vector_holds(struct test *t, const struct check_site *site, const struct vector *vector,
                  uint64_t sequence, size_t length, bool clause);

/*
 * Waits a while until the first `length` bytes are those of the message. That a write's are when it
 * completes is not said (DTO-2).
 */
void vector_await(struct test *t, const struct vector *vector, uint64_t sequence, size_t length);

/* Nothing was written to the vector, nor around it. */
#define expect_untouched(vector_) expect_holds((vector_), 0, 0)

/*
 * As expect_holds(), but of the segments nothing is asked: a transfer that failed may have left
 * anything there, and nothing elsewhere.
 */
#define expect_kept_around(vector_) \
        vector_kept_around(t, CHECK_SITE_("the bytes around a vector"), (vector_))
void vector_kept_around(struct test *t, const struct check_site *site, const struct vector *vector);

/*
 * Vectors of which one segment is wrong, as rows of families about protection: with one segment,
 * and at each place among three.
 */
enum wrong_kind {
        WRONG_ZONE,       /* an LMR of another zone */
        WRONG_PRIVILEGE,  /* one with the other local privilege only */
        WRONG_PRIVILEGES, /* and with both remote ones */
        WRONG_FREED,      /* one that is gone */
        WRONG_CONTEXT,    /* a context of no LMR */
        WRONG_IA,         /* an LMR of another IA */
        WRONG_BEFORE,     /* one byte before the LMR */
        WRONG_AFTER,      /* one byte behind it */
        WRONG_LONGER,     /* all of it, and one byte more */
        WRONG_BEHIND,     /* the byte behind it */
        WRONG_FAR,        /* far before it */
        WRONG_OTHERS,     /* bytes of another LMR, by this one's context */
        WRONG_LONG,       /* longer than it by 4 GiB: by what no 32 bits hold */
        WRONG_WRAPS,      /* so long that its end is before its start */
};
struct wrong_row {
        const char *id;
        enum wrong_kind kind;
        DAT_COUNT segments;
        DAT_COUNT at;
        size_t bytes; /* of the wrong segment */
};
#define WRONG_BYTES ((size_t)100)
#define WRONG_SHORT ((size_t)8) /* so few that an adapter may take them at the post */
#define WRONG_AMONG(id_, kind_)                                \
        {#id_, WRONG_##kind_, 1, 0, WRONG_BYTES},              \
            {#id_ "_first", WRONG_##kind_, 3, 0, WRONG_BYTES}, \
            {#id_ "_among", WRONG_##kind_, 3, 1, WRONG_BYTES}, \
        {                                                      \
#id_ "_last", WRONG_##kind_, 3, 2, WRONG_BYTES \
        }
static const struct wrong_row wrong_segments[] = {
    WRONG_AMONG(other_zone, ZONE),
    WRONG_AMONG(no_privilege, PRIVILEGE),
    {"no_privilege_but_remote", WRONG_PRIVILEGES, 1, 0, WRONG_BYTES},
    {"other_zone_short", WRONG_ZONE, 1, 0, WRONG_SHORT},
    {"no_privilege_short", WRONG_PRIVILEGE, 1, 0, WRONG_SHORT},
    {"freed_lmr_short", WRONG_FREED, 1, 0, WRONG_SHORT},
    WRONG_AMONG(freed_lmr, FREED),
    WRONG_AMONG(unknown_lmr, CONTEXT),
    {"lmr_of_other_ia", WRONG_IA, 1, 0, WRONG_BYTES},
    WRONG_AMONG(before_lmr, BEFORE),
    WRONG_AMONG(after_lmr, AFTER),
    {"longer_than_lmr", WRONG_LONGER, 1, 0, WRONG_BYTES},
    {"behind_lmr", WRONG_BEHIND, 1, 0, WRONG_BYTES},
    {"far_before_lmr", WRONG_FAR, 1, 0, WRONG_BYTES},
    {"longer_by_far", WRONG_LONG, 1, 0, WRONG_BYTES},
    {"longer_by_far_last", WRONG_LONG, 3, 2, WRONG_BYTES},
    {"around_the_end", WRONG_WRAPS, 1, 0, WRONG_BYTES},
    {"around_the_end_last", WRONG_WRAPS, 3, 2, WRONG_BYTES},
};
/* On an EP that is Disconnected it is refused as elsewhere, or flushed like what is right. */
static const struct wrong_row wrong_flushed[] = {
    {"other_zone", WRONG_ZONE, 1, 0, WRONG_BYTES},
    {"no_privilege_last", WRONG_PRIVILEGE, 3, 2, WRONG_BYTES},
    {"after_lmr", WRONG_AFTER, 1, 0, WRONG_BYTES},
};
struct wrong {
        enum wrong_kind kind;
        DAT_COUNT at; /* of the wrong segment, in the vector */
        struct vector
            vector;        /* its memory, and what it names, has no byte of a message or a canary */
        struct buf *named; /* what the wrong segment names */
        bool gathers;      /* its bytes are to go: that there are too many is an answer, too */
};
/*
 * The row's vector, for a transfer that needs this local privilege. It is made last of all: a
 * context may be given to the next LMR. Each segment has WRONG_BYTES, or what the row says.
 */
struct wrong wrong_with(struct test *t, const struct wrong_row *row, DAT_MEM_PRIV_FLAGS needed);

/*
 * The post is refused as the pages say for the row, or granted, and then to be found out (GEN-9);
 * returns whether it was refused.
 */
#define expect_wrong(call_, wrong_) wrong_answered(t, CHECK_SITE_(#call_), (call_), (wrong_))
bool wrong_answered(struct test *t, const struct check_site *site, DAT_RETURN ret,
                    const struct wrong *wrong);

/*
 * A granted one completes as a violation of protection; or of length, where more bytes are to go
 * than anything may have.
 */
void expect_wrong_told(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
                       const struct wrong *wrong);

/* Neither the good segments nor what the wrong one names were written. */
void expect_wrong_untouched(struct test *t, const struct wrong *wrong);
/* The latter alone. */
void expect_named_untouched(struct test *t, const struct wrong *wrong);
/*
 * The same of what was found out late, where no byte that the wrong segment names may be used: good
 * segments before it may have been filled, and as much of it as is within its LMR.
 */
void expect_late_untouched(struct test *t, const struct wrong *wrong);
/* Whether there is nothing that may be moved before what may not. */
bool wrong_at_once(const struct wrong *wrong);

/* Lengths of messages and RDMA: none, one byte, around each MTU that a path may have, and more. */
#define LENGTH_MOST ((size_t)-1)
struct length_row {
        const char *id;
        size_t length; /* LENGTH_MOST: the most that the EP was made for */
};
#define LENGTHS_AROUND(mtu_)                               \
        {"below_" #mtu_, (mtu_)-1}, {"at_" #mtu_, (mtu_)}, \
        {                                                  \
                "above_" #mtu_, (mtu_) + 1                 \
        }
static const struct length_row transfer_lengths[] = {
    {"none", 0},
    {"one", 1},
    LENGTHS_AROUND(8),
    LENGTHS_AROUND(256),
    LENGTHS_AROUND(512),
    LENGTHS_AROUND(1024),
    LENGTHS_AROUND(2048),
    LENGTHS_AROUND(4096),
    LENGTHS_AROUND(8192),
    LENGTHS_AROUND(65536),
    {"many_packets", 300007},
    {"most", LENGTH_MOST},
};
/* The row's length, where the EP's limit is `most`; UNSUPPORTED where that is less. */
size_t length_of(struct test *t, const struct length_row *row, DAT_VLEN most);
/* Ends the case as UNSUPPORTED where the EPs of transfer_with() cannot transfer so many bytes. */
void must_carry(struct test *t, size_t length);

/* Two EPs that are to be connected, each with EVDs of its own. */
struct transfer_opts {
        DAT_COUNT segments;                 /* 1: of receives, sends, RDMA writes; and reads */
        DAT_COUNT dtos;                     /* 16: receives, and requests */
        DAT_VLEN most;                      /* of messages and RDMA: 1 MiB, or what the IA can do */
        DAT_COUNT reads;                    /* 0: RDMA reads under way, each way */
        DAT_COMPLETION_FLAGS recv_flags;    /* the EPs' attributes */
        DAT_COMPLETION_FLAGS request_flags; /* of the active EP alone */
        DAT_EVD_HANDLE recv_evd;            /* of the passive EP */
        DAT_EVD_HANDLE request_evd;         /* of the active EP */
        DAT_PZ_HANDLE pz;                   /* of the active EP */
};
/* The attributes of such an EP; UNSUPPORTED where the IA's own limits are below. */
DAT_EP_ATTR transfer_attr(struct test *t, struct transfer_opts opts);

/* The EPs, joined by loop_join_either(); the active one sends, by convention. */
struct loop transfer_make(struct test *t, struct transfer_opts opts);
#define transfer_with(t_, ...) transfer_make((t_), (struct transfer_opts){__VA_ARGS__})

/*
 * The calls, with a copy of the vector's segments: none where it has no bytes (SRQ-25). What
 * becomes of the copy hides nothing from expect_holds().
 */
DAT_RETURN send_vector(DAT_EP_HANDLE ep, const struct vector *vector, uint64_t cookie,
                       DAT_COMPLETION_FLAGS flags);
DAT_RETURN recv_vector(DAT_EP_HANDLE ep, const struct vector *vector, uint64_t cookie,
                       DAT_COMPLETION_FLAGS flags);

/*
 * The next event of the EVD is the completion of a DTO, and each field of it is as told; the length
 * is asked of what succeeded only. must_complete: else ERROR.
 */
struct completion {
        DAT_EP_HANDLE ep;
        uint64_t cookie;
        size_t length;
        DAT_DTO_COMPLETION_STATUS status; /* DAT_DTO_SUCCESS */
};
#define expect_completion(evd_, ...)                                         \
        completion_comes(t, CHECK_SITE_("the completion on an EVD"), (evd_), \
                         &(const struct completion){__VA_ARGS__}, true)
#define must_complete(evd_, ...)                                             \
        completion_comes(t, CHECK_SITE_("the completion on an EVD"), (evd_), \
                         &(const struct completion){__VA_ARGS__}, false)
void completion_comes(struct test *t, const struct check_site *site, DAT_EVD_HANDLE evd,
                      const struct completion *completion, bool clause);

/*
 * Posts a message for which the other end has no receive yet, so that the transport holds up all
 * that is posted behind it. False, with a NOTE, where it does not keep the message (DTO-3).
 */
bool held_up(struct test *t, const struct loop *loop, const struct vector *message,
             uint64_t cookie);

/*
 * A way for messages of MESSAGE bytes from one EP to another, connected to it: message i goes from
 * its own slot of memory to its own slot, and has the cookie i at both ends.
 */
struct line {
        DAT_EP_HANDLE from;
        DAT_EP_HANDLE to;
        struct buf *source;
        struct buf *target;
        uint64_t slots;    /* from then on slots are used again */
        uint64_t sent;     /* posted */
        uint64_t awaited;  /* receives posted */
        uint64_t arrived;  /* receives that have completed */
        uint64_t complete; /* sends that have */
};
struct line line_between(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, uint64_t slots);

/* A line of the EPs of transfer_with(), from the active one to the passive one. */
#define LINE_SLOTS         64
#define line_with(t_, ...) line_make((t_), (struct transfer_opts){__VA_ARGS__})
struct line line_make(struct test *t, struct transfer_opts opts);

/* Posts the next send, the next receive; what is not taken was none. */
DAT_RETURN line_send(struct line *line, DAT_COMPLETION_FLAGS flags);
DAT_RETURN line_recv(struct line *line, DAT_COMPLETION_FLAGS flags);
void must_line_recv(struct test *t, struct line *line, int count);

/* The next messages have come, whole, each to its own slot; the next sends have completed. */
void expect_arrivals(struct test *t, struct line *line, int count);

/* The same where their completions wake nobody: each is asked for until it is there. */
void expect_arrivals_unheard(struct test *t, struct line *line, int count);
void expect_sends_complete(struct test *t, struct line *line, int count);

/* The active EP has ended the connection; the events of both ends are taken. */
void must_end(struct test *t, const struct loop *loop);

/*
 * An EVD for so many completions, or for as many as the IA's can have. must_have_room(): the case
 * is UNSUPPORTED where that is fewer than it waits for.
 */
DAT_EVD_HANDLE evd_of_at_most(struct test *t, DAT_COUNT events);
void must_have_room(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT events);

/* Vectors after the call, where the provider's attribute gives them back to the consumer. */
struct vector_end {
        const char *id;
        void (*end)(DAT_LMR_TRIPLET *iov, size_t length);
};
void vector_overwrite(DAT_LMR_TRIPLET *iov, size_t length);
void vector_protect(DAT_LMR_TRIPLET *iov, size_t length);
void vector_unmap(DAT_LMR_TRIPLET *iov, size_t length);
static const struct vector_end vector_ends[] = {
    {"overwritten", vector_overwrite},
    {"protected", vector_protect},
    {"unmapped", vector_unmap},
};
/* The segments once more, in a mapping of their own. */
DAT_LMR_TRIPLET *vector_mapping(struct test *t, const struct vector *vector);
size_t vector_mapped(const struct vector *vector);
/*
 * A copy of the segments with one behind them that is in no vector, and how both were. The provider
 * has changed neither.
 */
struct marked {
        DAT_LMR_TRIPLET *iov;
        DAT_LMR_TRIPLET *before;
        size_t size;
};
struct marked marked_of(struct test *t, const struct vector *vector);
void expect_unmarked(struct test *t, const struct marked *marked);

/* UNSUPPORTED where the provider keeps vectors for longer. */
void need_ownership(struct test *t, DAT_IOV_OWNERSHIP most);

/* A message has come to the next receive at the peer's end, whole and with success. */
#define expect_peer_has(end_, sequence_, length_) \
        peer_has(t, CHECK_SITE_(#sequence_ " at " #end_), (end_), (sequence_), (length_))
void peer_has(struct test *t, const struct check_site *site, struct peer_ep *end, uint64_t sequence,
              size_t length);

/*
 * How a DTO completed that the other end refuses (DTO-42): with DAT_DTO_ERR_REMOTE_ACCESS. On iWARP
 * that end ends the connection instead, and what was written may have completed well before.
 */
void expect_remote_refusal(struct test *t, DAT_EP_HANDLE ep, bool reads,
                           DAT_DTO_COMPLETION_STATUS status);

/* The connection is gone, by whatever event, and the EP says so. */
void expect_connection_gone(struct test *t, DAT_EP_HANDLE ep);

/* The waiter is woken, and was given such a completion. */
#define expect_woken(waiter_, ...)                                              \
        completion_woke(t, CHECK_SITE_("what the waiter was given"), (waiter_), \
                        &(const struct completion){__VA_ARGS__})
void completion_woke(struct test *t, const struct check_site *site, struct waiter *waiter,
                     const struct completion *completion);

/* The same of an event that the case has taken itself. */
void completion_is(struct test *t, const struct check_site *site, const DAT_EVENT *event,
                   const struct completion *completion, bool clause);

/* Binds a new RMR to memory of its own, which the peer may read then. */
void post_bind(struct test *t, DAT_EP_HANDLE ep, uint64_t cookie);

#endif
