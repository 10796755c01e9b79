/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_close: abrupt close. */
#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ia/ia_close/fixtures.h"
#include "cases/ia/shared/ia_objects.h"
#include "cases/ia/shared/instance.h"
#include "cases/registry/shared/consumer.h"
#include "cases/rmr/shared/window.h"
#include "clauses/ia_close.h"

#define EPS_HELD 6 /* where there is one of each */

FAMILY(ia_close, abrupt, havings)
{
        struct held held = {.handle = DAT_HANDLE_NULL};

        row->make(t, &held);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        expect_instance_works(t, ia(t));
}

/* A connection, and much of each kind; what of it there may be is the provider's word. */
CASE(ia_close, abrupt_with_all)
{
        struct held held = {.handle = DAT_HANDLE_NULL};
        int each = ia_attr(t)->max_eps < 2 * EPS_HELD ? 1 : 2;

        record(t, "%d of each", each);
        for (size_t i = 0; i < sizeof(havings) / sizeof(havings[0]); i++)
                if (havings[i].make != hold_srq || provider_attr(t)->srq_supported == DAT_TRUE)
                        for (int n = 0; n < each; n++)
                                havings[i].make(t, &held);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        hold_connection(t, &held);
        check_connection(t, &held);
}

static bool has_end(DAT_EP_STATE state)
{
        return state == DAT_EP_STATE_COMPLETION_PENDING || state == DAT_EP_STATE_CONNECTED ||
               state == DAT_EP_STATE_DISCONNECT_PENDING;
}

/* A connection that was not complete may be established at the peer before it is over. */
static void expect_over(struct test *t, struct peer_ep *end, DAT_EP_STATE state)
{
        DAT_EVENT_NUMBER last = peer_wait_event(end).number;

        if (state == DAT_EP_STATE_COMPLETION_PENDING && last == DAT_CONNECTION_EVENT_ESTABLISHED)
                last = peer_wait_event(end).number;
        expect_that(last && last != DAT_CONNECTION_EVENT_ESTABLISHED,
                    "the peer gets no event of the end of its connection");
}

/* In each state that an EP can be in; the peer's end of its connection, if it has one, is over. */
FAMILY(ia_close, ep_state, ep_states)
{
        DAT_EP_HANDLE ep = ep_in(t, row->state);
        struct peer_ep *end = has_end(row->state) ? ep_end(t, ep) : NULL;

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        if (end)
                expect_over(t, end, row->state);
}

static void post_writes(struct test *t, struct loop *loop)
{
        struct buf *from = buf_with(t, .length = 1 << 16);
        struct buf *to = buf_with(t, .length = 1 << 16);
        DAT_LMR_TRIPLET segment = triplet(from, 0, from->length);
        DAT_RMR_TRIPLET target = {.rmr_context = to->rmr_context,
                                  .target_address = (DAT_VADDR)(uintptr_t)to->addr,
                                  .segment_length = to->length};

        for (int i = 0; i < MESSAGES / 2; i++)
                must(dat_ep_post_rdma_write(loop->active, 1, &segment,
                                            (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)i}, &target,
                                            DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_reads(struct test *t, struct loop *loop)
{
        struct buf *from = buf_with(t, .length = 1 << 16);
        struct buf *to = buf_with(t, .length = 1 << 16);
        DAT_LMR_TRIPLET segment = triplet(to, 0, to->length);
        DAT_RMR_TRIPLET target = {.rmr_context = from->rmr_context,
                                  .target_address = (DAT_VADDR)(uintptr_t)from->addr,
                                  .segment_length = from->length};

        for (int i = 0; i < MESSAGES / 2; i++)
                must(dat_ep_post_rdma_read(loop->active, 1, &segment,
                                           (DAT_DTO_COOKIE){.as_64 = (DAT_UINT64)i}, &target,
                                           DAT_COMPLETION_DEFAULT_FLAG));
}

static const struct traffic {
        const char *id;
        void (*post)(struct test *t, struct loop *loop);
} traffics[] = {
    {"receives", ia_close_post_recvs}, {"sends", ia_close_post_sends}, {"both", post_both},
    {"rdma_writes", post_writes},      {"rdma_reads", post_reads},
};

FAMILY(ia_close, under_traffic, traffics)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        struct loop loop;

        if (row->post == post_reads) {
                if (ia_attr(t)->max_rdma_read_per_ep_out < 1 ||
                    ia_attr(t)->max_rdma_read_per_ep_in < 1)
                        unsupported(t, "max_rdma_read_per_ep_out or max_rdma_read_per_ep_in = 0");
                attr.max_rdma_read_in = 1;
                attr.max_rdma_read_out = 1;
                attr.max_rdma_read_iov = 1;
        }
        loop = loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        loop_join(t, &loop);
        row->post(t, &loop);

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);
}

static void bind_taken(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind_region(t, window, rmr);
}

static void bind_unreaped(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr)
{
        DAT_LMR_TRIPLET segment = region(window);
        DAT_RMR_CONTEXT context;

        must(dat_rmr_bind(rmr, &segment, REMOTE_PRIVILEGES, window->near,
                          (DAT_RMR_COOKIE){.as_64 = 1}, DAT_COMPLETION_DEFAULT_FLAG, &context));
}

static const struct binding {
        const char *id;
        void (*bind)(struct test *t, const struct window *window, DAT_RMR_HANDLE rmr);
} bindings[] = {{"bound", bind_taken}, {"unreaped", bind_unreaped}};

FAMILY(ia_close, with_bind, bindings)
{
        struct window window = window_with(t);

        row->bind(t, &window, rmr_in(t, window.pz));

        close_now(t, DAT_CLOSE_ABRUPT_FLAG);

        ia_reopen(t, DAT_HANDLE_NULL);
        expect_instance_works(t, ia(t));
}
