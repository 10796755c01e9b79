/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All processes that come from this one can be ended, whatever they did to get away: a process
 * group of their own, a session, a parent that left. Best is a PID namespace, in which this process
 * is the init: what is in it cannot harm this process, nor outlive it. Without the privilege for
 * that, orphans are adopted (a "child subreaper") and looked for in /proc.
 */
#ifndef HARNESS_CONTAINMENT_H
#define HARNESS_CONTAINMENT_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Moves the caller's further life into a process that is init of a new PID namespace, while this
 * one waits and then exits with the other's status: returns only in the contained one. Where the
 * kernel does not permit it, returns in the caller, as a subreaper.
 */
void containment_enter(void);

/* Adopts orphans and no more: the caller stays what it is, for a debugger's sake. */
void containment_adopt(void);

/* Sends SIGKILL to every process that descends from this one. Call again until none is left. */
void containment_kill(void);

/* Sends SIGKILL to one process and its group. */
void containment_kill_group(pid_t pid);

#endif
