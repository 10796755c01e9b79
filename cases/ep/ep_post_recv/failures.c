/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_post_recv: failed and refused receives. */
#include "cases/ep/ep_post_recv/fixtures.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transfer.h"
#include "clauses/ep_post_recv.h"

#include <limits.h>
#include <string.h>

#define REFUSALS 8              /* of one receive, in a row */
#define MUCH     ((size_t)8192) /* more than a buffer has */

/*
 * Messages that are too long
 */

static const struct too_long {
        const char *id;
        size_t room;
        size_t length;
} too_long[] = {
    {"by_one", 1500, 1501},
    {"by_far", 1500, 50000},
    {"by_one_packet", 4096, 8192},
    {"no_segments", 0, 1},
};

FAMILY(ep_post_recv, longer, too_long)
{
        struct loop loop = transfer_with(t, .segments = 4);
        struct vector from = vector_with(t, .length = row->length);
        struct vector to = vector_with(t, .length = row->room, .split = &steps);

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 3, PLAIN));

        expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
        expect_kept_around(&to);
        expect_empty(t, ep_recv_evd(t, loop.passive));
}

FAMILY(ep_post_recv, far_longer, too_long)
{
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.segments = 4});
        DAT_EP_HANDLE ep = ep_with(t, .attr = &attr);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct vector to = vector_with(t, .length = row->room, .split = &steps);

        expect(recv_vector(ep, &to, 2, PLAIN), DAT_SUCCESS);
        peer_send(end, .length = row->length);

        expect_completion(ep_recv_evd(t, ep), .ep = ep, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
        expect_kept_around(&to);
}

/* A message that fits comes to its receive before one that does not. */
CASE(ep_post_recv, before_longer)
{
        struct loop loop = transfer_with(t);
        struct line line = line_between(t, loop.active, loop.passive, 4);
        struct vector longer = vector_with(t, .length = MESSAGE + 1);

        for (int i = 0; i < 4; i++)
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        must(line_send(&line, PLAIN));
        must(line_send(&line, PLAIN));
        must(send_vector(loop.active, &longer, 9, PLAIN));

        expect_arrivals(t, &line, 2);
        expect_completion(ep_recv_evd(t, line.to), .ep = line.to, .cookie = 2,
                          .status = DAT_DTO_LENGTH_ERROR);
}

/*
 * Protection
 */

/* The bytes of all segments, the wrong one too: a message of so many, or of MUCH, reaches it. */
static size_t room(const struct vector *vector)
{
        size_t bytes = 0;

        for (DAT_COUNT i = 0; i < vector->count; i++)
                bytes +=
                    vector->iov[i].segment_length < MUCH ? vector->iov[i].segment_length : MUCH;
        return bytes < MUCH ? bytes : MUCH;
}

FAMILY(ep_post_recv, wrong_segment, wrong_segments)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        struct vector from = vector_with(t, .length = MUCH);
        struct vector to = vector_with(t, .length = MUCH);
        struct wrong wrong;

        vector_fill(t, &from, 1);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        from.iov[0].segment_length = room(&wrong.vector);
        if (expect_wrong(recv_vector(loop.passive, &wrong.vector, 4, PLAIN), &wrong)) {
                size_t length = from.iov[0].segment_length;

                expect(recv_vector(loop.passive, &to, 2, PLAIN), DAT_SUCCESS);
                must(send_vector(loop.active, &from, 3, PLAIN));
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = 2,
                                  .length = length);
                expect_holds(&to, 1, length);
                expect_wrong_untouched(t, &wrong);
                return;
        }
        must(send_vector(loop.active, &from, 3, PLAIN));
        expect_wrong_told(t, ep_recv_evd(t, loop.passive), loop.passive, 4, &wrong);
        expect_late_untouched(t, &wrong);
}

/* An EP that was reset takes receives as a new one does, before it is connected again. */
CASE(ep_post_recv, after_reset)
{
        DAT_COUNT segments = ia_attr(t)->max_iov_segments_per_dto < 2 ? 1 : 2;
        struct loop loop = transfer_with(t, .segments = segments);
        struct vector from = vector_with(t, .length = LENGTH);
        struct vector to[] = {vector_with(t, .length = LENGTH),
                              vector_with(t, .length = LENGTH, .segments = segments)};

        vector_fill(t, &from, 1);
        must_end(t, &loop);
        must(dat_ep_reset(loop.active));
        must(dat_ep_reset(loop.passive));
        for (uint64_t i = 0; i < 2; i++)
                expect(recv_vector(loop.passive, &to[i], i, PLAIN), DAT_SUCCESS);
        loop_join_either(t, &loop);
        for (uint64_t i = 0; i < 2; i++)
                must(send_vector(loop.active, &from, i, PLAIN));
        for (uint64_t i = 0; i < 2; i++) {
                expect_completion(ep_recv_evd(t, loop.passive), .ep = loop.passive, .cookie = i,
                                  .length = LENGTH);
                expect_holds(&to[i], 1, LENGTH);
        }
}

