/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: an asynchronous EVD of the consumer. */
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/consumer.h"
#include "clauses/ia_close.h"

#include <string.h>

static const struct lent {
        const char *id;
        bool made; /* by the consumer, not by the first open */
        DAT_CLOSE_FLAGS flags;
} lents[] = {
    {"of_first_graceful", .made = false, DAT_CLOSE_GRACEFUL_FLAG},
    {"of_first_abrupt", .made = false, DAT_CLOSE_ABRUPT_FLAG},
    {"made_graceful", .made = true, DAT_CLOSE_GRACEFUL_FLAG},
    {"made_abrupt", .made = true, DAT_CLOSE_ABRUPT_FLAG},
};

/* The EVD keeps its state, and who waits for it; another instance can have it. */
FAMILY(ia_close, given_evd_stays, lents)
{
        DAT_EVD_HANDLE evd =
            row->made ? evd_with(t, .flags = DAT_EVD_ASYNC_FLAG, .qlen = QLEN) : async_evd(t);
        struct instance instance = instance_with(t, QLEN, evd);
        DAT_EVD_PARAM before = evd_param(t, evd);
        DAT_EVD_PARAM after;
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        instance_close(t, &instance, row->flags);

        memset(&after, 0, sizeof(after));
        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &after), DAT_SUCCESS);
        expect_that(after.ia_handle == ia(t), "the EVD is of another IA");
        expect_eq(after.evd_qlen, before.evd_qlen);
        expect_that(is_waiting(waiter), "the thread that waited for the EVD does no more");
        expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_INVALID_STATE);
        expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        (void)instance_with(t, QLEN, evd);
}

/* An instance whose EVD goes with another one works on. */
CASE(ia_close, lends_async_evd)
{
        DAT_IA_HANDLE other = other_ia(t);

        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);
        ia_reopen(t, async_told(t, other));
        disown(t, other);
        expect(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);

        expect_instance_works(t, ia(t));
        expect(dat_ia_close(ia(t), DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
        ia_closed(t);
}
