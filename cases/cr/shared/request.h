/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests for a connection, by an EP of the case's IA to a service point there, and what shows of
 * what became of them. must_...() arranges, expect_...() is the clause.
 */
#ifndef CASES_CR_REQUEST_H
#define CASES_CR_REQUEST_H

#include "cases/shared/point.h"

/* Who has made the EP that a request is accepted on: it comes with the request but from the first.
 */
enum ep_maker { MADE_BY_CONSUMER, MADE_BY_PROVIDER, MADE_FOR_RSP };

struct request_kind {
        const char *id;
        enum ep_maker maker;
};

static const struct request_kind request_kinds[] = {
    {"consumer", MADE_BY_CONSUMER},
    {"provider", MADE_BY_PROVIDER},
    {"reserved", MADE_FOR_RSP},
};

/* Of two requests, which one. */
struct which_of_two {
        const char *id;
        int one;
};

static const struct which_of_two two_requests[] = {
    {"older", 0},
    {"newer", 1},
};

/* How much private data goes with a request or its acceptance, as rows of families. */
struct amount {
        const char *id;
        DAT_COUNT size;  /* where it is negative, from max_private_data_size + 1 on */
        DAT_COUNT zeros; /* so many of its last bytes are 0; if any are, its second is too */
};

static const struct amount amounts[] = {
    {"none", 0, 0},         {"one", 1, 0},   {"odd", 13, 0},
    {"nearly_most", -2, 0}, {"most", -1, 0}, {"holds_zeros", 11, 4},
};
DAT_COUNT amount_of(struct test *t, const struct amount *row);

/*
 * Draws `size` bytes of private data, of which only those of `zeros` are 0. One more byte, behind
 * them, is set too.
 */
void draw_amount(struct test *t, const struct amount *row, unsigned char *data, DAT_COUNT size);

/* The private data begins with what was sent. Zeros may follow, which is noted (CR-2). */
void expect_private_data(struct test *t, const unsigned char *told, DAT_COUNT private_data_size,
                         const unsigned char *sent, DAT_COUNT size);

struct request {
        enum ep_maker maker;
        DAT_EP_HANDLE active;  /* that asks */
        DAT_EP_HANDLE passive; /* that it is accepted on */
        DAT_EVD_HANDLE evd;    /* to which the request comes */
        DAT_HANDLE point;      /* a PSP or an RSP */
        DAT_CONN_QUAL qual;
        DAT_CR_HANDLE cr;
        DAT_PZ_HANDLE zone; /* of the passive EP, and its EVDs */
        DAT_EVD_HANDLE recv_evd, request_evd, connect_evd;
        bool known; /* what the request tells, for expect_cr_kept() */
        struct request_told told;
};

/*
 * An EP that is to ask, and a service point of the kind; nothing has been asked. Where the provider
 * makes the EPs of all PSPs, an RSP takes the place of a PSP for EPs of the consumer.
 */
struct request request_at(struct test *t, enum ep_maker maker);

/* The same where there is a service point already; an RSP is another one, on the same EVD. */
struct request request_like(struct test *t, const struct request *other);

/* The same, to be accepted on this EP of the consumer; and at an RSP, whatever the provider makes.
 */
struct request request_for(struct test *t, DAT_EP_HANDLE ep);
struct request reserved_for(struct test *t, DAT_EP_HANDLE ep);

/* The private data that goes with a request, and how long the EP asks. */
struct asks {
        DAT_COUNT size;      /* 0 */
        void *data;          /* NULL */
        DAT_TIMEOUT timeout; /* longer than a case lasts */
};
void must_ask(struct test *t, const struct request *request, struct asks asks);

/* Takes the request's event, which is of its point; the request is rejected at the end. */
void must_take(struct test *t, struct request *request);

/* All of it: the EP asks with PRIVATE_SIZE bytes, the request has come and is taken. */
struct request requested(struct test *t, enum ep_maker maker);
struct request requested_like(struct test *t, const struct request *other);

/* The same, to be accepted on this EP of the consumer. */
struct request requested_for(struct test *t, DAT_EP_HANDLE ep);

/* Who makes the EPs of a PSP that the provider grants, for cases that need a PSP of either kind. */
enum ep_maker psp_maker(struct test *t);

/* Looks at what the request tells, for expect_cr_kept(); and the same as above, with that. */
void must_know(struct test *t, struct request *request);
struct request requested_known(struct test *t, enum ep_maker maker);
struct request requested_known_like(struct test *t, const struct request *other);

