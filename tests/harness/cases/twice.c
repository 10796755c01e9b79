/* SPDX-License-Identifier: BSD-2-Clause */
/* A case whose id is taken: by again.c. */
#include "case.h"

CASE(twice, the_same)
{
        record(t, "one");
}
