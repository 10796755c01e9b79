/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/rmr.h"

DAT_RMR_HANDLE rmr_if_any(struct test *t, DAT_PZ_HANDLE zone)
{
        DAT_RMR_HANDLE made = DAT_HANDLE_NULL;

        if (!dat_is(dat_rmr_create(zone, &made), DAT_SUCCESS)) {
                record(t, "no RMR takes part: dat_rmr_create failed");
                return DAT_HANDLE_NULL;
        }
        adopt(t, DAT_HANDLE_TYPE_RMR, made);
        return made;
}
