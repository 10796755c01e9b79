/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/srq_resize/fixtures.h"
#include "cases/ep/shared/endpoint.h"

#define MOMENT_US 1000 /* in which a message may make some of its way */
#define SOON_MS   3    /* until messages set out */

bool reap_message(struct test *t, DAT_EVD_HANDLE evd, int pending, int *met,
                  DAT_DTO_COMPLETION_EVENT_DATA *dto)
{
        DAT_COUNT more = 0;
        DAT_EVENT event;
        bool came = dat_is(dat_evd_wait(evd, MOMENT_US, 1, &event, &more), DAT_SUCCESS);

        if (!came || pending > more + 1)
                (*met)++;
        if (!came)
                return false;
        *dto = event.event_data.dto_completion_event_data;
        expect_eq(event.event_number, DAT_DTO_COMPLETION_EVENT);
        expect_eq(dto->status, DAT_DTO_SUCCESS);
        return true;
}

void flow_send_soon(struct flow *flow, int count)
{
        peer_send(flow->end, .count = count, .length = flow->length, .first = flow->sent,
                  .late_ms = SOON_MS);
        flow->sent += (uint64_t)count;
}

void expect_refusal(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT request)
{
        DAT_SRQ_PARAM before = srq_param(t, srq);
        DAT_RETURN ret =
            expect_or_note(dat_srq_resize(srq, request), DAT_INVALID_STATE, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                expect_kept(t, srq, &before);
}

void expect_zero_refused(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_SRQ_PARAM before = srq_param(t, srq);
        DAT_RETURN ret =
            expect(dat_srq_resize(srq, 0), DAT_INVALID_STATE, DAT_INVALID_PARAMETER, DAT_SUCCESS);

        if (dat_is(ret, DAT_SUCCESS))
                note(t, "granted, with receives outstanding (SRQ-2)");
        expect_kept(t, srq, &before);
}

struct queue queue_below_mark(struct test *t, DAT_COUNT mark)
{
        struct queue queue = queue_with(t, 8);

        must(dat_srq_set_lw(queue.srq, mark));
        drain_async_event(t);
        return queue;
}

DAT_RETURN resize(struct test *t, DAT_SRQ_HANDLE srq, const struct change *change,
                  DAT_COUNT outstanding)
{
        DAT_COUNT size = srq_size(t, srq);

        if (change->how == GROW)
                size = srq_size_above(t, srq, 8);
        else if (change->how == SHRINK)
                size = outstanding;
        return dat_srq_resize(srq, size);
}

static void expect_grown(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT more)
{
        DAT_COUNT request = srq_size_above(t, srq, more);
        DAT_COUNT size;

        expect(dat_srq_resize(srq, request), DAT_SUCCESS);
        size = srq_size(t, srq);
        expect_that(size >= request, "%d asked for, %d queried", request, size);
}

void expect_granted(struct test *t, DAT_SRQ_HANDLE srq, DAT_COUNT least)
{
        expect_grown(t, srq, 4);
        expect(dat_srq_resize(srq, srq_size(t, srq)), DAT_SUCCESS);
        expect(dat_srq_resize(srq, least + 1), DAT_SUCCESS);
        expect(dat_srq_resize(srq, least), DAT_SUCCESS);
        expect_grown(t, srq, 1);
}

struct queue queue_of_segments(struct test *t, DAT_COUNT size)
{
        if (ia_attr(t)->max_iov_segments_per_dto < 2)
                unsupported(t, "max_iov_segments_per_dto: a receive has one segment at most");
        return (struct queue){.srq = srq_with(t, .max_recv_dtos = size, .max_recv_iov = 2),
                              .length = MESSAGE,
                              .buf = buf_with(t, .length = SLOTS * MESSAGE)};
}

void post_halves(struct test *t, const struct queue *queue, int count)
{
        for (int i = 0; i < count; i++) {
                size_t start = (size_t)i * MESSAGE;
                DAT_LMR_TRIPLET halves[] = {triplet(queue->buf, start + HALF, HALF),
                                            triplet(queue->buf, start, HALF)};

                expect(dat_srq_post_recv(queue->srq, 2, halves,
                                         (DAT_DTO_COOKIE){.as_64 = WIDE_COOKIE(i)}),
                       DAT_SUCCESS);
        }
}

int pending(const struct flow *flow)
{
        return (int)(flow->sent - flow->received);
}
