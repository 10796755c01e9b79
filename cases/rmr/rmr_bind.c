/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: what a context opens, until when, in which order, and what cannot be bound. */
#include "clauses/rmr_bind.h"
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/shared/window.h"

#include <string.h>

#define MANY   100 /* binds, one after another */
#define ROUNDS 8   /* of contexts that are sent at once */
#define CALLS  8   /* posted in a row */

#define NONE      DAT_MEM_PRIV_NONE_FLAG
#define READ      DAT_MEM_PRIV_REMOTE_READ_FLAG
#define WRITE     DAT_MEM_PRIV_REMOTE_WRITE_FLAG
#define PLAIN     DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS  DAT_COMPLETION_SUPPRESS_FLAG
#define UNSIGNAL  DAT_COMPLETION_UNSIGNALLED_FLAG
#define FENCE     DAT_COMPLETION_BARRIER_FENCE_FLAG
#define FLAGS(n_) ((DAT_COMPLETION_FLAGS)(n_))

/* The arguments of a bind, and what it gives. */
struct bind {
        DAT_RMR_HANDLE rmr;
        DAT_LMR_TRIPLET segment;
        DAT_MEM_PRIV_FLAGS privileges;
        DAT_EP_HANDLE ep;
        uint64_t cookie;
        DAT_COMPLETION_FLAGS flags;
        DAT_RMR_CONTEXT context;
};

static DAT_RETURN post(struct bind *bind)
{
        return dat_rmr_bind(bind->rmr, &bind->segment, bind->privileges, bind->ep,
                            COOKIE(bind->cookie), bind->flags, &bind->context);
}

/* A bind of a new RMR to the region, with both privileges and no flags. */
static struct bind bind_of(struct test *t, const struct window *window)
{
        return (struct bind){.rmr = rmr_in(t, window->pz),
                             .segment = region(window),
                             .privileges = REMOTE_PRIVILEGES,
                             .ep = window->near,
                             .cookie = 7};
}

static void expect_done(struct test *t, const struct window *window, const struct bind *bind)
{
        expect_bind_done(t, window->requests, bind->rmr, bind->cookie, DAT_RMR_BIND_SUCCESS);
}

static void expect_bound(struct test *t, const struct window *window, struct bind *bind)
{
        expect(post(bind), DAT_SUCCESS);
        expect_done(t, window, bind);
}

/*
 * What is opened
 */

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

/* Privileges of an LMR, and those that its RMR is bound with. */
struct match {
        const char *id;
        DAT_MEM_PRIV_FLAGS lmr, rmr;
};

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

        expect(post(&bind), DAT_SUCCESS);
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

/*
 * Bound anew, and unbound
 */

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

/* The window, as its far end reaches another LMR of the near end's zone. */
static struct window onto(const struct window *window, struct buf *memory)
{
        struct window other = *window;

        other.memory = memory;
        message_fill(memory->addr, MEMORY, 2);
        memcpy(other.before, memory->addr, MEMORY);
        return other;
}

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

static void unbind(struct test *t, const struct window *window, struct bind bind)
{
        bind.segment.segment_length = 0;
        expect_bound(t, window, &bind);
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

/*
 * The completion
 */

static const struct cookie {
        const char *id;
        uint64_t bits;
} cookies[] = {
    {"null", 0},
    {"one", 1},
    {"highest", UINT64_C(1) << 63},
    {"all", UINT64_MAX},
    {"mixed", UINT64_C(0xfedcba9876543210)},
};

FAMILY(rmr_bind, completion, cookies)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        bind.cookie = row->bits;
        expect_bound(t, &window, &bind);

        expect_empty(t, window.requests);
        expect_empty(t, ep_recv_evd(t, window.near));
}

CASE(rmr_bind, same_cookie)
{
        struct window window = window_with(t);
        struct bind binds[CALLS];

        for (int i = 0; i < CALLS; i++)
                binds[i] = bind_of(t, &window);
        for (int i = 0; i < CALLS; i++)
                expect(post(&binds[i]), DAT_SUCCESS);

        for (int i = 0; i < CALLS; i++)
                expect_done(t, &window, &binds[i]);
        expect_empty(t, window.requests);
}

CASE(rmr_bind, own_evd)
{
        struct window first = window_with(t);
        struct window second = window_beside(t, &first, first.pz, false);
        struct bind by_first = bind_of(t, &first);
        struct bind by_second = bind_of(t, &second);

        expect(post(&by_second), DAT_SUCCESS);
        expect(post(&by_first), DAT_SUCCESS);

        expect_done(t, &first, &by_first);
        expect_done(t, &second, &by_second);
        expect_empty(t, first.requests);
        expect_empty(t, second.requests);
}

/* The near EP sends or writes from the memory, and reads into it, a few of its bytes. */
static DAT_RETURN send_some(const struct window *window, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(window->memory, 0, MESSAGE);

        return dat_ep_post_send(window->near, 1, &segment, COOKIE(cookie), PLAIN);
}

