/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: the fields. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/masks.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_query/fixtures.h"
#include "clauses/srq_query.h"

#define WIDEST 1024 /* segments that a case can give */

FAMILY(srq_query, field, fields)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM param = srq_query_queried(t, known.srq, row->bit);

        row->check(t, &known, &param);
}

FAMILY(srq_query, field_among_all, fields)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM param = srq_query_queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        row->check(t, &known, &param);
}

CASE(srq_query, every_mask)
{
        struct known known = known_srq(t);

        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++)
                srq_query_check_fields(t, &known, mask);
}

CASE(srq_query, every_mask_with_mark)
{
        struct known known = known_srq(t);

        must(dat_srq_set_lw(known.srq, KNOWN_POSTS - 1));
        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++) {
                DAT_SRQ_PARAM param =
                    check_fields_but(t, &known, mask, DAT_SRQ_FIELD_LOW_WATERMARK);

                if (mask & DAT_SRQ_FIELD_LOW_WATERMARK)
                        expect_eq(param.low_watermark, KNOWN_POSTS - 1);
        }
}

CASE(srq_query, size_is_room)
{
        struct queue queue = queue_with(t, KNOWN_DTOS);
        DAT_SRQ_PARAM param = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO);

        expect_room(t, &queue, param.max_recv_dtos);
}

static const struct magnitude {
        const char *id;
        DAT_COUNT size;
} magnitudes[] = {
    {"one", 1},
    {"two_thousand", 2000},
};

FAMILY(srq_query, size_of, magnitudes)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_COUNT size = row->size < limit ? row->size : limit;
        struct queue queue = queue_with(t, size);
        DAT_COUNT told = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO).max_recv_dtos;

        check_least(t, told, size, limit);
        expect_room(t, &queue, told);
}

/* The sizes that a queue made for 8 is given. */
static const struct resizing {
        const char *id;
        DAT_COUNT sizes[2];
        int count;
} resizings[] = {
    {"grown", {16}, 1},
    {"shrunk", {4}, 1},
    {"grown_and_shrunk", {16, 4}, 2},
    {"shrunk_and_grown", {4, 16}, 2},
};

FAMILY(srq_query, size_after, resizings)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = 0;
        DAT_COUNT told;

        for (int i = 0; i < row->count; i++) {
                size = row->sizes[i] < limit ? row->sizes[i] : limit;
                must(dat_srq_resize(queue.srq, size));
        }

        told = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO).max_recv_dtos;
        check_least(t, told, size, limit);
        expect_eq(srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL).max_recv_dtos, told);
        expect_room(t, &queue, told);
}

static const struct width {
        const char *id;
        DAT_COUNT iov; /* 0: as many as the IA has */
} widths[] = {
    {"one", 1},
    {"ia_limit", 0},
};

FAMILY(srq_query, segments_are_taken, widths)
{
        DAT_COUNT iov = row->iov ? row->iov : ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_iov = iov);
        const struct buf *buf = buf_with(t);
        DAT_COUNT told = srq_query_queried(t, srq, DAT_SRQ_FIELD_MAX_RECV_IOV).max_recv_iov;
        DAT_LMR_TRIPLET segments[WIDEST];

        expect_that(told >= iov, "%d asked for, %d queried", iov, told);
        if (told > WIDEST)
                told = WIDEST;
        for (int i = 0; i < told; i++)
                segments[i] = triplet(buf, (size_t)i, 1);

        expect(dat_srq_post_recv(srq, told, segments, (DAT_DTO_COOKIE){.as_64 = 0}), DAT_SUCCESS);
}

/* Each SRQ is made for fewer segments than the one before: what it has is too few for that one. */
FAMILY(srq_query, own_parameters, three_srqs)
{
        DAT_COUNT most = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT iovs[3];
        DAT_PZ_HANDLE zones[3];
        DAT_SRQ_HANDLE srqs[3];
        DAT_SRQ_PARAM param;

        for (int i = 0; i < 3; i++) {
                zones[i] = pz_new(t);
                iovs[i] = most < 3 - i ? most : 3 - i;
                srqs[i] = srq_with(t, .max_recv_dtos = 4, .max_recv_iov = iovs[i], .pz = zones[i]);
                srq_post(t, srqs[i], buf_with(t, .pz = zones[i]), MESSAGE, 0, 1 + i);
        }
        DAT_COUNT size = srq_size(t, srqs[(row->index + 1) % 3]);
        DAT_COUNT request = srq_size_above(t, srqs[row->index], 8);

        must(dat_srq_resize(srqs[row->index], request));

        param = srq_query_queried(t, srqs[row->index], DAT_SRQ_FIELD_ALL);
        expect_that(param.max_recv_dtos >= request, "%d places, %d asked for", param.max_recv_dtos,
                    request);
        expect_that(param.pz_handle == zones[row->index], "the PZ is not the SRQ's own");
        check_least(t, param.max_recv_iov, iovs[row->index], most);
        expect_declared(t, param.outstanding_dto_count, 1 + row->index);
        expect_declared(t, param.available_dto_count, 1 + row->index);
        param = srq_query_queried(t, srqs[(row->index + 1) % 3], DAT_SRQ_FIELD_ALL);
        expect_eq(param.max_recv_dtos, size);
        expect_that(param.pz_handle == zones[(row->index + 1) % 3], "the PZ is not the SRQ's own");
        check_least(t, param.max_recv_iov, iovs[(row->index + 1) % 3], most);
}

