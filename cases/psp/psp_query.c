/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_query: every field by its own bit, of which PSP it is, and what is no mask. */
#include "clauses/psp_query.h"
#include "cases/shared/masks.h"
#include "cases/shared/point.h"

#include <string.h>

#define MANY    100 /* queries */
#define POINTS  8   /* PSPs at once */
#define LAST    8   /* qualifiers */
#define THREADS 4
#define ROW     50 /* queries that a thread makes in a row */
#define MET     20 /* rounds that met are enough */

/* A PSP whose parameters a case knows, for it made them. */
struct known {
        DAT_PSP_HANDLE psp;
        DAT_PSP_PARAM param;
};

static struct known known_on(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags)
{
        struct known known = {.param = {.ia_handle = ia(t), .evd_handle = evd, .psp_flags = flags}};

        known.psp = loop_listen(t, evd, flags, &known.param.conn_qual);
        return known;
}

static struct known known_psp(struct test *t)
{
        return known_on(t, request_evd(t), DAT_PSP_CONSUMER_FLAG);
}

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_PSP_PARAM queried(struct test *t, DAT_PSP_HANDLE psp, unsigned int mask)
{
        DAT_PSP_PARAM param;

        memset(&param, 0xa5, sizeof(param));
        expect(dat_psp_query(psp, (DAT_PSP_PARAM_MASK)mask, &param), DAT_SUCCESS);
        return param;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const DAT_PSP_PARAM *known, const DAT_PSP_PARAM *param)
{
        expect_that(param->ia_handle == known->ia_handle, "the PSP is of another IA");
}

static void check_qual(struct test *t, const DAT_PSP_PARAM *known, const DAT_PSP_PARAM *param)
{
        expect_eq(param->conn_qual, known->conn_qual);
}

static void check_evd(struct test *t, const DAT_PSP_PARAM *known, const DAT_PSP_PARAM *param)
{
        expect_that(param->evd_handle == known->evd_handle, "the EVD is not the PSP's own");
}

static void check_flags(struct test *t, const DAT_PSP_PARAM *known, const DAT_PSP_PARAM *param)
{
        expect_eq(param->psp_flags, known->psp_flags);
}

static const struct field {
        const char *id;
        DAT_PSP_PARAM_MASK bit;
        void (*check)(struct test *t, const DAT_PSP_PARAM *known, const DAT_PSP_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_PSP_FIELD_IA_HANDLE, check_ia},
    {"conn_qual", DAT_PSP_FIELD_CONN_QUAL, check_qual},
    {"evd_handle", DAT_PSP_FIELD_EVD_HANDLE, check_evd},
    {"psp_flags", DAT_PSP_FIELD_PSP_FLAGS, check_flags},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static void check_param(struct test *t, const struct known *known, const DAT_PSP_PARAM *param,
                        unsigned int mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, &known->param, param);
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_PSP_PARAM param = queried(t, known->psp, mask);

        check_param(t, known, &param, mask);
}

FAMILY(psp_query, field, fields)
{
        struct known known = known_psp(t);

        check_fields(t, &known, row->bit);
}

FAMILY(psp_query, field_among_all, fields)
{
        struct known known = known_psp(t);
        DAT_PSP_PARAM param = queried(t, known.psp, DAT_PSP_FIELD_ALL);

        row->check(t, &known.param, &param);
}

static void check_every_mask(struct test *t, const struct known *known)
{
        for (unsigned int mask = 1; mask <= DAT_PSP_FIELD_ALL; mask++)
                check_fields(t, known, mask);
}

CASE(psp_query, every_mask)
{
        struct known known = known_psp(t);

        check_every_mask(t, &known);
}

static const struct flagged {
        const char *id;
        int points;
        DAT_PSP_FLAGS flags[2]; /* of the older and of the newer */
} flagged[] = {
    {"consumer", 1, {DAT_PSP_CONSUMER_FLAG}},
    {"provider", 1, {DAT_PSP_PROVIDER_FLAG}},
    {"consumer_before_provider", 2, {DAT_PSP_CONSUMER_FLAG, DAT_PSP_PROVIDER_FLAG}},
    {"provider_before_consumer", 2, {DAT_PSP_PROVIDER_FLAG, DAT_PSP_CONSUMER_FLAG}},
};

