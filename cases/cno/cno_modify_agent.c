/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_modify_agent: which agent is called after it, and concurrent calls. */
#include "clauses/cno_modify_agent.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/async.h"
#include "cases/evd/shared/event_kind.h"

#define ROUNDS 3 /* that an agent is taken away and another one set */

/*
 * The agent has been called at least once for the triggers of this EVD, and not more often than
 * there were any (CNO-3).
 */
static void expect_called_at_most(struct test *t, struct agent *agent, DAT_EVD_HANDLE evd,
                                  unsigned int triggers)
{
        unsigned int calls = 1;

        expect_called(t, agent, evd);
        calls += calls_seen(t, agent);
        expect_that(calls <= triggers, "%u calls for %u triggers", calls, triggers);
        record(t, "%u calls for %u triggers", calls, triggers);
}

/*
 * From one agent to another
 */

static const struct change {
        const char *id;
        bool at_first, at_last;
} changes[] = {
    {"given", false, true},
    {"replaced", true, true},
    {"taken_away", true, false},
    {"none_again", false, false},
};

FAMILY(cno_modify_agent, change, changes)
{
        struct agent *former = agent_new(t);
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, row->at_first ? former : NULL);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(row->at_last ? agent : NULL)), DAT_SUCCESS);
        expect_agent(t, cno, row->at_last ? agent : NULL);
        post_ses(t, evd, 0, 1);

        if (row->at_last)
                expect_called(t, agent, evd);
        expect_uncalled(t, agent);
        expect_uncalled(t, former);
        expect_notified(t, cno, evd);
}

CASE(cno_modify_agent, same_again)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        expect_agent(t, cno, agent);
        post_ses(t, evd, 0, 1);

        expect_called(t, agent, evd);
        expect_uncalled(t, agent);
}

CASE(cno_modify_agent, given_for_each_trigger)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, NULL);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        for (unsigned int i = 0; i < 10; i++) {
                expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
                post_ses(t, evd, i, 1);
                expect_called(t, agent, evd);
                expect_notified(t, cno, evd);
        }
        expect_uncalled(t, agent);
        expect_ses(t, evd, 0, 10);
}

CASE(cno_modify_agent, to_and_fro)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        for (unsigned int i = 0; i < 50; i++) {
                expect(dat_cno_modify_agent(cno, proxy(agents[i % 2])), DAT_SUCCESS);
                post_ses(t, evd, 0, 1);
                expect_called(t, agents[i % 2], evd);
                expect_ses(t, evd, 0, 1);
        }
        expect_uncalled(t, agents[0]);
        expect_uncalled(t, agents[1]);
}

CASE(cno_modify_agent, last_of_several)
{
        struct agent *agents[] = {agent_new(t), agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        for (int i = 0; i < 3; i++)
                expect(dat_cno_modify_agent(cno, proxy(agents[i])), DAT_SUCCESS);
        post_ses(t, evd, 0, 1);

        expect_called(t, agents[2], evd);
        for (int i = 0; i < 3; i++)
                expect_uncalled(t, agents[i]);
}

CASE(cno_modify_agent, given_after_none)
{
        struct agent *former = agent_new(t);
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(former)), DAT_SUCCESS);
        for (unsigned int i = 0; i < ROUNDS; i++) {
                expect(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
                expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
                expect_agent(t, cno, agent);
                post_ses(t, evd, i, 1);

                expect_called(t, agent, evd);
                expect_notified(t, cno, evd);
        }
        expect_uncalled(t, agent);
        expect_uncalled(t, former);
        expect_ses(t, evd, 0, ROUNDS);
}

CASE(cno_modify_agent, this_cno_alone)
{
        struct agent *agents[] = {agent_new(t), agent_new(t), agent_new(t)};
        struct agent *changed = agent_new(t);
        DAT_CNO_HANDLE cnos[3];

        for (int i = 0; i < 3; i++)
                cnos[i] = cno_with(t, agents[i]);
        expect(dat_cno_modify_agent(cnos[1], proxy(changed)), DAT_SUCCESS);

        agents[1] = changed;
        for (int i = 0; i < 3; i++) {
                DAT_EVD_HANDLE evd = feeding(t, cnos[i]);

                expect_agent(t, cnos[i], agents[i]);
                post_ses(t, evd, 0, 1);
                expect_called(t, agents[i], evd);
                for (int other = 0; other < 3; other++)
                        expect_uncalled(t, agents[other]);
        }
}

