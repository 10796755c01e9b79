/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/shared/point_query.h"
#include "case/poison.h"

#define MANY            100 /* queries */
#define LAST_QUALIFIERS 8
#define THREADS         4
#define ROW             50 /* queries that a thread makes in a row */

struct known_point known_point_on(struct test *t, const struct point_kind *kind, DAT_EVD_HANDLE evd)
{
        struct known_point known = {
            .kind = kind,
            .param.any = {.ia_handle = ia(t), .evd_handle = evd},
        };

        kind->equip(t, &known.param);
        known.point = kind->listen(t, &known.param);
        return known;
}

struct known_point known_point(struct test *t, const struct point_kind *kind)
{
        return known_point_on(t, kind, request_evd(t));
}

void known_point_create(struct test *t, struct known_point *known)
{
        must(known->kind->create(&known->param, &known->point));
        adopt(t, known->kind->type, known->point);
}

/*
 * Checks
 */

void check_point_ia(struct test *t, const union point_param *known, const union point_param *seen)
{
        expect_that(seen->any.ia_handle == known->any.ia_handle,
                    "the service point is of another IA");
}

void check_point_qual(struct test *t, const union point_param *known, const union point_param *seen)
{
        expect_eq(seen->any.conn_qual, known->any.conn_qual);
}

void check_point_evd(struct test *t, const union point_param *known, const union point_param *seen)
{
        expect_that(seen->any.evd_handle == known->any.evd_handle,
                    "the EVD is not the service point's own");
}

union point_param queried_point(struct test *t, const struct known_point *known, unsigned int mask)
{
        union point_param param;

        expect_query(t, &known->kind->query, known->point, mask, &param);
        return param;
}

void check_point_param(struct test *t, const struct known_point *known,
                       const union point_param *seen, unsigned int mask)
{
        const struct point_field *fields = known->kind->fields;

        for (int i = 0; i < POINT_FIELDS; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, &known->param, seen);
}

void check_point_fields(struct test *t, const struct known_point *known, unsigned int mask)
{
        union point_param param = queried_point(t, known, mask);

        check_point_param(t, known, &param, mask);
}

void check_point(struct test *t, const struct known_point *known)
{
        check_point_fields(t, known, (unsigned int)known->kind->query.all);
}

void check_point_by_each_mask(struct test *t, const struct known_point *known)
{
        for (unsigned int mask = 1; mask <= known->kind->query.all; mask++)
                check_point_fields(t, known, mask);
}

void query_point_often(struct test *t, const struct point_kind *kind, DAT_HANDLE point)
{
        union point_param param;

        for (int i = 0; i < MANY; i++)
                expect_query(t, &kind->query, point, kind->query.all, &param);
}

/*
 * The cases of both pages
 */

static void check_points(struct test *t, const struct known_point *known, int count)
{
        for (int i = 0; i < count; i++)
                check_point(t, &known[i]);
}

void points_tell_their_own(struct test *t, const struct point_kind *kind, int count)
{
        struct known_point known[MOST_POINTS];

        for (int i = 0; i < count; i++)
                known[i] = known_point(t, kind);

        check_points(t, known, count);
}

void points_tell_shared_evd(struct test *t, const struct point_kind *kind, int count)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct known_point known[MOST_POINTS];

        for (int i = 0; i < count; i++)
                known[i] = known_point_on(t, kind, evd);

        check_points(t, known, count);
}

void point_tells_last_qualifiers(struct test *t, const struct point_kind *kind)
{
        struct known_point known = {
            .kind = kind,
            .param.any = {.ia_handle = ia(t), .evd_handle = request_evd(t)},
        };
        int made = 0;

        kind->equip(t, &known.param);
        for (DAT_CONN_QUAL qual = UINT16_MAX; qual > UINT16_MAX - LAST_QUALIFIERS; qual--) {
                DAT_RETURN ret;

                known.param.any.conn_qual = qual;
                ret = kind->create(&known.param, &known.point);
                if (dat_is(ret, DAT_CONN_QUAL_IN_USE))
                        continue;
                must(ret);
                adopt(t, kind->type, known.point);
                check_point_by_each_mask(t, &known);
                release(t, known.point);
                made++;
        }
        must_that(made > 0, "each of the last %d qualifiers is in use", LAST_QUALIFIERS);
}