static DAT_RMR_TRIPLET away_of(const struct window *window)
{
        return (DAT_RMR_TRIPLET){.rmr_context = window->away->rmr_context,
                                 .target_address = (DAT_VADDR)(uintptr_t)window->away->addr,
                                 .segment_length = MESSAGE};
}

static DAT_RETURN write_some(const struct window *window, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(window->memory, 0, MESSAGE);
        DAT_RMR_TRIPLET remote = away_of(window);

        return dat_ep_post_rdma_write(window->near, 1, &segment, COOKIE(cookie), &remote, PLAIN);
}

static DAT_RETURN read_some(const struct window *window, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(window->memory, 0, MESSAGE);
        DAT_RMR_TRIPLET remote = away_of(window);

        return dat_ep_post_rdma_read(window->near, 1, &segment, COOKIE(cookie), &remote, PLAIN);
}

static void must_recv(struct test *t, const struct window *window, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(window->away, 0, MESSAGE);

        must(dat_ep_post_recv(window->far, 1, &segment, COOKIE(cookie), PLAIN));
}

static void expect_request(struct test *t, const struct window *window, uint64_t cookie)
{
        DAT_EVENT event = expect_event(window->requests, DAT_DTO_COMPLETION_EVENT);
        const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

        expect_eq(dto->user_cookie.as_64, cookie);
        expect_eq(dto->status, DAT_DTO_SUCCESS);
}

CASE(rmr_bind, in_order)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        for (uint64_t i = 0; i < 3; i++)
                must_recv(t, &window, i);
        for (uint64_t i = 0; i < 9; i++) {
                bind.cookie = i;
                if (i % 3 == 0)
                        expect(send_some(&window, i), DAT_SUCCESS);
                else if (i % 3 == 1)
                        expect(post(&bind), DAT_SUCCESS);
                else
                        expect(write_some(&window, i), DAT_SUCCESS);
        }

        for (uint64_t i = 0; i < 9; i++) {
                bind.cookie = i;
                if (i % 3 == 1)
                        expect_done(t, &window, &bind);
                else
                        expect_request(t, &window, i);
        }
        expect_empty(t, window.requests);
}

static DAT_COUNT places_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        return param.ep_attr.max_request_dtos < 48 ? param.ep_attr.max_request_dtos : 48;
}

CASE(rmr_bind, every_place)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);

        for (int round = 0; round < 3; round++) {
                for (DAT_COUNT i = 0; i < places; i++) {
                        bind.cookie = (uint64_t)i;
                        expect(post(&bind), DAT_SUCCESS);
                }
                for (DAT_COUNT i = 0; i < places; i++)
                        expect_bind_done(t, window.requests, bind.rmr, (uint64_t)i,
                                         DAT_RMR_BIND_SUCCESS);
                expect_empty(t, window.requests);
        }
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

/* All places but one go to binds that are not told of. */
CASE(rmr_bind, suppressed_take_no_place)
{
        struct window window = window_with(t);
        struct bind quiet = bind_of(t, &window);
        struct bind plain = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);

        quiet.flags = SUPPRESS;
        for (uint64_t round = 0; round < ROUNDS; round++) {
                for (DAT_COUNT i = 1; i < places; i++)
                        expect(post(&quiet), DAT_SUCCESS);
                plain.cookie = round;
                expect_bound(t, &window, &plain);
        }
        expect_empty(t, window.requests);
        expect_reached(t, &window, BY_WRITE, quiet.context, REGION, WIDTH);
}

/* As often refused as the EP has places: it has all of them afterwards. */
CASE(rmr_bind, refusal_leaves)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind = bind_of(t, &window);
        struct ep_snapshot before = ep_snapshot(t, window.near);
        DAT_COUNT places = places_of(t, window.near);

        expect_bound(t, &window, &bound);
        bind.segment.segment_length = MEMORY;
        for (DAT_COUNT i = 0; i < before.param.ep_attr.max_request_dtos; i++)
                if (dat_is(expect(post(&bind), DAT_INVALID_PARAMETER, DAT_SUCCESS), DAT_SUCCESS))
                        end_noted(t, "it was not refused at once: there is no refusal to look "
                                     "behind");
        expect_ep_kept(t, window.near, &before, 0);

        bind.segment = region(&window);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(post(&bind), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < places; i++)
                expect_done(t, &window, &bind);
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
        expect_reached(t, &window, BY_WRITE, bound.context, REGION, WIDTH);
}

/* A send for which there is no receive, so that what is posted behind it waits. */
static void must_stand(struct test *t, const struct window *window)
{
        must(send_some(window, 99));
        if (ep_state(t, window->near) != DAT_EP_STATE_CONNECTED)
                end_noted(t, "the transport ends a connection whose messages nobody receives");
}