CASE(cno_modify_agent, one_for_several_cnos)
{
        struct agent *agent = agent_new(t);
        DAT_EVD_HANDLE evds[3];

        for (int i = 0; i < 3; i++) {
                DAT_CNO_HANDLE cno = cno_new(t);

                evds[i] = feeding(t, cno);
                expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        }
        for (int i = 2; i >= 0; i--) {
                post_ses(t, evds[i], 0, 1);
                expect_called(t, agent, evds[i]);
        }
        expect_uncalled(t, agent);
}

CASE(cno_modify_agent, of_second_ia)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE there = DAT_HANDLE_NULL;
        DAT_CNO_HANDLE here = cno_with(t, agents[0]);
        DAT_EVD_HANDLE evds[2];

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &there));
        adopt(t, DAT_HANDLE_TYPE_CNO, there);
        expect(dat_cno_modify_agent(there, proxy(agents[1])), DAT_SUCCESS);
        evds[0] = feeding(t, here);
        evds[1] = evd_with(t, .ia = other_ia(t), .qlen = SE_QLEN, .flags = DAT_EVD_SOFTWARE_FLAG,
                           .cno = there);
        must(dat_evd_enable(evds[1]));

        for (int i = 1; i >= 0; i--) {
                post_ses(t, evds[i], 0, 1);
                expect_called(t, agents[i], evds[i]);
                expect_uncalled(t, agents[!i]);
        }
}

/*
 * What triggers it
 */

CASE(cno_modify_agent, each_evd)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno), feeding(t, cno)};

        for (int i = 2; i >= 0; i--) {
                expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
                post_ses(t, evds[i], 0, 1);
                expect_called(t, agent, evds[i]);
        }
        expect_uncalled(t, agent);
}

CASE(cno_modify_agent, evd_of_later)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, DAT_HANDLE_NULL);

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        must(dat_evd_modify_cno(evd, cno));
        expect_uncalled(t, agent);
        post_ses(t, evd, 0, 1);

        expect_called(t, agent, evd);
}

CASE(cno_modify_agent, several_triggers)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        post_ses(t, evd, 0, SE_QLEN);

        expect_called_at_most(t, agent, evd, SE_QLEN);
        expect_ses(t, evd, 0, SE_QLEN);
}

static DAT_RETURN take_away(DAT_EVD_HANDLE evd)
{
        return dat_evd_modify_cno(evd, DAT_HANDLE_NULL);
}

static const struct silence {
        const char *id;
        DAT_RETURN (*by)(DAT_EVD_HANDLE evd);
} silences[] = {
    {"disabled", dat_evd_disable},
    {"without_the_cno", take_away},
};

FAMILY(cno_modify_agent, untriggered, silences)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE silent = feeding(t, cno);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        must(row->by(silent));
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        post_ses(t, silent, 0, 2);
        expect_uncalled(t, agent);
        post_ses(t, evd, 0, 1);

        expect_called(t, agent, evd);
        expect_ses(t, silent, 0, 2);
}

CASE(cno_modify_agent, waited_evd)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_evd(t, evd, DAT_TIMEOUT_INFINITE, 2);

        must_wait(waiter);
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        for (unsigned int i = 0; i < 2; i++) {
                post_ses(t, evd, i, 1);
                expect_uncalled(t, agent);
        }
        expect(expect_awake(waiter).ret, DAT_SUCCESS);
        post_ses(t, evd, 2, 1);

        expect_called(t, agent, evd);
}

/*
 * In addition to what the CNO does by itself
 */

CASE(cno_modify_agent, besides_waiter)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter;
        struct woken woken;

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        must_wait(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
        expect_called(t, agent, evd);
        expect_uncalled(t, agent);
}

