/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: which vectors are taken, how messages fill them, and whom they complete to. */
#include "clauses/srq_post_recv.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CANARY           0x5c
#define LONG_MESSAGE     ((size_t)256 * 1024)
#define TWO_PACKETS      ((size_t)6000) /* bytes, at least two packets of a RDMA network */
#define TRIES            5
#define ROUNDS           20 /* of messages, until packets overtake each other */
#define TURNS            20 /* in which all receives of a queue are used */
#define POSTERS          3  /* threads that post at once */
#define SHARE            3  /* receives that each of them posts */
#define DISCONNECTS      4
#define COOKIE           ((DAT_DTO_COOKIE){.as_64 = 0})
#define WIDEST           8192  /* segments that a case can give */
#define MOST_PLACES      65536 /* receives that a case can post */
#define BEYOND           8     /* more than there is room for */
#define SERVED           512   /* messages that a case sends to a queue, at most */
#define EACH_TIME        16    /* of these, that are under way at once */
#define MORE_THAN_A_BYTE 300
#define UNREAPED         3  /* completions that stand while more is posted */
#define REFUSALS         16 /* of one receive, in a row */
#define EVERY_BYTE       (UINT64_C(0x0123456789abcdef) & ~(UINT64_C(64) - 1))

/*
 * Vectors
 */

#define SEGMENTS      4
#define FEW_SEGMENTS  8
#define VECTOR_LENGTH 500

/* Where the segments lie in their memory: in another order, apart, and not aligned. */
static const struct place {
        size_t offset;
        size_t length;
} places[SEGMENTS] = {{1025, 100}, {3, 1}, {2051, 300}, {517, 99}};

struct vector {
        struct buf *buf;
        DAT_LMR_TRIPLET iov[SEGMENTS];
};

static struct vector vector_with(struct test *t)
{
        struct vector vector = {.buf = buf_with(t)};

        memset(vector.buf->addr, CANARY, vector.buf->length);
        for (int i = 0; i < SEGMENTS; i++)
                vector.iov[i] = triplet(vector.buf, places[i].offset, places[i].length);
        return vector;
}

static DAT_SRQ_HANDLE srq_for_vectors(struct test *t)
{
        if (ia_attr(t)->max_iov_segments_per_dto < SEGMENTS)
                unsupported(t, "max_iov_segments_per_dto: fewer than 4");
        return srq_with(t, .max_recv_iov = SEGMENTS);
}

/* What the segments hold, one after the other. */
static void gather(const struct vector *vector, unsigned char *flat)
{
        for (int i = 0; i < SEGMENTS; i++) {
                memcpy(flat, vector->buf->addr + places[i].offset, places[i].length);
                flat += places[i].length;
        }
}

static size_t untouched(const unsigned char *at, size_t length)
{
        size_t count = 0;

        while (count < length && at[count] == CANARY)
                count++;
        return count;
}

static void expect_outside_untouched(struct test *t, const struct vector *vector)
{
        unsigned char copy[4096];
        size_t at;

        suite_that(vector->buf->length == sizeof(copy), "a vector's memory has %zu bytes",
                   vector->buf->length);
        memcpy(copy, vector->buf->addr, sizeof(copy));
        for (int i = 0; i < SEGMENTS; i++)
                memset(copy + places[i].offset, CANARY, places[i].length);
        at = untouched(copy, sizeof(copy));
        expect_that(at == sizeof(copy), "byte %zu of the memory, in no segment, was written", at);
}

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
                bufs[i] = buf_with(t, .length = 50);
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

/* A vector as wide as the SRQ says that it takes, or wider: 8 bytes a segment, 8 bytes apart. */
struct comb {
        struct buf *buf;
        DAT_COUNT count;
        DAT_LMR_TRIPLET *iov;
};

static struct comb comb_for(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT wider)
{
        struct comb comb = {.count = srq_param(t, srq).max_recv_iov + wider};

        if (comb.count > WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");
        comb.buf = buf_with(t, .length = (size_t)comb.count * 16);
        comb.iov = calloc((size_t)comb.count, sizeof(*comb.iov));
        if (!comb.iov)
                resource(t, "no memory for a vector");
        memset(comb.buf->addr, CANARY, comb.buf->length);
        for (DAT_COUNT i = 0; i < comb.count; i++)
                comb.iov[i] = triplet(comb.buf, (size_t)i * 16, 8);
        return comb;
}

/* A message comes over a new connection, and fills the whole of the vector and nothing else. */
static void expect_comb_filled(struct test *t, DAT_SRQ_HANDLE srq, const struct comb *comb)
{
        static unsigned char message[WIDEST * 8];
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        size_t count = (size_t)comb->count;

        message_fill(message, count * 8, 0);
        peer_send(end, .length = count * 8);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, count * 8);
        for (size_t i = 0; i < count; i++) {
                expect_that(memcmp(comb->buf->addr + i * 16, message + i * 8, 8) == 0,
                            "segment %zu of %zu does not hold its part of the message", i, count);
                expect_that(untouched(comb->buf->addr + i * 16 + 8, 8) == 8,
                            "memory behind segment %zu was written", i);
        }
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
        expect(dat_srq_post_recv(srq_with(t), 0, NULL, COOKIE), DAT_SUCCESS);
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
        if (dat_is(expect(dat_srq_post_recv(srq, SEGMENTS, vector.iov, COOKIE), DAT_SUCCESS,
                          DAT_INVALID_PARAMETER),
                   DAT_INVALID_PARAMETER))
                return;
        peer_send(peer_connect(peer(t), ep), .length = VECTOR_LENGTH - 1);
        expect_dto(ep_recv_evd(t, ep));
        gather(&vector, flat);
        expect_eq(flat[100], CANARY);
        memmove(flat + 100, flat + 101, VECTOR_LENGTH - 101);
        expect_that(message_holds(flat, VECTOR_LENGTH - 1, 0),
                    "the segments around the one without length do not hold the message");
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

/* One that was connected before goes on too. */
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

/*
 * Cookies
 */

static const struct cookie {
        const char *id;
        DAT_UINT64 value;
} cookies[] = {
    {"null", 0},
    {"all_ones", UINT64_MAX},
    {"lowest_bit", 1},
    {"highest_bit", UINT64_C(1) << 63},
    {"low_half", UINT32_MAX},
    {"high_half", (DAT_UINT64)UINT32_MAX << 32},
    {"every_byte", UINT64_C(0x0123456789abcdef)},
};

FAMILY(srq_post_recv, cookie, cookies)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = row->value}),
               DAT_SUCCESS);
        flow_send(&flow, 1);

        expect_that(expect_dto(flow.evd).user_cookie.as_64 == row->value,
                    "the cookie is not the one posted");
}

