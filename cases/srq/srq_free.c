/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_free: when it is refused, and what each answer leaves behind. */
#include "clauses/srq_free.h"
#include "case/ep_attr.h"
#include "case/limits.h"
#include "cases/ep/shared/creation.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/shared/handles.h"
#include "cases/shared/refusals.h"
#include "cases/shared/rounds.h"
#include "cases/srq/shared/neighbours.h"
#include "cases/srq/shared/queue.h"

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define MANY         64                   /* repetitions */
#define SRQS_MOST    1024                 /* where the IA's limit is beyond counting */

/* The free under test, of an SRQ that a fixture made. */
static void expect_freed(struct test *t, DAT_SRQ_HANDLE srq)
{
        disown(t, srq);
        expect(dat_srq_free(srq), DAT_SUCCESS);
}

/* SRQ-1: the page's own name for this return is a subtype in the header. */
static void expect_in_use(struct test *t, DAT_SRQ_HANDLE srq)
{
        DAT_RETURN ret = dat_srq_free(srq);

        if (dat_is(ret, DAT_INVALID_HANDLE) && DAT_GET_SUBTYPE(ret) == DAT_INVALID_STATE_SRQ_IN_USE)
                note(t, "DAT_INVALID_HANDLE, whose subtype says that the SRQ is in use (SRQ-1)");
        else
                expect(ret, DAT_INVALID_STATE);
}

/*
 * Nothing in the way
 */

CASE(srq_free, unused)
{
        expect_freed(t, srq_with(t));
}

static const struct posts {
        const char *id;
        bool full;
} posts[] = {
    {"one", false},
    {"full_queue", true},
};

FAMILY(srq_free, posted, posts)
{
        struct queue queue = queue_with(t, 8);

        if (row->full)
                srq_fill(t, queue.srq, queue.buf);
        else
                queue_post(t, &queue, 1);

        expect_freed(t, queue.srq);
}

static void grow(struct test *t, struct queue *queue)
{
        must(dat_srq_resize(queue->srq, srq_size_above(t, queue->srq, 8)));
}

static void shrink(struct test *t, struct queue *queue)
{
        queue_post(t, queue, 2);
        must(dat_srq_resize(queue->srq, 2));
}

static void refuse_size(struct test *t, struct queue *queue)
{
        queue_post(t, queue, 4);
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_resize(queue->srq, 3);
}

static void refuse_receive(struct test *t, struct queue *queue)
{
        DAT_LMR_TRIPLET segment = triplet(queue->buf, 0, MESSAGE);

        (void)t;
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_post_recv(queue->srq, -1, &segment, (DAT_DTO_COOKIE){.as_64 = 0});
}

static void ask(struct test *t, struct queue *queue)
{
        for (int i = 0; i < MANY; i++)
                srq_size(t, queue->srq);
}

/* What an SRQ has been through that no EP uses. */
static const struct past {
        const char *id;
        void (*bring)(struct test *t, struct queue *queue);
} pasts[] = {
    {"grown", grow},
    {"shrunk", shrink},
    {"resize_refused", refuse_size},
    {"post_refused", refuse_receive},
    {"queried", ask},
};

FAMILY(srq_free, after_calls, pasts)
{
        struct queue queue = queue_with(t, 8);

        row->bring(t, &queue);

        expect_freed(t, queue.srq);
}

CASE(srq_free, mark_spent)
{
        struct queue queue = queue_with(t, 8);

        must(dat_srq_set_lw(queue.srq, 8));
        drain_async_event(t);

        expect_freed(t, queue.srq);
}

CASE(srq_free, mark_event_unread)
{
        struct queue queue = queue_with(t, 8);

        must(dat_srq_set_lw(queue.srq, 8));

        expect_freed(t, queue.srq);
        drain_async_event(t);
        expect_quiet(async_evd(t));
}

/* A message that found no receive, and has none when its EP is freed. */
CASE(srq_free, message_waits)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        flow_send(&flow, 1);
        settle(t);
        release(t, flow.ep);

        expect_freed(t, queue.srq);
}

