/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_pz_free: when it is refused, and what stays after it. */
#include "clauses/pz_free.h"
#include "case/standard.h"
#include "cases/ep/shared/endpoint.h"
#include "cases/pz/shared/zone.h"
#include "cases/shared/handles.h"
#include "cases/shared/refusals.h"
#include "cases/shared/rmr.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"

#define MANY  100 /* refusals */
#define ZONES 20  /* at once */
#define MIXED 3   /* an EP, an LMR and an RMR */

static void free_now(struct test *t, DAT_PZ_HANDLE zone)
{
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

/* The zone is refused for its user; true where it is, as one with an SRQ need not be (PZ-1). */
static bool is_refused(struct test *t, const struct zone_kind *kind, DAT_PZ_HANDLE zone)
{
        if (kind->type != DAT_HANDLE_TYPE_SRQ) {
                EACH_REFUSAL (i)
                        expect(dat_pz_free(zone), DAT_INVALID_STATE);
                return true;
        }
        if (dat_is(expect_or_note(dat_pz_free(zone), DAT_INVALID_STATE, DAT_SUCCESS),
                   DAT_INVALID_STATE))
                return true;
        disown(t, zone);
        return false;
}

static void expect_there(struct test *t, DAT_PZ_HANDLE zone)
{
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the PZ is of another IA");
}

/*
 * Nothing in the way
 */

CASE(pz_free, unused)
{
        free_now(t, pz_new(t));
}

FAMILY(pz_free, was_used, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        release(t, made_in(t, row, zone));

        free_now(t, zone);
}

FAMILY(pz_free, users_elsewhere, zone_kinds)
{
        DAT_PZ_HANDLE older = pz_new(t);
        DAT_PZ_HANDLE other = pz_new(t);
        DAT_PZ_HANDLE newer = pz_new(t);
        DAT_HANDLE user = made_in(t, row, other);

        free_now(t, older);
        free_now(t, newer);

        expect_there(t, other);
        expect_that(row->zone_of(user) == other, "the %s is in its zone no more", row->id);
}

CASE(pz_free, ep_moved_out)
{
        DAT_PZ_HANDLE from = pz_new(t);
        DAT_PZ_HANDLE to = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = from);
        DAT_EP_PARAM param = {.pz_handle = to};

        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));

        expect(dat_pz_free(to), DAT_INVALID_STATE);
        free_now(t, from);
        expect_that(zone_of_ep(ep) == to, "the EP is not in the zone that it was moved to");
}

/* The SRQ, which the EP uses, is in another zone, so that the EP alone uses this one. */
CASE(pz_free, ep_beside_its_srq)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zone, .srq = srq_with(t));

        EACH_REFUSAL (i)
                expect(dat_pz_free(zone), DAT_INVALID_STATE);
        expect_that(zone_of_ep(ep) == zone, "the EP is in its zone no more");

        release(t, ep);
        free_now(t, zone);
}

CASE(pz_free, user_refused)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct zone_args args = zone_args(t);
        DAT_HANDLE user = DAT_HANDLE_NULL;

        args.recv_evd = zone;
        must_that(!dat_is(ep_create_in(&args, zone, &user), DAT_SUCCESS),
                  "an EP was made with a PZ for an EVD");

        free_now(t, zone);
}

static DAT_RETURN lmr_over(const struct zone_args *args, DAT_HANDLE lmr, DAT_PZ_HANDLE zone,
                           DAT_HANDLE *made)
{
        DAT_REGION_DESCRIPTION region = {.for_lmr_handle = lmr};
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
        DAT_VLEN length;
        DAT_VADDR address;

        return dat_lmr_create(args->ia, DAT_MEM_TYPE_LMR, region, MESSAGE, zone,
                              DAT_MEM_PRIV_ALL_FLAG, made, &lmr_context, &rmr_context, &length,
                              &address);
}

/* An LMR over another one is in its own zone, and not in that of the other one. */
CASE(pz_free, lmr_over_other_zone)
{
        struct zone_args args = zone_args(t);
        DAT_PZ_HANDLE below = pz_new(t);
        DAT_PZ_HANDLE over = pz_new(t);
        DAT_LMR_HANDLE source = made_in(t, &zone_kinds[1], below);
        DAT_LMR_HANDLE made = DAT_HANDLE_NULL;

        must(lmr_over(&args, source, over, &made));
        adopt(t, DAT_HANDLE_TYPE_LMR, made);

        expect(dat_pz_free(below), DAT_INVALID_STATE);
        expect(dat_pz_free(over), DAT_INVALID_STATE);
        release(t, source);
        free_now(t, below);
        expect(dat_pz_free(over), DAT_INVALID_STATE);
        expect_that(zone_of_lmr(made) == over, "the LMR is in its zone no more");
        release(t, made);
        free_now(t, over);
}

/* An LMR over what is none, and an SRQ of less than nothing. */
static DAT_RETURN lmr_over_zone(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        return lmr_over(args, zone, zone, made);
}