#define COOKIES (sizeof(cookies) / sizeof(cookies[0]))

/* Each cookie with receives of one segment, of two and of none, which messages of no bytes fit. */
CASE(srq_post_recv, cookie_whatever_segments)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct queue queue = {
            .srq = srq_with(t, .max_recv_dtos = 3 * COOKIES, .max_recv_iov = most),
            .length = MESSAGE,
            .buf = buf_with(t, .length = 2 * MESSAGE),
        };
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET iov[] = {triplet(queue.buf, 0, MESSAGE),
                                 triplet(queue.buf, MESSAGE, MESSAGE)};
        DAT_COUNT left[COOKIES] = {0};

        for (size_t i = 0; i < COOKIES; i++) {
                for (DAT_COUNT segments = 0; segments <= most; segments++, left[i]++)
                        expect(dat_srq_post_recv(queue.srq, segments, iov,
                                                 (DAT_DTO_COOKIE){.as_64 = cookies[i].value}),
                               DAT_SUCCESS);
        }
        for (size_t message = 0; message < COOKIES * (size_t)(most + 1); message++) {
                DAT_UINT64 cookie;
                size_t i = 0;

                peer_send(flow.end, .empty = true);
                cookie = expect_dto(flow.evd).user_cookie.as_64;
                while (i < COOKIES && cookies[i].value != cookie)
                        i++;
                expect_that(i < COOKIES && left[i]-- > 0, "cookie %#llx, which no receive has",
                            (unsigned long long)cookie);
        }
}

/* More than any count of eight bits holds. */
CASE(srq_post_recv, many_in_turn)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int turn = 0; turn < TURNS; turn++) {
                expect_posts(t, &queue, 16);
                expect_traffic(t, &queue, &flow, 16);
        }
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, same_cookie)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (size_t slot = 0; slot < 4; slot++) {
                DAT_LMR_TRIPLET segment = triplet(queue.buf, slot * MESSAGE, MESSAGE);

                expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 5}),
                       DAT_SUCCESS);
        }
        flow_send(&flow, 4);

        for (int i = 0; i < 4; i++)
                expect_eq(expect_dto(flow.evd).user_cookie.as_64, 5);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, cookie_of_its_receive)
{
        struct queue queue = queue_with(t, 16);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 16);
        expect_traffic(t, &queue, &flow, 16);
        expect_quiet(flow.evd);
}

/*
 * The vector after the call
 */

/* Whether the provider lets the consumer have the vector back at once. */
static void need_ownership(struct test *t, DAT_IOV_OWNERSHIP most)
{
        if (provider_attr(t)->iov_ownership_on_return > most)
                unsupported(t, most == DAT_IOV_CONSUMER
                                   ? "iov_ownership_on_return: not DAT_IOV_CONSUMER"
                                   : "iov_ownership_on_return = DAT_IOV_PROVIDER_MOD");
}

static DAT_LMR_TRIPLET *mapped_vector(struct test *t)
{
        DAT_LMR_TRIPLET *iov = mmap(NULL, sizeof(*iov) * SEGMENTS, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (iov == MAP_FAILED)
                resource(t, "no memory for a vector");
        return iov;
}

static void overwrite(DAT_LMR_TRIPLET *iov, size_t length)
{
        memset(iov, 0xff, length);
}

static void protect(DAT_LMR_TRIPLET *iov, size_t length)
{
        mprotect(iov, length, PROT_NONE);
}

static void unmap(DAT_LMR_TRIPLET *iov, size_t length)
{
        munmap(iov, length);
}

static const struct reuse {
        const char *id;
        void (*end)(DAT_LMR_TRIPLET *iov, size_t length);
} reuses[] = {
    {"overwritten", overwrite},
    {"protected", protect},
    {"unmapped", unmap},
};

FAMILY(srq_post_recv, vector_given_back, reuses)
{
        struct vector vector = vector_with(t);
        DAT_LMR_TRIPLET *iov = mapped_vector(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        unsigned char flat[VECTOR_LENGTH];

        need_ownership(t, DAT_IOV_CONSUMER);
        memcpy(iov, vector.iov, sizeof(vector.iov));
        expect(dat_srq_post_recv(srq, SEGMENTS, iov, COOKIE), DAT_SUCCESS);
        row->end(iov, sizeof(vector.iov));
        peer_send(end, .length = VECTOR_LENGTH);

        expect_dto(ep_recv_evd(t, ep));
        gather(&vector, flat);
        expect_that(message_holds(flat, VECTOR_LENGTH, 0), "the message went elsewhere");
}

CASE(srq_post_recv, vector_reused_for_next)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment;

        need_ownership(t, DAT_IOV_CONSUMER);
        for (uint64_t slot = 0; slot < 8; slot++) {
                segment = triplet(queue.buf, slot * MESSAGE, MESSAGE);
                expect(dat_srq_post_recv(queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = slot}),
                       DAT_SUCCESS);
                queue.posted |= UINT64_C(1) << slot;
        }
        expect_traffic(t, &queue, &flow, 8);
}

