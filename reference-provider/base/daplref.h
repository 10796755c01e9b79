/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included by every file of the provider: the ABI and the provider's limits. docs/provider.md has
 * an overview. Lock order, outermost first: ia->cm_turn, ia->cm_lock, srq->resize_lock, the list of
 * IAs, ia->lock, evd->lock, cno->lock, srq->deferred_lock, then the leaves (pool->lock, the event
 * loop's work_lock).
 */
#ifndef DAPLREF_H
#define DAPLREF_H

#include "base/dat_abi.h"

#define REF_ERROR(type, subtype) \
        ((DAT_RETURN)(DAT_CLASS_ERROR | (DAT_UINT32)(type) | (DAT_UINT32)(subtype)))

#define REF_MAX_EPS          4096
#define REF_MAX_EVDS         2048
#define REF_MAX_EVD_QLEN     16384
#define REF_MAX_DTOS         8191
#define REF_MAX_IOV          16
#define REF_MAX_LMRS         16384
#define REF_MAX_RMRS         4096
#define REF_MAX_PZS          512
#define REF_MAX_SRQS         512
#define REF_MAX_SERVICES     4096
#define REF_MAX_CNOS         2048
#define REF_MAX_PRIVATE_DATA 64
#define REF_KINDS            (DAT_HANDLE_TYPE_SRQ + 1)

/*
 * Thread-local data in the static TLS block. The default model of a library loaded later allocates
 * at first use, and would give the service thread a malloc arena.
 */
#define REF_THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))

static inline int min_int(int a, int b)
{
        return a < b ? a : b;
}

static inline int max_int(int a, int b)
{
        return a > b ? a : b;
}

#endif
