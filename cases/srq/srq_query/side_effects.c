/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_query: the call changes nothing. */
#include "cases/ep/shared/endpoint.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/shared/watched.h"
#include "cases/srq/srq_query/fixtures.h"
#include "clauses/srq_query.h"

#include <limits.h>

FAMILY(srq_query, while_ep, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct known known = known_srq(t);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = known.srq, .pz = known.pz);
                DAT_EP_STATE before = ep_state(t, ep);

                srq_query_check_fields(t, &known,
                                       DAT_SRQ_FIELD_ALL & ~DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT);

                expect_ep_state_kept(t, ep, before);
        }
}

static void refuse_resize(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_resize(known->srq, 1);
}

static void refuse_mark(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_set_lw(known->srq, INT_MAX);
}

static void refuse_free(struct test *t, const struct known *known)
{
        (void)t;
        (void)dat_srq_free(known->srq);
}

/* Calls that are refused of an SRQ with receives and an EP. */
static const struct refusal {
        const char *id;
        void (*refuse)(struct test *t, const struct known *known);
} refusals[] = {
    {"resize", refuse_resize},
    {"set_lw", refuse_mark},
    {"free", refuse_free},
    {"query", refuse_mask},
};

FAMILY(srq_query, after_refusal, refusals)
{
        struct known known = known_srq(t);

        ep_with(t, .srq = known.srq, .pz = known.pz);
        for (int i = 0; i < MANY; i++)
                row->refuse(t, &known);

        srq_query_check_fields(t, &known, DAT_SRQ_FIELD_ALL);
        for (size_t i = 0; i < FIELD_COUNT; i++)
                srq_query_check_fields(t, &known, fields[i].bit);
}

CASE(srq_query, keeps_parameters)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM before = srq_query_queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        for (int i = 0; i < MANY; i++)
                expect_kept(t, known.srq, &before);
}

static void expect_attributes_queried(struct test *t, DAT_SRQ_HANDLE srq,
                                      const DAT_SRQ_PARAM *before)
{
        DAT_SRQ_PARAM after = srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL);

        expect_attributes(t, before, &after);
}

CASE(srq_query, messages_leave_attributes)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_SRQ_PARAM before = srq_query_queried(t, queue.srq, DAT_SRQ_FIELD_ALL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 2);
        expect_attributes_queried(t, queue.srq, &before);
        expect_messages(t, &queue, &flow, 2);
        expect_attributes_queried(t, queue.srq, &before);
}

/* Of as many segments as the SRQ takes, and refused ones. */
CASE(srq_query, posts_leave_attributes)
{
        DAT_COUNT limit = ia_attr(t)->max_iov_segments_per_dto;
        DAT_COUNT count = limit < 2 ? limit : 2;
        DAT_SRQ_HANDLE srq = srq_with(t, .max_recv_dtos = 8, .max_recv_iov = count);
        struct buf *buf = buf_with(t);
        DAT_LMR_TRIPLET segments[2] = {triplet(buf, 0, 1), triplet(buf, 1, 1)};
        DAT_SRQ_PARAM before = srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL);

        for (int i = 0; i < 3; i++)
                expect(dat_srq_post_recv(srq, count, segments, (DAT_DTO_COOKIE){.as_64 = 0}),
                       DAT_SUCCESS);
        (void)dat_srq_post_recv(srq, -1, segments, (DAT_DTO_COOKIE){.as_64 = 0});

        expect_attributes_queried(t, srq, &before);
}

CASE(srq_query, ep_of_other_zone)
{
        struct known known = known_srq(t);
        DAT_SRQ_PARAM before = srq_query_queried(t, known.srq, DAT_SRQ_FIELD_ALL);

        ep_with(t, .srq = known.srq, .pz = pz_new(t));
        expect_kept(t, known.srq, &before);
        srq_query_check_fields(t, &known, DAT_SRQ_FIELD_ALL);
}

CASE(srq_query, keeps_buffers)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        query_often(t, queue.srq);

        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_query, keeps_completions)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        query_often(t, queue.srq);

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

CASE(srq_query, keeps_watermark_armed)
{
        struct armed armed = armed_with(t, 4, 4);

        query_often(t, armed.queue.srq);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        query_often(t, armed.queue.srq);
        expect_quiet(async_evd(t));
}

static void look(struct test *t, DAT_HANDLE srq)
{
        srq_query_queried(t, srq, DAT_SRQ_FIELD_ALL);
}

/* An EP of a queue with receives, which reports them to this EVD, or to one of its own. */
static struct watched watched_on(struct test *t, DAT_EVD_HANDLE evd)
{
        struct queue queue = queue_with(t, WATCHED_RECEIVES);
        struct flow flow = flow_open(t, &queue, evd);

        queue_post(t, &queue, WATCHED_RECEIVES);
        return (struct watched){
            .evd = flow.evd, .end = flow.end, .object = queue.srq, .look = look};
}

CASE(srq_query, wakes)
{
        struct watched watched = watched_on(t, DAT_HANDLE_NULL);

        expect_looks_wake(t, &watched);
}

CASE(srq_query, wakes_at_threshold)
{
        struct watched watched = watched_on(t, DAT_HANDLE_NULL);

        expect_looks_wake_at_threshold(t, &watched);
}

CASE(srq_query, triggers_cno)
{
        DAT_CNO_HANDLE cno = cno_new(t);
        struct watched watched = watched_on(t, evd_with(t, .cno = cno));

        expect_looks_trigger(t, &watched, cno);
}
