/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_clear_unwaitable: the EVD can be waited for again. */
#include "clauses/evd_clear_unwaitable.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/left_alone.h"
#include "cases/evd/shared/source.h"

static const struct evd_state unwaitable = {.enabled = true};

static DAT_RETURN clear_unwaitable(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        return dat_evd_clear_unwaitable(evd);
}

FAMILY(evd_clear_unwaitable, from_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                expect(dat_evd_clear_unwaitable(source.evd), DAT_SUCCESS);

                expect_source_state(
                    t, &source, (struct evd_state){.enabled = row->state.enabled, .waitable = true},
                    cno);
        }
}

CASE(evd_clear_unwaitable, thread_waits_and_is_woken)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                struct waiter *waiter;
                struct woken woken;

                expect(dat_evd_clear_unwaitable(source.evd), DAT_SUCCESS);
                waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 2);
                expect_wait(waiter);
                source_bring(t, &source, 0, 1);
                expect_asleep(waiter);
                source_bring(t, &source, 1, 1);

                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_source_events(t, &source, 1, 1);
        }
}

CASE(evd_clear_unwaitable, wait_times_out)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                DAT_EVENT event = se_event(0);
                DAT_COUNT more = -1;

                expect(dat_evd_clear_unwaitable(source.evd), DAT_SUCCESS);

                expect(dat_evd_wait(source.evd, 1000, 1, &event, &more), DAT_TIMEOUT_EXPIRED);
                expect_eq(more, 0);
        }
}

CASE(evd_clear_unwaitable, gives_what_came_before)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                DAT_EVENT event;
                DAT_COUNT more = -1;

                source_fill(t, &source, 0, 3);
                expect(dat_evd_clear_unwaitable(source.evd), DAT_SUCCESS);

                expect(dat_evd_wait(source.evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_source_event(t, &source, &event, 0);
                expect_eq(more, 2);
                expect_source_events(t, &source, 1, 2);
        }
}

CASE(evd_clear_unwaitable, this_evd_alone)
{
        EACH_SOURCE (kind) {
                struct source older = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                struct source source = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                struct source newer = source_in(t, kind, unwaitable, DAT_HANDLE_NULL);
                const struct source *others[] = {&older, &newer};

                for (int i = 0; i < 2; i++)
                        source_bring(t, others[i], 0, 2);
                settle(t);
                expect(dat_evd_clear_unwaitable(source.evd), DAT_SUCCESS);

                for (int i = 0; i < 2; i++) {
                        DAT_EVENT event;
                        DAT_COUNT more;

                        expect(dat_evd_wait(others[i]->evd, 0, 1, &event, &more),
                               DAT_INVALID_STATE);
                        expect_source_events(t, others[i], 0, 2);
                        expect_source_state(t, others[i], unwaitable, DAT_HANDLE_NULL);
                }
        }
}

CASE(evd_clear_unwaitable, keeps_direct_waiter)
{
        EACH_SOURCE (kind) {
                struct source source =
                    source_in(t, kind, (struct evd_state){.enabled = true, .waitable = true},
                              DAT_HANDLE_NULL);

                expect_waiter_kept(t, &source, clear_unwaitable);
        }
}

CASE(evd_clear_unwaitable, lets_waiter_of_cno_wait)
{
        EACH_SOURCE (kind) {
                expect_cno_waiter_kept(t, kind, unwaitable, clear_unwaitable);
        }
}

CASE(evd_clear_unwaitable, keeps_notification)
{
        EACH_SOURCE (kind) {
                expect_notice_kept(t, kind, unwaitable, clear_unwaitable);
        }
}

CASE(evd_clear_unwaitable, notices_go_on)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, unwaitable, cno);

                expect_notices_go_on(t, &source, cno, clear_unwaitable, false);
        }
}

CASE(evd_clear_unwaitable, again_and_again)
{
        DAT_EVD_HANDLE evd = evd_in(t, unwaitable, DAT_HANDLE_NULL);

        for (int i = 0; i < 50; i++) {
                expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
                expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
                must(dat_evd_set_unwaitable(evd));
        }
        /* One call outweighs any number of the others. */
        must(dat_evd_set_unwaitable(evd));
        expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);

        expect_state(t, evd, (struct evd_state){.enabled = true, .waitable = true},
                     DAT_HANDLE_NULL);
}

CASE(evd_clear_unwaitable, from_threads_at_once, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = evd_in(t, unwaitable, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct racer racers[] = {
                    {.call = unwaitable_to_and_fro, .arg = evd},
                    {.call = unwaitable_to_and_fro, .arg = evd},
                    {.call = unwaitable_to_and_fro, .arg = evd},
                };
                DAT_EVENT event;
                DAT_COUNT more;

                stress_met(&stress, race(racers, 3));
                for (int i = 0; i < 3; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
                post_ses(t, evd, 0, 1);
                expect(dat_evd_wait(evd, 0, 1, &event, &more), DAT_SUCCESS);
                expect_se(t, evd, &event, 0);
        }
        must_have_met(&stress);
}

CASE(evd_clear_unwaitable, async_evd)
{
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);
        struct waiter *waiter;
        struct woken woken;

        must(dat_evd_set_unwaitable(async));
        expect(dat_evd_clear_unwaitable(async), DAT_SUCCESS);
        waiter = wait_on_evd(t, async, DAT_TIMEOUT_INFINITE, 1);
        expect_wait(waiter);
        async_comes(t, &armed);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, armed.queue.srq);
}

FAMILY(evd_clear_unwaitable, each_stream, event_kinds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);
        struct waiter *waiter;

        must(dat_evd_set_unwaitable(brought.evd));
        expect(dat_evd_clear_unwaitable(brought.evd), DAT_SUCCESS);
        waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        expect_wait(waiter);
        expect_woken(t, row, &brought, waiter);

        make_ready(t, row, &brought, cno);
        expect_heard(t, row, &brought, cno);
}

LEGAL(evd_clear_unwaitable)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
        must(dat_evd_set_unwaitable(call->evd_handle));
}
