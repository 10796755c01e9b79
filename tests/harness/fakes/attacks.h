/* SPDX-License-Identifier: BSD-2-Clause */
/* What a provider may try against the agent and the host that its case runs on. */
#ifndef FAKES_ATTACKS_H
#define FAKES_ATTACKS_H

#include <stdbool.h>

/*
 * Tries all of them, and prints a line "reached NAME" for each that had a way; harms nothing.
 * Then prints a line "user NUMBER".
 */
void attack(void);

/*
 * In teardown: looks through the process's memory for what the body's verdict was sealed with, says
 * "found" if it is there, and then seals a PASS with it and leaves.
 */
void forge_seal(void);

/* Says of threads that there never were where they are. */
void forge_stacks(void);

/* Leaves one object of each kind of IPC behind; false where it could not. */
bool leave_ipc(void);

#endif
