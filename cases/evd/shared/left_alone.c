/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/evd/shared/left_alone.h"
#include "cases/cno/shared/agent.h"

void expect_waiter_kept(struct test *t, const struct source *source, evd_call *call)
{
        struct waiter *waiter = wait_on_evd(t, source->evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        expect(call(t, source->evd), DAT_SUCCESS);
        expect_asleep(waiter);
        source_bring(t, source, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_source_event(t, source, &woken.event, 0);
}

void expect_stream_waiter_kept(struct test *t, const struct event_kind *kind,
                               struct evd_state state, evd_call *call)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = {
            .evd = evd_with(t, .qlen = SE_QLEN, .flags = kind->flags, .cno = cno)};
        struct waiter *waiter;

        evd_enter(t, brought.evd, state);
        make_ready(t, kind, &brought, cno);
        waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect(call(t, brought.evd), DAT_SUCCESS);
        expect_asleep(waiter);

        expect_woken(t, kind, &brought, waiter);
        expect_no_notice(t, cno);
}

void expect_cno_waiter_kept(struct test *t, const struct source_kind *kind, struct evd_state state,
                            evd_call *call)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        struct source source = source_in(t, kind, state, cno);
        struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        struct woken woken;

        must_wait(waiter);
        expect(call(t, source.evd), DAT_SUCCESS);
        expect_asleep(waiter);
        expect_uncalled(t, agent);

        source_bring(t, &source, 0, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == source.evd, "the CNO names another EVD");
        expect_called(t, agent, source.evd);
}

void expect_notice_kept(struct test *t, const struct source_kind *kind, struct evd_state state,
                        evd_call *call)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct source source = source_in(t, kind, state, cno);

        source_fill(t, &source, 0, 1);
        expect(call(t, source.evd), DAT_SUCCESS);

        expect_notified(t, cno, source.evd);
        expect_source_events(t, &source, 0, 1);
}

void expect_notices_go_on(struct test *t, struct source *source, DAT_CNO_HANDLE cno, evd_call *call,
                          bool again)
{
        source_bring(t, source, 0, 1);
        expect_notified(t, cno, source->evd);
        expect(call(t, source->evd), DAT_SUCCESS);
        if (again)
                forget_notice(cno);
        else
                expect_no_notice(t, cno);

        source_bring(t, source, 1, 1);
        expect_notified(t, cno, source->evd);
        expect_source_events(t, source, 0, 2);
}
