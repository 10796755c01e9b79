/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: attributes that the consumer asks for. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/srq/shared/marks.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <limits.h>

#define MOST_REQUESTS 64 /* that a case has under way, and its EVD holds */
#define MOST_SEGMENTS 32 /* that a case makes of a message */

/* What a connection gives an EP. */
#define BY_CONNECTION                                                        \
        (DAT_EP_FIELD_EP_STATE | DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR |         \
         DAT_EP_FIELD_LOCAL_PORT_QUAL | DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | \
         DAT_EP_FIELD_REMOTE_PORT_QUAL)
#define EXACT_NUMBERS                                                        \
        EP_NUMBER(max_recv_dtos, max_dto_per_ep, 5),                         \
            EP_NUMBER(max_message_size, max_message_size, 5000),             \
            EP_NUMBER(max_rdma_size, max_rdma_size, 6000),                   \
            EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 2),         \
            EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 3),       \
            EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 2), \
            EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 2)
#define LEAST_NUMBERS                                   \
        EP_NUMBER(max_request_dtos, max_dto_per_ep, 5), \
            EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 3)

static const struct ep_number exact[] = {EXACT_NUMBERS};

static const struct ep_number at_least[] = {LEAST_NUMBERS};

static const struct ep_number numbers[] = {EXACT_NUMBERS, LEAST_NUMBERS};

/* The arguments with another value for this attribute. */
static struct ep_creation asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        ep_value_set(&with.param, &number->parameter, value);
        return with;
}

/* Another EP, made later, has another value. */
FAMILY(ep_create_with_srq, exact, exact)
{
        uint64_t asked[2] = {ep_number_asked(t, row), 1};
        struct ep_creation with[2] = {asking(t, row, asked[0]), asking(t, row, asked[1])};
        DAT_EP_HANDLE eps[2];

        if (ep_limit_of(t, row) == 0)
                asked[1] = 0;
        ep_value_set(&with[1].param, &row->parameter, asked[1]);
        for (int i = 0; i < 2; i++)
                eps[i] = ep_created(t, &with[i]);
        for (int i = 0; i < 2; i++)
                expect_eq(ep_number_of(t, eps[i], row), asked[i]);
}

CASE(ep_create_with_srq, exact_together)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, ep_number_asked(t, &numbers[i]));
        ep = ep_created(t, &with);
        ep_create_with_srq_create_on(t, srq_with(t));
        for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
                expect_eq(ep_number_of(t, ep, &exact[i]), ep_number_asked(t, &exact[i]));
        for (size_t i = 0; i < sizeof(at_least) / sizeof(at_least[0]); i++)
                expect_that(ep_number_of(t, ep, &at_least[i]) >= ep_number_asked(t, &at_least[i]),
                            "%s is less than was asked for", at_least[i].id);
}

/* What the EP was made for goes through it. */
CASE(ep_create_with_srq, greatest_message)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_message_size;
        struct buf *buf = buf_with(t, .length = 2 * length);
        DAT_LMR_TRIPLET segment = triplet(buf, length, length);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct peer_ep *end = expect_connect(ep);

        srq_post(t, with.srq, buf, length, 0, 1);
        peer_send(end, .length = length);
        expect_eq(expect_dto(with.recv_evd).transfered_length, length);
        expect_that(message_holds(buf->addr, length, 0), "the message came damaged");

        message_fill(buf->addr + length, length, 1);
        peer_post_recv(end, 1, length);
        expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(with.request_evd);
        peer_wait_recv(end, 1, length);
}

FAMILY(ep_create_with_srq, at_least, at_least)
{
        uint64_t asked = ep_number_asked(t, row);
        struct ep_creation with = asking(t, row, asked);
        uint64_t has = ep_number_of(t, ep_created(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        record(t, "%s: %llu asked for, %llu queried", row->id, (unsigned long long)asked,
               (unsigned long long)has);
}

FAMILY(ep_create_with_srq, exact_flags, ep_flags)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_exact_flags(t, &with, row);
}

FAMILY(ep_create_with_srq, exact_flag_pairs, ep_flag_pairs)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_exact_flag_pair(t, &with, row);
}

CASE(ep_create_with_srq, exact_service)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_exact_service(t, &with);
}

CASE(ep_create_with_srq, default_watermark)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_eq(ep_described(t, ep_created(t, &with)).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
}

CASE(ep_create_with_srq, soft_watermark)
{
        static const DAT_COUNT marks[] = {3, 0, 1, 8};
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE eps[4];

        for (int i = 0; i < 4; i++) {
                with.param.ep_attr.srq_soft_hw = marks[i];
                eps[i] = ep_created(t, &with);
        }
        for (int i = 0; i < 4; i++)
                expect_eq(ep_described(t, eps[i]).ep_attr.srq_soft_hw, marks[i]);
}

