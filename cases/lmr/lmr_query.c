/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_query: every field by its own bit, of which LMR it is, and what is no mask. */
#include "clauses/lmr_query.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/masks.h"

#include <string.h>

#define MANY    100 /* queries */
#define LMRS    20  /* at once */
#define MET     3   /* rounds in which their calls met are enough */
#define THREADS 3
#define ODD     ((size_t)77) /* what lengths and addresses differ by */

/* An LMR whose parameters a case knows, for it made it. */
struct known {
        struct region region;
        DAT_LMR_PARAM param;
};

static struct known known_as(struct test *t, struct region_opts opts)
{
        struct known known = {.region = region_make(t, opts)};
        const struct region *region = &known.region;

        known.param = (DAT_LMR_PARAM){
            .ia_handle = opts.ia ? opts.ia : ia(t),
            .mem_type = opts.type,
            .region_desc = {.for_va = region->addr},
            .length = region->length,
            .pz_handle = opts.pz ? opts.pz : pz(t),
            .mem_priv = opts.privileges ? opts.privileges : DAT_MEM_PRIV_ALL_FLAG,
            .lmr_context = region->lmr_context,
            .rmr_context = region->rmr_context,
            .registered_size = region->registered_size,
            .registered_address = region->registered_address,
        };
        if (opts.unprivileged)
                known.param.mem_priv = DAT_MEM_PRIV_NONE_FLAG;
        return known;
}
#define known_with(t_, ...) known_as((t_), (struct region_opts){__VA_ARGS__})

/* One whose parameters are no other's: nothing of it is page aligned. */
static struct known known_lmr(struct test *t)
{
        unsigned char *memory = memory_private(t, 2 * REGION_PAGE);

        return known_with(t, .addr = memory + ODD, .length = REGION_PAGE + ODD, .pz = pz_new(t),
                          .privileges = LOCAL_READ | LOCAL_WRITE | REMOTE_READ);
}

static DAT_RETURN query_lmr(DAT_HANDLE lmr, uint64_t mask, void *param)
{
        return dat_lmr_query(lmr, (DAT_LMR_PARAM_MASK)mask, param);
}

static const struct object_query query = {"dat_lmr_query(lmr, mask, param)", query_lmr,
                                          sizeof(DAT_LMR_PARAM), DAT_LMR_FIELD_ALL};

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_LMR_PARAM queried(struct test *t, DAT_LMR_HANDLE lmr, unsigned int mask)
{
        DAT_LMR_PARAM param;

        expect_query(t, &query, lmr, mask, &param);
        return param;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_that(param->ia_handle == known->ia_handle, "the LMR is of another IA");
}

static void check_type(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->mem_type, known->mem_type);
}

static void check_region(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_that(param->region_desc.for_va == known->region_desc.for_va,
                    "the region is another one");
}

static void check_length(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->length, known->length);
}

static void check_zone(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_that(param->pz_handle == known->pz_handle, "the LMR is in another PZ");
}

static void check_privileges(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->mem_priv, known->mem_priv);
}

static void check_context(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->lmr_context, known->lmr_context);
}

static void check_remote(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->rmr_context, known->rmr_context);
}

static void check_size(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->registered_size, known->registered_size);
}

static void check_address(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param)
{
        expect_eq(param->registered_address, known->registered_address);
}

