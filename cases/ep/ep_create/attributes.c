/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: attributes that the consumer asks for. */
#include "case/standard.h"
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_create.h"

static const struct ep_number exact[] = {EXACT_NUMBERS};

#define EXACT (sizeof(exact) / sizeof(exact[0]))

/* Another EP, made later, has another value. */
FAMILY(ep_create, exact, exact)
{
        uint64_t asked = ep_number_asked(t, row);
        struct ep_creation with = asking(t, row, asked);
        struct ep_creation later = asking(t, row, asked > 1 ? asked - 1 : asked);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        DAT_EP_HANDLE newer = ep_created(t, &later);

        expect_eq(ep_number_of(t, ep, row), asked);
        expect_eq(ep_number_of(t, newer, row), asked > 1 ? asked - 1 : asked);
}

FAMILY(ep_create, at_least, at_least)
{
        uint64_t asked = ep_number_asked(t, row);
        struct ep_creation with = asking(t, row, asked);
        uint64_t has = ep_number_of(t, ep_created(t, &with), row);

        expect_that(has >= asked && has <= INT_MAX, "%llu asked for, %llu queried",
                    (unsigned long long)asked, (unsigned long long)has);
        if (has > asked)
                note(t, "%s: %llu asked for, %llu queried (EP-27)", row->id,
                     (unsigned long long)asked, (unsigned long long)has);
}

CASE(ep_create, together)
{
        struct ep_creation with = ep_create_arguments(t);
        DAT_EP_HANDLE ep;

        for (size_t i = 0; i < NUMBERS; i++)
                ep_value_set(&with.param, &numbers[i].parameter, ep_number_asked(t, &numbers[i]));
        ep = ep_created(t, &with);
        with = ep_create_arguments(t);
        ep_created(t, &with);
        for (size_t i = 0; i < NUMBERS; i++) {
                uint64_t has = ep_number_of(t, ep, &numbers[i]);
                uint64_t asked = ep_number_asked(t, &numbers[i]);

                expect_that(has == asked || (i >= EXACT && has > asked && has <= INT_MAX),
                            "%s: %llu asked for, %llu queried", numbers[i].id,
                            (unsigned long long)asked, (unsigned long long)has);
        }
}

FAMILY(ep_create, exact_flags, ep_flags)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_exact_flags(t, &with, row);
}

FAMILY(ep_create, exact_flag_pairs, ep_flag_pairs)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_exact_flag_pair(t, &with, row);
}

CASE(ep_create, exact_service)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_exact_service(t, &with);
}

FAMILY(ep_create, at_ia_limit, numbers)
{
        struct ep_creation with = asking(t, row, ep_limit_of(t, row));

        expect_at_ia_limit(t, &with, row);
}

FAMILY(ep_create, above_ia_limit, numbers)
{
        uint64_t value = ep_number_above(t, row);
        struct ep_creation with = asking(t, row, value);

        expect_beyond(t, &with, row, value);
}

FAMILY(ep_create, far_above_ia_limit, numbers)
{
        const uint64_t values[] = {ep_number_far_above(t, row), ep_number_wrapping(t, row)};

        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
                struct ep_creation with = asking(t, row, values[i]);

                expect_beyond(t, &with, row, values[i]);
        }
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
        struct ep_creation with = ep_create_arguments(t);

        expect_negative(t, &with, row);
}

FAMILY(ep_create, quality, ep_qualities)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_quality(t, &with, row->qos);
}

FAMILY(ep_create, wrong, ep_wrong)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_wrong_attribute(t, &with, row);
}

CASE(ep_create, each_undefined_flag)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_undefined_flags_refused(t, &with);
        ep_created(t, &with);
}

FAMILY(ep_create, flags_of_postings, ep_posting_flags)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_flags_of_postings(t, &with, row->flags);
}

FAMILY(ep_create, named, ep_named)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_named_attributes(t, &with, row);
}
