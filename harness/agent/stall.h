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
        uint64_t used_ns;   /* its processor time at the last look, and */
        uint64_t kernel_ns; /* the part of it in system calls */
};

/* What a process could run between two looks. */
struct pace_span {
        /* if it sleeps, the time between the looks; if it runs or would run, its processor time */
        uint64_t could_run_ns;
        /* the part of that in which the kernel worked for it */
        uint64_t kernel_ns;
};

/*
 * Looks once more. Time in which the agent did not run either does not count. The kernel works for
 * a process if it spends processor time in system calls, or if a thread waits there for a device
 * (state D).
 */
struct pace_span pace_look(struct pace *pace, const struct child *child);

struct stall {
        uint64_t call;      /* the number of the call that was under way at the last look */
        bool hurried;       /* whether it was given less time than others */
        uint64_t spent_ns;  /* what the process could run since the first look that saw it, and */
        uint64_t kernel_ns; /* what of it the kernel worked, which does not count */
};

/*
 * Returns how many milliseconds the call under way may take, where it has had as many; else 0.
 * `span` is what pace_look() returned, without the kernel's work in `could_run_ns` as long as
 * that does not count.
 */
unsigned int stall_look(struct stall *stall, const struct child *child,
                        const struct settings *settings, const struct pace_span *span);

/* The number of the last call that made progress, 0: none. Failed calls make none, nor queries but
 * those of one object after the other.
 */
uint64_t progress_of(const struct evidence *evidence);

/* The call that was found to have no end; NULL where there is none, or it is no longer kept. */
const struct call_record *stall_call(const struct stall *stall, const struct evidence *evidence);

#endif