FAMILY(psp_query, flags, flagged)
{
        struct known known[2];

        for (int i = 0; i < row->points; i++)
                known[i] = known_on(t, request_evd(t), row->flags[i]);

        for (int i = 0; i < row->points; i++)
                check_every_mask(t, &known[i]);
}

CASE(psp_query, own_parameters)
{
        struct known known[POINTS];

        for (int i = 0; i < POINTS; i++)
                known[i] = known_psp(t);

        for (int i = 0; i < POINTS; i++)
                check_fields(t, &known[i], DAT_PSP_FIELD_ALL);
}

CASE(psp_query, shared_evd)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct known known[POINTS];

        for (int i = 0; i < POINTS; i++)
                known[i] = known_on(t, evd, DAT_PSP_CONSUMER_FLAG);

        for (int i = 0; i < POINTS; i++)
                check_fields(t, &known[i], DAT_PSP_FIELD_ALL);
}

/* A PSP at a qualifier that the provider chooses. */
static struct known known_chosen(struct test *t, DAT_IA_HANDLE ia_handle, DAT_PSP_FLAGS flags)
{
        DAT_EVD_HANDLE evd = evd_with(t, .ia = ia_handle, .flags = DAT_EVD_CR_FLAG);
        struct known known = {
            .param = {.ia_handle = ia_handle, .evd_handle = evd, .psp_flags = flags}};

        must(dat_psp_create_any(ia_handle, &known.param.conn_qual, evd, flags, &known.psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, known.psp);
        return known;
}

static struct known known_any(struct test *t, DAT_IA_HANDLE ia_handle)
{
        return known_chosen(t, ia_handle, DAT_PSP_CONSUMER_FLAG);
}

CASE(psp_query, own_ia)
{
        struct known here = known_any(t, ia(t));
        struct known there = known_any(t, other_ia(t));

        check_fields(t, &here, DAT_PSP_FIELD_ALL);
        check_fields(t, &there, DAT_PSP_FIELD_ALL);
}

CASE(psp_query, any_qualifier)
{
        struct known first = known_any(t, ia(t));
        struct known second = known_any(t, ia(t));

        check_fields(t, &first, DAT_PSP_FIELD_CONN_QUAL);
        check_fields(t, &first, DAT_PSP_FIELD_ALL);
        check_fields(t, &second, DAT_PSP_FIELD_ALL);
}

static const struct maker {
        const char *id;
        DAT_PSP_FLAGS flags;
} makers[] = {
    {"consumer", DAT_PSP_CONSUMER_FLAG},
    {"provider", DAT_PSP_PROVIDER_FLAG},
};

FAMILY(psp_query, chosen, makers)
{
        struct known known = known_chosen(t, ia(t), row->flags);

        check_every_mask(t, &known);
}

/* The last qualifiers of sixteen bits, unless they are in use. */
CASE(psp_query, last_qualifiers)
{
        struct known known = {.param = {.ia_handle = ia(t),
                                        .evd_handle = request_evd(t),
                                        .psp_flags = DAT_PSP_CONSUMER_FLAG}};
        int made = 0;

        for (DAT_CONN_QUAL qual = UINT16_MAX; qual > UINT16_MAX - LAST; qual--) {
                DAT_RETURN ret = dat_psp_create(ia(t), qual, known.param.evd_handle,
                                                DAT_PSP_CONSUMER_FLAG, &known.psp);

                if (dat_is(ret, DAT_CONN_QUAL_IN_USE))
                        continue;
                must(ret);
                adopt(t, DAT_HANDLE_TYPE_PSP, known.psp);
                known.param.conn_qual = qual;
                check_every_mask(t, &known);
                release(t, known.psp);
                made++;
        }
        must_that(made > 0, "each of the last %d qualifiers is in use", LAST);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(psp_query, high_bits, high_bits)
{
        struct known low = known_psp(t);
        struct known high = known_psp(t);
        DAT_RETURN ret;

        release(t, high.psp);
        high.param.conn_qual = low.param.conn_qual | row->bits;
        ret = dat_psp_create(ia(t), high.param.conn_qual, high.param.evd_handle,
                             DAT_PSP_CONSUMER_FLAG, &high.psp);
        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "the transport has no such qualifiers (PSP-4)");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_PSP, high.psp);

