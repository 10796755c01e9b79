/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: the completion and its order. */
#include "cases/ep/shared/states.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "clauses/rmr_bind.h"

#include <string.h>

#define ROUNDS 8 /* of contexts that are sent at once */

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
                expect(rmr_bind_post(&binds[i]), DAT_SUCCESS);

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

        expect(rmr_bind_post(&by_second), DAT_SUCCESS);
        expect(rmr_bind_post(&by_first), DAT_SUCCESS);

        expect_done(t, &first, &by_first);
        expect_done(t, &second, &by_second);
        expect_empty(t, first.requests);
        expect_empty(t, second.requests);
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
                        expect(rmr_bind_post(&bind), DAT_SUCCESS);
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

CASE(rmr_bind, every_place)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);

        for (int round = 0; round < 3; round++) {
                for (DAT_COUNT i = 0; i < places; i++) {
                        bind.cookie = (uint64_t)i;
                        expect(rmr_bind_post(&bind), DAT_SUCCESS);
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
                        expect(rmr_bind_post(&quiet), DAT_SUCCESS);
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
                if (dat_is(expect(rmr_bind_post(&bind), DAT_INVALID_PARAMETER, DAT_SUCCESS),
                           DAT_SUCCESS))
                        end_noted(t, "it was not refused at once: there is no refusal to look "
                                     "behind");
        expect_ep_kept(t, window.near, &before, 0);

        bind.segment = region(&window);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
        for (DAT_COUNT i = 0; i < places; i++)
                expect_done(t, &window, &bind);
        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
        expect_reached(t, &window, BY_WRITE, bound.context, REGION, WIDTH);
}

CASE(rmr_bind, one_too_many)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);
        DAT_RETURN ret;

        expect_bound(t, &window, &bound);
        rmr_bind_must_stand(t, &window);
        for (DAT_COUNT i = 1; i < places; i++) {
                bind.cookie = (uint64_t)i;
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
        }
        bound.segment.segment_length = 0;
        ret = expect_or_note(rmr_bind_post(&bound), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
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
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
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
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
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
        expect(rmr_bind_post(&first), DAT_SUCCESS);
        if (row->post == bind_again)
                expect(rmr_bind_post(&second), DAT_SUCCESS);
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

CASE(rmr_bind, fenced_behind_read)
{
        struct window window = window_with(t, .reads = true);
        struct bind bind = bind_of(t, &window);

        bind.flags = DAT_COMPLETION_BARRIER_FENCE_FLAG;
        for (uint64_t i = 0; i < ROUNDS; i++) {
                bind.cookie = i;
                expect(read_some(&window, i), DAT_SUCCESS);
                expect(rmr_bind_post(&bind), DAT_SUCCESS);

                expect_request(t, &window, i);
                expect_done(t, &window, &bind);
        }
}
