/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: the counts. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_query/fixtures.h"
#include "clauses/srq_query.h"

#define COUNTS       (DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT | DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define IN_TURN      33                   /* times 16 receives */

/* The steps of the page's example: 3 receives posted, a message there, its completion reaped. */
static const struct step {
        const char *id;
        bool arrived;
        bool reaped;
        DAT_COUNT available;
        DAT_COUNT outstanding;
} steps[] = {
    {"posted", .available = 3, .outstanding = 3},
    {"arrived", .arrived = true, .available = 2, .outstanding = 3},
    {"dequeued", .arrived = true, .reaped = true, .available = 2, .outstanding = 2},
};

static struct queue example(struct test *t, const struct step *step, struct flow *flow)
{
        struct queue queue = queue_with(t, 10);

        *flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 3);
        if (step->arrived)
                flow_deliver(t, flow, 1);
        if (step->reaped)
                must_dto(flow->evd);
        return queue;
}

FAMILY(srq_query, example_size, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);
        DAT_COUNT size = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO).max_recv_dtos;

        expect_that(size >= 10, "10 asked for, %d queried", size);
        expect_room(t, &queue, size - row->outstanding);
}

FAMILY(srq_query, example_available, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);

        expect_available(t, available(t, queue.srq), &flow, 1, row->available);
}

FAMILY(srq_query, example_outstanding, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);

        expect_count(t, outstanding(t, queue.srq), row->outstanding);
}

FAMILY(srq_query, example_at_once, steps)
{
        struct flow flow;
        struct queue queue = example(t, row, &flow);
        DAT_SRQ_PARAM param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);

        expect_available(t, param.available_dto_count, &flow, 1, row->available);
        expect_count(t, param.outstanding_dto_count, row->outstanding);
}

/* How many of the queue's places have a receive. */
static const struct filling {
        const char *id;
        bool full;
} fillings[] = {
    {"empty", false},
    {"full", true},
};

static DAT_SRQ_HANDLE filled(struct test *t, const struct filling *row, DAT_COUNT *posts)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        struct buf *buf = buf_with(t);

        *posts = row->full ? srq_fill(t, srq, buf) : 0;
        return srq;
}

FAMILY(srq_query, available_when, fillings)
{
        DAT_COUNT posts;
        DAT_SRQ_HANDLE srq = filled(t, row, &posts);

        expect_count(t, available(t, srq), posts);
}

FAMILY(srq_query, outstanding_when, fillings)
{
        DAT_COUNT posts;
        DAT_SRQ_HANDLE srq = filled(t, row, &posts);

        expect_count(t, outstanding(t, srq), posts);
}

/* Each number between none and a full queue, up by posting and down by messages. */
CASE(srq_query, available_at_each_step)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (DAT_COUNT posted = 1; posted <= 8; posted++) {
                queue_post(t, &queue, 1);
                expect_available(t, available(t, queue.srq), &flow, 1, posted);
        }
        for (DAT_COUNT left = 7; left >= 0; left--) {
                expect_traffic(t, &queue, &flow, 1);
                expect_available(t, available(t, queue.srq), &flow, 1, left);
        }
}

CASE(srq_query, outstanding_at_each_step)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (DAT_COUNT posted = 1; posted <= 8; posted++) {
                queue_post(t, &queue, 1);
                expect_count(t, outstanding(t, queue.srq), posted);
        }
        flow_deliver(t, &flow, 8);
        for (DAT_COUNT left = 8; left > 0; left--) {
                expect_count(t, outstanding(t, queue.srq), left);
                expect_messages(t, &queue, &flow, 1);
        }
        expect_count(t, outstanding(t, queue.srq), 0);
}

CASE(srq_query, counts_of_many)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_COUNT size = HUNDREDS < limit ? HUNDREDS : limit;
        struct queue queue = queue_with(t, size);

        for (DAT_COUNT posted = 1; posted <= size; posted++) {
                DAT_SRQ_PARAM param;

                expect_room(t, &queue, 1);
                param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
                expect_count(t, param.available_dto_count, posted);
                expect_count(t, param.outstanding_dto_count, posted);
        }
}