static const struct field {
        const char *id;
        DAT_LMR_PARAM_MASK bit;
        void (*check)(struct test *t, const DAT_LMR_PARAM *known, const DAT_LMR_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_LMR_FIELD_IA_HANDLE, check_ia},
    {"mem_type", DAT_LMR_FIELD_MEM_TYPE, check_type},
    {"region_desc", DAT_LMR_FIELD_REGION_DESC, check_region},
    {"length", DAT_LMR_FIELD_LENGTH, check_length},
    {"pz_handle", DAT_LMR_FIELD_PZ_HANDLE, check_zone},
    {"mem_priv", DAT_LMR_FIELD_MEM_PRIV, check_privileges},
    {"lmr_context", DAT_LMR_FIELD_LMR_CONTEXT, check_context},
    {"rmr_context", DAT_LMR_FIELD_RMR_CONTEXT, check_remote},
    {"registered_size", DAT_LMR_FIELD_REGISTERED_SIZE, check_size},
    {"registered_address", DAT_LMR_FIELD_REGISTERED_ADDRESS, check_address},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static void check_param(struct test *t, const struct known *known, const DAT_LMR_PARAM *param,
                        unsigned int mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, &known->param, param);
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_LMR_PARAM param = queried(t, known->region.lmr, mask);

        check_param(t, known, &param, mask);
}

static void check_all(struct test *t, const struct known *known)
{
        check_fields(t, known, DAT_LMR_FIELD_ALL);
}

/* Together, and each by its own bit. */
static void check_all_also_alone(struct test *t, const struct known *known)
{
        check_all(t, known);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                check_fields(t, known, fields[i].bit);
}

FAMILY(lmr_query, field, fields)
{
        struct known known = known_lmr(t);

        check_fields(t, &known, row->bit);
}

FAMILY(lmr_query, field_among_all, fields)
{
        struct known known = known_lmr(t);
        DAT_LMR_PARAM param = queried(t, known.region.lmr, DAT_LMR_FIELD_ALL);

        row->check(t, &known.param, &param);
}

CASE(lmr_query, every_mask)
{
        struct known known = known_lmr(t);

        for (unsigned int mask = 1; mask <= DAT_LMR_FIELD_ALL; mask++)
                check_fields(t, &known, mask);
}

/* The region, which is described in another way for each type. */
static void check_described(struct test *t, const struct known *known, const struct region *source,
                            const char *cookie, const DAT_REGION_DESCRIPTION *told)
{
        switch (known->param.mem_type) {
        case DAT_MEM_TYPE_LMR:
                expect_that(told->for_lmr_handle == source->lmr, "the LMR is over another one");
                break;
        case DAT_MEM_TYPE_SHARED_VIRTUAL:
                expect_that(told->for_shared_memory.virtual_address == known->region.addr,
                            "the region is another one");
                expect_that(
                    memcmp(*told->for_shared_memory.shared_memory_id, cookie, COOKIE_SIZE) == 0,
                    "the cookie is another one");
                break;
        default:
                expect_that(told->for_va == known->region.addr, "the region is another one");
                break;
        }
}

/* The length given for an LMR over another one is ignored, so it is not checked. */
static unsigned int told_of(DAT_MEM_TYPE type)
{
        unsigned int untold = DAT_LMR_FIELD_REGION_DESC;

        if (type == DAT_MEM_TYPE_LMR)
                untold |= DAT_LMR_FIELD_LENGTH;
        return DAT_LMR_FIELD_ALL & ~untold;
}

FAMILY(lmr_query, type, types)
{
        char cookie[COOKIE_SIZE] = "a cookie";
        struct region_opts opts = {.cookie = &cookie, .pz = pz_new(t)};
        struct known known;
        DAT_LMR_PARAM param;

        cookie[COOKIE_SIZE - 1] = 'z';
        opts = of_type(t, row, opts);
        known = known_as(t, opts);
        param = queried(t, known.region.lmr, DAT_LMR_FIELD_ALL);
        check_described(t, &known, opts.of, cookie, &param.region_desc);
        check_param(t, &known, &param, told_of(row->type));
}

CASE(lmr_query, privileges)
{
        struct known known[DAT_MEM_PRIV_ALL_FLAG + 1];

        for (unsigned int bits = 0; bits <= DAT_MEM_PRIV_ALL_FLAG; bits++)
                if (!(bits & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG))
                        known[bits] = known_with(t, .privileges = (DAT_MEM_PRIV_FLAGS)bits,
                                                 .unprivileged = !bits);
        for (unsigned int bits = 0; bits <= DAT_MEM_PRIV_ALL_FLAG; bits++)
                if (!(bits & ~(unsigned int)DAT_MEM_PRIV_ALL_FLAG)) {
                        check_fields(t, &known[bits], DAT_LMR_FIELD_MEM_PRIV);
                        check_all(t, &known[bits]);
                }
}

