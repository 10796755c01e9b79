/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code and the constants of this program, as its file has them. A case's process was forked
 * from the agent and has them at the same addresses. A provider that writes to them there makes
 * checks and verdicts of its own (docs/decisions/0256-code-of-a-case.md).
 */
#ifndef HARNESS_CODE_H
#define HARNESS_CODE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum code_state {
        CODE_AS_IT_WAS,
        CODE_CHANGED, /* `text` has what */
        CODE_UNSEEN,  /* `text` has why */
};

/* Compares that of the child `pid`, which should be stopped, with this process's. */
enum code_state code_of(pid_t pid, char *text, size_t size);

/* From the first byte of both to behind the last one. */
void code_range(uint64_t *begin, uint64_t *end);

#endif