CASE(ep_create_with_srq, soft_watermark_raises)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct queue queue = queue_with(t, 8);

        require_unreaped_counted(t);
        with.srq = queue.srq;
        with.param.ep_attr.srq_soft_hw = 1;
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct flow flow = flow_to(t, ep, expect_connect(ep));
        DAT_COUNT ahead = 0;

        queue_post(t, &queue, 1);
        ahead = taken_ahead(t, &flow, 1);
        flow_deliver(t, &flow, 1);
        if (drain_async_event(t)) {
                expect_that(ahead > 0, "the event comes at the mark, and not above it");
                end_noted(t, "the EP took %d receives before any message came (EP-43)", ahead);
        }
        queue_post(t, &queue, 1);
        flow_deliver(t, &flow, 1);
        expect_async_event(ep);
        expect_quiet(async_evd(t));
        expect_messages(t, &queue, &flow, 2);
}

FAMILY(ep_create_with_srq, at_ia_limit, numbers)
{
        struct ep_creation with = asking(t, row, ep_limit_of(t, row));
        uint64_t has = expect_at_ia_limit(t, &with, row);

        if ((size_t)(row - numbers) < sizeof(exact) / sizeof(exact[0]))
                expect_eq(has, ep_limit_of(t, row));
}

/* Of one number the page names the return, so that a grant of it is no NOTE. */
static void ask_beyond(struct test *t, const struct ep_number *row, uint64_t value)
{
        struct ep_creation with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (row->limit == offsetof(DAT_IA_ATTR, max_iov_segments_per_rdma_read))
                expect(ep_creation_call(&with, &ep), DAT_INVALID_PARAMETER);
        else
                expect_beyond(t, &with, row, value);
}

FAMILY(ep_create_with_srq, above_ia_limit, numbers)
{
        ask_beyond(t, row, ep_number_above(t, row));
}

FAMILY(ep_create_with_srq, far_above_ia_limit, numbers)
{
        ask_beyond(t, row, ep_number_far_above(t, row));
        ask_beyond(t, row, ep_number_wrapping(t, row));
}

static const struct ep_number counts[] = {
    EP_NUMBER(max_recv_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 0),
    EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 0),
    EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 0),
    EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 0),
};

FAMILY(ep_create_with_srq, negative, counts)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_negative(t, &with, row);
}

FAMILY(ep_create_with_srq, quality, ep_qualities)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_quality(t, &with, row->qos);
}

FAMILY(ep_create_with_srq, wrong, ep_wrong)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_wrong_attribute(t, &with, row);
}

CASE(ep_create_with_srq, each_undefined_flag)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_undefined_flags_refused(t, &with);
        ep_created(t, &with);
}

FAMILY(ep_create_with_srq, flags_of_postings, ep_posting_flags)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_flags_of_postings(t, &with, row->flags);
}

FAMILY(ep_create_with_srq, named, ep_named)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_named_attributes(t, &with, row);
}

CASE(ep_create_with_srq, no_named_read)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        DAT_NAMED_ATTR *nowhere = (DAT_NAMED_ATTR *)(uintptr_t)0x5a5;

        with.param.ep_attr.ep_transport_specific = nowhere;
        with.param.ep_attr.ep_provider_specific = nowhere;

        ep_described(t, ep_created(t, &with));
}

static const struct ignored {
        const char *id;
        DAT_COUNT iov;
} ignored[] = {
    {"zero", 0},
    {"greatest", INT_MAX},
    {"negative", -1},
};

FAMILY(ep_create_with_srq, max_recv_iov_ignored, ignored)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.max_recv_iov = row->iov;

        DAT_RETURN ret = expect_may(ep_creation_call(&with, &ep), DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                ep_described(t, ep_creation_adopt(t, &with, ep));
}

/* Vectors of the SRQ are its own: one of two segments is filled. */
FAMILY(ep_create_with_srq, max_recv_iov_unused, ignored)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET halves[2] = {triplet(buf, 0, MESSAGE / 2),
                                     triplet(buf, MESSAGE / 2, MESSAGE / 2)};
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        struct peer_ep *end;

        with.srq = srq_with(t, .max_recv_iov = 2);
        with.param.ep_attr.max_recv_iov = row->iov;
        if (!dat_is(ep_creation_call(&with, &ep), DAT_SUCCESS))
                end_noted(t, "no EP is made with a max_recv_iov of %d (EP-26)", row->iov);
        end = expect_connect(ep_creation_adopt(t, &with, ep));

        expect(dat_srq_post_recv(with.srq, 2, halves, (DAT_DTO_COOKIE){.as_64 = 0}), DAT_SUCCESS);
        peer_send(end, .length = MESSAGE);
        expect_eq(expect_dto(with.recv_evd).transfered_length, MESSAGE);
        expect_that(message_holds(buf->addr, MESSAGE, 0), "the message came damaged");
}

/* So many sends are under way at once: the peer has no receive for them yet. */
static void expect_requests(struct test *t, const struct ep_creation *with, DAT_EP_HANDLE ep,
                            uint64_t count)
{
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        for (uint64_t i = 0; i < count; i++)
                expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        peer_post_recv(end, (int)count, MESSAGE);
        for (uint64_t i = 0; i < count; i++)
                expect_eq(expect_dto(with->request_evd).user_cookie.as_64, i);
}