static DAT_RETURN negative_srq(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made)
{
        DAT_SRQ_ATTR attr = args->srq_attr;

        attr.max_recv_dtos = -1;
        return dat_srq_create(args->ia, zone, &attr, made);
}

static const struct refused {
        const char *id;
        DAT_RETURN (*create)(const struct zone_args *args, DAT_PZ_HANDLE zone, DAT_HANDLE *made);
} refused[] = {
    {"lmr", lmr_over_zone},
    {"srq", negative_srq},
};

FAMILY(pz_free, other_user_refused, refused)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct zone_args args = zone_args(t);
        DAT_HANDLE user = DAT_HANDLE_NULL;

        for (int i = 0; i < 3; i++)
                must_that(!dat_is(row->create(&args, zone, &user), DAT_SUCCESS),
                          "what cannot be was made");

        free_now(t, zone);
}

CASE(pz_free, of_other_ia)
{
        DAT_PZ_HANDLE here = pz_new(t);
        DAT_PZ_HANDLE there = pz_of(t, other_ia(t));
        DAT_HANDLE user = made_in(t, &zone_kinds[0], here);

        free_now(t, there);

        expect_there(t, here);
        expect_that(zone_of_ep(user) == here, "the EP is in its zone no more");
        expect(dat_pz_free(here), DAT_INVALID_STATE);
}

CASE(pz_free, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_PZ);

        while (rounds_next(&rounds)) {
                DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;

                expect(dat_pz_create(ia(t), &zone), DAT_SUCCESS);
                expect(dat_pz_free(zone), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
}

CASE(pz_free, many_in_any_order)
{
        DAT_PZ_HANDLE zones[ZONES];
        DAT_COUNT count = cap_at_limit(t, ZONES, DAT_HANDLE_TYPE_PZ, 1);

        for (int i = 0; i < count; i++)
                zones[i] = pz_new(t);
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                free_now(t, zones[which]);
                zones[which] = zones[left - 1];
                for (int i = 0; i < left - 1; i++)
                        expect_there(t, zones[i]);
        }
}

/* Which of two zones goes. */
static const struct place {
        const char *id;
        int gone;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

FAMILY(pz_free, other_carries, places)
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        struct zone_path path = path_in(t, zones[!row->gone]);

        expect_carries(t, &path);
        free_now(t, zones[row->gone]);
        expect_carries(t, &path);
        expect(dat_pz_free(zones[!row->gone]), DAT_INVALID_STATE);
        expect_carries(t, &path);
}

/*
 * In use
 */

FAMILY(pz_free, in_use, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_HANDLE user = made_in(t, row, zone);

        if (is_refused(t, row, zone))
                return;
        disown(t, user);
        expect(dat_srq_free(user), DAT_SUCCESS);
}

FAMILY(pz_free, refusal_keeps, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_HANDLE user = made_in(t, row, zone);
        struct zone_args args = zone_args(t);
        DAT_HANDLE second = DAT_HANDLE_NULL;

        if (!is_refused(t, row, zone))
                return;

        expect_there(t, zone);
        expect_that(row->zone_of(user) == zone, "the %s is in the zone no more", row->id);
        expect(row->create(&args, zone, &second), DAT_SUCCESS);
        adopt(t, row->type, second);
        expect_that(row->zone_of(second) == zone, "the new %s is not in the zone", row->id);
}

FAMILY(pz_free, freed_after_user, zone_kinds)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_HANDLE user = made_in(t, row, zone);

        for (int i = 0; i < MANY; i++)
                if (!is_refused(t, row, zone))
                        return;
        release(t, user);

        free_now(t, zone);
}

FAMILY(pz_free, one_of_two_left, zone_kinds)
{
        for (int left = 0; left < 2; left++) {
                DAT_PZ_HANDLE zone = pz_new(t);
                DAT_HANDLE users[2];

                for (int i = 0; i < 2; i++)
                        users[i] = made_in(t, row, zone);
                release(t, users[!left]);
                if (!is_refused(t, row, zone))
                        return;
                release(t, users[left]);
                free_now(t, zone);
        }
}

/* In each order. */
CASE(pz_free, kinds_mixed)
{
        static const int orders[][MIXED] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

        for (size_t order = 0; order < sizeof(orders) / sizeof(orders[0]); order++) {
                DAT_PZ_HANDLE zone = pz_new(t);
                DAT_HANDLE users[MIXED] = {made_in(t, &zone_kinds[0], zone),
                                           made_in(t, &zone_kinds[1], zone), rmr_if_any(t, zone)};

                must_that(users[2] == DAT_HANDLE_NULL || zone_of_rmr(users[2]) == zone,
                          "the RMR is not in the zone");
                for (int i = 0; i < MIXED; i++) {
                        DAT_HANDLE user = users[orders[order][i]];

                        if (user == DAT_HANDLE_NULL)
                                continue;
                        expect(dat_pz_free(zone), DAT_INVALID_STATE);
                        release(t, user);
                }
                free_now(t, zone);
        }
}

