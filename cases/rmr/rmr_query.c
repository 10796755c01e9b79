/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_query: every field by its own bit, of which RMR it is, and what is no mask. */
#include "clauses/rmr_query.h"
#include "case/poison.h"
#include "cases/rmr/shared/window.h"
#include "cases/shared/masks.h"

#define MANY        100 /* queries */
#define RMRS        8   /* bound at once */
#define FIELD_COUNT 5

/* An RMR whose parameters a case knows, for it made and bound it. */
struct known {
        DAT_RMR_HANDLE rmr;
        DAT_RMR_PARAM param;
};

static struct known known_in(struct test *t, DAT_PZ_HANDLE zone, DAT_IA_HANDLE of)
{
        return (struct known){.rmr = rmr_in(t, zone),
                              .param = {.ia_handle = of, .pz_handle = zone}};
}

static void bind_known(struct test *t, const struct window *window, struct known *known,
                       DAT_LMR_TRIPLET segment, DAT_MEM_PRIV_FLAGS privileges)
{
        known->param.rmr_context = must_bind(t, window, known->rmr, segment, privileges);
        known->param.lmr_triplet = segment;
        known->param.mem_priv = privileges;
}

static struct known known_bound(struct test *t, const struct window *window)
{
        struct known known = known_in(t, window->pz, ia(t));

        bind_known(t, window, &known, region(window), DAT_MEM_PRIV_REMOTE_READ_FLAG);
        return known;
}

static DAT_RETURN query_rmr(DAT_HANDLE rmr, uint64_t mask, void *param)
{
        return dat_rmr_query(rmr, (DAT_RMR_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_rmr_query(rmr, mask, param)", query_rmr,
                                          sizeof(DAT_RMR_PARAM), DAT_RMR_FIELD_ALL};

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_RMR_PARAM queried(struct test *t, DAT_RMR_HANDLE rmr, unsigned int mask)
{
        DAT_RMR_PARAM param;

        expect_query(t, &query, rmr, mask, &param);
        return param;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param)
{
        expect_that(param->ia_handle == known->ia_handle, "the RMR is of another IA");
}

static void check_pz(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param)
{
        expect_that(param->pz_handle == known->pz_handle, "the RMR is in another zone");
}

static void check_triplet(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param)
{
        expect_eq(param->lmr_triplet.virtual_address, known->lmr_triplet.virtual_address);
        expect_eq(param->lmr_triplet.segment_length, known->lmr_triplet.segment_length);
        expect_eq(param->lmr_triplet.lmr_context, known->lmr_triplet.lmr_context);
}

/* An RMR has remote privileges; whether it keeps the local ones that were named, none can tell. */
static void check_privileges(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param)
{
        expect_eq(param->mem_priv & REMOTE_PRIVILEGES, known->mem_priv & REMOTE_PRIVILEGES);
        expect_that((param->mem_priv & ~known->mem_priv) == 0,
                    "%s is reported, which was not requested",
                    names_of(DAT_MEM_PRIV_FLAGS, param->mem_priv & ~known->mem_priv));
}

static void check_context(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param)
{
        expect_eq(param->rmr_context, known->rmr_context);
}

static const struct field {
        const char *id;
        DAT_RMR_PARAM_MASK bit;
        void (*check)(struct test *t, const DAT_RMR_PARAM *known, const DAT_RMR_PARAM *param);
} fields[FIELD_COUNT] = {
    {"ia_handle", DAT_RMR_FIELD_IA_HANDLE, check_ia},
    {"pz_handle", DAT_RMR_FIELD_PZ_HANDLE, check_pz},
    {"lmr_triplet", DAT_RMR_FIELD_LMR_TRIPLET, check_triplet},
    {"mem_priv", DAT_RMR_FIELD_MEM_PRIV, check_privileges},
    {"rmr_context", DAT_RMR_FIELD_RMR_CONTEXT, check_context},
};

#define ALWAYS (DAT_RMR_FIELD_IA_HANDLE | DAT_RMR_FIELD_PZ_HANDLE)
#define BOUND \
        (ALWAYS | DAT_RMR_FIELD_LMR_TRIPLET | DAT_RMR_FIELD_MEM_PRIV | DAT_RMR_FIELD_RMR_CONTEXT)

static void check_param(struct test *t, const struct known *known, const DAT_RMR_PARAM *param,
                        unsigned int mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, &known->param, param);
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_RMR_PARAM param = queried(t, known->rmr, mask);

        check_param(t, known, &param, mask);
}

/* Together, and each by its own bit. */
static void check_fields_also_alone(struct test *t, const struct known *known, unsigned int mask)
{
        check_fields(t, known, mask);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        check_fields(t, known, fields[i].bit);
}

FAMILY(rmr_query, field, fields)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);

        check_fields(t, &known, row->bit);
}

