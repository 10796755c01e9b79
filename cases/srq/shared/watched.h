/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that wait for messages of an EP, while calls look at the EP or at its SRQ. */
#ifndef CASES_SRQ_WATCHED_H
#define CASES_SRQ_WATCHED_H

#include "case.h"

#define WATCHED_RECEIVES 10 /* of MESSAGE bytes at least, that the EP finds posted */

/* The receives of a connected EP, and the call that looks. */
struct watched {
        DAT_EP_HANDLE ep;   /* that completions name; null if it has an SRQ, whose pages ask that */
        DAT_EVD_HANDLE evd; /* of its receives */
        struct peer_ep *end;
        DAT_HANDLE object; /* that the call is about */
        void (*look)(struct test *t, DAT_HANDLE object);
        uint64_t sent;
};

/* What a look learns of a message while it arrives is news to the waiter still. */
void expect_looks_wake(struct test *t, struct watched *watched);

/* Looks see the first of two messages that the waiter waits for. */
void expect_looks_wake_at_threshold(struct test *t, struct watched *watched);

/* The same of a thread that waits for the CNO of the EVD, which is `cno`. */
void expect_looks_trigger(struct test *t, struct watched *watched, DAT_CNO_HANDLE cno);

#endif
