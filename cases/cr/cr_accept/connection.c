/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_cr_accept: the connection that an accept makes. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/cr/cr_accept/fixtures.h"
#include "cases/cr/shared/request.h"
#include "cases/srq/shared/queue.h"
#include "clauses/cr_accept.h"

FAMILY(cr_accept, connects, request_kinds)
{
        struct request request = requested(t, row->maker);

        expect_cr_accepted(t, &request);

        expect_cr_parted(t, &request);
        expect_empty(t, request.evd);
}

/* The control of the call: it asks no more than that an accept is one. */
CASE(cr_accept, both_told)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        expect_cr_told(t, request.active, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The PSP and both ends report to one EVD, in any order of the ends. */
CASE(cr_accept, told_on_one_evd)
{
        DAT_EVD_HANDLE evd =
            evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG);
        struct loop loop = {
            .requests = evd,
            .active = ep_with(t, .connect_evd = evd),
            .passive = ep_with(t, .connect_evd = evd),
        };
        DAT_EP_HANDLE told[2];

        loop_ask(t, &loop);
        loop_take_request(t, &loop);
        expect(dat_cr_accept(loop.request, loop_named(&loop), 0, NULL), DAT_SUCCESS);

        for (int i = 0; i < 2; i++)
                told[i] = expect_event(evd, DAT_CONNECTION_EVENT_ESTABLISHED)
                              .event_data.connect_event_data.ep_handle;
        expect_that((told[0] == loop.active && told[1] == loop.passive) ||
                        (told[0] == loop.passive && told[1] == loop.active),
                    "the events name other EPs than the two that are connected");
        expect_empty(t, evd);
}

/* A peer's request that is accepted is a connection, and messages go both ways. */
static void expect_peer_joined(struct test *t, const struct request *request, struct peer_ep *end)
{
        struct buf *buf = buf_with(t);

        expect_cr_told(t, request->passive, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_eq(ep_state(t, request->passive), DAT_EP_STATE_CONNECTED);
        loop_post_recv(t, request->passive, buf, 7);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(request->recv_evd).user_cookie.as_64, 7);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the memory has not the message");
        peer_post_recv(end, 1, MESSAGE);
        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 9);
        loop_post_send(t, request->passive, buf, 8);
        expect_eq(expect_dto(request->request_evd).user_cookie.as_64, 8);
        peer_wait_recv(end, 9, MESSAGE);
}

FAMILY(cr_accept, peer_connects, request_kinds)
{
        struct request request = request_at(t, row->maker);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        expect_taken(t, &request);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        expect_peer_joined(t, &request, end);
}

CASE(cr_accept, waits_for_no_peer)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        struct peer_ep *end = peer_request(peer(t), request.qual);

        expect_taken(t, &request);
        peer_freeze(peer(t));
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        expect_eq(peer_wait_event(end).number, DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_cr_told(t, request.passive, DAT_CONNECTION_EVENT_ESTABLISHED);
}

FAMILY(cr_accept, own_asker, two_requests)
{
        struct request requests[2];
        DAT_EP_STATE before;

        requests[0] = requested_known(t, MADE_BY_CONSUMER);
        requests[1] = requested_known_like(t, &requests[0]);
        before = ep_state(t, requests[!row->one].passive);
        expect_cr_accepted(t, &requests[row->one]);

        expect_cr_kept(t, &requests[!row->one]);
        expect_eq(ep_state(t, requests[!row->one].passive), before);
        expect_cr_accepted(t, &requests[!row->one]);
        expect_cr_parted(t, &requests[row->one]);
        expect_cr_messages(t, &requests[!row->one]);
}

FAMILY(cr_accept, own_providers_ep, two_requests)
{
        struct request requests[2];

        requests[0] = requested(t, MADE_BY_PROVIDER);
        requests[1] = requested_like(t, &requests[0]);
        expect_cr_accepted(t, &requests[row->one]);

        expect_eq(ep_state(t, requests[!row->one].passive),
                  DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_cr_accepted(t, &requests[!row->one]);
}

CASE(cr_accept, in_any_order)
{
        struct request requests[REQUESTS];
        struct request accepted[REQUESTS];
        DAT_COUNT count = cap_at_limit(t, REQUESTS, DAT_HANDLE_TYPE_EP, 2);

        requests[0] = requested(t, MADE_BY_CONSUMER);
        for (int i = 1; i < count; i++)
                requests[i] = requested_like(t, &requests[0]);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                accepted[left - 1] = requests[which];
                expect(dat_cr_accept(requests[which].cr, named_ep(&requests[which]), 0, NULL),
                       DAT_SUCCESS);
                request_accepted(t, &requests[which]);
                requests[which] = requests[left - 1];
        }
        for (int i = 0; i < count; i++) {
                expect_cr_connected(t, &accepted[i]);
                expect_cr_messages(t, &accepted[i]);
        }
}

