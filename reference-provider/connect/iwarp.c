/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/iwarp.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"
#include "connect/cm_conn.h"
#include "connect/cm_event.h"
#include "connect/cm_wire.h"
#include "connect/iwarp_connect.h"
#include "endpoint/ep.h"
#include "endpoint/qp.h"

#include <endian.h>
#include <poll.h>
#include <string.h>

#define SECONDS      UINT64_C(1000000)
#define PASSING_TIME SECONDS /* until a confirmation is sent or received */
#define QUESTIONS    3       /* since an answer may be lost, as the first one was */

/*
 * Returns the connection whose request a question is about, while its Consumer waits for the
 * result.
 */
static struct conn *asker_of(const struct conn *aside)
{
        struct link *head = &aside->ia->conns;
        struct wire wire;

        memcpy(&wire, aside->wire, sizeof(wire));
        if (!wire_is(&wire, (size_t)aside->wire_size, WIRE_QUESTION))
                return NULL;
        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (conn->kind == CONN_ACTIVE && conn->ep && conn->iwarp.questions &&
                    conn->token == wire.token)
                        return conn;
        }
        return NULL;
}

/* If a question gets no answer, the attempt ends as the kernel reported it. */
void iwarp_end_question(const struct conn *aside)
{
        struct conn *asker = asker_of(aside);

        if (asker)
                conn_end(asker, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/*
 * Whether a disconnect must wait for the confirmation. On iWARP the two travel on different
 * connections. After the confirmation the connection is reported as established first; without it
 * as failed.
 */
bool iwarp_awaits_confirmation(const struct conn *conn)
{
        return conn->state == CONN_ACCEPTED && conn->iwarp.reached && !conn->iwarp.confirmed;
}

/* Whether a confirmation or question of a peer belongs to this accepted connection. */
static bool is_confirmed_by(const struct conn *conn, const struct conn *aside,
                            const struct wire *wire)
{
        return conn->kind == CONN_PASSIVE && conn->state == CONN_ACCEPTED &&
               conn->token == wire->token &&
               conn->keepalive_port == be16toh(wire->keepalive_port) &&
               conn_same_host(rdma_get_peer_addr(conn->id), rdma_get_peer_addr(aside->id));
}

void iwarp_take_confirmation(struct conn *aside, const struct wire *wire)
{
        struct wire answer = wire_head(WIRE_COLLECTED, 0);
        struct link *head = &aside->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (!is_confirmed_by(conn, aside, wire))
                        continue;
                conn->iwarp.confirmed = true;
                if (conn->iwarp.reached)
                        cm_establish_accepted(conn);
                if (conn->iwarp.left)
                        cm_on_disconnected(conn);
                break;
        }
        conn_reject_id(aside->ia, aside->id, &answer, sizeof(answer));
        conn_retire(aside);
}

/* Keeps a rejection, because the peer may ask for it, see iwarp_ask_why(). */
void iwarp_remember_refusal(const struct conn *conn, int size, const void *data)
{
        struct ia *ia = conn->ia;
        struct iwarp_refusal *refusal =
            &ia->iwarp_cm.refusals[ia->iwarp_cm.next_refusal++ % IWARP_REFUSALS];

        refusal->token = conn->token;
        refusal->keepalive_port = conn->keepalive_port;
        refusal->size = (uint8_t)size;
        if (size)
                memcpy(refusal->data, data, (size_t)size);
}

static const struct iwarp_refusal *find_refusal(const struct ia *ia, const struct wire *wire)
{
        for (int i = 0; i < IWARP_REFUSALS; i++) {
                const struct iwarp_refusal *refusal = &ia->iwarp_cm.refusals[i];

                if (refusal->token == wire->token &&
                    refusal->keepalive_port == be16toh(wire->keepalive_port))
                        return refusal;
        }
        return NULL;
}

void iwarp_take_question(struct conn *aside, const struct wire *wire)
{
        const struct iwarp_refusal *refusal = find_refusal(aside->ia, wire);

        if (refusal)
                conn_answer_reject(aside, WIRE_REJECTED, refusal->size, refusal->data);
        else
                conn_refuse(aside);
}

/*
 * Asks a peer why it rejected a request. On iWARP the peer closes the stream at once, and the
 * kernel may see the end before the private data. Returns false after QUESTIONS tries.
 */
bool iwarp_ask_why(struct conn *conn)
{
        struct wire wire = wire_head(WIRE_QUESTION, 0);

        if (conn->iwarp.questions == QUESTIONS)
                return false;
        wire.token = conn->token;
        wire.keepalive_port = htobe16(conn->ia->keepalive_port);
        conn->iwarp.questions++;
        return conn_start_aside(conn->ia, &conn->peer, conn->qual, &wire, sizeof(wire));
}

/* Processes the answer to a question. Returns false if it was none. */
bool iwarp_took_answer(const struct conn *aside, const struct wire_reply *reply, size_t length)
{
        struct conn *asker = asker_of(aside);

        if (!asker)
                return false;
        if (!length && iwarp_ask_why(asker))
                return true;
        if (!wire_is(&reply->wire, length, WIRE_REJECTED) ||
            !conn_keep_private_data(asker->ep, reply, length))
                return false;
        conn_end(asker, DAT_CONNECTION_EVENT_PEER_REJECTED);
        return true;
}

/*
 * Sends a confirmation. On iWARP the accepting side is not notified that its answer arrived, and a
 * send before that may break the connection. The confirmation goes to the peer IA's keepalive port,
 * because the service point may be gone.
 */
static bool confirm(const struct conn *conn)
{
        struct wire wire = wire_head(WIRE_CONFIRMED, 0);

        wire.token = conn->token;
        wire.keepalive_port = htobe16(conn->ia->keepalive_port);
        return conn_start_aside(conn->ia, &conn->peer, conn->keepalive_port, &wire, sizeof(wire));
}

/* Processes the peer's answer. On iWARP the kernel moves the queue pair to RTS. */
void iwarp_on_reply(struct conn *conn, const struct rdma_cm_event *event)
{
        struct ep *ep = conn->ep;

        if (!ep || conn->state != CONN_REQUESTING)
                return;
        ep_may_read(ep, event->param.conn.responder_resources);
        cm_on_reply(conn, event);
        if (conn->ep == ep && conn->keepalive_port && !confirm(conn))
                conn_end(conn, DAT_CONNECTION_EVENT_BROKEN);
}

void iwarp_take_connects(struct ia *ia)
{
        struct conn *conn;
        int error;

        while ((conn = iwarp_connect_next(ia, &error)) != NULL) {
                if (error && conn->state != CONN_RETIRED)
                        cm_cannot_request(conn, error);
        }
}

/* Whether a confirmation exists whose request is not sent yet. */
static bool is_to_confirm(struct ia *ia)
{
        struct link *head = &ia->conns;
        bool found = false;
        struct wire wire;

        pthread_mutex_lock(&ia->cm_lock);
        for (struct link *at = head->next; at != head && !found; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                memcpy(&wire, conn->wire, sizeof(wire));
                found = wire_is(&wire, (size_t)conn->wire_size, WIRE_CONFIRMED) &&
                        !conn->iwarp.unanswered;
        }
        pthread_mutex_unlock(&ia->cm_lock);
        return found;
}

/*
 * Waits until confirmations are sent, because a peer treats an unconfirmed connection as failed.
 * Once sent, they outlive the IA. Called after the service thread has ended.
 */
void iwarp_confirm_last(struct ia *ia)
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