CASE(srq_free, drained)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 8);
        expect_traffic(t, &queue, &flow, 8);
        release(t, flow.ep);

        expect_freed(t, queue.srq);
}

CASE(srq_free, srq_of_other_ia)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_SRQ_HANDLE own = srq_with(t);
        DAT_SRQ_PARAM before = srq_param(t, own);

        expect_freed(t, srq_with(t, .ia = other, .pz = pz_of(t, other)));

        expect_kept(t, own, &before);
}

CASE(srq_free, ep_freed_before)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        release(t, ep);

        expect_freed(t, srq);
}

CASE(srq_free, other_eps_of_ia)
{
        DAT_SRQ_HANDLE other = srq_with(t);
        DAT_SRQ_HANDLE srq = srq_with(t);

        ep_with(t);
        ep_with(t, .srq = other);

        expect_freed(t, srq);
}

CASE(srq_free, unreaped)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_EVENT event;

        queue_post(t, &queue, 6);
        flow_deliver(t, &flow, 4);
        release(t, flow.ep);

        expect_freed(t, queue.srq);
        for (int left = 6; left > 0 && dat_is(dat_evd_dequeue(flow.evd, &event), DAT_SUCCESS);)
                left--;
        expect(dat_evd_dequeue(flow.evd, &event), DAT_QUEUE_EMPTY);
}

CASE(srq_free, messages_on_their_way)
{
        struct queue queue = queue_for(t, 8, LONG_MESSAGE, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 8);
        flow_send(&flow, 8);
        expect_messages(t, &queue, &flow, 1);
        release(t, flow.ep);

        expect_freed(t, queue.srq);
}

CASE(srq_free, armed)
{
        struct armed armed = queue_armed(t, 4, 4);

        expect_freed(t, armed.queue.srq);
}

CASE(srq_free, armed_raises_nothing)
{
        struct armed armed = queue_armed(t, 4, 4);

        release(t, armed.queue.srq);

        expect_quiet(async_evd(t));
}

/*
 * In use by an EP
 */

FAMILY(srq_free, in_use, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_SRQ_HANDLE srq = srq_with(t);

                ep_by(t, route, .srq = srq);

                EACH_REFUSAL (i)
                        expect_in_use(t, srq);
        }
}

FAMILY(srq_free, refusal_keeps_parameters, consumer_ep_states)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        ep_in(t, row->state, .srq = queue.srq);
        DAT_SRQ_PARAM before = srq_param(t, queue.srq);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        expect_kept(t, queue.srq, &before);
}

/* The peer would take a further connection for the one that is asked for: it comes before that. */
FAMILY(srq_free, refusal_keeps_buffers, consumer_ep_states)
{
        bool before = row->state == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING;
        struct queue queue = queue_with(t, 8);
        struct flow flow = {.ep = DAT_HANDLE_NULL};

        queue_post(t, &queue, 4);
        if (before)
                flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        ep_in(t, row->state, .srq = queue.srq);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        if (!before)
                flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

FAMILY(srq_free, refusal_keeps_ep_state, consumer_ep_states)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = srq);
        DAT_EP_STATE before = ep_state(t, ep);

        EACH_REFUSAL (i)
                (void)dat_srq_free(srq);

        expect_ep_state_kept(t, ep, before);
}

static const struct ep_state_row connectable[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
};

FAMILY(srq_free, refusal_keeps_ep, connectable)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .srq = queue.srq);

        queue_post(t, &queue, 4);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        struct flow flow = {
            .ep = ep,
            .evd = ep_recv_evd(t, ep),
            .end = expect_connect(ep),
            .length = MESSAGE,
        };
        expect_traffic(t, &queue, &flow, 4);
}

