/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: attributes that the consumer asks for. */
#include "cases/ep/shared/attributes.h"
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_create.h"

static const struct ep_number exact[] = {EXACT_NUMBERS};

#define EXACT (sizeof(exact) / sizeof(exact[0]))

static uint64_t within_limit(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return number->asked < limit ? number->asked : limit;
}

static uint64_t value_of(struct test *t, DAT_EP_HANDLE ep, const struct ep_number *number)
{
        DAT_EP_PARAM param = described(t, ep);

        return ep_value(&param, &number->parameter);
}

/* Another EP, made later, has another value. */
FAMILY(ep_create, exact, exact)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        struct arguments later = asking(t, row, asked > 1 ? asked - 1 : asked);
        DAT_EP_HANDLE ep = create(t, &with);
        DAT_EP_HANDLE newer = create(t, &later);

        expect_eq(value_of(t, ep, row), asked);
        expect_eq(value_of(t, newer, row), asked > 1 ? asked - 1 : asked);
}

FAMILY(ep_create, at_least, at_least)
{
        uint64_t asked = within_limit(t, row);
        struct arguments with = asking(t, row, asked);
        uint64_t has = value_of(t, create(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        if (has > asked)
                note(t, "%s: %llu asked for, %llu queried (EP-27)", row->id,
                     (unsigned long long)asked, (unsigned long long)has);
}

CASE(ep_create, together)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < NUMBERS; i++)
                ep_value_set(&with.param, &numbers[i].parameter, within_limit(t, &numbers[i]));
        ep = create(t, &with);
        with = arguments(t);
        create(t, &with);
        for (size_t i = 0; i < NUMBERS; i++) {
                uint64_t has = value_of(t, ep, &numbers[i]);
                uint64_t asked = within_limit(t, &numbers[i]);

                expect_that(has == asked || (i >= EXACT && has > asked && has <= INT_MAX),
                            "%s: %llu asked for, %llu queried", numbers[i].id,
                            (unsigned long long)asked, (unsigned long long)has);
        }
}

FAMILY(ep_create, exact_flags, ep_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr;

        set_flags(&with, row->request, row->flags);

        attr = described(t, create(t, &with)).ep_attr;
        expect_eq(row->request ? attr.request_completion_flags : attr.recv_completion_flags,
                  row->flags);
}

FAMILY(ep_create, exact_flag_pairs, ep_flag_pairs)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr;

        set_flags(&with, false, row->recv);
        set_flags(&with, true, row->request);

        attr = described(t, create(t, &with)).ep_attr;
        expect_eq(attr.recv_completion_flags, row->recv);
        expect_eq(attr.request_completion_flags, row->request);
}

CASE(ep_create, exact_service)
{
        struct arguments with = arguments(t);
        DAT_EP_ATTR attr = described(t, create(t, &with)).ep_attr;

        expect_eq(attr.service_type, DAT_SERVICE_TYPE_RC);
        expect_eq(attr.qos, DAT_QOS_BEST_EFFORT);
}

FAMILY(ep_create, at_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);
        struct arguments with = asking(t, row, limit);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
        uint64_t has;

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for %s at the IA's limit", row->id);
        has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= limit, "%llu asked for, %llu queried", (unsigned long long)limit,
                    (unsigned long long)has);
}

/* Refused; or granted, and then all of it, with a note (EP-29). */
static void expect_beyond(struct test *t, const struct ep_number *row, uint64_t value)
{
        struct arguments with = asking(t, row, value);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = expect(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
                                DAT_SUCCESS);
        uint64_t has;

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        has = value_of(t, adopted(t, &with, ep), row);
        expect_that(has >= value, "%llu asked for and granted, %llu queried",
                    (unsigned long long)value, (unsigned long long)has);
        note(t, "%llu granted, above the IA's own limit (EP-29)", (unsigned long long)value);
}

FAMILY(ep_create, above_ia_limit, numbers)
{
        uint64_t limit = ep_limit_of(t, row);

        if (limit == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, limit + 1);
}

FAMILY(ep_create, far_above_ia_limit, numbers)
{
        if (ep_limit_of(t, row) == ep_greatest(row))
                unsupported(t, "the IA's limit: no number is above it");
        expect_beyond(t, row, ep_greatest(row));
}

static const struct ep_number counts[] = {
    EP_NUMBER(max_recv_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_request_dtos, max_dto_per_ep, 0),
    EP_NUMBER(max_recv_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_request_iov, max_iov_segments_per_dto, 0),
    EP_NUMBER(max_rdma_read_in, max_rdma_read_per_ep_in, 0),
    EP_NUMBER(max_rdma_read_out, max_rdma_read_per_ep_out, 0),
    EP_NUMBER(max_rdma_read_iov, max_iov_segments_per_rdma_read, 0),
    EP_NUMBER(max_rdma_write_iov, max_iov_segments_per_rdma_write, 0),
};

FAMILY(ep_create, negative, counts)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, (uint64_t)-1);

        expect(call(&with, &ep), DAT_INVALID_PARAMETER);
}

FAMILY(ep_create, wrong, ep_wrong)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        ep_value_set(&with.param, &row->parameter, row->value);

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}

FAMILY(ep_create, flags_of_postings, ep_posting_flags)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret;

        set_flags(&with, true, row->flags);
        ret = expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED,
                             DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_eq(described(t, adopted(t, &with, ep)).ep_attr.request_completion_flags,
                          row->flags);
}

static DAT_NAMED_ATTR invented = {.name = "udapl-cts: no attribute", .value = "of any provider"};

FAMILY(ep_create, named, ep_named)
{
        struct arguments with = arguments(t);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        with.param.ep_attr.ep_transport_specific_count = row->transport;
        with.param.ep_attr.ep_transport_specific = &invented;
        with.param.ep_attr.ep_provider_specific_count = row->provider;
        with.param.ep_attr.ep_provider_specific = &invented;

        expect_or_note(call(&with, &ep), DAT_INVALID_PARAMETER, DAT_MODEL_NOT_SUPPORTED);
}
