/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/state.h"

#include <sched.h>

static void must_be_enabled(struct test *t, const char *call, DAT_EVD_STATE seen, bool enabled)
{
        must_that_of(call, !(seen & DAT_EVD_STATE_DISABLED) == enabled, "the EVD is in %s",
                     names_of(DAT_EVD_STATE, seen));
}

/* A look behind each call: either may have changed what the other one is for. */
void evd_enter(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state)
{
        const char *enabling = state.enabled ? "dat_evd_enable" : "dat_evd_disable";
        const char *waiting =
            state.waitable ? "dat_evd_clear_unwaitable" : "dat_evd_set_unwaitable";
        DAT_EVD_STATE seen;

        must(state.enabled ? dat_evd_enable(evd) : dat_evd_disable(evd));
        must_be_enabled(t, enabling, evd_param(t, evd).evd_state, state.enabled);
        must(state.waitable ? dat_evd_clear_unwaitable(evd) : dat_evd_set_unwaitable(evd));
        seen = evd_param(t, evd).evd_state;
        must_be_enabled(t, waiting, seen, state.enabled);
        must_that_of(waiting, !(seen & DAT_EVD_STATE_UNWAITABLE) == state.waitable,
                     "the EVD is in %s", names_of(DAT_EVD_STATE, seen));
}

DAT_EVD_HANDLE evd_in(struct test *t, struct evd_state state, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, cno);

        evd_enter(t, evd, state);
        return evd;
}

/* Makes the two calls in turn, the first one last. */
static DAT_RETURN to_and_fro(DAT_EVD_HANDLE evd, DAT_RETURN (*first)(DAT_EVD_HANDLE evd),
                             DAT_RETURN (*second)(DAT_EVD_HANDLE evd))
{
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < TO_AND_FRO && dat_is(ret, DAT_SUCCESS); i++) {
                ret = i % 2 ? second(evd) : first(evd);
                sched_yield();
        }
        return ret;
}

DAT_RETURN disable_to_and_fro(void *evd)
{
        return to_and_fro(evd, dat_evd_disable, dat_evd_enable);
}

DAT_RETURN unwaitable_to_and_fro(void *evd)
{
        return to_and_fro(evd, dat_evd_set_unwaitable, dat_evd_clear_unwaitable);
}