FAMILY(srq_query, outstanding_reaped_by, reap_calls)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EVENT event;

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 5);
        for (DAT_COUNT left = 5; left > 0; left--) {
                expect_count(t, outstanding(t, queue.srq), left);
                must(row->take(flow.evd, left, &event));
        }
        expect_count(t, outstanding(t, queue.srq), 0);
}

/* The completion goes to a thread that waits for it when it comes. */
CASE(srq_query, outstanding_reaped_by_waiter)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        for (DAT_COUNT left = 3; left > 0; left--) {
                struct waiter *waiter = wait_on_evd(t, flow.evd, DAT_TIMEOUT_INFINITE, 1);

                must_wait(waiter);
                expect_count(t, outstanding(t, queue.srq), left);
                flow_send(&flow, 1);
                must(must_awake(waiter).ret);
                expect_count(t, outstanding(t, queue.srq), left - 1);
        }
}

/* No receive is there for it at first. */
CASE(srq_query, counts_while_message_waits)
{
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow sibling = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow beside = flow_open(t, &other, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM param;

        flow_send(&flow, 1);
        settle(t);
        queue_post(t, &other, 2);
        flow_deliver(t, &beside, 2);
        param = srq_query_queried(t, other.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.available_dto_count, 0);
        expect_count(t, param.outstanding_dto_count, 2);
        param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.available_dto_count, 0);
        expect_count(t, param.outstanding_dto_count, 0);

        queue_post(t, &queue, 1);
        peer_wait_sent(flow.end);
        settle(t);
        param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.available_dto_count, 0);
        expect_count(t, param.outstanding_dto_count, 1);
        queue_post(t, &queue, 1);
        flow_deliver(t, &sibling, 1);
        param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.available_dto_count, 0);
        expect_count(t, param.outstanding_dto_count, 2);
        expect_messages(t, &queue, &flow, 1);
        expect_messages(t, &queue, &sibling, 1);
        expect_count(t, outstanding(t, queue.srq), 0);
}

#define UNREAPED 40

CASE(srq_query, counts_of_many_unreaped)
{
        struct queue queue = queue_with(t, UNREAPED + 3);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, UNREAPED + 3);
        flow_deliver(t, &flow, UNREAPED);
        for (DAT_COUNT left = UNREAPED; left >= 0; left--) {
                DAT_SRQ_PARAM param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);

                expect_available(t, param.available_dto_count, &flow, 1, 3);
                expect_count(t, param.outstanding_dto_count, left + 3);
                if (left > 0)
                        expect_messages(t, &queue, &flow, 1);
        }
}

CASE(srq_query, available_are_taken)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        expect_available(t, available(t, queue.srq), &flow, 1, 5);

        expect_traffic(t, &queue, &flow, 5);
        expect_count(t, available(t, queue.srq), 0);
}

CASE(srq_query, outstanding_leaves_room)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 5);
        flow_deliver(t, &flow, 3);

        DAT_SRQ_PARAM param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_count(t, param.outstanding_dto_count, 5);
        expect_room(t, &queue, param.max_recv_dtos - 5);
}

/* Where the completions of two EPs go. */
static const struct evds {
        const char *id;
        bool shared;
} evds[] = {
    {"own_evds", false},
    {"one_evd", true},
};

/* Of 8 receives, 2 EPs have had 2 and 1 messages, none reaped. */
static struct queue with_two_eps(struct test *t, const struct evds *row, struct flow *flows)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = row->shared ? evd_with(t) : DAT_HANDLE_NULL;

        for (int i = 0; i < 2; i++)
                flows[i] = flow_open(t, &queue, evd);
        queue_post(t, &queue, 8);
        for (int i = 0; i < 2; i++)
                flow_deliver(t, &flows[i], 2 - i);
        return queue;
}

