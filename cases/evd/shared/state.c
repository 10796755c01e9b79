/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/state.h"
#include "case/poison.h"

#include <sched.h>

void must_be_told_by_query(struct test *t, bool told, const char *instead)
{
        /* A call that is the page's own is judged itself. */
        if (is_of_page(t, "evd_query"))
                expect_that(told, "the query tells %s", instead);
        must_that_of("dat_evd_query", told, "it tells %s", instead);
}

void must_tell_of_new(struct test *t, DAT_EVD_FLAGS flags)
{
        DAT_EVD_PARAM param = evd_param(t, evd_with(t, .flags = flags));

        must_be_told_by_query(t, param.ia_handle == ia(t), "another IA of a new EVD");
        must_be_told_by_query(t, param.evd_flags == flags,
                              names_of(DAT_EVD_FLAGS, param.evd_flags));
        must_be_told_by_query(t, is_in(param.evd_state, (struct evd_state){true, true}),
                              names_of(DAT_EVD_STATE, param.evd_state));
}

void must_tell_each_half(struct test *t, DAT_EVD_STATE seen)
{
        must_be_told_by_query(t, seen & EVD_ENABLING && seen & EVD_WAITING,
                              names_of(DAT_EVD_STATE, seen));
}

bool is_in(DAT_EVD_STATE seen, struct evd_state state)
{
        return !(seen & DAT_EVD_STATE_DISABLED) == state.enabled &&
               !(seen & DAT_EVD_STATE_UNWAITABLE) == state.waitable;
}

/* The call has brought the EVD into this state, or, if no `waiting` was asked for, half of it. */
static void must_be_in(struct test *t, const char *call, DAT_EVD_HANDLE evd, struct evd_state state,
                       bool waiting)
{
        DAT_EVD_STATE seen = evd_param(t, evd).evd_state;
        bool as_wanted = !(seen & DAT_EVD_STATE_DISABLED) == state.enabled &&
                         (!waiting || !(seen & DAT_EVD_STATE_UNWAITABLE) == state.waitable);

        if (!as_wanted) {
                must_tell_of_new(t, DAT_EVD_SOFTWARE_FLAG);
                must_tell_each_half(t, seen);
        }
        must_that_of(call, as_wanted, "the EVD is in %s", names_of(DAT_EVD_STATE, seen));
}

/* A look behind each call: either may have changed what the other one is for. */
void evd_enter(struct test *t, DAT_EVD_HANDLE evd, struct evd_state state)
{
        must(state.enabled ? dat_evd_enable(evd) : dat_evd_disable(evd));
        must_be_in(t, state.enabled ? "dat_evd_enable" : "dat_evd_disable", evd, state, false);
        must(state.waitable ? dat_evd_clear_unwaitable(evd) : dat_evd_set_unwaitable(evd));
        must_be_in(t, state.waitable ? "dat_evd_clear_unwaitable" : "dat_evd_set_unwaitable", evd,
                   state, true);
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
