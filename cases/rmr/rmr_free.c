/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_free: objects that it releases, and memory that it closes. */
#include "clauses/rmr_free.h"
#include "case/standard.h"
#include "case/transport.h"
#include "cases/rmr/shared/window.h"
#include "cases/shared/handles.h"
#include "cases/shared/rounds.h"
#include "cases/shared/siblings.h"
#include "cases/shared/under_way.h"

#include <string.h>

#define RMRS 20 /* at once */
#define AWAY 12 /* RDMA DTOs under way */

#define FILLED 5   /* the message in the far end's memory meanwhile */
#define LOOKS  200 /* for what was written, each by settle_briefly() */

static void free_now(struct test *t, DAT_RMR_HANDLE rmr)
{
        expect(dat_rmr_free(rmr), DAT_SUCCESS);
        disown(t, rmr);
}

static void expect_lmr_freed(struct test *t, const struct buf *buf)
{
        expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
        disown(t, buf->lmr);
}

static void expect_there(struct test *t, DAT_RMR_HANDLE rmr, DAT_PZ_HANDLE zone)
{
        DAT_RMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        expect(dat_rmr_query(rmr, DAT_RMR_FIELD_PZ_HANDLE, &param), DAT_SUCCESS);
        expect_that(param.pz_handle == zone, "the RMR is in another zone");
}

/*
 * What is freed, and what it held
 */

CASE(rmr_free, freed)
{
        DAT_PZ_HANDLE zone = pz_new(t);

        free_now(t, rmr_in(t, zone));

        expect(dat_pz_free(zone), DAT_SUCCESS);
        disown(t, zone);
}

static void bind_it(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind_region(t, window, rmr);
}

static void bind_anew(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        struct buf *former = buf_with(t, .pz = window->pz);

        must_bind(t, window, rmr, triplet(former, 0, WIDTH), REMOTE_PRIVILEGES);
        must_bind_region(t, window, rmr);
        expect_lmr_freed(t, former);
}

static void unbind(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind_region(t, window, rmr);
        must_bind(t, window, rmr, triplet(window->memory, REGION, 0), REMOTE_PRIVILEGES);
}

static void bind_in_full(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind(t, window, rmr, triplet(window->memory, 0, MEMORY), REMOTE_PRIVILEGES);
}

static void bind_closed(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind(t, window, rmr, region(window), DAT_MEM_PRIV_NONE_FLAG);
}

static void bind_unreaped(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        DAT_LMR_TRIPLET segment = region(window);
        DAT_RMR_CONTEXT context;

        must(dat_rmr_bind(rmr, &segment, REMOTE_PRIVILEGES, window->near, COOKIE(8),
                          DAT_COMPLETION_DEFAULT_FLAG, &context));
        settle_briefly(t);
}

static void use(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        DAT_RMR_CONTEXT context = must_bind_region(t, window, rmr);

        expect_reached(t, window, BY_WRITE, context, REGION, WIDTH);
}

static void bind_and_disconnect(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        must_bind_region(t, window, rmr);
        must(dat_ep_disconnect(window->near, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, window->near), DAT_CONNECTION_EVENT_DISCONNECTED);
}

static void bind_and_free_ep(struct test *t, struct window *window, DAT_RMR_HANDLE rmr)
{
        bind_and_disconnect(t, window, rmr);
        release(t, window->near);
}

static const struct binding {
        const char *id;
        void (*make)(struct test *t, struct window *window, DAT_RMR_HANDLE rmr);
} bindings[] = {
    {"bound", bind_it},
    {"bound_anew", bind_anew},
    {"unbound", unbind},
    {"bound_in_full", bind_in_full},
    {"bound_without_privileges", bind_closed},
    {"unreaped", bind_unreaped},
    {"used", use},
    {"disconnected", bind_and_disconnect},
    {"ep_gone", bind_and_free_ep},
};

FAMILY(rmr_free, freed_when, bindings)
{
        struct window window = window_with(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);

        row->make(t, &window, rmr);

        free_now(t, rmr);
        expect_lmr_freed(t, window.memory);
        if (row->make == bind_unreaped)
                expect_bind_done(t, window.requests, rmr, 8, DAT_RMR_BIND_SUCCESS);
        expect_empty(t, window.requests);
}

/* The bind stands behind a send that has no receive. */
CASE(rmr_free, bind_waits)
{
        struct window window = window_with(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);
        bool held = under_way_hold(t, window.near, window.memory);
        const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data;
        DAT_EVENT event;

        bind_unreaped(t, &window, rmr);
        free_now(t, rmr);
        if (held)
                under_way_release(t, window.near, window.far, window.away);

        event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
        data = &event.event_data.rmr_completion_event_data;
        expect_that(data->rmr_handle == rmr, "the completion names another RMR");
        expect_eq(data->user_cookie.as_64, 8);
        expect_empty(t, window.requests);
}

