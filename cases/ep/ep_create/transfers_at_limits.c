/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create: transfers at the limits that were asked for. */
#include "cases/ep/ep_create/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "clauses/ep_create.h"

#define MOST 8 /* segments that are tried */

/* The EP takes them in Unconnected; none is reaped before all messages are sent. */
CASE(ep_create, recv_room)
{
        struct ep_creation with = asking(t, &at_least[0], FEW);
        struct vector vectors[FEW];
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct loop loop;

        for (uint64_t i = 0; i < FEW; i++) {
                vectors[i] = vector_with(t, .length = MESSAGE);
                expect(recv_vector(ep, &vectors[i], i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        }
        loop = expect_joined(t, plain_end(t), ep);
        for (uint64_t i = 0; i < FEW; i++) {
                struct vector from = vector_with(t, .length = MESSAGE);

                vector_fill(t, &from, i);
                must(send_vector(loop.active, &from, i, DAT_COMPLETION_DEFAULT_FLAG));
        }
        for (uint64_t i = 0; i < FEW; i++) {
                expect_completion(with.recv_evd, ep, i, MESSAGE, 0);
                expect_holds(&vectors[i], i, MESSAGE);
        }
}

/* The other end has no receive for them yet, so that all are under way. */
CASE(ep_create, request_room)
{
        struct ep_creation with = asking(t, &at_least[1], FEW);
        struct vector to = vector_with(t, .length = MESSAGE);
        struct vector from = vector_with(t, .length = MESSAGE);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct loop loop = expect_joined(t, ep, plain_end(t));

        for (uint64_t i = 0; i < FEW; i++)
                expect(send_vector(ep, &from, i, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        for (uint64_t i = 0; i < FEW; i++)
                must(recv_vector(loop.passive, &to, i, DAT_COMPLETION_DEFAULT_FLAG));
        for (uint64_t i = 0; i < FEW; i++)
                expect_completion(with.request_evd, ep, i, MESSAGE, 0);
}

static DAT_COUNT segments_of(struct test *t, const struct ep_number *number)
{
        uint64_t limit = ep_limit_of(t, number);

        return limit < MOST ? (DAT_COUNT)limit : MOST;
}

CASE(ep_create, recv_segments)
{
        DAT_COUNT count = segments_of(t, &at_least[2]);
        struct ep_creation with = asking(t, &at_least[2], (uint64_t)count);
        struct vector to = vector_with(t, .length = 100, .segments = count);
        struct vector from = vector_with(t, .length = 100);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct loop loop = expect_joined(t, plain_end(t), ep);

        vector_fill(t, &from, 1);
        expect(recv_vector(ep, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        must(send_vector(loop.active, &from, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect_completion(with.recv_evd, ep, 1, 100, 0);
        expect_holds(&to, 1, 100);
}

CASE(ep_create, request_segments)
{
        DAT_COUNT count = segments_of(t, &at_least[3]);
        struct ep_creation with = asking(t, &at_least[3], (uint64_t)count);
        struct vector to = vector_with(t, .length = 100);
        struct vector from = vector_with(t, .length = 100, .segments = count);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct loop loop = expect_joined(t, ep, plain_end(t));

        vector_fill(t, &from, 1);
        must(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG));
        expect(send_vector(ep, &from, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.request_evd, ep, 1, 100, 0);
        expect_completion(ep_recv_evd(t, loop.passive), loop.passive, 1, 100, 0);
        expect_holds(&to, 1, 100);
}

CASE(ep_create, write_segments)
{
        uint64_t count = (uint64_t)segments_of(t, &at_least[5]);
        struct ep_creation with = asking(t, &at_least[5], count);

        expect_write_of_all_segments(t, &with);
}

/* As many reads at once as were asked for, of as many segments each. */
CASE(ep_create, reads)
{
        DAT_COUNT count = segments_of(t, &at_least[4]);
        struct ep_creation with = ep_create_arguments(t);
        struct vector from = vector_with(t, .length = 100);
        DAT_RMR_TRIPLET remote = vector_remote(&from);
        struct vector to[2];
        DAT_EP_HANDLE ep;

        if (ia_attr(t)->max_rdma_read_per_ep_out < 2)
                unsupported(t, "max_rdma_read_per_ep_out: below 2");
        with.param.ep_attr.max_rdma_read_in = 2;
        with.param.ep_attr.max_rdma_read_out = 2;
        with.param.ep_attr.max_rdma_read_iov = count;
        ep = ep_created(t, &with);
        expect_joined(t, ep, other_end(t));
        vector_fill(t, &from, 1);
        for (uint64_t i = 0; i < 2; i++) {
                to[i] = vector_with(t, .length = 100, .segments = count);
                expect(dat_ep_post_rdma_read(ep, count, to[i].iov, COOKIE(i), &remote,
                                             DAT_COMPLETION_DEFAULT_FLAG),
                       DAT_SUCCESS);
        }
        for (uint64_t i = 0; i < 2; i++) {
                expect_completion(with.request_evd, ep, i, 100, 0);
                expect_holds(&to[i], 1, 100);
        }
}

CASE(ep_create, greatest_read)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_greatest_read(t, &with);
}

/* The other end reads from the EP, as often at once as was asked for. */
CASE(ep_create, read_by_other_end)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_read_by_other_end(t, &with);
}

CASE(ep_create, greatest_message)
{
        struct ep_creation with = ep_create_arguments(t);
        size_t length = (size_t)with.param.ep_attr.max_message_size;
        struct vector to = vector_with(t, .length = length);
        struct vector from = vector_with(t, .length = length);
        DAT_EP_HANDLE ep = ep_created(t, &with);
        struct loop loop = expect_joined(t, ep, ep_created(t, &with));

        vector_fill(t, &from, 1);
        expect(recv_vector(loop.passive, &to, 1, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect(send_vector(ep, &from, 2, DAT_COMPLETION_DEFAULT_FLAG), DAT_SUCCESS);
        expect_completion(with.recv_evd, loop.passive, 1, length, 0);
        expect_completion(with.request_evd, ep, 2, length, 0);
        expect_holds(&to, 1, length);
}

CASE(ep_create, greatest_rdma)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_greatest_write(t, &with);
}

FAMILY(ep_create, flags_used, ep_silent)
{
        struct ep_creation with = ep_create_arguments(t);

        expect_silent(t, &with, row);
}
