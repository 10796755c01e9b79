/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_srq_post_recv: threads and the number of receives. */
#include "case/limits.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/ep/shared/segment.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/srq/shared/queue.h"
#include "cases/srq/srq_post_recv/fixtures.h"
#include "clauses/srq_post_recv.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define POSTERS          3     /* threads that post at once */
#define SHARE            3     /* receives that each of them posts */
#define MOST_PLACES      65536 /* receives that a case can post */
#define BEYOND           8     /* more than there is room for */
#define SERVED           512   /* messages that a case sends to a queue, at most */
#define EACH_TIME        16    /* of these, that are under way at once */
#define MORE_THAN_A_BYTE 300
#define UNREAPED         3 /* completions that stand while more is posted */

/*
 * Threads
 */

/* The receives that a thread posts, beside others: on so many slots from `first` on. */
struct share {
        const struct queue *queue;
        size_t first;
};

/* The first call that failed, or success. Between calls others get the processor, be it the only
 * one. */
static DAT_RETURN post_share(void *arg)
{
        const struct share *share = arg;
        DAT_RETURN ret = DAT_SUCCESS;

        for (size_t i = 0; i < SHARE && dat_is(ret, DAT_SUCCESS); i++) {
                size_t slot = share->first + i;
                DAT_LMR_TRIPLET segment = triplet(share->queue->buf, slot * MESSAGE, MESSAGE);

                ret = dat_srq_post_recv(share->queue->srq, 1, &segment,
                                        (DAT_DTO_COOKIE){.as_64 = slot});
                sched_yield();
        }
        return ret;
}

CASE(srq_post_recv, from_threads_at_once, DEADLINE_MS(20000))
{
        struct queue queue = queue_with(t, POSTERS * SHARE);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        struct stress stress = stress_of(t, 30);

        while (stress_round(&stress)) {
                struct share shares[POSTERS];
                struct racer racers[POSTERS];

                for (size_t i = 0; i < POSTERS; i++) {
                        shares[i] = (struct share){.queue = &queue, .first = i * SHARE};
                        racers[i] = (struct racer){.call = post_share, .arg = &shares[i]};
                }
                stress_met(&stress, race(racers, POSTERS));
                for (size_t i = 0; i < POSTERS; i++)
                        expect(racers[i].ret, DAT_SUCCESS);
                queue.posted = (UINT64_C(1) << (POSTERS * SHARE)) - 1;
                expect_traffic(t, &queue, &flow, POSTERS * SHARE);
        }
        expect_room(t, &queue, srq_size(t, queue.srq));
        must_have_met(&stress);
}

/*
 * How many
 */

/* Receives on each place of an SRQ, however many these are, with a slot of memory each. */
struct crowd {
        struct queue queue;
        DAT_COUNT size;   /* that dat_srq_query tells */
        DAT_COUNT posted; /* slots that receives were posted on */
        bool *came;       /* by slot: whether it came back */
};

static struct crowd crowd_for(struct test *t, DAT_SRQ_HANDLE srq)
{
        struct crowd crowd = {.queue = {.srq = srq, .length = MESSAGE}, .size = srq_size(t, srq)};

        if (crowd.size > MOST_PLACES)
                unsupported(t, "max_recv_dtos: more places than the case can fill");
        crowd.queue.buf = buf_with(t, .length = ((size_t)crowd.size + BEYOND) * MESSAGE);
        crowd.came = calloc(((size_t)crowd.size + BEYOND), sizeof(*crowd.came));
        if (!crowd.came)
                resource(t, "no memory for %d slots", crowd.size);
        return crowd;
}

static DAT_RETURN crowd_post(struct crowd *crowd)
{
        DAT_LMR_TRIPLET segment =
            triplet(crowd->queue.buf, (size_t)crowd->posted * MESSAGE, MESSAGE);
        DAT_DTO_COOKIE cookie = {.as_64 = (DAT_UINT64)crowd->posted};
        DAT_RETURN ret = dat_srq_post_recv(crowd->queue.srq, 1, &segment, cookie);

        if (dat_is(ret, DAT_SUCCESS))
                crowd->posted++;
        return ret;
}

static struct crowd full(struct test *t, DAT_COUNT asked)
{
        struct crowd crowd = crowd_for(t, srq_with(t, .max_recv_dtos = asked));

        while (crowd.posted < crowd.size)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        return crowd;
}

/* Full, and beyond: until a receive is refused, or some more were taken. */
static struct crowd over_full(struct test *t)
{
        struct crowd crowd = full(t, 8);

