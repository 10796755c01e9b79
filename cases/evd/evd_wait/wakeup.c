/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: what wakes a waiter. */
#include "case/ep_attr.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/state.h"
#include "clauses/evd_wait.h"

static const struct second {
        const char *id;
        DAT_TIMEOUT timeout;
        DAT_COUNT queued;
        DAT_COUNT threshold;
        bool disabled;
} seconds[] = {
    {"for_ever", DAT_TIMEOUT_INFINITE, 0, 1, false},
    {"not_at_all", 0, 0, 1, false},
    {"with_an_event_there", DAT_TIMEOUT_INFINITE, 1, 1, false},
    {"for_several", DAT_TIMEOUT_INFINITE, 0, 2, false},
    {"of_a_disabled_one", DAT_TIMEOUT_INFINITE, 0, 1, true},
};

FAMILY(evd_wait, second_waiter, seconds)
{
        struct evd_state state = {.enabled = !row->disabled, .waitable = true};
        DAT_EVD_HANDLE evd = evd_in(t, state, DAT_HANDLE_NULL);
        struct waiter *first;
        struct waiter *second;
        struct woken woken;

        post_ses(t, evd, 0, row->queued);
        first = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, row->queued + 1);
        expect_wait(first);
        second = wait_on_evd(t, evd, row->timeout, row->threshold);
        expect(expect_awake(second).ret, DAT_INVALID_STATE);
        expect_asleep(first);
        post_ses(t, evd, (unsigned int)row->queued, 1);

        woken = expect_awake(first);
        expect(woken.ret, DAT_SUCCESS);
        expect_se(t, evd, &woken.event, 0);
        expect_ses(t, evd, 1, row->queued);
}

CASE(evd_wait, after_first_has_left)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        for (unsigned int i = 0; i < 5; i++) {
                struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
                struct woken woken;

                expect_wait(waiter);
                post_ses(t, evd, i, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evd, &woken.event, i);
        }
}

CASE(evd_wait, two_evds_at_once)
{
        DAT_EVD_HANDLE evds[] = {se_evd(t, DAT_HANDLE_NULL), se_evd(t, DAT_HANDLE_NULL)};
        struct waiter *waiters[] = {
            wait_on_evd(t, evds[0], DAT_TIMEOUT_INFINITE, 1),
            wait_on_evd(t, evds[1], DAT_TIMEOUT_INFINITE, 1),
        };

        expect_wait(waiters[0]);
        expect_wait(waiters[1]);
        for (int i = 1; i >= 0; i--) {
                struct woken woken;

                post_ses(t, evds[i], (unsigned int)i, 1);
                woken = expect_awake(waiters[i]);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evds[i], &woken.event, (unsigned int)i);
                if (i)
                        expect_asleep(waiters[0]);
        }
}

CASE(evd_wait, cno_not_triggered)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, plain, cno);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 3);

        expect_wait(waiter);
        post_ses(t, evd, 0, 2);
        expect_no_notice(t, cno);
        post_ses(t, evd, 2, 1);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
        expect_no_notice(t, cno);

        expect_ses(t, evd, 1, 2);
        post_ses(t, evd, 3, 1);
        expect_notified(t, cno, evd);
}

FAMILY(evd_wait, in_state, evd_states)
{
        DAT_EVD_HANDLE evd = evd_in(t, row->state, row->has_cno ? cno_new(t) : DAT_HANDLE_NULL);
        DAT_EVENT event;
        DAT_COUNT more;

        post_ses(t, evd, 0, 2);
        if (!row->state.waitable) {
                expect(waited(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_INVALID_STATE);
                expect_ses(t, evd, 0, 2);
                return;
        }
        expect(waited(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, 0);
        expect_eq(more, 1);
        expect_ses(t, evd, 1, 1);
}

CASE(evd_wait, made_unwaitable)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);

        expect_wait(waiter);
        must(dat_evd_set_unwaitable(evd));

        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        must(dat_evd_clear_unwaitable(evd));
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}

CASE(evd_wait, signal)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        expect_wait(waiter);
        waiter_interrupt(t, waiter);
        settle(t);
        if (is_waiting(waiter)) {
                record(t, "the wait continues");
                post_ses(t, evd, 0, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_se(t, evd, &woken.event, 0);
        } else {
                expect(expect_awake(waiter).ret, DAT_INTERRUPTED_CALL);
        }
        expect_state(t, evd, plain, DAT_HANDLE_NULL);
}
