/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT API that the cases are compiled against: the one place where its version shows. Cases are
 * written as DAT 1.2 has it; what DAT 2.0 calls otherwise is here
 * (docs/decisions/0014-two-abis.md).
 */
#ifndef HARNESS_DAT_API_H
#define HARNESS_DAT_API_H

#include <stdbool.h>

#if UDAPL_CTS_API_MAJOR > 1
#include <dat2/udat.h>

/* Whether the registry reads what a handle points at, be it there or not. */
#define REGISTRY_FOLLOWS_HANDLES true

/* DAT_RMR_TRIPLET's. */
#define target_address virtual_address

/* Agents are one kind of proxy; the bit of all fields is one of its own. */
#define DAT_CNO_FIELD_AGENT DAT_CNO_FIELD_PROXY
#define CNO_FIELD_BITS      (DAT_CNO_FIELD_PROXY | DAT_CNO_FIELD_ALL)

/* All bits that mean something; a provider may define privileges from the base of extensions on. */
#define COMPLETION_FLAG_BITS (COMPLETION_FLAG_BITS_1 | DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG)
#define MEM_PRIV_BITS        (DAT_MEM_PRIV_ALL_FLAG | DAT_MEM_PRIV_EXTENSION_BASE)

/* The LMR that a segment of the case lies in; DAT_HANDLE_NULL where it is none of the case's. */
DAT_LMR_HANDLE lmr_of(const DAT_LMR_TRIPLET *segment);

#define dat_cr_reject(cr_) dat_cr_reject(cr_, 0, NULL)
#define dat_lmr_create(ia_, type_, region_, length_, pz_, privileges_, ...) \
        dat_lmr_create(ia_, type_, region_, length_, pz_, privileges_, DAT_VA_TYPE_VA, __VA_ARGS__)
#define dat_rmr_bind(rmr_, segment_, privileges_, ...) \
        dat_rmr_bind(rmr_, lmr_of(segment_), segment_, privileges_, DAT_VA_TYPE_VA, __VA_ARGS__)

/* The same for who knows the LMR: its macro is not expanded. */
#define rmr_bind_in(rmr_, lmr_, segment_, privileges_, ...) \
        (dat_rmr_bind)(rmr_, lmr_, segment_, privileges_, DAT_VA_TYPE_VA, __VA_ARGS__)
#else
#include <dat/udat.h>

#define REGISTRY_FOLLOWS_HANDLES false

#define CNO_FIELD_BITS DAT_CNO_FIELD_ALL

#define rmr_bind_in(rmr_, lmr_, ...) dat_rmr_bind(rmr_, __VA_ARGS__)

#define COMPLETION_FLAG_BITS COMPLETION_FLAG_BITS_1
#define MEM_PRIV_BITS        DAT_MEM_PRIV_ALL_FLAG
#endif

#define COMPLETION_FLAG_BITS_1                                                 \
        (DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |   \
         DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG | \
         DAT_COMPLETION_EVD_THRESHOLD_FLAG)

/* The agent that a query of DAT_CNO_FIELD_AGENT tells. */
static inline DAT_OS_WAIT_PROXY_AGENT cno_param_agent(const DAT_CNO_PARAM *param)
{
#if UDAPL_CTS_API_MAJOR > 1
        return param->proxy_type == DAT_PROXY_TYPE_NONE ? DAT_OS_WAIT_PROXY_AGENT_NULL
                                                        : param->proxy.agent;
#else
        return param->agent;
#endif
}

/* Whether the RMR is of one EP, and reached over no other; by DAT 1.2 each is of its zone. */
static inline bool rmr_is_of_one_ep(const DAT_RMR_PARAM *param)
{
#if UDAPL_CTS_API_MAJOR > 1
        return param->rmr_scope == DAT_RMR_SCOPE_EP;
#else
        (void)param;
        return false;
#endif
}

/* Compares what a page promises: the type of a return, not its subtype or class. */
static inline bool dat_is(DAT_RETURN ret, DAT_RETURN type)
{
        return DAT_GET_TYPE(ret) == DAT_GET_TYPE(type);
}

#endif
