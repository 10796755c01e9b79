/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm.h"
#include "async_evd.h"
#include "attempt.h"
#include "cr.h"
#include "daplref.h"
#include "dat_abi.h"
#include "ep.h"
#include "ep_state.h"
#include "evd.h"
#include "event_loop.h"
#include "handle.h"
#include "ia.h"
#include "linger.h"
#include "list.h"
#include "lock.h"
#include "os.h"
#include "probe.h"
#include "qp.h"
#include "sigpipe.h"
#include "sp.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

/*
 * What travels in librdmacm's private data. It arrives padded with zeros to librdmacm's maximum,
 * so the length goes with it; and a request has 56 bytes, less than the 64 that DAT promises, so
 * the rest of a long one comes in a second request, the fragment, that bears the same token.
 */
enum wire_kind {
        WIRE_REQUEST = 1,
        WIRE_FRAGMENT,
        WIRE_REPLY,
        WIRE_REJECTED,  /* by the Consumer */
        WIRE_REFUSED,   /* by the Provider */
        WIRE_COLLECTED, /* a fragment, or a confirmation, that has done its work */
        WIRE_CONFIRMED, /* on iWARP, by a connection of its own, see confirm() */
        WIRE_QUESTION,  /* the same, see ask_why() */
};

struct wire {
        uint8_t magic[2];
        uint8_t version;
        uint8_t kind;
        uint8_t size; /* of all the Consumer's private data */
        uint8_t fragmented;
        uint16_t presence; /* of a request or reply: the sender's ia->presence */
        uint32_t token;
} __attribute__((packed));

struct wire_request {
        struct wire wire;
        uint64_t qual;
        uint8_t data[36];
} __attribute__((packed));

struct wire_fragment {
        struct wire wire;
        uint8_t data[44];
} __attribute__((packed));

struct wire_reply {
        struct wire wire;
        uint8_t data[REF_MAX_PRIVATE_DATA];
} __attribute__((packed));

#define REQUEST_MAX 56
#define MAIN_PART   ((int)sizeof(((struct wire_request *)NULL)->data))

_Static_assert(sizeof(struct wire_request) <= REQUEST_MAX, "a request must fit");
_Static_assert(sizeof(struct wire_fragment) <= REQUEST_MAX, "a fragment must fit");
_Static_assert(36 + 44 >= REF_MAX_PRIVATE_DATA, "two requests must hold all private data");

#define SECONDS        UINT64_C(1000000)
#define PARTING_TIME   (30 * SECONDS) /* for the peer to acknowledge a disconnect */
#define GATHERING_TIME (10 * SECONDS) /* for the parts of a request to come together */
#define LOOKING_TIME   SECONDS        /* until a failure is seen that no Consumer looks for */
#define ACCEPTING_TIME (30 * SECONDS) /* for the peer to confirm an accepted connection */
#define RESOLVING_TIME (15 * SECONDS) /* for an address, where the Consumer has no time-out */
#define RESOLVING_STEP (2 * SECONDS)  /* for one attempt at it */
#define PASSING_TIME   SECONDS        /* for a confirmation to go out, or to come */
#define QUESTIONS      3              /* for one answer may be lost as the first was */

/* Active ends bind to ports above those that the kernel hands out, clear of most qualifiers. */
#define FIRST_ACTIVE_PORT 61000
#define ACTIVE_PORTS      4536
#define PORT_ATTEMPTS     16

#define EVENTS_AT_ONCE 16                   /* so that no call has others' without end */
#define TOKEN_STEP     UINT32_C(0x9e3779b1) /* odd, so no token returns soon */

/* The IA of whose events this thread handles one, and whose doomed connections it reaps next. */
static REF_THREAD_LOCAL const struct ia *handling;

static struct wire wire_head(enum wire_kind kind, int size)
{
        return (struct wire){
            .magic = {'D', 'r'}, .version = 1, .kind = (uint8_t)kind, .size = (uint8_t)size};
}

static bool wire_is(const struct wire *wire, size_t length, enum wire_kind kind)
{
        return length >= sizeof(*wire) && wire->magic[0] == 'D' && wire->magic[1] == 'r' &&
               wire->version == 1 && wire->kind == kind && wire->size <= REF_MAX_PRIVATE_DATA;
}

/* Makes a connection without an id; it is not yet in any list. */
struct conn *cm_new(struct ia *ia, enum conn_kind kind)
{
        struct conn *conn = calloc(1, sizeof(*conn));

        if (!conn)
                return NULL;
        conn->ia = ia;
        conn->kind = kind;
        list_init(&conn->link);
        return conn;
}

/* Frees a connection that is in no list, or no longer, and has no id. */
void cm_forget(struct conn *conn)
{
        if (conn->number)
                qp_destroy(conn->ia, conn->number, conn->unanswered);
        free(conn);
}

#define TO(state) (1u << (state))

/* What may follow upon each state. */
static const unsigned int followers[CONN_STATES] = {
    [CONN_RESOLVING] = TO(CONN_REQUESTING) | TO(CONN_OVER),
    [CONN_REQUESTING] = TO(CONN_ESTABLISHED) | TO(CONN_OVER),
    [CONN_GATHERING] = TO(CONN_REPORTED) | TO(CONN_OVER),
    [CONN_REPORTED] = TO(CONN_ACCEPTED) | TO(CONN_GIVEN_UP) | TO(CONN_OVER),
    [CONN_GIVEN_UP] = TO(CONN_OVER),
    [CONN_ACCEPTED] = TO(CONN_ESTABLISHED) | TO(CONN_OVER),
    [CONN_ESTABLISHED] = TO(CONN_PARTING) | TO(CONN_OVER),
    [CONN_PARTING] = TO(CONN_OVER),
};

/* Takes the connection to a state that may follow. Called with ia->cm_lock held. */
void conn_become(struct conn *conn, enum conn_state state)
{
        bool follows = followers[conn->state] & TO(state);

        assert(follows);
        (void)follows;
        conn->state = state;
}

