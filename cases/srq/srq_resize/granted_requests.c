/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: what a granted request leaves unchanged. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/high_marks.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

#include <string.h>

#define RING       16  /* places of an EVD, at least */
#define RING_MOST  256 /* that are passed before a resize, if it has more */
#define RING_GROWN 600 /* receives: more than that EVD has places for */
#define PASSED     8   /* of these, at once */
#define HELD       4   /* completions that are unreaped */

#define LOOKS 300 /* for a message; each lasts as long as settle_briefly() */

CASE(srq_resize, granted_with_posted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 5);

        expect_granted(t, queue.srq, 5);
}

/* A mark whose event is still to come, or has come. */
static const struct under_mark {
        const char *id;
        int posts;
        DAT_COUNT mark;
        DAT_COUNT least; /* the smallest size that can be had */
} under_marks[] = {
    {"armed", .posts = 4, .mark = 4, .least = 4},
    {"armed_below", .posts = 6, .mark = 3, .least = 6},
    {"spent", .posts = 0, .mark = 4, .least = 4},
    {"default", .posts = 2, .mark = DAT_SRQ_LW_DEFAULT, .least = 2},
};

FAMILY(srq_resize, granted_under_mark, under_marks)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, row->mark));
        drain_async_event(t);

        expect_granted(t, queue.srq, row->least);
}

FAMILY(srq_resize, keeps_buffers, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));

        expect_traffic(t, &queue, &flow, 4);
}

/* A queue that was moved to a new place knows of the receives that came to the old one last. */
CASE(srq_resize, keeps_buffers_between)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);

        for (DAT_COUNT more = 8; more <= 32; more += 8) {
                queue_post(t, &queue, 4);
                must(dat_srq_resize(queue.srq, 16 + more < limit ? 16 + more : limit));
        }

        expect_traffic(t, &queue, &flow, 16);
}

FAMILY(srq_resize, keeps_completions, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        must(resize(t, queue.srq, row, 4));

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

/* If the EVD's places are a ring, the unreaped ones are at its end and at its beginning. */
CASE(srq_resize, keeps_completions_round_the_end)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, evd_with(t, .qlen = RING));
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_EVD_PARAM evd = {.evd_qlen = 0};
        DAT_COUNT before;

        must(dat_evd_query(flow.evd, DAT_EVD_FIELD_EVD_QLEN, &evd));
        before = (evd.evd_qlen < RING_MOST ? evd.evd_qlen : RING_MOST) - HELD / 2;
        while (before > 0) {
                DAT_COUNT count = before < PASSED ? before : PASSED;

                queue_post(t, &queue, count);
                expect_traffic(t, &queue, &flow, count);
                before -= count;
        }

        queue_post(t, &queue, HELD);
        flow_deliver(t, &flow, HELD);
        must(dat_srq_resize(queue.srq, RING_GROWN < limit ? RING_GROWN : limit));

        expect_messages(t, &queue, &flow, HELD);
        expect_quiet(flow.evd);
}

FAMILY(srq_resize, keeps_available_count, changes)
{
        struct queue queue = queue_with(t, 16);

        queue_post(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));

        expect_count(t, srq_param(t, queue.srq).available_dto_count, 4);
}

FAMILY(srq_resize, keeps_outstanding_count, changes)
{
        struct queue queue = queue_with(t, 16);

        queue_post(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));

        expect_count(t, srq_param(t, queue.srq).outstanding_dto_count, 4);
}

FAMILY(srq_resize, keeps_low_watermark, changes)
{
        struct queue queue = queue_with(t, 16);

        queue_post(t, &queue, 4);
        queue_mark(t, &queue, 3);
        must(resize(t, queue.srq, row, 4));

        expect_eq(srq_param(t, queue.srq).low_watermark, 3);
}

