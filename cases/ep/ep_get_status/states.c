/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_get_status: the EP state. */
#include "cases/ep/shared/states.h"
#include "case/standard.h"
#include "cases/ep/ep_get_status/fixtures.h"
#include "cases/ep/shared/transfer.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "clauses/ep_get_status.h"

#include <string.h>

#define SHORT ((DAT_TIMEOUT)60000) /* a time-out: microseconds */

static DAT_EP_STATE queried_state(struct test *t, DAT_EP_HANDLE ep)
{
        return plain_ep_state(ep_snapshot(t, ep).param.ep_state);
}

/*
 * The state that must be told where `told` was. The page has no word for Completion Pending (EP-8);
 * a disconnect that is pending may end.
 */
static DAT_EP_STATE expected_state(struct test *t, const struct ep_held *held, DAT_EP_STATE told)
{
        if (held->state == DAT_EP_STATE_COMPLETION_PENDING &&
            told == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING)
                return told;
        if (held->state == DAT_EP_STATE_DISCONNECT_PENDING && told == DAT_EP_STATE_DISCONNECTED)
                return queried_state(t, held->ep);
        return held->state;
}

FAMILY(ep_get_status, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                struct status status = status_of(t, held.ep);
                bool waits = status.state == DAT_EP_STATE_DISCONNECT_PENDING;

                expect_eq(status.state, expected_state(t, &held, status.state));
                expect_eq(status.recv_idle, DAT_TRUE);
                expect_eq(status.request_idle, waits ? DAT_FALSE : DAT_TRUE);
                expect_ep_untouched(t, &held);
        }
}

FAMILY(ep_get_status, state_after, ep_turns)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        row->make(t, &loop);

        expect_eq(status_of(t, loop.active).state, row->state);
        expect_idle(t, loop.active, DAT_TRUE, DAT_TRUE);
}

/* What the consumer gives a Provider's EP is no answer to the request. */
CASE(ep_get_status, tentative_modified)
{
        struct loop loop = {
            .requests = evd_with(t, .flags = DAT_EVD_CR_FLAG),
            .active = ep_with(t),
        };
        DAT_EP_PARAM with = {.pz_handle = pz(t)};
        DAT_EP_HANDLE ep;

        loop_listen(t, loop.requests, DAT_PSP_PROVIDER_FLAG, &loop.qual);
        loop_connect(t, loop.active, loop.qual);
        loop_take_request(t, &loop);
        ep = request_ep(t, loop.request);
        must(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &with));
        expect_eq(status_of(t, ep).state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
        expect_idle(t, ep, DAT_TRUE, DAT_TRUE);
        must(dat_cr_reject(loop.request));
}

/* What happens to the active EP; the event of it is on its EVD. */
static void be_rejected(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_take_request(t, loop);
        must(dat_cr_reject(loop->request));
}

static void time_out(struct test *t, struct loop *loop)
{
        loop_open(t, loop);
        must(dat_ep_connect(loop->active, ia_address(t), loop->qual, SHORT, 0, NULL,
                            DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

/* The EP soon is in that state, whether or not its events are read. */
static void expect_comes_to(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state)
{
        int looks = LOOKS;

        while (status_of(t, ep).state != state && --looks)
                settle_briefly(t);
        expect_eq(status_of(t, ep).state, state);
}

/* Nor has anyone taken the event of the connection. */
static void be_left(struct test *t, struct loop *loop)
{
        loop_ask(t, loop);
        loop_accept(t, loop);
        expect_comes_to(t, loop->active, DAT_EP_STATE_CONNECTED);
        expect_comes_to(t, loop->passive, DAT_EP_STATE_CONNECTED);
        must(dat_ep_disconnect(loop->passive, DAT_CLOSE_ABRUPT_FLAG));
        expect_comes_to(t, loop->passive, DAT_EP_STATE_DISCONNECTED);
}

/* The other end gets its event first. */
static void be_broken(struct test *t, struct loop *loop)
{
        ep_turn_break(t, loop);
        must_have_broken(t, loop->passive);
}

static const struct untaken {
        const char *id;
        void (*make)(struct test *t, struct loop *loop);
} untakens[] = {
    {"rejected", be_rejected},
    {"times_out", time_out},
    {"other_end_disconnects", be_left},
    {"breaks", be_broken},
};

FAMILY(ep_get_status, state_untaken, untakens)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EVENT event;
        DAT_COUNT more;

        row->make(t, &loop);
        expect_comes_to(t, loop.active, DAT_EP_STATE_DISCONNECTED);
        must(dat_evd_wait(ep_connect_evd(t, loop.active), event_timeout(t), 1, &event, &more));
        expect_eq(status_of(t, loop.active).state, DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_get_status, accepted_end)
{
        struct loop loop = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});

        loop_join(t, &loop);
        expect_eq(status_of(t, loop.passive).state, DAT_EP_STATE_CONNECTED);
        must(dat_ep_disconnect(loop.active, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_eq(status_of(t, loop.passive).state, DAT_EP_STATE_DISCONNECTED);
}

CASE(ep_get_status, rsp_freed)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_RESERVED);

        release(t, ep_rsp(t, ep));

        expect_eq(status_of(t, ep).state, DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_get_status, passive_rejected)
{
        DAT_EP_HANDLE ep = ep_in(t, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);

        release(t, ep_request(t, ep));

        expect_eq(status_of(t, ep).state, DAT_EP_STATE_UNCONNECTED);
}

CASE(ep_get_status, own_state)
{
        struct loop left = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        struct loop joined = loop_of(t, (struct ep_opts){0}, (struct ep_opts){0});
        DAT_EP_HANDLE unconnected = ep_with(t);
        DAT_EP_HANDLE reserved = ep_in(t, DAT_EP_STATE_RESERVED);

        ep_turn_leave(t, &left);
        loop_join(t, &joined);

        expect_eq(status_of(t, left.active).state, DAT_EP_STATE_DISCONNECTED);
        expect_eq(status_of(t, joined.active).state, DAT_EP_STATE_CONNECTED);
        expect_eq(status_of(t, joined.passive).state, DAT_EP_STATE_CONNECTED);
        expect_eq(status_of(t, unconnected).state, DAT_EP_STATE_UNCONNECTED);
        expect_eq(status_of(t, reserved).state, DAT_EP_STATE_RESERVED);
        release(t, left.active);
        expect_eq(status_of(t, ep_with(t)).state, DAT_EP_STATE_UNCONNECTED);
}
