/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapter/ia_api.h"
#include "base/binding.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/handle.h"
#include "base/ia.h"
#include "event/async_evd.h"
#include "event/evd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_version(const char *text, DAT_UINT32 *major, DAT_UINT32 *minor)
{
        char *rest;

        *major = (DAT_UINT32)strtoul(text, &rest, 10);
        *minor = *rest == '.' ? (DAT_UINT32)strtoul(rest + 1, NULL, 10) : 0;
}

static void describe_ia(struct ia *ia, DAT_IA_ATTR *attr)
{
        memset(attr, 0, sizeof(*attr));
        (void)snprintf(attr->adapter_name, sizeof(attr->adapter_name), "%s",
                       ia->binding->info.ia_name);
        (void)snprintf(attr->vendor_name, sizeof(attr->vendor_name), "0x%06x",
                       ia->device.vendor_id);
        attr->hardware_version_major = ia->device.hw_ver;
        read_version(ia->device.fw_ver, &attr->firmware_version_major,
                     &attr->firmware_version_minor);
        attr->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->address;
        attr->max_eps = ia->limits.objects[DAT_HANDLE_TYPE_EP];
        attr->max_dto_per_ep = ia->limits.dtos;
        attr->max_rdma_read_per_ep_in = ia->limits.reads;
        attr->max_rdma_read_per_ep_out = ia->limits.reads;
        attr->max_evds = ia->limits.objects[DAT_HANDLE_TYPE_EVD];
        attr->max_evd_qlen = REF_MAX_EVD_QLEN;
        attr->max_iov_segments_per_dto = ia->limits.iov;
        attr->max_lmrs = ia->limits.objects[DAT_HANDLE_TYPE_LMR];
        attr->max_lmr_block_size = abi_length(ia->limits.lmr_length);
        attr->max_lmr_virtual_address = UINTPTR_MAX;
        attr->max_pzs = ia->limits.objects[DAT_HANDLE_TYPE_PZ];
        attr->max_message_size = ia->port_attr.max_msg_sz;
        attr->max_rdma_size = ia->port_attr.max_msg_sz;
        attr->max_rmrs = ia->limits.objects[DAT_HANDLE_TYPE_RMR];
        attr->max_rmr_target_address = UINTPTR_MAX;
        attr->max_srqs = ia->limits.objects[DAT_HANDLE_TYPE_SRQ];
        attr->max_ep_per_srq = ia->limits.objects[DAT_HANDLE_TYPE_EP];
        attr->max_recv_per_srq = ia->limits.srq_dtos;
        attr->max_iov_segments_per_rdma_read = ia->limits.read_iov;
        attr->max_iov_segments_per_rdma_write = ia->limits.iov;
        attr->max_rdma_read_in = ia->device.max_res_rd_atom;
        attr->max_rdma_read_out = ia->device.max_res_rd_atom;
        attr->max_rdma_read_per_ep_in_guaranteed = DAT_TRUE;
        attr->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
}

/* Member by member: evd_stream_merging_supported is const, so the structure cannot be assigned. */
static void describe_provider(const struct ia *ia, DAT_PROVIDER_ATTR *attr)
{
        DAT_BOOLEAN merging[6][6];

        for (int i = 0; i < 6; i++) {
                for (int j = 0; j < 6; j++)
                        merging[i][j] = DAT_TRUE;
        }
        memset(attr, 0, sizeof(*attr));
        memcpy((void *)attr->evd_stream_merging_supported, merging, sizeof(merging));
        (void)snprintf(attr->provider_name, sizeof(attr->provider_name), "daplref");
        attr->provider_version_major = 1;
        attr->provider_version_minor = 0;
        attr->dapl_version_major = ia->binding->info.dapl_version_major;
        attr->dapl_version_minor = ia->binding->info.dapl_version_minor;
        attr->lmr_mem_types_supported =
            (DAT_MEM_TYPE)(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL);
        attr->iov_ownership_on_return = DAT_IOV_CONSUMER;
        attr->dat_qos_supported = DAT_QOS_BEST_EFFORT;
        attr->completion_flags_supported =
            (DAT_COMPLETION_FLAGS)((ia->solicits ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0) |
                                   DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
                                   DAT_COMPLETION_BARRIER_FENCE_FLAG |
                                   DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        attr->is_thread_safe = ia->binding->info.is_thread_safe;
        attr->max_private_data_size = REF_MAX_PRIVATE_DATA;
        attr->supports_multipath = DAT_FALSE;
        attr->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
        attr->pz_support = DAT_PZ_UNIQUE;
        attr->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
        attr->srq_supported = ia->device.max_srq ? DAT_TRUE : DAT_FALSE;
        attr->srq_watermarks_supported = attr->srq_supported;
        attr->srq_ep_pz_difference_supported = ia->domain ? DAT_TRUE : DAT_FALSE;
        attr->srq_info_supported = attr->srq_supported;
        attr->ep_recv_info_supported = DAT_TRUE;
        attr->lmr_sync_req = DAT_FALSE;
        attr->dto_async_return_guaranteed = DAT_FALSE;
        attr->rdma_write_for_rdma_read_req = DAT_FALSE;
        abi_describe_provider(attr);
}

static DAT_EVD_HANDLE async_handle(struct ia *ia)
{
        struct evd *evd = async_evd_get(ia);
        DAT_EVD_HANDLE handle = (DAT_EVD_HANDLE)DAT_EVD_OUT_OF_SCOPE;

        if (evd) {
                handle = object_handle(&evd->obj);
                object_put(evd);
        }
        return handle;
}

/* dat_ia_query(3DAT): every attribute, whichever the masks ask for. */
DAT_RETURN ref_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async_evd, DAT_IA_ATTR_MASK ia_mask,
                        DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK provider_mask,
                        DAT_PROVIDER_ATTR *provider_attr)
{
        struct ia *ia = object_get(handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if ((uint64_t)ia_mask & ~(uint64_t)DAT_IA_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (ia_mask && !ia_attr)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        else if ((uint64_t)provider_mask & ~(uint64_t)DAT_PROVIDER_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
        else if (provider_mask && !provider_attr)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        if (ret == DAT_SUCCESS) {
                if (async_evd)
                        *async_evd = async_handle(ia);
                if (ia_mask)
                        describe_ia(ia, ia_attr);
                if (provider_mask)
                        describe_provider(ia, provider_attr);
        }
        object_put(ia);
        return ret;
}
