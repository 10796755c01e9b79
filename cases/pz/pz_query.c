/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_pz_query: the IA of a zone, whatever is in it, and what is no mask. */
#include "clauses/pz_query.h"
#include "cases/pz/shared/zone.h"
#include "cases/shared/masks.h"

#include <string.h>

#define MANY    100 /* queries */
#define ZONES   20
#define MET     3 /* rounds in which their calls met are enough */
#define THREADS 3

static DAT_RETURN query_pz(DAT_HANDLE pz, uint64_t mask, void *param)
{
        return dat_pz_query(pz, (DAT_PZ_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_pz_query(pz, mask, param)", query_pz,
                                          sizeof(DAT_PZ_PARAM), DAT_PZ_FIELD_ALL};

/* The IA that the zone tells, into memory that no provider would leave so. */
static DAT_IA_HANDLE told(struct test *t, DAT_PZ_HANDLE zone)
{
        DAT_PZ_PARAM param;

        expect_query(t, &query, zone, DAT_PZ_FIELD_IA_HANDLE, &param);
        return param.ia_handle;
}

static void expect_told(struct test *t, DAT_PZ_HANDLE zone, DAT_IA_HANDLE wanted)
{
        expect_that(told(t, zone) == wanted, "the PZ is of another IA");
}

CASE(pz_query, ia_handle)
{
        expect_told(t, pz_new(t), ia(t));
}

CASE(pz_query, all_fields)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_PZ_PARAM param;

        expect_query(t, &query, zone, DAT_PZ_FIELD_ALL, &param);
        expect_that(param.ia_handle == ia(t), "the PZ is of another IA");
}

CASE(pz_query, own_ia)
{
        DAT_PZ_HANDLE older = pz_new(t);
        DAT_PZ_HANDLE there = pz_of(t, other_ia(t));
        DAT_PZ_HANDLE newer = pz_new(t);

        expect_told(t, older, ia(t));
        expect_told(t, there, other_ia(t));
        expect_told(t, newer, ia(t));
}

CASE(pz_query, each_of_many)
{
        DAT_PZ_HANDLE zones[ZONES] = {DAT_HANDLE_NULL};
        DAT_COUNT count = cap_at_limit(t, ZONES, DAT_HANDLE_TYPE_PZ, 2);

        for (int i = 0; i < count; i++)
                zones[i] = pz_of(t, i % 2 ? other_ia(t) : ia(t));
        for (int i = count - 1; i >= 0; i--)
                expect_told(t, zones[i], i % 2 ? other_ia(t) : ia(t));
}

CASE(pz_query, others_freed)
{
        DAT_PZ_HANDLE older = pz_new(t);
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_PZ_HANDLE newer = pz_new(t);

        release(t, older);
        expect_told(t, zone, ia(t));
        release(t, newer);
        expect_told(t, zone, ia(t));
}

/*
 * Zones that are in use
 */

FAMILY(pz_query, in_use, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_HANDLE user = made_in(t, row, zone);

        expect_told(t, zone, ia(t));
        expect_that(row->zone_of(user) == zone, "the %s is in the zone no more", row->id);
}

FAMILY(pz_query, no_longer_in_use, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        release(t, made_in(t, row, zone));

        expect_told(t, zone, ia(t));
}

FAMILY(pz_query, takes_more, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct zone_args args = zone_args(t);
        DAT_HANDLE user = DAT_HANDLE_NULL;

        for (int i = 0; i < MANY; i++)
                expect_told(t, zone, ia(t));

        expect(row->create(&args, zone, &user), DAT_SUCCESS);
        adopt(t, row->type, user);
        expect_that(row->zone_of(user) == zone, "the %s is not in the zone", row->id);
}

CASE(pz_query, keeps_traffic)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct zone_path path = path_in(t, zone);

        expect_carries(t, &path);
        for (int i = 0; i < MANY; i++)
                expect_told(t, zone, ia(t));
        expect_carries(t, &path);
        expect_told(t, zone, ia(t));
}

CASE(pz_query, is_no_use)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        for (int i = 0; i < MANY; i++)
                expect_told(t, zone, ia(t));

        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

CASE(pz_query, within_structure)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = expect_query_within(t, &query, zone);
        const DAT_PZ_PARAM *param = (const void *)buf->addr;

        expect_that(param->ia_handle == ia(t), "the PZ is of another IA");
        release(t, buf->lmr);
}

/*
 * Several threads
 */

struct question {
        DAT_PZ_HANDLE zone;
        DAT_PZ_PARAM param;
};

static DAT_RETURN query_by(void *arg)
{
        struct question *question = arg;

        return dat_pz_query(question->zone, DAT_PZ_FIELD_ALL, &question->param);
}

CASE(pz_query, any_thread, DEADLINE_MS(20000))
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_of(t, other_ia(t))};
        DAT_IA_HANDLE ias[] = {ia(t), other_ia(t)};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct question questions[THREADS];
                struct racer racers[THREADS];

                memset(questions, 0xa5, sizeof(questions));
                for (int i = 0; i < THREADS; i++) {
                        questions[i].zone = zones[i % 2];
                        racers[i] = (struct racer){.call = query_by, .arg = &questions[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        expect_that(questions[i].param.ia_handle == ias[i % 2],
                                    "query %d was told another IA", i);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_PZ_FIELD_ALL)};

FAMILY(pz_query, invalid_mask, masks)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        expect_masks_refused(t, &query, zone, row);
        expect_told(t, zone, ia(t));
}

CASE(pz_query, no_mask)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        expect_no_mask_answered(t, &query, zone);
        expect_told(t, zone, ia(t));
}

LEGAL(pz_query)
{
        static DAT_PZ_PARAM param;

        call->pz_handle = pz_new(t);
        call->pz_param_mask = DAT_PZ_FIELD_ALL;
        call->pz_param = &param;
}
