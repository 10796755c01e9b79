/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cm_timer.h"
#include "base/event_loop.h"
#include "base/ia.h"
#include "base/list.h"
#include "base/os.h"
#include "connect/cm_conn.h"
#include "connect/cm_event.h"
#include "connect/iwarp.h"
#include "connect/keepalive.h"
#include "endpoint/ep.h"
#include "event/owner.h"

#define SECONDS      UINT64_C(1000000)
#define LOOKING_TIME SECONDS /* between two looks for failures */

static void expire(struct conn *conn)
{
        DAT_EVENT_NUMBER number = DAT_CONNECTION_EVENT_TIMED_OUT;

        if (conn->kind == CONN_PASSIVE)
                number = DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR;
        else if (conn->state == CONN_RESOLVING)
                number = DAT_CONNECTION_EVENT_UNREACHABLE;
        if (conn->ep)
                conn_end(conn, number);
        else if (conn->kind == CONN_PASSIVE && conn->state == CONN_GATHERING)
                conn_refuse(conn);
        else
                cm_on_failure(conn, DAT_CONNECTION_EVENT_UNREACHABLE);
}

/*
 * Looks for failed operations, which show in a completion queue only, because the Consumer may wait
 * on the connect EVD. Queries the queue pair if a full EVD keeps its completion queue from being
 * drained. Returns the time of the next look, or 0 if nothing is connected.
 */
static uint64_t look_for_failures(struct ia *ia, uint64_t now)
{
        struct link *head = &ia->conns;
        bool due = ia->next_look && ia->next_look <= now;
        bool any = false;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *conn = container_of(at, struct conn, link);

                if (conn->state != CONN_ESTABLISHED)
                        continue;
                any = true;
                if (!due)
                        continue;
                if (!ep_look(conn->ep) && cm_qp_has_failed(conn->ep))
                        ep_failed(conn->ep);
        }
        if (!any)
                ia->next_look = 0;
        else if (due || !ia->next_look)
                ia->next_look = now + LOOKING_TIME;
        return ia->next_look;
}

/* Returns the earlier of two deadlines; 0 is none. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
        return a && (!b || a < b) ? a : b;
}

/* Ends connections and attempts whose deadline has passed. Returns the next deadline, or 0. */
static uint64_t expire_all(struct ia *ia)
{
        struct link *head = &ia->conns;
        uint64_t now = now_us();
        uint64_t next = 0;
        struct link *at;
        struct link *after;

        pthread_mutex_lock(&ia->cm_lock);
        if (ia->iwarp)
                iwarp_take_connects(ia);
        for (at = head->next; at != head; at = after) {
                struct conn *conn = container_of(at, struct conn, link);

                after = at->next;
                if (!conn->deadline)
                        continue;
                if (conn->deadline <= now) {
                        /*
                         * Other connections may end as well, so begin again. This one is off the
                         * list.
                         */
                        expire(conn);
                        after = head->next;
                        next = 0;
                } else if (!next || conn->deadline < next) {
                        next = conn->deadline;
                }
        }
        next = earlier(next, keepalive_run(ia, now));
        next = earlier(next, look_for_failures(ia, now));
        ia->next_deadline = next;
        pthread_mutex_unlock(&ia->cm_lock);
        return next;
}

/* The tick of the service thread: ends what has timed out, and destroys retired connections. */
uint64_t cm_tick(struct event_loop *loop)
{
        struct ia *ia = container_of(loop, struct ia, loop);
        uint64_t deadline = expire_all(ia);

        cm_reap(ia);
        return deadline;
}
