/* SPDX-License-Identifier: BSD-2-Clause */
/* An EP in whichever of its nine states, and the way from there to a connection. */
#include <stdio.h>
#include <string.h>

#include "case/ep_attr.h"
#include "case/poison.h"
#include "case/step.h"
#include "case/test.h"
#include "evidence/api.h"

#define CONN_QUAL_FIRST 20000
#define CONN_QUAL_COUNT 1000
#define CR_QLEN         8
#define CONNECT_QLEN    8
#define ASKER_BYTES     64
#define LAST_BYTES      1     /* of the message that a graceful disconnect waits for */
#define BRIEF_US        60000 /* of a request that times out */

static const char *state_name(DAT_EP_STATE state)
{
        const char *name = api_member_name(api_enum_named("DAT_EP_STATE"), (uint64_t)state);

        return name ? name : "a state without a name";
}

/*
 * A service point at a qualifier that is free: an RSP for `ep`, or for null a PSP with these flags.
 */
static struct object *listen_by(struct test *t, DAT_EP_HANDLE ep, DAT_PSP_FLAGS flags)
{
        DAT_EVD_HANDLE evd = evd_with(t, .qlen = CR_QLEN, .flags = DAT_EVD_CR_FLAG);
        DAT_HANDLE made = DAT_HANDLE_NULL;
        struct object *point;
        DAT_CONN_QUAL qual = 0;
        DAT_RETURN ret = point_make(t,
                                    (struct point_opts){.first = CONN_QUAL_FIRST,
                                                        .count = CONN_QUAL_COUNT,
                                                        .evd = evd,
                                                        .flags = flags,
                                                        .reserved = ep != DAT_HANDLE_NULL,
                                                        .ep = ep},
                                    &qual, &made);

        arrange(ret);
        point = object_add(t, ep ? OBJECT_RSP : OBJECT_PSP, made);
        point->ep = ep;
        point->cr_evd = evd;
        point->qual = qual;
        return point;
}

static struct object *reserve(struct test *t, DAT_EP_HANDLE ep)
{
        return listen_by(t, ep, DAT_PSP_CONSUMER_FLAG);
}

/* A request that has come to the service point from the peer's end. */
static struct object *keep_request(struct test *t, const struct object *point, struct peer_ep *end,
                                   const DAT_EVENT *event)
{
        struct object *request =
            object_add(t, OBJECT_CR, event->event_data.cr_arrival_event_data.cr_handle);

        request->ep = point->ep;
        request->end = end;
        return request;
}

/* The peer asks for a connection to the service point, and the request has come. */
static struct object *await_request(struct test *t, const struct object *point)
{
        struct peer_ep *end = peer_request(peer(t), point->qual);
        DAT_EVENT event = must_event(point->cr_evd, DAT_CONNECTION_REQUEST_EVENT);

        return keep_request(t, point, end, &event);
}

static DAT_EP_HANDLE reserved(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);

        reserve(t, ep);
        return ep;
}

static DAT_EP_HANDLE passive(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = reserved(t, opts);

        await_request(t, object_of_ep(t, ep, OBJECT_RSP));
        return ep;
}

/*
 * The EVDs that this EP is to be given stand on the list before its request: they are freed after
 * the request has been rejected.
 */
static DAT_EP_HANDLE tentative(struct test *t, struct ep_opts opts)
{
        DAT_EVD_HANDLE recv = evd_with(t);
        DAT_EVD_HANDLE send = evd_with(t);
        DAT_EVD_HANDLE connect =
            evd_with(t, .qlen = CONNECT_QLEN, .flags = DAT_EVD_CONNECTION_FLAG);
        DAT_CR_PARAM param;
        struct object *request;

        (void)opts;
        pz(t);
        request = await_request(t, listen_by(t, DAT_HANDLE_NULL, DAT_PSP_PROVIDER_FLAG));
        poison(&param, sizeof(param));
        arrange(dat_cr_query(request->handle, DAT_CR_FIELD_LOCAL_EP_HANDLE, &param));
        MUST_BE_WRITTEN("dat_cr_query", param, local_ep_handle);
        request->ep = param.local_ep_handle;
        request->recv_evd = recv;
        request->request_evd = send;
        request->connect_evd = connect;
        return param.local_ep_handle;
}