void points_tell_high_bits(struct test *t, const struct point_kind *kind,
                           const struct high_bits *bits)
{
        struct known_point low = known_point(t, kind);
        struct known_point high = known_point(t, kind);
        DAT_RETURN ret;

        release(t, high.point);
        high.param.any.conn_qual = low.param.any.conn_qual | bits->bits;
        ret = kind->create(&high.param, &high.point);
        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "the transport has no such qualifiers (PSP-4)");
        must(ret);
        adopt(t, kind->type, high.point);

        check_point_by_each_mask(t, &high);
        check_point_by_each_mask(t, &low);
}

void point_tells_after_other_freed(struct test *t, const struct point_kind *kind)
{
        struct known_point older = known_point(t, kind);
        struct known_point known = known_point(t, kind);
        struct known_point newer = known_point(t, kind);

        release(t, older.point);
        check_point(t, &known);
        release(t, newer.point);
        check_point(t, &known);
}

void point_tells_made_again(struct test *t, const struct point_kind *kind)
{
        struct known_point known = known_point(t, kind);

        release(t, known.point);
        known.param.any.evd_handle = request_evd(t);
        kind->equip(t, &known.param);
        known_point_create(t, &known);

        check_point(t, &known);
}

void point_tells_after_resize(struct test *t, const struct point_kind *kind)
{
        struct known_point known = known_point(t, kind);

        must(dat_evd_resize(known.param.any.evd_handle, 16));

        check_point(t, &known);
}

void point_tells_within_structure(struct test *t, const struct point_kind *kind)
{
        struct known_point known = known_point(t, kind);
        struct buf *buf = expect_query_within(t, &kind->query, known.point);

        check_point_param(t, &known, (const void *)buf->addr, (unsigned int)kind->query.all);
        release(t, buf->lmr);
}

struct asking {
        const struct known_point *known;
        union point_param params[ROW];
};

/* Makes queries in a row, because a single one may end before another thread has begun. */
static DAT_RETURN ask_in_a_row(void *arg)
{
        struct asking *asking = arg;
        const struct object_query *query = &asking->known->kind->query;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROW && dat_is(ret, DAT_SUCCESS); i++)
                ret = query->call(asking->known->point, query->all, &asking->params[i]);
        return ret;
}

void points_tell_any_thread(struct test *t, const struct point_kind *kind, unsigned int rounds)
{
        struct known_point known[2] = {known_point(t, kind), known_point(t, kind)};
        struct stress stress = stress_of(t, 500);

        while (stress.met < rounds && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                poison(askings, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].known = &known[i % 2];
                        racers[i] = (struct racer){.call = ask_in_a_row, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        for (int j = 0; j < ROW; j++)
                                check_point_param(t, &known[i % 2], &askings[i].params[j],
                                                  (unsigned int)kind->query.all);
                }
        }
        must_have_met(&stress);
}

void point_refuses_masks(struct test *t, const struct point_kind *kind,
                         const struct undefined_mask *row)
{
        struct known_point known = known_point(t, kind);

        expect_masks_refused(t, &kind->query, known.point, row);
        check_point(t, &known);
}

void point_answers_no_mask(struct test *t, const struct point_kind *kind)
{
        struct known_point known = known_point(t, kind);

        expect_no_mask_answered(t, &kind->query, known.point);
        check_point(t, &known);
}

/*
 * Fates of a request
 */

void leave_request(struct test *t, struct loop *loop)
{
        (void)t;
        (void)loop;
}

void reject_request(struct test *t, struct loop *loop)
{
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
}