CASE(cno_modify_agent, besides_kept_trigger)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        post_ses(t, evd, 0, 1);
        expect_called(t, agent, evd);

        expect_notified(t, cno, evd);
        expect_no_notice(t, cno);
        expect_ses(t, evd, 0, 1);
}

CASE(cno_modify_agent, keeps_trigger)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        post_ses(t, evd, 0, 1);
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        expect(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);

        expect_notified(t, cno, evd);
        expect_no_notice(t, cno);
        expect_ses(t, evd, 0, 1);
}

CASE(cno_modify_agent, triggers_nothing)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cno = cno_with(t, agents[0]);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect(dat_cno_modify_agent(cno, proxy(agents[1])), DAT_SUCCESS);

        expect_no_notice(t, cno);
        expect_uncalled(t, agents[0]);
        expect_uncalled(t, agents[1]);
        expect_empty(t, evd);
}

CASE(cno_modify_agent, keeps_evds)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evds[] = {feeding(t, cno), feeding(t, cno)};

        must(dat_evd_disable(evds[1]));
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);

        for (int i = 0; i < 2; i++) {
                DAT_EVD_PARAM param = evd_param(t, evds[i]);

                expect_that(param.cno_handle == cno, "the EVD's CNO has changed");
                expect_eq(param.evd_state & EVD_ENABLING,
                          i ? DAT_EVD_STATE_DISABLED : DAT_EVD_STATE_ENABLED);
        }
}

CASE(cno_modify_agent, after_the_call)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cno = cno_with(t, agents[0]);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        post_ses(t, evd, 0, 1);
        expect_called(t, agents[0], evd);
        expect(dat_cno_modify_agent(cno, proxy(agents[1])), DAT_SUCCESS);
        expect_uncalled(t, agents[1]);
        post_ses(t, evd, 1, 1);

        expect_called(t, agents[1], evd);
        expect_uncalled(t, agents[0]);
}

/* What the agent of by_the_agent changes, and to what. */
static DAT_CNO_HANDLE changed_cno;
static DAT_OS_WAIT_PROXY_AGENT next_agent;

static DAT_RETURN give_next(DAT_EVD_HANDLE evd)
{
        (void)evd;
        return dat_cno_modify_agent(changed_cno, next_agent);
}

CASE(cno_modify_agent, by_the_agent)
{
        struct agent *agent = agent_that(t, give_next);
        struct agent *next = agent_new(t);
        DAT_CNO_HANDLE cno = cno_with(t, agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        changed_cno = cno;
        next_agent = proxy(next);
        post_ses(t, evd, 0, 1);
        expect_called(t, agent, evd);
        expect_uncalled(t, next);
        expect_notified(t, cno, evd);

        if (!dat_is(agent_returned(agent), DAT_SUCCESS)) {
                record(t, "an agent cannot change the agent");
                return;
        }
        expect_agent(t, cno, next);
        post_ses(t, evd, 1, 1);
        expect_called(t, next, evd);
        expect_uncalled(t, agent);
        expect_notified(t, cno, evd);
}

FAMILY(cno_modify_agent, each_stream, event_kinds)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        struct brought brought = fed_before(t, row, cno);

        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        expect_heard(t, row, &brought, cno);

        expect_called(t, agent, brought.evd);
        expect_uncalled(t, agent);
}

CASE(cno_modify_agent, async_evd)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE async = async_evd(t);
        struct armed armed = async_to_come(t);

        must(dat_evd_modify_cno(async, cno));
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        async_comes(t, &armed);

        expect_called(t, agent, async);
        expect_notified(t, cno, async);
        expect_async_event(armed.queue.srq);
        must(dat_evd_modify_cno(async, DAT_HANDLE_NULL));
}

CASE(cno_modify_agent, keeps_waiter)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = cno_new(t);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        struct waiter *waiter = wait_on_cno(t, cno, 4 * event_timeout(t));
        struct woken woken;

        must_wait(waiter);
        expect(dat_cno_modify_agent(cno, proxy(agent)), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
        expect_asleep(waiter);
        post_ses(t, evd, 0, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
}

LEGAL(cno_modify_agent)
{
        call->cno_handle = cno_new(t);
        call->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
}
