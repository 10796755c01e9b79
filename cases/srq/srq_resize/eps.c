/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_resize: messages in flight and the EPs of the SRQ. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/modify_table.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_resize/fixtures.h"
#include "clauses/srq_resize.h"

/*
 * Messages on their way
 */

#define BATCH 12             /* messages that one flow is sent at a time */
#define LEFT  6              /* of them, when the next flow is sent its own */
#define LEAST (LEFT + BATCH) /* the smallest size that holds them */
#define MOST  (LEAST + 24)
#define TURNS 20

static DAT_COUNT size_at(struct test *t, const struct traffic *row, int step)
{
        DAT_COUNT limit = limit_or_none(max_recv_per_srq);
        DAT_COUNT most = limit < MOST ? limit : MOST;

        if (row->how == ALTERNATING)
                return step % 2 ? most : LEAST;
        if (step > most - LEAST)
                step = most - LEAST;
        return row->how == GROWING ? LEAST + step : most - step;
}

/* The flow whose EVD is looked at next: in turn, one that has messages to come. */
static struct flow *flow_due(struct flow *flows, const struct traffic *row, int step)
{
        if (row->one_evd)
                return flows;
        while (pending(&flows[step % row->eps]) == 0)
                step++;
        return &flows[step % row->eps];
}

/* Where messages are told of late, they are seldom met: the turns end, and so the case takes long.
 */
FAMILY(srq_resize, no_message_lost, traffic, DEADLINE_MS(20000))
{
        struct queue queue = queue_for(t, LEAST, LONG_MESSAGE, LEAST);
        DAT_EVD_HANDLE evd = row->one_evd ? evd_with(t) : DAT_HANDLE_NULL;
        struct flow flows[3] = {{.ep = DAT_HANDLE_NULL}};
        DAT_DTO_COMPLETION_EVENT_DATA dto;
        int silent = 0;
        int met = 0;
        int step = 0;

        for (int i = 0; i < row->eps; i++)
                flows[i] = flow_open(t, &queue, evd);

        for (int turn = 0; turn < TURNS && (turn < 3 + row->eps || met < ENOUGH); turn++) {
                queue_post(t, &queue, BATCH);
                flow_send_soon(&flows[turn % row->eps], BATCH);
                for (int left = __builtin_popcountll(queue.posted); left > LEFT;) {
                        struct flow *flow = flow_due(flows, row, step);
                        int due = row->one_evd ? left : pending(flow);

                        expect(dat_srq_resize(queue.srq, size_at(t, row, step++)), DAT_SUCCESS);
                        if (reap_message(t, flow->evd, due, &met, &dto)) {
                                check_message(t, &queue, flows, row->eps, &dto);
                                left--;
                                silent = 0;
                        }
                        expect_that(silent++ < MOMENTS, "message %llu has not come",
                                    (unsigned long long)flow->received);
                }
        }
        while (queue.posted) {
                dto = expect_dto(flow_due(flows, row, 0)->evd);
                check_message(t, &queue, flows, row->eps, &dto);
        }
        if (met < ENOUGH)
                note(t, "only %d of %d resizes met messages on their way: they are reported late",
                     met, step);
        record(t, "%d of %d resizes met messages on their way", met, step);
        expect_quiet(flows[0].evd);
}

/*
 * The endpoints of the SRQ
 */

FAMILY(srq_resize, while_ep, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);
                struct ep_snapshot before = ep_look(t, ep);

                queue_post(t, &queue, 4);
                expect_granted(t, queue.srq, 4);

                expect_ep_kept(t, ep, &before, 0);
                expect_traffic(t, &queue, &flow, 4);
        }
}

/* The EP was made for a smaller queue, and takes all that the grown one holds. */
FAMILY(srq_resize, ep_goes_on, idle_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct queue queue = queue_with(t, 4);
                DAT_EP_HANDLE ep = ep_by(t, route, .srq = queue.srq);
                struct flow flow = {.ep = ep, .evd = ep_recv_evd(t, ep), .length = MESSAGE};
                DAT_COUNT places;

                expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 12)), DAT_SUCCESS);
                flow.end = expect_goes_on(ep, row->state);
                places = queue_places(t, &queue);
                queue_post(t, &queue, places);
                expect_traffic(t, &queue, &flow, places);
        }
}

CASE(srq_resize, unconnected_ep)
{
        struct queue queue = queue_with(t, 8);

        ep_with(t, .srq = queue.srq);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
}

