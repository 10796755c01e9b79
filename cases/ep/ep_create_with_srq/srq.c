/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_create_with_srq: the association of the EP with its SRQ. */
#include "cases/ep/ep_create_with_srq/fixtures.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/refusals.h"
#include "cases/srq/shared/queue.h"
#include "clauses/ep_create_with_srq.h"

#include <string.h>

/* An EP of the queue after some of its life. */
static const struct life {
        const char *id;
        bool connected;
        bool disconnected;
        bool reset;
} lives[] = {
    {"unconnected", false, false, false},
    {"connected", true, false, false},
    {"disconnected", true, true, false},
    {"reset", true, true, true},
};

static struct flow live(struct test *t, const struct queue *queue, const struct life *life)
{
        DAT_EP_HANDLE ep = ep_create_with_srq_create_on(t, queue->srq);
        struct flow flow = flow_to(t, ep, NULL);

        if (!life->connected)
                return flow;
        flow.end = expect_connect(ep);
        if (!life->disconnected)
                return flow;
        flow_break(t, &flow);
        if (life->reset)
                expect(dat_ep_reset(ep), DAT_SUCCESS);
        return flow;
}

/* The EP, connected where it is not, receives through its SRQ; from Disconnected, after a reset. */
static void expect_receives(struct test *t, struct queue *queue, struct flow *flow,
                            const struct life *life)
{
        if (life->disconnected && !life->reset)
                expect(dat_ep_reset(flow->ep), DAT_SUCCESS);
        if (!life->connected || life->disconnected)
                flow->end = expect_connect(flow->ep);
        queue_post(t, queue, 2);
        expect_traffic(t, queue, flow, 2);
}

FAMILY(ep_create_with_srq, keeps_srq, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, row);

        expect_that(ep_described(t, flow.ep).srq_handle == queue.srq, "the EP has another SRQ");
        expect_receives(t, &queue, &flow, row);
}

FAMILY(ep_create_with_srq, keeps_srq_in_state, consumer_ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);

        EACH_EP_ROUTE (route, row->state)
                expect_that(ep_described(t, ep_by(t, route, .srq = srq)).srq_handle == srq,
                            "the EP has another SRQ");
}

FAMILY(ep_create_with_srq, srq_in_use, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, row);
        DAT_RETURN ret = dat_srq_free(queue.srq);

        if (dat_is(ret, DAT_INVALID_HANDLE) && DAT_GET_SUBTYPE(ret) == DAT_INVALID_STATE_SRQ_IN_USE)
                note(t, "DAT_INVALID_HANDLE, whose subtype says that the SRQ is in use (SRQ-1)");
        else
                expect(ret, DAT_INVALID_STATE);
        expect_receives(t, &queue, &flow, row);
}

FAMILY(ep_create_with_srq, srq_free_after_ep, lives)
{
        struct queue queue = queue_with(t, 8);

        release(t, live(t, &queue, row).ep);
        disown(t, queue.srq);

        expect(dat_srq_free(queue.srq), DAT_SUCCESS);
}

FAMILY(ep_create_with_srq, srq_serves_others_after, lives)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_made(t, &queue);
        struct flow gone = live(t, &queue, row);

        queue_post(t, &queue, 3);
        release(t, gone.ep);

        expect_traffic(t, &queue, &flow, 3);
}

/* Asks for the SRQ of an EP to be another, or none; fields of no mask are poison. */
static void expect_srq_kept(struct test *t, const struct life *life, struct queue *other)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, life);
        DAT_EP_PARAM asked;

        memset(&asked, 0x5a, sizeof(asked));
        asked.srq_handle = other ? other->srq : DAT_HANDLE_NULL;

        expect_or_note(dat_ep_modify(flow.ep, DAT_EP_FIELD_SRQ_HANDLE, &asked),
                       DAT_INVALID_PARAMETER, DAT_INVALID_STATE);
        expect_that(ep_described(t, flow.ep).srq_handle == queue.srq, "the EP has not its SRQ");
        if (other)
                queue_post(t, other, 2);
        expect_receives(t, &queue, &flow, life);
}

