/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_RUN_STANDALONE_H
#define HARNESS_RUN_STANDALONE_H

#include <stdbool.h>

#include "agent/trials.h"
#include "case/registry.h"

struct standalone {
        const char *ia; /* NULL: the registry's first */
        bool wait_for_debugger;
        unsigned int event_ms;
        unsigned int quiet_ms;
        unsigned int deadline_ms; /* 0: the case's own */
        unsigned int seed;
        struct assumptions assumptions;
};

/*
 * Runs one case with a local peer and prints its evidence for a person. Returns the exit status:
 * 0 for PASS and NOTE, 1 for FAIL, CRASH and TIMEOUT, 2 otherwise.
 */
int run_standalone(const struct case_ref *ref, const struct standalone *how);

#endif
