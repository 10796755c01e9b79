/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: how a message fills a receive. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

/*
 * How a message fills a receive
 */

/* Message 1, of `length` bytes, comes to a receive that is posted with the cookie 2. */
static void expect_filled(struct test *t, const struct loop *loop, const struct vector *to,
                          size_t length)
{
        struct vector from = vector_with(t, .length = length);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop->passive, to, 2, PLAIN), DAT_SUCCESS);
        must(send_vector(loop->active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop->passive), .ep = loop->passive, .cookie = 2,
                          .length = length);
        expect_holds(to, 1, length);
        expect_empty(t, ep_recv_evd(t, loop->passive));
}

FAMILY(ep_post_recv, length, transfer_lengths)
{
        struct loop loop = transfer_with(t);
        DAT_VLEN most = transfer_attr(t, (struct transfer_opts){0}).max_message_size;
        size_t length = length_of(t, row, most);
        struct vector to = vector_with(t, .length = length);

        expect_filled(t, &loop, &to, length);
}

FAMILY(ep_post_recv, scattered, splits)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        expect_filled(t, &loop, &to, LENGTH);
}

CASE(ep_post_recv, scattered_before_connection)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = steps.segments});
        struct loop loop =
            loop_of(t, (struct ep_opts){.attr = &attr}, (struct ep_opts){.attr = &attr});
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .split = &steps);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        loop_join_either(t, &loop);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/* Messages for four segments of 100, 200, 400 and 800 bytes. */
static const struct length_row shorter[] = {
    {"none", 0},
    {"one_byte", 1},
    {"part_of_first", 60},
    {"first_exactly", 100},
    {"one_of_second", 101},
    {"second_exactly", 300},
    {"part_of_third", 450},
    {"third_exactly", 700},
    {"all_but_one_byte", 1499},
};

FAMILY(ep_post_recv, shorter, shorter)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector to = vector_with(t, .length = 1500, .split = &steps);

        expect_filled(t, &loop, &to, row->length);
}

static const struct shift {
        const char *id;
        unsigned int bytes;
} shifts[] = {
    {"none", 0}, {"by_1", 1}, {"by_4", 4}, {"by_13", 13}, {"by_63", 63},
};

FAMILY(ep_post_recv, aligned, shifts)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector to =
            vector_with(t, .length = LENGTH, .segments = 3, .aligned = true, .shift = row->bytes);

        expect_filled(t, &loop, &to, LENGTH);
}

/* A vector of as many segments as the passive EP tells. */
static struct vector widest(struct test *t, struct loop *loop)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){0});
        DAT_COUNT most;

        attr.max_recv_iov = ia_attr(t)->max_iov_segments_per_dto;
        *loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){.attr = &attr});
        most = ep_snapshot(t, loop->passive).param.ep_attr.max_recv_iov;
        if (most > WIDEST)
                unsupported(t, "max_recv_iov: more segments than the case can give");
        return vector_with(t, .length = 2 * (size_t)most, .segments = most);
}

CASE(ep_post_recv, most_segments)
{
        struct loop loop;
        struct vector to = widest(t, &loop);

        loop_join_either(t, &loop);
        expect_filled(t, &loop, &to, to.length);
}

CASE(ep_post_recv, most_segments_before_connection)
{
        struct loop loop;
        struct vector to = widest(t, &loop);
        struct vector from = vector_with(t, .length = to.length);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        loop_join_either(t, &loop);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = to.length);
        expect_holds(&to, 1, to.length);
}

CASE(ep_post_recv, fewer_segments_than_vector)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 4);
        struct vector from = vector_with(t, .length = LENGTH / 2 + 1);
        DAT_EVENT event;

        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 2, to.iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        event = expect_event(ep_recv_evd(t, loop.passive), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_LENGTH_ERROR);
        to.count = 2;
        expect_kept_around(&to);
}

