/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_lmr_free: when it is refused, what is freed with an LMR, and what stays. */
#include "clauses/lmr_free.h"
#include "case/standard.h"
#include "cases/lmr/shared/region.h"
#include "cases/shared/handles.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"
#include "cases/shared/under_way.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MANY   50 /* refusals */
#define LMRS   20 /* at once */
#define WINDOW ((size_t)1000)
#define BURST  8 /* RDMA under way */

#define USE_COUNT (sizeof(uses) / sizeof(uses[0]))

static void free_now(struct test *t, const struct region *region)
{
        expect(dat_lmr_free(region->lmr), DAT_SUCCESS);
        disown(t, region->lmr);
}

static struct bound opened(struct test *t, const struct wire *wire, const struct region *region)
{
        return must_open(t, wire, region, window_of(region, 7, WINDOW), REMOTE_READ | REMOTE_WRITE);
}

static void free_rmr(struct test *t, DAT_RMR_HANDLE rmr)
{
        must(dat_rmr_free(rmr));
        disown(t, rmr);
}

/*
 * Nothing in the way
 */

FAMILY(lmr_free, unused, types)
{
        struct region_opts opts = {.length = REGION_PAGE};
        struct region region = region_make(t, of_type(t, row, opts));

        free_now(t, &region);
}

FAMILY(lmr_free, was_used, types)
{
        struct wire wire = wire_in(t, pz(t));
        struct region_opts opts = {.length = REGION_PAGE};
        struct region region = region_make(t, of_type(t, row, opts));

        expect_used(t, &wire, &region);
        free_now(t, &region);
}

/* How an RMR comes to be bound to an LMR no more. */
static void rmr_freed(struct test *t, const struct wire *wire, const struct region *region)
{
        free_rmr(t, opened(t, wire, region).rmr);
}

static void must_bind_again(struct test *t, const struct wire *wire, DAT_RMR_HANDLE rmr,
                            DAT_LMR_TRIPLET segment)
{
        DAT_RMR_CONTEXT context;
        DAT_EVENT event;

        must(dat_rmr_bind(rmr, &segment, REMOTE_READ, wire->here, (DAT_RMR_COOKIE){.as_64 = 8},
                          DAT_COMPLETION_DEFAULT_FLAG, &context));
        event = must_event(ep_request_evd(t, wire->here), DAT_RMR_BIND_COMPLETION_EVENT);
        must_that(event.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS,
                  "the RMR was not bound");
}

static void bound_elsewhere(struct test *t, const struct wire *wire, const struct region *region)
{
        struct bound bound = opened(t, wire, region);

        must_bind_again(t, wire, bound.rmr, triplet(wire->near, 0, WINDOW));
}

static DAT_LMR_TRIPLET segment_of(const struct region *region, size_t length)
{
        return (DAT_LMR_TRIPLET){
            .lmr_context = region->lmr_context,
            .virtual_address = (DAT_VADDR)(uintptr_t)region->addr,
            .segment_length = length,
        };
}

static void unbound(struct test *t, const struct wire *wire, const struct region *region)
{
        struct bound bound = opened(t, wire, region);

        must_bind_again(t, wire, bound.rmr, segment_of(region, 0));
}

static void never_bound(struct test *t, const struct wire *wire, const struct region *region)
{
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

        (void)wire;
        must(dat_rmr_create(region_param(t, region->lmr).pz_handle, &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
}

/* To more than the LMR: by the return, or by the event (GEN-9). */
static void bind_refused(struct test *t, const struct wire *wire, const struct region *region)
{
        struct bound bound;
        DAT_EVENT event;

        if (!dat_is(window_open(t, wire, region, window_of(region, 1, region->length), REMOTE_READ,
                                &bound),
                    DAT_SUCCESS))
                return;
        event = must_event(ep_request_evd(t, wire->here), DAT_RMR_BIND_COMPLETION_EVENT);
        must_that(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS,
                  "an RMR was bound to more than the LMR");
}

static const struct parting {
        const char *id;
        void (*part)(struct test *t, const struct wire *wire, const struct region *region);
} partings[] = {
    {"rmr_freed", rmr_freed},     {"bound_elsewhere", bound_elsewhere}, {"unbound", unbound},
    {"never_bound", never_bound}, {"bind_refused", bind_refused},
};

FAMILY(lmr_free, bound_no_more, partings)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);

        row->part(t, &wire, &region);
        free_now(t, &region);
}

