/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_pz_create: zones that are each one's own, and what they keep from each other. */
#include "clauses/pz_create.h"
#include "case/ep_attr.h"
#include "cases/pz/shared/zone.h"

#define ZONES      50 /* at once */
#define MOST_ZONES 1024
#define MET        3 /* rounds in which their calls met are enough */
#define THREADS    3

static DAT_PZ_HANDLE create_on(struct test *t, DAT_IA_HANDLE of)
{
        DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;

        expect(dat_pz_create(of, &zone), DAT_SUCCESS);
        adopt(t, DAT_HANDLE_TYPE_PZ, zone);
        return zone;
}

static DAT_PZ_HANDLE create(struct test *t)
{
        return create_on(t, ia(t));
}

static void expect_of(struct test *t, DAT_PZ_HANDLE zone, DAT_IA_HANDLE wanted)
{
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == wanted, "the PZ is of another IA");
}

static void free_now(struct test *t, DAT_PZ_HANDLE zone)
{
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

/*
 * What is made
 */

CASE(pz_create, created)
{
        expect_of(t, create(t), ia(t));
}

CASE(pz_create, own_ia)
{
        DAT_PZ_HANDLE first = create(t);
        DAT_PZ_HANDLE foreign = create_on(t, other_ia(t));
        DAT_PZ_HANDLE last = create(t);

        expect_of(t, first, ia(t));
        expect_of(t, foreign, other_ia(t));
        expect_of(t, last, ia(t));
}

CASE(pz_create, unused)
{
        made_in(t, &zone_kinds[0], pz(t));

        free_now(t, create(t));
}

static DAT_COUNT zones_at_once(struct test *t)
{
        DAT_COUNT limit = ia_attr(t)->max_pzs;

        return limit < ZONES ? limit : ZONES;
}

CASE(pz_create, many_at_once)
{
        DAT_PZ_HANDLE zones[ZONES];
        DAT_COUNT count = zones_at_once(t);

        if (count < 2)
                end_noted(t, "max_pzs is %d", count);
        for (DAT_COUNT i = 0; i < count; i++) {
                zones[i] = create(t);
                for (DAT_COUNT j = 0; j < i; j++)
                        expect_that(zones[j] != zones[i], "two PZs have one handle");
        }
        for (DAT_COUNT i = 0; i < count; i++)
                expect_of(t, zones[i], ia(t));
        for (DAT_COUNT i = 0; i < count; i++)
                free_now(t, zones[i]);
}

/* As many as the IA says, or MOST_ZONES; only a lack of resources can stand in their way. */
CASE(pz_create, as_many_as_the_ia_has)
{
        DAT_COUNT limit = ia_attr(t)->max_pzs;
        DAT_RETURN ret = DAT_SUCCESS;
        DAT_COUNT made;

        for (made = 0; made < limit && made < MOST_ZONES; made++) {
                DAT_PZ_HANDLE zone = DAT_HANDLE_NULL;

                ret = expect(dat_pz_create(ia(t), &zone), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (!dat_is(ret, DAT_SUCCESS))
                        break;
                adopt(t, DAT_HANDLE_TYPE_PZ, zone);
        }
        if (!dat_is(ret, DAT_SUCCESS))
                resource(t, "no resources for more than %d of %d PZs", made, limit);
}

/* A refused one leaves nothing: as soon as another one is freed there is room. */
CASE(pz_create, beyond_limit)
{
        DAT_COUNT limit = ia_attr(t)->max_pzs;
        DAT_PZ_HANDLE newest = pz_new(t);
        DAT_PZ_HANDLE beyond = DAT_HANDLE_NULL;
        DAT_RETURN ret = DAT_SUCCESS;

        for (DAT_COUNT made = 1; dat_is(ret, DAT_SUCCESS); made++) {
                if (made > limit || made > MOST_ZONES)
                        end_noted(t, "more than %d PZs can be made", made - 1);
                ret =
                    expect(dat_pz_create(ia(t), &beyond), DAT_SUCCESS, DAT_INSUFFICIENT_RESOURCES);
                if (dat_is(ret, DAT_SUCCESS))
                        adopt(t, DAT_HANDLE_TYPE_PZ, newest = beyond);
        }
        for (int i = 0; i < 3; i++) {
                free_now(t, newest);
                newest = create(t);
                expect_of(t, newest, ia(t));
                ret =
                    expect(dat_pz_create(ia(t), &beyond), DAT_INSUFFICIENT_RESOURCES, DAT_SUCCESS);
                if (dat_is(ret, DAT_SUCCESS))
                        adopt(t, DAT_HANDLE_TYPE_PZ, beyond);
        }
}

FAMILY(pz_create, takes, zone_kinds)
{
        struct zone_args args = zone_args(t);
        DAT_PZ_HANDLE zones[] = {create(t), create(t)};

        for (int i = 0; i < 4; i++) {
                DAT_HANDLE user = DAT_HANDLE_NULL;

                expect(row->create(&args, zones[i % 2], &user), DAT_SUCCESS);
                adopt(t, row->type, user);
                expect_that(row->zone_of(user) == zones[i % 2], "%s %d is not in its zone", row->id,
                            i);
        }
}

/*
 * Several threads
 */

struct creation {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE zone;
};

static DAT_RETURN create_by(void *arg)
{
        struct creation *creation = arg;

        return dat_pz_create(creation->ia, &creation->zone);
}

CASE(pz_create, any_thread, DEADLINE_MS(20000))
{
        DAT_IA_HANDLE ias[] = {ia(t), other_ia(t)};
        struct stress stress = stress_of(t, 3000);

        while (stress.met < MET && stress_round(&stress)) {
                struct creation creations[THREADS];
                struct racer racers[THREADS];

                for (int i = 0; i < THREADS; i++) {
                        creations[i] = (struct creation){.ia = ias[i % 2]};
                        racers[i] = (struct racer){.call = create_by, .arg = &creations[i]};
                }
                stress_met(&stress, race(racers, THREADS));
                for (int i = 0; i < THREADS; i++) {
                        expect(racers[i].ret, DAT_SUCCESS);
                        adopt(t, DAT_HANDLE_TYPE_PZ, creations[i].zone);
                }
                expect_that(creations[0].zone != creations[2].zone, "two PZs have one handle");
                for (int i = 0; i < THREADS; i++) {
                        expect_of(t, creations[i].zone, ias[i % 2]);
                        free_now(t, creations[i].zone);
                }
        }
        must_have_met(&stress);
}

/*
 * What zones keep from each other
 */

/*
 * Which of two zones, in the order of their making, an EP is in; the other is foreign to it. A
 * provider may make both from what a freed zone left.
 */
static const struct place {
        const char *id;
        int own;
        bool after_free;
} places[] = {
    {"older", .own = 0},
    {"newer", .own = 1, .after_free = true},
};

struct pair_of_zones {
        DAT_PZ_HANDLE own, other;
};

static struct pair_of_zones two_zones(struct test *t, const struct place *place)
{
        DAT_PZ_HANDLE zones[2];

        if (place->after_free)
                free_now(t, create(t));
        zones[0] = create(t);
        zones[1] = create(t);
        return (struct pair_of_zones){.own = zones[place->own], .other = zones[!place->own]};
}

static void expect_protection_error(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event = expect_event(evd, DAT_DTO_COMPLETION_EVENT);

        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

FAMILY(pz_create, own_memory, places)
{
        struct pair_of_zones zones = two_zones(t, row);
        struct zone_path path = path_in(t, zones.own);
        struct zone_path beside = path_in(t, zones.other);

        for (int i = 0; i < 3; i++) {
                expect_carries(t, &path);
                expect_carries(t, &beside);
        }
}

FAMILY(pz_create, no_receive_into_other, places)
{
        struct pair_of_zones zones = two_zones(t, row);
        struct zone_path path = path_in(t, zones.own);
        struct buf *foreign = buf_with(t, .pz = zones.other);
        DAT_LMR_TRIPLET segment = triplet(foreign, 0, MESSAGE);
        DAT_RETURN ret;

        expect_carries(t, &path);
        ret = expect(dat_ep_post_recv(path.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 77},
                                      DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS)) {
                peer_send(path.end, .length = MESSAGE, .first = path.sent);
                expect_protection_error(t, ep_recv_evd(t, path.ep));
        } else {
                expect_carries(t, &path);
        }
        expect_that(!message_holds(foreign->addr, MESSAGE, 1), "the message is in that memory");
}

FAMILY(pz_create, no_send_from_other, places)
{
        struct pair_of_zones zones = two_zones(t, row);
        struct zone_path path = path_in(t, zones.own);
        struct buf *foreign = buf_with(t, .pz = zones.other);
        DAT_LMR_TRIPLET own = triplet(path.buf, 0, MESSAGE);
        DAT_LMR_TRIPLET segment = triplet(foreign, 0, MESSAGE);
        DAT_RETURN ret;

        peer_post_recv(path.end, 2, MESSAGE);
        message_fill(path.buf->addr, MESSAGE, 0);
        expect(dat_ep_post_send(path.ep, 1, &own, (DAT_DTO_COOKIE){.as_64 = 1},
                                DAT_COMPLETION_DEFAULT_FLAG),
               DAT_SUCCESS);
        expect_dto(ep_request_evd(t, path.ep));
        peer_wait_recv(path.end, 0, MESSAGE);

        ret = expect(dat_ep_post_send(path.ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 2},
                                      DAT_COMPLETION_DEFAULT_FLAG),
                     DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (dat_is(ret, DAT_SUCCESS))
                expect_protection_error(t, ep_request_evd(t, path.ep));
}

/* An EP of this zone that lets its peer read, connected. */
static struct peer_ep *read_by_peer(struct test *t, DAT_PZ_HANDLE zone)
{
        DAT_EP_ATTR attr = ep_attr_modest(ia_attr_if_told(t));

        if (ia_attr(t)->max_rdma_read_per_ep_in < 1)
                unsupported(t, "max_rdma_read_per_ep_in = 0");
        attr.max_rdma_read_in = 1;
        peer_reads(peer(t), 1);
        return must_connect(ep_with(t, .pz = zone, .attr = &attr));
}

static bool readable(struct peer_ep *end, const struct buf *buf)
{
        message_fill(buf->addr, MESSAGE, 0);
        return peer_read(end, buf->rmr_context, (DAT_VADDR)(uintptr_t)buf->addr, MESSAGE);
}

FAMILY(pz_create, no_remote_read_of_other, places)
{
        struct pair_of_zones zones = two_zones(t, row);
        struct buf *foreign = buf_with(t, .pz = zones.other);
        struct buf *own = buf_with(t, .pz = zones.own);
        struct peer_ep *end = read_by_peer(t, zones.own);

        expect_that(readable(end, own), "memory of the EP's zone was not read");
        expect_that(!readable(end, foreign), "memory of another zone was read");
}

/* A post is refused, or its bind fails; neither opens the memory. */
FAMILY(pz_create, no_bind_of_other, places)
{
        struct pair_of_zones zones = two_zones(t, row);
        struct zone_args args = zone_args(t);
        struct buf *buf = buf_with(t, .pz = zones.other);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, MESSAGE);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_EP_HANDLE ep = ep_with(t, .pz = zones.own, .request_evd = evd);
        DAT_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_RETURN ret;
        DAT_EVENT event;

        must_connect(ep);
        must(rmr_create_in(&args, zones.other, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        ret = expect(dat_rmr_bind(rmr, &segment, DAT_MEM_PRIV_REMOTE_READ_FLAG, ep,
                                  (DAT_RMR_COOKIE){.as_64 = 7}, DAT_COMPLETION_DEFAULT_FLAG,
                                  &context),
                     DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        event = expect_event(evd, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_that(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS,
                    "an RMR of another zone was bound");
}

LEGAL(pz_create)
{
        call->ia_handle = ia(t);
}
