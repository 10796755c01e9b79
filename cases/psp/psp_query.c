/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_psp_query: every field by its own bit, of which PSP it is, and what is no mask. */
#include "clauses/psp_query.h"
#include "cases/shared/masks.h"
#include "cases/shared/point.h"
#include "cases/shared/point_query.h"

static void check_flags(struct test *t, const union point_param *known,
                        const union point_param *seen)
{
        expect_eq(seen->psp.psp_flags, known->psp.psp_flags);
}

static const struct point_field fields[POINT_FIELDS] = {
    {"ia_handle", DAT_PSP_FIELD_IA_HANDLE, check_point_ia},
    {"conn_qual", DAT_PSP_FIELD_CONN_QUAL, check_point_qual},
    {"evd_handle", DAT_PSP_FIELD_EVD_HANDLE, check_point_evd},
    {"psp_flags", DAT_PSP_FIELD_PSP_FLAGS, check_flags},
};

static DAT_RETURN query_psp(DAT_HANDLE psp, uint64_t mask, void *param)
{
        return dat_psp_query(psp, (DAT_PSP_PARAM_MASK)mask, param);
}

static DAT_RETURN create_psp(const union point_param *param, DAT_HANDLE *psp)
{
        return dat_psp_create(param->psp.ia_handle, param->psp.conn_qual, param->psp.evd_handle,
                              param->psp.psp_flags, psp);
}

/* The consumer makes the EPs of the PSP's requests. */
static void equip(struct test *t, union point_param *param)
{
        (void)t;
        param->psp.psp_flags = psp_flags_granted(t);
}

static DAT_HANDLE listen_by_psp(struct test *t, union point_param *param)
{
        return loop_listen(t, param->psp.evd_handle, param->psp.psp_flags, &param->psp.conn_qual);
}

static const struct point_kind kind = {
    .type = DAT_HANDLE_TYPE_PSP,
    .query = {"dat_psp_query(psp, mask, param)", query_psp, sizeof(DAT_PSP_PARAM),
              DAT_PSP_FIELD_ALL},
    .fields = fields,
    .create = create_psp,
    .equip = equip,
    .listen = listen_by_psp,
};

FAMILY(psp_query, field, fields)
{
        struct known_point known = known_point(t, &kind);

        check_point_fields(t, &known, row->bit);
}

FAMILY(psp_query, field_among_all, fields)
{
        struct known_point known = known_point(t, &kind);
        union point_param param = queried_point(t, &known, kind.query.all);

        row->check(t, &known.param, &param);
}

CASE(psp_query, every_mask)
{
        struct known_point known = known_point(t, &kind);

        check_point_by_each_mask(t, &known);
}

static struct known_point known_flagged(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags)
{
        struct known_point known = {
            .kind = &kind,
            .param.psp = {.ia_handle = ia(t), .evd_handle = evd, .psp_flags = flags},
        };

        known.point = listen_by_psp(t, &known.param);
        return known;
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
        struct known_point known[2];

        for (int i = 0; i < row->points; i++)
                known[i] = known_flagged(t, request_evd(t), row->flags[i]);

        for (int i = 0; i < row->points; i++)
                check_point_by_each_mask(t, &known[i]);
}

CASE(psp_query, own_parameters)
{
        points_tell_their_own(t, &kind, 8);
}

CASE(psp_query, shared_evd)
{
        points_tell_shared_evd(t, &kind, 8);
}

/* A PSP at a qualifier that the provider chooses. */
static struct known_point known_chosen(struct test *t, DAT_IA_HANDLE ia_handle, DAT_PSP_FLAGS flags)
{
        DAT_EVD_HANDLE evd = evd_with(t, .ia = ia_handle, .flags = DAT_EVD_CR_FLAG);
        struct known_point known = {
            .kind = &kind,
            .param.psp = {.ia_handle = ia_handle, .evd_handle = evd, .psp_flags = flags},
        };

        must(dat_psp_create_any(ia_handle, &known.param.psp.conn_qual, evd, flags, &known.point));
        adopt(t, DAT_HANDLE_TYPE_PSP, known.point);
        return known;
}

static struct known_point known_any(struct test *t, DAT_IA_HANDLE ia_handle)
{
        return known_chosen(t, ia_handle, psp_flags_granted(t));
}

CASE(psp_query, own_ia)
{
        struct known_point here = known_any(t, ia(t));
        struct known_point there = known_any(t, other_ia(t));

        check_point(t, &here);
        check_point(t, &there);
}

CASE(psp_query, any_qualifier)
{
        struct known_point first = known_any(t, ia(t));
        struct known_point second = known_any(t, ia(t));

        check_point_fields(t, &first, DAT_PSP_FIELD_CONN_QUAL);
        check_point(t, &first);
        check_point(t, &second);
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
        struct known_point known = known_chosen(t, ia(t), row->flags);

        check_point_by_each_mask(t, &known);
}

