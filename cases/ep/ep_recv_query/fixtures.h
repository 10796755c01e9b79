/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_recv_query use. */
#ifndef CASES_EP_RECV_QUERY_FIXTURES_H
#define CASES_EP_RECV_QUERY_FIXTURES_H

#include "case.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/shared/point.h"
#include "cases/srq/shared/queue.h"

#include <limits.h>
#include <string.h>

#define LONG_MESSAGE ((size_t)128 * 1024) /* bytes */
#define PACKETS      ((size_t)6000)       /* bytes, at least two packets of a RDMA network */
#define UNTOLD       INT_MIN              /* in a count that was not written */
#define POSTS        5
#define WINDOW       8  /* receives that traffic always finds */
#define WINDOWS      8  /* times that traffic fills them */
#define MANY         50 /* queries, or windows at most */

struct info {
        DAT_COUNT count;
        DAT_COUNT span;
};

struct info recv_info(struct test *t, DAT_EP_HANDLE ep);

/* Receives that an idle EP has in its own queue: they are its span too, or none is (EP-15). */
void expect_idle_span(struct test *t, DAT_COUNT seen, DAT_COUNT posted);

/* An idle EP has so many receives in its own queue: they are its count, and its span or none. */
void expect_left(struct test *t, DAT_EP_HANDLE ep, DAT_COUNT left);

/* Both counts are known or unknown. Known: from `least` to `most`, and the span not the less. */
void expect_within(struct test *t, struct info info, DAT_COUNT least, DAT_COUNT most);

/*
 * `flows` are at rest, and hold what they took ahead of messages; with what the SRQ tells as
 * available that is all that waits for one (SRQ-31).
 */
void expect_held(struct test *t, const struct queue *queue, const struct flow *flows, int count,
                 DAT_COUNT waiting);

/* An EP with a receive queue of its own: receive i takes message i, in slot i modulo SLOTS. */
struct own {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE evd;
        struct peer_ep *end;
        struct buf *buf;
        size_t length; /* of a message, and of a receive */
        uint64_t posted;
        uint64_t sent;
        uint64_t received;
};

/* So many segments for a receive, and the rest modest. */
DAT_EP_ATTR ep_attr_of(struct test *t, int segments);

struct own own_for(struct test *t, size_t length, size_t slots);

void own_post(struct test *t, struct own *own, int count);

/* An Unconnected EP with `posts` receives. */
struct own own_with(struct test *t, int posts);

struct own own_connected(struct test *t, int posts);

/* The same by one route of an EP into Connected, as EACH_EP_ROUTE() has them. */
struct own own_by(struct test *t, const struct ep_route *route, int posts);

void own_send(struct own *own, int count);

/* The messages arrive, and their completions stand unreaped. */
void own_deliver(struct test *t, struct own *own, int count);

void own_expect_messages(struct test *t, struct own *own, int count);

/* The next `count` receives come flushed, as the pages of the disconnect and the post promise. */
void must_flushes(struct test *t, DAT_EVD_HANDLE evd, int count);

static const struct arrival {
        const char *id;
        bool reaped;
} arrivals[] = {
    {"unreaped", false},
    {"reaped", true},
};

static const struct traffic {
        const char *id;
        size_t length; /* bytes */
} traffic[] = {
    {"short_messages", MESSAGE},
    {"long_messages", LONG_MESSAGE},
};

/* Packets overtake each other, those of one message and those of several. */
static const struct peer_disturb_opts out_of_order = {.delay_ms = 10, .reorder_percent = 5};

/* A few windows in any case, and more until packets have overtaken each other. */
bool goes_on_to_overtake(struct test *t, int window);

static const struct ending {
        const char *id;
        bool by_peer;
} endings[] = {
    {"by_case", false},
    {"by_peer", true},
};

void disconnect(struct test *t, const struct ending *row, DAT_EP_HANDLE ep, struct peer_ep *end);

#endif