FAMILY(srq_free, ep_goes_on, idle_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);
                struct flow flow = {.ep = ep, .evd = ep_recv_evd(t, ep), .length = MESSAGE};

                EACH_REFUSAL (i)
                        (void)dat_srq_free(queue.srq);
                flow.end = expect_goes_on(ep, row->state);
                queue_post(t, &queue, 4);
                expect_traffic(t, &queue, &flow, 4);
        }
}

CASE(srq_free, refusal_keeps_connection)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 2);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 6);
}

CASE(srq_free, refusal_keeps_completions)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        expect_messages(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

CASE(srq_free, refusal_keeps_watermark_armed)
{
        struct armed armed = armed_with(t, 4, 4);

        EACH_REFUSAL (i)
                (void)dat_srq_free(armed.queue.srq);
        expect_quiet(async_evd(t));

        flow_deliver(t, &armed.flow, 1);
        expect_mark_event(t, &armed);
        expect_quiet(async_evd(t));
}

CASE(srq_free, refusal_raises_nothing)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        expect_quiet(flow.evd);
        expect_quiet(ep_request_evd(t, flow.ep));
        expect_quiet(ep_connect_evd(t, flow.ep));
        expect_quiet(async_evd(t));
}

/* One receive less than the mark is posted: a mark armed anew would have its event. */
CASE(srq_free, refusal_keeps_watermark_spent)
{
        struct queue queue = queue_with(t, 8);

        ep_with(t, .srq = queue.srq);
        queue_post(t, &queue, 3);
        must(dat_srq_set_lw(queue.srq, 4));
        drain_async_event(t);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);

        expect_quiet(async_evd(t));
}

CASE(srq_free, in_use_by_ep_without_evds)
{
        struct ep_creation with = {
            .ia = ia(t),
            .pz = pz(t),
            .srq = srq_with(t),
            .param.ep_attr = ep_attr_modest(ia_attr_if_told(t)),
        };
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

        if (!dat_is(ep_creation_call(&with, &ep), DAT_SUCCESS))
                end_noted(t, "no EP is made without EVDs (EP-91)");
        ep_creation_adopt(t, &with, ep);

        expect_in_use(t, with.srq);
        release(t, ep);
        expect_freed(t, with.srq);
}

CASE(srq_free, in_use_by_ep_of_other_pz)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq, .pz = pz_new(t));

        expect_in_use(t, srq);
        release(t, ep);
        expect_freed(t, srq);
}

CASE(srq_free, in_use_after_reset)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_DISCONNECTED, .srq = srq);

        must(dat_ep_reset(ep));

        expect_in_use(t, srq);
}

/* Which of two EPs, in the order of their making, is left. */
static const struct left {
        const char *id;
        bool older;
} left[] = {
    {"older", true},
    {"newer", false},
};

FAMILY(srq_free, in_use_by_one_of_two, left)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE older = ep_with(t, .srq = srq);
        DAT_EP_HANDLE newer = ep_with(t, .srq = srq);

        release(t, row->older ? newer : older);

        expect_in_use(t, srq);
}

/* Of so many EPs the first are connected, and of those the first have been disconnected. */
static const struct several {
        const char *id;
        int eps;
        int connected;
        int ended;
} several[] = {
    {"two_unconnected", 2, 0, 0}, {"two_connected", 2, 2, 0},    {"two_disconnected", 2, 2, 2},
    {"one_of_each", 3, 2, 1},     {"four_unconnected", 4, 0, 0},
};

FAMILY(srq_free, in_use_by_several, several)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE eps[4];
        struct flow flow;

        for (int i = 0; i < row->eps; i++) {
                if (i >= row->connected) {
                        eps[i] = ep_with(t, .srq = queue.srq);
                        continue;
                }
                flow = flow_open(t, &queue, DAT_HANDLE_NULL);
                if (i < row->ended)
                        flow_break(t, &flow);
                eps[i] = flow.ep;
        }
        for (int left = row->eps; left > 0; left--) {
                expect_in_use(t, queue.srq);
                release(t, eps[left - 1]);
        }
        expect_freed(t, queue.srq);
}

/*
 * What can be done after refusals
 */