/* Gives a connection up. Its id is destroyed by the service thread once its events are done. */
void cm_doom(struct conn *conn)
{
        struct ia *ia = conn->ia;

        conn_become(conn, CONN_OVER);
        if (conn->ep)
                conn->ep->qp_unanswered = conn->unanswered;
        conn->ep = NULL;
        conn->deadline = 0;
        list_remove(&conn->link);
        list_append(&ia->doomed, &conn->link);
        if (handling != ia)
                event_loop_rearm(&ia->loop);
}

static void set_deadline(struct conn *conn, uint64_t from_now)
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

        sigpipe_hold(conn->ia, &sigpipe);
        error = rdma_accept(conn->id, param);
        sigpipe_let_go(&sigpipe);
        return error;
}

static void reject_id(const struct ia *ia, struct rdma_cm_id *id, const void *wire, size_t size)
{
        struct sigpipe sigpipe;

        sigpipe_hold(ia, &sigpipe);
        (void)rdma_reject(id, wire, (uint8_t)size);
        sigpipe_let_go(&sigpipe);
}

static void disconnect_id(const struct conn *conn)
{
        struct sigpipe sigpipe;

        sigpipe_hold(conn->ia, &sigpipe);
        (void)rdma_disconnect(conn->id);
        sigpipe_let_go(&sigpipe);
}

/* Takes an EP off its connection, which is disconnected and then ends without the EP. */
static void disconnect_ep(struct ep *ep)
{
        struct conn *conn = ep->conn;

        ep->conn = NULL;
        if (conn->state != CONN_ESTABLISHED) {
                cm_doom(conn);
                return;
        }
        conn_become(conn, CONN_PARTING);
        conn->ep = NULL;
        disconnect_id(conn);
        set_deadline(conn, PARTING_TIME);
}

static void attach_ep(struct conn *conn, struct ep *ep)
{
        conn->ep = ep;
        ep->conn = conn;
        ep->disconnect = disconnect_ep;
}

static void answer_no(struct conn *conn, enum wire_kind kind, int size, const void *data)
{
        struct wire_reply reply = {.wire = wire_head(kind, size)};

        if (size)
                memcpy(reply.data, data, (size_t)size);
        if (conn->state != CONN_GIVEN_UP)
                reject_id(conn->ia, conn->id, &reply, sizeof(reply.wire) + (size_t)size);
        cm_doom(conn);
}

/* Who asked may have to ask again, see ask_why(). */
static void remember_refusal(const struct conn *conn, int size, const void *data)
{
        struct ia *ia = conn->ia;
        struct refusal *refusal = &ia->refusals[ia->next_refusal++ % REFUSALS];

        refusal->token = conn->token;
        refusal->presence = conn->presence;
        refusal->size = (uint8_t)size;
        if (size)
                memcpy(refusal->data, data, (size_t)size);
}

/* Refuses a request in the Consumer's name, with its private data. */
void cm_reject(struct conn *conn, int size, const void *data)
{
        if (conn->ia->iwarp)
                remember_refusal(conn, size, data);
        answer_no(conn, WIRE_REJECTED, size, data);
}

/* Refuses a request in the Provider's name. */
void cm_refuse(struct conn *conn)
{
        answer_no(conn, WIRE_REFUSED, 0, NULL);
}

/* The connection or the attempt is over: the EP is Disconnected and the Consumer hears why. */
void cm_end(struct conn *conn, DAT_EVENT_NUMBER number)
{
        enum ep_event ends = conn->state == CONN_ESTABLISHED ? EP_LOSES : EP_FAILS;
        struct ep *ep = conn->ep;

        ep->conn = NULL;
        cm_doom(conn);
        ep_must(ep, ends, number);
}

static struct rdma_conn_param param_of(struct ep *ep, const void *data, size_t size)
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

static bool step_to_rts(struct ep *ep, const struct conn *conn)
{
        if (conn->ia->iwarp) {
                ep_kernel_steps_qp(ep);
                return true;
        }
        return ep_step_qp(ep, conn->id, IBV_QPS_RTR) && ep_step_qp(ep, conn->id, IBV_QPS_RTS);
}

/*
 * Accepts with an EP that has its queue pair. From here on every failure is the peer's or the
 * network's, and the connect EVD tells of it. Called with ia->cm_lock held.
 */