/*
 * Of which LMR
 */

CASE(lmr_query, own_parameters)
{
        struct known older = known_lmr(t);
        struct known there = known_with(t, .ia = other_ia(t), .pz = pz_of(t, other_ia(t)),
                                        .length = 3, .privileges = LOCAL_READ);
        struct known newer = known_with(t, .length = ODD, .pz = older.param.pz_handle);

        check_all(t, &older);
        check_all(t, &there);
        check_all(t, &newer);
        check_all(t, &older);
}

CASE(lmr_query, each_of_many)
{
        unsigned char *memory = memory_private(t, 2 * REGION_PAGE);
        struct known known[LMRS];

        for (size_t i = 0; i < LMRS; i++)
                known[i] = known_with(t, .addr = memory + i * ODD, .length = 1 + i,
                                      .privileges = i % 2 ? REMOTE_READ : LOCAL_WRITE);
        for (size_t left = LMRS; left > 0; left--) {
                size_t which = draw(t, left);

                check_all(t, &known[which]);
                known[which] = known[left - 1];
        }
}

/* What has happened to an LMR, which changes nothing that it tells. */
static void others_freed(struct test *t, const struct known *known, struct wire *wire)
{
        struct region newer = region_with(t, .pz = known->param.pz_handle);

        release(t, wire->near->lmr);
        release(t, newer.lmr);
}

static void overlapped(struct test *t, const struct known *known, struct wire *wire)
{
        (void)wire;
        region_with(t, .addr = known->region.addr, .length = known->region.length / 2,
                    .privileges = LOCAL_READ);
}

static void used(struct test *t, const struct known *known, struct wire *wire)
{
        expect_used(t, wire, &known->region);
}

static void bound(struct test *t, const struct known *known, struct wire *wire)
{
        must_open(t, wire, &known->region, window_of(&known->region, 1, ODD), REMOTE_READ);
}

static void unbound(struct test *t, const struct known *known, struct wire *wire)
{
        struct bound bound =
            must_open(t, wire, &known->region, window_of(&known->region, 1, ODD), REMOTE_READ);

        must(dat_rmr_free(bound.rmr));
        disown(t, bound.rmr);
}

static void not_freed(struct test *t, const struct known *known, struct wire *wire)
{
        must_open(t, wire, &known->region, window_of(&known->region, 1, ODD), REMOTE_READ);
        must_that(dat_is(dat_lmr_free(known->region.lmr), DAT_INVALID_STATE),
                  "an LMR with an RMR was freed");
}

static const struct fate {
        const char *id;
        void (*happens)(struct test *t, const struct known *known, struct wire *wire);
} fates[] = {
    {"others_freed", others_freed}, {"overlapped", overlapped}, {"used", used}, {"bound", bound},
    {"unbound", unbound},           {"not_freed", not_freed},
};

FAMILY(lmr_query, after, fates)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct wire wire = wire_for_binds(t, zone);
        struct known known = known_with(t, .addr = memory_private(t, 2 * REGION_PAGE) + ODD,
                                        .length = REGION_PAGE + ODD, .pz = zone);

        check_all(t, &known);
        row->happens(t, &known, &wire);
        check_all_also_alone(t, &known);
}

CASE(lmr_query, over_another)
{
        struct known source = known_lmr(t);
        struct known known = known_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source.region,
                                        .pz = pz_new(t), .privileges = LOCAL_READ);

        check_fields(t, &known, told_of(DAT_MEM_TYPE_LMR));
        check_all(t, &source);
}

