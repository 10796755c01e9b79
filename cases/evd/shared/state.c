/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/state.h"

#include <sched.h>
#include <string.h>

DAT_EVD_HANDLE evd_in(struct test *t, struct evd_state state, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, cno);
        DAT_EVD_STATE seen;

        must(state.enabled ? dat_evd_enable(evd) : dat_evd_disable(evd));
        must(state.waitable ? dat_evd_clear_unwaitable(evd) : dat_evd_set_unwaitable(evd));
        seen = evd_param(t, evd).evd_state;
        must_that(!(seen & DAT_EVD_STATE_DISABLED) == state.enabled &&
                      !(seen & DAT_EVD_STATE_UNWAITABLE) == state.waitable,
                  "the EVD is in state 0x%x", (unsigned int)seen);
        return evd;
}

/* An event that comes is waited for where that is allowed; else the wait says so, at once. */
static void expect_waitable(struct test *t, DAT_EVD_HANDLE evd, bool waitable, unsigned int number)
{
        DAT_EVENT event;
        DAT_COUNT more = -1;

        memset(&event, 0xa5, sizeof(event));
        if (!waitable) {
                expect(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
                       DAT_INVALID_STATE);
                expect_ses(t, evd, number, 1);
                return;
        }
        expect(dat_evd_wait(evd, event_timeout(t), 1, &event, &more), DAT_SUCCESS);
        expect_se(t, evd, &event, number);
}

void expect_state(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state, DAT_CNO_HANDLE cno)
{
        DAT_EVD_PARAM param = evd_param(t, evd);

        expect_eq(param.evd_state & EVD_ENABLING,
                  state.enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED);
        expect_eq(param.evd_state & EVD_WAITING,
                  state.waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE);
        expect_that(param.cno_handle == cno, "the EVD's CNO has changed");

        post_ses(t, evd, 1, 1);
        if (cno && state.enabled)
                expect_notified(t, cno, evd);
        else if (cno)
                expect_no_notice(t, cno);
        expect_waitable(t, evd, state.waitable, 1);
        post_ses(t, evd, 2, 1);
        expect_ses(t, evd, 2, 1);
        expect_empty(t, evd);
        if (cno)
                forget_notice(cno);
}

DAT_RETURN disable_to_and_fro(void *evd)
{
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < TO_AND_FRO && dat_is(ret, DAT_SUCCESS); i++) {
                ret = i % 2 ? dat_evd_enable(evd) : dat_evd_disable(evd);
                sched_yield();
        }
        return ret;
}
