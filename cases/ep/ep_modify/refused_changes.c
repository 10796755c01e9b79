/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: what a refused change leaves. */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/ep/shared/states.h"
#include "clauses/ep_modify.h"

static DAT_RETURN post_recv(DAT_EP_HANDLE ep, const struct buf *buf)
{
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        return dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG);
}

/*
 * What a refused change leaves, whatever it was answered with
 */

static const struct ep_state_row forbidding[] = {
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"connected", DAT_EP_STATE_CONNECTED},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
};

static void ask_for_all(struct test *t, DAT_EP_HANDLE ep, struct wishes *wishes)
{
        struct ep_snapshot before = ep_snapshot(t, ep);

        wish(t, wishes, &before.param);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                (void)dat_ep_modify(ep, ep_parameters[ep_modifiable[i].parameter].field,
                                    &wishes->asked);
        (void)dat_ep_modify(ep, wishes->all, &wishes->asked);
        expect_ep_kept(t, ep, &before, 0);
}

FAMILY(ep_modify, late_change_keeps, forbidding)
{
        struct wishes wishes = {.all = 0};

        wish_objects(t, &wishes);

        ask_for_all(t, ep_in(t, row->state), &wishes);
}

/* Each change is refused, whichever way the EP came into the state, where it stays usable. */
FAMILY(ep_modify, late_change_by_each_route, forbidding)
{
        EACH_EP_ROUTE (route, row->state) {
                struct wishes wishes = {.all = 0};
                struct ep_held held;

                wish_objects(t, &wishes);
                held = ep_hold_by(t, route);
                held.before = ep_snapshot(t, held.ep);
                wish(t, &wishes, &held.before.param);
                for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                        expect(dat_ep_modify(held.ep,
                                             ep_parameters[ep_modifiable[i].parameter].field,
                                             &wishes.asked),
                               DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
        }
}

CASE(ep_modify, late_change_keeps_traffic)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        struct buf *buf;
        DAT_EP_HANDLE ep;
        struct peer_ep *end;

        wish_objects(t, &wishes);
        ep = ep_in(t, DAT_EP_STATE_UNCONNECTED, .attr = &few);
        buf = buf_with(t);
        must(post_recv(ep, buf));
        end = must_connect(ep);
        ask_for_all(t, ep, &wishes);

        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message came damaged");
        expect_ep_takes(t, ep, pz(t), end, (struct load){(size_t)few.max_recv_dtos, 1, MESSAGE});
        expect_ep_gives(t, ep, pz(t), end, (struct load){(size_t)few.max_request_dtos, 1, MESSAGE});
}

CASE(ep_modify, late_change_gone_by_reset)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep;

        wish_objects(t, &wishes);
        ep = ep_in(t, DAT_EP_STATE_DISCONNECTED, .attr = &few);
        ask_for_all(t, ep, &wishes);
        must(dat_ep_reset(ep));

        expect_ep_bears(t, ep);
}

static const struct refused {
        const char *id;
        DAT_EP_STATE state;
        enum ep_parameter_id bad; /* asked for beside a good one */
        int value;
} refused[] = {
    {"invalid_value", DAT_EP_STATE_UNCONNECTED, EP_PARAM_max_request_iov, -1},
    {"never_modifiable", DAT_EP_STATE_UNCONNECTED, EP_PARAM_ep_state, DAT_EP_STATE_CONNECTED},
    {"late", DAT_EP_STATE_DISCONNECTED, EP_PARAM_max_recv_iov, 1},
};

/* What the refused call changed, if anything (EP-13), it changed before the next one. */
FAMILY(ep_modify, refused_not_done_by_next, refused)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .attr = &few);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_max_recv_dtos], ep, 0);
        const struct ep_parameter *bad = &ep_parameters[row->bad];

        ep_value_set(&change.asked, bad, (uint64_t)row->value);
        must_that(!dat_is(dat_ep_modify(ep, change.parameter->field | bad->field, &change.asked),
                          DAT_SUCCESS),
                  "a change was granted that is to be refused");
        if (row->state == DAT_EP_STATE_DISCONNECTED)
                must(dat_ep_reset(ep));

        change = ep_change_of(t, &ep_parameters[EP_PARAM_max_request_dtos], ep, 0);
        expect_ep_change(t, &change);
        expect_ep_bears(t, ep);
}

FAMILY(ep_modify, never_modifiable_keeps, fixed)
{
        struct ep_change change =
            ep_change_in(t, &ep_parameters[row->parameter], DAT_EP_STATE_CONNECTED);

        (void)ep_modify(&change);

        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_eq(ep_state(t, change.ep), DAT_EP_STATE_CONNECTED);
}

