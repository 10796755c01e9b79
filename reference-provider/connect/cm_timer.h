/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_CM_TIMER_H
#define DAPLREF_CM_TIMER_H

#include <stdint.h>

struct event_loop;

uint64_t cm_tick(struct event_loop *loop);

#endif
