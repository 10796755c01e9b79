/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cm_event.h"
#include "base/dat_abi.h"
#include "base/destroy_async.h"
#include "base/event_loop.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"
#include "base/sigpipe.h"
#include "connect/cm_conn.h"
#include "connect/cm_request.h"
#include "connect/cm_wire.h"
#include "connect/iwarp.h"
#include "connect/iwarp_connect.h"
#include "connect/keepalive.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/qp.h"
#include "event/async_evd.h"
#include "event/evd_wait.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define SECONDS        UINT64_C(1000000)
#define PASSING_TIME   SECONDS /* until a confirmation is sent or received */
#define EVENTS_AT_ONCE 16      /* limits the events of other connections that one call handles */

/* Reports the connection. A failure may have been seen before. */
static void establish(struct conn *conn)
{
        struct ep *ep = conn->ep;

        conn_set_state(conn, CONN_ESTABLISHED);
        conn->deadline = 0;
        ep_must_transition(ep, EP_ESTABLISHED, (DAT_EVENT_NUMBER)0);
        ep_post_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
        if (atomic_load(&ep->failed))
                work_queue(&ep->obj.ia->loop, &ep->broken_work);
        /* The tick looks for failures, and another thread may handle this event. */
        if (!ep->obj.ia->next_look)
                event_loop_rearm(&ep->obj.ia->loop);
}

void cm_establish_accepted(struct conn *conn)
{
        struct ep *ep = conn->ep;

        if (!ep || atomic_load(&ep->state) != EP_ACCEPTING)
                return;
        establish(conn);
        conn->ia->settled = true;
}

/* Handles a failed attempt. If the request has no EP yet, dat_cr_accept() reports the failure. */
void cm_on_failure(struct conn *conn, DAT_EVENT_NUMBER number)
{
        if (conn->kind == CONN_KEEPALIVE && number == DAT_CONNECTION_EVENT_UNREACHABLE)
                keepalive_timed_out(conn);
        iwarp_end_question(conn);
        if (conn->ep)
                conn_end(conn, conn->kind == CONN_PASSIVE
                                   ? DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
                                   : number);
        else if (conn->state == CONN_REPORTED)
                conn_set_state(conn, CONN_CANCELLED);
        else if (conn->state != CONN_CANCELLED)
                conn_retire(conn);
}

bool cm_qp_has_failed(const struct ep *ep)
{
        struct ibv_qp_init_attr init;
        struct ibv_qp_attr attr;

        return ep->qp && !ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init) &&
               attr.qp_state == IBV_QPS_ERR;
}

/*
 * Whether the queue pair failed first, so that the peer's disconnect is a consequence. On iWARP
 * only a completion shows that, and it may be unread.
 */
static bool has_failed(const struct conn *conn)
{
        if (!conn->ia->iwarp)
                return cm_qp_has_failed(conn->ep);
        (void)ep_look(conn->ep);
        return atomic_load(&conn->ep->failed);
}

void cm_on_disconnected(struct conn *conn)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_DISCONNECTED;

        if (conn->state == CONN_DISCONNECTING) {
                conn_retire(conn);
                conn->ia->settled = true;
                return;
        }
        if (iwarp_awaits_confirmation(conn)) {
                conn->iwarp.left = true;
                conn_set_deadline(conn, PASSING_TIME);
                return;
        }
        /* InfiniBand's CM answers by itself when the id is destroyed. */
        if (conn->ia->iwarp || conn->state != CONN_ESTABLISHED)
                conn_disconnect_id(conn);
        if (conn->state != CONN_ESTABLISHED) {
                cm_on_failure(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                return;
        }
        if (has_failed(conn))
                number = DAT_CONNECTION_EVENT_BROKEN;
        conn_end(conn, number);
}

static bool on_our_device(const struct conn *conn)
{
        return conn->id->verbs && !strcmp(ibv_get_device_name(conn->id->verbs->device),
                                          ibv_get_device_name(conn->ia->verbs->device));
}

/*
 * Handles a request that could not be sent. On iWARP the peer's kernel refuses a port without a
 * listener.
 */
