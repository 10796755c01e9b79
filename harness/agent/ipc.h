/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes leave that no process's end takes away: shared memory, semaphores, queues. */
#ifndef HARNESS_IPC_H
#define HARNESS_IPC_H

/* Begins to look after the agent's own IPC objects; never, where they are not its own. */
void ipc_watch(void);

/* Removes all, of System V and of POSIX; how many there were. */
unsigned int ipc_clear(void);

#endif
