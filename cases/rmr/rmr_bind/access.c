/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: the memory that a bind opens. */
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "clauses/rmr_bind.h"

#include <string.h>

/* A region of the memory, and the bytes that are reached or not. */
struct extent {
        const char *id;
        enum way way;
        size_t region, width;
        size_t offset, length;
};

#define EXTENTS_INSIDE(way_name_, way_)                                                     \
        {way_name_ "_all", way_, REGION, WIDTH, REGION, WIDTH},                             \
            {way_name_ "_first_byte", way_, REGION, WIDTH, REGION, 1},                      \
            {way_name_ "_last_byte", way_, REGION, WIDTH, REGION + WIDTH - 1, 1},           \
            {way_name_ "_middle", way_, REGION, WIDTH, REGION + 33, 333},                   \
            {way_name_ "_all_of_lmr", way_, 0, MEMORY, 0, MEMORY},                          \
            {way_name_ "_of_one_byte", way_, REGION, 1, REGION, 1},                         \
            {way_name_ "_at_lmr_start", way_, 0, WIDTH, 0, WIDTH},                          \
        {                                                                                   \
                way_name_ "_at_lmr_end", way_, MEMORY - WIDTH, WIDTH, MEMORY - WIDTH, WIDTH \
        }

static const struct extent inside[] = {
    EXTENTS_INSIDE("write", BY_WRITE),
    EXTENTS_INSIDE("read", BY_READ),
};

FAMILY(rmr_bind, inside, inside)
{
        struct window window = window_for(t, row->way);
        struct bind bind = bind_of(t, &window);

        bind.segment = triplet(window.memory, row->region, row->width);
        expect_bound(t, &window, &bind);

        expect_reached(t, &window, row->way, bind.context, row->offset, row->length);
}

#define EXTENTS_OUTSIDE(way_name_, way_)                                         \
        {way_name_ "_byte_before", way_, REGION, WIDTH, REGION - 1, 1},          \
            {way_name_ "_byte_after", way_, REGION, WIDTH, REGION + WIDTH, 1},   \
            {way_name_ "_over_start", way_, REGION, WIDTH, REGION - 1, 2},       \
            {way_name_ "_over_end", way_, REGION, WIDTH, REGION + WIDTH - 1, 2}, \
            {way_name_ "_around", way_, REGION, WIDTH, REGION - 1, WIDTH + 2},   \
            {way_name_ "_lmr_start", way_, REGION, WIDTH, 0, 8},                 \
            {way_name_ "_lmr_end", way_, REGION, WIDTH, MEMORY - 8, 8},          \
            {way_name_ "_past_lmr", way_, 0, MEMORY, 0, MEMORY + 1},             \
            {way_name_ "_before_one_byte", way_, REGION, 1, REGION - 1, 1},      \
        {                                                                        \
                way_name_ "_after_one_byte", way_, REGION, 1, REGION + 1, 1      \
        }

static const struct extent outside[] = {
    EXTENTS_OUTSIDE("write", BY_WRITE),
    EXTENTS_OUTSIDE("read", BY_READ),
};

FAMILY(rmr_bind, outside, outside)
{
        struct window window = window_for(t, row->way);
        struct bind bind = bind_of(t, &window);

        bind.segment = triplet(window.memory, row->region, row->width);
        expect_bound(t, &window, &bind);

        expect_reached(t, &window, row->way, bind.context, row->region, row->width);
        expect_denied(t, &window, row->way, bind.context, row->offset, row->length);
}

static const struct privileged {
        const char *id;
        enum way way;
        DAT_MEM_PRIV_FLAGS privileges;
        bool granted;
} privilegeds[] = {
    {"write_by_none", BY_WRITE, NONE, .granted = false},
    {"read_by_none", BY_READ, NONE, .granted = false},
    {"write_by_read", BY_WRITE, READ, .granted = false},
    {"read_by_read", BY_READ, READ, .granted = true},
    {"write_by_write", BY_WRITE, WRITE, .granted = true},
    {"read_by_write", BY_READ, WRITE, .granted = false},
    {"write_by_both", BY_WRITE, REMOTE_PRIVILEGES, .granted = true},
    {"read_by_both", BY_READ, REMOTE_PRIVILEGES, .granted = true},
    {"write_by_all", BY_WRITE, DAT_MEM_PRIV_ALL_FLAG, .granted = true},
    {"read_by_all", BY_READ, DAT_MEM_PRIV_ALL_FLAG, .granted = true},
};

FAMILY(rmr_bind, privileges, privilegeds)
{
        struct window window = window_for(t, row->way);
        struct bind bind = bind_of(t, &window);

        bind.privileges = row->privileges;
        expect_bound(t, &window, &bind);

        if (row->granted)
                expect_reached(t, &window, row->way, bind.context, REGION, WIDTH);
        else
                expect_denied(t, &window, row->way, bind.context, REGION, WIDTH);
}

static const struct match suffices[] = {
    {"read_of_readable", DAT_MEM_PRIV_LOCAL_READ_FLAG, READ},
    {"write_of_writable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, WRITE},
    {"both_of_remote", DAT_MEM_PRIV_ALL_FLAG, REMOTE_PRIVILEGES},
    {"none_of_readable", DAT_MEM_PRIV_LOCAL_READ_FLAG, NONE},
};

FAMILY(rmr_bind, lmr_suffices, suffices)
{
        struct window window =
            window_with(t, .privileges = row->lmr, .reads = (row->rmr & READ) != 0);
        struct bind bind = bind_of(t, &window);

        bind.privileges = row->rmr;
        expect_bound(t, &window, &bind);

        if (row->rmr & READ)
                expect_reached(t, &window, BY_READ, bind.context, REGION, WIDTH);
        if (row->rmr & WRITE)
                expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

static const struct way_row crossings[] = {
    {"write_by_reader", BY_WRITE},
    {"read_by_writer", BY_READ},
};

FAMILY(rmr_bind, several, crossings)
{
        struct window window = window_with(t, .reads = true);
        struct bind reader = bind_of(t, &window);
        struct bind writer = bind_of(t, &window);

        reader.privileges = READ;
        writer.privileges = WRITE;
        expect_bound(t, &window, &reader);
        expect_bound(t, &window, &writer);

        expect_reached(t, &window, BY_WRITE, writer.context, REGION, WIDTH);
        expect_reached(t, &window, BY_READ, reader.context, REGION, WIDTH);
        expect_denied(t, &window, row->way, row->way == BY_WRITE ? reader.context : writer.context,
                      REGION, WIDTH);
}

CASE(rmr_bind, peer_reads)
{
        struct peer_window window = peer_window(t);
        struct bind bind = {.rmr = rmr_in(t, pz(t)),
                            .segment = triplet(window.memory, 0, WIDTH),
                            .privileges = READ,
                            .ep = window.ep,
                            .cookie = 1};

        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        expect_bind_done(t, window.requests, bind.rmr, 1, DAT_RMR_BIND_SUCCESS);

        expect_that(peer_window_reads(&window, bind.context), "the peer cannot read the region");
}

CASE(rmr_bind, memory_kept)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        size_t widths[] = {WIDTH, WIDTH / 2, 0};

        for (int i = 0; i < 3; i++) {
                bind.segment.segment_length = widths[i];
                expect_bound(t, &window, &bind);
                expect_that(memcmp(window.memory->addr, window.before, MEMORY) == 0,
                            "a bind has changed the memory");
        }
}