FAMILY(srq_query, available_to_several_eps, evds)
{
        struct flow flows[2];
        struct queue queue = with_two_eps(t, row, flows);

        expect_available(t, available(t, queue.srq), flows, 2, 5);
}

FAMILY(srq_query, outstanding_at_several_eps, evds)
{
        struct flow flows[2];
        struct queue queue = with_two_eps(t, row, flows);

        expect_count(t, outstanding(t, queue.srq), 8);
}

/* An RDMA write of the remote EP is no message. */
CASE(srq_query, counts_after_rdma_write)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM before;

        queue_post(t, &queue, 3);
        before = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        flow_is_written_to(t, &flow);
        settle(t);
        expect_kept(t, queue.srq, &before);
}

/* It reports no completion, and takes receives like others. */
CASE(srq_query, available_to_unreported_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_unreported(t, &queue);

        queue_post(t, &queue, 5);
        expect_available(t, available(t, queue.srq), &flow, 1, 5);
        flow_deliver(t, &flow, 2);
        expect_available(t, available(t, queue.srq), &flow, 1, 3);
}

/* Of 5 receives 2 are unreaped, so that the counts differ; the mark's event comes with them. */
CASE(srq_query, counts_under_mark)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM param;

        queue_post(t, &queue, 5);
        must(dat_srq_set_lw(queue.srq, 4));
        flow_deliver(t, &flow, 2);

        expect_available(t, available(t, queue.srq), &flow, 1, 3);
        expect_count(t, outstanding(t, queue.srq), 5);
        param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);
        expect_available(t, param.available_dto_count, &flow, 1, 3);
        expect_count(t, param.outstanding_dto_count, 5);
}

/* Of 7 receives 4 have their message, and of these one is reaped. */
CASE(srq_query, every_mask_in_use)
{
        const unsigned int counts =
            DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT | DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT;
        struct queue queue = queue_with(t, KNOWN_DTOS);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct known known = {.srq = queue.srq, .iov = 1, .pz = pz(t), .buf = queue.buf};

        queue_post(t, &queue, 7);
        flow_deliver(t, &flow, 4);
        expect_messages(t, &queue, &flow, 1);
        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++) {
                DAT_SRQ_PARAM param = check_fields_but(t, &known, mask, counts);

                if (mask & DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT)
                        expect_available(t, param.available_dto_count, &flow, 1, 3);
                if (mask & DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT)
                        expect_count(t, param.outstanding_dto_count, 6);
        }
}

CASE(srq_query, available_by_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                queue_post(t, &queue, 5);
                flow_deliver(t, &flow, 2);
                expect_available(t, available(t, queue.srq), &flow, 1, 3);
        }
}

/* Whichever way the EP was connected. */
CASE(srq_query, available_after_disconnect)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                DAT_COUNT left = 3;
                DAT_EVENT event;
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                queue_post(t, &queue, 5);
                flow_deliver(t, &flow, 2);
                flow_break(t, &flow);
                expect_messages(t, &queue, &flow, 2);
                settle(t);
                /* What is flushed the EP had taken (SRQ-26). */
                while (event_left(t, flow.evd, &event))
                        left--;

                expect_count(t, available(t, queue.srq), left);
        }
}

/* Beside the first of these EPs another one is connected. */
CASE(srq_query, outstanding_after_disconnect)
{
        const struct ep_route *first = ep_route_first(t, DAT_EP_STATE_CONNECTED);

        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                if (route == first)
                        flow_open(t, &queue, DAT_HANDLE_NULL);

                queue_post(t, &queue, 5);
                flow_deliver(t, &flow, 2);
                expect_count(t, outstanding(t, queue.srq), 5);
                flow_break(t, &flow);

                expect_count(t, outstanding(t, queue.srq), 5);
                must_dto(flow.evd);
                expect_count(t, outstanding(t, queue.srq), 4);
        }
}

