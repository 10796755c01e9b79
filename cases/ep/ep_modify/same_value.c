/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify to the value that a parameter has already, in each state that lets it be changed.
 */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/ep/shared/states.h"
#include "clauses/ep_modify.h"

/* A posted receive may be a reason to refuse these (EP-19, EP-30). */
#define BEFORE_RECEIVES (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS)

static const struct ep_state_row before_connecting[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"tentative_connection_pending", DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING},
};

/* A Provider's EP has neither zone nor EVDs at first, and may have more than the IA's limits. */
static void equip(struct test *t, struct ep_held *held)
{
        DAT_EP_PARAM with = {
            .pz_handle = pz(t),
            .recv_evd_handle = ep_recv_evd(t, held->ep),
            .request_evd_handle = ep_request_evd(t, held->ep),
            .connect_evd_handle = ep_connect_evd(t, held->ep),
            .ep_attr = ep_attr_few(t),
        };
        DAT_EP_PARAM_MASK all = 0;

        for (size_t i = 0; i < MODIFIABLE_COUNT; i++)
                all |= ep_parameters[ep_modifiable[i].parameter].field;
        must(dat_ep_modify(held->ep, all, &with));
}

static const struct ep_parameter *granted_in(DAT_EP_STATE state, size_t index)
{
        const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[index].parameter];

        return parameter->states >> state & 1 ? parameter : NULL;
}

static struct ep_change same_value(struct test *t, const struct ep_parameter *parameter,
                                   DAT_EP_HANDLE ep)
{
        struct ep_change change = ep_change_of(t, parameter, ep, 0);

        change.wanted = ep_value(&change.before.param, parameter);
        ep_value_set(&change.asked, parameter, change.wanted);
        return change;
}

/* A provider may refuse whatever could be changed in this state (EP-17). */
static bool refuses_all(struct test *t, const struct ep_held *held)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = granted_in(held->state, i);
                struct ep_change change;

                if (!parameter)
                        continue;
                change = same_value(t, parameter, held->ep);
                if (!dat_is(ep_modify(&change), DAT_INVALID_STATE))
                        return false;
        }
        return true;
}

static void expect_each_granted(struct test *t, struct ep_held *held, DAT_EP_PARAM_MASK except)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = granted_in(held->state, i);
                struct ep_change change;

                if (!parameter || parameter->field & except)
                        continue;
                change = same_value(t, parameter, held->ep);
                expect_ep_change(t, &change);
        }
        held->before = ep_snapshot(t, held->ep);
}

static void expect_same_values(struct test *t, const struct ep_route *route)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        struct ep_held held = ep_hold_by(t, route, .attr = &few);

        if (held.state == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING)
                equip(t, &held);
        if (held.state == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING && refuses_all(t, &held))
                end_noted(t, "all parameters are refused in this state (EP-17)");
        expect_each_granted(t, &held, 0);
        ep_hold_receive(t, &held);
        expect_each_granted(t, &held, BEFORE_RECEIVES);

        expect(dat_evd_free(held.before.param.recv_evd_handle), DAT_INVALID_STATE);
        expect(dat_evd_free(held.before.param.request_evd_handle), DAT_INVALID_STATE);
        expect(dat_evd_free(held.before.param.connect_evd_handle), DAT_INVALID_STATE);
        expect_ep_untouched(t, &held);
}

FAMILY(ep_modify, same_values_in, before_connecting)
{
        EACH_EP_ROUTE (route, row->state)
                expect_same_values(t, route);
}
