/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: what a new size promises, what refuses it, and what no answer may lose. */
#include "clauses/srq_resize.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define MANY         50                   /* repetitions */
#define SEVERAL      3                    /* of what is done one by one */
#define DRAWN        16                   /* sizes, of a range */
#define STEPS        60                   /* by which a queue grows */
#define SIZES        70                   /* that are asked for one after another */
#define MOST_POSTS   65536                /* where the IA's limit is beyond counting */
#define ENOUGH       8                    /* calls that met messages on their way */
#define MOMENT_US    1000                 /* in which a message may make some of its way */
#define MOMENTS      3000                 /* in which any message has come */
#define SOON_MS      3                    /* until messages set out */

/*
 * Reaps a message that is there, or comes in a moment, of `pending` that were sent. `met` counts
 * how often some of them were still on their way: so was what the case did last.
 */
static bool reap_message(struct test *t, DAT_EVD_HANDLE evd, int pending, int *met,
                         DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
        DAT_COUNT more = 0;
        DAT_EVENT event;
        bool came = dat_is(dat_evd_wait(evd, MOMENT_US, 1, &event, &more), DAT_SUCCESS);

        if (!came || pending > more + 1)
                (*met)++;
        if (!came)
                return false;
        *dto = event.event_data.dto_completion_event_data;
        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(dto->status, DAT_DTO_SUCCESS);
        return true;
}

/* They set out a moment later: on a fast network, too, what the case does next meets them. */
static void flow_send_soon(struct flow *flow, int count)
{
        peer_send(flow->end, .count = count, .length = flow->length, .first = flow->sent,
                  .late_ms = SOON_MS);
        flow->sent += (uint64_t)count;
}

/*
 * The request, below what is outstanding, is refused; or it is granted with all as it was, which a
 * provider that never shrinks may do (SRQ-2).
 */
static void expect_refusal(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT request)
{
        DAT_SRQ_PARAM before = srq_param(t, srq);
        DAT_RETURN ret =
            expect_or_note(dat_srq_resize(srq, request), DAT_INVALID_STATE, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_kept(t, srq, &before);
}

/* All requests from `most` down, which are refused. */
static void expect_refusals(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT most)
{
        for (DAT_COUNT request = most; request > 0; request--)
                expect_refusal(t, srq, request);
}

/* An SRQ that has too few receives for its mark; the event of that is taken. */
static struct queue queue_below_mark(struct test *t, DAT_COUNT mark)
{
        struct queue queue = queue_with(t, 8);

        must(dat_srq_set_lw(queue.srq, mark));
        drain_async_event(t);
        return queue;
}

/*
 * Growing
 */

CASE(srq_resize, grow)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, srq_size_above(t, srq, 8)), DAT_SUCCESS);
}

CASE(srq_resize, grow_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT request = srq_size_above(t, srq, 8);

        must(dat_srq_resize(srq, request));

        DAT_COUNT size = srq_size(t, srq);
        expect_that(size >= request, "%d asked for, %d queried", request, size);
}

CASE(srq_resize, grow_room)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 8);

        must(dat_srq_resize(queue.srq, request));

        expect_room(t, &queue, request);
}

CASE(srq_resize, grow_by_one)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 1);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
        expect_room(t, &queue, request);
}

/* Full at each size: a place that is missing anywhere on the way shows. */
CASE(srq_resize, grow_step_by_step)
{
        struct queue queue = queue_with(t, 1);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        for (int step = 0; step < STEPS && full < ia_attr(t)->max_recv_per_srq; step++) {
                DAT_COUNT request = srq_size_above(t, queue.srq, 1 + step % 3);
                DAT_COUNT size;

                expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
                size = srq_size(t, queue.srq);
                expect_that(size >= request, "%d asked for, %d queried", request, size);
                expect_room(t, &queue, size - full);
                full = size;
        }
}

/* Up by one, and down by one: what a provider rounds it rounds up. */
CASE(srq_resize, to_each_size)
{
        struct queue queue = queue_with(t, 1);
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_COUNT most = limit < SIZES ? limit : SIZES;

        for (DAT_COUNT size = 1; size <= most; size++) {
                expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
                expect_that(srq_size(t, queue.srq) >= size, "%d asked for, %d queried", size,
                            srq_size(t, queue.srq));
        }
        for (DAT_COUNT size = most; size >= 1; size--) {
                DAT_COUNT old = srq_size(t, queue.srq);

                expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
                expect_that(srq_size(t, queue.srq) >= size && srq_size(t, queue.srq) <= old,
                            "%d asked for, of %d, and %d queried", size, old,
                            srq_size(t, queue.srq));
        }
}

CASE(srq_resize, grow_full_queue)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 4);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
        expect_room(t, &queue, request - full);
}

CASE(srq_resize, grow_to_ia_limit)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_RETURN ret =
            expect(dat_srq_resize(srq, limit), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for the %d receives that the IA gives an SRQ", limit);
        expect_that(srq_size(t, srq) >= limit, "%d asked for, %d queried", limit, srq_size(t, srq));
}

