/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: attributes that the consumer asks for. */
#include "cases/ep/shared/attributes.h"
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <limits.h>

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
static struct arguments asking(struct test *t, const struct ep_number *number, uint64_t value)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        ep_value_set(&with.param, &number->parameter, value);
        return with;
}

static uint64_t within_limit(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return number->asked < limit ? number->asked : limit;
}

static uint64_t value_of(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number)
{
        DAT_EP_PARAM param = ep_create_with_srq_described(t, ep);

        return ep_value(&param, &number->parameter);
}

/* Another EP, made later, has another value. */
FAMILY(ep_create_with_srq, exact, exact)
{
        uint64_t asked[2] = {within_limit(t, row), 1};
        struct arguments with[2] = {asking(t, row, asked[0]), asking(t, row, asked[1])};
        DAT_EP_HANDLE eps[2];

        if (ep_limit_of(t, row) == 0)
                asked[1] = 0;
        ep_value_set(&with[1].param, &row->parameter, asked[1]);
        for (int i = 0; i < 2; i++)
                eps[i] = ep_create_with_srq_create(t, &with[i]);
        for (int i = 0; i < 2; i++)
                expect_eq(value_of(t, eps[i], row), asked[i]);
}

CASE(ep_create_with_srq, exact_together)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = ep_create_with_srq_create(t, &with);
        ep_create_with_srq_create_on(t, srq_with(t));
        for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
                expect_eq(value_of(t, ep, &exact[i]), within_limit(t, &exact[i]));
        for (size_t i = 0; i < sizeof(at_least) / sizeof(at_least[0]); i++)
                expect_that(value_of(t, ep, &at_least[i]) >= within_limit(t, &at_least[i]),
                            "%s is less than was asked for", at_least[i].id);
}

/* What the EP was made for goes through it. */
CASE(ep_create_with_srq, greatest_message)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_message_size;
        struct buf *buf = buf_with(t, .length = 2 * length);
        DAT_LMR_TRIPLET segment = triplet(buf, length, length);
        DAT_EP_HANDLE ep = ep_create_with_srq_create(t, &with);
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
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        uint64_t has = value_of(t, ep_create_with_srq_create(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        record(t, "%s: %llu asked for, %llu queried", row->id, (unsigned long long)asked,
               (unsigned long long)has);
}

FAMILY(ep_create_with_srq, exact_flags, ep_flags)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        ep_create_with_srq_set_flags(&with, row->request, row->flags);

        DAT_EP_ATTR attr =
            ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

FAMILY(ep_create_with_srq, exact_flag_pairs, ep_flag_pairs)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_ATTR attr;

        ep_create_with_srq_set_flags(&with, false, row->recv);
        ep_create_with_srq_set_flags(&with, true, row->request);

        attr = ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with)).ep_attr;
        expect_eq(attr.recv_completion_flags, row->recv);
        expect_eq(attr.request_completion_flags, row->request);
}

CASE(ep_create_with_srq, exact_service)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_ATTR attr =
            ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with)).ep_attr;

        expect_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
        expect_eq(attr.qos, DAT_QOS_BEST_EFFORT);
}

CASE(ep_create_with_srq, default_watermark)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        expect_eq(ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with))
                      .ep_attr.srq_soft_hw,
                  DAT_HW_DEFAULT);
}

CASE(ep_create_with_srq, soft_watermark)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        with.param.ep_attr.srq_soft_hw = 3;

        expect_eq(ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with))
                      .ep_attr.srq_soft_hw,
                  3);
}

/* Of two receives that stand unreaped one is above a mark of 1, where such are counted (EP-43). */
static void exceed(struct test *t, struct queue *queue, struct flow *flow)
{
        queue_post(t, queue, 2);
        flow_deliver(t, flow, 2);
}

CASE(ep_create_with_srq, soft_watermark_raises)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        struct queue queue = queue_with(t, 8);
        struct flow set = flow_made(t, &queue);

        must(dat_ep_set_watermark(set.ep, 1, DAT_WATERMARK_INFINITE));
        exceed(t, &queue, &set);
        if (!drain_async_event(t))
                end_noted(t, "no event with 2 receives unreaped above a mark of 1 (EP-43)");

        with.srq = queue.srq;
        with.param.ep_attr.srq_soft_hw = 1;
        DAT_EP_HANDLE ep = ep_create_with_srq_create(t, &with);
        struct flow flow = flow_to(t, ep, expect_connect(ep));
        exceed(t, &queue, &flow);
        expect_async_event(ep);
        expect_quiet(async_evd(t));
        expect_messages(t, &queue, &flow, 2);
}

