/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a call does to an EP in each of its states. A page whose call takes an EP has a family with
 * the rows of ep_states (endpoint.h), picture = "Calls on an EP, by its state" and check = "pair":
 *
 *	FAMILY(ep_free, in_state, ep_states)
 *	{
 *		struct ep_held held = ep_hold(t, row->state);
 *
 *		if (ep_is_in(&held, REFUSED_IN)) {
 *			expect(dat_ep_free(held.ep), DAT_INVALID_STATE);
 *			expect_ep_untouched(t, &held);
 *			return;
 *		}
 *		...
 *	}
 */
#ifndef CASES_EP_STATES_H
#define CASES_EP_STATES_H

#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"

/* A cookie with bits in each byte, so that one that is cut to 32 bits is another. */
#define WIDE_COOKIE(i_) (UINT64_C(0xfedcba9876543210) + (uint64_t)(i_))

/* An EP that is held in a state, as ep_in() makes it, and all that a query tells of it there. */
struct ep_held {
        DAT_EP_HANDLE ep;
        DAT_EP_STATE state;
        struct ep_snapshot before;
        struct buf *receive; /* of the receive that ep_hold_receive() posted */
};
#define ep_hold(t_, state_, ...) ep_held_in((t_), (state_), (struct ep_opts){__VA_ARGS__})
struct ep_held ep_held_in(struct test *t, DAT_EP_STATE state, struct ep_opts opts);

/* The same by one route into the state. */
#define ep_hold_by(t_, route_, ...) ep_held_by((t_), (route_), (struct ep_opts){__VA_ARGS__})
struct ep_held ep_held_by(struct test *t, const struct ep_route *route, struct ep_opts opts);

/* What a connection changes of an EP, and nothing else may. */
#define EP_OF_CONNECTION                                        \
        (DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_PORT_QUAL | \
         DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL)

/* Sets of states: EP_IN(RESERVED) | EP_IN(CONNECTED), by the names after DAT_EP_STATE_. */
#define EP_IN(state_) (1U << DAT_EP_STATE_##state_)
bool ep_is_in(const struct ep_held *held, unsigned int states);

/*
 * How an EP in a state without requests refuses one whose memory is of a zone: one that has no zone
 * yet, as a request brings it, may find the zone wrong first (GEN-5).
 */
DAT_RETURN ep_refusal_of_zone(const struct ep_held *held);

/*
 * A receive is posted, which is to take the first message that comes. None is where the EP has no
 * zone yet or is about to be disconnected, or is Disconnected.
 */
#define HELD_COOKIE UINT64_C(0x0123456789abcdef)
void ep_hold_receive(struct test *t, struct ep_held *held);

/*
 * After a refusal: state and parameters are as they were, nothing has been reported, and the EP
 * goes on from its state as ever: its connection is made, completed or ended, and where it is
 * Connected then, a message goes each way, the first to the receive held. Nothing but the refused
 * call may have been made of it.
 */
void expect_ep_untouched(struct test *t, const struct ep_held *held);

#endif
