/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * uDAPL 1.2: the table through which the registry reaches a provider. Its order is the ABI.
 * Consumers need none of this.
 */

#ifndef UDAT_REDIRECTION_H
#define UDAT_REDIRECTION_H

#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As dat_ia_open(): the registry has already matched version and thread safety. */
typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(IN const DAT_NAME_PTR, IN DAT_COUNT, INOUT DAT_EVD_HANDLE *,
                                       OUT DAT_IA_HANDLE *);

typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(IN DAT_IA_HANDLE, OUT DAT_EVD_HANDLE *, IN DAT_IA_ATTR_MASK,
                                        OUT DAT_IA_ATTR *, IN DAT_PROVIDER_ATTR_MASK,
                                        OUT DAT_PROVIDER_ATTR *);
typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(IN DAT_IA_HANDLE, IN DAT_CLOSE_FLAGS);
typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(IN DAT_HANDLE, IN DAT_CONTEXT);
typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(IN DAT_HANDLE, OUT DAT_CONTEXT *);
typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(IN DAT_HANDLE, OUT DAT_HANDLE_TYPE *);
typedef DAT_RETURN (*DAT_CNO_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_OS_WAIT_PROXY_AGENT,
                                          OUT DAT_CNO_HANDLE *);
typedef DAT_RETURN (*DAT_CNO_MODIFY_AGENT_FUNC)(IN DAT_CNO_HANDLE, IN DAT_OS_WAIT_PROXY_AGENT);
typedef DAT_RETURN (*DAT_CNO_QUERY_FUNC)(IN DAT_CNO_HANDLE, IN DAT_CNO_PARAM_MASK,
                                         OUT DAT_CNO_PARAM *);
typedef DAT_RETURN (*DAT_CNO_FREE_FUNC)(IN DAT_CNO_HANDLE);
typedef DAT_RETURN (*DAT_CNO_WAIT_FUNC)(IN DAT_CNO_HANDLE, IN DAT_TIMEOUT, OUT DAT_EVD_HANDLE *);
typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(IN DAT_CR_HANDLE, IN DAT_CR_PARAM_MASK, OUT DAT_CR_PARAM *);
typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(IN DAT_CR_HANDLE, IN DAT_EP_HANDLE, IN DAT_COUNT,
                                         IN const DAT_PVOID);
typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(IN DAT_CR_HANDLE);
typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(IN DAT_CR_HANDLE, IN DAT_CONN_QUAL);
typedef DAT_RETURN (*DAT_EVD_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_COUNT, IN DAT_CNO_HANDLE,
                                          IN DAT_EVD_FLAGS, OUT DAT_EVD_HANDLE *);
typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(IN DAT_EVD_HANDLE, IN DAT_EVD_PARAM_MASK,
                                         OUT DAT_EVD_PARAM *);
typedef DAT_RETURN (*DAT_EVD_MODIFY_CNO_FUNC)(IN DAT_EVD_HANDLE, IN DAT_CNO_HANDLE);
typedef DAT_RETURN (*DAT_EVD_ENABLE_FUNC)(IN DAT_EVD_HANDLE);
typedef DAT_RETURN (*DAT_EVD_DISABLE_FUNC)(IN DAT_EVD_HANDLE);
typedef DAT_RETURN (*DAT_EVD_WAIT_FUNC)(IN DAT_EVD_HANDLE, IN DAT_TIMEOUT, IN DAT_COUNT,
                                        OUT DAT_EVENT *, OUT DAT_COUNT *);
typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(IN DAT_EVD_HANDLE, IN DAT_COUNT);
typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(IN DAT_EVD_HANDLE, IN const DAT_EVENT *);
typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(IN DAT_EVD_HANDLE, OUT DAT_EVENT *);
typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(IN DAT_EVD_HANDLE);
typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_PZ_HANDLE, IN DAT_EVD_HANDLE,
                                         IN DAT_EVD_HANDLE, IN DAT_EVD_HANDLE,
                                         IN const DAT_EP_ATTR *, OUT DAT_EP_HANDLE *);
typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(IN DAT_EP_HANDLE, IN DAT_EP_PARAM_MASK, OUT DAT_EP_PARAM *);
typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(IN DAT_EP_HANDLE, IN DAT_EP_PARAM_MASK,
                                         IN const DAT_EP_PARAM *);
typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(IN DAT_EP_HANDLE, IN DAT_IA_ADDRESS_PTR, IN DAT_CONN_QUAL,
                                          IN DAT_TIMEOUT, IN DAT_COUNT, IN const DAT_PVOID,
                                          IN DAT_QOS, IN DAT_CONNECT_FLAGS);
typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(IN DAT_EP_HANDLE, IN DAT_EP_HANDLE, IN DAT_TIMEOUT,
                                              IN DAT_COUNT, IN const DAT_PVOID, IN DAT_QOS);
typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(IN DAT_EP_HANDLE, IN DAT_CLOSE_FLAGS);
typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(IN DAT_EP_HANDLE, IN DAT_COUNT, IN DAT_LMR_TRIPLET *,
                                            IN DAT_DTO_COOKIE, IN DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(IN DAT_EP_HANDLE, IN DAT_COUNT, IN DAT_LMR_TRIPLET *,
                                            IN DAT_DTO_COOKIE, IN DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(IN DAT_EP_HANDLE, IN DAT_COUNT,
                                                 IN DAT_LMR_TRIPLET *, IN DAT_DTO_COOKIE,
                                                 IN const DAT_RMR_TRIPLET *,
                                                 IN DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(IN DAT_EP_HANDLE, IN DAT_COUNT,
                                                  IN DAT_LMR_TRIPLET *, IN DAT_DTO_COOKIE,
                                                  IN const DAT_RMR_TRIPLET *,
                                                  IN DAT_COMPLETION_FLAGS);
typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(IN DAT_EP_HANDLE, OUT DAT_EP_STATE *,
                                             OUT DAT_BOOLEAN *, OUT DAT_BOOLEAN *);
typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(IN DAT_EP_HANDLE);
typedef DAT_RETURN (*DAT_LMR_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_MEM_TYPE,
                                          IN DAT_REGION_DESCRIPTION, IN DAT_VLEN, IN DAT_PZ_HANDLE,
                                          IN DAT_MEM_PRIV_FLAGS, OUT DAT_LMR_HANDLE *,
                                          OUT DAT_LMR_CONTEXT *, OUT DAT_RMR_CONTEXT *,
                                          OUT DAT_VLEN *, OUT DAT_VADDR *);
typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(IN DAT_LMR_HANDLE, IN DAT_LMR_PARAM_MASK,
                                         OUT DAT_LMR_PARAM *);
typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(IN DAT_LMR_HANDLE);
typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(IN DAT_PZ_HANDLE, OUT DAT_RMR_HANDLE *);
typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(IN DAT_RMR_HANDLE, IN DAT_RMR_PARAM_MASK,
                                         OUT DAT_RMR_PARAM *);
typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(IN DAT_RMR_HANDLE, IN const DAT_LMR_TRIPLET *,
                                        IN DAT_MEM_PRIV_FLAGS, IN DAT_EP_HANDLE, IN DAT_RMR_COOKIE,
                                        IN DAT_COMPLETION_FLAGS, OUT DAT_RMR_CONTEXT *);
typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(IN DAT_RMR_HANDLE);
typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_CONN_QUAL, IN DAT_EVD_HANDLE,
                                          IN DAT_PSP_FLAGS, OUT DAT_PSP_HANDLE *);
typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(IN DAT_PSP_HANDLE, IN DAT_PSP_PARAM_MASK,
                                         OUT DAT_PSP_PARAM *);
typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(IN DAT_PSP_HANDLE);
typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_CONN_QUAL, IN DAT_EP_HANDLE,
                                          IN DAT_EVD_HANDLE, OUT DAT_RSP_HANDLE *);
typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(IN DAT_RSP_HANDLE, IN DAT_RSP_PARAM_MASK,
                                         OUT DAT_RSP_PARAM *);
typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(IN DAT_RSP_HANDLE);
typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(IN DAT_IA_HANDLE, OUT DAT_PZ_HANDLE *);
typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(IN DAT_PZ_HANDLE, IN DAT_PZ_PARAM_MASK, OUT DAT_PZ_PARAM *);
typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(IN DAT_PZ_HANDLE);
typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(IN DAT_IA_HANDLE, OUT DAT_CONN_QUAL *,
                                              IN DAT_EVD_HANDLE, IN DAT_PSP_FLAGS,
                                              OUT DAT_PSP_HANDLE *);
typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(IN DAT_EP_HANDLE);
typedef DAT_RETURN (*DAT_EVD_SET_UNWAITABLE_FUNC)(IN DAT_EVD_HANDLE);
typedef DAT_RETURN (*DAT_EVD_CLEAR_UNWAITABLE_FUNC)(IN DAT_EVD_HANDLE);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(IN DAT_IA_HANDLE, IN const DAT_LMR_TRIPLET *,
                                                  IN DAT_VLEN);
typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(IN DAT_IA_HANDLE, IN const DAT_LMR_TRIPLET *,
                                                   IN DAT_VLEN);
typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(IN DAT_IA_HANDLE, IN DAT_PZ_HANDLE,
                                                  IN DAT_EVD_HANDLE, IN DAT_EVD_HANDLE,
                                                  IN DAT_EVD_HANDLE, IN DAT_SRQ_HANDLE,
                                                  IN const DAT_EP_ATTR *, OUT DAT_EP_HANDLE *);
typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(IN DAT_EP_HANDLE, OUT DAT_COUNT *, OUT DAT_COUNT *);
typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(IN DAT_EP_HANDLE, IN DAT_COUNT, IN DAT_COUNT);
typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(IN DAT_IA_HANDLE, IN DAT_PZ_HANDLE, IN DAT_SRQ_ATTR *,
                                          OUT DAT_SRQ_HANDLE *);
typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(IN DAT_SRQ_HANDLE);
typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(IN DAT_SRQ_HANDLE, IN DAT_COUNT, IN DAT_LMR_TRIPLET *,
                                             IN DAT_DTO_COOKIE);
typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(IN DAT_SRQ_HANDLE, IN DAT_SRQ_PARAM_MASK,
                                         OUT DAT_SRQ_PARAM *);
typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(IN DAT_SRQ_HANDLE, IN DAT_COUNT);
typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(IN DAT_SRQ_HANDLE, IN DAT_COUNT);

typedef DAT_RETURN (*DAT_IA_OPENV_FUNC)(IN const DAT_NAME_PTR, IN DAT_COUNT, INOUT DAT_EVD_HANDLE *,
                                        OUT DAT_IA_HANDLE *, IN DAT_UINT32, IN DAT_UINT32,
                                        IN DAT_BOOLEAN);

struct dat_provider {
        const char *device_name;
        DAT_PVOID extension;
        DAT_IA_OPEN_FUNC ia_open_func;
        DAT_IA_QUERY_FUNC ia_query_func;
        DAT_IA_CLOSE_FUNC ia_close_func;
        DAT_SET_CONSUMER_CONTEXT_FUNC set_consumer_context_func;
        DAT_GET_CONSUMER_CONTEXT_FUNC get_consumer_context_func;
        DAT_GET_HANDLE_TYPE_FUNC get_handle_type_func;
        DAT_CNO_CREATE_FUNC cno_create_func;
        DAT_CNO_MODIFY_AGENT_FUNC cno_modify_agent_func;
        DAT_CNO_QUERY_FUNC cno_query_func;
        DAT_CNO_FREE_FUNC cno_free_func;
        DAT_CNO_WAIT_FUNC cno_wait_func;
        DAT_CR_QUERY_FUNC cr_query_func;
        DAT_CR_ACCEPT_FUNC cr_accept_func;
        DAT_CR_REJECT_FUNC cr_reject_func;
        DAT_CR_HANDOFF_FUNC cr_handoff_func;
        DAT_EVD_CREATE_FUNC evd_create_func;
        DAT_EVD_QUERY_FUNC evd_query_func;
        DAT_EVD_MODIFY_CNO_FUNC evd_modify_cno_func;
        DAT_EVD_ENABLE_FUNC evd_enable_func;
        DAT_EVD_DISABLE_FUNC evd_disable_func;
        DAT_EVD_WAIT_FUNC evd_wait_func;
        DAT_EVD_RESIZE_FUNC evd_resize_func;
        DAT_EVD_POST_SE_FUNC evd_post_se_func;
        DAT_EVD_DEQUEUE_FUNC evd_dequeue_func;
        DAT_EVD_FREE_FUNC evd_free_func;
        DAT_EP_CREATE_FUNC ep_create_func;
        DAT_EP_QUERY_FUNC ep_query_func;
        DAT_EP_MODIFY_FUNC ep_modify_func;
        DAT_EP_CONNECT_FUNC ep_connect_func;
        DAT_EP_DUP_CONNECT_FUNC ep_dup_connect_func;
        DAT_EP_DISCONNECT_FUNC ep_disconnect_func;
        DAT_EP_POST_SEND_FUNC ep_post_send_func;
        DAT_EP_POST_RECV_FUNC ep_post_recv_func;
        DAT_EP_POST_RDMA_READ_FUNC ep_post_rdma_read_func;
        DAT_EP_POST_RDMA_WRITE_FUNC ep_post_rdma_write_func;
        DAT_EP_GET_STATUS_FUNC ep_get_status_func;
        DAT_EP_FREE_FUNC ep_free_func;
        DAT_LMR_CREATE_FUNC lmr_create_func;
        DAT_LMR_QUERY_FUNC lmr_query_func;
        DAT_LMR_FREE_FUNC lmr_free_func;
        DAT_RMR_CREATE_FUNC rmr_create_func;
        DAT_RMR_QUERY_FUNC rmr_query_func;
        DAT_RMR_BIND_FUNC rmr_bind_func;
        DAT_RMR_FREE_FUNC rmr_free_func;
        DAT_PSP_CREATE_FUNC psp_create_func;
        DAT_PSP_QUERY_FUNC psp_query_func;
        DAT_PSP_FREE_FUNC psp_free_func;
        DAT_RSP_CREATE_FUNC rsp_create_func;
        DAT_RSP_QUERY_FUNC rsp_query_func;
        DAT_RSP_FREE_FUNC rsp_free_func;
        DAT_PZ_CREATE_FUNC pz_create_func;
        DAT_PZ_QUERY_FUNC pz_query_func;
        DAT_PZ_FREE_FUNC pz_free_func;
        DAT_PSP_CREATE_ANY_FUNC psp_create_any_func;
        DAT_EP_RESET_FUNC ep_reset_func;
        DAT_EVD_SET_UNWAITABLE_FUNC evd_set_unwaitable_func;
        DAT_EVD_CLEAR_UNWAITABLE_FUNC evd_clear_unwaitable_func;
        DAT_LMR_SYNC_RDMA_READ_FUNC lmr_sync_rdma_read_func;
        DAT_LMR_SYNC_RDMA_WRITE_FUNC lmr_sync_rdma_write_func;
        DAT_EP_CREATE_WITH_SRQ_FUNC ep_create_with_srq_func;
        DAT_EP_RECV_QUERY_FUNC ep_recv_query_func;
        DAT_EP_SET_WATERMARK_FUNC ep_set_watermark_func;
        DAT_SRQ_CREATE_FUNC srq_create_func;
        DAT_SRQ_FREE_FUNC srq_free_func;
        DAT_SRQ_POST_RECV_FUNC srq_post_recv_func;
        DAT_SRQ_QUERY_FUNC srq_query_func;
        DAT_SRQ_RESIZE_FUNC srq_resize_func;
        DAT_SRQ_SET_LW_FUNC srq_set_lw_func;
};

/* The table of the provider that made the handle. */
#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle) (*(DAT_PROVIDER **)(handle))
#endif

/* One call through each slot, by the provider of the first argument. */
#define DAT_FIRST_OF(first, ...) (first)
#define DAT_CALL(slot, ...) \
        (*DAT_HANDLE_TO_PROVIDER(DAT_FIRST_OF(__VA_ARGS__, 0))->slot)(__VA_ARGS__)

#define DAT_IA_QUERY(...)             DAT_CALL(ia_query_func, __VA_ARGS__)
#define DAT_IA_CLOSE(...)             DAT_CALL(ia_close_func, __VA_ARGS__)
#define DAT_SET_CONSUMER_CONTEXT(...) DAT_CALL(set_consumer_context_func, __VA_ARGS__)
#define DAT_GET_CONSUMER_CONTEXT(...) DAT_CALL(get_consumer_context_func, __VA_ARGS__)
#define DAT_GET_HANDLE_TYPE(...)      DAT_CALL(get_handle_type_func, __VA_ARGS__)
#define DAT_CNO_CREATE(...)           DAT_CALL(cno_create_func, __VA_ARGS__)
#define DAT_CNO_MODIFY_AGENT(...)     DAT_CALL(cno_modify_agent_func, __VA_ARGS__)
#define DAT_CNO_QUERY(...)            DAT_CALL(cno_query_func, __VA_ARGS__)
#define DAT_CNO_FREE(...)             DAT_CALL(cno_free_func, __VA_ARGS__)
#define DAT_CNO_WAIT(...)             DAT_CALL(cno_wait_func, __VA_ARGS__)
#define DAT_CR_QUERY(...)             DAT_CALL(cr_query_func, __VA_ARGS__)
#define DAT_CR_ACCEPT(...)            DAT_CALL(cr_accept_func, __VA_ARGS__)
#define DAT_CR_REJECT(...)            DAT_CALL(cr_reject_func, __VA_ARGS__)
#define DAT_CR_HANDOFF(...)           DAT_CALL(cr_handoff_func, __VA_ARGS__)
#define DAT_EVD_CREATE(...)           DAT_CALL(evd_create_func, __VA_ARGS__)
#define DAT_EVD_QUERY(...)            DAT_CALL(evd_query_func, __VA_ARGS__)
#define DAT_EVD_MODIFY_CNO(...)       DAT_CALL(evd_modify_cno_func, __VA_ARGS__)
#define DAT_EVD_ENABLE(...)           DAT_CALL(evd_enable_func, __VA_ARGS__)
#define DAT_EVD_DISABLE(...)          DAT_CALL(evd_disable_func, __VA_ARGS__)
#define DAT_EVD_WAIT(...)             DAT_CALL(evd_wait_func, __VA_ARGS__)
#define DAT_EVD_RESIZE(...)           DAT_CALL(evd_resize_func, __VA_ARGS__)
#define DAT_EVD_POST_SE(...)          DAT_CALL(evd_post_se_func, __VA_ARGS__)
#define DAT_EVD_DEQUEUE(...)          DAT_CALL(evd_dequeue_func, __VA_ARGS__)
#define DAT_EVD_FREE(...)             DAT_CALL(evd_free_func, __VA_ARGS__)
#define DAT_EP_CREATE(...)            DAT_CALL(ep_create_func, __VA_ARGS__)
#define DAT_EP_QUERY(...)             DAT_CALL(ep_query_func, __VA_ARGS__)
#define DAT_EP_MODIFY(...)            DAT_CALL(ep_modify_func, __VA_ARGS__)
#define DAT_EP_CONNECT(...)           DAT_CALL(ep_connect_func, __VA_ARGS__)
#define DAT_EP_DUP_CONNECT(...)       DAT_CALL(ep_dup_connect_func, __VA_ARGS__)
#define DAT_EP_DISCONNECT(...)        DAT_CALL(ep_disconnect_func, __VA_ARGS__)
#define DAT_EP_POST_SEND(...)         DAT_CALL(ep_post_send_func, __VA_ARGS__)
#define DAT_EP_POST_RECV(...)         DAT_CALL(ep_post_recv_func, __VA_ARGS__)
#define DAT_EP_POST_RDMA_READ(...)    DAT_CALL(ep_post_rdma_read_func, __VA_ARGS__)
#define DAT_EP_POST_RDMA_WRITE(...)   DAT_CALL(ep_post_rdma_write_func, __VA_ARGS__)
#define DAT_EP_GET_STATUS(...)        DAT_CALL(ep_get_status_func, __VA_ARGS__)
#define DAT_EP_FREE(...)              DAT_CALL(ep_free_func, __VA_ARGS__)
#define DAT_LMR_CREATE(...)           DAT_CALL(lmr_create_func, __VA_ARGS__)
#define DAT_LMR_QUERY(...)            DAT_CALL(lmr_query_func, __VA_ARGS__)
#define DAT_LMR_FREE(...)             DAT_CALL(lmr_free_func, __VA_ARGS__)
#define DAT_RMR_CREATE(...)           DAT_CALL(rmr_create_func, __VA_ARGS__)
#define DAT_RMR_QUERY(...)            DAT_CALL(rmr_query_func, __VA_ARGS__)
#define DAT_RMR_BIND(...)             DAT_CALL(rmr_bind_func, __VA_ARGS__)
#define DAT_RMR_FREE(...)             DAT_CALL(rmr_free_func, __VA_ARGS__)
#define DAT_PSP_CREATE(...)           DAT_CALL(psp_create_func, __VA_ARGS__)
#define DAT_PSP_QUERY(...)            DAT_CALL(psp_query_func, __VA_ARGS__)
#define DAT_PSP_FREE(...)             DAT_CALL(psp_free_func, __VA_ARGS__)
#define DAT_RSP_CREATE(...)           DAT_CALL(rsp_create_func, __VA_ARGS__)
#define DAT_RSP_QUERY(...)            DAT_CALL(rsp_query_func, __VA_ARGS__)
#define DAT_RSP_FREE(...)             DAT_CALL(rsp_free_func, __VA_ARGS__)
#define DAT_PZ_CREATE(...)            DAT_CALL(pz_create_func, __VA_ARGS__)
#define DAT_PZ_QUERY(...)             DAT_CALL(pz_query_func, __VA_ARGS__)
#define DAT_PZ_FREE(...)              DAT_CALL(pz_free_func, __VA_ARGS__)
#define DAT_PSP_CREATE_ANY(...)       DAT_CALL(psp_create_any_func, __VA_ARGS__)
#define DAT_EP_RESET(...)             DAT_CALL(ep_reset_func, __VA_ARGS__)
#define DAT_EVD_SET_UNWAITABLE(...)   DAT_CALL(evd_set_unwaitable_func, __VA_ARGS__)
#define DAT_EVD_CLEAR_UNWAITABLE(...) DAT_CALL(evd_clear_unwaitable_func, __VA_ARGS__)
#define DAT_LMR_SYNC_RDMA_READ(...)   DAT_CALL(lmr_sync_rdma_read_func, __VA_ARGS__)
#define DAT_LMR_SYNC_RDMA_WRITE(...)  DAT_CALL(lmr_sync_rdma_write_func, __VA_ARGS__)
#define DAT_EP_CREATE_WITH_SRQ(...)   DAT_CALL(ep_create_with_srq_func, __VA_ARGS__)
#define DAT_EP_RECV_QUERY(...)        DAT_CALL(ep_recv_query_func, __VA_ARGS__)
#define DAT_EP_SET_WATERMARK(...)     DAT_CALL(ep_set_watermark_func, __VA_ARGS__)
#define DAT_SRQ_CREATE(...)           DAT_CALL(srq_create_func, __VA_ARGS__)
#define DAT_SRQ_FREE(...)             DAT_CALL(srq_free_func, __VA_ARGS__)
#define DAT_SRQ_POST_RECV(...)        DAT_CALL(srq_post_recv_func, __VA_ARGS__)
#define DAT_SRQ_QUERY(...)            DAT_CALL(srq_query_func, __VA_ARGS__)
#define DAT_SRQ_RESIZE(...)           DAT_CALL(srq_resize_func, __VA_ARGS__)
#define DAT_SRQ_SET_LW(...)           DAT_CALL(srq_set_lw_func, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