static struct queue refused(struct test *t, DAT_EP_HANDLE *ep)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 3);
        *ep = ep_with(t, .srq = queue.srq);
        for (int i = 0; i < MANY; i++)
                (void)dat_srq_free(queue.srq);
        return queue;
}

CASE(srq_free, refused_takes_receives)
{
        DAT_EP_HANDLE ep;
        struct queue queue = refused(t, &ep);

        expect_room(t, &queue, srq_size(t, queue.srq) - 3);
}

CASE(srq_free, refused_is_resized)
{
        DAT_EP_HANDLE ep;
        struct queue queue = refused(t, &ep);
        DAT_COUNT more = srq_size_above(t, queue.srq, 8);

        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, more), DAT_SUCCESS);
        expect_room(t, &queue, more - 3);
}

CASE(srq_free, refused_takes_mark)
{
        DAT_EP_HANDLE ep;
        struct queue queue = refused(t, &ep);

        expect(dat_srq_set_lw(queue.srq, 5), DAT_SUCCESS);
        expect_async_event(queue.srq);
}

CASE(srq_free, refused_takes_ep)
{
        DAT_EP_HANDLE ep;
        struct queue queue = refused(t, &ep);
        DAT_EP_HANDLE more = DAT_HANDLE_NULL;
        DAT_EP_PARAM param;

        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));

        expect(dat_ep_create_with_srq(ia(t), pz(t), evd_with(t), evd_with(t),
                                      evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG), queue.srq,
                                      &param.ep_attr, &more),
               DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_EP, more);
}

/*
 * No longer in use
 */

static const struct ep_state_row freeable[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"connected", DAT_EP_STATE_CONNECTED},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
    {"disconnected", DAT_EP_STATE_DISCONNECTED},
};

FAMILY(srq_free, after_ep, freeable)
{
        struct queue queue = queue_with(t, 8);
        DAT_EP_HANDLE ep;

        queue_post(t, &queue, 4);
        ep = ep_in(t, row->state, .srq = queue.srq);
        EACH_REFUSAL (i)
                (void)dat_srq_free(queue.srq);
        release(t, ep);

        expect_freed(t, queue.srq);
}

static void change(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.recv_evd_handle = evd_with(t)};

        must(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &param));
}

static void refuse_change(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.ep_attr.max_request_dtos = -1};

        (void)t;
        (void)dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);
}

static void refuse_srq(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_PARAM param = {.srq_handle = srq_with(t)};

        EACH_REFUSAL (i)
                (void)dat_ep_modify(ep, DAT_EP_FIELD_SRQ_HANDLE, &param);
}

static void refuse_another(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_HANDLE none = DAT_HANDLE_NULL;
        DAT_EP_PARAM param;

        must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        param.ep_attr.max_request_dtos = -1;
        if (dat_is(dat_ep_create_with_srq(ia(t), pz(t), param.recv_evd_handle,
                                          param.request_evd_handle, param.connect_evd_handle,
                                          param.srq_handle, &param.ep_attr, &none),
                   DAT_SUCCESS))
                must(dat_ep_free(none));
}

/* What an EP of the SRQ has been through, before it is freed. */
static const struct ep_past {
        const char *id;
        void (*bring)(struct test *t, DAT_EP_HANDLE ep);
} ep_pasts[] = {
    {"changed", change},
    {"change_refused", refuse_change},
    {"srq_refused", refuse_srq},
    {"another_refused", refuse_another},
};

FAMILY(srq_free, after_ep_that, ep_pasts)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        row->bring(t, ep);
        expect_in_use(t, srq);
        release(t, ep);

        expect_freed(t, srq);
}

CASE(srq_free, after_both_eps)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE one = ep_with(t, .srq = srq);
        DAT_EP_HANDLE other = ep_with(t, .srq = srq);

        release(t, other);
        EACH_REFUSAL (i)
                (void)dat_srq_free(srq);
        release(t, one);

        expect_freed(t, srq);
}

