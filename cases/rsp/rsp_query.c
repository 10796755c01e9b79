/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rsp_query: every field by its own bit, of which RSP it is, and what is no mask. */
#include "clauses/rsp_query.h"
#include "case/poison.h"
#include "cases/shared/masks.h"
#include "cases/shared/point.h"

#include <string.h>

#define MANY    100 /* queries */
#define POINTS  4   /* RSPs at once */
#define LAST    8   /* qualifiers */
#define THREADS 4
#define ROW     50 /* queries that a thread makes in a row */
#define MET     5  /* rounds that met are enough */

/* An RSP whose parameters a case knows, for it made them. */
struct known {
        DAT_RSP_HANDLE rsp;
        DAT_RSP_PARAM param;
};

static struct known known_on(struct test *t, DAT_EVD_HANDLE evd)
{
        struct known known = {
            .param = {.ia_handle = ia(t), .evd_handle = evd, .ep_handle = ep_with(t)}};

        known.rsp = rsp_new(t, known.param.ep_handle, evd, &known.param.conn_qual);
        return known;
}

static struct known known_rsp(struct test *t)
{
        return known_on(t, request_evd(t));
}

/* A query of the fields in `mask`, into memory that no provider would leave so. */
static DAT_RSP_PARAM queried(struct test *t, DAT_RSP_HANDLE rsp, unsigned int mask)
{
        DAT_RSP_PARAM param;

        poison(&param, sizeof(param));
        expect(dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)mask, &param), DAT_SUCCESS);
        return param;
}

/*
 * Fields
 */

static void check_ia(struct test *t, const DAT_RSP_PARAM *known, const DAT_RSP_PARAM *param)
{
        expect_that(param->ia_handle == known->ia_handle, "the RSP is of another IA");
}

static void check_qual(struct test *t, const DAT_RSP_PARAM *known, const DAT_RSP_PARAM *param)
{
        expect_eq(param->conn_qual, known->conn_qual);
}

static void check_evd(struct test *t, const DAT_RSP_PARAM *known, const DAT_RSP_PARAM *param)
{
        expect_that(param->evd_handle == known->evd_handle, "the EVD is not the RSP's own");
}

static void check_ep(struct test *t, const DAT_RSP_PARAM *known, const DAT_RSP_PARAM *param)
{
        expect_that(param->ep_handle == known->ep_handle, "the EP is not the RSP's own");
}

static const struct field {
        const char *id;
        DAT_RSP_PARAM_MASK bit;
        void (*check)(struct test *t, const DAT_RSP_PARAM *known, const DAT_RSP_PARAM *param);
} fields[] = {
    {"ia_handle", DAT_RSP_FIELD_IA_HANDLE, check_ia},
    {"conn_qual", DAT_RSP_FIELD_CONN_QUAL, check_qual},
    {"evd_handle", DAT_RSP_FIELD_EVD_HANDLE, check_evd},
    {"ep_handle", DAT_RSP_FIELD_EP_HANDLE, check_ep},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

static void check_param(struct test *t, const struct known *known, const DAT_RSP_PARAM *param,
                        unsigned int mask)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (mask & fields[i].bit)
                        fields[i].check(t, &known->param, param);
}

static void check_fields(struct test *t, const struct known *known, unsigned int mask)
{
        DAT_RSP_PARAM param = queried(t, known->rsp, mask);

        check_param(t, known, &param, mask);
}

FAMILY(rsp_query, field, fields)
{
        struct known known = known_rsp(t);

        check_fields(t, &known, row->bit);
}

FAMILY(rsp_query, field_among_all, fields)
{
        struct known known = known_rsp(t);
        DAT_RSP_PARAM param = queried(t, known.rsp, DAT_RSP_FIELD_ALL);

        row->check(t, &known.param, &param);
}

static void check_every_mask(struct test *t, const struct known *known)
{
        for (unsigned int mask = 1; mask <= DAT_RSP_FIELD_ALL; mask++)
                check_fields(t, known, mask);
}

CASE(rsp_query, every_mask)
{
        struct known known = known_rsp(t);

        check_every_mask(t, &known);
}

