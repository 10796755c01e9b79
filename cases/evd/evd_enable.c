/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_enable: events trigger the CNO, whatever the EVD was before, but for a direct waiter. */
#include "clauses/evd_enable.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/left_alone.h"
#include "cases/evd/shared/silent.h"
#include "cases/evd/shared/source.h"

FAMILY(evd_enable, from_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                expect(dat_evd_enable(source.evd), DAT_SUCCESS);

                expect_source_state(
                    t, &source,
                    (struct evd_state){.enabled = true, .waitable = row->state.waitable}, cno);
        }
}

CASE(evd_enable, again_and_again)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, (struct evd_state){.waitable = true}, cno);

        for (int i = 0; i < 50; i++) {
                expect(dat_evd_enable(evd), DAT_SUCCESS);
                expect(dat_evd_enable(evd), DAT_SUCCESS);
                must(dat_evd_disable(evd));
        }
        /* One call outweighs any number of the others. */
        must(dat_evd_disable(evd));
        expect(dat_evd_enable(evd), DAT_SUCCESS);

        expect_state(t, evd, (struct evd_state){.enabled = true, .waitable = true}, cno);
}

CASE(evd_enable, this_evd_alone)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct evd_state disabled = {.waitable = true};
                struct source older = source_in(t, kind, disabled, cno);
                struct source source = source_in(t, kind, disabled, cno);
                struct source newer = source_in(t, kind, disabled, cno);

                source_fill(t, &newer, 0, 2);
                expect(dat_evd_enable(source.evd), DAT_SUCCESS);

                source_bring(t, &older, 0, 1);
                source_bring(t, &newer, 2, 1);
                expect_no_notice(t, cno);
                source_bring(t, &source, 0, 1);
                expect_notified(t, cno, source.evd);
                expect_source_events(t, &newer, 0, 3);
                expect_source_events(t, &older, 0, 1);
        }
}

CASE(evd_enable, keeps_events)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source =
                    source_in(t, kind, (struct evd_state){.waitable = true}, cno);

                source_fill(t, &source, 0, SE_QLEN - 1);
                expect(dat_evd_enable(source.evd), DAT_SUCCESS);
                settle(t);
                forget_notices(t, cno);
                source_bring(t, &source, SE_QLEN - 1, 1);

                expect_notified(t, cno, source.evd);
                expect_source_events(t, &source, 0, SE_QLEN);
                expect_empty(t, source.evd);
        }
}

/* An enabled EVD does not notify its CNO again of events that it has notified it of. */
CASE(evd_enable, enabled_notifies_nothing)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source =
                    source_in(t, kind, (struct evd_state){.enabled = true, .waitable = true}, cno);

                source_fill(t, &source, 1, 2);
                (void)calls_seen(t, agent);
                forget_notices(t, cno);
                expect(dat_evd_enable(source.evd), DAT_SUCCESS);

                expect_no_notice(t, cno);
                expect_uncalled(t, agent);
                expect_source_events(t, &source, 1, 2);
        }
}

static DAT_RETURN enable(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        return dat_evd_enable(evd);
}

CASE(evd_enable, keeps_notification)
{
        EACH_SOURCE (kind) {
                expect_notice_kept(t, kind, (struct evd_state){.enabled = true, .waitable = true},
                                   enable);
        }
}

CASE(evd_enable, wakes_waiter_of_cno)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source =
                    source_in(t, kind, (struct evd_state){.waitable = true}, cno);
                struct waiter *waiter = wait_on_cno(t, cno, 2 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_enable(source.evd), DAT_SUCCESS);
                source_bring(t, &source, 0, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == source.evd, "the CNO names another EVD");
                expect_called(t, agent, source.evd);
        }
}

/*
 * A direct waiter
 */

CASE(evd_enable, keeps_direct_waiter)
{
        EACH_SOURCE (kind) {
                for (int enabled = 0; enabled < 2; enabled++) {
                        DAT_CNO_HANDLE cno = cno_new(t);
                        struct source source = source_in(
                            t, kind, (struct evd_state){.enabled = enabled, .waitable = true}, cno);

                        expect_waiter_kept(t, &source, enable);
                        expect_source_state(
                            t, &source, (struct evd_state){.enabled = true, .waitable = true}, cno);
                }
        }
}

FAMILY(evd_enable, waiter_of_stream, event_kinds)
{
        expect_stream_waiter_kept(t, row, (struct evd_state){.waitable = true}, enable);
}

CASE(evd_enable, direct_waiter_first)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source =
                    source_in(t, kind, (struct evd_state){.waitable = true}, cno);
                struct waiter *waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 2);
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_enable(source.evd), DAT_SUCCESS);
                source_bring(t, &source, 0, 1);
                expect_no_notice(t, cno);
                expect_asleep(waiter);
                source_bring(t, &source, 1, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_no_notice(t, cno);
                expect_uncalled(t, agent);
                expect_source_events(t, &source, 1, 1);
                source_bring(t, &source, 2, 1);
                expect_notified(t, cno, source.evd);
        }
}

CASE(evd_enable, from_threads_at_once, DEADLINE_MS(20000))
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, (struct evd_state){.waitable = true}, cno);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct racer racers[] = {
                    {.call = disable_to_and_fro, .arg = evd},
                    {.call = disable_to_and_fro, .arg = evd},
                    {.call = disable_to_and_fro, .arg = evd},
                };

                stress_met(&stress, race(racers, 3));
                for (int i = 0; i < 3; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                expect(dat_evd_enable(evd), DAT_SUCCESS);
                post_ses(t, evd, 0, 1);
                expect_notified(t, cno, evd);
                expect_ses(t, evd, 0, 1);
        }
        must_have_met(&stress);
}

static DAT_RETURN enable_again(struct test *t, DAT_EVD_HANDLE evd)
{
        must(dat_evd_disable(evd));
        return dat_evd_enable(evd);
}

FAMILY(evd_enable, keeps_silent, silences)
{
        expect_cno_silent(t, row, enable_again);
}

FAMILY(evd_enable, each_stream, event_kinds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);

        must(dat_evd_disable(brought.evd));
        expect(dat_evd_enable(brought.evd), DAT_SUCCESS);

        expect_heard(t, row, &brought, cno);
}

CASE(evd_enable, async_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);

        must(dat_evd_modify_cno(async, cno));
        must(dat_evd_disable(async));
        expect(dat_evd_enable(async), DAT_SUCCESS);
        async_comes(t, &armed);

        expect_notified(t, cno, async);
        expect_async_event(armed.queue.srq);
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
}

LEGAL(evd_enable)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
}
