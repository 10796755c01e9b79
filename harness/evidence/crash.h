/* SPDX-License-Identifier: BSD-2-Clause */
/* A crash leaves its signal and backtrace in the evidence before it takes its course. */
#ifndef HARNESS_CRASH_H
#define HARNESS_CRASH_H

#include "evidence/evidence.h"

/* Puts the handlers in place, on a stack of their own. No thread can block these signals then. */
void crash_watch(struct evidence *evidence);

#endif
