/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cno_query: each field by its own bit, the agent after each change, and what is no mask. */
#include "clauses/cno_query.h"
#include "cases/cno/shared/agent.h"
#include "cases/shared/masks.h"

#include <string.h>

#define MANY 100 /* queries */

/* A CNO whose parameters a case knows, for it made them. */
struct known {
        DAT_CNO_HANDLE cno;
        struct agent *agent;
};

static struct known known_cno(struct test *t)
{
        struct agent *agent = agent_new(t);

        return (struct known){.cno = cno_with(t, agent), .agent = agent};
}

static DAT_RETURN query_cno(DAT_HANDLE cno, uint64_t mask, void *param)
{
        return dat_cno_query(cno, (DAT_CNO_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_cno_query(cno, mask, param)", query_cno,
                                          sizeof(DAT_CNO_PARAM), DAT_CNO_FIELD_ALL};

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_CNO_PARAM queried(struct test *t, DAT_CNO_HANDLE cno, unsigned int mask)
{
        DAT_CNO_PARAM param;

        expect_query(t, &query, cno, mask, &param);
        return param;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const struct known *known, const DAT_CNO_PARAM *param)
{
        (void)known;
        expect_that(param->ia_handle == ia(t), "the CNO is of another IA");
}

static void check_agent(struct test *t, const struct known *known, const DAT_CNO_PARAM *param)
{
        DAT_OS_WAIT_PROXY_AGENT seen = cno_param_agent(param);
        DAT_OS_WAIT_PROXY_AGENT wanted = proxy(known->agent);

        expect_that(seen.proxy_agent_func == wanted.proxy_agent_func,
                    "the function is not that of the CNO's agent");
        expect_that(!known->agent || seen.instance_data == wanted.instance_data,
                    "the instance data is not that of the CNO's agent");
}

static const struct field {
        const char *id;
        unsigned int bits;
        void (*check)(struct test *t, const struct known *known, const DAT_CNO_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_CNO_FIELD_IA_HANDLE, check_ia},
    {"agent", DAT_CNO_FIELD_AGENT, check_agent},
};

FAMILY(cno_query, field, fields)
{
        struct known known = known_cno(t);
        DAT_CNO_PARAM param = queried(t, known.cno, row->bits);

        row->check(t, &known, &param);
}

FAMILY(cno_query, field_among_all, fields)
{
        struct known known = known_cno(t);
        DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_ALL);

        row->check(t, &known, &param);
}

CASE(cno_query, without_agent)
{
        struct known known = {.cno = cno_new(t)};
        DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_AGENT);

        check_agent(t, &known, &param);
        param = queried(t, known.cno, DAT_CNO_FIELD_ALL);
        check_agent(t, &known, &param);
        check_ia(t, &known, &param);
}