CASE(srq_post_recv, vector_not_modified)
{
        struct vector vector = vector_with(t);
        DAT_SRQ_HANDLE srq = srq_for_vectors(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        DAT_LMR_TRIPLET iov[SEGMENTS];

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        memcpy(iov, vector.iov, sizeof(iov));
        expect(dat_srq_post_recv(srq, SEGMENTS - 1, vector.iov, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = 250);
        must_dto(ep_recv_evd(t, ep));

        expect_that(!memcmp(iov, vector.iov, sizeof(iov)),
                    "the provider changed the vector, or what is behind it");
}

CASE(srq_post_recv, vector_of_refused)
{
        struct vector vector = vector_with(t);
        DAT_LMR_TRIPLET iov[SEGMENTS];
        DAT_RETURN ret;

        need_ownership(t, DAT_IOV_PROVIDER_NOMOD);
        vector.iov[SEGMENTS - 2].virtual_address += vector.buf->length;
        memcpy(iov, vector.iov, sizeof(iov));
        ret = expect(dat_srq_post_recv(srq_for_vectors(t), SEGMENTS - 1, vector.iov, COOKIE),
                     DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                end_noted(t,
                          "the receive was not refused at once: it has its vector until it fails");
        expect_that(!memcmp(iov, vector.iov, sizeof(iov)),
                    "the provider changed the vector, or what is behind it");
}

/*
 * Which EP a receive completes to
 */

CASE(srq_post_recv, without_ep)
{
        struct queue queue = queue_with(t, 8);

        expect_room(t, &queue, 1);
}

CASE(srq_post_recv, posted_before_ep)
{
        struct queue queue = queue_with(t, 8);

        expect_posts(t, &queue, 4);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_post_recv, posted_after_connection)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        for (int i = 0; i < 20; i++) {
                expect_posts(t, &queue, 1);
                expect_traffic(t, &queue, &flow, 1);
        }
}

CASE(srq_post_recv, any_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow flows[2] = {flow_open(t, &queue, DAT_HANDLE_NULL),
                                flow_open(t, &queue, DAT_HANDLE_NULL)};

        for (int i = 0; i < 4; i++) {
                expect_posts(t, &queue, 2);
                flow_send(&flows[i % 2], 2);
                expect_messages(t, &queue, &flows[i % 2], 2);
        }
}

/* Of two SRQs that are alike each has its receives, whichever was made first or used last. */
CASE(srq_post_recv, not_other_srq)
{
        struct queue queues[2] = {queue_with(t, 8), queue_with(t, 8)};
        struct flow flows[2] = {flow_open(t, &queues[0], DAT_HANDLE_NULL),
                                flow_open(t, &queues[1], DAT_HANDLE_NULL)};

        for (int turn = 0; turn < 2; turn++) {
                for (int i = 0; i < 2; i++)
                        expect_posts(t, &queues[i], 2 + i);
                for (int i = 0; i < 2; i++)
                        expect_traffic(t, &queues[i], &flows[i], 2 + i);
        }
}

CASE(srq_post_recv, not_plain_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE plain = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        expect_posts(t, &queue, 4);
        must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 99},
                              DAT_COMPLETION_DEFAULT_FLAG));
        peer_send(end);
        expect_eq(expect_dto(ep_recv_evd(t, plain)).user_cookie.as_64, 99);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_post_recv, completion_names_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        struct flow flows[2] = {flow_open(t, &queue, evd), flow_open(t, &queue, evd)};

        expect_posts(t, &queue, 8);
        for (int i = 0; i < 8; i++) {
                flow_send(&flows[i % 2], 1);
                expect_that(expect_dto(evd).ep_handle == flows[i % 2].ep,
                            "the completion is not of the EP to which the message came");
        }
}

CASE(srq_post_recv, completion_on_recv_evd)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow other = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(other.evd);
        expect_quiet(ep_request_evd(t, flow.ep));
}

FAMILY(srq_post_recv, ep_state, consumer_ep_states)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        ep_in(t, row->state, .srq = queue.srq);

        expect_posts(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
}

static const struct ep_state_row idle[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

FAMILY(srq_post_recv, takes_none, idle)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = {.ep = ep_in(t, row->state, .srq = queue.srq)};

        expect_posts(t, &queue, 4);
        settle(t);

        expect_count(t, srq_param(t, queue.srq).available_dto_count, 4);
        expect_eq(taken_ahead(t, &flow, 1), 0);
        expect_quiet(ep_recv_evd(t, flow.ep));
}

FAMILY(srq_post_recv, leaves_all_to_others, idle)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = queue.srq);

        expect_posts(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(ep_recv_evd(t, ep));
}

/* What an SRQ may have behind it, or may be amid, when a receive is posted. */
static void leave_unreaped(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 3);
        flow_deliver(t, flow, 3);
}

static void let_message_wait(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)queue;
        flow_send(flow, 1);
        settle(t);
}

static void drain(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 8);
        expect_traffic(t, queue, flow, 8);
}

static void refuse_free(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must_that(!dat_is(dat_srq_free(queue->srq), DAT_SUCCESS), "an SRQ in use was freed");
}

static void free_other_ep(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow other = flow_open(t, queue, DAT_HANDLE_NULL);

        (void)flow;
        expect_posts(t, queue, 1);
        expect_traffic(t, queue, &other, 1);
        release(t, other.ep);
}

static void grow(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
}

static void shrink(struct test *t, struct queue *queue, struct flow *flow)
{
        (void)flow;
        must(dat_srq_resize(queue->srq, 2));
}

static void arm(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 3);
        arm_mark(t, &(struct armed){.queue = *queue, .flow = *flow}, 2);
}