CASE(rsp_query, own_parameters)
{
        struct known known[POINTS];

        for (int i = 0; i < POINTS; i++)
                known[i] = known_rsp(t);

        for (int i = 0; i < POINTS; i++)
                check_fields(t, &known[i], DAT_RSP_FIELD_ALL);
}

CASE(rsp_query, shared_evd)
{
        DAT_EVD_HANDLE evd = request_evd(t);
        struct known known[POINTS];

        for (int i = 0; i < POINTS; i++)
                known[i] = known_on(t, evd);

        for (int i = 0; i < POINTS; i++)
                check_fields(t, &known[i], DAT_RSP_FIELD_ALL);
}

/* An RSP of another IA, with an EP of that one. */
static struct known known_there(struct test *t, DAT_IA_HANDLE other)
{
        DAT_EVD_HANDLE dtos = evd_with(t, .ia = other);
        DAT_EVD_HANDLE connect = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG);
        struct known known = {.param = {.ia_handle = other, .conn_qual = point_qual(t)}};

        known.param.evd_handle = evd_with(t, .ia = other, .flags = DAT_EVD_CR_FLAG);
        must(dat_ep_create(other, pz_of(t, other), dtos, dtos, connect, NULL,
                           &known.param.ep_handle));
        adopt(t, DAT_HANDLE_TYPE_EP, known.param.ep_handle);
        must(dat_rsp_create(other, known.param.conn_qual, known.param.ep_handle,
                            known.param.evd_handle, &known.rsp));
        adopt(t, DAT_HANDLE_TYPE_RSP, known.rsp);
        return known;
}

CASE(rsp_query, own_ia)
{
        struct known there = known_there(t, other_ia(t));
        struct known here = known_rsp(t);

        check_fields(t, &here, DAT_RSP_FIELD_ALL);
        check_fields(t, &there, DAT_RSP_FIELD_ALL);
}

CASE(rsp_query, providers_ep)
{
        struct known known = {.param = {.ia_handle = ia(t), .evd_handle = request_evd(t)}};

        known.rsp = rsp_new(t, DAT_HANDLE_NULL, known.param.evd_handle, &known.param.conn_qual);
        for (unsigned int mask = 1; mask <= DAT_RSP_FIELD_ALL; mask++) {
                DAT_RSP_PARAM param = queried(t, known.rsp, mask);

                check_param(t, &known, &param, mask & ~(unsigned int)DAT_RSP_FIELD_EP_HANDLE);
        }
}

/* The last qualifiers of sixteen bits, unless they are in use. */
CASE(rsp_query, last_qualifiers)
{
        struct known known = {
            .param = {.ia_handle = ia(t), .evd_handle = request_evd(t), .ep_handle = ep_with(t)}};
        int made = 0;

        for (DAT_CONN_QUAL qual = UINT16_MAX; qual > UINT16_MAX - LAST; qual--) {
                DAT_RETURN ret = dat_rsp_create(ia(t), qual, known.param.ep_handle,
                                                known.param.evd_handle, &known.rsp);

                if (dat_is(ret, DAT_CONN_QUAL_IN_USE))
                        continue;
                must(ret);
                adopt(t, DAT_HANDLE_TYPE_RSP, known.rsp);
                known.param.conn_qual = qual;
                check_every_mask(t, &known);
                release(t, known.rsp);
                made++;
        }
        must_that(made > 0, "each of the last %d qualifiers is in use", LAST);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(rsp_query, high_bits, high_bits)
{
        struct known low = known_rsp(t);
        struct known high = known_rsp(t);
        DAT_RETURN ret;

        release(t, high.rsp);
        high.param.conn_qual = low.param.conn_qual | row->bits;
        ret = dat_rsp_create(ia(t), high.param.conn_qual, high.param.ep_handle,
                             high.param.evd_handle, &high.rsp);
        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "the transport has no such qualifiers (PSP-4)");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_RSP, high.rsp);

        check_every_mask(t, &high);
        check_every_mask(t, &low);
}

/*
 * What happens to an RSP, and to others
 */

CASE(rsp_query, after_other_freed)
{
        struct known older = known_rsp(t);
        struct known known = known_rsp(t);
        struct known newer = known_rsp(t);

        release(t, older.rsp);
        check_fields(t, &known, DAT_RSP_FIELD_ALL);
        release(t, newer.rsp);
        check_fields(t, &known, DAT_RSP_FIELD_ALL);
}