CASE(rmr_bind, one_too_many)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);
        DAT_RETURN ret;

        expect_bound(t, &window, &bound);
        must_stand(t, &window);
        for (DAT_COUNT i = 1; i < places; i++) {
                bind.cookie = (uint64_t)i;
                expect(post(&bind), DAT_SUCCESS);
        }
        bound.segment.segment_length = 0;
        ret = expect_or_note(post(&bound), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                end_noted(t, "an EP takes more binds than it promised (DTO-1)");

        must_recv(t, &window, 1);
        expect_request(t, &window, 99);
        for (DAT_COUNT i = 1; i < places; i++)
                expect_bind_done(t, window.requests, bind.rmr, (uint64_t)i, DAT_RMR_BIND_SUCCESS);
        expect_reached(t, &window, BY_WRITE, bound.context, REGION, WIDTH);
        bound.segment.segment_length = 1;
        expect_bound(t, &window, &bound);
}

/*
 * What is posted after a bind
 */

/* The context that came with the far end's message. */
static DAT_RMR_CONTEXT told(struct test *t, const struct window *window)
{
        DAT_RMR_CONTEXT context;

        expect_dto(ep_recv_evd(t, window->far));
        memcpy(&context, window->away->addr, sizeof(context));
        return context;
}

FAMILY(rmr_bind, send_tells_context, ways)
{
        struct window window = window_for(t, row->way);
        struct bind bind = bind_of(t, &window);

        for (uint64_t i = 0; i < ROUNDS; i++) {
                must_recv(t, &window, i);
                expect(post(&bind), DAT_SUCCESS);
                memcpy(window.memory->addr, &bind.context, sizeof(bind.context));
                expect(send_some(&window, i), DAT_SUCCESS);
                memcpy(window.before, &bind.context, sizeof(bind.context));

                expect_reached(t, &window, row->way, told(t, &window), REGION, WIDTH);
                expect_done(t, &window, &bind);
                expect_request(t, &window, i);
        }
}

CASE(rmr_bind, peer_gets_context)
{
        struct peer_window window = peer_window(t);
        DAT_LMR_TRIPLET message = triplet(window.memory, 0, MESSAGE);
        struct bind bind = {.rmr = rmr_in(t, pz(t)),
                            .segment = triplet(window.memory, 0, WIDTH),
                            .privileges = READ,
                            .ep = window.ep};

        peer_post_recv(window.end, ROUNDS, MESSAGE);
        for (uint64_t i = 0; i < ROUNDS; i++) {
                expect(post(&bind), DAT_SUCCESS);
                expect(dat_ep_post_send(window.ep, 1, &message, COOKIE(i), PLAIN), DAT_SUCCESS);
                peer_wait_recv(window.end, 0, MESSAGE);
                expect_that(peer_window_reads(&window, bind.context),
                            "the peer cannot read what it was told");
        }
}

static DAT_RETURN bind_again(const struct window *window, uint64_t cookie)
{
        (void)window;
        (void)cookie;
        return DAT_SUCCESS;
}

static const struct follower {
        const char *id;
        DAT_RETURN (*post)(const struct window *window, uint64_t cookie);
} followers[] = {
    {"send", send_some},
    {"write", write_some},
    {"read", read_some},
    {"bind", bind_again},
};

FAMILY(rmr_bind, fences, followers)
{
        struct window window = window_with(t, .reads = row->post == read_some);
        struct bind first = bind_of(t, &window);
        struct bind second = first;

        must_recv(t, &window, 1);
        second.segment = triplet(window.memory, REGION + WIDTH, WIDTH);
        second.cookie = 8;
        expect(post(&first), DAT_SUCCESS);
        if (row->post == bind_again)
                expect(post(&second), DAT_SUCCESS);
        else
                expect(row->post(&window, 8), DAT_SUCCESS);

        expect_done(t, &window, &first);
        if (row->post != bind_again) {
                expect_request(t, &window, 8);
                return;
        }
        expect_done(t, &window, &second);
        expect_reached(t, &window, BY_WRITE, second.context, REGION + WIDTH, WIDTH);
        expect_denied(t, &window, BY_WRITE, first.context, REGION, WIDTH);
}

/*
 * Completion flags
 */

static const struct flagged {
        const char *id;
        DAT_COMPLETION_FLAGS of_ep, flags;
} flagged[] = {
    {"plain", PLAIN, PLAIN},
    {"suppress", PLAIN, SUPPRESS},
    {"fence", PLAIN, FENCE},
    {"suppress_fence", PLAIN, FLAGS(SUPPRESS | FENCE)},
    {"unsignalled_plain", UNSIGNAL, PLAIN},
    {"unsignalled", UNSIGNAL, UNSIGNAL},
    {"unsignalled_suppress", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS)},
    {"unsignalled_fence", UNSIGNAL, FLAGS(UNSIGNAL | FENCE)},
    {"unsignalled_all", UNSIGNAL, FLAGS(UNSIGNAL | SUPPRESS | FENCE)},
};

/* Two binds with the flags and a plain one: each opens its region; what is suppressed tells
 * nothing. */
