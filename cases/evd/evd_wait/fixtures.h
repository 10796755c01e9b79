/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_evd_wait use. */
#ifndef CASES_EVD_WAIT_FIXTURES_H
#define CASES_EVD_WAIT_FIXTURES_H

#include "case.h"
#include "cases/evd/shared/event_kind.h"
#include "cases/evd/shared/source.h"

static const struct evd_state plain = {.enabled = true, .waitable = true};

/* A wait that finds what it waits for, or has no time; into memory that no provider would leave so.
 */
DAT_RETURN waited(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold, DAT_EVENT *event,
                  DAT_COUNT *more);

/* Refused at once, though three events are there and there is time; nothing is taken. */
void expect_no_wait(struct test *t, const struct source *source, DAT_COUNT threshold);

/* On the EVD of an EP whose flags leave waking to the consumer, a wait is for one event. */
void expect_one_only(struct test *t, DAT_EVD_HANDLE evd);

#endif
