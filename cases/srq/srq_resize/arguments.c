/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: arguments. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

#include <limits.h>

#define DRAWN 16 /* sizes, of a range */

static const struct argument {
        const char *id;
        DAT_COUNT size;
} negative[] = {
    {"minus_one", -1},
    {"least", INT_MIN},
};

static void refuse_negative(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT size)
{
        expect(dat_srq_resize(srq, size), DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
}

FAMILY(srq_resize, negative, negative)
{
        refuse_negative(t, srq_with(t, .max_recv_dtos = 8), row->size);
}

CASE(srq_resize, each_negative)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        for (int bit = 1; bit < 31; bit++)
                refuse_negative(t, srq, -(1 << bit));
        for (int i = 0; i < DRAWN; i++)
                refuse_negative(t, srq, -2 - (DAT_COUNT)draw(t, INT_MAX - 1));
}

static const struct argument too_large[] = {
    {"above_ia_limit", 0},
    {"greatest", INT_MAX},
};

static void ask_for_too_much(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT request)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_RETURN ret = expect_may(dat_srq_resize(srq, request), DAT_INVALID_PARAMETER,
                                    DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);

        if (!dat_is(ret, DAT_SUCCESS))
                return;
        expect_that(srq_size(t, srq) >= request, "%d asked for, %d queried", request,
                    srq_size(t, srq));
        if (request > limit)
                note(t, "%d granted, above the IA's own max_recv_per_srq of %d", request, limit);
}

FAMILY(srq_resize, too_large, too_large)
{
        DAT_COUNT limit = limit_told(max_recv_per_srq);

        ask_for_too_much(t, srq_with(t, .max_recv_dtos = 8),
                         row->size || limit == INT_MAX ? INT_MAX : limit + 1);
}

CASE(srq_resize, each_too_large)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);
        DAT_COUNT limit = limit_told(max_recv_per_srq);

        for (int bit = 3; bit < 31; bit++)
                if (1 << bit > limit)
                        ask_for_too_much(t, srq, 1 << bit);
        for (int i = 0; i < DRAWN && limit < INT_MAX; i++)
                ask_for_too_much(t, srq,
                                 limit + 1 + (DAT_COUNT)draw(t, (uint64_t)(INT_MAX - limit)));
}

CASE(srq_resize, zero)
{
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8);

        expect_may(dat_srq_resize(srq, 0), DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_SUCCESS);
}

CASE(srq_resize, zero_then_grow)
{
        struct queue queue = queue_with(t, 8);

        (void)dat_srq_resize(queue.srq, 0);

        expect(dat_srq_resize(queue.srq, 8), DAT_SUCCESS);
        expect_room(t, &queue, 8);
}

CASE(srq_resize, zero_below_outstanding)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 2);

        expect_zero_refused(t, queue.srq);
}

LEGAL(srq_resize)
{
        call->srq_handle = srq_with(t, .max_recv_dtos = 8);
        call->srq_max_recv_dto = 8;
}
