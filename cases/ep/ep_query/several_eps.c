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
#include "cases/shared/beside.h"
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

/*
 * Calls of other threads beside it
 */

#define TURNS 6
#define MET   4 /* rounds that met are enough */

/* The EP that one thread queries, and what another one makes an EP of. */
struct asked {
        DAT_EP_HANDLE ep;
        DAT_EP_PARAM told[TURNS];
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE dtos;
        DAT_EVD_HANDLE connects;
        DAT_EP_ATTR attr;
        struct broken_step broken; /* of the other thread */
};

static DAT_RETURN query_turn(void *arg, unsigned int i)
{
        struct asked *asked = arg;

        return dat_ep_query(asked->ep, DAT_EP_FIELD_ALL, &asked->told[i]);
}

static DAT_RETURN other_turn(void *arg, unsigned int i)
{
        struct asked *asked = arg;

        (void)i;
        return other_ep_turn(&asked->broken, asked->ia, asked->pz, asked->dtos, asked->connects,
                             &asked->attr);
}

static bool tells_own(const struct known *known, const DAT_EP_PARAM *told)
{
        for (size_t i = 0; i < FIELD_COUNT; i++)
                if (!(fields[i].bit & OF_CONNECTION) && !is_right(&fields[i], &known->param, told))
                        return false;
        return true;
}

CASE(ep_query, beside_other_ep, BESIDE_DEADLINE)
{
        struct stress stress = stress_of(t, BESIDE_ROUNDS);
        struct known known = known_ep(t, 1);
        struct asked asked = {
            .ep = known.ep,
            .ia = ia(t),
            .pz = pz(t),
            .dtos = evd_with(t),
            .connects = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
            .attr = attr_number(t, 2),
        };

        while (stress.met < MET && stress_round(&stress)) {
                struct part parts[] = {{.turn = query_turn, .arg = &asked},
                                       {.turn = other_turn, .arg = &asked}};

                poison(asked.told, sizeof(asked.told));
                stress_met(&stress, beside(t, parts, 2, TURNS));
                expect(parts[0].ret, DAT_SUCCESS);
                must_have_worked(t, &asked.broken);
                for (int i = 0; i < TURNS; i++)
                        expect_that(tells_own(&known, &asked.told[i]),
                                    "query %d tells what is not the EP's", i);
        }
        must_have_met(&stress);
}
