/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: a second bind and an unbind. */
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "clauses/rmr_bind.h"

#include <string.h>

#define MANY 100 /* binds, one after another */

/* What is bound the second time, of the same RMR, and where it can be reached then. */
static const struct change {
        const char *id;
        enum way way;
        size_t region, width;
        DAT_MEM_PRIV_FLAGS privileges;
        bool other_lmr, other_ep;
} changes[] = {
    {"same_region", BY_WRITE, REGION, WIDTH, REMOTE_PRIVILEGES, .other_lmr = false},
    {"other_region", BY_WRITE, REGION + WIDTH, WIDTH, REMOTE_PRIVILEGES, .other_lmr = false},
    {"other_lmr", BY_WRITE, REGION, WIDTH, REMOTE_PRIVILEGES, .other_lmr = true},
    {"narrower", BY_WRITE, REGION + 1, WIDTH - 2, REMOTE_PRIVILEGES, .other_lmr = false},
    {"wider", BY_WRITE, REGION - 1, WIDTH + 2, REMOTE_PRIVILEGES, .other_lmr = false},
    {"other_privileges", BY_WRITE, REGION, WIDTH, WRITE, .other_lmr = false},
    {"other_ep", BY_WRITE, REGION, WIDTH, REMOTE_PRIVILEGES, .other_ep = true},
    {"same_region_read", BY_READ, REGION, WIDTH, REMOTE_PRIVILEGES, .other_lmr = false},
    {"other_region_read", BY_READ, REGION + WIDTH, WIDTH, REMOTE_PRIVILEGES, .other_lmr = false},
};

FAMILY(rmr_bind, bound_anew, changes)
{
        struct window window = window_for(t, row->way);
        struct window by = row->other_ep ? window_beside(t, &window, window.pz, false) : window;
        struct buf *other = buf_with(t, .pz = window.pz, .privileges = LOCAL_PRIVILEGES);
        struct bind bind = bind_of(t, &window);
        struct window at;
        DAT_RMR_CONTEXT former;

        expect_bound(t, &window, &bind);
        former = bind.context;
        expect_reached(t, &window, row->way, former, REGION, WIDTH);

        at = row->other_lmr ? onto(&window, other) : window;
        bind.segment = triplet(at.memory, row->region, row->width);
        bind.privileges = row->privileges;
        bind.ep = by.near;
        bind.cookie = 8;
        expect_bound(t, &by, &bind);

        expect_reached(t, &at, row->way, bind.context, row->region, row->width);
        if (!row->other_lmr)
                window = at;
        expect_denied(t, &window, row->way, former, REGION, WIDTH);
}

CASE(rmr_bind, peer_of_former)
{
        struct peer_window window = peer_window(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, pz(t));
        DAT_RMR_CONTEXT former = peer_window_bind(t, &window, rmr);
        DAT_RMR_CONTEXT context;

        expect_that(peer_window_reads(&window, former), "the peer cannot read the region");
        context = peer_window_bind(t, &window, rmr);
        expect_that(peer_window_reads(&window, context), "the peer cannot read it bound anew");
        expect_that(!peer_window_reads(&window, former), "the peer reads by the former context");
}

CASE(rmr_bind, many_times)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        for (size_t i = 0; i < MANY; i++) {
                DAT_RMR_CONTEXT former = bind.context;

                bind.segment = triplet(window.memory, 10 * i, 10);
                bind.cookie = i;
                expect_bound(t, &window, &bind);
                expect_that(bind.context != former, "the context is that of the bind before");
                expect_reached(t, &window, BY_WRITE, bind.context, 10 * i, 10);
        }
}

/* Bound to both ways, then to the other one alone. */
FAMILY(rmr_bind, narrowed, ways)
{
        struct window window = window_with(t, .reads = true);
        struct bind bind = bind_of(t, &window);

        expect_bound(t, &window, &bind);
        expect_reached(t, &window, row->way, bind.context, REGION, WIDTH);
        bind.privileges = row->way == BY_WRITE ? READ : WRITE;
        expect_bound(t, &window, &bind);

        expect_reached(t, &window, row->way == BY_WRITE ? BY_READ : BY_WRITE, bind.context, REGION,
                       WIDTH);
        expect_denied(t, &window, row->way, bind.context, REGION, WIDTH);
}

static const struct unbinding {
        const char *id;
        enum way way;
        size_t offset;
        DAT_MEM_PRIV_FLAGS privileges;
        bool other_ep, other_lmr;
} unbindings[] = {
    {"write", BY_WRITE, REGION, REMOTE_PRIVILEGES, .other_ep = false},
    {"read", BY_READ, REGION, REMOTE_PRIVILEGES, .other_ep = false},
    {"write_by_none", BY_WRITE, REGION, NONE, .other_ep = false},
    {"write_elsewhere", BY_WRITE, 1, REMOTE_PRIVILEGES, .other_ep = false},
    {"write_by_other_ep", BY_WRITE, REGION, REMOTE_PRIVILEGES, .other_ep = true},
    {"write_of_other_lmr", BY_WRITE, REGION, REMOTE_PRIVILEGES, .other_lmr = true},
};

