/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMRs by what they were asked for and what the call told, and the six ways in which bytes go into
 * and out of one: by DTOs of its own side, and by RDMA of the other.
 */
#ifndef CASES_LMR_REGION_H
#define CASES_LMR_REGION_H

#include "cases/ep/shared/transfer.h"

#define REGION_PAGE ((size_t)4096)
#define REGION_MOST (5 * REGION_PAGE) /* bytes that can be moved at once */
#define COOKIE_SIZE ((size_t)DAT_LMR_COOKIE_SIZE)

#define LOCAL_READ   DAT_MEM_PRIV_LOCAL_READ_FLAG
#define LOCAL_WRITE  DAT_MEM_PRIV_LOCAL_WRITE_FLAG
#define REMOTE_READ  DAT_MEM_PRIV_REMOTE_READ_FLAG
#define REMOTE_WRITE DAT_MEM_PRIV_REMOTE_WRITE_FLAG

struct region {
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_size;
        DAT_VADDR registered_address;
        unsigned char *addr; /* what was asked for */
        size_t length;
};

struct region_opts {
        DAT_IA_HANDLE ia;              /* ia(t) */
        DAT_MEM_TYPE type;             /* DAT_MEM_TYPE_VIRTUAL */
        unsigned char *addr;           /* new memory: shared where the type is, else private */
        size_t length;                 /* REGION_PAGE; over an LMR: that of the LMR */
        bool no_length;                /* 0, over an LMR */
        DAT_PZ_HANDLE pz;              /* pz(t) */
        DAT_MEM_PRIV_FLAGS privileges; /* all local and remote ones */
        bool unprivileged;             /* none instead */
        const struct region *of;       /* of DAT_MEM_TYPE_LMR: the one that is there */
        DAT_LMR_COOKIE cookie;         /* of DAT_MEM_TYPE_SHARED_VIRTUAL: one of zeros */
};

/* dat_lmr_create; what it made is the case's. What it told is not looked at. */
DAT_RETURN region_create(struct test *t, struct region_opts opts, struct region *region);

/* The same; ERROR where it fails. */
struct region region_make(struct test *t, struct region_opts opts);
#define region_with(t_, ...) region_make((t_), (struct region_opts){__VA_ARGS__})

/* All that dat_lmr_query tells; the query has to succeed. */
DAT_LMR_PARAM region_param(struct test *t, DAT_LMR_HANDLE lmr);

/* The types of memory, each with the options of one. */
struct type_row {
        const char *id;
        DAT_MEM_TYPE type;
};
static const struct type_row types[] = {
    {"virtual", DAT_MEM_TYPE_VIRTUAL},
    {"of_lmr", DAT_MEM_TYPE_LMR},
    {"shared", DAT_MEM_TYPE_SHARED_VIRTUAL},
};
/* What an LMR of the type is asked for; one over another LMR is over a new one of the same zone. */
struct region_opts of_type(struct test *t, const struct type_row *row, struct region_opts opts);

/* Memory of whole pages, untouched; it stays until the case's process ends. */
unsigned char *memory_private(struct test *t, size_t length);
unsigned char *memory_shared(struct test *t, size_t length);
/* The same memory at another address; `length` is what memory_shared() was asked for. */
unsigned char *memory_shared_twice(struct test *t, size_t length, unsigned char **other);

/* A connection within the IA: EP `here`, whose zone that of the LMRs is, and EP `there`. */
struct wire {
        DAT_EP_HANDLE here;
        DAT_EP_HANDLE there;
        struct buf *near; /* memory of each, of REGION_MOST bytes and a message's */
        struct buf *far;
        uint64_t moved; /* messages so far */
};
struct wire wire_in(struct test *t, DAT_PZ_HANDLE zone);
/* The same, where RMRs can be bound through `here`: needs "merged_dto_rmr_bind_supported". */
struct wire wire_for_binds(struct test *t, DAT_PZ_HANDLE zone);

enum way { WAY_SEND, WAY_RECV, WAY_RDMA_WRITE, WAY_RDMA_READ };
struct use {
        const char *id;
        enum way way;
        DAT_MEM_PRIV_FLAGS privilege; /* the one that it takes */
        bool into;                    /* the LMR's memory is written */
        bool remote;                  /* by the other side's RDMA */
};
static const struct use uses[] = {
    {"send", WAY_SEND, LOCAL_READ, false, false},
    {"recv", WAY_RECV, LOCAL_WRITE, true, false},
    {"rdma_write_from", WAY_RDMA_WRITE, LOCAL_READ, false, false},
    {"rdma_read_into", WAY_RDMA_READ, LOCAL_WRITE, true, false},
    {"remote_write", WAY_RDMA_WRITE, REMOTE_WRITE, true, true},
    {"remote_read", WAY_RDMA_READ, REMOTE_READ, false, true},
};
#define USE_SEND        (&uses[0])
#define USE_RECV        (&uses[1])
#define USE_WRITE       (&uses[2])
#define USE_READ        (&uses[3])
#define USE_REMOTE_SET  (&uses[4])
#define USE_REMOTE_READ (&uses[5])
#define USE_COUNT       (sizeof(uses) / sizeof(uses[0]))

/* UNSUPPORTED where the use is an RDMA read and the IA has none. */
void use_supported(struct test *t, const struct use *use);

/* A message's bytes go into, or come out of, `length` bytes at `offset` of the LMR, and are right.
 */
void expect_moves(struct test *t, struct wire *wire, const struct region *region,
                  const struct use *use, ptrdiff_t offset, size_t length);
/* The same of what is in the memory already, message `sequence`: the LMR is not written first. */
void expect_moves_out(struct test *t, struct wire *wire, const struct region *region,
                      const struct use *use, ptrdiff_t offset, size_t length, uint64_t sequence);
/* In each of the ways that the IA has, the whole LMR. */
void expect_used(struct test *t, struct wire *wire, const struct region *region);

/*
 * They do not: the post is refused, or completes as a violation (GEN-9, EP-1), and not a byte came
 * to where they were to go. A wire is good for one such use; true where it was posted.
 */
bool expect_refused_use(struct test *t, struct wire *wire, const struct region *region,
                        const struct use *use, ptrdiff_t offset, size_t length);

/*
 * An RMR of the LMR's zone, and the post of its bind to the bytes of `window`, whose return is
 * given; the event is still to come. must_open: all of it, ERROR where it fails.
 */
struct bound {
        DAT_RMR_HANDLE rmr;
        struct region window; /* what it opens, with the RMR's context for the remote one */
};
DAT_RETURN window_open(struct test *t, const struct wire *wire, const struct region *region,
                       struct region window, DAT_MEM_PRIV_FLAGS privileges, struct bound *bound);
struct bound must_open(struct test *t, const struct wire *wire, const struct region *region,
                       struct region window, DAT_MEM_PRIV_FLAGS privileges);

/* The bytes of an LMR from `offset` on. */
struct region window_of(const struct region *region, ptrdiff_t offset, size_t length);

#endif