FAMILY(rmr_query, field_among_all, fields)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);
        DAT_RMR_PARAM param = queried(t, known.rmr, DAT_RMR_FIELD_ALL);

        row->check(t, &known.param, &param);
}

CASE(rmr_query, every_mask)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);

        for (unsigned int mask = 1; mask <= BOUND; mask++)
                check_fields(t, &known, mask);
}

static struct known new_one(struct test *t)
{
        return known_in(t, pz_new(t), ia(t));
}

static struct known beside_bound(struct test *t)
{
        struct window window = window_with(t);
        struct known known = known_in(t, window.pz, ia(t));

        known_bound(t, &window);
        return known;
}

static struct known unbound_again(struct test *t)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);

        must_bind(t, &window, known.rmr, triplet(window.memory, REGION, 0),
                  DAT_MEM_PRIV_REMOTE_READ_FLAG);
        return known;
}

static const struct unbound {
        const char *id;
        struct known (*make)(struct test *t);
} unbounds[] = {
    {"new", new_one},
    {"beside_bound", beside_bound},
    {"unbound_again", unbound_again},
};

FAMILY(rmr_query, unbound, unbounds)
{
        struct known known = row->make(t);
        DAT_RMR_PARAM param = queried(t, known.rmr, DAT_RMR_FIELD_ALL);

        check_param(t, &known, &param, ALWAYS);
        check_fields(t, &known, DAT_RMR_FIELD_IA_HANDLE);
        check_fields(t, &known, DAT_RMR_FIELD_PZ_HANDLE);
}

static const struct privileged {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
} privilegeds[] = {
    {"none", DAT_MEM_PRIV_NONE_FLAG},
    {"read", DAT_MEM_PRIV_REMOTE_READ_FLAG},
    {"write", DAT_MEM_PRIV_REMOTE_WRITE_FLAG},
    {"both", REMOTE_PRIVILEGES},
    {"all", DAT_MEM_PRIV_ALL_FLAG},
};

FAMILY(rmr_query, privileges, privilegeds)
{
        struct window window = window_with(t);
        struct known known = known_in(t, window.pz, ia(t));

        bind_known(t, &window, &known, region(&window), row->privileges);

        check_fields(t, &known, DAT_RMR_FIELD_MEM_PRIV);
        check_fields(t, &known, BOUND);
}

static const struct place {
        const char *id;
        size_t offset, length;
} places[] = {
    {"whole", 0, MEMORY},
    {"first_byte", 0, 1},
    {"last_byte", MEMORY - 1, 1},
    {"odd", 777, 333},
};

FAMILY(rmr_query, region, places)
{
        struct window window = window_with(t);
        struct known known = known_in(t, window.pz, ia(t));

        bind_known(t, &window, &known, triplet(window.memory, row->offset, row->length),
                   REMOTE_PRIVILEGES);

        check_fields(t, &known, DAT_RMR_FIELD_LMR_TRIPLET);
        check_fields(t, &known, BOUND);
}

/*
 * Which RMR, and what has become of it
 */

