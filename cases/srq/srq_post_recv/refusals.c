/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: invalid arguments and refused receives. */
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#include <limits.h>

#define REFUSALS 16 /* of one receive, in a row */

/*
 * Arguments
 */

static const struct number {
        const char *id;
        DAT_COUNT segments;
} negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

FAMILY(srq_post_recv, negative_segments, negative)
{
        struct vector vector = vector_with(t);

        expect(dat_srq_post_recv(srq_for_vectors(t), row->segments, vector.iov, COOKIE),
               DAT_INVALID_PARAMETER);
}

CASE(srq_post_recv, segment_too_many)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct comb comb = comb_for(t, srq, 1);
        DAT_RETURN ret = expect_may(dat_srq_post_recv(srq, comb.count, comb.iov, COOKIE),
                                    DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_comb_filled(t, srq, &comb);
        note(t, "a vector of %d was taken, and filled, above the SRQ's own max_recv_iov",
             comb.count);
}

CASE(srq_post_recv, greatest_segments)
{
        struct vector vector = vector_with(t);

        expect_may(dat_srq_post_recv(srq_for_vectors(t), INT_MAX, vector.iov, COOKIE),
                   DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
}

static DAT_RETURN post_null_vector(void *srq)
{
        return dat_srq_post_recv(srq, 1, NULL, COOKIE);
}

CASE(srq_post_recv, null_vector)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_RETURN answer;

        if (!subprocess_call(t, post_null_vector, srq, &answer))
                record(t, "the call crashed, as it may with a null vector of one segment");
        else if (!dat_is(answer, DAT_INVALID_PARAMETER))
                record(t, "a null vector of one segment is not answered by DAT_INVALID_PARAMETER");
        expect_room(t, &(struct queue){.srq = srq, .length = 1, .buf = buf_with(t)}, 1);
}

/*
 * What a refused receive leaves as it was
 */

static DAT_LMR_TRIPLET of_other_zone(struct test *t)
{
        return triplet(foreign_buf(t), 0, 0);
}

static DAT_LMR_TRIPLET read_only(struct test *t)
{
        return triplet(buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG), 0, 0);
}

static DAT_LMR_TRIPLET outside(struct test *t)
{
        struct buf *buf = buf_with(t);

        return triplet(buf, buf->beyond, 0);
}

static DAT_LMR_TRIPLET freed(struct test *t)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 0);

        release(t, buf);
        return segment;
}

/* One thing that is wrong of a receive: a segment at a place, or their number. */
static const struct refusal {
        const char *id;
        struct wrong place;
        DAT_LMR_TRIPLET (*segment)(struct test *t);
} refusals[] = {
    {"negative_segments", {"", -1, 0}, NULL},
    {"segment_too_many", {"", 0, 0}, NULL},
    {"other_zone", {"", 1, 0}, of_other_zone},
    {"other_zone_last", {"", SEGMENTS, SEGMENTS - 1}, of_other_zone},
    {"no_write_privilege", {"", 1, 0}, read_only},
    {"no_write_privilege_last", {"", SEGMENTS, SEGMENTS - 1}, read_only},
    {"freed_lmr", {"", 1, 0}, freed},
    {"freed_lmr_last", {"", SEGMENTS, SEGMENTS - 1}, freed},
    {"outside_lmr", {"", 1, 0}, outside},
    {"outside_lmr_last", {"", SEGMENTS, SEGMENTS - 1}, outside},
};

/* A queue for vectors, and memory that a refused receive named among others. */
struct refusing {
        struct queue queue;
        struct buf *named;
        size_t message; /* that reaches the wrong segment of a vector */
};

static struct refusing refusing(struct test *t)
{
        return (struct refusing){
            .queue = {.srq = srq_for_vectors(t), .length = MESSAGE, .buf = buf_with(t)}};
}

/* Each time; or it is granted, and fails later. */
static bool refused_again(struct test *t, struct refusing *by, DAT_COUNT segments,
                          DAT_LMR_TRIPLET *iov)
{
        for (int i = 0; i < REFUSALS; i++) {
                if (!dat_is(dat_srq_post_recv(by->queue.srq, segments, iov, COOKIE), DAT_SUCCESS))
                        continue;
                note(t, "the receive was not refused at once: it is outstanding until it fails "
                        "(GEN-9)");
                return false;
        }
        return true;
}

