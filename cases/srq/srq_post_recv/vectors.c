/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: vectors of segments. */
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#include <string.h>

#define FEW_SEGMENTS 8

struct filled {
        struct vector vector;
        unsigned char flat[VECTOR_LENGTH];
        DAT_DTO_COMPLETION_EVENT_DATA dto;
};

/* A message of that length has come to a vector of four segments. */
static struct filled fill(struct test *t, size_t length)
{
        struct filled filled = {.vector = vector_with(t)};
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);

        expect(dat_srq_post_recv(srq, SEGMENTS, filled.vector.iov, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = length);
        filled.dto = expect_dto(ep_recv_evd(t, ep));
        gather(&filled.vector, filled.flat);
        return filled;
}

static const struct message {
        const char *id;
        size_t length;
} shorter[] = {
    {"one_byte", 1},           {"part_of_first", 60},  {"first_exactly", 100},
    {"second_exactly", 101},   {"part_of_third", 250}, {"third_exactly", 401},
    {"all_but_one_byte", 499},
};

FAMILY(srq_post_recv, shorter_fills_in_order, shorter)
{
        struct filled filled = fill(t, row->length);

        expect_that(message_holds(filled.flat, row->length, 0),
                    "the segments, in their order, do not hold the message of %zu bytes",
                    row->length);
}

FAMILY(srq_post_recv, shorter_length, shorter)
{
        struct filled filled = fill(t, row->length);

        expect_eq(filled.dto.transfered_length, row->length);
}

FAMILY(srq_post_recv, shorter_leaves_rest, shorter)
{
        struct filled filled = fill(t, row->length);
        size_t rest = VECTOR_LENGTH - row->length;
        size_t kept = untouched(filled.flat + row->length, rest);

        expect_that(kept == rest, "byte %zu of the vector was written by a message of %zu",
                    row->length + kept, row->length);
}

FAMILY(srq_post_recv, shorter_leaves_outside, shorter)
{
        struct filled filled = fill(t, row->length);

        expect_outside_untouched(t, &filled.vector);
}

CASE(srq_post_recv, equal_fills_in_order)
{
        struct filled filled = fill(t, VECTOR_LENGTH);

        expect_that(message_holds(filled.flat, VECTOR_LENGTH, 0),
                    "the segments, in their order, do not hold the message");
}

CASE(srq_post_recv, equal_length)
{
        struct filled filled = fill(t, VECTOR_LENGTH);

        expect_eq(filled.dto.transfered_length, VECTOR_LENGTH);
}

CASE(srq_post_recv, equal_leaves_outside)
{
        struct filled filled = fill(t, VECTOR_LENGTH);

        expect_outside_untouched(t, &filled.vector);
}

CASE(srq_post_recv, segments_of_several_lmrs)
{
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_LMR_TRIPLET iov[SEGMENTS];
        struct buf *bufs[SEGMENTS];
        unsigned char flat[SEGMENTS * 50];

        for (int i = 0; i < SEGMENTS; i++) {
                bufs[i] = buf_with(t, .length = 50, .type = mem_type_in_turn(t, (size_t)i));
                iov[i] = triplet(bufs[i], 0, 50);
        }
        expect(dat_srq_post_recv(srq, SEGMENTS, iov, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = sizeof(flat));
        expect_dto(ep_recv_evd(t, ep));

        for (size_t i = 0; i < SEGMENTS; i++)
                memcpy(flat + i * 50, bufs[i]->addr, 50);
        expect_that(message_holds(flat, sizeof(flat), 0),
                    "the LMRs, in the vector's order, do not hold the message");
}

CASE(srq_post_recv, fewer_segments_than_vector)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        size_t two = places[0].length + places[1].length;
        unsigned char flat[VECTOR_LENGTH];
        DAT_EVENT event;

        expect(dat_srq_post_recv(srq, 2, vector.iov, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = two + 1);
        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);

        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_LENGTH);
        gather(&vector, flat);
        expect_that(untouched(flat + two, VECTOR_LENGTH - two) == VECTOR_LENGTH - two,
                    "a segment beyond num_segments was written");
}

CASE(srq_post_recv, most_segments)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_iov = most);
        struct comb comb = comb_for(t, srq, 0);

        expect(dat_srq_post_recv(srq, comb.count, comb.iov, COOKIE), DAT_SUCCESS);
        expect_comb_filled(t, srq, &comb);
}

/* Each over a connection of its own. */
CASE(srq_post_recv, each_number_of_segments)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT most = limit < FEW_SEGMENTS ? limit : FEW_SEGMENTS;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_iov = most);
        struct comb comb = comb_for(t, srq, 0);

        for (comb.count = 1; comb.count <= most; comb.count++) {
                memset(comb.buf->addr, CANARY, comb.buf->length);
                expect(dat_srq_post_recv(srq, comb.count, comb.iov, COOKIE), DAT_SUCCESS);
                expect_comb_filled(t, srq, &comb);
        }
}