void cm_accept(struct conn *conn, struct ep *ep, int size, const void *data)
{
        struct wire_reply reply = {.wire = wire_head(WIRE_REPLY, size)};
        struct rdma_conn_param param = param_of(ep, &reply, sizeof(reply.wire) + (size_t)size);

        reply.wire.presence = htobe16(conn->ia->presence);
        if (size)
                memcpy(reply.data, data, (size_t)size);
        attach_ep(conn, ep);
        if (conn->state == CONN_GIVEN_UP || !ep_start_qp(ep, conn->id) || !step_to_rts(ep, conn) ||
            accept_id(conn, &param)) {
                cm_end(conn, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
                return;
        }
        conn_become(conn, CONN_ACCEPTED);
        set_deadline(conn, ACCEPTING_TIME);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
        if (address->ss_family == AF_INET6)
                ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
        else
                ((struct sockaddr_in *)address)->sin_port = htons(port);
}

/* Each IA begins somewhere, and goes on by steps that scatter what is made of them, such as ports.
 */
static uint32_t draw(struct ia *ia)
{
        if (!ia->token && getrandom(&ia->token, sizeof(ia->token), 0) != sizeof(ia->token))
                ia->token = (uint32_t)now_us();
        ia->token += TOKEN_STEP;
        return ia->token;
}

static int resolving_ms(const struct conn *conn)
{
        uint64_t now = now_us();

        if (conn->resolve_until <= now)
                return 1;
        if (conn->resolve_until - now > RESOLVING_STEP)
                return RESOLVING_STEP / 1000;
        return (int)((conn->resolve_until - now) / 1000) + 1;
}

static int resolve_step(struct conn *conn, struct sockaddr_storage *source)
{
        if (rdma_resolve_addr(conn->id, (struct sockaddr *)source, (struct sockaddr *)&conn->peer,
                              resolving_ms(conn)))
                return errno;
        return 0;
}

/* Starts from the IA's address, if it can. Else librdmacm takes one that the route suggests. */
static int resolve_from_here(struct conn *conn)
{
        struct sockaddr_storage source = conn->ia->address;
        int error = source.ss_family == conn->peer.ss_family ? EADDRINUSE : EAFNOSUPPORT;
        uint32_t start = conn->token ? conn->token : draw(conn->ia);

        for (uint32_t i = 0; i < PORT_ATTEMPTS && error == EADDRINUSE; i++) {
                conn->port = (uint16_t)(FIRST_ACTIVE_PORT + (start + i) % ACTIVE_PORTS);
                set_port(&source, conn->port);
                error = resolve_step(conn, &source);
        }
        if (!error)
                return 0;
        conn->port = 0;
        return resolve_step(conn, NULL);
}

/* Starts on the way to a peer; returns an errno, and then the id may exist or not. */
int cm_resolve(struct conn *conn, const struct sockaddr_storage *to)
{
        conn->peer = *to;
        conn->resolve_until = conn->deadline ? conn->deadline : now_us() + RESOLVING_TIME;
        set_port(&conn->peer, port_of_qual(conn->qual));
        if (rdma_create_id(conn->ia->cm, &conn->id, conn, RDMA_PS_TCP))
                return errno;
        list_append(&conn->ia->conns, &conn->link);
        return resolve_from_here(conn);
}

struct target {
        struct sockaddr_storage address;
        DAT_CONN_QUAL qual;
        DAT_TIMEOUT timeout;
        DAT_COUNT size;
        const void *data;
};

/* Sends something beside a connection, in a request that will be rejected. */
static bool start_aside(struct ia *ia, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
                        const void *wire, size_t size)
{
        struct conn *conn = cm_new(ia, CONN_FRAGMENT);

        if (!conn)
                return false;
        conn->number = qp_for_number(ia);
        memcpy(conn->wire, wire, size);
        conn->wire_size = (int)size;
        conn->qual = qual;
        set_deadline(conn, GATHERING_TIME);
        if (!cm_resolve(conn, to))
                return true;
        if (conn->id)
                cm_doom(conn);
        else
                cm_forget(conn);
        return false;
}

static bool start_fragment(struct ia *ia, const struct target *target, uint32_t token)
{
        struct wire_fragment fragment = {.wire = wire_head(WIRE_FRAGMENT, target->size)};
        size_t rest = (size_t)(target->size - MAIN_PART);

        fragment.wire.token = token;
        memcpy(fragment.data, (const uint8_t *)target->data + MAIN_PART, rest);
        return start_aside(ia, &target->address, target->qual, &fragment, sizeof(fragment));
}

/* Ends the attempt that a fragment of ours belongs to: the peer would wait for the rest in vain. */
static void end_whole(const struct conn *fragment, DAT_EVENT_NUMBER number)
{
        struct link *head = &fragment->ia->conns;
        struct wire wire;

        if (fragment->kind != CONN_FRAGMENT || !fragment->wire_size)
                return;
        memcpy(&wire, fragment->wire, sizeof(wire));
        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *request = container_of(at, struct conn, link);

                if (request->kind == CONN_ACTIVE && request->fragmented && request->ep &&
                    request->token == wire.token && request->state != CONN_ESTABLISHED) {
                        cm_end(request, number);
                        return;
                }
        }
}

static void write_request(struct conn *conn, const struct target *target)
{
        struct wire_request request = {.wire = wire_head(WIRE_REQUEST, target->size)};
        int part = target->size < MAIN_PART ? target->size : MAIN_PART;

        request.wire.fragmented = target->size > part;
        request.wire.presence = htobe16(conn->ia->presence);
        request.wire.token = draw(conn->ia);
        request.qual = htobe64(target->qual);
        if (part)
                memcpy(request.data, target->data, (size_t)part);
        memcpy(conn->wire, &request, sizeof(request));
        conn->wire_size = sizeof(request);
        conn->token = request.wire.token;
        conn->fragmented = request.wire.fragmented;
}

static DAT_RETURN connect_locked(struct ep *ep, const struct target *target)
{
        struct ia *ia = ep->obj.ia;
        struct conn *conn;
        DAT_RETURN ret;

        if (!ep_may(ep, EP_CONNECTS))
                return ep_state_error(ep);
        ret = ep_make_qp(ep);
        if (ret != DAT_SUCCESS)
                return ret;
        conn = cm_new(ia, CONN_ACTIVE);
        if (!conn) {
                ep_drop_qp(ep);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
        }
        write_request(conn, target);
        conn->qual = target->qual;
        attach_ep(conn, ep);
        ep->initiated = true;
        ep->remote = target->address;
        ep->remote_qual = target->qual;
        ep->remote_port = port_of_qual(target->qual);
        ep->local_port = 0;
        ep->private_data_size = 0;
        ep_must(ep, EP_CONNECTS, (DAT_EVENT_NUMBER)0);
        if (target->timeout != DAT_TIMEOUT_INFINITE)
                set_deadline(conn, target->timeout);
        if (cm_resolve(conn, &target->address)) {
                if (conn->id) {
                        cm_end(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                        return DAT_SUCCESS;
                }
                ep->conn = NULL;
                free(conn);
                ep_drop_qp(ep);
                ep_must(ep, EP_CANNOT_BEGIN, (DAT_EVENT_NUMBER)0);
                return REF_ERROR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
        }
        ep->local_port = conn->port;
        if (conn->fragmented && !start_fragment(ia, target, conn->token))
                cm_end(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
        return DAT_SUCCESS;
}

static DAT_RETURN read_address(const struct sockaddr *address, struct sockaddr_storage *out)
{
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        uint32_t host;

        memset(out, 0, sizeof(*out));
        if (address->sa_family == AF_INET6) {
                if (IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr) ||
                    IN6_IS_ADDR_MULTICAST(&six->sin6_addr))
                        return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
                memcpy(out, six, sizeof(*six));
                return DAT_SUCCESS;
        }
        if (address->sa_family != AF_INET)
                return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
        host = ntohl(four->sin_addr.s_addr);
        if (host == INADDR_ANY || IN_MULTICAST(host) || host == INADDR_BROADCAST)
                return REF_ERROR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
        memcpy(out, four, sizeof(*four));
        return DAT_SUCCESS;
}

static DAT_RETURN check_private_data(DAT_COUNT size, const void *data, int argument)
{
        if (size < 0 || size > REF_MAX_PRIVATE_DATA)
                return REF_ERROR(DAT_INVALID_PARAMETER, argument);
        if (size && !data)
                return REF_ERROR(DAT_INVALID_PARAMETER, argument + 1);
        return DAT_SUCCESS;
}

/*
 * dat_ep_connect(3DAT). The queue pair is made here, so that lack of one is told at once. All the
 * rest is reported on the connect EVD, no later than the time-out says.
 */
DAT_RETURN ref_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qual,
                          DAT_TIMEOUT timeout, DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos,
                          DAT_CONNECT_FLAGS flags)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        struct target target = {.qual = qual, .timeout = timeout, .size = size, .data = data};
        DAT_RETURN ret;
        bool relieving;

        if (!ep)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (!address)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        else if (!timeout)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
        else if ((unsigned int)flags & ~(unsigned int)DAT_CONNECT_MULTIPATH_FLAG)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
        else if (qos != DAT_QOS_BEST_EFFORT || flags != DAT_CONNECT_DEFAULT_FLAG)
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        else
                ret = check_private_data(size, data, DAT_INVALID_ARG5);
        if (ret == DAT_SUCCESS)
                ret = read_address(address, &target.address);
        if (ret == DAT_SUCCESS) {
                relieving = cm_enter(ep->obj.ia);
                ret = connect_locked(ep, &target);
                cm_leave(ep->obj.ia, relieving, ret);
        }
        object_put(ep);
        return ret;
}