/* The context that was freed is not the new RMR's, and neither is the LMR. */
CASE(rmr_free, next_is_unbound)
{
        struct window window = window_with(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);
        DAT_RMR_CONTEXT context = must_bind_region(t, &window, rmr);
        DAT_RMR_HANDLE next;

        free_now(t, rmr);
        next = rmr_in(t, window.pz);

        expect_denied(t, &window, BY_WRITE, context, REGION, WIDTH);
        expect_lmr_freed(t, window.memory);
        expect_there(t, next, window.pz);
}

/* Which of two RMRs goes first. */
static const struct place {
        const char *id;
        int gone;
} places[] = {
    {"older", 0},
    {"newer", 1},
};

FAMILY(rmr_free, one_of_two_binds, places)
{
        struct window window = window_with(t);
        DAT_RMR_HANDLE rmrs[] = {rmr_in(t, window.pz), rmr_in(t, window.pz)};

        must_bind_region(t, &window, rmrs[0]);
        must_bind_region(t, &window, rmrs[1]);

        free_now(t, rmrs[row->gone]);
        expect(dat_lmr_free(window.memory->lmr), DAT_INVALID_STATE);
        free_now(t, rmrs[!row->gone]);
        expect_lmr_freed(t, window.memory);
}

/* The zone is the last that is freed of all that the RMR was bound with. */
FAMILY(rmr_free, lets_go_of_zone, bindings)
{
        struct window window = window_with(t, .pz = pz_new(t));
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);

        row->make(t, &window, rmr);

        free_now(t, rmr);
        expect_lmr_freed(t, window.memory);
        if (row->make != bind_and_free_ep)
                release(t, window.near);
        expect(dat_pz_free(window.pz), DAT_SUCCESS);
        disown(t, window.pz);
}

CASE(rmr_free, often, ROUNDS_DEADLINE)
{
        struct rounds rounds = rounds_of(t, DAT_HANDLE_TYPE_RMR);
        struct window window = window_with(t);

        while (rounds_next(&rounds)) {
                DAT_RMR_HANDLE rmr = DAT_HANDLE_NULL;

                expect(dat_rmr_create(window.pz, &rmr), DAT_SUCCESS);
                must_bind_region(t, &window, rmr);
                expect(dat_rmr_free(rmr), DAT_SUCCESS);
        }
        expect_no_leak(&rounds);
        expect_lmr_freed(t, window.memory);
}

CASE(rmr_free, many_in_any_order)
{
        DAT_COUNT count = cap_at_limit(t, RMRS, DAT_HANDLE_TYPE_RMR, 1);
        DAT_RMR_HANDLE rmrs[RMRS];

        for (int i = 0; i < count; i++)
                rmrs[i] = rmr_in(t, pz(t));
        for (int left = count; left > 0; left--) {
                uint64_t which = draw(t, (uint64_t)left);

                free_now(t, rmrs[which]);
                rmrs[which] = rmrs[left - 1];
                for (int i = 0; i < left - 1; i++)
                        expect_there(t, rmrs[i], pz(t));
        }
}

CASE(rmr_free, of_other_ia)
{
        DAT_PZ_HANDLE foreign = pz_of(t, other_ia(t));
        DAT_RMR_HANDLE here = rmr_in(t, pz(t));
        DAT_RMR_HANDLE there = rmr_in(t, foreign);

        free_now(t, there);

        expect_there(t, here, pz(t));
        expect(dat_pz_free(foreign), DAT_SUCCESS);
        disown(t, foreign);
}

/*
 * What was open
 */

static void expect_broken(struct test *t, DAT_EP_HANDLE ep)
{
        if (host_is_iwarp()) {
                expect_connection_gone(t, ep);
                return;
        }
        expect_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, ep), DAT_EP_STATE_DISCONNECTED);
}

static const struct closing {
        const char *id;
        enum way way;
        bool used;
        DAT_MEM_PRIV_FLAGS privileges;
} closings[] = {
    {"write", BY_WRITE, .used = false, REMOTE_PRIVILEGES},
    {"read", BY_READ, .used = false, REMOTE_PRIVILEGES},
    {"write_after_use", BY_WRITE, .used = true, REMOTE_PRIVILEGES},
    {"read_after_use", BY_READ, .used = true, REMOTE_PRIVILEGES},
    {"write_alone", BY_WRITE, .used = true, DAT_MEM_PRIV_REMOTE_WRITE_FLAG},
    {"read_alone", BY_READ, .used = true, DAT_MEM_PRIV_REMOTE_READ_FLAG},
};