CASE(srq_resize, ia_limit_room)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        if (dat_is(dat_srq_resize(queue.srq, limit), DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for the %d receives that the IA gives an SRQ", limit);

        expect_room(t, &queue, limit < MOST_POSTS ? limit : MOST_POSTS);
}

/*
 * Shrinking, or not
 */

CASE(srq_resize, shrink)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        expect(dat_srq_resize(srq, 8), DAT_SUCCESS);
}

CASE(srq_resize, shrink_to_one)
{
        struct queue queue = queue_with(t, 16);

        expect(dat_srq_resize(queue.srq, 1), DAT_SUCCESS);

        expect_room(t, &queue, srq_size(t, queue.srq));
}

CASE(srq_resize, shrink_at_least_request)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        must(dat_srq_resize(srq, 8));

        expect_that(srq_size(t, srq) >= 8, "8 asked for, %d queried", srq_size(t, srq));
}

CASE(srq_resize, shrink_at_most_old_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);
        DAT_COUNT old = srq_size(t, srq);

        must(dat_srq_resize(srq, old - 1));

        expect_that(srq_size(t, srq) <= old, "shrunk from %d to %d", old, srq_size(t, srq));
}

CASE(srq_resize, shrink_room)
{
        struct queue queue = queue_with(t, 16);

        queue_post(t, &queue, 3);
        must(dat_srq_resize(queue.srq, 8));

        expect_room(t, &queue, 5);
}

CASE(srq_resize, shrink_quality)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 24);

        for (DAT_COUNT request = 17; request > 0; request /= 2) {
                DAT_COUNT old = srq_size(t, srq);

                expect(dat_srq_resize(srq, request), DAT_SUCCESS);

                DAT_COUNT size = srq_size(t, srq);
                expect_that(size >= request && size <= old, "%d asked for: from %d to %d", request,
                            old, size);
                record(t, "%d asked for: from %d to %d", request, old, size);
        }
}

CASE(srq_resize, same_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, srq_size(t, srq)), DAT_SUCCESS);
}

CASE(srq_resize, same_size_stays)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT old = srq_size(t, srq);

        must(dat_srq_resize(srq, old));

        expect_eq(srq_size(t, srq), old);
}

/*
 * What a granted request leaves as it was
 */

static const struct change {
        const char *id;
        enum { GROW, SHRINK, SAME_SIZE } how;
} changes[] = {
    {"grow", GROW},
    {"shrink", SHRINK},
    {"same_size", SAME_SIZE},
};

/* A shrink goes to the very number of receives outstanding. */
static DAT_RETURN resize(struct test *t, DAT_SRQ_HANDLE srq, const struct change *change,
                         DAT_COUNT outstanding)
{
        DAT_COUNT size = srq_size(t, srq);

        if (change->how == GROW)
                size = srq_size_above(t, srq, 8);
        else if (change->how == SHRINK)
                size = outstanding;
        return dat_srq_resize(srq, size);
}

/* Every size that a queue may have whose receives and mark ask for `least` is granted. */
static void expect_granted(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT least)
{
        expect(dat_srq_resize(srq, srq_size_above(t, srq, 4)), DAT_SUCCESS);
        expect(dat_srq_resize(srq, srq_size(t, srq)), DAT_SUCCESS);
        expect(dat_srq_resize(srq, least + 1), DAT_SUCCESS);
        expect(dat_srq_resize(srq, least), DAT_SUCCESS);
        expect(dat_srq_resize(srq, srq_size_above(t, srq, 1)), DAT_SUCCESS);
}

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
        must(dat_srq_set_lw(queue.srq, 3));
        must(resize(t, queue.srq, row, 4));

        expect_eq(srq_param(t, queue.srq).low_watermark, 3);
}

/* Twice the size and more, half of it and less, odd ones, and the mark itself. */
CASE(srq_resize, keeps_low_watermark_at_each)
{
        static const DAT_COUNT sizes[] = {9, 18, 40, 100, 33, 16, 5, 3, 4, 64, 3};
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 3);
        must(dat_srq_set_lw(queue.srq, 3));
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                if (sizes[i] > ia_attr(t)->max_recv_per_srq)
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
        expect_quiet(async_evd(t));
}

/* The queue is filled up to the mark, and falls below it, after the one event of that setting. */
FAMILY(srq_resize, keeps_watermark_spent, changes)
{
        struct queue queue = queue_below_mark(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        must(resize(t, queue.srq, row, 4));

        expect_posts(t, &queue, 4);
        flow_deliver(t, &flow, 1);
        expect_quiet(async_evd(t));
}

/* The cookies of receives of two segments: bits all over, and each one another. */
#define WIDE_COOKIE(i_) (UINT64_C(0xfedcba9876543210) ^ (uint64_t)(i_))
#define HALF            (MESSAGE / 2)

/* An SRQ whose receives may have two segments; where no IA has such, the case ends. */
static struct queue queue_of_segments(struct test *t, DAT_COUNT size)
{
        if (ia_attr(t)->max_iov_segments_per_dto < 2)
                unsupported(t, "max_iov_segments_per_dto: a receive has one segment at most");
        return (struct queue){.srq = srq_with(t, .max_recv_dtos = size, .max_recv_iov = 2),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE)};
}

