/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_create: the number of receives and segments. */
#include "case/limits.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_create/fixtures.h"
#include "clauses/srq_create.h"

#define MANY       500   /* receives */
#define MOST_PARTS 64    /* segments that a case makes of a message */
#define MOST_POSTS 65536 /* where the IA's limit is beyond counting */

static const struct size {
        const char *id;
        DAT_COUNT dtos;
} sizes[] = {
    {"one", 1},
    {"odd", 33},
    {"sixty_four", 64},
    {"many", MANY},
};

static DAT_COUNT size_of(struct test *t, const struct size *row)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);

        return row->dtos < limit ? row->dtos : limit;
}

FAMILY(srq_create, size, sizes)
{
        DAT_COUNT asked = size_of(t, row);

        expect_at_least(t, srq_create_create(t, pz(t), attr_of(asked, 1, DAT_SRQ_LW_DEFAULT)),
                        asked, 1);
}

FAMILY(srq_create, room, sizes)
{
        DAT_COUNT asked = size_of(t, row);
        struct queue queue = queue_made(t, asked);

        expect_room(t, &queue, asked);
}

CASE(srq_create, room_as_queried)
{
        struct queue queue = queue_made(t, size_of(t, &sizes[1]));

        expect_room(t, &queue, srq_size(t, queue.srq));
}

CASE(srq_create, size_at_ia_limit)
{
        DAT_COUNT limit = limit_told(max_recv_per_srq);

        expect_at_least(t, create_at_limit(t, limit, 1), limit, 1);
}

CASE(srq_create, room_at_ia_limit)
{
        DAT_COUNT limit = limit_told(max_recv_per_srq);
        struct queue queue = {
            .srq = create_at_limit(t, limit, 1), .length = MESSAGE, .buf = buf_with(t)};

        expect_room(t, &queue, limit < MOST_POSTS ? limit : MOST_POSTS);
}

CASE(srq_create, segments_at_ia_limit)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;

        expect_at_least(t, create_at_limit(t, 8, limit), 8, limit);
}

CASE(srq_create, both_at_ia_limits)
{
        DAT_COUNT dtos = limit_told(max_recv_per_srq);
        DAT_COUNT iov = ia_attr(t)->max_iov_segments_per_dto;
        DAT_SRQ_ATTR attr = attr_of(dtos, iov, DAT_SRQ_LW_DEFAULT);
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_srq_create(ia(t), pz(t), &attr, &srq);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %d receives of %d segments", dtos, iov);
        expect_or_note(ret, DAT_SUCCESS, DAT_INVALID_PARAMETER);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
        expect_at_least(t, srq, dtos, iov);
}

static const struct parts {
        const char *id;
        DAT_COUNT iov; /* 0: the IA's limit */
} parts[] = {
    {"one", 1},
    {"two", 2},
    {"most", 0},
};

static DAT_COUNT parts_of(struct test *t, const struct parts *row)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT asked = row->iov && row->iov < limit ? row->iov : limit;

        return asked < MOST_PARTS ? asked : MOST_PARTS;
}

/* Posts a receive whose message comes in so many parts, on the first free slot. */
static void expect_posts_in_parts(struct test *t, struct queue *queue, DAT_COUNT count)
{
        size_t slot = (size_t)__builtin_ctzll(~queue->posted);
        DAT_LMR_TRIPLET segments[MOST_PARTS];

        for (DAT_COUNT i = 0; i < count; i++) {
                size_t begin = MESSAGE * (size_t)i / (size_t)count;
                size_t end = MESSAGE * ((size_t)i + 1) / (size_t)count;

                segments[i] = triplet(queue->buf, slot * MESSAGE + begin, end - begin);
        }
        expect(dat_srq_post_recv(queue->srq, count, segments, (DAT_DTO_COOKIE){.as_64 = slot}),
               DAT_SUCCESS);
        queue->posted |= UINT64_C(1) << slot;
}

/* A queue made for 8 receives, the first of which are posted in so many parts. */
static struct queue queue_in_parts(struct test *t, DAT_COUNT count, int receives)
{
        struct queue queue = {
            .srq = srq_create_create(t, pz(t), attr_of(8, count, DAT_SRQ_LW_DEFAULT)),
            .length = MESSAGE,
            .buf = buf_with(t, .length = 8 * MESSAGE)};

        for (int i = 0; i < receives; i++)
                expect_posts_in_parts(t, &queue, count);
        return queue;
}

FAMILY(srq_create, segments, parts)
{
        DAT_COUNT asked = parts_of(t, row);

        expect_at_least(t, srq_create_create(t, pz(t), attr_of(8, asked, DAT_SRQ_LW_DEFAULT)), 8,
                        asked);
}

FAMILY(srq_create, segments_taken, parts)
{
        queue_in_parts(t, parts_of(t, row), 1);
}

FAMILY(srq_create, segments_filled, parts)
{
        struct queue queue = queue_in_parts(t, parts_of(t, row), 1);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_traffic(t, &queue, &flow, 1);
}

/* All that was asked for at once: each receive with each segment, twice round the queue. */
CASE(srq_create, used_in_full)
{
        DAT_COUNT count = parts_of(t, &parts[2]);
        struct queue queue = queue_in_parts(t, count, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        expect_traffic(t, &queue, &flow, 8);
        for (int i = 0; i < 8; i++)
                expect_posts_in_parts(t, &queue, count);
        expect_traffic(t, &queue, &flow, 8);
}

/* Each has its own segments and places, whatever was made, or refused, before it. */
CASE(srq_create, segments_of_several)
{
        DAT_COUNT most = parts_of(t, &parts[2]);
        DAT_COUNT asked[] = {1, most, most < 2 ? most : 2, most};

        for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
                DAT_SRQ_ATTR impossible = attr_of(-1, 1, DAT_SRQ_LW_DEFAULT);
                DAT_SRQ_HANDLE none = DAT_HANDLE_NULL;
                struct queue queue = queue_in_parts(t, asked[i], 1);

                expect_at_least(t, queue.srq, 8, asked[i]);
                expect_room(t, &queue, 7);
                expect(dat_srq_create(ia(t), pz(t), &impossible, &none), DAT_INVALID_PARAMETER);
        }
}

CASE(srq_create, larger_than_asked)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);

        for (DAT_COUNT asked = 1; asked <= 100 && asked <= limit; asked *= 10) {
                DAT_SRQ_HANDLE srq =
                    srq_create_create(t, pz(t), attr_of(asked, 1, DAT_SRQ_LW_DEFAULT));
                DAT_SRQ_PARAM param = srq_create_described(t, srq);

                expect_at_least(t, srq, asked, 1);
                record(t, "%d receives of 1 segment asked for: %d of %d", asked,
                       param.max_recv_dtos, param.max_recv_iov);
        }
}
