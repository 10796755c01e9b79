/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind: EP states. */
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/evd/shared/dispatcher.h"
#include "cases/rmr/rmr_bind/fixtures.h"
#include "cases/rmr/shared/window.h"
#include "cases/shared/bits.h"
#include "clauses/rmr_bind.h"

#include <string.h>

/*
 * States
 */

#define BINDING (EP_IN(CONNECTED) | EP_IN(DISCONNECTED))

FAMILY(rmr_bind, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
                struct ep_held held = ep_hold_by(t, route, .request_evd = evd);
                struct buf *buf = buf_with(t);
                struct bind bind = {.rmr = rmr_in(t, pz(t)),
                                    .segment = triplet(buf, 0, MESSAGE),
                                    .privileges = READ,
                                    .ep = held.ep,
                                    .cookie = WIDE_COOKIE(3)};

                if (ep_is_in(&held, BINDING)) {
                        expect(rmr_bind_post(&bind), DAT_SUCCESS);
                        expect_bind_done(t, evd, bind.rmr, WIDE_COOKIE(3),
                                         row->state == DAT_EP_STATE_CONNECTED
                                             ? DAT_RMR_BIND_SUCCESS
                                             : DAT_DTO_ERR_FLUSHED);
                        expect_empty(t, evd);
                        continue;
                }
                ep_hold_receive(t, &held);
                /* The Provider's EP, which is Tentative Connection Pending, has no zone yet either.
                 */
                if (held.before.param.pz_handle == pz(t))
                        expect(rmr_bind_post(&bind), DAT_INVALID_STATE);
                else
                        expect(rmr_bind_post(&bind), DAT_INVALID_STATE, DAT_PROTECTION_VIOLATION);
                expect_ep_untouched(t, &held);
                expect(dat_lmr_free(buf->lmr), DAT_SUCCESS);
                disown(t, buf->lmr);
        }
}

static const struct ep_state_row refusing[] = {
    {"unconnected", DAT_EP_STATE_UNCONNECTED},
    {"reserved", DAT_EP_STATE_RESERVED},
    {"passive_connection_pending", DAT_EP_STATE_PASSIVE_CONNECTION_PENDING},
    {"active_connection_pending", DAT_EP_STATE_ACTIVE_CONNECTION_PENDING},
    {"completion_pending", DAT_EP_STATE_COMPLETION_PENDING},
    {"disconnect_pending", DAT_EP_STATE_DISCONNECT_PENDING},
};

/* By another EP than the one that it is bound over: to another region, and to none. */
FAMILY(rmr_bind, refused_leaves_bound, refusing)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        DAT_EVD_HANDLE evd = evd_with(t, .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
        DAT_EP_HANDLE ep = ep_in(t, row->state, .pz = window.pz, .request_evd = evd);
        struct bind refused;

        expect_bound(t, &window, &bound);
        refused = bound;
        refused.ep = ep;
        refused.segment.virtual_address += WIDTH;
        expect(rmr_bind_post(&refused), DAT_INVALID_STATE);
        refused.segment.segment_length = 0;
        expect(rmr_bind_post(&refused), DAT_INVALID_STATE);

        expect_reached(t, &window, BY_WRITE, bound.context, REGION, WIDTH);
        expect_empty(t, window.requests);
        expect_empty(t, evd);
}

CASE(rmr_bind, flushed_at_once)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_COUNT places = places_of(t, window.near);

        must_disconnect(t, window.near);
        for (DAT_COUNT i = 0; i < places; i++) {
                bind.cookie = (uint64_t)i;
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
        }

        for (DAT_COUNT i = 0; i < places; i++) {
                bind.cookie = (uint64_t)i;
                rmr_bind_expect_flushed(t, &window, &bind);
        }
        expect_empty(t, window.requests);
}

/* A denied write has broken the connection. */
CASE(rmr_bind, flushed_after_break)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        expect_bound(t, &window, &bind);
        expect_denied(t, &window, BY_WRITE, bind.context, 0, 8);
        must_have_ended(t, window.near);

        bind.cookie = 8;
        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        rmr_bind_expect_flushed(t, &window, &bind);
        expect_empty(t, window.requests);
}

/* Another connection of the zone whose near EP is Disconnected: it flushes what is bound by it. */
static struct window flushing(struct test *t, const struct window *window)
{
        struct window dead = window_beside(t, window, window->pz, false);

        must_disconnect(t, dead.near);
        return dead;
}

CASE(rmr_bind, flushed_opens_nothing)
{
        struct window window = window_with(t);
        struct window dead = flushing(t, &window);
        struct bind bind = bind_of(t, &dead);

        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        rmr_bind_expect_flushed(t, &dead, &bind);

        expect_denied(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
}

/* What was not bound is in use by no RMR. */
CASE(rmr_bind, flushed_holds_nothing)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);

        must_disconnect(t, window.near);
        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        rmr_bind_expect_flushed(t, &window, &bind);

        expect(dat_lmr_free(window.memory->lmr), DAT_SUCCESS);
        disown(t, window.memory->lmr);
}