static void pass_mark(struct test *t, struct queue *queue, struct flow *flow)
{
        arm(t, queue, flow);
        expect_traffic(t, queue, flow, 2);
        drain_async_event(t);
}

static void reset_ep(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
        flow_break(t, flow);
        must(dat_ep_reset(flow->ep));
        flow->end = must_connect(flow->ep);
        flow->sent = 0;
        flow->received = 0;
}

/* Another EP comes when the receives are there. */
static void end_all(struct test *t, struct queue *queue, struct flow *flow)
{
        struct flow other = flow_open(t, queue, DAT_HANDLE_NULL);

        flow_break(t, &other);
        flow_break(t, flow);
        expect_posts(t, queue, 2);
        *flow = flow_open(t, queue, DAT_HANDLE_NULL);
}

struct situation {
        const char *id;
        void (*bring)(struct test *t, struct queue *queue, struct flow *flow);
};

static void call_in_vain(struct test *t, struct queue *queue, struct flow *flow)
{
        expect_posts(t, queue, 1);
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, queue, flow, turn);
}

/* Of the EP that the receives serve then, alone. */
static void make_requests(struct test *t, struct queue *queue, struct flow *flow)
{
        flow_break(t, flow);
        *flow = flow_with_requests(t, queue);
}

static const struct situation situations[] = {
    {"completions_unreaped", leave_unreaped},
    {"message_waiting", let_message_wait},
    {"queue_drained", drain},
    {"free_refused", refuse_free},
    {"ep_freed", free_other_ep},
    {"queue_grown", grow},
    {"queue_shrunk", shrink},
    {"ep_reset", reset_ep},
    {"all_disconnected", end_all},
    {"calls_in_vain", call_in_vain},
    {"requests_made", make_requests},
};

static const struct situation mark_situations[] = {
    {"armed", arm},
    {"raised", pass_mark},
};

/* A queue whose receives can have two segments, where the IA lets them. */
static struct queue queue_of_halves(struct test *t)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;

        return (struct queue){.srq = srq_with(t, .max_recv_iov = most),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE)};
}

/* A receive on the queue's last slot, in as many segments as it can have, up to two. */
static void expect_post_in_halves(struct test *t, struct queue *queue)
{
        size_t at = (SLOTS - 1) * MESSAGE;
        bool halves = srq_param(t, queue->srq).max_recv_iov > 1;
        DAT_LMR_TRIPLET iov[] = {triplet(queue->buf, at, halves ? MESSAGE / 2 : MESSAGE),
                                 triplet(queue->buf, at + MESSAGE / 2, MESSAGE / 2)};

        expect(dat_srq_post_recv(queue->srq, halves ? 2 : 1, iov,
                                 (DAT_DTO_COOKIE){.as_64 = SLOTS - 1}),
               DAT_SUCCESS);
        queue->posted |= UINT64_C(1) << (SLOTS - 1);
}

/* Two receives more are taken, and all that are posted serve the messages that wait and more. */
static void expect_posts_serve(struct test *t, const struct situation *situation)
{
        struct queue queue = queue_of_halves(t);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        situation->bring(t, &queue, &flow);

        expect_posts(t, &queue, 1);
        expect_post_in_halves(t, &queue);
        expect_messages(t, &queue, &flow, (int)(flow.sent - flow.received));
        expect_traffic(t, &queue, &flow, __builtin_popcountll(queue.posted));
}

FAMILY(srq_post_recv, while_srq, situations)
{
        expect_posts_serve(t, row);
}

FAMILY(srq_post_recv, while_mark, mark_situations)
{
        expect_posts_serve(t, row);
}

CASE(srq_post_recv, disconnect_pending_takes)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, (SLOTS - 1) * MESSAGE, 1);

        /* A send for which the peer has no receive keeps the disconnect waiting. */
        must(dat_ep_post_send(flow.ep, 1, &segment, COOKIE, DAT_COMPLETION_DEFAULT_FLAG));
        must(dat_ep_disconnect(flow.ep, DAT_CLOSE_GRACEFUL_FLAG));
        expect_posts(t, &queue, 2);
        flow_send(&flow, 2);
        settle(t);
        if (ep_state(t, flow.ep) == DAT_EP_STATE_DISCONNECTED) {
                must_event(ep_connect_evd(t, flow.ep), DAT_CONNECTION_EVENT_DISCONNECTED);
                peer_wait_disconnected(flow.end);
                unsupported(t, "DAT_EP_STATE_DISCONNECT_PENDING: the transport let no send wait");
        }

        expect_messages(t, &queue, &flow, 2);
        must_that(ep_state(t, flow.ep) == DAT_EP_STATE_DISCONNECT_PENDING,
                  "the EP left Disconnect Pending before its messages came");
}

/*
 * Disconnection
 */

