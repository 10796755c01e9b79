/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: the parameters of the new EP. */
#include "case/limits.h"
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/shared/loop.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <string.h>

#define MANY       16 /* EPs of one SRQ */
#define AGAIN      4  /* EPs, each made after the one before it was freed */
#define QUAL_FIRST 22000
#define QUALS      1000

CASE(ep_create_with_srq, created)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        ep_described(t, ep_created(t, &with));
}

CASE(ep_create_with_srq, attributes_kept)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_attributes_kept(t, &with);
}

CASE(ep_create_with_srq, attributes_given_back)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_attributes_given_back(t, &with);
}

CASE(ep_create_with_srq, unconnected)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = ep_created(t, &with);

        expect_eq(plain_ep_state(ep_described(t, ep).ep_state), DAT_EP_STATE_UNCONNECTED);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_UNCONNECTED);
}

static const struct ep_shown shown[] = {EP_SHOWN_HANDLES, EP_SHOWN(srq_handle, srq)};

FAMILY(ep_create_with_srq, shows, shown)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct ep_creation with[2] = {ep_create_with_srq_arguments(t),
                                      ep_create_with_srq_arguments_of(t, other, pz_of(t, other))};

        expect_shown(t, with, row);
}

static struct peer_ep *connect_active(struct test *t, DAT_EP_HANDLE ep)
{
        return expect_connect(ep);
}

static struct peer_ep *connect_like_another(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_HANDLE other = ep_with(t);

        must_connect(other);
        return peer_connect_like(peer(t), ep, other);
}

/* A service point for the EP, or for null one whose requests have none. */
static DAT_CONN_QUAL listen_with(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd)
{
        struct point_opts opts = {
            .first = QUAL_FIRST,
            .count = QUALS,
            .evd = evd,
            .flags = DAT_PSP_CONSUMER_FLAG,
            .reserved = ep != DAT_HANDLE_NULL,
            .ep = ep,
        };
        DAT_CONN_QUAL qual = 0;
        DAT_HANDLE point;

        expect(point_make(t, opts, &qual, &point), DAT_SUCCESS);
        adopt(t, ep ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP, point);
        return qual;
}

static struct peer_ep *accept_with(struct test *t, DAT_EP_HANDLE ep, bool reserved)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_CR_FLAG);
        struct peer_ep *end =
            peer_request(peer(t), listen_with(t, reserved ? ep : DAT_HANDLE_NULL, evd));
        DAT_EVENT event = must_event(evd, DAT_CONNECTION_REQUEST_EVENT);

        expect(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
                             reserved ? DAT_HANDLE_NULL : ep, 0, NULL),
               DAT_SUCCESS);
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        peer_wait_connected(end);
        return end;
}

static struct peer_ep *connect_reserved(struct test *t, DAT_EP_HANDLE ep)
{
        return accept_with(t, ep, true);
}

static struct peer_ep *connect_accepting(struct test *t, DAT_EP_HANDLE ep)
{
        return accept_with(t, ep, false);
}

static const struct connecting {
        const char *id;
        struct peer_ep *(*connect)(struct test *t, DAT_EP_HANDLE ep);
} connecting[] = {
    {"active", connect_active},
    {"like_another", connect_like_another},
    {"reserved", connect_reserved},
    {"accepting", connect_accepting},
};

FAMILY(ep_create_with_srq, connects, connecting)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_create_with_srq_create_on(t, queue.srq);
        struct flow flow = flow_to(t, ep, row->connect(t, ep));

        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

CASE(ep_create_with_srq, many_eps)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_COUNT limit = limit_or_none(max_ep_per_srq);
        DAT_COUNT count = limit < MANY ? limit : MANY;
        DAT_EP_HANDLE eps[MANY];

        for (DAT_COUNT i = 0; i < count; i++) {
                with.param.ep_attr.max_message_size = 1000 + (DAT_VLEN)i;
                eps[i] = ep_created(t, &with);
        }
        for (DAT_COUNT i = 0; i < count; i++) {
                DAT_EP_PARAM param = ep_described(t, eps[i]);

                expect_that(param.srq_handle == with.srq, "the EP has another SRQ");
                expect_eq(param.ep_attr.max_message_size, 1000 + i);
        }
}

