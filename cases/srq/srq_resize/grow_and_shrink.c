/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: growth and shrinking. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

#define STEPS      60    /* by which a queue grows */
#define SIZES      70    /* that are asked for one after another */
#define MOST_POSTS 65536 /* where the IA's limit is beyond counting */

/*
 * Growing
 */

CASE(srq_resize, grow)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, srq_size_above(t, srq, 8)), DAT_SUCCESS);
}

CASE(srq_resize, grow_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT request = srq_size_above(t, srq, 8);

        must(dat_srq_resize(srq, request));

        DAT_COUNT size = srq_size(t, srq);
        expect_that(size >= request, "%d asked for, %d queried", request, size);
}

CASE(srq_resize, grow_room)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 8);

        must(dat_srq_resize(queue.srq, request));

        expect_room(t, &queue, request);
}

CASE(srq_resize, grow_by_one)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 1);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
        expect_room(t, &queue, request);
}

/* Full at each size: a place that is missing anywhere on the way shows. */
CASE(srq_resize, grow_step_by_step)
{
        struct queue queue = queue_with(t, 1);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        for (int step = 0; step < STEPS && full < limit_or_none(max_recv_per_srq); step++) {
                DAT_COUNT request = srq_size_above(t, queue.srq, 1 + step % 3);
                DAT_COUNT size;

                expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
                size = srq_size(t, queue.srq);
                expect_that(size >= request, "%d asked for, %d queried", request, size);
                expect_room(t, &queue, size - full);
                full = size;
        }
}

/* Up by one, and down by one: what a provider rounds it rounds up. */
CASE(srq_resize, to_each_size)
{
        struct queue queue = queue_with(t, 1);
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_COUNT most = limit < SIZES ? limit : SIZES;

        for (DAT_COUNT size = 1; size <= most; size++) {
                expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
                expect_that(srq_size(t, queue.srq) >= size, "%d asked for, %d queried", size,
                            srq_size(t, queue.srq));
        }
        for (DAT_COUNT size = most; size >= 1; size--) {
                DAT_COUNT old = srq_size(t, queue.srq);

                expect(dat_srq_resize(queue.srq, size), DAT_SUCCESS);
                expect_that(srq_size(t, queue.srq) >= size && srq_size(t, queue.srq) <= old,
                            "%d asked for, of %d, and %d queried", size, old,
                            srq_size(t, queue.srq));
        }
}

CASE(srq_resize, grow_full_queue)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT request = srq_size_above(t, queue.srq, 4);
        DAT_COUNT full = srq_fill(t, queue.srq, queue.buf);

        expect(dat_srq_resize(queue.srq, request), DAT_SUCCESS);
        expect_room(t, &queue, request - full);
}

CASE(srq_resize, grow_to_ia_limit)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT limit = limit_told(max_recv_per_srq);
        DAT_RETURN ret =
            expect(dat_srq_resize(srq, limit), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);

        if (dat_is(ret, DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for the %d receives that the IA gives an SRQ", limit);
        expect_that(srq_size(t, srq) >= limit, "%d asked for, %d queried", limit, srq_size(t, srq));
}

CASE(srq_resize, ia_limit_room)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT limit = limit_told(max_recv_per_srq);

        if (dat_is(dat_srq_resize(queue.srq, limit), DAT_INSUFFICIENT_RESOURCES))
                resource(t, "no resources for the %d receives that the IA gives an SRQ", limit);

        expect_room(t, &queue, limit < MOST_POSTS ? limit : MOST_POSTS);
}

/*
 * Shrinking, or not
 */

CASE(srq_resize, shrink)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        expect(dat_srq_resize(srq, 8), DAT_SUCCESS);
}

CASE(srq_resize, shrink_to_one)
{
        struct queue queue = queue_with(t, 16);

        expect(dat_srq_resize(queue.srq, 1), DAT_SUCCESS);

        expect_room(t, &queue, srq_size(t, queue.srq));
}

CASE(srq_resize, shrink_at_least_request)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);

        must(dat_srq_resize(srq, 8));

        expect_that(srq_size(t, srq) >= 8, "8 asked for, %d queried", srq_size(t, srq));
}

CASE(srq_resize, shrink_at_most_old_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 16);
        DAT_COUNT old = srq_size(t, srq);

        must(dat_srq_resize(srq, old - 1));

        expect_that(srq_size(t, srq) <= old, "shrunk from %d to %d", old, srq_size(t, srq));
}

CASE(srq_resize, shrink_room)
{
        struct queue queue = queue_with(t, 16);

        queue_post(t, &queue, 3);
        must(dat_srq_resize(queue.srq, 8));

        expect_room(t, &queue, 5);
}

CASE(srq_resize, shrink_quality)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 24);

        for (DAT_COUNT request = 17; request > 0; request /= 2) {
                DAT_COUNT old = srq_size(t, srq);

                expect(dat_srq_resize(srq, request), DAT_SUCCESS);

                DAT_COUNT size = srq_size(t, srq);
                expect_that(size >= request && size <= old, "%d asked for: from %d to %d", request,
                            old, size);
                record(t, "%d asked for: from %d to %d", request, old, size);
        }
}

CASE(srq_resize, same_size)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect(dat_srq_resize(srq, srq_size(t, srq)), DAT_SUCCESS);
}

CASE(srq_resize, same_size_stays)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT old = srq_size(t, srq);

        must(dat_srq_resize(srq, old));

        expect_eq(srq_size(t, srq), old);
}