static DAT_EP_HANDLE asking(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);

        peer_leave_asking(peer(t), ep);
        return ep;
}

static void connect_to_peer(struct test *t, DAT_EP_HANDLE ep)
{
        ep_object(t, ep)->end = peer_connect(peer(t), ep);
}

static DAT_EP_HANDLE connected(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);

        connect_to_peer(t, ep);
        return ep;
}

/*
 * Nothing waited. That a transport has no such state is no provider's to say: both ends tell then
 * that the connection is at its end, this one while its peer is stopped.
 */
static _Noreturn void ended_at_once(struct test *t, DAT_EP_HANDLE ep, struct peer_ep *end)
{
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        peer_wait_disconnected(end);
        unsupported(t, "DAT_EP_STATE_DISCONNECT_PENDING: the transport let nothing wait");
}

/*
 * Whatever a graceful disconnect waits for, it does not come: the peer has no receive for the send,
 * and is stopped, so that it does not answer.
 */
static DAT_EP_HANDLE disconnecting(struct test *t, struct ep_opts opts)
{
        struct buf *buf = buf_with(t, .length = LAST_BYTES, .pz = opts.pz);
        DAT_LMR_TRIPLET segment = triplet(buf, 0, LAST_BYTES);
        DAT_EP_HANDLE ep = ep_make(t, opts);
        struct peer_ep *end = peer_connect(peer(t), ep);

        ep_object(t, ep)->end = end;
        arrange(dat_ep_post_send(ep, 1, &segment, (DAT_DTO_COOKIE){.as_64 = 0},
                                 DAT_COMPLETION_DEFAULT_FLAG));
        peer_freeze(peer(t));
        arrange(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
        if (ep_known_state(t, ep) == DAT_EP_STATE_DISCONNECTED)
                ended_at_once(t, ep, end);
        return ep;
}

/* The EP of the request is named where it is the consumer's; an RSP's and a Provider's are not. */
static DAT_RETURN accept_request(struct test *t, struct object *request, DAT_EP_HANDLE named)
{
        DAT_RETURN ret = dat_cr_accept(request->handle, named, 0, NULL);
        struct object *ep;

        if (!dat_is(ret, DAT_SUCCESS))
                return ret;
        if (!object_find(t, request->ep)) {
                ep = object_add(t, OBJECT_EP, request->ep);
                ep->recv_evd = request->recv_evd;
                ep->request_evd = request->request_evd;
                ep->connect_evd = request->connect_evd;
        }
        object_find(t, request->ep)->end = request->end;
        object_remove(t, request);
        return ret;
}

/*
 * The EP is Connected while its asker is stopped. That a transport completes a connection without
 * it is no provider's to say: what is written to the asker's memory arrives then.
 */
static _Noreturn void completed_at_once(struct test *t, DAT_EP_HANDLE ep, DAT_PZ_HANDLE zone,
                                        const struct peer_memory *memory)
{
        struct buf *buf = buf_with(t, .length = ASKER_BYTES, .pz = zone);
        DAT_LMR_TRIPLET from = triplet(buf, 0, ASKER_BYTES);
        DAT_RMR_TRIPLET to = {
            .rmr_context = memory->rmr_context,
            .target_address = memory->address,
            .segment_length = ASKER_BYTES,
        };

        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        arrange(dat_ep_post_rdma_write(ep, 1, &from, (DAT_DTO_COOKIE){.as_64 = 0}, &to,
                                       DAT_COMPLETION_DEFAULT_FLAG));
        must_dto(ep_request_evd(t, ep));
        unsupported(t, "DAT_EP_STATE_COMPLETION_PENDING: the transport waits for no peer");
}

/* An accepted connection that its asker, stopped meanwhile, does not complete. */
static DAT_EP_HANDLE completing(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = passive(t, opts);
        struct object *request = object_of_ep(t, ep, OBJECT_CR);
        struct peer_memory memory = peer_expose(request->end, ASKER_BYTES);

        peer_freeze(peer(t));
        arrange(accept_request(t, request, DAT_HANDLE_NULL));
        if (ep_known_state(t, ep) == DAT_EP_STATE_CONNECTED)
                completed_at_once(t, ep, opts.pz, &memory);
        return ep;
}

/* The call that brings an EP into a plain state. */
static const char *call_into(DAT_EP_STATE state)
{
        switch (state) {
        case DAT_EP_STATE_RESERVED:
        case DAT_EP_STATE_PASSIVE_CONNECTION_PENDING:
                return "dat_rsp_create";
        case DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING:
                return "dat_psp_create";
        case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
        case DAT_EP_STATE_CONNECTED:
                return "dat_ep_connect";
        case DAT_EP_STATE_DISCONNECT_PENDING:
        case DAT_EP_STATE_DISCONNECTED:
                return "dat_ep_disconnect";
        case DAT_EP_STATE_COMPLETION_PENDING:
                return "dat_cr_accept";
        default:
                return "dat_ep_create";
        }
}

/*
 * Routes into Connected
 */

/* The request at the service point is accepted, and the point is freed then. */
static void accept_at(struct test *t, const struct object *point, struct object *request,
                      DAT_EP_HANDLE named)
{
        DAT_EP_HANDLE ep = request->ep;
        struct peer_ep *end = request->end;

        arrange(accept_request(t, request, named));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED);
        must_be_connected(t, ep);
        peer_wait_connected(end);
        release(t, point->handle);
}

