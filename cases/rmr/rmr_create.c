/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_create: RMRs that are each one's own, and whom their zone lets in. */
#include "clauses/rmr_create.h"
#include "cases/rmr/shared/window.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"

#define RMRS      50 /* at once */
#define MOST_RMRS 1024
#define SEVERAL   3 /* bound at once */
#define MET       3 /* rounds in which their calls met are enough */
#define THREADS   3

static DAT_RMR_HANDLE create_in(struct test *t, DAT_PZ_HANDLE zone)
{
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

        expect(dat_rmr_create(zone, &rmr), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        return rmr;
}

static void expect_in(struct test *t, DAT_RMR_HANDLE rmr, DAT_PZ_HANDLE zone, DAT_IA_HANDLE of)
{
        DAT_RMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_rmr_query(rmr, DAT_RMR_FIELD_IA_HANDLE | DAT_RMR_FIELD_PZ_HANDLE, &param),
               DAT_SUCCESS);
        expect_that(param.pz_handle == zone, "the RMR is in another zone");
        expect_that(param.ia_handle == of, "the RMR is of another IA");
}

static void free_now(struct test *t, DAT_RMR_HANDLE rmr)
{
        expect(dat_rmr_free(rmr), DAT_SUCCESS);
        disown(t, rmr);
}

/*
 * What is made
 */

CASE(rmr_create, created)
{
        expect_in(t, create_in(t, pz(t)), pz(t), ia(t));
}

CASE(rmr_create, own_zone)
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        DAT_RMR_HANDLE rmrs[4];

        for (int i = 0; i < 4; i++)
                rmrs[i] = create_in(t, zones[i % 2]);

        for (int i = 0; i < 4; i++)
                expect_in(t, rmrs[i], zones[i % 2], ia(t));
}

CASE(rmr_create, own_ia)
{
        DAT_IA_HANDLE ias[] = {ia(t), other_ia(t)};
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_of(t, ias[1])};
        DAT_RMR_HANDLE rmrs[4];

        for (int i = 0; i < 4; i++)
                rmrs[i] = create_in(t, zones[i % 2]);

        for (int i = 0; i < 4; i++)
                expect_in(t, rmrs[i], zones[i % 2], ias[i % 2]);
}

static DAT_COUNT rmrs_at_once(struct test *t, DAT_COUNT most)
{
        DAT_COUNT limit = ia_attr(t)->max_rmrs;

        return limit < most ? limit : most;
}

CASE(rmr_create, many_at_once)
{
        DAT_COUNT count = rmrs_at_once(t, RMRS);
        DAT_RMR_HANDLE rmrs[RMRS];

        if (count < 2)
                end_noted(t, "max_rmrs is %d", count);
        for (DAT_COUNT i = 0; i < count; i++) {
                rmrs[i] = create_in(t, pz(t));
                for (DAT_COUNT j = 0; j < i; j++)
                        expect_that(rmrs[j] != rmrs[i], "two RMRs have one handle");
        }
        for (DAT_COUNT i = 0; i < count; i++)
                expect_in(t, rmrs[i], pz(t), ia(t));
        for (DAT_COUNT i = 0; i < count; i++)
                free_now(t, rmrs[i]);
}

CASE(rmr_create, as_many_as_the_ia_has)
{
        DAT_COUNT wanted = rmrs_at_once(t, MOST_RMRS);
        DAT_RETURN ret = DAT_SUCCESS;
        DAT_COUNT made;

        for (made = 0; made < wanted; made++) {
                DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

                ret = expect(dat_rmr_create(pz(t), &rmr), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
                adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        }
        if (made < wanted)
                resource(t, "no resources for more than %d of %d RMRs", made, ia_attr(t)->max_rmrs);
}

CASE(rmr_create, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_RMR);

        while (rounds_next(&rounds))
                free_now(t, create_in(t, pz(t)));
        expect_no_leak(&rounds);
}

CASE(rmr_create, holds_no_memory)
{
        struct buf *older = buf_with(t);
        DAT_RMR_HANDLE rmr = create_in(t, pz(t));
        struct buf *newer = buf_with(t);

        expect(dat_lmr_free(older->lmr), DAT_SUCCESS);
        disown(t, older->lmr);
        expect(dat_lmr_free(newer->lmr), DAT_SUCCESS);
        disown(t, newer->lmr);
        expect_in(t, rmr, pz(t), ia(t));
}