/* Twice the size and more, half of it and less, odd ones, and the mark itself. */
CASE(srq_resize, keeps_low_watermark_at_each)
{
        static const DAT_COUNT sizes[] = {9, 18, 40, 100, 33, 16, 5, 3, 4, 64, 3};
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 3);
        queue_mark(t, &queue, 3);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                if (sizes[i] > limit_or_none(max_recv_per_srq))
                        continue;
                expect(dat_srq_resize(queue.srq, sizes[i]), DAT_SUCCESS);
                expect_eq(srq_param(t, queue.srq).low_watermark, 3);
        }
}

FAMILY(srq_resize, keeps_watermark_armed, changes)
{
        struct armed armed = armed_with(t, 4, 4);

        must(resize(t, armed.queue.srq, row, 4));
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

/*
 * The queue is filled up to the mark, and falls below it, after the one event of that setting. It
 * is resized both while there are too few receives and while there are enough.
 */
FAMILY(srq_resize, keeps_watermark_spent, changes)
{
        struct queue queue = queue_below_mark(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(resize(t, queue.srq, row, 4));

        expect_posts(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));
        flow_deliver(t, &flow, 1);
        expect_no_mark_event(t, &flow);
}

/* Both a larger and a smaller queue leave the marks of an EP as they were set. */
FAMILY(srq_resize, keeps_high_watermarks, high_marks)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq);

        queue_post(t, &queue, 4);
        must(dat_ep_set_watermark(ep, row->soft, row->hard));
        must(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)));
        must(dat_srq_resize(queue.srq, 4));

        peer_send(must_connect(ep), .length = MESSAGE);
        expect_high_mark_exceeded(t, ep, row);
}

/* The soft mark of an EP whose event has come, though receives are still above it. */
FAMILY(srq_resize, keeps_high_watermark_spent, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(dat_ep_set_watermark(flow.ep, 0, DAT_WATERMARK_INFINITE));
        flow_deliver(t, &flow, 1);
        expect_async_event(flow.ep);
        must(resize(t, queue.srq, row, 4));
        expect_quiet(async_evd(t));

        flow_deliver(t, &flow, 2);
        expect_no_mark_event(t, &flow);
}

static bool halves_hold(const struct queue *queue, uint64_t receive, uint64_t message)
{
        const uint8_t *at = queue->buf->addr + receive * MESSAGE;
        uint8_t whole[MESSAGE];

        memcpy(whole, at + HALF, HALF);
        memcpy(whole + HALF, at, HALF);
        return message_holds(whole, MESSAGE, message);
}

FAMILY(srq_resize, keeps_segments, changes)
{
        struct queue queue = queue_of_segments(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        post_halves(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));

        flow_send(&flow, 4);
        for (uint64_t message = 0; message < 4; message++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flow.evd);
                uint64_t receive = WIDE_COOKIE(dto.user_cookie.as_64);

                expect_that(receive < 4, "cookie %#llx, which no receive has",
                            (unsigned long long)dto.user_cookie.as_64);
                expect_eq(dto.transfered_length, MESSAGE);
                expect_that(halves_hold(&queue, receive, message),
                            "the segments of receive %llu do not hold message %llu",
                            (unsigned long long)receive, (unsigned long long)message);
        }
        expect_quiet(flow.evd);
}

