/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint/rmr.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/handle.h"
#include "base/ia.h"
#include "base/lock.h"
#include "base/pool.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "event/evd.h"
#include "event/evd_cq.h"
#include "memory/lmr.h"
#include "memory/pz.h"

#include <stdlib.h>
#include <string.h>

#define BAD_RMR REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR)

#define REMOTE_PRIVILEGES (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* dat_rmr_create(3DAT) */
DAT_RETURN ref_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
        struct pz *pz = object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        struct rmr *rmr;

        if (!pz)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        if (!rmr_handle)
                goto put;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        rmr = calloc(1, sizeof(*rmr));
        if (!rmr)
                goto put;
        rmr->pz = pz;
        pthread_mutex_init(&rmr->lock, NULL);
        ret = object_use(&pz->obj, REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
        if (ret != DAT_SUCCESS)
                goto free;
        ret = object_publish(pz->obj.ia, &rmr->obj, DAT_HANDLE_TYPE_RMR);
        if (ret != DAT_SUCCESS)
                goto unuse;
        *rmr_handle = object_handle(&rmr->obj);
        goto put;
unuse:
        object_unuse(&pz->obj);
free:
        free(rmr);
put:
        object_put(pz);
        return ret;
}

/* dat_rmr_query(3DAT) */
DAT_RETURN ref_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
        struct rmr *rmr = object_get(handle, DAT_HANDLE_TYPE_RMR);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!rmr)
                return BAD_RMR;
        if ((unsigned int)mask & ~(unsigned int)DAT_RMR_FIELD_ALL) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        } else if (!param) {
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        } else {
                pthread_mutex_lock(&rmr->lock);
                *param = (DAT_RMR_PARAM){
                    .ia_handle = abi_ia_handle(&rmr->obj.ia->obj),
                    .pz_handle = object_handle(&rmr->pz->obj),
                    .lmr_triplet = rmr->triplet,
                    .mem_priv = rmr->privileges,
                    .rmr_context = rmr->mr ? rmr->mr->rkey : 0,
                };
                abi_tell_rmr_scope(param);
                pthread_mutex_unlock(&rmr->lock);
        }
        object_put(rmr);
        return ret;
}

static void unbind(struct rmr *rmr)
{
        if (rmr->mr)
                ibv_dereg_mr(rmr->mr);
        if (rmr->lmr)
                object_unuse(&rmr->lmr->obj);
        rmr->mr = NULL;
        rmr->lmr = NULL;
        memset(&rmr->triplet, 0, sizeof(rmr->triplet));
        rmr->privileges = DAT_MEM_PRIV_NONE_FLAG;
}

static DAT_RETURN check_bind(const struct rmr *rmr, const struct lmr *lmr,
                             const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS privileges)
{
        uint64_t start = (uint64_t)(uintptr_t)lmr->mr->addr;
        uint64_t offset = triplet->virtual_address - start;

        if (lmr->pz != rmr->pz)
                return REF_ERROR(DAT_PROTECTION_VIOLATION, 0);
        if (triplet->virtual_address < start || offset > lmr->length ||
            triplet->segment_length > lmr->length - offset)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG &&
            !(lmr_grants(lmr) & DAT_MEM_PRIV_LOCAL_READ_FLAG))
                return REF_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_READ);
        if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG &&
            !(lmr->privileges & DAT_MEM_PRIV_LOCAL_WRITE_FLAG))
                return REF_ERROR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_RDMA_WRITE);
        return DAT_SUCCESS;
}

static void *region_start(const struct lmr *lmr, const DAT_LMR_TRIPLET *triplet)
{
        return (char *)lmr->mr->addr +
               (triplet->virtual_address - (uint64_t)(uintptr_t)lmr->mr->addr);
}

/*
 * Binds by registering exactly the region. On soft-RoCE a verbs window lets a peer access the whole
 * LMR. A bind without privileges registers nothing, since siw allows reads of any registered
 * region. The bind is in force on return.
 */
static DAT_RETURN bind_region(struct rmr *rmr, struct lmr *lmr, const DAT_LMR_TRIPLET *triplet,
                              DAT_MEM_PRIV_FLAGS privileges)
{
        struct ibv_mr *mr = NULL;
        int access = 0;
        DAT_RETURN ret = DAT_SUCCESS;

        if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
                access |= IBV_ACCESS_REMOTE_READ;
        if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
                access |= IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE;
        if (lmr) {
                ret = object_use(&lmr->obj, REF_ERROR(DAT_PRIVILEGES_VIOLATION, 0));
                if (ret != DAT_SUCCESS)
                        return ret;
        }
        if (lmr && access) {
                mr = ibv_reg_mr(rmr->pz->pd, region_start(lmr, triplet), triplet->segment_length,
                                access);
                if (!mr) {
                        object_unuse(&lmr->obj);
                        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
                }
        }
        unbind(rmr);
        rmr->mr = mr;
        rmr->lmr = lmr;
        if (lmr)
                rmr->triplet = *triplet;
        rmr->privileges = lmr ? privileges : DAT_MEM_PRIV_NONE_FLAG;
        return ret;
}