FAMILY(ep_create_with_srq, not_replaced, lives)
{
        struct queue other = queue_with(t, 8);

        expect_srq_kept(t, row, &other);
}

FAMILY(ep_create_with_srq, not_taken_away, lives)
{
        expect_srq_kept(t, row, NULL);
}

CASE(ep_create_with_srq, reset)
{
        struct queue queue = queue_with(t, 8);

        expect_eq(ep_state(t, live(t, &queue, &lives[3]).ep), DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_create_with_srq, receives_after_reset)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = live(t, &queue, &lives[3]);

        flow.end = expect_connect(flow.ep);
        queue_post(t, &queue, 2);
        expect_traffic(t, &queue, &flow, 2);
}

/* Whichever way the EP was connected, and after that was over: it names itself and each receive. */
CASE(ep_create_with_srq, receives_by_each_route)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                queue.cookie_bits = WIDE_COOKIES;
                queue_post(t, &queue, 3);
                expect_traffic(t, &queue, &flow, 2);
                flow_deliver(t, &flow, 1);
                flow_break(t, &flow);
                expect_messages(t, &queue, &flow, 1);
        }
}

CASE(ep_create_with_srq, receives_of_its_srq)
{
        struct queue one = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow of_one = flow_made(t, &one);
        struct flow of_other = flow_made(t, &other);

        queue_post(t, &one, 2);
        queue_post(t, &other, 2);
        expect_traffic(t, &one, &of_one, 2);
        expect_traffic(t, &other, &of_other, 2);
}

FAMILY(ep_create_with_srq, no_receive_of_its_own, lives)
{
        struct queue queue = queue_with(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct flow flow = live(t, &queue, row);

        for (DAT_COUNT segments = 0; segments < 2; segments++) {
                DAT_RETURN ret =
                    dat_ep_post_recv(flow.ep, segments, segments ? &segment : NULL,
                                     (DAT_DTO_COOKIE){.as_64 = SLOTS}, DAT_COMPLETION_DEFAULT_FLAG);

                expect_that(!dat_is(ret, DAT_SUCCESS), "the EP took a receive of its own");
                expect_that(!dat_is(ret, DAT_INTERNAL_ERROR), "an internal error (GEN-3)");
        }
}

FAMILY(ep_create_with_srq, no_receive_in_state, consumer_ep_states)
{
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);

        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);
                DAT_EP_STATE state = ep_state(t, ep);
                DAT_SRQ_PARAM before;

                queue_post(t, &queue, 3);
                before = srq_param(t, queue.srq);
                EACH_REFUSAL (i) {
                        DAT_RETURN ret =
                            dat_ep_post_recv(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                                             DAT_COMPLETION_DEFAULT_FLAG);

                        expect_that(!dat_is(ret, DAT_SUCCESS), "the EP took a receive of its own");
                        expect_that(!dat_is(ret, DAT_INTERNAL_ERROR), "an internal error (GEN-3)");
                }
                expect_ep_state_kept(t, ep, state);
                expect_kept(t, queue.srq, &before);
        }
}

/* What an EP's own queue has room for, and more: none of it is taken, counted or filled. */
FAMILY(ep_create_with_srq, after_refused_receives, lives)
{
        struct queue queue = queue_with(t, 8);
        DAT_LMR_TRIPLET segment = triplet(buf_with(t), 0, MESSAGE);
        struct flow flow = live(t, &queue, row);

        for (int i = 0; i < LIMIT_OF_REFUSALS; i++)
                (void)dat_ep_post_recv(flow.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = SLOTS},
                                       DAT_COMPLETION_DEFAULT_FLAG);
        expect_receives(t, &queue, &flow, row);
        expect_quiet(flow.evd);
        expect_room(t, &queue, srq_size(t, queue.srq));
}
