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
        bool is_memory; /* of an LMR: the members below hold */
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
};

/* The object that has the handle now, or had it last; NULL when none. */
struct name *names_find(const struct names *names, uint64_t handle);

/* The same, making a new object of the kind where there is none alive; NULL without memory. */
struct name *names_made(struct names *names, uint64_t handle, const char *kind);

/*
 * The live LMR with this LMR context, with this RMR context, or that covers the address; NULL if
 * none. One number may be the LMR context of one LMR and the RMR context of another.
 */
const struct name *names_of_lmr_context(const struct names *names, uint32_t context);
const struct name *names_of_rmr_context(const struct names *names, uint32_t context);
const struct name *names_of_address(const struct names *names, uint64_t address);

void names_clear(struct names *names);

#endif