static void accept_passive(struct test *t, DAT_EP_HANDLE ep)
{
        accept_at(t, object_of_ep(t, ep, OBJECT_RSP), object_of_ep(t, ep, OBJECT_CR),
                  DAT_HANDLE_NULL);
}

static DAT_EP_HANDLE accepted(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = passive(t, opts);

        accept_passive(t, ep);
        return ep;
}

static DAT_EP_HANDLE accepted_at_psp(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);
        struct object *point = listen_by(t, DAT_HANDLE_NULL, DAT_PSP_CONSUMER_FLAG);
        struct object *request = await_request(t, point);

        request->ep = ep;
        accept_at(t, point, request, ep);
        return ep;
}

static void disconnect(struct test *t, DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags)
{
        arrange(dat_ep_disconnect(ep, flags));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        ep_object(t, ep)->end = NULL;
}

static DAT_EP_HANDLE reset(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = connected(t, opts);

        disconnect(t, ep, DAT_CLOSE_ABRUPT_FLAG);
        arrange(dat_ep_reset(ep));
        return ep;
}

static DAT_EP_HANDLE connected_again(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = reset(t, opts);

        connect_to_peer(t, ep);
        return ep;
}

static DAT_EP_HANDLE reset_accepted(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = accepted(t, opts);

        disconnect(t, ep, DAT_CLOSE_ABRUPT_FLAG);
        arrange(dat_ep_reset(ep));
        return ep;
}

static DAT_EP_HANDLE accepted_again(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = reset_accepted(t, opts);

        await_request(t, reserve(t, ep));
        accept_passive(t, ep);
        return ep;
}

static DAT_EP_HANDLE duplicated(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE like = connected(t, (struct ep_opts){0});
        DAT_EP_HANDLE ep = ep_make(t, opts);

        ep_object(t, ep)->end = peer_duplicate(peer(t), ep, like);
        return ep;
}

/*
 * Routes into Disconnected
 */

static void leave(struct test *t, DAT_EP_HANDLE ep)
{
        disconnect(t, ep, DAT_CLOSE_ABRUPT_FLAG);
}