FAMILY(rmr_create, can_be_bound, ways)
{
        struct window window = window_for(t, row->way);
        DAT_RMR_CONTEXT contexts[SEVERAL];
        DAT_RMR_HANDLE rmrs[SEVERAL];

        for (int i = 0; i < SEVERAL; i++)
                rmrs[i] = create_in(t, window.pz);
        for (size_t i = 0; i < SEVERAL; i++) {
                DAT_LMR_TRIPLET segment = triplet(window.memory, i * WIDTH, WIDTH);

                expect(dat_rmr_bind(rmrs[i], &segment, REMOTE_PRIVILEGES, window.near,
                                    (DAT_RMR_COOKIE){.as_64 = i}, DAT_COMPLETION_DEFAULT_FLAG,
                                    &contexts[i]),
                       DAT_SUCCESS);
                expect_bind_done(t, window.requests, rmrs[i], i, DAT_RMR_BIND_SUCCESS);
        }
        for (size_t i = 0; i < SEVERAL; i++)
                expect_reached(t, &window, row->way, contexts[i], i * WIDTH, WIDTH);
}

struct creation {
        DAT_PZ_HANDLE zone;
        DAT_RMR_HANDLE rmr;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;

        return dat_rmr_create(creation->zone, &creation->rmr);
}

CASE(rmr_create, any_thread, DEADLINE_MS(20000))
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.zone = zones[i % 2]};
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopt(t, DAT_HANDLE_TYPE_RMR, creations[i].rmr);
                }
                expect_that(creations[0].rmr != creations[1].rmr &&
                                creations[0].rmr != creations[2].rmr &&
                                creations[1].rmr != creations[2].rmr,
                            "two RMRs have one handle");
                for (int i = 0; i < THREADS; i++) {
                        expect_in(t, creations[i].rmr, zones[i % 2], ia(t));
                        free_now(t, creations[i].rmr);
                }
        }
        must_have_met(&stress);
}

/*
 * Whom the zone lets in
 */

FAMILY(rmr_create, any_connection_of_zone, ways)
{
        bool reads = row->way == BY_READ;
        struct window window = window_for(t, row->way);
        struct window beside = window_beside(t, &window, window.pz, reads);
        DAT_RMR_HANDLE rmr = create_in(t, window.pz);
        DAT_RMR_CONTEXT context = must_bind_region(t, &window, rmr);
        DAT_RMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        must(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
        if (rmr_is_of_one_ep(&param))
                unsupported(t, "rmr_scope = DAT_RMR_SCOPE_EP");

        expect_reached(t, &beside, row->way, context, REGION, WIDTH / 2);

        must(dat_ep_disconnect(window.near, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, window.near), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_reached(t, &beside, row->way, context, REGION + WIDTH / 2, WIDTH / 2);
}

/* Whether the zone of the RMR is the one that was made last, and how its memory is reached. */
static const struct stranger {
        const char *id;
        int own;
        enum way way;
} strangers[] = {
    {"write_of_older", 0, BY_WRITE},
    {"read_of_older", 0, BY_READ},
    {"write_of_newer", 1, BY_WRITE},
    {"read_of_newer", 1, BY_READ},
};

FAMILY(rmr_create, no_connection_of_other_zone, strangers)
{
        bool reads = row->way == BY_READ;
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        struct window window = window_with(t, .pz = zones[row->own], .reads = reads);
        struct window strange = window_beside(t, &window, zones[!row->own], reads);
        DAT_RMR_HANDLE rmr = create_in(t, zones[row->own]);
        DAT_RMR_CONTEXT context = must_bind_region(t, &window, rmr);

        expect_denied(t, &strange, row->way, context, REGION, WIDTH);
        expect_reached(t, &window, row->way, context, REGION, WIDTH);
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"rmr", SIBLING_RMR},
};

FAMILY(rmr_create, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_made_beside(t, SIBLING_RMR, row);
}

LEGAL(rmr_create)
{
        call->pz_handle = pz(t);
}