/* Receives whose second segment lies before the first one. */
static void post_halves(struct test *t, const struct queue *queue, int count)
{
        for (int i = 0; i < count; i++) {
                size_t start = (size_t)i * MESSAGE;
                DAT_LMR_TRIPLET halves[] = {triplet(queue->buf, start + HALF, HALF),
                                            triplet(queue->buf, start, HALF)};

                expect(dat_srq_post_recv(queue->srq, 2, halves,
                                         (DAT_DTO_COOKIE){.as_64 = WIDE_COOKIE(i)}),
                       DAT_SUCCESS);
        }
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

/* By the next message, which it is told of. */
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
        expect_eq(after.max_recv_iov, before.max_recv_iov);
        expect_eq(after.srq_state, before.srq_state);
        expect_that(after.ia_handle == before.ia_handle, "the SRQ is of another IA");
        expect_that(after.pz_handle == before.pz_handle, "the SRQ is of another PZ");
}

/*
 * Below what is outstanding
 */

static const struct request {
        const char *id;
        int posts;
        DAT_COUNT size;
} below_posted[] = {
    {"by_one", 6, 5},
    {"by_far", 6, 1},
};

FAMILY(srq_resize, below_posted, below_posted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, row->posts);

        expect_refusal(t, queue.srq, row->size);
}

CASE(srq_resize, below_full_queue)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        expect_refusals(t, queue.srq, full - 1);
}

CASE(srq_resize, below_taken)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_DTO_COMPLETION_EVENT_DATA dto;
        int silent = 0;
        int met = 0;

        for (int window = 0; window < MANY && met < ENOUGH; window++) {
                queue_post(t, &queue, 4);
                flow_send_soon(&flow, 4);

                /* On its way from queue to EP to EVD, a receive counts at every moment. */
                for (DAT_COUNT outstanding = 4; outstanding > 1;) {
                        expect_refusal(t, queue.srq, outstanding - 1);
                        if (reap_message(t, flow.evd, outstanding, &met, &dto)) {
                                check_message(t, &queue, &flow, 1, &dto);
                                outstanding--;
                                silent = 0;
                        }
                        expect_that(silent++ < MOMENTS, "message %llu has not come",
                                    (unsigned long long)flow.received);
                }
                expect_messages(t, &queue, &flow, 1);
        }
        if (met < ENOUGH)
                note(t, "only %d requests met messages on their way: they are told of late", met);
}

/* Receives outstanding, of which each of `eps` endpoints has had `messages`, none reaped. */
static const struct outstanding {
        const char *id;
        int posts;
        int eps;
        int messages;
        bool one_evd;
} outstanding[] = {
    {"completed", .posts = 4, .eps = 1, .messages = 4},
    {"posted_and_completed", .posts = 6, .eps = 1, .messages = 3},
    {"completed_on_several_evds", .posts = 4, .eps = 2, .messages = 2},
    {"completed_by_several_eps", .posts = 4, .eps = 2, .messages = 2, .one_evd = true},
    {"posted_and_completed_on_several_evds", .posts = 8, .eps = 2, .messages = 2},
};

static DAT_SRQ_HANDLE srq_with_outstanding(struct test *t, const struct outstanding *row)
{
        struct queue queue = queue_with(t, 16);
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;

        queue_post(t, &queue, row->posts);
        for (int i = 0; i < row->eps; i++) {
                struct flow flow = flow_open(t, &queue, evd);

                flow_deliver(t, &flow, row->messages);
        }
        return queue.srq;
}

FAMILY(srq_resize, below_outstanding, outstanding)
{
        DAT_SRQ_HANDLE srq = srq_with_outstanding(t, row);

        expect_refusals(t, srq, row->posts - 1);
}

FAMILY(srq_resize, at_outstanding, outstanding)
{
        DAT_SRQ_HANDLE srq = srq_with_outstanding(t, row);

        expect(dat_srq_resize(srq, row->posts), DAT_SUCCESS);
}

FAMILY(srq_resize, granted_with_outstanding, outstanding)
{
        expect_granted(t, srq_with_outstanding(t, row), row->posts);
}

/* Of the receives of a queue, each of `eps` EPs has one for a message that is half there. */
static const struct half {
        const char *id;
        int posts;
        int eps;
        int completed; /* by the first EP before, none reaped */
} halves[] = {
    {"taken", .posts = 2, .eps = 2},
    {"posted_taken_and_completed", .posts = 4, .eps = 1, .completed = 2},
};

static struct queue half_received(struct test *t, const struct half *row, struct flow *flows)
{
        struct queue queue = queue_for(t, 8, COMING, (size_t)row->posts);

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, row->posts);
        if (row->completed)
                flow_deliver(t, &flows[0], row->completed);
        flows_hold(t, &queue, flows, row->eps);
        return queue;
}

