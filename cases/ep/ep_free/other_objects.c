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

/* At most: those of both ends, of the requests and of the IA. */
#define EVDS_OF_LOOP 8

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
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_EP);

        while (rounds_next(&rounds)) {
                DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

                expect(dat_ep_create(ia(t), pz(t), DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                                     DAT_HANDLE_NULL, &attr, &ep),
                       DAT_SUCCESS);
                expect(dat_ep_free(ep), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

CASE(ep_free, connected_often)
{
        DAT_COUNT rounds = ia_attr(t)->max_evds / EVDS_OF_LOOP;

        if (rounds < 2)
                unsupported(t, "max_evds: fewer than two connections have");
        for (DAT_COUNT i = 0; i < rounds && i < EPS; i++) {
                struct loop loop = loop_new(t);

                loop_join(t, &loop);
                free_now(t, i % 2 ? loop.active : loop.passive);
                free_now(t, i % 2 ? loop.passive : loop.active);
        }
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
        DAT_EP_HANDLE there = DAT_HANDLE_NULL;

        must(dat_ep_create(other_ia(t), pz_of(t, other_ia(t)), DAT_HANDLE_NULL, DAT_HANDLE_NULL,
                           DAT_HANDLE_NULL, &attr, &there));
        expect(dat_ep_free(there), DAT_SUCCESS);

        expect_there(t, here);
        free_now(t, here);
}
