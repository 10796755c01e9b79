/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/lmr/lmr_create/fixtures.h"

#include <string.h>

struct region created(struct test *t, struct region_opts opts)
{
        struct region region;

        expect(region_create(t, opts, &region), DAT_SUCCESS);
        return region;
}

void lmr_create_free_now(struct test *t, const struct region *region)
{
        expect(dat_lmr_free(region->lmr), DAT_SUCCESS);
        disown(t, region->lmr);
}

void expect_two(struct test *t, const struct region *one, const struct region *other)
{
        expect_that(one->lmr != other->lmr, "two LMRs have one handle");
        expect_that(one->lmr_context != other->lmr_context, "two LMRs have one context");
        expect_that(one->rmr_context != other->rmr_context, "two LMRs have one remote context");
}

unsigned char *arena(struct test *t)
{
        unsigned char *memory = memory_private(t, ARENA);

        memset(memory, AROUND, ARENA);
        return memory;
}

unsigned char *registered_at(const struct region *region)
{
        return region->addr +
               (ptrdiff_t)(region->registered_address - (DAT_VADDR)(uintptr_t)region->addr);
}

void expect_zone_unused(struct test *t, DAT_PZ_HANDLE zone)
{
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}
