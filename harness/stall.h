/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call of a case that does not return, seen by its agent
 * (docs/decisions/0048-a-call-has-a-limit.md).
 */
#ifndef HARNESS_STALL_H
#define HARNESS_STALL_H

#include "evidence.h"
#include "test.h"

/* How often the agent looks. */
#define STALL_LOOK_MS 100

struct stall {
        uint64_t call;      /* the number of the call that was under way at the last look */
        unsigned int looks; /* how many looks in a row have seen it since the first */
};

/*
 * Looks once more. Returns how many milliseconds the call under way may take, where it has been
 * seen under way for as long; else 0. Time in which the agent did not run either is not counted.
 */
unsigned int stall_look(struct stall *stall, const struct evidence *evidence,
                        const struct settings *settings);

#endif