/*
 * dat_ep_dup_connect(3DAT). An EP that was the passive end knows its peer's port only, on which
 * nobody may listen; then the attempt ends as one to a qualifier without a service point.
 */
DAT_RETURN ref_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
                              DAT_COUNT size, const DAT_PVOID data, DAT_QOS qos)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        struct ep *dup = object_get(dup_handle, DAT_HANDLE_TYPE_EP);
        struct target target = {.timeout = timeout, .size = size, .data = data};
        DAT_RETURN ret;
        bool relieving;

        if (!ep || !dup)
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        else if (!timeout)
                ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
        else if (qos != DAT_QOS_BEST_EFFORT)
                ret = REF_ERROR(DAT_MODEL_NOT_SUPPORTED, 0);
        else
                ret = check_private_data(size, data, DAT_INVALID_ARG4);
        if (ret == DAT_SUCCESS && dup->obj.ia != ep->obj.ia)
                ret = REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (ret == DAT_SUCCESS) {
                relieving = cm_enter(ep->obj.ia);
                if (atomic_load(&dup->state) == EP_CONNECTED) {
                        target.address = dup->remote;
                        target.qual = dup->initiated ? dup->remote_qual : dup->remote_port;
                        ret = connect_locked(ep, &target);
                } else {
                        ret = ep_state_error(dup);
                }
                cm_leave(ep->obj.ia, relieving, ret);
        }
        if (dup)
                object_put(dup);
        if (ep)
                object_put(ep);
        return ret;
}

static DAT_RETURN disconnect_locked(struct ep *ep, DAT_CLOSE_FLAGS flags)
{
        enum ep_event leaves = flags == DAT_CLOSE_ABRUPT_FLAG ? EP_LEAVES : EP_LEAVES_IN_PEACE;

        return ep_take(ep, leaves, DAT_CONNECTION_EVENT_DISCONNECTED) ? DAT_SUCCESS
                                                                      : ep_state_error(ep);
}

/* dat_ep_disconnect(3DAT) */
DAT_RETURN ref_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
        struct ep *ep = object_get(handle, DAT_HANDLE_TYPE_EP);
        DAT_RETURN ret = REF_ERROR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
        bool relieving;

        if (!ep)
                return REF_ERROR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP);
        if (flags == DAT_CLOSE_ABRUPT_FLAG || flags == DAT_CLOSE_GRACEFUL_FLAG) {
                relieving = cm_enter(ep->obj.ia);
                ret = disconnect_locked(ep, flags);
                cm_leave(ep->obj.ia, relieving, ret);
        }
        object_put(ep);
        return ret;
}

/* Are these addresses of the same host, whatever their ports? */
bool cm_same_address(const struct sockaddr *a, const struct sockaddr *b)
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

static void deliver(struct conn *conn)
{
        struct service_point *point = point_find(conn->ia, conn->qual);

        conn->deadline = 0;
        if (!point || !cr_deliver(point, conn))
                cm_refuse(conn);
        else
                conn->ia->settled = !conn->fragmented;
}

/* Finds the other part of a request in two parts: the fragment for a request, or vice versa. */
static struct conn *find_part(const struct conn *conn)
{
        enum conn_kind wanted = conn->kind == CONN_PASSIVE ? CONN_FRAGMENT : CONN_PASSIVE;
        struct link *head = &conn->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *other = container_of(at, struct conn, link);

                if (other->kind == wanted && other->state == CONN_GATHERING && other->fragmented &&
                    other->token == conn->token && other->have < other->expected &&
                    cm_same_address(rdma_get_peer_addr(other->id), rdma_get_peer_addr(conn->id)))
                        return other;
        }
        return NULL;
}

static void join(struct conn *request, struct conn *fragment)
{
        struct wire wire = wire_head(WIRE_COLLECTED, 0);

        memcpy(request->data + request->have, fragment->data,
               (size_t)(request->expected - request->have));
        request->have = request->expected;
        reject_id(request->ia, fragment->id, &wire, sizeof(wire));
        cm_doom(fragment);
        deliver(request);
}