CASE(ep_modify, other_open_ia)
{
        struct ep_change change = unconnected(t, EP_PARAM_ia_handle);

        ep_value_set(&change.asked, change.parameter, (uint64_t)(uintptr_t)other_ia(t));

        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_ep_bears(t, change.ep);
}

FAMILY(ep_modify, ep_state_asked_for, ep_states)
{
        struct ep_change change = unconnected(t, EP_PARAM_ep_state);

        change.asked.ep_state = row->state;

        expect(ep_modify(&change), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
        expect_eq(ep_state(t, change.ep), DAT_EP_STATE_UNCONNECTED);
}

/* The state has cases of its own. */
static const struct ep_parameter_row fixed_but_state[] = {
    {"ia_handle", EP_PARAM_ia_handle},
    {"local_ia_address_ptr", EP_PARAM_local_ia_address_ptr},
    {"local_port_qual", EP_PARAM_local_port_qual},
    {"remote_ia_address_ptr", EP_PARAM_remote_ia_address_ptr},
    {"remote_port_qual", EP_PARAM_remote_port_qual},
};

/* To be asked for what is there is to ask for a parameter that cannot be modified, too. */
FAMILY(ep_modify, never_modifiable_as_it_is, fixed_but_state)
{
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_UNCONNECTED);
        struct ep_snapshot before = ep_snapshot(t, ep);

        expect(dat_ep_modify(ep, parameter->field, &before.param), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, ep, &before, 0);
        expect_ep_bears(t, ep);
}

/*
 * One bad parameter among good ones (EP-13)
 */

static void expect_all_refused(struct test *t, struct ep_change *good, DAT_EP_PARAM_MASK bad,
                               DAT_RETURN with)
{
        expect(dat_ep_modify(good->ep, good->parameter->field | bad, &good->asked), with);

        struct ep_snapshot after = ep_snapshot(t, good->ep);
        bool done = ep_value(&after.param, good->parameter) == good->wanted;
        record(t, "%s beside it was %schanged", good->parameter->name, done ? "" : "not ");
        expect_ep_kept(t, good->ep, &good->before, good->parameter->field);
}

FAMILY(ep_modify, never_modifiable_among_good, fixed)
{
        const struct ep_parameter *bad = &ep_parameters[row->parameter];
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        ep_value_set(&change.asked, bad, bad->other(t, ep_value(&change.before.param, bad)));
        expect_all_refused(t, &change, bad->field, DAT_INVALID_PARAMETER);
}

/* The bad one stands before or behind the good one, in the structure and in the mask. */
static const struct pairing {
        const char *id;
        enum ep_parameter_id good;
        enum ep_parameter_id bad;
        int value;
} pairings[] = {
    {"bad_last", EP_PARAM_max_recv_dtos, EP_PARAM_max_request_dtos, -1},
    {"bad_first", EP_PARAM_max_request_dtos, EP_PARAM_max_recv_dtos, -1},
    {"bad_zone", EP_PARAM_max_recv_dtos, EP_PARAM_pz_handle, 0},
    {"bad_flags", EP_PARAM_request_evd_handle, EP_PARAM_recv_completion_flags,
     DAT_COMPLETION_SUPPRESS_FLAG},
};

FAMILY(ep_modify, invalid_value_among_good, pairings)
{
        const struct ep_parameter *bad = &ep_parameters[row->bad];
        struct ep_change change = unconnected(t, row->good);

        ep_value_set(&change.asked, bad, (uint64_t)row->value);
        expect_all_refused(t, &change, bad->field, DAT_INVALID_PARAMETER);
}

static const struct ep_parameter_row good_in_reserved[] = {
    {"count", EP_PARAM_max_recv_dtos},
    {"evd", EP_PARAM_connect_evd_handle},
};

FAMILY(ep_modify, wrong_state_among_good, good_in_reserved)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct ep_change change =
            ep_change_in(t, &ep_parameters[row->parameter], DAT_EP_STATE_RESERVED);

        change.asked.pz_handle = zone;
        expect_all_refused(t, &change, DAT_EP_FIELD_PZ_HANDLE, DAT_INVALID_STATE);
}

/* What a refusal has changed of the good ones is its own affair (EP-13); the zone it has not. */
CASE(ep_modify, wrong_state_beside_each)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes_in(t, DAT_EP_STATE_RESERVED, &wishes, &before);

        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                expect(dat_ep_modify(ep,
                                     DAT_EP_FIELD_PZ_HANDLE |
                                         ep_parameters[ep_modifiable[i].parameter].field,
                                     &wishes.asked),
                       DAT_INVALID_STATE);
        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_INVALID_STATE);
        expect_ep_kept(t, ep, &before, wishes.all & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_PZ_HANDLE);
}
