/* SPDX-License-Identifier: BSD-2-Clause */
/* The asynchronous events of the device. */
#ifndef DAPLREF_DEVICE_EVENT_H
#define DAPLREF_DEVICE_EVENT_H

#include <stdbool.h>

struct ia;

bool device_event_listen(struct ia *ia);

#endif
