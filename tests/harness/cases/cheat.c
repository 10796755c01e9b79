/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases that say PASS as a provider would that lives in their process. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "case.h"
#include "case/test.h"
#include "evidence/seal.h"

CASE_WITH(cheat, leaps_over_its_check, .needs = 0)
{
        t->verdict = VERDICT_PASS;
        longjmp(t->end, 1);
        expect_eq(1 + 1, 2);
}

CASE_WITH(cheat, leaps_from_its_check, .needs = 0)
{
        jmp_buf end;

        memcpy(&end, &t->end, sizeof(end));
        if (setjmp(t->end) == 0)
                expect_eq(1 + 1, 3);
        memcpy(&t->end, &end, sizeof(end));
}

CASE_WITH(cheat, leaps_over_its_teardown, .needs = 0)
{
        expect_eq(1 + 1, 2);
        verdict_seal(&t->evidence->end, SEAL_END, VERDICT_PASS, "", NULL);
        atomic_store(&t->evidence->phase, PHASE_DONE);
        _exit(0);
}

CASE_WITH(cheat, leaves_in_its_stead, .needs = 0)
{
        expect_eq(1 + 1, 2);
        verdict_seal(&t->evidence->end, SEAL_END, VERDICT_PASS, "", NULL);
        exit(3);
}
