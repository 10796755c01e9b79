/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: empty receives, and messages that are empty, as long as may be and too long.
 */
#include "case/ep_attr.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#include <stdlib.h>
#include <string.h>

/*
 * Receives of no size, and messages of none
 */

CASE(srq_post_recv, zero_segments)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_with(t);

        expect(dat_srq_post_recv(srq, 0, vector.iov, COOKIE), DAT_SUCCESS);
        memset(vector.iov, 0xff, sizeof(vector.iov));
        expect(dat_srq_post_recv(srq, 0, vector.iov, COOKIE), DAT_SUCCESS);
}

CASE(srq_post_recv, zero_segments_null_vector)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_COUNT size = srq_size(t, srq);

        for (DAT_COUNT i = 0; i < size; i++)
                expect(dat_srq_post_recv(srq, 0, NULL, COOKIE), DAT_SUCCESS);
}

static const struct empty {
        const char *id;
        bool vector;
        DAT_COUNT segments;
} empties[] = {
    {"null_vector", false, 0},
    {"zero_segments", true, 0},
    {"segments", true, SEGMENTS},
};

FAMILY(srq_post_recv, empty_message, empties)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_DTO_COOKIE cookie = {.as_64 = 77};

        expect(dat_srq_post_recv(srq, row->segments, row->vector ? vector.iov : NULL, cookie),
               DAT_SUCCESS);
        peer_send(end, .empty = true);

        DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(ep_recv_evd(t, ep));
        expect_eq(dto.transfered_length, 0);
        expect_eq(dto.user_cookie.as_64, 77);
        expect_that(untouched(vector.buf->addr, vector.buf->length) == vector.buf->length,
                    "an empty message wrote memory");
}

CASE(srq_post_recv, segment_without_length)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        unsigned char flat[VECTOR_LENGTH];

        vector.iov[1].segment_length = 0;
        if (!dat_is(expect_may(dat_srq_post_recv(srq, SEGMENTS, vector.iov, COOKIE), DAT_SUCCESS,
                               DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        peer_send(peer_connect(peer(t), ep), .length = VECTOR_LENGTH - 1);
        expect_dto(ep_recv_evd(t, ep));
        gather(&vector, flat);
        expect_eq(flat[100], CANARY);
        memmove(flat + 100, flat + 101, VECTOR_LENGTH - 101);
        expect_that(message_holds(flat, VECTOR_LENGTH - 1, 0),
                    "the segments around the one without length do not hold the message");
}

/* The segment without length, at either end of four, or alone. */
static const struct wrong no_lengths[] = {
    {"first", SEGMENTS, 0},
    {"last", SEGMENTS, SEGMENTS - 1},
    {"only", 1, 0},
};

FAMILY(srq_post_recv, segment_without_length_at, no_lengths)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        size_t before = row->at ? VECTOR_LENGTH - places[row->at].length : 0;
        size_t length = row->segments == 1 ? 0 : VECTOR_LENGTH - places[row->at].length;
        unsigned char flat[VECTOR_LENGTH];

        vector.iov[row->at].segment_length = 0;
        if (!dat_is(expect_may(dat_srq_post_recv(srq, row->segments, vector.iov, COOKIE),
                               DAT_SUCCESS, DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        peer_send(peer_connect(peer(t), ep), .length = length, .empty = length == 0);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, length);
        gather(&vector, flat);
        expect_that(untouched(flat + before, places[row->at].length) == places[row->at].length,
                    "a segment without length was written");
        expect_that(message_holds(before ? flat : flat + places[row->at].length, length, 0),
                    "the other segments do not hold the message");
}

/*
 * The greatest messages
 */

/* Shares of the message, in halves, quarters and so on; the last segment has the rest. */
static const struct greatest {
        const char *id;
        DAT_COUNT segments;
        int shares[SEGMENTS - 1];
} greatest[] = {
    {"one_segment", 1, {0}},
    {"short_first", SEGMENTS, {16, 2, 4}},
    {"long_first", SEGMENTS, {2, 16, 4}},
};

/* The segments lie in their memory in the opposite order. */
static void lay_out(const struct greatest *row, const struct buf *buf, size_t length,
                    DAT_LMR_TRIPLET *iov)
{
        size_t rest = length;

        for (DAT_COUNT i = 0; i < row->segments; i++) {
                size_t part = i == row->segments - 1 ? rest : length / (size_t)row->shares[i] - 1;

                rest -= part;
                iov[i] = triplet(buf, rest, part);
        }
}

static void expect_laid_out(struct test *t, const struct greatest *row, const struct buf *buf,
                            size_t length, const DAT_LMR_TRIPLET *iov)
{
        unsigned char *flat = malloc(length);
        size_t at = 0;

        if (!flat)
                resource(t, "no memory for a message");
        for (DAT_COUNT i = 0; i < row->segments; i++) {
                size_t part = (size_t)iov[i].segment_length;

                memcpy(flat + at, buf->addr + length - at - part, part);
                at += part;
        }
        expect_that(message_holds(flat, length, 0),
                    "the segments, in their order, do not hold the message of %zu bytes", length);
        free(flat);
}

FAMILY(srq_post_recv, greatest_message, greatest)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr(t));
        size_t length = (size_t)attr.max_message_size;
        struct buf *buf = buf_with(t, .length = length);
        DAT_SRQ_HANDLE srq = row->segments > 1 ? srq_for_vectors(t) : srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_DTO_COMPLETION_EVENT_DATA dto;
        DAT_LMR_TRIPLET iov[SEGMENTS];

        memset(buf->addr, CANARY, length);
        lay_out(row, buf, length, iov);
        expect(dat_srq_post_recv(srq, row->segments, iov, (DAT_DTO_COOKIE){.as_64 = 4711}),
               DAT_SUCCESS);
        peer_send(end, .length = length);

        dto = expect_dto(ep_recv_evd(t, ep));
        expect_eq(dto.transfered_length, length);
        expect_eq(dto.user_cookie.as_64, 4711);
        expect_laid_out(t, row, buf, length, iov);
}

/*
 * Messages that are too long
 */

static const struct too_long {
        const char *id;
        DAT_COUNT segments;
        size_t length;
} too_long[] = {
    {"by_one", SEGMENTS, VECTOR_LENGTH + 1},
    {"by_far", SEGMENTS, VECTOR_LENGTH + 3000},
    {"no_segments", 0, 1},
};

/* The message came to its receive, which cannot hold it. */
static DAT_DTO_COMPLETION_EVENT_DATA overflow(struct test *t, const struct too_long *row,
                                              DAT_SRQ_HANDLE srq, struct vector *vector)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_EVENT event;

        expect(dat_srq_post_recv(srq, row->segments, row->segments ? vector->iov : NULL,
                                 (DAT_DTO_COOKIE){.as_64 = 4711}),
               DAT_SUCCESS);
        peer_send(end, .length = row->length);
        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        return event.event_data.dto_completion_event_data;
}

