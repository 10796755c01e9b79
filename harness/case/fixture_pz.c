/* SPDX-License-Identifier: BSD-2-Clause */
#include "case/limits.h"
#include "case/test.h"

DAT_PZ_HANDLE pz_of(struct test *t, DAT_IA_HANDLE ia)
{
        DAT_PZ_HANDLE made = DAT_HANDLE_NULL;

        arrange_one(PZ, dat_pz_create(ia, &made));
        object_add(t, OBJECT_PZ, made);
        return made;
}

DAT_PZ_HANDLE pz_new(struct test *t)
{
        return pz_of(t, t->ia);
}

DAT_PZ_HANDLE pz(struct test *t)
{
        if (t->pz == DAT_HANDLE_NULL)
                t->pz = pz_new(t);
        return t->pz;
}