CASE(lmr_query, after_source_freed)
{
        struct region source = region_with(t);
        struct known known = known_with(t, .type = DAT_MEM_TYPE_LMR, .of = &source);

        release(t, source.lmr);
        check_fields(t, &known, told_of(DAT_MEM_TYPE_LMR));
}

/*
 * What a query leaves as it was
 */

static void query_often(struct test *t, const struct region *region)
{
        for (int i = 0; i < MANY; i++)
                queried(t, region->lmr, DAT_LMR_FIELD_ALL);
}

CASE(lmr_query, keeps_use)
{
        struct wire wire = wire_in(t, pz(t));
        struct region region = region_with(t, .length = 2 * REGION_PAGE);

        expect_used(t, &wire, &region);
        query_often(t, &region);
        expect_used(t, &wire, &region);
}

CASE(lmr_query, keeps_posted)
{
        struct wire wire = wire_in(t, pz(t));
        struct region region = region_with(t);
        DAT_LMR_TRIPLET segment = {.lmr_context = region.lmr_context,
                                   .virtual_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = MESSAGE};
        DAT_LMR_TRIPLET far = triplet(wire.far, 0, MESSAGE);

        message_fill(wire.far->addr, MESSAGE, 4);
        must(dat_ep_post_recv(wire.here, 1, &segment, COOKIE(3), DAT_COMPLETION_DEFAULT_FLAG));
        query_often(t, &region);
        must(dat_ep_post_send(wire.there, 1, &far, COOKIE(4), DAT_COMPLETION_DEFAULT_FLAG));
        expect_eq(expect_dto(ep_recv_evd(t, wire.here)).user_cookie.as_64, 3);
        expect_that(message_holds(region.addr, MESSAGE, 4), "the memory has not the message");
}

CASE(lmr_query, keeps_bound)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct bound bound = must_open(t, &wire, &region, region, REMOTE_WRITE);

        query_often(t, &region);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, region.length);
}

CASE(lmr_query, is_no_use)
{
        struct region region = region_with(t);

        query_often(t, &region);

        expect(dat_lmr_free(region.lmr), DAT_SUCCESS);
        disown(t, region.lmr);
}

CASE(lmr_query, within_structure)
{
        struct known known = known_lmr(t);
        struct buf *buf = expect_query_within(t, &query, known.region.lmr);
        const DAT_LMR_PARAM *param = (const void *)buf->addr;

        check_param(t, &known, param, DAT_LMR_FIELD_ALL);
        release(t, buf->lmr);
}

/*
 * Several threads
 */

struct question {
        DAT_LMR_HANDLE lmr;
        DAT_LMR_PARAM param;
};

static DAT_RETURN query_by(void *arg)
{
        struct question *question = arg;

        return dat_lmr_query(question->lmr, DAT_LMR_FIELD_ALL, &question->param);
}

CASE(lmr_query, any_thread, DEADLINE_MS(20000))
{
        struct known known[] = {known_lmr(t), known_with(t, .length = ODD)};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct question questions[THREADS];
                struct racer racers[THREADS];

                memset(questions, 0xa5, sizeof(questions));
                for (int i = 0; i < THREADS; i++) {
                        questions[i].lmr = known[i % 2].region.lmr;
                        racers[i] = (struct racer){.call = query_by, .arg = &questions[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        check_param(t, &known[i % 2], &questions[i].param, DAT_LMR_FIELD_ALL);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_LMR_FIELD_ALL)};

FAMILY(lmr_query, invalid_mask, masks)
{
        struct known known = known_lmr(t);

        expect_masks_refused(t, &query, known.region.lmr, row);
        check_all(t, &known);
}

CASE(lmr_query, no_mask)
{
        struct known known = known_lmr(t);

        expect_no_mask_answered(t, &query, known.region.lmr);
        check_all(t, &known);
}

LEGAL(lmr_query)
{
        static DAT_LMR_PARAM param;

        call->lmr_handle = known_lmr(t).region.lmr;
        call->lmr_param_mask = DAT_LMR_FIELD_ALL;
        call->lmr_param = &param;
}
