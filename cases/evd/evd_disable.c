/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_disable: events come, and the CNO hears nothing of them. */
#include "clauses/evd_disable.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/left_alone.h"
#include "cases/evd/shared/source.h"

#include <sched.h>

FAMILY(evd_disable, from_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                expect(dat_evd_disable(source.evd), DAT_SUCCESS);

                expect_source_state(t, &source, (struct evd_state){.waitable = row->state.waitable},
                                    cno);
        }
}

CASE(evd_disable, again_and_again)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, (struct evd_state){.enabled = true, .waitable = true}, cno);

        for (int i = 0; i < 50; i++) {
                expect(dat_evd_disable(evd), DAT_SUCCESS);
                expect(dat_evd_disable(evd), DAT_SUCCESS);
                must(dat_evd_enable(evd));
        }
        /* One call outweighs any number of the others, and a second one changes nothing. */
        must(dat_evd_enable(evd));
        expect(dat_evd_disable(evd), DAT_SUCCESS);
        expect_state(t, evd, (struct evd_state){.waitable = true}, cno);

        expect(dat_evd_disable(evd), DAT_SUCCESS);
        expect_state(t, evd, (struct evd_state){.waitable = true}, cno);
}

CASE(evd_disable, this_evd_alone)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct evd_state enabled = {.enabled = true, .waitable = true};
                struct source older = source_in(t, kind, enabled, cno);
                struct source source = source_in(t, kind, enabled, cno);
                struct source newer = source_in(t, kind, enabled, cno);

                source_fill(t, &newer, 0, 1);
                expect(dat_evd_disable(source.evd), DAT_SUCCESS);

                expect_notified(t, cno, newer.evd);
                source_bring(t, &source, 0, 1);
                expect_no_notice(t, cno);
                source_bring(t, &older, 0, 1);
                expect_notified(t, cno, older.evd);
                source_bring(t, &newer, 1, 1);
                expect_notified(t, cno, newer.evd);
                expect_source_events(t, &newer, 0, 2);
                expect_source_events(t, &older, 0, 1);
        }
}

CASE(evd_disable, keeps_events)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(
                    t, kind, (struct evd_state){.enabled = true, .waitable = true}, cno_new(t));

                source_fill(t, &source, 0, SE_QLEN / 2);
                expect(dat_evd_disable(source.evd), DAT_SUCCESS);
                source_fill(t, &source, SE_QLEN / 2, SE_QLEN / 2);

                expect_source_events(t, &source, 0, SE_QLEN);
                expect_empty(t, source.evd);
        }
}

CASE(evd_disable, lets_waiter_of_cno_wait)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct evd_state enabled = {.enabled = true, .waitable = true};
                struct source source = source_in(t, kind, enabled, cno);
                DAT_EVD_HANDLE other = evd_in(t, enabled, cno);
                struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
                struct woken woken;

                must_wait(waiter);
                expect(dat_evd_disable(source.evd), DAT_SUCCESS);
                source_bring(t, &source, 0, 1);
                expect_asleep(waiter);

                post_ses(t, other, 0, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_that(woken.evd == other, "the CNO names another EVD");
        }
}

static DAT_RETURN disable(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        return dat_evd_disable(evd);
}

CASE(evd_disable, keeps_direct_waiter)
{
        EACH_SOURCE (kind) {
                for (int enabled = 0; enabled < 2; enabled++) {
                        DAT_CNO_HANDLE cno = cno_new(t);
                        struct source source = source_in(
                            t, kind, (struct evd_state){.enabled = enabled, .waitable = true}, cno);

                        expect_waiter_kept(t, &source, disable);
                        expect_source_state(t, &source, (struct evd_state){.waitable = true}, cno);
                }
        }
}

FAMILY(evd_disable, waiter_of_stream, event_kinds)
{
        expect_stream_waiter_kept(t, row, (struct evd_state){.enabled = true, .waitable = true},
                                  disable);
}

/* Each event that is posted is there; DAT_QUEUE_EMPTY where one is lost. */
static DAT_RETURN post_and_take(void *evd)
{
        DAT_RETURN ret = DAT_SUCCESS;

        for (unsigned int i = 0; i < TO_AND_FRO && dat_is(ret, DAT_SUCCESS); i++) {
                DAT_EVENT event = se_event(i);

                ret = dat_evd_post_se(evd, &event);
                sched_yield();
                if (dat_is(ret, DAT_SUCCESS))
                        ret = dat_evd_dequeue(evd, &event);
        }
        return ret;
}

CASE(evd_disable, while_event_comes, DEADLINE_MS(20000))
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = evd_in(t, (struct evd_state){.enabled = true, .waitable = true}, cno);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct racer racers[] = {
                    {.call = disable_to_and_fro, .arg = evd},
                    {.call = post_and_take, .arg = evd},
                    {.call = disable_to_and_fro, .arg = evd},
                };

                stress_met(&stress, race(racers, 3));
                for (int i = 0; i < 3; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
        expect(dat_evd_disable(evd), DAT_SUCCESS);
        settle(t);
        forget_notice(cno);
        expect_state(t, evd, (struct evd_state){.waitable = true}, cno);
}

FAMILY(evd_disable, each_stream, event_kinds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);

        expect(dat_evd_disable(brought.evd), DAT_SUCCESS);

        expect_unheard(t, row, &brought, cno);
}

/* The EVD gets its CNO when the next event is the one of the row. */
FAMILY(evd_disable, calls_no_agent, event_kinds)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        struct brought brought = {.evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags)};

        make_ready(t, row, &brought, DAT_HANDLE_NULL);
        must(dat_evd_enable(brought.evd));
        must(dat_evd_modify_cno(brought.evd, cno));
        expect(dat_evd_disable(brought.evd), DAT_SUCCESS);

        expect_unheard(t, row, &brought, cno);
        expect_uncalled(t, agent);
}

CASE(evd_disable, async_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);

        must(dat_evd_modify_cno(async, cno));
        expect(dat_evd_disable(async), DAT_SUCCESS);
        async_comes(t, &armed);

        expect_no_notice(t, cno);
        expect_async_event(armed.queue.srq);
        must(dat_evd_enable(async));
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
}

LEGAL(evd_disable)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
}
