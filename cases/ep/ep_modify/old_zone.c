/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: memory of a zone that the EP has left. */
#include "cases/ep/shared/modify_table.h"
#include "cases/rmr/shared/window.h"
#include "clauses/ep_modify.h"

/* How memory of the zone that an EP has left was open to the other end. */
static const struct old_opening {
        const char *id;
        enum way way;
        bool bound; /* by an RMR; else by the LMR itself */
} old_openings[] = {
    {"lmr_write", BY_WRITE, false},
    {"rmr_write", BY_WRITE, true},
    {"rmr_read", BY_READ, true},
};

/* The other end reached the memory over an earlier connection of this very EP. */
FAMILY(ep_modify, old_pz_not_reached, old_openings)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct window window =
            window_with(t, .reads = row->way == BY_READ,
                        .privileges = row->bound ? LOCAL_PRIVILEGES : DAT_MEM_PRIV_ALL_FLAG);
        DAT_RMR_CONTEXT context = row->bound ? must_bind_region(t, &window, rmr_in(t, window.pz))
                                             : window.memory->rmr_context;
        struct ep_change change;

        expect_reached(t, &window, row->way, context, REGION, WIDTH);
        window_part(t, &window);
        change = ep_change_of(t, &ep_parameters[EP_PARAM_pz_handle], window.near,
                              (uint64_t)(uintptr_t)zone);
        expect_ep_change(t, &change);
        window_rejoin(t, &window);

        expect_denied(t, &window, row->way, context, REGION, WIDTH);
}
