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

/* What the process does; `channel` and CHILD_PEER_FD are its only descriptors beyond streams. */
typedef void child_body(const void *arg, struct evidence *evidence, int channel);

/* What a process is given, and the caller keeps. */
struct child_files {
        int output;  /* its standard output and error */
        int channel; /* what it obeys; -1: a channel to the caller, which is then the child's */
        int peer;    /* what it has as CHILD_PEER_FD, or -1 */
};

#define CHILD_PEER_FD 4

/*
 * Starts a process that runs `body` and ends. Returns false with errno where the host has not the
 * means.
 */
bool child_start(struct child *child, const struct child_files *files, child_body *body,
                 const void *arg);

/* Writes to `text` how a process with this wait status ended; returns `text`. */
const char *child_describe_status(int status, char *text, size_t size);

/*
 * How a reaped process ended, as the protocol's `stopped` has it: its wait status, and in words
 * the reason and the DAT call that it was in.
 */
json_t *child_end_json(const struct child *child);

/* Frees what the agent holds of a reaped process. */
void child_forget(struct child *child);

#endif