FAMILY(rmr_bind, flags, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind binds[3];

        for (size_t i = 0; i < 3; i++) {
                binds[i] = bind_of(t, &window);
                binds[i].segment = triplet(window.memory, i * WIDTH, WIDTH);
                binds[i].cookie = i;
                binds[i].flags = i < 2 ? row->flags : PLAIN;
                expect(post(&binds[i]), DAT_SUCCESS);
        }

        for (int i = row->flags & SUPPRESS ? 2 : 0; i < 3; i++)
                expect_done(t, &window, &binds[i]);
        expect_empty(t, window.requests);
        for (size_t i = 0; i < 3; i++)
                expect_reached(t, &window, BY_WRITE, binds[i].context, i * WIDTH, WIDTH);
}

static void must_disconnect(struct test *t, DAT_EP_HANDLE ep)
{
        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void expect_flushed(struct test *t, const struct window *window, const struct bind *bind)
{
        expect_bind_done(t, window->requests, bind->rmr, bind->cookie, DAT_DTO_ERR_FLUSHED);
}

/* What becomes of a bind whose cookie has bits in each byte. */
#define EVERY_BYTE UINT64_C(0x0123456789abcdef)

static const struct outcome {
        const char *id;
        size_t width;
        bool bound, too_late;
} outcomes[] = {
    {"bound_anew", WIDTH, .bound = true, .too_late = false},
    {"unbound", 0, .bound = true, .too_late = false},
    {"flushed", WIDTH, .bound = false, .too_late = true},
    {"unbind_flushed", 0, .bound = true, .too_late = true},
};

FAMILY(rmr_bind, cookie_of, outcomes)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        if (row->bound)
                expect_bound(t, &window, &bind);
        if (row->too_late)
                must_disconnect(t, window.near);
        bind.segment = triplet(window.memory, REGION, row->width);
        bind.cookie = EVERY_BYTE;
        expect(post(&bind), DAT_SUCCESS);
        expect_bind_done(t, window.requests, bind.rmr, EVERY_BYTE,
                         row->too_late ? DAT_DTO_ERR_FLUSHED : DAT_RMR_BIND_SUCCESS);
        expect_empty(t, window.requests);
}

/* Unbound with each set of flags, and then bound: what is suppressed tells nothing. */
FAMILY(rmr_bind, flags_of_unbind, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind bind = bind_of(t, &window);
        struct bind unbind;

        expect_bound(t, &window, &bind);
        unbind = bind;
        unbind.segment.segment_length = 0;
        unbind.flags = row->flags;
        unbind.cookie = 1;
        bind.cookie = 2;
        expect(post(&unbind), DAT_SUCCESS);
        expect(post(&bind), DAT_SUCCESS);

        if (!(row->flags & SUPPRESS))
                expect_done(t, &window, &unbind);
        expect_done(t, &window, &bind);
        expect_empty(t, window.requests);
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

FAMILY(rmr_bind, flags_of_flushed, flagged)
{
        struct window window = window_with(t, .requests = row->of_ep);
        struct bind binds[] = {bind_of(t, &window), bind_of(t, &window)};

        must_disconnect(t, window.near);
        binds[0].flags = row->flags;
        expect(post(&binds[0]), DAT_SUCCESS);
        expect(post(&binds[1]), DAT_SUCCESS);

        expect_flushed(t, &window, &binds[0]);
        expect_flushed(t, &window, &binds[1]);
        expect_empty(t, window.requests);
}

/* The refused bind told nothing and changed nothing: another's completion is the next event. */
static void expect_no_bind(struct test *t, struct window *window, const struct bind *bound)
{
        struct bind next = bind_of(t, window);

        next.cookie = 1234;
        expect_bound(t, window, &next);
        expect_empty(t, window->requests);
        expect_reached(t, window, BY_WRITE, bound->context, REGION, WIDTH);
}

static const struct flags_row {
        const char *id;
        unsigned int flags;
        bool noted; /* success is a NOTE */
} unconfigured[] = {
    {"alone", UNSIGNAL, .noted = false},
    {"with_suppress", UNSIGNAL | SUPPRESS, .noted = false},
    {"with_fence", UNSIGNAL | FENCE, .noted = false},
};

FAMILY(rmr_bind, unsignalled_unconfigured, unconfigured)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.flags = FLAGS(row->flags);
        bind.segment = triplet(window.memory, 0, 8);

        expect(post(&bind), DAT_INVALID_PARAMETER);
        expect_no_bind(t, &window, &bound);
}

static const struct flags_row undefined[] = {
    {"solicited", DAT_COMPLETION_SOLICITED_WAIT_FLAG, .noted = true},
    {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, .noted = true},
    {"next_bit", 0x20, .noted = false},
    {"middle_bit", 1U << 16, .noted = false},
    {"highest_bit", 1U << 31, .noted = false},
    {"all_bits", ~0U, .noted = false},
};

FAMILY(rmr_bind, undefined_flags, undefined)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.flags = FLAGS(row->flags);
        bind.segment = triplet(window.memory, 0, 8);

        if (!row->noted)
                expect(post(&bind), DAT_INVALID_PARAMETER);
        else if (dat_is(expect_or_note(post(&bind), DAT_INVALID_PARAMETER, DAT_SUCCESS),
                        DAT_SUCCESS))
                return;
        expect_no_bind(t, &window, &bound);
}

