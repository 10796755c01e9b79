/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_free: other EPs and objects. */
#include "case/standard.h"
#include "cases/ep/ep_free/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/handles.h"
#include "cases/shared/point.h"
#include "cases/shared/rounds.h"
#include "clauses/ep_free.h"

#include <string.h>

FAMILY(ep_free, other_connection_carries, places)
{
        struct loop loops[] = {loop_new(t), loop_new(t)};
        const struct loop *gone = &loops[row->gone];
        const struct loop *stays = &loops[!row->gone];

        for (int i = 0; i < 2; i++)
                loop_join(t, &loops[i]);
        free_now(t, gone->active);
        expect_message(t, stays->active, stays->passive);
        free_now(t, gone->passive);

        expect_message(t, stays->active, stays->passive);
        expect_message(t, stays->passive, stays->active);
}

CASE(ep_free, often, ROUNDS_DEADLINE)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 1});
        DAT_EVD_HANDLE connects = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_EVD_HANDLE dtos = evd_with(t);
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_EP);

        while (rounds_next(&rounds)) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                expect(dat_ep_create(ia(t), pz(t), dtos, dtos, connects, &attr, &ep), DAT_SUCCESS);
                expect(dat_ep_free(ep), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

/* Of a round: the EPs, three EVDs, the PSP and its request. */
#define OBJECTS 7

/* Connects two EPs, frees one, and the other once it was told. Their EVDs for events go too. */
static void connect_and_free(struct test *t, struct ep_opts opts, bool active_first)
{
        DAT_EVD_HANDLE told[] = {evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG),
                                 evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG)};
        struct loop loop = {.requests = evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG)};

        opts.connect_evd = told[0];
        loop.active = ep_make(t, opts);
        opts.connect_evd = told[1];
        loop.passive = ep_make(t, opts);
        loop_join(t, &loop);
        free_now(t, active_first ? loop.active : loop.passive);
        expect_end_told(t, next_number(t, told[active_first]));
        free_now(t, active_first ? loop.passive : loop.active);
        if (loop_point(&loop))
                release(t, loop_point(&loop));
        release(t, loop.requests);
        release(t, told[0]);
        release(t, told[1]);
}

CASE(ep_free, connected_often, ROUNDS_DEADLINE)
{
        struct ep_opts opts = {.recv_evd = evd_with(t), .request_evd = evd_with(t)};
        struct rounds rounds = rounds_slow(t, DAT_HANDLE_TYPE_EP, OBJECTS);

        while (rounds_next(&rounds))
                connect_and_free(t, opts, rounds.stress.done % 2);
        expect_no_leak(&rounds);
}

CASE(ep_free, many_in_any_order)
{
        DAT_EP_HANDLE eps[EPS];
        int count = ia_attr(t)->max_eps < EPS ? ia_attr(t)->max_eps : EPS;

        for (int i = 0; i < count; i++)
                eps[i] = ep_with(t);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                free_now(t, eps[which]);
                eps[which] = eps[left - 1];
                for (int i = 0; i < left - 1; i++)
                        expect_there(t, eps[i]);
        }
}

CASE(ep_free, of_other_ia)
{
        DAT_EP_HANDLE here = ep_with(t);
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 1});
        DAT_EVD_HANDLE dtos = evd_with(t, .ia = other_ia(t));
        DAT_EVD_HANDLE connects = evd_with(t, .ia = other_ia(t), .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_EP_HANDLE there = DAT_HANDLE_NULL;

        must(
            dat_ep_create(other_ia(t), pz_of(t, other_ia(t)), dtos, dtos, connects, &attr, &there));
        expect(dat_ep_free(there), DAT_SUCCESS);

        expect_there(t, here);
        free_now(t, here);
}