static void take_fragment(struct conn *conn, const struct wire_fragment *fragment)
{
        struct conn *request;

        conn->kind = CONN_FRAGMENT;
        conn->token = fragment->wire.token;
        conn->fragmented = true;
        conn->expected = fragment->wire.size;
        memcpy(conn->data, fragment->data, sizeof(fragment->data));
        request = find_part(conn);
        if (request)
                join(request, conn);
        else
                set_deadline(conn, GATHERING_TIME);
}

static void take_request(struct conn *conn, const struct wire_request *request)
{
        int size = request->wire.size;
        struct conn *fragment;

        conn->qual = be64toh(request->qual);
        conn->presence = be16toh(request->wire.presence);
        conn->token = request->wire.token;
        conn->fragmented = request->wire.fragmented;
        conn->expected = size;
        conn->have = size < MAIN_PART ? size : MAIN_PART;
        memcpy(conn->data, request->data, (size_t)conn->have);
        if (conn->have == size) {
                deliver(conn);
                return;
        }
        fragment = find_part(conn);
        if (fragment)
                join(conn, fragment);
        else
                set_deadline(conn, GATHERING_TIME);
}

/* The connection is there. What breaks it may have been seen already. */
static void establish(struct conn *conn)
{
        struct ep *ep = conn->ep;

        conn_become(conn, CONN_ESTABLISHED);
        conn->deadline = 0;
        ep_must(ep, EP_IS_ESTABLISHED, (DAT_EVENT_NUMBER)0);
        ep_post_event(ep, DAT_CONNECTION_EVENT_ESTABLISHED);
        if (atomic_load(&ep->failed))
                work_queue(&ep->obj.ia->loop, &ep->broken_work);
        /* The service thread, which looks for failures, may not be the one that handles this. */
        if (!ep->obj.ia->next_look)
                event_loop_rearm(&ep->obj.ia->loop);
}

static void establish_accepted(struct conn *conn)
{
        struct ep *ep = conn->ep;

        if (!ep || atomic_load(&ep->state) != EP_ACCEPTING)
                return;
        establish(conn);
        conn->ia->settled = true;
}

/* The request that a question is about, while its Consumer waits for what became of it. */
static struct conn *asker_of(const struct conn *aside)
{
        struct link *head = &aside->ia->conns;
        struct wire wire;

        memcpy(&wire, aside->wire, sizeof(wire));
        if (!wire_is(&wire, (size_t)aside->wire_size, WIRE_QUESTION))
                return NULL;
        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (conn->kind == CONN_ACTIVE && conn->ep && conn->questions &&
                    conn->token == wire.token)
                        return conn;
        }
        return NULL;
}

/* A question that has come to nothing leaves what the kernel said. */
static void end_question(const struct conn *aside)
{
        struct conn *asker = asker_of(aside);

        if (asker)
                cm_end(asker, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* The attempt has failed. Who waits for it is told; who has not begun to wait is told on accept. */
static void on_failure(struct conn *conn, DAT_EVENT_NUMBER number)
{
        if (conn->kind == CONN_PROBE && number == DAT_CONNECTION_EVENT_UNREACHABLE)
                probe_unanswered(conn);
        end_question(conn);
        if (conn->ep)
                cm_end(conn, conn->kind == CONN_PASSIVE
                                 ? DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR
                                 : number);
        else if (conn->state == CONN_REPORTED)
                conn_become(conn, CONN_GIVEN_UP);
        else if (conn->state != CONN_GIVEN_UP)
                cm_doom(conn);
}

static bool qp_has_failed(const struct ep *ep)
{
        struct ibv_qp_init_attr init;
        struct ibv_qp_attr attr;

        return ep->qp && !ibv_query_qp(ep->qp, &attr, IBV_QP_STATE, &init) &&
               attr.qp_state == IBV_QPS_ERR;
}

/*
 * On iWARP who disconnects at once may be ahead of its own confirmation, which comes by another
 * way. Then the connection was there, and is told so first, once the confirmation says that the
 * peer was told; but without it the peer has failed on the way there.
 */
static bool awaits_confirmation(const struct conn *conn)
{
        return conn->state == CONN_ACCEPTED && conn->reached && !conn->confirmed;
}

static void on_disconnected(struct conn *conn)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_DISCONNECTED;

        if (conn->state == CONN_PARTING) {
                cm_doom(conn);
                conn->ia->settled = true;
                return;
        }
        if (awaits_confirmation(conn)) {
                conn->left = true;
                set_deadline(conn, PASSING_TIME);
                return;
        }
        /* InfiniBand's CM answers by itself for an id that is destroyed, as it soon is. */
        if (conn->ia->iwarp || conn->state != CONN_ESTABLISHED)
                disconnect_id(conn);
        if (conn->state != CONN_ESTABLISHED) {
                on_failure(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                return;
        }
        /* A queue pair that failed on its own was broken; the peer only drew the consequence. */
        if (conn->ia->iwarp ? atomic_load(&conn->ep->failed) : qp_has_failed(conn->ep))
                number = DAT_CONNECTION_EVENT_BROKEN;
        cm_end(conn, number);
}

/* Does this connection here, which was accepted, belong to what a peer has sent beside it? */
static bool is_confirmed_by(const struct conn *conn, const struct conn *aside,
                            const struct wire *wire)
{
        return conn->kind == CONN_PASSIVE && conn->state == CONN_ACCEPTED &&
               conn->token == wire->token && conn->presence == be16toh(wire->presence) &&
               cm_same_address(rdma_get_peer_addr(conn->id), rdma_get_peer_addr(aside->id));
}

static void take_confirmation(struct conn *aside, const struct wire *wire)
{
        struct wire answer = wire_head(WIRE_COLLECTED, 0);
        struct link *head = &aside->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (!is_confirmed_by(conn, aside, wire))
                        continue;
                conn->confirmed = true;
                if (conn->reached)
                        establish_accepted(conn);
                if (conn->left)
                        on_disconnected(conn);
                break;
        }
        reject_id(aside->ia, aside->id, &answer, sizeof(answer));
        cm_doom(aside);
}

static const struct refusal *find_refusal(const struct ia *ia, const struct wire *wire)
{
        for (int i = 0; i < REFUSALS; i++) {
                const struct refusal *refusal = &ia->refusals[i];

                if (refusal->token == wire->token && refusal->presence == be16toh(wire->presence))
                        return refusal;
        }
        return NULL;
}

static void take_question(struct conn *aside, const struct wire *wire)
{
        const struct refusal *refusal = find_refusal(aside->ia, wire);

        if (refusal)
                answer_no(aside, WIRE_REJECTED, refusal->size, refusal->data);
        else
                cm_refuse(aside);
}

static void on_connect_request(struct ia *ia, struct rdma_cm_event *event)
{
        const void *data = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        struct conn *conn = cm_new(ia, CONN_PASSIVE);

        event->id->context = conn;
        if (!conn) {
                reject_id(ia, event->id, NULL, 0);
                return;
        }
        conn->state = CONN_GATHERING;
        conn->id = event->id;
        conn->reads_in = event->param.conn.responder_resources;
        conn->reads_out = event->param.conn.initiator_depth;
        list_append(&ia->conns, &conn->link);
        if (length >= sizeof(struct wire_request) && wire_is(data, length, WIRE_REQUEST))
                take_request(conn, data);
        else if (length >= sizeof(struct wire_fragment) && wire_is(data, length, WIRE_FRAGMENT))
                take_fragment(conn, data);
        else if (wire_is(data, length, WIRE_CONFIRMED))
                take_confirmation(conn, data);
        else if (wire_is(data, length, WIRE_QUESTION))
                take_question(conn, data);
        else
                cm_refuse(conn);
}

static bool on_our_device(const struct conn *conn)
{
        return conn->id->verbs && !strcmp(ibv_get_device_name(conn->id->verbs->device),
                                          ibv_get_device_name(conn->ia->verbs->device));
}

/* The request could not go out. On iWARP the peer's kernel refuses so what nobody listens for. */
static void cannot_request(struct conn *conn, int error)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_UNREACHABLE;

        conn->unanswered = false;
        if (error == ECONNREFUSED) {
                number = DAT_CONNECTION_EVENT_NON_PEER_REJECTED;
                if (conn->kind == CONN_PROBE)
                        probe_refused(conn, PROBE_NOBODY_LISTENS);
        }
        if (conn->ep) {
                cm_end(conn, number);
                return;
        }
        end_whole(conn, number);
        end_question(conn);
        cm_doom(conn);
}