        check_every_mask(t, &high);
        check_every_mask(t, &low);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(psp_query, evd_of_more_streams, merged_evds)
{
        struct known known = known_on(t, evd_with(t, .flags = row->flags), DAT_PSP_CONSUMER_FLAG);

        check_every_mask(t, &known);
}

/*
 * What happens to a PSP, and to others
 */

/* It was seen to stand. */
static void leave(struct test *t, struct loop *loop)
{
        (void)t;
        (void)loop;
}

static void reject(struct test *t, struct loop *loop)
{
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
}

static void make_connection(struct test *t, struct loop *loop)
{
        loop_accept(t, loop);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
}

static const struct fate {
        const char *id;
        void (*meet)(struct test *t, struct loop *loop);
} fates[] = {
    {"pending", leave},
    {"taken", loop_take_request},
    {"rejected", reject},
    {"accepted", make_connection},
};

static struct known known_of(struct test *t, const struct loop *loop)
{
        return (struct known){.psp = loop->psp,
                              .param = {.ia_handle = ia(t),
                                        .conn_qual = loop->qual,
                                        .evd_handle = loop->requests,
                                        .psp_flags = DAT_PSP_CONSUMER_FLAG}};
}

FAMILY(psp_query, after_request, fates)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        struct known known;

        loop_ask(t, &loop);
        must_stand(t, cno);
        row->meet(t, &loop);

        known = known_of(t, &loop);
        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

static void hand_off(struct test *t, struct known *known)
{
        struct known to = known_psp(t);
        struct loop loop = {.requests = known->param.evd_handle, .active = ep_with(t)};

        loop_connect(t, loop.active, known->param.conn_qual);
        loop_take_request(t, &loop);
        must(dat_cr_handoff(loop.request, to.param.conn_qual));
        check_fields(t, &to, DAT_PSP_FIELD_ALL);
}

static void reserve_beside(struct test *t, struct known *known)
{
        DAT_CONN_QUAL qual;

        rsp_new(t, ep_with(t), known->param.evd_handle, &qual);
}

static void make_eps(struct test *t, struct known *known)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};

        *known = known_on(t, loop.requests, DAT_PSP_PROVIDER_FLAG);
        loop_connect(t, loop.active, known->param.conn_qual);
        loop_take_request(t, &loop);
        adopt(t, DAT_HANDLE_TYPE_CR, loop.request);
}

