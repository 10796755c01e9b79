/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose a crash or a hang is: the clause's under judgement, or that of a step around it. */
#ifndef HARNESS_BLAME_H
#define HARNESS_BLAME_H

#include "evidence/evidence.h"

struct case_entry;

/*
 * Whether the case was blocked by a call that crashed or had no end: `call` is neither the call of
 * the case's page nor one that an expect() judges, and no thread was in a call of the page. Then
 * `blocked` is filled: `saw` says how the call ended, and its site is that of the step.
 */
bool blames_call(const struct case_entry *entry, const struct evidence *evidence,
                 const struct call_record *call, const char *saw, struct blocked *blocked);

#endif
