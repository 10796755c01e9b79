/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ia_open use. */
#ifndef CASES_IA_OPEN_FIXTURES_H
#define CASES_IA_OPEN_FIXTURES_H

#include "case.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/handle/shared/object.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/under_test.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define QLEN_UNASKED 16 /* where a case does not care */

/* So many places, or as many as an EVD may have. */
DAT_COUNT places(struct test *t, DAT_COUNT wanted);

static const struct length {
        const char *id;
        DAT_COUNT qlen; /* 0: the most that the IA has */
} lengths[] = {
    {"one", 1},       {"two", 2},      {"seven", 7},        {"seventeen", 17},
    {"hundred", 100}, {"other", 1021}, {"thousands", 5000}, {"most", .qlen = 0},
};

struct opening {
        struct test *t;
        DAT_EVD_HANDLE evd;
};

#endif
