/* SPDX-License-Identifier: BSD-2-Clause */
#include "cases/srq/shared/neighbours.h"
#include "case/ep_attr.h"
#include "case/limits.h"

#include <sched.h>
#include <string.h>

#define LOOKS  1000                             /* for a completion */
#define POSTED ((UINT64_C(1) << SRQ_TURNS) - 1) /* slots of a round's receives */

static struct srq_beside srq_beside_with(struct test *t)
{
        struct srq_beside it = {
            .queue = queue_with(t, SRQ_LEAST),
            .ia = ia(t),
            .pz = pz(t),
            .srq_attr = {.max_recv_dtos = 4,
                         .max_recv_iov = 1,
                         .low_watermark = DAT_SRQ_LW_DEFAULT},
            .ep_attr = ep_attr_modest(ia_attr_if_told(t)),
            .evds = {evd_with(t), evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG)},
        };

        if (limit_or_none(max_recv_per_srq) < SRQ_MOST)
                unsupported(t, "max_recv_per_srq: fewer than the case resizes to");
        it.flow = flow_open(t, &it.queue, DAT_HANDLE_NULL);
        return it;
}

DAT_RETURN srq_beside_post(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_LMR_TRIPLET segment = triplet(it->queue.buf, i * MESSAGE, MESSAGE);
        DAT_RETURN ret =
            dat_srq_post_recv(it->queue.srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i});

        step_worked(&it->broken, "dat_srq_post_recv", ret);
        return ret;
}

DAT_RETURN srq_beside_query(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_RETURN ret = dat_srq_query(it->queue.srq, DAT_SRQ_FIELD_ALL, &it->params[i]);

        step_worked(&it->broken, "dat_srq_query", ret);
        return ret;
}

DAT_COUNT srq_beside_size(unsigned int i)
{
        return i % 2 ? SRQ_MOST : SRQ_LEAST;
}

DAT_RETURN srq_beside_resize(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_SRQ_PARAM param = {.max_recv_dtos = 0};
        DAT_RETURN ret = dat_srq_resize(it->queue.srq, srq_beside_size(i));

        if (step_worked(&it->broken, "dat_srq_resize", ret))
                step_worked(&it->broken, "dat_srq_query",
                            dat_srq_query(it->queue.srq, DAT_SRQ_FIELD_MAX_RECV_DTO, &param));
        it->sizes[i] = param.max_recv_dtos;
        return ret;
}

/* No mark raises an event by this. */
DAT_RETURN srq_beside_set_lw(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_RETURN ret = dat_srq_set_lw(it->queue.srq, DAT_SRQ_LW_DEFAULT);

        (void)i;
        step_worked(&it->broken, "dat_srq_set_lw", ret);
        return ret;
}

/* Its message was sent, and acknowledged: its completion is there, or comes in a moment. */
DAT_RETURN srq_beside_reap(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_RETURN ret = dat_evd_dequeue(it->flow.evd, &it->events[i]);

        for (unsigned int looks = 1; dat_is(ret, DAT_QUEUE_EMPTY) && looks < LOOKS; looks++) {
                sched_yield();
                ret = dat_evd_dequeue(it->flow.evd, &it->events[i]);
        }
        step_worked(&it->broken, "dat_evd_dequeue", ret);
        return ret;
}

DAT_RETURN srq_beside_other_srq(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_srq_create(it->ia, it->pz, &it->srq_attr, &srq);

        (void)i;
        if (step_worked(&it->broken, "dat_srq_create", ret)) {
                ret = dat_srq_free(srq);
                step_worked(&it->broken, "dat_srq_free", ret);
        }
        return ret;
}

DAT_RETURN srq_beside_ep(void *arg, unsigned int i)
{
        struct srq_beside *it = arg;
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_RETURN ret = dat_ep_create_with_srq(it->ia, it->pz, it->flow.evd, it->evds[0],
                                                it->evds[1], it->queue.srq, &it->ep_attr, &ep);

        (void)i;
        if (step_worked(&it->broken, "dat_ep_create_with_srq", ret)) {
                ret = dat_ep_free(ep);
                step_worked(&it->broken, "dat_ep_free", ret);
        }
        return ret;
}

/* What is to be reaped has come before, to slots behind those of the round's receives. */
static void ready(struct test *t, struct srq_beside *it, bool posts, bool reaps)
{
        memset(it->params, 0xa5, sizeof(it->params));
        memset(it->events, 0xa5, sizeof(it->events));
        it->queue.posted = posts ? POSTED : 0;
        if (reaps) {
                queue_post(t, &it->queue, SRQ_TURNS);
                flow_send(&it->flow, SRQ_TURNS);
                peer_wait_sent(it->flow.end);
        }
        if (!posts)
                queue_post(t, &it->queue, SRQ_TURNS);
}

static bool take_round(struct test *t, struct srq_beside *it,
                       DAT_RETURN (*turn)(void *arg, unsigned int i),
                       const struct srq_neighbour *row)
{
        bool reaps = row->turn == srq_beside_reap;
        struct part parts[] = {{.turn = turn, .arg = it}, {.turn = row->turn, .arg = it}};
        bool met;

        ready(t, it, turn == srq_beside_post || row->turn == srq_beside_post, reaps);
        met = beside(t, parts, 2, SRQ_TURNS);
        expect(parts[0].ret, DAT_SUCCESS);
        must_have_worked(t, &it->broken);
        it->ahead = turn == srq_beside_query && !reaps ? taken_ahead(t, &it->flow, 1) : 0;
        for (int i = 0; reaps && i < SRQ_TURNS; i++)
                check_message(t, &it->queue, &it->flow, 1,
                              &it->events[i].event_data.dto_completion_event_data);
        expect_traffic(t, &it->queue, &it->flow, SRQ_TURNS);
        return met;
}

void expect_srq_beside(struct test *t, DAT_RETURN (*turn)(void *arg, unsigned int i),
                       const struct srq_neighbour *row,
                       void (*check)(struct test *t, const struct srq_beside *it,
                                     const struct srq_neighbour *row))
{
        struct srq_beside it = srq_beside_with(t);
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                stress_met(&stress, take_round(t, &it, turn, row));
                if (check)
                        check(t, &it, row);
        }
        expect_room(t, &it.queue, srq_size(t, it.queue.srq));
        must_have_met(&stress);
}
