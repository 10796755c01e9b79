/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: the mask. */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/shared/bits.h"
#include "clauses/ep_modify.h"

#include <string.h>

FAMILY(ep_modify, only_requested, ep_modifiable)
{
        const struct ep_parameter *parameter = &ep_parameters[row->parameter];
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);

        expect(dat_ep_modify(ep, parameter->field, &wishes.asked), DAT_SUCCESS);
        expect_ep_kept(t, ep, &before, parameter->field);
}

FAMILY(ep_modify, others_unread, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);

        expect_ep_change(t, &change);
}

FAMILY(ep_modify, zeros_unread, ep_modifiable)
{
        struct ep_change change = unconnected(t, row->parameter);

        memset(&change.asked, 0, sizeof(change.asked));
        ep_value_set(&change.asked, change.parameter, change.wanted);
        expect_ep_change(t, &change);
}

static void expect_wish_shown(struct test *t, const struct wishes *wishes, DAT_EP_HANDLE ep,
                              size_t index)
{
        struct ep_change change = {
            .parameter = &ep_parameters[ep_modifiable[index].parameter],
            .ep = ep,
            .wanted = wishes->made[index],
        };

        expect_that(ep_change_shown(t, &change), "%s was not changed", ep_modifiable[index].id);
}

CASE(ep_modify, all_at_once)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);

        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_SUCCESS);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                expect_wish_shown(t, &wishes, ep, i);
        expect_ep_kept(t, ep, &before, wishes.all);
}

/* From here on the EP reports to the EVDs that it was given with all else. */
static void reports_as_wished(struct test *t, DAT_EP_HANDLE ep, const struct wishes *wishes)
{
        ep_reports_to(t, ep, DAT_EP_FIELD_RECV_EVD_HANDLE, wishes->asked.recv_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, wishes->asked.request_evd_handle);
        ep_reports_to(t, ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, wishes->asked.connect_evd_handle);
}

/* States that let many be changed. */
static const struct joint {
        const char *id;
        DAT_EP_STATE state;
        DAT_EP_PARAM_MASK fixed;
} joint[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED, 0},
    {"reserved", DAT_EP_STATE_RESERVED, DAT_EP_FIELD_PZ_HANDLE},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, 0},
};

static void expect_all_at_once(struct test *t, const struct joint *row,
                               const struct ep_route *route)
{
        struct wishes wishes = {.all = 0};
        DAT_EP_ATTR few = ep_attr_few(t);
        struct ep_snapshot before;
        DAT_EP_HANDLE ep;

        wish_objects(t, &wishes);
        ep = ep_by(t, route, .attr = &few);
        before = ep_snapshot(t, ep);
        wish(t, &wishes, &before.param);
        wishes.all &= ~row->fixed;

        expect(dat_ep_modify(ep, wishes.all, &wishes.asked), DAT_SUCCESS);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                if (ep_parameters[ep_modifiable[i].parameter].field & wishes.all)
                        expect_wish_shown(t, &wishes, ep, i);
        expect_ep_kept(t, ep, &before, wishes.all);
        reports_as_wished(t, ep, &wishes);
        expect_ep_bears(t, ep);
}

/* Whichever way the EP came into the state. */
FAMILY(ep_modify, all_at_once_in, joint)
{
        EACH_EP_ROUTE (route, row->state)
                expect_all_at_once(t, row, route);
}

/* What is changed outlives what `happens` to the EP, and the reset after it. */
static void expect_outlives(struct test *t, void (*happens)(struct test *t, DAT_EP_HANDLE ep))
{
        struct ep_snapshot changed;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &changed);

        must(dat_ep_modify(ep, wishes.all, &wishes.asked));
        reports_as_wished(t, ep, &wishes);
        changed = ep_snapshot(t, ep);
        happens(t, ep);
        must(dat_ep_reset(ep));

        expect_ep_kept(t, ep, &changed, 0);
        expect_ep_bears(t, ep);
}

static void come_and_go(struct test *t, DAT_EP_HANDLE ep)
{
        peer_disconnect(expect_connect(ep), DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

CASE(ep_modify, outlives_reset)
{
        expect_outlives(t, come_and_go);
}

FAMILY(ep_modify, outlives_failed_connect, failed_requests)
{
        expect_outlives(t, row->connect);
}

/* Each two by one call, and both back by another. */
CASE(ep_modify, every_pair)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);

        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                for (size_t j = i + 1; j < MODIFIABLE_COUNT; j++) {
                        DAT_EP_PARAM_MASK both = ep_parameters[ep_modifiable[i].parameter].field |
                                                 ep_parameters[ep_modifiable[j].parameter].field;

                        expect(dat_ep_modify(ep, both, &wishes.asked), DAT_SUCCESS);
                        expect_wish_shown(t, &wishes, ep, i);
                        expect_wish_shown(t, &wishes, ep, j);
                        expect_ep_kept(t, ep, &before, both);
                        expect(dat_ep_modify(ep, both, &before.param), DAT_SUCCESS);
                }
        }
        expect_ep_kept(t, ep, &before, 0);
}

