/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: calls of other threads beside it. */
#include "cases/shared/siblings.h"
#include "clauses/ep_free.h"

static const struct sibling_row siblings[] = {
    {"ep", SIBLING_EP},
    {"rmr", SIBLING_RMR},
};

FAMILY(ep_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_EP, row);
}
