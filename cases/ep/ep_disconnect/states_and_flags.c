/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_disconnect: EP states and flags. */
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/ep_disconnect/fixtures.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/bits.h"
#include "cases/shared/point.h"
#include "clauses/ep_disconnect.h"

#include <string.h>

#define LOOKS 500 /* at an EP that is about to be Disconnected */
#define REFUSED_IN                                                                  \
        (EP_IN(UNCONNECTED) | EP_IN(RESERVED) | EP_IN(PASSIVE_CONNECTION_PENDING) | \
         EP_IN(TENTATIVE_CONNECTION_PENDING))
#define GIVEN_UP_IN (EP_IN(ACTIVE_CONNECTION_PENDING) | EP_IN(COMPLETION_PENDING))

static void disconnect_by(struct test *t, const struct ep_route *route, DAT_CLOSE_FLAGS flags)
{
        struct ep_held held = ep_hold_by(t, route);

        if (ep_is_in(&held, REFUSED_IN)) {
                ep_hold_receive(t, &held);
                expect(dat_ep_disconnect(held.ep, flags), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                return;
        }
        if (ep_is_in(&held, EP_IN(DISCONNECT_PENDING)) && flags == DAT_CLOSE_GRACEFUL_FLAG) {
                expect_may(dat_ep_disconnect(held.ep, flags), DAT_SUCCESS);
                expect_ep_untouched(t, &held);
                return;
        }
        end_by(t, held.ep, flags);
        if (ep_is_in(&held, EP_IN(DISCONNECTED)))
                expect_ep_untouched(t, &held);
        else if (ep_is_in(&held, GIVEN_UP_IN))
                expect_given_up(t, held.ep);
        else
                expect_ended(t, held.ep);
}

FAMILY(ep_disconnect, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state)
                disconnect_by(t, route, DAT_CLOSE_ABRUPT_FLAG);
}

FAMILY(ep_disconnect, gracefully_in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state)
                disconnect_by(t, route, DAT_CLOSE_GRACEFUL_FLAG);
}

static const struct bad_flags {
        const char *id;
        unsigned int flags;
} bad_flags[] = {
    {"two", 2},
    {"graceful_and_more", (unsigned int)DAT_CLOSE_GRACEFUL_FLAG | 4},
    {"highest", 0x80000000},
    {"all", 0xffffffff},
};

#define BAD_FLAGS (sizeof(bad_flags) / sizeof(bad_flags[0]))

/* What is refused flushes nothing: the receives take the messages of the connection to come. */
enum early { UNCONNECTED, RESERVED, RSP_FREED };

static const struct early_row {
        const char *id;
        enum early early;
} early[] = {{"unconnected", UNCONNECTED}, {"reserved", RESERVED}, {"rsp_freed", RSP_FREED}};

