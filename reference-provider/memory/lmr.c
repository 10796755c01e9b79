/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/lmr.h"
#include "base/daplref.h"
#include "base/dat_abi.h"
#include "base/handle.h"
#include "base/ia.h"
#include "event/owner.h"
#include "memory/lmr_gather.h"
#include "memory/pz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_SLOT ((uint32_t)REF_MAX_LMRS)

/*
 * Zeroed slots form the list of free slots, because each then leads to the next slot. So no page is
 * touched before a slot in it is used.
 */
bool lmr_table_init(struct lmr_table *table)
{
        table->slots = calloc(REF_MAX_LMRS, sizeof(*table->slots));
        table->first_free = 0;
        table->last_free = REF_MAX_LMRS - 1;
        return table->slots;
}

static uint32_t next_free(const struct lmr_table *table, uint32_t index)
{
        return index + 1 + table->slots[index].skipped;
}

static void set_next_free(struct lmr_table *table, uint32_t index, uint32_t next)
{
        table->slots[index].skipped = next - (index + 1);
}

void lmr_table_destroy(struct lmr_table *table)
{
        free(table->slots);
}

/* The privileges of an LMR. A lenient IA adds local read. */
DAT_MEM_PRIV_FLAGS lmr_grants(const struct lmr *lmr)
{
        unsigned int implied =
            lmr->obj.ia->lenient ? DAT_MEM_PRIV_LOCAL_READ_FLAG : DAT_MEM_PRIV_NONE_FLAG;

        return (DAT_MEM_PRIV_FLAGS)((unsigned int)lmr->privileges | implied);
}

/*
 * Slots are reused in the order in which they were freed, so stale contexts stay invalid for long.
 */
static bool slot_take(struct ia *ia, struct lmr *lmr)
{
        struct lmr_table *table = &ia->lmrs;
        struct lmr_slot *slot;
        uint32_t index;

        pthread_mutex_lock(&ia->lock);
        index = table->first_free;
        if (index == NO_SLOT) {
                pthread_mutex_unlock(&ia->lock);
                return false;
        }
        slot = &table->slots[index];
        table->first_free = next_free(table, index);
        if (table->first_free == NO_SLOT)
                table->last_free = NO_SLOT;
        pthread_mutex_unlock(&ia->lock);

        slot->generation = (slot->generation + 1) % (UINT32_C(1) << (32 - LMR_SLOT_BITS));
        if (!slot->generation)
                slot->generation = 1;
        slot->lkey = lmr->mr->lkey;
        slot->privileges = lmr_grants(lmr);
        slot->pz = lmr->pz;
        slot->lmr = lmr;
        slot->start = (uint64_t)(uintptr_t)lmr->mr->addr;
        slot->length = lmr->length;
        lmr->context = slot->generation << LMR_SLOT_BITS | index;
        atomic_store_explicit(&slot->context, lmr->context, memory_order_release);
        return true;
}

static void slot_give(struct ia *ia, struct lmr *lmr)
{
        struct lmr_table *table = &ia->lmrs;
        uint32_t index = lmr->context & LMR_SLOT_MASK;
        struct lmr_slot *slot = &table->slots[index];

        atomic_store(&slot->context, 0);
        pthread_mutex_lock(&ia->lock);
        slot->lmr = NULL;
        set_next_free(table, index, NO_SLOT);
        if (table->last_free == NO_SLOT)
                table->first_free = index;
        else
                set_next_free(table, table->last_free, index);
        table->last_free = index;
        pthread_mutex_unlock(&ia->lock);
}

/* Returns the LMR of a context, pinned until object_put(), or NULL. */
struct lmr *lmr_by_context(struct ia *ia, DAT_LMR_CONTEXT context)
{
        const struct lmr_slot *slot = lmr_slot_of(&ia->lmrs, context);
        struct lmr *lmr = NULL;

        pthread_mutex_lock(&ia->lock);
        if (lmr_slot_has(slot, context) && slot->lmr && object_pin(&slot->lmr->obj))
                lmr = slot->lmr;
        pthread_mutex_unlock(&ia->lock);
        return lmr;
}

/* lmr_gather() for any number of segments, including empty ones. */
DAT_RETURN lmr_gather_any(const struct ia *ia, const struct pz *pz, DAT_MEM_PRIV_FLAGS need,
                          const DAT_LMR_TRIPLET *iov, DAT_COUNT segments, struct ibv_sge *sge,
                          int *num_sge, DAT_VLEN *total)
{
        DAT_RETURN ret;

        *num_sge = 0;
        *total = 0;
        for (DAT_COUNT i = 0; i < segments; i++) {
                if (!iov[i].segment_length)
                        continue;
                ret = lmr_check_segment(ia, pz, need, &iov[i], &sge[(*num_sge)++]);
                if (ret != DAT_SUCCESS)
                        return ret;
                *total += iov[i].segment_length;
        }
        return DAT_SUCCESS;
}

