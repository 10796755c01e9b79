/* SPDX-License-Identifier: BSD-2-Clause */
/* The context of an LMR is a slot number and a generation, so a stale context is recognised. */
#ifndef DAPLREF_LMR_H
#define DAPLREF_LMR_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/handle.h"

struct ia;
struct pz;

struct lmr {
        struct object obj;
        struct pz *pz;
        struct ibv_mr *mr;
        DAT_MEM_TYPE mem_type;
        DAT_REGION_DESCRIPTION region;
        char cookie[DAT_LMR_COOKIE_SIZE];
        DAT_VLEN length;
        DAT_MEM_PRIV_FLAGS privileges;
        DAT_LMR_CONTEXT context;
};

struct lmr_slot {
        _Atomic uint32_t context; /* 0 while the slot is empty */
        uint32_t generation;
        uint32_t lkey;
        DAT_MEM_PRIV_FLAGS privileges;
        struct pz *pz;
        struct lmr *lmr;
        uint64_t start;
        uint64_t length;
        uint32_t skipped; /* the next free slot minus this one's neighbour, modulo 2^32 */
        uint32_t unused[3];
};

_Static_assert(sizeof(struct lmr_slot) == 64, "each post finds a slot by its index");

#define LMR_SLOT_BITS 14
#define LMR_SLOT_MASK ((UINT32_C(1) << LMR_SLOT_BITS) - 1)

_Static_assert((UINT32_C(1) << LMR_SLOT_BITS) >= REF_MAX_LMRS, "a context must hold each slot");

struct lmr_table {
        struct lmr_slot *slots;
        uint32_t first_free;
        uint32_t last_free;
};

DAT_RETURN ref_lmr_create(DAT_IA_HANDLE, DAT_MEM_TYPE, DAT_REGION_DESCRIPTION, DAT_VLEN,
                          DAT_PZ_HANDLE, DAT_MEM_PRIV_FLAGS, DAT_LMR_HANDLE *, DAT_LMR_CONTEXT *,
                          DAT_RMR_CONTEXT *, DAT_VLEN *, DAT_VADDR *);
DAT_RETURN ref_lmr_query(DAT_LMR_HANDLE, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM *);
DAT_RETURN ref_lmr_free(DAT_LMR_HANDLE);
DAT_RETURN ref_lmr_sync_rdma_read(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
DAT_RETURN ref_lmr_sync_rdma_write(DAT_IA_HANDLE, const DAT_LMR_TRIPLET *, DAT_VLEN);
bool lmr_table_init(struct lmr_table *table);
void lmr_table_destroy(struct lmr_table *table);
void lmr_destroy(struct lmr *lmr);
DAT_MEM_PRIV_FLAGS lmr_grants(const struct lmr *lmr);
struct lmr *lmr_by_context(struct ia *ia, DAT_LMR_CONTEXT context);

#endif
