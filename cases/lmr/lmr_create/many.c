/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_create: many LMRs and several threads. */
#include "cases/lmr/lmr_create/fixtures.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/rounds.h"
#include "clauses/lmr_create.h"

#include <string.h>

#define AT_ONCE   50 /* LMRs */
#define MOST_LMRS 1024
#define LARGE     ((size_t)16 << 20)
#define MET       3 /* rounds in which their calls met are enough */
#define THREADS   3

/*
 * Many
 */

CASE(lmr_create, many_at_once)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, AT_ONCE * MESSAGE);
        struct region regions[AT_ONCE];
        size_t count = (size_t)ia_attr(t)->max_lmrs / 2;

        if (count > AT_ONCE)
                count = AT_ONCE;
        for (size_t i = 0; i < count; i++) {
                regions[i] = created_with(t, .addr = memory + i * MESSAGE, .length = MESSAGE);
                for (size_t j = 0; j < i; j++)
                        expect_two(t, &regions[i], &regions[j]);
        }
        for (size_t i = 0; i < count; i++)
                expect_moves(t, &wire, &regions[i], i % 2 ? USE_SEND : USE_RECV, 0, MESSAGE);
}

/* As many as the IA says, or MOST_LMRS; only a lack of resources can stand in their way. */
CASE(lmr_create, as_many_as_the_ia_has)
{
        DAT_COUNT limit = ia_attr(t)->max_lmrs;
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct region region;
        DAT_RETURN ret = DAT_SUCCESS;
        DAT_COUNT made;

        for (made = 0; made < limit && made < MOST_LMRS; made++) {
                ret =
                    expect(region_create(t, (struct region_opts){.addr = memory, .length = MESSAGE},
                                         &region),
                           DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
        }
        if (!dat_is(ret, DAT_SUCCESS))
                resource(t, "no resources for more than %d of %d LMRs", made, limit);
}

CASE(lmr_create, large)
{
        struct wire wire = wire_in(t, pz(t));
        DAT_VLEN most = ia_attr(t)->max_lmr_block_size;
        size_t length = most < LARGE ? (size_t)most : LARGE;
        struct region region = created_with(t, .length = length);

        expect_moves(t, &wire, &region, USE_RECV, 0, MESSAGE);
        expect_moves(t, &wire, &region, USE_RECV, (ptrdiff_t)(length - MESSAGE), MESSAGE);
        expect_moves(t, &wire, &region, USE_SEND, (ptrdiff_t)(length - MESSAGE), MESSAGE);
        expect_moves(t, &wire, &region, USE_REMOTE_SET, (ptrdiff_t)(length / 2), MESSAGE);
}

CASE(lmr_create, often, ROUNDS_DEADLINE)
{
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct wire wire = wire_in(t, pz(t));
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_LMR);
        struct region region;

        while (rounds_next(&rounds)) {
                region = created_with(t, .addr = memory, .length = REGION_PAGE);
                lmr_create_free_now(t, &region);
        }
        expect_no_leak(&rounds);
        region = created_with(t, .addr = memory, .length = REGION_PAGE);
        expect_used(t, &wire, &region);
}

CASE(lmr_create, beside_others)
{
        struct wire wire = wire_in(t, pz(t));
        struct region older = region_with(t);
        struct region newer;

        expect_used(t, &wire, &older);
        newer = created_with(t, .privileges = LOCAL_READ);
        expect_moves(t, &wire, &newer, USE_SEND, 0, newer.length);
        expect_used(t, &wire, &older);
}

CASE(lmr_create, two_eps)
{
        struct wire one = wire_in(t, pz(t));
        struct wire other = wire_in(t, pz(t));
        struct region region = created_with(t);

        expect_used(t, &one, &region);
        expect_used(t, &other, &region);
}

/* The rows of `uses` that are of the LMR's own side. */
static const struct local_use {
        const char *id;
        const struct use *use;
} local_uses[] = {
    {"send", USE_SEND},
    {"recv", USE_RECV},
    {"rdma_write_from", USE_WRITE},
    {"rdma_read_into", USE_READ},
};

FAMILY(lmr_create, other_zone, local_uses)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct wire wire;
        struct wire other;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, zone);
        other = wire_in(t, pz(t));
        region = created_with(t, .pz = zone);
        expect_moves(t, &wire, &region, row->use, 0, region.length);
        expect_refused_use(t, &other, &region, row->use, 0, region.length);
}

/*
 * Several threads
 */

struct creation {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE zone;
        struct region made;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;
        struct region *made = &creation->made;
        DAT_REGION_DESCRIPTION description = {.for_va = made->addr};

        return dat_lmr_create(creation->ia, DAT_MEM_TYPE_VIRTUAL, description, made->length,
                              creation->zone, DAT_MEM_PRIV_ALL_FLAG, &made->lmr, &made->lmr_context,
                              &made->rmr_context, &made->registered_size,
                              &made->registered_address);
}

CASE(lmr_create, any_thread, DEADLINE_MS(20000))
{
        struct stress stress = stress_of(t, 3000);
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, THREADS * MESSAGE);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (size_t i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.ia = ia(t), .zone = pz(t)};
                        creations[i].made.addr = memory + i * MESSAGE;
                        creations[i].made.length = MESSAGE;
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopt(t, DAT_HANDLE_TYPE_LMR, creations[i].made.lmr);
                        expect_moves(t, &wire, &creations[i].made, USE_RECV, 0, MESSAGE);
                }
                expect_two(t, &creations[0].made, &creations[1].made);
                expect_two(t, &creations[1].made, &creations[2].made);
                for (int i = 0; i < THREADS; i++)
                        lmr_create_free_now(t, &creations[i].made);
        }
        must_have_met(&stress);
}