/* An EVD without a CNO, and one with. */
CASE(srq_query, outstanding_on_changed_evd)
{
        const DAT_CNO_HANDLE cnos[] = {DAT_HANDLE_NULL, cno_new(t)};

        for (int i = 0; i < 2; i++) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_open(t, &queue, evd_with(t, .cno = cnos[i]));

                queue_post(t, &queue, 3);
                flow_deliver(t, &flow, 2);
                expect_count(t, outstanding(t, queue.srq), 3);
                for (int turn = 0; turn < EVD_TURNS; turn++) {
                        evd_turn(t, flow.evd, turn);
                        expect_count(t, outstanding(t, queue.srq), 3);
                }
        }
}

/* What a queue went through, to its end: none of its receives is unreaped, and none half there. */
struct past {
        struct queue queue;
        struct flow flows[3];
        int flow_count;
        DAT_COUNT left; /* the receives that wait on it */
        DAT_COUNT mark; /* that was set last */
};

static struct past past_of(struct test *t, struct queue queue, int eps)
{
        struct past past = {.queue = queue, .flow_count = eps};

        for (int i = 0; i < eps; i++)
                past.flows[i] = flow_open(t, &past.queue, DAT_HANDLE_NULL);
        return past;
}

static struct past had_segments(struct test *t)
{
        DAT_LMR_TRIPLET segments[2];
        struct past past;

        if (ia_attr(t)->max_iov_segments_per_dto < 2)
                unsupported(t, "max_iov_segments_per_dto: a receive has one segment at most");
        past = past_of(t,
                       (struct queue){.srq = srq_with(t, .max_recv_dtos = 8, .max_recv_iov = 2),
                                      .length = MESSAGE,
                                      .buf = buf_with(t)},
                       0);
        segments[0] = triplet(past.queue.buf, 0, 1);
        segments[1] = triplet(past.queue.buf, 1, 1);
        for (past.left = 0; past.left < 3; past.left++)
                expect(dat_srq_post_recv(past.queue.srq, 2, segments, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return past;
}

static struct past had_no_segments(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        for (past.left = 0; past.left < 3; past.left++)
                expect(dat_srq_post_recv(past.queue.srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        return past;
}

/* More than a byte can count. */
static struct past had_many(struct test *t)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        struct past past = past_of(t, queue_with(t, limit < 300 ? limit : 300), 0);

        past.left = srq_fill(t, past.queue.srq, past.queue.buf);
        return past;
}

static struct past had_refusals(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);
        DAT_LMR_TRIPLET segment = triplet(past.queue.buf, 0, MESSAGE);

        expect_posts(t, &past.queue, 3);
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_post_recv(past.queue.srq, -1, &segment, (DAT_DTO_COOKIE){.as_64 = 0});
        past.left = 3;
        return past;
}

/* Nothing but dat_evd_dequeue reaped. */
static struct past had_dequeued(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_EVENT event;

        expect_posts(t, &past.queue, 5);
        flow_deliver(t, &past.flows[0], 2);
        for (int i = 0; i < 2; i++)
                must(dat_evd_dequeue(past.flows[0].evd, &event));
        past.left = 3;
        return past;
}

static struct past had_empty_message(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 4);
        peer_send(past.flows[0].end, .empty = true);
        must_dto(past.flows[0].evd);
        past.left = 3;
        return past;
}

/* Reaps what an EP that has no connection any more had failed or flushed. */
static void reap_rest(struct test *t, struct past *past)
{
        DAT_EVENT event;

        while (event_left(t, past->flows[0].evd, &event))
                past->left--;
}

static struct past had_failure(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 3);
        peer_send(past.flows[0].end, .length = MESSAGE + 1);
        must_event(past.flows[0].evd, DAT_DTO_COMPLETION_EVENT);
        past.left = 2;
        settle(t);
        reap_rest(t, &past);
        return past;
}

static struct past had_reset(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        flow_break(t, &past.flows[0]);
        settle(t);
        past.left = 3;
        reap_rest(t, &past);
        must(dat_ep_reset(past.flows[0].ep));
        return past;
}

