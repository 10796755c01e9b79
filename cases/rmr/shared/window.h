/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection of which one end binds RMRs to its memory, and the other reaches that memory. */
#ifndef CASES_RMR_WINDOW_H
#define CASES_RMR_WINDOW_H

#include "cases/ep/shared/transfer.h"

#define LOCAL_PRIVILEGES  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define REMOTE_PRIVILEGES (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

#define MEMORY ((size_t)4096) /* bytes that may be reached */
#define REGION ((size_t)1000) /* where the region starts that cases bind */
#define WIDTH  ((size_t)700)  /* and how many bytes it has */

/* How memory is reached, as rows of families. */
enum way {
        BY_WRITE,
        BY_READ,
};
static const struct way_row {
        const char *id;
        enum way way;
} ways[] = {
    {"write", BY_WRITE},
    {"read", BY_READ},
};

struct window_opts {
        DAT_PZ_HANDLE pz;              /* of the near EP and its memory: pz(t) */
        DAT_MEM_PRIV_FLAGS privileges; /* of that memory: LOCAL_PRIVILEGES, no remote ones */
        DAT_COMPLETION_FLAGS requests; /* the near EP's request_completion_flags */
        DAT_COMPLETION_FLAGS receives; /* and its recv_completion_flags */
        DAT_CNO_HANDLE cno;            /* of the near EP's request EVD */
        bool reads;                    /* the far EP may read, too; else it only writes */
};

/*
 * Two EPs of the case's IA, connected. The near one is in another zone than the far one. Memory and
 * `before`, its copy, have bytes that name their places; so has what the far end writes from.
 */
struct window {
        DAT_EP_HANDLE near, far;
        DAT_EVD_HANDLE requests; /* of the near EP: for DTOs and binds */
        DAT_PZ_HANDLE pz;        /* of the near EP */
        struct buf *memory;      /* that may be reached */
        struct buf *away;        /* of the far EP */
        unsigned char before[MEMORY];
        uint64_t sequence; /* of what is in `away` */
};

/* Clauses need "merged_dto_rmr_bind_supported" and "consumer_made_ep_supported". */
struct window window_make(struct test *t, struct window_opts opts);
#define window_with(t_, ...) window_make((t_), (struct window_opts){__VA_ARGS__})

/* The same; the far EP may read where `way` is to read: UNSUPPORTED where the IA has no reads. */
struct window window_for(struct test *t, enum way way);

/* Another connection to the same memory, whose near EP is in the zone `pz`. */
struct window window_beside(struct test *t, const struct window *window, DAT_PZ_HANDLE pz,
                            bool reads);

/*
 * The near EP ends the connection and is Unconnected again; and both EPs are connected again, the
 * near one as it is by then.
 */
void window_part(struct test *t, const struct window *window);
void window_rejoin(struct test *t, const struct window *window);

/* An RMR of the zone, made and put on the case's list; one that cannot be made ends in ERROR. */
DAT_RMR_HANDLE rmr_in(struct test *t, DAT_PZ_HANDLE pz);

/* The region that cases bind, and one of other bounds. */
DAT_LMR_TRIPLET region(const struct window *window);

/*
 * Binds the RMR by the near EP and takes the completion: ERROR where either fails. Returns the
 * context.
 */
DAT_RMR_CONTEXT must_bind(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr,
                          DAT_LMR_TRIPLET segment, DAT_MEM_PRIV_FLAGS privileges);

/* The region, bound with both remote privileges. */
DAT_RMR_CONTEXT must_bind_region(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr);

/* The far EP writes or reads `length` bytes of the memory from `offset` on, and this results.
 */
DAT_DTO_COMPLETION_STATUS reach(struct test *t, struct window *window, enum way way,
                                DAT_RMR_CONTEXT context, size_t offset, size_t length);

/*
 * It does so with success: the bytes are where they belong, and no other byte has changed. Or it
 * completes as a violation of access, nothing has changed and nothing was told; the connection is
 * of no use then.
 */
void expect_reached(struct test *t, struct window *window, enum way way, DAT_RMR_CONTEXT context,
                    size_t offset, size_t length);
void expect_denied(struct test *t, struct window *window, enum way way, DAT_RMR_CONTEXT context,
                   size_t offset, size_t length);

/* A connection to the peer, which may read the case's memory. The clause has check = "pair". */
struct peer_window {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE requests;
        struct peer_ep *end;
        struct buf *memory; /* holds message 0, and has local privileges only */
};
struct peer_window peer_window(struct test *t);

/* Binds its first bytes and takes the completion; and whether the peer can read them. */
DAT_RMR_CONTEXT peer_window_bind(struct test *t, const struct peer_window *window,
                                 DAT_RMR_HANDLE rmr);
bool peer_window_reads(const struct peer_window *window, DAT_RMR_CONTEXT context);

/* The next event of `evd` is the completion of a bind of `rmr`, with this cookie and status. */
void expect_bind_done(struct test *t, DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
                      DAT_RMR_BIND_COMPLETION_STATUS status);

#endif