/* A message is sent from so many segments. */
static void expect_send_in_segments(struct test *t, const struct ep_creation *with,
                                    DAT_EP_HANDLE ep, size_t count)
{
        struct peer_ep *end = expect_connect(ep);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[MOST_SEGMENTS];

        message_fill(buf->addr, MESSAGE, 0);
        for (size_t i = 0; i < count; i++) {
                size_t begin = MESSAGE * i / count;

                segments[i] = triplet(buf, begin, MESSAGE * (i + 1) / count - begin);
        }
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, (DAT_COUNT)count, segments, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(with->request_evd);
        peer_wait_recv(end, 0, MESSAGE);
}

CASE(ep_create_with_srq, request_room)
{
        struct ep_creation with = asking(t, &at_least[0], 5);

        expect_requests(t, &with, ep_created(t, &with), 5);
}

CASE(ep_create_with_srq, request_segments)
{
        uint64_t count = ep_number_asked(t, &at_least[1]);
        struct ep_creation with = asking(t, &at_least[1], count);

        expect_send_in_segments(t, &with, ep_created(t, &with), count);
}

/* What a query tells of the EP, or as much of it as a case uses. */
static uint64_t has_at_most(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number,
                            uint64_t most)
{
        uint64_t has = ep_number_of(t, ep, number);

        record(t, "%s: %llu queried", number->id, (unsigned long long)has);
        return has < most ? has : most;
}

CASE(ep_create_with_srq, request_room_as_queried)
{
        struct ep_creation with = asking(t, &at_least[0], ep_number_asked(t, &at_least[0]));
        DAT_EP_HANDLE ep = ep_created(t, &with);

        expect_requests(t, &with, ep, has_at_most(t, ep, &at_least[0], MOST_REQUESTS));
}

CASE(ep_create_with_srq, request_segments_as_queried)
{
        struct ep_creation with = asking(t, &at_least[1], ep_number_asked(t, &at_least[1]));
        DAT_EP_HANDLE ep = ep_created(t, &with);

        expect_send_in_segments(t, &with, ep, has_at_most(t, ep, &at_least[1], MOST_SEGMENTS));
}

CASE(ep_create_with_srq, write_segments)
{
        const struct ep_number *segments = &exact[6];
        struct ep_creation with = asking(t, segments, ep_number_asked(t, segments));

        expect_write_of_all_segments(t, &with);
}

CASE(ep_create_with_srq, greatest_rdma)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_greatest_write(t, &with);
}

CASE(ep_create_with_srq, greatest_read)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_greatest_read(t, &with);
}

CASE(ep_create_with_srq, read_by_other_end)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_read_by_other_end(t, &with);
}

/* Requests alone: each receive of an SRQ signals (SRQ-11). */
CASE(ep_create_with_srq, request_flags_used)
{
        static const struct ep_silent unsignalled = {
            .request = true,
            .flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
        };
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_silent(t, &with, &unsignalled);
}

CASE(ep_create_with_srq, request_threshold_used)
{
        static const struct ep_silent threshold = {
            .request = true,
            .flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG,
        };
        struct ep_creation with = ep_create_with_srq_arguments(t);

        expect_silent(t, &with, &threshold);
}

FAMILY(ep_create_with_srq, kept_by_connection, exact)
{
        uint64_t asked = ep_number_asked(t, row);
        struct ep_creation with = asking(t, row, asked);
        DAT_EP_HANDLE ep = ep_created(t, &with);

        peer_reads(peer(t), with.param.ep_attr.max_rdma_read_in / 2);
        must_connect(ep);

        expect_eq(ep_number_of(t, ep, row), asked);
}

CASE(ep_create_with_srq, all_kept_by_connection)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, ep_number_asked(t, &numbers[i]));
        ep = ep_created(t, &with);

        struct ep_snapshot made = ep_snapshot(t, ep);
        peer_reads(peer(t), with.param.ep_attr.max_rdma_read_in / 2);
        expect_connect(ep);
        expect_ep_kept(t, ep, &made, BY_CONNECTION);
        expect_eq(ep_described(t, ep).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
}

/* The peer has fewer reads under way than the EP serves, whichever of them asks. */
CASE(ep_create_with_srq, kept_by_each_route)
{
        struct ep_creation with = ep_create_with_srq_arguments(t);

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, ep_number_asked(t, &numbers[i]));
        peer_reads(peer(t), with.param.ep_attr.max_rdma_read_in / 2);
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = with.srq, .attr = &with.param.ep_attr);
                DAT_EP_PARAM param = ep_described(t, ep);

                for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
                        expect_that(ep_value(&param, &exact[i].parameter) ==
                                        ep_number_asked(t, &exact[i]),
                                    "the connection changed %s", exact[i].id);
                for (size_t i = 0; i < sizeof(at_least) / sizeof(at_least[0]); i++)
                        expect_that(ep_value(&param, &at_least[i].parameter) >=
                                        ep_number_asked(t, &at_least[i]),
                                    "the connection made %s less", at_least[i].id);
                expect_eq(param.ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
                expect_that(param.srq_handle == with.srq, "the EP has another SRQ");
        }
}
