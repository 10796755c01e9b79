/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of each kind that a case can bring about by itself, between two EPs of its IA. */
#ifndef CASES_EVD_EVENT_KIND_H
#define CASES_EVD_EVENT_KIND_H

#include "cases/evd/shared/dispatcher.h"
#include "cases/shared/loop.h"

#define PRIVATE_SIZE                                                                 \
        24 /* bytes of private data that each side sends; any provider takes so many \
            */

/* An event that is on its way to `evd`, and what it has to say. */
struct brought {
        DAT_EVD_HANDLE evd;
        DAT_EP_HANDLE ep;
        DAT_EP_HANDLE far; /* the end that `ep` is connected with */
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        DAT_RMR_HANDLE rmr;
        uint64_t cookie;
        DAT_VLEN length;
        unsigned char private_data[PRIVATE_SIZE];
};

struct event_kind {
        const char *id;
        DAT_EVENT_NUMBER number;
        DAT_EVD_FLAGS flags; /* of an EVD that takes it */
        void (*bring)(struct test *t, struct brought *brought);
        void (*check)(struct test *t, const struct brought *brought, const DAT_EVENT *event);
        void (*ready)(struct test *t, struct brought *brought); /* NULL: nothing goes before it */
};

void bring_software(struct test *t, struct brought *brought);
void bring_receive(struct test *t, struct brought *brought);
void bring_send(struct test *t, struct brought *brought);
void bring_flushed_receive(struct test *t, struct brought *brought);
void bring_flushed_send(struct test *t, struct brought *brought);
void bring_rdma_write(struct test *t, struct brought *brought);
void bring_rdma_read(struct test *t, struct brought *brought);
void bring_request(struct test *t, struct brought *brought);
void bring_established_active(struct test *t, struct brought *brought);
void bring_established_passive(struct test *t, struct brought *brought);
void bring_rejected(struct test *t, struct brought *brought);
void bring_unheard(struct test *t, struct brought *brought);
void bring_bound(struct test *t, struct brought *brought);
void bring_disconnected(struct test *t, struct brought *brought);

void be_connected(struct test *t, struct brought *brought);

void check_software(struct test *t, const struct brought *brought, const DAT_EVENT *event);
void check_completion(struct test *t, const struct brought *brought, const DAT_EVENT *event);
void check_flushed(struct test *t, const struct brought *brought, const DAT_EVENT *event);
void check_request(struct test *t, const struct brought *brought, const DAT_EVENT *event);
void check_established_active(struct test *t, const struct brought *brought,
                              const DAT_EVENT *event);
void check_established_passive(struct test *t, const struct brought *brought,
                               const DAT_EVENT *event);
void check_ended(struct test *t, const struct brought *brought, const DAT_EVENT *event);
void check_bound(struct test *t, const struct brought *brought, const DAT_EVENT *event);

/* Rows of families. No other event comes to the EVD before one of them. */
static const struct event_kind event_kinds[] = {
    {
        .id = "software",
        .number = DAT_SOFTWARE_EVENT,
        .flags = DAT_EVD_SOFTWARE_FLAG,
        .bring = bring_software,
        .check = check_software,
    },
    {
        .id = "receive",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_receive,
        .check = check_completion,
    },
    {
        .id = "send",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_send,
        .check = check_completion,
    },
    {
        .id = "flushed_receive",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_flushed_receive,
        .check = check_flushed,
    },
    {
        .id = "flushed_send",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_flushed_send,
        .check = check_flushed,
    },
    {
        .id = "rdma_write",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_rdma_write,
        .check = check_completion,
    },
    {
        .id = "rdma_read",
        .number = DAT_DTO_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG,
        .bring = bring_rdma_read,
        .check = check_completion,
    },
    {
        .id = "connection_request",
        .number = DAT_CONNECTION_REQUEST_EVENT,
        .flags = DAT_EVD_CR_FLAG,
        .bring = bring_request,
        .check = check_request,
    },
    {
        .id = "established_active",
        .number = DAT_CONNECTION_EVENT_ESTABLISHED,
        .flags = DAT_EVD_CONNECTION_FLAG,
        .bring = bring_established_active,
        .check = check_established_active,
    },
    {
        .id = "established_passive",
        .number = DAT_CONNECTION_EVENT_ESTABLISHED,
        .flags = DAT_EVD_CONNECTION_FLAG,
        .bring = bring_established_passive,
        .check = check_established_passive,
    },
    {
        .id = "rejected",
        .number = DAT_CONNECTION_EVENT_PEER_REJECTED,
        .flags = DAT_EVD_CONNECTION_FLAG,
        .bring = bring_rejected,
        .check = check_ended,
    },
    {
        .id = "unheard",
        .number = DAT_CONNECTION_EVENT_NON_PEER_REJECTED,
        .flags = DAT_EVD_CONNECTION_FLAG,
        .bring = bring_unheard,
        .check = check_ended,
    },
    {
        .id = "bound",
        .number = DAT_RMR_BIND_COMPLETION_EVENT,
        .flags = DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,
        .bring = bring_bound,
        .check = check_bound,
    },
    {
        .id = "disconnected",
        .number = DAT_CONNECTION_EVENT_DISCONNECTED,
        .flags = DAT_EVD_CONNECTION_FLAG,
        .bring = bring_disconnected,
        .check = check_ended,
        .ready = be_connected,
    },
};

/*
 * The statement that follows is made for the kind, and for what else brings it: a connection
 * request comes to a PSP for EPs of consumers, to one whose EPs the provider makes, if it has
 * those, and to an RSP.
 */
#define EACH_MAKING(kind_, row_)                                 \
        for (const struct event_kind *(kind_) = (row_); (kind_); \
             (kind_) = event_kind_also(t, kind_))
const struct event_kind *event_kind_also(struct test *t, const struct event_kind *kind);

/*
 * What goes before an event of the kind, and reports to the same EVD, has been done: its own events
 * have been taken, and the CNO was told of them. Each `bring` needs its own.
 */
void make_ready(struct test *t, const struct event_kind *kind, struct brought *brought,
                DAT_CNO_HANDLE cno);

/* The EVD for an event of this kind, and the event on its way to it. */
struct brought bring(struct test *t, const struct event_kind *kind);

/* The event is of this kind, of the EVD that it was brought to, and says what it has to. */
void expect_brought(struct test *t, const struct event_kind *kind, const struct brought *brought,
                    const DAT_EVENT *event);

/* Another event of the kind comes, and the waiter of its EVD returns with it; nothing is left. */
void expect_woken(struct test *t, const struct event_kind *kind, struct brought *brought,
                  struct waiter *waiter);

/* What dat_evd_dequeue gives, as soon as it gives something; FAIL where nothing comes. */
DAT_EVENT expect_dequeued(struct test *t, DAT_EVD_HANDLE evd);

/*
 * An enabled EVD of this CNO that is in use: an event of the kind came, notified the CNO, and was
 * taken; else ERROR. It is ready for another one: `bring` is called again.
 */
struct brought fed_before(struct test *t, const struct event_kind *kind, DAT_CNO_HANDLE cno);

/* Another event of the kind comes, of which the CNO is not notified, and it is there. */
void expect_unheard(struct test *t, const struct event_kind *kind, struct brought *brought,
                    DAT_CNO_HANDLE cno);

/* Another event of the kind comes, the CNO is notified, names the EVD, and the event is there. */
void expect_heard(struct test *t, const struct event_kind *kind, struct brought *brought,
                  DAT_CNO_HANDLE cno);

#endif
