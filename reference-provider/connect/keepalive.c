/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/keepalive.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/pool.h"
#include "connect/cm_conn.h"
#include "endpoint/ep.h"
#include "endpoint/qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A host without power or cable sends nothing, and verbs repeats a request without limit. A finite
 * retry count would also break connections that wait for a receive. So each peer's host gets a
 * request for a port without a listener. If its kernel does not reject that in time, its
 * connections are broken. When a process ends, its kernel disconnects, but that message may be
 * lost. So each peer's IA gets a request on its keepalive port. If the kernel rejects it for want
 * of a listener, the connections to that IA are broken. Silence of an IA means nothing, since a
 * process may be stopped. Only peers of which a request is due for a whole interval are asked,
 * which limits the load on large clusters.
 */
#define SECONDS          UINT64_C(1000000)
#define DEFAULT_INTERVAL 10
#define MAX_INTERVAL     3600
#define PATIENCE         3 /* intervals until an answer is overdue */
#define NO_SERVICE       1 /* a privileged port that nothing listens on */

/* Reads DAPLREF_PROBE_SECONDS, the interval, where 0 disables keepalives, and DAPLREF_PROBE_ALL. */
void keepalive_init(struct ia *ia)
{
        const char *text = getenv("DAPLREF_PROBE_SECONDS");
        unsigned long interval = DEFAULT_INTERVAL;
        char *rest = NULL;

        if (text && *text) {
                interval = strtoul(text, &rest, 10);
                if (*rest || interval > MAX_INTERVAL)
                        interval = DEFAULT_INTERVAL;
        }
        ia->keepalive_interval = interval * SECONDS;
        text = getenv("DAPLREF_PROBE_ALL");
        ia->keepalive_always = text && !strcmp(text, "yes");
}

static bool has_peer_elsewhere(const struct conn *conn)
{
        return conn->state == CONN_ESTABLISHED &&
               !conn_same_host((struct sockaddr *)&conn->ia->address, rdma_get_peer_addr(conn->id));
}

/* Returns a value that identifies the oldest pending request, or NULL. */
static const void *oldest_request(const struct conn *conn)
{
        struct wr_pool *pool;
        const void *oldest = NULL;

        if (!conn->ep)
                return NULL;
        pool = &conn->ep->requests;
        lock_acquire(&pool->lock);
        if (!list_empty(&pool->pending))
                oldest = pool->pending.next;
        lock_release(&pool->lock);
        return oldest;
}

/* Whether a request has been pending since the previous interval. */
static bool is_stuck(const struct conn *conn)
{
        return conn->oldest && conn->oldest == oldest_request(conn);
}

static bool is_to_be_asked(struct conn *conn)
{
        bool stuck = is_stuck(conn);

        conn->oldest = oldest_request(conn);
        return stuck || conn->ia->keepalive_always;
}

static bool is_being_asked(struct ia *ia, const struct sockaddr *peer, uint16_t port)
{
        struct link *head = &ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                const struct conn *conn = container_of(at, struct conn, link);

                if (conn->kind == CONN_KEEPALIVE && conn->qual == port &&
                    conn_same_host((const struct sockaddr *)&conn->peer, peer))
                        return true;
        }
        return false;
}

static bool tells_of_absence(int error)
{
        return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
               error == ENODEV;
}

/* Breaks the connections to the host that was asked, or only those to the IA that was asked. */
static void break_all(const struct conn *question)
{
        struct link *head = &question->ia->conns;
        struct link *after;

        for (struct link *at = head->next; at != head; at = after) {
                struct conn *conn = container_of(at, struct conn, link);

                after = at->next;
                if (conn->state == CONN_ESTABLISHED &&
                    (question->qual == NO_SERVICE || question->qual == conn->keepalive_port) &&
                    conn_same_host((struct sockaddr *)&question->peer,
                                   rdma_get_peer_addr(conn->id)))
                        conn_end(conn, DAT_CONNECTION_EVENT_BROKEN);
        }
}

/* Sends a keepalive. Returns false if the peer is unreachable; its connections are then broken. */
static bool ask_peer(struct ia *ia, const struct conn *conn, uint16_t port)
{
        const struct sockaddr *peer = rdma_get_peer_addr(conn->id);
        struct conn *question;
        struct sockaddr_storage to;
        int error;

        if (is_being_asked(ia, peer, port))
                return true;
        question = conn_new(ia, CONN_KEEPALIVE);
        if (!question)
                return true;
        memset(&to, 0, sizeof(to));
        memcpy(&to, peer,
               peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : sizeof(struct sockaddr_in));
        if (ia->iwarp)
                question->number = qp_for_number(ia);
        question->qual = port;
        question->deadline = now_us() + PATIENCE * ia->keepalive_interval;
        error = conn_resolve(question, &to);
        if (!error)
                return true;
        if (!question->id) {
                conn_free(question);
                return true;
        }
        if (tells_of_absence(error))
                break_all(question);
        conn_retire(question);
        return !tells_of_absence(error);
}

static void ask_peers(struct ia *ia)
{
        struct link *head = &ia->conns;
        struct link *at = head->next;

        while (at != head) {
                struct conn *conn = container_of(at, struct conn, link);

                at = at->next;
                if (!has_peer_elsewhere(conn) || !is_to_be_asked(conn))
                        continue;
                /* An unreachable peer takes connections off the list, so begin again. */
                if (!ask_peer(ia, conn, NO_SERVICE) ||
                    (conn->keepalive_port && !ask_peer(ia, conn, conn->keepalive_port)))
                        at = head->next;
        }
}

static bool has_anybody(struct ia *ia)
{
        struct link *head = &ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                if (has_peer_elsewhere(container_of(at, struct conn, link)))
                        return true;
        }
        return false;
}

/*
 * Sends keepalives if the interval is over. Returns the time of the next, or 0 if there is no peer.
 * Called with ia->cm_lock held.
 */
uint64_t keepalive_run(struct ia *ia, uint64_t now)
{
        if (!ia->keepalive_interval)
                return 0;
        if (ia->next_keepalive && ia->next_keepalive <= now) {
                ia->next_keepalive = 0;
                ask_peers(ia);
        }
        if (!has_anybody(ia))
                ia->next_keepalive = 0;
        else if (!ia->next_keepalive)
                ia->next_keepalive = now + ia->keepalive_interval;
        return ia->next_keepalive;
}

/* Whether no completion has arrived from the host since it was asked. */
static bool is_silent(const struct conn *question)
{
        struct link *head = &question->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                const struct conn *conn = container_of(at, struct conn, link);

                if (has_peer_elsewhere(conn) && is_stuck(conn) &&
                    conn_same_host((const struct sockaddr *)&question->peer,
                                   rdma_get_peer_addr(conn->id)))
                        return true;
        }
        return question->ia->keepalive_always;
}

/*
 * Handles a keepalive without an answer. The host is gone, unless messages arrive. An IA may only
 * be stopped.
 */
void keepalive_timed_out(struct conn *question)
{
        if (question->qual == NO_SERVICE && is_silent(question))
                break_all(question);
}

/*
 * Handles an answer with librdmacm's reason. The host exists; the IA does not if nothing listens.
 */
void keepalive_refused(struct conn *question, int reason)
{
        if (question->qual != NO_SERVICE && reason == KEEPALIVE_NO_LISTENER)
                break_all(question);
}
