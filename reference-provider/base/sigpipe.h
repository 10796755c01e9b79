/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the SIGPIPE that siw raises in calling threads from the Consumer. */
#ifndef DAPLREF_SIGPIPE_H
#define DAPLREF_SIGPIPE_H

#include <signal.h>
#include <stdbool.h>

struct ia;

struct sigpipe {
        sigset_t before;
        bool held;
};

void sigpipe_block(const struct ia *ia, struct sigpipe *sigpipe);
void sigpipe_restore(const struct sigpipe *sigpipe);

#endif
