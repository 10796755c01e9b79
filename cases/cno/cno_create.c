/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_create: a CNO that nothing feeds yet, and the agent that it is made with. */
#include "clauses/cno_create.h"
#include "case/test.h"
#include "cases/cno/shared/agent.h"
#include "cases/evd/shared/event_kind.h"

#include <sched.h>

#define MANY 100 /* CNOs */

/* A CNO of this IA, by a call that the clause asks for. */
static DAT_CNO_HANDLE created(struct test *t, DAT_IA_HANDLE of, struct agent *agent)
{
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

        expect(dat_cno_create(of, proxy(agent), &cno), DAT_SUCCESS);
        expect_that(cno != DAT_HANDLE_NULL, "a null handle");
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        return cno;
}

/* An EVD that is made with the CNO notifies it. */
static void expect_usable(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = feeding(t, cno);

        post_ses(t, evd, 0, 1);
        expect_notified(t, cno, evd);
        expect_ses(t, evd, 0, 1);
}

/*
 * The CNO
 */

static const struct form {
        const char *id;
        bool has_agent;
} forms[] = {
    {"without_agent", false},
    {"with_agent", true},
};

FAMILY(cno_create, usable, forms)
{
        struct agent *agent = row->has_agent ? agent_new(t) : NULL;
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);

        expect_agent(t, cno, agent);
        expect_usable(t, cno);
}

FAMILY(cno_create, nothing_feeds_it, forms)
{
        struct agent *agent = agent_new(t);
        DAT_EVD_HANDLE evd = feeding(t, DAT_HANDLE_NULL);
        DAT_CNO_HANDLE cno = created(t, ia(t), row->has_agent ? agent : NULL);

        post_ses(t, evd, 0, 2);

        expect_no_notice(t, cno);
        expect_uncalled(t, agent);
        expect_that(evd_param(t, evd).cno_handle == DAT_HANDLE_NULL, "the EVD has a CNO");
}

/* A CNO is freed with a notification that none has waited for, and another one is made. */
FAMILY(cno_create, inherits_nothing, forms)
{
        struct agent *formers = agent_new(t);
        struct agent *agent = row->has_agent ? agent_new(t) : NULL;
        DAT_CNO_HANDLE former = cno_with(t, formers);
        DAT_EVD_HANDLE evd = feeding(t, former);
        DAT_CNO_HANDLE cno;

        post_ses(t, evd, 0, 1);
        (void)calls_seen(t, formers);
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
        release(t, former);
        (void)calls_seen(t, formers);
        cno = created(t, ia(t), agent);

        expect_no_notice(t, cno);
        if (agent)
                expect_uncalled(t, agent);
        must(dat_evd_modify_cno(evd, cno));
        expect_ses(t, evd, 0, 1);
        settle(t);
        forget_notice(cno);
        post_ses(t, evd, 1, 1);
        expect_notified(t, cno, evd);
        expect_uncalled(t, formers);
        must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
}

FAMILY(cno_create, has_no_waiters, forms)
{
        DAT_CNO_HANDLE cno = created(t, ia(t), row->has_agent ? agent_new(t) : NULL);

        expect(dat_cno_free(cno), DAT_SUCCESS);
        disown(t, cno);
}

CASE(cno_create, is_a_cno)
{
        DAT_CNO_HANDLE cno = created(t, ia(t), NULL);
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_EVD;
        DAT_RETURN told = dat_get_handle_type(cno, &type);

        if (dat_is(told, DAT_INVALID_HANDLE))
                end_noted(t, "the type of a CNO is not told (GEN-14)");
        must(told);
        expect_eq(type, DAT_HANDLE_TYPE_CNO);
}

CASE(cno_create, many)
{
        struct agent *agents[MANY];
        DAT_CNO_HANDLE cnos[MANY];
        DAT_EVD_HANDLE evd;

        for (int i = 0; i < MANY; i++) {
                agents[i] = agent_new(t);
                cnos[i] = created(t, ia(t), agents[i]);
                for (int other = 0; other < i; other++)
                        expect_that(cnos[other] != cnos[i], "two CNOs have one handle");
        }
        evd = feeding(t, DAT_HANDLE_NULL);
        for (int i = 0; i < MANY; i++) {
                expect_agent(t, cnos[i], agents[i]);
                must(dat_evd_modify_cno(evd, cnos[i]));
                post_ses(t, evd, 0, 1);
                expect_notified(t, cnos[i], evd);
                expect_called(t, agents[i], evd);
                expect_ses(t, evd, 0, 1);
        }
}

