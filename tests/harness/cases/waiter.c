/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on other threads of a case. */
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "case.h"

static DAT_EVENT software_event(void)
{
        return (DAT_EVENT){.event_number = DAT_SOFTWARE_EVENT};
}

static void post(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = software_event();

        must(dat_evd_post_se(evd, &event));
}

CASE_WITH(waiter, wakes, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        must_wait(waiter);
        post(t, evd);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_SOFTWARE_EVENT);
        expect_eq(woken.more, 0);
}

CASE_WITH(waiter, expects_a_wait, .needs = 0)
{
        expect_wait(wait_on_evd(t, evd_with(t), DAT_TIMEOUT_INFINITE, 1));
}

CASE_WITH(waiter, refuses_a_dequeue, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);
        DAT_EVENT event;

        must_wait(waiter);
        expect(dat_evd_dequeue(evd, &event), DAT_INVALID_STATE);
}

CASE_WITH(waiter, two_thresholds, .needs = 0)
{
        DAT_EVD_HANDLE one = evd_with(t);
        DAT_EVD_HANDLE two = evd_with(t);
        struct waiter *first = wait_on_evd(t, one, DAT_TIMEOUT_INFINITE, 1);
        struct waiter *second = wait_on_evd(t, two, DAT_TIMEOUT_INFINITE, 2);

        must_wait(first);
        must_wait(second);
        post(t, two);
        expect_asleep(second);
        expect_asleep(first);
        post(t, two);
        expect(expect_awake(second).ret, DAT_SUCCESS);
        expect_that(is_waiting(first), "the other waiter has returned");
}

CASE_WITH(waiter, times_out, .needs = 0)
{
        struct waiter *waiter = wait_on_evd(t, evd_with(t), 2000000, 1);
        struct woken woken;

        must_wait(waiter);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_TIMEOUT_EXPIRED);
        expect_that(woken.us >= 2000000, "it took %llu us", (unsigned long long)woken.us);
}

static DAT_RETURN wait_for_ever(void *arg)
{
        while (!arg)
                pause();
        return DAT_SUCCESS;
}

CASE_WITH(waiter, sleeps_outside, .needs = 0)
{
        must_wait(wait_in(t, wait_for_ever, NULL));
}

static DAT_RETURN call_away(void *arg)
{
        DAT_EVENT event;

        for (int i = 0; i < 1000; i++)
                dat_evd_dequeue(arg, &event);
        return DAT_SUCCESS;
}

/* While a thread waits, the log goes round. */
CASE_WITH(waiter, outlasts_the_log, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 1);

        must_wait(waiter);
        call_away(evd_with(t));
        post(t, evd);
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
}

static DAT_RETURN post_one(void *evd)
{
        DAT_EVENT event = software_event();

        return dat_evd_post_se(evd, &event);
}

CASE_WITH(waiter, races, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct racer racers[] = {{.call = post_one, .arg = evd}, {.call = post_one, .arg = evd}};
        struct stress stress = stress_of(t, 200);

        while (stress_round(&stress)) {
                DAT_EVENT event;

                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_SUCCESS);
                expect(racers[1].ret, DAT_SUCCESS);
                expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
                expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
        }
        must_have_met(&stress);
}

CASE_WITH(waiter, meets_nobody, .needs = 0)
{
        struct racer racers[] = {{.call = post_one, .arg = evd_with(t)}};
        struct stress stress = stress_of(t, 3);

        while (stress_round(&stress))
                stress_met(&stress, race(racers, 1));
        must_have_met(&stress);
}

CASE_WITH(waiter, races_for_ever, .needs = 0)
{
        struct racer racers[] = {{.call = wait_for_ever}, {.call = call_away, .arg = evd_with(t)}};

        race(racers, 2);
}

/* Its calls take half a second together. */
static DAT_RETURN call_slowly(void *evd)
{
        const struct timespec pause = {.tv_nsec = 25000000};
        DAT_EVENT event;

        for (int i = 0; i < 20; i++) {
                dat_evd_dequeue(evd, &event);
                nanosleep(&pause, NULL);
        }
        return DAT_SUCCESS;
}

CASE_WITH(waiter, races_slowly, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct racer racers[] = {{.call = call_slowly, .arg = evd},
                                 {.call = call_slowly, .arg = evd}};

        race(racers, 2);
        expect(racers[0].ret, DAT_SUCCESS);
        expect(racers[1].ret, DAT_SUCCESS);
}

CASE_WITH(waiter, draws, .needs = 0)
{
        record(t, "%llu %llu", (unsigned long long)draw(t, 1000000),
               (unsigned long long)draw(t, 1000000));
}

CASE_WITH(waiter, takes_by_dequeue, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVENT event;

        post(t, evd);
        expect(dat_evd_dequeue(evd, &event), DAT_SUCCESS);
}

CASE_WITH(waiter, takes_by_fixture, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVENT event;

        post(t, evd);
        expect_event(evd, DAT_SOFTWARE_EVENT);
        expect(fixture_event_now(t, evd, &event), DAT_QUEUE_EMPTY);
        expect_quiet(evd);
}

CASE_WITH(waiter, takes_by_wait, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVENT event;
        DAT_COUNT more;

        post(t, evd);
        expect(dat_evd_wait(evd, 0, 1, &event, &more), DAT_SUCCESS);
}

CASE_WITH(waiter, takes_on_a_thread, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);

        post(t, evd);
        must_awake(wait_on_evd(t, evd, 0, 1));
        expect_quiet(evd);
}

CASE_WITH(waiter, takes_and_fails, .needs = 0)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVENT event;

        post(t, evd);
        must(dat_evd_dequeue(evd, &event));
        expect_eq(1 + 1, 3);
}
