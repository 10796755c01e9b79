/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/ep_modify/general_fixtures.h"
#include "cases/shared/point.h"

struct ep_change unconnected(struct test *t, enum ep_parameter_id id)
{
        return ep_change_in(t, &ep_parameters[id], DAT_EP_STATE_UNCONNECTED);
}

void wish_objects(struct test *t, struct wishes *wishes)
{
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->make)
                        wishes->made[i] = parameter->make(t);
        }
}

void wish(struct test *t, struct wishes *wishes, const DAT_EP_PARAM *now)
{
        wishes->asked = *now;
        for (size_t i = 0; i < MODIFIABLE_COUNT; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];

                if (parameter->other)
                        wishes->made[i] = parameter->other(t, ep_value(now, parameter));
                else if (!parameter->make)
                        wishes->made[i] = ep_value(now, parameter);
                ep_value_set(&wishes->asked, parameter, wishes->made[i]);
                wishes->all |= parameter->field;
        }
}

DAT_EP_HANDLE ep_with_wishes_in(struct test *t, DAT_EP_STATE state, struct wishes *wishes,
                                struct ep_snapshot *before)
{
        DAT_EP_ATTR few = ep_attr_few(t);
        DAT_EP_HANDLE ep;

        wishes->all = 0;
        wish_objects(t, wishes);
        ep = ep_in(t, state, .attr = &few);
        *before = ep_snapshot(t, ep);
        wish(t, wishes, &before->param);
        return ep;
}

DAT_EP_HANDLE ep_with_wishes(struct test *t, struct wishes *wishes, struct ep_snapshot *before)
{
        return ep_with_wishes_in(t, DAT_EP_STATE_UNCONNECTED, wishes, before);
}

static void connect_to(struct test *t, DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR address,
                       DAT_CONN_QUAL qual)
{
        must(dat_ep_connect(ep, address, qual, event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT,
                            DAT_CONNECT_DEFAULT_FLAG));
}

void ask_rejecting(struct test *t, DAT_EP_HANDLE ep)
{
        struct peer_place place = peer_listen(peer(t));
        struct peer_cr request;

        connect_to(t, ep, (DAT_IA_ADDRESS_PTR)&place.address, place.qual);
        request = peer_take_request(peer(t));
        peer_reject(&request);
        peer_stop_listening(peer(t), place.qual);
}

void ask_nobody(struct test *t, DAT_EP_HANDLE ep)
{
        connect_to(t, ep, ia_address(t), point_qual(t));
}

void be_rejected(struct test *t, DAT_EP_HANDLE ep)
{
        ask_rejecting(t, ep);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_PEER_REJECTED);
}

void find_no_listener(struct test *t, DAT_EP_HANDLE ep)
{
        ask_nobody(t, ep);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}
