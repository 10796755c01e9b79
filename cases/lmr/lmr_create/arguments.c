/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: arguments. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/bits.h"
#include "clauses/lmr_create.h"

static const struct undefined {
        const char *id;
        unsigned int value;
} undefined_types[] = {
    {"far_behind", 100},
    {"high_bit", 1U << 31},
    {"all_bits", ~0U},
};

FAMILY(lmr_create, undefined_type, undefined_types)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_REGION_DESCRIPTION description = {.for_va = memory_private(t, REGION_PAGE)};
        struct region made;

        expect(dat_lmr_create(ia(t), (DAT_MEM_TYPE)row->value, description, REGION_PAGE, zone,
                              DAT_MEM_PRIV_ALL_FLAG, &made.lmr, &made.lmr_context,
                              &made.rmr_context, &made.registered_size, &made.registered_address),
               DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
        created_with(t);
        expect_zone_unused(t, zone);
}

static const struct undefined undefined_privileges[] = {
    {"between", 0x4},      {"between_among_all", 0x33 | 0x8},
    {"next", 0x100},       {"next_among_all", 0x33 | 0x100},
    {"highest", 1U << 31}, {"all_bits", ~0U},
};

FAMILY(lmr_create, undefined_privilege, undefined_privileges)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region region;

        expect(region_create(
                   t,
                   (struct region_opts){.pz = zone, .privileges = (DAT_MEM_PRIV_FLAGS)row->value},
                   &region),
               DAT_INVALID_PARAMETER);
        created_with(t);
        expect_zone_unused(t, zone);
}

CASE(lmr_create, each_undefined_privilege)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region_opts opts = {.pz = zone};
        struct region region;

        EACH_UNDEFINED_BIT (bit, MEM_PRIV_BITS) {
                opts.privileges = (DAT_MEM_PRIV_FLAGS)(DAT_MEM_PRIV_ALL_FLAG | bit);
                expect_bit(bit, region_create(t, opts, &region), DAT_INVALID_PARAMETER);
        }
        created_with(t);
        expect_zone_unused(t, zone);
}

LEGAL(lmr_create)
{
        static struct region made;

        call->ia_handle = ia(t);
        call->mem_type = DAT_MEM_TYPE_VIRTUAL;
        call->region_description.for_va = memory_private(t, REGION_PAGE);
        call->length = REGION_PAGE;
        call->pz_handle = pz(t);
        call->privileges = DAT_MEM_PRIV_ALL_FLAG;
        call->lmr_context = &made.lmr_context;
        call->rmr_context = &made.rmr_context;
        call->registered_length = &made.registered_size;
        call->registered_address = &made.registered_address;
}
