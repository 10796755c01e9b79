/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query: calls of other threads beside it. */
#include "cases/shared/beside.h"
#include "cases/ep/ep_recv_query/fixtures.h"
#include "clauses/ep_recv_query.h"

#define TURNS 16

/* An Unconnected EP, what its queries told, and what other turns make beside it. */
struct asked {
        struct own own;
        DAT_EP_ATTR attr;
        DAT_EVD_HANDLE connect; /* of another EP */
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        struct info told[TURNS];
        struct broken_step broken; /* of the neighbour */
        DAT_SRQ_HANDLE srq;        /* that the EP receives from; or null */
};

static DAT_RETURN query(void *arg, unsigned int i)
{
        struct asked *asked = arg;

        return dat_ep_recv_query(asked->own.ep, &asked->told[i].count, &asked->told[i].span);
}

static DAT_RETURN post(void *arg, unsigned int i)
{
        struct asked *asked = arg;
        DAT_LMR_TRIPLET segment = triplet(asked->own.buf, i * MESSAGE, MESSAGE);
        DAT_RETURN ret = dat_ep_post_recv(asked->own.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i},
                                          DAT_COMPLETION_DEFAULT_FLAG);

        step_worked(&asked->broken, "dat_ep_post_recv", ret);
        return ret;
}

static DAT_RETURN post_srq(void *arg, unsigned int i)
{
        struct asked *asked = arg;
        DAT_LMR_TRIPLET segment = triplet(asked->own.buf, i * MESSAGE, MESSAGE);
        DAT_RETURN ret = dat_srq_post_recv(asked->srq, 1, &segment, (DAT_DTO_COOKIE){.as_64 = i});

        step_worked(&asked->broken, "dat_srq_post_recv", ret);
        return ret;
}

static DAT_RETURN other_ep(void *arg, unsigned int i)
{
        struct asked *asked = arg;

        (void)i;
        return other_ep_turn(&asked->broken, asked->ia, asked->pz, asked->own.evd, asked->connect,
                             &asked->attr);
}

static const struct neighbour {
        const char *id;
        DAT_RETURN (*turn)(void *arg, unsigned int i);
} neighbours[] = {
    {"post", post},
    {"other_ep", other_ep},
};

/* No query tells fewer receives than the one before it, nor more than are posted in all. */
static void check_told(struct test *t, const struct asked *asked, DAT_COUNT posted)
{
        DAT_COUNT least = posted;

        for (int i = 0; i < TURNS; i++) {
                DAT_COUNT count = asked->told[i].count;

                if (count == DAT_VALUE_UNKNOWN)
                        continue;
                expect_that(count >= least && count <= TURNS, "query %d told %d, after %d", i,
                            count, least);
                least = count;
        }
        for (int i = 0; posted && i < TURNS; i++)
                expect_idle_span(t, asked->told[i].span, posted);
}

/* The EP is Unconnected, and holds none of the receives that another thread posts to its SRQ. */
CASE(ep_recv_query, beside_srq_post, BESIDE_DEADLINE)
{
        struct stress stress = stress_of(t, BESIDE_ROUNDS);
        struct asked asked = {.own.buf = buf_with(t, .length = TURNS * MESSAGE)};

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct part parts[] = {{.turn = query, .arg = &asked},
                                       {.turn = post_srq, .arg = &asked}};

                asked.srq = srq_with(t, .max_recv_dtos = TURNS);
                asked.own.ep = ep_with(t, .srq = asked.srq);
                stress_met(&stress, beside(t, parts, 2, TURNS));
                expect(parts[0].ret, DAT_SUCCESS);
                must_have_worked(t, &asked.broken);
                for (int i = 0; i < TURNS; i++) {
                        expect_count(t, asked.told[i].count, 0);
                        expect_count(t, asked.told[i].span, 0);
                }
                release(t, asked.own.ep);
                release(t, asked.srq);
        }
        must_have_met(&stress);
}

FAMILY(ep_recv_query, beside, neighbours, BESIDE_DEADLINE)
{
        struct stress stress = stress_of(t, BESIDE_ROUNDS);
        struct asked asked = {
            .attr = ep_attr_of(t, 1),
            .connect = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG),
            .ia = ia(t),
            .pz = pz(t),
        };

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct part parts[] = {{.turn = query, .arg = &asked},
                                       {.turn = row->turn, .arg = &asked}};
                int posted = row->turn == post ? 0 : TURNS;

                asked.own = own_with(t, posted);
                stress_met(&stress, beside(t, parts, 2, TURNS));
                expect(parts[0].ret, DAT_SUCCESS);
                must_have_worked(t, &asked.broken);
                check_told(t, &asked, posted);
                expect_count(t, recv_info(t, asked.own.ep).count, TURNS);
                release(t, asked.own.ep);
                release(t, asked.own.evd);
        }
        must_have_met(&stress);
}
