/* SPDX-License-Identifier: BSD-2-Clause */
/* The format of librdmacm's private data. */
#ifndef DAPLREF_CM_WIRE_H
#define DAPLREF_CM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/daplref.h"

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
        WIRE_QUESTION,  /* the same, see iwarp_ask_why() */
};

struct wire {
        uint8_t magic[2];
        uint8_t version;
        uint8_t kind;
        uint8_t size; /* of all the Consumer's private data */
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
