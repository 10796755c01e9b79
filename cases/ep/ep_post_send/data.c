/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_send: the bytes of a message. */
#include "cases/ep/ep_post_send/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_post_send.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes
 */

/* A message goes from one vector to the other, and completes at both ends. */
static void expect_carried(struct test *t, const struct loop *loop, const struct vector *from,
                           const struct vector *to)
{
        vector_fill(t, from, 1);
        must(recv_vector(loop->passive, to, 2, PLAIN));
        expect(send_vector(loop->active, from, 3, PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop->passive), .ep = loop->passive, .cookie = 2,
                          .length = from->length);
        expect_completion(ep_request_evd(t, loop->active), .ep = loop->active, .cookie = 3,
                          .length = from->length);
        expect_holds(to, 1, from->length);
        expect_holds(from, 1, from->length);
}

FAMILY(ep_post_send, length, transfer_lengths)
{
        struct loop loop = transfer_with(t);
        DAT_VLEN most = transfer_attr(t, (struct transfer_opts){0}).max_message_size;
        size_t length = length_of(t, row, most);
        struct vector from = vector_with(t, .length = length);
        struct vector to = vector_with(t, .length = length);

        expect_carried(t, &loop, &from, &to);
}

FAMILY(ep_post_send, gathered, splits)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

static const struct alignment {
        const char *id;
        unsigned int from;
        unsigned int to;
} alignments[] = {
    {"both", 0, 0},  {"source_by_1", 1, 0}, {"source_by_4", 4, 0}, {"source_by_63", 63, 0},
    {"alike", 3, 3}, {"target_by_1", 0, 1}, {"unlike", 13, 58},
};

FAMILY(ep_post_send, aligned, alignments)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from =
            vector_with(t, .length = LENGTH, .segments = 3, .aligned = true, .shift = row->from);
        struct vector to =
            vector_with(t, .length = LENGTH, .segments = 2, .aligned = true, .shift = row->to);

        expect_carried(t, &loop, &from, &to);
}

/* As many segments as the EP tells; each is of two bytes. */
CASE(ep_post_send, most_segments)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){0});
        struct loop loop;

        attr.max_request_iov = most;
        loop = loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){0});
        loop_join_either(t, &loop);
        most = ep_snapshot(t, loop.active).param.ep_attr.max_request_iov;
        if (most > WIDEST)
                unsupported(t, "max_request_iov: more segments than the case can give");

        struct vector from = vector_with(t, .length = 2 * (size_t)most, .segments = most);
        struct vector to = vector_with(t, .length = 2 * (size_t)most);
        expect_carried(t, &loop, &from, &to);
}

CASE(ep_post_send, fewer_segments_than_vector)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector from = vector_with(t, .length = LENGTH, .segments = 4);
        struct vector to = vector_with(t, .length = LENGTH);

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 2, from.iov, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH / 2);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3,
                          .length = LENGTH / 2);
        expect_holds(&to, 1, LENGTH / 2);
}

/* Each segment is of an LMR of its own. */
static void expect_of_several_lmrs(struct test *t, const struct loop *loop)
{
        struct vector to = vector_with(t, .length = 3 * MESSAGE);
        struct vector from = {.count = 3, .length = 3 * MESSAGE};
        unsigned char message[3 * MESSAGE];
        DAT_LMR_TRIPLET iov[3];

        message_fill(message, sizeof(message), 1);
        for (size_t i = 0; i < 3; i++) {
                struct buf *buf = buf_with(t, .length = MESSAGE, .type = mem_type_in_turn(t, i));

                memcpy(buf->addr, message + i * MESSAGE, MESSAGE);
                iov[i] = triplet(buf, 0, MESSAGE);
        }
        from.iov = iov;
        must(recv_vector(loop->passive, &to, 2, PLAIN));
        expect(send_vector(loop->active, &from, 3, PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop->passive), .ep = loop->passive, .cookie = 2,
                          .length = sizeof(message));
        expect_holds(&to, 1, sizeof(message));
}

CASE(ep_post_send, segments_of_several_lmrs)
{
        struct loop loop = transfer_with(t, .segments = 3);

        expect_of_several_lmrs(t, &loop);
}

#define ROUNDS 12 /* of four sends: more in all than the EP has places for */

/* Four sends at a time, of which the last one alone reports its success. */
static void expect_mostly_suppressed(struct test *t, struct line *line)
{
        for (int round = 0; round < ROUNDS; round++) {
                must_line_recv(t, line, 4);
                for (int i = 0; i < 3; i++)
                        expect(line_send(line, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
                expect(line_send(line, PLAIN), DAT_SUCCESS);
                expect_arrivals(t, line, 4);
                expect_completion(ep_request_evd(t, line->from), .ep = line->from,
                                  .cookie = line->sent - 1, .length = MESSAGE);
        }
}

/* The EP that the provider made may have fewer segments. */
FAMILY(ep_post_send, however_joined, ep_joins)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 3});
        struct loop loop = loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){0});
        struct line line;

        row->join(t, &loop);
        line = line_between(t, loop.active, loop.passive, 4);
        expect_mostly_suppressed(t, &line);
        if (ep_snapshot(t, loop.active).param.ep_attr.max_request_iov >= 3) {
                expect_of_several_lmrs(t, &loop);
                expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3,
                                  .length = 3 * MESSAGE);
        }
        must_end(t, &loop);
        expect(line_send(&line, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active,
                          .cookie = line.sent - 1, .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, ep_request_evd(t, loop.active));
}

