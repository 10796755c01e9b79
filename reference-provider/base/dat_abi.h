/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DAT ABI that the provider is built for. 1.2 makes libdaplref.so; 2.0, with DAPLREF_DAT_2
 * defined, makes libdaplref2.so. The other files are written for 1.2. The differences of 2.0 are
 * here, in dat_abi.c and in dat2.c.
 */
#ifndef DAPLREF_DAT_ABI_H
#define DAPLREF_DAT_ABI_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#ifdef DAPLREF_DAT_2
#include <dat2/udat.h>

#include <dat2/dat_registry.h>
#else
#include <dat/udat.h>

#include <dat/dat_registry.h>
#endif

struct object;

/* The posted operations. A completion event of DAT 2.0 names its operation. */
enum wr_kind { WR_SEND, WR_RDMA_READ, WR_RDMA_WRITE, WR_BIND, WR_RECV, WR_SRQ_RECV };

DAT_IA_HANDLE abi_ia_handle(const struct object *ia);

#ifdef DAPLREF_DAT_2

/* DAT_CNO_FIELD_ALL of 2.0 lacks the other bits. */
#define ABI_CNO_FIELDS                                                              \
        (DAT_CNO_FIELD_IA_HANDLE | DAT_CNO_FIELD_PROXY_TYPE | DAT_CNO_FIELD_PROXY | \
         DAT_CNO_FIELD_ALL)

static inline DAT_SEG_LENGTH abi_length(uint64_t length)
{
        return length < UINT32_MAX ? (DAT_SEG_LENGTH)length : UINT32_MAX;
}

static inline DAT_VADDR abi_remote_address(const DAT_RMR_TRIPLET *remote)
{
        return remote->virtual_address;
}

static inline void abi_tell_agent(DAT_CNO_PARAM *param, DAT_OS_WAIT_PROXY_AGENT agent)
{
        param->proxy_type = agent.proxy_agent_func ? DAT_PROXY_TYPE_AGENT : DAT_PROXY_TYPE_NONE;
        param->proxy.agent = agent;
}

static inline void abi_tell_operation(DAT_DTO_COMPLETION_EVENT_DATA *data, enum wr_kind kind)
{
        static const DAT_DTOS operations[] = {
            [WR_SEND] = DAT_DTO_SEND,
            [WR_RDMA_READ] = DAT_DTO_RDMA_READ,
            [WR_RDMA_WRITE] = DAT_DTO_RDMA_WRITE,
            [WR_BIND] = DAT_DTO_BIND_MW,
            [WR_RECV] = DAT_DTO_RECEIVE,
            [WR_SRQ_RECV] = DAT_DTO_RECEIVE,
        };

        data->operation = operations[kind];
}

static inline void abi_tell_rmr_scope(DAT_RMR_PARAM *param)
{
        param->rmr_scope = DAT_RMR_SCOPE_PZ;
}

static inline void abi_describe_provider(DAT_PROVIDER_ATTR *attr)
{
        attr->rmr_scope_supported = DAT_RMR_SCOPE_PZ;
}

#else

#define ABI_CNO_FIELDS DAT_CNO_FIELD_ALL

static inline DAT_VLEN abi_length(uint64_t length)
{
        return length;
}

static inline DAT_VADDR abi_remote_address(const DAT_RMR_TRIPLET *remote)
{
        return remote->target_address;
}

static inline void abi_tell_agent(DAT_CNO_PARAM *param, DAT_OS_WAIT_PROXY_AGENT agent)
{
        param->agent = agent;
}

static inline void abi_tell_operation(DAT_DTO_COMPLETION_EVENT_DATA *data, enum wr_kind kind)
{
        (void)data;
        (void)kind;
}

static inline void abi_tell_rmr_scope(DAT_RMR_PARAM *param)
{
        (void)param;
}

static inline void abi_describe_provider(DAT_PROVIDER_ATTR *attr)
{
        (void)attr;
}

#endif

#endif