FAMILY(srq_resize, below_half_received, halves)
{
        struct flow flows[2];
        struct queue queue = half_received(t, row, flows);

        expect_refusal(t, queue.srq, row->posts - 1);
        must_be_coming(t, &queue, flows, row->eps);
}

FAMILY(srq_resize, at_half_received, halves)
{
        struct flow flows[2];
        struct queue queue = half_received(t, row, flows);

        expect(dat_srq_resize(queue.srq, row->posts), DAT_SUCCESS);
        must_be_coming(t, &queue, flows, row->eps);
}

FAMILY(srq_resize, granted_half_received, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        expect(resize(t, queue.srq, row, half.posts), DAT_SUCCESS);
        must_be_coming(t, &queue, &flow, 1);
}

FAMILY(srq_resize, keeps_half_received, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        must(resize(t, queue.srq, row, half.posts));
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

/* What the EP had taken is flushed to it, once, and the rest is not. */
FAMILY(srq_resize, keeps_half_received_flushed, changes)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);
        uint64_t taken = message_holds(queue.buf->addr, MESSAGE, 0) ? 0 : 1;

        must(resize(t, queue.srq, row, half.posts));
        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        must_be_coming(t, &queue, &flow, 1);

        reap_disconnected(t, &queue, &flow);
        expect_that(!(queue.posted >> taken & 1),
                    "the receive of a message that was half there was not flushed");
        if (queue.posted)
                expect_rest_usable(t, &queue);
}

CASE(srq_resize, refusal_keeps_half_received)
{
        const struct half half = {.posts = 2, .eps = 1};
        struct flow flow;
        struct queue queue = half_received(t, &half, &flow);

        (void)dat_srq_resize(queue.srq, 1);
        must_be_coming(t, &queue, &flow, 1);

        expect_messages(t, &queue, &flow, 1);
}

CASE(srq_resize, at_posted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);

        expect(dat_srq_resize(queue.srq, 6), DAT_SUCCESS);
}

/* What a receive is made of: it counts as one. */
static const struct made_of {
        const char *id;
        bool segments;
} made_of[] = {
    {"several_segments", true},
    {"no_segments", false},
};

static DAT_SRQ_HANDLE srq_with_receives(struct test *t, const struct made_of *row, int count)
{
        struct queue queue = row->segments ? queue_of_segments(t, 8) : queue_with(t, 8);

        if (row->segments)
                post_halves(t, &queue, count);
        for (int i = 0; i < count && !row->segments; i++)
                expect(dat_srq_post_recv(queue.srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return queue.srq;
}

FAMILY(srq_resize, below_receives_of, made_of)
{
        expect_refusals(t, srq_with_receives(t, row, 6), 5);
}

FAMILY(srq_resize, at_receives_of, made_of)
{
        expect_granted(t, srq_with_receives(t, row, 6), 6);
}

/* Of three receives one has met a message that it cannot hold; its completion stands unreaped. */
static struct queue queue_with_failure(struct test *t, struct flow *flow)
{
        struct queue queue = queue_with(t, 8);

        *flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 3);
        peer_send(flow->end, .length = MESSAGE + 1);
        settle(t);
        return queue;
}

/* Reaps all that have failed; returns how many these are. */
static DAT_COUNT reap_failed(struct test *t, const struct flow *flow)
{
        DAT_EVENT event = must_event(flow->evd, DAT_DTO_COMPLETION_EVENT);
        DAT_COUNT failed = 0;

        do {
                must_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                          "a receive held more than it can");
                failed++;
        } while (dat_is(dat_evd_dequeue(flow->evd, &event), DAT_SUCCESS));
        return failed;
}

CASE(srq_resize, below_failed)
{
        struct flow flow;
        struct queue queue = queue_with_failure(t, &flow);

        expect_refusals(t, queue.srq, 2);
        reap_failed(t, &flow);
}

CASE(srq_resize, after_reaping_failed)
{
        struct flow flow;
        struct queue queue = queue_with_failure(t, &flow);

        expect_granted(t, queue.srq, 3 - reap_failed(t, &flow));
}

CASE(srq_resize, below_completed_of_disconnected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        flow_break(t, &flow);

        expect_refusal(t, queue.srq, 3);
}

CASE(srq_resize, granted_with_completed_of_disconnected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        flow_break(t, &flow);

        expect_granted(t, queue.srq, 4);
}

CASE(srq_resize, below_completed_on_changed_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        flow_deliver(t, &flow, 3);
        for (int turn = 0; turn < EVD_TURNS; turn++) {
                evd_turn(t, flow.evd, turn);
                expect_refusal(t, queue.srq, 2);
                expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        }
}

static DAT_RETURN reap_by_wait(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        DAT_COUNT more;

        return dat_evd_wait(evd, 0, 1, event, &more);
}

static DAT_RETURN reap_by_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
        return dat_evd_dequeue(evd, event);
}

static const struct reaping {
        const char *id;
        DAT_RETURN (*reap)(DAT_EVD_HANDLE evd, DAT_EVENT *event);
} reapings[] = {
    {"wait", reap_by_wait},
    {"dequeue", reap_by_dequeue},
};

