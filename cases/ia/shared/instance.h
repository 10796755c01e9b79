/* SPDX-License-Identifier: BSD-2-Clause */
/* Instances of the IA besides the case's own. */
#ifndef CASES_IA_INSTANCE_H
#define CASES_IA_INSTANCE_H

#include "case.h"

/* An open instance, and its asynchronous EVD. */
struct instance {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE async;
};

/*
 * Opens one by a call that is the clause, with this asynchronous EVD, or DAT_HANDLE_NULL; it is
 * closed at the end. What the call is to write was poison.
 */
struct instance instance_with(struct test *t, DAT_COUNT qlen, DAT_EVD_HANDLE async);
struct instance instance_new(struct test *t);

/* Closes it by a call that is the clause. What the case has made of it must be off the list. */
void instance_close(struct test *t, const struct instance *instance, DAT_CLOSE_FLAGS flags);

/* The asynchronous EVD that dat_ia_query tells. */
DAT_EVD_HANDLE async_told(struct test *t, DAT_IA_HANDLE ia);

/* The instance makes a zone, memory and an EVD, whose events come. */
void expect_instance_works(struct test *t, DAT_IA_HANDLE ia);

#endif
