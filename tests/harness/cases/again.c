/* SPDX-License-Identifier: BSD-2-Clause */
/* A case whose id is taken: by twice.c. */
#include "case.h"

CASE_WITH(twice, the_same, .needs = 0)
{
        record(t, "other");
}
