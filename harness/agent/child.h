/* SPDX-License-Identifier: BSD-2-Clause */
/* A contained process: forked by the agent, in a process group and with evidence of its own. */
#ifndef HARNESS_CHILD_H
#define HARNESS_CHILD_H

#include <sys/types.h>

#include "evidence/evidence.h"
#include "evidence/lines.h"
#include "evidence/seal.h"

struct child {
        pid_t pid; /* 0: none, or reaped */
        bool started;
        int status; /* its wait status, once reaped */
        struct secrets *secrets;
        struct evidence *evidence;
        struct lines channel;
};

/* What the process does; `channel` is its only descriptor beyond the standard streams. */
typedef void child_body(const void *arg, struct evidence *evidence, int channel);

/*
 * Starts a process that runs `body` and ends; its standard output and error go to `output`.
 * Returns false with errno where the host has not the means.
 */
bool child_start(struct child *child, int output, child_body *body, const void *arg);

/* Gives back what the agent holds of a process that is reaped. */
void child_forget(struct child *child);

#endif