/* Whether an LMR has a context of the one that it is over, so that uses of both are alike. */
static bool shares_context(const struct region *over, const struct region *below)
{
        return below &&
               (over->lmr_context == below->lmr_context || over->rmr_context == below->rmr_context);
}

#define CONTEXT_SHARED "the LMR has a context of the one that it is over"

/* The RMR is bound to an LMR over this one, and this one may go. */
CASE(lmr_free, rmr_of_lmr_over_it)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region below = region_with(t);
        struct region over = region_with(t, .type = DAT_MEM_TYPE_LMR, .of = &below);
        struct bound bound;

        if (shares_context(&over, &below))
                end_noted(t, CONTEXT_SHARED);
        bound = opened(t, &wire, &over);
        free_now(t, &below);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, WINDOW);
        expect(dat_lmr_free(over.lmr), DAT_INVALID_STATE);
        expect_used(t, &wire, &over);
}

CASE(lmr_free, rmr_of_same_memory)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region first = region_with(t);
        struct region region = region_with(t, .addr = first.addr);
        struct region last = region_with(t, .addr = first.addr);
        struct bound bound = opened(t, &wire, &region);

        free_now(t, &first);
        free_now(t, &last);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, WINDOW);
        expect_used(t, &wire, &region);
}

/* Which of two LMRs goes. */
static const struct place {
        const char *id;
        int gone;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

FAMILY(lmr_free, other_stays, places)
{
        struct wire wire = wire_in(t, pz(t));
        struct region regions[2] = {region_with(t), region_with(t)};

        free_now(t, &regions[row->gone]);
        expect_used(t, &wire, &regions[!row->gone]);
}

FAMILY(lmr_free, overlapping_stays, places)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, 3 * REGION_PAGE);
        struct region regions[2];

        for (size_t i = 0; i < 2; i++)
                regions[i] =
                    region_with(t, .addr = memory + i * REGION_PAGE, .length = 2 * REGION_PAGE);
        free_now(t, &regions[row->gone]);
        expect_used(t, &wire, &regions[!row->gone]);
}

/* LMRs over one another: how many there are, what the last one is over, and which one goes. */
static const struct pile {
        const char *id;
        int regions;
        int below_last;
        int gone;
} piles[] = {
    {"older", 2, 0, 0},        {"newer", 2, 0, 1},  {"older_of_two", 3, 0, 1},
    {"newer_of_two", 3, 0, 2}, {"middle", 3, 1, 1},
};

FAMILY(lmr_free, lmr_of_lmr_stays, piles)
{
        struct wire wire = wire_in(t, pz(t));
        struct region regions[3] = {region_with(t)};
        int last = row->regions - 1;

        for (int i = 1; i < row->regions; i++)
                regions[i] = region_with(t, .type = DAT_MEM_TYPE_LMR,
                                         .of = &regions[i < last ? i - 1 : row->below_last]);
        free_now(t, &regions[row->gone]);
        for (int i = 0; i < row->regions; i++) {
                if (i != row->gone)
                        expect_used(t, &wire, &regions[i]);
        }
        for (int i = 0; i < row->regions; i++) {
                if (i != row->gone)
                        free_now(t, &regions[i]);
        }
}

CASE(lmr_free, of_other_ia)
{
        struct wire wire = wire_in(t, pz(t));
        struct region here = region_with(t);
        struct region there = region_with(t, .ia = other_ia(t), .pz = pz_of(t, other_ia(t)));

        free_now(t, &there);
        expect_used(t, &wire, &here);
        free_now(t, &here);
}