/* What is told of an RMR, and what the call was given, are as before a refused bind. */
CASE(rmr_bind, refusal_changes_nothing_told)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        DAT_RMR_PARAM before;
        DAT_RMR_PARAM after;
        DAT_LMR_TRIPLET given;
        struct bind bind;

        expect_bound(t, &window, &bound);
        must(dat_rmr_query(bound.rmr, DAT_RMR_FIELD_ALL, &before));
        bind = bound;
        bind.flags = FLAGS(1U << 16);
        bind.privileges = READ;
        bind.segment = triplet(window.memory, 0, 8);
        memcpy(&given, &bind.segment, sizeof(given));
        expect(post(&bind), DAT_INVALID_PARAMETER);

        must(dat_rmr_query(bound.rmr, DAT_RMR_FIELD_ALL, &after));
        expect_that(after.ia_handle == before.ia_handle, "another IA is told");
        expect_that(after.pz_handle == before.pz_handle, "another PZ is told");
        expect_eq(after.lmr_triplet.lmr_context, before.lmr_triplet.lmr_context);
        expect_eq(after.lmr_triplet.virtual_address, before.lmr_triplet.virtual_address);
        expect_eq(after.lmr_triplet.segment_length, before.lmr_triplet.segment_length);
        expect_eq(after.mem_priv, before.mem_priv);
        expect_eq(after.rmr_context, before.rmr_context);
        expect_that(memcmp(&given, &bind.segment, sizeof(given)) == 0, "the triplet was changed");
}

/* The triplet is read, and no more. */
CASE(rmr_bind, triplet_kept)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_LMR_TRIPLET given;

        memcpy(&given, &bind.segment, sizeof(given));
        expect_bound(t, &window, &bind);
        expect_that(memcmp(&given, &bind.segment, sizeof(given)) == 0, "the triplet was changed");
}

static DAT_CNO_HANDLE no_cno(struct test *t)
{
        (void)t;
        return DAT_HANDLE_NULL;
}

static const struct notice {
        const char *id;
        DAT_CNO_HANDLE (*cno)(struct test *t);
} notices[] = {
    {"evd", no_cno},
    {"cno", cno_new},
};

FAMILY(rmr_bind, wakes, notices)
{
        DAT_CNO_HANDLE cno = row->cno(t);
        struct window window = window_with(t, .cno = cno);
        struct bind bind = bind_of(t, &window);
        struct waiter *waiter;
        struct woken woken;

        if (cno) {
                forget_notice(cno);
                waiter = wait_on_cno(t, cno, event_timeout(t));
        } else {
                waiter = wait_on_evd(t, window.requests, DAT_TIMEOUT_INFINITE, 1);
        }
        must_wait(waiter);
        expect(post(&bind), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        if (cno) {
                expect_that(woken.evd == window.requests, "the CNO names another EVD");
                expect_done(t, &window, &bind);
        } else {
                expect_eq(woken.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
                expect_that(woken.event.event_data.rmr_completion_event_data.rmr_handle == bind.rmr,
                            "the completion names another RMR");
        }
}

/* Who waits is not woken by what the flags keep quiet, but by the plain bind after it. */
static void expect_quiet_bind(struct test *t, DAT_COMPLETION_FLAGS of_ep,
                              DAT_COMPLETION_FLAGS flags, uint64_t first)
{
        struct window window = window_with(t, .requests = of_ep);
        struct bind quiet = bind_of(t, &window);
        struct bind plain = bind_of(t, &window);
        struct waiter *waiter = wait_on_evd(t, window.requests, DAT_TIMEOUT_INFINITE, 1);
        struct woken woken;

        quiet.cookie = 1;
        quiet.flags = flags;
        plain.cookie = 2;
        must_wait(waiter);
        expect(post(&quiet), DAT_SUCCESS);
        expect_asleep(waiter);
        expect(post(&plain), DAT_SUCCESS);
        woken = expect_awake(waiter);

        expect(woken.ret, DAT_SUCCESS);
        expect_eq(woken.event.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_eq(woken.event.event_data.rmr_completion_event_data.user_cookie.as_64, first);
        if (first == quiet.cookie)
                expect_done(t, &window, &plain);
        expect_empty(t, window.requests);
}

CASE(rmr_bind, unsignalled_wakes_nobody)
{
        expect_quiet_bind(t, UNSIGNAL, UNSIGNAL, 1);
}

CASE(rmr_bind, suppressed_wakes_nobody)
{
        expect_quiet_bind(t, PLAIN, SUPPRESS, 2);
}

/*
 * States
 */

#define BINDING (EP_IN(CONNECTED) | EP_IN(DISCONNECTED))

FAMILY(rmr_bind, in_state, ep_states)
{
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        struct ep_held held = ep_hold(t, row->state, .request_evd = evd);
        struct buf *buf = buf_with(t);
        struct bind bind = {.rmr = rmr_in(t, pz(t)),
                            .segment = triplet(buf, 0, MESSAGE),
                            .privileges = READ,
                            .ep = held.ep,
                            .cookie = 3};

        if (ep_is_in(&held, BINDING)) {
                expect(post(&bind), DAT_SUCCESS);
                expect_bind_done(t, evd, bind.rmr, 3,
                                 row->state == DAT_EP_STATE_CONNECTED ? DAT_RMR_BIND_SUCCESS
                                                                      : DAT_DTO_ERR_FLUSHED);
                expect_empty(t, evd);
                return;
        }
        ep_hold_receive(t, &held);
        /* The Provider's EP, which is Tentative Connection Pending, has no zone yet either. */
        if (held.before.param.pz_handle == pz(t))
                expect(post(&bind), DAT_INVALID_STATE);
        else
                expect(post(&bind), DAT_INVALID_STATE, DAT_PROTECTION_VIOLATION);
        expect_ep_untouched(t, &held);
        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
}

static const struct ep_state_row refusing[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
};

/* By another EP than the one that it is bound over: to another region, and to none. */
FAMILY(rmr_bind, refused_leaves_bound, refusing)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .pz = window.pz, .request_evd = evd);
        struct bind refused;

        expect_bound(t, &window, &bound);
        refused = bound;
        refused.ep = ep;
        refused.segment.virtual_address += WIDTH;
        expect(post(&refused), DAT_INVALID_STATE);
        refused.segment.segment_length = 0;
        expect(post(&refused), DAT_INVALID_STATE);

        expect_reached(t, &window, BY_WRITE, bound.context, REGION, WIDTH);
        expect_empty(t, window.requests);
        expect_empty(t, evd);
}

CASE(rmr_bind, flushed_at_once)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);

        must_disconnect(t, window.near);
        for (DAT_COUNT i = 0; i < places; i++) {
                bind.cookie = (uint64_t)i;
                expect(post(&bind), DAT_SUCCESS);
        }

        for (DAT_COUNT i = 0; i < places; i++) {
                bind.cookie = (uint64_t)i;
                expect_flushed(t, &window, &bind);
        }
        expect_empty(t, window.requests);
}

