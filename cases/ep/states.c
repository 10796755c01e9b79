/* SPDX-License-Identifier: BSD-2-Clause */
#include "states.h"

static const struct load one_message = {.dtos = 1, .segments = 1, .length = 64};

struct ep_held ep_held_in(struct test *t, DAT_EP_STATE state, struct ep_opts opts)
{
        struct ep_held held = {.ep = ep_make_in(t, state, opts), .state = state};

        held.before = ep_snapshot(t, held.ep);
        return held;
}

bool ep_is_in(const struct ep_held *held, unsigned int states)
{
        return states & 1U << held->state;
}

void expect_ep_untouched(struct test *t, const struct ep_held *held)
{
        DAT_PZ_HANDLE zone;
        struct peer_ep *end;

        expect_ep_kept(t, held->ep, &held->before, 0);
        end = expect_goes_on(held->ep, held->state);
        if (!end)
                return;
        zone = ep_snapshot(t, held->ep).param.pz_handle;
        expect_ep_gives(t, held->ep, zone, end, one_message);
        if (!held->before.param.srq_handle)
                expect_ep_takes(t, held->ep, zone, end, one_message);
}
