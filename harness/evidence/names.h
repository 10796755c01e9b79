/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stable names for handles: by kind and in the order of their creation (srq#1, ep#2), so that two
 * traces of one case can be compared; and for memory by the LMR that covers it.
 */
#ifndef HARNESS_NAMES_H
#define HARNESS_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_MAX_LENGTH 24

struct name {
        uint64_t handle;
        const char *kind;
        char text[NAME_MAX_LENGTH];
        uint16_t process; /* whose it is: names.process at its creation */
        bool freed;
        uint64_t made_ns;  /* when the call that made it ended */
        uint64_t freed_by; /* the number of the call that is known to free it, or 0 */
        bool is_memory;    /* of an LMR: the members below hold */
        uint32_t lmr_context, rmr_context;
        uint64_t address, length;
};

/*
 * The objects of a case and of the programs that it executes. Their address spaces differ, so a
 * handle means something in its own process only: lookups find the objects of `process`, which is 0
 * for the case and its forks, and else the number of the program.
 */
struct names {
        struct name *list;
        size_t count, capacity;
        uint16_t process;
        uint64_t now;  /* when the rendered call began, or ended where its output is rendered */
        bool in_event; /* whether an event is: it may be about what was freed since */
};

/*
 * The object that has the handle at the time, or had it last; NULL when none. Calls of threads
 * stand in the order in which they began, so one that is made later may be known already.
 */
struct name *names_find(const struct names *names, uint64_t handle);

/*
 * The same, but in an event, a freed one of the kind goes before one of another kind, which has got
 * its handle. No kind, NULL, fits all; "sp" is that of both service points.
 */
struct name *names_find_kind(const struct names *names, uint64_t handle, const char *kind);

/* Whether it is of the kind. An EVD for asynchronous events may be one of the consumer's. */
bool name_is(const struct name *name, const char *kind);

/*
 * The object of the kind that has the handle, a new one where there is none alive, or where another
 * call is known to free it meanwhile; NULL without memory.
 */
struct name *names_made(struct names *names, uint64_t handle, const char *kind);

/*
 * The same of a call that makes nothing, and tells of an object: that may have been made at any
 * time before, by a call that is rendered later.
 */
struct name *names_told(struct names *names, uint64_t handle, const char *kind);

/*
 * The live LMR with this LMR context, with this RMR context, or that covers the address; NULL if
 * none. One number may be the LMR context of one LMR and the RMR context of another.
 */
const struct name *names_of_lmr_context(const struct names *names, uint32_t context);
const struct name *names_of_rmr_context(const struct names *names, uint32_t context);
const struct name *names_of_address(const struct names *names, uint64_t address);

void names_clear(struct names *names);

#endif
