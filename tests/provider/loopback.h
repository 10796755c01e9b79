/* SPDX-License-Identifier: BSD-2-Clause */
/* What the tests of the provider build on: one IA of this host, and two EPs of it joined. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <stdbool.h>

#include <dat/udat.h>

#include "case/transport.h"

#define SECOND 1000000u
#define LONG   (20 * SECOND) /* for what must happen */
#define QUIET  (SECOND / 5)  /* for what must not */
#define SHORT  (3 * SECOND)  /* for what is not to succeed, though it must be well under way */

#define BUFFER ((size_t)64 * 1024)

/* Compares the types of DAT returns and prints both by name. */
#define assert_dat(call, type) check_return(call, type, #call, __FILE__, __LINE__)

/* The same, and the subtype: which argument, which privilege, which state. */
#define assert_refused(call, type, subtype) \
        check_refusal(call, (DAT_RETURN)(type) | (DAT_RETURN)(subtype), #call, __FILE__, __LINE__)

/* A test of what iWARP has not, or of what it alone has; elsewhere it is skipped with the reason.
 */
#define unless_iwarp(test, reason) test_or_skip(!host_is_iwarp(), #test, test, reason)
#define only_iwarp(test, reason)   test_or_skip(host_is_iwarp(), #test, test, reason)

#define NO_WAIT    "iWARP: a message does not wait for its receive"
#define NO_REFUSAL "iWARP: a request is complete, or flushed, before the peer refuses it"
#define NO_NUMBERS "iWARP: a stream has no numbers of packets"
#define ONE_READ   "iWARP: a read has one segment"
#define NO_SOLICIT "iWARP: siw wakes nobody for a solicited message"

struct end {
        DAT_EP_HANDLE ep;
        DAT_EVD_HANDLE recv_evd;
        DAT_EVD_HANDLE request_evd;
        DAT_EVD_HANDLE connect_evd;
        DAT_SRQ_HANDLE srq;
        unsigned char *memory;
        DAT_LMR_HANDLE lmr;
        DAT_LMR_CONTEXT lmr_context;
        DAT_RMR_CONTEXT rmr_context;
};

struct host {
        DAT_IA_HANDLE ia;
        DAT_EVD_HANDLE async_evd;
        DAT_PZ_HANDLE pz;
        DAT_EVD_HANDLE cr_evd;
        DAT_PSP_HANDLE psp;
        DAT_CONN_QUAL qual;
        DAT_IA_ATTR attr;
        DAT_PROVIDER_ATTR provider;
        struct end a; /* requests the connection */
        struct end b; /* accepts it */
};

void check_return(DAT_RETURN ret, DAT_RETURN type, const char *call, const char *file, int line);
void check_refusal(DAT_RETURN ret, DAT_RETURN expected, const char *call, const char *file,
                   int line);
struct CMUnitTest test_or_skip(bool here, const char *name, CMUnitTestFunction test,
                               const char *reason);
DAT_EP_ATTR plain_attr(void);
DAT_DTO_COOKIE cookie(uint64_t value);
DAT_LMR_TRIPLET segment(const struct end *end, size_t offset, size_t length);

struct host *host_open(void);
void host_close(struct host *host);
void end_make(struct host *host, struct end *end, const DAT_EP_ATTR *attr);
void end_make_with_srq(struct host *host, struct end *end, const DAT_EP_ATTR *attr,
                       DAT_COUNT depth);
void end_free(struct end *end);
DAT_LMR_HANDLE region_of(struct host *host, const struct end *end, DAT_PZ_HANDLE pz,
                         unsigned int privileges, DAT_LMR_CONTEXT *context,
                         DAT_RMR_CONTEXT *rmr_context);
void listen_any(struct host *host, DAT_PSP_FLAGS flags);
DAT_CR_HANDLE any_request(struct host *host);
DAT_CR_HANDLE await_request(struct host *host);
void connect_to(struct host *host, struct end *end, DAT_CONN_QUAL qual);
void join_ends(struct host *host, struct end *a, struct end *b);
struct host *host_listening(void);
struct host *host_joined_with(const DAT_EP_ATTR *attr);
struct host *host_joined(void);

DAT_EVENT await_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);
void await_completion(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie_value,
                      DAT_DTO_COMPLETION_STATUS status, DAT_VLEN length);
void assert_silent(DAT_EVD_HANDLE evd);
void post_recv(struct end *end, size_t offset, size_t length, uint64_t cookie_value);
void post_srq(struct end *end, size_t offset, size_t length, uint64_t cookie_value);
void post_send(struct end *end, size_t offset, size_t length, uint64_t cookie_value);
DAT_EP_STATE state_of(DAT_EP_HANDLE ep);
DAT_SRQ_PARAM srq_counts(DAT_SRQ_HANDLE srq);

#endif
