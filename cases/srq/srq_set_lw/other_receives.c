/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_set_lw: receives that do not leave the SRQ. */
#include "cases/ia/shared/instance.h"
#include "cases/srq/shared/queue.h"
#include "clauses/srq_set_lw.h"

CASE(srq_set_lw, no_event_by_posting)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        queue_post(t, &queue, 4);

        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, no_event_by_other_srq)
{
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &other, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        queue_post(t, &other, 4);
        expect_traffic(t, &other, &flow, 4);

        expect_quiet(async_evd(t));
}

FAMILY(srq_set_lw, event_of_the_srq, three_srqs)
{
        struct armed armed[3];

        for (int i = 0; i < 3; i++)
                armed[i] = armed_with(t, 4, 4);

        for (int i = 0; i < 3; i++) {
                struct armed *one = &armed[(row->index + i) % 3];

                flow_deliver(t, &one->flow, 1);
                expect_mark_event(t, one);
                expect_quiet(async_evd(t));
        }
}

static void expect_event_of_other_ia(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct woken woken =
            expect_awake(wait_on_evd(t, async_told(t, other_ia(t)), DAT_TIMEOUT_INFINITE, 1));

        expect(woken.ret, DAT_SUCCESS);
        expect_async_about(&woken.event, srq);
        expect_quiet(async_evd(t));
}

CASE(srq_set_lw, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_SRQ_HANDLE srq = srq_with(t, .ia = other, .pz = pz_of(t, other), .max_recv_dtos = 8);

        expect(dat_srq_set_lw(srq, 4), DAT_SUCCESS);
        expect_eq(srq_param(t, srq).low_watermark, 4);
        expect_event_of_other_ia(t, srq);
}

CASE(srq_set_lw, receive_of_other_ia)
{
        struct queue queue = queue_of_other_ia(t, 8);
        struct flow flow = flow_of_other_ia(t, &queue);

        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        flow_send(&flow, 1);
        expect_event_of_other_ia(t, queue.srq);
}

CASE(srq_set_lw, no_event_by_plain_ep)
{
        struct queue queue = queue_with(t, 8);
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EP_HANDLE plain = ep_with(t, .recv_evd = evd);
        struct peer_ep *end = peer_connect(peer(t), plain);
        DAT_LMR_TRIPLET segment = triplet(queue.buf, 0, MESSAGE);

        ep_with(t, .srq = queue.srq, .recv_evd = evd);
        for (int i = 0; i < 4; i++)
                must(dat_ep_post_recv(plain, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                      DAT_COMPLETION_DEFAULT_FLAG));
        queue_post(t, &queue, 4);
        must(dat_srq_set_lw(queue.srq, 4));
        peer_send(end, .count = 4, .length = MESSAGE);
        for (int i = 0; i < 4; i++)
                must_dto(evd);

        expect_quiet(async_evd(t));
}

/* Requests of the EP and of its other end, which take no receive. */
CASE(srq_set_lw, no_event_by_requests)
{
        struct armed armed = armed_with(t, 4, 4);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        DAT_EVD_HANDLE evd = ep_request_evd(t, armed.flow.ep);
        struct peer_memory memory = peer_expose(armed.flow.end, MESSAGE);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = memory.rmr_context,
            .target_address = memory.address,
            .segment_length = MESSAGE,
        };

        peer_post_recv(armed.flow.end, 1, MESSAGE);
        must(dat_ep_post_send(armed.flow.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                              DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(evd);
        must(dat_ep_post_rdma_write(armed.flow.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                    &remote, DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(evd);
        flow_is_written_to(t, &armed.flow);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
}

static void disconnect(struct test *t, struct armed *armed)
{
        flow_break(t, &armed->flow);
}

static void reset(struct test *t, struct armed *armed)
{
        disconnect(t, armed);
        must(dat_ep_reset(armed->flow.ep));
}

static void free_ep(struct test *t, struct armed *armed)
{
        disconnect(t, armed);
        release(t, armed->flow.ep);
}

static void make_ep(struct test *t, struct armed *armed)
{
        (void)ep_with(t, .srq = armed->queue.srq);
}

static void call_calmly(struct test *t, struct armed *armed)
{
        for (int turn = 0; turn < CALM_TURNS; turn++)
                calm_turn(t, &armed->queue, &armed->flow, turn);
        disconnect(t, armed);
}

static void call_in_vain(struct test *t, struct armed *armed)
{
        for (int turn = 0; turn < VAIN_TURNS; turn++)
                vain_turn(t, &armed->queue, &armed->flow, turn);
        disconnect(t, armed);
}

/* What the EPs of an SRQ go through while its mark is armed. */
static const struct passage {
        const char *id;
        void (*pass)(struct test *t, struct armed *armed);
} passages[] = {
    {"reset", reset},
    {"freed", free_ep},
    {"made", make_ep},
    {"calls_granted", call_calmly},
    {"calls_refused", call_in_vain},
};

FAMILY(srq_set_lw, armed_through, passages)
{
        struct armed armed = armed_with(t, 4, 4);

        row->pass(t, &armed);
        expect_quiet(async_evd(t));

        struct flow flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_send(&flow, 1);
        expect_mark_event(t, &armed);
}

/* The same once the event of the mark has come: receives are below it. */
FAMILY(srq_set_lw, spent_through, passages)
{
        struct armed armed = armed_with(t, 4, 4);

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        row->pass(t, &armed);
        expect_quiet(async_evd(t));

        struct flow flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_deliver(t, &flow, 1);
        expect_no_mark_event(t, &flow);
}

CASE(srq_set_lw, no_event_by_disconnect)
{
        struct armed armed = armed_with(t, 4, 4);

        disconnect(t, &armed);
        expect_quiet(async_evd(t));

        struct flow flow = flow_open(t, &armed.queue, DAT_HANDLE_NULL);
        flow_send(&flow, 1);
        expect_mark_event(t, &armed);
}
