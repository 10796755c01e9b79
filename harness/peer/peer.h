/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The peer: a second process, on this host or on another one, with an IA of its own, that obeys.
 * Commands travel on the suite's channel, never over the provider under test. It runs the same
 * provider by default. A command that the peer cannot carry out ends the case: as BLOCKED by a call
 * that its provider failed, else as ERROR.
 */
#ifndef HARNESS_PEER_H
#define HARNESS_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

#include "dat_api.h"

struct test;

struct peer;
struct peer_ep;

/* The case's peer, started at the first call; its clause has check = "pair". */
struct peer *peer(struct test *t);

/*
 * Connects `ep` (Unconnected, made by ep_with) to a new EP of the peer and returns the peer's end.
 * Both ends are then Connected and the connection events are taken. The request carries a token,
 * as its private data, that is drawn for the run: one without it is a stranger's, which the peer
 * rejects, and a record tells how many there were. So with all requests that fixtures make.
 */
struct peer_ep *peer_connect(struct peer *peer, DAT_EP_HANDLE ep);

/*
 * Connects `ep` by dat_ep_dup_connect to where `like` is connected, to a new EP of the peer. That
 * it can be is the clause.
 */
struct peer_ep *peer_connect_like(struct peer *peer, DAT_EP_HANDLE ep, DAT_EP_HANDLE like);

/* The same as a step: a failure ends the case as BLOCKED. */
struct peer_ep *peer_duplicate(struct peer *peer, DAT_EP_HANDLE ep, DAT_EP_HANDLE like);

/* Has `ep` ask the peer for a connection that the peer neither accepts nor rejects. */
void peer_leave_asking(struct peer *peer, DAT_EP_HANDLE ep);

struct check_site;

/* Has the peer accept what it left unanswered, and returns its end. That both connect is the
 * clause.
 */
struct peer_ep *peer_accept_asking(struct peer *peer, const struct check_site *site,
                                   DAT_EP_HANDLE ep);

/*
 * Has a new EP of the peer ask for a connection to `qual` of the case's IA; returns when it has
 * asked. peer_wait_connected() returns when that EP is Connected.
 */
struct peer_ep *peer_request(struct peer *peer, DAT_CONN_QUAL qual);
void peer_wait_connected(struct peer_ep *end);

/* The most private data that travels on the suite's channel. */
#define PEER_PRIVATE_MAX 1024

struct peer_ask_opts {
        const void *private_data;
        DAT_COUNT private_data_size;
        DAT_TIMEOUT timeout; /* DAT_TIMEOUT_INFINITE */
};
/* The same with private data and a timeout; several may be under way at once. */
struct peer_ep *peer_ask_by(struct peer *peer, DAT_CONN_QUAL qual, struct peer_ask_opts opts);
#define peer_ask(peer_, qual_, ...) \
        peer_ask_by((peer_), (qual_), (struct peer_ask_opts){__VA_ARGS__})

/* Has the peer's end, which has asked, give up: dat_ep_disconnect, whose event nobody waits for. */
void peer_give_up(struct peer_ep *end);

/* The local port qualifier that the peer's end has. */
DAT_PORT_QUAL peer_port(struct peer_ep *end);

struct peer_event {
        DAT_EVENT_NUMBER number; /* 0: there is none */
        DAT_COUNT private_data_size;
        unsigned char private_data[PEER_PRIVATE_MAX];
        int after_ms; /* since the end was made: its request, or its accept, followed at once */
};
/*
 * The next connection event of the peer's end, whichever it is; its number is 0 where none comes
 * within the event deadline. peer_has_event() only looks, and takes what there is.
 */
struct peer_event peer_wait_event(struct peer_ep *end);
bool peer_has_event(struct peer_ep *end);

/* Where requests reach the peer. */
struct peer_place {
        struct sockaddr_storage address;
        DAT_CONN_QUAL qual;
};
/*
 * One more qualifier that the peer listens at, and answers nothing by itself; and none any more.
 * Requests at all of the peer's qualifiers come to it in one order.
 */
struct peer_place peer_listen(struct peer *peer);
void peer_stop_listening(struct peer *peer, DAT_CONN_QUAL qual);

/* A request that has come to the peer, as its event and dat_cr_query there tell of it. */
struct peer_cr {
        struct peer *peer;
        int number;
        DAT_CONN_QUAL qual;              /* that it came by */
        struct sockaddr_storage address; /* of who asks */
        DAT_PORT_QUAL port;
        DAT_COUNT private_data_size;
        unsigned char private_data[PEER_PRIVATE_MAX];
};
/* Waits for the next one; none ends the case as above. peer_has_request() looks, and keeps it. */
struct peer_cr peer_take_request(struct peer *peer);
bool peer_has_request(struct peer *peer);

/*
 * Answers it; the end that accepts is a new one, and not awaited: peer_wait_connected() or
 * peer_wait_event() does that.
 */
