/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/ep/shared/states.h"

static const struct load one_message = {.dtos = 1, .segments = 1, .length = 64};

static struct ep_held hold(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
        return (struct ep_held){.ep = ep, .state = state, .before = ep_look(t, ep)};
}

struct ep_held ep_held_in(struct test *t, DAT_EP_STATE state, struct ep_opts opts)
{
        return hold(t, ep_make_in(t, state, opts), state);
}

struct ep_held ep_held_by(struct test *t, const struct ep_route *route, struct ep_opts opts)
{
        return hold(t, ep_make_by(t, route, opts), route->state);
}

bool ep_is_in(const struct ep_held *held, unsigned int states)
{
        return states & 1U << held->state;
}

DAT_RETURN ep_refusal_of_zone(const struct ep_held *held)
{
        return held->before.param.pz_handle ? DAT_INVALID_STATE : DAT_PROTECTION_VIOLATION;
}

#define HELD ((size_t)64) /* bytes of the receive */

void ep_hold_receive(struct test *t, struct ep_held *held)
{
        DAT_PZ_HANDLE zone = held->before.param.pz_handle;
        DAT_LMR_TRIPLET segment;

        if (!zone || ep_is_in(held, EP_IN(DISCONNECT_PENDING) | EP_IN(DISCONNECTED)))
                return;
        held->receive = buf_with(t, .length = HELD, .pz = zone);
        segment = triplet(held->receive, 0, HELD);
        must(dat_ep_post_recv(held->ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = HELD_COOKIE},
                              DAT_COMPLETION_DEFAULT_FLAG));
        held->before = ep_look(t, held->ep);
}

static void expect_held_receive(struct test *t, const struct ep_held *held, struct peer_ep *end)
{
        DAT_DTO_COMPLETION_EVENT_DATA dto;

        peer_send(end, .length = HELD);
        dto = expect_dto(ep_recv_evd(t, held->ep));
        expect_that(dto.user_cookie.as_64 == HELD_COOKIE,
                    "the first message came to another receive");
        expect_that(message_holds(held->receive->addr, HELD, 0),
                    "the receive does not hold the message");
}

void expect_ep_untouched(struct test *t, const struct ep_held *held)
{
        DAT_PZ_HANDLE zone;
        struct peer_ep *end;

        expect_ep_kept(t, held->ep, &held->before, 0);
        end = expect_goes_on(held->ep, held->state);
        if (!end)
                return;
        if (held->receive)
                expect_held_receive(t, held, end);
        zone = ep_look(t, held->ep).param.pz_handle;
        expect_ep_gives(t, held->ep, zone, end, one_message);
        if (!held->before.param.srq_handle)
                expect_ep_takes(t, held->ep, zone, end, one_message);
}
