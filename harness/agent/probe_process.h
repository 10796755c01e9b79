/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that opens the IA once, asks it what it is, and closes it: see struct probe. */
#ifndef HARNESS_PROBE_PROCESS_H
#define HARNESS_PROBE_PROCESS_H

#include "agent/child.h"

/* Its argument is the IA's name, or NULL for the first one of the registry. */
child_body probe_process;

#endif