/* Sends of an EP of the SRQ, posted before the request and after it. */
FAMILY(srq_resize, keeps_sends, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct buf *messages = buf_with(t, .length = 4 * MESSAGE);

        peer_post_recv(flow.end, 4, MESSAGE);
        for (int i = 0; i < 4; i++) {
                DAT_LMR_TRIPLET iov = triplet(messages, (size_t)i * MESSAGE, MESSAGE);

                message_fill(messages->addr + (size_t)i * MESSAGE, MESSAGE, (uint64_t)i);
                if (i == 2)
                        must(resize(t, queue.srq, row, 1));
                expect(dat_ep_post_send(flow.ep, 1, &iov, (DAT_DTO_COOKIE){.as_64 = WIDE_COOKIE(i)},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }

        for (int i = 0; i < 4; i++) {
                struct peer_received got = peer_take_recv(flow.end, (uint64_t)i);

                expect_eq(expect_dto(ep_request_evd(t, flow.ep)).user_cookie.as_64, WIDE_COOKIE(i));
                expect_that(got.came && got.length == MESSAGE && got.holds,
                            "message %d did not come, or not whole", i);
        }
}

enum { RECV_SEEN = 1, SOFTWARE_SEEN = 2, WRITE_SEEN = 4, BIND_SEEN = 8, ALL_SEEN = 15 };

/* One EVD that has a receive, a software event, an RDMA write and a bind, none of them reaped. */
struct crowd {
        struct flow flow;
        DAT_RMR_HANDLE rmr;
        DAT_RMR_CONTEXT context;
};

static void stand(struct test *t, struct queue *queue, struct crowd *crowd)
{
        DAT_EVD_FLAGS flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG | DAT_EVD_SOFTWARE_FLAG;
        DAT_EVD_HANDLE evd = evd_with(t, .flags = flags);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue->srq, .recv_evd = evd, .request_evd = evd);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_EVENT software = {.event_number = DAT_SOFTWARE_EVENT};
        struct peer_memory memory;
        DAT_RMR_TRIPLET remote;

        crowd->flow = (struct flow){.ep = ep, .evd = evd, .length = queue->length};
        crowd->flow.end = peer_connect(peer(t), ep);
        memory = peer_expose(crowd->flow.end, MESSAGE);
        remote = (DAT_RMR_TRIPLET){.rmr_context = memory.rmr_context,
                                   .target_address = memory.address,
                                   .segment_length = MESSAGE};
        must(dat_rmr_create(pz(t), &crowd->rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, crowd->rmr);
        queue_post(t, queue, 2);
        flow_deliver(t, &crowd->flow, 1);
        software.event_data.software_event_data.pointer = queue;
        must(dat_evd_post_se(evd, &software));
        must(dat_ep_post_rdma_write(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = WIDE_COOKIE(1)},
                                    &remote, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_rmr_bind(crowd->rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                          (DAT_RMR_COOKIE){.as_64 = WIDE_COOKIE(2)}, DAT_COMPLETION_DEFAULT_FLAG,
                          &crowd->context));
}

/* Each of them comes once, in whatever order. */
static void expect_crowd(struct test *t, struct queue *queue, struct crowd *crowd)
{
        unsigned int seen = 0;

        while (seen != ALL_SEEN) {
                const DAT_DTO_COMPLETION_EVENT_DATA *dto;
                unsigned int which;
                DAT_EVENT event;
                DAT_COUNT more;

                expect(dat_evd_wait(crowd->flow.evd, event_timeout(t), 1, &event, &more),
                       DAT_SUCCESS);
                dto = &event.event_data.dto_completion_event_data;
                if (event.event_number == DAT_SOFTWARE_EVENT) {
                        which = SOFTWARE_SEEN;
                        expect_that(event.event_data.software_event_data.pointer == queue,
                                    "the software event has another pointer");
                } else if (event.event_number == DAT_RMR_BIND_COMPLETION_EVENT) {
                        which = BIND_SEEN;
                        expect_that(event.event_data.rmr_completion_event_data.rmr_handle ==
                                        crowd->rmr,
                                    "the bind is of another RMR");
                        expect_eq(event.event_data.rmr_completion_event_data.user_cookie.as_64,
                                  WIDE_COOKIE(2));
                        expect_eq(event.event_data.rmr_completion_event_data.status,
                                  DAT_RMR_BIND_SUCCESS);
                } else {
                        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
                        expect_eq(dto->status, DAT_DTO_SUCCESS);
                        which = dto->user_cookie.as_64 == WIDE_COOKIE(1) ? WRITE_SEEN : RECV_SEEN;
                        if (which == RECV_SEEN)
                                check_message(t, queue, &crowd->flow, 1, dto);
                }
                expect_that(!(seen & which), "an event that came before comes again");
                seen |= which;
        }
        expect_quiet(crowd->flow.evd);
}

FAMILY(srq_resize, keeps_other_events, changes)
{
        struct queue queue = queue_with(t, 16);
        struct ep_snapshot before;
        struct crowd crowd;
        DAT_SRQ_PARAM param;

        stand(t, &queue, &crowd);
        before = ep_look(t, crowd.flow.ep);
        expect(resize(t, queue.srq, row, 2), DAT_SUCCESS);

        expect_ep_kept(t, crowd.flow.ep, &before, 0);
        if (dat_is(dat_srq_query(queue.srq, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS))
                expect_eq(param.srq_state, DAT_SRQ_STATE_OPERATIONAL);
        expect_crowd(t, &queue, &crowd);
        expect_traffic(t, &queue, &crowd.flow, 1);
}

/* What a receive may be made of is as it was. */
FAMILY(srq_resize, takes_segments, changes)
{
        struct queue queue = queue_of_segments(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(resize(t, queue.srq, row, 4));

        post_halves(t, &queue, 1);
        flow_send(&flow, 1);
        expect_eq(expect_dto(flow.evd).user_cookie.as_64, WIDE_COOKIE(0));
        expect_that(halves_hold(&queue, 0, 0), "the segments do not hold the message");
        expect(dat_srq_post_recv(queue.srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 1}), DAT_SUCCESS);
        peer_send(flow.end, .empty = true);
        expect_eq(expect_dto(flow.evd).transfered_length, 0);
}

/* A mark that is set after the request, once enough receives are there, and then above them. */
FAMILY(srq_resize, mark_after, changes)
{
        struct armed armed = armed_with(t, 4, 2);
        DAT_SRQ_HANDLE srq = armed.queue.srq;

        must(resize(t, srq, row, 4));

        arm_mark(t, &armed, 4);
        expect_eq(srq_param(t, srq).low_watermark, 4);
        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect(dat_srq_set_lw(srq, srq_size(t, srq)), DAT_SUCCESS);
        expect_async_event(srq);
        expect_quiet(async_evd(t));
}

/* As many messages as the queue has places, each whole in a receive of its own. */
FAMILY(srq_resize, places_receive, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT size;

        must(resize(t, queue.srq, row, 4));
        size = queue_places(t, &queue);
        for (int round = 0; round < 2; round++) {
                expect_posts(t, &queue, size);
                expect_traffic(t, &queue, &flow, size);
        }
}

/* Receives outstanding during each of two requests, and reaped after them. */
FAMILY(srq_resize, places_of_outstanding, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT size;

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        for (int request = 0; request < 2; request++)
                must(resize(t, queue.srq, row, 4));
        expect_messages(t, &queue, &flow, 2);
        expect_traffic(t, &queue, &flow, 2);

        size = queue_places(t, &queue);
        expect_posts(t, &queue, size);
        expect_traffic(t, &queue, &flow, size);
}

/* Of two EPs that were there before the queue grew, one gets all that it holds now. */
static const struct getter {
        const char *id;
        int index;
} getters[] = {
    {"older_ep", 0},
    {"newer_ep", 1},
};

FAMILY(srq_resize, grown_evd_holds, getters)
{
        struct queue queue = queue_with(t, 4);
        struct flow flows[2];
        DAT_COUNT size;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        must(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)));
        size = queue_places(t, &queue);
        expect_posts(t, &queue, size);

        size -= taken_ahead(t, &flows[!row->index], 1);
        flow_deliver(t, &flows[row->index], size);
        expect_messages(t, &queue, &flows[row->index], size);
}

/* Receives without completion events: those from before the resize, and later ones. */
CASE(srq_resize, ep_without_recv_evd)
{
        struct queue queue = queue_with(t, 4);
        struct flow flow = flow_unreported(t, &queue);
        DAT_COUNT size = srq_size_above(t, queue.srq, 28);
        DAT_COUNT places;

        queue_post(t, &queue, 4);
        expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
        places = queue_places(t, &queue);
        expect_that(places >= (size < SLOTS ? size : SLOTS), "%d receives granted, %d told", size,
                    places);
        expect_posts(t, &queue, places - 4);
        flow_send(&flow, places);
        for (int look = 0; look < LOOKS && !queue_holds_last(&queue, &flow); look++)
                settle_briefly(t);
        for (flow.sent = 1; flow.sent <= (uint64_t)places; flow.sent++)
                expect_that(queue_holds_last(&queue, &flow), "message %d of %d did not come",
                            (int)flow.sent, places);
        expect_eq(ep_state(t, flow.ep), DAT_EP_STATE_CONNECTED);
        /* Whether such receives count once their message has come is left open (SRQ-33). */
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS, DAT_INVALID_STATE);
        expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
}