CASE(rmr_query, own_parameters)
{
        static const DAT_MEM_PRIV_FLAGS some[] = {
            DAT_MEM_PRIV_REMOTE_READ_FLAG, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, REMOTE_PRIVILEGES};
        struct window window = window_with(t);
        struct known known[RMRS];

        for (size_t i = 0; i < RMRS; i++) {
                known[i] = known_in(t, window.pz, ia(t));
                bind_known(t, &window, &known[i], triplet(window.memory, 100 * i, 50 + i),
                           some[i % 3]);
        }
        for (size_t i = 0; i < RMRS; i++)
                check_fields(t, &known[i], BOUND);
}

CASE(rmr_query, own_lmr)
{
        struct window window = window_with(t);
        struct buf *second = buf_with(t, .pz = window.pz);
        struct known known[] = {known_in(t, window.pz, ia(t)), known_in(t, window.pz, ia(t))};

        bind_known(t, &window, &known[0], region(&window), REMOTE_PRIVILEGES);
        bind_known(t, &window, &known[1], triplet(second, REGION, WIDTH), REMOTE_PRIVILEGES);

        check_fields(t, &known[0], BOUND);
        check_fields(t, &known[1], BOUND);
}

CASE(rmr_query, own_zone)
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        struct known known[4];

        for (int i = 0; i < 4; i++)
                known[i] = known_in(t, zones[i % 2], ia(t));

        for (int i = 0; i < 4; i++)
                check_fields(t, &known[i], DAT_RMR_FIELD_PZ_HANDLE);
}

CASE(rmr_query, own_ia)
{
        struct known known[] = {known_in(t, pz(t), ia(t)),
                                known_in(t, pz_of(t, other_ia(t)), other_ia(t)),
                                known_in(t, pz(t), ia(t))};

        for (int i = 0; i < 3; i++)
                check_fields(t, &known[i], ALWAYS);
}

static void rebind(struct test *t, struct window *window, struct known *known)
{
        bind_known(t, window, known, triplet(window->memory, 33, 44),
                   DAT_MEM_PRIV_REMOTE_WRITE_FLAG);
}

/* The RMR is made after the memory: at the end it is freed first. */
static void rebind_elsewhere(struct test *t, struct window *window, struct known *known)
{
        struct buf *second = buf_with(t, .pz = window->pz);

        release(t, known->rmr);
        *known = known_bound(t, window);
        bind_known(t, window, known, triplet(second, REGION, WIDTH), DAT_MEM_PRIV_REMOTE_READ_FLAG);
}

static void bind_after_unbind(struct test *t, struct window *window, struct known *known)
{
        must_bind(t, window, known->rmr, triplet(window->memory, REGION, 0),
                  DAT_MEM_PRIV_REMOTE_READ_FLAG);
        rebind(t, window, known);
}

static void bind_refused(struct test *t, struct window *window, struct known *known)
{
        DAT_LMR_TRIPLET beyond = triplet(window->memory, REGION, window->memory->beyond);
        DAT_RMR_CONTEXT context;
        DAT_RETURN ret =
            dat_rmr_bind(known->rmr, &beyond, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, window->near,
                         (DAT_RMR_COOKIE){.as_64 = 1}, DAT_COMPLETION_DEFAULT_FLAG, &context);

        if (dat_is(ret, DAT_SUCCESS))
                end_noted(t, "a region beyond its LMR is not refused by the call");
}

static void use(struct test *t, struct window *window, struct known *known)
{
        rebind(t, window, known);
        expect_reached(t, window, BY_WRITE, known->param.rmr_context, 33, 44);
}

static void free_others(struct test *t, struct window *window, struct known *known)
{
        struct known newer;

        release(t, known->rmr);
        *known = known_bound(t, window);
        newer = known_bound(t, window);
        must(dat_rmr_free(newer.rmr));
        disown(t, newer.rmr);
}

