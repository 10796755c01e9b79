/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_free use. */
#ifndef CASES_EP_FREE_FIXTURES_H
#define CASES_EP_FREE_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"

#include <string.h>

#define EPS 16 /* at once */

void free_now(struct test *t, DAT_EP_HANDLE ep);

void expect_there(struct test *t, DAT_EP_HANDLE ep);

/* No stream of the EP feeds them any more. */
void expect_evds_free(struct test *t, const DAT_EVD_HANDLE evds[3]);

/* Nor does anything of it use this memory and its zone. */
void expect_all_free(struct test *t, const struct buf *buf, const DAT_EVD_HANDLE evds[3],
                     DAT_PZ_HANDLE zone);

DAT_RETURN query(void *ep);

DAT_EVENT_NUMBER next_number(struct test *t, DAT_EVD_HANDLE evd);

/* What tells an end that the other one was freed (EP-72). */
void expect_end_told(struct test *t, DAT_EVENT_NUMBER number);

/* Of two connections with the same EVDs, the one that ends: made first, or last. */
static const struct place {
        const char *id;
        int gone;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

#endif