static struct past had_resizes(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 3);
        must(dat_srq_resize(past.queue.srq, srq_size_above(t, past.queue.srq, 8)));
        expect_posts(t, &past.queue, 2);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        must(dat_srq_resize(past.queue.srq, 6));
        (void)dat_srq_resize(past.queue.srq, 2);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        expect_posts(t, &past.queue, 1);
        past.left = 3;
        return past;
}

static struct past had_three_eps(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 3);

        expect_posts(t, &past.queue, 6);
        for (int i = 0; i < 3; i++)
                expect_traffic(t, &past.queue, &past.flows[i], 1);
        past.left = 3;
        return past;
}

/* Its connection had ended before. */
static struct past had_ep_freed(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 2);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        flow_break(t, &past.flows[0]);
        settle(t);
        past.left = 4;
        reap_rest(t, &past);
        release(t, past.flows[0].ep);
        past.flows[0] = past.flows[--past.flow_count];
        return past;
}

static struct past had_ep_modified(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_EP_HANDLE ep = ep_with(t, .srq = past.queue.srq);

        expect_posts(t, &past.queue, 4);
        param.ep_attr.max_request_dtos = 4;
        must(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        past.left = 3;
        return past;
}

static struct past had_mark(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        past.mark = 4;
        must(dat_srq_set_lw(past.queue.srq, past.mark));
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        past.left = 3;
        return past;
}

static struct past had_sends(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        expect_posts(t, &past.queue, 3);
        past.flows[past.flow_count++] = flow_with_sends(t, &past.queue, 2);
        past.left = 3;
        return past;
}

static struct past had_requests(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);

        expect_posts(t, &past.queue, 3);
        past.flows[past.flow_count++] = flow_with_requests(t, &past.queue);
        past.left = 3;
        return past;
}

/* What comes to the EP's EVD is another SRQ's, and stands unreaped, or was reaped. */
static struct past had_others(struct test *t, bool reaped)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        struct past past = past_of(t, queue_with(t, 8), 0);
        struct queue other = queue_with(t, 8);
        struct flow beside = flow_open(t, &other, evd);

        past.flows[past.flow_count++] = flow_open(t, &past.queue, evd);
        expect_posts(t, &past.queue, 4);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        queue_post(t, &other, 5);
        flow_deliver(t, &beside, 2);
        if (reaped)
                expect_messages(t, &other, &beside, 2);
        past.left = 3;
        return past;
}

static struct past had_shared_evd(struct test *t)
{
        return had_others(t, false);
}

static struct past had_others_reaped(struct test *t)
{
        return had_others(t, true);
}

/* Calls around the queue's EP, `turns` of them, and then a message. */
static struct past had_turns(struct test *t, int turns,
                             void (*turn)(struct test *t, const struct queue *queue,
                                          const struct flow *flow, int turn))
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 4);
        for (int i = 0; i < turns; i++)
                turn(t, &past.queue, &past.flows[0], i);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        past.left = 3;
        return past;
}

static struct past had_vain_calls(struct test *t)
{
        return had_turns(t, VAIN_TURNS, vain_turn);
}

static struct past had_granted_calls(struct test *t)
{
        return had_turns(t, CALM_TURNS, calm_turn);
}

/* A message that brings no notification. */
static struct past had_unsolicited(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 0);
        struct flow flow =
            flow_notifying(t, &past.queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_HANDLE_NULL);
        DAT_EVENT event;

        expect_posts(t, &past.queue, 4);
        flow_deliver(t, &flow, 1);
        must(dat_evd_dequeue(flow.evd, &event));
        past.flows[past.flow_count++] = flow;
        past.left = 3;
        return past;
}

