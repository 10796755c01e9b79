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

void expect_no_wait(struct test *t, const struct source *source, DAT_COUNT threshold)
{
        struct waiter *waiter;
        DAT_EVENT event;
        DAT_COUNT more;

        source_fill(t, source, 0, 3);
        expect(waited(source->evd, 0, threshold, &event, &more), DAT_INVALID_PARAMETER);
        waiter = wait_on_evd(t, source->evd, DAT_TIMEOUT_INFINITE, threshold);
        expect(expect_awake(waiter).ret, DAT_INVALID_PARAMETER);

        expect_source_events(t, source, 0, 3);
        expect_empty(t, source->evd);
        expect_source_state(t, source, plain, DAT_HANDLE_NULL);
}

void expect_one_only(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        expect_or_note(waited(evd, 0, 2, &event, &more), DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_or_note(waited(evd, 0, SE_QLEN, &event, &more), DAT_INVALID_STATE,
                       DAT_INVALID_PARAMETER);
        expect(waited(evd, 0, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
}