        while (crowd.posted < crowd.size + BEYOND)
                if (!dat_is(expect(crowd_post(&crowd), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                            DAT_SUCCESS))
                        return crowd;
        note(t, "%d receives were taken, on a queue of %d", crowd.posted, crowd.size);
        return crowd;
}

/* The next message of a flow has come to a receive of its own. */
static void expect_crowd_served_next(struct test *t, struct crowd *crowd, struct flow *flow)
{
        DAT_DTO_COMPLETION_EVENT_DATA dto = expect_dto(flow->evd);
        uint64_t slot = dto.user_cookie.as_64;

        expect_that(slot < (uint64_t)crowd->posted && !crowd->came[slot],
                    "cookie %#llx, which is not posted or came back before",
                    (unsigned long long)slot);
        expect_that(message_holds(crowd->queue.buf->addr + slot * MESSAGE, MESSAGE, flow->received),
                    "receive %llu does not hold message %llu", (unsigned long long)slot,
                    (unsigned long long)flow->received);
        crowd->came[slot] = true;
        flow->received++;
}

/* So many messages of a flow come; few are there at a time. */
static void expect_crowd_serves(struct test *t, struct crowd *crowd, struct flow *flow,
                                DAT_COUNT count)
{
        for (DAT_COUNT i = 0; i < count; i++) {
                if (i % EACH_TIME == 0)
                        flow_send(flow, count - i < EACH_TIME ? count - i : EACH_TIME);
                expect_crowd_served_next(t, crowd, flow);
        }
}

/* As many of its receives as a case has time for serve a message; of a usual queue that is all. */
static void expect_crowd_served(struct test *t, struct crowd *crowd)
{
        struct flow flow = flow_open(t, &crowd->queue, DAT_HANDLE_NULL);

        expect_crowd_serves(t, crowd, &flow, crowd->posted < SERVED ? crowd->posted : SERVED);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, whole_queue)
{
        DAT_COUNT most = limit_or_none(max_recv_per_srq);
        struct crowd crowd = full(t, most < MORE_THAN_A_BYTE ? most : MORE_THAN_A_BYTE);

        expect_crowd_served(t, &crowd);
}

/* What stands unreaped has its places, and all others can be used. */
CASE(srq_post_recv, whole_queue_unreaped)
{
        struct crowd crowd = crowd_for(t, srq_with(t));
        struct flow flow = flow_open(t, &crowd.queue, DAT_HANDLE_NULL);

        while (crowd.posted < UNREAPED)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        flow_deliver(t, &flow, UNREAPED);
        while (crowd.posted < crowd.size)
                expect(crowd_post(&crowd), DAT_SUCCESS);
        if (dat_is(expect(crowd_post(&crowd), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES),
                   DAT_SUCCESS))
                note(t, "a queue of %d took one more beside %d unreaped", crowd.size, UNREAPED);

        for (int i = 0; i < UNREAPED; i++)
                expect_crowd_served_next(t, &crowd, &flow);
        expect_crowd_serves(t, &crowd, &flow,
                            crowd.posted < SERVED ? crowd.posted - UNREAPED : SERVED);
        expect_quiet(flow.evd);
}

CASE(srq_post_recv, too_many)
{
        over_full(t);
}

CASE(srq_post_recv, too_many_not_counted)
{
        struct crowd crowd = over_full(t);
        DAT_SRQ_PARAM param = srq_param(t, crowd.queue.srq);

        expect_count(t, param.outstanding_dto_count, crowd.posted);
        expect_count(t, param.available_dto_count, crowd.posted);
}

CASE(srq_post_recv, too_many_keeps_others)
{
        struct crowd crowd = over_full(t);

        expect_crowd_served(t, &crowd);
}

CASE(srq_post_recv, room_after_reaping)
{
        struct crowd crowd = over_full(t);
        struct flow flow = flow_open(t, &crowd.queue, DAT_HANDLE_NULL);

        expect_crowd_serves(t, &crowd, &flow, 3);

        expect_room(t, &crowd.queue, 3);
}

/* Their events go with the EP, or stay until they are reaped. */
CASE(srq_post_recv, room_after_ep_freed)
{
        struct queue queue = queue_with(t, 8);
        struct flow flow = flow_open(t, &queue, DAT_HANDLE_NULL);
        DAT_COUNT size = srq_size(t, queue.srq);

        expect_posts(t, &queue, 4);
        flow_deliver(t, &flow, 4);
        flow_break(t, &flow);
        release(t, flow.ep);
        settle(t);
        drain_evd(t, flow.evd);

        expect_room(t, &queue, size);
}