static struct past had_graceful_end(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        must(dat_ep_disconnect(past.flows[0].ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, past.flows[0].ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        settle(t);
        past.left = 3;
        reap_rest(t, &past);
        return past;
}

/* More receives one after the other than a byte counts, and twice as many. */
static struct past had_many_in_turn(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 16), 1);

        for (int turn = 0; turn < IN_TURN; turn++) {
                expect_posts(t, &past.queue, 16);
                expect_traffic(t, &past.queue, &past.flows[0], 16);
        }
        expect_posts(t, &past.queue, 3);
        past.left = 3;
        return past;
}

/* More receives than the SRQ had places at first. */
static struct past had_growth(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_COUNT size = srq_size(t, past.queue.srq);
        DAT_COUNT grown = srq_size_above(t, past.queue.srq, 8);

        must(dat_srq_resize(past.queue.srq, grown));
        for (past.left = 0; past.left < grown && past.left <= size + 4; past.left++)
                expect_room(t, &past.queue, 1);
        return past;
}

/* Its message was there before it, and took it when it was posted. */
static struct past had_message_waiting(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        flow_send(&past.flows[0], 1);
        settle(t);
        expect_posts(t, &past.queue, 1);
        expect_messages(t, &past.queue, &past.flows[0], 1);
        expect_posts(t, &past.queue, 3);
        past.left = 3;
        return past;
}

/* Its connection had not ended; of an EP that took receives ahead, these may end with it. */
static struct past had_connected_ep_freed(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        if (taken_ahead(t, past.flows, 1) != 0 || available(t, past.queue.srq) != 3)
                end_noted(t, "an EP took receives ahead of messages, or tells nothing of them");
        release(t, past.flows[--past.flow_count].ep);
        past.left = 3;
        return past;
}

/* An RDMA write of the EP's failed, and its connection ended. */
static struct past had_failed_request(struct test *t)
{
        struct past past = past_of(t, queue_with(t, 8), 1);
        DAT_LMR_TRIPLET segment = triplet(past.queue.buf, 0, MESSAGE);
        DAT_RMR_TRIPLET remote = {.rmr_context = 0x5a5a5a5a, .segment_length = MESSAGE};

        expect_posts(t, &past.queue, 5);
        expect_traffic(t, &past.queue, &past.flows[0], 2);
        must(dat_ep_post_rdma_write(past.flows[0].ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                    &remote, DAT_COMPLETION_DEFAULT_FLAG));
        must_end_after_failure(t, &past.flows[0]);
        settle(t);
        past.left = 3;
        reap_rest(t, &past);
        return past;
}

static const struct history {
        const char *id;
        struct past (*make)(struct test *t);
} histories[] = {
    {"several_segments", had_segments},
    {"no_segments", had_no_segments},
    {"many", had_many},
    {"refusals", had_refusals},
    {"dequeued", had_dequeued},
    {"empty_message", had_empty_message},
    {"failure", had_failure},
    {"ep_reset", had_reset},
    {"resizes", had_resizes},
    {"three_eps", had_three_eps},
    {"ep_freed", had_ep_freed},
    {"ep_modified", had_ep_modified},
    {"marked", had_mark},
    {"sends", had_sends},
    {"requests", had_requests},
    {"shared_evd", had_shared_evd},
    {"others_reaped", had_others_reaped},
    {"vain_calls", had_vain_calls},
    {"graceful_end", had_graceful_end},
    {"many_in_turn", had_many_in_turn},
    {"growth", had_growth},
    {"message_waiting", had_message_waiting},
    {"connected_ep_freed", had_connected_ep_freed},
    {"granted_calls", had_granted_calls},
    {"failed_request", had_failed_request},
    {"unsolicited", had_unsolicited},
};

FAMILY(srq_query, available_after, histories)
{
        struct past past = row->make(t);

        expect_available(t, available(t, past.queue.srq), past.flows, past.flow_count, past.left);
}

FAMILY(srq_query, outstanding_after, histories)
{
        struct past past = row->make(t);

        expect_count(t, outstanding(t, past.queue.srq), past.left);
}

