/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_RMR_H
#define DAPLREF_RMR_H

#include <infiniband/verbs.h>
#include <pthread.h>

#include "base/handle.h"

struct lmr;
struct pz;

struct rmr {
        struct object obj;
        struct pz *pz;
        struct lmr *lmr; /* the LMR to which it is bound, or NULL */
        struct ibv_mr *mr;
        DAT_LMR_TRIPLET triplet;
        DAT_MEM_PRIV_FLAGS privileges;
        pthread_mutex_t lock;
};

DAT_RETURN ref_rmr_create(DAT_PZ_HANDLE, DAT_RMR_HANDLE *);
DAT_RETURN ref_rmr_query(DAT_RMR_HANDLE, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM *);
DAT_RETURN ref_rmr_bind(DAT_RMR_HANDLE, const DAT_LMR_TRIPLET *, DAT_MEM_PRIV_FLAGS, DAT_EP_HANDLE,
                        DAT_RMR_COOKIE, DAT_COMPLETION_FLAGS, DAT_RMR_CONTEXT *);
DAT_RETURN ref_rmr_free(DAT_RMR_HANDLE);
void rmr_destroy(struct rmr *rmr);

#endif
