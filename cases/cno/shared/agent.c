/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/cno/shared/agent.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#define AGENTS_MAX 128
#define CALLS_MAX  128 /* of which an agent keeps the EVD */
#define US_PER_S   1000000
#define NS_PER_US  1000
#define NS_PER_S   1000000000

struct agent {
        pthread_mutex_t lock;
        pthread_cond_t changed;
        DAT_AGENT_FUNC function;
        DAT_PVOID data;
        DAT_RETURN (*makes)(DAT_EVD_HANDLE evd);
        DAT_RETURN returned;
        unsigned int calls;
        unsigned int looked_at;
        DAT_EVD_HANDLE evds[CALLS_MAX];
};

static struct agent agents[AGENTS_MAX];
static atomic_uint agent_count;
static atomic_bool strayed; /* a function was called with data that is not its agent's */

static struct agent *agent_of(DAT_PVOID instance_data, DAT_AGENT_FUNC by)
{
        for (unsigned int i = 0; i < agent_count; i++) {
                if (instance_data == agents[i].data && agents[i].function == by)
                        return &agents[i];
        }
        return NULL;
}

static void wake_all(void)
{
        for (unsigned int i = 0; i < agent_count; i++) {
                pthread_mutex_lock(&agents[i].lock);
                pthread_cond_signal(&agents[i].changed);
                pthread_mutex_unlock(&agents[i].lock);
        }
}

static void agent_called(DAT_PVOID instance_data, DAT_AGENT_FUNC by, DAT_EVD_HANDLE evd)
{
        struct agent *agent = agent_of(instance_data, by);
        DAT_RETURN returned;

        if (!agent) {
                strayed = true;
                wake_all();
                return;
        }
        returned = agent->makes ? agent->makes(evd) : DAT_SUCCESS;
        pthread_mutex_lock(&agent->lock);
        agent->returned = returned;
        if (agent->calls < CALLS_MAX)
                agent->evds[agent->calls] = evd;
        agent->calls++;
        pthread_cond_signal(&agent->changed);
        pthread_mutex_unlock(&agent->lock);
}

static void agent_main(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
        agent_called(instance_data, agent_main, evd);
}

static void agent_other(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
        agent_called(instance_data, agent_other, evd);
}

/* Agents differ from the one made before them in function and data, from others in data alone. */
static DAT_AGENT_FUNC nth_function(unsigned int n)
{
        return n % 2 ? agent_other : agent_main;
}

struct agent *agent_that(struct test *t, DAT_RETURN (*makes)(DAT_EVD_HANDLE evd))
{
        pthread_condattr_t attr;
        struct agent *agent;

        suite_that(agent_count < AGENTS_MAX, "a case has %d agents", AGENTS_MAX);
        agent = &agents[agent_count];
        agent->function = nth_function(agent_count);
        agent->data = agent;
        agent->makes = makes;
        pthread_mutex_init(&agent->lock, NULL);
        pthread_condattr_init(&attr);
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        pthread_cond_init(&agent->changed, &attr);
        pthread_condattr_destroy(&attr);
        agent_count++;
        return agent;
}

struct agent *agent_new(struct test *t)
{
        return agent_that(t, NULL);
}

struct agent *agent_with(struct test *t, DAT_PVOID instance_data)
{
        struct agent *agent = agent_new(t);

        agent->data = instance_data;
        return agent;
}

DAT_OS_WAIT_PROXY_AGENT proxy(struct agent *agent)
{
        if (!agent)
                return DAT_OS_WAIT_PROXY_AGENT_NULL;
        return (DAT_OS_WAIT_PROXY_AGENT){.instance_data = agent->data,
                                         .proxy_agent_func = agent->function};
}

DAT_CNO_HANDLE cno_with(struct test *t, struct agent *agent)
{
        DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

        must(dat_cno_create(ia(t), proxy(agent), &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        return cno;
}

DAT_EVD_HANDLE feeding(struct test *t, DAT_CNO_HANDLE cno)
{
        DAT_EVD_HANDLE evd = se_evd(t, cno);

        must(dat_evd_enable(evd));
        return evd;
}

void agent_given(struct test *t, DAT_CNO_HANDLE cno, struct agent *agent)
{
        must(dat_cno_modify_agent(cno, proxy(agent)));
}

static struct timespec deadline(DAT_TIMEOUT us)
{
        struct timespec at;

        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_sec += us / US_PER_S;
        at.tv_nsec += (long)(us % US_PER_S) * NS_PER_US;
        if (at.tv_nsec >= NS_PER_S) {
                at.tv_nsec -= NS_PER_S;
                at.tv_sec++;
        }
        return at;
}

static void expect_own_data(struct test *t)
{
        expect_that(!strayed, "an agent was called with instance data that is not its own");
}

void expect_called(struct test *t, struct agent *agent, DAT_EVD_HANDLE evd)
{
        struct timespec until = deadline(event_timeout(t));
        bool called;
        DAT_EVD_HANDLE named = DAT_HANDLE_NULL;

        pthread_mutex_lock(&agent->lock);
        while (agent->calls == agent->looked_at && !strayed &&
               pthread_cond_timedwait(&agent->changed, &agent->lock, &until) != ETIMEDOUT)
                ;
        called = agent->calls > agent->looked_at;
        if (called && agent->looked_at < CALLS_MAX)
                named = agent->evds[agent->looked_at++];
        pthread_mutex_unlock(&agent->lock);
        expect_own_data(t);
        expect_that(called, "the agent was not called");
        expect_that(named == evd, "the agent was called with another EVD");
}

unsigned int calls_seen(struct test *t, struct agent *agent)
{
        unsigned int calls;

        settle(t);
        expect_own_data(t);
        pthread_mutex_lock(&agent->lock);
        calls = agent->calls - agent->looked_at;
        agent->looked_at = agent->calls;
        pthread_mutex_unlock(&agent->lock);
        return calls;
}

void expect_uncalled(struct test *t, struct agent *agent)
{
        expect_eq(calls_seen(t, agent), 0);
}

DAT_RETURN agent_returned(struct agent *agent)
{
        DAT_RETURN returned;

        pthread_mutex_lock(&agent->lock);
        returned = agent->returned;
        pthread_mutex_unlock(&agent->lock);
        return returned;
}

void expect_agent(struct test *t, DAT_CNO_HANDLE cno, struct agent *agent)
{
        DAT_OS_WAIT_PROXY_AGENT wanted = proxy(agent);
        DAT_OS_WAIT_PROXY_AGENT seen;
        DAT_CNO_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_cno_query(cno, DAT_CNO_FIELD_AGENT, &param), DAT_SUCCESS);
        seen = cno_param_agent(&param);
        expect_that(seen.proxy_agent_func == wanted.proxy_agent_func,
                    "the function is not that of the CNO's agent");
        expect_that(seen.instance_data == wanted.instance_data,
                    "the instance data is not that of the CNO's agent");
}
