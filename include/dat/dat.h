/* SPDX-License-Identifier: BSD-2-Clause */
/* DAT 1.2: the types that user and kernel consumers share. Consumers include <dat/udat.h>. */

#ifndef DAT_H
#define DAT_H

#include <dat/dat_error.h>
#include <dat/dat_platform_specific.h>

/*
 * Basic types
 */

typedef enum dat_boolean {
        DAT_FALSE = 0,
        DAT_TRUE = 1,
} DAT_BOOLEAN;

/* Names of IAs, adapters, vendors and providers; the terminating null counts. */
#define DAT_NAME_MAX_LENGTH 256
typedef char *DAT_NAME_PTR;

/* Microseconds. */
typedef DAT_UINT32 DAT_TIMEOUT;
#define DAT_TIMEOUT_INFINITE ((DAT_TIMEOUT)~0)

/* Buffers that begin on such a boundary are the fastest. */
#define DAT_OPTIMAL_ALIGNMENT 256

typedef DAT_UINT64 DAT_VLEN;
typedef DAT_UINT64 DAT_VADDR;

/* What the consumer attaches to an object or a DTO; DAT only hands it back. */
typedef union dat_context {
        DAT_PVOID as_ptr;
        DAT_UINT64 as_64;
        DAT_UVERYLONG as_index;
} DAT_CONTEXT;

typedef DAT_CONTEXT DAT_DTO_COOKIE;
typedef DAT_CONTEXT DAT_RMR_COOKIE;

typedef struct dat_named_attr {
        const char *name;
        const char *value;
} DAT_NAMED_ATTR;

/*
 * Handles: the first word of the object that a provider's handle points at is its DAT_PROVIDER
 */

typedef DAT_PVOID DAT_HANDLE;
typedef DAT_HANDLE DAT_CNO_HANDLE;
typedef DAT_HANDLE DAT_CR_HANDLE;
typedef DAT_HANDLE DAT_EP_HANDLE;
typedef DAT_HANDLE DAT_EVD_HANDLE;
typedef DAT_HANDLE DAT_IA_HANDLE;
typedef DAT_HANDLE DAT_LMR_HANDLE;
typedef DAT_HANDLE DAT_PSP_HANDLE;
typedef DAT_HANDLE DAT_PZ_HANDLE;
typedef DAT_HANDLE DAT_RMR_HANDLE;
typedef DAT_HANDLE DAT_RSP_HANDLE;
typedef DAT_HANDLE DAT_SRQ_HANDLE;

#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

typedef enum dat_handle_type {
        DAT_HANDLE_TYPE_CR = 0,
        DAT_HANDLE_TYPE_EP = 1,
        DAT_HANDLE_TYPE_EVD = 2,
        DAT_HANDLE_TYPE_IA = 3,
        DAT_HANDLE_TYPE_LMR = 4,
        DAT_HANDLE_TYPE_PSP = 5,
        DAT_HANDLE_TYPE_PZ = 6,
        DAT_HANDLE_TYPE_RMR = 7,
        DAT_HANDLE_TYPE_RSP = 8,
        DAT_HANDLE_TYPE_CNO = 9,
        DAT_HANDLE_TYPE_SRQ = 10,
} DAT_HANDLE_TYPE;

/*
 * Addresses
 */

typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;
typedef DAT_UINT64 DAT_CONN_QUAL;
typedef DAT_UINT64 DAT_PORT_QUAL;

/*
 * Flags of single calls
 */

typedef enum dat_completion_flags {
        DAT_COMPLETION_DEFAULT_FLAG = 0x0,
        DAT_COMPLETION_SUPPRESS_FLAG = 0x1,
        DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2,
        DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,
        DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,
        DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10,
} DAT_COMPLETION_FLAGS;

typedef enum dat_qos {
        DAT_QOS_BEST_EFFORT = 0,
        DAT_QOS_HIGH_THROUGHPUT = 1,
        DAT_QOS_LOW_LATENCY = 2,
        DAT_QOS_ECONOMY = 4,
        DAT_QOS_PREMIUM = 8,
} DAT_QOS;

typedef enum dat_connect_flags {
        DAT_CONNECT_DEFAULT_FLAG = 0x0,
        DAT_CONNECT_MULTIPATH_FLAG = 0x1,
} DAT_CONNECT_FLAGS;

