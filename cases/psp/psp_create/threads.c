/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_create: waiters and several threads. */
#include "cases/psp/psp_create/fixtures.h"
#include "cases/psp/shared/psp.h"
#include "clauses/psp_create.h"

#include <string.h>

#define THREADS 3
#define MET     1  /* round that met is enough */
#define ROW     48 /* PSPs that a thread makes in a row */

/*
 * Waking
 */

CASE(psp_create, wakes_waiter)
{
        struct loop loop = loop_new(t);
        struct waiter *waiter;
        struct woken woken;

        loop.psp = psp_new(t, loop.requests, psp_flags_granted(t), &loop.qual);
        waiter = wait_on_evd(t, loop.requests, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_CONNECTION_REQUEST_EVENT);
        expect_accepted(t, woken.event.event_data.cr_arrival_event_data.cr_handle, &loop);
}

CASE(psp_create, triggers_cno)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        struct waiter *waiter;
        struct woken woken;

        loop.psp = psp_new(t, loop.requests, psp_flags_granted(t), &loop.qual);
        waiter = wait_on_cno(t, cno, event_timeout(t));
        must_wait(waiter);
        loop_connect(t, loop.active, loop.qual);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == loop.requests, "the CNO names another EVD");
        expect_accepted(t, expect_request(t, loop.requests, loop.psp, loop.qual), &loop);
}

/*
 * Threads
 */

/* A thread makes PSPs in a row: one call is over before another thread has begun. */
struct making {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE evd;
        DAT_PSP_FLAGS flags;
        DAT_CONN_QUAL quals[ROW];
        DAT_PSP_HANDLE psps[ROW];
        DAT_RETURN rets[ROW];
};

static DAT_RETURN make_row(void *arg)
{
        struct making *making = arg;

        for (int i = 0; i < ROW; i++)
                making->rets[i] = dat_psp_create(making->ia, making->quals[i], making->evd,
                                                 making->flags, &making->psps[i]);
        return DAT_SUCCESS;
}

/* Threads make their rows at once; those of thread n begin n times so many qualifiers further. */
static bool make_rows(struct test *t, struct making makings[THREADS], DAT_EVD_HANDLE evd,
                      DAT_CONN_QUAL apart)
{
        DAT_CONN_QUAL first = MANY_FIRST + draw(t, MANY_COUNT);
        struct racer racers[THREADS];

        for (int i = 0; i < THREADS; i++) {
                makings[i] =
                    (struct making){.ia = ia(t), .evd = evd, .flags = psp_flags_granted(t)};
                for (DAT_CONN_QUAL j = 0; j < ROW; j++)
                        makings[i].quals[j] = first + (DAT_CONN_QUAL)i * apart + j;
                racers[i] = (struct racer){.call = make_row, .arg = &makings[i]};
        }
        return race(racers, THREADS);
}

static void expect_made(struct test *t, const struct making *making, int i)
{
        adopt(t, DAT_HANDLE_TYPE_PSP, making->psps[i]);
        expect_psp(t, making->psps[i], making->quals[i], making->evd, psp_flags_granted(t));
}

CASE(psp_create, threads_each_its_own)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct stress stress = stress_of(t, 200);

        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];

                stress_met(&stress, make_rows(t, makings, evd, ROW));
                for (int i = 0; i < THREADS * ROW; i++) {
                        expect(makings[i / ROW].rets[i % ROW], DAT_SUCCESS);
                        expect_made(t, &makings[i / ROW], i % ROW);
                }
                for (int i = 0; i < THREADS * ROW; i++)
                        release(t, makings[i / ROW].psps[i % ROW]);
        }
        must_have_met(&stress);
}

/* Of the threads, the one that has the qualifier of that place in its row. */
static int winner(struct test *t, const struct making makings[THREADS], int place)
{
        int made = -1;

        for (int i = 0; i < THREADS; i++) {
                expect(makings[i].rets[place], DAT_SUCCESS, DAT_CONN_QUAL_IN_USE);
                if (!dat_is(makings[i].rets[place], DAT_SUCCESS))
                        continue;
                expect_that(made < 0, "two threads have made a PSP at one qualifier");
                made = i;
        }
        expect_that(made >= 0, "no thread has made a PSP at a free qualifier");
        return made;
}

CASE(psp_create, threads_at_one)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct stress stress = stress_of(t, 200);

        while (stress.met < MET && stress_round(&stress)) {
                struct making makings[THREADS];
                int winners[ROW];

                stress_met(&stress, make_rows(t, makings, evd, 0));
                for (int i = 0; i < ROW; i++) {
                        winners[i] = winner(t, makings, i);
                        expect_made(t, &makings[winners[i]], i);
                }
                for (int i = 0; i < ROW; i++)
                        release(t, makings[winners[i]].psps[i]);
        }
        must_have_met(&stress);
}