static bool key_is_live(const struct ia *ia, uint32_t lkey)
{
        for (uint32_t i = 0; i < REF_MAX_LMRS; i++) {
                const struct lmr_slot *slot = &ia->lmrs.slots[i];

                if (atomic_load_explicit(&slot->context, memory_order_acquire) &&
                    slot->lkey == lkey)
                        return true;
        }
        return false;
}

/* Whether all LMRs of a scatter list still exist. Slow: reads every slot. */
bool lmr_serves(const struct ia *ia, const struct ibv_sge *sge, int num_sge)
{
        for (int i = 0; i < num_sge; i++) {
                if (!key_is_live(ia, sge[i].lkey))
                        return false;
        }
        return true;
}

static int access_of(DAT_MEM_PRIV_FLAGS privileges)
{
        int access = 0;

        /* Verbs requires local write for remote write. Our own check of local write is separate. */
        if (privileges & (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG))
                access |= IBV_ACCESS_LOCAL_WRITE;
        if (privileges & DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
                access |= IBV_ACCESS_REMOTE_WRITE;
        if (privileges & DAT_MEM_PRIV_REMOTE_READ_FLAG)
                access |= IBV_ACCESS_REMOTE_READ;
        return access;
}

/* Whether every byte of the range is in a shared mapping. */
static bool range_is_shared(uint64_t start, uint64_t length)
{
        FILE *maps = fopen("/proc/self/maps", "re");
        char line[512];
        bool shared = false;

        if (!maps)
                return true;
        while (length && fgets(line, sizeof(line), maps)) {
                char *dash;
                char *blank;
                uint64_t from = strtoull(line, &dash, 16);
                uint64_t to = *dash == '-' ? strtoull(dash + 1, &blank, 16) : 0;

                if (to <= start || from > start)
                        continue;
                shared = blank[0] == ' ' && strlen(blank) > 5 && blank[4] == 's';
                if (!shared)
                        break;
                length = length > to - start ? length - (to - start) : 0;
                start = to;
        }
        (void)fclose(maps);
        return shared && !length;
}

static DAT_RETURN describe(struct lmr *lmr, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                           DAT_VLEN length, void **start)
{
        struct lmr *source;
        bool ours;

        lmr->mem_type = type;
        lmr->region = region;
        lmr->length = length;
        switch (type) {
        case DAT_MEM_TYPE_VIRTUAL:
                *start = region.for_va;
                break;
        case DAT_MEM_TYPE_SHARED_VIRTUAL:
                if (!region.for_shared_memory.shared_memory_id)
                        return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
                *start = region.for_shared_memory.virtual_address;
                memcpy(lmr->cookie, *region.for_shared_memory.shared_memory_id,
                       sizeof(lmr->cookie));
                lmr->region.for_shared_memory.shared_memory_id = &lmr->cookie;
                if (*start && !range_is_shared((uint64_t)(uintptr_t)*start, length))
                        return REF_ERROR(DAT_INVALID_STATE, 0);
                break;
        case DAT_MEM_TYPE_LMR:
                source = object_get(region.for_lmr_handle, DAT_HANDLE_TYPE_LMR);
                if (!source)
                        return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
                ours = source->obj.ia == lmr->pz->obj.ia;
                *start = source->mr->addr;
                lmr->length = source->length;
                object_put(source);
                if (!ours)
                        return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
                break;
        default:
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        if (!*start)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        return DAT_SUCCESS;
}

static DAT_RETURN registration_error(int error)
{
        if (error == EFAULT || error == EINVAL || error == EACCES || error == EPERM)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

static DAT_RETURN register_region(struct ia *ia, struct lmr *lmr, void *start)
{
        DAT_RETURN ret;

        if (!lmr->length || lmr->length > ia->limits.lmr_length ||
            (uint64_t)(uintptr_t)start + lmr->length < (uint64_t)(uintptr_t)start)
                return REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        lmr->mr = ibv_reg_mr(lmr->pz->pd, start, lmr->length, access_of(lmr->privileges));
        if (!lmr->mr)
                return registration_error(errno);
        ret = object_publish(ia, &lmr->obj, DAT_HANDLE_TYPE_LMR);
        if (ret != DAT_SUCCESS)
                goto dereg;
        if (slot_take(ia, lmr))
                return DAT_SUCCESS;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
        object_kill(&lmr->obj);
        object_unpublish(&lmr->obj);
dereg:
        ibv_dereg_mr(lmr->mr);
        return ret;
}

/*
 * dat_lmr_create(3DAT). The remote context is the verbs key, or 0 without remote privileges. The
 * local context is the provider's slot and generation.
 */
DAT_RETURN ref_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
                          DAT_VLEN length, DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS privileges,
                          DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
                          DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
                          DAT_VADDR *registered_address)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        struct lmr *lmr = NULL;
        struct pz *pz = NULL;
        void *start = NULL;
        DAT_RETURN ret;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
        pz = object_get(pz_handle, DAT_HANDLE_TYPE_PZ);
        if (!pz || pz->obj.ia != ia)
                goto out;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
        if ((unsigned int)privileges & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG)
                goto out;
        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
        if (!lmr_handle)
                goto out;
        ret = REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        lmr = calloc(1, sizeof(*lmr));
        if (!lmr)
                goto out;
        lmr->privileges = privileges;
        lmr->pz = pz;
        ret = describe(lmr, type, region, length, &start);
        if (ret != DAT_SUCCESS)
                goto out;
        ret = object_use(&pz->obj, REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
        if (ret != DAT_SUCCESS)
                goto out;
        ret = register_region(ia, lmr, start);
        if (ret != DAT_SUCCESS) {
                object_unuse(&pz->obj);
                goto out;
        }
        *lmr_handle = object_handle(&lmr->obj);
        if (lmr_context)
                *lmr_context = lmr->context;
        if (rmr_context)
                *rmr_context =
                    privileges & (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
                        ? lmr->mr->rkey
                        : 0;
        if (registered_length)
                *registered_length = lmr->length;
        if (registered_address)
                *registered_address = (DAT_VADDR)(uintptr_t)start;
        lmr = NULL;
out:
        free(lmr);
        if (pz)
                object_put(pz);
        object_put(ia);
        return ret;
}

/* dat_lmr_query(3DAT) */
DAT_RETURN ref_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
        struct lmr *lmr = object_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
        DAT_RETURN ret = DAT_SUCCESS;
        bool remote;

        if (!lmr)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
        if ((unsigned int)mask & ~(unsigned int)DAT_LMR_FIELD_ALL)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (!param)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        if (ret == DAT_SUCCESS) {
                remote = lmr->privileges &
                         (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
                *param = (DAT_LMR_PARAM){
                    .ia_handle = abi_ia_handle(&lmr->obj.ia->obj),
                    .mem_type = lmr->mem_type,
                    .region_desc = lmr->region,
                    .length = lmr->length,
                    .pz_handle = object_handle(&lmr->pz->obj),
                    .mem_priv = lmr->privileges,
                    .lmr_context = lmr->context,
                    .rmr_context = remote ? lmr->mr->rkey : 0,
                    .registered_size = lmr->length,
                    .registered_address = (DAT_VADDR)(uintptr_t)lmr->mr->addr,
                };
        }
        object_put(lmr);
        return ret;
}

/* dat_lmr_free(3DAT). Returns DAT_INVALID_STATE while an RMR is bound to it. */
DAT_RETURN ref_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
        struct lmr *lmr = object_get(lmr_handle, DAT_HANDLE_TYPE_LMR);
        DAT_RETURN ret;

        if (!lmr)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_LMR);
        ret = object_retire(&lmr->obj, REF_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE));
        if (ret == DAT_SUCCESS)
                lmr_destroy(lmr);
        return ret;
}

