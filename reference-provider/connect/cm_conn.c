/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cm_conn.h"
#include "base/event_loop.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"
#include "base/sigpipe.h"
#include "connect/cm_wire.h"
#include "connect/iwarp.h"
#include "connect/sp.h"
#include "endpoint/ep.h"
#include "endpoint/ep_state.h"
#include "endpoint/qp.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SECONDS         UINT64_C(1000000)
#define DISCONNECT_TIME (30 * SECONDS) /* until the peer acknowledges a disconnect */
#define ACCEPTING_TIME  (30 * SECONDS) /* until the peer confirms an accepted connection */
#define GATHERING_TIME  (10 * SECONDS) /* until all parts of a request have arrived */
#define OVERTAKE_TIME   (1 * SECONDS)  /* for which a request may be behind its cancellation */
#define RESOLVING_TIME  (15 * SECONDS) /* to resolve an address, if the Consumer has no timeout */
#define RESOLVING_STEP  (2 * SECONDS)  /* for one try */

/* Ports of active connections: above the kernel's ephemeral ports and clear of most qualifiers. */
#define FIRST_ACTIVE_PORT 61000
#define ACTIVE_PORTS      4536
#define PORT_ATTEMPTS     16
#define TOKEN_STEP        UINT32_C(0x9e3779b1) /* odd, for the full period */

/* The IA whose event the calling thread handles; it destroys that IA's retired connections next. */
static REF_THREAD_LOCAL const struct ia *reaped_ia;

/*
 * Between a call with an IA and a call with NULL, the calling thread destroys the retired
 * connections of that IA itself, so that the service thread need not be woken for them.
 */
void conn_set_reaper(const struct ia *ia)
{
        reaped_ia = ia;
}

/* Makes a connection that has no id and is in no list. */
struct conn *conn_new(struct ia *ia, enum conn_kind kind)
{
        struct conn *conn = calloc(1, sizeof(*conn));

        if (!conn)
                return NULL;
        conn->ia = ia;
        conn->kind = kind;
        list_init(&conn->link);
        return conn;
}

/* Frees a connection that has no id and is in no list. */
void conn_free(struct conn *conn)
{
        if (conn->number)
                qp_destroy(conn->ia, conn->number, conn->iwarp.unanswered);
        free(conn);
}
#define TO(state) (1u << (state))

/* The valid transitions. */
static const unsigned int followers[CONN_STATES] = {
    [CONN_RESOLVING] = TO(CONN_REQUESTING) | TO(CONN_RETIRED),
    [CONN_REQUESTING] = TO(CONN_ESTABLISHED) | TO(CONN_RETIRED),
    [CONN_GATHERING] = TO(CONN_REPORTED) | TO(CONN_RETIRED),
    [CONN_REPORTED] = TO(CONN_ACCEPTED) | TO(CONN_CANCELLED) | TO(CONN_RETIRED),
    [CONN_CANCELLED] = TO(CONN_RETIRED),
    [CONN_ACCEPTED] = TO(CONN_ESTABLISHED) | TO(CONN_RETIRED),
    [CONN_ESTABLISHED] = TO(CONN_DISCONNECTING) | TO(CONN_RETIRED),
    [CONN_DISCONNECTING] = TO(CONN_RETIRED),
};

/* Sets the state, which must be a valid successor. Called with ia->cm_lock held. */
void conn_set_state(struct conn *conn, enum conn_state state)
{
        bool follows = followers[conn->state] & TO(state);

        assert(follows);
        (void)follows;
        conn->state = state;
}

/* Retires a connection. Its id is destroyed after the current event of librdmacm. */
void conn_retire(struct conn *conn)
{
        struct ia *ia = conn->ia;

        conn_set_state(conn, CONN_RETIRED);
        if (conn->ep)
                conn->ep->qp_unanswered = conn->iwarp.unanswered;
        conn->ep = NULL;
        conn->deadline = 0;
        list_remove(&conn->link);
        list_append(&ia->retired, &conn->link);
        if (reaped_ia != ia)
                event_loop_rearm(&ia->loop);
}

void conn_set_deadline(struct conn *conn, uint64_t from_now)
{
        struct ia *ia = conn->ia;

        conn->deadline = now_us() + from_now;
        if (!ia->next_deadline || conn->deadline < ia->next_deadline)
                event_loop_rearm(&ia->loop);
}

static int accept_id(const struct conn *conn, struct rdma_conn_param *param)
{
        struct sigpipe sigpipe;
        int error;

        sigpipe_block(conn->ia, &sigpipe);
        error = rdma_accept(conn->id, param);
        sigpipe_restore(&sigpipe);
        return error;
}

