/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_query: the EP state. */
#include "cases/ep/shared/states.h"
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/ep_query/fixtures.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_query.h"

#include <netinet/in.h>
#include <string.h>

#define OF_OWNER                                                                                   \
        (DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | \
         DAT_EP_FIELD_CONNECT_EVD_HANDLE)
#define ALWAYS (DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR)

/* What the page gives a value in this state, and the case knows; a Provider's EP is not its own. */
static DAT_EP_PARAM_MASK known_in(DAT_EP_STATE state)
{
        switch (state) {
        case DAT_EP_STATE_UNCONNECTED:
        case DAT_EP_STATE_RESERVED:
        case DAT_EP_STATE_DISCONNECTED:
                return ALWAYS | OF_OWNER;
        case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
                return ALWAYS | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;
        default:
                return ALWAYS | OF_OWNER | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR;
        }
}

/*
 * The state to be told. A disconnect that is pending may end, as another call says then too; a
 * provider to which an accepted request is a passive one says so in both calls (EP-8).
 */
static DAT_EP_STATE state_now(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state,
                              DAT_EP_STATE told)
{
        DAT_EP_STATE now = ep_state(t, ep);

        if (state == DAT_EP_STATE_DISCONNECT_PENDING && now == DAT_EP_STATE_DISCONNECTED)
                return now;
        if (state == DAT_EP_STATE_COMPLETION_PENDING && now != state && told == now) {
                note(t, "an accepted request is reported as Passive Connection Pending (EP-8)");
                return now;
        }
        return state;
}

FAMILY(ep_query, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct peer_place place = peer_listen(peer(t));
                DAT_EP_HANDLE ep = ep_by(t, route);
                DAT_EP_PARAM param = queried(t, ep, DAT_EP_FIELD_ALL);
                DAT_EP_STATE alone = queried(t, ep, DAT_EP_FIELD_EP_STATE).ep_state;
                DAT_EP_STATE state = state_now(t, ep, row->state, plain_ep_state(param.ep_state));
                struct ep_held held = {.ep = ep, .state = row->state, .before = ep_snapshot(t, ep)};
                DAT_EP_PARAM known = {
                    .ia_handle = ia(t),
                    .ep_state = state,
                    .local_ia_address_ptr = ia_address(t),
                    .remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&place.address,
                    .pz_handle = pz(t),
                    .recv_evd_handle = ep_recv_evd(t, ep),
                    .request_evd_handle = ep_request_evd(t, ep),
                    .connect_evd_handle = ep_connect_evd(t, ep),
                };

                check_param(t, &known, &param, known_in(state));
                expect_eq(plain_ep_state(alone), state);
                expect_ep_untouched(t, &held);
        }
}

#define EP_ATTRIBUTES \
        (DAT_EP_FIELD_ALL & ~(ALWAYS | OF_OWNER | OF_CONNECTION | DAT_EP_FIELD_SRQ_HANDLE))

/* By its own bit each field tells what it has to in the state, and what it tells among all. */
FAMILY(ep_query, alone_in_state, ep_states)
{
        DAT_EP_HANDLE ep = ep_in(t, row->state);
        bool own = row->state != DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING;
        DAT_EP_PARAM_MASK mask = known_in(row->state) & ~(DAT_EP_PARAM_MASK)DAT_EP_FIELD_EP_STATE;
        DAT_EP_PARAM all = queried(t, ep, DAT_EP_FIELD_ALL);
        DAT_EP_PARAM known = {.ep_attr = ep_attr_modest(ia_attr_if_told(t))};

        if (own) {
                check_param(t, &known, &all, EP_ATTRIBUTES);
                mask |= EP_ATTRIBUTES;
        }
        for (size_t i = 0; i < FIELD_COUNT; i++) {
                DAT_EP_PARAM alone;

                if (!(mask & fields[i].bit))
                        continue;
                alone = queried(t, ep, fields[i].bit);
                expect_that(is_right(&fields[i], &all, &alone),
                            "%s has another value if queried alone", fields[i].id);
        }
}

/* What the EP was made with is not of the turn. */
FAMILY(ep_query, fields_after, ep_turns)
{
        struct known known = known_ep(t, 1);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = known.ep,
            .passive = ep_with(t),
        };

        row->make(t, &loop);
        known.param.ep_state = row->state;

        check_without_connection(t, &known);
}

FAMILY(ep_query, state_after, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);

        expect_eq(plain_ep_state(queried(t, loop.active, DAT_EP_FIELD_EP_STATE).ep_state),
                  row->state);
        expect_eq(plain_ep_state(queried(t, loop.active, DAT_EP_FIELD_ALL).ep_state), row->state);
}
