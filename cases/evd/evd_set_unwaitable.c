/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_set_unwaitable: waits are refused, and events arrive as before. */
#include "clauses/evd_set_unwaitable.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/left_alone.h"
#include "cases/evd/shared/source.h"

static const struct evd_state plain = {.enabled = true, .waitable = true};

static DAT_RETURN make_unwaitable(struct test *t, DAT_EVD_HANDLE evd)
{
        (void)t;
        return dat_evd_set_unwaitable(evd);
}

FAMILY(evd_set_unwaitable, from_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);

                expect(dat_evd_set_unwaitable(source.evd), DAT_SUCCESS);

                expect_source_state(t, &source, (struct evd_state){.enabled = row->state.enabled},
                                    cno);
        }
}

static const struct queue_row {
        const char *id;
        int events;
        DAT_TIMEOUT timeout;
        DAT_COUNT threshold;
} waits[] = {
    {"empty_for_ever", 0, DAT_TIMEOUT_INFINITE, 1},
    {"empty_not_at_all", 0, 0, 1},
    {"empty_for_a_while", 0, 1000000, 1},
    {"with_an_event", 1, DAT_TIMEOUT_INFINITE, 1},
    {"with_all_that_are_awaited", 3, DAT_TIMEOUT_INFINITE, 3},
};

FAMILY(evd_set_unwaitable, wait_is_refused, waits)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct waiter *waiter;

                source_fill(t, &source, 0, row->events);
                expect(dat_evd_set_unwaitable(source.evd), DAT_SUCCESS);
                waiter = wait_on_evd(t, source.evd, row->timeout, row->threshold);

                expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
                expect_source_events(t, &source, 0, row->events);
                expect_empty(t, source.evd);
        }
}

static const struct queue_row waiters[] = {
    {"for_ever", 0, DAT_TIMEOUT_INFINITE, 1},
    {"for_long", 0, 3600U * 1000000, 1},
    {"for_more_than_there_are", 2, DAT_TIMEOUT_INFINITE, 3},
};

static void expect_waiter_woken(struct test *t, const struct source_kind *kind,
                                struct evd_state state, const struct queue_row *row)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        struct source source = source_in(t, kind, state, cno);
        struct waiter *waiter;

        source_fill(t, &source, 0, row->events);
        waiter = wait_on_evd(t, source.evd, row->timeout, row->threshold);
        must_wait(waiter);
        (void)calls_seen(t, agent);
        forget_notices(t, cno);
        expect(dat_evd_set_unwaitable(source.evd), DAT_SUCCESS);

        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        expect_no_notice(t, cno);
        expect_uncalled(t, agent);
        expect_source_events(t, &source, 0, row->events);
        expect_empty(t, source.evd);
        expect_source_state(t, &source, (struct evd_state){.enabled = state.enabled}, cno);
}

/* A disabled EVD can have a waiter, too. */
FAMILY(evd_set_unwaitable, wakes_waiter, waiters)
{
        EACH_SOURCE (kind) {
                expect_waiter_woken(t, kind, plain, row);
                expect_waiter_woken(t, kind, (struct evd_state){.waitable = true}, row);
        }
}

CASE(evd_set_unwaitable, this_evd_alone)
{
        EACH_SOURCE (kind) {
                struct source older = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct source newer = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct waiter *waiters_of_others[] = {
                    wait_on_evd(t, older.evd, DAT_TIMEOUT_INFINITE, 1),
                    wait_on_evd(t, newer.evd, DAT_TIMEOUT_INFINITE, 1),
                };

                must_wait(waiters_of_others[0]);
                must_wait(waiters_of_others[1]);
                expect(dat_evd_set_unwaitable(source.evd), DAT_SUCCESS);
                expect_asleep(waiters_of_others[0]);
                expect_asleep(waiters_of_others[1]);

                source_bring(t, &older, 0, 1);
                source_bring(t, &newer, 0, 1);
                expect(expect_awake(waiters_of_others[0]).ret, DAT_SUCCESS);
                expect(expect_awake(waiters_of_others[1]).ret, DAT_SUCCESS);
        }
}

/*
 * The CNO, and events
 */

CASE(evd_set_unwaitable, lets_waiter_of_cno_wait)
{
        EACH_SOURCE (kind) {
                expect_cno_waiter_kept(t, kind, plain, make_unwaitable);
        }
}

CASE(evd_set_unwaitable, keeps_notification)
{
        EACH_SOURCE (kind) {
                expect_notice_kept(t, kind, plain, make_unwaitable);
        }
}

CASE(evd_set_unwaitable, notices_go_on)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = cno_new(t);
                struct source source = source_in(t, kind, plain, cno);

                expect_notices_go_on(t, &source, cno, make_unwaitable, false);
        }
}

CASE(evd_set_unwaitable, events_come)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);

                source_fill(t, &source, 0, SE_QLEN / 2);
                expect(dat_evd_set_unwaitable(source.evd), DAT_SUCCESS);
                source_bring(t, &source, SE_QLEN / 2, SE_QLEN / 2);

                expect_source_events(t, &source, 0, SE_QLEN);
                expect_empty(t, source.evd);
        }
}

CASE(evd_set_unwaitable, again_and_again)
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);

        for (int i = 0; i < 50; i++) {
                expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
                expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
                must(dat_evd_clear_unwaitable(evd));
        }
        /* One call outweighs any number of the others. */
        must(dat_evd_clear_unwaitable(evd));
        expect(dat_evd_set_unwaitable(evd), DAT_SUCCESS);

        expect_state(t, evd, (struct evd_state){.enabled = true}, DAT_HANDLE_NULL);
}

/*
 * A thread on its way into a wait
 */

static DAT_RETURN wait_for_ever(void *evd)
{
        DAT_EVENT event;
        DAT_COUNT more;

        return dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more);
}

static DAT_RETURN set_unwaitable(void *evd)
{
        return dat_evd_set_unwaitable(evd);
}

CASE(evd_set_unwaitable, while_thread_enters, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = evd_in(t, plain, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 300);

        while (stress_round(&stress)) {
                struct racer racers[] = {
                    {.call = wait_for_ever, .arg = evd},
                    {.call = set_unwaitable, .arg = evd},
                };

                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_INVALID_STATE);
                expect(racers[1].ret, DAT_SUCCESS);
                expect(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
        }
        must_have_met(&stress);
}

FAMILY(evd_set_unwaitable, each_stream, event_kinds)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);
        struct waiter *waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        expect(dat_evd_set_unwaitable(brought.evd), DAT_SUCCESS);
        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        waiter = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);

        expect_heard(t, row, &brought, cno);
}

CASE(evd_set_unwaitable, async_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);
        struct waiter *waiter = wait_on_evd(t, async, DAT_TIMEOUT_INFINITE, 1);
        DAT_EVENT event;

        must(dat_evd_modify_cno(async, cno));
        must_wait(waiter);
        expect(dat_evd_set_unwaitable(async), DAT_SUCCESS);
        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        async_comes(t, &armed);

        expect_notified(t, cno, async);
        event = expect_dequeued(t, async);
        expect_async_about(&event, armed.queue.srq);
        must(dat_evd_clear_unwaitable(async));
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
}

LEGAL(evd_set_unwaitable)
{
        call->evd_handle = se_evd(t, DAT_HANDLE_NULL);
}
