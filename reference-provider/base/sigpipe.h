/* SPDX-License-Identifier: BSD-2-Clause */
/* What siw raises in the thread that posts, answers or takes down, kept from the Consumer. */
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