CASE(srq_free, after_many_refusals)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);

        for (int i = 0; i < MANY; i++)
                expect_in_use(t, srq);
        release(t, ep);

        expect_freed(t, srq);
}

/*
 * What a destroyed SRQ leaves behind
 */

CASE(srq_free, frees_zone)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_SRQ_HANDLE srq = srq_with(t, .pz = zone);

        release(t, srq);
        disown(t, zone);

        expect(dat_pz_free(zone), DAT_SUCCESS);
}

/* The same of one that has receives, once their memory is gone too. */
CASE(srq_free, frees_zone_of_posted)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct queue queue = {
            .srq = srq_with(t, .pz = zone),
            .length = MESSAGE,
            .buf = buf_with(t, .pz = zone),
        };
        DAT_LMR_HANDLE lmr = queue.buf->lmr;

        queue_post(t, &queue, 4);
        release(t, queue.srq);
        disown(t, lmr);
        expect(dat_lmr_free(lmr), DAT_SUCCESS);
        disown(t, zone);

        expect(dat_pz_free(zone), DAT_SUCCESS);
}

CASE(srq_free, frees_memory)
{
        struct queue queue = queue_with(t, 8);
        DAT_LMR_HANDLE lmr = queue.buf->lmr;

        queue_post(t, &queue, 4);
        release(t, queue.srq);
        disown(t, lmr);

        expect(dat_lmr_free(lmr), DAT_SUCCESS);
}

/* Another SRQ uses it, and no message comes to the receives that were there. */
CASE(srq_free, keeps_memory)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        expect_freed(t, queue.srq);

        queue.srq = srq_with(t, .max_recv_dtos = 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        queue.posted &= ~UINT64_C(0xf); /* the slots of the first SRQ's receives */
        expect_traffic(t, &queue, &flow, 4);
        expect_quiet(flow.evd);
}

FAMILY(srq_free, keeps_other_srq, three_srqs)
{
        struct queue queues[3];
        DAT_SRQ_PARAM before[3];

        for (int i = 0; i < 3; i++) {
                queues[i] = queue_with(t, 8);
                queue_post(t, &queues[i], 2 + i);
                before[i] = srq_param(t, queues[i].srq);
        }

        expect_freed(t, queues[row->index].srq);

        for (int i = 0; i < 3; i++) {
                struct flow flow;

                if (i == row->index)
                        continue;
                expect_kept(t, queues[i].srq, &before[i]);
                flow = flow_open(t, &queues[i], DAT_HANDLE_NULL);
                expect_traffic(t, &queues[i], &flow, 2 + i);
        }
}

/* A thread waits for receives of another SRQ, on the EVD that the freed one's EP had too. */
CASE(srq_free, keeps_waiter)
{
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &other, DAT_HANDLE_NULL);
        DAT_EP_HANDLE ep = ep_with(t, .srq = queue.srq, .recv_evd = flow.evd);
        struct waiter *waiter;
        struct woken woken;

        queue_post(t, &queue, 4);
        queue_post(t, &other, 1);
        release(t, ep);
        waiter = wait_on_evd(t, flow.evd, DAT_TIMEOUT_INFINITE, 1);
        must_wait(waiter);
        expect_freed(t, queue.srq);
        expect_asleep(waiter);
        flow_send(&flow, 1);

        woken = expect_awake(waiter);
        expect(woken.ret, DAT_SUCCESS);
        check_message(t, &other, &flow, 1, &woken.event.event_data.dto_completion_event_data);
}

FAMILY(srq_free, keeps_other_srq_armed, three_srqs)
{
        struct armed armed[3];

        for (int i = 0; i < 3; i++)
                armed[i] = i == row->index ? queue_armed(t, 4, 4) : armed_with(t, 4, 4);

        expect_freed(t, armed[row->index].queue.srq);
        expect_quiet(async_evd(t));

        for (int i = 0; i < 3; i++) {
                if (i == row->index)
                        continue;
                flow_deliver(t, &armed[i].flow, 1);
                expect_mark_event(t, &armed[i]);
                expect_quiet(async_evd(t));
        }
}