static void change_flag(struct test *t, struct known *known)
{
        release(t, known->psp);
        known->param.psp_flags = DAT_PSP_PROVIDER_FLAG;
        must(dat_psp_create(ia(t), known->param.conn_qual, known->param.evd_handle,
                            DAT_PSP_PROVIDER_FLAG, &known->psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, known->psp);
}

static const struct change {
        const char *id;
        void (*make)(struct test *t, struct known *known);
} changes[] = {
    {"handed_off", hand_off},
    {"reserved_beside", reserve_beside},
    {"providers_request", make_eps},
    {"again_for_provider", change_flag},
};

FAMILY(psp_query, after_change, changes)
{
        struct known known = known_psp(t);

        check_fields(t, &known, DAT_PSP_FIELD_ALL);
        row->make(t, &known);

        check_every_mask(t, &known);
}

CASE(psp_query, after_other_freed)
{
        struct known older = known_psp(t);
        struct known known = known_psp(t);
        struct known newer = known_psp(t);

        release(t, older.psp);
        check_fields(t, &known, DAT_PSP_FIELD_ALL);
        release(t, newer.psp);
        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

CASE(psp_query, made_again)
{
        struct known known = known_psp(t);

        release(t, known.psp);
        known.param.evd_handle = request_evd(t);
        must(dat_psp_create(ia(t), known.param.conn_qual, known.param.evd_handle,
                            DAT_PSP_CONSUMER_FLAG, &known.psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, known.psp);

        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

CASE(psp_query, after_resize)
{
        struct known known = known_psp(t);

        must(dat_evd_resize(known.param.evd_handle, 16));

        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

/*
 * What a query leaves as it was
 */

static void query_often(struct test *t, DAT_PSP_HANDLE psp)
{
        for (int i = 0; i < MANY; i++)
                queried(t, psp, DAT_PSP_FIELD_ALL);
}

/* The EVD's next event is the request of the loop, which becomes a connection; and is its last. */
static void expect_joined(struct test *t, struct loop *loop)
{
        DAT_EVENT event = expect_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        expect_that(data->sp_handle.psp_handle == loop->psp, "the request is for another PSP");
        expect(dat_cr_accept(data->cr_handle, loop->passive, 0, NULL), DAT_SUCCESS);
        expect_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_quiet(loop->requests);
}

CASE(psp_query, keeps_request)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        loop_ask(t, &loop);
        must_stand(t, cno);
        query_often(t, loop.psp);

        expect_joined(t, &loop);
}

CASE(psp_query, keeps_listening)
{
        struct loop loop = loop_new(t);

        loop.psp = loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        query_often(t, loop.psp);
        loop_connect(t, loop.active, loop.qual);

        expect_joined(t, &loop);
}

CASE(psp_query, within_structure)
{
        struct known known = known_psp(t);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_PSP_PARAM));
        DAT_PSP_PARAM *param = (DAT_PSP_PARAM *)(void *)buf->addr;

        expect(dat_psp_query(known.psp, DAT_PSP_FIELD_ALL, param), DAT_SUCCESS);
        check_param(t, &known, param, DAT_PSP_FIELD_ALL);
        release(t, buf->lmr);
}

struct asking {
        DAT_PSP_HANDLE psp;
        DAT_PSP_PARAM params[ROW];
};

/* One query is over before another thread has begun. */
static DAT_RETURN ask_in_a_row(void *arg)
{
        struct asking *asking = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROW && dat_is(ret, DAT_SUCCESS); i++)
                ret = dat_psp_query(asking->psp, DAT_PSP_FIELD_ALL, &asking->params[i]);
        return ret;
}

CASE(psp_query, any_thread)
{
        struct known known[2] = {known_psp(t), known_psp(t)};
        struct stress stress = stress_of(t, 500);

        while (stress.met < MET && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                memset(askings, 0xa5, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].psp = known[i % 2].psp;
                        racers[i] = (struct racer){.call = ask_in_a_row, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        for (int j = 0; j < ROW; j++)
                                check_param(t, &known[i % 2], &askings[i].params[j],
                                            DAT_PSP_FIELD_ALL);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_PSP_FIELD_ALL)};

FAMILY(psp_query, invalid_mask, masks)
{
        struct known known = known_psp(t);
        DAT_PSP_PARAM param;
        unsigned int mask = 0;

        memset(&param, 0, sizeof(param));
        while (undefined_mask_next(row, &mask))
                expect(dat_psp_query(known.psp, (DAT_PSP_PARAM_MASK)mask, &param),
                       DAT_INVALID_PARAMETER);
        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

CASE(psp_query, no_mask)
{
        struct known known = known_psp(t);
        DAT_PSP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect_or_note(dat_psp_query(known.psp, (DAT_PSP_PARAM_MASK)0, &param), DAT_SUCCESS,
                       DAT_INVALID_PARAMETER);
        check_fields(t, &known, DAT_PSP_FIELD_ALL);
}

LEGAL(psp_query)
{
        static DAT_PSP_PARAM param;

        call->psp_handle = known_psp(t).psp;
        call->psp_param_mask = DAT_PSP_FIELD_ALL;
        call->psp_param = &param;
}
