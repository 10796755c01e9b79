/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A call of a case that does not return, seen by its agent
 * (docs/decisions/0048-time-limits.md).
 */
#ifndef HARNESS_STALL_H
#define HARNESS_STALL_H

#include "agent/child.h"
#include "case/test.h"

/* How often the agent looks. */
#define STALL_LOOK_MS 100

/* What a process could run. */
struct pace {
        uint64_t used_ns; /* its processor time at the last look */
};

/*
 * Looks once more. Returns how long the process could run since the last look: of one that sleeps,
 * the time between two looks; of one that runs or would run, the processor time that it got. Time
 * in which the agent did not run either does not count.
 */
uint64_t pace_look(struct pace *pace, const struct child *child);

struct stall {
        uint64_t call;     /* the number of the call that was under way at the last look */
        bool hurried;      /* whether it was given less time than others */
        uint64_t spent_ns; /* what the process could run since the first look that saw it */
};

/*
 * Returns how many milliseconds the call under way may take, where it has had as many; else 0.
 * `could_run_ns` is what pace_look() returned of the time since the last look.
 */
unsigned int stall_look(struct stall *stall, const struct child *child,
                        const struct settings *settings, uint64_t could_run_ns);

/* The call that was found to have no end; NULL where there is none, or it is no longer kept. */
const struct call_record *stall_call(const struct stall *stall, const struct evidence *evidence);

#endif
