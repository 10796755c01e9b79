/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: what wakes a waiter. */
#include "case/ep_attr.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/source.h"
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
    {"not_at_all_with_an_event_there", 0, 1, 1, false},
    {"for_several", DAT_TIMEOUT_INFINITE, 0, 2, false},
    {"of_a_disabled_one", DAT_TIMEOUT_INFINITE, 0, 1, true},
    {"for_a_while", 40000, 0, 1, false},
};

#define SEVERAL 3 /* refusals */

/* Before another wait is refused, a dequeue under the waiter is. */
static void must_not_dequeue(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        must_that(dat_is(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE),
                  "a dequeue is not refused while a thread waits");
}

FAMILY(evd_wait, second_waiter, seconds)
{
        EACH_SOURCE (kind) {
                struct evd_state state = {.enabled = !row->disabled, .waitable = true};
                struct source source = source_in(t, kind, state, DAT_HANDLE_NULL);
                struct waiter *first;
                DAT_EVENT event;
                struct woken woken;

                source_fill(t, &source, 0, row->queued);
                first = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, row->queued + 1);
                expect_wait(first);
                must_not_dequeue(t, source.evd);
                for (int i = 0; i < SEVERAL; i++) {
                        struct waiter *second =
                            wait_on_evd(t, source.evd, row->timeout, row->threshold);

                        expect(expect_awake(second).ret, DAT_INVALID_STATE);
                        expect(dat_evd_dequeue(source.evd, &event), DAT_INVALID_STATE);
                }
                expect_asleep(first);
                source_bring(t, &source, (unsigned int)row->queued, 1);

                woken = expect_awake(first);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
                expect_source_events(t, &source, 1, row->queued);
        }
}

FAMILY(evd_wait, second_waiter_of_stream, event_kinds)
{
        static const DAT_TIMEOUT timeouts[] = {0, DAT_TIMEOUT_INFINITE};
        struct brought brought = {.evd = evd_with(t, .qlen = SE_QLEN, .flags = row->flags)};
        struct waiter *first;
        DAT_EVENT event;

        make_ready(t, row, &brought, DAT_HANDLE_NULL);
        first = wait_on_evd(t, brought.evd, DAT_TIMEOUT_INFINITE, 1);
        expect_wait(first);
        must_not_dequeue(t, brought.evd);
        for (int i = 0; i < 2; i++) {
                struct waiter *second = wait_on_evd(t, brought.evd, timeouts[i], 1);

                expect(expect_awake(second).ret, DAT_INVALID_STATE);
                expect(dat_evd_dequeue(brought.evd, &event), DAT_INVALID_STATE);
        }
        expect_asleep(first);

        expect_woken(t, row, &brought, first);
}

CASE(evd_wait, after_first_has_left)
{
        EACH_SOURCE (kind) {
                struct source source = source_new(t, kind, DAT_HANDLE_NULL);

                for (unsigned int i = 0; i < 5; i++) {
                        struct waiter *waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 1);
                        struct woken woken;

                        expect_wait(waiter);
                        source_bring(t, &source, i, 1);
                        woken = expect_awake(waiter);
                        expect(woken.ret, DAT_SUCCESS);
                        expect_source_event(t, &source, &woken.event, i);
                }
        }
}

CASE(evd_wait, two_evds_at_once)
{
        EACH_SOURCE (kind) {
                struct source sources[] = {source_new(t, kind, DAT_HANDLE_NULL),
                                           source_new(t, kind, DAT_HANDLE_NULL)};
                struct waiter *waiters[2];

                for (int i = 0; i < 2; i++) {
                        waiters[i] = wait_on_evd(t, sources[i].evd, DAT_TIMEOUT_INFINITE, 1);
                        expect_wait(waiters[i]);
                }
                for (int i = 1; i >= 0; i--) {
                        struct woken woken;

                        source_bring(t, &sources[i], (unsigned int)i, 1);
                        woken = expect_awake(waiters[i]);
                        expect(woken.ret, DAT_SUCCESS);
                        expect_source_event(t, &sources[i], &woken.event, (unsigned int)i);
                        if (i)
                                expect_asleep(waiters[0]);
                }
        }
}

