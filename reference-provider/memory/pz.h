/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef DAPLREF_PZ_H
#define DAPLREF_PZ_H

#include <infiniband/verbs.h>

#include "base/handle.h"

struct pz {
        struct object obj;
        struct ibv_pd *pd;
};

DAT_RETURN ref_pz_create(DAT_IA_HANDLE, DAT_PZ_HANDLE *);
DAT_RETURN ref_pz_query(DAT_PZ_HANDLE, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM *);
DAT_RETURN ref_pz_free(DAT_PZ_HANDLE);
void pz_destroy(struct pz *pz);

#endif
