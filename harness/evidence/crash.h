/* SPDX-License-Identifier: BSD-2-Clause */
/* A crash leaves its signal and backtrace in the evidence before it takes its course. */
#ifndef HARNESS_CRASH_H
#define HARNESS_CRASH_H

#include "evidence/evidence.h"

/* Loads what backtrace() needs: once, in the process that the others are forked from. */
void crash_prepare(void);

/* Puts the handlers in place, on a stack of their own. */
void crash_watch(struct evidence *evidence);

#endif
