/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that libdat only passes on: to the slot of the same name in the table of the provider
 * that made the first argument.
 */

#include "handle.h"
#include "return_code.h"

/* clang-format off */
#define PARAMS_1(A)                               A a
#define PARAMS_2(A, B)                            A a, B b
#define PARAMS_3(A, B, C)                         A a, B b, C c
#define PARAMS_4(A, B, C, D)                      A a, B b, C c, D d
#define PARAMS_5(A, B, C, D, E)                   A a, B b, C c, D d, E e
#define PARAMS_6(A, B, C, D, E, F)                A a, B b, C c, D d, E e, F f
#define PARAMS_7(A, B, C, D, E, F, G)             A a, B b, C c, D d, E e, F f, G g
#define PARAMS_8(A, B, C, D, E, F, G, H)          A a, B b, C c, D d, E e, F f, G g, H h
#define PARAMS_11(A, B, C, D, E, F, G, H, I, J, K) \
        A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k
#define ARGS_1  a
#define ARGS_2  a, b
#define ARGS_3  a, b, c
#define ARGS_4  a, b, c, d
#define ARGS_5  a, b, c, d, e
#define ARGS_6  a, b, c, d, e, f
#define ARGS_7  a, b, c, d, e, f, g
#define ARGS_8  a, b, c, d, e, f, g, h
#define ARGS_11 a, b, c, d, e, f, g, h, i, j, k

