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
/* Bytes of an LMR. */
#define MEMORY_BYTES 4096
/* Slots from this one on are of the second IA. The last two are those of the IAs' own EVDs. */
#define OTHER_SLOTS      16
#define OTHER_ASYNC_SLOT 30
#define ASYNC_SLOT       31
/* The number of no object. */
#define NO_OBJECT (-1)

/* A negative mask asks for all fields. */
#define MASK(number_, all_) ((number_) < 0 ? (DAT_UINT64)(all_) : (DAT_UINT64)(number_))

enum kind { PZ, LMR, RMR, EVD, CNO, SRQ, EP, PSP, CR, RSP, KINDS };

struct memory {
        unsigned char *bytes;
        bool of_other_lmr; /* they are those of the LMR that it was made of */
        bool shared;       /* they are a mapping of the walk's pages */
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
        void *pages;                    /* of all LMRs of shared memory */
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

/* The row of a step that has the name of its function. */
#define STEP(name_, args_)                                     \
        {                                                      \
                .name = #name_, .args = (args_), .take = name_ \
        }

static inline DAT_COUNT count_of(long number)
{
        return (DAT_COUNT)number;
}

static inline unsigned int slot_of(long number)
{
        return number < 0 ? 0 : (unsigned int)(number % BY_KIND) % SLOTS;
}

/* The object of a number, or the null handle. */
DAT_HANDLE walk_object(struct walk *walk, long number);

/* The IA of which the object of a number is made. */
DAT_IA_HANDLE walk_ia_of(const struct walk *walk, long number);

/* A new object goes to its slot where that is empty; else it would be lost, so it is not made. */
bool walk_is_free(struct walk *walk, long number, enum kind kind);

/* Keeps what a call has made, or forgets what it has freed, if it returned DAT_SUCCESS: `ret`. */
DAT_RETURN walk_keep(struct walk *walk, long number, DAT_RETURN ret, const DAT_HANDLE *made);
DAT_RETURN walk_gone(struct walk *walk, long number, DAT_RETURN ret);

/* An object is of the IA that another number is of: its own, or that of what it was made by. */
void walk_belongs(struct walk *walk, long number, long with);

/*
 * Keeps private data for a later look (without room for it, it is not looked at); looks at all that
 * is kept; and no longer looks at an owner's. Who finds a walk wanting reads the clause, which the
 * check has in brackets (results/runlog/walks.py).
 */
void walk_remember(struct walk *walk, DAT_HANDLE owner, const char *clause, const void *at,
                   DAT_COUNT length);
void walk_look_again(struct walk *walk);
void walk_forget(struct walk *walk, DAT_HANDLE owner);

/* All waits on threads end; a request that one took goes to the slot of `number`. */
void walk_join(struct walk *walk, long number);

/* The cookie of the present step. */
DAT_DTO_COOKIE walk_cookie(const struct walk *walk);

/* A segment of an LMR's memory, as far as its numbers go: they may lie outside of it. */
DAT_LMR_TRIPLET walk_segment(struct walk *walk, long lmr, long offset, long length);

/* Where the PSP or RSP of a number listens. */
DAT_CONN_QUAL walk_qualifier(const struct walk *walk, long number);

/* Private data of a length, which tells the step that sends it; NULL for none. */
unsigned char *walk_private_data(struct walk *walk, long length);

/* The memory of an LMR, whose number may name none. */
const struct memory *walk_memory(const struct walk *walk, long lmr);

/* The steps, by the file that has them; the last one of each has no name. */
extern const struct move ia_moves[];
extern const struct move memory_moves[];
extern const struct move event_moves[];
extern const struct move endpoint_moves[];
extern const struct move connection_moves[];
extern const struct move peer_moves[];

#endif