CASE(cno_create, leaves_others)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE older = cno_with(t, agent);
        DAT_EVD_HANDLE evd = feeding(t, older);
        DAT_EVD_HANDLE of_older = feeding(t, older);

        post_ses(t, evd, 0, 1);
        created(t, ia(t), NULL);

        expect_that(evd_param(t, of_older).cno_handle == older, "an EVD's CNO has changed");
        expect_notified(t, older, evd);
        expect_called(t, agent, evd);
        expect_ses(t, evd, 0, 1);
}

CASE(cno_create, of_its_ia)
{
        struct agent *agents[] = {agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cnos[] = {created(t, ia(t), agents[0]), created(t, other_ia(t), agents[1])};
        DAT_IA_HANDLE ias[] = {ia(t), other_ia(t)};

        for (int i = 0; i < 2; i++) {
                DAT_CNO_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

                must(dat_cno_query(cnos[i], DAT_CNO_FIELD_IA_HANDLE, &param));
                expect_that(param.ia_handle == ias[i], "the CNO is of another IA");
        }
        for (int i = 0; i < 2; i++) {
                DAT_EVD_HANDLE evd = evd_with(t, .ia = ias[i], .qlen = SE_QLEN,
                                              .flags = DAT_EVD_SOFTWARE_FLAG, .cno = cnos[i]);

                must(dat_evd_enable(evd));
                post_ses(t, evd, 0, 1);
                expect_notified(t, cnos[i], evd);
                expect_called(t, agents[i], evd);
                expect_uncalled(t, agents[!i]);
        }
}

CASE(cno_create, within_pointer)
{
        struct buf *buf = buf_with(t, .length = sizeof(DAT_CNO_HANDLE));
        DAT_CNO_HANDLE *cno = (DAT_CNO_HANDLE *)(void *)buf->addr;

        expect(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, cno), DAT_SUCCESS);
        check_guards(t);
        adopt(t, DAT_HANDLE_TYPE_CNO, *cno);
        expect_usable(t, *cno);
        release(t, buf->lmr);
}

/*
 * The agent
 */

CASE(cno_create, agent_called)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect_uncalled(t, agent);
        post_ses(t, evd, 0, 1);

        expect_called(t, agent, evd);
        expect_uncalled(t, agent);
        expect_ses(t, evd, 0, 1);
}

/* The EVD gets its CNO when the next event is the one of the row. */
FAMILY(cno_create, agent_called_by, event_kinds)
{
        EACH_MAKING(kind, row)
        {
                struct agent *agent = agent_new(t);
                DAT_CNO_HANDLE cno = created(t, ia(t), agent);
                struct brought brought = {.evd =
                                              evd_with(t, .qlen = SE_QLEN, .flags = kind->flags)};
                DAT_EVENT event;

                make_ready(t, kind, &brought, DAT_HANDLE_NULL);
                must(dat_evd_enable(brought.evd));
                must(dat_evd_modify_cno(brought.evd, cno));
                expect_uncalled(t, agent);
                kind->bring(t, &brought);

                expect_called(t, agent, brought.evd);
                expect_uncalled(t, agent);
                event = expect_dequeued(t, brought.evd);
                expect_brought(t, kind, &brought, &event);
        }
}

CASE(cno_create, agent_called_by_evd_of_later)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);
        DAT_EVD_HANDLE evds[] = {feeding(t, DAT_HANDLE_NULL), feeding(t, DAT_HANDLE_NULL)};

        must(dat_evd_modify_cno(evds[0], cno));
        must(dat_evd_modify_cno(evds[1], cno));
        post_ses(t, evds[1], 0, 1);

        expect_called(t, agent, evds[1]);
        expect_uncalled(t, agent);
}

CASE(cno_create, agent_after_its_call)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        unsigned int calls;

        post_ses(t, evd, 0, 1);
        expect_called(t, agent, evd);
        post_ses(t, evd, 1, 4);

        calls = calls_seen(t, agent);
        expect_that(calls <= 4, "%u calls for four events", calls);
        record(t, "%u calls for four events after the first", calls);
        expect_notified(t, cno, evd);
        expect_ses(t, evd, 0, 5);
}

