/* SPDX-License-Identifier: BSD-2-Clause */
/* A row whose id is no word. */
#include "case.h"

static const struct odd {
        const char *id;
} odds[] = {{"Odd Row"}};

FAMILY_WITH(odd, row, odds, .needs = 0)
{
        record(t, "%s", row->id);
}
