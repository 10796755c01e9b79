/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run that is done (run_done()) tells the runner: its evidence, and its verdict. */
#ifndef HARNESS_VERDICT_H
#define HARNESS_VERDICT_H

#include <jansson.h>

#include "agent/run.h"
#include "evidence/render.h"

/* Emits the `event` lines of a case or of a hosted peer. */
void run_events(const struct run *run, render_emit *emit, void *context);

/* The `verdict` line of a case; the caller owns it. */
json_t *run_verdict(const struct run *run);

/* The `data` of a hosted peer's `stopped`: its wait status and how it ended. The caller owns it. */
json_t *run_stopped(const struct run *run);

#endif