CASE(rmr_bind, flushed_closes_nothing)
{
        struct window window = window_with(t);
        struct window dead = flushing(t, &window);
        struct bind bound = bind_of(t, &window);
        struct bind bind = bound;

        expect_bound(t, &window, &bound);
        bind.ep = dead.near;
        bind.segment = triplet(window.memory, 0, 8);
        expect(rmr_bind_post(&bind), DAT_SUCCESS);
        rmr_bind_expect_flushed(t, &dead, &bind);

        if (reach(t, &window, BY_WRITE, bound.context, REGION, WIDTH) != DAT_DTO_SUCCESS)
                note(t, "a bind that was flushed has closed what was bound before (RMR-6)");
}

CASE(rmr_bind, ended_with_connection)
{
        struct window window = window_with(t);
        struct bind bind = bind_of(t, &window);
        DAT_EVENT event;

        rmr_bind_must_stand(t, &window);
        for (bind.cookie = 0; bind.cookie < CALLS; bind.cookie++)
                expect(rmr_bind_post(&bind), DAT_SUCCESS);
        must_disconnect(t, window.near);

        event = expect_event(window.requests, DAT_DTO_COMPLETION_EVENT);
        expect_eq(event.event_data.dto_completion_event_data.user_cookie.as_64, 99);
        for (uint64_t i = 0; i < CALLS; i++) {
                const DAT_RMR_BIND_COMPLETION_EVENT_DATA *data =
                    &event.event_data.rmr_completion_event_data;

                event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
                expect_that(data->rmr_handle == bind.rmr, "the completion names another RMR");
                expect_eq(data->user_cookie.as_64, i);
                expect_that(data->status == DAT_RMR_BIND_SUCCESS ||
                                data->status == DAT_DTO_ERR_FLUSHED,
                            "a bind completed with status %d", (int)data->status);
        }
        expect_empty(t, window.requests);
}

/*
 * On an EP that is Disconnected
 */

static void put_beyond(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        bind->segment = triplet(window->memory, window->memory->beyond - WIDTH + 1, WIDTH);
}

static void put_elsewhere(struct test *t, const struct window *window, struct bind *bind)
{
        (void)lmr_elsewhere(t, window, bind);
}

static void flag_unconfigured(struct test *t, const struct window *window, struct bind *bind)
{
        (void)t;
        (void)window;
        bind->flags = FLAGS(UNSIGNAL);
}

static const struct wrong_bind {
        const char *id;
        void (*spoil)(struct test *t, const struct window *window, struct bind *bind);
        DAT_RETURN returned;
        bool late; /* it may be granted, and flushed like what is right (GEN-9) */
} wrong_binds[] = {
    {"after_lmr", put_beyond, DAT_INVALID_PARAMETER, .late = true},
    {"lmr_of_other_zone", put_elsewhere, DAT_PROTECTION_VIOLATION, .late = true},
    {"unsignalled", flag_unconfigured, DAT_INVALID_PARAMETER, .late = false},
};

FAMILY(rmr_bind, wrong_on_disconnected, wrong_binds)
{
        struct window window = window_with(t);
        struct bind good = bind_of(t, &window);
        struct bind bad = good;
        DAT_RETURN ret;

        row->spoil(t, &window, &bad);
        bad.cookie = 7;
        must_disconnect(t, window.near);
        ret = rmr_bind_post(&bad);
        if (row->late && dat_is(ret, DAT_SUCCESS))
                rmr_bind_expect_flushed(t, &window, &bad);
        else if (row->returned == DAT_PROTECTION_VIOLATION)
                expect_or_note(ret, DAT_PROTECTION_VIOLATION, DAT_INVALID_PARAMETER);
        else
                expect(ret, row->returned);
        expect_empty(t, window.requests);

        expect(rmr_bind_post(&good), DAT_SUCCESS);
        rmr_bind_expect_flushed(t, &window, &good);
        expect_empty(t, window.requests);
}

static const struct no_privilege {
        const char *id;
        unsigned int bits;
} no_privileges[] = {
    {"privilege_next_bit", 0x4},
    {"privilege_middle_bit", 1U << 16},
    {"privilege_highest_bit", 1U << 31},
};

FAMILY(rmr_bind, no_privilege, no_privileges)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = triplet(window.memory, 0, 8);
        bind.privileges = (DAT_MEM_PRIV_FLAGS)(REMOTE_PRIVILEGES | row->bits);

        expect_or_note(rmr_bind_post(&bind), DAT_INVALID_PARAMETER, DAT_PRIVILEGES_VIOLATION);
        expect_no_bind(t, &window, &bound);
}

