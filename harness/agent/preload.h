/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Libraries that the agent loads once so that no case has to: those of rdma-core, at the very paths
 * that the probe saw a provider load them from (docs/decisions/0044-trace.md).
 */
#ifndef HARNESS_PRELOAD_H
#define HARNESS_PRELOAD_H

#include "evidence/evidence.h"

/* In a process that has opened the IA: writes down what may be loaded beforehand. */
void preload_note(struct probe *probe);

/* In the agent: loads what a probe wrote down. */
void preload(const struct probe *probe);

#endif
