/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_AGENT_H
#define HARNESS_AGENT_H

/*
 * Serves the protocol (docs/protocol.md) on `in` and `out` until `bye` or the end of `in`; `ia` is
 * the IA under test, NULL for the registry's first. Returns the exit status: 0, or 1 after a line
 * that could not be taken.
 */
int agent_serve(const char *ia, int in, int out);

#endif
