/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/async.h"

struct armed async_to_come(struct test *t)
{
        struct armed armed = armed_with(t, 4, 3);

        if (armed.raised)
                end_noted(t, "the event of a mark comes when it is set, and not later (SRQ-3)");
        return armed;
}

void async_comes(struct test *t, struct armed *armed)
{
        flow_deliver(t, &armed->flow, 2);
}
