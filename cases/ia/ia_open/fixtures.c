/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ia/ia_open/fixtures.h"

DAT_COUNT places(struct test *t, DAT_COUNT wanted)
{
        DAT_COUNT most = ia_attr(t)->max_evd_qlen;

        return wanted < most ? wanted : most;
}