void conn_reject_id(const struct ia *ia, struct rdma_cm_id *id, const void *wire, size_t size)
{
        struct sigpipe sigpipe;

        sigpipe_block(ia, &sigpipe);
        (void)rdma_reject(id, wire, (uint8_t)size);
        sigpipe_restore(&sigpipe);
}

void conn_disconnect_id(const struct conn *conn)
{
        struct sigpipe sigpipe;

        sigpipe_block(conn->ia, &sigpipe);
        (void)rdma_disconnect(conn->id);
        sigpipe_restore(&sigpipe);
}

/*
 * Retires a connection whose EP leaves it. This cancels a request that has no answer. The peer's
 * kernel drops a cancellation that overtakes its request, and the peer then waits for its whole
 * ACCEPTING_TIME. Therefore a request is cancelled when it has an answer, or OVERTAKE_TIME after it
 * was sent.
 */
static void conn_leave(struct conn *conn)
{
        uint64_t now = now_us();

        if (!conn->requested || conn->requested + OVERTAKE_TIME <= now) {
                conn_retire(conn);
                return;
        }
        conn->ep->qp_unanswered = false;
        conn->ep = NULL;
        conn_set_deadline(conn, conn->requested + OVERTAKE_TIME - now);
}

/* Takes an EP off its connection and disconnects it. The connection then ends without the EP. */
static void disconnect_ep(struct ep *ep)
{
        struct conn *conn = ep->conn;

        ep->conn = NULL;
        if (conn->state != CONN_ESTABLISHED) {
                conn_leave(conn);
                return;
        }
        conn_set_state(conn, CONN_DISCONNECTING);
        conn->ep = NULL;
        conn_disconnect_id(conn);
        conn_set_deadline(conn, DISCONNECT_TIME);
}

void conn_attach_ep(struct conn *conn, struct ep *ep)
{
        conn->ep = ep;
        ep->conn = conn;
        ep->disconnect = disconnect_ep;
}

void conn_answer_reject(struct conn *conn, enum wire_kind kind, int size, const void *data)
{
        struct wire_reply reply = {.wire = wire_head(kind, size)};

        if (size)
                memcpy(reply.data, data, (size_t)size);
        if (conn->state != CONN_CANCELLED)
                conn_reject_id(conn->ia, conn->id, &reply, sizeof(reply.wire) + (size_t)size);
        conn_retire(conn);
}

/* Rejects a request for the Consumer, with its private data. */
void conn_reject(struct conn *conn, int size, const void *data)
{
        if (conn->ia->iwarp)
                iwarp_remember_refusal(conn, size, data);
        conn_answer_reject(conn, WIRE_REJECTED, size, data);
}

/* Rejects a request for the Provider. */
void conn_refuse(struct conn *conn)
{
        conn_answer_reject(conn, WIRE_REFUSED, 0, NULL);
}

/*
 * Ends the connection or the attempt. The EP becomes Disconnected, and the event `number` is
 * posted.
 */
void conn_end(struct conn *conn, DAT_EVENT_NUMBER number)
{
        enum ep_event event =
            conn->state == CONN_ESTABLISHED ? EP_CONNECTION_LOST : EP_CONNECT_FAILED;
        struct ep *ep = conn->ep;

        ep->conn = NULL;
        conn_leave(conn);
        ep_must_transition(ep, event, number);
}

struct rdma_conn_param conn_param(struct ep *ep, const void *data, size_t size)
{
        return (struct rdma_conn_param){
            .private_data = data,
            .private_data_len = (uint8_t)size,
            .responder_resources = ep ? (uint8_t)ep->attr.max_rdma_read_in : 0,
            .initiator_depth = ep ? (uint8_t)ep->attr.max_rdma_read_out : 0,
            .flow_control = 1,
            .retry_count = 7,
            .rnr_retry_count = 7,
            .srq = ep && ep->srq,
            .qp_num = ep ? ep->qp->qp_num : 0,
        };
}

bool conn_step_to_rts(struct ep *ep, const struct conn *conn)
{
        if (conn->ia->iwarp) {
                ep_kernel_steps_qp(ep);
                return true;
        }
        return ep_step_qp(ep, conn->id, IBV_QPS_RTR) && ep_step_qp(ep, conn->id, IBV_QPS_RTS);
}

/*
 * Accepts with an EP that has its queue pair. Later failures are reported on the connect EVD.
 * Called with ia->cm_lock held.
 */
