/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a verdict can stand on its own evidence
 * (docs/decisions/0097-verdict-and-evidence.md). results/runlog/contradiction.py asks the
 * same of what is written down.
 */
#ifndef HARNESS_CONTRADICTION_H
#define HARNESS_CONTRADICTION_H

#include "agent/child.h"

/* A case's process that is reaped, and what was said of it. */
struct statement {
        enum verdict verdict;
        const struct child *child;
        bool has_ia; /* the harness has opened an IA for the case, and closes all that are left */
        bool ended;  /* the agent has ended it, so its status is the agent's */
        bool unseen; /* it came to its end, and the agent did not look at it there */
        const char *changed; /* what of the suite's code it has changed, or NULL */
        bool teardown;       /* something broke there, and is told of */
};

/*
 * Writes what in the evidence speaks against the verdict, in words. Returns false where all agrees,
 * and of a verdict that speaks against the provider, which needs no evidence.
 */
bool contradicts(const struct statement *said, char *text, size_t size);

#endif