CASE(lmr_free, often, ROUNDS_DEADLINE)
{
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_LMR);

        while (rounds_next(&rounds)) {
                struct region region;

                expect(region_create(t, (struct region_opts){.addr = memory}, &region),
                       DAT_SUCCESS);
                free_now(t, &region);
        }
        expect_no_leak(&rounds);
}

CASE(lmr_free, many_in_any_order)
{
        struct wire wire = wire_in(t, pz(t));
        unsigned char *memory = memory_private(t, LMRS * MESSAGE);
        struct region regions[LMRS];

        for (size_t i = 0; i < LMRS; i++)
                regions[i] = region_with(t, .addr = memory + i * MESSAGE, .length = MESSAGE);
        for (size_t left = LMRS; left > 1; left--) {
                size_t which = draw(t, left);

                free_now(t, &regions[which]);
                regions[which] = regions[left - 1];
                expect_moves(t, &wire, &regions[draw(t, left - 1)], left % 2 ? USE_SEND : USE_RECV,
                             0, MESSAGE);
        }
}

FAMILY(lmr_free, zone_free_afterwards, types)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        struct region other = region_with(t, .pz = zone);
        struct region region = region_with(t, .type = row->type, .pz = zone, .of = &other);

        free_now(t, &other);
        expect(dat_pz_free(zone), DAT_INVALID_STATE);
        free_now(t, &region);
        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

/*
 * In use
 */

static const struct use_by_rmr {
        const char *id;
        DAT_MEM_PRIV_FLAGS privileges;
        ptrdiff_t offset;
        size_t length;
} uses_by_rmr[] = {
    {"to_read", REMOTE_READ, 0, REGION_PAGE},
    {"to_write", REMOTE_WRITE, 0, REGION_PAGE},
    {"both", REMOTE_READ | REMOTE_WRITE, 0, REGION_PAGE},
    {"last_byte", REMOTE_READ, REGION_PAGE - 1, 1},
    {"to_nobody", DAT_MEM_PRIV_NONE_FLAG, 0, REGION_PAGE},
};

FAMILY(lmr_free, in_use, uses_by_rmr)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);

        struct bound bound = must_open(
            t, &wire, &region, window_of(&region, row->offset, row->length), row->privileges);

        expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        free_rmr(t, bound.rmr);
        free_now(t, &region);
}

/* The types of memory besides the consumer's own; one over another may share its contexts. */
static const struct type_row other_types[] = {
    {"of_lmr", DAT_MEM_TYPE_LMR},
    {"shared", DAT_MEM_TYPE_SHARED_VIRTUAL},
};

FAMILY(lmr_free, in_use_of_type, other_types)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region_opts opts = of_type(t, row, (struct region_opts){.length = REGION_PAGE});
        struct region region = region_make(t, opts);
        struct bound bound;

        if (shares_context(&region, opts.of))
                end_noted(t, CONTEXT_SHARED);
        bound = opened(t, &wire, &region);
        expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, WINDOW);
        free_rmr(t, bound.rmr);
        free_now(t, &region);
}

/* Of an RMR that was bound before. */
static const struct arrival {
        const char *id;
        bool elsewhere; /* to another LMR; else to this one */
} arrivals[] = {
    {"from_other_lmr", .elsewhere = true},
    {"again", .elsewhere = false},
};

FAMILY(lmr_free, in_use_anew, arrivals)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct region other = region_with(t);
        struct bound bound = opened(t, &wire, row->elsewhere ? &other : &region);

        must_bind_again(t, &wire, bound.rmr, segment_of(&region, WINDOW));
        expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        free_now(t, &other);
        free_rmr(t, bound.rmr);
        free_now(t, &region);
}

