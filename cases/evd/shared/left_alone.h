/* SPDX-License-Identifier: BSD-2-Clause */
/* What a call that changes an EVD leaves alone: waiters, and notices that a CNO has. */
#ifndef CASES_EVD_LEFT_ALONE_H
#define CASES_EVD_LEFT_ALONE_H

#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"

/* Makes the call that the clause is about, and returns what that returned. */
typedef DAT_RETURN evd_call(struct test *t, DAT_EVD_HANDLE evd);

/* A thread waits for the next event of this empty EVD: it sleeps on behind the call, and gets it.
 */
void expect_waiter_kept(struct test *t, const struct source *source, evd_call *call);

/* The same of a thread that waits for an event of this kind, on an EVD in this state. */
void expect_stream_waiter_kept(struct test *t, const struct event_kind *kind,
                               struct evd_state state, evd_call *call);

/* The same of a thread that waits for the CNO of an EVD in this state, and of the CNO's agent. */
void expect_cno_waiter_kept(struct test *t, const struct source_kind *kind, struct evd_state state,
                            evd_call *call);

/* The CNO of an EVD in this state has been triggered by an event: it still tells, after the call.
 */
void expect_notice_kept(struct test *t, const struct source_kind *kind, struct evd_state state,
                        evd_call *call);

/*
 * The call is granted while an event is queued, of which the CNO has told: it tells of the next
 * one, and before that of the queued one only if `again`. The source is new, and `cno` its own.
 */
void expect_notices_go_on(struct test *t, struct source *source, DAT_CNO_HANDLE cno, evd_call *call,
                          bool again);

#endif