FAMILY(rmr_free, closes, closings)
{
        struct window window = window_for(t, row->way);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);
        DAT_RMR_CONTEXT context = must_bind(t, &window, rmr, region(&window), row->privileges);

        if (row->used)
                expect_reached(t, &window, row->way, context, REGION, WIDTH);
        free_now(t, rmr);

        expect_denied(t, &window, row->way, context, REGION, WIDTH);
        expect_broken(t, window.far);
        expect_connection_gone(t, window.near);
}

CASE(rmr_free, closes_to_peer)
{
        struct peer_window window = peer_window(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, pz(t));
        DAT_RMR_CONTEXT context = peer_window_bind(t, &window, rmr);

        expect_that(peer_window_reads(&window, context), "the peer could not read what was bound");
        free_now(t, rmr);
        expect_that(!peer_window_reads(&window, context), "the peer read what was freed");
}

FAMILY(rmr_free, closes_everywhere, ways)
{
        bool reads = row->way == BY_READ;
        struct window window = window_for(t, row->way);
        struct window beside = window_beside(t, &window, window.pz, reads);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);
        DAT_RMR_CONTEXT context = must_bind_region(t, &window, rmr);

        free_now(t, rmr);

        expect_denied(t, &beside, row->way, context, REGION, WIDTH);
}

FAMILY(rmr_free, others_stay_open, ways)
{
        struct window window = window_for(t, row->way);
        DAT_RMR_CONTEXT contexts[3];
        DAT_RMR_HANDLE rmrs[3];

        for (int i = 0; i < 3; i++) {
                rmrs[i] = rmr_in(t, window.pz);
                contexts[i] = must_bind_region(t, &window, rmrs[i]);
        }
        free_now(t, rmrs[1]);

        expect_reached(t, &window, row->way, contexts[0], REGION, WIDTH);
        expect_reached(t, &window, row->way, contexts[2], REGION, WIDTH);
}

/* The LMR by its own contexts, and by another RMR. */
FAMILY(rmr_free, lmr_stays_open, ways)
{
        struct window window =
            window_with(t, .privileges = DAT_MEM_PRIV_ALL_FLAG, .reads = row->way == BY_READ);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);

        must_bind_region(t, &window, rmr);
        free_now(t, rmr);

        loop_post_recv(t, window.far, window.away, 1);
        loop_post_send(t, window.near, window.memory, 2);
        expect_dto(window.requests);
        expect_dto(ep_recv_evd(t, window.far));
        expect_reached(t, &window, row->way, window.memory->rmr_context, REGION, WIDTH);
        expect_reached(t, &window, row->way, must_bind_region(t, &window, rmr_in(t, window.pz)),
                       REGION, WIDTH);
}

/* Posts RDMA of the region, of which none is awaited. */
static void send_away(struct test *t, const struct window *window, enum way way,
                      DAT_RMR_CONTEXT context)
{
        DAT_LMR_TRIPLET local = triplet(window->away, 0, WIDTH);
        DAT_RMR_TRIPLET remote = {
            .rmr_context = context,
            .target_address = (DAT_VADDR)(uintptr_t)window->memory->addr + REGION,
            .segment_length = WIDTH,
        };

        for (unsigned int i = 0; i < AWAY; i++)
                if (way == BY_READ)
                        must(dat_ep_post_rdma_read(window->far, 1, &local, COOKIE(i), &remote,
                                                   DAT_COMPLETION_DEFAULT_FLAG));
                else
                        must(dat_ep_post_rdma_write(window->far, 1, &local, COOKIE(i), &remote,
                                                    DAT_COMPLETION_DEFAULT_FLAG));
}

/* One was done. What was written may be there only later (DTO-2). */
static void expect_whole(struct test *t, const struct window *window, enum way way)
{
        const unsigned char *here = window->memory->addr + REGION;
        unsigned char wanted[WIDTH];

        if (way == BY_READ) {
                expect_that(memcmp(window->away->addr, here, WIDTH) == 0,
                            "what was read is not what the memory has");
                return;
        }
        message_fill(wanted, WIDTH, FILLED);
        for (int look = 0; look < LOOKS && memcmp(here, wanted, WIDTH) != 0; look++)
                settle_briefly(t);
        expect_that(memcmp(here, wanted, WIDTH) == 0, "what was written is not in the memory");
}

