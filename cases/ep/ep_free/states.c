/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: EP states. */
#include "cases/ep/shared/states.h"
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "cases/shared/refusals.h"
#include "clauses/ep_free.h"

#include <string.h>

#define MANY 100 /* refusals */
#define REFUSED_IN \
        (EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | EP_IN(TENTATIVE_CONNECTION_PENDING))

FAMILY(ep_free, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                DAT_EVD_HANDLE evds[] = {
                    ep_recv_evd(t, held.ep),
                    ep_request_evd(t, held.ep),
                    ep_connect_evd(t, held.ep),
                };

                if (ep_is_in(&held, REFUSED_IN)) {
                        ep_hold_receive(t, &held);
                        EACH_REFUSAL (i)
                                expect(dat_ep_free(held.ep), DAT_INVALID_STATE);
                        expect_ep_untouched(t, &held);
                        continue;
                }
                free_now(t, held.ep);
                expect_stale(query, ep_with(t), held.ep);
                expect_evds_free(t, evds);
        }
}

FAMILY(ep_free, after_turn, ep_turns)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct buf *buf = buf_with(t, .pz = zone);
        struct loop loop = loop_of(t, (struct ep_opts){.pz = zone}, (struct ep_opts){0});
        DAT_EVD_HANDLE evds[] = {
            ep_recv_evd(t, loop.active),
            ep_request_evd(t, loop.active),
            ep_connect_evd(t, loop.active),
        };

        loop_post_recv(t, loop.active, buf, 0);
        row->make(t, &loop);
        free_now(t, loop.active);
        expect_all_free(t, buf, evds, zone);
        expect_there(t, loop.passive);
}

CASE(ep_free, reserved_then_released)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_RESERVED);

        for (int i = 0; i < MANY; i++)
                expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_rsp(t, ep));
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);

        free_now(t, ep);
}

CASE(ep_free, passive_then_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

        for (int i = 0; i < MANY; i++)
                expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_request(t, ep));
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);

        free_now(t, ep);
}

CASE(ep_free, tentative_then_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);

        expect(dat_ep_free(ep), DAT_INVALID_STATE);
        release(t, ep_request(t, ep));

        expect_stale(query, ep_with(t), ep);
}
