/* SPDX-License-Identifier: BSD-2-Clause */
/* What a provider may try against the agent and the host that its case runs on. */
#ifndef FAKES_ATTACKS_H
#define FAKES_ATTACKS_H

/* Tries all of them, and prints a line "reached NAME" for each that had a way; harms nothing. */
void attack(void);

/* Leaves one object of each kind of IPC behind. */
void leave_ipc(void);

#endif
