/* SPDX-License-Identifier: BSD-2-Clause */
/* An event for the IA's own asynchronous EVD, which a message of the peer brings about. */
#ifndef CASES_EVD_ASYNC_H
#define CASES_EVD_ASYNC_H

#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"

/* An SRQ whose mark is above what two messages leave; noted where its event came already (SRQ-3).
 */
struct armed async_to_come(struct test *t);

/* The peer's messages, by which the event of the mark comes. */
void async_comes(struct test *t, struct armed *armed);

#endif