CASE(evd_wait, cno_not_triggered)
{
        EACH_SOURCE (kind) {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = cno_with(t, agent);
                struct source source = source_in(t, kind, plain, cno);
                struct waiter *waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 3);

                expect_wait(waiter);
                source_bring(t, &source, 0, 2);
                expect_no_notice(t, cno);
                source_bring(t, &source, 2, 1);
                expect(expect_awake(waiter).ret, DAT_SUCCESS);
                expect_no_notice(t, cno);
                expect_uncalled(t, agent);

                expect_source_events(t, &source, 1, 2);
                source_bring(t, &source, 3, 1);
                expect_notified(t, cno, source.evd);
        }
}

FAMILY(evd_wait, in_state, evd_states)
{
        EACH_SOURCE (kind) {
                DAT_CNO_HANDLE cno = row->has_cno ? cno_new(t) : DAT_HANDLE_NULL;
                struct source source = source_in(t, kind, row->state, cno);
                DAT_EVENT event;
                DAT_COUNT more;

                source_fill(t, &source, 0, 2);
                if (!row->state.waitable) {
                        expect(waited(source.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
                               DAT_INVALID_STATE);
                        expect_source_events(t, &source, 0, 2);
                } else {
                        expect(waited(source.evd, DAT_TIMEOUT_INFINITE, 1, &event, &more),
                               DAT_SUCCESS);
                        expect_source_event(t, &source, &event, 0);
                        expect_eq(more, 1);
                        expect_source_events(t, &source, 1, 1);
                }
                if (cno)
                        forget_notices(t, cno);
                expect_source_state(t, &source, row->state, cno);
        }
}

/* The wait ends even if the EVD can be waited for again before the thread runs. */
static void expect_ended(struct test *t, const struct source_kind *kind, bool at_once)
{
        struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 1);

        expect_wait(waiter);
        must(dat_evd_set_unwaitable(source.evd));
        if (at_once)
                must(dat_evd_clear_unwaitable(source.evd));

        expect(expect_awake(waiter).ret, DAT_INVALID_STATE);
        must(dat_evd_clear_unwaitable(source.evd));
        expect_source_state(t, &source, plain, DAT_HANDLE_NULL);
}

CASE(evd_wait, made_unwaitable)
{
        EACH_SOURCE (kind) {
                expect_ended(t, kind, false);
                expect_ended(t, kind, true);
        }
}

static void expect_usable_after_signal(struct test *t, const struct source_kind *kind,
                                       DAT_TIMEOUT timeout)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct source source = source_in(t, kind, plain, cno);
        struct waiter *waiter = wait_on_evd(t, source.evd, timeout, 1);
        struct woken woken;

        expect_wait(waiter);
        waiter_interrupt(t, waiter);
        settle(t);
        if (is_waiting(waiter)) {
                record(t, "the wait continues");
                source_bring(t, &source, 0, 1);
                woken = expect_awake(waiter);
                expect(woken.ret, DAT_SUCCESS);
                expect_source_event(t, &source, &woken.event, 0);
        } else {
                expect(expect_awake(waiter).ret, DAT_INTERRUPTED_CALL);
        }
        expect_source_state(t, &source, plain, cno);
}

CASE(evd_wait, signal)
{
        EACH_SOURCE (kind) {
                expect_usable_after_signal(t, kind, DAT_TIMEOUT_INFINITE);
                expect_usable_after_signal(t, kind, 4 * event_timeout(t));
        }
}

/* One event is there, of two that are waited for. */
CASE(evd_wait, signal_below_threshold)
{
        EACH_SOURCE (kind) {
                struct source source = source_in(t, kind, plain, DAT_HANDLE_NULL);
                struct waiter *waiter;
                int there = 1;

                source_fill(t, &source, 0, 1);
                waiter = wait_on_evd(t, source.evd, DAT_TIMEOUT_INFINITE, 2);
                expect_wait(waiter);
                waiter_interrupt(t, waiter);
                settle(t);
                if (is_waiting(waiter)) {
                        struct woken woken;

                        record(t, "the wait continues");
                        source_bring(t, &source, 1, 1);
                        woken = expect_awake(waiter);
                        expect(woken.ret, DAT_SUCCESS);
                        expect_source_event(t, &source, &woken.event, 0);
                        there = 0;
                } else {
                        expect(expect_awake(waiter).ret, DAT_INTERRUPTED_CALL);
                        source_fill(t, &source, 1, 1);
                }
                expect_source_events(t, &source, 1 - there, 1 + there);
                expect_empty(t, source.evd);
        }
}
