/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: calls of other threads beside it. */
#include "cases/shared/siblings.h"
#include "clauses/lmr_create.h"

static const struct sibling_row siblings[] = {
    {"lmr", SIBLING_LMR},
};

FAMILY(lmr_create, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_made_beside(t, SIBLING_LMR, row);
}