FAMILY(srq_resize, after_reaping, reapings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EVENT event;

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        (void)dat_srq_resize(queue.srq, 3);
        must(row->reap(flow.evd, &event));

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
}

/*
 * What is not outstanding on the SRQ
 */

CASE(srq_resize, other_srq_not_counted)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        struct queue other = queue_with(t, 8);

        queue_post(t, &other, 6);

        expect(dat_srq_resize(srq, 2), DAT_SUCCESS);
}

/* Which of several SRQs, in the order of their making, the request is for. */
static const struct chosen {
        const char *id;
        int index;
} chosen[] = {
    {"first", 0},
    {"middle", 1},
    {"last", 2},
};

FAMILY(srq_resize, other_srq_untouched, chosen)
{
        struct queue queues[3];
        DAT_SRQ_PARAM before[3];

        for (int i = 0; i < 3; i++) {
                queues[i] = queue_with(t, 8);
                queue_post(t, &queues[i], 1 + i);
                before[i] = srq_param(t, queues[i].srq);
        }
        DAT_SRQ_HANDLE srq = queues[row->index].srq;
        DAT_COUNT request = srq_size_above(t, srq, 8);

        expect(dat_srq_resize(srq, request), DAT_SUCCESS);

        expect_that(srq_size(t, srq) >= request, "%d asked for, %d queried", request,
                    srq_size(t, srq));
        for (int i = 0; i < 3; i++) {
                if (i == row->index)
                        continue;
                expect_kept(t, queues[i].srq, &before[i]);
                expect_room(t, &queues[i], before[i].max_recv_dtos - 1 - i);
        }
}

/* Receives, messages and mark of an SRQ while another one is resized. */
FAMILY(srq_resize, other_srq_serves, changes)
{
        DAT_SRQ_HANDLE before = srq_with(t, .max_recv_dtos = 16);
        struct armed armed = armed_with(t, 6, 6);
        DAT_SRQ_HANDLE after = srq_with(t, .max_recv_dtos = 16);

        must(resize(t, before, row, 4));
        must(resize(t, after, row, 4));
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 3);
        expect_mark_event(t, &armed);
        must(resize(t, before, row, 4));
        must(resize(t, after, row, 4));
        expect_messages(t, &armed.queue, &armed.flow, 3);
        expect_traffic(t, &armed.queue, &armed.flow, 3);
        expect_quiet(armed.flow.evd);
}

/* Their EPs' completions stand on one EVD: each counts for its own SRQ. */
CASE(srq_resize, other_srq_on_evd)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, evd);
        struct flow beside = flow_open(t, &other, evd);
        DAT_SRQ_PARAM before;

        queue_post(t, &queue, 2);
        queue_post(t, &other, 5);
        flow_deliver(t, &beside, 3);
        before = srq_param(t, other.srq);

        expect_granted(t, queue.srq, 2);
        expect_refusal(t, queue.srq, 1);
        expect_refusal(t, other.srq, 4);
        expect_granted(t, other.srq, 5);
        before.max_recv_dtos = srq_size(t, other.srq);
        expect_kept(t, other.srq, &before);

        expect_messages(t, &other, &beside, 3);
        expect_traffic(t, &queue, &flow, 2);
        expect_traffic(t, &other, &beside, 2);
        expect_quiet(evd);
}

CASE(srq_resize, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_PZ_HANDLE zone = pz_of(t, other);
        struct queue own = queue_with(t, 8);
        struct queue queue = {
            .srq = srq_with(t, .ia = other, .pz = zone, .max_recv_dtos = 8),
            .length = MESSAGE,
            .buf = buf_with(t, .ia = other, .pz = zone, .length = MESSAGE),
        };
        DAT_SRQ_PARAM before = srq_param(t, own.srq);
        DAT_COUNT request = srq_size_above(t, queue.srq, 8);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);

        expect_room(t, &queue, request);
        expect_kept(t, own.srq, &before);
}

CASE(srq_resize, plain_ep_not_counted)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flow = flow_open(t, &queue, evd);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end, .count = 4, .length = MESSAGE);
        peer_wait_sent(end);
        queue_post(t, &queue, 2);
        flow_deliver(t, &flow, 1);

        expect(dat_srq_resize(queue.srq, 2), DAT_SUCCESS);
}

CASE(srq_resize, requests_not_counted)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 2);
        flow_with_sends(t, &queue, 2);

        expect(dat_srq_resize(queue.srq, 2), DAT_SUCCESS);
}

/*
 * What a refused request leaves as it was. The answer is for other cases to judge.
 */

#define BEYOND INT_MIN + 1 /* stands for one above the IA's limit */

/* Requests that are refused of a queue that has 6 receives. */
static const struct refusal {
        const char *id;
        DAT_COUNT size;
} refusals[] = {
    {"below_by_one", 5}, {"below_by_far", 1},        {"zero", 0},           {"minus_one", -1},
    {"least", INT_MIN},  {"above_ia_limit", BEYOND}, {"greatest", INT_MAX},
};