static void leave_gracefully(struct test *t, DAT_EP_HANDLE ep)
{
        disconnect(t, ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static void be_left(struct test *t, DAT_EP_HANDLE ep)
{
        peer_disconnect(ep_end(t, ep), DAT_CLOSE_ABRUPT_FLAG);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED);
        ep_object(t, ep)->end = NULL;
}

/* Without the token: a request that the peer has not taken is a stranger's to it later. */
static void ask(struct test *t, DAT_EP_HANDLE ep, struct peer_place *place, DAT_TIMEOUT timeout)
{
        arrange(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&place->address, place->qual, timeout, 0,
                               NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

static DAT_EP_HANDLE rejected(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);
        struct peer_place place = peer_listen(peer(t));
        struct peer_cr request;

        ask(t, ep, &place, event_timeout(t));
        request = peer_take_request(peer(t));
        peer_reject(&request);
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_PEER_REJECTED);
        peer_stop_listening(peer(t), place.qual);
        return ep;
}

static DAT_EP_HANDLE unheard(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);
        struct peer_place place = peer_listen(peer(t));

        peer_stop_listening(peer(t), place.qual);
        ask(t, ep, &place, event_timeout(t));
        must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        return ep;
}

/* The request is left alone until its time is over, which either event reports (EP-3). */
static DAT_EP_HANDLE timed_out(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = ep_make(t, opts);
        struct peer_place place = peer_listen(peer(t));
        DAT_EVENT event;
        DAT_COUNT more;

        ask(t, ep, &place, BRIEF_US);
        poison(&event, sizeof(event));
        arrange(dat_evd_wait(ep_connect_evd(t, ep), event_timeout(t), 1, &event, &more));
        must_show(t, "dat_ep_connect", "dat_evd_wait", "that the time is over",
                  event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT ||
                      event.event_number == DAT_CONNECTION_EVENT_UNREACHABLE);
        return ep;
}

/*
 * The request was given up before it was accepted. If the accept itself says so (CR-5), the EP is
 * connected and leaves instead.
 */
