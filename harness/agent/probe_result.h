/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HARNESS_PROBE_RESULT_H
#define HARNESS_PROBE_RESULT_H

#include "agent/run.h"

/*
 * Copies to `probe` what the probe process of a run that is done learned of the IA. `open` is
 * false, with a reason, if the process crashed, hung, or returned from no call of a provider. True
 * if another probe is to follow, for which `job` is ready: one that asks less.
 */
bool run_probed(const struct run *run, struct probe_job *job, struct probe *probe);

#endif
