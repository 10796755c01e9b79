/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 1.2: the header that consumers include.
 *
 * Every call answers with a DAT_RETURN: DAT_SUCCESS, or a class, type and subtype (dat_error.h).
 * The manual page of a call bears its name.
 */

#ifndef UDAT_H
#define UDAT_H

#include <dat/dat.h>
#include <dat/udat_config.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Memory
 */

typedef enum dat_mem_type {
        DAT_MEM_TYPE_VIRTUAL = 0,
        DAT_MEM_TYPE_LMR = 1,
        DAT_MEM_TYPE_SHARED_VIRTUAL = 2,
} DAT_MEM_TYPE;

/* Names a region that other processes register too. */
#define DAT_LMR_COOKIE_SIZE 40
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
        DAT_PVOID virtual_address;
        DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/* Which member holds is said by the DAT_MEM_TYPE that goes with it. */
typedef union dat_region_description {
        DAT_PVOID for_va;
        DAT_LMR_HANDLE for_lmr_handle;
        DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

typedef struct dat_lmr_param {
        DAT_IA_HANDLE ia_handle;
        DAT_MEM_TYPE mem_type;
        DAT_REGION_DESCRIPTION region_desc;
        DAT_VLEN length;
        DAT_PZ_HANDLE pz_handle;
        DAT_MEM_PRIV_FLAGS mem_priv;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN registered_size;
        DAT_VADDR registered_address;
} DAT_LMR_PARAM;

/*
 * EVD and CNO
 */

typedef enum dat_evd_state {
        DAT_EVD_STATE_ENABLED = 0x1,
        DAT_EVD_STATE_DISABLED = 0x2,
        DAT_EVD_STATE_WAITABLE = 0x4,
        DAT_EVD_STATE_UNWAITABLE = 0x8,
        DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
        DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
        DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30,
} DAT_EVD_STATE;

typedef enum dat_evd_param_mask {
        DAT_EVD_FIELD_IA_HANDLE = 0x1,
        DAT_EVD_FIELD_EVD_QLEN = 0x2,
        DAT_EVD_FIELD_EVD_STATE = 0x4,
        DAT_EVD_FIELD_CNO = 0x8,
        DAT_EVD_FIELD_EVD_FLAGS = 0x10,
        DAT_EVD_FIELD_ALL = 0x1f,
} DAT_EVD_PARAM_MASK;

typedef struct dat_evd_param {
        DAT_IA_HANDLE ia_handle;
        DAT_COUNT evd_qlen;
        DAT_EVD_STATE evd_state;
        DAT_CNO_HANDLE cno_handle;
        DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

/* Called with the agent's instance data and the EVD that woke the CNO. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID, DAT_EVD_HANDLE);

typedef struct dat_os_wait_proxy_agent {
        DAT_PVOID instance_data;
        DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#define DAT_OS_WAIT_PROXY_AGENT_NULL \
        ((DAT_OS_WAIT_PROXY_AGENT){(DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL})

typedef enum dat_cno_param_mask {
        DAT_CNO_FIELD_IA_HANDLE = 0x1,
        DAT_CNO_FIELD_AGENT = 0x2,
        DAT_CNO_FIELD_ALL = 0x3,
} DAT_CNO_PARAM_MASK;

typedef struct dat_cno_param {
        DAT_IA_HANDLE ia_handle;
        DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

/*
 * Provider attributes
 */

typedef struct dat_provider_attr {
        char provider_name[DAT_NAME_MAX_LENGTH];
        DAT_UINT32 provider_version_major;
        DAT_UINT32 provider_version_minor;
        DAT_UINT32 dapl_version_major;
        DAT_UINT32 dapl_version_minor;
        DAT_MEM_TYPE lmr_mem_types_supported;
        DAT_IOV_OWNERSHIP iov_ownership_on_return;
        DAT_QOS dat_qos_supported;
        DAT_COMPLETION_FLAGS completion_flags_supported;
        DAT_BOOLEAN is_thread_safe;
        DAT_COUNT max_private_data_size;
        DAT_BOOLEAN supports_multipath;
        DAT_EP_CREATOR_FOR_PSP ep_creator;
        DAT_PZ_SUPPORT pz_support;
        DAT_UINT32 optimal_buffer_alignment;
        const DAT_BOOLEAN evd_stream_merging_supported[6][6];
        DAT_BOOLEAN srq_supported;
        DAT_COUNT srq_watermarks_supported;
        DAT_BOOLEAN srq_ep_pz_difference_supported;
        DAT_COUNT srq_info_supported;
        DAT_COUNT ep_recv_info_supported;
        DAT_BOOLEAN lmr_sync_req;
        DAT_BOOLEAN dto_async_return_guaranteed;
        DAT_BOOLEAN rdma_write_for_rdma_read_req;
        DAT_COUNT num_provider_specific_attr;
        DAT_NAMED_ATTR *provider_specific_attr;
} DAT_PROVIDER_ATTR;

/*
 * Registry and IA
 */

/* Open an IA; the registry entry must match in name, version and thread safety. Async EVD:
 * *async_evd_handle, or a new one where that is DAT_HANDLE_NULL. */
DAT_RETURN dat_ia_openv(IN const DAT_NAME_PTR name, IN DAT_COUNT async_evd_min_qlen,
                        INOUT DAT_EVD_HANDLE *async_evd_handle, OUT DAT_IA_HANDLE *ia_handle,
                        IN DAT_UINT32 dat_major, IN DAT_UINT32 dat_minor,
                        IN DAT_BOOLEAN thread_safety);

/* Open the IA with the version and thread safety of udat_config.h, compiled into the caller. */
#define dat_ia_open(name, async_evd_min_qlen, async_evd_handle, ia_handle)          \
        dat_ia_openv((name), (async_evd_min_qlen), (async_evd_handle), (ia_handle), \
                     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/* Close the IA: gracefully only if the consumer has freed its objects, else with all of them. */
DAT_RETURN dat_ia_close(IN DAT_IA_HANDLE ia_handle, IN DAT_CLOSE_FLAGS close_flags);

/* Attributes of the IA and its provider. */
DAT_RETURN dat_ia_query(IN DAT_IA_HANDLE ia_handle, OUT DAT_EVD_HANDLE *async_evd_handle,
                        IN DAT_IA_ATTR_MASK ia_attr_mask, OUT DAT_IA_ATTR *ia_attr,
                        IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                        OUT DAT_PROVIDER_ATTR *provider_attr);

/* The entries of dat.conf, copied to the max_to_return buffers of dat_provider_list. */
DAT_RETURN dat_registry_list_providers(IN DAT_COUNT max_to_return, OUT DAT_COUNT *entries_returned,
                                       OUT DAT_PROVIDER_INFO *dat_provider_list[]);

/* For providers: offer the IA of provider_info through the table. */
DAT_RETURN dat_registry_add_provider(IN const DAT_PROVIDER *provider,
                                     IN const DAT_PROVIDER_INFO *provider_info);

/* For providers: take the offer back; refused while the IA is open. */
DAT_RETURN dat_registry_remove_provider(IN const DAT_PROVIDER *provider,
                                        IN const DAT_PROVIDER_INFO *provider_info);

/* The names of the type and of the subtype of a return code. */
DAT_RETURN dat_strerror(IN DAT_RETURN status, OUT const char **major_message,
                        OUT const char **minor_message);

/*
 * Any object
 */

/* What kind of object the handle is of. */
DAT_RETURN dat_get_handle_type(IN DAT_HANDLE dat_handle, OUT DAT_HANDLE_TYPE *handle_type);

/* Attach a value to the object, for the consumer's own use. */
DAT_RETURN dat_set_consumer_context(IN DAT_HANDLE dat_handle, IN DAT_CONTEXT context);

/* The value last attached to the object. */
DAT_RETURN dat_get_consumer_context(IN DAT_HANDLE dat_handle, OUT DAT_CONTEXT *context);

/*
 * PZ
 */

/* Make a protection zone of the IA. */
DAT_RETURN dat_pz_create(IN DAT_IA_HANDLE ia_handle, OUT DAT_PZ_HANDLE *pz_handle);

/* Its parameters. */
DAT_RETURN dat_pz_query(IN DAT_PZ_HANDLE pz_handle, IN DAT_PZ_PARAM_MASK pz_param_mask,
                        OUT DAT_PZ_PARAM *pz_param);

/* Free it; nothing may belong to it any more. */
DAT_RETURN dat_pz_free(IN DAT_PZ_HANDLE pz_handle);

/*
 * LMR
 */

/* Register length bytes of memory in the zone; the provider may register some more. */
DAT_RETURN dat_lmr_create(IN DAT_IA_HANDLE ia_handle, IN DAT_MEM_TYPE mem_type,
                          IN DAT_REGION_DESCRIPTION region_description, IN DAT_VLEN length,
                          IN DAT_PZ_HANDLE pz_handle, IN DAT_MEM_PRIV_FLAGS privileges,
                          OUT DAT_LMR_HANDLE *lmr_handle, OUT DAT_LMR_CONTEXT *lmr_context,
                          OUT DAT_RMR_CONTEXT *rmr_context, OUT DAT_VLEN *registered_length,
                          OUT DAT_VADDR *registered_address);

/* Its parameters. */
DAT_RETURN dat_lmr_query(IN DAT_LMR_HANDLE lmr_handle, IN DAT_LMR_PARAM_MASK lmr_param_mask,
                         OUT DAT_LMR_PARAM *lmr_param);

/* Let RDMA reads by the peer see what was written to the segments locally. */
DAT_RETURN dat_lmr_sync_rdma_read(IN DAT_IA_HANDLE ia_handle,
                                  IN const DAT_LMR_TRIPLET *local_segments,
                                  IN DAT_VLEN num_segments);

/* Let local reads see what RDMA writes by the peer put into the segments. */
DAT_RETURN dat_lmr_sync_rdma_write(IN DAT_IA_HANDLE ia_handle,
                                   IN const DAT_LMR_TRIPLET *local_segments,
                                   IN DAT_VLEN num_segments);

/* Deregister it; no RMR may be bound to it. */
DAT_RETURN dat_lmr_free(IN DAT_LMR_HANDLE lmr_handle);

/*
 * RMR
 */

/* Make an unbound RMR in the zone. */
DAT_RETURN dat_rmr_create(IN DAT_PZ_HANDLE pz_handle, OUT DAT_RMR_HANDLE *rmr_handle);

/* Its parameters. */
DAT_RETURN dat_rmr_query(IN DAT_RMR_HANDLE rmr_handle, IN DAT_RMR_PARAM_MASK rmr_param_mask,
                         OUT DAT_RMR_PARAM *rmr_param);

/* Open part of an LMR to the EP's peer; a length of 0 unbinds. Completes on the request EVD. */
DAT_RETURN dat_rmr_bind(IN DAT_RMR_HANDLE rmr_handle, IN const DAT_LMR_TRIPLET *lmr_triplet,
                        IN DAT_MEM_PRIV_FLAGS mem_priv, IN DAT_EP_HANDLE ep_handle,
                        IN DAT_RMR_COOKIE user_cookie, IN DAT_COMPLETION_FLAGS completion_flags,
                        OUT DAT_RMR_CONTEXT *context);

/* Free it; what it had opened to a peer is closed. */
DAT_RETURN dat_rmr_free(IN DAT_RMR_HANDLE rmr_handle);

/*
 * EVD
 */

/* Make an EVD for evd_min_qlen events of the given streams, notifying the CNO. */
DAT_RETURN dat_evd_create(IN DAT_IA_HANDLE ia_handle, IN DAT_COUNT evd_min_qlen,
                          IN DAT_CNO_HANDLE cno_handle, IN DAT_EVD_FLAGS evd_flags,
                          OUT DAT_EVD_HANDLE *evd_handle);

/* Its parameters. */
DAT_RETURN dat_evd_query(IN DAT_EVD_HANDLE evd_handle, IN DAT_EVD_PARAM_MASK evd_param_mask,
                         OUT DAT_EVD_PARAM *evd_param);

/* Notify another CNO, or none by DAT_HANDLE_NULL. */
DAT_RETURN dat_evd_modify_cno(IN DAT_EVD_HANDLE evd_handle, IN DAT_CNO_HANDLE cno_handle);

/* Make room for evd_min_qlen events, never losing one. */
DAT_RETURN dat_evd_resize(IN DAT_EVD_HANDLE evd_handle, IN DAT_COUNT evd_min_qlen);

/* Let events trigger the CNO. */
DAT_RETURN dat_evd_enable(IN DAT_EVD_HANDLE evd_handle);

/* Let events pass the CNO by. */
DAT_RETURN dat_evd_disable(IN DAT_EVD_HANDLE evd_handle);

/* Refuse waiters; one that waits is released. */
DAT_RETURN dat_evd_set_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/* Admit waiters again. */
DAT_RETURN dat_evd_clear_unwaitable(IN DAT_EVD_HANDLE evd_handle);

/* Put a software event on the queue. */
DAT_RETURN dat_evd_post_se(IN DAT_EVD_HANDLE evd_handle, IN const DAT_EVENT *event);

/* Wait up to timeout microseconds for threshold events, then take the first. */
DAT_RETURN dat_evd_wait(IN DAT_EVD_HANDLE evd_handle, IN DAT_TIMEOUT timeout,
                        IN DAT_COUNT threshold, OUT DAT_EVENT *event, OUT DAT_COUNT *n_more_events);

/* Take the first event without waiting; DAT_QUEUE_EMPTY where there is none. */
DAT_RETURN dat_evd_dequeue(IN DAT_EVD_HANDLE evd_handle, OUT DAT_EVENT *event);

/* Free it; no object may use it. */
DAT_RETURN dat_evd_free(IN DAT_EVD_HANDLE evd_handle);

/*
 * CNO
 */

/* Make a CNO, with the agent to call when it is triggered. */
DAT_RETURN dat_cno_create(IN DAT_IA_HANDLE ia_handle, IN DAT_OS_WAIT_PROXY_AGENT agent,
                          OUT DAT_CNO_HANDLE *cno_handle);

/* Its parameters. */
DAT_RETURN dat_cno_query(IN DAT_CNO_HANDLE cno_handle, IN DAT_CNO_PARAM_MASK cno_param_mask,
                         OUT DAT_CNO_PARAM *cno_param);

/* Call another agent. */
DAT_RETURN dat_cno_modify_agent(IN DAT_CNO_HANDLE cno_handle, IN DAT_OS_WAIT_PROXY_AGENT agent);

/* Wait up to timeout microseconds; evd_handle is the EVD that triggered. */
DAT_RETURN dat_cno_wait(IN DAT_CNO_HANDLE cno_handle, IN DAT_TIMEOUT timeout,
                        OUT DAT_EVD_HANDLE *evd_handle);

/* Free it; no EVD may use it. */
DAT_RETURN dat_cno_free(IN DAT_CNO_HANDLE cno_handle);

/*
 * EP
 */

/* Make an unconnected EP. ep_attributes may be NULL: the provider's defaults. */
DAT_RETURN dat_ep_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
                         IN DAT_EVD_HANDLE recv_completion_evd_handle,
                         IN DAT_EVD_HANDLE request_completion_evd_handle,
                         IN DAT_EVD_HANDLE connect_evd_handle, IN const DAT_EP_ATTR *ep_attributes,
                         OUT DAT_EP_HANDLE *ep_handle);

/* The same, its receives taken from the SRQ. */
DAT_RETURN dat_ep_create_with_srq(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
                                  IN DAT_EVD_HANDLE recv_evd_handle,
                                  IN DAT_EVD_HANDLE request_evd_handle,
                                  IN DAT_EVD_HANDLE connect_evd_handle,
                                  IN DAT_SRQ_HANDLE srq_handle, IN const DAT_EP_ATTR *ep_attributes,
                                  OUT DAT_EP_HANDLE *ep_handle);

/* Its parameters, the state among them. */
DAT_RETURN dat_ep_query(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
                        OUT DAT_EP_PARAM *ep_param);

/* Change parameters that the state permits to change. */
DAT_RETURN dat_ep_modify(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_PARAM_MASK ep_param_mask,
                         IN const DAT_EP_PARAM *ep_param);

/* Its state, and whether its receive and request queues are idle. */
DAT_RETURN dat_ep_get_status(IN DAT_EP_HANDLE ep_handle, OUT DAT_EP_STATE *ep_state,
                             OUT DAT_BOOLEAN *recv_idle, OUT DAT_BOOLEAN *request_idle);

/* Receive buffers it took and did not complete, and the completions that may come of them. */
DAT_RETURN dat_ep_recv_query(IN DAT_EP_HANDLE ep_handle, OUT DAT_COUNT *nbufs_allocated,
                             OUT DAT_COUNT *bufs_alloc_span);

/* High watermarks of the SRQ buffers the EP may hold. */
DAT_RETURN dat_ep_set_watermark(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT soft_high_watermark,
                                IN DAT_COUNT hard_high_watermark);

/* Ask for a connection; the outcome comes to the connect EVD. Timeout in microseconds. */
DAT_RETURN dat_ep_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_IA_ADDRESS_PTR remote_ia_address,
                          IN DAT_CONN_QUAL remote_conn_qual, IN DAT_TIMEOUT timeout,
                          IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data,
                          IN DAT_QOS quality_of_service, IN DAT_CONNECT_FLAGS connect_flags);

/* The same, to where another EP is connected. */
DAT_RETURN dat_ep_dup_connect(IN DAT_EP_HANDLE ep_handle, IN DAT_EP_HANDLE ep_dup_handle,
                              IN DAT_TIMEOUT timeout, IN DAT_COUNT private_data_size,
                              IN const DAT_PVOID private_data, IN DAT_QOS quality_of_service);

/* End the connection: gracefully lets requests complete, abruptly flushes them. */
DAT_RETURN dat_ep_disconnect(IN DAT_EP_HANDLE ep_handle, IN DAT_CLOSE_FLAGS close_flags);

/* From Disconnected back to Unconnected. */
DAT_RETURN dat_ep_reset(IN DAT_EP_HANDLE ep_handle);

/* Free it, and break its connection; not while an RSP or a CR holds it. */
DAT_RETURN dat_ep_free(IN DAT_EP_HANDLE ep_handle);

/*
 * EP: data transfer. Buffers are the provider's until their DTO completes
 */

/* Send one message. */
DAT_RETURN dat_ep_post_send(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
                            IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
                            IN DAT_COMPLETION_FLAGS completion_flags);

/* Offer a buffer for one message; not where the EP has an SRQ. */
DAT_RETURN dat_ep_post_recv(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
                            IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
                            IN DAT_COMPLETION_FLAGS completion_flags);

/* Read the peer's memory. */
DAT_RETURN dat_ep_post_rdma_read(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
                                 IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
                                 IN const DAT_RMR_TRIPLET *remote_iov,
                                 IN DAT_COMPLETION_FLAGS completion_flags);

/* Write the peer's memory. */
DAT_RETURN dat_ep_post_rdma_write(IN DAT_EP_HANDLE ep_handle, IN DAT_COUNT num_segments,
                                  IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie,
                                  IN const DAT_RMR_TRIPLET *remote_iov,
                                  IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * SRQ
 */

/* Make an SRQ in the zone, no smaller than asked for; dat_srq_query() tells its real size. */
DAT_RETURN dat_srq_create(IN DAT_IA_HANDLE ia_handle, IN DAT_PZ_HANDLE pz_handle,
                          IN DAT_SRQ_ATTR *srq_attr, OUT DAT_SRQ_HANDLE *srq_handle);

/* Its parameters, counts of buffers among them. */
DAT_RETURN dat_srq_query(IN DAT_SRQ_HANDLE srq_handle, IN DAT_SRQ_PARAM_MASK srq_param_mask,
                         OUT DAT_SRQ_PARAM *srq_param);

/* Change the number of buffers it can hold. */
DAT_RETURN dat_srq_resize(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT srq_max_recv_dto);

/* Ask for one event when fewer than low_watermark buffers remain. */
DAT_RETURN dat_srq_set_lw(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT low_watermark);

/* Offer a buffer for one message to any EP of the SRQ. */
DAT_RETURN dat_srq_post_recv(IN DAT_SRQ_HANDLE srq_handle, IN DAT_COUNT num_segments,
                             IN DAT_LMR_TRIPLET *local_iov, IN DAT_DTO_COOKIE user_cookie);

/* Free it; no EP may use it. */
DAT_RETURN dat_srq_free(IN DAT_SRQ_HANDLE srq_handle);

/*
 * PSP and RSP: where connection requests arrive
 */

/* Listen at the connection qualifier. */
DAT_RETURN dat_psp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
                          IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
                          OUT DAT_PSP_HANDLE *psp_handle);

/* Listen at one that the provider picks. */
DAT_RETURN dat_psp_create_any(IN DAT_IA_HANDLE ia_handle, OUT DAT_CONN_QUAL *conn_qual,
                              IN DAT_EVD_HANDLE evd_handle, IN DAT_PSP_FLAGS psp_flags,
                              OUT DAT_PSP_HANDLE *psp_handle);

/* Its parameters. */
DAT_RETURN dat_psp_query(IN DAT_PSP_HANDLE psp_handle, IN DAT_PSP_PARAM_MASK psp_param_mask,
                         OUT DAT_PSP_PARAM *psp_param);

/* Stop listening. */
DAT_RETURN dat_psp_free(IN DAT_PSP_HANDLE psp_handle);

/* Listen at the connection qualifier for one request, bound for the EP. */
DAT_RETURN dat_rsp_create(IN DAT_IA_HANDLE ia_handle, IN DAT_CONN_QUAL conn_qual,
                          IN DAT_EP_HANDLE ep_handle, IN DAT_EVD_HANDLE evd_handle,
                          OUT DAT_RSP_HANDLE *rsp_handle);

/* Its parameters. */
DAT_RETURN dat_rsp_query(IN DAT_RSP_HANDLE rsp_handle, IN DAT_RSP_PARAM_MASK rsp_param_mask,
                         OUT DAT_RSP_PARAM *rsp_param);

/* Stop listening. */
DAT_RETURN dat_rsp_free(IN DAT_RSP_HANDLE rsp_handle);

/*
 * CR
 */

/* Its parameters: the caller's address and private data. */
DAT_RETURN dat_cr_query(IN DAT_CR_HANDLE cr_handle, IN DAT_CR_PARAM_MASK cr_param_mask,
                        OUT DAT_CR_PARAM *cr_param);

/* Connect the EP to the caller; DAT_HANDLE_NULL where the CR came with an EP. */
DAT_RETURN dat_cr_accept(IN DAT_CR_HANDLE cr_handle, IN DAT_EP_HANDLE ep_handle,
                         IN DAT_COUNT private_data_size, IN const DAT_PVOID private_data);

/* Turn the caller away. */
DAT_RETURN dat_cr_reject(IN DAT_CR_HANDLE cr_handle);

/* Pass the request to another connection qualifier. */
DAT_RETURN dat_cr_handoff(IN DAT_CR_HANDLE cr_handle, IN DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif
