/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/rmr/rmr_bind/fixtures.h"

DAT_RETURN rmr_bind_post(struct bind *bind)
{
        return dat_rmr_bind(bind->rmr, &bind->segment, bind->privileges, bind->ep,
                            COOKIE(bind->cookie), bind->flags, &bind->context);
}

struct bind bind_of(struct test *t, const struct window *window)
{
        return (struct bind){.rmr = rmr_in(t, window->pz),
                             .segment = region(window),
                             .privileges = REMOTE_PRIVILEGES,
                             .ep = window->near,
                             .cookie = 7};
}

void expect_done(struct test *t, const struct window *window, const struct bind *bind)
{
        expect_bind_done(t, window->requests, bind->rmr, bind->cookie, DAT_RMR_BIND_SUCCESS);
}

void expect_bound(struct test *t, const struct window *window, struct bind *bind)
{
        expect(rmr_bind_post(bind), DAT_SUCCESS);
        expect_done(t, window, bind);
}

struct window onto(const struct window *window, struct buf *memory)
{
        struct window other = *window;

        other.memory = memory;
        message_fill(memory->addr, MEMORY, 2);
        memcpy(other.before, memory->addr, MEMORY);
        return other;
}

void unbind(struct test *t, const struct window *window, struct bind bind)
{
        bind.segment.segment_length = 0;
        expect_bound(t, window, &bind);
}

DAT_RETURN send_some(const struct window *window, uint64_t cookie)
{
        DAT_LMR_TRIPLET segment = triplet(window->memory, 0, MESSAGE);

        return dat_ep_post_send(window->near, 1, &segment, COOKIE(cookie), PLAIN);
}

DAT_COUNT places_of(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param;

        memset(&param, 0, sizeof(param));
        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        return param.ep_attr.max_request_dtos < 48 ? param.ep_attr.max_request_dtos : 48;
}

void rmr_bind_must_stand(struct test *t, const struct window *window)
{
        must(send_some(window, 99));
        if (ep_state(t, window->near) != DAT_EP_STATE_CONNECTED)
                end_noted(t,
                          "the transport ends a connection if the receiver has no receive posted");
}

void must_disconnect(struct test *t, DAT_EP_HANDLE ep)
{
        must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

void rmr_bind_expect_flushed(struct test *t, const struct window *window, const struct bind *bind)
{
        expect_bind_done(t, window->requests, bind->rmr, bind->cookie, DAT_DTO_ERR_FLUSHED);
}

void expect_bind_told(struct test *t, const struct bind *bound)
{
        DAT_RMR_PARAM told;

        /* An RMR that is gone shows by its use. */
        if (!dat_is(dat_rmr_query(bound->rmr, DAT_RMR_FIELD_ALL, &told), DAT_SUCCESS))
                return;
        expect_eq(told.lmr_triplet.lmr_context, bound->segment.lmr_context);
        expect_eq(told.lmr_triplet.virtual_address, bound->segment.virtual_address);
        expect_eq(told.lmr_triplet.segment_length, bound->segment.segment_length);
        expect_eq(told.mem_priv & REMOTE_PRIVILEGES, bound->privileges & REMOTE_PRIVILEGES);
        expect_eq(told.rmr_context, bound->context);
}

void expect_no_bind(struct test *t, struct window *window, const struct bind *bound)
{
        struct bind next = bind_of(t, window);

        expect_bind_told(t, bound);
        next.cookie = 1234;
        expect_bound(t, window, &next);
        expect_empty(t, window->requests);
        expect_reached(t, window, BY_WRITE, bound->context, REGION, WIDTH);
}

struct window lmr_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        bind->segment = triplet(buf_with(t, .pz = pz_new(t)), 0, WIDTH);
        return *window;
}
