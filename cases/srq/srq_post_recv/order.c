/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: order of receives. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#define TWO_PACKETS ((size_t)6000) /* bytes, at least two packets of a RDMA network */
#define ROUNDS      20             /* of messages, until packets overtake each other */

static const struct order {
        const char *id;
        int eps;
        bool one_evd;
} orders[] = {
    {"one_ep", .eps = 1},
    {"several_eps", .eps = 3},
    {"several_eps_on_one_evd", .eps = 3, .one_evd = true},
};

FAMILY(srq_post_recv, in_order_of_sends, orders)
{
        struct queue queue = queue_with(t, 48);
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;
        struct flow flows[3] = {{.ep = DAT_HANDLE_NULL}};
        int each = 48 / row->eps;

        expect_posts(t, &queue, 48);
        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, &queue, evd);
        for (int i = 0; i < row->eps; i++)
                flow_send(&flows[i], each);

        for (int i = 0; i < 48; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flows[i / each].evd);

                check_message(t, &queue, flows, row->eps, &dto);
        }
}

/* A packet that is lost lets those behind it come out of order too. */
static const struct network {
        const char *id;
        struct peer_disturb_opts how;
        bool overtakes;
} networks[] = {
    {"late", {.delay_ms = 40}, false},
    {"out_of_order", {.delay_ms = 20, .reorder_percent = 5}, true},
    {"lossy", {.loss_percent = 2}, true},
};

FAMILY(srq_post_recv, in_order_of_sends_through, networks)
{
        struct queue queue = queue_for(t, 32, TWO_PACKETS, 32);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        peer_disturb_by(peer(t), row->how);
        for (int i = 0; i == 0 || (row->overtakes && i < ROUNDS && !peer_overtook(peer(t))); i++) {
                expect_posts(t, &queue, 32);
                expect_traffic(t, &queue, &flow, 32);
        }
        expect_quiet(flow.evd);
        if (row->overtakes)
                must_have_overtaken(peer(t));
}

CASE(srq_post_recv, short_after_long)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 8);
        for (uint64_t i = 0; i < 8; i++)
                peer_send(flow.end, .length = i % 2 ? 1 : LONG_MESSAGE, .first = i);

        for (uint64_t i = 0; i < 8; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flow.evd);
                const unsigned char *at = queue.buf->addr + dto.user_cookie.as_64 * LONG_MESSAGE;

                expect_eq(dto.transfered_length, i % 2 ? 1 : LONG_MESSAGE);
                expect_that(message_holds(at, dto.transfered_length, i),
                            "completion %llu is not of message %llu", (unsigned long long)i,
                            (unsigned long long)i);
        }
}