/* How the EP that asks is lost while its request stands, as rows of families. */
struct asker_loss {
        const char *id;
        DAT_TIMEOUT timeout; /* that it asks with; 0: longer than a case lasts */
        void (*lose)(struct test *t, struct request *request);
};
void lose_by_disconnect(struct test *t, struct request *request);
void lose_by_timeout(struct test *t, struct request *request);
void lose_by_free(struct test *t, struct request *request);

static const struct asker_loss asker_losses[] = {
    {"disconnected", 0, lose_by_disconnect},
    {"timed_out", 1000000, lose_by_timeout},
    {"freed", 0, lose_by_free},
};

/* How a peer is lost that has asked. */
struct peer_loss {
        const char *id;
        void (*lose)(struct peer_ep *end, struct peer *peer);
};
void lose_peer_by_disconnect(struct peer_ep *end, struct peer *peer);
void lose_peer_by_death(struct peer_ep *end, struct peer *peer);

static const struct peer_loss peer_losses[] = {
    {"gave_up", lose_peer_by_disconnect},
    {"died", lose_peer_by_death},
};

/* The service point is freed, and with it the EVD of its requests. */
void lose_point(struct test *t, struct request *request);
void lose_point_and_evd(struct test *t, struct request *request);

/* A request that has come and is taken, whose asker is lost then. */
struct request requested_in_vain(struct test *t, enum ep_maker maker,
                                 const struct asker_loss *loss);

/* The same, but the asker is lost while the request is queued on its EVD; it is taken then, or
 * FAIL.
 */
struct request expect_taken_in_vain(struct test *t, enum ep_maker maker,
                                    const struct asker_loss *loss);

/* The EP that came with the request, as dat_cr_query tells it. */
DAT_EP_HANDLE must_tell_ep(struct test *t, DAT_CR_HANDLE cr);

/* Gives the Provider's EP that came with the request zone and EVDs. */
void must_equip(struct test *t, struct request *request);

/* What dat_cr_accept is given for the EP: nothing where the request has one. */
DAT_EP_HANDLE named_ep(const struct request *request);

/* The request is at its end: accepted, with what is the consumer's from then on; or any other way.
 */
void request_accepted(struct test *t, const struct request *request);
void request_gone(struct test *t, const struct request *request);

/* The EVD's next event is a request for this point, at this qualifier; it is on the list. */
DAT_CR_HANDLE expect_cr_request(struct test *t, DAT_EVD_HANDLE evd, DAT_HANDLE point,
                                DAT_CONN_QUAL qual);

/* The EP's next connection event, about that very EP. */
DAT_CONNECTION_EVENT_DATA expect_cr_told(struct test *t, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);

/* The call was refused, by whatever word (CR-1). */
void expect_cr_unfit(struct test *t, DAT_RETURN ret);

/* The request can be accepted: both ends get an event, are Connected, and exchange a message. */
void expect_cr_accepted(struct test *t, const struct request *request);
void expect_cr_connected(struct test *t, const struct request *request);
void expect_cr_messages(struct test *t, const struct request *request);

/* Ends the connection. The next event of each end is of that: their EVDs had no other. */
void expect_cr_parted(struct test *t, const struct request *request);

/* The request can be rejected: the active EP gets an event, and is Disconnected. */
void expect_cr_rejected(struct test *t, const struct request *request);

/*
 * The request still is: it tells the private data of must_ask(), and where it is known all else as
 * before; and the EP that asks still asks.
 */
void expect_cr_kept(struct test *t, const struct request *request);

/* The calls that take a CR, as rows of families about one that is gone. */
struct cr_use {
        const char *id;
        DAT_RETURN (*call)(void *cr);
};
DAT_RETURN use_query(void *cr);
DAT_RETURN use_accept(void *cr);
DAT_RETURN use_reject(void *cr);
DAT_RETURN use_handoff(void *cr);

static const struct cr_use cr_uses[] = {
    {"query", use_query},
    {"accept", use_accept},
    {"reject", use_reject},
    {"handoff", use_handoff},
};

/* Calls that take the handle of any object. */
DAT_RETURN use_context(void *cr);
DAT_RETURN use_type(void *cr);

static const struct cr_use cr_looks[] = {{"context", use_context}, {"type", use_type}};

/* The EP and the service point that these calls take; made before the CR is gone. */
void make_for_uses(struct test *t);

/* The requests that come with an EP, as rows of families. */
static const struct request_kind own_ep_kinds[] = {
    {"provider", MADE_BY_PROVIDER},
    {"reserved", MADE_FOR_RSP},
};

/* No call succeeds with the handle of a CR that is gone. */
void expect_cr_stale(struct test *t, DAT_CR_HANDLE gone);

#endif
