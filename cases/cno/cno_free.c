/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_free: when it is refused, what a refusal leaves unchanged, and how it wakes waiters. */
#include "clauses/cno_free.h"
#include "case/standard.h"
#include "cases/cno/shared/agent.h"
#include "cases/shared/refusals.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"

#include <limits.h>

static void free_now(struct test *t, DAT_CNO_HANDLE cno)
{
        expect(dat_cno_free(cno), DAT_SUCCESS);
        disown(t, cno);
}

/*
 * Nothing in the way
 */

CASE(cno_free, unused)
{
        free_now(t, cno_new(t));
}

/* An EVD that was asked for with the CNO, and could not be made, or is freed. */
CASE(cno_free, after_creation_of_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_evd_create(ia(t), INT_MAX, cno, DAT_EVD_SOFTWARE_FLAG, &evd);

        record(t, "an EVD of %d places is %s", INT_MAX,
               dat_is(ret, DAT_SUCCESS) ? "granted" : "refused");
        if (dat_is(ret, DAT_SUCCESS))
                must(dat_evd_free(evd));
        free_now(t, cno);
}

CASE(cno_free, with_agent)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE other = cno_with(t, agent);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        DAT_EVD_HANDLE evd = feeding(t, other);

        free_now(t, cno);

        (void)calls_seen(t, agent);
        post_ses(t, evd, 0, 1);
        expect_called(t, agent, evd);
}

CASE(cno_free, after_waits)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        post_ses(t, evd, 0, 1);
        must(dat_cno_wait(cno, event_timeout(t), &named));
        must_that(dat_is(dat_cno_wait(cno, 1000, &named), DAT_QUEUE_EMPTY),
                  "the CNO is notified of nothing");
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));

        free_now(t, cno);
        expect_ses(t, evd, 0, 1);
}

static void leave_by_free(struct test *t, DAT_EVD_HANDLE evd)
{
        release(t, evd);
}

static void leave_for_none(struct test *t, DAT_EVD_HANDLE evd)
{
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

static void leave_with_trigger(struct test *t, DAT_EVD_HANDLE evd)
{
        post_ses(t, evd, 0, 1);
        leave_for_none(t, evd);
}

static void leave_freed_with_trigger(struct test *t, DAT_EVD_HANDLE evd)
{
        post_ses(t, evd, 0, 1);
        leave_by_free(t, evd);
}

static const struct leaving {
        const char *id;
        void (*leave)(struct test *t, DAT_EVD_HANDLE evd);
} leavings[] = {
    {"evd_freed", leave_by_free},
    {"cno_taken_away", leave_for_none},
    {"taken_away_with_trigger", leave_with_trigger},
    {"evd_freed_with_trigger", leave_freed_with_trigger},
};

FAMILY(cno_free, after_last_evd, leavings)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno), feeding(t, cno)};

        for (int i = 0; i < 3; i++) {
                expect(dat_cno_free(cno), DAT_INVALID_STATE);
                row->leave(t, evds[i]);
        }
        free_now(t, cno);
}

CASE(cno_free, evds_of_another)
{
        DAT_CNO_HANDLE former = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, former);

        must(dat_evd_modify_cno(evd, cno));
        free_now(t, former);

        expect(dat_cno_free(cno), DAT_INVALID_STATE);
        post_ses(t, evd, 0, 1);
        expect_notified(t, cno, evd);
}

CASE(cno_free, older_of_two)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_CNO_HANDLE newer = cno_with(t, agent);
        DAT_EVD_HANDLE evd;

        free_now(t, cno);

        expect_agent(t, newer, agent);
        evd = feeding(t, newer);
        post_ses(t, evd, 0, 1);
        expect_notified(t, newer, evd);
}

