/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that are under way while a case acts. They wait behind a send that finds no receive; on
 * iWARP nothing waits. Where all were complete before the act, the case has not seen what it is
 * about, and is a NOTE.
 */
#ifndef CASES_UNDER_WAY_H
#define CASES_UNDER_WAY_H

#include "case.h"

#define UNDER_WAY_MOST 16

/* The completions of requests, in their order. */
struct under_way {
        DAT_EVD_HANDLE evd;
        size_t count; /* of the requests */
        size_t early; /* that came before the act */
        size_t taken;
        DAT_EVENT events[UNDER_WAY_MOST]; /* the early ones */
};

/*
 * Posts the send, of some of the buffer's bytes, before the requests; false on iWARP. Then, after
 * the act, posts its receive into the buffer, and takes its completion: the requests continue.
 */
bool under_way_hold(struct test *t, DAT_EP_HANDLE from, const struct buf *buf);
void under_way_release(struct test *t, DAT_EP_HANDLE from, DAT_EP_HANDLE to, const struct buf *buf);

/* Or, after an act that ended the connection: the send that waited is flushed, before all others.
 */
void expect_under_way_flushed(struct test *t, DAT_EP_HANDLE from);

/* Just before the act: looks which requests have completed. `act` is for the note ("the free"). */
struct under_way under_way_before(struct test *t, DAT_EVD_HANDLE evd, size_t count,
                                  const char *act);

/*
 * The other threads of the process, as the provider's own, preempt the case's thread no longer when
 * they are woken. On one processor they run, up to their next wait, when the case yields.
 */
void under_way_keep_processor(void);

/* The next completion; that none comes is FAIL. */
DAT_DTO_COMPLETION_EVENT_DATA under_way_next(struct test *t, struct under_way *requests);

#endif
