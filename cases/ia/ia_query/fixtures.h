/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ia_query use. */
#ifndef CASES_IA_QUERY_FIXTURES_H
#define CASES_IA_QUERY_FIXTURES_H

#include "case.h"
#include "case/poison.h"

/* What a query gives. */
struct answer {
        DAT_EVD_HANDLE async;
        DAT_IA_ATTR ia;
        DAT_PROVIDER_ATTR provider;
};

/* A query into memory that has this byte everywhere. */
void ask(struct test *t, unsigned char before, uint64_t ia_mask, uint64_t provider_mask,
         struct answer *answer);

void ask_all(struct test *t, struct answer *answer);

enum kind {
        NUMBER,
        STRING,
        ADDRESS,
        NAMED,
};

struct field {
        const char *id;
        uint64_t bit;
        size_t offset, size; /* the size is of numbers and strings */
        enum kind kind;
        size_t count_at; /* where the number of named attributes stands */
};

#define IA_FIELD(name_, bit_, kind_)                                          \
        {                                                                     \
#name_, DAT_IA_FIELD_IA_##bit_, offsetof(DAT_IA_ATTR, name_), \
                    sizeof(((DAT_IA_ATTR *)0)->name_), kind_, 0               \
        }
#define IA_NAMED(name_, bit_)                                                           \
        {                                                                               \
#name_, DAT_IA_FIELD_IA_##bit_, offsetof(DAT_IA_ATTR, name_), 0, NAMED, \
                    offsetof(DAT_IA_ATTR, num_##name_)                                  \
        }
#define PROVIDER_FIELD(name_, bit_, kind_)                                             \
        {                                                                              \
#name_, DAT_PROVIDER_FIELD_##bit_, offsetof(DAT_PROVIDER_ATTR, name_), \
                    sizeof(((DAT_PROVIDER_ATTR *)0)->name_), kind_, 0                  \
        }

static const struct field ia_fields[] = {
    IA_FIELD(adapter_name, ADAPTER_NAME, STRING),
    IA_FIELD(vendor_name, VENDOR_NAME, STRING),
    IA_FIELD(hardware_version_major, HARDWARE_MAJOR_VERSION, NUMBER),
    IA_FIELD(hardware_version_minor, HARDWARE_MINOR_VERSION, NUMBER),
    IA_FIELD(firmware_version_major, FIRMWARE_MAJOR_VERSION, NUMBER),
    IA_FIELD(firmware_version_minor, FIRMWARE_MINOR_VERSION, NUMBER),
    {"ia_address_ptr", DAT_IA_FIELD_IA_ADDRESS_PTR, offsetof(DAT_IA_ATTR, ia_address_ptr), 0,
     ADDRESS, 0},
    IA_FIELD(max_eps, MAX_EPS, NUMBER),
    IA_FIELD(max_dto_per_ep, MAX_DTO_PER_EP, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_in, MAX_RDMA_READ_PER_EP_IN, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_out, MAX_RDMA_READ_PER_EP_OUT, NUMBER),
    IA_FIELD(max_evds, MAX_EVDS, NUMBER),
    IA_FIELD(max_evd_qlen, MAX_EVD_QLEN, NUMBER),
    IA_FIELD(max_iov_segments_per_dto, MAX_IOV_SEGMENTS_PER_DTO, NUMBER),
    IA_FIELD(max_lmrs, MAX_LMRS, NUMBER),
    IA_FIELD(max_lmr_block_size, MAX_LMR_BLOCK_SIZE, NUMBER),
    IA_FIELD(max_lmr_virtual_address, MAX_LMR_VIRTUAL_ADDRESS, NUMBER),
    IA_FIELD(max_pzs, MAX_PZS, NUMBER),
    IA_FIELD(max_message_size, MAX_MESSAGE_SIZE, NUMBER),
    IA_FIELD(max_rdma_size, MAX_RDMA_SIZE, NUMBER),
    IA_FIELD(max_rmrs, MAX_RMRS, NUMBER),
    IA_FIELD(max_rmr_target_address, MAX_RMR_TARGET_ADDRESS, NUMBER),
    IA_FIELD(max_srqs, MAX_SRQS, NUMBER),
    IA_FIELD(max_ep_per_srq, MAX_EP_PER_SRQ, NUMBER),
    IA_FIELD(max_recv_per_srq, MAX_RECV_PER_SRQ, NUMBER),
    IA_FIELD(max_iov_segments_per_rdma_read, MAX_IOV_SEGMENTS_PER_RDMA_READ, NUMBER),
    IA_FIELD(max_iov_segments_per_rdma_write, MAX_IOV_SEGMENTS_PER_RDMA_WRITE, NUMBER),
    IA_FIELD(max_rdma_read_in, MAX_RDMA_READ_IN, NUMBER),
    IA_FIELD(max_rdma_read_out, MAX_RDMA_READ_OUT, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_in_guaranteed, MAX_RDMA_READ_PER_EP_IN_GUARANTEED, NUMBER),
    IA_FIELD(max_rdma_read_per_ep_out_guaranteed, MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, NUMBER),
    IA_FIELD(num_transport_attr, NUM_TRANSPORT_ATTR, NUMBER),
    IA_NAMED(transport_attr, TRANSPORT_ATTR),
    IA_FIELD(num_vendor_attr, NUM_VENDOR_ATTR, NUMBER),
    IA_NAMED(vendor_attr, VENDOR_ATTR),
};

static const struct field provider_fields[] = {
    PROVIDER_FIELD(provider_name, PROVIDER_NAME, STRING),
    PROVIDER_FIELD(provider_version_major, PROVIDER_VERSION_MAJOR, NUMBER),
    PROVIDER_FIELD(provider_version_minor, PROVIDER_VERSION_MINOR, NUMBER),
    PROVIDER_FIELD(dapl_version_major, DAPL_VERSION_MAJOR, NUMBER),
    PROVIDER_FIELD(dapl_version_minor, DAPL_VERSION_MINOR, NUMBER),
    PROVIDER_FIELD(lmr_mem_types_supported, LMR_MEM_TYPE_SUPPORTED, NUMBER),
    PROVIDER_FIELD(iov_ownership_on_return, IOV_OWNERSHIP, NUMBER),
    PROVIDER_FIELD(dat_qos_supported, DAT_QOS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(completion_flags_supported, COMPLETION_FLAGS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(is_thread_safe, IS_THREAD_SAFE, NUMBER),
    PROVIDER_FIELD(max_private_data_size, MAX_PRIVATE_DATA_SIZE, NUMBER),
    PROVIDER_FIELD(supports_multipath, SUPPORTS_MULTIPATH, NUMBER),
    PROVIDER_FIELD(ep_creator, EP_CREATOR, NUMBER),
    PROVIDER_FIELD(pz_support, PZ_SUPPORT, NUMBER),
    PROVIDER_FIELD(optimal_buffer_alignment, OPTIMAL_BUFFER_ALIGNMENT, NUMBER),
    PROVIDER_FIELD(evd_stream_merging_supported, EVD_STREAM_MERGING_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_supported, SRQ_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_watermarks_supported, SRQ_WATERMARKS_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_ep_pz_difference_supported, SRQ_EP_PZ_DIFFERENCE_SUPPORTED, NUMBER),
    PROVIDER_FIELD(srq_info_supported, SRQ_INFO_SUPPORTED, NUMBER),
    PROVIDER_FIELD(ep_recv_info_supported, EP_RECV_INFO_SUPPORTED, NUMBER),
    PROVIDER_FIELD(lmr_sync_req, LMR_SYNC_REQ, NUMBER),
    PROVIDER_FIELD(dto_async_return_guaranteed, DTO_ASYNC_RETURN_GUARANTEED, NUMBER),
    PROVIDER_FIELD(rdma_write_for_rdma_read_req, RDMA_WRITE_FOR_RDMA_READ_REQ, NUMBER),
    PROVIDER_FIELD(num_provider_specific_attr, NUM_PROVIDER_SPECIFIC_ATTR, NUMBER),
    {"provider_specific_attr", DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR,
     offsetof(DAT_PROVIDER_ATTR, provider_specific_attr), 0, NAMED,
     offsetof(DAT_PROVIDER_ATTR, num_provider_specific_attr)},
};

/* Whether two structures of attributes tell the same; `all` tells how many named ones there are. */
bool is_same(const struct field *field, const void *one, const void *other, const void *all);

/* The same of another instance of the IA. */
void ask_other(struct test *t, struct answer *answer);

#endif