FAMILY(pz_free, in_use_in_state, consumer_ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_PZ_HANDLE zone = pz_new(t);
                DAT_EP_HANDLE ep = ep_by(t, route, .pz = zone);

                EACH_REFUSAL (i)
                        expect(dat_pz_free(zone), DAT_INVALID_STATE);
                expect_ep_state_kept(t, ep, row->state);
                expect_that(zone_of_ep(ep) == zone, "the EP is in the zone no more");
        }
}

/* The Provider's EP, which was in no zone before. */
CASE(pz_free, in_use_by_tentative_ep)
{
        DAT_PZ_HANDLE zones[] = {pz_new(t), pz_new(t)};
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);

        for (int i = 0; i < 2; i++) {
                DAT_EP_PARAM param = {.pz_handle = zones[i]};

                must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &param));
                EACH_REFUSAL (j)
                        expect(dat_pz_free(zones[i]), DAT_INVALID_STATE);
        }
        free_now(t, zones[0]);
        expect_that(zone_of_ep(ep) == zones[1], "the EP is in the zone no more");
        expect_ep_state_kept(t, ep, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
}

CASE(pz_free, refusal_keeps_traffic)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct zone_path path = path_in(t, zone);
        DAT_LMR_TRIPLET segment = triplet(path.buf, MESSAGE, MESSAGE);

        must(dat_ep_post_recv(path.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 77},
                              DAT_COMPLETION_DEFAULT_FLAG));
        EACH_REFUSAL (i)
                expect(dat_pz_free(zone), DAT_INVALID_STATE);

        peer_send(path.end, .length = MESSAGE);
        expect_eq(expect_dto(ep_recv_evd(t, path.ep)).user_cookie.as_64, 77);
        expect_that(message_holds(path.buf->addr + MESSAGE, MESSAGE, 0),
                    "the memory has not the message");
        expect_carries(t, &path);
}

/*
 * The handle afterwards
 */

/* What the calls below take besides the zone. */
static struct {
        struct zone_args args;
        DAT_EP_HANDLE ep;
        DAT_SRQ_HANDLE srq;
} beside;

static DAT_RETURN query(void *zone)
{
        DAT_PZ_PARAM param;

        return dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param);
}

static DAT_RETURN ep_create(void *zone)
{
        DAT_HANDLE made;

        return ep_create_in(&beside.args, zone, &made);
}

static DAT_RETURN ep_create_with_srq(void *zone)
{
        const struct zone_args *args = &beside.args;
        DAT_EP_HANDLE made;

        return dat_ep_create_with_srq(args->ia, zone, args->recv_evd, args->request_evd,
                                      args->connect_evd, beside.srq, &args->ep_attr, &made);
}

static DAT_RETURN ep_modify(void *zone)
{
        DAT_EP_PARAM param = {.pz_handle = zone};

        return dat_ep_modify(beside.ep, DAT_EP_FIELD_PZ_HANDLE, &param);
}

static DAT_RETURN lmr_create(void *zone)
{
        DAT_HANDLE made;

        return lmr_create_in(&beside.args, zone, &made);
}

static DAT_RETURN rmr_create(void *zone)
{
        DAT_HANDLE made;

        return rmr_create_in(&beside.args, zone, &made);
}

static DAT_RETURN srq_create(void *zone)
{
        DAT_HANDLE made;

        return srq_create_in(&beside.args, zone, &made);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *zone);
} uses[] = {
    {"query", query},
    {"ep_create", ep_create},
    {"ep_create_with_srq", ep_create_with_srq},
    {"ep_modify", ep_modify},
    {"lmr_create", lmr_create},
    {"rmr_create", rmr_create},
    {"srq_create", srq_create},
};

FAMILY(pz_free, handle_afterwards, uses)
{
        beside.args = zone_args(t);
        beside.ep = ep_with(t);
        if (row->call == ep_create_with_srq)
                beside.srq = srq_with(t);

        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_PZ),
                     bad_handle(t, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_DESTROYED));
}

CASE(pz_free, second_free)
{
        DAT_PZ_HANDLE other = pz_new(t);
        DAT_PZ_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_PZ, BAD_HANDLE_DESTROYED);
        DAT_RETURN ret;

        if (subprocess_call(t, dat_pz_free, gone, &ret))
                record(t, "a second free of a PZ returned %s", name_of_return(ret));
        free_now(t, other);
}

/*
 * Arguments
 */

FAMILY(pz_free, invalid_handle, invalid_handles)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        expect(dat_pz_free(bad_handle(t, DAT_HANDLE_TYPE_PZ, row->how)), DAT_INVALID_HANDLE);
        free_now(t, zone);
}

CASE(pz_free, other_kind_kept)
{
        DAT_EVD_HANDLE evd = evd_with(t);
        DAT_EVD_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_pz_free(evd);

        expect(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the EVD is of another IA");
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"pz", SIBLING_PZ},
    {"cno", SIBLING_CNO},
};

FAMILY(pz_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_PZ, row);
}
