/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_dup_connect: connections to the same peer as another EP, and the effects on that EP. */
#include "clauses/ep_dup_connect.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"

#include <string.h>

#define BRIEF_US 30000 /* of a request that times out */

/* The cases of both pages that connect, by this page's call. */
#define CONNECT_CASE(name_, body_)    \
        CASE(ep_dup_connect, name_)   \
        {                             \
                body_(t, AS_ANOTHER); \
        }
#define CONNECT_FAMILY(name_, rows_, body_)  \
        FAMILY(ep_dup_connect, name_, rows_) \
        {                                    \
                body_(t, AS_ANOTHER, row);   \
        }
#include "cases/ep/shared/connect_cases.h"

/*
 * The remote end
 */

/* A stage at another qualifier, of which requests come to the same EVD. */
static void second_stage(struct test *t, struct stage *other, const struct stage *stage)
{
        stage_set(t, other, AS_ANOTHER);
        must_that(other->loop.qual != stage->loop.qual, "two service points have one qualifier");
}

/* Of two EPs that are connected to two service points, each is followed to its own. */
CASE(ep_dup_connect, remote_of_each)
{
        struct stage stage;
        struct stage other;

        stage_set(t, &stage, AS_ANOTHER);
        second_stage(t, &other, &stage);
        other.asking.data = other.data;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect(connect_ask(&other.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &other);
        expect_message(t, stage.asking.ep, stage.loop.passive);
        expect_message(t, other.asking.ep, other.loop.passive);
}

/* One more EP is connected to the stage's service point. */
static void join_stage(struct test *t, struct stage *stage, DAT_EP_HANDLE ep)
{
        struct loop loop = stage->loop;
        DAT_EP_HANDLE passive = ep_with(t, .srq = DAT_HANDLE_NULL);

        loop.active = ep;
        if (loop.rsp)
                stage->loop.passive = passive;
        else
                loop.passive = passive;
        loop_connect(t, ep, loop.qual);
        loop_accept(t, &loop);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        stage->loop.rsp = loop.rsp;
        loop_open_again(t, &stage->loop);
}

/* An EP is followed to where it is connected now, not to where it was connected before. */
CASE(ep_dup_connect, as_one_connected_anew)
{
        struct stage stage;
        struct stage other;

        stage_set(t, &stage, AS_ANOTHER);
        second_stage(t, &other, &stage);
        must(dat_ep_disconnect(stage.asking.like, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, stage.asking.like), DAT_CONNECTION_EVENT_DISCONNECTED);
        must(dat_ep_reset(stage.asking.like));
        release(t, stage.asking.ep);
        join_stage(t, &other, stage.asking.like);
        other.asking.like = stage.asking.like;
        expect(connect_ask(&other.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &other);
        expect_empty(t, stage.loop.requests);
        expect_loop_carries(t, other.asking.ep, other.loop.passive);
}

/* An EP that was connected as another is followed as well, when that other one is gone. */
CASE(ep_dup_connect, as_one_that_followed)
{
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        release(t, stage.old.active);
        stage.asking.like = stage.asking.ep;
        stage.asking.ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        stage.loop.passive = ep_with(t, .srq = DAT_HANDLE_NULL);
        loop_open_again(t, &stage.loop);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

static const struct high_bits high_bits[] = {HIGH_BITS};

/* The port of an EP does not name such a service point. */
FAMILY(ep_dup_connect, as_one_at_high_qualifier, high_bits)
{
        DAT_EP_HANDLE like = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct stage stage;
        struct loop there;
        DAT_EVENT event;
        DAT_RETURN ret;

        stage_set(t, &stage, AS_ANOTHER);
        there = (struct loop){
            .requests = stage.loop.requests,
            .active = like,
            .passive = ep_with(t, .srq = DAT_HANDLE_NULL),
        };
        there.qual = stage.loop.qual | row->bits;
        ret = dat_psp_create(ia(t), there.qual, there.requests, DAT_PSP_CONSUMER_FLAG, &there.psp);
        if (dat_is(ret, DAT_INVALID_PARAMETER))
                end_noted(t, "the transport has no such qualifiers (PSP-4)");
        must(ret);
        adopt(t, DAT_HANDLE_TYPE_PSP, there.psp);
        loop_connect(t, like, there.qual);
        loop_accept(t, &there);
        must_event(ep_connect_evd(t, like), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, there.passive), DAT_CONNECTION_EVENT_ESTABLISHED);

        stage.asking.like = like;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        event = expect_event(stage.loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        expect_eq(event.event_data.cr_arrival_event_data.conn_qual, there.qual);
        expect_that(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == there.psp,
                    "the request is for another service point");
}

/*
 * The service point that an EP was connected at, and what a request as that EP's comes to then. The
 * EP is the loop's active one; what its passive one was, may be another one afterwards.
 */
static void join_at(struct test *t, struct loop *loop)
{
        loop_connect(t, loop->active, loop->qual);
        loop_accept(t, loop);
        must_event(ep_connect_evd(t, loop->active), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, loop->passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        loop->passive = ep_with(t, .srq = DAT_HANDLE_NULL);
}

static void at_chosen(struct test *t, struct loop *loop)
{
        must(dat_psp_create_any(ia(t), &loop->qual, loop->requests, DAT_PSP_CONSUMER_FLAG,
                                &loop->psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, loop->psp);
        join_at(t, loop);
}

static void at_made_anew(struct test *t, struct loop *loop)
{
        DAT_PSP_HANDLE former = loop_listen(t, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->qual);

        join_at(t, loop);
        release(t, former);
        loop->requests = request_evd(t);
        must(dat_psp_create(ia(t), loop->qual, loop->requests, DAT_PSP_CONSUMER_FLAG, &loop->psp));
        adopt(t, DAT_HANDLE_TYPE_PSP, loop->psp);
}

static void at_reserved(struct test *t, struct loop *loop)
{
        loop->rsp = rsp_listen(t, loop->passive, loop->requests, &loop->qual);
        disown(t, loop->rsp);
        adopt_rsp(t, loop->rsp, loop->passive, loop->requests);
        join_at(t, loop);
        must(dat_rsp_create(ia(t), loop->qual, loop->passive, loop->requests, &loop->rsp));
        adopt_rsp(t, loop->rsp, loop->passive, loop->requests);
}

static void at_providers(struct test *t, struct loop *loop)
{
        loop->psp = loop_listen(t, loop->requests, DAT_PSP_PROVIDER_FLAG, &loop->qual);
        loop_connect(t, loop->active, loop->qual);
        loop_take_request(t, loop);
        expect_own_accepted(t, loop->request, loop);
        loop->passive = DAT_HANDLE_NULL;
}

static const struct followed_point {
        const char *id;
        void (*join)(struct test *t, struct loop *loop);
} followed_points[] = {
    {"chosen", at_chosen},
    {"made_anew", at_made_anew},
    {"reserved", at_reserved},
    {"of_providers_eps", at_providers},
};

FAMILY(ep_dup_connect, as_one_at, followed_points)
{
        struct loop loop = loop_new(t);
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);

        row->join(t, &loop);
        expect(dat_ep_dup_connect(ep, loop.active, event_timeout(t), 0, NULL, DAT_QOS_BEST_EFFORT),
               DAT_SUCCESS);
        loop.active = ep;
        loop.request = expect_request(t, loop.requests, loop_point(&loop), loop.qual);
        if (loop.passive)
                expect_accepted_by(t, loop.request, loop_named(&loop), &loop);
        else
                loop.passive = expect_own_accepted(t, loop.request, &loop);
        expect_loop_carries(t, ep, loop.passive);
        expect_empty(t, loop.requests);
}

/* The request of the followed EP was handed to another service point, which reports to one EVD. */
CASE(ep_dup_connect, as_one_handed_off)
{
        DAT_EP_HANDLE like = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct stage stage;
        struct loop there;
        DAT_EVENT event;

        stage_set(t, &stage, AS_ANOTHER);
        there = (struct loop){
            .requests = stage.loop.requests,
            .active = like,
            .passive = ep_with(t, .srq = DAT_HANDLE_NULL),
        };
        there.psp = loop_listen(t, there.requests, DAT_PSP_CONSUMER_FLAG, &there.qual);
        loop_connect(t, like, stage.loop.qual);
        loop_take_request(t, &stage.loop);
        must(dat_cr_handoff(stage.loop.request, there.qual));
        loop_accept(t, &there);
        must_event(ep_connect_evd(t, like), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, there.passive), DAT_CONNECTION_EVENT_ESTABLISHED);

        stage.asking.like = like;
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        event = expect_event(stage.loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        if (event.event_data.cr_arrival_event_data.conn_qual == stage.loop.qual) {
                record(t, "the request came to where the duplicated one came first");
                must(dat_cr_handoff(event.event_data.cr_arrival_event_data.cr_handle, there.qual));
                event = expect_event(stage.loop.requests, DAT_CONNECTION_REQUEST_EVENT);
        }
        expect_eq(event.event_data.cr_arrival_event_data.conn_qual, there.qual);
        expect_that(event.event_data.cr_arrival_event_data.sp_handle.psp_handle == there.psp,
                    "the request is for another service point");
        must(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, stage.loop.passive, 0,
                           NULL));
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_ESTABLISHED,
                       DAT_EP_STATE_CONNECTED);
        expect_event(ep_connect_evd(t, stage.loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);
        expect_empty(t, stage.loop.requests);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
        expect_loop_carries(t, like, there.passive);
}

/* An EP is followed that asked for several paths, and got one where the provider has no more. */
CASE(ep_dup_connect, as_one_of_paths)
{
        struct stage stage;
        struct asking first;
        DAT_RETURN ret;

        stage_set(t, &stage, AS_ANOTHER);
        first = stage.asking;
        first.way = BY_ADDRESS;
        first.ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        first.qual = stage.loop.qual;
        first.flags = DAT_CONNECT_MULTIPATH_FLAG;
        ret = connect_ask(&first);
        if (!provider_attr(t)->supports_multipath && !dat_is(ret, DAT_SUCCESS)) {
                first.flags = DAT_CONNECT_DEFAULT_FLAG;
                ret = connect_ask(&first);
        }
        must_that_of("dat_ep_connect", dat_is(ret, DAT_SUCCESS), "it returned %s",
                     name_of_return(ret));
        loop_accept(t, &stage.loop);
        must_event(ep_connect_evd(t, first.ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_event(ep_connect_evd(t, stage.loop.passive), DAT_CONNECTION_EVENT_ESTABLISHED);

        stage.asking.like = first.ep;
        stage.loop.passive = ep_with(t, .srq = DAT_HANDLE_NULL);
        loop_open_again(t, &stage.loop);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
        expect_eq(ep_state(t, first.ep), DAT_EP_STATE_CONNECTED);
}

enum vain { REJECTED, GIVEN_UP, LEFT };

/* A request as another EP's comes to nothing, or its connection ends; and the EP is reset. */
static void ask_in_vain(struct test *t, struct stage *stage, enum vain how)
{
        DAT_EP_HANDLE ep = stage->asking.ep;

        expect(connect_ask(&stage->asking), DAT_SUCCESS);
        switch (how) {
        case REJECTED:
                expect_stage_heard(t, stage);
                must(dat_cr_reject(stage->loop.request));
                expect_ep_told(t, ep, DAT_CONNECTION_EVENT_PEER_REJECTED,
                               DAT_EP_STATE_DISCONNECTED);
                break;
        case GIVEN_UP:
                expect_stage_heard(t, stage);
                ep_give_up(t, ep);
                break;
        case LEFT:
                expect_stage_accepted(t, stage);
                must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
                must_event(ep_connect_evd(t, stage->loop.passive),
                           DAT_CONNECTION_EVENT_DISCONNECTED);
                must(dat_ep_reset(stage->loop.passive));
                break;
        }
        must(dat_ep_reset(ep));
        expect_loop_carries(t, stage->asking.like, stage->old.passive);
}

/* A request that is not answered in time, and may still come: no other one comes after it. */
static void ask_briefly(struct test *t, const struct stage *stage)
{
        struct asking asking = stage->asking;

        asking.ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        asking.timeout = BRIEF_US;
        expect(connect_ask(&asking), DAT_SUCCESS);
        expect_ep_failed(t, asking.ep, asking.timeout, DAT_CONNECTION_EVENT_TIMED_OUT,
                         DAT_CONNECTION_EVENT_UNREACHABLE);
        expect_loop_carries(t, asking.like, stage->old.passive);
}

/* It does not depend on those that follow, nor do they depend on it. */
CASE(ep_dup_connect, like_goes_on)
{
        struct ep_snapshot before;
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        before = ep_snapshot(t, stage.asking.like);
        ask_in_vain(t, &stage, REJECTED);
        ask_in_vain(t, &stage, GIVEN_UP);
        ask_in_vain(t, &stage, LEFT);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_ep_kept(t, stage.asking.like, &before, 0);
        expect_loop_carries(t, stage.asking.like, stage.old.passive);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
        ask_briefly(t, &stage);
        expect_empty(t, ep_connect_evd(t, stage.asking.like));
        expect_empty(t, ep_connect_evd(t, stage.old.passive));
        must(dat_ep_disconnect(stage.asking.like, DAT_CLOSE_ABRUPT_FLAG));
        must_event(ep_connect_evd(t, stage.asking.like), DAT_CONNECTION_EVENT_DISCONNECTED);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* Either disconnect event may report a broken connection; then neither end has a remote address. */
CASE(ep_dup_connect, like_broken)
{
        struct ep_snapshot before;
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        ep_break(t, &stage.old);
        must_have_broken(t, stage.old.active);
        before = ep_look(t, stage.asking.ep);
        expect(connect_ask(&stage.asking), DAT_INVALID_STATE);
        expect_ep_kept(t, stage.asking.ep, &before, 0);
        expect_empty(t, ep_connect_evd(t, stage.asking.ep));
        expect_empty(t, stage.loop.requests);
}

/* The EP of an SRQ: the one that asks, or the one that is followed. */
static const struct srq_row {
        const char *id;
        bool asks;
} of_srqs[] = {{"asks", true}, {"followed", false}};

FAMILY(ep_dup_connect, of_srq, of_srqs)
{
        struct stage stage;

        if (row->asks) {
                connect_of_srq(t, AS_ANOTHER);
                return;
        }
        stage_set(t, &stage, AS_ANOTHER);
        stage.asking.like = ep_with(t, .srq = srq_with(t));
        join_stage(t, &stage, stage.asking.like);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

enum meanwhile { LIKE_DISCONNECTS, ITS_OTHER_END_DOES, LIKE_IS_FREED };

static const struct meanwhile_row {
        const char *id;
        enum meanwhile what;
} meanwhiles[] = {
    {"disconnected", LIKE_DISCONNECTS},
    {"disconnected_by_its_other_end", ITS_OTHER_END_DOES},
    {"freed", LIKE_IS_FREED},
};

FAMILY(ep_dup_connect, like_ends_meanwhile, meanwhiles)
{
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        switch (row->what) {
        case LIKE_DISCONNECTS:
                must(dat_ep_disconnect(stage.old.active, DAT_CLOSE_ABRUPT_FLAG));
                break;
        case ITS_OTHER_END_DOES:
                must(dat_ep_disconnect(stage.old.passive, DAT_CLOSE_ABRUPT_FLAG));
                must_event(ep_connect_evd(t, stage.old.active), DAT_CONNECTION_EVENT_DISCONNECTED);
                break;
        case LIKE_IS_FREED:
                release(t, stage.old.active);
                break;
        }
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.ep, stage.loop.passive);
}

/* The service point that the other EP was connected by is there no more. */
CASE(ep_dup_connect, not_listening)
{
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        release(t, loop_point(&stage.loop));
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_ep_told(t, stage.asking.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
                       DAT_EP_STATE_DISCONNECTED);
        expect_loop_carries(t, stage.asking.like, stage.old.passive);
}

/* What the passive end of a connection is followed to, the page leaves open. */
CASE(ep_dup_connect, as_a_passive_end)
{
        struct ep_snapshot before;
        struct stage stage;
        DAT_RETURN ret;

        stage_set(t, &stage, AS_ANOTHER);
        before = ep_snapshot(t, stage.old.passive);
        stage.asking.like = stage.old.passive;
        ret = connect_ask(&stage.asking);
        if (dat_is(ret, DAT_SUCCESS)) {
                DAT_EVENT event;
                DAT_COUNT more;

                expect(dat_evd_wait(ep_connect_evd(t, stage.asking.ep), 2 * event_timeout(t), 1,
                                    &event, &more),
                       DAT_SUCCESS);
                record(t, "a request as a passive end's ended in %s",
                       name_of_event(event.event_number));
                expect_eq(ep_state(t, stage.asking.ep),
                          event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED
                              ? DAT_EP_STATE_CONNECTED
                              : DAT_EP_STATE_DISCONNECTED);
        }
        expect_ep_kept(t, stage.old.passive, &before, 0);
        expect_loop_carries(t, stage.old.active, stage.old.passive);
}

/*
 * States
 */

FAMILY(ep_dup_connect, in_state, ep_states)
{
        EACH_EP_ROUTE (route, row->state) {
                struct ep_held held = ep_hold_by(t, route);
                struct asking asking;
                struct stage stage;

                stage_set(t, &stage, AS_ANOTHER);
                asking = stage.asking;
                asking.ep = held.ep;
                if (row->state == DAT_EP_STATE_UNCONNECTED) {
                        stage.asking = asking;
                        stage.loop.active = held.ep;
                        expect(connect_ask(&asking), DAT_SUCCESS);
                        expect_stage_accepted(t, &stage);
                        continue;
                }
                ep_hold_receive(t, &held);
                expect(connect_ask(&asking), DAT_INVALID_STATE);
                expect_ep_untouched(t, &held);
                expect_empty(t, stage.loop.requests);
                expect_loop_carries(t, stage.asking.like, stage.old.passive);
        }
}

/* A request as the EP's is one to the peer, which is asked again. */
static void expect_followed(struct test *t, DAT_EP_HANDLE ep)
{
        struct peer_cr request = expect_peer_request(t);

        peer_accept(&request, NULL, 0);
        expect_ep_told(t, ep, DAT_CONNECTION_EVENT_ESTABLISHED, DAT_EP_STATE_CONNECTED);
}

/* Whether the EP has no receive, by dat_ep_get_status. */
static bool recv_idle(struct test *t, DAT_EP_HANDLE ep)
{
        DAT_EP_STATE state;
        DAT_BOOLEAN recv = DAT_TRUE;
        DAT_BOOLEAN request = DAT_TRUE;

        must(dat_ep_get_status(ep, &state, &recv, &request));
        return recv;
}

/* Posts a receive to the EP. Returns whether dat_ep_get_status tells of it. */
static bool shows_receive(struct test *t, DAT_EP_HANDLE ep)
{
        loop_post_recv(t, ep, buf_with(t), 1);
        return !recv_idle(t, ep);
}

/* A receive that was posted to the EP is still there, as far as it was shown. */
static void expect_receive_held(struct test *t, DAT_EP_HANDLE ep, bool shown)
{
        if (shown)
                expect_that(!recv_idle(t, ep), "the EP has no receive any more");
        expect_empty(t, ep_recv_evd(t, ep));
}

/* A request as an EP's that came to its state by this route. */
static void ask_as_one_by(struct test *t, const struct ep_route *route)
{
        DAT_EP_HANDLE ep = ep_with(t, .srq = DAT_HANDLE_NULL);
        struct ep_held held = ep_hold_by(t, route);
        struct ep_snapshot before = ep_snapshot(t, ep);
        struct asking asking = {
            .way = AS_ANOTHER,
            .ep = ep,
            .like = held.ep,
            .timeout = event_timeout(t) / 2,
            .qos = DAT_QOS_BEST_EFFORT,
        };
        DAT_RETURN ret;
        bool shown;

        ep_hold_receive(t, &held);
        shown = shows_receive(t, ep);
        ret = connect_ask(&asking);
        if (ep_is_in(&held, EP_IN(CONNECTED))) {
                expect(ret, DAT_SUCCESS);
                expect_followed(t, ep);
                expect_ep_untouched(t, &held);
                return;
        }
        if (ep_is_in(&held, EP_IN(DISCONNECT_PENDING)) && dat_is(ret, DAT_SUCCESS)) {
                record(t, "an EP that waits for its end is followed");
                expect_ep_untouched(t, &held);
                return;
        }
        expect(ret, DAT_INVALID_STATE);
        expect_ep_kept(t, ep, &before, 0);
        expect_empty(t, ep_connect_evd(t, ep));
        expect_receive_held(t, ep, shown);
        expect_ep_untouched(t, &held);
}

/* The followed EP has asked for its connection: one that accepted has no qualifier to follow. */
FAMILY(ep_dup_connect, like_in_state, ep_states)
{
        if (row->state == DAT_EP_STATE_CONNECTED) {
                ask_as_one_by(t, ep_route_first(t, row->state));
                return;
        }
        EACH_EP_ROUTE (route, row->state)
                ask_as_one_by(t, route);
}

/* An EP that is connected is not Unconnected, and one that is not has nothing to be followed to. */
static const struct ep_itself {
        const char *id;
        bool connected;
} itself[] = {{"unconnected", false}, {"connected", true}};

FAMILY(ep_dup_connect, as_itself, itself)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        asking = stage.asking;
        if (row->connected)
                asking.ep = asking.like;
        else
                asking.like = asking.ep;
        before = ep_look(t, asking.ep);
        expect(connect_ask(&asking), DAT_INVALID_STATE);
        expect_ep_kept(t, asking.ep, &before, 0);
        expect_empty(t, ep_connect_evd(t, asking.ep));
        expect(connect_ask(&stage.asking), DAT_SUCCESS);
        expect_stage_accepted(t, &stage);
        expect_loop_carries(t, stage.asking.like, stage.old.passive);
}

/* An EP of another IA, connected to the stage's service point. */
static DAT_EP_HANDLE foreign_like(struct test *t, struct stage *stage)
{
        DAT_IA_HANDLE other = other_ia(t);
        DAT_EP_PARAM param = ep_snapshot(t, stage->asking.ep).param;
        DAT_EVD_HANDLE recv = evd_with(t, .ia = other);
        DAT_EVD_HANDLE request = evd_with(t, .ia = other);
        DAT_EVD_HANDLE connect = evd_with(t, .ia = other, .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
        DAT_EP_HANDLE passive = ep_with(t, .srq = DAT_HANDLE_NULL);

        must(dat_ep_create(other, pz_of(t, other), recv, request, connect, &param.ep_attr, &ep));
        adopt(t, DAT_HANDLE_TYPE_EP, ep);
        must(dat_ep_connect(ep, stage->asking.address, stage->asking.qual, event_timeout(t), 0,
                            NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        loop_take_request(t, &stage->loop);
        must(dat_cr_accept(stage->loop.request, passive, 0, NULL));
        must_event(connect, DAT_CONNECTION_EVENT_ESTABLISHED);
        return ep;
}

CASE(ep_dup_connect, as_one_of_another_ia)
{
        struct ep_snapshot before;
        struct asking asking;
        struct stage stage;
        DAT_RETURN ret;

        stage_set(t, &stage, AS_ANOTHER);
        asking = stage.asking;
        asking.like = foreign_like(t, &stage);
        before = stage_hold(t, &stage);
        ret = connect_ask(&asking);
        if (dat_is(ret, DAT_SUCCESS)) {
                note(t, "an EP of another IA is followed");
                expect_stage_accepted(t, &stage);
                return;
        }
        expect(ret, DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER);
        expect_stage_connects(t, &stage, &before);
}

LEGAL(ep_dup_connect)
{
        static struct stage stage;

        stage_set(t, &stage, AS_ANOTHER);
        call->ep_handle = stage.asking.ep;
        call->ep_dup_handle = stage.asking.like;
        call->timeout = stage.asking.timeout;
        call->private_data_size = stage.asking.size;
        call->private_data = stage.asking.data;
        call->quality_of_service = stage.asking.qos;
}