/* Whether the provider refuses at once; it may also find out when a message comes (GEN-9). */
static bool refused(struct test *t, const struct refusal *row, struct refusing *by)
{
        struct vector vector;

        if (row->place.segments == 0) {
                struct comb comb = comb_for(t, by->queue.srq, 1);

                by->named = comb.buf;
                return refused_again(t, by, comb.count, comb.iov);
        }
        vector = vector_with(t);
        by->named = vector.buf;
        by->message = row->place.segments == 1 ? places[0].length : VECTOR_LENGTH;
        if (row->segment) {
                vector.iov[row->place.at] = row->segment(t);
                vector.iov[row->place.at].segment_length = places[row->place.at].length;
        }
        return refused_again(t, by, row->place.segments, vector.iov);
}

/*
 * No part of the refused receive was posted: four receives take four messages, a next one the next
 * message, and its good segments hold nothing.
 */
static void expect_served_elsewhere(struct test *t, struct refusing *by, struct flow *flow)
{
        expect_traffic(t, &by->queue, flow, 4);
        expect_posts(t, &by->queue, 1);
        expect_traffic(t, &by->queue, flow, 1);
        expect_quiet(flow->evd);
        expect_untouched(t, by->named, "the memory of the refused receive");
}

FAMILY(srq_post_recv, refusal_takes_no_place, refusals)
{
        struct refusing by = refusing(t);
        bool late = !refused(t, row, &by);

        expect_room(t, &by.queue, srq_size(t, by.queue.srq) - late);
}

FAMILY(srq_post_recv, refusal_not_counted, refusals)
{
        struct refusing by = refusing(t);
        DAT_SRQ_PARAM param;
        DAT_COUNT posts;

        expect_posts(t, &by.queue, 4);
        posts = refused(t, row, &by) ? 4 : 5;
        param = srq_param(t, by.queue.srq);
        expect_count(t, param.available_dto_count, posts);
        expect_count(t, param.outstanding_dto_count, posts);
}

FAMILY(srq_post_recv, refusal_takes_no_message, refusals)
{
        struct refusing by = refusing(t);

        if (!refused(t, row, &by)) {
                if (row->segment)
                        expect_violation(t, DAT_SUCCESS, by.queue.srq, by.message);
                return;
        }
        expect_posts(t, &by.queue, 4);

        struct flow flow = flow_open(t, &by.queue, DAT_HANDLE_NULL);
        expect_served_elsewhere(t, &by, &flow);
}

FAMILY(srq_post_recv, refusal_keeps_others, refusals)
{
        struct refusing by = refusing(t);
        struct flow flow = flow_open(t, &by.queue, DAT_HANDLE_NULL);

        expect_posts(t, &by.queue, 4);
        if (refused(t, row, &by))
                expect_served_elsewhere(t, &by, &flow);
}

/* Posts until a receive is refused for want of a place; returns how many were taken. */
static int queue_fill_refused(struct test *t, struct queue *queue)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, 0, queue->length);
        DAT_COUNT places = srq_size(t, queue->srq);
        int before = __builtin_popcountll(queue->posted);
        int more = places < SLOTS ? (int)places - before : SLOTS - 1 - before;

        queue_post(t, queue, more);
        if (places < SLOTS &&
            dat_is(dat_srq_post_recv(queue->srq, 1, &segment, COOKIE), DAT_SUCCESS))
                end_noted(t, "a queue of %d took one receive more", places);
        return more;
}

/*
 * One receive, of one segment, that is wrong in each way, and one too many; those found late are
 * posted (GEN-9).
 */
CASE(srq_post_recv, refusal_keeps_mark)
{
        struct armed armed = armed_with(t, 4, 4);
        DAT_SRQ_HANDLE srq = armed.queue.srq;
        int above;

        for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
                struct vector vector = vector_with(t);
                DAT_COUNT segments = refusals[i].place.segments;

                if (segments != 1 && segments != -1)
                        continue;
                if (refusals[i].segment)
                        vector.iov[0] = refusals[i].segment(t);
                vector.iov[0].segment_length = MESSAGE;
                if (dat_is(dat_srq_post_recv(srq, segments, vector.iov, COOKIE), DAT_SUCCESS))
                        end_noted(t, "a receive is posted that fails when a message arrives");
        }

        expect_eq(srq_param(t, srq).low_watermark, 4);
        expect_quiet(async_evd(t));
        /* All but one of the receives that fill the queue are taken before the mark is passed. */
        above = queue_fill_refused(t, &armed.queue);
        expect_traffic(t, &armed.queue, &armed.flow, above);
        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

LEGAL(srq_post_recv)
{
        static DAT_LMR_TRIPLET segment;

        segment = triplet(buf_with(t), 0, MESSAGE);
        call->srq_handle = srq_with(t);
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE;
}
