/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/pz.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/destroy_async.h"
#include "base/handle.h"
#include "base/ia.h"

#include <errno.h>
#include <stdlib.h>

static struct ibv_pd *domain_take(struct ia *ia)
{
        return ia->domain ? ia->domain : ibv_alloc_pd(ia->verbs);
}

static void domain_give(struct ia *ia, struct ibv_pd *pd)
{
        if (pd != ia->domain)
                destroy_async_pd(ia, pd);
}

/* dat_pz_create(3DAT). A zone is a protection domain, unless the entry says one-domain. */
DAT_RETURN ref_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        struct pz *pz;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (!pz_handle)
                goto put;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_PROTECTION_DOMAIN);
        pz = calloc(1, sizeof(*pz));
        if (!pz)
                goto put;
        pz->pd = domain_take(ia);
        if (!pz->pd)
                goto free;
        ret = object_publish(ia, &pz->obj, DAT_HANDLE_TYPE_PZ);
        if (ret != DAT_SUCCESS)
                goto give;
        *pz_handle = object_handle(&pz->obj);
        goto put;
give:
        domain_give(ia, pz->pd);
free:
        free(pz);
put:
        object_put(ia);
        return ret;
}

/* dat_pz_query(3DAT) */
DAT_RETURN ref_pz_query(DAT_PZ_HANDLE pz_handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
        struct pz *pz = object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
        DAT_RETURN ret = DAT_SUCCESS;

        if (!pz)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        if ((unsigned int)mask & ~(unsigned int)DAT_PZ_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (!param)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else
                param->ia_handle = abi_ia_handle(&pz->obj.ia->obj);
        object_put(pz);
        return ret;
}

/* dat_pz_free(3DAT). Returns DAT_INVALID_STATE while an EP, LMR, RMR or SRQ uses the zone. */
DAT_RETURN ref_pz_free(DAT_PZ_HANDLE pz_handle)
{
        struct pz *pz = object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
        DAT_RETURN ret;

        if (!pz)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        ret = object_retire(&pz->obj, REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
        if (ret == DAT_SUCCESS)
                pz_destroy(pz);
        return ret;
}

/* Frees a dead PZ. */
void pz_destroy(struct pz *pz)
{
        domain_give(pz->obj.ia, pz->pd);
        object_unpublish(&pz->obj);
        free(pz);
}