static void end_abruptly(struct test *t, struct flow *flow)
{
        must(dat_ep_disconnect(flow->ep, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void end_gracefully(struct test *t, struct flow *flow)
{
        must(dat_ep_disconnect(flow->ep, DAT_CLOSE_GRACEFUL_FLAG));
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void end_by_peer(struct test *t, struct flow *flow)
{
        peer_disconnect(flow->end, DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, flow->ep), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static const struct ending {
        const char *id;
        void (*end)(struct test *t, struct flow *flow);
} endings[] = {
    {"abrupt", end_abruptly},
    {"graceful", end_gracefully},
    {"by_peer", end_by_peer},
};

/*
 * The most receives that an EP, at rest, can have taken: what it tells, or else those that are
 * told as available no more. -1 where the provider tells neither.
 */
static int most_taken(struct test *t, const struct queue *queue, const struct flow *flow)
{
        DAT_COUNT available = srq_param(t, queue->srq).available_dto_count;
        DAT_COUNT held = DAT_VALUE_UNKNOWN;
        DAT_COUNT span;

        if (provider_attr(t)->ep_recv_info_supported)
                must(dat_ep_recv_query(flow->ep, &held, &span));
        if (held != DAT_VALUE_UNKNOWN)
                return held;
        if (available != DAT_VALUE_UNKNOWN)
                return __builtin_popcountll(queue->posted) - available;
        return -1;
}

FAMILY(srq_post_recv, disconnect_leaves_others, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        int flushed;
        int most;

        expect_posts(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 2);
        most = most_taken(t, &queue, &flow);
        row->end(t, &flow);

        flushed = reap_disconnected(t, &queue, &flow);
        expect_that(most < 0 || flushed <= most,
                    "%d receives were flushed, and the EP had taken %d", flushed, most);
        if (queue.posted)
                expect_rest_usable(t, &queue);
        else
                note(t, "an idle EP had taken all receives, and was not asked to tell");
}

FAMILY(srq_post_recv, disconnect_counted, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT rest;
        DAT_SRQ_PARAM param;

        expect_posts(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 2);
        row->end(t, &flow);
        reap_disconnected(t, &queue, &flow);

        rest = __builtin_popcountll(queue.posted);
        param = srq_param(t, queue.srq);
        expect_count(t, param.available_dto_count, rest);
        expect_count(t, param.outstanding_dto_count, rest);
        expect_room(t, &queue, srq_size(t, queue.srq) - rest);
}

FAMILY(srq_post_recv, disconnect_keeps_completions, endings)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_posts(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        row->end(t, &flow);

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

FAMILY(srq_post_recv, disconnect_under_traffic, endings)
{
        struct queue queue = queue_for(t, 12, LONG_MESSAGE, 12);
        int flushed = 0;

        queue.cookie_bits = EVERY_BYTE;
        for (int i = 0; i < DISCONNECTS; i++) {
                struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

                expect_posts(t, &queue, 12 - __builtin_popcountll(queue.posted));
                flow_send(&flow, 6);
                expect_messages(t, &queue, &flow, 1);
                row->end(t, &flow);
                flushed += reap_disconnected(t, &queue, &flow);
        }
        record(t, "%d receives were flushed in %d disconnects", flushed, DISCONNECTS);
        expect_rest_usable(t, &queue);
}

CASE(srq_post_recv, disconnect_flushes_half_received)
{
        struct queue queue = queue_for(t, 8, COMING, 2);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue.cookie_bits = EVERY_BYTE;
        expect_posts(t, &queue, 2);
        flows_hold(t, &queue, &flow, 1);
        uint64_t taken = message_holds(queue.buf->addr, MESSAGE, 0) ? 0 : 1;
        end_abruptly(t, &flow);
        must_be_coming(t, &queue, &flow, 1);

        reap_disconnected(t, &queue, &flow);
        expect_that(!(queue.posted >> taken & 1),
                    "the receive of a message that was half there was not flushed");
}

/*
 * Order
 */

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

/*
 * Signals
 */

/* A queue of long messages and an EP that receives from it with these flags. */
static struct flow flow_signalled(struct test *t, struct queue *queue, DAT_COMPLETION_FLAGS flags)
{
        DAT_EP_PARAM param = {.ep_state = DAT_EP_STATE_UNCONNECTED};
        DAT_EP_HANDLE ep;

        *queue = queue_for(t, 8, LONG_MESSAGE, 8);
        ep = ep_with(t, .srq = queue->srq);
        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        release(t, ep);
        param.ep_attr.recv_completion_flags = flags;
        ep = ep_with(t, .srq = queue->srq, .attr = &param.ep_attr);
        return (struct flow){.ep = ep,
                             .evd = ep_recv_evd(t, ep),
                             .end = peer_connect(peer(t), ep),
                             .length = LONG_MESSAGE};
}

/* A thread waits on the flow's EVD, proven, for so many events. */
static struct waiter *wait_for(struct test *t, const struct flow *flow, DAT_COUNT threshold)
{
        struct waiter *waiter = wait_on_evd(t, flow->evd, DAT_TIMEOUT_INFINITE, threshold);

        must_wait(waiter);
        return waiter;
}

/* The waiter was woken, by the completion of the flow's next message. */
static void check_woken(struct test *t, struct queue *queue, struct flow *flow,
                        const struct woken *woken, DAT_COUNT threshold)
{
        expect(woken->ret, DAT_SUCCESS);
        expect_that(woken->more >= threshold - 1, "%d events, and %d more were to be there",
                    woken->more + 1, threshold - woken->more - 1);
        expect_eq(woken->event.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
        check_message(t, queue, flow, 1, &woken->event.event_data.dto_completion_event_data);
}

static void expect_woken(struct test *t, struct queue *queue, struct flow *flow,
                         struct waiter *waiter, DAT_COUNT threshold)
{
        struct woken woken = expect_awake(waiter);

        check_woken(t, queue, flow, &woken, threshold);
}

static void send_solicited(struct flow *flow)
{
        peer_send(flow->end, .length = LONG_MESSAGE, .first = flow->sent++,
                  .flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG);
}

static const struct signal {
        const char *id;
        DAT_COMPLETION_FLAGS receives;
        DAT_COMPLETION_FLAGS sends;
} signals[] = {
    {"default", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"evd_threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG, DAT_COMPLETION_DEFAULT_FLAG},
    {"evd_threshold_solicited", DAT_COMPLETION_EVD_THRESHOLD_FLAG,
     DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"default_solicited", DAT_COMPLETION_DEFAULT_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
    {"unsignalled_solicited", DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG},
};

FAMILY(srq_post_recv, signals, signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, row->receives);

        expect_posts(t, &queue, TRIES);
        for (int i = 0; i < TRIES; i++) {
                struct waiter *waiter = wait_for(t, &flow, 1);

                peer_send(flow.end, .length = LONG_MESSAGE, .first = flow.sent++,
                          .flags = row->sends);
                expect_woken(t, &queue, &flow, waiter, 1);
        }
}

CASE(srq_post_recv, solicited_signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG);

        expect_posts(t, &queue, TRIES);
        for (int i = 0; i < TRIES; i++) {
                struct waiter *waiter = wait_for(t, &flow, 1);

                send_solicited(&flow);
                expect_woken(t, &queue, &flow, waiter, 1);
        }
}

/* That they came while the waiter slept, the solicited one behind them shows. */
CASE(srq_post_recv, unsolicited_waits)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_SOLICITED_WAIT_FLAG);
        struct waiter *waiter;
        struct woken woken;

        expect_posts(t, &queue, 8);
        waiter = wait_for(t, &flow, 1);
        flow_send(&flow, 7);
        peer_wait_sent(flow.end);
        expect_asleep(waiter);

        send_solicited(&flow);
        woken = must_awake(waiter);
        check_woken(t, &queue, &flow, &woken, 1);
        expect_messages(t, &queue, &flow, 7);
}

CASE(srq_post_recv, threshold_waits)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        struct waiter *waiter;
        struct woken woken;

        expect_posts(t, &queue, 3);
        waiter = wait_for(t, &flow, 3);
        flow_send(&flow, 2);
        peer_wait_sent(flow.end);
        expect_asleep(waiter);

        flow_send(&flow, 1);
        woken = must_awake(waiter);
        check_woken(t, &queue, &flow, &woken, 3);
        expect_messages(t, &queue, &flow, 2);
}

CASE(srq_post_recv, threshold_signals)
{
        struct queue queue;
        struct flow flow = flow_signalled(t, &queue, DAT_COMPLETION_EVD_THRESHOLD_FLAG);
        struct waiter *waiter;

        expect_posts(t, &queue, 3);
        waiter = wait_for(t, &flow, 3);
        flow_send(&flow, 3);

        expect_woken(t, &queue, &flow, waiter, 3);
        expect_messages(t, &queue, &flow, 2);
}

/*
 * Threads
 */

/* The receives that a thread posts, beside others: on so many slots from `first` on. */
struct share {
        const struct queue *queue;
        size_t first;
};

/* The first call that failed, or success. Between calls others get the processor, be it the only
 * one. */
static DAT_RETURN post_share(void *arg)
{
        const struct share *share = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (size_t i = 0; i < SHARE && dat_is(ret, DAT_SUCCESS); i++) {
                size_t slot = share->first + i;
                DAT_LMR_TRIPLET segment = triplet(share->queue->buf, slot * MESSAGE, MESSAGE);

                ret = dat_srq_post_recv(share->queue->srq, 1, &segment,
                                        (DAT_DTO_COOKIE){.as_64 = slot});
                sched_yield();
        }
        return ret;
}

CASE(srq_post_recv, from_threads_at_once, DEADLINE_MS(20000))
{
        struct queue queue = queue_with(t, POSTERS * SHARE);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct share shares[POSTERS];
                struct racer racers[POSTERS];

                for (size_t i = 0; i < POSTERS; i++) {
                        shares[i] = (struct share){.queue = &queue, .first = i * SHARE};
                        racers[i] = (struct racer){.call = post_share, .arg = &shares[i]};
                }
                stress_met(&stress, race(racers, POSTERS));
                for (size_t i = 0; i < POSTERS; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                queue.posted = (UINT64_C(1) << (POSTERS * SHARE)) - 1;
                expect_traffic(t, &queue, &flow, POSTERS * SHARE);
        }
        expect_room(t, &queue, srq_size(t, queue.srq));
        must_have_met(&stress);
}

/*
 * How many
 */

/* Receives on each place of an SRQ, however many these are, with a slot of memory each. */
struct crowd {
        struct queue queue;
        DAT_COUNT size;   /* that dat_srq_query tells */
        DAT_COUNT posted; /* slots that receives were posted on */
        bool *came;       /* by slot: whether it came back */
};

static struct crowd crowd_for(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct crowd crowd = {.queue = {.srq = srq, .length = MESSAGE}, .size = srq_size(t, srq)};

        if (crowd.size > MOST_PLACES)
                unsupported(t, "max_recv_dtos: more places than the case can fill");
        crowd.queue.buf = buf_with(t, .length = ((size_t)crowd.size + BEYOND) * MESSAGE);
        crowd.came = calloc(((size_t)crowd.size + BEYOND), sizeof(*crowd.came));
        if (!crowd.came)
                resource(t, "no memory for %d slots", crowd.size);
        return crowd;
}

static DAT_RETURN crowd_post(struct crowd *crowd)
{
        DAT_LMR_TRIPLET segment =
            triplet(crowd->queue.buf, (size_t)crowd->posted * MESSAGE, MESSAGE);
        DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)crowd->posted};
        DAT_RETURN ret = dat_srq_post_recv(crowd->queue.srq, 1, &segment, cookie);

        if (dat_is(ret, DAT_SUCCESS))
                crowd->posted++;
        return ret;
}

static struct crowd full(struct test *t, DAT_COUNT asked)
{
        struct crowd crowd = crowd_for(t, srq_with(t, .max_recv_dtos = asked));

        while (crowd.posted < crowd.size)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        return crowd;
}

/* Full, and beyond: until a receive is refused, or some more were taken. */
static struct crowd over_full(struct test *t)
{
        struct crowd crowd = full(t, 8);

        while (crowd.posted < crowd.size + BEYOND)
                if (!dat_is(expect(crowd_post(&crowd), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                            DAT_SUCCESS))
                        return crowd;
        note(t, "%d receives were taken, on a queue of %d", crowd.posted, crowd.size);
        return crowd;
}

/* The next message of a flow has come to a receive of its own. */
static void expect_crowd_served_next(struct test *t, struct crowd *crowd, struct flow *flow)
{
        DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flow->evd);
        uint64_t slot = dto.user_cookie.as_64;

        expect_that(slot < (uint64_t)crowd->posted && !crowd->came[slot],
                    "cookie %#llx, which is not posted or came back before",
                    (unsigned long long)slot);
        expect_that(message_holds(crowd->queue.buf->addr + slot * MESSAGE, MESSAGE, flow->received),
                    "receive %llu does not hold message %llu", (unsigned long long)slot,
                    (unsigned long long)flow->received);
        crowd->came[slot] = true;
        flow->received++;
}

/* So many messages of a flow come; few are there at a time. */
static void expect_crowd_serves(struct test *t, struct crowd *crowd, struct flow *flow,
                                DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++) {
                if (i % EACH_TIME == 0)
                        flow_send(flow, count - i < EACH_TIME ? count - i : EACH_TIME);
                expect_crowd_served_next(t, crowd, flow);
        }
}

/* As many of its receives as a case has time for serve a message; of a usual queue that is all. */
static void expect_crowd_served(struct test *t, struct crowd *crowd)
{
        struct flow flow = flow_open(t, &crowd->queue, DAT_HANDLE_NULL);

        expect_crowd_serves(t, crowd, &flow, crowd->posted < SERVED ? crowd->posted : SERVED);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, whole_queue)
{
        DAT_COUNT most = ia_attr(t)->max_recv_per_srq;
        struct crowd crowd = full(t, most < MORE_THAN_A_BYTE ? most : MORE_THAN_A_BYTE);

        expect_crowd_served(t, &crowd);
}

/* What stands unreaped has its places, and all others can be used. */
CASE(srq_post_recv, whole_queue_unreaped)
{
        struct crowd crowd = crowd_for(t, srq_with(t));
        struct flow flow = flow_open(t, &crowd.queue, DAT_HANDLE_NULL);

        while (crowd.posted < UNREAPED)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        flow_deliver(t, &flow, UNREAPED);
        while (crowd.posted < crowd.size)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        if (dat_is(expect(crowd_post(&crowd), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                   DAT_SUCCESS))
                note(t, "a queue of %d took one more beside %d unreaped", crowd.size, UNREAPED);

        for (int i = 0; i < UNREAPED; i++)
                expect_crowd_served_next(t, &crowd, &flow);
        expect_crowd_serves(t, &crowd, &flow,
                            crowd.posted < SERVED ? crowd.posted - UNREAPED : SERVED);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, too_many)
{
        over_full(t);
}

CASE(srq_post_recv, too_many_not_counted)
{
        struct crowd crowd = over_full(t);

        expect_count(t, srq_param(t, crowd.queue.srq).outstanding_dto_count, crowd.posted);
}

CASE(srq_post_recv, too_many_keeps_others)
{
        struct crowd crowd = over_full(t);

        expect_crowd_served(t, &crowd);
}

CASE(srq_post_recv, room_after_reaping)
{
        struct crowd crowd = over_full(t);
        struct flow flow = flow_open(t, &crowd.queue, DAT_HANDLE_NULL);

        expect_crowd_serves(t, &crowd, &flow, 3);

        expect_room(t, &crowd.queue, 3);
}

/*
 * Segments that no receive may use
 */

/* Vectors with one segment that is wrong. */
static const struct wrong {
        const char *id;
        DAT_COUNT segments;
        int at;
} wrongs[] = {
    {"only", 1, 0},
    {"first", SEGMENTS, 0},
    {"second", SEGMENTS, 1},
    {"last", SEGMENTS, SEGMENTS - 1},
};

/* Memory that no message may reach. */
static struct buf *kept_buf(struct test *t, struct buf_opts opts)
{
        struct buf *buf = buf_make(t, opts);

        memset(buf->addr, CANARY, buf->length);
        return buf;
}

static struct buf *foreign_buf(struct test *t)
{
        return kept_buf(t, (struct buf_opts){.pz = pz_new(t)});
}

static void expect_untouched(struct test *t, const struct buf *buf, const char *what)
{
        size_t kept = untouched(buf->addr, buf->length);

        expect_that(kept == buf->length, "byte %zu of %s was written", kept, what);
}

/* A receive whose vector has a wrong segment. */
struct bad {
        DAT_SRQ_HANDLE srq;
        struct vector vector;
        DAT_COUNT segments;
        size_t message; /* that reaches the wrong segment */
};

static struct bad bad_with(struct test *t, const struct wrong *row, DAT_LMR_TRIPLET segment)
{
        struct bad bad = {.srq = srq_for_vectors(t),
                          .vector = vector_with(t),
                          .segments = row->segments,
                          .message = row->segments == 1 ? places[0].length : VECTOR_LENGTH};

        segment.segment_length = places[row->at].length;
        bad.vector.iov[row->at] = segment;
        return bad;
}

static DAT_RETURN bad_post(struct bad *bad)
{
        return dat_srq_post_recv(bad->srq, bad->segments, bad->vector.iov, COOKIE);
}

/* The receive was refused, or fails when its message comes (GEN-9). */
static void expect_violation(struct test *t, DAT_RETURN ret, DAT_SRQ_HANDLE srq, size_t message)
{
        struct peer_ep *end;
        DAT_EP_HANDLE ep;
        DAT_EVENT event;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        ep = ep_with(t, .srq = srq);
        end = peer_connect(peer(t), ep);
        peer_send(end, .length = message);
        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

FAMILY(srq_post_recv, other_zone, wrongs)
{
        struct buf *buf = foreign_buf(t);
        struct bad bad = bad_with(t, row, triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PROTECTION_VIOLATION, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR of another zone");
}

CASE(srq_post_recv, other_zone_unwritten)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct buf *buf = foreign_buf(t);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_EVENT event;

        (void)dat_srq_post_recv(queue.srq, 1, &segment, COOKIE);
        expect_posts(t, &queue, 1);
        flow_send(&flow, 1);
        event = expect_event(flow.evd, DAT_DTO_COMPLETION_EVENT);

        expect_that(untouched(buf->addr, buf->length) == buf->length,
                    "a message was written to memory of another zone, its completion with status "
                    "%d",
                    (int)event.event_data.dto_completion_event_data.status);
}

CASE(srq_post_recv, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = {
            .srq = srq_with(t, .pz = zone), .length = MESSAGE, .buf = buf_with(t, .pz = zone)};
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq, .pz = zone);
        struct flow flow = {.ep = ep,
                            .evd = ep_recv_evd(t, ep),
                            .end = peer_connect(peer(t), ep),
                            .length = MESSAGE};

        expect_room(t, &queue, 1);
        queue.posted = 1;
        expect_traffic(t, &queue, &flow, 1);
}

static const struct unprivileged {
        const char *id;
        struct wrong place;
        DAT_MEM_PRIV_FLAGS privileges;
} unprivileged[] = {
    {"only", {"", 1, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"first", {"", SEGMENTS, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"second", {"", SEGMENTS, 1}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"last", {"", SEGMENTS, SEGMENTS - 1}, DAT_MEM_PRIV_LOCAL_READ_FLAG},
    {"remote_read", {"", 1, 0}, DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG},
};

FAMILY(srq_post_recv, no_write_privilege, unprivileged)
{
        struct buf *buf = kept_buf(t, (struct buf_opts){.privileges = row->privileges});
        struct bad bad = bad_with(t, &row->place, triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR that may not be written");
}

CASE(srq_post_recv, write_privilege_alone)
{
        struct queue queue = {
            .srq = srq_with(t),
            .length = MESSAGE,
            .buf = buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG),
        };
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_room(t, &queue, 1);
        queue.posted = 1;
        expect_traffic(t, &queue, &flow, 1);
}

FAMILY(srq_post_recv, freed_lmr, wrongs)
{
        struct buf *buf = buf_with(t);
        struct bad bad = bad_with(t, row, triplet(buf, 0, 0));
        DAT_RETURN ret;

        release(t, buf);
        ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                     DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_violation(t, ret, bad.srq, bad.message);
}

FAMILY(srq_post_recv, unknown_lmr, wrongs)
{
        struct buf *buf = kept_buf(t, (struct buf_opts){.length = 0});
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 0);

        segment.lmr_context ^= 0x5a5a00;

        struct bad bad = bad_with(t, row, segment);
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "memory that is named without its LMR");
}

CASE(srq_post_recv, lmr_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        struct buf *buf = kept_buf(t, (struct buf_opts){.ia = other, .pz = pz_of(t, other)});
        struct bad bad = bad_with(t, &wrongs[3], triplet(buf, 0, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION,
                                DAT_INVALID_PARAMETER, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
        expect_untouched(t, buf, "an LMR of another IA");
}

#define LMR_LENGTH 4096

static const struct bounds {
        const char *id;
        DAT_VADDR offset; /* of the LMR's first byte; it wraps */
        DAT_VLEN length;
        size_t message; /* that leaves the LMR */
} bounds[] = {
    {"before_by_one", (DAT_VADDR)-1, 100, 100},
    {"after_by_one", LMR_LENGTH - 99, 100, 100},
    {"longer_by_one", 0, LMR_LENGTH + 1, LMR_LENGTH + 1},
    {"behind_end", LMR_LENGTH, 1, 1},
    {"far_behind", UINT64_C(1) << 40, 100, 100},
    {"greatest_length", 0, ~(DAT_VLEN)0, LMR_LENGTH + 1},
    {"longer_by_far", 0, LMR_LENGTH + SEGMENT_LONG, LMR_LENGTH + 1},
};

FAMILY(srq_post_recv, outside_lmr, bounds)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, 0);
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_RETURN ret;

        segment.virtual_address += row->offset;
        segment.segment_length = row->length;
        ret =
            expect(dat_srq_post_recv(srq, 1, &segment, COOKIE), DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_violation(t, ret, srq, row->message);
}

FAMILY(srq_post_recv, outside_lmr_at, wrongs)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH);
        size_t length = places[row->at].length;
        struct bad bad = bad_with(t, row, triplet(buf, LMR_LENGTH - length + 1, 0));
        DAT_RETURN ret = expect(bad_post(&bad), DAT_INVALID_PARAMETER, DAT_SUCCESS);

        expect_violation(t, ret, bad.srq, bad.message);
}

CASE(srq_post_recv, whole_lmr)
{
        struct buf *buf = buf_with(t, .length = LMR_LENGTH + 3);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, buf->length);
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);

        expect(dat_srq_post_recv(srq, 1, &segment, COOKIE), DAT_SUCCESS);
        peer_send(end, .length = buf->length);
        expect_eq(expect_dto(ep_recv_evd(t, ep)).transfered_length, buf->length);
        expect_that(message_holds(buf->addr, buf->length, 0), "the LMR does not hold the message");
}

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
        DAT_RETURN ret = expect(dat_srq_post_recv(srq, comb.count, comb.iov, COOKIE),
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

        expect(dat_srq_post_recv(srq_for_vectors(t), INT_MAX, vector.iov, COOKIE),
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

        return triplet(buf, buf->length, 0);
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

/* Each time; or taken, and then it is told late. */
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

LEGAL(srq_post_recv)
{
        static DAT_LMR_TRIPLET segment;

        segment = triplet(buf_with(t), 0, MESSAGE);
        call->srq_handle = srq_with(t);
        call->num_segments = 1;
        call->local_iov = &segment;
        call->user_cookie = COOKIE;
}