static const struct datum {
        const char *id;
        uintptr_t value;
} data[] = {
    {"null", 0},
    {"one", 1},
    {"all_bits", UINTPTR_MAX},
};

FAMILY(cno_create, agent_data, data)
{
        DAT_PVOID value = (DAT_PVOID)row->value; /* NOLINT(performance-no-int-to-ptr) */
        struct agent *agent = agent_with(t, value);
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);

        expect_agent(t, cno, agent);
        post_ses(t, evd, 0, 1);

        expect_called(t, agent, evd);
        expect_uncalled(t, agent);
        expect_notified(t, cno, evd);
        expect_ses(t, evd, 0, 1);
}

CASE(cno_create, own_agents)
{
        struct agent *agents[] = {agent_new(t), agent_new(t), agent_new(t)};
        DAT_CNO_HANDLE cnos[3];
        DAT_EVD_HANDLE evds[3];

        for (int i = 0; i < 3; i++) {
                cnos[i] = created(t, ia(t), agents[i]);
                evds[i] = feeding(t, cnos[i]);
        }
        for (int i = 2; i >= 0; i--) {
                post_ses(t, evds[i], 0, 1);
                expect_called(t, agents[i], evds[i]);
        }
        for (int i = 0; i < 3; i++)
                expect_uncalled(t, agents[i]);
}

CASE(cno_create, one_agent_of_two)
{
        struct agent *agent = agent_new(t);
        DAT_CNO_HANDLE cnos[] = {created(t, ia(t), agent), created(t, ia(t), agent)};
        DAT_EVD_HANDLE evds[] = {feeding(t, cnos[0]), feeding(t, cnos[1])};

        for (int i = 0; i < 2; i++) {
                post_ses(t, evds[i], 0, 1);
                expect_called(t, agent, evds[i]);
        }
        expect_uncalled(t, agent);
}

/* What the agent calls DAT for: it takes the event that it is called for. */
static DAT_RETURN take_event(DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        return evd == DAT_HANDLE_NULL ? DAT_SUCCESS : dat_evd_dequeue(evd, &event);
}

CASE(cno_create, agent_takes_event)
{
        struct agent *agent = agent_that(t, take_event);
        DAT_CNO_HANDLE cno = created(t, ia(t), agent);
        DAT_EVD_HANDLE evd = feeding(t, cno);
        bool taken;

        post_ses(t, evd, 0, 1);
        expect_called(t, agent, evd);

        taken = dat_is(agent_returned(agent), DAT_SUCCESS);
        record(t, "an agent %s the event that it is called for", taken ? "takes" : "cannot take");
        if (!taken)
                expect_ses(t, evd, 0, 1);
        expect_empty(t, evd);
        must(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
        forget_notice(cno);
        post_ses(t, evd, 1, 1);
        expect_notified(t, cno, evd);
}

/*
 * Several threads
 */

#define TURNS 20 /* CNOs of a thread */

struct making {
        DAT_IA_HANDLE ia;
        int made;
        DAT_CNO_HANDLE cnos[TURNS];
};

/* The first call that failed, or success. Between calls others get the processor, be it the only
 * one. */
static DAT_RETURN create_several(void *arg)
{
        struct making *making = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        while (making->made < TURNS && dat_is(ret, DAT_SUCCESS)) {
                ret = dat_cno_create(making->ia, DAT_OS_WAIT_PROXY_AGENT_NULL,
                                     &making->cnos[making->made]);
                making->made += dat_is(ret, DAT_SUCCESS);
                sched_yield();
        }
        return ret;
}

CASE(cno_create, from_threads_at_once, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct making makings[3] = {{.ia = ia(t)}, {.ia = ia(t)}, {.ia = ia(t)}};
                struct racer racers[3];

                for (int i = 0; i < 3; i++)
                        racers[i] = (struct racer){.call = create_several, .arg = &makings[i]};
                stress_met(&stress, race(racers, 3));
                for (int i = 0; i < 3; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        for (int at = 0; at < TURNS; at++)
                                expect(dat_cno_free(makings[i].cnos[at]), DAT_SUCCESS);
                }
        }
        must_have_met(&stress);
        expect_usable(t, created(t, ia(t), NULL));
}

LEGAL(cno_create)
{
        static DAT_CNO_HANDLE cno;

        call->ia_handle = ia(t);
        call->agent = DAT_OS_WAIT_PROXY_AGENT_NULL;
        call->cno_handle = &cno;
}