static DAT_RETURN bind_locked(struct rmr *rmr, struct ep *ep, const DAT_LMR_TRIPLET *triplet,
                              DAT_MEM_PRIV_FLAGS privileges, struct wr *wr,
                              DAT_RMR_CONTEXT *context)
{
        struct lmr *lmr = NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        if (triplet->segment_length) {
                lmr = lmr_by_context(ep->obj.ia, triplet->lmr_context);
                if (!lmr)
                        return REF_ERROR(DAT_PRIVILEGES_VIOLATION, 0);
                ret = check_bind(rmr, lmr, triplet, privileges);
        }
        /* An EP that is not connected flushes the bind, which then must have no effect. */
        if (ret == DAT_SUCCESS && atomic_load(&ep->state) == EP_CONNECTED)
                ret = bind_region(rmr, lmr, triplet, privileges);
        if (ret == DAT_SUCCESS) {
                wr->rmr = object_handle(&rmr->obj);
                *context = rmr->mr ? rmr->mr->rkey : 0;
        }
        if (lmr)
                object_put(lmr);
        return ret;
}

static DAT_RETURN post_bind(struct rmr *rmr, struct ep *ep, const DAT_LMR_TRIPLET *triplet,
                            DAT_MEM_PRIV_FLAGS privileges, DAT_RMR_COOKIE cookie,
                            DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
        struct evd *evd = ep_request_target(ep);
        int state = atomic_load(&ep->state);
        struct wr *wr;
        DAT_RETURN ret;

        if (ep->pz != rmr->pz)
                return REF_ERROR(DAT_PROTECTION_VIOLATION, 0);
        ret = ep_check_flags(ep, flags,
                             DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
                                 DAT_COMPLETION_BARRIER_FENCE_FLAG,
                             DAT_INVALID_ARG6);
        if (ret != DAT_SUCCESS)
                return ret;
        if (state != EP_CONNECTED && !ep_state_flushes(state))
                return ep_state_error(ep);
        wr = pool_take(&ep->requests, ep->attr.max_request_dtos);
        if (!wr && ep->attr.max_request_dtos) {
                evd_drain(evd);
                wr = pool_take(&ep->requests, ep->attr.max_request_dtos);
        }
        if (!wr)
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_CREDITS);
        wr->kind = WR_BIND;
        wr->flags = flags;
        wr->cookie = cookie;
        wr->length = 0;
        pthread_mutex_lock(&rmr->lock);
        ret = bind_locked(rmr, ep, triplet, privileges, wr, context);
        pthread_mutex_unlock(&rmr->lock);
        if (ret == DAT_SUCCESS && state == EP_CONNECTED) {
                evd_bind_ready(evd, wr);
                return ret;
        }
        if (ret == DAT_SUCCESS && evd_flush_one(evd, ep, wr))
                return ret;
        evd_withdraw(evd, wr);
        return ret == DAT_SUCCESS ? REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD) : ret;
}

/*
 * dat_rmr_bind(3DAT). The bind takes effect in the call, but its completion keeps its place in the
 * posting order. A segment of length 0 unbinds.
 */
DAT_RETURN ref_rmr_bind(DAT_RMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet,
                        DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep_handle,
                        DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
        struct rmr *rmr = object_get(handle, DAT_HANDLE_TYPE_RMR);
        struct ep *ep = object_get(ep_handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!rmr)
                ret = BAD_RMR;
        else if (!ep || ep->obj.ia != rmr->obj.ia)
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        else if (!triplet)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if ((unsigned int)privileges & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (!context)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        if (ret == DAT_SUCCESS) {
                gate_enter(&ep->gate);
                ret = post_bind(rmr, ep, triplet, privileges, cookie, flags, context);
                gate_leave(&ep->gate);
        }
        if (ep)
                object_put(ep);
        if (rmr)
                object_put(rmr);
        return ret;
}

/* dat_rmr_free(3DAT): also frees a bound RMR. */
DAT_RETURN ref_rmr_free(DAT_RMR_HANDLE handle)
{
        struct rmr *rmr = object_get(handle, DAT_HANDLE_TYPE_RMR);
        DAT_RETURN ret;

        if (!rmr)
                return BAD_RMR;
        ret = object_retire(&rmr->obj, BAD_RMR);
        if (ret == DAT_SUCCESS)
                rmr_destroy(rmr);
        return ret;
}

/* Frees a dead RMR. */
void rmr_destroy(struct rmr *rmr)
{
        unbind(rmr);
        object_unuse(&rmr->pz->obj);
        object_unpublish(&rmr->obj);
        pthread_mutex_destroy(&rmr->lock);
        free(rmr);
}