static void send_between(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, struct queue *queue,
                         uint64_t number)
{
        struct flow flow = {
            .ep = to,
            .evd = ep_recv_evd(t, to),
            .length = MESSAGE,
            .sent = number + 1,
            .received = number,
        };
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);

        message_fill(buf->addr, MESSAGE, number);
        must(dat_ep_post_send(from, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                              DAT_COMPLETION_DEFAULT_FLAG));
        expect_messages(t, queue, &flow, 1);
        must_dto(ep_request_evd(t, from));
}

/* Each of the two takes receives from the one SRQ for the messages of the other. */
CASE(ep_create_with_srq, both_ends)
{
        struct queue queue = queue_with(t, 8);
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_create_with_srq_create_on(t, queue.srq),
            .passive = ep_create_with_srq_create_on(t, queue.srq),
        };

        loop_join_either(t, &loop);
        queue.cookie_bits = WIDE_COOKIES;
        queue_post(t, &queue, 4);
        for (uint64_t i = 0; i < 2; i++) {
                send_between(t, loop.active, loop.passive, &queue, i);
                send_between(t, loop.passive, loop.active, &queue, i);
        }
        expect_quiet(ep_recv_evd(t, loop.active));
        expect_quiet(ep_recv_evd(t, loop.passive));
}

CASE(ep_create_with_srq, evds_of_several_eps)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[3];

        for (int i = 0; i < 3; i++)
                flows[i] = flow_made(t, &queue);
        queue_post(t, &queue, 6);
        for (int i = 0; i < 3; i++)
                expect_traffic(t, &queue, &flows[i], 2);
        for (int i = 0; i < 3; i++)
                expect_quiet(flows[i].evd);
}

/* Where they report to one EVD, each completion names the EP that the message was for. */
CASE(ep_create_with_srq, evd_of_several_eps)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct peer_ep *ends[2];
        DAT_EP_HANDLE eps[2];

        for (int i = 0; i < 2; i++)
                eps[i] = ep_created(t, &with);
        srq_post(t, with.srq, buf_with(t), MESSAGE, 0, 2);
        for (int i = 0; i < 2; i++)
                ends[i] = expect_connect(eps[i]);
        for (int i = 1; i >= 0; i--) {
                peer_send(ends[i], .length = MESSAGE);
                expect_that(expect_dto(with.recv_evd).ep_handle == eps[i],
                            "a completion names another EP");
        }
}

CASE(ep_create_with_srq, receives_wait_already)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow;

        queue_post(t, &queue, 4);
        flow = flow_made(t, &queue);
        expect_traffic(t, &queue, &flow, 4);
}

/* Attributes and connection of the EPs before it are not those of a new one. */
CASE(ep_create_with_srq, after_freed_ones)
{
        struct queue queue = queue_with(t, 8);

        must_tell_idle(t);
        for (int i = 0; i < AGAIN; i++) {
                struct ep_creation with = ep_create_with_srq_arguments(t);
                DAT_VLEN size = 4000 - 100 * (DAT_VLEN)i;
                DAT_EP_PARAM param;
                struct flow flow;
                DAT_EP_HANDLE ep;

                with.srq = queue.srq;
                with.param.ep_attr.max_message_size = size;
                queue_post(t, &queue, 1);
                ep = ep_created(t, &with);
                param = ep_described(t, ep);
                expect_eq(param.ep_attr.max_message_size, size);
                expect_that(param.srq_handle == queue.srq, "the EP has another SRQ");
                expect_new_state(t, ep);

                flow = flow_to(t, ep, expect_connect(ep));
                expect_traffic(t, &queue, &flow, 1);
                expect_quiet(flow.evd);
                release(t, ep);
        }
}
