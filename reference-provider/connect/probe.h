/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hosts that have died say nothing, nor do processes whose last word was lost: they are asked.
 */
#ifndef DAPLREF_PROBE_H
#define DAPLREF_PROBE_H

#include <stdint.h>

#define PROBE_NOBODY_LISTENS 8 /* InfiniBand's reason for a rejection: no such service */

struct conn;
struct ia;

void probe_init(struct ia *ia);
uint64_t probe_peers(struct ia *ia, uint64_t now);
void probe_unanswered(struct conn *question);
void probe_refused(struct conn *question, int reason);

#endif