struct peer_ep *peer_accept(const struct peer_cr *request, const void *data, DAT_COUNT size);
void peer_reject(const struct peer_cr *request);

struct peer_disturb_opts {
        int delay_ms;        /* each packet is so late */
        int reorder_percent; /* so many are not, and overtake the others */
        int loss_percent;
        int kbit_per_s; /* 0: as fast as it goes */
};
/*
 * Disturbs what the peer's host sends from now until the case ends. The clause has check =
 * "network". It ends in ERROR where the host cannot do it, and where no packet met it.
 */
void peer_disturb_by(struct peer *peer, struct peer_disturb_opts opts);
#define peer_disturb(peer_, ...) peer_disturb_by((peer_), (struct peer_disturb_opts){__VA_ARGS__})

/*
 * What a disturbed network may do to packets and need not: whether any has come out of order to the
 * case's host since peer_disturb(), as the RDMA device there counts them; true, too, where none
 * counts. A case that goes on until then ends with must_have_overtaken(): ERROR where none came
 * so, a NOTE where nobody counts.
 */
bool peer_overtook(struct peer *peer);
void must_have_overtaken(struct peer *peer);

/* Stops the peer's process, with all its threads, until the next command to the peer. */
void peer_freeze(struct peer *peer);

/* Memory of the peer that RDMA of the case's EP reaches; it holds message 0. */
struct peer_memory {
        DAT_RMR_CONTEXT rmr_context;
        DAT_VADDR address;
};
struct peer_memory peer_expose(struct peer_ep *end, size_t length);

/*
 * Whether the `length` bytes from `offset` on of that memory are, as the peer itself sees them,
 * those that message `sequence` has from there on.
 */
bool peer_holds(struct peer_ep *end, struct peer_memory memory, size_t offset, size_t length,
                uint64_t sequence);

/* EPs that the peer makes from now on may have `reads_out` RDMA reads under way; 0 at first. */
void peer_reads(struct peer *peer, DAT_COUNT reads_out);

/*
 * Has the peer's end read `length` bytes of the case's memory, which holds message 0; returns
 * whether it could, and read that.
 */
bool peer_read(struct peer_ep *end, DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length);

/*
 * Has the peer's end write message `sequence` to `length` bytes of the case's memory; returns when
 * that has completed at the peer, with success.
 */
void peer_write(struct peer_ep *end, DAT_RMR_CONTEXT context, DAT_VADDR address, size_t length,
                uint64_t sequence);

struct peer_send_opts {
        int count;                  /* 1 */
        size_t length;              /* 64, bytes; length_step is added at each further message */
        bool empty;                 /* the messages have no bytes at all */
        size_t length_step;         /* 0 */
        uint64_t first;             /* sequence number of the first message: 0 */
        DAT_COMPLETION_FLAGS flags; /* DAT_COMPLETION_DEFAULT_FLAG; SOLICITED_WAIT, say */
        int late_ms;                /* 0; the peer posts them so much later */
};
/*
 * Has the peer's end send messages; returns when they are queued at the peer, which posts as its
 * own completions allow. Message i carries message_fill(first + i), so that the receiver can check.
 */
void peer_send_all(struct peer_ep *end, struct peer_send_opts opts);
#define peer_send(end_, ...) peer_send_all((end_), (struct peer_send_opts){__VA_ARGS__})

/* Returns when all that peer_send() queued has completed with success at the peer. */
void peer_wait_sent(struct peer_ep *end);

/* Posts `count` receives of `length` bytes at the peer's end. */
void peer_post_recv(struct peer_ep *end, int count, size_t length);

/* Waits for one receive at the peer's end and checks that it is message `sequence`. */
void peer_wait_recv(struct peer_ep *end, uint64_t sequence, size_t length);

/* What the next receive at the peer's end came to. */
struct peer_received {
        bool came; /* it has completed within the event deadline */
        DAT_DTO_COMPLETION_STATUS status;
        size_t length;
        bool holds; /* what was received is as much of the message that was asked for */
};
/* Waits for that receive, and says whether it is message `sequence`; what to make of it is left. */
struct peer_received peer_take_recv(struct peer_ep *end, uint64_t sequence);

/* Disconnects the peer's end and returns when its DISCONNECTED event is there. */
void peer_disconnect(struct peer_ep *end, DAT_CLOSE_FLAGS flags);

/* Waits for the peer's end to be Disconnected by what the other side did. */
void peer_wait_disconnected(struct peer_ep *end);

/* Kills the peer's process (SIGKILL). */
void peer_kill(struct peer *peer);

/* Fills `length` bytes with message `sequence`; any prefix is checkable too. */
void message_fill(void *to, size_t length, uint64_t sequence);

/* Whether `length` bytes are the head of message `sequence`. */
bool message_holds(const void *at, size_t length, uint64_t sequence);

#endif