/* Two binds are under way at once; the second one is what the RMR has. */
static void bind_twice_at_once(struct test *t, struct window *window, struct known *known)
{
        DAT_LMR_TRIPLET first = triplet(window->memory, 5, 6);
        DAT_RMR_CONTEXT context;

        must(dat_rmr_bind(known->rmr, &first, DAT_MEM_PRIV_REMOTE_READ_FLAG, window->near,
                          (DAT_RMR_COOKIE){.as_64 = 1}, DAT_COMPLETION_DEFAULT_FLAG, &context));
        rebind(t, window, known);
        must_event(window->requests, DAT_RMR_BIND_COMPLETION_EVENT);
}

/* By another EP of the zone, to the same bytes. */
static void bind_by_other_ep(struct test *t, struct window *window, struct known *known)
{
        struct window beside = window_beside(t, window, window->pz, false);

        bind_known(t, &beside, known, known->param.lmr_triplet, REMOTE_PRIVILEGES);
}

/* The same bytes once more: the context alone is another one. */
static void rebind_same(struct test *t, struct window *window, struct known *known)
{
        bind_known(t, window, known, known->param.lmr_triplet, known->param.mem_priv);
}

static const struct fate {
        const char *id;
        void (*meet)(struct test *t, struct window *window, struct known *known);
} fates[] = {
    {"rebind", rebind},
    {"other_lmr", rebind_elsewhere},
    {"bind_after_unbind", bind_after_unbind},
    {"refused_bind", bind_refused},
    {"use", use},
    {"others_freed", free_others},
    {"bound_twice_at_once", bind_twice_at_once},
    {"by_other_ep", bind_by_other_ep},
    {"same_region", rebind_same},
};

FAMILY(rmr_query, after, fates)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);

        row->meet(t, &window, &known);

        check_fields_also_alone(t, &known, BOUND);
}

static void disconnect(struct test *t, struct window *window)
{
        must(dat_ep_disconnect(window->near, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, window->near), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void free_ep(struct test *t, struct window *window)
{
        disconnect(t, window);
        release(t, window->near);
}

static const struct ending {
        const char *id;
        void (*end)(struct test *t, struct window *window);
} endings[] = {{"disconnected", disconnect}, {"freed", free_ep}};

/* Whether the RMR is bound still, is the transport's; its IA and zone it has in any case. */
FAMILY(rmr_query, ep_of_bind, endings)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);
        DAT_RMR_PARAM param;

        row->end(t, &window);

        param = queried(t, known.rmr, DAT_RMR_FIELD_ALL);
        check_param(t, &known, &param, ALWAYS);
        check_fields(t, &known, ALWAYS);
}

FAMILY(rmr_query, keeps, ways)
{
        struct window window = window_for(t, row->way);
        struct known known = known_in(t, window.pz, ia(t));

        bind_known(t, &window, &known, region(&window), REMOTE_PRIVILEGES);
        for (int i = 0; i < MANY; i++)
                check_fields(t, &known, BOUND);

        expect_reached(t, &window, row->way, known.param.rmr_context, REGION, WIDTH);
}

CASE(rmr_query, within_structure)
{
        struct window window = window_with(t);
        struct known known = known_bound(t, &window);
        struct buf *buf = expect_query_within(t, &query, known.rmr);
        const DAT_RMR_PARAM *param = (const void *)buf->addr;

        check_param(t, &known, param, BOUND);
        release(t, buf->lmr);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_RMR_FIELD_ALL)};

FAMILY(rmr_query, invalid_mask, masks)
{
        struct known known = new_one(t);

        expect_masks_refused(t, &query, known.rmr, row);
        check_fields(t, &known, ALWAYS);
}

CASE(rmr_query, no_mask)
{
        struct known known = new_one(t);

        expect_no_mask_answered(t, &query, known.rmr);
        check_fields(t, &known, ALWAYS);
}

LEGAL(rmr_query)
{
        static DAT_RMR_PARAM param;

        call->rmr_handle = rmr_in(t, pz(t));
        call->rmr_param_mask = DAT_RMR_FIELD_ALL;
        call->rmr_param = &param;
}