CASE(cno_query, without_instance_data)
{
        DAT_OS_WAIT_PROXY_AGENT agent = proxy(agent_new(t));
        DAT_OS_WAIT_PROXY_AGENT seen;
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
        DAT_CNO_PARAM param;

        agent.instance_data = NULL;
        must(dat_cno_create(ia(t), agent, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);

        param = queried(t, cno, DAT_CNO_FIELD_AGENT);
        seen = cno_param_agent(&param);
        must(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
        expect_that(seen.proxy_agent_func == agent.proxy_agent_func,
                    "the function is not that of the CNO's agent");
        expect_that(!seen.instance_data, "instance data that the agent has not");
}

CASE(cno_query, own_parameters)
{
        struct known knowns[] = {known_cno(t), known_cno(t), {.cno = cno_new(t)}, known_cno(t)};

        for (int i = 0; i < 4; i++) {
                DAT_CNO_PARAM param = queried(t, knowns[i].cno, DAT_CNO_FIELD_ALL);

                check_agent(t, &knowns[i], &param);
        }
}

CASE(cno_query, own_ia)
{
        DAT_CNO_HANDLE here = cno_new(t);
        DAT_CNO_HANDLE there = DAT_HANDLE_NULL;

        must(dat_cno_create(other_ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &there));
        adopt(t, DAT_HANDLE_TYPE_CNO, there);

        expect_that(queried(t, here, DAT_CNO_FIELD_IA_HANDLE).ia_handle == ia(t),
                    "the IA is not the CNO's own");
        expect_that(queried(t, there, DAT_CNO_FIELD_IA_HANDLE).ia_handle == other_ia(t),
                    "the IA is not the CNO's own");
}

static const struct change {
        const char *id;
        bool at_first, at_last;
} changes[] = {
    {"given", false, true},
    {"replaced", true, true},
    {"taken_away", true, false},
};

FAMILY(cno_query, agent_after_change, changes)
{
        struct known known = {.agent = row->at_last ? agent_new(t) : NULL};

        known.cno = cno_with(t, row->at_first ? agent_new(t) : NULL);
        agent_given(t, known.cno, known.agent);

        DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_AGENT);
        check_agent(t, &known, &param);
        param = queried(t, known.cno, DAT_CNO_FIELD_ALL);
        check_agent(t, &known, &param);
        check_ia(t, &known, &param);
}

CASE(cno_query, agent_after_call)
{
        struct known known = known_cno(t);
        DAT_EVD_HANDLE evd = feeding(t, known.cno);
        DAT_CNO_PARAM param;

        post_ses(t, evd, 0, 1);
        expect_called(t, known.agent, evd);

        param = queried(t, known.cno, DAT_CNO_FIELD_AGENT);
        if (!cno_param_agent(&param).proxy_agent_func)
                known.agent = NULL;
        record(t, known.agent ? "the agent is the CNO's still" : "the agent has left the CNO");
        check_agent(t, &known, &param);
}

CASE(cno_query, with_evds)
{
        struct known known = known_cno(t);
        DAT_CNO_PARAM param;

        feeding(t, known.cno);
        feeding(t, known.cno);

        param = queried(t, known.cno, DAT_CNO_FIELD_ALL);
        check_ia(t, &known, &param);
        check_agent(t, &known, &param);
}

/*
 * What a query leaves as it was
 */

CASE(cno_query, keeps_trigger)
{
        struct known known = known_cno(t);
        DAT_EVD_HANDLE evd = feeding(t, known.cno);

        post_ses(t, evd, 0, 1);
        for (int i = 0; i < MANY; i++)
                queried(t, known.cno, DAT_CNO_FIELD_ALL);

        expect_notified(t, known.cno, evd);
        expect_ses(t, evd, 0, 1);
}

CASE(cno_query, triggers_nothing)
{
        struct known known = known_cno(t);
        DAT_EVD_HANDLE evd = feeding(t, known.cno);

        for (int i = 0; i < MANY; i++)
                queried(t, known.cno, DAT_CNO_FIELD_ALL);

        expect_no_notice(t, known.cno);
        expect_uncalled(t, known.agent);
        post_ses(t, evd, 0, 1);
        expect_notified(t, known.cno, evd);
        expect_called(t, known.agent, evd);
}

CASE(cno_query, under_waiter)
{
        struct known known = known_cno(t);
        DAT_EVD_HANDLE evd = feeding(t, known.cno);
        struct waiter *waiter = wait_on_cno(t, known.cno, 4 * event_timeout(t));
        struct woken woken;

        must_wait(waiter);
        for (int i = 0; i < 3; i++) {
                DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_ALL);

                check_ia(t, &known, &param);
                check_agent(t, &known, &param);
        }
        expect_asleep(waiter);
        expect_uncalled(t, known.agent);

        post_ses(t, evd, 0, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        expect_that(woken.evd == evd, "the CNO names another EVD");
}

CASE(cno_query, within_structure)
{
        struct known known = known_cno(t);
        struct buf *buf = expect_query_within(t, &query, known.cno);
        const DAT_CNO_PARAM *param = (const void *)buf->addr;

        check_agent(t, &known, param);
        release(t, buf->lmr);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(CNO_FIELD_BITS)};

FAMILY(cno_query, invalid_mask, masks)
{
        struct known known = known_cno(t);

        expect_masks_refused(t, &query, known.cno, row);

        DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_ALL);
        check_ia(t, &known, &param);
        check_agent(t, &known, &param);
}

CASE(cno_query, no_mask)
{
        struct known known = known_cno(t);

        expect_no_mask_answered(t, &query, known.cno);

        DAT_CNO_PARAM param = queried(t, known.cno, DAT_CNO_FIELD_ALL);
        check_ia(t, &known, &param);
        check_agent(t, &known, &param);
}

LEGAL(cno_query)
{
        static DAT_CNO_PARAM param;

        call->cno_handle = cno_new(t);
        call->cno_param_mask = DAT_CNO_FIELD_ALL;
        call->cno_param = &param;
}
