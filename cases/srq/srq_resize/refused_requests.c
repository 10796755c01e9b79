/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: what a refused request leaves unchanged. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

#include <limits.h>

#define BEYOND INT_MIN + 1 /* stands for one above the IA's limit */

/* Requests that are refused of a queue that has 6 receives. */
static const struct refusal {
        const char *id;
        DAT_COUNT size;
} refusals[] = {
    {"below_by_one", 5}, {"below_by_far", 1},        {"zero", 0},           {"minus_one", -1},
    {"least", INT_MIN},  {"above_ia_limit", BEYOND}, {"greatest", INT_MAX},
};

static void refuse(struct test *t, DAT_SRQ_HANDLE srq, const struct refusal *row)
{
        DAT_COUNT limit =
            row->size == BEYOND ? limit_told(max_recv_per_srq) : limit_or_none(max_recv_per_srq);
        DAT_COUNT request = row->size;

        if (request == BEYOND)
                request = limit < INT_MAX ? limit + 1 : INT_MAX;
        if (dat_is(dat_srq_resize(srq, request), DAT_SUCCESS) && request > 6)
                end_noted(t, "%d granted, above the IA's own max_recv_per_srq of %d (SRQ-17)",
                          request, limit);
}

/* Refused more than once: a provider may change something by a later refusal only. */
FAMILY(srq_resize, refusal_keeps_parameters, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        for (int i = 0; i < SEVERAL; i++) {
                refuse(t, queue.srq, row);
                expect_kept(t, queue.srq, &before);
        }
}

FAMILY(srq_resize, refusal_keeps_room, refusals)
{
        struct queue queue = queue_with(t, 8);
        DAT_COUNT size = srq_size(t, queue.srq);

        queue_post(t, &queue, 6);
        for (int i = 0; i < SEVERAL; i++)
                refuse(t, queue.srq, row);

        expect_room(t, &queue, size - 6);
}

FAMILY(srq_resize, refusal_keeps_available_count, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_count(t, srq_param(t, queue.srq).available_dto_count, 6);
}

FAMILY(srq_resize, refusal_keeps_outstanding_count, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_count(t, srq_param(t, queue.srq).outstanding_dto_count, 6);
}

FAMILY(srq_resize, refusal_keeps_low_watermark, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        queue_mark(t, &queue, 4);
        refuse(t, queue.srq, row);

        expect_eq(srq_param(t, queue.srq).low_watermark, 4);
}

FAMILY(srq_resize, refusal_keeps_watermark_armed, refusals)
{
        struct armed armed = armed_with(t, 6, 6);

        refuse(t, armed.queue.srq, row);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_no_mark_event(t, &armed.flow);
}

/* Its event has come; receives are fewer than it at each refusal, and later again. */
CASE(srq_resize, refusal_keeps_watermark_spent)
{
        static const DAT_COUNT sizes[] = {3, 2, 1, 0, -1, INT_MIN};
        struct queue queue = queue_below_mark(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 3);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
                (void)dat_srq_resize(queue.srq, sizes[i]);
                expect_quiet(async_evd(t));
        }

        queue_post(t, &queue, 2);
        flow_deliver(t, &flow, 2);
        expect_no_mark_event(t, &flow);
}

FAMILY(srq_resize, refusal_keeps_buffers, refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 6);
        refuse(t, queue.srq, row);

        expect_traffic(t, &queue, &flow, 6);
        expect_quiet(flow.evd);
}

FAMILY(srq_resize, refusal_keeps_completions, refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM before;
        bool told;

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 6);
        told = dat_is(dat_srq_query(queue.srq, DAT_SRQ_FIELD_ALL, &before), DAT_SUCCESS);
        for (int i = 0; i < SEVERAL; i++) {
                refuse(t, queue.srq, row);
                if (told)
                        expect_kept(t, queue.srq, &before);
        }

        expect_messages(t, &queue, &flow, 6);
        expect_quiet(flow.evd);
}

/* Refused more than once, so that what each refusal keeps for itself adds up. */
FAMILY(srq_resize, granted_after_refusal, refusals)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 6);
        for (int i = 0; i < MANY; i++)
                refuse(t, queue.srq, row);

        expect_granted(t, queue.srq, 6);
        expect_room(t, &queue, srq_size(t, queue.srq) - 6);
}

/* Each of these is refused several times, so that what each refusal keeps for itself adds up. */
CASE(srq_resize, granted_after_other_refusals)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        for (int turn = 0; turn < VAIN_TURNS; turn++) {
                for (int i = 0; i < SEVERAL; i++)
                        vain_turn(t, &queue, &flow, turn);
                expect_granted(t, queue.srq, 4);
        }

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_resize, granted_after_requests)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_with_requests(t, &queue);

        queue_post(t, &queue, 4);
        expect_granted(t, queue.srq, 4);

        expect_traffic(t, &queue, &flow, 4);
}