CASE(lmr_free, refusal_keeps)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct bound bound = opened(t, &wire, &region);
        DAT_LMR_PARAM before = region_param(t, region.lmr);
        DAT_LMR_PARAM after;
        struct bound second;

        for (int i = 0; i < MANY; i++)
                expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);

        after = region_param(t, region.lmr);
        expect_eq(after.lmr_context, before.lmr_context);
        expect_eq(after.rmr_context, before.rmr_context);
        expect_eq(after.mem_priv, before.mem_priv);
        expect_eq(after.registered_size, before.registered_size);
        expect_used(t, &wire, &region);
        expect_moves(t, &wire, &bound.window, USE_REMOTE_SET, 0, WINDOW);
        expect(
            window_open(t, &wire, &region, window_of(&region, 1, MESSAGE), REMOTE_WRITE, &second),
            DAT_SUCCESS);
        expect_event(ep_request_evd(t, wire.here), DAT_RMR_BIND_COMPLETION_EVENT);
        expect_moves(t, &wire, &second.window, USE_REMOTE_SET, 0, MESSAGE);
}

CASE(lmr_free, freed_after_rmr)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct bound bound = opened(t, &wire, &region);

        for (int i = 0; i < MANY; i++)
                expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        free_rmr(t, bound.rmr);

        free_now(t, &region);
}

FAMILY(lmr_free, one_of_two_left, places)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct bound bounds[2] = {opened(t, &wire, &region), opened(t, &wire, &region)};

        free_rmr(t, bounds[row->gone].rmr);
        expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        expect_moves(t, &wire, &bounds[!row->gone].window, USE_REMOTE_SET, 0, WINDOW);
        free_rmr(t, bounds[!row->gone].rmr);
        free_now(t, &region);
}

/* How one of two RMRs leaves the LMR, without being freed. */
static const struct departure {
        const char *id;
        int gone;
        bool elsewhere; /* bound to another LMR; else to none */
} departures[] = {
    {"older_unbound", 0, .elsewhere = false},
    {"newer_unbound", 1, .elsewhere = false},
    {"older_bound_elsewhere", 0, .elsewhere = true},
    {"newer_bound_elsewhere", 1, .elsewhere = true},
};

FAMILY(lmr_free, one_of_two_departed, departures)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        struct bound bounds[2] = {opened(t, &wire, &region), opened(t, &wire, &region)};

        must_bind_again(t, &wire, bounds[row->gone].rmr,
                        row->elsewhere ? triplet(wire.near, 0, WINDOW) : segment_of(&region, 0));
        expect(dat_lmr_free(region.lmr), DAT_INVALID_STATE);
        expect_moves(t, &wire, &bounds[!row->gone].window, USE_REMOTE_SET, 0, WINDOW);
        must_bind_again(t, &wire, bounds[!row->gone].rmr, segment_of(&region, 0));
        free_now(t, &region);
}

/*
 * The memory
 */

CASE(lmr_free, memory_stays)
{
        struct wire wire = wire_in(t, pz(t));
        struct region region = region_with(t, .length = 2 * REGION_PAGE);
        struct region again;

        message_fill(region.addr, region.length, 6);
        free_now(t, &region);

        expect_that(message_holds(region.addr, region.length, 6), "the memory was changed");
        expect(region_create(t, (struct region_opts){.addr = region.addr, .length = region.length},
                             &again),
               DAT_SUCCESS);
        expect_that(message_holds(region.addr, region.length, 6), "the memory was changed");
        expect_used(t, &wire, &again);
}

/* The kilobytes of the process that are locked, as the kernel tells it. */
static long locked(struct test *t)
{
        FILE *status = fopen("/proc/self/status", "re");
        char line[128];
        long kilobytes = -1;

        while (status && fgets(line, sizeof(line), status))
                if (strncmp(line, "VmLck:", 6) == 0)
                        kilobytes = strtol(line + 6, NULL, 10);
        if (status)
                (void)fclose(status);
        suite_that(kilobytes >= 0, "the kernel does not tell what is locked");
        return kilobytes;
}

CASE(lmr_free, stays_pinned)
{
        unsigned char *memory = memory_private(t, 4 * REGION_PAGE);
        struct region region;
        long before;

        if (mlock(memory, 4 * REGION_PAGE) != 0)
                resource(t, "memory cannot be locked");
        before = locked(t);
        suite_that(before >= 16, "memory that was locked is not");
        region = region_with(t, .addr = memory, .length = 4 * REGION_PAGE);
        free_now(t, &region);
        expect_eq(locked(t), before);
}