static void refuse(struct test *t, DAT_SRQ_HANDLE srq, const struct refusal *row)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_COUNT request = row->size;

        if (request == BEYOND)
                request = limit < INT_MAX ? limit + 1 : INT_MAX;
        if (dat_is(dat_srq_resize(srq, request), DAT_SUCCESS) && request > 6)
                end_noted(t, "%d granted, above the IA's own max_recv_per_srq of %d (SRQ-17)",
                          request, limit);
}

FAMILY(srq_resize, refusal_keeps_parameters, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        refuse(t, queue.srq, row);

        expect_kept(t, queue.srq, &before);
}

FAMILY(srq_resize, refusal_keeps_room, refusals)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_room(t, &queue, size - 6);
}

FAMILY(srq_resize, refusal_keeps_available_count, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_count(t, srq_param(t, queue.srq).available_dto_count, 6);
}

FAMILY(srq_resize, refusal_keeps_outstanding_count, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_count(t, srq_param(t, queue.srq).outstanding_dto_count, 6);
}

FAMILY(srq_resize, refusal_keeps_low_watermark, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        must(dat_srq_set_lw(queue.srq, 4));
        refuse(t, queue.srq, row);

        expect_eq(srq_param(t, queue.srq).low_watermark, 4);
}

FAMILY(srq_resize, refusal_keeps_watermark_armed, refusals)
{
        struct armed armed = armed_with(t, 6, 6);

        refuse(t, armed.queue.srq, row);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

/* Its event has come; receives are fewer than it at each refusal, and later again. */
CASE(srq_resize, refusal_keeps_watermark_spent)
{
        static const DAT_COUNT sizes[] = {3, 2, 1, 0, -1, INT_MIN};
        struct queue queue = queue_below_mark(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                (void)dat_srq_resize(queue.srq, sizes[i]);
                expect_quiet(async_evd(t));
        }

        queue_post(t, &queue, 2);
        flow_deliver(t, &flow, 2);
        expect_quiet(async_evd(t));
}

FAMILY(srq_resize, refusal_keeps_buffers, refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_traffic(t, &queue, &flow, 6);
        expect_quiet(flow.evd);
}

FAMILY(srq_resize, refusal_keeps_completions, refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 6);
        refuse(t, queue.srq, row);

        expect_messages(t, &queue, &flow, 6);
        expect_quiet(flow.evd);
}

/* Refused more than once, so that what each refusal keeps for itself adds up. */
FAMILY(srq_resize, granted_after_refusal, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        for (int i = 0; i < MANY; i++)
                refuse(t, queue.srq, row);

        expect_granted(t, queue.srq, 6);
        expect_room(t, &queue, srq_size(t, queue.srq) - 6);
}

/* Each of these is refused several times, so that what each refusal keeps for itself adds up. */
CASE(srq_resize, granted_after_other_refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        for (int turn = 0; turn < VAIN_TURNS; turn++) {
                for (int i = 0; i < SEVERAL; i++)
                        vain_turn(t, &queue, &flow, turn);
                expect_granted(t, queue.srq, 4);
        }

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_resize, granted_after_requests)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_with_requests(t, &queue);

        queue_post(t, &queue, 4);
        expect_granted(t, queue.srq, 4);

        expect_traffic(t, &queue, &flow, 4);
}

/*
 * The low watermark
 */

CASE(srq_resize, below_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        expect(dat_srq_resize(queue.srq, 3), DAT_INVALID_STATE);
}

/* Of a queue with `posts` receives, every size below a mark of `mark`, or at the size for 0. */
static const struct mark {
        const char *id;
        int posts;
        DAT_COUNT mark;
} marks[] = {
    {"armed", .posts = 6, .mark = 4},
    {"armed_at_receives", .posts = 4, .mark = 4},
    {"too_few_receives", .posts = 2, .mark = 4},
    {"at_size", .posts = 0, .mark = 0},
};

FAMILY(srq_resize, below_low_watermark_when, marks)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT mark = row->mark ? row->mark : srq_size(t, queue.srq);

        queue_post(t, &queue, row->posts);
        must(dat_srq_set_lw(queue.srq, mark));
        drain_async_event(t);

        for (DAT_COUNT request = mark - 1; request > 0; request--)
                expect(dat_srq_resize(queue.srq, request), DAT_INVALID_STATE);
}

CASE(srq_resize, below_low_watermark_keeps_parameters)
{
        struct queue queue = queue_below_mark(t, 4);

        queue_post(t, &queue, 2);
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        (void)dat_srq_resize(queue.srq, 3);

        expect_kept(t, queue.srq, &before);
}

CASE(srq_resize, below_low_watermark_keeps_size)
{
        struct queue queue = queue_below_mark(t, 4);
        DAT_COUNT size = srq_size(t, queue.srq);

        (void)dat_srq_resize(queue.srq, 3);

        expect_eq(srq_size(t, queue.srq), size);
        expect_room(t, &queue, size);
}

