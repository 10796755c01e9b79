/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cr.h"
#include "endpoint/rmr.h"
#include "memory/lmr.h"
#include "provider.h"

static DAT_RETURN dat1_cr_reject(DAT_CR_HANDLE cr)
{
        return ref_cr_reject(cr, 0, NULL);
}

/* Sets the slots of the provider table that differ between the ABIs. */
void abi_complete_table(DAT_PROVIDER *table)
{
        table->cr_reject_func = dat1_cr_reject;
        table->lmr_create_func = ref_lmr_create;
        table->rmr_bind_func = ref_rmr_bind;
}