/*
 * The handle afterwards
 */

static DAT_RETURN query(void *lmr)
{
        DAT_LMR_PARAM param;

        return dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param);
}

/* What the call below takes besides the LMR. */
static struct {
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE zone;
} beside;

static DAT_RETURN lmr_create(void *lmr)
{
        DAT_REGION_DESCRIPTION description = {.for_lmr_handle = lmr};
        struct region made;

        return dat_lmr_create(beside.ia, DAT_MEM_TYPE_LMR, description, REGION_PAGE, beside.zone,
                              DAT_MEM_PRIV_ALL_FLAG, &made.lmr, &made.lmr_context,
                              &made.rmr_context, &made.registered_size, &made.registered_address);
}

static const struct handle_use {
        const char *id;
        DAT_RETURN (*call)(void *lmr);
} handle_uses[] = {
    {"query", query},
    {"lmr_create", lmr_create},
};

FAMILY(lmr_free, handle_afterwards, handle_uses)
{
        beside.ia = ia(t);
        beside.zone = pz(t);

        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_LMR),
                     bad_handle(t, DAT_HANDLE_TYPE_LMR, BAD_HANDLE_DESTROYED));
}

CASE(lmr_free, second_free)
{
        struct region other = region_with(t);
        DAT_LMR_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_LMR, BAD_HANDLE_DESTROYED);
        DAT_RETURN ret;

        if (subprocess_call(t, dat_lmr_free, gone, &ret))
                record(t, "a second free of an LMR returned %s", name_of_return(ret));
        free_now(t, &other);
}

/*
 * Its contexts afterwards
 */

/* The rows of `uses` that are of the LMR's own side, and those of the other's. */
static const struct use_row {
        const char *id;
        const struct use *use;
} local_uses[] = {
    {"send", USE_SEND},
    {"recv", USE_RECV},
    {"rdma_write_from", USE_WRITE},
    {"rdma_read_into", USE_READ},
};
static const struct use_row remote_uses[] = {
    {"write", USE_REMOTE_SET},
    {"read", USE_REMOTE_READ},
};

FAMILY(lmr_free, context_afterwards, local_uses)
{
        struct wire wire;
        struct region region;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        region = region_with(t);
        expect_moves(t, &wire, &region, row->use, 0, region.length);
        free_now(t, &region);

        expect_refused_use(t, &wire, &region, row->use, 0, region.length);
}

CASE(lmr_free, no_bind_afterwards)
{
        struct wire wire = wire_for_binds(t, pz(t));
        struct region region = region_with(t);
        DAT_LMR_TRIPLET segment = {.lmr_context = region.lmr_context,
                                   .virtual_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = WINDOW};
        DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;
        DAT_RMR_CONTEXT context;
        DAT_RETURN ret;
        DAT_EVENT event;

        must(dat_rmr_create(pz(t), &rmr));
        adopt(t, DAT_HANDLE_TYPE_RMR, rmr);
        free_now(t, &region);
        ret =
            expect(dat_rmr_bind(rmr, &segment, REMOTE_READ, wire.here, (DAT_RMR_COOKIE){.as_64 = 9},
                                DAT_COMPLETION_DEFAULT_FLAG, &context),
                   DAT_PRIVILEGES_VIOLATION, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER,
                   DAT_INVALID_HANDLE, DAT_SUCCESS);
        if (!dat_is(ret, DAT_SUCCESS))
                return;
        event = expect_event(ep_request_evd(t, wire.here), DAT_RMR_BIND_COMPLETION_EVENT);
        expect_that(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS,
                    "an RMR was bound to an LMR that is gone");
}

