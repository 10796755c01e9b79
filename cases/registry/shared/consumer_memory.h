/* SPDX-License-Identifier: BSD-2-Clause */
/* What a case and its consumer's process share (exec_process_shared). */
#ifndef CASES_REGISTRY_CONSUMER_MEMORY_H
#define CASES_REGISTRY_CONSUMER_MEMORY_H

#include <stdatomic.h>
#include <stdint.h>

#if UDAPL_CTS_API_MAJOR > 1
#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#else
#include <dat/dat_registry.h>
#endif

#include "case/exec_process.h"
#include "cases/registry/shared/consumer.h"

#define HAPPENED_MAX 512

struct consumer_memory {
        _Atomic uint32_t orders;
        _Atomic uint32_t count;
        struct happened happened[HAPPENED_MAX];
};
_Static_assert(sizeof(struct consumer_memory) <= EXEC_PROCESS_SHARED,
               "there is room for what happened");

/* The provider of the recording kind for a key; the same at each call. NULL: there are too many. */
const DAT_PROVIDER *recording_provider(const DAT_PROVIDER_INFO *info);

#endif