CASE(rsp_query, made_again)
{
        struct known known = known_rsp(t);

        release(t, known.rsp);
        known.param.evd_handle = request_evd(t);
        known.param.ep_handle = ep_with(t);
        known.rsp = rsp_at(t, known.param.conn_qual, known.param.ep_handle, known.param.evd_handle);

        check_fields(t, &known, DAT_RSP_FIELD_ALL);
}

static void modify_ep(struct test *t, const struct known *known)
{
        DAT_EP_PARAM param = {.recv_evd_handle = ep_request_evd(t, known->param.ep_handle)};

        must(dat_ep_modify(known->param.ep_handle, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        ep_reports_to(t, known->param.ep_handle, DAT_EP_FIELD_RECV_EVD_HANDLE,
                      param.recv_evd_handle);
}

static void post_receive(struct test *t, const struct known *known)
{
        loop_post_recv(t, known->param.ep_handle, buf_with(t), 1);
}

static void refuse_another(struct test *t, const struct known *known)
{
        DAT_RSP_HANDLE rsp;

        must_that(!dat_is(dat_rsp_create(ia(t), known->param.conn_qual, ep_with(t),
                                         known->param.evd_handle, &rsp),
                          DAT_SUCCESS),
                  "another RSP at the qualifier was granted");
        must_that(!dat_is(dat_rsp_create(ia(t), known->param.conn_qual + 1, known->param.ep_handle,
                                         known->param.evd_handle, &rsp),
                          DAT_SUCCESS),
                  "another RSP with the EP was granted");
}

static void make_public(struct test *t, const struct known *known)
{
        DAT_CONN_QUAL qual;

        psp_new(t, known->param.evd_handle, DAT_PSP_CONSUMER_FLAG, &qual);
}

/* A request comes to another service point, and is handed to a third. */
static void hand_past(struct test *t, const struct known *known)
{
        struct loop loop = {.requests = known->param.evd_handle, .active = ep_with(t)};
        DAT_CONN_QUAL qual;

        loop.psp = loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &loop.qual);
        loop_listen(t, loop.requests, DAT_PSP_CONSUMER_FLAG, &qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        must(dat_cr_handoff(loop.request, qual));
}

static const struct change {
        const char *id;
        void (*make)(struct test *t, const struct known *known);
} changes[] = {
    {"ep_modified", modify_ep},     {"receive_posted", post_receive}, {"refused", refuse_another},
    {"public_beside", make_public}, {"others_handed_off", hand_past},
};

FAMILY(rsp_query, after_change, changes)
{
        struct known known = known_rsp(t);

        row->make(t, &known);

        check_every_mask(t, &known);
}

CASE(rsp_query, after_cno_changed)
{
        DAT_CNO_HANDLE cno;
        struct known known;

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        known = known_rsp(t);
        must(dat_evd_modify_cno(known.param.evd_handle, cno));

        check_every_mask(t, &known);
}

CASE(rsp_query, after_resize)
{
        struct known known = known_rsp(t);

        must(dat_evd_resize(known.param.evd_handle, 16));

        check_fields(t, &known, DAT_RSP_FIELD_ALL);
}

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
        loop_take_request(t, loop);
        must(dat_cr_accept(loop->request, DAT_HANDLE_NULL, 0, NULL));
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

/* What the RSP tells after its request; it may be gone with that (RSP-1). */
static void check_spent(struct test *t, const struct loop *loop)
{
        struct known known = {
            .param = {.ia_handle = ia(t), .conn_qual = loop->qual, .evd_handle = loop->requests}};
        DAT_RSP_PARAM param;

        poison(&param, sizeof(param));
        if (dat_is(expect_or_note(dat_rsp_query(loop->psp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS,
                                  DAT_INVALID_HANDLE),
                   DAT_INVALID_HANDLE))
                return;
        check_param(t, &known, &param, DAT_RSP_FIELD_ALL & ~(unsigned int)DAT_RSP_FIELD_EP_HANDLE);
        expect_that(param.ep_handle == DAT_HANDLE_NULL || param.ep_handle == loop->passive,
                    "the EP is neither none nor the one of the request");
}

FAMILY(rsp_query, after_request, fates)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        loop.psp = rsp_new(t, loop.passive, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        row->meet(t, &loop);

        check_spent(t, &loop);
        if (row->meet == loop_take_request)
                must(dat_cr_reject(loop.request));
}

/*
 * What a query leaves as it was
 */

static void query_often(struct test *t, DAT_RSP_HANDLE rsp)
{
        for (int i = 0; i < MANY; i++)
                queried(t, rsp, DAT_RSP_FIELD_ALL);
}

CASE(rsp_query, keeps_listening)
{
        struct loop loop = loop_new(t);

        loop.psp = rsp_new(t, loop.passive, loop.requests, &loop.qual);
        query_often(t, loop.psp);
        expect_ep_in(t, loop.passive, DAT_EP_STATE_RESERVED);
        loop_connect(t, loop.active, loop.qual);

        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_empty(t, loop.requests);
}

CASE(rsp_query, keeps_request)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        DAT_RSP_PARAM param;

        loop.psp = rsp_new(t, loop.passive, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        for (int i = 0; i < MANY; i++)
                expect_or_note(dat_rsp_query(loop.psp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS,
                               DAT_INVALID_HANDLE);

        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_empty(t, loop.requests);
}

CASE(rsp_query, within_structure)
{
        struct known known = known_rsp(t);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_RSP_PARAM));
        DAT_RSP_PARAM *param = (DAT_RSP_PARAM *)(void *)buf->addr;

        expect(dat_rsp_query(known.rsp, DAT_RSP_FIELD_ALL, param), DAT_SUCCESS);
        check_param(t, &known, param, DAT_RSP_FIELD_ALL);
        release(t, buf->lmr);
}

struct asking {
        DAT_RSP_HANDLE rsp;
        DAT_RSP_PARAM params[ROW];
};

/* One query is over before another thread has begun. */
static DAT_RETURN ask_in_a_row(void *arg)
{
        struct asking *asking = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (int i = 0; i < ROW && dat_is(ret, DAT_SUCCESS); i++)
                ret = dat_rsp_query(asking->rsp, DAT_RSP_FIELD_ALL, &asking->params[i]);
        return ret;
}

CASE(rsp_query, any_thread)
{
        struct known known[2] = {known_rsp(t), known_rsp(t)};
        struct stress stress = stress_of(t, 500);

        while (stress.met < MET && stress_round(&stress)) {
                struct asking askings[THREADS];
                struct racer racers[THREADS];

                poison(askings, sizeof(askings));
                for (int i = 0; i < THREADS; i++) {
                        askings[i].rsp = known[i % 2].rsp;
                        racers[i] = (struct racer){.call = ask_in_a_row, .arg = &askings[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        for (int j = 0; j < ROW; j++)
                                check_param(t, &known[i % 2], &askings[i].params[j],
                                            DAT_RSP_FIELD_ALL);
                }
        }
        must_have_met(&stress);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_RSP_FIELD_ALL)};

FAMILY(rsp_query, invalid_mask, masks)
{
        struct known known = known_rsp(t);
        DAT_RSP_PARAM param;
        unsigned int mask = 0;

        memset(&param, 0, sizeof(param));
        while (undefined_mask_next(row, &mask))
                expect(dat_rsp_query(known.rsp, (DAT_RSP_PARAM_MASK)mask, &param),
                       DAT_INVALID_PARAMETER);
        check_fields(t, &known, DAT_RSP_FIELD_ALL);
}

CASE(rsp_query, no_mask)
{
        struct known known = known_rsp(t);
        DAT_RSP_PARAM param;

        memset(&param, 0, sizeof(param));
        expect_or_note(dat_rsp_query(known.rsp, (DAT_RSP_PARAM_MASK)0, &param), DAT_SUCCESS,
                       DAT_INVALID_PARAMETER);
        check_fields(t, &known, DAT_RSP_FIELD_ALL);
}

LEGAL(rsp_query)
{
        static DAT_RSP_PARAM param;

        call->rsp_handle = known_rsp(t).rsp;
        call->rsp_param_mask = DAT_RSP_FIELD_ALL;
        call->rsp_param = &param;
}
