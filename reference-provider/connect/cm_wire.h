/* SPDX-License-Identifier: BSD-2-Clause */
/* The format of librdmacm's private data. */
#ifndef DAPLREF_CM_WIRE_H
#define DAPLREF_CM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/daplref.h"

/*
 * The messages in librdmacm's private data. librdmacm pads them with zeros, so they carry their
 * length. A request has 56 bytes, but DAT promises 64. The rest is sent in a second request, the
 * fragment, with the same token.
 */
enum wire_kind {
        WIRE_REQUEST = 1,
        WIRE_FRAGMENT,
        WIRE_REPLY,
        WIRE_REJECTED,  /* the Consumer rejects */
        WIRE_REFUSED,   /* the Provider rejects */
        WIRE_COLLECTED, /* the answer to a fragment or a confirmation that was processed */
        WIRE_CONFIRMED, /* on iWARP, in a request of its own, see confirm() */
        WIRE_QUESTION,  /* on iWARP, in a request of its own, see iwarp_ask_why() */
};

struct wire {
        uint8_t magic[2];
        uint8_t version;
        uint8_t kind;
        uint8_t size; /* the length of all the Consumer's private data */
        uint8_t fragmented;
        uint16_t keepalive_port; /* of a request or reply: the sender's ia->keepalive_port */
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

struct wire wire_head(enum wire_kind kind, int size);
bool wire_is(const struct wire *wire, size_t length, enum wire_kind kind);

#endif
