/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that processes leave in the temporary folders, which are the agent's own file systems
 * (mount_view.h): the next case finds none of them, and has the room.
 */
#ifndef HARNESS_SCRATCH_H
#define HARNESS_SCRATCH_H

/*
 * Begins to look after the folders: what is there now, stays. Not to be called where they are the
 * host's.
 */
void scratch_watch(void);

/* Removes all that has come since; how many files and folders stood in the temporary folders. */
unsigned int scratch_clear(void);

#endif
