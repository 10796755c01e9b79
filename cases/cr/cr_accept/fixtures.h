/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_cr_accept use. */
#ifndef CASES_CR_ACCEPT_FIXTURES_H
#define CASES_CR_ACCEPT_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/cr/shared/request.h"

#define REQUESTS 6 /* at once */
#define POSTED   3 /* receives before the connection */

/* The request comes to its point; one with an EP of the provider's gives it what it lacks. */
void expect_taken(struct test *t, struct request *request);

/* The receives that loop_post_recv() posted take what comes, in their order. */
void expect_posted_taken(struct test *t, const struct request *request, const struct buf *buf);

DAT_COUNT lesser(DAT_COUNT a, DAT_COUNT b);

#endif