CASE(psp_query, last_qualifiers)
{
        point_tells_last_qualifiers(t, &kind);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

FAMILY(psp_query, high_bits, high_bits)
{
        points_tell_high_bits(t, &kind, row);
}

static const struct wrong_evd merged_evds[] = {MERGED_EVDS};

FAMILY(psp_query, evd_of_more_streams, merged_evds)
{
        struct known_point known = known_point_on(t, &kind, evd_with(t, .flags = row->flags));

        check_point_by_each_mask(t, &known);
}

/*
 * What happens to a PSP, and to others
 */

static void make_connection(struct test *t, struct loop *loop)
{
        loop_accept(t, loop);
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

static struct known_point known_of(struct test *t, const struct loop *loop)
{
        return (struct known_point){
            .kind = &kind,
            .point = loop->psp,
            .param.psp = {.ia_handle = ia(t),
                          .conn_qual = loop->qual,
                          .evd_handle = loop->requests,
                          .psp_flags = psp_flags_granted(t)},
        };
}

FAMILY(psp_query, after_request, fates)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);
        struct known_point known;

        loop.psp = loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        row->meet(t, &loop);

        known = known_of(t, &loop);
        check_point(t, &known);
}

static void hand_off(struct test *t, struct known_point *known)
{
        struct known_point to = known_point(t, &kind);
        struct loop loop = {.requests = known->param.psp.evd_handle, .active = ep_with(t)};

        loop_connect(t, loop.active, known->param.psp.conn_qual);
        loop_take_request(t, &loop);
        must(dat_cr_handoff(loop.request, to.param.psp.conn_qual));
        check_point(t, &to);
}

static void reserve_beside(struct test *t, struct known_point *known)
{
        DAT_CONN_QUAL qual;

        rsp_new(t, ep_with(t), known->param.psp.evd_handle, &qual);
}

static void make_eps(struct test *t, struct known_point *known)
{
        struct loop loop = {.requests = request_evd(t), .active = ep_with(t)};

        *known = known_flagged(t, loop.requests, DAT_PSP_PROVIDER_FLAG);
        loop_connect(t, loop.active, known->param.psp.conn_qual);
        loop_take_request(t, &loop);
        adopt(t, DAT_HANDLE_TYPE_CR, loop.request);
}

static void change_flag(struct test *t, struct known_point *known)
{
        release(t, known->point);
        known->param.psp.psp_flags = DAT_PSP_PROVIDER_FLAG;
        known_point_create(t, known);
}

static const struct change {
        const char *id;
        void (*make)(struct test *t, struct known_point *known);
} changes[] = {
    {"handed_off", hand_off},
    {"reserved_beside", reserve_beside},
    {"providers_request", make_eps},
    {"again_for_provider", change_flag},
};

FAMILY(psp_query, after_change, changes)
{
        struct known_point known = known_point(t, &kind);

        check_point(t, &known);
        row->make(t, &known);

        check_point_by_each_mask(t, &known);
}

CASE(psp_query, after_other_freed)
{
        point_tells_after_other_freed(t, &kind);
}

CASE(psp_query, made_again)
{
        point_tells_made_again(t, &kind);
}

CASE(psp_query, after_resize)
{
        point_tells_after_resize(t, &kind);
}

/*
 * What a query leaves as it was
 */

/* The EVD's next event is the request of the loop, which becomes a connection; and is its last. */
static void expect_joined(struct test *t, struct loop *loop)
{
        DAT_EVENT event = expect_event(loop->requests, DAT_CONNECTION_REQUEST_EVENT);
        const DAT_CR_ARRIVAL_EVENT_DATA *data = &event.event_data.cr_arrival_event_data;

        expect_that(data->sp_handle.psp_handle == loop->psp, "the request is for another PSP");
        expect_accepted(t, data->cr_handle, loop);
        expect_quiet(loop->requests);
}

CASE(psp_query, keeps_request)
{
        DAT_CNO_HANDLE cno;
        struct loop loop = watched_loop(t, &cno);

        loop.psp = loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        must_stand(t, cno);
        query_point_often(t, &kind, loop.psp);

        expect_joined(t, &loop);
}

CASE(psp_query, keeps_listening)
{
        struct loop loop = loop_new(t);

        loop.psp = loop_listen(t, loop.requests, psp_flags_granted(t), &loop.qual);
        query_point_often(t, &kind, loop.psp);
        loop_connect(t, loop.active, loop.qual);

        expect_joined(t, &loop);
}

CASE(psp_query, within_structure)
{
        point_tells_within_structure(t, &kind);
}

CASE(psp_query, any_thread)
{
        points_tell_any_thread(t, &kind, 20);
}

/*
 * Arguments
 */

static const struct undefined_mask masks[] = {UNDEFINED_MASKS(DAT_PSP_FIELD_ALL)};

FAMILY(psp_query, invalid_mask, masks)
{
        point_refuses_masks(t, &kind, row);
}

CASE(psp_query, no_mask)
{
        point_answers_no_mask(t, &kind);
}

LEGAL(psp_query)
{
        static DAT_PSP_PARAM param;

        call->psp_handle = known_point(t, &kind).point;
        call->psp_param_mask = DAT_PSP_FIELD_ALL;
        call->psp_param = &param;
}
