/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points of the case's IA, and their requests. */
#ifndef CASES_POINT_H
#define CASES_POINT_H

#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/loop.h"

#include <sys/socket.h>

/* An EVD for requests; and a loop of two usual EPs, with such an EVD. */
DAT_EVD_HANDLE request_evd(struct test *t);
struct loop loop_new(struct test *t);

/*
 * The same loop, with a CNO that tells of requests and leaves them on their EVD; and the wait for
 * that: the request stands then, and is no longer under way.
 */
struct loop watched_loop(struct test *t, DAT_CNO_HANDLE *cno);
void must_stand(struct test *t, DAT_CNO_HANDLE cno);

/* A qualifier, drawn, at which nothing of the suite listens; loop_listen() has others. */
DAT_CONN_QUAL point_qual(struct test *t);

/*
 * A service point by a call that is the clause, at this very qualifier: FAIL where it is refused.
 * The handle was poison before.
 */
DAT_PSP_HANDLE psp_at(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags);
DAT_RSP_HANDLE rsp_at(struct test *t, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd);

/* The same at a qualifier that is drawn, or a next one, where that is in use. */
DAT_PSP_HANDLE psp_new(struct test *t, DAT_EVD_HANDLE evd, DAT_PSP_FLAGS flags,
                       DAT_CONN_QUAL *qual);
DAT_RSP_HANDLE rsp_new(struct test *t, DAT_EP_HANDLE ep, DAT_EVD_HANDLE evd, DAT_CONN_QUAL *qual);

/* The PSP tells these parameters. */
void expect_psp(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                DAT_PSP_FLAGS flags);

/* The RSP, whose EP is the consumer's and had no request yet, tells these. */
void expect_rsp(struct test *t, DAT_RSP_HANDLE rsp, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep,
                DAT_EVD_HANDLE evd);

/* A PSP of a second opening of the IA, at a drawn qualifier; makes an EVD of that IA for it. */
DAT_PSP_HANDLE point_elsewhere(struct test *t, DAT_EVD_HANDLE *evd, DAT_CONN_QUAL *qual);

/* Whether the peer listens at the address of the case's IA, as another process of this host. */
bool place_is_here(struct test *t, const struct peer_place *place);

/* A request for the peer's service point reaches the peer, and becomes a connection. */
void expect_peer_served(struct test *t, const struct peer_place *place);

/* The EVD's next event is a request for this point, at this qualifier. */
DAT_CR_HANDLE expect_request(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE point,
                             DAT_CONN_QUAL qual);

/* Whether both are addresses (struct sockaddr) of one host, whatever the ports; a null is none. */
bool same_host(const void *one, const void *other);

/* What a request tells, with what its pointers lead to, or zeros; and that it still tells that. */
struct request_told {
        DAT_CR_PARAM param;
        struct sockaddr_storage address;
        unsigned char data[PRIVATE_SIZE]; /* that the asker has sent */
};
struct request_told request_told(struct test *t, DAT_CR_HANDLE request);
void expect_told_still(struct test *t, DAT_CR_HANDLE request, const struct request_told *before);

/* It tells private data, address and port of that EP, which asked by loop_connect(). */
void expect_told_of_asker(struct test *t, DAT_CR_HANDLE request, DAT_EP_HANDLE asker);

/* The EP that came with the request, or DAT_HANDLE_NULL. */
DAT_EP_HANDLE request_ep(struct test *t, DAT_CR_HANDLE request);

/*
 * The request is accepted with the loop's passive EP, or with the one that came with it, and both
 * ends are Connected; or it is rejected, and the active EP gets that event. A PSP of a provider
 * that makes the EPs of all PSPs has sent one: the loop's passive EP is not used then. Returns the
 * EP that has accepted.
 */
DAT_EP_HANDLE expect_accepted(struct test *t, DAT_CR_HANDLE request, const struct loop *loop);
void expect_accepted_by(struct test *t, DAT_CR_HANDLE request, DAT_EP_HANDLE ep,
                        const struct loop *loop);
void expect_rejected(struct test *t, DAT_CR_HANDLE request, const struct loop *loop);

/* All at once; one after another where each request has come with an EP to be equipped. */
void expect_all_accepted(struct test *t, const struct loop *asks, int count);

/*
 * The provider's EP that came with the request takes a zone and EVDs, and is accepted: it is the
 * case's then, and the fixtures know its EVDs. Whether the active end is Connected too, is asked
 * of the loop's.
 */
DAT_EP_HANDLE expect_own_taken(struct test *t, DAT_CR_HANDLE request);
DAT_EP_HANDLE expect_own_accepted(struct test *t, DAT_CR_HANDLE request, const struct loop *loop);

/* Both calls that tell an EP's state tell this one. */
void expect_ep_in(struct test *t, DAT_EP_HANDLE ep, DAT_EP_STATE state);

/* A message goes from one EP to the other. */
void expect_message(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to);

/*
 * `count` receives into the first bytes of `buf` were posted on `to` with cookies from 0 on: they
 * take messages of `from`, in their order.
 */
void expect_in_order(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, const struct buf *buf,
                     uint64_t count);

/* A message comes from the peer's end, and one goes there. */
void expect_peer_messages(struct test *t, struct peer_ep *end, DAT_EP_HANDLE ep);

/*
 * A request for the PSP comes to its EVD, with an EP as its flags say, and becomes a connection;
 * without the flags they are those of psp_flags_granted().
 */
void expect_served(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd);
void expect_served_by(struct test *t, DAT_PSP_HANDLE psp, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd,
                      DAT_PSP_FLAGS flags);

/* The provider refuses a request for the qualifier, and reports it to no EVD. */
void expect_refused(struct test *t, DAT_CONN_QUAL qual, DAT_EVD_HANDLE evd);

/* EVDs that no service point may be made with, as rows of a family. */
struct wrong_evd {
        const char *id;
        DAT_EVD_FLAGS flags;
};
#define WRONG_EVDS                                                                    \
        {"dto", DAT_EVD_DTO_FLAG}, {"connection", DAT_EVD_CONNECTION_FLAG},           \
            {"software", DAT_EVD_SOFTWARE_FLAG}, {"rmr_bind", DAT_EVD_RMR_BIND_FLAG}, \
        {                                                                             \
                "async", DAT_EVD_ASYNC_FLAG                                           \
        }
DAT_EVD_HANDLE wrong_evd(struct test *t, const struct wrong_evd *row);

/* EVDs of more than requests, which a point may be made with: the rows need the merging. */
#define MERGED_EVDS                                                                     \
        {"dto", (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG)},                   \
            {"connection", (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG)}, \
            {"software", (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_SOFTWARE_FLAG)},     \
        {                                                                               \
                "rmr_bind", (DAT_EVD_FLAGS)(DAT_EVD_CR_FLAG | DAT_EVD_RMR_BIND_FLAG)    \
        }

/* Qualifiers beyond the sixteen bits of a port: another one, but for these bits, is another one. */
struct high_bits {
        const char *id;
        DAT_CONN_QUAL bits;
};
#define HIGH_BITS                                                                    \
        {"seventeenth", UINT64_C(1) << 16}, {"thirty_second", UINT64_C(1) << 31},    \
            {"thirty_third", UINT64_C(1) << 32}, {"forty_ninth", UINT64_C(1) << 48}, \
            {"highest", UINT64_C(1) << 63},                                          \
        {                                                                            \
                "all", ~UINT64_C(0xffff)                                             \
        }

#endif
