/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection from the case's IA to itself, which needs no peer. */
#ifndef CASES_LOOP_H
#define CASES_LOOP_H

#include "case.h"

#define MESSAGE ((size_t)64) /* bytes of a message */
#define PRIVATE_SIZE                                                                           \
        24           /* bytes of private data that each side sends; any provider takes so many \
                      */
#define OF_REQUEST 3 /* the first byte of the private data that goes one way, and the other */
#define OF_ACCEPT  101

/* Two EPs, as far as they have come. */
struct loop {
        DAT_EP_HANDLE active;
        DAT_EP_HANDLE passive;
        DAT_PSP_HANDLE psp;
        DAT_RSP_HANDLE rsp; /* for the passive EP, where the provider makes the EPs of all PSPs */
        DAT_CONN_QUAL qual;
        DAT_EVD_HANDLE requests;
        DAT_CR_HANDLE request;
};

/* Two EPs with EVDs of their own, but for those that the options name. */
struct loop loop_of(struct test *t, struct ep_opts active, struct ep_opts passive);

/*
 * A PSP for requests on `evd`, at a qualifier that is drawn and told by `qual`; and an EP that asks
 * for a connection to a qualifier of the case's IA. Each ends in ERROR where it fails.
 */
DAT_PSP_HANDLE loop_listen(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
                           DAT_CONN_QUAL *qual);
void loop_connect(struct test *t, DAT_EP_HANDLE ep, DAT_CONN_QUAL qual);

/* An RSP for the EP, at such a qualifier. */
DAT_RSP_HANDLE rsp_listen(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd,
                          DAT_CONN_QUAL *qual);

/*
 * A service point at a qualifier that is drawn, for the passive EP: a PSP, or an RSP where the
 * provider makes the EPs of all PSPs itself. The handle of either, and the EP that an accept of its
 * request names. The RSP is freed when its EP has taken the request. Without a passive EP, an RSP
 * is given a new one. loop_open_again() is for a qualifier that a loop before listened at, and
 * whose PSP still does: an RSP takes the place of the former one.
 */
void loop_open(struct test *t, struct loop *loop);
void loop_open_again(struct test *t, struct loop *loop);
DAT_HANDLE loop_point(const struct loop *loop);
DAT_EP_HANDLE loop_named(const struct loop *loop);
void loop_close_rsp(struct test *t, struct loop *loop);

/*
 * Such a service point, and a request for it; the request is taken; and it is accepted. loop_join()
 * does all, and takes the events of both ends. Each ends in ERROR where it fails.
 */
void loop_ask(struct test *t, struct loop *loop);
void loop_take_request(struct test *t, struct loop *loop);
void loop_accept(struct test *t, struct loop *loop);
void loop_join(struct test *t, struct loop *loop);

/*
 * The same, for clauses that hold at either end of a connection: which of the two EPs asks is drawn
 * by the seed, and the record names it. `active` and `passive` are parts in the case then.
 */
void loop_join_either(struct test *t, struct loop *loop);

/* The private data that begins with `first`. */
void loop_private_data(unsigned char data[PRIVATE_SIZE], unsigned char first);

/* A receive into the first bytes of `buf`, and a message from others of its bytes; else ERROR. */
void loop_post_recv(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, uint64_t cookie);
void loop_post_send(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, uint64_t cookie);

#endif
