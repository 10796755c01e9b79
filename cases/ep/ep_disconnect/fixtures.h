/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects and checks that several files of the cases of dat_ep_disconnect use. */
#ifndef CASES_EP_DISCONNECT_FIXTURES_H
#define CASES_EP_DISCONNECT_FIXTURES_H

#include "case.h"
#include "case/ep_attr.h"
#include "case/standard.h"
#include "cases/ep/shared/connect.h"
#include "cases/ep/shared/states.h"
#include "cases/ep/shared/transitions.h"
#include "cases/shared/point.h"
#include "cases/shared/under_way.h"

#include <string.h>

#define WORKS 8 /* requests, or receives, that an EP has */

struct flag_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
};

static const struct flag_row both_flags[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG},
};

/* Work of an EP: a send that finds no receive, and what stands behind it. */
enum work { SENDS, WRITES, READS };

struct work_row {
        const char *id;
        enum work work;
};

static const struct work_row works[] = {{"sends", SENDS}, {"writes", WRITES}, {"reads", READS}};

/* A connection within the IA, and memory of both ends: slot i of `out` holds message i. */
struct line {
        struct loop loop;
        struct buf *out;
        struct buf *in;
};

DAT_EP_ATTR attr_with_reads(struct test *t);

/* The EPs are yet to be connected. */
struct line line_apart(struct test *t, DAT_EP_ATTR attr, struct ep_opts active,
                       struct ep_opts passive);

struct line line_with(struct test *t, struct ep_opts active, struct ep_opts passive);

/* The active EP asks for the connection of the first one, and which one of the second is drawn. */
struct line line_of(struct test *t);
struct line line_either(struct test *t);

/* The same line from its other end. */
struct line turned(struct line line);

void post_recvs(struct test *t, DAT_EP_HANDLE ep, const struct buf *buf, size_t first,
                size_t count);

DAT_RETURN post(const struct line *line, enum work work, size_t slot);
DAT_RETURN post_flagged(const struct line *line, enum work work, size_t slot,
                        DAT_COMPLETION_FLAGS flags);

/* A send first, which waits for a receive; the others wait for it. */
void post_works(struct test *t, const struct line *line, enum work work);

void end_by(struct test *t, DAT_EP_HANDLE ep, DAT_CLOSE_FLAGS flags);

void expect_ended(struct test *t, DAT_EP_HANDLE ep);

/* The end of an EP that did nothing for it. */
void expect_ended_by_other(struct test *t, DAT_EP_HANDLE ep);

/* The next completion on the EVD is of that EP, and has that cookie. */
DAT_DTO_COMPLETION_STATUS expect_completion(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep,
                                            uint64_t cookie);

/* So many are flushed, in the order of their posts, and there are no others. */
void expect_flushed(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t first,
                    size_t count);

/* All complete, and none with success once one has not. Returns how many had success. */
size_t expect_broken_off(struct test *t, DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, size_t count);
/* The same of requests of which some completed before the act. */
size_t expect_under_way_broken_off(struct test *t, struct under_way *requests, DAT_EP_HANDLE ep);

static const struct end_row {
        const char *id;
        DAT_CLOSE_FLAGS flags;
        bool passive;
} ends[] = {
    {"abrupt", DAT_CLOSE_ABRUPT_FLAG, false},
    {"graceful", DAT_CLOSE_GRACEFUL_FLAG, false},
    {"abrupt_by_passive", DAT_CLOSE_ABRUPT_FLAG, true},
    {"graceful_by_passive", DAT_CLOSE_GRACEFUL_FLAG, true},
};

/* The EP waits for what it has been given. */
void expect_waiting(struct test *t, const struct line *line);

/* An EP that waits for a send without a receive, and for what stands behind it. */
struct line waiting_line(struct test *t, enum work work);

/* What the requests of post_works() move is where it belongs. */
void expect_moved(struct test *t, const struct line *line, enum work work);

/* The receives come: all that was waited for succeeds, and is where it belongs; then the end. */
void expect_done_in_peace(struct test *t, const struct line *line, enum work work);

/* Whose connection it is that waits, and which of its connections. */
struct line line_of_passive(struct test *t);

struct line line_again(struct test *t);

struct line line_of_srq(struct test *t);

static const struct kind_of_line {
        const char *id;
        struct line (*make)(struct test *t);
} lines[] = {
    {"passive", line_of_passive},
    {"second_connection", line_again},
    {"of_srq", line_of_srq},
};

/* What may be told of a connection that is given up: nothing, too. */
void expect_given_up(struct test *t, DAT_EP_HANDLE ep);

#endif