static void take_attempts(struct ia *ia)
{
        struct conn *conn;
        int error;

        while ((conn = attempt_next(ia, &error)) != NULL) {
                if (error && conn->state != CONN_OVER)
                        cannot_request(conn, error);
        }
}

static void on_route(struct conn *conn)
{
        struct rdma_conn_param param = param_of(conn->ep, conn->wire, (size_t)conn->wire_size);
        bool ok = on_our_device(conn) && (!conn->ep || ep_start_qp(conn->ep, conn->id));

        if (conn->number)
                param.qp_num = conn->number->qp_num;
        conn->unanswered = ok && conn->ia->iwarp;
        if (conn->unanswered && attempt_begin(conn, &param))
                return;
        if (!ok)
                cannot_request(conn, 0);
        else if (rdma_connect(conn->id, &param))
                cannot_request(conn, errno);
}

static bool keep_private_data(struct ep *ep, const struct wire_reply *reply, size_t length)
{
        if (length < sizeof(reply->wire) + reply->wire.size)
                return false;
        ep->private_data_size = reply->wire.size;
        memcpy(ep->private_data, reply->data, reply->wire.size);
        return true;
}

static void on_reply(struct conn *conn, const struct rdma_cm_event *event)
{
        const struct wire_reply *reply = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        struct ep *ep = conn->ep;

        if (!ep)
                return;
        if (!wire_is(&reply->wire, length, WIRE_REPLY) || !keep_private_data(ep, reply, length) ||
            !step_to_rts(ep, conn) || (!conn->ia->iwarp && rdma_establish(conn->id))) {
                cm_end(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                return;
        }
        conn->presence = be16toh(reply->wire.presence);
        establish(conn);
}

/*
 * On iWARP nothing tells who accepts that the answer has come, and what is sent before it has may
 * break the connection. So who connects says so, in a request to the port where the peer's IA
 * listens as long as it is open, for service points may be gone by then.
 */
static bool confirm(const struct conn *conn)
{
        struct wire wire = wire_head(WIRE_CONFIRMED, 0);

        wire.token = conn->token;
        wire.presence = htobe16(conn->ia->presence);
        return start_aside(conn->ia, &conn->peer, conn->presence, &wire, sizeof(wire));
}

/* The peer's answer on iWARP, whose kernel makes the last step by itself. */
static void on_reply_of_iwarp(struct conn *conn, const struct rdma_cm_event *event)
{
        struct ep *ep = conn->ep;

        if (!ep || conn->state != CONN_REQUESTING)
                return;
        ep_may_read(ep, event->param.conn.responder_resources);
        on_reply(conn, event);
        if (conn->ep == ep && conn->presence && !confirm(conn))
                cm_end(conn, DAT_CONNECTION_EVENT_BROKEN);
}

static void on_established(struct conn *conn, const struct rdma_cm_event *event)
{
        struct ia *ia = conn->ia;

        if (!ia->iwarp) {
                establish_accepted(conn);
        } else if (conn->kind != CONN_PASSIVE) {
                on_reply_of_iwarp(conn, event);
        } else {
                conn->reached = true;
                if (conn->ep)
                        ep_may_read(conn->ep, event->param.conn.responder_resources);
                if (conn->confirmed || !ia->presence)
                        establish_accepted(conn);
        }
}

/* The kernel asks for an address three times in a row and then only waits, so we ask again. */
static void on_address_error(struct conn *conn)
{
        if (now_us() < conn->resolve_until && !resolve_step(conn, NULL))
                return;
        on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/*
 * On iWARP a peer rejects and closes the stream at once; a kernel that sees its end first does not
 * look for what came before. Then the peer is asked, at the same service point, in whose name it
 * rejected the request. False when it has been asked often enough.
 */
static bool ask_why(struct conn *conn)
{
        struct wire wire = wire_head(WIRE_QUESTION, 0);

        if (conn->questions == QUESTIONS)
                return false;
        wire.token = conn->token;
        wire.presence = htobe16(conn->ia->presence);
        conn->questions++;
        return start_aside(conn->ia, &conn->peer, conn->qual, &wire, sizeof(wire));
}

/* What the peer says of a request of which the kernel said too little. */
static bool took_answer(const struct conn *aside, const struct wire_reply *reply, size_t length)
{
        struct conn *asker = asker_of(aside);

        if (!asker)
                return false;
        if (!length && ask_why(asker))
                return true;
        if (!wire_is(&reply->wire, length, WIRE_REJECTED) ||
            !keep_private_data(asker->ep, reply, length))
                return false;
        cm_end(asker, DAT_CONNECTION_EVENT_PEER_REJECTED);
        return true;
}

static void on_rejected(struct conn *conn, const struct rdma_cm_event *event)
{
        const struct wire_reply *reply = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        bool by_peer = wire_is(event->param.conn.private_data, length, WIRE_REJECTED);

        if (conn->ia->iwarp && !length && conn->kind == CONN_ACTIVE && conn->ep &&
            conn->state == CONN_REQUESTING && ask_why(conn))
                return;
        if (took_answer(conn, reply, length)) {
                cm_doom(conn);
                return;
        }

        /* Who accepted has given up before it heard that the connection was there; here it was. */
        if (conn->state == CONN_ESTABLISHED || conn->state == CONN_PARTING) {
                on_disconnected(conn);
                return;
        }
        if (conn->kind == CONN_PROBE)
                probe_refused(conn, event->status);
        /* Where the kernel said too little, the request itself will be answered. */
        if (!wire_is(event->param.conn.private_data, length, WIRE_COLLECTED) &&
            (length || !conn->ia->iwarp))
                end_whole(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
        if (by_peer && conn->ep)
                (void)keep_private_data(conn->ep, reply, length);
        on_failure(conn, by_peer ? DAT_CONNECTION_EVENT_PEER_REJECTED
                                 : DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

static void on_removal(struct conn *conn)
{
        if (conn->state == CONN_ESTABLISHED)
                cm_end(conn, DAT_CONNECTION_EVENT_BROKEN);
        else
                on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/* The device goes, and with it all that is on it, before one end can tell the other. */
static void on_device_removal(struct ia *ia)
{
        struct link *head = &ia->conns;
        struct link *at = head->next;

        while (at != head) {
                struct conn *conn = container_of(at, struct conn, link);

                at = at->next;
                if (conn->state == CONN_GIVEN_UP)
                        continue;
                /* Others may end with it, so begin again: this one has failed, or is off. */
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
                on_connect_request(ia, event);
                return;
        }
        if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
                on_device_removal(ia);
                return;
        }
        if (!conn || conn->kind == CONN_LISTENER)
                return;
        conn->unanswered = false;
        if (conn->state == CONN_OVER)
                return;
        switch (event->event) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
                conn_become(conn, CONN_REQUESTING);
                if (rdma_resolve_route(conn->id, resolving_ms(conn))) {
                        end_whole(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                        on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                }
                break;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
                on_route(conn);
                break;
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
                on_reply(conn, event);
                break;
        case RDMA_CM_EVENT_ESTABLISHED:
                on_established(conn, event);
                break;
        case RDMA_CM_EVENT_ADDR_ERROR:
                on_address_error(conn);
                break;
        case RDMA_CM_EVENT_ROUTE_ERROR:
        case RDMA_CM_EVENT_UNREACHABLE:
                on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
                break;
        case RDMA_CM_EVENT_CONNECT_ERROR:
                on_failure(conn, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
                break;
        case RDMA_CM_EVENT_REJECTED:
                on_rejected(conn, event);
                break;
        case RDMA_CM_EVENT_DISCONNECTED:
                on_disconnected(conn);
                break;
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
                if (conn->state == CONN_PARTING)
                        cm_doom(conn);
                break;
        default:
                break;
        }
}

static void destroy_id(void *id)
{
        rdma_destroy_id(id);
}

/* Of a request that nobody answered, the peer is told. */
static void destroy_conn_id(const struct conn *conn)
{
        struct sigpipe sigpipe;

        sigpipe_hold(conn->ia, &sigpipe);
        rdma_destroy_id(conn->id);
        sigpipe_let_go(&sigpipe);
}

/* Destroys the connections given up. Called in ia->cm_turn, so no event of theirs is under way. */
static void reap(struct ia *ia)
{
        for (;;) {
                struct conn *conn = NULL;

                pthread_mutex_lock(&ia->cm_lock);
                if (!list_empty(&ia->doomed)) {
                        conn = container_of(ia->doomed.next, struct conn, link);
                        list_remove(&conn->link);
                        conn->id->context = NULL;
                        if (conn->attempt)
                                attempt_give_up(conn);
                }
                pthread_mutex_unlock(&ia->cm_lock);
                if (!conn)
                        return;
                if (conn->attempt)
                        linger_destroy(ia, attempt_destroy, conn->attempt);
                else if (conn->unanswered)
                        linger_destroy(ia, destroy_id, conn->id);
                else
                        destroy_conn_id(conn);
                cm_forget(conn);
        }
}

static void handle(struct ia *ia, struct rdma_cm_event *event)
{
        struct rdma_cm_id *orphan = NULL;

        pthread_mutex_lock(&ia->cm_lock);
        handling = ia;
        evd_hold_wakes();
        dispatch(ia, event);
        if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && !event->id->context)
                orphan = event->id;
        /* The removal of the device waits for every id on it to go. */
        if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && event->id == ia->anchor) {
                orphan = ia->anchor;
                ia->anchor = NULL;
        }
        handling = NULL;
        pthread_mutex_unlock(&ia->cm_lock);
        evd_release_wakes();
        rdma_ack_cm_event(event);
        if (orphan)
                rdma_destroy_id(orphan);
        reap(ia);
}

/*
 * Fetches what librdmacm has to tell, or some of it when there is much; `settled` ends it where
 * nothing more is to be expected, so that nothing is asked for in vain.
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

/* For the service thread, when there is something. Called without a lock. */
static void cm_handle_events(struct ia *ia)
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
        if (atomic_exchange(&ia->relieved, true))
                return false;
        event_loop_enable(&ia->loop, ia->cm_fd, &ia->cm_source, false);
        return true;
}

static void resume_service(struct ia *ia)
{
        event_loop_enable(&ia->loop, ia->cm_fd, &ia->cm_source, true);
        atomic_store(&ia->relieved, false);
}

/*
 * Takes ia->cm_lock for a call that makes librdmacm tell something. What can be had by then,
 * cm_leave() handles: else the service thread would wake in the midst of the call, sleep until it
 * has the lock, and often wake in turn who waits for the event.
 */
bool cm_enter(struct ia *ia)
{
        bool relieving = pause_service(ia);

        pthread_mutex_lock(&ia->cm_lock);
        return relieving;
}

/* Releases the lock. `relieving` is what cm_enter() has returned; a refused call causes nothing. */
void cm_leave(struct ia *ia, bool relieving, DAT_RETURN ret)
{
        pthread_mutex_unlock(&ia->cm_lock);
        if (!relieving)
                return;
        if (ret == DAT_SUCCESS)
                fetch(ia, true);
        resume_service(ia);
}

static void expire(struct conn *conn)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_TIMED_OUT;

        if (conn->kind == CONN_PASSIVE)
                number = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
        else if (conn->state == CONN_RESOLVING)
                number = DAT_CONNECTION_EVENT_UNREACHABLE;
        if (conn->ep)
                cm_end(conn, number);
        else if (conn->kind == CONN_PASSIVE && conn->state == CONN_GATHERING)
                cm_refuse(conn);
        else
                on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/*
 * A failed operation shows in a completion queue and nowhere else, at which the Consumer need not
 * look: it may wait for the end of the connection. So each connection's are looked at now and then;
 * and the queue pair, where an EVD that nobody reads keeps the completion queue from being emptied.
 * Returns when to do so next, or 0 while nothing is connected.
 */
static uint64_t look_for_failures(struct ia *ia, uint64_t now)
{
        struct link *head = &ia->conns;
        bool due = ia->next_look && ia->next_look <= now;
        bool any = false;
        bool all;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (conn->state != CONN_ESTABLISHED)
                        continue;
                any = true;
                if (!due)
                        continue;
                all = evd_look(ep_recv_target(conn->ep));
                all = evd_look(ep_request_target(conn->ep)) && all;
                if (!all && qp_has_failed(conn->ep))
                        ep_failed(conn->ep);
        }
        if (!any)
                ia->next_look = 0;
        else if (due || !ia->next_look)
                ia->next_look = now + LOOKING_TIME;
        return ia->next_look;
}

/* The earlier of two deadlines, of which 0 is none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
        return a && (!b || a < b) ? a : b;
}

/* Ends what has taken too long; returns the next deadline, or 0. */
static uint64_t expire_all(struct ia *ia)
{
        struct link *head = &ia->conns;
        uint64_t now = now_us();
        uint64_t next = 0;
        struct link *at;
        struct link *after;

        pthread_mutex_lock(&ia->cm_lock);
        if (ia->iwarp)
                take_attempts(ia);
        for (at = head->next; at != head; at = after) {
                struct conn *conn = container_of(at, struct conn, link);

                after = at->next;
                if (!conn->deadline)
                        continue;
                if (conn->deadline <= now) {
                        /* Others may end with it, so begin again: this one is off the list. */
                        expire(conn);
                        after = head->next;
                        next = 0;
                } else if (!next || conn->deadline < next) {
                        next = conn->deadline;
                }
        }
        next = earlier(next, probe_peers(ia, now));
        next = earlier(next, look_for_failures(ia, now));
        ia->next_deadline = next;
        pthread_mutex_unlock(&ia->cm_lock);
        return next;
}

/* Destroys the connections given up that nobody who handles an event has reaped. */
static void cm_reap(struct ia *ia)
{
        pthread_mutex_lock(&ia->cm_turn);
        reap(ia);
        pthread_mutex_unlock(&ia->cm_turn);
}

/* The tick of the service thread: ends what has timed out, and destroys retired connections. */
uint64_t cm_tick(struct event_loop *loop)
{
        struct ia *ia = container_of(loop, struct ia, loop);
        uint64_t deadline = expire_all(ia);

        cm_reap(ia);
        return deadline;
}

/* Is there a confirmation whose request has yet to begin? */
static bool is_to_confirm(struct ia *ia)
{
        struct link *head = &ia->conns;
        bool found = false;
        struct wire wire;

        pthread_mutex_lock(&ia->cm_lock);
        for (struct link *at = head->next; at != head && !found; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                memcpy(&wire, conn->wire, sizeof(wire));
                found =
                    wire_is(&wire, (size_t)conn->wire_size, WIRE_CONFIRMED) && !conn->unanswered;
        }
        pthread_mutex_unlock(&ia->cm_lock);
        return found;
}

/*
 * Lets confirmations begin, since a peer takes for failed what it is not told of. Once begun, they
 * outlive the IA. Called when the service thread has ended.
 */
void cm_confirm_last(struct ia *ia)
{
        struct pollfd told = {.fd = ia->cm->fd, .events = POLLIN};
        uint64_t now = now_us();
        uint64_t until = now + PASSING_TIME;

        while (now < until && is_to_confirm(ia)) {
                (void)poll(&told, 1, (int)((until - now) / 1000) + 1);
                cm_handle_events(ia);
                now = now_us();
        }
}

/* Destroys every connection of an IA whose service thread has ended. */
void cm_close(struct ia *ia)
{
        pthread_mutex_lock(&ia->cm_lock);
        while (!list_empty(&ia->conns))
                cm_doom(container_of(ia->conns.next, struct conn, link));
        pthread_mutex_unlock(&ia->cm_lock);
        cm_reap(ia);
        if (ia->lender)
                linger_dealloc_pd(ia, ia->lender);
}
