/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: queries of several EPs. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

CASE(ep_query, own_parameters)
{
        struct known known[POSTS];

        for (DAT_COUNT i = 0; i < POSTS; i++)
                known[i] = known_ep(t, i);
        join(t, &known[1], &known[2]);

        check_without_connection(t, &known[0]);
        check_fields(t, &known[1], DAT_EP_FIELD_ALL);
        check_fields(t, &known[2], DAT_EP_FIELD_ALL);
        check_without_connection(t, &known[3]);
}

CASE(ep_query, own_ia)
{
        struct known here = known_ep(t, 1);
        struct known there = here;

        there.param.ia_handle = other_ia(t);
        there.param.pz_handle = pz_of(t, other_ia(t));
        there.param.recv_evd_handle = evd_with(t, .ia = other_ia(t));
        there.param.request_evd_handle = evd_with(t, .ia = other_ia(t));
        there.param.connect_evd_handle =
            evd_with(t, .ia = other_ia(t), .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG);
        must(dat_ep_create(other_ia(t), there.param.pz_handle, there.param.recv_evd_handle,
                           there.param.request_evd_handle, there.param.connect_evd_handle,
                           &there.param.ep_attr, &there.ep));
        adopt(t, DAT_HANDLE_TYPE_EP, there.ep);

        check_without_connection(t, &here);
        check_without_connection(t, &there);
}

CASE(ep_query, after_others_freed)
{
        struct known older = known_ep(t, 0);
        struct known known = known_ep(t, 1);
        struct known newer = known_ep(t, 2);

        release(t, older.ep);
        check_without_connection(t, &known);
        release(t, newer.ep);
        check_without_connection(t, &known);
        newer = known_ep(t, 3);
        check_without_connection(t, &newer);
}

CASE(ep_query, after_modify)
{
        const size_t count = sizeof(ep_modifiable) / sizeof(ep_modifiable[0]);
        uint64_t made[sizeof(ep_modifiable) / sizeof(ep_modifiable[0])];
        struct known known;

        for (size_t i = 0; i < count; i++)
                made[i] = ep_new_object(t, &ep_parameters[ep_modifiable[i].parameter]);
        known = known_ep(t, 1);
        for (size_t i = 0; i < count; i++) {
                const struct ep_parameter *parameter = &ep_parameters[ep_modifiable[i].parameter];
                struct ep_change change = ep_change_of(t, parameter, known.ep, made[i]);

                must(ep_modify(&change));
                ep_value_set(&known.param, parameter, change.wanted);
                check_fields(t, &known, parameter->field);
                check_without_connection(t, &known);
        }
        release(t, known.ep);
}

/* A connection that breaks. Each end may get either disconnect event. */
static void break_off(struct test *t, struct known *active, struct known *passive)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = active->ep,
            .passive = passive->ep,
        };
        struct known *ends[] = {active, passive};

        ep_turn_break(t, &loop);
        for (int i = 0; i < 2; i++) {
                must_have_broken(t, ends[i]->ep);
                ends[i]->param.ep_state = DAT_EP_STATE_DISCONNECTED;
        }
}

/* Each way of a connection that is over leaves what the EP was made with. */
CASE(ep_query, after_connection)
{
        struct known active = known_ep(t, 1);
        struct known passive = known_ep(t, 2);

        join(t, &active, &passive);
        must(dat_ep_disconnect(active.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(active.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        must_event(passive.param.connect_evd_handle, DAT_CONNECTION_EVENT_DISCONNECTED);
        active.param.ep_state = DAT_EP_STATE_DISCONNECTED;
        passive.param.ep_state = DAT_EP_STATE_DISCONNECTED;
        check_without_connection(t, &active);
        check_without_connection(t, &passive);
        must(dat_ep_reset(active.ep));
        active.param.ep_state = DAT_EP_STATE_UNCONNECTED;
        check_without_connection(t, &active);
        must(dat_ep_reset(passive.ep));
        break_off(t, &active, &passive);
        check_without_connection(t, &active);
        check_without_connection(t, &passive);
}
