/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait: waits of several threads. */
#include "case/ep_attr.h"
#include "cases/evd/evd_wait/fixtures.h"
#include "cases/evd/shared/event_kind.h"
#include "clauses/evd_wait.h"

#include <sched.h>
#include <string.h>

struct waiting {
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
        DAT_COUNT more;
};

static DAT_RETURN wait_a_moment(void *arg)
{
        struct waiting *waiting = arg;

        return waited(waiting->evd, 30000, 1, &waiting->event, &waiting->more);
}

static DAT_RETURN wait_for_ever(void *arg)
{
        struct waiting *waiting = arg;

        return waited(waiting->evd, DAT_TIMEOUT_INFINITE, 1, &waiting->event, &waiting->more);
}

static DAT_RETURN post_one(void *evd)
{
        DAT_EVENT event = se_event(5);

        return dat_evd_post_se(evd, &event);
}

#define OTHERS_FIRST 200 /* times that the processor is left to others */

/* The others are in their calls by then, be there one processor only. */
static DAT_RETURN post_one_later(void *evd)
{
        for (int i = 0; i < OTHERS_FIRST; i++)
                sched_yield();
        return post_one(evd);
}

CASE(evd_wait, by_threads_at_once, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 50);

        while (stress_round(&stress)) {
                struct waiting waitings[] = {{.evd = evd}, {.evd = evd}};
                struct racer racers[] = {
                    {.call = wait_a_moment, .arg = &waitings[0]},
                    {.call = wait_a_moment, .arg = &waitings[1]},
                    {.call = post_one_later, .arg = evd},
                };
                bool met = race(racers, 3);
                int given = 0;

                expect(racers[2].ret, DAT_SUCCESS);
                for (int i = 0; i < 2; i++) {
                        expect(racers[i].ret, DAT_SUCCESS, DAT_INVALID_STATE, DAT_TIMEOUT_EXPIRED);
                        if (!dat_is(racers[i].ret, DAT_SUCCESS))
                                continue;
                        expect_se(t, evd, &waitings[i].event, 5);
                        given++;
                }
                /* On a busy host both may have gone before the event came. */
                if (given == 0)
                        expect_ses(t, evd, 5, 1);
                stress_met(&stress, met && given == 1);
                expect_that(given <= 1, "%d threads got the one event", given);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}

CASE(evd_wait, event_while_thread_enters, DEADLINE_MS(20000))
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 300);

        while (stress_round(&stress)) {
                struct waiting waiting = {.evd = evd};
                struct racer racers[] = {
                    {.call = wait_for_ever, .arg = &waiting},
                    {.call = post_one, .arg = evd},
                };

                stress_met(&stress, race(racers, 2));
                expect(racers[0].ret, DAT_SUCCESS);
                expect(racers[1].ret, DAT_SUCCESS);
                expect_se(t, evd, &waiting.event, 5);
                expect_empty(t, evd);
        }
        must_have_met(&stress);
}