CASE(cno_free, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_CNO);

        while (rounds_next(&rounds)) {
                DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

                expect(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
                expect(dat_cno_free(cno), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

CASE(cno_free, of_other_ia)
{
        DAT_CNO_HANDLE here = cno_new(t);
        DAT_CNO_HANDLE there = DAT_HANDLE_NULL;
        DAT_EVD_HANDLE evd = feeding(t, here);

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &there));
        adopt(t, DAT_HANDLE_TYPE_CNO, there);
        free_now(t, there);

        post_ses(t, evd, 0, 1);
        expect_notified(t, here, evd);
}

/*
 * Used by an EVD
 */

static DAT_EVD_HANDLE use_as_made(struct test *t, DAT_CNO_HANDLE cno)
{
        return se_evd(t, cno);
}

static DAT_EVD_HANDLE use_as_given(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, DAT_HANDLE_NULL);

        must(dat_evd_modify_cno(evd, cno));
        return evd;
}

static DAT_EVD_HANDLE use_disabled(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, cno);

        must(dat_evd_disable(evd));
        return evd;
}

static DAT_EVD_HANDLE use_unwaitable(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, cno);

        must(dat_evd_set_unwaitable(evd));
        return evd;
}

static DAT_EVD_HANDLE use_notified(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = feeding(t, cno);
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        post_ses(t, evd, 0, 1);
        must(dat_cno_wait(cno, event_timeout(t), &named));
        expect_ses(t, evd, 0, 1);
        return evd;
}

static DAT_EVD_HANDLE use_of_completions(struct test *t, DAT_CNO_HANDLE cno)
{
        return evd_with(t, .flags = DAT_EVD_DTO_FLAG, .cno = cno);
}

static DAT_EVD_HANDLE use_of_requests(struct test *t, DAT_CNO_HANDLE cno)
{
        return evd_with(t, .flags = DAT_EVD_CR_FLAG, .cno = cno);
}

static DAT_EVD_HANDLE use_of_connections(struct test *t, DAT_CNO_HANDLE cno)
{
        return evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG, .cno = cno);
}

static DAT_EVD_HANDLE use_by_ia(struct test *t, DAT_CNO_HANDLE cno)
{
        must(dat_evd_modify_cno(async_evd(t), cno));
        return async_evd(t);
}

static const struct use {
        const char *id;
        DAT_EVD_HANDLE (*by)(struct test *t, DAT_CNO_HANDLE cno);
} uses[] = {
    {"made_with_it", use_as_made},
    {"given_it", use_as_given},
    {"disabled", use_disabled},
    {"unwaitable", use_unwaitable},
    {"notified", use_notified},
    {"of_completions", use_of_completions},
    {"of_requests", use_of_requests},
    {"of_connections", use_of_connections},
    {"of_ia", use_by_ia},
};

/* The IA's own EVD outlives the case's objects, and leaves the CNO before. */
static void end_use(struct test *t, const struct use *use)
{
        if (use->by == use_by_ia)
                must(dat_evd_modify_cno(async_evd(t), DAT_HANDLE_NULL));
}

FAMILY(cno_free, in_use, uses)
{
        DAT_CNO_HANDLE cno = cno_new(t);

        row->by(t, cno);

        EACH_REFUSAL (i)
                expect(dat_cno_free(cno), DAT_INVALID_STATE);
        end_use(t, row);
}

FAMILY(cno_free, in_use_keeps, uses)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = row->by(t, cno);
        DAT_EVD_HANDLE other = feeding(t, cno);
        DAT_EVD_PARAM before = evd_param(t, evd);
        DAT_EVD_PARAM after;

        agent_given(t, cno, agent);
        EACH_REFUSAL (i)
                (void)dat_cno_free(cno);

        after = evd_param(t, evd);
        expect_that(after.cno_handle == cno, "the EVD's CNO has changed");
        expect_eq(after.evd_state, before.evd_state);
        expect_agent(t, cno, agent);
        post_ses(t, other, 3, 1);
        expect_notified(t, cno, other);
        expect_called(t, agent, other);
        expect_ses(t, other, 3, 1);
        end_use(t, row);
}

CASE(cno_free, refusal_keeps_trigger)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        post_ses(t, evd, 0, 1);
        EACH_REFUSAL (i)
                expect(dat_cno_free(cno), DAT_INVALID_STATE);

        expect_notified(t, cno, evd);
        expect_ses(t, evd, 0, 1);
}

