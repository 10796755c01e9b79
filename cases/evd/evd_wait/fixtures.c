/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/evd_wait/fixtures.h"
#include "case/ep_attr.h"

#include <string.h>

DAT_RETURN waited(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
                  DAT_COUNT *more)
{
        memset(event, 0xa5, sizeof(*event));
        *more = -7;
        return dat_evd_wait(evd, timeout, threshold, event, more);
}

void expect_no_wait(struct test *t, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
        struct waiter *waiter;
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, 3);
        expect(waited(evd, 0, threshold, &event, &more), DAT_INVALID_PARAMETER);
        waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, threshold);
        expect(expect_awake(waiter).ret, DAT_INVALID_PARAMETER);

        expect_ses(t, evd, 0, 3);
        expect_empty(t, evd);
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}
