/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_post_send use. */
#ifndef CASES_EP_POST_SEND_FIXTURES_H
#define CASES_EP_POST_SEND_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ROUTED     4              /* messages over a connection of each route */
#define LENGTH     ((size_t)5000) /* more than a packet of any path */
#define PLAIN      DAT_COMPLETION_DEFAULT_FLAG
#define UNSIGNAL   DAT_COMPLETION_UNSIGNALLED_FLAG
#define FENCE      DAT_COMPLETION_BARRIER_FENCE_FLAG
#define FLAGS(n_)  ((DAT_COMPLETION_FLAGS)(n_))
#define WIDEST     8192 /* segments that a case can give */
#define MOST_SENDS 512  /* that a case can post at once */

/* A completion, of whatever status but success. */
DAT_DTO_COMPLETION_EVENT_DATA expect_dto_failed(struct test *t, DAT_EVD_HANDLE evd);

/* The refused send was none: the next one is the first to come, and the first to complete. */
void expect_no_send(struct test *t, struct line *line);

/* Receives, one after the other, for all that was sent and is on its way. */
void expect_all_come(struct test *t, struct line *line);

#endif