void cm_cannot_request(struct conn *conn, int error)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_UNREACHABLE;

        conn->iwarp.unanswered = false;
        if (error == ECONNREFUSED) {
                number = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
                if (conn->kind == CONN_KEEPALIVE)
                        keepalive_refused(conn, KEEPALIVE_NO_LISTENER);
        }
        if (conn->ep) {
                conn_end(conn, number);
                return;
        }
        cm_fail_fragmented(conn, number);
        iwarp_end_question(conn);
        conn_retire(conn);
}

static void on_route(struct conn *conn)
{
        struct rdma_conn_param param = conn_param(conn->ep, conn->wire, (size_t)conn->wire_size);
        bool ok = on_our_device(conn) && (!conn->ep || ep_start_qp(conn->ep, conn->id));

        if (conn->number)
                param.qp_num = conn->number->qp_num;
        conn->iwarp.unanswered = ok && conn->ia->iwarp;
        if (conn->iwarp.unanswered && iwarp_connect_start(conn, &param))
                return;
        if (!ok)
                cm_cannot_request(conn, 0);
        else if (rdma_connect(conn->id, &param))
                cm_cannot_request(conn, errno);
        else if (!conn->ia->iwarp)
                conn->requested = now_us();
}

void cm_on_reply(struct conn *conn, const struct rdma_cm_event *event)
{
        const struct wire_reply *reply = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        struct ep *ep = conn->ep;

        if (!ep) {
                conn_retire(conn);
                return;
        }
        if (!wire_is(&reply->wire, length, WIRE_REPLY) ||
            !conn_keep_private_data(ep, reply, length) || !conn_step_to_rts(ep, conn) ||
            (!conn->ia->iwarp && rdma_establish(conn->id))) {
                conn_end(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                return;
        }
        conn->keepalive_port = be16toh(reply->wire.keepalive_port);
        establish(conn);
}

static void on_established(struct conn *conn, const struct rdma_cm_event *event)
{
        struct ia *ia = conn->ia;

        if (!ia->iwarp) {
                cm_establish_accepted(conn);
        } else if (conn->kind != CONN_PASSIVE) {
                iwarp_on_reply(conn, event);
        } else {
                conn->iwarp.reached = true;
                if (conn->ep)
                        ep_may_read(conn->ep, event->param.conn.responder_resources);
                if (conn->iwarp.confirmed || !ia->keepalive_port)
                        cm_establish_accepted(conn);
        }
}

/* The kernel sends three address requests and then only waits, so the request is repeated here. */
static void on_address_error(struct conn *conn)
{
        if (now_us() < conn->resolve_until && !conn_resolve_step(conn, NULL))
                return;
        cm_on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

static void on_rejected(struct conn *conn, const struct rdma_cm_event *event)
{
        const struct wire_reply *reply = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        bool by_peer = wire_is(event->param.conn.private_data, length, WIRE_REJECTED);

        if (conn->ia->iwarp && !length && conn->kind == CONN_ACTIVE && conn->ep &&
            conn->state == CONN_REQUESTING && iwarp_ask_why(conn))
                return;
        if (iwarp_took_answer(conn, reply, length)) {
                conn_retire(conn);
                return;
        }

        /*
         * The accepting peer timed out before it saw the confirmation, but this end was
         * established.
         */
        if (conn->state == CONN_ESTABLISHED || conn->state == CONN_DISCONNECTING) {
                cm_on_disconnected(conn);
                return;
        }
        if (conn->kind == CONN_KEEPALIVE)
                keepalive_refused(conn, event->status);
        /* If the kernel reported no data, the request itself gets an answer. */
        if (!wire_is(event->param.conn.private_data, length, WIRE_COLLECTED) &&
            (length || !conn->ia->iwarp))
                cm_fail_fragmented(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        if (by_peer && conn->ep)
                (void)conn_keep_private_data(conn->ep, reply, length);
        cm_on_failure(conn, by_peer ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                    : DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void on_removal(struct conn *conn)
{
        if (conn->state == CONN_ESTABLISHED)
                conn_end(conn, DAT_CONNECTION_EVENT_BROKEN);
        else
                cm_on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* Handles a device removal: no end of a connection can notify the other. */
static void on_device_removal(struct ia *ia)
{
        struct link *head = &ia->conns;
        struct link *at = head->next;

        while (at != head) {
                struct conn *conn = container_of(at, struct conn, link);

                at = at->next;
                if (conn->state == CONN_CANCELLED)
                        continue;
                /*
                 * Other connections may end as well, so begin again. This one is off the list or
                 * cancelled.
                 */
                on_removal(conn);
                at = head->next;
        }
        if (ia->removed)
                return;
        ia->removed = true;
        async_evd_post(ia, DAT_ASYNC_ERROR_IA_CATASTROPHIC, abi_ia_handle(&ia->obj),
                       DAT_IA_CATASTROPHIC_ERROR);
}

static void dispatch(struct ia *ia, struct rdma_cm_event *event)
{
        struct conn *conn = event->listen_id ? NULL : event->id->context;

        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
                cm_on_request(ia, event);
                return;
        }
        if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
                on_device_removal(ia);
                return;
        }
        if (!conn || conn->kind == CONN_LISTENER)
                return;
        conn->iwarp.unanswered = false;
        conn->requested = 0;
        if (conn->state == CONN_RETIRED)
                return;
        switch (event->event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
                conn_set_state(conn, CONN_REQUESTING);
                if (rdma_resolve_route(conn->id, conn_resolving_ms(conn))) {
                        cm_fail_fragmented(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                        cm_on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                }
                break;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
                on_route(conn);
                break;
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
                cm_on_reply(conn, event);
                break;
        case RDMA_CM_EVENT_ESTABLISHED:
                on_established(conn, event);
                break;
        case RDMA_CM_EVENT_ADDR_ERROR:
                on_address_error(conn);
                break;
        case RDMA_CM_EVENT_ROUTE_ERROR:
        case RDMA_CM_EVENT_UNREACHABLE:
                cm_on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                break;
        case RDMA_CM_EVENT_CONNECT_ERROR:
                cm_on_failure(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                break;
        case RDMA_CM_EVENT_REJECTED:
                on_rejected(conn, event);
                break;
        case RDMA_CM_EVENT_DISCONNECTED:
                cm_on_disconnected(conn);
                break;
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
                if (conn->state == CONN_DISCONNECTING)
                        conn_retire(conn);
                break;
        default:
                break;
        }
}

static void destroy_id(void *id)
{
        rdma_destroy_id(id);
}

/* rdma_destroy_id() rejects a request that is unanswered, and so may raise SIGPIPE. */
static void destroy_conn_id(const struct conn *conn)
{
        struct sigpipe sigpipe;

        sigpipe_block(conn->ia, &sigpipe);
        rdma_destroy_id(conn->id);
        sigpipe_restore(&sigpipe);
}

/* Destroys the retired connections. Called with cm_turn held, so none of their events is in use. */
static void reap(struct ia *ia)
{
        for (;;) {
                struct conn *conn = NULL;

                pthread_mutex_lock(&ia->cm_lock);
                if (!list_empty(&ia->retired)) {
                        conn = container_of(ia->retired.next, struct conn, link);
                        list_remove(&conn->link);
                        conn->id->context = NULL;
                        if (conn->iwarp.attempt)
                                iwarp_connect_abandon(conn);
                }
                pthread_mutex_unlock(&ia->cm_lock);
                if (!conn)
                        return;
                if (conn->iwarp.attempt)
                        destroy_async(ia, iwarp_connect_destroy, conn->iwarp.attempt);
                else if (conn->iwarp.unanswered)
                        destroy_async(ia, destroy_id, conn->id);
                else
                        destroy_conn_id(conn);
                conn_free(conn);
        }
}

static void handle(struct ia *ia, struct rdma_cm_event *event)
{
        struct rdma_cm_id *orphan = NULL;

        pthread_mutex_lock(&ia->cm_lock);
        conn_set_reaper(ia);
        evd_hold_wakes();
        dispatch(ia, event);
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !event->id->context)
                orphan = event->id;
        /* The removal of the device waits until every id on it is destroyed. */
        if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && event->id == ia->listen_id) {
                orphan = ia->listen_id;
                ia->listen_id = NULL;
        }
        conn_set_reaper(NULL);
        pthread_mutex_unlock(&ia->cm_lock);
        evd_release_wakes();
        rdma_ack_cm_event(event);
        if (orphan)
                rdma_destroy_id(orphan);
        reap(ia);
}

/*
 * Handles up to EVENTS_AT_ONCE events of librdmacm. With `until_settled`, stops after the last
 * event that a call causes, which saves a read.
 */
static void fetch(struct ia *ia, bool until_settled)
{
        struct rdma_cm_event *event;

        pthread_mutex_lock(&ia->cm_turn);
        ia->settled = false;
        for (int i = 0; i < EVENTS_AT_ONCE && !(until_settled && ia->settled); i++) {
                if (rdma_get_cm_event(ia->cm, &event))
                        break;
                handle(ia, event);
        }
        pthread_mutex_unlock(&ia->cm_turn);
}

/* Called by the service thread without a lock. */
void cm_handle_events(struct ia *ia)
{
        fetch(ia, false);
}

static void cm_ready(struct event_source *source)
{
        cm_handle_events(container_of(source, struct ia, cm_source));
}

/*
 * Makes the service thread handle the events of librdmacm. The descriptor of librdmacm is in an
 * epoll set of its own, and that set is in the one of the service thread. The kernel wakes a thread
 * that has the descriptor itself in its set at each event, even while the descriptor is disabled.
 */
bool cm_listen(struct ia *ia)
{
        struct epoll_event event = {.events = EPOLLIN};

        ia->cm_source.ready = cm_ready;
        (void)fcntl(ia->cm->fd, F_SETFL, O_NONBLOCK);
        ia->cm_fd = epoll_create1(EPOLL_CLOEXEC);
        return ia->cm_fd >= 0 && !epoll_ctl(ia->cm_fd, EPOLL_CTL_ADD, ia->cm->fd, &event) &&
               event_loop_add(&ia->loop, ia->cm_fd, &ia->cm_source);
}

void cm_close_fd(struct ia *ia)
{
        if (ia->cm_fd >= 0)
                close(ia->cm_fd);
        ia->cm_fd = -1;
}

/*
 * Makes the service thread leave librdmacm's events to the calling thread, which is about to cause
 * some, until resume_service(). Returns false if another thread does so already.
 */
static bool pause_service(struct ia *ia)
{
        if (atomic_exchange(&ia->cm_paused, true))
                return false;
        event_loop_enable(&ia->loop, ia->cm_fd, &ia->cm_source, false);
        return true;
}

static void resume_service(struct ia *ia)
{
        event_loop_enable(&ia->loop, ia->cm_fd, &ia->cm_source, true);
        atomic_store(&ia->cm_paused, false);
}

/*
 * Takes ia->cm_lock for a call that causes events of librdmacm. cm_call_end() handles those that
 * are there by then. Otherwise the service thread would wake, sleep on the lock, and wake the
 * waiter.
 */
bool cm_call_begin(struct ia *ia)
{
        bool paused = pause_service(ia);

        pthread_mutex_lock(&ia->cm_lock);
        return paused;
}

/*
 * Releases the lock. `paused` is the result of cm_call_begin(). If `ret` is an error, no event is
 * expected.
 */
void cm_call_end(struct ia *ia, bool paused, DAT_RETURN ret)
{
        pthread_mutex_unlock(&ia->cm_lock);
        if (!paused)
                return;
        if (ret == DAT_SUCCESS)
                fetch(ia, true);
        resume_service(ia);
}

/* Destroys retired connections that no event handler has destroyed. */
void cm_reap(struct ia *ia)
{
        pthread_mutex_lock(&ia->cm_turn);
        reap(ia);
        pthread_mutex_unlock(&ia->cm_turn);
}

/* Destroys every connection of the IA, whose service thread has ended. */
void cm_close(struct ia *ia)
{
        pthread_mutex_lock(&ia->cm_lock);
        while (!list_empty(&ia->conns))
                conn_retire(container_of(ia->conns.next, struct conn, link));
        pthread_mutex_unlock(&ia->cm_lock);
        cm_reap(ia);
        if (ia->number_pd)
                destroy_async_pd(ia, ia->number_pd);
}