FAMILY(rmr_bind, unbound, unbindings)
{
        struct window window = window_for(t, row->way);
        struct window by = row->other_ep ? window_beside(t, &window, window.pz, false) : window;
        struct buf *other = buf_with(t, .pz = window.pz, .privileges = LOCAL_PRIVILEGES);
        struct bind bind = bind_of(t, &window);
        DAT_RMR_CONTEXT former;

        expect_bound(t, &window, &bind);
        former = bind.context;
        expect_reached(t, &window, row->way, former, REGION, WIDTH);
        bind.segment = triplet(row->other_lmr ? other : window.memory, row->offset, 0);
        bind.privileges = row->privileges;
        bind.ep = by.near;
        expect_bound(t, &by, &bind);

        expect_denied(t, &window, row->way, former, REGION, WIDTH);
        expect(dat_lmr_free(other->lmr), DAT_SUCCESS);
        disown(t, other->lmr);
}

CASE(rmr_bind, unbound_lets_go)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        expect_bound(t, &window, &bind);
        unbind(t, &window, bind);

        expect(dat_lmr_free(window.memory->lmr), DAT_SUCCESS);
        disown(t, window.memory->lmr);
}

static const struct past {
        const char *id;
        bool bound, unbound;
} pasts[] = {
    {"never_bound", .bound = false, .unbound = false},
    {"unbound", .bound = true, .unbound = true},
    {"bound", .bound = true, .unbound = false},
};

FAMILY(rmr_bind, unbound_again, pasts)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        if (row->bound)
                expect_bound(t, &window, &bind);
        if (row->unbound)
                unbind(t, &window, bind);
        unbind(t, &window, bind);

        expect_bound(t, &window, &bind);
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

/* The connection by which it is reached is another than that of both binds. */
static const struct elsewhere {
        const char *id;
        enum way way;
        bool unbound;
} elsewheres[] = {
    {"write_bound_anew", BY_WRITE, .unbound = false},
    {"read_bound_anew", BY_READ, .unbound = false},
    {"write_unbound", BY_WRITE, .unbound = true},
    {"read_unbound", BY_READ, .unbound = true},
};

FAMILY(rmr_bind, former_elsewhere, elsewheres)
{
        struct window window = window_for(t, row->way);
        struct window beside = window_beside(t, &window, window.pz, row->way == BY_READ);
        struct bind bind = bind_of(t, &window);
        DAT_RMR_CONTEXT former;

        expect_bound(t, &window, &bind);
        former = bind.context;
        bind.segment = triplet(window.memory, REGION, row->unbound ? 0 : WIDTH);
        bind.cookie = 8;
        expect_bound(t, &window, &bind);

        expect_denied(t, &beside, row->way, former, REGION, WIDTH);
}

/* What is done to one of three RMRs over the same bytes; the others are reached afterwards. */
static const struct beside_change {
        const char *id;
        enum way way;
        size_t offset, width;
} beside_changes[] = {
    {"write_bound_anew", BY_WRITE, 0, WIDTH},
    {"read_bound_anew", BY_READ, 0, WIDTH},
    {"write_unbound", BY_WRITE, REGION, 0},
    {"read_unbound", BY_READ, REGION, 0},
};

FAMILY(rmr_bind, other_stays_open, beside_changes)
{
        struct window window = window_for(t, row->way);
        struct bind binds[] = {bind_of(t, &window), bind_of(t, &window), bind_of(t, &window)};
        struct bind changed;

        for (int i = 0; i < 3; i++)
                expect_bound(t, &window, &binds[i]);
        changed = binds[1];
        changed.segment = triplet(window.memory, row->offset, row->width);
        expect_bound(t, &window, &changed);

        for (int i = 0; i < 3; i += 2) {
                expect_bind_told(t, &binds[i]);
                expect_reached(t, &window, row->way, binds[i].context, REGION, WIDTH);
        }
        expect(dat_lmr_free(window.memory->lmr), DAT_INVALID_STATE);
}

/* The RMR is the last in its zone: LMRs and EP have gone. */
CASE(rmr_bind, unbound_stays_in_zone)
{
        struct window window = window_with(t, .pz = pz_new(t));
        struct bind bind = bind_of(t, &window);

        expect_bound(t, &window, &bind);
        unbind(t, &window, bind);
        release(t, window.memory->lmr);
        release(t, window.near);

        expect(dat_pz_free(window.pz), DAT_INVALID_STATE);
        release(t, bind.rmr);
        expect(dat_pz_free(window.pz), DAT_SUCCESS);
        disown(t, window.pz);
}
