/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ia_close use. */
#ifndef CASES_IA_CLOSE_FIXTURES_H
#define CASES_IA_CLOSE_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/ia/shared/ia_objects.h"

#define QLEN     16
#define MESSAGES 16 /* under way */
#define ROUNDS   4

/* Closes the case's IA by a call that is the clause. */
void close_now(struct test *t, DAT_CLOSE_FLAGS flags);

static const struct closing {
        const char *id;
        DAT_CLOSE_FLAGS flags;
} closings[] = {
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG},
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG},
};

void ia_close_post_recvs(struct test *t, struct loop *loop);

/* Sends that find receives, and sends that find none. */
void ia_close_post_sends(struct test *t, struct loop *loop);

void post_both(struct test *t, struct loop *loop);

#endif