CASE(rmr_bind, each_undefined_privilege)
{
        struct window window = window_with(t);
        struct bind bound = bind_of(t, &window);
        struct bind bind;
        bool violation = false;

        expect_bound(t, &window, &bound);
        bind = bound;
        bind.segment = triplet(window.memory, 0, 8);

        EACH_UNDEFINED_BIT (bit, MEM_PRIV_BITS) {
                DAT_RETURN ret;

                bind.privileges = (DAT_MEM_PRIV_FLAGS)(REMOTE_PRIVILEGES | bit);
                ret = expect_bit(bit, rmr_bind_post(&bind), DAT_INVALID_PARAMETER,
                                 DAT_PRIVILEGES_VIOLATION);
                violation |= dat_is(ret, DAT_PRIVILEGES_VIOLATION);
        }
        if (violation)
                note(t, "a bit of no privilege was refused with DAT_PRIVILEGES_VIOLATION");
        expect_no_bind(t, &window, &bound);
}

static const struct match lacks[] = {
    {"read_of_unreadable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, READ},
    {"write_of_unwritable", DAT_MEM_PRIV_LOCAL_READ_FLAG, WRITE},
    {"both_of_unreadable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, REMOTE_PRIVILEGES},
    {"both_of_unwritable", DAT_MEM_PRIV_LOCAL_READ_FLAG, REMOTE_PRIVILEGES},
};

FAMILY(rmr_bind, lmr_lacks, lacks)
{
        struct window window =
            window_with(t, .privileges = row->lmr, .reads = (row->rmr & READ) != 0);
        struct buf *other = buf_with(t, .pz = window.pz, .privileges = LOCAL_PRIVILEGES);
        struct bind bind = bind_of(t, &window);
        struct window former;
        struct bind bound;
        DAT_EVENT event;

        former = onto(&window, other);
        bind.segment = triplet(other, REGION, WIDTH);
        expect_bound(t, &window, &bind);
        bound = bind;
        bind.segment = region(&window);
        bind.privileges = row->rmr;
        if (!dat_is(expect(rmr_bind_post(&bind), DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS),
                    DAT_SUCCESS)) {
                expect_empty(t, window.requests);
                expect_bind_told(t, &bound);
                expect_reached(t, &former, BY_WRITE, bound.context, REGION, WIDTH);
                bind.privileges = NONE;
                expect_bound(t, &window, &bind);
                expect_empty(t, window.requests);
                return;
        }
        event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
        if (event.event_data.rmr_completion_event_data.status == DAT_RMR_BIND_SUCCESS) {
                note(t, "the transport wants no match of privileges (RMR-7)");
                if (row->rmr & READ)
                        expect_reached(t, &window, BY_READ, bind.context, REGION, WIDTH);
                if (row->rmr & WRITE)
                        expect_reached(t, &window, BY_WRITE, bind.context, REGION, WIDTH);
                return;
        }
        expect_event(ep_connect_evd(t, window.near), DAT_CONNECTION_EVENT_BROKEN);
        expect_eq(ep_state(t, window.near), DAT_EP_STATE_DISCONNECTED);
}

/* What a privilege alone was refused for, it is refused for beside another one. */
static const struct match lacks_alone[] = {
    {"unreadable", DAT_MEM_PRIV_LOCAL_WRITE_FLAG, READ},
    {"unwritable", DAT_MEM_PRIV_LOCAL_READ_FLAG, WRITE},
};

FAMILY(rmr_bind, lmr_lacks_alike, lacks_alone)
{
        struct window window = window_with(t, .privileges = row->lmr);
        struct bind bind = bind_of(t, &window);
        DAT_EVENT event;

        bind.privileges = row->rmr;
        if (!dat_is(rmr_bind_post(&bind), DAT_PRIVILEGES_VIOLATION))
                end_noted(t, "no bind is refused for what the LMR lacks (RMR-7)");
        bind.privileges = REMOTE_PRIVILEGES;
        if (!dat_is(expect(rmr_bind_post(&bind), DAT_PRIVILEGES_VIOLATION, DAT_SUCCESS),
                    DAT_SUCCESS))
                return;
        event = expect_event(window.requests, DAT_RMR_BIND_COMPLETION_EVENT);
        expect_that(event.event_data.rmr_completion_event_data.status != DAT_RMR_BIND_SUCCESS,
                    "an RMR was opened to both, and not to one of them alone");
}

LEGAL(rmr_bind)
{
        static DAT_LMR_TRIPLET segment;
        static DAT_RMR_CONTEXT context;
        struct window window = window_with(t);

        segment = region(&window);
        call->rmr_handle = rmr_in(t, window.pz);
        call->lmr_triplet = &segment;
        call->mem_priv = REMOTE_PRIVILEGES;
        call->ep_handle = window.near;
        call->context = &context;
}