/* Another connection of the zone whose near EP is Disconnected: it flushes what is bound by it. */
static struct window flushing(struct test *t, const struct window *window)
{
        struct window dead = window_beside(t, window, window->pz, false);

        must_disconnect(t, dead.near);
        return dead;
}

CASE(rmr_bind, flushed_opens_nothing)
{
        struct window window = window_with(t);
        struct window dead = flushing(t, &window);
        struct bind bind = bind_of(t, &dead);

        expect(post(&bind), DAT_SUCCESS);
        expect_flushed(t, &dead, &bind);

        expect_denied(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

CASE(rmr_bind, flushed_closes_nothing)
{
        struct window window = window_with(t);
        struct window dead = flushing(t, &window);
        struct bind bound = bind_of(t, &window);
        struct bind bind = bound;

        expect_bound(t, &window, &bound);
        bind.ep = dead.near;
        bind.segment = triplet(window.memory, 0, 8);
        expect(post(&bind), DAT_SUCCESS);
        expect_flushed(t, &dead, &bind);

        if (reach(t, &window, BY_WRITE, bound.context, REGION, WIDTH) != DAT_DTO_SUCCESS)
                note(t, "a bind that was flushed has closed what was bound before (RMR-6)");
}

CASE(rmr_bind, ended_with_connection)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_EVENT event;

        must_stand(t, &window);
        for (bind.cookie = 0; bind.cookie < CALLS; bind.cookie++)
                expect(post(&bind), DAT_SUCCESS);
        must_disconnect(t, window.near);

        event = expect_event(window.requests, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 99);
        for (uint64_t i = 0; i < CALLS; i++) {
                const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
                    &event.event_data.rmr_completion_event_data;

                event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
                expect_that(data->rmr_handle == bind.rmr, "the completion names another RMR");
                expect_eq(data->user_cookie.as_64, i);
                expect_that(data->status == DAT_RMR_BIND_SUCCESS ||
                                data->status == DAT_DTO_ERR_FLUSHED,
                            "a bind completed with status %d", (int)data->status);
        }
        expect_empty(t, window.requests);
}

/*
 * What is not bound
 */

#define ANSWERS 4

/* How a bind may be refused: as the page has it, or by another name, which is a NOTE. */
struct answers {
        size_t count;
        DAT_RETURN passes[ANSWERS];
        DAT_RETURN note; /* DAT_SUCCESS: none */
        bool foreign;    /* of an object of another IA: a bind that is made is a NOTE (GEN-12) */
};

/* The bind was granted: it fails, and breaks the connection (GEN-9). */
static void expect_late_failure(struct test *t, const struct window *by, bool foreign)
{
        DAT_EVENT event = expect_event(by->requests, DAT_RMR_BIND_COMPLETION_EVENT);
        DAT_RMR_BIND_COMPLETION_STATUS status = event.event_data.rmr_completion_event_data.status;

        if (foreign && status == DAT_RMR_BIND_SUCCESS) {
                note(t, "granted, though the object is another IA's (GEN-12)");
                return;
        }
        expect_that(status != DAT_RMR_BIND_SUCCESS, "what may not be bound was bound");
        expect_event(ep_connect_evd(t, by->near), DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, by->near), DAT_EP_STATE_DISCONNECTED);
}

