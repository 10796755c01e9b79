/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rsp_query: every field by its own bit, of which RSP it is, and what is no mask. */
#include "clauses/rsp_query.h"
#include "case/poison.h"
#include "cases/shared/masks.h"
#include "cases/shared/point.h"
#include "cases/shared/point_query.h"

static void check_ep(struct test *t, const union point_param *known, const union point_param *seen)
{
        expect_that(seen->rsp.ep_handle == known->rsp.ep_handle, "the EP is not the RSP's own");
}

static const struct point_field fields[POINT_FIELDS] = {
    {"ia_handle", DAT_RSP_FIELD_IA_HANDLE, check_point_ia},
    {"conn_qual", DAT_RSP_FIELD_CONN_QUAL, check_point_qual},
    {"evd_handle", DAT_RSP_FIELD_EVD_HANDLE, check_point_evd},
    {"ep_handle", DAT_RSP_FIELD_EP_HANDLE, check_ep},
};

static DAT_RETURN query_rsp(DAT_HANDLE rsp, uint64_t mask, void *param)
{
        return dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)mask, param);
}

static DAT_RETURN create_rsp(const union point_param *param, DAT_HANDLE *rsp)
{
        return dat_rsp_create(param->rsp.ia_handle, param->rsp.conn_qual, param->rsp.ep_handle,
                              param->rsp.evd_handle, rsp);
}

static void equip(struct test *t, union point_param *param)
{
        param->rsp.ep_handle = ep_with(t);
}

static DAT_HANDLE listen_by_rsp(struct test *t, union point_param *param)
{
        return rsp_new(t, param->rsp.ep_handle, param->rsp.evd_handle, &param->rsp.conn_qual);
}

static const struct point_kind kind = {
    .type = DAT_HANDLE_TYPE_RSP,
    .query = {"dat_rsp_query(rsp, mask, param)", query_rsp, sizeof(DAT_RSP_PARAM),
              DAT_RSP_FIELD_ALL},
    .fields = fields,
    .create = create_rsp,
    .equip = equip,
    .listen = listen_by_rsp,
};

FAMILY(rsp_query, field, fields)
{
        struct known_point known = known_point(t, &kind);

        check_point_fields(t, &known, row->bit);
}

FAMILY(rsp_query, field_among_all, fields)
{
        struct known_point known = known_point(t, &kind);
        union point_param param = queried_point(t, &known, kind.query.all);

        row->check(t, &known.param, &param);
}

CASE(rsp_query, every_mask)
{
        struct known_point known = known_point(t, &kind);

        check_point_by_each_mask(t, &known);
}

CASE(rsp_query, own_parameters)
{
        points_tell_their_own(t, &kind, 4);
}

CASE(rsp_query, shared_evd)
{
        points_tell_shared_evd(t, &kind, 4);
}

/* An RSP of another IA, with an EP of that one. */
static struct known_point known_there(struct test *t, DAT_IA_HANDLE other)
{
        DAT_EVD_HANDLE dtos = evd_with(t, .ia = other);
        DAT_EVD_HANDLE connect = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG);
        struct known_point known = {
            .kind = &kind,
            .param.rsp = {.ia_handle = other, .conn_qual = point_qual(t)},
        };

        known.param.rsp.evd_handle = evd_with(t, .ia = other, .flags = DAT_EVD_CR_FLAG);
        must(dat_ep_create(other, pz_of(t, other), dtos, dtos, connect, NULL,
                           &known.param.rsp.ep_handle));
        adopt(t, DAT_HANDLE_TYPE_EP, known.param.rsp.ep_handle);
        known_point_create(t, &known);
        return known;
}

CASE(rsp_query, own_ia)
{
        struct known_point there = known_there(t, other_ia(t));
        struct known_point here = known_point(t, &kind);

        check_point(t, &here);
        check_point(t, &there);
}

/* Whether there is an EP before the request is the provider's affair (RSP-2). */
static void expect_ep_or_none(struct test *t, DAT_HANDLE handle)
{
        DAT_HANDLE_TYPE type = DAT_HANDLE_TYPE_IA;

        if (handle == DAT_HANDLE_NULL)
                return;
        expect_that(dat_is(dat_get_handle_type(handle, &type), DAT_SUCCESS) &&
                        type == DAT_HANDLE_TYPE_EP,
                    "the EP is neither null nor an EP");
}

CASE(rsp_query, providers_ep)
{
        struct known_point known = {
            .kind = &kind,
            .param.rsp = {.ia_handle = ia(t), .evd_handle = request_evd(t)},
        };

        known.point = listen_by_rsp(t, &known.param);
        for (unsigned int mask = 1; mask <= DAT_RSP_FIELD_ALL; mask++) {
                union point_param param = queried_point(t, &known, mask);

                check_point_param(t, &known, &param, mask & ~(unsigned int)DAT_RSP_FIELD_EP_HANDLE);
                if (mask & DAT_RSP_FIELD_EP_HANDLE)
                        expect_ep_or_none(t, param.rsp.ep_handle);
        }
}