CASE(srq_resize, below_low_watermark_keeps_mark)
{
        struct queue queue = queue_below_mark(t, 4);

        (void)dat_srq_resize(queue.srq, 3);

        expect_eq(srq_param(t, queue.srq).low_watermark, 4);
}

CASE(srq_resize, below_low_watermark_keeps_armed)
{
        struct armed armed = armed_with(t, 4, 4);

        (void)dat_srq_resize(armed.queue.srq, 3);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_resize, below_low_watermark_keeps_buffers)
{
        struct queue queue = queue_below_mark(t, 6);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        (void)dat_srq_resize(queue.srq, 4);

        expect_traffic(t, &queue, &flow, 3);
}

CASE(srq_resize, at_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_resize, at_low_watermark_and_outstanding)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));

        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_resize, granted_after_below_low_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        for (int i = 0; i < MANY; i++)
                (void)dat_srq_resize(queue.srq, 3);

        expect_granted(t, queue.srq, 4);
        expect_room(t, &queue, srq_size(t, queue.srq));
}

CASE(srq_resize, after_lowering_watermark)
{
        struct queue queue = queue_below_mark(t, 4);

        (void)dat_srq_resize(queue.srq, 3);
        must(dat_srq_set_lw(queue.srq, 2));

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
}

CASE(srq_resize, after_raising_watermark)
{
        struct queue queue = queue_below_mark(t, 2);

        must(dat_srq_set_lw(queue.srq, 5));
        drain_async_event(t);

        expect(dat_srq_resize(queue.srq, 4), DAT_INVALID_STATE);
        expect(dat_srq_resize(queue.srq, 5), DAT_SUCCESS);
}

/*
 * Messages on their way
 */

#define BATCH 12             /* messages that one flow is sent at a time */
#define LEFT  6              /* of them, when the next flow is sent its own */
#define LEAST (LEFT + BATCH) /* the smallest size that holds them */
#define MOST  (LEAST + 24)
#define TURNS 20

static const struct traffic {
        const char *id;
        enum { GROWING, SHRINKING, ALTERNATING } how;
        int eps;
        bool one_evd;
} traffic[] = {
    {"growing", GROWING, .eps = 1},
    {"shrinking", SHRINKING, .eps = 1},
    {"alternating", ALTERNATING, .eps = 1},
    {"several_eps", ALTERNATING, .eps = 3},
    {"several_eps_on_one_evd", SHRINKING, .eps = 3, .one_evd = true},
};

static DAT_COUNT size_at(struct test *t, const struct traffic *row, int step)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_COUNT most = limit < MOST ? limit : MOST;

        if (row->how == ALTERNATING)
                return step % 2 ? most : LEAST;
        if (step > most - LEAST)
                step = most - LEAST;
        return row->how == GROWING ? LEAST + step : most - step;
}

static int pending(const struct flow *flow)
{
        return (int)(flow->sent - flow->received);
}

/* The flow whose EVD is looked at next: in turn, one that has messages to come. */
static struct flow *flow_due(struct flow *flows, const struct traffic *row, int step)
{
        if (row->one_evd)
                return flows;
        while (pending(&flows[step % row->eps]) == 0)
                step++;
        return &flows[step % row->eps];
}

/* Where messages are told of late, they are seldom met: the turns end, and so the case takes long.
 */
FAMILY(srq_resize, no_message_lost, traffic, DEADLINE_MS(20000))
{
        struct queue queue = queue_for(t, LEAST, LONG_MESSAGE, LEAST);
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;
        struct flow flows[3] = {{.ep = DAT_HANDLE_NULL}};
        DAT_DTO_COMPLETION_EVENT_DATA dto;
        int silent = 0;
        int met = 0;
        int step = 0;

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, &queue, evd);

        for (int turn = 0; turn < TURNS && (turn < 3 + row->eps || met < ENOUGH); turn++) {
                queue_post(t, &queue, BATCH);
                flow_send_soon(&flows[turn % row->eps], BATCH);
                for (int left = __builtin_popcountll(queue.posted); left > LEFT;) {
                        struct flow *flow = flow_due(flows, row, step);
                        int due = row->one_evd ? left : pending(flow);

                        expect(dat_srq_resize(queue.srq, size_at(t, row, step++)), DAT_SUCCESS);
                        if (reap_message(t, flow->evd, due, &met, &dto)) {
                                check_message(t, &queue, flows, row->eps, &dto);
                                left--;
                                silent = 0;
                        }
                        expect_that(silent++ < MOMENTS, "message %llu has not come",
                                    (unsigned long long)flow->received);
                }
        }
        while (queue.posted) {
                dto = expect_dto(flow_due(flows, row, 0)->evd);
                check_message(t, &queue, flows, row->eps, &dto);
        }
        if (met < ENOUGH)
                note(t, "only %d of %d resizes met messages on their way: they are told of late",
                     met, step);
        record(t, "%d of %d resizes met messages on their way", met, step);
        expect_quiet(flows[0].evd);
}

/*
 * The endpoints of the SRQ
 */

