/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process of a case does, from its first instruction to its verdict. */
#ifndef HARNESS_CASE_PROCESS_H
#define HARNESS_CASE_PROCESS_H

#include "agent/child.h"
#include "case/registry.h"
#include "case/test.h"

struct case_job {
        const struct case_ref *ref;
        struct settings settings;
};

/*
 * A case's process does not leave by itself, but stops at its end: so the agent sees its memory as
 * it was. What follows is the agent's signal. A build that counts coverage leaves, to write that.
 */
#ifdef _exit
#define END_SIGNAL SIGCONT
#else
#define END_SIGNAL SIGKILL
#endif

/* Its argument is a struct case_job. */
child_body case_process;

#endif