static DAT_EP_HANDLE accepted_in_vain(struct test *t, struct ep_opts opts)
{
        DAT_EP_HANDLE ep = passive(t, opts);
        struct object *request = object_of_ep(t, ep, OBJECT_CR);
        DAT_HANDLE point = object_of_ep(t, ep, OBJECT_RSP)->handle;

        peer_give_up(request->end);
        if (dat_is(accept_request(t, request, DAT_HANDLE_NULL), DAT_SUCCESS)) {
                must_event(ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
                ep_object(t, ep)->end = NULL;
                release(t, point);
                return ep;
        }
        release(t, request->handle);
        release(t, point);
        connect_to_peer(t, ep);
        leave(t, ep);
        return ep;
}

/*
 * The routes of an EP into each state. The first one into a state is the shortest, and the undrawn
 * ones are the last; an EP may be in Unconnected without a peer by the first one only.
 */
static const struct ep_route ep_routes[] = {
    {.id = "made", .state = DAT_EP_STATE_UNCONNECTED, .make = ep_make},
    {.id = "reset", .state = DAT_EP_STATE_UNCONNECTED, .make = reset},
    {.id = "reset, after it accepted",
     .state = DAT_EP_STATE_UNCONNECTED,
     .make = reset_accepted,
     .undrawn = true},
    {.id = "an RSP", .state = DAT_EP_STATE_RESERVED, .make = reserved},
    {.id = "a request at its RSP",
     .state = DAT_EP_STATE_PASSIVE_CONNECTION_PENDING,
     .make = passive},
    {.id = "a request at a PSP",
     .state = DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING,
     .make = tentative},
    {.id = "its request", .state = DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, .make = asking},
    {.id = "its request, accepted", .state = DAT_EP_STATE_CONNECTED, .make = connected},
    {.id = "a request that it accepted", .state = DAT_EP_STATE_CONNECTED, .make = accepted},
    {.id = "a request at a PSP that it accepted",
     .state = DAT_EP_STATE_CONNECTED,
     .make = accepted_at_psp},
    {.id = "dat_ep_dup_connect", .state = DAT_EP_STATE_CONNECTED, .make = duplicated},
    {.id = "a second request, after a reset",
     .state = DAT_EP_STATE_CONNECTED,
     .make = connected_again},
    {.id = "a second request that it accepted, after a reset",
     .state = DAT_EP_STATE_CONNECTED,
     .make = accepted_again,
     .undrawn = true},
    {.id = "a disconnect that waits",
     .state = DAT_EP_STATE_DISCONNECT_PENDING,
     .make = disconnecting},
    {.id = "its abrupt disconnect",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = connected,
     .end = leave},
    {.id = "its graceful disconnect",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = connected,
     .end = leave_gracefully},
    {.id = "the peer's disconnect",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = connected,
     .end = be_left},
    {.id = "a rejection", .state = DAT_EP_STATE_DISCONNECTED, .make = rejected},
    {.id = "a request that had no listener", .state = DAT_EP_STATE_DISCONNECTED, .make = unheard},
    {.id = "a request that timed out", .state = DAT_EP_STATE_DISCONNECTED, .make = timed_out},
    {.id = "a disconnect of the accepting side",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = accepted,
     .end = leave},
    {.id = "a disconnect after dat_ep_dup_connect",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = duplicated,
     .end = leave},
    {.id = "a second disconnect, after a reset",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = connected_again,
     .end = leave},
    {.id = "an accept of a request that was given up",
     .state = DAT_EP_STATE_DISCONNECTED,
     .make = accepted_in_vain,
     .undrawn = true},
    {.id = "an accept without an answer",
     .state = DAT_EP_STATE_COMPLETION_PENDING,
     .make = completing},
};

#define ROUTES (sizeof(ep_routes) / sizeof(ep_routes[0]))

/* A case without a peer has no connection to reset; some providers have no PSP for such an EP. */
static bool is_open(struct test *t, const struct ep_route *route)
{
        if (route->make == reset || route->make == reset_accepted)
                return t->entry->peers;
        return route->make != accepted_at_psp || !provider_makes_all_eps(t);
}

const struct ep_route *ep_route_next(struct test *t, DAT_EP_STATE state,
                                     const struct ep_route *before)
{
        const struct ep_route *route = before ? before + 1 : ep_routes;

        for (; route < ep_routes + ROUTES; route++) {
                if (route->state == plain_ep_state(state) && is_open(t, route))
                        return route;
        }
        return NULL;
}

const struct ep_route *ep_route_first(struct test *t, DAT_EP_STATE state)
{
        const struct ep_route *route = ep_route_next(t, state, NULL);

        if (!route)
                test_end(t, VERDICT_ERROR, "no route leads to state %d", (int)state);
        return route;
}

static const struct ep_route *draw_route(struct test *t, DAT_EP_STATE state)
{
        const struct ep_route *route = ep_route_first(t, state);
        uint64_t count = 0;

        for (const struct ep_route *next = route; next; next = ep_route_next(t, state, next))
                count += !next->undrawn;
        if (count == 1)
                return route;
        for (uint64_t left_out = draw(t, count); left_out; left_out--)
                route = ep_route_next(t, state, route);
        return route;
}

DAT_EP_HANDLE ep_make_by(struct test *t, const struct ep_route *route, struct ep_opts opts)
{
        DAT_EP_HANDLE ep;
        DAT_EP_STATE seen;

        record(t, "the EP is in %s by %s", state_name(route->state), route->id);
        ep = route->make(t, opts);
        if (route->end)
                route->end(t, ep);
        seen = ep_known_state(t, ep);
        /* dat_ep_get_status has no word for Completion Pending (EP-8). */
        if (seen != route->state && !(route->state == DAT_EP_STATE_COMPLETION_PENDING &&
                                      seen == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING))
                step_failed(t, STEP_SITE_(t), call_into(route->state), state_name(seen),
                            "the EP was to be in %s and is in %s", state_name(route->state),
                            state_name(seen));
        return ep;
}

DAT_EP_HANDLE ep_make_in(struct test *t, DAT_EP_STATE state, struct ep_opts opts)
{
        return ep_make_by(t, draw_route(t, state), opts);
}

static DAT_HANDLE handle_of_ep(struct test *t, DAT_EP_HANDLE ep, enum object_kind kind)
{
        const struct object *object = object_of_ep(t, ep, kind);

        if (!object)
                test_end(t, VERDICT_ERROR, "no fixture made an RSP, or had a request, for the EP");
        return object->handle;
}

DAT_RSP_HANDLE ep_rsp(struct test *t, DAT_EP_HANDLE ep)
{
        return handle_of_ep(t, ep, OBJECT_RSP);
}

DAT_CR_HANDLE ep_request(struct test *t, DAT_EP_HANDLE ep)
{
        return handle_of_ep(t, ep, OBJECT_CR);
}

struct peer_ep *ep_end(struct test *t, DAT_EP_HANDLE ep)
{
        struct peer_ep *end = ep_object(t, ep)->end;

        if (!end)
                test_end(t, VERDICT_ERROR, "no fixture connected the EP with the peer");
        return end;
}

/*
 * A Provider's EP has neither zone nor EVDs, and cannot be connected until it has been given them.
 * One that a fixture made has all, so it is not asked where dat_ep_query does not answer.
 */
static void equip(struct test *t, DAT_EP_HANDLE ep)
{
        const struct object *object = ep_object(t, ep);
        DAT_EP_PARAM_MASK lacking = 0;
        DAT_EP_PARAM param;

        if (object->kind == OBJECT_EP && !is_asked(t, UNASKED_EP_QUERY))
                return;
        poison(&param, sizeof(param));
        arrange(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        MUST_BE_WRITTEN("dat_ep_query", param, pz_handle);
        MUST_BE_WRITTEN("dat_ep_query", param, recv_evd_handle);
        MUST_BE_WRITTEN("dat_ep_query", param, request_evd_handle);
        MUST_BE_WRITTEN("dat_ep_query", param, connect_evd_handle);
        if (!param.pz_handle) {
                lacking |= DAT_EP_FIELD_PZ_HANDLE;
                param.pz_handle = pz(t);
        }
        if (!param.recv_evd_handle) {
                lacking |= DAT_EP_FIELD_RECV_EVD_HANDLE;
                param.recv_evd_handle = object->recv_evd;
        }
        if (!param.request_evd_handle) {
                lacking |= DAT_EP_FIELD_REQUEST_EVD_HANDLE;
                param.request_evd_handle = object->request_evd;
        }
        if (!param.connect_evd_handle) {
                lacking |= DAT_EP_FIELD_CONNECT_EVD_HANDLE;
                param.connect_evd_handle = object->connect_evd;
        }
        if (!lacking)
                return;
        arrange(dat_ep_modify(ep, lacking, &param));
        ep_verify(t, ep, "dat_ep_modify", &param);
}

/* The EP of another RSP, of which nothing was asked, gets its request. */
static void must_request_without_call(void *arg)
{
        struct test *t = arg;

        passive(t, (struct ep_opts){0});
}

/* The request for an EP in Reserved; `clause`: after a call that left it there. */
static struct object *request_reserved(struct test *t, const struct check_site *site,
                                       const struct object *point, bool clause)
{
        struct peer_ep *end = peer_request(peer(t), point->qual);
        DAT_EVENT event =
            fixture_event_unless(t, site, point->cr_evd, DAT_CONNECTION_REQUEST_EVENT, clause,
                                 clause ? must_request_without_call : NULL, t);

        return keep_request(t, point, end, &event);
}

struct peer_ep *fixture_connect(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                                bool clause)
{
        DAT_EVD_HANDLE connect_evd = ep_connect_evd(t, ep);
        struct object *request = object_of_ep(t, ep, OBJECT_CR);
        struct object *point = object_of_ep(t, ep, OBJECT_RSP);
        struct peer_ep *end;

        if (!request && !point)
                return peer_connect_by(peer(t), site, ep, clause);
        if (!request)
                request = request_reserved(t, site, point, clause);
        end = request->end;
        equip(t, ep);
        check_ret(t, site, accept_request(t, request, DAT_HANDLE_NULL), clause);
        fixture_event(t, site, connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, clause);
        must_be_connected(t, ep);
        peer_wait_connected(end);
        return end;
}

/* The peer's end of a connection that is complete, or is so once the peer runs again. */
static struct peer_ep *complete(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                                DAT_EP_STATE state)
{
        struct peer_ep *end = ep_end(t, ep);

        if (state == DAT_EP_STATE_CONNECTED)
                return end;
        peer_wait_connected(end);
        fixture_event(t, site, ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_ESTABLISHED, true);
        must_be_connected(t, ep);
        return end;
}

static bool has_status(const DAT_EVENT *event, DAT_DTO_COMPLETION_STATUS status)
{
        return event->event_number == DAT_DTO_COMPLETION_EVENT &&
               event->event_data.dto_completion_event_data.status == status;
}

/*
 * The message that a graceful disconnect waits for was not taken to its end. That is no doing of
 * the case's call where it is the same without it. Of a message that was flushed, it is the
 * disconnect's, which does not wait (EP-86).
 */
static void must_end_without_call(struct test *t)
{
        DAT_EP_HANDLE ep = disconnecting(t, (struct ep_opts){0});
        DAT_EVENT event;

        peer_post_recv(ep_end(t, ep), 1, LAST_BYTES);
        event = must_event(ep_request_evd(t, ep), DAT_DTO_COMPLETION_EVENT);
        must_show(t, "dat_ep_disconnect", "dat_evd_wait", "the message that it waits for",
                  !has_status(&event, DAT_DTO_ERR_FLUSHED));
        must_show(t, "dat_ep_post_send", "dat_evd_wait", "its success",
                  has_status(&event, DAT_DTO_SUCCESS));
}

/* What was waited for comes: the peer runs again, and takes the message. */
static void end_disconnect(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep)
{
        struct peer_ep *end = ep_end(t, ep);
        DAT_EVENT event;
        DAT_COUNT more;

        peer_post_recv(end, 1, LAST_BYTES);
        memset(&event, 0, sizeof(event));
        check_ret(t, site, dat_evd_wait(ep_request_evd(t, ep), event_timeout(t), 1, &event, &more),
                  true);
        if (!has_status(&event, DAT_DTO_SUCCESS))
                must_end_without_call(t);
        check_seen(t, site, true, has_status(&event, DAT_DTO_SUCCESS), "",
                   "DAT_DTO_SUCCESS for the message", "another event or status");
        check_guards(t);
        fixture_event(t, site, ep_connect_evd(t, ep), DAT_CONNECTION_EVENT_DISCONNECTED, true);
        peer_wait_disconnected(end);
}

struct peer_ep *fixture_go_on(struct test *t, const struct check_site *site, DAT_EP_HANDLE ep,
                              DAT_EP_STATE state)
{
        switch (plain_ep_state(state)) {
        case DAT_EP_STATE_ACTIVE_CONNECTION_PENDING:
                return peer_accept_asking(peer(t), site, ep);
        case DAT_EP_STATE_COMPLETION_PENDING:
        case DAT_EP_STATE_CONNECTED:
                return complete(t, site, ep, plain_ep_state(state));
        case DAT_EP_STATE_DISCONNECT_PENDING:
                end_disconnect(t, site, ep);
                return NULL;
        case DAT_EP_STATE_DISCONNECTED:
                check_ret(t, site, dat_ep_reset(ep), true);
                return fixture_connect(t, site, ep, true);
        default:
                return fixture_connect(t, site, ep, true);
        }
}

void ep_reports_to(struct test *t, DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK which, DAT_EVD_HANDLE evd)
{
        struct object *object = ep_object(t, ep);

        if (which & DAT_EP_FIELD_RECV_EVD_HANDLE)
                object->recv_evd = evd;
        if (which & DAT_EP_FIELD_REQUEST_EVD_HANDLE)
                object->request_evd = evd;
        if (which & DAT_EP_FIELD_CONNECT_EVD_HANDLE)
                object->connect_evd = evd;
}