/* What a refusal has changed of the good ones is its own affair (EP-13). */
FAMILY(ep_modify, never_modifiable_beside_each, fixed)
{
        const struct ep_parameter *bad = &ep_parameters[row->parameter];
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);
        DAT_EP_PARAM_MASK asked = 0;

        ep_value_set(&wishes.asked, bad, bad->other(t, ep_value(&before.param, bad)));
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                DAT_EP_PARAM_MASK good = ep_parameters[ep_modifiable[i].parameter].field;

                asked |= good;
                expect(dat_ep_modify(ep, good | bad->field, &wishes.asked), DAT_INVALID_PARAMETER);
                expect_ep_kept(t, ep, &before, asked);
        }
}

/* In the other structure members stands, each time, what the EP was made with. */
CASE(ep_modify, one_by_one)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);
        DAT_EP_PARAM_MASK changed = 0;

        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];
                DAT_EP_PARAM asked = before.param;

                ep_value_set(&asked, parameter, wishes.made[i]);
                expect(dat_ep_modify(ep, parameter->field, &asked), DAT_SUCCESS);
                changed |= parameter->field;
                for (size_t j = 0; j <= i; j++)
                        expect_wish_shown(t, &wishes, ep, j);
                expect_ep_kept(t, ep, &before, changed);
        }
}

static bool same_request(const DAT_EP_PARAM *one, const DAT_EP_PARAM *other)
{
        bool same =
            one->srq_handle == other->srq_handle && ep_attr_same(&one->ep_attr, &other->ep_attr);

        for (int i = 0; i < EP_PARAM_COUNT; i++)
                same &= ep_value(one, &ep_parameters[i]) == ep_value(other, &ep_parameters[i]);
        return same;
}

static void expect_structure_kept(struct test *t, DAT_EP_HANDLE ep, const struct wishes *wishes,
                                  DAT_RETURN wanted)
{
        DAT_EP_PARAM given = wishes->asked;

        expect(dat_ep_modify(ep, wishes->all, &given), wanted);
        expect_that(same_request(&given, &wishes->asked),
                    "the structure that the parameters were requested by is not as it was");
}

CASE(ep_modify, structure_kept)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);

        expect_structure_kept(t, ep, &wishes, DAT_SUCCESS);
        wishes.asked.ep_attr.max_request_dtos = -1;
        expect_structure_kept(t, ep, &wishes, DAT_INVALID_PARAMETER);
}

/* The structure is the consumer's again when the call returns. */
CASE(ep_modify, structure_given_back)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes(t, &wishes, &before);
        DAT_EP_PARAM given = wishes.asked;

        expect(dat_ep_modify(ep, wishes.all, &given), DAT_SUCCESS);
        memset(&given, 0xa5, sizeof(given));
        reports_as_wished(t, ep, &wishes);
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                expect_wish_shown(t, &wishes, ep, i);
        expect_ep_bears(t, ep);
}

CASE(ep_modify, structure_kept_late)
{
        struct ep_snapshot before;
        struct wishes wishes;
        DAT_EP_HANDLE ep = ep_with_wishes_in(t, DAT_EP_STATE_CONNECTED, &wishes, &before);

        expect_structure_kept(t, ep, &wishes, DAT_INVALID_STATE);
}

CASE(ep_modify, empty_mask)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        expect_may(dat_ep_modify(change.ep, 0, &change.asked), DAT_SUCCESS);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* The bit between the EP's fields and those of its attributes; 0 where the API leaves none free. */
#define DAT_EP_FIELD_UNDEFINED (~DAT_EP_FIELD_ALL & (DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE - 1))

static const struct mask {
        const char *id;
        DAT_EP_PARAM_MASK mask;
} undefined_bits[] = {
    {"between", DAT_EP_FIELD_UNDEFINED},
    {"above", UINT64_C(0x80000000)},
    {"highest", UINT64_C(0x8000000000000000)},
};

FAMILY(ep_modify, undefined_mask_bit, undefined_bits)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        if (row->mask == 0)
                unsupported(t, "DAT_EP_FIELD_ALL: each bit between the fields is one");
        expect(dat_ep_modify(change.ep, row->mask, &change.asked), DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

CASE(ep_modify, each_undefined_mask_bit)
{
        struct ep_change change = unconnected(t, EP_PARAM_max_recv_dtos);

        for (DAT_EP_PARAM_MASK bit = 1; bit; bit <<= 1)
                if (!(bit & DAT_EP_FIELD_ALL))
                        expect_bit(
                            bit,
                            dat_ep_modify(change.ep, change.parameter->field | bit, &change.asked),
                            DAT_INVALID_PARAMETER);
        expect_ep_kept(t, change.ep, &change.before, 0);
}

/* In Passive Connection Pending all may be refused (EP-17). */
static const struct ep_state_row changing[] = {
    {"reserved", DAT_EP_STATE_RESERVED},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

FAMILY(ep_modify, undefined_mask_bits_in, changing)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .attr = &few);
        struct ep_change change = ep_change_of(t, &ep_parameters[EP_PARAM_max_recv_dtos], ep, 0);

        for (DAT_EP_PARAM_MASK bit = 1; bit; bit <<= 1) {
                if (bit & DAT_EP_FIELD_ALL)
                        continue;
                expect_bit(bit, dat_ep_modify(ep, bit, &change.asked), DAT_INVALID_PARAMETER);
                expect_bit(bit, dat_ep_modify(ep, change.parameter->field | bit, &change.asked),
                           DAT_INVALID_PARAMETER);
        }
        expect_ep_kept(t, ep, &change.before, change.parameter->field);
        expect_ep_bears(t, ep);
}