CASE(ep_post_recv, segments_of_several_lmrs)
{
        struct loop loop = transfer_with(t, .segments = 3);
        struct vector from = vector_with(t, .length = 3 * MESSAGE);
        unsigned char seen[3 * MESSAGE];
        DAT_LMR_TRIPLET iov[3];
        struct buf *bufs[3];

        for (int i = 0; i < 3; i++) {
                bufs[i] = buf_with(t, .length = MESSAGE, .type = mem_type_in_turn(t, (size_t)i));
                iov[i] = triplet(bufs[i], 0, MESSAGE);
        }
        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 3, iov, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = sizeof(seen));
        for (size_t i = 0; i < 3; i++)
                memcpy(seen + i * MESSAGE, bufs[i]->addr, MESSAGE);
        expect_that(message_holds(seen, sizeof(seen), 1),
                    "the LMRs, in the vector's order, do not hold the message");
}

CASE(ep_post_recv, whole_lmr)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct buf *to = buf_with(t, .length = LENGTH);
        DAT_LMR_TRIPLET segment = triplet(to, 0, LENGTH);

        vector_fill(t, &from, 1);
        expect(dat_ep_post_recv(loop.passive, 1, &segment, COOKIE(2), PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_that(message_holds(to->addr, LENGTH, 1), "the LMR does not hold the message");
}

CASE(ep_post_recv, write_privilege_alone)
{
        struct loop loop = transfer_with(t);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to =
            vector_with(t, .length = LENGTH, .buf.privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG);

        vector_fill(t, &from, 1);
        if (!dat_is(expect_or_note(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS,
                                   DAT_PRIVILEGES_VIOLATION),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

CASE(ep_post_recv, own_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct loop loop = transfer_with(t, .pz = zone);
        struct loop back = {.active = loop.passive, .passive = loop.active};
        struct vector to = vector_with(t, .length = LENGTH, .buf.pz = zone);

        expect_filled(t, &back, &to, LENGTH);
}

/*
 * Messages without bytes
 */

static const struct empty {
        const char *id;
        bool vector;
        DAT_COUNT segments;
} empties[] = {
    {"null_vector", false, 0},
    {"unused_vector", true, 0},
    {"segments", true, 2},
};

FAMILY(ep_post_recv, empty, empties)
{
        struct loop loop = transfer_with(t, .segments = 2);
        struct vector before = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .segments = 2);
        DAT_LMR_TRIPLET iov[2];

        memcpy(iov, to.iov, sizeof(iov));
        if (!row->segments)
                memset(iov, 0xff, sizeof(iov));
        expect_filled(t, &loop, &before, LENGTH);
        expect(dat_ep_post_recv(loop.passive, row->segments, row->vector ? iov : NULL, COOKIE(2),
                                PLAIN),
               DAT_SUCCESS);
        must(dat_ep_post_send(loop.active, 0, NULL, COOKIE(3), PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2);
        expect_untouched(&to);
}

FAMILY(ep_post_recv, segment_without_length, splits_with_empty)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        vector_fill(t, &from, 1);
        if (!dat_is(expect_may(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS,
                               DAT_INVALID_PARAMETER),
                    DAT_SUCCESS))
                return;
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .length = LENGTH);
        expect_holds(&to, 1, LENGTH);
}

/*
 * From another host
 */

static const struct length_row far_lengths[] = {
    {"one", 1},
    LENGTHS_AROUND(1024),
    LENGTHS_AROUND(4096),
    {"many_packets", 300007},
};

FAMILY(ep_post_recv, far_length, far_lengths)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = row->length + 100);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = row->length, .first = 9);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2, .length = row->length);
        expect_holds(&to, 9, row->length);
}

CASE(ep_post_recv, far_empty)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = LENGTH);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .empty = true);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2);
        expect_untouched(&to);
}

FAMILY(ep_post_recv, far_scattered, splits)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = row->segments});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = LENGTH, .split = row);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = LENGTH - 1, .first = 9);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2, .length = LENGTH - 1);
        expect_holds(&to, 9, LENGTH - 1);
}

CASE(ep_post_recv, far_order)
{
        DAT_EP_HANDLE ep = ep_with(t);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to[16];

        for (uint64_t i = 0; i < 16; i++) {
                to[i] = vector_with(t, .length = LENGTH);
                expect(recv_vector(ep, &to[i], i, PLAIN), DAT_SUCCESS);
        }
        peer_send(end, .count = 16, .length = 200, .length_step = 300);
        for (uint64_t i = 0; i < 16; i++) {
                expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = i,
                                  .length = 200 + 300 * i);
                expect_holds(&to[i], i, 200 + 300 * i);
        }
}