FAMILY(ep_create_with_srq, at_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);
        struct arguments with = asking(t, row, limit);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret =
            expect(ep_create_with_srq_call(&with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        uint64_t has = value_of(t, ep_create_with_srq_adopted(t, &with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
}

/* Refused; or granted, and then all of it, with a note. Of one number the page names the return. */
static void expect_beyond(struct test *t, const struct ep_number *row, uint64_t value)
{
        struct arguments with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = ep_create_with_srq_call(&with, &ep);

        if (row->limit == offsetof(DAT_IA_ATTR, max_iov_segments_per_rdma_read)) {
                expect(ret, DAT_INVALID_PARAMETER);
                return;
        }
        expect(ret, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        uint64_t has = value_of(t, ep_create_with_srq_adopted(t, &with, ep), row);
        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

FAMILY(ep_create_with_srq, above_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);

        if (limit == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, limit + 1);
}

FAMILY(ep_create_with_srq, far_above_ia_limit, numbers)
{
        if (ep_limit_of(t, row) == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, ep_greatest(row));
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
        struct arguments with = asking(t, row, (uint64_t)-1);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        expect(ep_create_with_srq_call(&with, &ep), DAT_INVALID_PARAMETER);
}

FAMILY(ep_create_with_srq, wrong, ep_wrong)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, row->value);

        expect_or_note(ep_create_with_srq_call(&with, &ep), DAT_INVALID_PARAMETER,
                       DAT_MODEL_NOT_SUPPORTED);
}

FAMILY(ep_create_with_srq, flags_of_postings, ep_posting_flags)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_create_with_srq_set_flags(&with, true, row->flags);
        DAT_RETURN ret = expect_or_note(ep_create_with_srq_call(&with, &ep), DAT_INVALID_PARAMETER,
                                        DAT_MODEL_NOT_SUPPORTED, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_eq(ep_create_with_srq_described(t, ep_create_with_srq_adopted(t, &with, ep))
                              .ep_attr.request_completion_flags,
                          row->flags);
}

static DAT_NAMED_ATTR invented = {.name = "udapl-cts: no attribute", .value = "of any provider"};

/* Which attributes there are, only the provider knows: none of them is by this name. */
FAMILY(ep_create_with_srq, named, ep_named)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.ep_transport_specific_count = row->transport;
        with.param.ep_attr.ep_transport_specific = &invented;
        with.param.ep_attr.ep_provider_specific_count = row->provider;
        with.param.ep_attr.ep_provider_specific = &invented;

        expect_or_note(ep_create_with_srq_call(&with, &ep), DAT_INVALID_PARAMETER,
                       DAT_MODEL_NOT_SUPPORTED);
}

CASE(ep_create_with_srq, no_named_read)
{
        struct arguments with = ep_create_with_srq_arguments(t);

        /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
        DAT_NAMED_ATTR *nowhere = (DAT_NAMED_ATTR *)(uintptr_t)0x5a5;

        with.param.ep_attr.ep_transport_specific = nowhere;
        with.param.ep_attr.ep_provider_specific = nowhere;

        ep_create_with_srq_described(t, ep_create_with_srq_create(t, &with));
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
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.max_recv_iov = row->iov;

        DAT_RETURN ret = expect_or_note(ep_create_with_srq_call(&with, &ep), DAT_SUCCESS,
                                        DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES);
        if (dat_is(ret, DAT_SUCCESS))
                ep_create_with_srq_described(t, ep_create_with_srq_adopted(t, &with, ep));
}

/* The peer has no receive for them yet, so that all are under way. */
CASE(ep_create_with_srq, request_room)
{
        struct arguments with = asking(t, &at_least[0], 5);
        DAT_EP_HANDLE ep = ep_create_with_srq_create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        for (uint64_t i = 0; i < 5; i++)
                expect(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                        DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        peer_post_recv(end, 5, MESSAGE);
        for (uint64_t i = 0; i < 5; i++)
                expect_eq(expect_dto(with.request_evd).user_cookie.as_64, i);
}

CASE(ep_create_with_srq, request_segments)
{
        DAT_COUNT count = (DAT_COUNT)within_limit(t, &at_least[1]);
        struct arguments with = asking(t, &at_least[1], (uint64_t)count);
        DAT_EP_HANDLE ep = ep_create_with_srq_create(t, &with);
        struct peer_ep *end = expect_connect(ep);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[3];

        message_fill(buf->addr, MESSAGE, 0);
        for (DAT_COUNT i = 0; i < count; i++)
                segments[i] = triplet(buf, 16 * (size_t)i, 16);
        segments[count - 1].segment_length = MESSAGE - 16 * (size_t)(count - 1);
        peer_post_recv(end, 1, MESSAGE);
        expect(dat_ep_post_send(ep, count, segments, (DAT_DTO_COOKIE){.as_64 = 0},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(with.request_evd);
        peer_wait_recv(end, 0, MESSAGE);
}

FAMILY(ep_create_with_srq, kept_by_connection, exact)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        DAT_EP_HANDLE ep = ep_create_with_srq_create(t, &with);

        peer_reads(peer(t), 3);
        must_connect(ep);

        expect_eq(value_of(t, ep, row), asked);
}

CASE(ep_create_with_srq, all_kept_by_connection)
{
        struct arguments with = ep_create_with_srq_arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = ep_create_with_srq_create(t, &with);

        struct ep_snapshot made = ep_snapshot(t, ep);
        peer_reads(peer(t), 3);
        expect_connect(ep);
        expect_ep_kept(t, ep, &made, BY_CONNECTION);
        expect_eq(ep_create_with_srq_described(t, ep).ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
}
