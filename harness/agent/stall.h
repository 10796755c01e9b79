/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call of a case that does not return, seen by its agent
 * (docs/decisions/0048-a-call-has-a-limit.md).
 */
#ifndef HARNESS_STALL_H
#define HARNESS_STALL_H

#include "agent/child.h"
#include "case/test.h"

/* How often the agent looks. */
#define STALL_LOOK_MS 100

struct stall {
        uint64_t call;     /* the number of the call that was under way at the last look */
        uint64_t spent_ns; /* what the looks have counted since the first that saw it */
        uint64_t used_ns;  /* the processor time of the process at the last look */
};

/*
 * Looks once more. Returns how many milliseconds the call under way may take, where it has had as
 * many; else 0. A look at a process that sleeps counts for the time between two looks. Of one that
 * runs or would run only the processor time counts that it got, and time in which the agent did not
 * run either does not count at all.
 */
unsigned int stall_look(struct stall *stall, const struct child *child,
                        const struct settings *settings);

#endif