/* Frees a dead LMR. */
void lmr_destroy(struct lmr *lmr)
{
        slot_give(lmr->obj.ia, lmr);
        ibv_dereg_mr(lmr->mr);
        object_unuse(&lmr->pz->obj);
        object_unpublish(&lmr->obj);
        free(lmr);
}

static DAT_RETURN sync_check(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
                             DAT_VLEN num_segments)
{
        struct ia *ia = object_get(ia_handle, DAT_HANDLE_TYPE_IA);
        DAT_RETURN ret = DAT_SUCCESS;
        struct ibv_sge sge;
        DAT_VLEN length;
        int num_sge;

        if (!ia)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
        if (num_segments && !segments)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        for (DAT_VLEN i = 0; i < num_segments && ret == DAT_SUCCESS; i++) {
                if (lmr_gather(ia, NULL, DAT_MEM_PRIV_NONE_FLAG, &segments[i], 1, &sge, &num_sge,
                               &length) != DAT_SUCCESS)
                        ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        }
        object_put(ia);
        return ret;
}

/* dat_lmr_sync_rdma_read(3DAT). Memory is coherent, so only the segments are checked. */
DAT_RETURN ref_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
                                  DAT_VLEN num_segments)
{
        return sync_check(ia_handle, segments, num_segments);
}

/* dat_lmr_sync_rdma_write(3DAT). Memory is coherent, so only the segments are checked. */
DAT_RETURN ref_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *segments,
                                   DAT_VLEN num_segments)
{
        return sync_check(ia_handle, segments, num_segments);
}
