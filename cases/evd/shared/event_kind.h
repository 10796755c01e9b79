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

/* Those before which no other comes to the same EVD. */
#define LONE_EVENT_KINDS                                                                           \
        {"software", DAT_SOFTWARE_EVENT, DAT_EVD_SOFTWARE_FLAG, bring_software, check_software},   \
            {"receive", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_receive,                 \
             check_completion},                                                                    \
            {"send", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_send, check_completion},    \
            {"flushed_receive", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_flushed_receive, \
             check_flushed},                                                                       \
            {"flushed_send", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_flushed_send,       \
             check_flushed},                                                                       \
            {"rdma_write", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_rdma_write,           \
             check_completion},                                                                    \
            {"rdma_read", DAT_DTO_COMPLETION_EVENT, DAT_EVD_DTO_FLAG, bring_rdma_read,             \
             check_completion},                                                                    \
            {"connection_request", DAT_CONNECTION_REQUEST_EVENT, DAT_EVD_CR_FLAG, bring_request,   \
             check_request},                                                                       \
            {"established_active", DAT_CONNECTION_EVENT_ESTABLISHED, DAT_EVD_CONNECTION_FLAG,      \
             bring_established_active, check_established_active},                                  \
            {"established_passive", DAT_CONNECTION_EVENT_ESTABLISHED, DAT_EVD_CONNECTION_FLAG,     \
             bring_established_passive, check_established_passive},                                \
            {"rejected", DAT_CONNECTION_EVENT_PEER_REJECTED, DAT_EVD_CONNECTION_FLAG,              \
             bring_rejected, check_ended},                                                         \
            {"unheard", DAT_CONNECTION_EVENT_NON_PEER_REJECTED, DAT_EVD_CONNECTION_FLAG,           \
             bring_unheard, check_ended},                                                          \
        {                                                                                          \
                "bound", DAT_RMR_BIND_COMPLETION_EVENT, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG,  \
                    bring_bound, check_bound                                                       \
        }

static const struct event_kind event_kinds[] = {
    LONE_EVENT_KINDS,
    {"disconnected", DAT_CONNECTION_EVENT_DISCONNECTED, DAT_EVD_CONNECTION_FLAG, bring_disconnected,
     check_ended},
};

/* Those before which no other comes, as rows of families. */
static const struct event_kind lone_event_kinds[] = {LONE_EVENT_KINDS};

/* The EVD for an event of this kind, and the event on its way to it. */
struct brought bring(struct test *t, const struct event_kind *kind);

/* The event is of this kind, of the EVD that it was brought to, and says what it has to. */
void expect_brought(struct test *t, const struct event_kind *kind, const struct brought *brought,
                    const DAT_EVENT *event);

/* What dat_evd_dequeue gives, as soon as it gives something; FAIL where nothing comes. */
DAT_EVENT expect_dequeued(struct test *t, DAT_EVD_HANDLE evd);

/*
 * An enabled EVD of this CNO that is in use: an event of the kind came, notified the CNO, and was
 * taken; else ERROR. For another one, `bring` is called again.
 */
struct brought fed_before(struct test *t, const struct event_kind *kind, DAT_CNO_HANDLE cno);

/* Another event of the kind comes, of which the CNO is not notified, and it is there. */
void expect_unheard(struct test *t, const struct event_kind *kind, struct brought *brought,
                    DAT_CNO_HANDLE cno);

/* Another event of the kind comes, the CNO is notified, names the EVD, and the event is there. */
void expect_heard(struct test *t, const struct event_kind *kind, struct brought *brought,
                  DAT_CNO_HANDLE cno);

#endif