typedef enum dat_close_flags {
        DAT_CLOSE_ABRUPT_FLAG = 0x0,
        DAT_CLOSE_GRACEFUL_FLAG = 0x1,
} DAT_CLOSE_FLAGS;

#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/*
 * Memory: PZ, LMR, RMR
 */

typedef enum dat_pz_param_mask {
        DAT_PZ_FIELD_IA_HANDLE = 0x1,
        DAT_PZ_FIELD_ALL = 0x1,
} DAT_PZ_PARAM_MASK;

typedef struct dat_pz_param {
        DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

typedef enum dat_mem_priv_flags {
        DAT_MEM_PRIV_NONE_FLAG = 0x0,
        DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,
        DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,
        DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
        DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
        DAT_MEM_PRIV_ALL_FLAG = 0x33,
} DAT_MEM_PRIV_FLAGS;

#define DAT_MEM_PRIV_READ_FLAG  (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

typedef DAT_UINT32 DAT_LMR_CONTEXT;
typedef DAT_UINT32 DAT_RMR_CONTEXT;

typedef struct dat_lmr_triplet {
        DAT_LMR_CONTEXT lmr_context;
        DAT_UINT32 pad;
        DAT_VADDR virtual_address;
        DAT_VLEN segment_length;
} DAT_LMR_TRIPLET;

typedef struct dat_rmr_triplet {
        DAT_RMR_CONTEXT rmr_context;
        DAT_UINT32 pad;
        DAT_VADDR target_address;
        DAT_VLEN segment_length;
} DAT_RMR_TRIPLET;

typedef enum dat_lmr_param_mask {
        DAT_LMR_FIELD_IA_HANDLE = 0x1,
        DAT_LMR_FIELD_MEM_TYPE = 0x2,
        DAT_LMR_FIELD_REGION_DESC = 0x4,
        DAT_LMR_FIELD_LENGTH = 0x8,
        DAT_LMR_FIELD_PZ_HANDLE = 0x10,
        DAT_LMR_FIELD_MEM_PRIV = 0x20,
        DAT_LMR_FIELD_LMR_CONTEXT = 0x40,
        DAT_LMR_FIELD_RMR_CONTEXT = 0x80,
        DAT_LMR_FIELD_REGISTERED_SIZE = 0x100,
        DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x200,
        DAT_LMR_FIELD_ALL = 0x3ff,
} DAT_LMR_PARAM_MASK;

typedef enum dat_rmr_param_mask {
        DAT_RMR_FIELD_IA_HANDLE = 0x1,
        DAT_RMR_FIELD_PZ_HANDLE = 0x2,
        DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
        DAT_RMR_FIELD_MEM_PRIV = 0x8,
        DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
        DAT_RMR_FIELD_ALL = 0x1f,
} DAT_RMR_PARAM_MASK;

typedef struct dat_rmr_param {
        DAT_IA_HANDLE ia_handle;
        DAT_PZ_HANDLE pz_handle;
        DAT_LMR_TRIPLET lmr_triplet;
        DAT_MEM_PRIV_FLAGS mem_priv;
        DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_PARAM;

/*
 * IA
 */

/* Compared with the async_evd_handle of dat_ia_open(). */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

typedef struct dat_ia_attr {
        char adapter_name[DAT_NAME_MAX_LENGTH];
        char vendor_name[DAT_NAME_MAX_LENGTH];
        DAT_UINT32 hardware_version_major;
        DAT_UINT32 hardware_version_minor;
        DAT_UINT32 firmware_version_major;
        DAT_UINT32 firmware_version_minor;
        DAT_IA_ADDRESS_PTR ia_address_ptr;
        DAT_COUNT max_eps;
        DAT_COUNT max_dto_per_ep;
        DAT_COUNT max_rdma_read_per_ep_in;
        DAT_COUNT max_rdma_read_per_ep_out;
        DAT_COUNT max_evds;
        DAT_COUNT max_evd_qlen;
        DAT_COUNT max_iov_segments_per_dto;
        DAT_COUNT max_lmrs;
        DAT_VLEN max_lmr_block_size;
        DAT_VADDR max_lmr_virtual_address;
        DAT_COUNT max_pzs;
        DAT_VLEN max_message_size;
        DAT_VLEN max_rdma_size;
        DAT_COUNT max_rmrs;
        DAT_VADDR max_rmr_target_address;
        DAT_COUNT max_srqs;
        DAT_COUNT max_ep_per_srq;
        DAT_COUNT max_recv_per_srq;
        DAT_COUNT max_iov_segments_per_rdma_read;
        DAT_COUNT max_iov_segments_per_rdma_write;
        DAT_COUNT max_rdma_read_in;
        DAT_COUNT max_rdma_read_out;
        DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
        DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
        DAT_COUNT num_transport_attr;
        DAT_NAMED_ATTR *transport_attr;
        DAT_COUNT num_vendor_attr;
        DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/* What older programs call these members; max_mtu_size is of DAT_EP_ATTR too. */
#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define max_mtu_size         max_message_size

typedef DAT_UINT64 DAT_IA_ATTR_MASK;

#define DAT_IA_FIELD_IA_ADAPTER_NAME                        UINT64_C(0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME                         UINT64_C(0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION              UINT64_C(0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION              UINT64_C(0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION              UINT64_C(0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION              UINT64_C(0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR                         UINT64_C(0x40)
#define DAT_IA_FIELD_IA_MAX_EPS                             UINT64_C(0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP                      UINT64_C(0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN             UINT64_C(0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT            UINT64_C(0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS                            UINT64_C(0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN                        UINT64_C(0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO            UINT64_C(0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS                            UINT64_C(0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE                  UINT64_C(0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS             UINT64_C(0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS                             UINT64_C(0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE                    UINT64_C(0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE                       UINT64_C(0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS                            UINT64_C(0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS              UINT64_C(0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS                            UINT64_C(0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ                      UINT64_C(0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ                    UINT64_C(0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ      UINT64_C(0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE     UINT64_C(0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN                    UINT64_C(0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT                   UINT64_C(0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED  UINT64_C(0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x40000000)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR                  UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR                      UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR                     UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR                         UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL                                    UINT64_C(0x7ffffffff)
#define DAT_IA_FIELD_NONE                                   UINT64_C(0x0)

#define DAT_IA_ALL                     DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE   DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP

/*
 * EP
 */

typedef enum dat_service_type {
        DAT_SERVICE_TYPE_RC = 0,
} DAT_SERVICE_TYPE;

typedef enum dat_ep_state {
        DAT_EP_STATE_UNCONNECTED = 0,
        DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
        DAT_EP_STATE_RESERVED = 2,
        DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
        DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,
        DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
        DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,
        DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
        DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
        DAT_EP_STATE_CONNECTED = 9,
        DAT_EP_STATE_DISCONNECT_PENDING = 10,
        DAT_EP_STATE_DISCONNECTED = 11,
        DAT_EP_STATE_COMPLETION_PENDING = 12,
} DAT_EP_STATE;

/* What older programs call it. */
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

/* Watermarks of an EP on an SRQ, and counts that a provider cannot tell. */
#define DAT_WATERMARK_INFINITE ((DAT_COUNT)~0)
#define DAT_HW_DEFAULT         DAT_WATERMARK_INFINITE
#define DAT_VALUE_UNKNOWN      (((DAT_COUNT)~0) - 1)

typedef struct dat_ep_attr {
        DAT_SERVICE_TYPE service_type;
        DAT_VLEN max_message_size;
        DAT_VLEN max_rdma_size;
        DAT_QOS qos;
        DAT_COMPLETION_FLAGS recv_completion_flags;
        DAT_COMPLETION_FLAGS request_completion_flags;
        DAT_COUNT max_recv_dtos;
        DAT_COUNT max_request_dtos;
        DAT_COUNT max_recv_iov;
        DAT_COUNT max_request_iov;
        DAT_COUNT max_rdma_read_in;
        DAT_COUNT max_rdma_read_out;
        DAT_COUNT srq_soft_hw;
        DAT_COUNT max_rdma_read_iov;
        DAT_COUNT max_rdma_write_iov;
        DAT_COUNT ep_transport_specific_count;
        DAT_NAMED_ATTR *ep_transport_specific;
        DAT_COUNT ep_provider_specific_count;
        DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

typedef struct dat_ep_param {
        DAT_IA_HANDLE ia_handle;
        DAT_EP_STATE ep_state;
        DAT_IA_ADDRESS_PTR local_ia_address_ptr;
        DAT_PORT_QUAL local_port_qual;
        DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
        DAT_PORT_QUAL remote_port_qual;
        DAT_PZ_HANDLE pz_handle;
        DAT_EVD_HANDLE recv_evd_handle;
        DAT_EVD_HANDLE request_evd_handle;
        DAT_EVD_HANDLE connect_evd_handle;
        DAT_SRQ_HANDLE srq_handle;
        DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

typedef DAT_UINT64 DAT_EP_PARAM_MASK;

#define DAT_EP_FIELD_IA_HANDLE                        UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE                         UINT64_C(0x2)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR             UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL                  UINT64_C(0x8)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR            UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL                 UINT64_C(0x20)
#define DAT_EP_FIELD_PZ_HANDLE                        UINT64_C(0x40)
#define DAT_EP_FIELD_RECV_EVD_HANDLE                  UINT64_C(0x80)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE               UINT64_C(0x100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE               UINT64_C(0x200)
#define DAT_EP_FIELD_SRQ_HANDLE                       UINT64_C(0x400)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE             UINT64_C(0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE         UINT64_C(0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE            UINT64_C(0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS                      UINT64_C(0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS    UINT64_C(0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS UINT64_C(0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS            UINT64_C(0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS         UINT64_C(0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV             UINT64_C(0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV          UINT64_C(0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN         UINT64_C(0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT        UINT64_C(0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW              UINT64_C(0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV        UINT64_C(0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV       UINT64_C(0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR       UINT64_C(0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR  UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR        UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR   UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL                      UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_ALL                              UINT64_C(0x7ffff7ff)

/*
 * SRQ
 */

#define DAT_SRQ_LW_DEFAULT 0x0

typedef enum dat_srq_state {
        DAT_SRQ_STATE_OPERATIONAL = 0,
        DAT_SRQ_STATE_ERROR = 1,
} DAT_SRQ_STATE;

typedef struct dat_srq_attr {
        DAT_COUNT max_recv_dtos;
        DAT_COUNT max_recv_iov;
        DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

typedef enum dat_srq_param_mask {
        DAT_SRQ_FIELD_IA_HANDLE = 0x1,
        DAT_SRQ_FIELD_SRQ_STATE = 0x2,
        DAT_SRQ_FIELD_PZ_HANDLE = 0x4,
        DAT_SRQ_FIELD_MAX_RECV_DTO = 0x8,
        DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
        DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
        DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
        DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
        DAT_SRQ_FIELD_ALL = 0xff,
} DAT_SRQ_PARAM_MASK;

typedef struct dat_srq_param {
        DAT_IA_HANDLE ia_handle;
        DAT_SRQ_STATE srq_state;
        DAT_PZ_HANDLE pz_handle;
        DAT_COUNT max_recv_dtos;
        DAT_COUNT max_recv_iov;
        DAT_COUNT low_watermark;
        DAT_COUNT available_dto_count;
        DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

/*
 * Service points and connection requests: PSP, RSP, CR
 */

/* Who makes the EP of a connection that arrives at the PSP. */
typedef enum dat_psp_flags {
        DAT_PSP_CONSUMER_FLAG = 0x0,
        DAT_PSP_PROVIDER_FLAG = 0x1,
} DAT_PSP_FLAGS;

typedef enum dat_psp_param_mask {
        DAT_PSP_FIELD_IA_HANDLE = 0x1,
        DAT_PSP_FIELD_CONN_QUAL = 0x2,
        DAT_PSP_FIELD_EVD_HANDLE = 0x4,
        DAT_PSP_FIELD_PSP_FLAGS = 0x8,
        DAT_PSP_FIELD_ALL = 0xf,
} DAT_PSP_PARAM_MASK;

typedef struct dat_psp_param {
        DAT_IA_HANDLE ia_handle;
        DAT_CONN_QUAL conn_qual;
        DAT_EVD_HANDLE evd_handle;
        DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

typedef enum dat_rsp_param_mask {
        DAT_RSP_FIELD_IA_HANDLE = 0x1,
        DAT_RSP_FIELD_CONN_QUAL = 0x2,
        DAT_RSP_FIELD_EVD_HANDLE = 0x4,
        DAT_RSP_FIELD_EP_HANDLE = 0x8,
        DAT_RSP_FIELD_ALL = 0xf,
} DAT_RSP_PARAM_MASK;

typedef struct dat_rsp_param {
        DAT_IA_HANDLE ia_handle;
        DAT_CONN_QUAL conn_qual;
        DAT_EVD_HANDLE evd_handle;
        DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

typedef enum dat_cr_param_mask {
        DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
        DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
        DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
        DAT_CR_FIELD_PRIVATE_DATA = 0x8,
        DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
        DAT_CR_FIELD_ALL = 0x1f,
} DAT_CR_PARAM_MASK;

typedef struct dat_cr_param {
        DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
        DAT_PORT_QUAL remote_port_qual;
        DAT_COUNT private_data_size;
        DAT_PVOID private_data;
        DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

/*
 * EVD
 */

/* The event streams that an EVD takes. */
typedef enum dat_evd_flags {
        DAT_EVD_SOFTWARE_FLAG = 0x1,
        DAT_EVD_CR_FLAG = 0x10,
        DAT_EVD_DTO_FLAG = 0x20,
        DAT_EVD_CONNECTION_FLAG = 0x40,
        DAT_EVD_RMR_BIND_FLAG = 0x80,
        DAT_EVD_ASYNC_FLAG = 0x100,
        DAT_EVD_DEFAULT_FLAG = 0x1f0,
} DAT_EVD_FLAGS;

/*
 * Events
 */

typedef enum dat_event_number {
        DAT_DTO_COMPLETION_EVENT = 0x1,
        DAT_RMR_BIND_COMPLETION_EVENT = 0x1001,
        DAT_CONNECTION_REQUEST_EVENT = 0x2001,
        DAT_CONNECTION_EVENT_ESTABLISHED = 0x4001,
        DAT_CONNECTION_EVENT_PEER_REJECTED = 0x4002,
        DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x4003,
        DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x4004,
        DAT_CONNECTION_EVENT_DISCONNECTED = 0x4005,
        DAT_CONNECTION_EVENT_BROKEN = 0x4006,
        DAT_CONNECTION_EVENT_TIMED_OUT = 0x4007,
        DAT_CONNECTION_EVENT_UNREACHABLE = 0x4008,
        DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x8001,
        DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x8002,
        DAT_ASYNC_ERROR_EP_BROKEN = 0x8003,
        DAT_ASYNC_ERROR_TIMED_OUT = 0x8004,
        DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x8005,
        DAT_SOFTWARE_EVENT = 0x10001,
} DAT_EVENT_NUMBER;

typedef enum dat_dto_completion_status {
        DAT_DTO_SUCCESS = 0,
        DAT_DTO_ERR_FLUSHED = 1,
        DAT_DTO_ERR_LOCAL_LENGTH = 2,
        DAT_DTO_ERR_LOCAL_EP = 3,
        DAT_DTO_ERR_LOCAL_PROTECTION = 4,
        DAT_DTO_ERR_BAD_RESPONSE = 5,
        DAT_DTO_ERR_REMOTE_ACCESS = 6,
        DAT_DTO_ERR_REMOTE_RESPONDER = 7,
        DAT_DTO_ERR_TRANSPORT = 8,
        DAT_DTO_ERR_RECEIVER_NOT_READY = 9,
        DAT_DTO_ERR_PARTIAL_PACKET = 10,
        DAT_RMR_OPERATION_FAILED = 11,
} DAT_DTO_COMPLETION_STATUS;

/* What older programs call them. */
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE      DAT_DTO_ERR_FLUSHED

/* The outcome of an RMR bind. */
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS
#define DAT_RMR_BIND_SUCCESS           DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE           DAT_DTO_ERR_FLUSHED

typedef struct dat_dto_completion_event_data {
        DAT_EP_HANDLE ep_handle;
        DAT_DTO_COOKIE user_cookie;
        DAT_DTO_COMPLETION_STATUS status;
        DAT_VLEN transfered_length;
} DAT_DTO_COMPLETION_EVENT_DATA;

typedef struct dat_rmr_bind_completion_event_data {
        DAT_RMR_HANDLE rmr_handle;
        DAT_RMR_COOKIE user_cookie;
        DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* Which member holds is known from the handle's type. */
typedef union dat_sp_handle {
        DAT_RSP_HANDLE rsp_handle;
        DAT_PSP_HANDLE psp_handle;
} DAT_SP_HANDLE;

typedef struct dat_cr_arrival_event_data {
        DAT_SP_HANDLE sp_handle;
        DAT_IA_ADDRESS_PTR local_ia_address_ptr;
        DAT_CONN_QUAL conn_qual;
        DAT_CR_HANDLE cr_handle;
} DAT_CR_ARRIVAL_EVENT_DATA;

typedef struct dat_connection_event_data {
        DAT_EP_HANDLE ep_handle;
        DAT_COUNT private_data_size;
        DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/* DAT_ASYNCH_ERROR_EVENT_DATA.reason, by the type of its dat_handle. */
typedef enum ia_async_error_reason {
        DAT_IA_CATASTROPHIC_ERROR = 0,
        DAT_IA_OTHER_ERROR = 1,
} DAT_IA_ASYNC_ERROR_REASON;

typedef enum ep_async_error_reason {
        DAT_EP_TRANSFER_TO_ERROR = 0,
        DAT_EP_OTHER_ERROR = 1,
        DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2,
} DAT_EP_ASYNC_ERROR_REASON;

typedef enum evd_async_error_reason {
        DAT_EVD_OVERFLOW_ERROR = 0,
        DAT_EVD_OTHER_ERROR = 1,
} DAT_EVD_ASYNC_ERROR_REASON;

typedef enum srq_async_error_reason {
        DAT_SRQ_TRANSFER_TO_ERROR = 0,
        DAT_SRQ_OTHER_ERROR = 1,
        DAT_SRQ_LOW_WATERMARK_EVENT = 2,
} DAT_SRQ_ASYNC_ERROR_REASON;

typedef enum lmr_async_error_reason {
        DAT_LMR_OTHER_ERROR = 0,
} DAT_LMR_ASYNC_ERROR_REASON;

typedef enum rmr_async_error_reason {
        DAT_RMR_OTHER_ERROR = 0,
} DAT_RMR_ASYNC_ERROR_REASON;

typedef enum pz_async_error_reason {
        DAT_PZ_OTHER_ERROR = 0,
} DAT_PZ_ASYNC_ERROR_REASON;

typedef struct dat_asynch_error_event_data {
        DAT_HANDLE dat_handle;
        DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

typedef struct dat_software_event_data {
        DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

typedef union dat_event_data {
        DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
        DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
        DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
        DAT_CONNECTION_EVENT_DATA connect_event_data;
        DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
        DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

typedef struct dat_event {
        DAT_EVENT_NUMBER event_number;
        DAT_EVD_HANDLE evd_handle;
        DAT_EVENT_DATA event_data;
} DAT_EVENT;

/*
 * Providers
 */

/* The key of a registry entry: all four members count. */
typedef struct dat_provider_info {
        char ia_name[DAT_NAME_MAX_LENGTH];
        DAT_UINT32 dapl_version_major;
        DAT_UINT32 dapl_version_minor;
        DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

typedef struct dat_provider DAT_PROVIDER;

typedef enum dat_iov_ownership {
        DAT_IOV_CONSUMER = 0,
        DAT_IOV_PROVIDER_NOMOD = 1,
        DAT_IOV_PROVIDER_MOD = 2,
} DAT_IOV_OWNERSHIP;

typedef enum dat_ep_creator_for_psp {
        DAT_PSP_CREATES_EP_NEVER = 0,
        DAT_PSP_CREATES_EP_IFASKED = 1,
        DAT_PSP_CREATES_EP_ALWAYS = 2,
} DAT_EP_CREATOR_FOR_PSP;

typedef enum dat_pz_support {
        DAT_PZ_UNIQUE = 0,
        DAT_PZ_SHAREABLE = 1,
} DAT_PZ_SUPPORT;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

#define DAT_PROVIDER_FIELD_PROVIDER_NAME                  UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR         UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR         UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR             UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR             UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED         UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP                  UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED              UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED     UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE                 UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE          UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH             UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR                     UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT                     UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT       UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED   UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED                  UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED       UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED             UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED         UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ                   UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED    UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ   UINT64_C(0x800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR     UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR         UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL                            UINT64_C(0x3ffffff)
#define DAT_PROVIDER_FIELD_NONE                           UINT64_C(0x0)

#endif
