/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handles that the consumer sees. libdat finds a provider by the first word of the object
 * behind a handle, so each object of the wrapped provider gets one of ours in front of it. They
 * outlive the object: a destroyed handle still leads to the destroyed handle behind it.
 */
#ifndef FAULTS_HANDLE_H
#define FAULTS_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include <dat/udat.h>
#include <dat/udat_redirection.h>

/* A receive that was posted and whose completion the consumer has not taken. */
struct posted {
        struct posted *next;
        uint64_t cookie;
        unsigned char *address;
        size_t length; /* of the first segment */
};

/* An event kept back from the consumer. */
struct held {
        struct held *next;
        DAT_EVENT event;
        bool after_next; /* of its object; then it is due */
        int64_t due_us;  /* of CLOCK_MONOTONIC; 0: at once */
};

struct handle {
        DAT_PROVIDER *table;
        DAT_HANDLE inner;
        DAT_HANDLE_TYPE type;
        bool destroyed;
        struct handle *ia; /* that it is of; NULL for an IA itself */

        /* Of an EP. */
        struct handle *srq;
        struct handle *recv_evd;
        struct handle *request_evd;
        /* Of an EP or SRQ: oldest first. */
        struct posted *posted;
        int posted_count;
        /* Of an EVD: in the order in which they were kept back. */
        struct held *held;

        struct handle *next_outer;
        struct handle *next_inner;
};

/* The address that a word carries. DAT itself has addresses as numbers, in its triplets. */
static inline void *word_pointer(uint64_t word)
{
        return (void *)(uintptr_t)word; /* NOLINT(performance-no-int-to-ptr) */
}

/*
 * A new handle in front of `inner`, of the IA that `kin` is or is of; aborts without memory.
 * Without `kin` it is an IA, or finds its own later.
 */
struct handle *handle_new(DAT_PROVIDER *table, DAT_HANDLE inner, DAT_HANDLE_TYPE type,
                          struct handle *kin);

/* Ours with this address, or NULL: `outer` is never dereferenced before it is known. */
struct handle *handle_find(DAT_HANDLE outer);

/* The newest of ours in front of `inner`, or NULL. */
struct handle *handle_find_inner(DAT_HANDLE inner);

/* The wrapped provider's handle for the consumer's; one that is not ours is returned as it is. */
DAT_HANDLE handle_inward(DAT_HANDLE outer);

/* The consumer's handle for the wrapped provider's; one without is returned as it is. */
DAT_HANDLE handle_outward(DAT_HANDLE inner);

/* Marks an IA and all its objects as destroyed: it was closed. */
void handle_destroy_all(struct handle *ia);

#define HANDLES_MAX 64

/* The live objects of a type behind `table`, HANDLES_MAX at most; returns how many. */
size_t handle_list(const DAT_PROVIDER *table, DAT_HANDLE_TYPE type,
                   struct handle *found[HANDLES_MAX]);

/* Notes that a receive was posted to `queue` (an EP or SRQ). */
void handle_post(struct handle *queue, uint64_t cookie, const DAT_LMR_TRIPLET *first);

/*
 * Takes the oldest receive with this cookie off `queue` and stores it in `*found`; false where
 * there is none.
 */
bool handle_reap(struct handle *queue, uint64_t cookie, struct posted *found);

#endif
