/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: calls of other threads beside it. */
#include "cases/shared/siblings.h"
#include "clauses/psp_create.h"

static const struct sibling_row siblings[] = {
    {"psp", SIBLING_PSP},
};

FAMILY(psp_create, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_made_beside(t, SIBLING_PSP, row);
}
