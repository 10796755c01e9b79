/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: privileges. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "clauses/lmr_create.h"

FAMILY(lmr_create, privilege, uses)
{
        struct wire wire;
        struct region region;

        use_supported(t, row);
        wire = wire_in(t, pz(t));
        region = created_with(t, .privileges = row->privilege);
        if (row->remote && !region.rmr_context)
                end_noted(t, "no remote context for one remote privilege (LMR-1)");
        expect_moves(t, &wire, &region, row, 0, region.length);
}

CASE(lmr_create, every_privilege)
{
        for (unsigned int bits = 0; bits <= DAT_MEM_PRIV_ALL_FLAG; bits++) {
                DAT_MEM_PRIV_FLAGS privileges = (DAT_MEM_PRIV_FLAGS)bits;
                struct region region;

                if (bits & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG)
                        continue;
                region = created_with(t, .privileges = privileges, .unprivileged = !bits);
                expect_eq(region_param(t, region.lmr).mem_priv, privileges);
        }
}

/* What is not asked for is tried, with what context there is. */
static const struct unasked {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
        const struct use *use;
} unasked[] = {
    {"read_of_none", DAT_MEM_PRIV_NONE_FLAG, USE_REMOTE_READ},
    {"write_of_none", DAT_MEM_PRIV_NONE_FLAG, USE_REMOTE_SET},
    {"read_of_local", LOCAL_READ | LOCAL_WRITE, USE_REMOTE_READ},
    {"write_of_local", LOCAL_READ | LOCAL_WRITE, USE_REMOTE_SET},
    {"read_of_write", LOCAL_READ | LOCAL_WRITE | REMOTE_WRITE, USE_REMOTE_READ},
    {"write_of_read", LOCAL_READ | LOCAL_WRITE | REMOTE_READ, USE_REMOTE_SET},
};

FAMILY(lmr_create, unasked, unasked)
{
        struct wire wire;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        region = created_with(t, .privileges = row->privileges, .unprivileged = !row->privileges);
        if (!region.rmr_context)
                region.rmr_context = region.lmr_context;
        expect_refused_use(t, &wire, &region, row->use, 0, region.length);
}

static const struct local_only {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
} local_only[] = {
    {"none", DAT_MEM_PRIV_NONE_FLAG},
    {"read", LOCAL_READ},
    {"write", LOCAL_WRITE},
    {"both", LOCAL_READ | LOCAL_WRITE},
};

FAMILY(lmr_create, no_remote_context, local_only)
{
        struct region region =
            created_with(t, .privileges = row->privileges, .unprivileged = !row->privileges);

        expect_eq(region.rmr_context, 0);
        expect_eq(region_param(t, region.lmr).rmr_context, 0);
}
