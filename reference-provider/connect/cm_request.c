/* SPDX-License-Identifier: BSD-2-Clause */
#include "connect/cm_request.h"
#include "base/ia.h"
#include "base/list.h"
#include "connect/cm_conn.h"
#include "connect/cm_wire.h"
#include "connect/cr.h"
#include "connect/iwarp.h"
#include "connect/sp.h"

#include <endian.h>
#include <string.h>

#define SECONDS        UINT64_C(1000000)
#define GATHERING_TIME (10 * SECONDS) /* until all parts of a request have arrived */

static void deliver(struct conn *conn)
{
        struct service_point *point = point_find(conn->ia, conn->qual);

        conn->deadline = 0;
        if (!point || !cr_deliver(point, conn))
                conn_refuse(conn);
        else
                conn->ia->settled = !conn->fragmented;
}

/* Finds the other part of a request in two parts. */
static struct conn *find_part(const struct conn *conn)
{
        enum conn_kind wanted = conn->kind == CONN_PASSIVE ? CONN_FRAGMENT : CONN_PASSIVE;
        struct link *head = &conn->ia->conns;

        for (struct link *at = head->next; at != head; at = at->next) {
                struct conn *other = container_of(at, struct conn, link);

                if (other->kind == wanted && other->state == CONN_GATHERING && other->fragmented &&
                    other->token == conn->token && other->have < other->expected &&
                    conn_same_host(rdma_get_peer_addr(other->id), rdma_get_peer_addr(conn->id)))
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
        conn_reject_id(request->ia, fragment->id, &wire, sizeof(wire));
        conn_retire(fragment);
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
                conn_set_deadline(conn, GATHERING_TIME);
}

static void take_request(struct conn *conn, const struct wire_request *request)
{
        int size = request->wire.size;
        struct conn *fragment;

        conn->qual = be64toh(request->qual);
        conn->keepalive_port = be16toh(request->wire.keepalive_port);
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
                conn_set_deadline(conn, GATHERING_TIME);
}

void cm_on_request(struct ia *ia, struct rdma_cm_event *event)
{
        const void *data = event->param.conn.private_data;
        size_t length = event->param.conn.private_data_len;
        struct conn *conn = conn_new(ia, CONN_PASSIVE);

        event->id->context = conn;
        if (!conn) {
                conn_reject_id(ia, event->id, NULL, 0);
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
                iwarp_take_confirmation(conn, data);
        else if (wire_is(data, length, WIRE_QUESTION))
                iwarp_take_question(conn, data);
        else
                conn_refuse(conn);
}

/*
 * Ends the attempt that a failed fragment belongs to, since the peer cannot complete the request.
 */
void cm_fail_fragmented(const struct conn *fragment, DAT_EVENT_NUMBER number)
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
                        conn_end(request, number);
                        return;
                }
        }
}