CASE(rsp_query, last_qualifiers)
{
        point_tells_last_qualifiers(t, &kind);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(rsp_query, high_bits, high_bits)
{
        points_tell_high_bits(t, &kind, row);
}

/*
 * What happens to an RSP, and to others
 */

CASE(rsp_query, after_other_freed)
{
        point_tells_after_other_freed(t, &kind);
}

CASE(rsp_query, made_again)
{
        point_tells_made_again(t, &kind);
}

static void modify_ep(struct test *t, const struct known_point *known)
{
        DAT_EP_PARAM param = {.recv_evd_handle = ep_request_evd(t, known->param.rsp.ep_handle)};

        must(dat_ep_modify(known->param.rsp.ep_handle, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
        ep_reports_to(t, known->param.rsp.ep_handle, DAT_EP_FIELD_RECV_EVD_HANDLE,
                      param.recv_evd_handle);
}

static void post_receive(struct test *t, const struct known_point *known)
{
        loop_post_recv(t, known->param.rsp.ep_handle, buf_with(t), 1);
}

static void refuse_another(struct test *t, const struct known_point *known)
{
        DAT_RSP_HANDLE rsp;

        must_that(!dat_is(dat_rsp_create(ia(t), known->param.rsp.conn_qual, ep_with(t),
                                         known->param.rsp.evd_handle, &rsp),
                          DAT_SUCCESS),
                  "another RSP at the qualifier was granted");
        must_that(
            !dat_is(dat_rsp_create(ia(t), known->param.rsp.conn_qual + 1,
                                   known->param.rsp.ep_handle, known->param.rsp.evd_handle, &rsp),
                    DAT_SUCCESS),
            "another RSP with the EP was granted");
}

static void make_public(struct test *t, const struct known_point *known)
{
        DAT_CONN_QUAL qual;

        psp_new(t, known->param.rsp.evd_handle, psp_flags_granted(t), &qual);
}

/* A request comes to another service point, and is handed to a third. */
static void hand_past(struct test *t, const struct known_point *known)
{
        struct loop loop = {.requests = known->param.rsp.evd_handle, .active = ep_with(t)};
        DAT_CONN_QUAL qual;

        loop.psp = loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual);
        loop_listen(t, loop.requests, psp_flags_granted(t), &qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        must(dat_cr_handoff(loop.request, qual));
}

static const struct change {
        const char *id;
        void (*make)(struct test *t, const struct known_point *known);
} changes[] = {
    {"ep_modified", modify_ep},     {"receive_posted", post_receive}, {"refused", refuse_another},
    {"public_beside", make_public}, {"others_handed_off", hand_past},
};

FAMILY(rsp_query, after_change, changes)
{
        struct known_point known = known_point(t, &kind);

        row->make(t, &known);

        check_point_by_each_mask(t, &known);
}

CASE(rsp_query, after_cno_changed)
{
        DAT_CNO_HANDLE cno;
        struct known_point known;

        must(dat_cno_create(ia(t), DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
        adopt(t, DAT_HANDLE_TYPE_CNO, cno);
        known = known_point(t, &kind);
        must(dat_evd_modify_cno(known.param.rsp.evd_handle, cno));

        check_point_by_each_mask(t, &known);
}

CASE(rsp_query, after_resize)
{
        point_tells_after_resize(t, &kind);
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
    {"pending", leave_request},
    {"taken", loop_take_request},
    {"rejected", reject_request},
    {"accepted", make_connection},
};

/* What the RSP tells after its request; it may be gone with that (RSP-1). */
static void check_spent(struct test *t, const struct loop *loop)
{
        struct known_point known = {
            .kind = &kind,
            .param.rsp = {.ia_handle = ia(t),
                          .conn_qual = loop->qual,
                          .evd_handle = loop->requests},
        };
        union point_param param;

        poison(&param, sizeof(param));
        if (dat_is(expect_or_note(dat_rsp_query(loop->psp, DAT_RSP_FIELD_ALL, &param.rsp),
                                  DAT_SUCCESS, DAT_INVALID_HANDLE),
                   DAT_INVALID_HANDLE))
                return;
        check_point_param(t, &known, &param,
                          DAT_RSP_FIELD_ALL & ~(unsigned int)DAT_RSP_FIELD_EP_HANDLE);
        expect_that(param.rsp.ep_handle == DAT_HANDLE_NULL || param.rsp.ep_handle == loop->passive,
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
        /* An EP whose request is unanswered can not be freed. */
        if (row->meet == leave_request)
                loop_take_request(t, &loop);
        if (row->meet == leave_request || row->meet == loop_take_request)
                must(dat_cr_reject(loop.request));
}

/*
 * What a query leaves as it was
 */

CASE(rsp_query, keeps_listening)
{
        struct loop loop = loop_new(t);

        loop.psp = rsp_new(t, loop.passive, loop.requests, &loop.qual);
        query_point_often(t, &kind, loop.psp);
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
        for (int i = 0; i < 100; i++)
                expect_or_note(dat_rsp_query(loop.psp, DAT_RSP_FIELD_ALL, &param), DAT_SUCCESS,
                               DAT_INVALID_HANDLE);

        loop.request = expect_request(t, loop.requests, loop.psp, loop.qual);
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_empty(t, loop.requests);
}

CASE(rsp_query, within_structure)
{
        point_tells_within_structure(t, &kind);
}

CASE(rsp_query, any_thread)
{
        points_tell_any_thread(t, &kind, 5);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_RSP_FIELD_ALL)};

FAMILY(rsp_query, invalid_mask, masks)
{
        point_refuses_masks(t, &kind, row);
}

CASE(rsp_query, no_mask)
{
        point_answers_no_mask(t, &kind);
}

LEGAL(rsp_query)
{
        static DAT_RSP_PARAM param;

        call->rsp_handle = known_point(t, &kind).point;
        call->rsp_param_mask = DAT_RSP_FIELD_ALL;
        call->rsp_param = &param;
}
