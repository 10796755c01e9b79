/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is taken from the processes that run a provider's code, and what had to be left to them.
 * Almost all of it is done once, in the agent, and inherited: a process costs two system calls
 * more. The agent keeps what it needs to disturb a network.
 */
#ifndef HARNESS_PRIVILEGE_H
#define HARNESS_PRIVILEGE_H

#include <stdbool.h>

#include <jansson.h>

/*
 * Gives the agent file systems and IPC objects of its own, and finds out which user its processes
 * can be. Before the agent has a PID namespace. With `keep`, takes nothing.
 */
void privilege_prepare(bool keep);

/* No process below this one gains a privilege, or makes a system call that no provider needs. */
void privilege_confine(void);

/* Takes user and capabilities from the calling process: a child's first act. */
void privilege_drop(void);

/* What had to be left, and why: a list of sentences, empty where nothing was. */
json_t *privilege_kept_json(void);

#endif