CASE(srq_query, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_PZ_HANDLE zone = pz_of(t, other);
        DAT_SRQ_HANDLE own = srq_with(t);
        DAT_SRQ_HANDLE srq = srq_with(t, .ia = other, .pz = zone);
        DAT_SRQ_PARAM param;

        srq_post(t, own, buf_with(t), MESSAGE, 0, 1);
        srq_post(t, srq, buf_with(t, .ia = other, .pz = zone), MESSAGE, 0, 2);
        param = srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL);
        expect_that(param.ia_handle == other, "the IA is not the SRQ's own");
        expect_that(param.pz_handle == zone, "the PZ is not the SRQ's own");
        expect_declared(t, param.available_dto_count, 2);
        expect_declared(t, param.outstanding_dto_count, 2);
        param = srq_query_queried(t, own, DAT_SRQ_FIELD_ALL);
        expect_that(param.ia_handle == ia(t), "the IA is not the SRQ's own");
        expect_declared(t, param.available_dto_count, 1);
        expect_declared(t, param.outstanding_dto_count, 1);
}

FAMILY(srq_query, low_watermark_set, asked)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT mark = row->mark ? row->mark : srq_size(t, srq);

        must(dat_srq_set_lw(srq, mark));

        DAT_SRQ_PARAM param = srq_query_queried(t, srq, DAT_SRQ_FIELD_LOW_WATERMARK | row->extra);
        expect_eq(param.low_watermark, mark);
}

/* A mark of another SRQ, and those before, are none of it. */
CASE(srq_query, low_watermark_set_again)
{
        const DAT_COUNT marks[] = {5, 8, 1, DAT_SRQ_LW_DEFAULT, 3};
        DAT_SRQ_HANDLE srqs[] = {srq_with(t, .max_recv_dtos = 8), srq_with(t, .max_recv_dtos = 8)};

        must(dat_srq_set_lw(srqs[1], 4));
        for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
                must(dat_srq_set_lw(srqs[0], marks[i]));
                expect_eq(srq_query_queried(t, srqs[0], DAT_SRQ_FIELD_ALL).low_watermark, marks[i]);
                expect_eq(srq_query_queried(t, srqs[1], DAT_SRQ_FIELD_ALL).low_watermark, 4);
        }
}

CASE(srq_query, low_watermark_above_first_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT mark;

        must(dat_srq_resize(srq, srq_size_above(t, srq, 8)));
        mark = srq_size(t, srq);
        must(dat_srq_set_lw(srq, mark));

        expect_eq(srq_query_queried(t, srq, DAT_SRQ_FIELD_LOW_WATERMARK).low_watermark, mark);
        expect_eq(srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL).low_watermark, mark);
}

#define COURSE_MARK 3

/* A connection of an EP of the SRQ comes and ends. Returns the EP. */
static DAT_EP_HANDLE after_connection(struct test *t, struct queue *queue)
{
        struct flow flow = flow_open(t, queue, DAT_HANDLE_NULL);

        flow_break(t, &flow);
        return flow.ep;
}

static void reset_ep(struct test *t, struct queue *queue)
{
        must(dat_ep_reset(after_connection(t, queue)));
}

static void free_ep(struct test *t, struct queue *queue)
{
        release(t, after_connection(t, queue));
}

/* So many that fewer than the mark remain. */
static void receive_messages(struct test *t, struct queue *queue)
{
        struct flow flow = flow_open(t, queue, DAT_HANDLE_NULL);

        queue_post(t, queue, COURSE_MARK + 1);
        expect_traffic(t, queue, &flow, 2);
}

static void resize_twice(struct test *t, struct queue *queue)
{
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
        must(dat_srq_resize(queue->srq, COURSE_MARK));
}

static void resize_in_vain(struct test *t, struct queue *queue)
{
        must_that(!dat_is(dat_srq_resize(queue->srq, COURSE_MARK - 1), DAT_SUCCESS),
                  "a resize below the low watermark was granted");
}

/* What comes to an SRQ behind the setting of its mark, and sets no other one. */
static const struct course {
        const char *id;
        void (*come)(struct test *t, struct queue *queue);
} courses[] = {
    {"ep_reset", reset_ep},    {"ep_freed", free_ep},       {"event", receive_messages},
    {"resizes", resize_twice}, {"refusal", resize_in_vain},
};

FAMILY(srq_query, low_watermark_after, courses)
{
        struct queue queue = queue_with(t, 8);

        queue_mark(t, &queue, COURSE_MARK);
        row->come(t, &queue);

        expect_eq(srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_LOW_WATERMARK).low_watermark,
                  COURSE_MARK);
        expect_eq(srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL).low_watermark, COURSE_MARK);
}

CASE(srq_query, within_structure)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        struct buf *buf = buf_with(t, .length = sizeof(DAT_SRQ_PARAM));

        for (unsigned int mask = 1; mask <= DAT_SRQ_FIELD_ALL; mask++)
                expect(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)mask, (DAT_SRQ_PARAM *)buf->addr),
                       DAT_SUCCESS);
        release(t, buf->lmr);
}
