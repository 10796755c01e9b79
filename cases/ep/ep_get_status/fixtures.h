/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_get_status use. */
#ifndef CASES_EP_GET_STATUS_FIXTURES_H
#define CASES_EP_GET_STATUS_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <string.h>

#define POSTS 4
#define BYTES 256 /* receives: their number fits into no byte */
#define LOOKS 500 /* for a completion that is to come */

struct status {
        DAT_EP_STATE state; /* a plain one */
        DAT_BOOLEAN recv_idle;
        DAT_BOOLEAN request_idle;
};

/* The answer, into memory that no provider would leave so. */
struct status status_of(struct test *t, DAT_EP_HANDLE ep);

void expect_idle(struct test *t, DAT_EP_HANDLE ep, DAT_BOOLEAN recv, DAT_BOOLEAN request);

/*
 * A message that finds no receive may end the connection in time (DTO-3): where the EP has the
 * event of that, the case ends as NOTE.
 */
void end_if_given_up(struct test *t, DAT_EP_HANDLE ep);

void ep_get_status_post_recvs(struct test *t, DAT_EP_HANDLE ep, int count);

void post_sends(struct test *t, DAT_EP_HANDLE ep, int count);

void must_be_flushed(struct test *t, DAT_EVD_HANDLE evd, int count);

/* Of two EPs with the same EVDs, the one that has something to do: made first, or last. */
static const struct place {
        const char *id;
        int busy;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

#endif
