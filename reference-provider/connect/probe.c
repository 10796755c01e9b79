/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/probe.h"
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
 * A host that loses its power, or its cable, sends nothing, and a request to it is repeated for
 * ever, because so few repetitions as verbs can count would break connections that only wait for
 * a receive. So each peer's host is asked now and then for a service that nobody offers. The
 * refusal comes from its kernel; where none comes, the connections to that host are broken.
 *
 * A process that ends has its kernel say so, once for each connection. That may be lost, so each
 * peer's IA is asked too, on the port that it has listened on since it was opened. Its refusal
 * means nothing, nor does its silence, for a process may be stopped; but where the kernel refuses,
 * because nobody listens there any more, the connections to that IA are broken.
 *
 * Asked are those only for whom a request has waited since the time before: with many processes on
 * many hosts, questions to all would be more than their kernels can answer.
 */
#define SECONDS          UINT64_C(1000000)
#define DEFAULT_INTERVAL 10
#define MAX_INTERVAL     3600
#define PATIENCE         3 /* intervals until an answer is overdue */
#define NO_SERVICE       1 /* a port that needs privilege, and that nothing listens on */

/* Reads DAPLREF_PROBE_SECONDS, the time between two probes, 0 for none, and DAPLREF_PROBE_ALL. */
void probe_init(struct ia *ia)
{
        const char *text = getenv("DAPLREF_PROBE_SECONDS");
        unsigned long interval = DEFAULT_INTERVAL;
        char *rest = NULL;

        if (text && *text) {
                interval = strtoul(text, &rest, 10);
                if (*rest || interval > MAX_INTERVAL)
                        interval = DEFAULT_INTERVAL;
        }
        ia->probe_interval = interval * SECONDS;
        text = getenv("DAPLREF_PROBE_ALL");
        ia->probes_all = text && !strcmp(text, "yes");
}

static bool has_peer_elsewhere(const struct conn *conn)
{
        return conn->state == CONN_ESTABLISHED &&
               !cm_same_address((struct sockaddr *)&conn->ia->address,
                                rdma_get_peer_addr(conn->id));
}

/* What names the request that has waited longest, or NULL. */
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

/* Has a request waited since peers were last to be asked? */
static bool is_stuck(const struct conn *conn)
{
        return conn->oldest && conn->oldest == oldest_request(conn);
}

static bool is_to_be_asked(struct conn *conn)
{
        bool stuck = is_stuck(conn);

        conn->oldest = oldest_request(conn);
        return stuck || conn->ia->probes_all;
}

static bool is_being_asked(struct ia *ia, const struct sockaddr *peer, uint16_t port)
{
        struct link *head = &ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                const struct conn *conn = container_of(at, struct conn, link);

                if (conn->kind == CONN_PROBE && conn->qual == port &&
                    cm_same_address((const struct sockaddr *)&conn->peer, peer))
                        return true;
        }
        return false;
}

static bool tells_of_absence(int error)
{
        return error == ENETUNREACH || error == EHOSTUNREACH || error == ENETDOWN ||
               error == ENODEV;
}

/*
 * Breaks the connections to the host that was asked; where one port of it was asked, those to the
 * IA that listened there.
 */
static void break_all(const struct conn *question)
{
        struct link *head = &question->ia->conns;
        struct link *after;

        for (struct link *at = head->next; at != head; at = after) {
                struct conn *conn = container_of(at, struct conn, link);

                after = at->next;
                if (conn->state == CONN_ESTABLISHED &&
                    (question->qual == NO_SERVICE || question->qual == conn->presence) &&
                    cm_same_address((struct sockaddr *)&question->peer,
                                    rdma_get_peer_addr(conn->id)))
                        cm_end(conn, DAT_CONNECTION_EVENT_BROKEN);
        }
}

/* Sends the question; false when there is no way to the peer, and its connections are broken. */
static bool probe(struct ia *ia, const struct conn *conn, uint16_t port)
{
        const struct sockaddr *peer = rdma_get_peer_addr(conn->id);
        struct conn *question;
        struct sockaddr_storage to;
        int error;

        if (is_being_asked(ia, peer, port))
                return true;
        question = cm_new(ia, CONN_PROBE);
        if (!question)
                return true;
        memset(&to, 0, sizeof(to));
        memcpy(&to, peer,
               peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                           : sizeof(struct sockaddr_in));
        if (ia->iwarp)
                question->number = qp_for_number(ia);
        question->qual = port;
        question->deadline = now_us() + PATIENCE * ia->probe_interval;
        error = cm_resolve(question, &to);
        if (!error)
                return true;
        if (!question->id) {
                cm_forget(question);
                return true;
        }
        if (tells_of_absence(error))
                break_all(question);
        cm_doom(question);
        return !tells_of_absence(error);
}

static void probe_all(struct ia *ia)
{
        struct link *head = &ia->conns;
        struct link *at = head->next;

        while (at != head) {
                struct conn *conn = container_of(at, struct conn, link);

                at = at->next;
                if (!has_peer_elsewhere(conn) || !is_to_be_asked(conn))
                        continue;
                /* A peer that is gone at once takes connections off the list: begin again. */
                if (!probe(ia, conn, NO_SERVICE) ||
                    (conn->presence && !probe(ia, conn, conn->presence)))
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
 * Asks every peer when the time has come. Returns when to do so next, or 0 when there is nobody
 * to ask. Called with ia->cm_lock held.
 */
uint64_t probe_peers(struct ia *ia, uint64_t now)
{
        if (!ia->probe_interval)
                return 0;
        if (ia->next_probe && ia->next_probe <= now) {
                ia->next_probe = 0;
                probe_all(ia);
        }
        if (!has_anybody(ia))
                ia->next_probe = 0;
        else if (!ia->next_probe)
                ia->next_probe = now + ia->probe_interval;
        return ia->next_probe;
}

/* Has nothing come from there since the host was asked? */
static bool is_silent(const struct conn *question)
{
        struct link *head = &question->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                const struct conn *conn = container_of(at, struct conn, link);

                if (has_peer_elsewhere(conn) && is_stuck(conn) &&
                    cm_same_address((const struct sockaddr *)&question->peer,
                                    rdma_get_peer_addr(conn->id)))
                        return true;
        }
        return question->ia->probes_all;
}

/*
 * Nobody has answered. Of a host that means that it is gone, unless its answers are slow and
 * messages arrive; an IA may be held up.
 */
void probe_unanswered(struct conn *question)
{
        if (question->qual == NO_SERVICE && is_silent(question))
                break_all(question);
}

/* Somebody has answered, with librdmacm's reason for it: a host, which is there, or an IA. */
void probe_refused(struct conn *question, int reason)
{
        if (question->qual != NO_SERVICE && reason == PROBE_NOBODY_LISTENS)
                break_all(question);
}