/* Their events go with the EP, or stay until they are reaped. */
CASE(srq_query, outstanding_after_unreaped_ep_freed)
{
        struct past past = past_of(t, queue_with(t, 8), 1);

        expect_posts(t, &past.queue, 3);
        expect_traffic(t, &past.queue, &past.flows[0], 1);
        flow_deliver(t, &past.flows[0], 2);
        flow_break(t, &past.flows[0]);
        release(t, past.flows[0].ep);
        settle(t);
        reap_rest(t, &past);

        expect_count(t, outstanding(t, past.queue.srq), 0);
        expect_posts(t, &past.queue, 4);
        expect_count(t, outstanding(t, past.queue.srq), 4);
}

/* Those behind which a provider may take the SRQ as unsound, or as another one. */
static const struct history sound_histories[] = {
    {"failure", had_failure},
    {"failed_request", had_failed_request},
    {"ep_reset", had_reset},
    {"connected_ep_freed", had_connected_ep_freed},
    {"three_eps", had_three_eps},
    {"marked", had_mark},
    {"granted_calls", had_granted_calls},
};

FAMILY(srq_query, attributes_after, sound_histories)
{
        struct past past = row->make(t);
        DAT_COUNT size = srq_size(t, past.queue.srq);

        for (int alone = 0; alone < 2; alone++) {
                struct known known = {.srq = past.queue.srq, .iov = 1, .pz = pz(t)};

                for (size_t i = 0; i < FIELD_COUNT; i++) {
                        unsigned int mask = alone ? fields[i].bit : DAT_SRQ_FIELD_ALL;
                        DAT_SRQ_PARAM param = srq_query_queried(t, known.srq, mask);

                        if (fields[i].bit == DAT_SRQ_FIELD_MAX_RECV_DTO)
                                expect_eq(param.max_recv_dtos, size);
                        else if (fields[i].bit == DAT_SRQ_FIELD_LOW_WATERMARK)
                                expect_eq(param.low_watermark, past.mark);
                        else if (!(fields[i].bit & COUNTS))
                                fields[i].check(t, &known, &param);
                }
        }
        expect_room(t, &past.queue, size - past.left);
}

/* An SRQ of 2 receives beside one of 5, and an EP with a queue of its own and 4 receives. */
static DAT_SRQ_HANDLE with_neighbours(struct test *t)
{
        struct queue other = queue_with(t, 8);
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        ep_with(t, .srq = queue.srq, .recv_evd = evd);
        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        queue_post(t, &other, 5);
        queue_post(t, &queue, 2);
        return queue.srq;
}

CASE(srq_query, available_of_this_srq)
{
        expect_count(t, available(t, with_neighbours(t)), 2);
}

CASE(srq_query, outstanding_of_this_srq)
{
        expect_count(t, outstanding(t, with_neighbours(t)), 2);
}

CASE(srq_query, available_in_traffic)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < 8; window++) {
                DAT_COUNT before = 8;
                DAT_COUNT least;

                queue_post(t, &queue, 8);
                expect_available(t, available(t, queue.srq), &flow, 1, 8);
                least = 2 - taken_ahead(t, &flow, 1);
                flow_send(&flow, 6);
                for (int reaped = 0; reaped < 6; reaped++) {
                        DAT_COUNT now = available(t, queue.srq);

                        if (now != DAT_VALUE_UNKNOWN) {
                                expect_that(now <= before && now >= 0 && now >= least,
                                            "%d available, where %d were before and %d remain", now,
                                            before, least);
                                before = now;
                        }
                        expect_messages(t, &queue, &flow, 1);
                }
                expect_available(t, available(t, queue.srq), &flow, 1, 2);
                expect_traffic(t, &queue, &flow, 2);
        }
}

CASE(srq_query, outstanding_in_traffic)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int window = 0; window < 8; window++) {
                queue_post(t, &queue, 8);
                flow_send(&flow, 8);
                for (int left = 8; left > 0; left--) {
                        expect_count(t, outstanding(t, queue.srq), left);
                        expect_messages(t, &queue, &flow, 1);
                }
        }
}