/* Without a refusal before it, an RSP gets its request. */
static void must_ask_without_call(void *arg)
{
        struct test *t = arg;
        struct loop loop = loop_new(t);

        rsp_new(t, loop.passive, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        must(dat_cr_reject(loop.request));
}

/* The request for the EP of an RSP, of which a disconnect was refused. */
static void expect_asked(struct test *t, struct loop *loop)
{
        DAT_EVENT event;

        loop_connect(t, loop->active, loop->qual);
        event = expect_event_unless(loop->requests, DAT_CONNECTION_REQUEST_EVENT,
                                    must_ask_without_call, t);
        loop->request = event.event_data.cr_arrival_event_data.cr_handle;
}

FAMILY(ep_disconnect, refused_flushes_nothing, early)
{
        struct line line =
            line_apart(t, attr_with_reads(t), (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EP_HANDLE ep = line.loop.passive;
        DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;

        post_recvs(t, ep, line.in, 0, WORKS);
        if (row->early != UNCONNECTED)
                rsp = rsp_new(t, ep, line.loop.requests, &line.loop.qual);
        if (row->early == RSP_FREED)
                release(t, rsp);
        for (size_t i = 0; i < 2; i++)
                expect(dat_ep_disconnect(ep, both_flags[i].flags), DAT_INVALID_STATE);
        for (size_t i = 0; i < BAD_FLAGS; i++)
                expect(dat_ep_disconnect(ep, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
        expect_empty(t, ep_recv_evd(t, ep));
        if (row->early == RESERVED) {
                expect_asked(t, &line.loop);
                expect_accepted_by(t, line.loop.request, DAT_HANDLE_NULL, &line.loop);
        } else {
                loop_join(t, &line.loop);
        }
        for (size_t i = 0; i < WORKS; i++)
                must(post(&line, SENDS, i));
        for (size_t i = 0; i < WORKS; i++) {
                expect_eq(expect_completion(t, ep_recv_evd(t, ep), ep, i), DAT_DTO_SUCCESS);
                expect_that(message_holds(line.in->addr + i * MESSAGE, MESSAGE, i),
                            "receive %zu has not its message", i);
        }
}

FAMILY(ep_disconnect, bad_flags, bad_flags)
{
        struct line line = line_either(t);

        expect(dat_ep_disconnect(line.loop.active, (DAT_CLOSE_FLAGS)row->flags),
               DAT_INVALID_PARAMETER);
        expect_eq(ep_state(t, line.loop.active), DAT_EP_STATE_CONNECTED);
        expect_message(t, line.loop.active, line.loop.passive);
        expect_message(t, line.loop.passive, line.loop.active);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
}

CASE(ep_disconnect, each_undefined_flag)
{
        struct line line = line_either(t);

        EACH_UNDEFINED_BIT (bit, DAT_CLOSE_GRACEFUL_FLAG)
                expect_bit(bit, dat_ep_disconnect(line.loop.active, (DAT_CLOSE_FLAGS)bit),
                           DAT_INVALID_PARAMETER);
        expect_eq(ep_state(t, line.loop.active), DAT_EP_STATE_CONNECTED);
        expect_message(t, line.loop.active, line.loop.passive);
        expect_message(t, line.loop.passive, line.loop.active);
        expect_empty(t, ep_connect_evd(t, line.loop.active));
}

static void bad_flags_while_asking(struct test *t)
{
        struct stage stage;

        stage_set(t, &stage, BY_ADDRESS);
        must(connect_ask(&stage.asking));
        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(stage.asking.ep, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER);
                expect_ep_pending(t, stage.asking.ep);
        }
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* That it may not be ended there at all is an answer, too. */
static void bad_flags_while_asked(struct test *t)
{
        struct loop loop = loop_new(t);

        rsp_new(t, loop.passive, loop.requests, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(loop.passive, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_STATE, DAT_INVALID_PARAMETER);
                expect_ep_in(t, loop.passive, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
        }
        expect_accepted_by(t, loop.request, DAT_HANDLE_NULL, &loop);
        expect_loop_carries(t, loop.active, loop.passive);
}

static void bad_flags_while_waiting(struct test *t)
{
        struct line line = waiting_line(t, SENDS);

        for (size_t i = 0; i < BAD_FLAGS; i++) {
                expect(dat_ep_disconnect(line.loop.active, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER);
                expect_waiting(t, &line);
        }
        expect_done_in_peace(t, &line, SENDS);
}

/* So is that there is nothing to do. */
static void bad_flags_afterwards(struct test *t)
{
        struct loop loop = loop_new(t);

        ep_turn_leave(t, &loop);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        for (size_t i = 0; i < BAD_FLAGS; i++)
                expect(dat_ep_disconnect(loop.active, (DAT_CLOSE_FLAGS)bad_flags[i].flags),
                       DAT_INVALID_PARAMETER, DAT_SUCCESS);
        expect_ep_in(t, loop.active, DAT_EP_STATE_DISCONNECTED);
        expect_empty(t, ep_connect_evd(t, loop.active));
        expect(dat_ep_reset(loop.active), DAT_SUCCESS);
        expect(dat_ep_reset(loop.passive), DAT_SUCCESS);
        expect_joined(t, loop.active, loop.passive);
}

static const struct bad_moment {
        const char *id;
        void (*call)(struct test *t);
} bad_moments[] = {
    {"asking", bad_flags_while_asking},
    {"asked", bad_flags_while_asked},
    {"waiting", bad_flags_while_waiting},
    {"disconnected", bad_flags_afterwards},
};

FAMILY(ep_disconnect, bad_flags_meanwhile, bad_moments)
{
        row->call(t);
}

static void must_be_gone(struct test *t, DAT_EP_HANDLE ep)
{
        must_have_broken(t, ep);
        must_that(ep_state(t, ep) == DAT_EP_STATE_DISCONNECTED,
                  "an EP whose connection broke is not Disconnected");
}

/* Either disconnect event may report a broken connection, and the two ends may differ. */
CASE(ep_disconnect, after_break)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ends[] = {loop.active, loop.passive};

        ep_turn_break(t, &loop);
        for (size_t i = 0; i < 2; i++)
                must_be_gone(t, ends[i]);
        for (size_t i = 0; i < 4; i++)
                end_by(t, ends[i / 2], both_flags[i % 2].flags);
        settle_briefly(t);
        for (size_t i = 0; i < 2; i++) {
                expect_ep_in(t, ends[i], DAT_EP_STATE_DISCONNECTED);
                expect_empty(t, ep_connect_evd(t, ends[i]));
        }
}

static void must_become(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
        int looks = LOOKS;

        while (ep_state(t, ep) != state && looks--)
                settle_briefly(t);
        must_that(looks > 0, "the EP does not come to %s", names_of(DAT_EP_STATE, state));
}

static const struct unread_row {
        const char *id;
        bool passive; /* the EP that ends is the one that accepted */
} unread[] = {{"by_active", false}, {"by_passive", true}};

/* The connection is over before an event of it is read: each end has both, in their order. */
FAMILY(ep_disconnect, unread_connection, unread)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ends[] = {loop.active, loop.passive};

        loop_ask(t, &loop);
        loop_accept(t, &loop);
        for (size_t i = 0; i < 2; i++)
                must_become(t, ends[i], DAT_EP_STATE_CONNECTED);
        end_by(t, ends[row->passive], DAT_CLOSE_ABRUPT_FLAG);
        for (size_t i = 0; i < 2; i++)
                must_become(t, ends[i], DAT_EP_STATE_DISCONNECTED);
        for (size_t i = 0; i < 2; i++) {
                DAT_EVENT event =
                    expect_event(ep_connect_evd(t, ends[i]), DAT_CONNECTION_EVENT_ESTABLISHED);

                expect_that(event.event_data.connect_event_data.ep_handle == ends[i],
                            "the event names another EP");
                if (i == row->passive)
                        expect_ended(t, ends[i]);
                else
                        expect_ended_by_other(t, ends[i]);
        }
}

/* The disconnect event and the flushed completions are not read yet. */
FAMILY(ep_disconnect, twice_unread, both_flags)
{
        struct line line = line_either(t);
        DAT_EP_HANDLE ep = line.loop.active;

        post_recvs(t, ep, line.in, 0, WORKS);
        post_works(t, &line, SENDS);
        end_by(t, ep, DAT_CLOSE_ABRUPT_FLAG);
        must_become(t, ep, DAT_EP_STATE_DISCONNECTED);
        end_by(t, ep, row->flags);
        expect_ended(t, ep);
        expect_flushed(t, ep_recv_evd(t, ep), ep, 0, WORKS);
        record(t, "%zu of %d sends without a receive succeeded",
               expect_broken_off(t, ep_request_evd(t, ep), ep, WORKS), WORKS);
}

static void drop_events(struct test *t, DAT_EVD_HANDLE evd)
{
        DAT_EVENT event;

        settle_briefly(t);
        while (event_left(t, evd, &event))
                ;
}

/* What is left of a request that was given up is not of the call. */
FAMILY(ep_disconnect, after_turn, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);
        drop_events(t, ep_connect_evd(t, loop.active));
        switch (row->state) {
        case DAT_EP_STATE_CONNECTED:
                end_by(t, loop.active, DAT_CLOSE_ABRUPT_FLAG);
                expect_ended(t, loop.active);
                return;
        case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
                end_by(t, loop.active, DAT_CLOSE_GRACEFUL_FLAG);
                expect_given_up(t, loop.active);
                return;
        default:
                break;
        }
        for (size_t i = 0; i < 2; i++)
                expect(dat_ep_disconnect(loop.active, both_flags[i].flags),
                       row->state == DAT_EP_STATE_DISCONNECTED ? DAT_SUCCESS : DAT_INVALID_STATE);
        expect_eq(ep_state(t, loop.active), row->state);
        settle_briefly(t);
        expect_empty(t, ep_connect_evd(t, loop.active));
}

/* Two EPs have the same EVDs: what the one is flushed of, the other one receives. */
CASE(ep_disconnect, shared_evds)
{
        struct ep_opts opts = {
            .recv_evd = evd_with(t),
            .request_evd = evd_with(t),
            .connect_evd = evd_with(t, .qlen = 8, .flags = DAT_EVD_CONNECTION_FLAG),
        };
        struct line lines[2];

        for (int i = 0; i < 2; i++) {
                lines[i] = line_with(t, (struct ep_opts){0}, opts);
                post_recvs(t, lines[i].loop.passive, lines[i].in, 0, WORKS);
        }
        end_by(t, lines[0].loop.passive, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, lines[0].loop.passive);
        expect_flushed(t, opts.recv_evd, lines[0].loop.passive, 0, WORKS);
        for (size_t i = 0; i < WORKS; i++)
                must(post(&lines[1], SENDS, i));
        for (size_t i = 0; i < WORKS; i++)
                expect_eq(expect_completion(t, opts.recv_evd, lines[1].loop.passive, i),
                          DAT_DTO_SUCCESS);
        end_by(t, lines[1].loop.passive, DAT_CLOSE_ABRUPT_FLAG);
        expect_ended(t, lines[1].loop.passive);
}