/* The bind, by the near EP of `by`, is none; and what `bound` has opened stays open. */
static void expect_not_bound(struct test *t, struct window *window, const struct window *by,
                             struct bind *bind, const struct bind *bound,
                             const struct answers *answers)
{
        DAT_RETURN ret = post(bind);

        if (dat_is(ret, DAT_SUCCESS)) {
                expect_late_failure(t, by, answers->foreign);
                return;
        }
        if (answers->note && dat_is(ret, answers->note))
                note(t, "refused by another name than the page's (RMR-5)");
        else
                check_expect(t, CHECK_SITE_("a bind of what may not be bound"), ret,
                             answers->passes, answers->count);
        expect_empty(t, by->requests);
        expect_no_bind(t, window, bound);
}

static const struct beyond {
        const char *id;
        size_t back; /* bytes before the LMR, instead of behind its start */
        size_t offset;
        DAT_VLEN length;
} beyonds[] = {
    {"before_lmr", 1, 0, WIDTH},
    {"after_lmr", 0, MEMORY - WIDTH + 1, WIDTH},
    {"longer_than_lmr", 0, 0, MEMORY + 1},
    {"behind_lmr", 0, MEMORY, 1},
    {"far_behind_lmr", 0, (size_t)1 << 30, WIDTH},
    {"around_the_end", 0, REGION, UINT64_MAX - 8},
    {"longer_by_far", 0, REGION, WIDTH + SEGMENT_LONG},
    {"as_long_as_none", 0, REGION, SEGMENT_LONG},
};

FAMILY(rmr_bind, beyond_lmr, beyonds)
{
        static const struct answers answers = {1, {DAT_INVALID_PARAMETER}, .foreign = false};
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = triplet(window.memory, row->offset, row->length);
        bind.segment.virtual_address -= row->back;
        expect_not_bound(t, &window, &window, &bind, &bound, &answers);
}

/* Each makes one of the three objects of a bind one of another zone; returns who binds. */
static struct window lmr_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        bind->segment = triplet(buf_with(t, .pz = pz_new(t)), 0, WIDTH);
        return *window;
}

static struct window ep_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        struct window by = window_beside(t, window, pz_new(t), false);

        bind->ep = by.near;
        return by;
}

static struct window rmr_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        bind->rmr = rmr_in(t, pz_new(t));
        return *window;
}

static struct window lmr_gone(struct test *t, const struct window *window, struct bind *bind)
{
        struct buf *gone = buf_with(t, .pz = window->pz);

        bind->segment = triplet(gone, 0, WIDTH);
        release(t, gone->lmr);
        return *window;
}

static struct window lmr_unknown(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        bind->segment.lmr_context = ~bind->segment.lmr_context;
        return *window;
}

static struct window lmr_foreign(struct test *t, const struct window *window, struct bind *bind)
{
        DAT_IA_HANDLE foreign = other_ia(t);

        bind->segment = triplet(buf_with(t, .ia = foreign, .pz = pz_of(t, foreign)), 0, WIDTH);
        return *window;
}

static struct window rmr_foreign(struct test *t, const struct window *window, struct bind *bind)
{
        bind->rmr = rmr_in(t, pz_of(t, other_ia(t)));
        return *window;
}

struct misfit {
        const char *id;
        struct window (*make)(struct test *t, const struct window *window, struct bind *bind);
        bool foreign;
};

static void expect_misfit(struct test *t, const struct misfit *row, const struct answers *answers)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;
        struct window by;

        expect_bound(t, &window, &bound);
        bind = bound;
        by = row->make(t, &window, &bind);
        expect_not_bound(t, &window, &by, &bind, &bound, answers);
}

static const struct misfit zones[] = {
    {"lmr_of_other_zone", lmr_elsewhere, .foreign = false},
    {"ep_of_other_zone", ep_elsewhere, .foreign = false},
    {"rmr_of_other_zone", rmr_elsewhere, .foreign = false},
};

FAMILY(rmr_bind, other_zone, zones)
{
        static const struct answers answers = {
            1, {DAT_PROTECTION_VIOLATION}, .note = DAT_INVALID_PARAMETER};

        expect_misfit(t, row, &answers);
}

static const struct misfit wrong_objects[] = {
    {"freed_lmr", lmr_gone, .foreign = false},
    {"unknown_lmr", lmr_unknown, .foreign = false},
    {"lmr_of_other_ia", lmr_foreign, .foreign = true},
    {"rmr_of_other_ia", rmr_foreign, .foreign = true},
};