/* Those that were done, then perhaps one that was denied, and then those that it left undone. */
static void expect_under_way(struct test *t, enum way way)
{
        struct window window = window_for(t, way);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);
        DAT_DTO_COMPLETION_STATUS status = DAT_DTO_SUCCESS;
        struct under_way requests;
        DAT_RMR_CONTEXT context;
        bool denied = false;
        bool done = false;
        bool held;

        context = must_bind_region(t, &window, rmr);
        message_fill(window.away->addr, window.away->length, FILLED);
        held = under_way_hold(t, window.far, window.away);
        send_away(t, &window, way, context);
        requests = under_way_before(t, ep_request_evd(t, window.far), AWAY, "the free");
        free_now(t, rmr);
        if (held)
                under_way_release(t, window.far, window.near, window.memory);

        for (unsigned int i = 0; i < AWAY; i++) {
                DAT_DTO_COMPLETION_EVENT_DATA dto = under_way_next(t, &requests);

                status = dto.status;
                expect_eq(dto.user_cookie.as_64, i);
                if (denied)
                        expect_eq(status, DAT_DTO_ERR_FLUSHED);
                else if (status != DAT_DTO_SUCCESS)
                        expect_remote_refusal(t, window.far, way == BY_READ, status);
                denied |= status != DAT_DTO_SUCCESS;
                done |= status == DAT_DTO_SUCCESS;
        }
        record(t, "the free %s what was under way", denied ? "denied" : "denied not");
        if (denied)
                expect_broken(t, window.far);
        else if (!host_is_iwarp())
                expect_eq(ep_state(t, window.far), DAT_EP_STATE_CONNECTED);
        if (done && !host_is_iwarp())
                expect_whole(t, &window, way);
}

CASE(rmr_free, under_way)
{
        expect_under_way(t, BY_WRITE);
}

CASE(rmr_free, reads_under_way)
{
        expect_under_way(t, BY_READ);
}

/*
 * The handle afterwards
 */

/* What the calls below take besides the RMR. */
static struct {
        DAT_EP_HANDLE ep;
        DAT_LMR_TRIPLET segment;
} beside;

static DAT_RETURN query_stale(void *rmr)
{
        DAT_RMR_PARAM param;

        return dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param);
}

static DAT_RETURN bind_stale(void *rmr)
{
        DAT_RMR_CONTEXT context;

        return dat_rmr_bind(rmr, &beside.segment, REMOTE_PRIVILEGES, beside.ep, COOKIE(1),
                            DAT_COMPLETION_DEFAULT_FLAG, &context);
}

static const struct use {
        const char *id;
        DAT_RETURN (*call)(void *rmr);
} uses[] = {
    {"query", query_stale},
    {"bind", bind_stale},
};

static struct window window_beside_call(struct test *t)
{
        struct window window = window_with(t);

        beside.ep = window.near;
        beside.segment = region(&window);
        return window;
}

FAMILY(rmr_free, handle_afterwards, uses)
{
        if (row->call == bind_stale)
                (void)window_beside_call(t);
        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_RMR),
                     bad_handle(t, DAT_HANDLE_TYPE_RMR, BAD_HANDLE_DESTROYED));
}

FAMILY(rmr_free, handle_of_bound_afterwards, uses)
{
        struct window window = window_beside_call(t);
        DAT_RMR_HANDLE rmr = rmr_in(t, window.pz);

        must_bind_region(t, &window, rmr);
        free_now(t, rmr);

        expect_stale(row->call, live_handle(t, DAT_HANDLE_TYPE_RMR), rmr);
}

CASE(rmr_free, second_free)
{
        DAT_RMR_HANDLE other = rmr_in(t, pz(t));
        DAT_RMR_HANDLE gone = bad_handle(t, DAT_HANDLE_TYPE_RMR, BAD_HANDLE_DESTROYED);
        DAT_RETURN ret;

        if (subprocess_call(t, dat_rmr_free, gone, &ret))
                record(t, "a second free of an RMR returned %s", name_of_return(ret));
        free_now(t, other);
}

/*
 * Arguments
 */

FAMILY(rmr_free, invalid_handle, invalid_handles)
{
        DAT_RMR_HANDLE rmr = rmr_in(t, pz(t));

        expect(dat_rmr_free(bad_handle(t, DAT_HANDLE_TYPE_RMR, row->how)), DAT_INVALID_HANDLE);
        free_now(t, rmr);
}

CASE(rmr_free, other_kind_kept)
{
        struct buf *buf = buf_with(t);
        DAT_LMR_PARAM param = {.ia_handle = DAT_HANDLE_NULL};

        (void)dat_rmr_free(buf->lmr);

        expect(dat_lmr_query(buf->lmr, DAT_LMR_FIELD_ALL, &param), DAT_SUCCESS);
        expect_eq(param.lmr_context, buf->lmr_context);
}

/*
 * Calls of other threads beside it
 */

static const struct sibling_row siblings[] = {
    {"rmr", SIBLING_RMR},
    {"lmr", SIBLING_LMR},
};

FAMILY(rmr_free, beside, siblings, SIBLINGS_DEADLINE)
{
        expect_freed_beside(t, SIBLING_RMR, row);
}