FAMILY(srq_resize, while_ep, consumer_ep_states)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = queue.srq);
        DAT_EP_STATE before = ep_state(t, ep);

        queue_post(t, &queue, 4);
        expect_granted(t, queue.srq, 4);

        expect_ep_state_kept(t, ep, before);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_resize, unconnected_ep)
{
        struct queue queue = queue_with(t, 8);

        ep_with(t, .srq = queue.srq);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

CASE(srq_resize, connected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);

        queue_post(t, &queue, 1);
        expect_traffic(t, &queue, &flow, 1);
}

/* What was made for four messages holds the rest, from the first to the last. */
CASE(srq_resize, connected_ep_fills)
{
        struct queue queue = queue_with(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT places;

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 12)), DAT_SUCCESS);

        places = queue_places(t, &queue);
        queue_post(t, &queue, places);
        expect_traffic(t, &queue, &flow, places);
}

CASE(srq_resize, disconnected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow gone = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_break(t, &gone);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

/* One of them connected, one not yet, one not any more, and one that is freed. */
CASE(srq_resize, eps_of_all_kinds)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow gone = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow freed = flow_open(t, &queue, DAT_HANDLE_NULL);

        ep_with(t, .srq = queue.srq);
        flow_break(t, &gone);
        flow_break(t, &freed);
        release(t, freed.ep);
        queue_post(t, &queue, 4);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect_traffic(t, &queue, &flow, 1);
        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        expect_traffic(t, &queue, &flow, 3);
}

/* With receives on it, that nobody takes any more. */
CASE(srq_resize, freed_after)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        for (int i = 0; i < MANY; i++)
                must(dat_srq_resize(queue.srq, i % 2 ? 4 : srq_size_above(t, queue.srq, 8)));

        expect(dat_srq_free(queue.srq), DAT_SUCCESS);
        disown(t, queue.srq);
}

FAMILY(srq_resize, later_ep, changes)
{
        struct queue queue = queue_with(t, 16);

        must(resize(t, queue.srq, row, 4));

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_resize, repeated)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        DAT_COUNT more = srq_size_above(t, queue.srq, 32);

        queue_post(t, &queue, 4);
        for (int i = 0; i < MANY; i++) {
                expect(dat_srq_resize(queue.srq, more), DAT_SUCCESS);
                expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
        }

        expect_traffic(t, &queue, &flow, 4);
}

/*
 * Arguments
 */

static const struct argument {
        const char *id;
        DAT_COUNT size;
} negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

static void refuse_negative(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT size)
{
        expect(dat_srq_resize(srq, size), DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
}

FAMILY(srq_resize, negative, negative)
{
        refuse_negative(t, srq_with(t, .max_recv_dtos = 8), row->size);
}

CASE(srq_resize, each_negative)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        for (int bit = 1; bit < 31; bit++)
                refuse_negative(t, srq, -(1 << bit));
        for (int i = 0; i < DRAWN; i++)
                refuse_negative(t, srq, -2 - (DAT_COUNT)draw(t, INT_MAX - 1));
}

static const struct argument too_large[] = {
    {"above_ia_limit", 0},
    {"greatest", INT_MAX},
};

static void ask_for_too_much(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT request)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;
        DAT_RETURN ret = expect(dat_srq_resize(srq, request), DAT_INVALID_PARAMETER,
                                DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_that(srq_size(t, srq) >= request, "%d asked for, %d queried", request,
                    srq_size(t, srq));
        if (request > limit)
                note(t, "%d granted, above the IA's own max_recv_per_srq of %d", request, limit);
}

FAMILY(srq_resize, too_large, too_large)
{
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        ask_for_too_much(t, srq_with(t, .max_recv_dtos = 8),
                         row->size || limit == INT_MAX ? INT_MAX : limit + 1);
}

CASE(srq_resize, each_too_large)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT limit = ia_attr(t)->max_recv_per_srq;

        for (int bit = 3; bit < 31; bit++)
                if (1 << bit > limit)
                        ask_for_too_much(t, srq, 1 << bit);
        for (int i = 0; i < DRAWN && limit < INT_MAX; i++)
                ask_for_too_much(t, srq,
                                 limit + 1 + (DAT_COUNT)draw(t, (uint64_t)(INT_MAX - limit)));
}

CASE(srq_resize, zero)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, 0), DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_SUCCESS);
}

CASE(srq_resize, zero_then_grow)
{
        struct queue queue = queue_with(t, 8);

        (void)dat_srq_resize(queue.srq, 0);

        expect(dat_srq_resize(queue.srq, 8), DAT_SUCCESS);
        expect_room(t, &queue, 8);
}

CASE(srq_resize, zero_below_outstanding)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        queue_post(t, &queue, 2);

        DAT_RETURN ret = expect(dat_srq_resize(queue.srq, 0), DAT_INVALID_STATE,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                note(t, "granted, with 2 receives outstanding (SRQ-2)");
        expect_eq(srq_size(t, queue.srq), size);
}

LEGAL(srq_resize)
{
        call->srq_handle = srq_with(t, .max_recv_dtos = 8);
        call->srq_max_recv_dto = 8;
}