/* By the next message, which completes. */
static void expect_woken(struct test *t, struct queue *queue, struct flow *flow,
                         struct waiter *waiter)
{
        struct woken woken;

        flow_send(flow, 1);
        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        check_message(t, queue, flow, 1, &woken.event.event_data.dto_completion_event_data);
}

/* A waiter that sleeps through the request. */
FAMILY(srq_resize, keeps_waiter, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct waiter *waiter;

        queue_post(t, &queue, 4);
        waiter = wait_on_evd(t, flow.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        must(resize(t, queue.srq, row, 4));
        expect_wait(waiter);
        expect_woken(t, &queue, &flow, waiter);
}

/* A waiter that comes after the request. */
FAMILY(srq_resize, later_waiter, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct waiter *waiter;

        queue_post(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));
        waiter = wait_on_evd(t, flow.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect_woken(t, &queue, &flow, waiter);
}

/* Of receives that were there, and of those that come: each of many packets. */
FAMILY(srq_resize, long_messages, changes)
{
        struct queue queue = queue_for(t, 16, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(resize(t, queue.srq, row, 4));
        expect_traffic(t, &queue, &flow, 2);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 4);
}

FAMILY(srq_resize, takes_cookies, changes)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(resize(t, queue.srq, row, 4));
        for (int i = 0; i < 4; i++) {
                DAT_LMR_TRIPLET segment = triplet(queue.buf, (size_t)i * MESSAGE, MESSAGE);

                expect(dat_srq_post_recv(queue.srq, 1, &segment,
                                         (DAT_DTO_COOKIE){.as_64 = WIDE_COOKIE(i)}),
                       DAT_SUCCESS);
        }

        flow_send(&flow, 4);
        for (uint64_t message = 0; message < 4; message++) {
                uint64_t receive = WIDE_COOKIE(expect_dto(flow.evd).user_cookie.as_64);

                expect_that(receive < 4, "a cookie that no receive has");
                expect_that(message_holds(queue.buf->addr + receive * MESSAGE, MESSAGE, message),
                            "receive %llu does not hold message %llu", (unsigned long long)receive,
                            (unsigned long long)message);
        }
}

FAMILY(srq_resize, keeps_attributes, changes)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16, .max_recv_iov = most < 2 ? most : 2);
        DAT_SRQ_PARAM before = srq_param(t, srq);

        must(resize(t, srq, row, 4));

        DAT_SRQ_PARAM after = srq_param(t, srq);
        DAT_SRQ_PARAM alone = {.max_recv_iov = 0};

        must(dat_srq_query(srq, DAT_SRQ_FIELD_MAX_RECV_IOV, &alone));
        expect_eq(after.max_recv_iov, before.max_recv_iov);
        expect_eq(alone.max_recv_iov, before.max_recv_iov);
        expect_eq(after.srq_state, before.srq_state);
        expect_that(after.ia_handle == before.ia_handle, "the SRQ is of another IA");
        expect_that(after.pz_handle == before.pz_handle, "the SRQ is of another PZ");
}
