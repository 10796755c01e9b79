/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_modify: calls of other threads beside it. */
#include "cases/shared/beside.h"
#include "cases/ep/shared/modify_table.h"
#include "clauses/ep_modify.h"

#define TURNS 16
#define FEW   8 /* receives, and requests, that the EP was made for */

/* An Unconnected EP that threads change, and what they make beside it. */
struct shared {
        DAT_EP_HANDLE ep;
        DAT_EP_ATTR attr;
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        DAT_COUNT most;            /* receives, and requests, of an EP of the IA */
        DAT_EVD_HANDLE evds[2];    /* that are its request EVD in turn */
        DAT_EVD_HANDLE connect;    /* of another EP */
        DAT_COUNT requests[TURNS]; /* that a query told after each change of them */
        DAT_EP_PARAM seen[TURNS];  /* by queries of the other thread */
        struct broken_step broken; /* besides the change */
};

/* More with each turn, as far as the IA goes. */
static DAT_COUNT dtos(const struct shared *shared, unsigned int i)
{
        DAT_COUNT more = FEW + (DAT_COUNT)i;

        return more < shared->most ? more : shared->most;
}

/* A change, and what a query says of it while another parameter changes. */
static DAT_RETURN change_requests(void *arg, unsigned int i)
{
        struct shared *shared = arg;
        DAT_EP_PARAM param = {.ep_attr = {.max_request_dtos = dtos(shared, i)}};
        DAT_RETURN ret = dat_ep_modify(shared->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param);

        if (dat_is(ret, DAT_SUCCESS))
                step_worked(
                    &shared->broken, "dat_ep_query",
                    dat_ep_query(shared->ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &param));
        shared->requests[i] = param.ep_attr.max_request_dtos;
        return ret;
}

/* The page's call too, whose failure is no step's. */
static DAT_RETURN change_recvs(void *arg, unsigned int i)
{
        const struct shared *shared = arg;
        DAT_EP_PARAM param = {.ep_attr = {.max_recv_dtos = dtos(shared, i)}};

        return dat_ep_modify(shared->ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &param);
}

static DAT_RETURN query(void *arg, unsigned int i)
{
        struct shared *shared = arg;

        step_worked(&shared->broken, "dat_ep_query",
                    dat_ep_query(shared->ep, DAT_EP_FIELD_ALL, &shared->seen[i]));
        return DAT_SUCCESS;
}

static DAT_RETURN change_evd(void *arg, unsigned int i)
{
        const struct shared *shared = arg;
        DAT_EP_PARAM param = {.request_evd_handle = shared->evds[i % 2]};

        return dat_ep_modify(shared->ep, DAT_EP_FIELD_REQUEST_EVD_HANDLE, &param);
}

/* Of the same zone and EVD. */
static DAT_RETURN other_ep(void *arg, unsigned int i)
{
        struct shared *shared = arg;

        (void)i;
        other_ep_turn(&shared->broken, shared->ia, shared->pz, shared->evds[0], shared->connect,
                      &shared->attr);
        return DAT_SUCCESS;
}

/* Each change holds, whatever the other thread changes or looks at. */
static void check_requests(struct test *t, const struct shared *shared)
{
        for (unsigned int i = 0; i < TURNS; i++)
                expect_that(shared->requests[i] >= dtos(shared, i), "%d requests granted, %d told",
                            dtos(shared, i), shared->requests[i]);
}

static void check_both(struct test *t, const struct shared *shared)
{
        check_requests(t, shared);
        expect_that(ep_snapshot(t, shared->ep).param.ep_attr.max_recv_dtos >=
                        dtos(shared, TURNS - 1),
                    "the last change of max_recv_dtos is lost");
}

static void check_seen(struct test *t, const struct shared *shared)
{
        check_requests(t, shared);
        for (int i = 0; i < TURNS; i++)
                expect_that(shared->seen[i].ia_handle == shared->ia &&
                                shared->seen[i].pz_handle == shared->pz &&
                                shared->seen[i].ep_attr.max_request_dtos >= dtos(shared, 0) &&
                                shared->seen[i].ep_attr.max_recv_dtos >= dtos(shared, 0),
                            "query %d told what the EP never had", i);
}

/* The EP has the second one, and no EP the first. */
static void check_evds(struct test *t, const struct shared *shared)
{
        expect(dat_evd_free(shared->evds[1]), DAT_INVALID_STATE);
        disown(t, shared->evds[0]);
        expect(dat_evd_free(shared->evds[0]), DAT_SUCCESS);
}

static const struct neighbour {
        const char *id;
        DAT_RETURN (*change)(void *arg, unsigned int i);
        DAT_RETURN (*turn)(void *arg, unsigned int i);
        void (*check)(struct test *t, const struct shared *shared);
} neighbours[] = {
    {"other_parameter", change_requests, change_recvs, check_both},
    {"query", change_requests, query, check_seen},
    {"other_ep", change_evd, other_ep, check_evds},
};

FAMILY(ep_modify, beside, neighbours, BESIDE_DEADLINE)
{
        struct stress stress = stress_of(t, BESIDE_ROUNDS);

        while (stress.met < BESIDE_MET && stress_round(&stress)) {
                struct shared shared = {.attr = ep_attr_few(t),
                                        .ia = ia(t),
                                        .pz = pz(t),
                                        .most = ia_attr(t)->max_dto_per_ep,
                                        .evds = {evd_with(t), evd_with(t)},
                                        .connect = evd_with(t, .flags = DAT_EVD_CONNECTION_FLAG)};
                struct part parts[] = {{.turn = row->change, .arg = &shared},
                                       {.turn = row->turn, .arg = &shared}};

                shared.ep = ep_with(t, .attr = &shared.attr);
                stress_met(&stress, beside(t, parts, 2, TURNS));
                expect(parts[0].ret, DAT_SUCCESS);
                expect(parts[1].ret, DAT_SUCCESS);
                must_have_worked(t, &shared.broken);
                row->check(t, &shared);
                release_all(t);
        }
        must_have_met(&stress);
}