FAMILY(srq_post_recv, longer, too_long)
{
        struct vector vector = vector_with(t);

        expect_eq(overflow(t, row, srq_for_vectors(t), &vector).status, DAT_DTO_ERR_LOCAL_LENGTH);
}

FAMILY(srq_post_recv, longer_cookie, too_long)
{
        struct vector vector = vector_with(t);

        expect_eq(overflow(t, row, srq_for_vectors(t), &vector).user_cookie.as_64, 4711);
}

/* With a cookie of all bits, and once. */
FAMILY(srq_post_recv, longer_told_once, too_long)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_EVENT event;

        expect(dat_srq_post_recv(srq, row->segments, row->segments ? vector.iov : NULL,
                                 (DAT_DTO_COOKIE){.as_64 = UINT64_C(0x0123456789abcdef)}),
               DAT_SUCCESS);
        peer_send(end, .length = row->length);
        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        expect_that(event.event_data.dto_completion_event_data.user_cookie.as_64 ==
                        UINT64_C(0x0123456789abcdef),
                    "the cookie is another");
        expect(dat_evd_dequeue(ep_recv_evd(t, ep), &event), DAT_QUEUE_EMPTY);
}

FAMILY(srq_post_recv, longer_leaves_outside, too_long)
{
        struct vector vector = vector_with(t);

        overflow(t, row, srq_for_vectors(t), &vector);
        expect_outside_untouched(t, &vector);
}

FAMILY(srq_post_recv, longer_leaves_others, too_long)
{
        struct vector vector = vector_with(t);
        struct queue queue = {.srq = srq_for_vectors(t), .length = MESSAGE, .buf = buf_with(t)};

        overflow(t, row, queue.srq, &vector);
        expect_posts(t, &queue, 4);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
        expect_room(t, &queue, srq_size(t, queue.srq));
}

/* One that was connected before keeps working too. */
CASE(srq_post_recv, longer_breaks_no_other)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow other = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EVENT event;

        expect_posts(t, &queue, 4);
        peer_send(flow.end, .length = MESSAGE + 1);
        event = must_event(flow.evd, DAT_DTO_COMPLETION_EVENT);
        must_that(event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS,
                  "a receive held more than it can");

        expect_quiet(ep_connect_evd(t, other.ep));
        expect_eq(ep_state(t, other.ep), DAT_EP_STATE_CONNECTED);
        expect_traffic(t, &queue, &other, 1);
}