FAMILY(ep_post_recv, wrong_on_disconnected, wrong_flushed)
{
        struct loop loop = transfer_with(t, .segments = row->segments);
        DAT_EVD_HANDLE evd = ep_recv_evd(t, loop.passive);
        struct wrong wrong;

        must_end(t, &loop);
        wrong = wrong_with(t, row, DAT_MEM_PRIV_LOCAL_WRITE_FLAG);
        if (!expect_wrong(recv_vector(loop.passive, &wrong.vector, 4, PLAIN), &wrong))
                expect_completion(evd, .ep = loop.passive, .cookie = 4,
                                  .status = DAT_DTO_ERR_FLUSHED);
        expect_empty(t, evd);
        expect_wrong_untouched(t, &wrong);
}

/*
 * What a refused receive leaves as it was
 */

static DAT_RETURN post_one(DAT_EP_HANDLE ep, const struct buf *buf, size_t offset,
                           DAT_COMPLETION_FLAGS flags)
{
        DAT_LMR_TRIPLET segment = triplet(buf, offset, MESSAGE);

        return dat_ep_post_recv(ep, 1, &segment, COOKIE(99), flags);
}

static DAT_RETURN with_negative_segments(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        return dat_ep_post_recv(ep, -1, &segment, COOKIE(99), PLAIN);
}

static DAT_RETURN with_unsignalled_flag(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t), 0, UNSIGNAL);
}

static DAT_RETURN with_flag_of_requests(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t), 0, DAT_COMPLETION_SUPPRESS_FLAG);
}

static DAT_RETURN with_other_zone(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t, .pz = pz_new(t)), 0, PLAIN);
}

static DAT_RETURN with_no_privilege(struct test *t, DAT_EP_HANDLE ep)
{
        return post_one(ep, buf_with(t, .privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG), 0, PLAIN);
}

static DAT_RETURN with_outside(struct test *t, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);

        return post_one(ep, buf, buf->length, PLAIN);
}

/* Its first segment is good. */
static DAT_RETURN with_outside_last(struct test *t, DAT_EP_HANDLE ep)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[] = {triplet(buf, 0, MESSAGE), triplet(buf, buf->length, MESSAGE)};

        return dat_ep_post_recv(ep, 2, segments, COOKIE(99), PLAIN);
}

static const struct refusal {
        const char *id;
        DAT_RETURN (*post)(struct test *t, DAT_EP_HANDLE ep);
        DAT_RETURN returned;
        bool late; /* it may be found out later instead (GEN-9) */
} refusals[] = {
    {"negative_segments", with_negative_segments, DAT_INVALID_PARAMETER, false},
    {"unsignalled_flag", with_unsignalled_flag, DAT_INVALID_PARAMETER, false},
    {"flag_of_requests", with_flag_of_requests, DAT_INVALID_PARAMETER, false},
    {"other_zone", with_other_zone, DAT_PROTECTION_VIOLATION, true},
    {"no_privilege", with_no_privilege, DAT_PRIVILEGES_VIOLATION, true},
    {"outside_lmr", with_outside, DAT_INVALID_PARAMETER, true},
    {"outside_lmr_last", with_outside_last, DAT_INVALID_PARAMETER, true},
};

FAMILY(ep_post_recv, refusal_leaves, refusals)
{
        DAT_EVD_HANDLE received = evd_of_at_most(t, MOST_RECVS + 16);
        struct loop loop = transfer_with(t, .recv_evd = received);
        struct ep_snapshot before = ep_snapshot(t, loop.passive);
        struct line line = line_between(t, loop.active, loop.passive, MOST_RECVS + 16);
        DAT_COUNT places = before.param.ep_attr.max_recv_dtos;
        DAT_RETURN ret;

        for (int i = 0; i < REFUSALS; i++) {
                ret = expect(row->post(t, loop.passive), row->returned,
                             row->late ? DAT_SUCCESS : row->returned);
                if (dat_is(ret, DAT_SUCCESS))
                        end_noted(t, "the receive was not refused at once: there is no refusal to "
                                     "look behind");
        }
        expect_ep_kept(t, loop.passive, &before, 0);
        must_have_room(t, received, places);
        for (DAT_COUNT i = 0; i < places; i++)
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        expect_all_serve(t, &line);
}

/* Two receives before a refused one, and two behind it, take the next messages in their order. */
FAMILY(ep_post_recv, refusal_keeps_others, refusals)
{
        struct line line = line_with(t);
        DAT_RETURN ret;

        for (int i = 0; i < 4; i++) {
                if (i == 2) {
                        ret = expect(row->post(t, line.to), row->returned,
                                     row->late ? DAT_SUCCESS : row->returned);
                        if (dat_is(ret, DAT_SUCCESS))
                                end_noted(t, "the receive was not refused at once: there is no "
                                             "refusal to look behind");
                }
                expect(line_recv(&line, PLAIN), DAT_SUCCESS);
        }
        expect_all_serve(t, &line);
}
