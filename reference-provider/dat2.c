/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/daplref.h"
#include "base/handle.h"
#include "connect/cr.h"
#include "endpoint/rmr.h"
#include "memory/lmr.h"
#include "provider.h"

/* Adds `by` to an argument subtype that is `first` or higher, since 2.0 has more arguments. */
static DAT_RETURN shift_argument(DAT_RETURN ret, int first, unsigned int by)
{
        bool about =
            DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER && DAT_GET_SUBTYPE(ret) >= (DAT_RETURN)first;

        return about ? ret + by : ret;
}

static DAT_RETURN check_va_type(DAT_VA_TYPE type, int argument)
{
        if (type == DAT_VA_TYPE_VA)
                return DAT_SUCCESS;
        return type == DAT_VA_TYPE_ZB ? REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0)
                                      : REF_ERROR(DAT_INVALID_PARAMETER, argument);
}

static DAT_RETURN dat2_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type,
                                  DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
                                  DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
                                  DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
                                  DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                                  DAT_VADDR *registered_address)
{
        DAT_RETURN ret = check_va_type(va_type, DAT_INVALID_ARG7);

        if (ret == DAT_SUCCESS)
                ret = shift_argument(ref_lmr_create(ia, type, region, length, pz, privileges, lmr,
                                                    lmr_context, rmr_context, registered_length,
                                                    registered_address),
                                     DAT_INVALID_ARG7, 1);
        return ret;
}

/* Checks that the LMR handle of a bind is that of its triplet. An unbind needs no LMR. */
static DAT_RETURN check_lmr(DAT_LMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet)
{
        struct lmr *lmr = NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        if (!triplet || !triplet->segment_length)
                return ret;
        lmr = object_get(handle, DAT_HANDLE_TYPE_LMR);
        if (!lmr)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
        if (lmr->context != triplet->lmr_context)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        object_put(lmr);
        return ret;
}

static DAT_RETURN dat2_rmr_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
                                const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges,
                                DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
                                DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
        DAT_RETURN ret = check_va_type(va_type, DAT_INVALID_ARG5);

        if (ret == DAT_SUCCESS)
                ret = check_lmr(lmr, triplet);
        if (ret != DAT_SUCCESS)
                return ret;
        ret = ref_rmr_bind(rmr, triplet, privileges, ep, cookie, flags, context);
        return shift_argument(shift_argument(ret, DAT_INVALID_ARG2, 1), DAT_INVALID_ARG5, 1);
}

/* Calls of 2.0 that 1.2 lacks: communicators, RMRs of one EP, invalidation, CNO descriptors. */

static DAT_RETURN dat2_csp_create(DAT_IA_HANDLE ia, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
                                  DAT_EVD_HANDLE evd, DAT_CSP_HANDLE *csp)
{
        (void)ia, (void)comm, (void)address, (void)evd, (void)csp;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_csp_query(DAT_CSP_HANDLE csp, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
        (void)csp, (void)mask, (void)param;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_csp_free(DAT_CSP_HANDLE csp)
{
        (void)csp;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address,
                                         DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data)
{
        (void)ep, (void)address, (void)timeout, (void)size, (void)data;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
        (void)pz, (void)rmr;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT segments,
                                                    DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
                                                    DAT_COMPLETION_FLAGS flags,
                                                    DAT_BOOLEAN invalidate, DAT_RMR_CONTEXT context)
{
        (void)ep, (void)segments, (void)iov, (void)cookie, (void)flags, (void)invalidate;
        (void)context;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
                                                DAT_DTO_COOKIE cookie,
                                                const DAT_RMR_TRIPLET *remote,
                                                DAT_COMPLETION_FLAGS flags)
{
        (void)ep, (void)local, (void)cookie, (void)remote, (void)flags;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_cno_fd_create(DAT_IA_HANDLE ia, DAT_FD *fd, DAT_CNO_HANDLE *cno)
{
        (void)ia, (void)fd, (void)cno;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_cno_trigger(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
        (void)cno, (void)evd;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name,
                                     DAT_BOOLEAN *related)
{
        (void)ia, (void)name, (void)related;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

static DAT_RETURN dat2_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP operation, va_list args)
{
        (void)handle, (void)operation, (void)args;
        return REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
}

/* Sets the slots of the provider table that differ between the ABIs. */
void abi_complete_table(DAT_PROVIDER *table)
{
        table->cr_reject_func = ref_cr_reject;
        table->lmr_create_func = dat2_lmr_create;
        table->rmr_bind_func = dat2_rmr_bind;
        table->csp_create_func = dat2_csp_create;
        table->csp_query_func = dat2_csp_query;
        table->csp_free_func = dat2_csp_free;
        table->ep_common_connect_func = dat2_ep_common_connect;
        table->rmr_create_for_ep_func = dat2_rmr_create_for_ep;
        table->ep_post_send_with_invalidate_func = dat2_ep_post_send_with_invalidate;
        table->ep_post_rdma_read_to_rmr_func = dat2_ep_post_rdma_read_to_rmr;
        table->cno_fd_create_func = dat2_cno_fd_create;
        table->cno_trigger_func = dat2_cno_trigger;
        table->ia_ha_related_func = dat2_ia_ha_related;
        table->handle_extendedop_func = dat2_handle_extendedop;
}