/* count: of parameters, find: how, subtype: of DAT_INVALID_HANDLE, ...: the parameters' types */
#define DISPATCH(function, count, find, call, subtype, ...)                           \
        function(PARAMS_##count(__VA_ARGS__))                                         \
        {                                                                             \
                const DAT_PROVIDER *provider = find(a);                               \
                                                                                      \
                if (!provider)                                                        \
                        return DAT_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_##subtype);  \
                if (!provider->call##_func)                                           \
                        return DAT_ERROR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE);    \
                return provider->call##_func(ARGS_##count);                           \
        }

/* Calls that make, query, change and free objects. */
#define CALL(count, call, ...) \
        DISPATCH(DAT_RETURN dat_##call, count, handle_provider_probed, call, __VA_ARGS__)

/*
 * Calls that move data and reap events: no system call is spent on their handles. What is in order
 * goes on with its arguments where they came in; to all else, the function beside it looks.
 */
#define FAST(count, call, subtype, ...)                                               \
        DISPATCH(static __attribute__((noinline)) DAT_RETURN call, count,             \
                 handle_provider, call, subtype, __VA_ARGS__)                         \
        DAT_RETURN dat_##call(PARAMS_##count(__VA_ARGS__))                            \
        {                                                                             \
                const DAT_PROVIDER *provider = handle_provider_likely(a);             \
                                                                                      \
                if (!provider || !provider->call##_func)                              \
                        return call(ARGS_##count);                                    \
                return provider->call##_func(ARGS_##count);                           \
        }

/* Any object */
CALL(2, set_consumer_context, HANDLE1, DAT_HANDLE, DAT_CONTEXT)
CALL(2, get_consumer_context, HANDLE1, DAT_HANDLE, DAT_CONTEXT *)
CALL(2, get_handle_type, HANDLE1, DAT_HANDLE, DAT_HANDLE_TYPE *)

/* IA */
CALL(6, ia_query, HANDLE_IA, DAT_IA_HANDLE, DAT_EVD_HANDLE *, DAT_IA_ATTR_MASK, DAT_IA_ATTR *,
     DAT_PROVIDER_ATTR_MASK, DAT_PROVIDER_ATTR *)

/* PZ */
CALL(2, pz_create, HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE *)
CALL(3, pz_query, HANDLE_PZ, DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *)
CALL(1, pz_free, HANDLE_PZ, DAT_PZ_HANDLE)

/* LMR */
CALL(3, lmr_query, HANDLE_LMR, DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *)
CALL(1, lmr_free, HANDLE_LMR, DAT_LMR_HANDLE)
FAST(3, lmr_sync_rdma_read, HANDLE_IA, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN)
FAST(3, lmr_sync_rdma_write, HANDLE_IA, DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN)
CALL(11, lmr_create, HANDLE_IA, DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
     DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *, DAT_RMR_CONTEXT *,
     DAT_VLEN *, DAT_VADDR *)

/* RMR */
CALL(2, rmr_create, HANDLE_PZ, DAT_PZ_HANDLE, DAT_RMR_HANDLE *)
CALL(3, rmr_query, HANDLE_RMR, DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *)
FAST(7, rmr_bind, HANDLE_RMR, DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS,
     DAT_EP_HANDLE, DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *)
CALL(1, rmr_free, HANDLE_RMR, DAT_RMR_HANDLE)

/* EVD */
CALL(2, evd_resize, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_COUNT)
FAST(2, evd_post_se, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, const DAT_EVENT *)
FAST(2, evd_dequeue, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_EVENT *)
CALL(3, evd_query, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM *)
CALL(1, evd_free, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL(5, evd_create, HANDLE_IA, DAT_IA_HANDLE, DAT_COUNT, DAT_CNO_HANDLE, DAT_EVD_FLAGS,
     DAT_EVD_HANDLE *)
CALL(2, evd_modify_cno, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_CNO_HANDLE)
CALL(1, evd_enable, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
FAST(5, evd_wait, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE, DAT_TIMEOUT, DAT_COUNT, DAT_EVENT *,
     DAT_COUNT *)
CALL(1, evd_disable, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL(1, evd_set_unwaitable, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)
CALL(1, evd_clear_unwaitable, HANDLE_EVD_REQUEST, DAT_EVD_HANDLE)

/* CNO */
CALL(3, cno_create, HANDLE_IA, DAT_IA_HANDLE, DAT_OS_WAIT_PROXY_AGENT, DAT_CNO_HANDLE *)
CALL(2, cno_modify_agent, HANDLE_CNO, DAT_CNO_HANDLE, DAT_OS_WAIT_PROXY_AGENT)
CALL(3, cno_query, HANDLE_CNO, DAT_CNO_HANDLE, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM *)
CALL(1, cno_free, HANDLE_CNO, DAT_CNO_HANDLE)
CALL(3, cno_wait, HANDLE_CNO, DAT_CNO_HANDLE, DAT_TIMEOUT, DAT_EVD_HANDLE *)

/* EP */
CALL(7, ep_create, HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
     DAT_EVD_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
CALL(3, ep_query, HANDLE_EP, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, DAT_EP_PARAM *)
CALL(3, ep_modify, HANDLE_EP, DAT_EP_HANDLE, DAT_EP_PARAM_MASK, const DAT_EP_PARAM *)
CALL(8, ep_connect, HANDLE_EP, DAT_EP_HANDLE, DAT_IA_ADDRESS_PTR, DAT_CONN_QUAL, DAT_TIMEOUT,
     DAT_COUNT, const DAT_PVOID, DAT_QOS, DAT_CONNECT_FLAGS)
CALL(6, ep_dup_connect, HANDLE_EP, DAT_EP_HANDLE, DAT_EP_HANDLE, DAT_TIMEOUT, DAT_COUNT,
     const DAT_PVOID, DAT_QOS)
CALL(2, ep_disconnect, HANDLE_EP, DAT_EP_HANDLE, DAT_CLOSE_FLAGS)
FAST(5, ep_post_send, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
     DAT_COMPLETION_FLAGS)
FAST(5, ep_post_recv, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
     DAT_COMPLETION_FLAGS)
FAST(6, ep_post_rdma_read, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
     const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS)
FAST(6, ep_post_rdma_write, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE,
     const DAT_RMR_TRIPLET *, DAT_COMPLETION_FLAGS)
CALL(4, ep_get_status, HANDLE_EP, DAT_EP_HANDLE, DAT_EP_STATE *, DAT_BOOLEAN *, DAT_BOOLEAN *)
CALL(1, ep_free, HANDLE_EP, DAT_EP_HANDLE)
CALL(1, ep_reset, HANDLE_EP, DAT_EP_HANDLE)
CALL(8, ep_create_with_srq, HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_EVD_HANDLE, DAT_EVD_HANDLE,
     DAT_EVD_HANDLE, DAT_SRQ_HANDLE, const DAT_EP_ATTR *, DAT_EP_HANDLE *)
CALL(3, ep_recv_query, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT *, DAT_COUNT *)
CALL(3, ep_set_watermark, HANDLE_EP, DAT_EP_HANDLE, DAT_COUNT, DAT_COUNT)

/* SRQ */
CALL(4, srq_create, HANDLE_IA, DAT_IA_HANDLE, DAT_PZ_HANDLE, DAT_SRQ_ATTR *, DAT_SRQ_HANDLE *)
CALL(1, srq_free, HANDLE_SRQ, DAT_SRQ_HANDLE)
FAST(4, srq_post_recv, HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT, DAT_LMR_TRIPLET *, DAT_DTO_COOKIE)
CALL(3, srq_query, HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM *)
CALL(2, srq_resize, HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT)
CALL(2, srq_set_lw, HANDLE_SRQ, DAT_SRQ_HANDLE, DAT_COUNT)

/* PSP and RSP */
CALL(5, psp_create, HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
     DAT_PSP_HANDLE *)
CALL(5, psp_create_any, HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL *, DAT_EVD_HANDLE, DAT_PSP_FLAGS,
     DAT_PSP_HANDLE *)
CALL(3, psp_query, HANDLE_PSP, DAT_PSP_HANDLE, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM *)
CALL(1, psp_free, HANDLE_PSP, DAT_PSP_HANDLE)
CALL(5, rsp_create, HANDLE_IA, DAT_IA_HANDLE, DAT_CONN_QUAL, DAT_EP_HANDLE, DAT_EVD_HANDLE,
     DAT_RSP_HANDLE *)
CALL(3, rsp_query, HANDLE_RSP, DAT_RSP_HANDLE, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM *)
CALL(1, rsp_free, HANDLE_RSP, DAT_RSP_HANDLE)

/* CR */
CALL(3, cr_query, HANDLE_CR, DAT_CR_HANDLE, DAT_CR_PARAM_MASK, DAT_CR_PARAM *)
CALL(4, cr_accept, HANDLE_CR, DAT_CR_HANDLE, DAT_EP_HANDLE, DAT_COUNT, const DAT_PVOID)
CALL(1, cr_reject, HANDLE_CR, DAT_CR_HANDLE)
CALL(2, cr_handoff, HANDLE_CR, DAT_CR_HANDLE, DAT_CONN_QUAL)
/* clang-format on */