/* The EP has been connected once, and reset. */
static void use_ep(struct test *t, struct request *request)
{
        struct request other = requested_like(t, request);

        release(t, other.passive);
        other.passive = request->passive;
        expect_cr_accepted(t, &other);
        expect_cr_parted(t, &other);
        expect(dat_ep_reset(request->passive), DAT_SUCCESS);
}

static void change_ep(struct test *t, struct request *request)
{
        DAT_EP_HANDLE older = request->passive;

        request->passive = ep_with(t, .recv_evd = request->recv_evd);
        release(t, older);
}

static const struct circumstance {
        const char *id;
        void (*bring)(struct test *t, struct request *request);
} circumstances[] = {
    {"point_freed", lose_point},
    {"evd_freed", lose_point_and_evd},
    {"ep_used_before", use_ep},
    {"ep_made_since", change_ep},
};

FAMILY(cr_accept, connects_after, circumstances)
{
        struct request request = requested(t, MADE_BY_CONSUMER);

        row->bring(t, &request);

        expect_cr_accepted(t, &request);
}

CASE(cr_accept, one_connect_evd)
{
        struct request request = request_at(t, MADE_BY_CONSUMER);
        DAT_EVENT events[2];

        request.active = ep_with(t, .connect_evd = request.connect_evd);
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);

        for (int i = 0; i < 2; i++)
                events[i] = expect_event(request.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED);
        for (int i = 0; i < 2; i++) {
                DAT_EP_HANDLE told = events[i].event_data.connect_event_data.ep_handle;

                expect_that(told == request.active || told == request.passive,
                            "the event names another EP");
        }
        expect_that(events[0].event_data.connect_event_data.ep_handle !=
                        events[1].event_data.connect_event_data.ep_handle,
                    "both events name one EP");
        expect_cr_messages(t, &request);
}

CASE(cr_accept, ep_of_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct request request = requested_for(t, ep_with(t, .srq = srq));
        struct buf *buf = buf_with(t);

        srq_post(t, srq, buf, MESSAGE, 3, 1);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_cr_connected(t, &request);

        message_fill(buf->addr + 2 * MESSAGE, MESSAGE, 5);
        loop_post_send(t, request.active, buf, 4);
        expect_eq(expect_dto(ep_recv_evd(t, request.passive)).user_cookie.as_64, 3);
        expect_that(message_holds(buf->addr + 3 * MESSAGE, MESSAGE, 5),
                    "the memory has not the message");
}

FAMILY(cr_accept, posted_before, request_kinds)
{
        struct request request = requested(t, row->maker);
        struct buf *buf = buf_with(t);

        for (uint64_t i = 0; i < POSTED; i++)
                loop_post_recv(t, request.passive, buf, i);
        expect(dat_cr_accept(request.cr, named_ep(&request), 0, NULL), DAT_SUCCESS);
        request_accepted(t, &request);
        expect_cr_connected(t, &request);
        expect_posted_taken(t, &request, buf);
}

/* RDMA reads that an EP of the row serves and makes, where the asking one has `reads` both ways. */
static const struct depth {
        const char *id;
        DAT_COUNT more_in, less_out;
} depths[] = {
    {"equal", 0, 0},
    {"serves_more", 1, 0},
    {"makes_fewer", 0, 1},
};

FAMILY(cr_accept, reads, depths)
{
        struct request request;
        DAT_COUNT limit =
            lesser(ia_attr(t)->max_rdma_read_per_ep_in, ia_attr(t)->max_rdma_read_per_ep_out);
        DAT_COUNT reads = lesser(2, limit);
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));
        DAT_EP_HANDLE active;

        attr.max_rdma_read_iov = lesser(1, reads);
        attr.max_rdma_read_in = reads;
        attr.max_rdma_read_out = reads;
        active = ep_with(t, .attr = &attr);
        attr.max_rdma_read_in = lesser(reads + row->more_in, limit);
        attr.max_rdma_read_out = reads ? reads - row->less_out : 0;
        request = request_for(t, ep_with(t, .attr = &attr));
        request.active = active;
        must_ask(t, &request, (struct asks){0});
        must_take(t, &request);

        expect_cr_accepted(t, &request);
}