void conn_accept(struct conn *conn, struct ep *ep, int size, const void *data)
{
        struct wire_reply reply = {.wire = wire_head(WIRE_REPLY, size)};
        struct rdma_conn_param param = conn_param(ep, &reply, sizeof(reply.wire) + (size_t)size);

        reply.wire.keepalive_port = htobe16(conn->ia->keepalive_port);
        if (size)
                memcpy(reply.data, data, (size_t)size);
        conn_attach_ep(conn, ep);
        if (conn->state == CONN_CANCELLED || !ep_start_qp(ep, conn->id) ||
            !conn_step_to_rts(ep, conn) || accept_id(conn, &param)) {
                conn_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
                return;
        }
        conn_set_state(conn, CONN_ACCEPTED);
        conn_set_deadline(conn, ACCEPTING_TIME);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
        if (address->ss_family == AF_INET6)
                ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
        else
                ((struct sockaddr_in *)address)->sin_port = htons(port);
}

/*
 * Draws a token. Each IA starts at a random value and advances by TOKEN_STEP, which scatters ports.
 */
uint32_t conn_draw_token(struct ia *ia)
{
        if (!ia->token && getrandom(&ia->token, sizeof(ia->token), 0) != sizeof(ia->token))
                ia->token = (uint32_t)now_us();
        ia->token += TOKEN_STEP;
        return ia->token;
}

int conn_resolving_ms(const struct conn *conn)
{
        uint64_t now = now_us();

        if (conn->resolve_until <= now)
                return 1;
        if (conn->resolve_until - now > RESOLVING_STEP)
                return RESOLVING_STEP / 1000;
        return (int)((conn->resolve_until - now) / 1000) + 1;
}

int conn_resolve_step(struct conn *conn, struct sockaddr_storage *source)
{
        if (rdma_resolve_addr(conn->id, (struct sockaddr *)source, (struct sockaddr *)&conn->peer,
                              conn_resolving_ms(conn)))
                return errno;
        return 0;
}

/* Starts from the IA's address if possible, else from the address that librdmacm chooses. */
static int resolve_from_here(struct conn *conn)
{
        struct sockaddr_storage source = conn->ia->address;
        int error = source.ss_family == conn->peer.ss_family ? EADDRINUSE : EAFNOSUPPORT;
        uint32_t start = conn->token ? conn->token : conn_draw_token(conn->ia);

        for (uint32_t i = 0; i < PORT_ATTEMPTS && error == EADDRINUSE; i++) {
                conn->port = (uint16_t)(FIRST_ACTIVE_PORT + (start + i) % ACTIVE_PORTS);
                set_port(&source, conn->port);
                error = conn_resolve_step(conn, &source);
        }
        if (!error)
                return 0;
        conn->port = 0;
        return conn_resolve_step(conn, NULL);
}

/*
 * Starts to resolve a peer's address. Returns 0 or an errno; on error the id may or may not exist.
 */
int conn_resolve(struct conn *conn, const struct sockaddr_storage *to)
{
        conn->peer = *to;
        conn->resolve_until = conn->deadline ? conn->deadline : now_us() + RESOLVING_TIME;
        set_port(&conn->peer, port_of_qual(conn->qual));
        if (rdma_create_id(conn->ia->cm, &conn->id, conn, RDMA_PS_TCP))
                return errno;
        list_append(&conn->ia->conns, &conn->link);
        return resolve_from_here(conn);
}

/* Sends data in a connection request of its own, which the peer rejects after reading it. */
bool conn_start_aside(struct ia *ia, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
                      const void *wire, size_t size)
{
        struct conn *conn = conn_new(ia, CONN_FRAGMENT);

        if (!conn)
                return false;
        conn->number = qp_for_number(ia);
        memcpy(conn->wire, wire, size);
        conn->wire_size = (int)size;
        conn->qual = qual;
        conn_set_deadline(conn, GATHERING_TIME);
        if (!conn_resolve(conn, to))
                return true;
        if (conn->id)
                conn_retire(conn);
        else
                conn_free(conn);
        return false;
}

bool conn_keep_private_data(struct ep *ep, const struct wire_reply *reply, size_t length)
{
        if (length < sizeof(reply->wire) + reply->wire.size)
                return false;
        ep->private_data_size = reply->wire.size;
        memcpy(ep->private_data, reply->data, reply->wire.size);
        return true;
}

/* Whether two addresses are of one host; ports are ignored. */
bool conn_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
        if (a->sa_family != b->sa_family)
                return false;
        if (a->sa_family == AF_INET6)
                return !memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                               &((const struct sockaddr_in6 *)b)->sin6_addr,
                               sizeof(struct in6_addr));
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
}