static const struct repeated {
        const char *id;
        size_t behind; /* the second segment begins so many bytes behind the first */
} repeats[] = {
    {"the_same", 0},
    {"overlapping", 100},
};

/* The bytes of overlapping segments go once for each segment that they are in. */
FAMILY(ep_post_send, bytes_in_two_segments, repeats)
{
        struct loop loop = transfer_with(t, .segments = 2);
        struct buf *from = buf_with(t);
        struct buf *to = buf_with(t);
        DAT_LMR_TRIPLET segments[2] = {triplet(from, 0, 1000), triplet(from, row->behind, 1000)};
        DAT_LMR_TRIPLET segment = triplet(to, 0, 2000);

        message_fill(from->addr, from->length, 1);
        must(dat_ep_post_recv(loop.passive, 1, &segment, COOKIE(2), PLAIN));
        expect(dat_ep_post_send(loop.active, 2, segments, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = 2000);
        expect_that(memcmp(to->addr, from->addr, 1000) == 0, "the first segment did not come");
        expect_that(memcmp(to->addr + 1000, from->addr + row->behind, 1000) == 0,
                    "the second segment did not come");
}

CASE(ep_post_send, whole_lmr)
{
        struct loop loop = transfer_with(t);
        struct buf *from = buf_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET segment = triplet(from, 0, LENGTH);

        message_fill(from->addr, LENGTH, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        expect(dat_ep_post_send(loop.active, 1, &segment, COOKIE(3), PLAIN), DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_send, read_privilege_alone)
{
        struct loop loop = transfer_with(t);
        struct vector from =
            vector_with(t, .length = LENGTH, .buf.privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

CASE(ep_post_send, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct loop loop = transfer_with(t, .pz = zone);
        struct vector from = vector_with(t, .length = LENGTH, .buf.pz = zone);
        struct vector to = vector_with(t, .length = LENGTH);

        expect_carried(t, &loop, &from, &to);
}

/*
 * Messages without bytes
 */

static const struct empty {
        const char *id;
        bool vector;
} empties[] = {
    {"null_vector", false},
    {"unused_vector", true},
};

FAMILY(ep_post_send, empty, empties)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH);

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        memset(from.iov, 0xff, sizeof(*from.iov));
        expect(dat_ep_post_send(loop.active, 0, row->vector ? from.iov : NULL, COOKIE(3), PLAIN),
               DAT_SUCCESS);

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2);
        expect_completion(ep_request_evd(t, loop.active), .ep = loop.active, .cookie = 3);
        expect_untouched(&to);
}

FAMILY(ep_post_send, segment_without_length, splits_with_empty)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);
        struct vector to = vector_with(t, .length = LENGTH);
        DAT_RETURN ret;

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 2, PLAIN));
        ret = expect_may(send_vector(loop.active, &from, 3, PLAIN), DAT_SUCCESS,
                         DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/*
 * To another host
 */

static const struct length_row far_lengths[] = {
    {"none", 0}, {"one", 1}, LENGTHS_AROUND(1024), LENGTHS_AROUND(4096), {"many_packets", 300007},
};

FAMILY(ep_post_send, far_length, far_lengths)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from = vector_with(t, .length = row->length);

        vector_fill(t, &from, 5);
        peer_post_recv(end, 1, row->length + 1);
        expect(send_vector(ep, &from, 3, PLAIN), DAT_SUCCESS);

        expect_peer_has(end, 5, row->length);
        expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = 3, .length = row->length);
}

FAMILY(ep_post_send, far_gathered, splits)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = row->segments});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from = vector_with(t, .length = LENGTH, .split = row);

        vector_fill(t, &from, 5);
        peer_post_recv(end, 1, LENGTH);
        expect(send_vector(ep, &from, 3, PLAIN), DAT_SUCCESS);

        expect_peer_has(end, 5, LENGTH);
}

CASE(ep_post_send, far_order)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector from[8];

        peer_post_recv(end, 8, LENGTH);
        for (uint64_t i = 0; i < 8; i++) {
                from[i] = vector_with(t, .length = LENGTH - 600 * i);
                vector_fill(t, &from[i], i);
                expect(send_vector(ep, &from[i], i, PLAIN), DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 8; i++) {
                expect_peer_has(end, i, LENGTH - 600 * i);
                expect_completion(ep_request_evd(t, ep), .ep = ep, .cookie = i,
                                  .length = LENGTH - 600 * i);
        }
}