/* Whichever way it was connected. */
CASE(srq_resize, connected_ep)
{
        EACH_EP_ROUTE (route, DAT_EP_STATE_CONNECTED) {
                struct queue queue = queue_with(t, 8);
                struct flow flow = flow_by(t, &queue, route);

                expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
                expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);

                queue_post(t, &queue, 1);
                expect_available(t, srq_param(t, queue.srq).available_dto_count, &flow, 1, 1);
                expect_traffic(t, &queue, &flow, 1);
        }
}

/* What was made for four messages holds the rest, from the first to the last. */
CASE(srq_resize, connected_ep_fills)
{
        struct queue queue = queue_with(t, 4);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT places;

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 12)), DAT_SUCCESS);

        places = queue_places(t, &queue);
        queue_post(t, &queue, places);
        expect_traffic(t, &queue, &flow, places);
}

CASE(srq_resize, disconnected_ep)
{
        struct queue queue = queue_with(t, 8);
        struct flow gone = flow_open(t, &queue, DAT_HANDLE_NULL);

        queue_post(t, &queue, 4);
        flow_break(t, &gone);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        expect_traffic(t, &queue, &flow, 4);
}

/* One of them connected, one not yet, one not any more, and one that is freed. */
CASE(srq_resize, eps_of_all_kinds)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow gone = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow freed = flow_open(t, &queue, DAT_HANDLE_NULL);

        ep_with(t, .srq = queue.srq);
        flow_break(t, &gone);
        flow_break(t, &freed);
        release(t, freed.ep);
        queue_post(t, &queue, 4);

        expect(dat_srq_resize(queue.srq, srq_size_above(t, queue.srq, 8)), DAT_SUCCESS);
        expect_traffic(t, &queue, &flow, 1);
        expect(dat_srq_resize(queue.srq, 3), DAT_SUCCESS);
        expect_traffic(t, &queue, &flow, 3);
}

#define LOOKS 30 /* quiet periods in which a message that waits comes */

/* Whether the message that found no receive has waited for the one that was posted since. */
static bool has_waited(struct test *t, const struct flow *flow)
{
        DAT_RETURN ret = DAT_QUEUE_EMPTY;
        DAT_EVENT event;

        for (int look = 0; look < LOOKS && dat_is(ret, DAT_QUEUE_EMPTY); look++) {
                ret = dat_evd_dequeue(flow->evd, &event);
                if (dat_is(ret, DAT_QUEUE_EMPTY))
                        settle(t);
        }
        return dat_is(ret, DAT_SUCCESS) && event.event_number == DAT_DTO_COMPLETION_EVENT &&
               event.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS;
}

/* Of two queues without a receive, one is resized; by the other, whether messages wait for one. */
FAMILY(srq_resize, keeps_waiting_message, changes)
{
        struct queue queue = queue_with(t, 8);
        struct queue other = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct flow beside = flow_open(t, &other, DAT_HANDLE_NULL);

        flow_send(&flow, 1);
        flow_send(&beside, 1);
        settle(t);
        expect(resize(t, queue.srq, row, 1), DAT_SUCCESS);

        queue_post(t, &queue, 1);
        queue_post(t, &other, 1);
        if (!has_waited(t, &beside))
                end_noted(t, "a message that finds no receive is lost, with no resize either");
        expect_messages(t, &queue, &flow, 1);
}

/* With receives on it that no EP can take any more. */
CASE(srq_resize, freed_after)
{
        struct queue queue = queue_with(t, 8);

        queue_post(t, &queue, 4);
        for (int i = 0; i < MANY; i++)
                must(dat_srq_resize(queue.srq, i % 2 ? 4 : srq_size_above(t, queue.srq, 8)));

        expect(dat_srq_free(queue.srq), DAT_SUCCESS);
        disown(t, queue.srq);
}

FAMILY(srq_resize, later_ep, changes)
{
        struct queue queue = queue_with(t, 16);

        must(resize(t, queue.srq, row, 4));

        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        queue_post(t, &queue, 4);
        expect_traffic(t, &queue, &flow, 4);
}

CASE(srq_resize, repeated)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);

        DAT_COUNT more = srq_size_above(t, queue.srq, 32);

        queue_post(t, &queue, 4);
        for (int i = 0; i < MANY; i++) {
                expect(dat_srq_resize(queue.srq, more), DAT_SUCCESS);
                expect(dat_srq_resize(queue.srq, 4), DAT_SUCCESS);
        }

        expect_traffic(t, &queue, &flow, 4);
}
