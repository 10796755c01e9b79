/* SPDX-License-Identifier: BSD-2-Clause */
/* The name and command line by which processes of cases are seen, as any program's. */
#ifndef HARNESS_PROGRAM_NAME_H
#define HARNESS_PROGRAM_NAME_H

/*
 * Learns where the command line is. `argv` is main()'s, and has copies afterwards, which stay whole
 * in processes with another name.
 */
void program_name_learn(int argc, char **argv);

/* Draws a name for the processes that are forked from now on. */
void program_name_draw(void);

/* Gives this process the name that was drawn, if one was; the agent keeps its own. */
void program_name_take(void);

#endif
