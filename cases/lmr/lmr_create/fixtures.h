/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_lmr_create use. */
#ifndef CASES_LMR_CREATE_FIXTURES_H
#define CASES_LMR_CREATE_FIXTURES_H

#include "case.h"
#include "cases/lmr/shared/region.h"

#define FRONT  (17 * REGION_PAGE) /* memory before an LMR: what is registered by 64 KiB is there */
#define ARENA  (38 * REGION_PAGE) /* with that before the LMR and behind it */
#define AROUND 0x77               /* what its other bytes are */

struct region created(struct test *t, struct region_opts opts);

#define created_with(t_, ...) created((t_), (struct region_opts){__VA_ARGS__})

void lmr_create_free_now(struct test *t, const struct region *region);

void expect_two(struct test *t, const struct region *one, const struct region *other);

unsigned char *arena(struct test *t);

unsigned char *registered_at(const struct region *region);

/* A refused LMR is in no zone. */
void expect_zone_unused(struct test *t, DAT_PZ_HANDLE zone);

#endif
