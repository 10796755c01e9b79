/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_post_recv use. */
#ifndef CASES_EP_POST_RECV_FIXTURES_H
#define CASES_EP_POST_RECV_FIXTURES_H

#include "case.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"

#include <limits.h>
#include <string.h>

#define ROUTED     4              /* messages over a connection of each route */
#define LENGTH     ((size_t)5000) /* more than a packet of any path */
#define PLAIN      DAT_COMPLETION_DEFAULT_FLAG
#define SOLICITED  DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNAL   DAT_COMPLETION_UNSIGNALLED_FLAG
#define WIDEST     8192 /* segments that a case can give */
#define MOST_RECVS 512  /* receives that a case can post at once */

static const struct split steps = {"steps", 4, {1, 2, 4, 8}};

/* The refused receive was none: the next one takes the first message. */
void expect_no_receive(struct test *t, struct line *line);

/* An EP of which as many receives wait as it tells that it takes. */
struct full {
        struct loop loop;
        struct line line;
};

struct full fill(struct test *t, bool connected);

/* A message for each receive that was posted. */
void expect_all_serve(struct test *t, struct line *line);

#endif
