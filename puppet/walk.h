/* SPDX-License-Identifier: BSD-2-Clause */
/* A walk: the objects that its steps have made, and its steps. */
#ifndef PUPPET_WALK_H
#define PUPPET_WALK_H

#include <stdbool.h>
#include <stddef.h>

#include "case/test.h"
#include "case/waiter.h"
#include "peer/peer.h"

#define SLOTS        32
#define BY_KIND      1000
#define US_PER_MS    1000
#define CONNECT_MS   2000
#define PRIVATE_MOST 256
/* Threads that wait at once. */
#define WAITERS 2
/* Private data that is looked at again. */
#define TOLD_MOST 8
/* The peer's ends of connections that steps can name. */
#define PEER_ENDS 4

enum kind { PZ, LMR, RMR, EVD, CNO, SRQ, EP, PSP, CR, RSP, KINDS };

struct memory {
        unsigned char *bytes;
        bool of_other_lmr; /* they are those of the LMR that it was made of */
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
};

/* A wait on a thread of its own; `on` is the number of its EVD or CNO. */
struct sleeper {
        struct waiter *waiter;
        enum kind kind;
        long on;
        DAT_HANDLE handle;
        bool endless;
};

/* Private data that stays where it is until its owner, an EP or a request, goes. */
struct told {
        DAT_HANDLE owner;
        const char *clause;
        const unsigned char *at;
        size_t length;
        unsigned char was[PRIVATE_MOST];
};

struct walk {
        struct test *t;
        DAT_IA_HANDLE other;
        struct told told[TOLD_MOST];
        DAT_HANDLE at[KINDS][SLOTS];
        DAT_HANDLE freed[KINDS][SLOTS]; /* since when nothing was made */
        bool of_other[KINDS][SLOTS];    /* it is of the second IA */
        struct memory memory[SLOTS];    /* of the LMRs */
        DAT_RMR_CONTEXT bound[SLOTS];
        DAT_CONN_QUAL qualifier[SLOTS]; /* of the PSPs */
        unsigned char private[PRIVATE_MOST];
        unsigned int steps;
        DAT_RETURN said; /* by the call of the last step that made one */
        struct sleeper sleepers[WAITERS];
        unsigned int sleeper_count;
        struct peer_ep *ends[PEER_ENDS]; /* the peer's ends of connections */
        struct peer_place place;         /* where the peer listens */
        bool listens;
        bool late; /* what the peer's host sends is delayed */
        bool dead; /* the peer was killed */
};

struct move {
        const char *name;
        unsigned int args;
        DAT_RETURN (*take)(struct walk *walk, const long *arg);
};

/* The object of a number, or the null handle. */
DAT_HANDLE walk_object(struct walk *walk, long number);

/* A segment of an LMR's memory, as far as its numbers go: they may lie outside of it. */
DAT_LMR_TRIPLET walk_segment(struct walk *walk, long lmr, long offset, long length);

/* Where the PSP or RSP of a number listens. */
DAT_CONN_QUAL walk_qualifier(const struct walk *walk, long number);

/* Private data of a length, which tells the step that sends it; NULL for none. */
unsigned char *walk_private_data(struct walk *walk, long length);

/* The memory of an LMR, whose number may name none. */
const struct memory *walk_memory(const struct walk *walk, long lmr);

/* The steps that a peer takes part in (peer_steps.c); the last one has no name. */
extern const struct move peer_moves[];

#endif
