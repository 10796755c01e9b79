/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: LMRs over LMRs. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/handles.h"
#include "clauses/lmr_create.h"

static const struct ignored {
        const char *id;
        size_t length;
} ignored[] = {
    {"none", 0},
    {"one", 1},
    {"longer", 7 * REGION_PAGE},
    {"endless", SIZE_MAX},
};

FAMILY(lmr_create, length_ignored, ignored)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = arena(t);
        struct region source = region_with(t, .addr = memory + 100, .length = REGION_PAGE);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source,
                                            .length = row->length, .no_length = row->length == 0);

        expect_two(t, &source, &region);
        expect_that(registered_at(&region) <= source.addr,
                    "it does not begin where the other does");
        expect_that(registered_at(&region) + region.registered_size >= source.addr + source.length,
                    "it ends before the other does");
        expect_used(t, &wire, &region);
        expect_used(t, &wire, &source);
}

CASE(lmr_create, of_lmr_other_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct wire wire = wire_in(t, pz(t));
        struct wire other = wire_in(t, zone);
        struct region source = region_with(t, .length = REGION_PAGE);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source, .pz = zone);

        expect_that(region_param(t, region.lmr).pz_handle == zone, "the LMR is in another PZ");
        expect_used(t, &other, &region);
        expect_used(t, &wire, &source);
}

CASE(lmr_create, of_lmr_wider)
{
        struct wire wire = wire_in(t, pz(t));
        struct region source = region_with(t, .privileges = LOCAL_READ);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source);

        expect_used(t, &wire, &region);
        expect_eq(region_param(t, source.lmr).mem_priv, LOCAL_READ);
}

CASE(lmr_create, of_lmr_narrower)
{
        struct wire wire = wire_in(t, pz(t));
        struct region source = region_with(t);
        struct region region = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source,
                                            .privileges = LOCAL_READ | LOCAL_WRITE);

        expect_eq(region.rmr_context, 0);
        region.rmr_context = region.lmr_context;
        expect_used(t, &wire, &source);
        expect_refused_use(t, &wire, &region, USE_REMOTE_SET, 0, region.length);
}

/* One local privilege of an LMR over one that has all, and the use that lacks its own. */
static const struct local {
        const char *id;
        DAT_MEM_PRIV_FLAGS privilege;
        const struct use *granted;
        const struct use *refused;
} locals[] = {
    {"read", LOCAL_READ, USE_SEND, USE_RECV},
    {"write", LOCAL_WRITE, USE_RECV, USE_SEND},
};

FAMILY(lmr_create, of_lmr_local, locals)
{
        struct wire wire = wire_in(t, pz(t));
        struct region source = region_with(t);
        struct region region =
            created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source, .privileges = row->privilege);

        expect_eq(region_param(t, region.lmr).mem_priv, row->privilege);
        expect_moves(t, &wire, &region, row->granted, 0, region.length);
        expect_refused_use(t, &wire, &region, row->refused, 0, region.length);
}

/* One remote privilege of an LMR over one that has all, and the use that lacks its own. */
static const struct local remotes[] = {
    {"read", LOCAL_READ | LOCAL_WRITE | REMOTE_READ, USE_REMOTE_READ, USE_REMOTE_SET},
    {"write", LOCAL_READ | LOCAL_WRITE | REMOTE_WRITE, USE_REMOTE_SET, USE_REMOTE_READ},
};

FAMILY(lmr_create, of_lmr_remote, remotes)
{
        struct region source = region_with(t);
        struct region region;
        struct wire wire;

        use_supported(t, USE_REMOTE_READ);
        wire = wire_in(t, pz(t));
        region =
            created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source, .privileges = row->privilege);
        expect_eq(region_param(t, region.lmr).mem_priv, row->privilege);
        if (!region.rmr_context)
                end_noted(t, "no remote context for one remote privilege (LMR-1)");
        expect_moves(t, &wire, &region, row->granted, 0, region.length);
        expect_refused_use(t, &wire, &region, row->refused, 0, region.length);
}

CASE(lmr_create, of_lmr_of_lmr)
{
        struct wire wire = wire_in(t, pz(t));
        struct region regions[4] = {region_with(t)};

        for (int i = 1; i < 4; i++) {
                regions[i] = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &regions[i - 1]);
                expect_two(t, &regions[i - 1], &regions[i]);
        }
        for (int i = 3; i >= 0; i--)
                expect_used(t, &wire, &regions[i]);
}

CASE(lmr_create, of_lmr_of_shared)
{
        struct wire wire = wire_in(t, pz(t));
        struct region shared = region_with(t, .type = DAT_MEM_TYPE_SHARED_VIRTUAL);
        struct region over = created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &shared);

        expect_two(t, &shared, &over);
        expect_used(t, &wire, &over);
        expect_used(t, &wire, &shared);
}

FAMILY(lmr_create, not_an_lmr, invalid_handles)
{
        struct region source = region_with(t);
        struct region bad = {.lmr = bad_handle(t, DAT_HANDLE_TYPE_LMR, row->how)};
        struct region region;

        expect(
            region_create(t, (struct region_opts){.type = DAT_MEM_TYPE_LMR, .of = &bad}, &region),
            DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
        created_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source);
}

CASE(lmr_create, lmr_of_other_ia)
{
        struct region source = region_with(t, .ia = other_ia(t), .pz = pz_of(t, other_ia(t)));
        struct region region;
        DAT_RETURN ret =
            expect(region_create(t, (struct region_opts){.type = DAT_MEM_TYPE_LMR, .of = &source},
                                 &region),
                   DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                note(t, "granted, though the LMR is another IA's (GEN-12)");
        expect_that(region_param(t, source.lmr).ia_handle == other_ia(t),
                    "the LMR of the other IA has changed");
}
