/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each thread of a process that has no end says where it is, when the agent asks by a signal, and
 * stays there: the process comes to no other end for having been asked.
 */
#ifndef HARNESS_STACKS_H
#define HARNESS_STACKS_H

#include <signal.h>

#include "evidence/evidence.h"

/*
 * The first is the C library's own, which no thread blocks by pthread_sigmask() and no sigaction()
 * takes; where a provider makes that library use it, as by pthread_cancel(), there is the second.
 */
#define STACKS_SIGNAL       32
#define STACKS_OTHER_SIGNAL (SIGRTMIN + 11)

/* Puts the handlers in place. */
void stacks_watch(struct evidence *evidence);

#endif