/* The message of a receive that was posted before comes when the LMR is gone. */
CASE(lmr_free, while_posted)
{
        struct wire wire = wire_in(t, pz(t));
        struct region region = region_with(t);
        DAT_LMR_TRIPLET segment = {.lmr_context = region.lmr_context,
                                   .virtual_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = MESSAGE};
        DAT_LMR_TRIPLET far = triplet(wire.far, 0, MESSAGE);
        DAT_EVENT event;

        message_fill(region.addr, MESSAGE, 1);
        message_fill(wire.far->addr, MESSAGE, 2);
        must(dat_ep_post_recv(wire.here, 1, &segment, COOKIE(3), DAT_COMPLETION_DEFAULT_FLAG));
        free_now(t, &region);
        must(dat_ep_post_send(wire.there, 1, &far, COOKIE(4), DAT_COMPLETION_DEFAULT_FLAG));

        event = expect_event(ep_recv_evd(t, wire.here), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
        expect_that(message_holds(region.addr, MESSAGE, 1), "the memory was written");
}

/* The same of a receive on an SRQ. */
CASE(lmr_free, while_posted_to_srq)
{
        DAT_SRQ_HANDLE srq = srq_with(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = srq);
        struct peer_ep *end = peer_connect(peer(t), ep);
        struct region region = region_with(t);
        DAT_LMR_TRIPLET segment = segment_of(&region, MESSAGE);
        DAT_EVENT event;

        message_fill(region.addr, MESSAGE, 1);
        must(dat_srq_post_recv(srq, 1, &segment, COOKIE(3)));
        free_now(t, &region);
        peer_send(end, .length = MESSAGE, .first = 2);

        event = expect_event(ep_recv_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 3);
        expect_eq(event.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION);
        expect_that(message_holds(region.addr, MESSAGE, 1), "the memory was written");
}

/* In each way that the IA has, by a connection of its own. */
FAMILY(lmr_free, context_of_type_afterwards, other_types)
{
        bool reads = ia_attr(t)->max_rdma_read_per_ep_out > 0;
        struct region_opts opts = of_type(t, row, (struct region_opts){.length = REGION_PAGE});
        struct region region = region_make(t, opts);
        struct wire wires[USE_COUNT];

        if (shares_context(&region, opts.of))
                end_noted(t, CONTEXT_SHARED);
        for (size_t i = 0; i < USE_COUNT; i++) {
                if (uses[i].way == WAY_RDMA_READ && !reads)
                        continue;
                wires[i] = wire_in(t, pz(t));
                expect_moves(t, &wires[i], &region, &uses[i], 0, region.length);
        }
        free_now(t, &region);

        for (size_t i = 0; i < USE_COUNT; i++)
                if (uses[i].way != WAY_RDMA_READ || reads)
                        expect_refused_use(t, &wires[i], &region, &uses[i], 0, region.length);
}

FAMILY(lmr_free, remote_afterwards, remote_uses)
{
        struct wire wire;
        struct wire beside_it;
        struct region region;
        struct region other;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        beside_it = wire_in(t, pz(t));
        region = region_with(t);
        other = region_with(t);
        expect_moves(t, &wire, &region, row->use, 0, region.length);
        free_now(t, &region);

        if (expect_refused_use(t, &wire, &region, row->use, 0, region.length)) {
                expect_connection_gone(t, wire.there);
                expect_connection_gone(t, wire.here);
        }
        expect_used(t, &beside_it, &other);
}

/* The contexts are the freed LMR's, though another one covers the memory. */
static const struct use_row uses_of_covered[] = {
    {"send", USE_SEND},
    {"recv", USE_RECV},
    {"rdma_write_from", USE_WRITE},
    {"rdma_read_into", USE_READ},
    {"remote_write", USE_REMOTE_SET},
    {"remote_read", USE_REMOTE_READ},
};

FAMILY(lmr_free, covered_by_another, uses_of_covered)
{
        unsigned char *memory = memory_private(t, REGION_PAGE);
        struct wire wire;
        struct wire beside_it;
        struct region region;
        struct region other;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        beside_it = wire_in(t, pz(t));
        region = region_with(t, .addr = memory, .length = REGION_PAGE);
        other = region_with(t, .addr = memory, .length = REGION_PAGE);
        if (row->use->remote ? region.rmr_context == other.rmr_context
                             : region.lmr_context == other.lmr_context)
                end_noted(t, "both LMRs have one context, which is that of a living one");
        expect_moves(t, &wire, &region, row->use, 0, region.length);
        free_now(t, &region);

        expect_refused_use(t, &wire, &region, row->use, 0, region.length);
        expect_used(t, &beside_it, &other);
}

CASE(lmr_free, by_peer_afterwards)
{
        struct region region = region_with(t);
        DAT_VADDR address = (DAT_VADDR)(uintptr_t)region.addr;
        DAT_EP_ATTR attr = transfer_attr(t, (struct transfer_opts){.reads = 1});
        struct peer_ep *end;
        DAT_EP_HANDLE ep;

        use_supported(t, USE_REMOTE_READ);
        peer_reads(peer(t), 1);
        ep = ep_with(t, .attr = &attr);
        end = must_connect(ep);
        message_fill(region.addr, region.length, 0);
        expect_that(peer_read(end, region.rmr_context, address, region.length),
                    "the peer could not read the memory");
        free_now(t, &region);
        expect_that(!peer_read(end, region.rmr_context, address, region.length),
                    "the peer read memory of an LMR that is gone");
        expect_connection_gone(t, ep);
}

/* RDMA that is under way when the LMR goes: each comes to an end, well or as the page says. */
FAMILY(lmr_free, under_way, remote_uses)
{
        bool reads = row->use == USE_REMOTE_READ;
        struct wire wire;
        struct region region;
        DAT_LMR_TRIPLET far;
        DAT_RMR_TRIPLET remote;
        struct under_way requests;
        int failed = 0;
        bool held;

        use_supported(t, row->use);
        wire = wire_in(t, pz(t));
        region = region_with(t, .length = REGION_MOST);
        far = triplet(wire.far, 0, REGION_MOST);
        remote = (DAT_RMR_TRIPLET){.rmr_context = region.rmr_context,
                                   .target_address = (DAT_VADDR)(uintptr_t)region.addr,
                                   .segment_length = REGION_MOST};
        held = under_way_hold(t, wire.there, wire.far);
        for (int i = 0; i < BURST; i++)
                must(reads ? dat_ep_post_rdma_read(wire.there, 1, &far, COOKIE(i), &remote,
                                                   DAT_COMPLETION_DEFAULT_FLAG)
                           : dat_ep_post_rdma_write(wire.there, 1, &far, COOKIE(i), &remote,
                                                    DAT_COMPLETION_DEFAULT_FLAG));
        requests = under_way_before(t, ep_request_evd(t, wire.there), BURST, "the free");
        free_now(t, &region);
        if (held)
                under_way_release(t, wire.there, wire.here, wire.near);
        for (uint64_t i = 0; i < BURST; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = under_way_next(t, &requests);

                expect_eq(dto.user_cookie.as_64, i);
                if (!failed && dto.status == DAT_DTO_SUCCESS)
                        continue;
                if (failed)
                        expect_eq(dto.status, DAT_DTO_ERR_FLUSHED);
                else
                        expect_remote_refusal(t, wire.there, reads, dto.status);
                failed++;
        }
        record(t, "%d of %d failed", failed, BURST);
        if (failed) {
                expect_connection_gone(t, wire.there);
                expect_connection_gone(t, wire.here);
        }
}

/*
 * Arguments
 */

CASE(lmr_free, other_kind_kept)
{
        DAT_PZ_HANDLE zone = pz_new(t);
        DAT_PZ_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_lmr_free(zone);

        expect(dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param), DAT_SUCCESS);
        expect_that(param.ia_handle == ia(t), "the PZ is of another IA");
}

FAMILY(lmr_free, invalid_handle, invalid_handles)
{
        struct region region = region_with(t);

        expect(dat_lmr_free(bad_handle(t, DAT_HANDLE_TYPE_LMR, row->how)), DAT_INVALID_HANDLE);
        free_now(t, &region);
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"lmr", SIBLING_LMR},
    {"rmr", SIBLING_RMR},
};

FAMILY(lmr_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_LMR, row);
}
