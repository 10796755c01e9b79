/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD with software events, and what its state tells. */
#ifndef CASES_EVD_DISPATCHER_H
#define CASES_EVD_DISPATCHER_H

#include "case.h"

#define SE_QLEN 16 /* places of an EVD for software events, where a case needs no others */

/* An EVD for software events, with SE_QLEN places; a CNO, or DAT_HANDLE_NULL. */
DAT_EVD_HANDLE se_evd(struct test *t, DAT_CNO_HANDLE cno);

/* A CNO without an agent. */
DAT_CNO_HANDLE cno_new(struct test *t);

/* A software event whose pointer is `number`: each byte of it differs from those of another one. */
DAT_EVENT se_event(unsigned int number);

/* Posts the software events `first` and the `count - 1` after it; ERROR where one is refused. */
void post_ses(struct test *t, DAT_EVD_HANDLE evd, unsigned int first, int count);

/* The event is the software event `number`, of this EVD. */
void expect_se(struct test *t, DAT_EVD_HANDLE evd, const DAT_EVENT *event, unsigned int number);

/* dat_evd_dequeue gives the software events `first` and the `count - 1` after it, in this order. */
void expect_ses(struct test *t, DAT_EVD_HANDLE evd, unsigned int first, int count);

/* dat_evd_dequeue finds nothing. */
void expect_empty(struct test *t, DAT_EVD_HANDLE evd);

/* The CNO is notified, and names this EVD. */
void expect_notified(struct test *t, DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd);

/* The CNO is not notified within a quiet period. */
void expect_no_notice(struct test *t, DAT_CNO_HANDLE cno);

/* Takes a notification that the CNO may have. */
void forget_notice(DAT_CNO_HANDLE cno);

/* Takes all that it has. The case is BLOCKED by dat_cno_wait if that has no end. */
void forget_notices(struct test *t, DAT_CNO_HANDLE cno);

/* All fields of dat_evd_query, which is written over what no provider would leave so; else ERROR.
 */
DAT_EVD_PARAM evd_param(struct test *t, DAT_EVD_HANDLE evd);

/* Takes what the EVD has, whatever it is; see event_left(). */
void drain_evd(struct test *t, DAT_EVD_HANDLE evd);

/* The bits of a state that say whether it triggers its CNO, and whether it can be waited for. */
#define EVD_ENABLING (DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_DISABLED)
#define EVD_WAITING  (DAT_EVD_STATE_WAITABLE | DAT_EVD_STATE_UNWAITABLE)

#endif
