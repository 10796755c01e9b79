/* SPDX-License-Identifier: BSD-2-Clause */
/* What connections need on iWARP in addition to InfiniBand's CM. */
#ifndef DAPLREF_IWARP_H
#define DAPLREF_IWARP_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/daplref.h"
#include "base/list.h"
#include "connect/cm_wire.h"

struct iwarp_connect;
struct conn;
struct ia;

/* The part of struct conn that only iWARP uses. */
struct iwarp_conn {
        struct iwarp_connect *attempt; /* sends the request of an active connection, or NULL */
        int questions;   /* how often the peer was asked why it rejected the request */
        bool unanswered; /* the peer has not answered the request yet, see destroy_async.c */
        bool reached;    /* accepted, and the kernel has reported ESTABLISHED */
        bool confirmed;  /* accepted, and the peer has confirmed that it has the answer */
        bool left;       /* the kernel reported a disconnect before the confirmation */
};

/* A request that the Consumer rejected: what names it, and the private data of the rejection. */
struct iwarp_refusal {
        uint32_t token;
        uint16_t keepalive_port;
        uint8_t size;
        uint8_t data[REF_MAX_PRIVATE_DATA];
};

#define IWARP_REFUSALS 32

/* The part of struct ia that only connections on iWARP use. */
struct iwarp_ia {
        struct link connects; /* requests that have returned, see iwarp_connect.c */
        struct iwarp_refusal refusals[IWARP_REFUSALS]; /* the latest; under ia->cm_lock */
        unsigned int next_refusal;
};

void iwarp_remember_refusal(const struct conn *conn, int size, const void *data);
bool iwarp_awaits_confirmation(const struct conn *conn);
void iwarp_take_confirmation(struct conn *aside, const struct wire *wire);
void iwarp_take_question(struct conn *aside, const struct wire *wire);
void iwarp_end_question(const struct conn *aside);
bool iwarp_ask_why(struct conn *conn);
bool iwarp_took_answer(const struct conn *aside, const struct wire_reply *reply, size_t length);
void iwarp_on_reply(struct conn *conn, const struct rdma_cm_event *event);
void iwarp_take_connects(struct ia *ia);
void iwarp_confirm_last(struct ia *ia);

#endif
