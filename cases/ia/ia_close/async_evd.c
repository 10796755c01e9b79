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
        expect_eq(after.evd_flags, before.evd_flags);
        expect_eq(after.evd_state, before.evd_state);
        expect_that(after.cno_handle == before.cno_handle, "the EVD has another CNO");
        expect_that(is_waiting(waiter), "the thread that waited for the EVD does no more");
        expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_INVALID_STATE);
        expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        (void)instance_with(t, QLEN, evd);
}

/* The instance was its only user. */
FAMILY(ia_close, given_evd_freed, closings)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_ASYNC_FLAG, .qlen = QLEN);
        struct instance instance = instance_with(t, QLEN, evd);

        instance_close(t, &instance, row->flags);

        expect(dat_evd_free(evd), DAT_SUCCESS);
        disown(t, evd);
}

/* The case's own instance is notified of its events there, when the other one is gone. */
FAMILY(ia_close, given_evd_hears, closings)
{
        struct instance instance = instance_with(t, QLEN, async_evd(t));
        struct armed armed = armed_with(t, 4, 3);

        instance_close(t, &instance, row->flags);
        flow_deliver(t, &armed.flow, 2);

        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

static void resized(struct test *t, DAT_EVD_HANDLE async)
{
        must(dat_evd_resize(async, 2 * QLEN));
}

static void disabled(struct test *t, DAT_EVD_HANDLE async)
{
        must(dat_evd_disable(async));
}

static void unwaitable(struct test *t, DAT_EVD_HANDLE async)
{
        must(dat_evd_set_unwaitable(async));
}

static void had_cno(struct test *t, DAT_EVD_HANDLE async)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        must(dat_evd_modify_cno(async, cno));
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
        release(t, cno);
}

static void has_context(struct test *t, DAT_EVD_HANDLE async)
{
        must(dat_set_consumer_context(async, (DAT_CONTEXT){.as_64 = 7}));
}

static const struct altered {
        const char *id;
        void (*alter)(struct test *t, DAT_EVD_HANDLE async);
} altereds[] = {
    {"resized", resized}, {"disabled", disabled},       {"unwaitable", unwaitable},
    {"had_cno", had_cno}, {"has_context", has_context},
};

/* What the consumer did to the EVD that came with the IA makes no object of its own of it. */
FAMILY(ia_close, graceful_with_altered_evd, altereds)
{
        row->alter(t, async_evd(t));

        close_now(t, DAT_CLOSE_GRACEFUL_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        expect_instance_works(t, ia(t));
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
