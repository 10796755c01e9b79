/* SPDX-License-Identifier: BSD-2-Clause */
/* Keepalive: detects peers that vanished without a disconnect. */
#ifndef DAPLREF_KEEPALIVE_H
#define DAPLREF_KEEPALIVE_H

#include <stdint.h>

#define KEEPALIVE_NO_LISTENER 8 /* InfiniBand's rejection reason for a port without a listener */

struct conn;
struct ia;

void keepalive_init(struct ia *ia);
uint64_t keepalive_run(struct ia *ia, uint64_t now);
void keepalive_timed_out(struct conn *question);
void keepalive_refused(struct conn *question, int reason);

#endif