/*
 * A thread that waits
 */

/* The page's own steps: an EVD for software events that feeds the CNO for the time of one event. */
static void unblock(struct test *t, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE temporary,
                    struct waiter *waiter)
{
        struct woken woken;

        expect(dat_evd_modify_cno(temporary, cno), DAT_SUCCESS);
        post_ses(t, temporary, 0, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == temporary, "the CNO names another EVD");
        expect_ses(t, temporary, 0, 1);
        expect(dat_evd_modify_cno(temporary, DAT_HANDLE_NULL), DAT_SUCCESS);
}

CASE(cno_free, under_waiter)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE temporary = feeding(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        struct waiter *second;

        must_wait(waiter);
        EACH_REFUSAL (i)
                expect(dat_cno_free(cno), DAT_INVALID_STATE);

        /* The end of another thread's wait is not the end of this one. */
        second = wait_on_cno(t, cno, 20000);
        must_that(dat_is(must_awake(second).ret, DAT_QUEUE_EMPTY), "the wait found something");
        expect(dat_cno_free(cno), DAT_INVALID_STATE);
        expect_asleep(waiter);
        unblock(t, cno, temporary, waiter);
        free_now(t, cno);
}

CASE(cno_free, under_waiter_and_evd)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        struct woken woken;

        must_wait(waiter);
        expect(dat_cno_free(cno), DAT_INVALID_STATE);

        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
        expect(dat_cno_free(cno), DAT_INVALID_STATE);
}

CASE(cno_free, after_time_out)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct waiter *waiter = wait_on_cno(t, cno, 20000);

        must_that(dat_is(must_awake(waiter).ret, DAT_QUEUE_EMPTY), "the wait found something");
        free_now(t, cno);
}

CASE(cno_free, other_under_waiter)
{
        DAT_CNO_HANDLE other = cno_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE temporary = feeding(t, DAT_HANDLE_NULL);
        struct waiter *waiter = wait_on_cno(t, other, 4 * event_timeout(t));

        must_wait(waiter);
        free_now(t, cno);

        expect_asleep(waiter);
        unblock(t, other, temporary, waiter);
}

CASE(cno_free, unblocking_several)
{
        DAT_CNO_HANDLE cnos[] = {cno_new(t), cno_new(t), cno_new(t)};
        DAT_EVD_HANDLE temporary = feeding(t, DAT_HANDLE_NULL);
        struct waiter *waiters[3];

        for (int i = 0; i < 3; i++) {
                waiters[i] = wait_on_cno(t, cnos[i], 6 * event_timeout(t));
                must_wait(waiters[i]);
        }
        for (int i = 0; i < 3; i++) {
                unblock(t, cnos[i], temporary, waiters[i]);
                free_now(t, cnos[i]);
        }
        expect(dat_evd_free(temporary), DAT_SUCCESS);
        disown(t, temporary);
}

/*
 * The handle afterwards
 */

static DAT_RETURN query(void *cno)
{
        DAT_CNO_PARAM param;

        return dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param);
}

static DAT_RETURN wait(void *cno)
{
        DAT_EVD_HANDLE evd;

        return dat_cno_wait(cno, 0, &evd);
}

static DAT_RETURN take_agent(void *cno)
{
        return dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
}

static const struct call {
        const char *id;
        DAT_RETURN (*call)(void *cno);
} calls[] = {
    {"query", query},
    {"wait", wait},
    {"modify_agent", take_agent},
    {"free", dat_cno_free},
};

FAMILY(cno_free, handle_afterwards, calls)
{
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_CNO),
                     bad_handle(t, DAT_HANDLE_TYPE_CNO, BAD_HANDLE_DESTROYED));
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"cno", SIBLING_CNO},
};

FAMILY(cno_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_CNO, row);
}

LEGAL(cno_free)
{
        call->cno_handle = cno_new(t);
        disown(t, call->cno_handle);
}
