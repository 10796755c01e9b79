/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection, or an attempt at one, and its state. */
#ifndef DAPLREF_CM_CONN_H
#define DAPLREF_CM_CONN_H

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/daplref.h"
#include "base/list.h"
#include "connect/cm_wire.h"
#include "connect/iwarp.h"

struct cr;
struct ep;
struct ia;

/* The kind is the first member of each librdmacm context. */
enum conn_kind {
        CONN_ACTIVE,    /* active */
        CONN_PASSIVE,   /* passive */
        CONN_FRAGMENT,  /* carries the rest of another request's private data, or a message */
        CONN_KEEPALIVE, /* a keepalive to a host or to an IA */
        CONN_LISTENER,  /* a struct listener, not a connection */
};

/* Connection state. followers[] in cm_conn.c has the valid transitions. */
enum conn_state {
        CONN_RESOLVING,  /* the peer's address is being resolved */
        CONN_REQUESTING, /* the address is resolved, and the request is sent or about to be; may
                            have no EP any more, see conn_leave() */
        CONN_GATHERING,  /* parts of a peer's request are missing, or its CR is not made yet */
        CONN_REPORTED,   /* a CR exists */
        CONN_CANCELLED,  /* the peer cancelled its request; dat_cr_accept() reports it */
        CONN_ACCEPTED,   /* accepted, but not confirmed by the peer */
        CONN_ESTABLISHED,
        CONN_DISCONNECTING, /* without an EP, until the peer acknowledges the disconnect */
        CONN_RETIRED,       /* in ia->retired, to be destroyed */
        CONN_STATES
};

struct conn {
        enum conn_kind kind;
        enum conn_state state;
        struct link link; /* in ia->conns, under ia->cm_lock */
        struct ia *ia;
        struct rdma_cm_id *id;
        struct ibv_qp *number; /* without an EP: a queue pair that only provides its number */
        struct ep *ep;
        struct cr *cr;
        uint8_t reads_in; /* RDMA reads that the peer sends and serves at once */
        uint8_t reads_out;
        uint64_t deadline;            /* in now_us() time; 0 is none */
        uint64_t requested;           /* when a request was sent that has no answer; 0 is never */
        struct sockaddr_storage peer; /* the peer of an active connection */
        uint64_t resolve_until;
        uint16_t port;           /* the local port of an active connection, or 0 */
        uint16_t keepalive_port; /* the peer's ia->keepalive_port */
        const void *oldest;      /* the request that was oldest at the last keepalive interval */
        DAT_CONN_QUAL qual;
        uint32_t token;
        bool fragmented;
        int expected; /* bytes of private data in all */
        int have;
        uint8_t data[REF_MAX_PRIVATE_DATA];
        uint8_t wire[64];
        int wire_size;
        struct iwarp_conn iwarp;
};

struct conn *conn_new(struct ia *ia, enum conn_kind kind);
void conn_free(struct conn *conn);
void conn_set_state(struct conn *conn, enum conn_state state);
void conn_retire(struct conn *conn);
void conn_set_reaper(const struct ia *ia);
void conn_set_deadline(struct conn *conn, uint64_t from_now);
void conn_attach_ep(struct conn *conn, struct ep *ep);
void conn_disconnect_id(const struct conn *conn);
void conn_reject_id(const struct ia *ia, struct rdma_cm_id *id, const void *wire, size_t size);
void conn_answer_reject(struct conn *conn, enum wire_kind kind, int size, const void *data);
void conn_reject(struct conn *conn, int size, const void *data);
void conn_refuse(struct conn *conn);
void conn_accept(struct conn *conn, struct ep *ep, int size, const void *data);
void conn_end(struct conn *conn, DAT_EVENT_NUMBER number);
struct rdma_conn_param conn_param(struct ep *ep, const void *data, size_t size);
bool conn_step_to_rts(struct ep *ep, const struct conn *conn);
uint32_t conn_draw_token(struct ia *ia);
int conn_resolving_ms(const struct conn *conn);
int conn_resolve_step(struct conn *conn, struct sockaddr_storage *source);
int conn_resolve(struct conn *conn, const struct sockaddr_storage *to);
bool conn_start_aside(struct ia *ia, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
                      const void *wire, size_t size);
bool conn_keep_private_data(struct ep *ep, const struct wire_reply *reply, size_t length);
bool conn_same_host(const struct sockaddr *a, const struct sockaddr *b);

#endif
