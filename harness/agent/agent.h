/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_AGENT_H
#define HARNESS_AGENT_H

#include "agent/trials.h"

/*
 * Serves the protocol (docs/protocol.md) on `in` and `out` until `bye` or the end of `in`; `ia` is
 * the IA under test, NULL for the registry's first. The assumptions hold for all its cases. Returns
 * the exit status: 0, or 1 after a line that could not be taken.
 */
int agent_serve(const char *ia, const struct assumptions *assumptions, int in, int out);

#endif