/* As many SRQs as there can be at a time, if not too many; then one goes, and one more can come. */
CASE(srq_free, makes_room_for_another)
{
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
        DAT_SRQ_HANDLE oldest = srq_with(t);
        DAT_SRQ_HANDLE srq;
        int made = 1;

        while (made < SRQS_MOST && dat_is(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS)) {
                adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
                made++;
        }
        record(t, "%d SRQs were made", made);

        expect_freed(t, oldest);
        expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_SRQ, srq);
}

/* One after the other, more than there can be at a time where that is few enough. */
static void expect_freed_often(struct test *t)
{
        DAT_SRQ_ATTR attr = {.max_recv_dtos = 8, .max_recv_iov = 1};
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_SRQ);

        while (rounds_next(&rounds)) {
                DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

                expect(dat_srq_create(ia(t), pz(t), &attr, &srq), DAT_SUCCESS);
                expect(dat_srq_free(srq), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

CASE(srq_free, resources_return, ROUNDS_DEADLINE)
{
        expect_freed_often(t);
}

CASE(srq_free, next_srq_works, ROUNDS_DEADLINE)
{
        expect_freed_often(t);

        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_free, handle_not_reused)
{
        DAT_SRQ_HANDLE freed = srq_with(t);
        DAT_SRQ_HANDLE next;
        DAT_SRQ_PARAM param;

        release(t, freed);
        next = srq_with(t);

        expect(dat_srq_query(next, DAT_SRQ_FIELD_ALL, &param), DAT_SUCCESS);
        if (next == freed)
                note(t, "the handle of the freed SRQ is the next one's");
}

/*
 * Arguments
 */

FAMILY(srq_free, invalid_handle, invalid_handles)
{
        expect(dat_srq_free(bad_handle(t, DAT_HANDLE_TYPE_SRQ, row->how)), DAT_INVALID_HANDLE);
}

CASE(srq_free, other_kind_kept)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_srq_free(zone);

        expect(dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
}

CASE(srq_free, ep_kept)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        EACH_REFUSAL (i)
                (void)dat_srq_free(flow.ep);

        expect_eq(ep_state(t, flow.ep), DAT_EP_STATE_CONNECTED);
        expect_traffic(t, &queue, &flow, 4);
}

static DAT_RETURN free_again(void *srq)
{
        return dat_srq_free(srq);
}

static DAT_RETURN query(void *srq)
{
        DAT_SRQ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        return dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param);
}

/*
 * Calls of other threads beside it
 */

/* Frees an SRQ of this thread only; that it was made is a step. */
static DAT_RETURN free_another(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;

        (void)i;
        if (!step_worked(&it->broken, "dat_srq_create",
                         dat_srq_create(it->ia, it->pz, &it->srq_attr, &srq)))
                return DAT_SUCCESS;
        return dat_srq_free(srq);
}

static const struct srq_neighbour neighbours[] = {
    {"post", srq_beside_post},     {"query", srq_beside_query}, {"resize", srq_beside_resize},
    {"set_lw", srq_beside_set_lw}, {"reap", srq_beside_reap},   {"ep", srq_beside_ep},
};

FAMILY(srq_free, beside, neighbours, BESIDE_DEADLINE)
{
        expect_srq_beside(t, free_another, row, NULL);
}

static DAT_RETURN resize(void *srq)
{
        return dat_srq_resize(srq, 16);
}

static DAT_RETURN post_recv(void *srq)
{
        return dat_srq_post_recv(srq, 0, NULL, (DAT_DTO_COOKIE){.as_64 = 0});
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *srq);
} uses[] = {
    {"free", free_again},
    {"query", query},
    {"resize", resize},
    {"post_recv", post_recv},
};

FAMILY(srq_free, destroyed_handle, uses)
{
        expect_stale_srq(t, row->call);
}
