/* SPDX-License-Identifier: BSD-2-Clause */
/* OS wait proxy agents that keep a list of how they were called, and the CNOs that have them. */
#ifndef CASES_CNO_AGENT_H
#define CASES_CNO_AGENT_H

#include "cases/evd/shared/dispatcher.h"

struct agent;

/*
 * An agent that has not been called. It is there until the process ends: a provider may call the
 * agents of an IA that closes.
 */
struct agent *agent_new(struct test *t);

/* The same, which makes one call of DAT for the EVD of each of its calls. */
struct agent *agent_that(struct test *t, DAT_RETURN (*makes)(DAT_EVD_HANDLE evd));

/* The same, whose instance data is no pointer to it; no other agent of the case has this. */
struct agent *agent_with(struct test *t, DAT_PVOID instance_data);

/* The agent as DAT takes it; NULL is DAT_OS_WAIT_PROXY_AGENT_NULL. */
DAT_OS_WAIT_PROXY_AGENT proxy(struct agent *agent);

/* A CNO that is made with the agent. */
DAT_CNO_HANDLE cno_with(struct test *t, struct agent *agent);

/* An enabled EVD for software events of this CNO. */
DAT_EVD_HANDLE feeding(struct test *t, DAT_CNO_HANDLE cno);

/* Its CNO, or none from now on; ERROR where it is refused. */
void agent_given(struct test *t, DAT_CNO_HANDLE cno, struct agent *agent);

/* The next call that the case has not looked at names this EVD; none within the event deadline is
 * FAIL. */
void expect_called(struct test *t, struct agent *agent, DAT_EVD_HANDLE evd);

/* There is no such call, after a quiet period. */
void expect_uncalled(struct test *t, struct agent *agent);

/* Looks at all calls that there are after a quiet period, and returns how many. */
unsigned int calls_seen(struct test *t, struct agent *agent);

/* What the agent's own call of DAT returned last. */
DAT_RETURN agent_returned(struct agent *agent);

/* The CNO has this agent by its query; NULL is none. */
void expect_agent(struct test *t, DAT_CNO_HANDLE cno, struct agent *agent);

#endif
