/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer's process from inside: its state, and the functions that carry out its commands. Only the
 * files of the peer's process include this; a case includes peer.h.
 */
#ifndef HARNESS_PEER_CONN_H
#define HARNESS_PEER_CONN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dat_api.h"
#include "evidence/evidence.h"
#include "evidence/lines.h"
#include "peer/peer_process.h"

#define CONNS_MAX    128
#define POINTS_MAX   64
#define REQUESTS_MAX 256
#define RECVS_MAX    1024
#define US_PER_MS    1000

/* Messages that are to be sent; in its memory there is a slot for each that is under way. */
struct job {
        struct job *next;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT context;
        size_t slot;
        int window;
        int count;
        int posted;
        int completed;
        size_t length;
        size_t step;
        uint64_t first;
        DAT_COMPLETION_FLAGS flags;
        uint64_t due_ns; /* none is posted before */
};

struct posted_recv {
        unsigned char *at;
        size_t length;
};

/* A connection of the peer: its EP, and what is under way on it. */
struct peer_conn {
        int number; /* by which the case names it */
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        struct job *jobs;
        char failure[160]; /* of a send, until it is asked for */
        struct posted_recv recvs[RECVS_MAX];
        int recv_count;
        uint64_t made_ns; /* its EP, or its accept; the call that connects it follows */
};

/* A qualifier that is listened at: by a PSP, or by one RSP after another. */
struct point {
        DAT_HANDLE handle; /* null if there is no such object now */
        DAT_CONN_QUAL qual;
        bool reserved;          /* by RSPs, and for these: */
        struct peer_conn *conn; /* whose EP takes the next request; NULL after it has come */
        DAT_COUNT reads;        /* of that EP */
        bool closed;            /* on command */
};

/* A request that has come. One that came by an RSP has that one's EP. */
struct peer_request {
        DAT_CR_HANDLE cr; /* null again when it is answered */
        struct point *point;
        struct peer_conn *conn;
};

struct peer_process {
        struct lines channel;
        unsigned int event_ms;
        DAT_IA_HANDLE ia;
        DAT_IA_ATTR attr;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE cr_evd; /* of all points; made with the first */
        struct point points[POINTS_MAX];
        int point_count;
        struct peer_request requests[REQUESTS_MAX];
        int request_count;
        DAT_EVENT pending; /* a request that has been seen, and not been taken */
        bool has_pending;
        char address[64];
        json_t *broken; /* the answer to each command if the IA is not open */
        struct peer_conn *conns[CONNS_MAX];
        int conn_count;
        struct peer_conn *awaited; /* whose sends wait_sent waits for */
        uint64_t progress_ns;
};

/* The answer to a command that was carried out, and to one that was not, with the reason. */
json_t *peer_yes(void);
json_t *peer_no(const char *format, ...) __attribute__((format(printf, 1, 2)));
json_t *peer_no_call(const char *call, DAT_RETURN ret);

/*
 * Adds to an answer of peer_no() the call of the provider that failed, and what was seen instead of
 * its success; `seen` is NULL if the reason says it. Returns the answer.
 */
json_t *peer_by_call(json_t *refusal, const char *call, const char *seen);

/* Calls a DAT function; if it fails, the calling function returns the answer that says so. */
#define TRY(function_, ...)                                    \
        do {                                                   \
                DAT_RETURN ret_ = function_(__VA_ARGS__);      \
                if (!dat_is(ret_, DAT_SUCCESS))                \
                        return peer_no_call(#function_, ret_); \
        } while (0)

/* Sends the answer to a command, which it takes over. */
void peer_reply(struct peer_process *process, json_t *data);

/* An integer member of a command; 0 if there is none. */
long long peer_number(const json_t *command, const char *key);

/* `wanted`, or the IA's limit if that is lower. */
DAT_COUNT peer_at_most(DAT_COUNT limit, DAT_COUNT wanted);

/*
 * Waits up to the event timeout for the next event on `evd`, of any number or of `number`. Returns
 * NULL if it came, else the answer that says what happened, and by which call it should have come.
 */
json_t *peer_await_any(const struct peer_process *process, DAT_EVD_HANDLE evd, DAT_EVENT *event,
                       DAT_EVENT_NUMBER number, const char *what);
json_t *peer_await(const struct peer_process *process, DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number,
                   DAT_EVENT *event);
const char *peer_event_name(const DAT_EVENT *event);

/*
 * A connection with a new EP, which may have `reads` RDMA reads under way; or NULL, and the answer
 * that says why there is none.
 */
struct peer_conn *peer_conn_new(struct peer_process *process, DAT_COUNT reads, json_t **refusal);

/* The request of an event; and after its answer, when its point is to have another one. */
struct peer_request peer_request_of(struct peer_process *process, const DAT_EVENT *event);
json_t *peer_request_over(struct peer_process *process, const struct peer_request *request);

/* Maps and registers `length` bytes. Returns NULL, or the answer that says why it cannot. */
json_t *peer_register(const struct peer_process *process, size_t length, unsigned char **memory,
                      DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);

/*
 * The send engine: posts what a connection may post; handles a completion of its request EVD; does
 * both for all connections and returns one with sends in flight, or NULL; waits a moment for one
 * completion; and answers `wait_sent` when its sends are done, have failed or make no progress.
 */
void send_engine_post(struct peer_conn *conn);
void send_engine_reap(struct peer_process *process, struct peer_conn *conn, const DAT_EVENT *event);
struct peer_conn *send_engine_advance(struct peer_process *process);
void send_engine_wait(struct peer_process *process, struct peer_conn *conn);
void send_engine_answer(struct peer_process *process);

/* A command: returns its answer, or NULL if the answer is sent later. */
typedef json_t *peer_command(struct peer_process *process, const json_t *command);

peer_command peer_do_listen;
peer_command peer_do_stop_listening;
peer_command peer_do_reads;
peer_command peer_do_request;
peer_command peer_do_give_up;
peer_command peer_do_port;
peer_command peer_do_wait_event;
peer_command peer_do_has_event;
peer_command peer_do_has_request;
peer_command peer_do_take_request;
peer_command peer_do_accept_request;
peer_command peer_do_reject;
peer_command peer_do_wait_connected;
peer_command peer_do_accept;
peer_command peer_do_show;
peer_command peer_do_send;
peer_command peer_do_wait_sent;
peer_command peer_do_post_recv;
peer_command peer_do_wait_recv;
peer_command peer_do_take_recv;
peer_command peer_do_disconnect;
peer_command peer_do_wait_disconnected;
peer_command peer_do_expose;
peer_command peer_do_holds;
peer_command peer_do_read;
peer_command peer_do_write;

#endif
