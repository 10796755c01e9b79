/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that fixtures do without, because a probe got no answer from them. */
#include "case/test.h"

bool is_asked(struct test *t, enum unasked call)
{
        const char *why = t->settings->probe->unasked[call];
        uint32_t bit = UINT32_C(1) << call;

        if (!why[0])
                return true;
        if (!(atomic_fetch_or(&t->evidence->unasked, bit) & bit))
                record(t, "%s is not called: %s", unasked_call(call), why);
        return false;
}