FAMILY(rmr_bind, wrong_object, wrong_objects)
{
        struct answers answers = {3,
                                  {DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                                   DAT_INVALID_PARAMETER, DAT_INVALID_HANDLE},
                                  .foreign = row->foreign};

        /* By DAT 2.0 the LMR is an argument of its own, whose handle may be what is found bad. */
        if (row->foreign || REGISTRY_FOLLOWS_HANDLES)
                answers.count = 4;
        expect_misfit(t, row, &answers);
}

/*
 * On an EP that is Disconnected
 */

static void put_beyond(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        bind->segment = triplet(window->memory, MEMORY - WIDTH + 1, WIDTH);
}

static void put_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        (void)lmr_elsewhere(t, window, bind);
}

static void flag_unconfigured(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        (void)window;
        bind->flags = FLAGS(UNSIGNAL);
}

static const struct wrong_bind {
        const char *id;
        void (*spoil)(struct test *t, const struct window *window, struct bind *bind);
        DAT_RETURN returned;
        bool late; /* it may be granted, and flushed like what is right (GEN-9) */
} wrong_binds[] = {
    {"after_lmr", put_beyond, DAT_INVALID_PARAMETER, .late = true},
    {"lmr_of_other_zone", put_elsewhere, DAT_PROTECTION_VIOLATION, .late = true},
    {"unsignalled", flag_unconfigured, DAT_INVALID_PARAMETER, .late = false},
};

FAMILY(rmr_bind, wrong_on_disconnected, wrong_binds)
{
        struct window window = window_with(t);
        struct bind good = bind_of(t, &window);
        struct bind bad = good;
        DAT_RETURN ret;

        row->spoil(t, &window, &bad);
        bad.cookie = 7;
        must_disconnect(t, window.near);
        ret = post(&bad);
        if (row->late && dat_is(ret, DAT_SUCCESS))
                expect_flushed(t, &window, &bad);
        else if (row->returned == DAT_PROTECTION_VIOLATION)
                expect_or_note(ret, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER);
        else
                expect(ret, row->returned);
        expect_empty(t, window.requests);

        expect(post(&good), DAT_SUCCESS);
        expect_flushed(t, &window, &good);
        expect_empty(t, window.requests);
}

static const struct no_privilege {
        const char *id;
        unsigned int bits;
} no_privileges[] = {
    {"privilege_next_bit", 0x4},
    {"privilege_middle_bit", 1U << 16},
    {"privilege_highest_bit", 1U << 31},
};

FAMILY(rmr_bind, no_privilege, no_privileges)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = triplet(window.memory, 0, 8);
        bind.privileges = (DAT_MEM_PRIV_FLAGS)(REMOTE_PRIVILEGES | row->bits);

        expect_or_note(post(&bind), DAT_INVALID_PARAMETER, DAT_PRIVILEGES_VIOLATION);
        expect_no_bind(t, &window, &bound);
}

static const struct match lacks[] = {
    {"read_of_unreadable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, READ},
    {"write_of_unwritable", DAT_MEM_PRIV_LOCAL_READ_FLAG, WRITE},
    {"both_of_unreadable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, REMOTE_PRIVILEGES},
    {"both_of_unwritable", DAT_MEM_PRIV_LOCAL_READ_FLAG, REMOTE_PRIVILEGES},
};

FAMILY(rmr_bind, lmr_lacks, lacks)
{
        struct window window = window_with(t, .privileges = row->lmr);
        struct buf *other = buf_with(t, .pz = window.pz, .privileges = LOCAL_PRIVILEGES);
        struct bind bind = bind_of(t, &window);
        struct window former;
        DAT_RMR_CONTEXT context;
        DAT_EVENT event;

        former = onto(&window, other);
        bind.segment = triplet(other, REGION, WIDTH);
        expect_bound(t, &window, &bind);
        context = bind.context;
        bind.segment = region(&window);
        bind.privileges = row->rmr;
        if (!dat_is(expect(post(&bind), DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS), DAT_SUCCESS)) {
                expect_empty(t, window.requests);
                expect_reached(t, &former, BY_WRITE, context, REGION, WIDTH);
                bind.privileges = NONE;
                expect_bound(t, &window, &bind);
                expect_empty(t, window.requests);
                return;
        }
        event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
        if (event.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS) {
                note(t, "the transport wants no match of privileges (RMR-7)");
                return;
        }
        expect_event(ep_connect_evd(t, window.near), DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, window.near), DAT_EP_STATE_DISCONNECTED);
}

LEGAL(rmr_bind)
{
        static DAT_LMR_TRIPLET segment;
        static DAT_RMR_CONTEXT context;
        struct window window = window_with(t);

        segment = region(&window);
        call->rmr_handle = rmr_in(t, window.pz);
        call->lmr_triplet = &segment;
        call->mem_priv = REMOTE_PRIVILEGES;
        call->ep_handle = window.near;
        call->context = &context;
}
